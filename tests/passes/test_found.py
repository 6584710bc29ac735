"""Programs that once went wrong, each with what went wrong; in plain Python and small forms."""

from contextlib import nullcontext

import numpy as np
import pytest

from tests.graphs import follow, in_numpy, lowered, run_plain_case, small_forms
from tests.passes.examples import numbers

FOUND = {
    # tile_folds: lanes around the inner loop alone, where the fold's loop holds more than it
    "columns of one and all of another": (
        lambda x, y: (y.sum(axis=0), -x),
        [numbers(6, 6, 7), numbers(6, 6)],
    ),
    # fuse_loops: one state for two folds of one value over different loops
    "total and row sums": (lambda x: (x.sum(), x.sum(axis=1)), [numbers(6, 7)]),
    "row sums and total": (lambda x: (x.sum(axis=1), x.sum()), [numbers(6, 7)]),
    "plane sums and row sums": (
        lambda x: (x.sum(axis=(1, 2)), x.sum(axis=2)),
        [np.asfortranarray(numbers(6, 5, 7))],
    ),
    # lower_to_views: the order of an operand that has more dimensions than the op
    "one row": (lambda x: x[0] + 1.0, [numbers(6, 7)]),
    "one column": (lambda x: x[:, 0] + 1.0, [numbers(6, 7)]),
    "one plane of another order": (lambda x: x[:, 1] + 1.0, [numbers(6, 5, 7).transpose(2, 0, 1)]),
    # block_folds: the states of an earlier loop opened again, or not at all
    "short then long rows": (
        lambda x, y: x.sum(axis=1) * y.sum(axis=1),
        [numbers(6, 5), numbers(6, 30)],
    ),
    # block_folds: division by a length of 0
    "sum of no columns": (lambda x: x[::2, 3:1].sum(), [numbers(7, 6)]),
    "sum of nothing, strided": (lambda x: x[0, ::3, 1::3].sum() + 2.0, [numbers(1, 2, 1)]),
    # order_loops after fuse_loops: a fold outside its loop, statements beside the grid's loop
    "fold of one and map": (
        lambda x, y: (x.max(), np.minimum(y, 0.5)),
        [np.ones(1), numbers(1, 2, 2)],
    ),
    "fold of one and empty map": (lambda x, y: (x.max(), y + 1.0), [np.ones(1), np.ones((1, 0))]),
    "copy of one and mean of rows": (
        lambda x, y: (np.copy(y), x.mean(axis=2, keepdims=True)),
        [numbers(1, 3, 2), np.ones(1)],
    ),
}


@pytest.mark.parametrize("small", [True, False], ids=["small blocks", "real blocks"])
@pytest.mark.parametrize("name", FOUND)
def test_found(name, small):
    function, arguments = FOUND[name]
    case = follow(function, *arguments)
    with small_forms() if small else nullcontext():
        plan = lowered(case).plan
    got = run_plain_case(case, plan, chunks=2)
    for one, other in zip(got, in_numpy(function, arguments), strict=True):
        np.testing.assert_array_equal(one, other, strict=True)


def test_arithmetic_of_python_numbers_stays_weak():
    """A cast stands between Python numbers and their sum: the sum is no Python number."""
    x = numbers(6, dtype="f4")
    (output,) = follow(lambda x, k: x * (k + 1), x, 2.5).graph.outputs
    assert output.dtype == (x * (2.5 + 1)).dtype


@pytest.mark.parametrize("fold", [np.sum, np.max])
def test_a_fold_over_no_axis_is_a_copy(fold):
    """NumPy returns a new array for axis=(); so must we, not the argument itself."""
    x = numbers(6, 7)
    case = follow(lambda x: fold(x, axis=()), x)
    (got,) = run_plain_case(case, lowered(case).plan)
    assert not np.shares_memory(got, x)
