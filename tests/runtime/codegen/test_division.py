"""Quotients and remainders of integers are NumPy's, whichever way the CPU takes."""

import numpy as np
import pytest

from axiomjit.base.target import target
from axiomjit.runtime.codegen.compile_source import compile_source
from tests.passes.graphs import target_with
from tests.runtime.codegen.kernels import buffers, run_compiled

UFUNCS = (np.floor_divide, np.remainder, np.fmod)
SOURCE = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    b = buffer(w, 1)
    o0 = buffer(w, 2)
    o1 = buffer(w, 3)
    o2 = buffer(w, 4)
    for i in range(lo, hi):
        x = load(a, i)
        y = load(b, i)
        store(o0, i, floor_divide(x, y))
        store(o1, i, remainder(x, y))
        store(o2, i, fmod(x, y))
"""


def agree(a, b):
    """Whether all three functions give what NumPy gives."""
    code = a.dtype.str[1:]
    parameters = buffers(*[code] * 5)
    outs = [np.zeros_like(a) for _ in UFUNCS]
    kernel = compile_source(SOURCE, parameters, target())
    assert run_compiled(kernel, parameters, [a, b, *outs], 0, len(a)) == 0
    with np.errstate(all="ignore"):
        wants = [ufunc(a, b) for ufunc in UFUNCS]
    for ufunc, got, want in zip(UFUNCS, outs, wants, strict=True):
        wrong = np.flatnonzero(got != want)[:3]
        assert not len(wrong), (ufunc.__name__, a[wrong], b[wrong], got[wrong], want[wrong])


@pytest.mark.parametrize("code", ["i1", "u1"])
def test_all_pairs_of_8_bits(code):
    values = np.arange(256).astype(code)
    agree(np.repeat(values, 256), np.tile(values, 256))


def draw(rng, code, count):
    """Numbers of every size, near powers of two and at the ends."""
    bits = 8 * int(code[1])
    sizes = rng.integers(0, bits, count).astype("u8")
    values = rng.integers(0, 2**64 - 1, count, dtype="u8", endpoint=True) >> np.uint64(64 - bits)
    powers = np.uint64(1) << sizes
    values = np.where(rng.random(count) < 0.3, powers, values >> sizes)
    values += rng.integers(0, 3, count).astype("u8") - np.uint64(1)
    return np.where(rng.random(count) < 0.5, values, np.uint64(0) - values).astype(code)


def pairs(code, count=200_000):
    """Dividends and divisors: any, multiples and their neighbours, and the ends."""
    rng = np.random.default_rng(5)
    a, b, factors = (draw(rng, code, count) for _ in range(3))
    near = b * (factors >> draw(rng, "u1", count).astype(code) % factors.dtype.type(8))
    near += rng.integers(0, 3, count).astype(code) - np.array(1, code)
    a = np.where(rng.random(count) < 0.5, near, a)
    ends = np.iinfo(code)
    few = [0, 1, 2, 3, 7, ends.max, ends.max - 1, ends.max // 2, ends.max // 2 + 1]
    few += [ends.min, ends.min + 1, ends.min // 2, -1, -2, -7] if ends.min else []
    few = np.array(few, code)
    return np.append(a, np.repeat(few, len(few))), np.append(b, np.tile(few, len(few)))


@pytest.mark.parametrize("code", ["i2", "u2", "i4", "u4", "i8", "u8"])
def test_pairs_of_more_bits(code):
    agree(*pairs(code))


@pytest.mark.parametrize("code", ["i8", "u8"])
@pytest.mark.parametrize("packed", [True, False])
def test_64_bits_both_ways(code, packed):
    """A CPU without packed conversions still runs what another one would be given, slowly."""
    with target_with(divides_long_vectors=packed):
        agree(*pairs(code, 20_000))


def test_draws_reach_what_is_hard():
    a, b = pairs("i8")
    assert (b == 0).any()
    assert (abs(a.astype("f8")) > 2.0**62).mean() > 0.05
    with np.errstate(all="ignore"):
        rest = a % b
    assert ((rest == 0) & (abs(b.astype("f8")) > 2.0**20)).sum() > 1000
    assert (abs(a / np.where(b == 0, 1, b)) > 2.0**53).sum() > 1000
