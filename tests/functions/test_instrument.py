"""Instrumented functions with hooks that do what Python does behave as the originals."""

import pytest

from axiomjit.functions.instrument import NotInstrumentedError, instrumented
from tests.functions import plain_hooks
from tests.functions.plain_hooks import plain

counter = 0


class Base:
    def name(self):
        return "base"


class Derived(Base):
    def name(self):
        return super().name() + " derived"


def everything(a, b=2, *rest, k=3):
    global counter
    counter = a
    x, (y, *w) = 1, rest
    held = Derived()
    held.items = {1: 2, 3: 4}
    for i, j in [(1, 2), (3, 4)]:
        held.items[i] += j

    def grow(by=b):
        nonlocal x
        x += by
        return x

    chosen = [q for q, (r, s) in [(1, (2, 3)), (5, (6, 7))] if q < r < s]
    return grow(), a and b or rest, chosen, held.items, x, y, w, f"{a!r:>{k}}", held.name()


def test_everything_behaves_as_before():
    expected = everything(1, 2, 3, 4, 5)
    assert plain(everything)(1, 2, 3, 4, 5) == expected
    assert counter == 1


def test_super_and_names_are_kept():
    made = plain(Derived.name)
    assert made(Derived()) == "base derived"
    assert made.__qualname__ == made.__code__.co_qualname == "Derived.name"


def test_functions_without_text_are_refused():
    names = {}
    exec("def f(): return 1", names)
    with pytest.raises(NotInstrumentedError, match="no text compiles to its code"):
        instrumented(names["f"])


class Account:
    """Private names, `del`, and stores in all places."""

    __rate = 2

    def spend(self, items):
        self.__sum, (self.last, *self.rest) = 0, items
        for self.now in items:
            self.__sum += self.now * self.__rate
        del self.now
        with open("/dev/null") as self.file:
            pass
        self.file = None
        return self.__sum


def test_private_names_and_targets():
    one, other = Account(), Account()
    assert plain(Account.spend)(one, [1, 2, 3]) == other.spend([1, 2, 3]) == 12
    assert vars(one) == vars(other)


def refused(text, name="f"):
    import linecache

    path = f"<refused {text}>"
    lines = [*text.splitlines(keepends=True), "\n"]
    linecache.cache[path] = len(text), None, lines, path
    names = {}
    exec(compile(text, path, "exec"), names)
    function = names[name]
    with pytest.raises(NotInstrumentedError) as caught:
        instrumented(function)
    with pytest.raises(NotInstrumentedError) as again:
        instrumented(function)
    assert (again.value.reason, again.value.line) == (caught.value.reason, caught.value.line)
    return caught.value


@pytest.mark.parametrize(
    ("text", "reason", "line"),
    [
        ("\nasync def f(): pass", "it is asynchronous", 2),
        ("def f():\n async def g(): pass", "it has `AsyncFunctionDef`", 2),
        ("def f():\n class A: pass", "it has `ClassDef`", 2),
        ("def f():\n try: pass\n except* ValueError: pass", "it has `TryStar`", 2),
        ("def f():\n global g\n def g(): pass", "it defines g, which is not local", 3),
        ("def f():\n global g\n (g := 1)", "it assigns to g, which is not local, by :=", 3),
        ("def f():\n global g\n try: pass\n except E as g: 1", "it catches as g", 4),
        ("def f():\n return locals()", "it reads locals, which sees local names", 2),
        ("def f():\n return [eval('1')]", "it reads eval, which sees local names", 2),
        ("def f():\n return vars()", "it calls vars(), which sees local names", 2),
        ("def f():\n _aj_x = 1", "it has the name _aj_x, which is a hook's", 1),
        ("class A:\n def f():\n  super()\nf = A.f", "it calls super() without", 3),
    ],
)
def test_what_is_not_followed_is_refused(text, reason, line):
    error = refused(text)
    assert error.reason.startswith(reason)
    assert error.line == line


def test_long_sums_do_not_overflow():
    text = "def f(x):\n return " + " + ".join(["x"] * 2000)
    assert "nested too deeply" in refused(text).reason or "no text" in refused(text).reason
    flat = "def f(x):\n return " + " and ".join(["x"] * 2000)
    import linecache

    linecache.cache["<flat>"] = len(flat), None, [*flat.splitlines(keepends=True)], "<flat>"
    names = {}
    exec(compile(flat, "<flat>", "exec"), names)
    assert plain(names["f"])(3) == 3


def test_every_handler_begins_with_a_hook():
    class Caught(plain_hooks.PlainHooks):
        seen = 0

        def caught(self):
            type(self).seen += 1

    def swallow():
        try:
            raise KeyError
        except BaseException:
            return "swallowed"
        finally:
            len("")

    assert plain(swallow, Caught)() == "swallowed"
    assert Caught.seen == 2


def test_a_copy_has_defaults_and_names_but_no_cells():
    outer = []

    def f(a, b=outer, *, k=outer):
        return a, b, k, outer

    made = plain(f)
    assert made.__defaults__ is f.__defaults__
    assert made.__kwdefaults__ is f.__kwdefaults__
    assert (made.__name__, made.__qualname__) == (f.__name__, f.__qualname__)
    assert "outer" not in made.__code__.co_freevars
    assert instrumented(f).used == {"cell"}
    assert made(1) == (1, [], [], [])
