"""The namespace of the array API standard, and arguments of it that NumPy lacks."""

import itertools
import math

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.base.config import config
from axiomjit.numpy import array_api as xp
from axiomjit.numpy.lazy_arrays import LazyArray, wrap

N = 5000
AXES = [-1, 0, 1, None]


def rows():
    """Integers of which many are equal."""
    return numpy.random.default_rng(3).integers(0, 9, (4, N))


def sorted_down(plain, axis):
    """Positions by falling elements; equal elements stay in order."""
    return numpy.argsort(-plain, axis, stable=True)


def test_it_is_the_namespace_of_lazy_arrays():
    x = np.ones(N)
    assert x.__array_namespace__() is xp
    assert x.__array_namespace__(api_version="2025.12") is xp
    assert x.__array_namespace__(api_version="2022.12") is xp
    with pytest.raises(ValueError, match="Version"):
        x.__array_namespace__(api_version="1999.01")
    assert xp.zeros is np.zeros
    assert xp.sin is np.sin
    assert set(dir(np)) <= set(dir(xp))
    assert xp.linalg.svd is np.linalg.svd
    assert xp.__array_namespace_info__().devices() == ("cpu",)
    assert xp.__array_namespace_info__().default_device() == "cpu"


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("make", [wrap, numpy.copy, numpy.ndarray.tolist], ids=lambda f: f.__name__)
def test_sorting_downwards(axis, make):
    plain = rows()
    if make is not wrap:
        plain = plain[:, :20]
    expected = numpy.flip(numpy.sort(plain, axis), axis if axis is not None else 0)
    order = sorted_down(
        plain if axis is not None else plain.ravel(), axis or 0 if axis != -1 else -1
    )
    for _ in range(2):
        x = make(plain.copy())
        found = np.sort(x, axis, descending=True)
        numpy.testing.assert_array_equal(found, expected)
        assert found.flags.c_contiguous
        numpy.testing.assert_array_equal(np.argsort(x, axis, stable=True, descending=True), order)
        numpy.testing.assert_array_equal(np.sort(x, axis), numpy.sort(plain, axis))
    assert (type(found) is LazyArray) == (make is wrap)


def test_sorting_in_the_standard():
    plain = rows()[0]
    x = wrap(plain.copy())
    numpy.testing.assert_array_equal(xp.argsort(x, descending=True), sorted_down(plain, 0))
    numpy.testing.assert_array_equal(xp.argsort(x), numpy.argsort(plain, stable=True))
    numpy.testing.assert_array_equal(xp.sort(x), numpy.sort(plain))
    numpy.testing.assert_array_equal(xp.sort(x, descending=True), numpy.sort(plain)[::-1])
    assert xp.sort(wrap(numpy.array([0.0, -0.0] * N)), descending=True)[:2].tolist() == [0.0, -0.0]


@pytest.mark.parametrize("name", ["fftfreq", "rfftfreq"])
def test_dtypes_of_frequencies(name):
    ours, theirs = getattr(np.fft, name), getattr(numpy.fft, name)
    for n in (6, 2 * N):
        found = ours(n, 0.5, dtype=numpy.float32)
        assert found.dtype == "f4"
        assert type(found) is type(ours(n))
        numpy.testing.assert_array_equal(found, theirs(n, 0.5).astype("f4"))
        numpy.testing.assert_array_equal(ours(n, device="cpu"), theirs(n))
    with pytest.raises(TypeError, match="ask for a float dtype"):
        ours(6, dtype=int)
    with pytest.raises(ValueError, match="Device not understood"):
        ours(6, device="gpu")


INF, NAN = math.inf, math.nan
PARTS = [0.0, 0.5, 2.0, 4.0, INF, NAN]
"""Real and imaginary parts; with their negatives, of which the standard gives each case."""


def expm1_of(a, b):
    """The value of the standard's table, None where it gives none; b is not negative."""
    if b == 0:
        return math.expm1(a) + 0.0, b
    if math.isinf(a) and not math.isfinite(b):
        return (INF, NAN) if a > 0 else (-1.0, 0.0)
    if math.isinf(a):
        far, sign = (INF, -1) if a > 0 else (0.0, -1)
        return far * math.cos(b) + sign, far * math.sin(b)
    return (NAN, NAN) if math.isnan(a) or not math.isfinite(b) else None


