"""Graphs of axis tensors with effects: variables, writes, ordered operations, prints, draws.

Placeholders and variables are l-tensors: they refer to a storage that can be written. A tensor
computed from others is an r-tensor; its copy `materialize(x)` is an l-tensor (ngraph tensors,
"Tensors"). All random numbers come from one generator, which `axiomjit.config.seed = n` seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from axiomjit.axis.axes import Axes, AxesLike, inherit, matched
from axiomjit.axis.declarations import DeclaredStorage, joined_uses
from axiomjit.axis.tensors import (
    Operand,
    ScalarValue,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    constant,
    declared,
    labelled,
    shown,
)
from axiomjit.axis.views import Key
from axiomjit.base.dtypes import FLOAT, DType, code, is_float
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.external_calls import stored
from axiomjit.graph.library_operations import NORMAL, PRINT, UNIFORM, LibraryOperation
from axiomjit.graph.nodes import Constant, Node, Op, Token, note
from axiomjit.graph.storages import Materialized, Sequential, assignment, place_of, statement
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, identity, permutation
from axiomjit.views.descriptions import Layout

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

InitialValue: TypeAlias = "ArrayLike | Callable[[Axes], ArrayLike]"


@hides_frames
def variable(
    axes: AxesLike,
    dtype: DTypeLike | None = None,
    initial_value: InitialValue = 0,
    layout: Layout | str | None = None,
) -> Tensor:
    """Make a tensor with storage that keeps its values between calls of computations.

    All computations of one transformer share the values, which `assign` and `x[...] = y` change.

    Args:
        axes: The axes, whose lengths may be assigned until the variable is first used.
        dtype: The element type, by default float64.
        initial_value: An array with one dimension per axis, a number, or a function that gets the
            axes and returns such a value. The value is converted once, by 'same_kind' casting.
        layout: The layout: "C", "F" or a Layout whose sizes are at least the lengths. Padding is
            never read or written. By default the first computation that uses the variable chooses
            the layout, which then remains: the order of axes that the computation reads fastest, or
            "C" if the computation writes the variable.

    Returns:
        A tensor with these axes (ngraph tensors, "Tensors").

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: elements of this dtype cannot be compiled, or the initial value cannot be
            converted to this dtype.
        GraphValueError: the layout does not fit the axes, or the initial value has another shape.
            If a length is unknown or a function makes the initial value, the check happens at first
            use.
    """
    where = user_location()

    def start(labels: Axes, element: DType) -> InitialValueMaker:
        asked = f"the initial value of the variable {code(element)}{labels}"
        if callable(initial_value):
            return InitialValueMaker(initial_value, labels, element, asked, where)
        values = _values(initial_value, element, asked)
        _check_shape(values, labels, asked, where)
        return InitialValueMaker(values, labels, element, asked, where)

    return declared(axes, dtype, "a variable", layout, start)


class InitialValueMaker:
    """Makes the initial values of a variable from an array or a function of axes."""

    __slots__ = ("_asked", "_axes", "_dtype", "_given", "_where")

    def __init__(
        self,
        given: np.ndarray | Callable[[Axes], Any],
        axes: Axes,
        dtype: DType,
        asked: str,
        where: str | None,
    ) -> None:
        """Store the array or function; errors mention `asked` and `where`."""
        self._given, self._axes, self._dtype = given, axes, dtype
        self._asked, self._where = asked, where

    def __call__(self, shape: tuple[int, ...]) -> np.ndarray:
        """The initial values as an array of this shape; a number is broadcast.

        Raises:
            GraphTypeError: the function's result cannot be converted to the dtype.
            GraphValueError: the array has another shape.
        """
        given, asked = self._given, self._asked
        array = _values(given(self._axes), self._dtype, asked) if callable(given) else given
        _check_shape(array, self._axes, asked, self._where)
        return np.broadcast_to(array, shape)


def _check_shape(array: np.ndarray, axes: Axes, asked: str, where: str | None) -> None:
    """Refuse an initial value whose shape differs from the known lengths of the axes."""
    pairs = zip(array.shape, axes.lengths, strict=False)
    fits = array.ndim == len(axes) and all(length in (None, n) for n, length in pairs)
    if fits or array.ndim == 0:
        return
    shape = ", ".join("any" if n is None else str(n) for n in axes.lengths)
    seen = f"an array of shape {array.shape} for axes {axes}"
    remedy = f"give an array of shape ({shape}), one dimension per axis in this order, or a number"
    raise GraphValueError(asked, seen, remedy, where)


@hides_frames
def persistent_tensor(
    axes: AxesLike, dtype: DTypeLike | None = None, initial_value: InitialValue = 0
) -> Tensor:
    """Make a variable: ngraph's name for `variable(axes, dtype, initial_value)`."""
    return variable(axes, dtype, initial_value)


