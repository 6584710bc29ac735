"""`np.apply_along_axis` of functions that are followed: few rows one by one, many at once."""

import functools

import numpy as np
import pytest

import axiomjit

GRID = np.random.default_rng(3).integers(1, 9, (30, 20)) * 1.0
apply = np.apply_along_axis


def shifted(row):
    y = np.zeros(row.shape, row.dtype)
    y[1:] = row[:-1]
    y[0] += 2
    return y


def weighted(x):
    weights = x[0] * 2
    return apply(lambda row: (row * weights).sum(), 1, x)


FUNCTIONS = {
    "sum": lambda x: apply(np.sum, 0, x),
    "differences": lambda x: apply(lambda row: row[1:] - row[:-1], 1, x),
    "normalised": lambda x: apply(lambda row: row / row.max(), 0, x),
    "arguments": lambda x: apply(lambda row, p, q=1: (row**p).sum() * q, -1, x, 2, q=3),
    "matrices": lambda x: apply(lambda row: np.outer(row, row[:3]), 0, x),
    "lists": lambda x: apply(lambda row: [row[0], row[-1] * 2], 1, x),
    "running": lambda x: apply(np.cumsum, 0, x),
    "elements": lambda x: apply(lambda row: row[0], 0, x),
    "itself": lambda x: apply(lambda row: row, 0, x),
    "constants": lambda x: apply(lambda row: 3, 0, x),
    "joined": lambda x: apply(lambda row: np.concatenate([row[:2], row[::-1]]), 1, x),
    "reshaped": lambda x: apply(lambda row: row[:4].reshape(2, 2).T, 1, x),
    "products": lambda x: apply(lambda row: row @ np.arange(row.size), 1, x),
    "gathered": lambda x: apply(lambda row: row[np.arange(3)] * 2, 1, x),
    "written": lambda x: apply(shifted, 1, x),
    "partial": lambda x: apply(functools.partial(np.multiply, 2), 0, x),
    "weighted": weighted,
    "positions": lambda x: apply(lambda row: np.where(row > 3, row, -1).argmax(), 1, x),
    "computed": lambda x: apply(lambda row: row.std() ** 2, 0, x * 2),
}


OVER = {
    "sums": lambda x: np.apply_over_axes(np.sum, x, (0, -1)),
    "one axis": lambda x: np.apply_over_axes(np.max, x, 1),
    "users": lambda x: np.apply_over_axes(lambda y, k: y.cumsum(k) * k, x, [1, 0]),
    "none": lambda x: np.apply_over_axes(np.sum, x, ()) * 1,
}


def agree(function, array, same_strides=True):
    compiled = axiomjit.jit(function, strict=True)
    for one in (array, array[..., ::-1], array):
        found, want = compiled(one), function(one)
        assert (found.dtype, found.shape) == (want.dtype, want.shape)
        assert not same_strides or found.strides == want.strides
        np.testing.assert_allclose(found, want, rtol=1e-12)
        assert not np.shares_memory(found, one)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_rows_of_layouts(name):
    for array in (GRID, np.asfortranarray(GRID), GRID[::2, 4:], GRID[:3], GRID[:, :8]):
        agree(FUNCTIONS[name], array)


@pytest.mark.parametrize("name", OVER)
def test_over_axes(name):
    for array in (GRID, GRID.T, GRID.reshape(5, 6, 20)):
        agree(OVER[name], array, same_strides=False)  # of lengths of 1


@pytest.mark.parametrize("code", ["b1", "i4", "u1", "f2", "f4", "c16"])
@pytest.mark.parametrize("name", ["sum", "differences", "written", "joined", "itself", "lists"])
def test_rows_of_dtypes(name, code):
    if code == "b1" and name in ("differences", "written"):
        return  # NumPy subtracts no bools
    for array in (GRID, GRID[:4]):
        agree(FUNCTIONS[name], array.astype(code))


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_rows_of_stacks(axis):
    agree(lambda x: apply(lambda row: row[:2] * row.sum(), axis, x), GRID.reshape(5, 6, 20))
    agree(lambda x: apply(lambda row: row.sum(), axis, x), GRID.reshape(2, 2, 150))
    agree(lambda x: apply(np.sum, 0, x), GRID[0])


