"""NumPy functions that are library operations: called with entire arrays, as the program runs.

A function with several results is an operation for each of them, of the same operands; a plan calls
it once for all that are used.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from axiomjit.algebra.chosen import OtherResultError, UnfitNumberError, choose
from axiomjit.algebra.dims import Dim, current_scope, product
from axiomjit.algebra.index_maps import iterator
from axiomjit.base.dtypes import INT, DType, is_bool, is_complex, is_real, is_signed, is_unsigned
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.library_nodes import may_fail, stored
from axiomjit.graph.library_operations import Labels, LibraryOperation, OperandArrays, Shapes
from axiomjit.graph.nodes import LengthNode, Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import ALL
from axiomjit.graph.promotion import cast, check_fits

Options = tuple[tuple[str, Any], ...]
"""Keyword arguments of a function, by name."""
Shape = tuple[Dim, ...]
Lengths = tuple[int | None, ...]


class Extent(Record):
    """An option that is a length of the result, known when the function is called."""

    dimension: int


class ArrayFunction(Record):
    """The evaluation of a library operation: a function of arrays, and which result is meant.

    `part` is None for a function with one result. Where a dimension is `measured`, its length is
    the result. Options are numbers, names, None, or an `Extent`.
    """

    name: str
    function: Callable[..., Any]
    options: Options = ()
    part: int | None = None
    measured: int | None = None

    def bound(self, shape: Lengths) -> Callable[..., Any]:
        """The function with its options, for a result of this shape."""
        options = {
            name: shape[value.dimension] if isinstance(value, Extent) else value
            for name, value in self.options
        }
        return partial(self.function, **options) if options else self.function

    def meant(self, made: Any, dtype: DType, shape: Lengths) -> np.ndarray:
        """The result that is meant of what the function has given; a length is None if unknown.

        Raises:
            OtherResultError: it has another shape or dtype than was assumed.
        """
        one = made if self.part is None else made[self.part]
        if self.measured is not None:
            return np.array(np.shape(one)[self.measured])
        one = np.asarray(one)
        if one.dtype is not dtype and one.dtype != dtype:
            raise OtherResultError(f"{self.name} gives {one.dtype}{one.shape}, not {dtype}")
        if one.shape != shape and not _fits(one.shape, shape):
            raise OtherResultError(f"{self.name} gives {one.dtype}{one.shape}, not {dtype}{shape}")
        return one

    def alone(self, made: Any, dtype: DType, shape: Lengths) -> np.ndarray:
        """As `meant`, in memory of its own and in C order."""
        one = self.meant(made, dtype, shape)
        return one if one.base is None and one.flags.carray else one.copy()

    def __call__(self, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
        """Evaluate into `out`."""
        made = self.bound(out.shape)(*operands)
        out[...] = self.meant(made, out.dtype, out.shape)

    def shorten(self, *layout: object) -> Callable[..., Any] | None:
        """The function itself, where it takes nothing that depends on lengths."""
        given = any(isinstance(value, Extent) for _, value in self.options)
        return None if given else self.bound(())


def _fits(found: tuple[int, ...], shape: Lengths) -> bool:
    """Whether a shape is one of which some lengths are known."""
    pairs = zip(found, shape, strict=False)
    return len(found) == len(shape) and all(n is None or m == n for m, n in pairs)


def _settled(options: Options) -> Options:
    """The options, in which integers of the call are numbers: others are another program."""
    return tuple((name, _number(value)) for name, value in options)


def _number(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    return int(value) if isinstance(value, Dim) else value


class WithArrays(Record):
    """Calls a function with arrays behind the first one as arguments of these names."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, first: np.ndarray, *arrays: np.ndarray, **options: Any) -> Any:
        """Call the function."""
        return self.function(first, **dict(zip(self.names, arrays, strict=True)), **options)


