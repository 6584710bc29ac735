"""Effects behind attributes, operators, displays and library functions: those of Python."""

import linecache
from contextlib import nullcontext

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

SETUP = """
import collections, contextlib, dataclasses, functools, itertools, operator, types, weakref
import numpy as np

LOG, NESTED, TABLE, W = [], [[1], [2, 3]], {"a": [1]}, np.arange(5.0)[::-1].copy()
N, OBJECTS = np.array([np.nan]), {"a": np.array([1, None], object)}


def log(*values):
    LOG.append(1)
    return 1


def numbers():
    return LOG
    yield


def appending():
    (yield from numbers()).append(1)
    yield


def taking():
    held = yield
    held.append(1)
    yield


class Meta(type):
    __call__ = __getitem__ = __instancecheck__ = log
    bump = log
    counted = property(log)


class Plainer(type):
    def __new__(kind, *given):
        LOG.append(1)
        return super().__new__(kind, *given)


class WithMeta(metaclass=Meta):
    pass


class Base(metaclass=Plainer):
    pass


class Parent:
    def __init_subclass__(cls):
        LOG.append(1)

    def __class_getitem__(cls, key):
        LOG.append(1)


class Member:
    def __set_name__(self, owner, name):
        LOG.append(1)


class Gone:
    def __del__(self):
        LOG.append(1)


class Asked:
    __format__ = __repr__ = lambda self, *given: str(log())
    __eq__ = __hash__ = __index__ = __lt__ = __deepcopy__ = log


class Formatted:
    def __format__(self, form):
        return str(log())


class Mapped:
    def keys(self):
        LOG.append(1)
        return ["a"]

    def __getitem__(self, key):
        return 3


@functools.total_ordering
class Ordered:
    __lt__ = log

    def __eq__(self, other):
        return False


class Memo(dict):
    def __missing__(self, key):
        self[key] = len(self)
        return self[key]


class Watched:
    k = 1

    def __getattribute__(self, name):
        LOG.append(1)
        return super().__getattribute__(name)


class Bound:
    def count(self, by):
        LOG.append(by)

    once = functools.partialmethod(count, 1)
    sent = functools.singledispatchmethod(count)

    def close(self):
        LOG.append(1)


ASKED, BOUND, FORMATTED, MAPPED, MEMO = Asked(), Bound(), Formatted(), Mapped(), Memo()
UFUNC, NUMBER = np.frompyfunc(log, 2, 1), np.zeros(())
"""
EFFECTS = {
    "method of a class": "type(LOG).append(LOG, 3)",
    "method of its variable": "kind = type(LOG)\nkind.append(LOG, 3)",
    "method of the class of an array": "type(W).fill(W, x.ndim)",
    "class by type": "type('Made', (Parent,), {})",
    "partial method": "BOUND.once()",
    "dispatched method": "BOUND.sent(2)",
    "call of a metaclass": "WithMeta()",
    "index of a metaclass": "WithMeta[0]",
    "method of a metaclass": "WithMeta.bump()",
    "property of a metaclass": "WithMeta.counted",
    "instance of a metaclass": "isinstance(3, WithMeta)",
    "index of a class": "Parent[3]",
    "metaclass that makes": "class Own(Base):\n    pass",
    "subclass": "class Own(Parent):\n    pass",
    "name of a member": "class Own:\n    a = Member()",
    "deleted": "Gone()",
    "annotation": "def inner(v: log()) -> None:\n    return v",
    "own attributes": "own = Watched()\nown.k",
    "missing key": "LOG.append(1) if MEMO['a'] else MEMO[x.ndim]",
    "text": "f'{FORMATTED}'",
    "text of a made object": "f'{Formatted()}'",
    "representation": "f'{ASKED!r}'",
    "representation in a list": "repr([ASKED])",
    "text of a list": "f'{[ASKED]}'",
    "equal in lists": "[ASKED] == [3]",
    "smaller in tuples": "(ASKED,) < (3,)",
    "in a list": "3 in [ASKED]",
    "index in a list": "[ASKED].index(3)",
    "key": "{ASKED: 1}",
    "in a set": "{ASKED}",
    "looked up": "{1: 2}[ASKED]",
    "index": "[1, 2][ASKED]",
    "mapping": "{**MAPPED}",
    "options": "dict(**MAPPED)",
    "copied": "import copy\ncopy.deepcopy([ASKED])",
    "other comparison": "Ordered() >= Ordered()",
    "function until": "list(iter(log, 1))",
    "ufunc of Python": "UFUNC(np.ones(2), 1)",
    "method of a ufunc of Python": "UFUNC.reduce(np.ones(3))",
    "out of a ufunc's method": "np.add.reduce(x, 0, None, NUMBER)",
    "out of a method": "(W * 2).cumsum(0, None, W)",
    "numbers in place": "np.nan_to_num(N, False)",
    "overwritten": "np.median(W, 0, None, True)",
    "memory": "memoryview(W)[0] = 5.0",
    "part of memory": "part = memoryview(W)[1:]\npart[0] = 4.0",
    "chain of dicts": "collections.ChainMap(TABLE)['a'] = [2]",
    "item of a getter": "operator.itemgetter('a')(TABLE).append(1)",
    "reference": "weakref.ref(BOUND)().once()",
    "first of a fold": "functools.reduce(lambda a, b: a, [1, 2], LOG).append(1)",
    "pairs": "a, b = zip(*[NESTED])\na[0].append(1)",
    "result of a generator": "for _ in appending():\n    pass",
    "sent": "own = taking()\nnext(own)\nown.send(LOG)",
    "held by an error": (
        "try:\n    raise ValueError(LOG)\nexcept ValueError as error:\n    error.args[0].append(1)"
    ),
    "closing": "with contextlib.closing(BOUND):\n    pass",
    "last item": "{'a': LOG}.popitem()[1].append(1)",
    "objects in a dict": "x = x + OBJECTS['a'][0]\nOBJECTS['a'][0]",
    "objects in a loop": "for one in OBJECTS.values():\n    x = x + one[0]",
    "date": "np.array(['now'], 'M8[us]')",
    "date by option": "np.full(2, fill_value='today', dtype='M8[D]')",
}
ONLY_READ = ("objects in a dict", "objects in a loop", "date", "date by option")


