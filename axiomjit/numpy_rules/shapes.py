"""The rules whose results are views, such as transposes, reshapes and new dimensions."""

from __future__ import annotations

import builtins
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index, normalize_axis_tuple

from axiomjit.base.dtypes import is_complex
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, describe_length, describe_shape, describe_type
from axiomjit.graph.primitives import BITS_AS, COPY
from axiomjit.graph.shape_ops import flip, insert_dimensions, is_copied, reshaped
from axiomjit.graph.storages import strides_of
from axiomjit.numpy_rules.options import (
    UNGIVEN,
    AxisOption,
    Rule,
    array_node,
    reduced_dimensions,
    refuse,
)
from axiomjit.symbolic.data_dependent import assumed_equal, assumed_multiple
from axiomjit.symbolic.dims import Dim, dim, exact_quotient, product
from axiomjit.symbolic.index_maps import affine, iterator


def lengths_of(shape: Any) -> tuple[Dim, ...]:
    """The lengths of a `shape` argument, which is one length or a sequence."""
    lengths = shape if isinstance(shape, Sequence | np.ndarray) else (shape,)
    return tuple(dim(n) for n in lengths)


def part_of(a: object, name: str) -> Node:
    """The attribute `real` or `imag`; the imaginary zeros of real arrays are read-only."""
    node = builder.as_node(a, name)
    if name == "imag" and not is_complex(node.dtype) and not node.weak:
        zeros = builder.elementwise(COPY, builder.part(node, name))
        return builder.read_only(zeros, zeros)
    return builder.part_view(node, name)


def _view(a: Node, dtype: Any = UNGIVEN, type: Any = UNGIVEN) -> Node:
    """The rule of the method `view`: the same memory, as elements of a dtype of the same size.

    Raises:
        UnsupportedError: the dtypes have different sizes, a dtype is bool or complex, or the view
            has another class.
    """
    if isinstance(dtype, builtins.type) and issubclass(dtype, np.ndarray):
        dtype, type = UNGIVEN, dtype
    if type is not UNGIVEN and type is not np.ndarray:
        raise refuse("view", "type", type)
    if dtype is UNGIVEN or dtype is None:
        return a
    wanted = np.dtype(dtype)
    if wanted == a.dtype:
        return a
    fits = wanted.isnative and wanted.itemsize == a.dtype.itemsize and wanted in BITS_AS
    if not fits or is_complex(a.dtype):
        raise refuse("view", "dtype", wanted)
    return builder.bits_view(a, wanted)


def _transpose(a: object, axes: Sequence[int] | None = None) -> Node:
    node = array_node(a, "transpose")
    rank = len(node.shape)
    if axes is None:
        return builder.transpose(node, tuple(reversed(range(rank))))
    order = normalize_axis_tuple(axes, rank)
    if len(order) != rank:
        raise ValueError("axes don't match array")
    return builder.transpose(node, order)


def _swapaxes(a: object, axis1: int, axis2: int) -> Node:
    node = array_node(a, "swapaxes")
    rank = len(node.shape)
    first = normalize_axis_index(axis1, rank, "axis1")
    second = normalize_axis_index(axis2, rank, "axis2")
    order = list(range(rank))
    order[first], order[second] = second, first
    return builder.transpose(node, order)


def _matrix_transpose(x: object) -> Node:
    node = array_node(x, "matrix_transpose")
    if len(node.shape) < 2:
        raise ValueError(f"Input array must be at least 2-dimensional, but it is {node.shape}")
    return _swapaxes(node, -1, -2)


def _moveaxis(a: object, source: int | Sequence[int], destination: int | Sequence[int]) -> Node:
    node = array_node(a, "moveaxis")
    rank = len(node.shape)
    old = normalize_axis_tuple(source, rank, "source")
    new = normalize_axis_tuple(destination, rank, "destination")
    if len(old) != len(new):
        raise ValueError(
            "`source` and `destination` arguments must have the same number of elements"
        )
    order = [d for d in range(rank) if d not in old]
    for to, d in sorted(zip(new, old, strict=True)):
        order.insert(to, d)
    return builder.transpose(node, order)


def _rollaxis(a: object, axis: int, start: int = 0) -> Node:
    node = array_node(a, "rollaxis")
    rank = len(node.shape)
    moved = normalize_axis_index(axis, rank)
    to = start + rank if start < 0 else start
    if not 0 <= to <= rank:
        raise np.exceptions.AxisError(f"'start' arg requires {-rank} <= start < {rank + 1}")
    order = [d for d in range(rank) if d != moved]
    order.insert(to - 1 if moved < to else to, moved)
    return builder.transpose(node, order)


