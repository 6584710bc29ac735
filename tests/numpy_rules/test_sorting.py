"""Sorting, searching, counting in compiled functions: steps of NumPy's between kernels."""

import numpy as np
import pytest

import axiomjit as aj
from tests.numpy_rules.library_cases import assert_as_numpy, assert_in_layouts, outcome

RNG = np.random.default_rng(9)
CODES = ["f8", "f4", "f2", "i8", "u1", "b1", "c16"]


def values(code, *shape):
    a = RNG.integers(0, 2 if code == "b1" else 9, shape) * 1.5
    return (a + 1j * a[::-1]).astype(code) if code[0] == "c" else a.astype(code)


def in_place(method, *args, **kwargs):
    def run(a):
        b = a.copy()
        getattr(b, method)(*args, **kwargs)
        return b * 1

    return run


ROWS = {
    "sort stable": lambda a: np.sort(a, kind="stable"),
    "sort heap": lambda a: np.sort(a, axis=0, kind="heapsort"),
    "sort by stable=": lambda a: np.sort(a, axis=None, stable=True),
    "argsort stable": lambda a: np.argsort(a, kind="stable"),
    "argsort merge": lambda a: a.argsort(axis=0, kind="mergesort"),
    "argsort flat": lambda a: np.argsort(a, axis=None, stable=True),
    "method sort": in_place("sort", kind="stable"),
    "method sort along": in_place("sort", 0),
    "partition": lambda a: np.partition(a, 2),
    "partition several": lambda a: np.partition(a, (1, 3), axis=0),
    "partition flat": lambda a: np.partition(a, 5, axis=None),
    "method partition": in_place("partition", 2),
    "argpartition": lambda a: np.argpartition(a, 2),
    "method argpartition": lambda a: a.argpartition(-1, axis=0),
    "lexsort": lambda a: np.lexsort((a[0], a[1])),
    "lexsort array": lambda a: np.lexsort(a),
    "lexsort along": lambda a: np.lexsort((a, a[::-1]), axis=0),
    "searchsorted": lambda a: np.searchsorted(np.sort(a[0]), a),
    "searchsorted right": lambda a: np.sort(a[0]).searchsorted(a[1], side="right"),
    "searchsorted number": lambda a: np.searchsorted(np.sort(a[0]), 3),
    "searchsorted sorter": lambda a: np.searchsorted(a[0], a, sorter=a[0].argsort()),
    "count_nonzero": lambda a: np.count_nonzero(a, axis=0),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ROWS)
def test_order(name, code):
    assert_in_layouts(ROWS[name], values(code, 4, 6))


REAL = {
    "digitize": lambda a: np.digitize(a, np.sort(a[0])),
    "digitize right": lambda a: np.digitize(a, np.array([8.0, 3, 1]), right=True),
    "median": np.median,
    "median axis": lambda a: np.median(a, axis=0, keepdims=True),
    "median axes": lambda a: np.median(a, axis=(0, 1)),
    "nanmedian": lambda a: np.nanmedian(a, axis=1),
    "percentile": lambda a: np.percentile(a, 30),
    "percentile several": lambda a: np.percentile(a, [10, 50.5], axis=1),
    "percentile keeps": lambda a: np.percentile(a, (25, 75), axis=0, keepdims=True),
    "quantile": lambda a: np.quantile(a, 0.3, axis=-1),
    "quantile nearest": lambda a: np.quantile(a, np.float32(0.3), method="nearest"),
    "quantile array": lambda a: np.quantile(a, np.array([[0.5, 1], [0, 0.2]]), axis=0),
    "nanquantile": lambda a: np.nanquantile(a, 0.5, axis=0),
    "histogram": np.histogram,
    "histogram bins": lambda a: np.histogram(a, bins=4, range=(0, 9)),
    "histogram edges": lambda a: np.histogram(a, bins=[0, 2, 3.5, 20])[0] * 2,
    "histogram density": lambda a: np.histogram(a, bins=5, density=True),
    "histogram weights": lambda a: np.histogram(a, bins=3, weights=a + 1),
    "histogram auto": lambda a: np.histogram(a, bins="sturges"),
    "bin edges": lambda a: np.histogram_bin_edges(a, bins=6),
    "interp": lambda a: np.interp(a, [0.0, 3, 10], [1.0, 5, 2]),
    "interp ends": lambda a: np.interp(a, np.sort(a[0]), a[1], left=-1, right=7.5),
    "interp period": lambda a: np.interp(a, np.array([0.0, 1, 2]), a[0, :3], period=3),
}


@pytest.mark.parametrize("code", ["f8", "f4", "i8", "u1"])
@pytest.mark.parametrize("name", REAL)
def test_statistics(name, code):
    assert_in_layouts(REAL[name], values(code, 4, 6))


REFUSED = {
    "kind": (lambda a: np.sort(a, kind="other"), np.ones(3)),
    "axis": (lambda a: np.sort(a, axis=2), np.ones(3)),
    "kth": (lambda a: np.partition(a, 7), np.ones(3)),
    "sorter": (lambda a: np.searchsorted(a, a, sorter=a.astype(int)[:1]), np.ones(3)),
    "rank": (lambda a: np.searchsorted(a, 1), np.ones((3, 3))),
    "bins": (lambda a: np.digitize(a, a), np.array([1.0, 3, 2])),
    "quantile": (lambda a: np.quantile(a, 1.5), np.ones(3)),
    "percentiles": (lambda a: np.percentile(a, a), np.array([1.0, 300])),
    "edges": (lambda a: np.histogram(a, bins=[3, 1]), np.ones(3)),
    "range": (np.histogram, np.array([1.0, np.inf])),
    "points": (lambda a: np.interp(a, a, a[1:]), np.ones(3)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name):
    function, a = REFUSED[name]
    want, found = outcome(function, (a,)), outcome(aj.jit(lambda a: function(a)), (a,))
    assert found[0] is want[0] or issubclass(found[0], want[0])
    assert found[1] == want[1]


def test_what_stands_around_is_compiled(golden):
    def ranks(x, edges):
        found = np.searchsorted(edges * 2, x - 1)
        return (found * x).sum()

    x, edges = RNG.normal(size=300), np.sort(RNG.normal(size=20))
    assert_as_numpy(ranks, x, edges, rtol=1e-12)
    compiled = aj.jit(ranks)
    golden(f"{compiled.lower(x, edges).loops}\n{compiled.lower(x, edges).plan}")
    compiled(x, edges)
    before = aj.stats()
    compiled(x, edges)
    after = aj.stats()
    assert after["kernels_run"] - before["kernels_run"] == 3
    assert after["library_calls"] - before["library_calls"] == 1
