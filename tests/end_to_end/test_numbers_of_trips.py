"""Numbers of a trip: their types, those that depend on the index, and the trips of `zip`."""

import math

import numpy as np
import pytest

import axiomjit
from tests.end_to_end.test_source_loops import same


def roots(n):
    s = 0.0
    for i in range(n):
        s += math.sqrt(i)
    return s


def waves(n):
    s = 0.0
    for i in range(n):
        s += math.sin(2 * math.pi * i / n) * math.cos(i)
    return s


def parts_of_floats(x):
    for i in range(x.shape[0]):
        x[i] = math.floor(i / 3) + math.atan2(i, 3) + int(i * 0.7) + round(i / 2) + 1 / (i + 1)
    return x


def of_a_function(n):
    def density(x):
        return math.exp(-x * x) * math.sin(x)

    h = 2.0 / n
    s = 0.5 * (density(0.0) + density(2.0))
    for i in range(1, n):
        s += density(i * h)
    return s * h


def numpys(n):
    s = np.float64(0)
    for i in range(n):
        s += np.exp(-i * 0.1) * np.sqrt(i / 2)
    return s


def test_floats_of_the_index_are_numbers_of_a_trip():
    for function, n in ((roots, 1200), (waves, 1200), (of_a_function, 1200), (numpys, 1200)):
        compiled = axiomjit.jit(function, strict=True)
        assert all(type(compiled(m)) is type(function(m)) for m in (n, n // 2))
        assert all(np.isclose(compiled(m), function(m), rtol=1e-12) for m in (n, 40, n // 2))
        assert compiled._wanted.has_regions
    compiled = axiomjit.jit(parts_of_floats, strict=True)
    assert np.allclose(compiled(np.zeros(90)), parts_of_floats(np.zeros(90)), rtol=1e-14)
    assert compiled._wanted.has_regions


def test_a_function_of_math_raises_its_error_in_a_trip():
    def logarithms(n):
        s = 0.0
        for i in range(n):
            s += math.log(5 - i)
        return s

    compiled = axiomjit.jit(logarithms)
    assert np.isclose(compiled(5), logarithms(5))
    with pytest.raises(ValueError, match=r"math domain error|positive"):
        compiled(1100)


def of_three_lengths(x, y, z):
    s = 0.0
    for i, (a, b, c) in enumerate(zip(x, y, z)):  # noqa: B905 - `zip` with keywords is no region
        s += a * b - c * i
    return s, a, i


def test_zip_ends_with_the_shortest_array():
    compiled = axiomjit.jit(of_three_lengths, strict=True)
    for lengths in ((20, 30, 40), (30, 20, 40), (40, 30, 20), (20, 20, 20), (50, 60, 70)):
        given = [np.random.default_rng(n).random(n) for n in lengths]
        assert same(compiled(*given), of_three_lengths(*given))
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


def single(x):
    s = np.float32(0)
    for i in range(x.shape[0]):
        s += np.float32(i) * np.float32(x[i]) + np.float32(i / 2)
    return s


def whole(x):
    counts, s = np.zeros(5, np.int16), np.int64(0)
    for i in range(x.shape[0]):
        counts[0] += np.int16(i)
        counts[1] -= np.int8(i // 2)
        counts[2] += np.uint8(x[i] * 200.0)
        counts[3] += np.bool_(x[i] > 0.4)
        s += np.int64(7 * x[i]) + np.int64(float(x[i]) * 5.0)
    return counts, s, np.float64(s), np.int16(s), np.complex64(x[0]), np.float32(x)[3]


@pytest.mark.parametrize("function", [single, whole])
def test_classes_of_numpys_numbers_take_computed_numbers(function):
    x = np.random.default_rng(2).random(60)
    compiled = axiomjit.jit(function, strict=True)
    for given in (x, x[::-1].copy(), x[:33].copy()):
        found, wanted = compiled(given), function(given)
        assert same(found, wanted)
        pairs = zip(found, wanted, strict=True) if isinstance(wanted, tuple) else [(found, wanted)]
        assert all(a.dtype == b.dtype for a, b in pairs)
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


def test_integers_that_a_class_cannot_hold_are_numpys_error():
    def bytes_of(n, x):
        for i in range(n):
            x[i] = np.uint8(i)

    compiled = axiomjit.jit(bytes_of)
    x = np.zeros(400)
    compiled(250, x)
    assert x[249] == 249
    assert not compiled.cache_info().in_numpy
    with pytest.raises(OverflowError, match="out of bounds"):
        compiled(300, x)


def summed_until(limit, x):
    s, n = 0, 0
    while s < limit:
        s = s + x[n]
        n += 1
    return s, n


def stepped_until(limit, x):
    s = 0
    while s < limit:
        s = s + 0.5
    while s > limit:  # perhaps after the integer, perhaps after the float
        s = s - 0.25
    return s


@pytest.mark.parametrize("function", [summed_until, stepped_until])
def test_an_integer_stays_one_if_no_trip_makes_it_a_float(function):
    compiled, x = axiomjit.jit(function, strict=True), np.random.default_rng(1).random(20) + 0.1
    for limit in (3.0, 0.0, -1.0, 2.0, -1.5, 5.0):
        assert same(compiled(limit, x), function(limit, x))
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated
