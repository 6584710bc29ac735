"""Objects from outside whose contents no guard compares are left to NumPy, in all uses."""

import array
import collections
import types
from types import SimpleNamespace

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning


class State:
    """Objects whose contents have no sources."""

    def __init__(self):
        self.bytes, self.array = bytearray(b"a"), array.array("d", [1.0])
        self.dict, self.list = collections.UserDict(a=1), collections.UserList([1])
        self.inner = {"a": 1}
        self.proxy, self.chain = (
            types.MappingProxyType(self.inner),
            collections.ChainMap(self.inner),
        )
        self.view, self.keys = memoryview(self.bytes), self.inner.keys()
        self.space, self.empty = SimpleNamespace(a=1), collections.UserList()

    def change(self):
        self.array.append(2.0)
        self.dict["b"] = self.inner["b"] = self.space.a = 2
        self.list[0] = 3
        self.view[0] = 5
        self.empty.append(1)


state = State()


def total(**parts):
    return sum(parts.values())


USES = {
    "length of an array": lambda x: x * len(state.array),
    "length of a mapping": lambda x: x * len(state.dict),
    "length of a proxy": lambda x: x * len(state.proxy),
    "length of keys": lambda x: x * len(state.keys),
    "truth": lambda x: x if state.empty else -x,
    "named arguments": lambda x: x * total(**state.dict),
    "named arguments of a chain": lambda x: x * total(**state.chain),
    "sum": lambda x: x * np.sum(state.list),
    "text": lambda x: x * len(f"{state.dict}{state.list}"),
    "text of a namespace": lambda x: x * (repr(state.space) == "namespace(a=1)"),
    "equality": lambda x: x * (state.list == [1]),
    "order": lambda x: x * (state.list < [2]),
    "sum of lists": lambda x: x * (state.list + [1])[0],
    "items": lambda x: x * state.view[0],
}


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("use", USES)
def test_hidden_contents_are_read_in_each_call(use):
    state.__init__()
    function, x = USES[use], np.arange(3.0)
    compiled = axiomjit.jit(function)
    with pytest.warns(FallbackWarning):
        first = compiled(x)
    assert (first == function(x)).all()
    state.change()
    assert (compiled(x) == function(x)).all()


def test_the_truth_of_a_namespace_and_of_an_iterator_is_known():
    state.__init__()
    state.turn = iter([1])

    def function(x):
        return x if state.space and state.turn else -x

    x = np.arange(3.0)
    assert (axiomjit.jit(function, strict=True)(x) == x).all()


class Sevens(dict):
    """A dict whose items are not its entries."""

    def __getitem__(self, key):
        return 7


class Iterated(Sevens):
    """A dict that Python does not read past its methods, as it has an `__iter__`."""

    def __iter__(self):
        return iter(("a",))


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("kind", [Sevens, Iterated])
def test_entries_of_dicts_are_read_as_python_does(kind):
    given, x = kind(a=1, b=2), np.arange(3.0)

    def function(x):
        own = {**given, "c": 1}
        return x * total(**given) + total(**own) + total(**kind(a=3))

    compiled = axiomjit.jit(function, strict=True)
    for number in (2, 5, 5):
        given["b"] = number
        assert (compiled(x) == function(x)).all()


@pytest.mark.usefixtures("in_numpy")
def test_containers_of_objects_are_compared_with_numbers_and_texts():
    given = [state]

    def function(x):
        same = given == 1, [state] != "a", given == None, {state: 1} == 2.5  # noqa: E711
        return x * sum(same) + (given in [1, None])

    class Equal:
        def __eq__(self, other):
            raise KeyError

        __hash__ = None

    compiled, x = axiomjit.jit(function, strict=True), np.arange(3.0)
    assert (compiled(x) == function(x)).all()
    given[0] = Equal()
    assert (compiled(x) == function(x)).all()