def _squeeze(a: object, axis: AxisOption = None) -> Node:
    node = array_node(a, "squeeze")
    if axis is None:
        dropped = tuple(d for d, n in enumerate(node.shape) if n == 1)
    else:
        dropped = reduced_dimensions(node, axis)
    if any(node.shape[d] != 1 for d in dropped):
        raise ValueError("cannot select an axis to squeeze out which has size not equal to one")
    return drop_dimensions(node, dropped)


def drop_dimensions(node: Node, axes: Sequence[int]) -> Node:
    """The node without these dimensions, read at their position 0."""
    kept = [d for d in range(len(node.shape)) if d not in axes]
    index = tuple(
        iterator(kept.index(d)) if d in kept else affine({}) for d in range(len(node.shape))
    )
    return builder.view(node, index, tuple(node.shape[d] for d in kept))


def _expand_dims(a: object, axis: AxisOption) -> Node:
    node = array_node(a, "expand_dims")
    given = tuple(axis) if isinstance(axis, tuple | list) else (axis,)
    return insert_dimensions(node, normalize_axis_tuple(given, len(given) + len(node.shape)))


def _broadcast_to(array: object, shape: Any, subok: bool = False) -> Node:
    node = array_node(array, "broadcast_to")
    return builder.read_only(node, builder.broadcast_to(node, lengths_of(shape)))


def _broadcast_arrays(*args: object, subok: bool = False) -> tuple[Node, ...]:
    nodes = [array_node(a, "broadcast_arrays") for a in args]
    shape = builder.broadcast_shapes([n.shape for n in nodes], "broadcast_arrays", *nodes)
    return tuple(builder.broadcast_to(n, shape) for n in nodes)


def _diagonal(a: object, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Node:
    node = array_node(a, "diagonal")
    rank = len(node.shape)
    if rank < 2:
        raise ValueError("diag requires an array of at least two dimensions")
    first = normalize_axis_index(axis1, rank, "axis1")
    second = normalize_axis_index(axis2, rank, "axis2")
    if first == second:
        raise ValueError("axis1 and axis2 cannot be the same")
    shift = dim(offset)
    below, right = (-shift, dim(0)) if shift < 0 else (dim(0), shift)
    high, wide = node.shape[first] - below, node.shape[second] - right
    length = high if high <= wide else wide
    if length <= 0:
        length, below, right = dim(0), dim(0), dim(0)
    kept = [d for d in range(rank) if d not in (first, second)]
    last = len(kept)
    index = tuple(
        affine({last: dim(1)}, below)
        if d == first
        else affine({last: dim(1)}, right)
        if d == second
        else iterator(kept.index(d))
        for d in range(rank)
    )
    seen = builder.view(node, index, (*(node.shape[d] for d in kept), length))
    return builder.read_only(node, seen)


def _flip(m: object, axis: AxisOption = None) -> Node:
    node = array_node(m, "flip")
    flipped = range(len(node.shape)) if axis is None else reduced_dimensions(node, axis)
    if not node.shape:  # NumPy's result is a number, not a view
        return builder.elementwise(COPY, node)
    return flip(node, flipped)


def _flip_rule(name: str, axis: int) -> Rule:
    def rule(m: object) -> Node:
        node = array_node(m, name)
        if len(node.shape) <= axis:
            raise ValueError(f"Input must be >= {axis + 1}-d.")
        return flip(node, (axis,))

    return rule


def _rot90(m: object, k: int = 1, axes: Sequence[int] = (0, 1)) -> Node:
    node = array_node(m, "rot90")
    rank = len(node.shape)
    pair = tuple(axes)
    if len(pair) != 2:
        raise ValueError("len(axes) must be 2.")
    if pair[0] == pair[1] or abs(pair[0] - pair[1]) == rank:
        raise ValueError("Axes must be different.")
    if not all(-rank <= axis < rank for axis in pair):
        raise ValueError(f"Axes={pair} out of range for array of ndim={rank}.")
    first, second = normalize_axis_tuple(pair, rank)
    turns = operator.index(k) % 4
    if turns == 0:
        return node
    if turns == 2:
        return flip(node, (first, second))
    if turns == 1:
        return _swapaxes(flip(node, (second,)), first, second)
    return flip(_swapaxes(node, first, second), (second,))


def _atleast_rule(name: str, grow: Callable[[Node], Node]) -> Rule:
    def rule(*arys: object) -> Node | tuple[Node, ...]:
        grown = tuple(grow(array_node(a, name)) for a in arys)
        return grown[0] if len(grown) == 1 else grown

    return rule


def at_least_1d(node: Node) -> Node:
    """The node with at least one dimension, as np.atleast_1d makes it."""
    return insert_dimensions(node, (0,)) if not node.shape else node


def at_least_2d(node: Node) -> Node:
    """The node with at least two dimensions, as np.atleast_2d makes it."""
    return insert_dimensions(node, tuple(range(2 - len(node.shape))))


def at_least_3d(node: Node) -> Node:
    """The node with at least three dimensions, as np.atleast_3d makes it."""
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}
    return insert_dimensions(node, new.get(len(node.shape), ()))


