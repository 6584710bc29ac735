"""The table of library operations: computed by NumPy and BLAS on entire operands, as plan steps.

A row holds all facts about an operation: its dtype rule, the iterators of its result, its
evaluation into an output, and its cost. The evaluator and the plan share the evaluation.
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
"""For each operand the iterator of each of its dimensions."""
OperandArrays = Sequence[np.ndarray]
Shapes = Sequence[tuple[Dim, ...]]
Bounds = Sequence[BoundCondition]


MIN_LIBRARY_WORK: Final = 16_384
"""Fewest multiplications of a matrix product at which a library is faster than loops."""
MIN_NOT_CLEARED: Final = 65_536
"""Bytes of a product from which `numpy.dot`, which clears its result first, is slower than
`numpy.matmul`.
"""
SPLIT: Final = 16
"""With fewer multiplications per matrix, one product of merged dimensions replaces a stack.

A stack of many small matrices is slower; one of single rows or columns always is.
"""


class LibraryOperation(Primitive):
    """One operation on entire operands.

    `evaluate(operands, labels, out)` writes the result into `out`; the dimensions of `out` are the
    first iterators, in order. The result has the dtype `gives`, by default the first operand's. If
    `keeps` is true, the result has all iterators; otherwise the operation reduces, selects or
    indexes the last ones, and the result lacks them.
    `direct_function(operands, labels)` may return a function of operands in this layout that
    returns the result, or None. `additions(shapes, labels)` is the cost; by default each element of
    the first operand costs `weight` additions.

    With `reads_each_once`, an operand is read in its own order, each element at most once;
    otherwise the operation may read its whole storage. An operation computed in `parts(operands,
    labels, out, conditions)` instead may skip excluded points, and several threads may compute its
    parts in parallel. A random draw changes the state of its `generator`; a `number` is a Python
    number.

    With `ranks`, each operand has this many iterators of its own after the result's, one per
    dimension. It `may_raise` if it may raise a NumPy error at run time, and `is_speculative` if the
    shape and dtype of its result depend on values, so that a wrong inference raises an
    OtherResultError. Along its iterators before the last ones, `together` in number, it computes
    each row by itself; None if it may depend on all.
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
        """True if it draws random numbers."""
        return self.generator is not None or getattr(self.evaluate, "func", None) is _draw

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """The lengths that the operation has beside its iterators."""
        return ()

    def dtype(self, operand: DType) -> DType:
        """The dtype of the result for a first operand of this dtype."""
        return operand if self.gives is None else self.gives

    def run(
        self, operands: OperandArrays, labels: Labels, out: np.ndarray, conditions: Bounds = ()
    ) -> None:
        """Write the result into `out`."""
        if self.parts is None:
            self.evaluate(operands, labels, out)
            return
        parts = self.parts(operands, labels, out, conditions)
        parts.compute(0, parts.number)

    def cost(self, shapes: Shapes, labels: Labels) -> Dim:
        """The cost in additions."""
        if self.additions is not None:
            return self.additions(shapes, labels)
        return product(shapes[0]) * self.weight