def test_one_program_for_all_lengths():
    f = axiomjit.jit(lambda x: apply(lambda row: row[1:].max() - row.sum(), 1, x), strict=True)
    for rows in (10, 11, 25, 30):
        x = GRID[:rows]
        np.testing.assert_array_equal(f(x), f.__wrapped__(x))
    assert f.cache_info().traced == 1
    assert f.lower(GRID).graph.count("%") < 30
    assert f.lower(GRID).cost.library_calls == 0


def test_few_rows_may_ask_for_their_values():
    def signs(x):
        seen = []

        def one(row):
            seen.append(row[0])
            return row if row[0] > 4 else -row

        return apply(one, 1, x), sum(seen)

    f = axiomjit.jit(signs, strict=True)
    for x in (GRID[:3], GRID[2:5], GRID[:3]):
        for one, other in zip(f(x), signs(x), strict=True):
            np.testing.assert_array_equal(one, other)


total = []


def counting(x):
    seen = []
    y = apply(lambda row: (seen.append(1), row.sum())[1], 1, x)
    return y + len(seen)


def counting_in_a_cell(x):
    count = 0

    def one(row):
        nonlocal count
        count += 1
        return row.sum() + count

    return apply(one, 1, x)


def counting_in_a_dict(x):
    seen = {"n": 0}

    def one(row):
        seen["n"] += 1
        return row.sum() + seen["n"]

    return apply(one, 1, x)


def counting_in_an_array(x):
    seen = np.zeros(1)

    def one(row):
        seen[0] += 1
        return row.sum() + seen[0]

    return apply(one, 1, x)


def counting_in_an_array_of_lengths(x):
    seen = np.zeros(x.shape[0])

    def one(row):
        seen[0] += 1
        return row.sum() + seen[0]

    return apply(one, 1, x)


def counting_outside(x):
    return apply(lambda row: (total.append(1), row.sum() + len(total))[1], 1, x)


def keeping(x):
    last = None

    def one(row):
        nonlocal last
        last = row
        return row.sum()

    return apply(one, 1, x) + last[0]


def writing(x):
    def one(row):
        row[0] = 7
        return row.sum()

    return apply(one, 1, x[:, :]) + x[:, 0]


OTHERS = {
    **{
        one.__name__: one
        for one in (counting, counting_in_a_cell, counting_in_a_dict, writing, keeping)
    },
    **{one.__name__: one for one in (counting_in_an_array, counting_in_an_array_of_lengths)},
    "counting outside": counting_outside,
    "truths": lambda x: apply(lambda row: row if row[0] > 4 else -row, 1, x),
    "library": lambda x: apply(np.sort, 1, x),
    "median": lambda x: apply(np.median, 1, x),
    "checked": lambda x: apply(lambda row: row[row[:3].astype(int)], 1, x),
    "chosen": lambda x: apply(lambda row: row[row > 3].sum(), 1, x),
    "drawn": lambda x: apply(lambda row: row + np.random.default_rng(0).normal(), 1, x),
}


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("rows", [3, 30])
def test_other_functions_are_numpys(name, rows):
    compiled = axiomjit.jit(OTHERS[name])
    for _ in range(3):
        mine, others = GRID[:rows].copy(), GRID[:rows].copy()
        total.clear()
        found = compiled(mine)
        count = len(total)
        total.clear()
        np.testing.assert_allclose(found, OTHERS[name](others))
        np.testing.assert_array_equal(mine, others)
        assert count == len(total)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_errors_are_numpys():
    for array, error in ((GRID[:0], ValueError), (GRID[0], np.exceptions.AxisError)):
        with pytest.raises(error):
            axiomjit.jit(lambda x: apply(np.sum, 1, x))(array)
    with pytest.raises(ValueError, match="correct shape"):
        axiomjit.jit(lambda x: np.apply_over_axes(lambda y, k: y[0, 0], x, 0))(GRID)
