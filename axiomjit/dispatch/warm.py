"""Descriptions of arguments, used to compile a function ahead of its calls."""

from __future__ import annotations

import math
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axiomjit.base.dtypes import DType, named
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.records import Record
from axiomjit.base.tree import flatten_tree, unflatten_tree

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

MAX_BYTES: Final = 2**63 - 1
LAYOUT_REMEDY: Final = "give 'C' or 'F', or strides in bytes, for example x.strides"
Strides = tuple[int, ...]


class Spec(Record):
    """An array argument described by its shape, its dtype, and its strides in bytes.

    `chunks` has the lengths of the blocks along each axis if the array is in blocks.
    """

    shape: tuple[int, ...]
    dtype: DType
    strides: tuple[int, ...]
    chunks: tuple[tuple[int, ...], ...] | None = None

    def __repr__(self) -> str:
        cut = "" if self.chunks is None else f", chunks={self.chunks}"
        return f"spec({self.shape}, {self.dtype.name!r}, {self.strides}{cut})"

    def stand_in(self) -> np.ndarray:
        """An array with this layout that takes almost no memory; its elements are never read."""
        first = np.zeros((), self.dtype)
        return as_strided(first, self.shape, self.strides)


@hides_frames
def spec(
    shape: int | Iterable[int],
    dtype: DTypeLike = float,
    layout: str | Iterable[int] = "C",
    chunks: int | Iterable[int] | None = None,
) -> Spec:
    """Describe an array argument, to compile a function for such an argument ahead of a call.

    Args:
        shape: The lengths of the array; a single number is a shape with one dimension.
        dtype: The dtype of the array.
        layout: "C" or "F" for dense memory in this order, or strides in bytes, as in `x.strides`.
        chunks: The length of a block along each axis, for `axes_report`; one number for all axes.

    Raises:
        GraphTypeError: elements of this dtype cannot be compiled.
        GraphValueError: a length or the layout is invalid, or the array is too large for memory
            addresses.

    Examples:
        >>> import axiomjit as aj
        >>> @aj.jit
        ... def total(x):
        ...     return x.sum()
        >>> total.warm(aj.spec((1000, 30)))
        >>> before = aj.stats()["compiles"]
        >>> float(total(np.ones((1000, 30))))
        30000.0
        >>> aj.stats()["compiles"] - before
        0
    """
    lengths = _lengths(shape)
    element = named(dtype, f"spec({lengths}, dtype={dtype!r})", user_location())
    steps = _strides(lengths, element, layout)
    reach = sum(abs(step) * (n - 1) for step, n in zip(steps, lengths, strict=True) if n)
    size = max(reach + element.itemsize, math.prod(lengths) * element.itemsize)
    if math.prod(lengths) and size > MAX_BYTES:
        raise _refusal(lengths, f"{size} bytes", "describe a smaller array")
    return Spec(lengths, element, steps, None if chunks is None else _chunks(lengths, chunks))


def _chunks(shape: tuple[int, ...], chunks: int | Iterable[int]) -> tuple[tuple[int, ...], ...]:
    """The lengths of the blocks of each axis; the last block may be shorter."""
    given = _lengths((chunks,) * len(shape) if isinstance(chunks, int) else chunks)
    if len(given) != len(shape) or 0 in given:
        raise _refusal(shape, f"the chunks {chunks!r}", "give a length above 0 for each axis")
    return tuple(
        (*(size for _ in range(n // size)), *((n % size,) if n % size or not n else ()))
        for n, size in zip(shape, given, strict=True)
    )


def _lengths(shape: int | Iterable[int]) -> tuple[int, ...]:
    try:
        given = (shape,) if isinstance(shape, int | np.integer) else tuple(shape)
        lengths = tuple(map(operator.index, given))
    except TypeError:
        raise _refusal(shape, f"the shape {shape!r}", "give whole numbers as lengths") from None
    if any(n < 0 for n in lengths):
        raise _refusal(lengths, f"the length {min(lengths)}", "give lengths of at least 0")
    return lengths


def _strides(lengths: tuple[int, ...], dtype: DType, layout: str | Iterable[int]) -> Strides:
    if isinstance(layout, str):
        if layout not in ("C", "F"):
            raise _refusal(lengths, f"the layout {layout!r}", LAYOUT_REMEDY)
        return _dense(lengths, dtype, layout)
    try:
        steps = tuple(map(operator.index, layout))
    except TypeError:
        raise _refusal(lengths, f"the layout {layout!r}", LAYOUT_REMEDY) from None
    if len(steps) != len(lengths):
        raise _refusal(lengths, f"the strides {steps}", "give one stride, in bytes, per dimension")
    if any(step % dtype.itemsize for step in steps):
        fix = f"give strides in bytes, multiples of {dtype.itemsize} for {dtype.name}"
        raise _refusal(lengths, f"the strides {steps}", fix)
    return steps


def _refusal(shape: object, seen: str, fix: str) -> GraphValueError:
    return GraphValueError(f"spec({shape!r}, ...)", seen, fix, user_location())


def _dense(lengths: tuple[int, ...], dtype: DType, order: str) -> Strides:
    """The strides in bytes of a new NumPy array in C or Fortran order."""
    if 0 in lengths:
        empty: np.ndarray = np.ndarray(lengths, dtype, order="F" if order == "F" else "C")
        return empty.strides
    steps: list[int] = []
    step = dtype.itemsize
    for n in lengths if order == "F" else reversed(lengths):
        steps.append(step)
        step *= n
    return tuple(steps if order == "F" else reversed(steps))


def no_named_arrays(name: str) -> GraphTypeError:
    """The error of `warm` for an argument with named axes."""
    return GraphTypeError(
        f"{name}.warm(...)",
        "an argument with named axes",
        "call the function once with such an array; axiomjit.spec describes arrays without axes",
        user_location(),
    )


def stood_in(arguments: Any) -> Any:
    """The arguments with an array in place of each `spec`, also inside containers."""
    leaves, structure = flatten_tree(arguments)
    arrays = (leaf.stand_in() if isinstance(leaf, Spec) else leaf for leaf in leaves)
    return unflatten_tree(structure, arrays)
