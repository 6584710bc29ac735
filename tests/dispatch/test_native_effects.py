"""Calls that store what they compute outside, answered natively."""

import sys

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import NeedsValuesError
from axiomjit.dispatch.guards import is_native

pytestmark = pytest.mark.skipif(not is_native(), reason="this process has no native entry")
table = {"last": None}
total = np.zeros(3)


class Model:
    __slots__ = ("d", "h", "y")

    def __init__(self):
        self.y, self.h, self.d = np.ones(3), [np.ones(3), None], {}

    def step(self, z):
        self.y = self.y + z
        return self.y * 2

    def silent(self, z):
        self.y = z + 1
        self.d["sum"] = self.y.sum()

    def same(self, z):
        self.h[1] = z * 3
        return self.h[1]

    def both(self, z):
        self.y = z * 2
        self.d["z"] = self.y
        return z + 1, z - 1


def store_globals(z):
    global total
    total = total + z
    table["last"] = z * 2
    return z - total


def in_cell():
    held = np.zeros(3)

    def add(z):
        nonlocal held
        held = held + z
        return held * 2

    return add, lambda: held


def state(model):
    return model.y, model.h[1], model.d.get("sum"), model.d.get("z")


@pytest.mark.parametrize("name", ["step", "silent", "same", "both"])
def test_methods_store_into_their_instance(name):
    compiled, mine, wanted = aj.jit(getattr(Model, name)), Model(), Model()
    for k in range(8):
        z = np.full(3, float(k))
        result = compiled(mine, z)
        np.testing.assert_equal(result, getattr(wanted, name)(z))
        np.testing.assert_equal(state(mine), state(wanted))
    assert compiled.hits_natively[0] >= 5
    if name == "same":
        assert result is mine.h[1]
        del result
        count = sys.getrefcount(mine.h[1])
        assert count == 2
    if name == "both":
        assert mine.y is mine.d["z"]


def test_globals_and_cells_are_stored():
    function, (add, held) = aj.jit(store_globals), in_cell()
    compiled = aj.jit(add)
    for k in range(1, 9):
        assert function(np.ones(3)).tolist() == [1.0 - k] * 3
        assert compiled(np.ones(3)).tolist() == [2.0 * k] * 3
        assert (total[0], table["last"][0], held()[0]) == (k, 2.0, k)
    assert function.hits_natively[0] >= 5
    assert compiled.hits_natively[0] >= 5


def test_a_class_that_gets_its_own_store_is_answered_in_python():
    class Watched:
        def __init__(self):
            self.y = np.zeros(3)

    def step(one, z):
        one.y = one.y + z

    compiled, one, seen = aj.jit(step), Watched(), []
    for _ in range(5):
        compiled(one, np.ones(3))
    assert compiled.hits_natively[0] >= 2

    def store(self, name, value):
        seen.append(name)
        object.__setattr__(self, name, value)

    Watched.__setattr__ = store
    compiled(one, np.ones(3))
    assert (seen, one.y[0]) == (["y"], 6.0)


def test_numbers_are_stored_as_pythons():
    class Clock:
        def __init__(self):
            self.t = 0.0

        def step(self, z):
            self.t = self.t + 0.5
            return z * self.t

    plain, clock, x = Clock(), Clock(), np.ones(4)
    step = aj.jit(Clock.step, strict=True)
    for _ in range(8):
        np.testing.assert_array_equal(step(clock, x), plain.step(x))
        assert (type(clock.t), clock.t) == (float, plain.t)
    held = sys.getrefcount(clock.t)
    before = step.hits_natively[0]
    for _ in range(50):
        step(clock, x)
    assert step.hits_natively[0] == before + 50
    references = sys.getrefcount(clock.t)
    assert references == held


def test_numbers_are_returned_as_pythons():
    class Last:
        value = 0.0

    last = Last()

    @aj.jit(strict=True)
    def kept(x):
        last.value = total = float(x.sum())
        return total

    def several(x):
        return float(x.sum()), np.array_equal(x, x[::-1]), x + 1, complex(x.sum() + 1j)

    compiled, x = aj.jit(several, strict=True), np.ones(3)
    for k in range(9):
        x[0] = k + 0.5
        found, want = compiled(x), several(x)
        assert [type(one) for one in found] == [type(one) for one in (1.0, True, x, 1j)]
        assert (found[:2], found[3]) == (want[:2], want[3])
        made = kept(x)
        assert (type(made), made, last.value) == (float, x.sum(), x.sum())
    for function in (compiled, kept):
        before, held = function.hits_natively[0], sys.getrefcount(float)
        for _ in range(50):
            function(x)
        assert function.hits_natively[0] == before + 50
        assert sys.getrefcount(float) == held


@pytest.mark.parametrize(
    "number",
    [
        np.float64(0.5),
        np.float32(2),
        np.float16(3),
        np.int64(-4),
        np.int32(5),
        np.uint8(6),
        np.True_,
    ],
)
def test_writes_with_numpy_scalars_are_native(number):
    def scaled(x, k):
        x[1:] = x[1:] * k + k
        x[0] = k

    compiled, mine, others = aj.jit(scaled, strict=True), np.arange(4.0), np.arange(4.0)
    for _ in range(8):
        compiled(mine, number)
        scaled(others, number)
        np.testing.assert_array_equal(mine, others)
    before = compiled.hits_natively[0]
    for _ in range(20):
        compiled(mine, number)
    assert compiled.hits_natively[0] == before + 20
    odd = np.zeros(4, "u1,f8")["f1"]  # kernels cannot write into it
    for _ in range(3):
        with pytest.raises(NeedsValuesError, match="misaligned"):
            compiled(odd, number)


class Averages:
    """Arrays that are updated in place, beside a counter and a result."""

    def __init__(self):
        self.mean, self.square, self.calls = np.zeros(6), np.ones(6), 0

    def __call__(self, x):
        self.mean += 0.25 * (x - self.mean)
        self.square *= 0.5
        self.calls += 1
        return x - self.mean


def test_arrays_updated_in_place_are_stored_natively(monkeypatch):
    monkeypatch.setattr(config, "entry", "auto")
    ours, plain = Averages(), Averages()
    compiled, held = aj.jit(Averages.__call__), (ours.mean, ours.square)
    for k in range(8):
        x = np.arange(6.0) * k
        np.testing.assert_array_equal(compiled(ours, x), plain(x))
        assert (ours.mean is held[0], ours.square is held[1], ours.calls) == (True, True, k + 1)
        np.testing.assert_array_equal(ours.mean, plain.mean)
        np.testing.assert_array_equal(ours.square, plain.square)
    assert config.check or config.bounds or compiled.hits_natively[0] > 3
    ours.mean = plain.mean = np.ones(6)
    plain.mean = plain.mean.copy()
    np.testing.assert_array_equal(compiled(ours, x), plain(x))
    np.testing.assert_array_equal(ours.mean, plain.mean)