@hides_frames
def temporary(
    axes: AxesLike, dtype: DTypeLike | None = None, initial_value: ScalarValue = 0
) -> Tensor:
    """Make a tensor with new storage in every run of a computation, filled with a number.

    Returns:
        A tensor with these axes.

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: elements of this type cannot be compiled.
    """
    return materialize(constant(initial_value, axes, FLOAT if dtype is None else dtype))


@hides_frames
def value_of(x: Operand) -> Tensor:
    """A copy of x, made when a run first reads it; later writes into x do not change the copy."""
    return materialize(x)


@hides_frames
def as_op(x: Operand) -> Tensor:
    """The operand as a tensor: a number becomes a tensor without axes; a tensor is unchanged.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    return as_tensor(x, f"as_op of {shown((x,))}")


def _values(value: ArrayLike, dtype: DType, asked: str) -> np.ndarray:
    """A copy of a value as an array of this dtype."""
    try:
        array = np.array(value)
    except ValueError as error:
        raise GraphTypeError(asked, str(error), "pass an array", user_location()) from None
    _check_kind(array.dtype, dtype, asked)
    return array.astype(dtype)


def _check_kind(given: np.dtype[np.generic], dtype: DType, asked: str) -> None:
    if not np.can_cast(given, dtype, "same_kind"):
        raise GraphTypeError(
            asked,
            f"elements of dtype {given}",
            f"give values that are {dtype}, or the storage another dtype",
            user_location(),
        )


@hides_frames
def assign(lvalue: Tensor, rvalue: Operand) -> Tensor:
    """An operation that writes a value into a placeholder, a variable or a part of these.

    Args:
        lvalue: A placeholder or variable, or a view without repeated elements. For a placeholder,
            the caller's array is written.
        rvalue: The value, broadcast to the axes of `lvalue`; all of it is read before the write.

    Returns:
        A tensor with the axes and the new values of `lvalue`. A computation writes once, even if
        the computation uses this tensor several times (ngraph tensors, "Tensors").

    Raises:
        AxesError: `lvalue` lacks an axis of the value.
        GraphTypeError: `lvalue` is computed and has no storage, or the value cannot be converted by
            'same_kind' casting.
    """
    write = _checked_write(lvalue, rvalue, f"assign of {shown((lvalue, rvalue))}")
    effect = note(assignment(write.storage.version, *write.parts))
    inherit(effect, write.written)
    return labelled(effect, write.target.axes, write.target, write.value)


class Write(Record):
    """A write whose axes and dtypes have been checked.

    `parts` holds the map of the target into its storage, the value, the map that reads the value,
    and the extents; `written` is the node of the target.
    """

    storage: DeclaredStorage
    target: Tensor
    written: Node
    value: Tensor
    parts: tuple[IndexMap, Node, IndexMap, tuple[Dim, ...]]


def _checked_write(lvalue: Tensor, rvalue: Operand, asked: str) -> Write:
    """Check the axes and dtypes of a write and return the write.

    Raises:
        AxesError: the target lacks an axis of the value.
        GraphTypeError: the target is an r-tensor, or the value cannot be converted by 'same_kind'
            casting.
    """
    target = as_tensor(lvalue, asked)
    node = target.node
    place = place_of(node)
    if place is None or target.storage is None:
        raise GraphTypeError(
            asked,
            f"{target!r} is an r-tensor: it has values but no storage of its own",
            "assign to a placeholder, a variable, materialize(x), or parts of these",
            user_location(),
        )
    value = as_tensor(rvalue, asked)
    axes = matched(target.axes, value.axes, asked)
    if not target.axes.is_super_set(axes):
        raise AxesError(
            asked,
            f"axes {target.axes}, and {Axes(axes - target.axes)} only in the value",
            "reduce or slice the value to axes of what is assigned to, or relabel with cast_axes",
            user_location(),
        )
    if not value.node.weak or value.dtype.kind > target.dtype.kind:
        _check_kind(value.dtype, target.dtype, asked)
    source, extents = axis_map(axes, target.axes), axis_extents(target.axes)
    parts = place[1], cast(value.node, target.dtype), source, extents
    return Write(target.storage, target, node, value, parts)


def _set_part(target: Tensor, key: Key, value: Operand) -> None:
    """Execute the statement `target[key] = value`."""
    asked = f"a write of {shown((value,))} into {shown((target,))}"
    write = _checked_write(target if key is Ellipsis else target[key], value, asked)

    def next_version(version: Node) -> Node:
        made = statement(version, *write.parts)
        inherit(note(made.effect), write.written)
        return made

    write.storage.write_from(next_version, write.target.uses.extended(write.value.uses))


OPERATIONS: Final = {"set_part": _set_part}


@hides_frames
def set_item(x: Tensor, item: Key, value: Operand) -> Tensor:
    """An operation that writes into a part of x: `assign(x[item], value)`."""
    return assign(x[item], value)


@hides_frames
def fill(x: Tensor, scalar: ScalarValue) -> Tensor:
    """An operation that fills x with a number: `assign(x, scalar)`."""
    return assign(x, scalar)


@hides_frames
def sequential(ops: Iterable[Tensor]) -> Tensor:
    """An operation that runs the given operations in order; each one reads the earlier writes.

    Returns:
        A tensor with the axes and the value of the last operation.

    Raises:
        GraphTypeError: an item is not a tensor.
        GraphValueError: the list is empty.
    """
    return _in_order("sequential", ops)


@hides_frames
def doall(ops: Iterable[Tensor]) -> Tensor:
    """An operation that runs operations in the listed order, as `sequential` does."""
    return _in_order("doall", ops)


def _in_order(name: str, ops: Iterable[Tensor]) -> Tensor:
    tensors = tuple(ops)
    if not tensors:
        remedy = "list the operations to run"
        raise GraphValueError(f"{name} of nothing", "an empty list", remedy, user_location())
    steps = tuple(as_tensor(tensor, f"an operation of {name}") for tensor in tensors)
    last = steps[-1]
    node = note(Sequential(last.dtype, tuple(step.node for step in steps)))
    return labelled(node, last.axes, *steps)


@hides_frames
def materialize(x: Operand) -> Tensor:
    """A copy of x in new memory, which can be assigned to.

    In memory the dimensions of the copy have the order of the loops that compute x. Operations on
    the copy load its elements instead of computing x again.

    Returns:
        A tensor with the axes of x (ngraph tensors, "We can convert an r-tensor").

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    tensor = as_tensor(x, f"materialize of {shown((x,))}")
    node = builder.strong(tensor.node)
    made = note(Materialized(node.dtype, node, Token()))
    uses = joined_uses(tensor.axes, tensor.uses)
    return Tensor(made, tensor.axes, uses, DeclaredStorage(made, uses))


@hides_frames
def PrintOp(x: Operand, prefix: str | None = None) -> Tensor:
    """Return a tensor equal to x; a computation of this tensor prints the values.

    Args:
        x: The tensor.
        prefix: The text that is printed before the dtype and axes of x.

    Returns:
        A tensor with the axes and the values of x.

    Raises:
        GraphTypeError: x is an array without axes, or neither a tensor nor a number.
    """
    tensor = as_tensor(x, f"PrintOp of {shown((x,))}")
    before = "" if prefix is None else f"{prefix}: "
    text = np.frombuffer(f"{before}{tensor!r}\n".encode(), np.uint8)
    rank = len(tensor.axes)
    extents = (*axis_extents(tensor.axes), dim(text.size))
    operands = stored(tensor.node), Constant(text.dtype, text, (dim(text.size),))
    maps = identity(rank), permutation([rank])
    node = note(Op(tensor.dtype, PRINT, None, operands, maps, extents, rank))
    return labelled(node, tensor.axes, tensor)


@hides_frames
def uniform(x: Operand, low: Operand = 0.0, high: Operand = 1.0) -> Tensor:
    """A tensor with the axes of x whose elements are random, uniformly distributed in [low, high).

    Args:
        x: A tensor with the axes of the result. The result has the dtype of this tensor if the
            dtype is floating, otherwise float64.
        low: The lower bound, a number or tensor.
        high: The upper bound, a number or tensor.

    Returns:
        A tensor whose values are drawn once in every run.

    Raises:
        AxesError: axes could be paired in several ways.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    asked = f"uniform of {shown((x,))}"
    start = as_tensor(low, asked)
    return _drawn(UNIFORM, x, asked) * (as_tensor(high, asked) - start) + start


@hides_frames
def normal(x: Operand, loc: Operand = 0.0, scale: Operand = 1.0) -> Tensor:
    """A tensor with the axes of x whose elements are random, normally distributed.

    Args:
        x: A tensor with the axes of the result. The result has the dtype of this tensor if the
            dtype is floating, otherwise float64.
        loc: The mean, a number or tensor.
        scale: The standard deviation, a number or tensor.

    Returns:
        A tensor whose values are drawn once in every run.

    Raises:
        AxesError: axes could be paired in several ways.
        GraphTypeError: an operand is an array without axes, or neither a tensor nor a number.
    """
    asked = f"normal of {shown((x,))}"
    mean, deviation = as_tensor(loc, asked), as_tensor(scale, asked)
    return _drawn(NORMAL, x, asked) * deviation + mean


def _drawn(operation: LibraryOperation, x: Operand, asked: str) -> Tensor:
    tensor = as_tensor(x, asked)
    # An array of its own, so that two draws are never the same node.
    token = Constant(FLOAT, np.zeros(()), ())
    extents = axis_extents(tensor.axes)
    node = note(Op(FLOAT, operation, None, (token,), ((),), extents, len(extents)))
    dtype = tensor.dtype if is_float(tensor.dtype) else FLOAT
    return labelled(cast(node, dtype), tensor.axes, tensor)
