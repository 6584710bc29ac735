"""Programs that once went wrong, each with what went wrong; as `campaign` prints them."""

import numpy as np
import pytest

from tests.generator.check import assert_agrees
from tests.passes.examples import numbers
from tests.passes.graphs import follow, lowered, run_plain_case

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


@pytest.mark.parametrize("name", FOUND)
def test_found(name):
    function, arguments = FOUND[name]
    assert_agrees(function, *arguments, compiled=False)


@pytest.mark.parametrize("number", [2.5, 1 + 2j])
@pytest.mark.parametrize("arithmetic", [lambda k: k + 1, lambda k: -k, abs])
def test_arithmetic_of_python_numbers_stays_weak(arithmetic, number):
    """A cast stands between Python numbers and their sum: the sum is no Python number."""
    x = numbers(6, dtype="f4")
    (output,) = follow(lambda x, k: x * arithmetic(k), x, number).graph.outputs
    assert output.dtype == (x * arithmetic(number)).dtype


@pytest.mark.parametrize("fold", [np.sum, np.max])
def test_a_fold_over_no_axis_is_a_copy(fold):
    """NumPy returns a new array for axis=(); so must we, not the argument itself."""
    x = numbers(6, 7)
    case = follow(lambda x: fold(x, axis=()), x)
    (got,) = run_plain_case(case, lowered(case).plan)
    assert not np.shares_memory(got, x)