REFUSED = {
    *("class by type", "dispatched method", "call of a metaclass"),
    *("property of a metaclass", "metaclass that makes", "subclass", "name of a member"),
    *("deleted", "own attributes", "representation in a list", "text of a list"),
    *("equal in lists", "smaller in tuples", "index in a list", "key", "in a set", "looked up"),
    *("index", "copied", "other comparison", "ufunc of Python", "method of a ufunc of Python"),
    *("numbers in place", "overwritten", "memory", "part of memory", "chain of dicts"),
    *("reference", "closing", *ONLY_READ),
}
"""What is left to NumPy; all else is compiled."""


class World:
    """A module with a function that has an effect, compiled or not."""

    def __init__(self, name, **options):
        body = "\n".join(f"    {line}" for line in EFFECTS[name].splitlines())
        text = f"{SETUP}\n\ndef f(x):\n{body}\n    return x + len(LOG)\n"
        file = f"<{name} {options}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        self.space = {"__name__": "hidden_effects"}
        exec(compile(text, file, "exec"), self.space)
        self.function = self.space["f"]
        if options:
            self.function = axiomjit.jit(self.function, **options)

    def state(self):
        names = ("LOG", "NESTED", "TABLE", "MEMO", "W", "N", "NUMBER", "OBJECTS")
        return repr([self.space[name] for name in names])

    def call(self, number):
        try:
            return repr(self.function(np.arange(5.0) * number))
        except NeedsValuesError:
            raise
        except Exception as error:
            return type(error).__name__


@pytest.mark.parametrize("name", EFFECTS)
def test_hidden_effects_are_those_of_python(name):
    plain, compiled, strict = World(name), World(name, strict=False), World(name, strict=True)
    before = plain.state()
    expected = [plain.call(k) for k in (1, 2, 3)]
    if name in REFUSED:
        with pytest.raises(NeedsValuesError):
            strict.call(1)
        assert strict.state() == before
    else:
        assert [strict.call(k) for k in (1, 2, 3)] == expected
        assert strict.state() == plain.state()
    with pytest.warns(FallbackWarning) if name in REFUSED else nullcontext():
        found = [compiled.call(1)]
    found += [compiled.call(k) for k in (2, 3)]
    assert found == expected
    assert compiled.state() == plain.state()
    assert (plain.state() == before) is (name in ONLY_READ)
