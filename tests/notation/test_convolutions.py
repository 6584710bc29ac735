"""Convolutions and pooling in one, two and three dimensions against loops, SciPy and torch."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config

RNG = np.random.default_rng(0)
COMBINE = {"mul": np.multiply, "add": np.add}
FOLD = {"sum": np.add, "max": np.maximum, "min": np.minimum}


def naive(x, kernel, stride, dilation, padded, combine="mul", reduce="sum"):
    """Element of the kernel by element: `combine` with what is below it, folded into the result.

    x has places and a channel, the kernel elements, a channel and an output.
    """
    rank = x.ndim - 1
    window = kernel.shape[:rank]
    reach = [d * (k - 1) for d, k in zip(dilation, window, strict=True)]
    lefts = [r // 2 if padded else 0 for r in reach]
    counts = [
        n // s if padded else (n - 1 - r) // s + 1
        for n, s, r in zip(x.shape, stride, reach, strict=False)
    ]
    start = {"sum": 0, "max": -np.inf, "min": np.inf}[reduce]
    result = np.full((*counts, kernel.shape[-1]), start, np.float64)
    for tap in np.ndindex(*window):
        seen = [
            np.arange(c) * s + k * d - left
            for c, s, k, d, left in zip(counts, stride, tap, dilation, lefts, strict=True)
        ]
        there = [np.flatnonzero((a >= 0) & (a < n)) for a, n in zip(seen, x.shape, strict=False)]
        part = x[np.ix_(*(a[t] for a, t in zip(seen, there, strict=True)))]
        values = COMBINE[combine](part[..., None].astype(float), kernel[tap])
        at = np.ix_(*there)
        result[at] = FOLD[reduce](result[at], FOLD[reduce].reduce(values, axis=-2))
    return result


def spec_of(rank, stride, dilation, padded):
    """The spec of a convolution."""
    mark = "=" if padded else "<"
    pairs = zip(range(rank), stride, dilation, strict=True)
    seen = ",".join(f"{s}*o{d}{mark}+{apart}*k{d}" for d, s, apart in pairs)
    elements, places = (",".join(f"{name}{d}" for d in range(rank)) for name in "ko")
    return f"{seen},c;{elements},c,n=>{places},n"


def whole_numbers(*shape, dtype="f8"):
    return RNG.integers(-4, 5, shape).astype(dtype)


CASES = [
    # places, kernel, stride, dilation, padded, dtype
    ((12,), (3,), (1,), (1,), True, "f8"),
    ((12,), (4,), (1,), (3,), True, "i4"),
    ((13,), (4,), (3,), (2,), False, "f4"),
    ((12,), (6,), (2,), (1,), True, "i2"),
    ((6, 8), (3, 2), (1, 1), (1, 1), True, "f4"),
    ((6, 8), (2, 4), (3, 2), (2, 1), True, "i8"),
    ((7, 9), (3, 5), (2, 1), (1, 2), False, "f8"),
    ((4, 6, 8), (3, 2, 3), (1, 1, 1), (1, 2, 1), True, "f8"),
    ((4, 6, 8), (2, 3, 2), (2, 3, 1), (1, 1, 2), True, "i4"),
    ((5, 5, 6), (2, 1, 3), (1, 2, 1), (1, 1, 1), False, "f4"),
]


@pytest.mark.parametrize("outputs", [3, 9])
@pytest.mark.parametrize(("places", "kernel", "stride", "dilation", "padded", "dtype"), CASES)
def test_sums_of_products(places, kernel, stride, dilation, padded, dtype, outputs):
    """With 9 outputs of floats as products of matrices, with 3 as loops."""
    x, f = whole_numbers(*places, 2, dtype=dtype), whole_numbers(*kernel, 2, outputs, dtype=dtype)
    spec = spec_of(len(places), stride, dilation, padded)
    got = aj.einsum(spec, x, f)
    assert got.dtype == x.dtype
    np.testing.assert_array_equal(got, naive(x, f, stride, dilation, padded))


@pytest.mark.parametrize("disable", [False, True])
@pytest.mark.parametrize(("combine", "reduce"), [("add", "max"), ("add", "min"), ("mul", "max")])
def test_other_operations(combine, reduce, disable):
    """Max-plus and its kin: what is outside does not take part, whatever it would be."""
    for places, kernel, stride, dilation, padded, dtype in (CASES[1], CASES[5]):
        x, f = whole_numbers(*places, 1, dtype=dtype), whole_numbers(*kernel, 1, 2, dtype=dtype)
        spec = spec_of(len(places), stride, dilation, padded)
        with patch.object(config, "disable", disable):
            got = aj.einsum(spec, x - 9, f - 9, combine=combine, reduce=reduce)
        want = naive(x - 9, f - 9, stride, dilation, padded, combine, reduce)
        np.testing.assert_array_equal(got, want)


def test_without_a_compiler_a_convolution_makes_no_array_of_all_products():
    x, f = whole_numbers(40, 40, 8), whole_numbers(3, 3, 8, 9)
    with patch.object(config, "disable", True):
        got = aj.einsum(spec_of(2, (1, 1), (1, 1), True), x, f)
    np.testing.assert_array_equal(got, naive(x, f, (1, 1), (1, 1), True))


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_scipy_agrees(rank):
    signal = pytest.importorskip("scipy.signal")
    x, f = RNG.random((9,) * rank), RNG.random((3,) * rank)
    for mode, padded in (("same", True), ("valid", False)):
        spec = spec_of(rank, (1,) * rank, (1,) * rank, padded)
        got = aj.einsum(spec, x[..., None], f[..., None, None])[..., 0]
        np.testing.assert_allclose(got, signal.correlate(x, f, mode), rtol=1e-12)


@pytest.mark.parametrize("outputs", [3, 16])
def test_torch_agrees(outputs):
    torch = pytest.importorskip("torch")
    x, f = RNG.random((2, 6, 9, 10), np.float32), RNG.random((outputs, 6, 3, 3), np.float32)
    tall, wide = aj.make_axis_role("tall"), aj.make_axis_role("wide")
    n, c, k = aj.make_axis(2), aj.make_axis(6), aj.make_axis(outputs)
    h, w = aj.make_axis(9, roles=tall), aj.make_axis(10, roles=wide)
    r, s = aj.make_axis(3, roles=tall), aj.make_axis(3, roles=wide)
    images, filters = aj.constant(x, [n, c, h, w]), aj.constant(f, [k, c, r, s])
    for stride, padding, dilation in ((1, 1, 1), (2, 1, 1), (1, 2, 2), (3, 0, 1)):
        found = aj.convolution(images, filters, stride, padding, dilation).eval().values
        given = torch.from_numpy(x), torch.from_numpy(f), None, stride, padding, dilation
        want = torch.nn.functional.conv2d(*given).numpy()
        np.testing.assert_allclose(found, want, rtol=2e-5)


def test_infinite_weights_meet_nothing_outside():
    """Also where windows are columns of a matrix, in which places outside are zeros."""
    x, f = np.ones((7, 4), np.float32), np.ones((3, 4, 9), np.float32)
    f[0, :, 2], f[2, :, 3] = np.inf, np.nan
    got = aj.einsum(spec_of(1, (1,), (1,), True), x, f)
    assert (got[0, 2], got[-1, 3]) == (8.0, 8.0)
    assert np.isinf(got[1:, 2]).all()
    assert np.isnan(got[:-1, 3]).all()
    np.testing.assert_array_equal(got[:, :2], naive(x, f, (1,), (1,), True)[:, :2])


def test_memory_of_a_convolution_is_a_block_for_each_thread():
    """Nothing has the size of all windows, or of a padded input."""
    import tracemalloc

    x, f = RNG.random((2, 64, 64, 32), np.float32), RNG.random((16, 3, 3, 32), np.float32)
    layer = aj.jit(lambda x, f: aj.nn.conv2d(x, f, use_padding=True))
    with aj.threads(1):
        assert layer(x, f).shape == (2, 64, 64, 16)
        tracemalloc.start()
        layer(x, f)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    outputs, packed = 2 * 64 * 64 * 16 * 4, f.nbytes
    assert peak < outputs + packed + (1 << 20) + (1 << 16)
