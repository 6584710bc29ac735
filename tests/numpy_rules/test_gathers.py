"""Elements read at positions: integer arrays as indices, `take`, `take_along_axis`."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import PositionError
from tests.generator import check
from tests.generator.indices import draw_read, read_failure
from tests.passes.graphs import follow, lowered, run_plain_case

X = np.arange(30.0).reshape(5, 6)
ROWS = np.array([4, -1, 0, 2])


@pytest.mark.parametrize("seed", range(4))
def test_random_reads_are_numpys(seed):
    """`python -m tests.generator.campaign --reads N --compiled M` draws more of them."""
    failures = [
        f"{k}: {read.array.shape} {read.items} {found}"
        for k in range(100)
        for read in [draw_read(seed, k)]
        if (found := read_failure(read, [check.evaluate, check.interpret_small]))
    ]
    assert failures == []


@pytest.mark.parametrize(
    "function",
    [
        lambda x, i: np.exp(x[i] * 2) + 1,
        lambda x, i: (x * 2)[i].sum(axis=0),
        lambda x, i: x.T[i][:, 1:],
        lambda x, i: x[i][:, i],
        lambda x, i: x.sum(axis=1)[i],
        lambda x, i: np.concatenate([x, -x])[i + 3],
        lambda x, i: np.concatenate([x[i], x])[1:],
        lambda x, i: x[i[1], i],
        lambda x, i: x[np.argsort(x[:, 0])[i]],
        lambda x, i: np.cumsum(x, axis=0)[i] + np.sqrt(x)[i],
        lambda x, i: x[i, :4] @ x[:4],
    ],
)
def test_gathers_are_part_of_the_program(function):
    case = follow(function, X, ROWS)
    want = function(X, ROWS)
    (found,) = run_plain_case(case, lowered(case).plan)
    np.testing.assert_allclose(found, want, rtol=1e-15)
    np.testing.assert_allclose(aj.jit(function)(X, ROWS), want, rtol=1e-15)


def test_a_gather_is_in_the_loop_of_its_reader():
    lowered = aj.jit(lambda x, i: np.sqrt(x[i]) + 1).lower(X, ROWS)
    assert lowered.cost.kernels == 1
    assert lowered.cost.temporary_bytes == 8  # the length, once positions are within it


def test_an_expensive_producer_is_computed_once_per_element():
    many = np.zeros(1000, int)
    cheap = aj.jit(lambda x, i: (x + 1)[i])
    expensive = aj.jit(lambda x, i: np.exp(x)[i])
    counts = [f.lower(X[0], i).cost.kernels for f in (cheap, expensive) for i in (many, many[:6])]
    assert counts == [2, 1, 2, 2]


def test_positions_out_of_range_are_refused_with_the_users_line():
    read = aj.jit(lambda x, i: x[:, i])
    assert read(X, ROWS).shape == (5, 4)
    with pytest.raises(
        PositionError, match=r"test_gathers.py:\d+: index 6 is out of bounds for ax"
    ):
        read(X, np.array([1, 6, -9, 2]))
    with pytest.raises(IndexError, match="index -7 is out of bounds for axis 1 with size 6"):
        read(X, np.array([-7]))
    assert read(X, ROWS).shape == (5, 4)  # a call that failed leaves nothing behind


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [None, 0, -1])
def test_take(axis, mode):
    def taken(x, i):
        return np.take(x, i, axis=axis, mode=mode), x.take(i[:2], axis, mode=mode)

    positions = ROWS if mode == "raise" else ROWS * 5 - 7
    for found, want in zip(aj.jit(taken)(X, positions), taken(X, positions), strict=True):
        np.testing.assert_array_equal(found, want, strict=True)


def test_take_says_what_numpy_says():
    with pytest.raises(IndexError, match="cannot do a non-empty take from an empty axes"):
        aj.jit(lambda x, i: np.take(x, i, axis=0))(X[:0], ROWS)
    with pytest.raises(ValueError, match="clipmode must be one of"):
        aj.jit(lambda x, i: np.take(x, i, mode="best"))(X, ROWS)
    with pytest.raises(TypeError, match="according to the rule"):
        aj.jit(lambda x, i: np.take(x, i))(X, ROWS * 1.0)


@pytest.mark.parametrize("axis", [0, 1, -1, None])
def test_take_along_axis(axis):
    x = np.cos(X * 7)

    def sorted_by_hand(x):
        return np.take_along_axis(x, np.argsort(x, axis=axis), axis)

    np.testing.assert_array_equal(aj.jit(sorted_by_hand)(x), sorted_by_hand(x), strict=True)


def test_take_along_axis_says_what_numpy_says():
    read = aj.jit(lambda x, i: np.take_along_axis(x, i, 1))
    with pytest.raises(ValueError, match="must have the same number of dimensions"):
        read(X, ROWS)
    with pytest.raises(IndexError, match="`indices` must be an integer array"):
        read(X, X)
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 1 with size 6"):
        read(X, ROWS[:1, None] + 5)


def test_integers_that_are_arguments_take_an_element():
    pick = aj.jit(lambda x, k: x[k] * x[0, k])
    np.testing.assert_array_equal(pick(X, 3), X[3] * X[0, 3], strict=True)
    np.testing.assert_array_equal(pick(X, -2), X[-2] * X[0, -2], strict=True)
    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 5"):
        pick(X, 5)


def test_positions_without_dimensions_and_an_ellipsis_give_an_array():
    def doubled(x, i):
        x[..., i, -1] *= 2.5
        return x

    rows, one = np.arange(6).reshape(2, 3), np.array(1)
    assert "float64" in _message(doubled, rows.copy(), one)
    assert "float64" in _message(aj.jit(doubled, strict=True), rows.copy(), one)
    np.testing.assert_array_equal(aj.jit(doubled)(rows * 1.0, one), doubled(rows * 1.0, one))


def _message(function, *arguments):
    with pytest.raises(TypeError) as caught:
        function(*arguments)
    return str(caught.value)


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[range(3)] * range(x.shape[1]),
        lambda x: x[range(0), range(0)],
        lambda x: x.take(range(2), axis=1) + np.where(x[:, :2] > 3, range(2), x[:, :2]),
        lambda x: np.concatenate([x[0], range(2)]),
        lambda x: x.dot(range(x.shape[1])),
    ],
)
def test_ranges_are_arrays_of_integers(function):
    f = aj.jit(function, strict=True)
    for values in (X, X[:, ::2], X):
        got, want = f(values), function(values)
        assert got.dtype == want.dtype
        np.testing.assert_array_equal(got, want)
