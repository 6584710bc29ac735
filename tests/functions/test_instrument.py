"""Instrumented functions with hooks that do what Python does behave as the originals."""

import pytest

from axiomjit.functions.instrument import NotInstrumentedError, instrumented
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
