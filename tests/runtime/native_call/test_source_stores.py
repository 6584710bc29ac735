"""Results that native calls store outside."""

import sys
from array import array
from collections import OrderedDict, defaultdict
from types import CellType

import numpy as np
import pytest

from axiomjit.runtime.native_call import native_entry, structures
from axiomjit.runtime.native_call.guard_tables import Guards, with_table
from axiomjit.runtime.native_call.instructions import NOTHING, SCALARS
from tests.runtime.native_call.native_tables import calling
from tests.runtime.native_call.test_source_rows import MAKERS, Plain, Settings, WithDict, X, Y

pytestmark = pytest.mark.skipif(
    native_entry.refusal() != "" or structures.outside_refusal() != "",
    reason="this process has no native entry",
)


def storing(wholes, key, shape=(3,), kernel=lambda *_: 0, numbers=(), returned=True):
    """An entry of one array that stores its result into a value from outside, and returns it."""
    plan = calling(kernel, shape).replace(form=SCALARS)
    guards = Guards(plan if returned else plan.replace(form=NOTHING, results=()))
    assert guards.add(0, np.ones(3), 0)
    for whole in wholes:
        store = guards.store_item if is_item(whole) else guards.store_attribute
        if not store(guards.fixed(whole), whole, key, slot=1):
            return None
    for whole, value in numbers:
        assert guards.store_item(guards.fixed(whole), whole, key, number=guards.fixed(value))
    cell = native_entry.new_cell(lambda *_: "slow")
    cell[0] = with_table((), guards.table(1, (), array("q", [0])))
    return native_entry.new_entry(cell)


def is_item(whole):
    return hasattr(whole, "__setitem__") and not isinstance(whole, WithDict)


def stored_in(whole, key):
    return whole[key] if is_item(whole) else getattr(whole, key)


STORES = [
    *(({"a": X}, "a"), ({}, "a"), ({1: X}, 2), ([X, Y], 1), (CellType(), "cell_contents")),
    *((make(a=X), name) for make in MAKERS for name in ("a", "b")),
]


@pytest.mark.parametrize(("whole", "key"), STORES, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("shape", [(3,), ()])
@pytest.mark.parametrize("returned", [False, True])
def test_results_are_stored(whole, key, shape, returned):
    call, x = storing([whole], key, shape, returned=returned), np.ones(3)
    for _ in range(5):
        held = call(x)
        value = stored_in(whole, key)
        assert type(value) is (np.ndarray if shape else np.float64)
        assert value.shape == shape
        assert (held is value) if returned else (held is None)
        assert sys.getrefcount(value) == 3 + returned  # the whole, `value`, the argument


def test_other_objects_are_stored():
    whole, x, value = [None], np.ones(3), object()
    call = storing([], 0, numbers=[(whole, value)])
    call(x)
    before = sys.getrefcount(value)
    for _ in range(50):
        call(x)
    assert whole[0] is value
    assert sys.getrefcount(value) == before
    assert storing([[X], {}], 0) is not None


def test_a_store_that_fails_raises_as_python_does():
    whole, x = [X], np.ones(3)

    def kernel(result, error, words, low, high):
        whole.clear()
        return 0

    call = storing([{}, whole], 0, kernel=kernel)
    before = sys.getrefcount(x)
    for _ in range(20):
        with pytest.raises(IndexError, match="list assignment index out of range"):
            call(x)
    assert sys.getrefcount(x) == before


class OwnStore:
    def __setattr__(self, name, value):
        super().__setattr__(name, value)


class WithProperty:
    a = property(lambda self: X, lambda self, value: None)


@pytest.mark.parametrize(
    ("whole", "key"),
    [
        *((OwnStore(), "a"), (WithProperty(), "a"), (OrderedDict(), "a")),
        *((Settings((1,)), "scale"), (Plain, "level"), ([1], -1), ({}, X), (np.ones(3), 0)),
        *((defaultdict(int), "a"), (type("L", (list,), {})([1]), 0)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_stored_in_python(whole, key):
    assert storing([whole], key) is None


def test_another_class_or_a_changed_one_is_left_to_python():
    class Mine:
        pass

    one, x = Mine(), np.ones(3)
    call = storing([one], "a")
    call(x)
    assert one.a.shape == (3,)
    Mine.__setattr__ = OwnStore.__setattr__
    assert call(x) == "slow"
    del Mine.__setattr__
    call = storing([one], "a")
    one.__class__ = type("Other", (), {})
    assert call(x) == "slow"
