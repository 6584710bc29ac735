"""Steps of plans in the native entry, one by one: arrays, views, calls of Python, and failures."""

import gc
import sys
import weakref

import numpy as np
import pytest

from axiomjit.base.config import config
from axiomjit.runtime.native_call import native_entry
from axiomjit.runtime.native_call.builder import STACK_WORDS
from axiomjit.runtime.native_call.guard_tables import with_table
from axiomjit.runtime.native_call.instructions import TUPLE, CallPython, Drop, NewArray
from axiomjit.symbolic.data_dependent import OtherLengthError, OtherResultError
from tests.runtime.native_call.native_tables import F8, plan_of, table_of

pytestmark = pytest.mark.skipif(
    native_entry.refusal() != "", reason="this process has no native entry"
)
X = np.ones((3, 4)).cumsum().reshape(3, 4).copy()


@pytest.fixture(autouse=True, params=[8, 40 * STACK_WORDS], ids=["on the stack", "beyond it"])
def slots(request, monkeypatch):
    """Slots of a plan, whose memory is on the stack, or is taken for the call."""
    monkeypatch.setattr(sys.modules[__name__], "SLOTS", request.param)


SLOTS = 8


def entry(*steps, results, otherwise=None, form=0):
    """An entry of one array argument, at slot 0; all other slots are for what steps make."""
    plan = plan_of(*steps, results=results, slots=SLOTS)
    cell = native_entry.new_cell(lambda *args: ("slow", args))
    cell[0] = with_table((), table_of(plan, X, form, otherwise=otherwise))
    return native_entry.new_entry(cell)


def test_functions_get_objects_from_slots_and_fill_slots():
    seen = []

    def two(x, fresh):
        seen.append((x, fresh))
        fresh[...] = 5
        return x * 2, x + 1

    call = entry(
        NewArray(F8, (2,), None, 1),
        CallPython(two, (0, 1), (2, 3)),
        CallPython(lambda *arrays: seen.append(arrays), (3, 2), ()),
        results=(1, 2, 3),
        form=TUPLE,
    )
    for _ in range(3):
        fresh, double, more = call(X)
        assert seen[-2][0] is X
        assert seen[-2][1] is fresh
        assert seen[-1][0] is more
        assert seen[-1][1] is double
        assert fresh.tolist() == [5, 5]
        assert double.tolist() == (X * 2).tolist()
        assert more.tolist() == (X + 1).tolist()


@pytest.mark.parametrize("writable", [False, True])
@pytest.mark.parametrize(
    "view", [X[1], X[:, 1], X[::-1, ::2], X.T, X[:0], X[1:2], X], ids=lambda v: str(v.strides)
)
def test_views(view, writable):
    offset = view.ctypes.data - X.ctypes.data
    seen = []
    call = entry(
        NewArray(F8, view.shape, view.strides, 5, 0, offset, writable=writable),
        CallPython(lambda v: seen.append(v), (5,), ()),
        NewArray(F8, (), None, 1),
        results=(1,),
    )
    before = sys.getrefcount(X)
    call(X)
    (found,) = seen
    assert np.array_equal(found, view)
    assert (found.shape, found.strides, found.base is X) == (view.shape, view.strides, True)
    assert found.flags.writeable == writable
    for flag in ("c_contiguous", "f_contiguous", "aligned", "owndata"):
        assert getattr(found.flags, flag) == (getattr(view.flags, flag) and flag != "owndata")
    seen.clear()
    del found
    assert sys.getrefcount(X) == before


@pytest.mark.parametrize("check", [False, True])
def test_memory_that_is_taken_over_and_given_up(check, monkeypatch):
    monkeypatch.setattr(config, "check", check)
    addresses, alive = [], []

    def note(one):
        one[...] = 3
        addresses.append(one.ctypes.data)
        alive.append(weakref.ref(one))

    call = entry(
        NewArray(F8, (6,), None, 1),
        CallPython(note, (1,), ()),
        NewArray(np.dtype("f4"), (3, 4), None, 2, 1, takes=True),
        NewArray(F8, (2,), None, 3),
        CallPython(note, (3,), ()),
        Drop(3),
        CallPython(lambda: alive.append(alive[1]() is None), (), ()),
        results=(2,),
    )
    result = call(X)
    assert (result.shape, result.dtype, result.flags.owndata) == ((3, 4), np.dtype("f4"), False)
    assert result.ctypes.data == addresses[0]
    assert alive[0]() is result.base
    assert alive[2]
    assert np.isnan(result).all() == check


class StoppedError(BaseException):
    """What a signal handler might raise."""


@pytest.mark.parametrize("error", [ValueError, OtherLengthError, KeyboardInterrupt, StoppedError])
def test_an_error_halfway_leaves_nothing(error):
    temporary = []

    def fail(fresh, view):
        temporary.append(weakref.ref(fresh))
        raise error("this one")

    call = entry(
        NewArray(F8, (1000,), None, 1),
        NewArray(F8, (3,), None, 2),
        NewArray(F8, (2,), (8,), 3, 0, 8, writable=False),
        CallPython(fail, (1, 3), (4,)),
        CallPython(lambda: pytest.fail("goes on"), (), ()),
        results=(4,),
    )
    gc.collect()
    before = sys.getrefcount(X), sys.getrefcount(F8), sys.getrefcount(call)
    for _ in range(20):
        with pytest.raises(error, match="this one"):
            call(X)
    gc.collect()
    assert all(one() is None for one in temporary)
    assert (sys.getrefcount(X), sys.getrefcount(F8), sys.getrefcount(call)) == before


@pytest.mark.parametrize(
    ("error", "answered"), [(OtherLengthError, True), (OtherResultError, True), (KeyError, False)]
)
def test_a_plan_that_does_not_fit_is_answered_otherwise(error, answered):
    def fail():
        raise error

    call = entry(CallPython(fail, (), (1,)), results=(1,), otherwise=lambda *args: args)
    if answered:
        (given,) = call(X)
        assert given is X
    else:
        with pytest.raises(error):
            call(X)


def test_a_call_within_a_call():
    """All that the entry remembers of a call is on the stack."""
    depth = []

    def again(x):
        depth.append(None)
        return (call(x) if len(depth) < 5 else x * 2,)

    call = entry(CallPython(again, (0,), (1,)), results=(1,))
    assert call(X).tolist() == (X * 2).tolist()
    assert len(depth) == 5
