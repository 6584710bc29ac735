"""The table of library operations, which NumPy and BLAS compute on entire operands.

A row has all facts about an operation: its dtype rule, the iterators of its result, its evaluation
into an output, and its cost. The evaluator and the plan share the evaluation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import BOOL, DTYPES, FLOAT, INT, DType
from axiomjit.base.errors import GraphValueError, PositionError, amount
from axiomjit.base.records import Record
from axiomjit.graph.primitives import ALL, INTEGERS, NUMBERS, Primitive
from axiomjit.graph.window_products import Parts, in_blocks, multiply_windows
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import BoundCondition

Labels = tuple[tuple[int, ...], ...]
"""For each operand, the iterator of each of its dimensions."""
OperandArrays = Sequence[np.ndarray]
Shapes = Sequence[tuple[Dim, ...]]
Bounds = Sequence[BoundCondition]


MIN_LIBRARY_WORK: Final = 16_384
"""The smallest number of multiplications at which a library is faster than loops."""
MIN_NOT_CLEARED: Final = 65_536
"""From this size of a product in bytes on, `numpy.matmul` is faster than `numpy.dot`.

`numpy.dot` clears the memory of its result first.
"""
MIN_STACK_WORK: Final = 16
"""Multiplications per matrix below which one product of merged dimensions replaces a stack.

A stack of many small matrices is slower than one product, and so is a stack of single rows or
columns.
"""


class LibraryOperation(Primitive):
    """An operation that a library computes on entire operands.

    `evaluate(operands, labels, out)` writes the result into `out`; the dimensions of `out` are the
    first iterators, in order. The result has the dtype `gives`, by default the dtype of the first
    operand. If `keeps` is true, the result has all iterators; otherwise the operation reduces,
    selects or indexes the last iterators, which the result lacks. `direct_function(operands,
    labels)` may return a function that takes operands with these labels and returns the result, or
    None. `additions(shapes, labels)` is the cost; by default each element of the first operand
    costs `weight` additions.

    With `reads_each_once`, an operand is read in its own order, each element at most once;
    otherwise the operation may read the entire storage of the operand. If `parts(operands, labels,
    out, conditions)` is given, the operation is computed in parts: the parts may skip excluded
    points, and threads may compute the parts in parallel. A random draw changes the state of
    `generator`. With `number`, the result is a Python number.

    With `ranks`, each operand has its own iterators after the result's iterators, one for each
    dimension; `ranks` are the numbers of these iterators. `may_raise` is true if the operation may
    raise a NumPy error at run time. `is_speculative` is true if shape and dtype of the result
    depend on values, so that a wrong inference raises an OtherResultError. The operation computes
    each row along the last `together` iterators by itself; with None, a result may depend on all
    elements.
    """

    gives: DType | None = None
    keeps: bool = False
    additions: Callable[[Shapes, Labels], Dim] | None = None
    direct_function: Callable[[OperandArrays, Labels], Callable[..., np.ndarray] | None] | None = (
        None
    )
    reads_each_once: bool = True
    parts: Callable[[OperandArrays, Labels, np.ndarray, Bounds], Parts] | None = None
    generator: Any = None
    number: bool = False
    ranks: tuple[int, ...] | None = None
    may_raise: bool = False
    is_speculative: bool = False
    together: int | None = None

    @property
    def draws(self) -> bool:
        """True if the operation draws random numbers."""
        return self.generator is not None or getattr(self.evaluate, "func", None) is _draw

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """The lengths that the operation depends on, besides the extents of its iterators."""
        return ()

    def dtype(self, operand: DType) -> DType:
        """The dtype of the result for a first operand of this dtype."""
        return operand if self.gives is None else self.gives

    def run(
        self, operands: OperandArrays, labels: Labels, out: np.ndarray, conditions: Bounds = ()
    ) -> None:
        """Compute the result into `out`."""
        if self.parts is None:
            self.evaluate(operands, labels, out)
            return
        parts = self.parts(operands, labels, out, conditions)
        parts.compute(0, parts.number)

    def cost(self, shapes: Shapes, labels: Labels) -> Dim:
        """The cost of the operation, in additions."""
        if self.additions is not None:
            return self.additions(shapes, labels)
        return product(shapes[0]) * self.weight


def _multiply_matrices(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Contract the dimensions with equal labels; matrices and vectors go directly to BLAS."""
    left, right = operands
    if left.ndim > 2 or right.ndim > 2 or left.ndim + right.ndim - out.ndim != 2:
        _multiply_stacks(operands, labels, out)
        return
    axes = _shared_label(*labels)
    first = left.T if axes[0] == 0 else left
    second = right.T if axes[1] == 1 else right
    for_blas = out.flags.carray and _is_for_blas(first, second)
    if (out.nbytes >= MIN_NOT_CLEARED and for_blas) or not _are_dense(first, second, out):
        np.matmul(first, second, out=out)
    elif out.flags.c_contiguous:
        np.dot(first, second, out=out)
    else:
        out[...] = np.dot(first, second)


