"""Calls that write into arguments, or return views of them, run natively where that is right."""

import sys

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import FallbackWarning
from axiomjit.runtime.native_call.guard_tables import Guards
from axiomjit.runtime.native_call.native_entry import refusal
from tests.runtime.codegen.kernels import same_bits

pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")
PLACES = np.array([3, 1, 5])
HELD = np.linspace(1.0, 2.0, 8)


def added(x, y):
    x += y


def shifted(x, y):
    x[1:] = y[:-1] * 2 + 1


def both(x, y):
    x[::2], y[1::2] = y[::2] + 1, x[1::2] * 3
    return x.max()


def sorted_into(x, y):
    x[:] = np.sort(y * 2)
    return x, x[2:5], y


def scattered(x, y):
    x[PLACES] = y[:3]
    return x[::-1]


def repeated(x, y):
    for _ in range(5):
        x[1:-1] = (y[:-2] + y[2:]) * 0.5
        y[1:-1] = (x[:-2] + x[2:]) * 0.5


def from_outside(x, y):
    x -= HELD
    return x * y


def into(x, y):
    return np.multiply(x, y, out=x)


WRITES = (added, shifted, both, sorted_into, scattered, repeated, from_outside, into)


@pytest.fixture(autouse=True)
def native(monkeypatch):
    monkeypatch.setattr(config, "entry", "auto")


def arrays(seed=0, count=2):
    return list(np.random.default_rng(seed).random((count, 8)))


def warmed(function):
    jitted = aj.jit(function)
    for seed in range(3):
        jitted(*arrays(seed))
    return jitted


def leaves(value):
    return value if isinstance(value, tuple) else (value,)


def agree(jitted, given, expected):
    """Call both functions, each with arrays of its own, and compare all that there is then."""
    found, wanted = leaves(jitted(*given)), leaves(jitted.__wrapped__(*expected))
    for one, other in zip((*found, *given), (*wanted, *expected), strict=True):
        assert other is None if one is None else same_bits(one, other)
    for one, other in zip(found, wanted, strict=True):
        assert [one is own for own in given] == [other is own for own in expected]
        if isinstance(one, np.ndarray):
            assert [one.base is own for own in given] == [other.base is own for own in expected]
            assert (one.strides, one.flags.writeable) == (other.strides, other.flags.writeable)


@pytest.mark.parametrize("function", WRITES)
def test_writes_are_those_of_numpy(function):
    jitted = warmed(function)
    before = jitted.hits_natively[0]
    assert before > 0
    for seed in range(20):
        agree(jitted, arrays(seed), arrays(seed))
    assert jitted.hits_natively[0] == before + 20


@pytest.mark.parametrize("function", WRITES)
def test_calls_leave_nothing_in_memory(function):
    jitted, given = warmed(function), arrays()

    def blocks_after(calls):
        for _ in range(calls):
            jitted(*given)
        return sys.getallocatedblocks()

    before, references = blocks_after(100), sys.getrefcount(given[0])
    assert blocks_after(500) - before < 100
    after = sys.getrefcount(given[0])
    assert after == references


def views(memory, rng):
    """Two views of 8 numbers of one memory, which may overlap."""
    found = []
    for _ in range(2):
        step = rng.choice([1, -1, 2])
        start = rng.integers(0, len(memory) - 15) if step > 0 else rng.integers(8, len(memory))
        found.append(memory[start:][::step][:8] if step > 0 else memory[start - 8 : start][::-1])
    return found


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("function", [added, shifted, both, repeated, from_outside])
def test_arguments_that_overlap_in_any_way(function):
    jitted, rng = warmed(function), np.random.default_rng(7)
    before, hits = stats()["fallbacks"], jitted.hits_natively[0]
    for _ in range(250):
        memory, state = rng.random(40), rng.bit_generator.state
        copied, given = memory.copy(), views(memory, rng)
        rng.bit_generator.state = state
        wanted = views(copied, rng)
        found, expected = jitted(*given), function(*wanted)
        assert same_bits(memory, copied)
        assert found is expected is None or same_bits(found, expected)
    assert stats()["fallbacks"] > before
    assert jitted.hits_natively[0] > hits + 20


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_that_test_sees_a_guard_that_is_missing(monkeypatch):
    monkeypatch.setattr(Guards, "disjoint", lambda *given: None)
    with pytest.raises(AssertionError):
        test_arguments_that_overlap_in_any_way(shifted)


def test_neighbours_in_memory_are_apart():
    jitted, memory = warmed(added), np.arange(24.0)
    before = jitted.hits_natively[0]
    jitted(memory[:8], memory[8:16])
    jitted(memory[16:], memory[8:16])
    assert jitted.hits_natively[0] == before + 2
    assert memory.tolist() == [*range(8, 24, 2), *range(8, 16), *range(24, 40, 2)]


def test_arrays_without_elements_overlap_nothing():
    memory, jitted = np.zeros((2, 3, 4)), aj.jit(added)
    for _ in range(4):
        jitted(memory[0, :, 4:], memory[1, :, 4:])
    assert jitted.hits_natively[0] > 0


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_a_captured_array_that_is_written(monkeypatch):
    jitted, before = warmed(from_outside), HELD.copy()
    try:
        jitted(HELD, HELD.copy())
        assert not HELD.any()
    finally:
        HELD[:] = before
    agree(jitted, arrays(), arrays())


def test_what_cannot_be_written_is_refused_as_in_numpy():
    jitted, (x, y) = warmed(added), arrays()
    x.flags.writeable = False
    with pytest.warns(FallbackWarning), pytest.raises(ValueError, match="read-only"):
        jitted(x, y)
    assert same_bits(x, arrays()[0])


@pytest.mark.parametrize("first", [False, True])
def test_views_can_be_written_where_the_argument_can(first):
    jitted = aj.jit(lambda x: (x[1::2], x + 1))
    for writable in (first, first, first, not first, not first, not first):
        x = np.arange(8.0)
        x.flags.writeable = writable
        assert jitted(x)[0].flags.writeable == writable
    assert jitted.hits_natively[0] > 0


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_a_step_that_fails_leaves_the_call_to_numpy():
    def taken(x, places):
        x += 1
        x[places] = 7.0

    def read(x, places):
        y = x[places] * 2
        x += 1
        return y

    for function in (taken, read):
        jitted, inside = aj.jit(function), np.array([1, 3])
        for _ in range(4):
            jitted(np.zeros(8), inside)
        assert jitted.hits_natively[0] > 0
        for places in (np.array([1, 8]), np.array([-9, 0])):
            found, wanted = np.zeros(8), np.zeros(8)
            with pytest.raises(IndexError, match="out of bounds"):
                function(wanted, places)
            with pytest.raises(IndexError, match="out of bounds"):
                jitted(found, places)
            assert same_bits(found, wanted)
        agree(jitted, [np.zeros(8), inside], [np.zeros(8), inside])
