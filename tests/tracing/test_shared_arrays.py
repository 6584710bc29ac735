"""Branches of loops in which a name gets an array that another name has, too."""

import warnings
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning
from axiomjit.tracing.operators import TracedStorage


def until_still(x, y):
    for _ in range(40):
        new = x * 0.5 + y
        if abs(new - x).max() < 1e-3:
            break
        x = new
    return x


def returned_where_still(x, y):
    while True:
        new = x * 0.5 + y
        if abs(new - x).max() < 1e-3:
            return new
        x = new


def best_so_far(x, y):
    u, best, low = x * 1.0, x * 1.0, 9e9
    for _ in range(20):
        u = np.cos(u + y)
        error = abs(u - y).sum()
        if error < low:
            low, best = error, u
    return best, low


def argument_in_some_trips(x, y):
    u = x * 1.0
    for i in range(20):
        if x[i % 5] > 0.5:
            u = y
        u = u * 0.5
    return u


def part_of_another(x, y):
    u, v = x * 1.0, y * 1.0
    for _ in range(20):
        new = u + v
        if new.sum() > 3:
            u = new[::-1]
        else:
            v = new
        u = u * 0.25
    return u, v


def best_that_is_written_later(x, y):
    u, best, low = x * 1.0, x * 1.0, 9e9
    for i in range(20):
        u = np.cos(u + y)
        error = abs(u - y).sum()
        if error < low:
            low, best = error, u
        u[0] = 0.1 * i
    return best, low, u


def written_behind_the_loop(x, y):
    u = x * 1.0
    for i in range(20):
        if x[i % 5] > 0.5:
            u = y
    u[0] = 100.0
    return u, y


def either_of_two(x, y):
    a, b, s = x * 2, y * 3, 0.0
    for i in range(20):
        c = a if x[i % 5] > 0.5 else b
        s += c[i % 3]
        c[0] += 1.0
    return a, b, s


def written_before_it_is_read(x, y):
    u, new, s = x * 1.0, y * 1.0, 0.0
    for i in range(20):
        u[0] = i
        s += new[0]
        new = u * 0.5 + y
        if new[1] < 0:
            break
        u = new
    return u, s


READ = [until_still, returned_where_still, best_so_far, argument_in_some_trips, part_of_another]
WRITTEN = [
    *(best_that_is_written_later, written_behind_the_loop, either_of_two),
    written_before_it_is_read,
]


def differs(function):
    """True if calls with other numbers differ from Python's."""
    draw, compiled = np.random.default_rng(3), aj.jit(function)
    for _ in range(4):
        given = draw.random((2, 5))
        mine, plain = given.copy(), given.copy()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FallbackWarning)
            found = compiled(*mine)
        wanted = function(*plain)
        both = zip((*_parts(found), mine), (*_parts(wanted), plain), strict=True)
        if not all(np.allclose(one, other) for one, other in both):
            return True
    return False


def _parts(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("function", READ, ids=lambda one: one.__name__)
def test_arrays_that_are_only_read_are_copied_in_a_region(function):
    assert not differs(function)
    compiled = aj.jit(function, strict=True)
    compiled(*np.random.default_rng(3).random((2, 5)))
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


@pytest.mark.parametrize("function", WRITTEN, ids=lambda one: one.__name__)
def test_arrays_that_are_written_stay_one_array(function):
    assert not differs(function)


def test_a_write_that_is_not_refused_is_found():
    with patch.object(TracedStorage, "seal", lambda self: None):
        assert sum(map(differs, WRITTEN)) >= 2