def _are_dense(*operands: np.ndarray) -> bool:
    """True if no operand has gaps in memory; `numpy.dot` copies entire operands with gaps."""
    return all(one.flags.forc for one in operands)


def _is_for_blas(*operands: np.ndarray) -> bool:
    """True for matrices that `numpy.matmul` passes to BLAS without a copy."""
    return all(one.ndim == 2 and one.flags.forc and one.dtype.char in "fdFD" for one in operands)


@lru_cache(maxsize=256)
def _shared_label(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int]:
    """For each operand, the dimension of the only label that both operands have."""
    (met,) = (k for k in left if k in right)
    return left.index(met), right.index(met)


def _multiply_stacks(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Multiply stacks of matrices; the labels that both operands and `out` have index the stack.

    Labels of only one operand become one matrix dimension if they can be merged in the memory of
    the operand and of `out`. The remaining labels index the stack, too, and the other operand
    repeats along them.
    """
    left, right = operands
    layouts = (left.shape, left.strides), (right.shape, right.strides), (out.shape, out.strides)
    found = _arranged(labels, *layouts)
    if found.swaps:
        left, right = right, left
    first, second = _matrices(found.first.of(left)), _matrices(found.second.of(right))
    seen = found.result.of(out) if found.writes else None
    if seen is not None and seen.strides[-1] == seen.itemsize:
        np.matmul(first, second, out=seen)
    else:
        target = out.transpose(found.order)
        target[...] = np.matmul(first, second).reshape(target.shape)


class _Reshaped(Record):
    """A transpose of an array, then a reshape; a step that is None is left out."""

    axes: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    def of(self, array: np.ndarray) -> np.ndarray:
        """The transposed and reshaped array; a copy if there is no such view."""
        turned = array if self.axes is None else array.transpose(self.axes)
        return turned if self.shape is None else turned.reshape(self.shape)


class _Arrangement(Record):
    """The way to view operands and result as stacks of matrices.

    With `swaps`, the second operand is the left matrix. `order` permutes `out` to the order of the
    product's dimensions. With `writes`, a view of `out` has the shape of the product, so that the
    product is computed directly into this view.
    """

    swaps: bool
    first: _Reshaped
    second: _Reshaped
    result: _Reshaped
    order: tuple[int, ...]
    writes: bool


_Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""The shape and the strides of an array."""


@lru_cache(maxsize=256)
def _arranged(labels: Labels, left: _Layout, right: _Layout, out: _Layout) -> _Arrangement:
    """The arrangement of a product's operands that needs the fewest copies."""
    rank, sides = len(out[0]), [(labels[0], left), (labels[1], right)]
    both = [k for k in labels[0] if k in labels[1]]
    swaps = rank - 1 in labels[0] and rank - 1 not in both  # rows of the result are in order
    if swaps:
        sides.reverse()
    stack, met = ([k for k in both if (k < rank) is kept] for kept in (True, False))
    extents = dict(zip((*labels[0], *labels[1]), (*left[0], *right[0]), strict=True))
    own = [sorted(k for k in side if k not in both) for side, _ in sides]
    result = out[1], tuple(range(rank))
    alike = [
        _merged(one, [extents[k] for k in one], [(layout[1], side), result])
        for one, (side, layout) in zip(own, sides, strict=True)
    ]
    points = math.prod(extents[k] for k in (*alike[0], *alike[1], *met))
    single = any(
        len(inner) < len(one) and math.prod(extents[k] for k in inner) == 1
        for one, inner in zip(own, alike, strict=True)
    )
    if single or points < MIN_STACK_WORK:
        alike = own
    stack += [k for one, inner in zip(own, alike, strict=True) for k in one if k not in inner]
    rows, columns, folded = (math.prod(extents[k] for k in one) for one in (*alike, met))
    first = _operand(sides[0], stack, (*alike[0], *met), (rows, folded))
    second = _operand(sides[1], stack, (*met, *alike[1]), (folded, columns))
    order = (*stack, *alike[0], *alike[1])
    target = _reshape_of(order, out[0], (*(extents[k] for k in stack), rows, columns))
    writes = all(_merged(one, [extents[k] for k in one], [result]) == one for one in alike)
    return _Arrangement(swaps, first, second, target, order, writes)


def _operand(
    given: tuple[tuple[int, ...], _Layout],
    stack: Sequence[int],
    matrix: Sequence[int],
    shape: tuple[int, int],
) -> _Reshaped:
    """The reshape of an operand to a stack of matrices; `given` has its labels and its layout."""
    own, (lengths, _) = given
    there = [k in own for k in stack]
    stack = stack[there.index(True) :] if True in there else []
    outer = (lengths[own.index(k)] if k in own else 1 for k in stack)
    axes = tuple(own.index(k) for k in (*stack, *matrix) if k in own)
    return _reshape_of(axes, lengths, (*outer, *shape))


def _reshape_of(axes: tuple[int, ...], lengths: Sequence[int], shape: tuple[int, ...]) -> _Reshaped:
    turned = tuple(lengths[d] for d in axes)
    in_order = axes == tuple(range(len(axes)))
    return _Reshaped(None if in_order else axes, None if turned == shape else shape)


def _merged(
    labels: list[int], lengths: list[int], arrays: Sequence[tuple[tuple[int, ...], Sequence[int]]]
) -> list[int]:
    """The longest tail of the labels that can be merged into one dimension in all arrays."""
    count = min(len(labels), 1)
    while count < len(labels):
        outer, inner = labels[-count - 1], labels[-count]
        length = lengths[-count]
        steps = [(strides[own.index(outer)], strides[own.index(inner)]) for strides, own in arrays]
        if any(step != length * small for step, small in steps):
            break
        count += 1
    return labels[len(labels) - count :]


def _matrices(array: np.ndarray) -> np.ndarray:
    """The stack of matrices in a layout that BLAS reads, copied if necessary."""
    steps = array.strides[-2:]
    return array if array.itemsize in steps and min(steps) > 0 else np.ascontiguousarray(array)


def _direct_product(operands: OperandArrays, labels: Labels) -> Callable[..., np.ndarray] | None:
    """NumPy's function for a product; None if an operand must be transposed or merged first."""
    left, right = labels
    if len(left) <= 2 and len(right) <= 2:
        return np.dot if {*left} & {*right} == {left[-1]} == {right[0]} else None
    if min(len(left), len(right)) <= 2 and _are_small(operands, labels):
        return None  # a product of merged dimensions is faster
    if _is_matmul(left, right):
        return np.matmul
    return _swapped_matmul if _is_matmul(right, left) else None


def _are_small(operands: OperandArrays, labels: Labels) -> bool:
    """True if the matrices of a stack are small, or have a single column."""
    sides = zip(labels, operands, strict=True)
    extents = {k: n for own, one in sides for k, n in zip(own[-2:], one.shape[-2:], strict=True)}
    columns: int = max(operands, key=np.ndim).shape[-1]
    return bool(columns == 1 or math.prod(extents.values()) < MIN_STACK_WORK)


def _is_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """True if `numpy.matmul` computes a product without a transpose."""
    if len(left) > 2 and len(right) == 2:
        return False  # one product of merged dimensions is faster
    short, long = sorted((left[:-2], right[:-2]), key=len)
    result = (*long, *left[-2:-1], *right[1:][-1:])
    in_order = result == tuple(range(len(result))) and left[-1] == right[-2:][0] == len(result)
    return in_order and long[len(long) - len(short) :] == short


def _swapped_matmul(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.matmul(left, right)
    return product


def _product_cost(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of one multiplication and one addition at each point of the iterators."""
    extents = {
        k: n
        for own, shape in zip(labels, shapes, strict=True)
        for k, n in zip(own, shape, strict=True)
    }
    return product(tuple(extents.values())) * 2


def _sort(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    out[...] = operands[0]
    out.sort(axis=-1)


def _argsort(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    out[...] = operands[0].argsort(axis=-1)


def _of_one(shapes: Shapes, labels: Labels) -> Dim:
    return dim(1)


def _of_rows(shapes: Shapes, labels: Labels) -> Dim:
    return product(shapes[0][:-1])


def _of_cells(shapes: Shapes, labels: Labels) -> Dim:
    return product(shapes[0][:-2]) * 2


def _clear(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    out.fill(0)


def _draw(method: str, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Fill the result with random numbers that a method of the generator draws."""
    out[...] = getattr(config.generator, method)(out.shape)


def _print(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Print the text in the second operand, then the first operand; copy the first one to `out`."""
    values, text = operands
    out[...] = _along_labels(values, labels[0], out.ndim + 1)[..., 0]
    print(f"{text.tobytes().decode()}{out}")


_UNSIGNED: Final = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _check_positions(axis: int, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Check positions, and write their bound: the length, which is the last extent minus 1.

    Raises:
        PositionError: a position is out of range.
    """
    positions, length = operands[0][..., 0], operands[0].shape[-1] - 1
    out[...] = length
    # negative numbers are the largest unsigned ones: one comparison instead of two
    unsigned = positions.view(_UNSIGNED[positions.itemsize])
    if not positions.size or np.maximum.reduce(unsigned, axis=None) < length:
        return
    if -length <= positions.min() <= positions.max() < length:
        return
    wrong = positions[(positions < -length) | (positions >= length)].flat[0]
    raise PositionError(
        f"index {wrong} is out of bounds for axis {axis} with size {length}",
        f"{positions.size} positions in a dimension of length {length}",
        f"give positions from {-length} to {length - 1}" if length else "take from elements",
    )


@lru_cache(maxsize=64)
def check_positions(axis: int) -> LibraryOperation:
    """The operation that checks positions against a length and returns the length."""
    evaluate = partial(_check_positions, axis)
    return LibraryOperation(
        *(f"positions_{axis}", 1, evaluate, "", INTEGERS),
        gives=INT,
        additions=_of_rows,
        may_raise=True,
    )


def _check_ends(axis: int, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Check the smallest and the largest position, and write the bound of the positions.

    The bound is the last extent minus 1. If there are no positions, the smallest position exceeds
    the largest position.

    Raises:
        PositionError: a position is out of range.
    """
    low, high, length = int(operands[0].flat[0]), int(operands[1][()]), len(operands[0]) - 1
    out[...] = length
    if low <= high and not -length <= low <= high < length:
        wrong = np.array([high if high >= length else low])
        _check_positions(axis, [np.broadcast_to(wrong[:, None], (1, length + 1))], labels, out)


@lru_cache(maxsize=64)
def check_ends(axis: int) -> LibraryOperation:
    """The operation that checks positions, given only the smallest and the largest position."""
    evaluate = partial(_check_ends, axis)
    parts = f"ends_{axis}", 2, evaluate, "", INTEGERS
    return LibraryOperation(*parts, gives=INT, additions=_of_one, may_raise=True)


def _check_labels(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Check the smallest and the largest label, and write the number of groups.

    Raises:
        PositionError: a label is neither -1 nor the number of a group.
    """
    groups = len(operands[0]) - 1
    out[...] = groups
    check_labels(int(operands[0].flat[0]), int(operands[1][()]), groups)


def check_labels(low: int, high: int, groups: int) -> None:
    """Check the smallest and the largest label of a grouped fold.

    Raises:
        PositionError: a label is neither -1 nor the number of a group.
    """
    if low <= high and not -1 <= low <= high < groups:
        wrong = high if high >= groups else low
        raise PositionError(
            f"a fold into {amount(groups, 'group')}",
            f"the label {wrong}",
            f"give labels from 0 to {groups - 1}, or -1 for elements to leave out",
        )


CHECK_LABELS: Final = LibraryOperation(
    *("labels", 2, _check_labels, "", INTEGERS),
    gives=INT,
    additions=_of_one,
    may_raise=True,
)
"""The operation that checks the smallest and the largest label of a grouped fold."""


def _write_end(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Write the largest number plus 1, or 0 if there are no numbers.

    Raises:
        GraphValueError: a number is negative.
    """
    (numbers,) = operands
    if numbers.size and numbers.min() < 0:
        raise GraphValueError(
            "'list' argument must have no negative elements",
            f"{numbers.min()} among {numbers.size} numbers",
            "give numbers from 0 on",
        )
    out[...] = numbers.max(initial=-1) + 1


def nonzero_positions(
    array: np.ndarray, out: Sequence[np.ndarray] | None = None
) -> Sequence[np.ndarray]:
    """For each dimension, the positions of nonzero elements in C order, as np.nonzero.

    NumPy is ten times faster in one dimension than in two; so positions are found in one dimension,
    and then split into one position per dimension.
    """
    (flat,) = array.ravel().nonzero()
    if array.ndim == 1 and out is None:
        return (flat,)
    found = tuple(np.empty_like(flat) for _ in array.shape) if out is None else out
    if array.ndim == 1:
        found[0][...] = flat
    at = flat
    for k in range(array.ndim - 1, 0, -1):
        outer = np.floor_divide(at, array.shape[k], out=found[k - 1])
        inner = np.multiply(outer, array.shape[k], out=found[k] if at is flat else flat)
        np.subtract(at, inner, out=found[k])
        at = outer
    return found


def _nonzero(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """For each dimension of a mask, write a row with the positions of true elements."""
    if out.size:
        own = labels[0]
        if own == (*range(2, 2 + len(out)), 0, 1):  # C order, the usual layout
            mask = operands[0][..., 0, 0]
        else:
            mask = _along_labels(operands[0], own, out.ndim + len(out))[0, 0]
        nonzero_positions(mask, tuple(out))


def _along_labels(array: np.ndarray, own: tuple[int, ...], rank: int) -> np.ndarray:
    """A view of an array with one dimension per label; a missing label has length 1."""
    ordered = array.transpose(sorted(range(len(own)), key=lambda d: own[d]))
    shape = iter(ordered.shape)
    return ordered.reshape([next(shape) if k in own else 1 for k in range(rank)])


def _reinterpret(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Reinterpret the bits of words as elements; each row holds the words of one group."""
    if out.size:
        bits = np.ascontiguousarray(operands[0][0]).reshape(-1)
        out[...] = bits.view(np.uint8) != 0 if out.dtype == BOOL else bits.view(out.dtype)


def _word_cost(shapes: Shapes, labels: Labels) -> Dim:
    return product(shapes[0][1:])


def _row(
    name: str,
    evaluate: Callable[[OperandArrays, Labels, np.ndarray], None],
    loops: frozenset[str] = ALL,
    *,
    weight: int = 1,
    gives: DType | None = None,
    keeps: bool = False,
    chooser: tuple[int, DType] | None = None,
    together: int | None = None,
) -> LibraryOperation:
    arity = 1 if chooser is None else 2
    return LibraryOperation(
        *(name, arity, evaluate, "", loops),
        weight=weight,
        gives=gives,
        keeps=keeps,
        chooser=chooser,
        together=together,
    )


MATRIX_PRODUCT: Final = LibraryOperation(
    *("tensordot", 2, _multiply_matrices, "", NUMBERS),
    additions=_product_cost,
    direct_function=_direct_product,
)
"""A matrix product; front ends make none, but passes replace sums of products by it."""
CONVOLUTION: Final = LibraryOperation(
    *("convolution", 2, multiply_windows, "", frozenset({"f4", "f8", "c8", "c16"})),
    additions=_product_cost,
    reads_each_once=False,
    parts=in_blocks,
)
"""A convolution by the second operand; passes replace sums of products of windows by it."""
MATRIX_PRODUCTS: Final = LibraryOperation(
    *("matmul", 2, _multiply_stacks, "", NUMBERS),
    additions=_product_cost,
    direct_function=_direct_product,
)
"""The product of stacks of matrices; labels of both operands and the result index the stack."""
BITCAST: Final = LibraryOperation(
    *("bitcast", 1, _reinterpret, "", frozenset({"u4"})),
    additions=_word_cost,
    reads_each_once=False,
)
"""The bits of groups of four words, read as elements of the dtype `gives`."""
AFTER: Final = LibraryOperation(
    *("after", 1, _clear, "", ALL),
    gives=FLOAT,
    additions=_of_one,
)
"""The number 0, as the result of an operation that runs after the operand is computed."""
SORT: Final = _row("sort", _sort, weight=20, keeps=True, together=1)
ARGSORT: Final = _row("argsort", _argsort, weight=30, gives=INT, keeps=True, together=1)
UNIFORM: Final = _row("uniform", partial(_draw, "random"), weight=4, keeps=True)
NORMAL: Final = _row("normal", partial(_draw, "standard_normal"), weight=8, keeps=True)
"""Random numbers, drawn in each evaluation; the operand only serves to make equal draws distinct
nodes."""
NONZERO: Final = _row("nonzero", _nonzero, gives=INT, chooser=(1, INT)).replace(additions=_of_cells)
"""The positions of true elements of the first operand; the second operand is their number."""
END: Final = _row("end", _write_end, INTEGERS, weight=2, gives=INT).replace(may_raise=True)
"""The largest of some numbers, none of them negative, plus 1; 0 if there are no numbers."""
PRINT: Final = _row("print", _print, chooser=(1, DTYPES["u1"]))
"""Prints the text in the second operand, then the first operand, which is the result."""
