"""Libraries give the same for lazy arrays as for NumPy's, or fail for a reason that is listed."""

from collections import Counter

import numpy
import pytest

import axiomjit.numpy
from axiomjit.base.caching import BoundedTable
from axiomjit.numpy import paths, programs
from tests.drop_in.libraries import CALLS
from tests.drop_in.worlds import fresh_paths

RUNS = 3
"""Rounds: the first learns the results, the second runs them in NumPy, the third compiled."""


def plain(value):
    """The parts of a result as NumPy's arrays and Python's objects."""
    if isinstance(value, dict):
        return plain(list(value.items()))
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    if hasattr(value, "iloc"):
        columns = [value[name] for name in value] if value.ndim == 2 else [value]
        return [plain(one.array) for one in (value.index, *columns)]
    if hasattr(value, "to_numpy"):
        return value.to_numpy()
    return numpy.ma.getdata(value) if isinstance(value, numpy.ndarray) else value


def assert_same(found, expected, rtol):
    assert isinstance(found, type(expected))
    if isinstance(expected, list):
        assert len(found) == len(expected)
        for one, other in zip(found, expected, strict=True):
            assert_same(one, other, rtol)
    elif isinstance(expected, numpy.ndarray | numpy.number | float):
        found, expected = numpy.asarray(found), numpy.asarray(expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
        if rtol and expected.dtype.kind in "fc":
            scale = abs(expected[numpy.isfinite(expected)]).max(initial=0)
            numpy.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * scale)
        else:
            numpy.testing.assert_array_equal(found, expected)
    else:
        assert found == expected


def compare(call, expected):
    """Assert that results with lazy arrays and compiled segments equal those with NumPy's."""
    before = axiomjit.stats()
    for _ in range(RUNS):
        assert_same(plain(call.run(axiomjit.numpy)), expected, call.rtol)
    after = axiomjit.stats()
    for name in ("segments", "kernels_run"):
        assert after[name] > before[name]


@pytest.mark.parametrize("name", CALLS)
def test_lazy_arrays_give_the_same(name, monkeypatch):
    call = CALLS[name]
    pytest.importorskip(call.library)
    if call.library == "matplotlib":
        monkeypatch.setenv("MPLBACKEND", "Agg")
    expected = plain(call.run(numpy))
    for seconds in ("COMPILE_S", "STATEMENT_S", "LOWER_S"):
        monkeypatch.setattr(programs, seconds, 0.0)
    monkeypatch.setattr(programs, "_programs", BoundedTable(programs.MAX_PROGRAMS))
    with fresh_paths(1, paths.MAX_STATEMENTS):
        if not call.reason:
            compare(call, expected)
            return
        with pytest.raises((TypeError, AssertionError)):
            compare(call, expected)


def test_fifteen_calls_of_each_library_work():
    counts = Counter(call.library for call in CALLS.values() if not call.reason)
    assert counts == dict.fromkeys(("matplotlib", "pandas", "scipy", "sklearn"), 15)