def _multiply_matrices(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Contract the dimensions of equal labels; matrices and vectors go straight to BLAS."""
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
    """True without gaps in memory, which `numpy.dot` closes by copies of entire operands."""
    return all(one.flags.forc for one in operands)


def _is_for_blas(*operands: np.ndarray) -> bool:
    """True for matrices in C or Fortran order that `numpy.matmul` hands to BLAS as they are."""
    return all(one.ndim == 2 and one.flags.forc and one.dtype.char in "fdFD" for one in operands)


@lru_cache(maxsize=256)
def _shared_label(left: tuple[int, ...], right: tuple[int, ...]) -> tuple[int, int]:
    """The dimension of each operand that has the only label of both."""
    (met,) = (k for k in left if k in right)
    return left.index(met), right.index(met)


def _multiply_stacks(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Multiply stacks of matrices: one pair for each index of the shared labels in `out`.

    Labels of only one operand become one matrix dimension if they merge in its memory and in `out`.
    The others index the stack, along which the other operand repeats.
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
    """A transpose and a reshape of an array; None skips a step."""

    axes: tuple[int, ...] | None
    shape: tuple[int, ...] | None

    def of(self, array: np.ndarray) -> np.ndarray:
        """The array; copied if it has no such view."""
        turned = array if self.axes is None else array.transpose(self.axes)
        return turned if self.shape is None else turned.reshape(self.shape)


class _Arrangement(Record):
    """The views of operands and result as stacks of matrices.

    With `swaps`, the second operand is the left matrix. `order` permutes `out` to the order of the
    product's dimensions; with `writes`, the product is computed into `out`, as its view has the
    product's shape.
    """

    swaps: bool
    first: _Reshaped
    second: _Reshaped
    result: _Reshaped
    order: tuple[int, ...]
    writes: bool


_Layout = tuple[tuple[int, ...], tuple[int, ...]]
"""Shape and strides of an array."""


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
    if single or points < SPLIT:
        alike = own
    stack += [k for one, inner in zip(own, alike, strict=True) for k in one if k not in inner]
    rows, columns, folded = (math.prod(extents[k] for k in one) for one in (*alike, met))
    first = _operand(sides[0], stack, (*alike[0], *met), (rows, folded))
    second = _operand(sides[1], stack, (*met, *alike[1]), (folded, columns))
    order = (*stack, *alike[0], *alike[1])
    target = _seen(order, out[0], (*(extents[k] for k in stack), rows, columns))
    writes = all(_merged(one, [extents[k] for k in one], [result]) == one for one in alike)
    return _Arrangement(swaps, first, second, target, order, writes)


def _operand(
    given: tuple[tuple[int, ...], _Layout],
    stack: Sequence[int],
    matrix: Sequence[int],
    shape: tuple[int, int],
) -> _Reshaped:
    """How an operand is read as a stack of matrices; `given` are its labels and its layout."""
    own, (lengths, _) = given
    there = [k in own for k in stack]
    stack = stack[there.index(True) :] if True in there else []
    outer = (lengths[own.index(k)] if k in own else 1 for k in stack)
    axes = tuple(own.index(k) for k in (*stack, *matrix) if k in own)
    return _seen(axes, lengths, (*outer, *shape))


def _seen(axes: tuple[int, ...], lengths: Sequence[int], shape: tuple[int, ...]) -> _Reshaped:
    turned = tuple(lengths[d] for d in axes)
    in_order = axes == tuple(range(len(axes)))
    return _Reshaped(None if in_order else axes, None if turned == shape else shape)


def _merged(
    labels: list[int], lengths: list[int], arrays: Sequence[tuple[tuple[int, ...], Sequence[int]]]
) -> list[int]:
    """The last labels, as many as merge into one dimension in all arrays (strides and labels)."""
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
    """An array as a stack of matrices in a layout for BLAS; copied if necessary."""
    steps = array.strides[-2:]
    return array if array.itemsize in steps and min(steps) > 0 else np.ascontiguousarray(array)


def _product_of(operands: OperandArrays, labels: Labels) -> Callable[..., np.ndarray] | None:
    """NumPy's function for this product, None if an operand must be transposed or merged first."""
    left, right = labels
    if len(left) <= 2 and len(right) <= 2:
        return np.dot if {*left} & {*right} == {left[-1]} == {right[0]} else None
    if min(len(left), len(right)) <= 2 and _are_small(operands, labels):
        return None  # dimensions are merged
    if _is_matmul(left, right):
        return np.matmul
    return _swapped_matmul if _is_matmul(right, left) else None


def _are_small(operands: OperandArrays, labels: Labels) -> bool:
    """True if the matrices of a stack are small or single columns."""
    sides = zip(labels, operands, strict=True)
    extents = {k: n for own, one in sides for k, n in zip(own[-2:], one.shape[-2:], strict=True)}
    columns: int = max(operands, key=np.ndim).shape[-1]
    return bool(columns == 1 or math.prod(extents.values()) < SPLIT)


def _is_matmul(left: tuple[int, ...], right: tuple[int, ...]) -> bool:
    """True if a product is NumPy's matmul of stacks of matrices."""
    if len(left) > 2 and len(right) == 2:
        return False  # one product of merged dimensions is faster
    short, long = sorted((left[:-2], right[:-2]), key=len)
    result = (*long, *left[-2:-1], *right[1:][-1:])
    in_order = result == tuple(range(len(result))) and left[-1] == right[-2:][0] == len(result)
    return in_order and long[len(long) - len(short) :] == short


def _swapped_matmul(right: np.ndarray, left: np.ndarray) -> np.ndarray:
    product: np.ndarray = np.matmul(left, right)
    return product


def _of_products(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of a multiplication and an addition at each point of all iterators."""
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
    """Fill the result with random numbers, by a method of the generator."""
    out[...] = getattr(config.generator, method)(out.shape)


def _print(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Print a text, the bytes of the second operand, then the first, which is copied to `out`."""
    values, text = operands
    out[...] = _spread(values, labels[0], out.ndim + 1)[..., 0]
    print(f"{text.tobytes().decode()}{out}")


_UNSIGNED: Final = {size: np.dtype(f"u{size}") for size in (1, 2, 4, 8)}


def _check_positions(axis: int, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Write the bound of the positions, a length that is one less than the last extent.

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
    """Write the bound of the positions, given the smallest and the largest position.

    The bound is one less than the last extent. Without positions the smallest exceeds the largest.

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
    """The operation that checks positions by the smallest and the largest of them only."""
    evaluate = partial(_check_ends, axis)
    parts = f"ends_{axis}", 2, evaluate, "", INTEGERS
    return LibraryOperation(*parts, gives=INT, additions=_of_one, may_raise=True)


def _check_labels(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Write the number of groups, given the smallest and the largest label.

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
"""Checks the labels of a grouped fold by the smallest and the largest of them."""


def _end(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """One more than the largest number, 0 if there is none.

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
    """np.nonzero: for each dimension the positions of nonzero elements, in C order.

    NumPy finds them in one dimension ten times as fast as in two, which are quotients.
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
    """Write a row of positions of true elements for each dimension of a mask."""
    if out.size:
        own = labels[0]
        if own == (*range(2, 2 + len(out)), 0, 1):  # C order, the usual layout
            mask = operands[0][..., 0, 0]
        else:
            mask = _spread(operands[0], own, out.ndim + len(out))[0, 0]
        nonzero_positions(mask, tuple(out))


def _spread(array: np.ndarray, own: tuple[int, ...], rank: int) -> np.ndarray:
    """A view of the array with one dimension per label, of length 1 for labels it lacks."""
    ordered = array.transpose(sorted(range(len(own)), key=lambda d: own[d]))
    shape = iter(ordered.shape)
    return ordered.reshape([next(shape) if k in own else 1 for k in range(rank)])


def _reinterpret(operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
    """Reinterpret the bits of words as elements; each row holds the words of one group."""
    if out.size:
        bits = np.ascontiguousarray(operands[0][0]).reshape(-1)
        out[...] = bits.view(np.uint8) != 0 if out.dtype == BOOL else bits.view(out.dtype)


def _of_words(shapes: Shapes, labels: Labels) -> Dim:
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
    additions=_of_products,
    direct_function=_product_of,
)
"""A matrix product. Graphs have none: passes choose it for a sum of products."""
CONVOLUTION: Final = LibraryOperation(
    *("convolution", 2, multiply_windows, "", frozenset({"f4", "f8", "c8", "c16"})),
    additions=_of_products,
    reads_each_once=False,
    parts=in_blocks,
)
"""Sums of products of windows of the first operand with the second. Passes choose it, too."""
MATRIX_PRODUCTS: Final = LibraryOperation(
    *("matmul", 2, _multiply_stacks, "", NUMBERS),
    additions=_of_products,
    direct_function=_product_of,
)
"""Products of stacks of matrices: labels that both operands and the result have index the stack."""
BITCAST: Final = LibraryOperation(
    *("bitcast", 1, _reinterpret, "", frozenset({"u4"})), additions=_of_words, reads_each_once=False
)
"""The bits of groups of four words as elements of dtype `gives`."""
AFTER: Final = LibraryOperation(
    *("after", 1, _clear, "", ALL),
    gives=FLOAT,
    additions=_of_one,
)
"""The number 0, once the operand is computed."""
SORT: Final = _row("sort", _sort, weight=20, keeps=True, together=1)
ARGSORT: Final = _row("argsort", _argsort, weight=30, gives=INT, keeps=True, together=1)
UNIFORM: Final = _row("uniform", partial(_draw, "random"), weight=4, keeps=True)
NORMAL: Final = _row("normal", partial(_draw, "standard_normal"), weight=8, keeps=True)
"""Random numbers, drawn anew at each evaluation; the operand only makes draws distinct nodes."""
NONZERO: Final = _row("nonzero", _nonzero, gives=INT, chooser=(1, INT)).replace(additions=_of_cells)
"""Positions of the first operand's true elements; the second operand is their number."""
END: Final = _row("end", _end, INTEGERS, weight=2, gives=INT).replace(may_raise=True)
"""One more than the largest of some nonnegative numbers, 0 if there is none."""
PRINT: Final = _row("print", _print, chooser=(1, DTYPES["u1"]))
"""Prints a text, the bytes of the second operand, then the first, which is the result."""