SMALL = {
    # numpy_shapes: an element taken out of an array without dimensions is a copy
    "element of a number": (lambda x: np.reshape(x[()], (1, 1)), [np.array(5, "u4")]),
    # split_regions: joins in the part that combines groups of a fold
    "join beside a fold": (
        lambda x: (np.stack((x >> x,), axis=1), np.fmax(x @ x, 1)),
        [np.array([0], "i4")],
    ),
    # builder: products of bools
    "product of bools": (lambda x: (x @ x, x.dot(x[0])), [np.array([[True, False]] * 2)]),
    # numpy_rules: bounds of clip that are no integers, and a clipped Python number
    "integers within complex bounds": (lambda x: np.clip(x, x, 2j), [np.array([3, -1])]),
    "integers within float bounds": (lambda x: np.clip(x, -0.5, 2.5), [np.array([3, -1], "i2")]),
    "clipped number": (lambda x, k: np.clip(k, x, x), [np.zeros((1, 2), "f2"), 5]),
    "clipped beside unsigned": (lambda x, k: np.clip(k, min=x), [np.arange(3, dtype="u8"), -3]),
    # split_regions: joins of lengths of 0, and ranges that no part covers
    "columns of nothing": (
        lambda x: np.column_stack((x, x)).sum(axis=-1),
        [np.zeros((5, 0), "c8")],
    ),
    "every third of a join": (
        lambda x: x[:3:-2] != np.append(x[:3:-2], x[:3:-2])[:6:3],
        [numbers(7)],
    ),
    # split_regions: a loop over a join inside a part of another
    "join of a sum of a join": (
        lambda x: np.hstack((np.concatenate((x, x, x)).sum(initial=0.5, keepdims=True),)),
        [np.array([-2.5])],
    ),
    # builder, lengths: parts of Python numbers
    "parts of a float": (lambda k: (k.real, k.imag), [2.5]),
    "parts of an integer": (lambda x, k: (x + k.imag, k.real), [np.array(8, "i2"), 5]),
    # lengths: NumPy functions of integers alone
    "where of integers": (lambda k: np.where(k, k, np.int8(3)), [1]),
    "stacked integers": (lambda k: np.trunc(np.hstack((k,))), [-3]),
    "array beside an integer": (lambda k: np.where(np.pad(k, 1), np.zeros(1), k), [5]),
    # numpy_reductions: means are divided in 64 bits; those of integers in their own dtype are cut
    "complex64 mean": (
        lambda x: x.mean(dtype="c8"),
        [np.array([7, 3 + 2j, 7 + 1j, -2.5 - 0.25j, -4 - 0.25j])],
    ),
    "mean as integers": (
        lambda x: (x.mean(dtype="u1"), x.mean(axis=0, keepdims=True, dtype="u8")),
        [np.array([-7, 2, 7, 8, 200])],
    ),
    "mean of some as integers": (
        lambda x: x.mean(axis=1, where=x > 0, dtype="i2"),
        [np.array([[-7, 2, 7], [1, 4, 4]], "i1")],
    ),
    # numpy_reductions: only the sums of a variance are computed in its dtype
    "variance in another dtype": (lambda x: np.sqrt(x).var(dtype="f4"), [np.array([[3, 3]])]),
    "variance of integers in float32": (lambda x: x.var(dtype="f4"), [np.array([3, 2**25 + 1])]),
    # builder: no negative exponent is met where there are no elements
    "negative power of nothing": (lambda x: x**-1, [np.zeros((4, 0), "i1")]),
    # make_plan: the grid of a kernel without map loops
    "smallest of nothing": (
        lambda x: np.pad(np.atleast_2d(x.ravel().min(keepdims=True, initial=2)), 0, mode="wrap"),
        [np.zeros((0, 6), "i8")],
    ),
    # numpy_joins: one or two constants are cast as arrays are
    "padded with -1": (lambda x: np.pad(x, 1, constant_values=-1), [np.array([[1, 2]], "u4")]),
    "padded with -1 and 300": (
        lambda x: np.pad(x, 1, constant_values=(-1, 300)),
        [np.array([[1, 2]], "u1")],
    ),
    "padded in rows": (
        lambda x: np.pad(x, 1, constant_values=((1,), (2,))),
        [np.array([[1, 2]], "u1")],
    ),
    # simplify_algebra: -x of unsigned integers wraps
    "magnitude of a negated number": (lambda x: abs(-x), [np.array([3, 0, 255], "u1")]),
    # choose_storage: dimensions along which neither values nor positions run
    "taken from one number": (
        lambda x: (np.take(np.ceil(x.min(keepdims=True)), 0, axis=-2), x.min(keepdims=True)),
        [numbers(6, 1)],
    ),
    "taken from repeated rows": (
        lambda x, k: np.take(np.broadcast_to(x, (2, 6)), k, axis=1),
        [numbers(6), np.array([[1, -1]])],
    ),
    "nothing taken beyond the end": (
        lambda x: np.take(x, np.array([[1]]), axis=1),
        [np.zeros((0, 1))],
    ),
    "nothing taken from nothing": (lambda x: np.take(x, 0, axis=-1), [np.zeros((0, 2, 0))]),
    "taken by unsigned positions": (
        lambda x, k: np.take(x, k),
        [numbers(6), np.array([1, 5], "u8")],
    ),
    # library_operations: a mask whose elements repeat, or with lengths of 1
    "masks of repeated elements": (
        lambda x: (
            *np.broadcast_to((x > 2)[:, None], (6, 3)).nonzero(),
            *np.nonzero(np.broadcast_to(x > 2, (4, 6))),
            np.any(x, keepdims=True)[np.any(x, keepdims=True)],
        ),
        [numbers(6)],
    ),
    # numpy_wholes: an array without dimensions has one, but for sort
    "running folds of one": (
        lambda x: (np.cumsum(x, axis=0), x.argsort(), np.take(x, [0, 0], axis=-1)),
        [np.array(5)],
    ),
    # builder: sums begin at 0.0 also where nothing is summed
    "sums of negative zeros": (
        lambda x: (x.sum(), x.sum(axis=()), x[0].sum(), (x * 1j).sum(axis=())),
        [np.array([-0.0])],
    ),
    # fuse_loops: memory of a chosen length is written after the nest that counts
    "padding of chosen elements": (
        lambda x: np.pad(np.roll(x[x != 1] * 2, 1), pad_width=2),
        [np.zeros(2)],
    ),
    # creation: one element between ends that lie infinitely far apart
    "linspace of one": (
        lambda x: (np.linspace(x, 7.5, 1), np.linspace(1.0, x, 1)),
        [np.array(np.inf)],
    ),
    # center_blocks: rows whose loop also writes have no blocks
    "variance beside a join": (
        lambda x, y: (np.dstack((x, x, x)), np.var(y, axis=1)),
        [np.ones((5, 5)), np.full((5, 5), True)],
    ),
    # execute: no element is written for many where there are none
    "product of nothing": (lambda x, y: x.dot(y), [np.zeros((2, 0, 1)), np.zeros((1, 0))]),
}


@pytest.mark.parametrize("name", SMALL)
def test_found_small(name):
    function, arguments = SMALL[name]
    assert_agrees(function, *arguments)