class ArrayCall(Record):
    """A call of a NumPy function on nodes, for whose results nodes are made.

    `additions(shapes, labels)` is its cost; `fails` and `guesses` are as in `LibraryOperation`.
    """

    name: str
    function: Callable[..., Any]
    operands: tuple[Node, ...]
    options: Options = ()
    additions: Callable[[Shapes, Labels], Dim] | None = None
    fails: bool = False
    guesses: bool = False

    def dtypes(self, length: int = 1) -> tuple[DType, ...]:
        """The dtypes of its results, which do not depend on values; NumPy's error where none.

        They are found by a call with arrays of ones, all of whose lengths are `length`.
        """
        kinds = tuple((node.dtype, len(node.shape)) for node in self.operands)
        known = tuple((k, v) for k, v in _settled(self.options) if not isinstance(v, Extent))
        return _dtypes(self.function, kinds, known, length)

    def length(self, part: int | None = None, dimension: int = 0) -> Dim:
        """The length of a result, where only the running program knows it.

        The function is called once for it and for its results.
        """
        count = self.result((), INT, part, dimension)
        return choose(current_scope(), count)

    def result(
        self,
        shape: Shape,
        dtype: DType,
        part: int | None = None,
        measured: int | None = None,
        *,
        number: bool = False,
    ) -> Node:
        """The node of its result, or of one of several, or of the length of a dimension of it.

        `number` says that it is a Python number.
        """
        ranks = tuple(len(node.shape) for node in self.operands)
        evaluate = ArrayFunction(self.name, self.function, _settled(self.options), part, measured)
        name = self.name if part is None else f"{self.name}[{part}]"
        name = name if measured is None else f"length of {name}"
        operation = LibraryOperation(
            *(name, len(ranks), evaluate, "", ALL),
            weight=WEIGHT,
            gives=dtype,
            additions=self.additions,
            shorten=evaluate.shorten if part is measured is None else None,
            ranks=ranks,
            fails=self.fails,
            guesses=self.guesses,
            number=number,
        )
        extents, maps = [*shape], []
        for node in self.operands:
            first = len(extents)
            maps.append(tuple(iterator(first + d) for d in range(len(node.shape))))
            extents += node.shape
        operands = tuple(map(stored, self.operands))
        given = operands, tuple(maps), tuple(extents), len(shape)
        made = note(Op(dtype, operation, None, *given))
        return may_fail(made) if self.fails else made

    def results(self, *shapes: Shape) -> tuple[Node, ...]:
        """The nodes of all its results, in order."""
        dtypes = self.dtypes()
        every = zip(shapes, dtypes, strict=True)
        return tuple(self.result(shape, dtype, k) for k, (shape, dtype) in enumerate(every))


class NumberStore(Record):
    """Stores a number, Python's or NumPy's, in an element of a dtype, while the program runs."""

    dtype: DType
    is_python: bool

    def __call__(self, number: np.ndarray) -> np.ndarray:
        """The element.

        Raises:
            UnfitNumberError: NumPy raises an error.
        """
        element = np.empty((), self.dtype)
        try:
            element[()] = number.item() if self.is_python else number[()]
        except Exception as error:
            raise UnfitNumberError(f"{type(error).__name__}: {error}") from error
        return element


def stored_elements(value: Any, dtype: DType) -> Any:
    """Nested lists with each number as NumPy stores it in an element of a dtype.

    Raises:
        As `stored_number`.
    """
    if isinstance(value, list | tuple):
        return [stored_elements(one, dtype) for one in value]
    node = builder.as_node(value, "an element of a list")
    return node if node.shape else cast(builder.strong(stored_number(node, dtype)), dtype)


def stored_number(value: Node, dtype: DType) -> Node:
    """A number as an element of a dtype can hold it; what has dimensions is itself.

    A number that is known is stored in an array made for that: NumPy raises its errors. Of another
    one the program asks if it fits, before anything is written; else NumPy runs the call.

    Raises:
        TypeError, ValueError, OverflowError: a number that the dtype cannot hold.
    """
    check_fits(value, dtype)
    if value.weak and is_complex(value.dtype) and not (is_bool(dtype) or is_complex(dtype)):
        np.zeros(1)[:] = 1j
    if isinstance(value, Scalar):
        np.zeros(1, dtype)[0] = value.value.item() if value.weak else value.value
    elif not value.shape and _may_not_fit(value, dtype):
        store = NumberStore(dtype, value.weak)
        call = ArrayCall("store", store, (builder.strong(value),), fails=True, guesses=True)
        return call.result((), dtype)
    return value


def _may_not_fit(value: Node, dtype: DType) -> bool:
    """Whether NumPy may refuse to store a number: unsigned elements it casts its own numbers to."""
    if isinstance(value, LengthNode) or np.can_cast(value.dtype, dtype):
        return False
    return is_real(value.dtype) and (is_signed(dtype) or (value.weak and is_unsigned(dtype)))


def refused_by(function: Callable[..., Any], *operands: Node, **options: Any) -> None:
    """Raise NumPy's own error for operands of these shapes, which no memory is needed for."""
    shapes = [tuple(map(int, node.shape)) for node in operands]
    dtypes = [node.dtype for node in operands]
    pairs = zip(shapes, dtypes, strict=True)
    function(*(np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in pairs), **options)


def in_tuple(kind: Any, *nodes: Node) -> tuple[Node, ...]:
    """Several results in the named tuple that NumPy gives."""
    named: tuple[Node, ...] = kind(*nodes)
    return named


WEIGHT: Final = 30
"""Additions that an element of the first operand costs where nothing else is said."""


@lru_cache(maxsize=1024)
def _dtypes(
    function: Callable[..., Any],
    kinds: Sequence[tuple[DType, int]],
    options: Options,
    length: int,
) -> tuple[DType, ...]:
    """The dtypes that the function gives for operands of dtypes and ranks."""
    with np.errstate(all="ignore"):
        made = function(
            *(np.ones((length,) * rank, dtype) for dtype, rank in kinds), **dict(options)
        )
    return tuple(np.asarray(one).dtype for one in (made if isinstance(made, tuple) else (made,)))


def shared(operation: LibraryOperation) -> object:
    """What operations have in common that are results of one call; None where it has one."""
    one = operation.evaluate
    return (one.function, one.options) if isinstance(one, ArrayFunction) else None


def cubic(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of operations on stacks of matrices: the third power of their length."""
    return product(shapes[0]) * shapes[0][-1] * 4
