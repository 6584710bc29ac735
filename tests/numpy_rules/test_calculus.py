"""Derivatives, polynomials, running sums with their start, blocks, products of stacks, segments."""

import numpy as np
import pytest

import axiomjit as aj
from tests.numpy_rules.library_cases import assert_as_numpy, layouts, outcome
from tests.passes.graphs import as_tuple, evaluated, follow, lowered, run_plain_case

RNG = np.random.default_rng(12)
CODES = ["b1", "i8", "u1", "f2", "f4", "f8", "c16"]
POINTS = np.array([0.0, 1.0, 3.0, 4.5, 7.0, 7.5])


def values(code, *shape):
    a = RNG.integers(1, 5, shape) * 1.0
    if code == "b1":
        return a > 2
    return (a + 1j * a[::-1]).astype(code) if code[0] == "c" else a.astype(code)


EXACT = {
    "gradient": lambda a: np.gradient(a * 1),
    "gradient of numbers": lambda a: np.gradient(a, 2, axis=1, edge_order=2),
    "gradient of a float": lambda a: np.gradient(a, 0.5, 3.0, edge_order=2),
    "gradient of a NumPy number": lambda a: np.gradient(a, np.float64(0.5), axis=-2),
    "gradient of points": lambda a: np.gradient(a, 2.0, POINTS),
    "gradient of points, twice": lambda a: np.gradient(a, POINTS, axis=1, edge_order=2),
    "gradient of equal distances": lambda a: np.gradient(a[0], np.arange(6) * 3, edge_order=2),
    "gradient of computed points": lambda a: np.gradient(a[0], np.cumsum(np.abs(a[1]) + 1)),
    "gradient of a length": lambda a: np.gradient(a, 1 / a.shape[1], axis=0),
    "cumulative_sum": lambda a: np.cumulative_sum(a, axis=0),
    "cumulative_sum from the start": lambda a: np.cumulative_sum(a, axis=1, include_initial=True),
    "cumulative_sum of a vector": lambda a: np.cumulative_sum(a[0], include_initial=True),
    "cumulative_sum of nothing": lambda a: np.cumulative_sum(a[0, :0], include_initial=True),
    "cumulative_sum of a number": lambda a: np.cumulative_sum(a[0, 0]),
    "cumulative_sum of zeros": lambda a: np.cumulative_sum(a[0] * -0.0, include_initial=True),
    "cumulative_sum with a dtype": lambda a: np.cumulative_sum(a[0], dtype="c16"),
    "cumulative_prod": lambda a: np.cumulative_prod(a[0], include_initial=True),
    "polyval": lambda a: np.polyval([2, 1, 3], a),
    "polyval of floats": lambda a: np.polyval((2.5, 1, -3), a),
    "polyval of an array": lambda a: np.polyval(a[0], a),
    "polyval of rows": lambda a: np.polyval(a, a[0]),
    "polyval of computed numbers": lambda a: np.polyval([a[0, 0], 1, a[0, 1]], a),
    "polyval of a number": lambda a: np.polyval([1, 2], a[0, 0]),
    "polyval at a number": lambda a: np.polyval(a[0], 2),
    "polyval of an outer array": lambda a: np.polyval(POINTS, a),
    "block": lambda a: np.block([[a, a[:, :1]], [a[:1] * 2, a[:1, :1]]]),
    "block of rows": lambda a: np.block([a[0], 3, a[1]]),
    "block of columns": lambda a: np.block([[a], [a + 1]]),
    "block of one": lambda a: np.block(a),
    "block of stacks": lambda a: np.block([[[a], [a]], [[a], [a[::-1]]]]),
    "unstack": lambda a: np.unstack(a),
    "unstack columns": lambda a: np.unstack(a, axis=1),
    "unstack a vector": lambda a: np.unstack(a[0]),
    "vecdot": lambda a: np.vecdot(a, a[::-1]),
    "vecdot of vectors": lambda a: np.vecdot(a[0], a[1]),
    "vecdot along columns": lambda a: np.vecdot(a, a * 2, axis=0),
    "vecdot of stacks": lambda a: np.vecdot(a[None], a[0]),
    "vecdot of nothing": lambda a: np.vecdot(a[:, :0], a[:, :0]),
    "vecdot in a dtype": lambda a: np.vecdot(a, a, dtype="c16"),
    "vecdot keeps": lambda a: np.vecdot(a, a, keepdims=True),
    "matvec": lambda a: np.matvec(a, a[0]),
    "matvec of stacks": lambda a: np.matvec(np.stack([a, a * 2]), a[:2]),
    "matvec of vectors": lambda a: np.matvec(a, a),
    "vecmat": lambda a: np.vecmat(a[:, 0], a),
    "vecmat of stacks": lambda a: np.vecmat(a[:, :3].T, np.stack([a] * 3)),
    "matmul along other axes": lambda a: np.matmul(a, a, axes=[(0, 1), (1, 0), (0, 1)]),
    "add.reduceat": lambda a: np.add.reduceat(a, [0, 2]),
    "add.reduceat of rows": lambda a: np.add.reduceat(a, [0, 2, 1, 5], axis=1),
    "add.reduceat in a dtype": lambda a: np.add.reduceat(a, [0, 2], 0, "c16"),
    "add.reduceat of an array": lambda a: np.add.reduceat(a, np.array([0, 2])),
    "add.reduceat of equal segments": lambda a: np.add.reduceat(a, np.arange(0, a.shape[1], 4), 1),
    "add.reduceat of single ones": lambda a: np.add.reduceat(a, np.arange(a.shape[0] - 1)),
    "add.reduceat of a range": lambda a: np.add.reduceat(a, range(1, 4, 2), axis=0),
    "add.reduceat of one": lambda a: np.add.reduceat(a, np.arange(2, a.shape[0], 5), 0),
    "add.reduceat beyond": lambda a: np.add.reduceat(a, np.arange(0, a.shape[1] + 3, 3), 1),
    "add.reduceat backward": lambda a: np.add.reduceat(a, np.arange(a.shape[0] - 1, -1, -1)),
    "maximum.reduceat of equal segments": lambda a: np.maximum.reduceat(
        a * 1, np.arange(0, a.shape[0], 2)
    ),
    "multiply.reduceat": lambda a: np.multiply.reduceat(a, [3, 0], axis=1),
    "maximum.reduceat": lambda a: np.maximum.reduceat(a, [0, 2, 2, 3], axis=-1),
    "minimum.reduceat to the end": lambda a: np.minimum.reduceat(a[0], [0, a.shape[1] - 2]),
    "logical_or.reduceat": lambda a: np.logical_or.reduceat(a, (1, 3)),
    "logical_and.reduceat": lambda a: np.logical_and.reduceat(a > 1, (1, 3)),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", EXACT)
def test_values_are_numpys(name, code):
    """By the evaluator and in plain source; whole numbers, so that no order of sums matters."""
    for a in layouts(values(code, 4, 6))[: 4 if code == "f8" else 2]:
        want = outcome(EXACT[name], (a,))
        if isinstance(want, tuple) and want and isinstance(want[0], type):
            assert issubclass(outcome(aj.jit(EXACT[name]), (a,))[0], want[0])
            continue
        case = follow(EXACT[name], a)
        for made in (evaluated(case.graph, case), run_plain_case(case, lowered(case).plan)):
            for one, other in zip(made, as_tuple(want), strict=True):
                assert (np.asarray(one).dtype, one.shape) == (other.dtype, other.shape)
                np.testing.assert_array_equal(one, other)
                zero = (other == 0) & (other.dtype.kind == "f")
                signs = np.signbit(np.real(one)) == np.signbit(np.real(other))
                assert signs[zero].all() or "add.reduceat" in name


@pytest.mark.parametrize("name", EXACT)
def test_compiled(name):
    assert_as_numpy(EXACT[name], values("f8", 4, 6))


ONE_PASS = {
    "gradient": (lambda x: (np.gradient(x, 0.5) ** 2).sum(), 0),
    "gradient of columns": (lambda x: np.gradient(x.reshape(30, -1), axis=0), 0),
    "polyval": (lambda x: np.polyval([1.0, 2.0, 3.0], x * 2), 0),
    "cumulative_sum": (lambda x: np.cumulative_sum(x * 2, include_initial=True), 0),
    "cumulative_prod": (lambda x: np.cumulative_prod(x * 2, include_initial=True), 0),
    "block": (lambda x: np.block([[x * 2, x[:1]], [x + 1, x[:1]]]), 0),
    "vecdot": (lambda x: np.vecdot(x.reshape(30, -1) * 2, x[:30]), 0),
    "matvec of stacks": (lambda x: np.matvec(x.reshape(3, 10, 30), x[:30] * 2), 240),
    "maximum.reduceat": (lambda x: np.maximum.reduceat(x * 2, [0]), 8),
    "add.reduceat": (lambda x: np.add.reduceat(x * 2, np.arange(0, x.size, 30)), 240),
}


@pytest.mark.parametrize("name", ONE_PASS)
def test_one_pass(name):
    """One loop over the array, without a temporary of its size."""
    function, most = ONE_PASS[name]
    case = aj.jit(function).lower(np.arange(900.0))
    assert case.cost.temporary_bytes <= most
    assert "external" not in str(case.graph)


def test_segments_of_equal_lengths():
    def function(x, k):
        return np.add.reduceat(x, np.arange(0, len(x), k)), np.minimum.reduceat(
            x, np.arange(1, 9, k)
        )

    f, plain = aj.jit(function, strict=True), function
    before = aj.stats()["opaque_calls"]
    for n, k in ((20, 5), (21, 5), (20, 7), (33, 1), (9, 8), (12, 30), (20, 5)):
        for x in (np.arange(n) * 1.0, np.arange(2 * n, 0, -2)):
            for one, other in zip(f(x, k), plain(x, k), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)
    assert aj.stats()["opaque_calls"] == before


def test_views_share_memory():
    x = np.arange(12.0).reshape(3, 4)
    rows = aj.jit(lambda x: np.unstack(x), strict=True)(x)
    assert all(np.shares_memory(row, x) for row in rows)

    @aj.jit(strict=True)
    def write(x):
        for column in np.unstack(x, axis=1):
            column[0] = -1

    write(x)
    assert (x[0] == -1).all()


REFUSED = {
    "gradient of few": (np.gradient, np.ones(1)),
    "gradient of fewer": (lambda a: np.gradient(a, edge_order=2), np.ones(2)),
    "order of edges": (lambda a: np.gradient(a, edge_order=3), np.ones(9)),
    "spacings": (lambda a: np.gradient(a, 1, 2), np.ones(9)),
    "points": (lambda a: np.gradient(a, a[:4]), np.ones(9)),
    "points of rows": (lambda a: np.gradient(a, a[None]), np.ones(9)),
    "axis": (lambda a: np.gradient(a, axis=1), np.ones(9)),
    "cumulative axis": (np.cumulative_sum, np.ones((3, 3))),
    "depths": (lambda a: np.block([[a], a]), np.ones((3, 3))),
    "no blocks": (lambda a: np.block([[a], []]), np.ones((3, 3))),
    "tuple of blocks": (lambda a: np.block([(a, a)]), np.ones((3, 3))),
    "no dimensions": (lambda a: np.unstack(a[0]), np.ones(3)),
    "core lengths": (lambda a: np.vecdot(a, a[:, :2]), np.ones((3, 4))),
    "core ranks": (lambda a: np.matvec(a[0], a), np.ones((3, 4))),
    "segments": (lambda a: np.add.reduceat(a, [0, 9]), np.ones(9)),
    "segments before": (lambda a: np.add.reduceat(a, [0, -1]), np.ones(9)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name):
    function, a = REFUSED[name]
    want, found = outcome(function, (a,)), outcome(aj.jit(lambda a: function(a)), (a,))
    assert issubclass(found[0], want[0])