def tanh_of(a, b):
    """The value of the standard's table, None where it gives none; no part is negative."""
    if math.isinf(a):
        return 1.0, 0.0
    if math.isnan(a):
        return (NAN, 0.0) if b == 0 else (NAN, NAN)
    return (0.0 if a == 0 else NAN, NAN) if not math.isfinite(b) else None


def are_close(found, part):
    """True for numbers that are close; zeros, infinities and NaN are equal, with their sign."""
    if math.isnan(part) or part == 0 or math.isinf(part):
        signs = math.isnan(part) or math.copysign(1, found) == math.copysign(1, part)
        return signs and (found == part or math.isnan(found) and math.isnan(part))
    return found == pytest.approx(part, rel=1e-5)


@pytest.mark.parametrize("code", ["c16", "c8"])
@pytest.mark.parametrize("lazy_from", [20, 1000])
@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_expm1_of_infinite_and_nan_parts(code, lazy_from, monkeypatch):
    monkeypatch.setattr(config, "lazy_from", lazy_from)
    given = [(a * s, b) for a, b, s in itertools.product(PARTS, PARTS, (1, -1))]
    z = numpy.array([complex(*one) for one in given], code)
    near = numpy.expm1(z).tolist()
    for _ in range(3):
        found = xp.expm1(np.asarray(z))
        mirrored = xp.expm1(np.asarray(z.conj()))
        numpy.testing.assert_array_equal(numpy.conj(found), mirrored)
        for (a, b), value, other in zip(given, found.tolist(), near, strict=True):
            real, imag = expm1_of(a, b) or (other.real, other.imag)
            assert are_close(value.real, real)
            assert are_close(value.imag, imag) or (b == INF and a == -INF)


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("code", ["c16", "c8"])
def test_tanh_of_infinite_parts(code, monkeypatch):
    monkeypatch.setattr(config, "lazy_from", 20)
    given = list(itertools.product(PARTS, PARTS))
    z = numpy.array([complex(*one) for one in given], code)
    for _ in range(3):
        found = xp.tanh(np.asarray(z))
        numpy.testing.assert_array_equal(xp.tanh(np.asarray(-z)), -found)
        for (a, b), value in zip(given, found.tolist(), strict=True):
            expected = tanh_of(a, b)
            if expected is not None:
                assert are_close(value.real, expected[0])
                assert are_close(value.imag, expected[1]) or not math.isfinite(b)
    x = np.arange(N) / N
    numpy.testing.assert_array_equal(xp.tanh(x), np.tanh(x))
    numpy.testing.assert_array_equal(xp.expm1(x), np.expm1(x))


def test_limits_are_numbers_of_python():
    for kind in (
        "f4",
        numpy.float32,
        numpy.complex64,
        numpy.ones((), "f4"),
        wrap(numpy.ones(N, "f4")),
    ):
        found = xp.finfo(kind)
        assert found.bits == 32
        assert found.dtype == numpy.float32
        for name in ("eps", "max", "min", "smallest_normal"):
            assert type(getattr(found, name)) is float
            assert getattr(found, name) == getattr(numpy.finfo("f4"), name)
    with pytest.raises(ValueError, match="not inexact"):
        xp.finfo(int)
    assert np.finfo is numpy.finfo
    for kind in ("i1", numpy.int8, numpy.ones(3, "i1"), wrap(numpy.ones(N, "i1"))):
        assert (xp.iinfo(kind).max, xp.iinfo(kind).dtype) == (127, numpy.int8)


def test_one_bound():
    x = np.arange(N)
    assert xp.clip(x, 7)[0] == 7
    assert xp.clip(x, max=7)[-1] == 7
    numpy.testing.assert_array_equal(xp.clip(x, 3, 9), np.clip(x, 3, 9))
    with pytest.raises(TypeError, match="a_max"):
        np.clip(x, 7)


def test_eigenvalues_are_complex(monkeypatch):
    monkeypatch.setattr(config, "lazy_from", 0)
    for code, kind in (("f8", "c16"), ("f4", "c8"), ("c8", "c8")):
        x = np.asarray(numpy.array([[2, 1], [0, 3]], code))
        found = xp.linalg.eig(x)
        assert [one.dtype for one in found] == [kind, kind]
        assert xp.linalg.eigvals(x).dtype == kind
        assert sorted(xp.linalg.eigvals(x).real.tolist()) == [2, 3]
        assert (found.eigenvalues == xp.linalg.eigvals(x)).all()