def _reshape(a: object, shape: Any, order: object = "C", copy: bool | None = None) -> Node:
    node = array_node(a, "reshape")
    if order == "F":
        wanted = _with_inferred_length(node, lengths_of(shape))
        turned: Node = _reshape(_transposed(node), wanted[::-1], "C", copy)
        return _transposed(turned)
    if order != "C":
        raise refuse("reshape", "order", order)
    wanted = _with_inferred_length(node, lengths_of(shape))
    seen = reshaped(node, wanted)
    if copy and not is_copied(node, wanted):
        return builder.elementwise(COPY, seen)
    if copy is False and is_copied(node, wanted):
        raise ValueError("Unable to avoid creating a copy while reshaping.")
    return seen


def _reshape_method(a: object, *shape: Any, order: object = "C", copy: bool | None = None) -> Node:
    if not shape:
        raise TypeError("reshape() takes exactly 1 argument (0 given)")
    return _reshape(a, shape[0] if len(shape) == 1 else shape, order, copy)


def _ravel(a: object, order: object = "C") -> Node:
    """The rule of np.ravel: a contiguous result, which is a view if the array allows it."""
    node = _read_in_order(array_node(a, "ravel"), order, "ravel")
    flat = (product(node.shape),)
    strides = strides_of(node)
    long = [d for d, n in enumerate(node.shape) if n != 1]
    apart = strides is not None and bool(long) and strides[long[-1]] != 1
    seen = reshaped(node, flat)
    if apart and flat[0] != 0 and not is_copied(node, flat):
        return builder.elementwise(COPY, seen)
    return seen


def _flatten(a: object, order: object = "C") -> Node:
    node = _read_in_order(array_node(a, "flatten"), order, "flatten")
    flat = (product(node.shape),)
    return builder.elementwise(COPY, reshaped(node, flat))


def _transposed(node: Node) -> Node:
    return builder.transpose(node, tuple(reversed(range(len(node.shape)))))


def _read_in_order(node: Node, order: object, function: str) -> Node:
    """The node; for order "F" it is transposed, so that reading it in C order gives order "F"."""
    if order not in ("C", "F"):
        raise refuse(function, "order", order)
    return node if order == "C" else _transposed(node)


def _with_inferred_length(node: Node, lengths: tuple[Dim, ...]) -> tuple[Dim, ...]:
    """The new shape, in which a length computed from the others replaces a negative length.

    Raises:
        ValueError: two lengths are negative.
        GraphValueError: the number of elements differs.
    """
    unknown = [d for d, n in enumerate(lengths) if n < 0]
    if len(unknown) > 1:
        raise ValueError("can only specify one unknown dimension")
    size = product(node.shape)
    known = product(tuple(n for d, n in enumerate(lengths) if d not in unknown))
    missing = dim(1)
    if unknown and known != 0:
        assumed_multiple(size, known)
        exact = exact_quotient(size, known)
        missing = size // known if exact is None else exact
    if not assumed_equal(missing * known, size) or (unknown and known == 0):
        raise GraphValueError(
            f"reshape({describe_type(node)}, {describe_shape(lengths)})",
            f"{amount(describe_length(size), 'element')} where the new shape has "
            f"{'a multiple of ' if unknown else ''}{describe_length(known)}",
            "give lengths whose product divides the number of elements"
            if unknown
            else "give lengths whose product is the number of elements, or -1 for one of them",
            user_location(),
        )
    return tuple(missing if d in unknown else n for d, n in enumerate(lengths))


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.real: lambda val: part_of(val, "real"),
    np.imag: lambda val: part_of(val, "imag"),
    np.transpose: _transpose,
    np.swapaxes: _swapaxes,
    np.matrix_transpose: _matrix_transpose,
    np.moveaxis: _moveaxis,
    np.rollaxis: _rollaxis,
    np.squeeze: _squeeze,
    np.expand_dims: _expand_dims,
    np.broadcast_to: _broadcast_to,
    np.broadcast_arrays: _broadcast_arrays,
    np.diagonal: _diagonal,
    np.flip: _flip,
    np.flipud: _flip_rule("flipud", 0),
    np.fliplr: _flip_rule("fliplr", 1),
    np.rot90: _rot90,
    np.atleast_1d: _atleast_rule("atleast_1d", at_least_1d),
    np.atleast_2d: _atleast_rule("atleast_2d", at_least_2d),
    np.atleast_3d: _atleast_rule("atleast_3d", at_least_3d),
    np.reshape: _reshape,
    np.ravel: _ravel,
}

METHODS: Final[dict[str, Rule]] = {
    "view": _view,
    "swapaxes": _swapaxes,
    "squeeze": _squeeze,
    "diagonal": _diagonal,
    "reshape": _reshape_method,
    "ravel": _ravel,
    "flatten": _flatten,
}
