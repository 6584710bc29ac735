"""Containers among the arguments: what is inside them is traced."""

import collections
import dataclasses

import numpy as np
import pytest

import axiomjit
from tests.tracing.test_containers import REBUILT, X

pytestmark = pytest.mark.usefixtures("in_numpy")

USES = {
    "tuple": lambda c: c[0],
    "list": lambda c: c[0],
    "dict": lambda c: c["a"],
    "namedtuple": lambda c: c.first,
    "OrderedDict": lambda c: c["b"],
    "OrderedDict subclass": lambda c: c["b"],
    "defaultdict": lambda c: c["a"],
    "Counter": lambda c: c["a"],
    "deque": lambda c: c[0],
    "deque with an end": lambda c: c[0],
    "deque subclass": lambda c: c[0],
    "list subclass": lambda c: c[0] + c.label,
    "dict subclass": lambda c: c["a"],
    "tuple subclass": lambda c: c[0] * c.label,
    "mapping proxy": lambda c: c["a"],
    "namespace": lambda c: c.a,
    "dataclass": lambda c: c.value,
    "frozen dataclass": lambda c: c.value,
    "dataclass with slots": lambda c: c.value,
    "dataclass with __post_init__": lambda c: c.value + c.doubled,
    "dataclass of a list": lambda c: c.value[0] + c.value[1]["a"],
}


@pytest.mark.parametrize("kind", USES)
def test_arrays_inside_arguments_are_traced(kind):
    def function(c, x):
        return USES[kind](c) * 2 + x

    f = axiomjit.jit(function, strict=True)
    for value in (X, X + 1, X * 2):
        np.testing.assert_array_equal(
            f(REBUILT[kind](value), X), value * 0 + function(REBUILT[kind](value), X)
        )
    assert f.cache_info().traced == 1
    seen = axiomjit.jit(lambda c: type(c), strict=True)(REBUILT[kind](X))
    assert seen is type(REBUILT[kind](X))


def test_another_key_or_setting_is_another_class():
    f = axiomjit.jit(lambda c: (len(c), c.maxlen), strict=True)
    for longest in (3, 4, None, 3):
        assert f(collections.deque([X], longest)) == (1, longest)
    g = axiomjit.jit(lambda c: next(iter(c)), strict=True)
    assert [g(collections.OrderedDict(**{k: X})) for k in "aba"] == ["a", "b", "a"]


def test_hashable_dataclasses_are_static():
    """Their values may decide what the function does."""

    @dataclasses.dataclass(frozen=True)
    class Settings:
        power: float
        names: tuple = ("a",)

    f = axiomjit.jit(lambda x, s: x if s.power > 1 else -x, strict=True)
    for power in (0.5, 2.0, 0.5):
        np.testing.assert_array_equal(f(X, Settings(power)), X if power > 1 else -X)


def test_objects_that_cannot_be_hashed_and_are_no_containers_are_static():
    f = axiomjit.jit(lambda x, s: x * len(s), strict=True)
    for values in ({1}, {1, 2}, {1}):
        np.testing.assert_array_equal(f(X, values), X * len(values))
