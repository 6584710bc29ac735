"""The rules that read elements: by an index, at positions, or by masks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import BOOL, INT, is_bool, is_integer
from axiomjit.base.errors import GraphValueError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, concatenate
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.indexing_ops import (
    ZERO,
    Position,
    as_mask,
    checked_positions,
    gather,
    not_integers_error,
    take,
    take_checked,
    true_positions,
)
from axiomjit.graph.library_operations import nonzero_positions
from axiomjit.graph.nodes import (
    Constant,
    Input,
    Node,
    base_of,
    describe_length,
    describe_type,
    size,
)
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.graph.shape_ops import flat, insert_dimensions, positions_of
from axiomjit.numpy_rules.library import OneAxis, flat_along
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import Affine, IndexMap, affine, compose, fixed, iterator
from axiomjit.symbolic.index_ranges import wrapped

_KINDS: Final = (
    "only integers, slices (`:`), ellipsis (`...`), numpy.newaxis (`None`) and integer or boolean "
    "arrays are valid indices"
)


def index_node(node: Node, key: object) -> Node:
    """The result of `node[key]`: a view without arrays in `key`, otherwise a gather.

    A mask is replaced by the positions of its true elements, one array per dimension. A single
    element is a copy. Integer arrays are broadcast together. In the result, the dimensions of the
    arrays replace the indexed dimensions, or come first if another item is between the arrays. The
    rules for indices are NumPy's.

    Raises:
        UnsupportedError: an index is a single bool whose value is not known.
        IndexError: an index is out of range or of a wrong type, or there are too many.
        PositionError: a position is out of range; raised when the program runs.
    """
    items = _items(key)
    full = _spelled_out(items, len(node.shape))
    if any(map(_is_array, full)):
        return gather(node, *_gathered(node, _without_masks(node, full)))
    seen = _viewed(node, full)
    # An element taken out is not a view in NumPy, unless the index has an ellipsis.
    taken_out = not seen.shape and not any(item is Ellipsis for item in items)
    return builder.elementwise(COPY, seen) if taken_out else seen


def index_view(node: Node, key: object) -> Node:
    """The view `node[key]`, for integers, slices, Ellipsis and newaxis.

    Raises:
        IndexError: an index is out of range or of a wrong type, or there are too many.
    """
    return _viewed(node, _spelled_out(_items(key), len(node.shape)))


class Gathered(NamedTuple):
    """The elements that an index with arrays selects.

    `place` maps the points of `shape`, followed by the positions, to the array. Each position is
    less than its length in `lengths`.
    """

    place: IndexMap
    positions: Sequence[Position]
    shape: tuple[Dim, ...]
    lengths: Sequence[Dim]


def gathered_by(node: Node, key: object) -> Gathered | None:
    """The elements that `node[key]` selects by arrays in the index; None without arrays.

    Raises:
        Errors of `index_node` are passed on.
    """
    full = _spelled_out(_items(key), len(node.shape))
    return _gathered(node, _without_masks(node, full)) if any(map(_is_array, full)) else None


def mask_of(node: Node, key: object) -> Node | None:
    """The mask of an index that is a single array of bools, with the rank of the indexed array.

    None for every other index.

    Raises:
        IndexError: the lengths of the mask differ from the lengths of the first dimensions.
    """
    if not (isinstance(key, Node) or type(key) is np.ndarray) or not is_bool(key.dtype):
        return None
    mask = builder.as_node(key, "an index")
    rank = len(mask.shape)
    if not mask.shape or rank > len(node.shape):
        return None
    if mask.shape != node.shape[:rank]:
        raise IndexError(
            "boolean index did not match indexed array; its lengths are "
            f"{', '.join(map(describe_length, mask.shape))}, those of the array "
            f"{', '.join(map(describe_length, node.shape))}"
        )
    return insert_dimensions(mask, range(rank, len(node.shape)))


class _MaskPositions(NamedTuple):
    """The positions of a mask's true elements, which are always within their dimension."""

    positions: Node


def _without_masks(node: Node, full: Sequence[Any]) -> list[Any]:
    """The items, with each mask replaced by its positions.

    Raises:
        IndexError: the length of a mask differs from the length of its dimension.
        UnsupportedError: a mask has no dimensions.
    """
    found: list[Any] = []
    axis = 0
    for item in full:
        if not (isinstance(item, Node) and item.dtype == BOOL):
            found.append(item)
        elif not item.shape:
            raise UnsupportedError(
                f"indexing with {describe_type(item)}",
                "one bool, which decides whether there is an element",
                "use where(...), or index outside the compiled function",
                user_location(),
            )
        else:
            for d, (length, own) in enumerate(zip(node.shape[axis:], item.shape, strict=False)):
                # NumPy ignores the lengths of empty masks
                if own != 0 and not assumed_equal(length, own):
                    raise IndexError(
                        "boolean index did not match indexed array along axis "
                        f"{axis + d}; size of axis is {describe_length(length)} but size of "
                        f"corresponding boolean axis is {describe_length(own)}"
                    )
            found += map(_MaskPositions, true_positions(item))
        axis += _rank(item)
    return found


def _rank(item: object) -> int:
    if isinstance(item, Node) and item.dtype == BOOL:
        return len(item.shape)
    return int(not (item is None or item is Ellipsis or isinstance(item, bool)))


def _items(key: object) -> list[Any]:
    return [_item(item) for item in (key if isinstance(key, tuple) else (key,))]


def _is_array(item: object) -> bool:
    """True if an item is an array of positions, or a bool, which is treated as an array."""
    return isinstance(item, Node | bool)


def _viewed(node: Node, full: Sequence[Any]) -> Node:
    """The view of a node indexed by integers, slices and None."""
    maps, extents = [], []
    for axis, item in _by_axis(full):
        if item is None:
            extents.append(dim(1))
        elif isinstance(item, slice):
            start, step, count = positions_of(item, node.shape[axis])
            maps.append(affine({len(extents): dim(step)}, start))
            extents.append(count)
        else:
            maps.append(fixed(_position(item, node.shape[axis], axis)))
    return builder.view(node, tuple(maps), tuple(extents))


def _item(item: Any) -> Any:
    """An item of an index: None, Ellipsis, a slice, an int, a Dim, a bool, or a node of positions.

    Raises:
        IndexError: the item has another type.
    """
    if item is None or item is Ellipsis or isinstance(item, slice | Dim):
        return item
    if isinstance(item, bool | np.bool_):
        return bool(item)
    if isinstance(item, int | np.integer):
        return int(item)
    if isinstance(item, list | range) and not np.size(item):
        item = np.zeros(np.shape(item), np.int64)
    if not isinstance(item, Node | np.ndarray | list | range):
        raise IndexError(_KINDS)
    found = builder.as_node(item, "indexing")
    if not (is_bool(found.dtype) or is_integer(found.dtype)):
        number = "arrays used as indices must be of integer (or boolean) type"
        raise IndexError(number if found.shape else _KINDS)
    return found


def _spelled_out(items: Sequence[Any], rank: int) -> list[Any]:
    """The items, completed by slices of the entire dimensions that Ellipsis or no item covers.

    An Ellipsis without dimensions remains, since it separates integer arrays.
    """
    if sum(item is Ellipsis for item in items) > 1:
        raise IndexError("an index can only have a single ellipsis ('...')")
    named = sum(map(_rank, items))
    if named > rank:
        raise IndexError(
            f"too many indices for array: array is {rank}-dimensional, but {named} were indexed"
        )
    rest = [slice(None)] * (rank - named)
    full: list[Any] = []
    for item in items:
        full += (rest or [Ellipsis]) if item is Ellipsis else [item]
    return full if any(item is Ellipsis for item in items) else full + rest


def _by_axis(full: Sequence[Any]) -> list[tuple[int, Any]]:
    """The items except Ellipsis, each with its dimension; None gets the next item's dimension."""
    found: list[tuple[int, Any]] = []
    axis = 0
    for item in full:
        if item is not Ellipsis:
            found.append((axis, item))
            axis += _rank(item)
    return found


def _position(item: int | Dim, length: Dim, axis: int) -> Dim:
    """The nonnegative position of an integer index."""
    at = dim(item)
    if not -length <= at < length:
        raise IndexError(
            f"index {describe_length(at)} is out of bounds for axis {axis} with size "
            f"{describe_length(length)}"
        )
    return wrapped(at, length)


def _is_position(item: Any) -> bool:
    """True if an item is an integer, an array of integers, or a bool."""
    return not (item is None or item is Ellipsis or isinstance(item, slice))


def _gathered(node: Node, full: Sequence[Any]) -> Gathered:
    """The elements that an index selects; at least one of its items is an array of positions."""
    met = _broadcast_shape(full)
    at = [k for k, item in enumerate(full) if _is_position(item)]
    together = at[-1] - at[0] == len(at) - 1
    kept = [item is None or isinstance(item, slice) for item in full]
    begin = sum(kept[: at[0]]) if together else 0  # the first dimension of the broadcast positions
    rank = sum(kept) + len(met)
    free = iter([d for d in range(rank) if not begin <= d < begin + len(met)])
    shape = dict(enumerate(met, begin))
    index: list[Affine] = []
    positions: list[Position] = []
    lengths: list[Dim] = []
    for axis, item in _by_axis(full):
        if item is None:
            shape[next(free)] = dim(1)
        elif isinstance(item, slice):
            d = next(free)
            start, step, shape[d] = positions_of(item, node.shape[axis])
            index.append(affine({d: dim(step)}, start))
        elif isinstance(item, Node | _MaskPositions):
            index.append(iterator(rank + len(positions)))
            length, own = node.shape[axis], _array_of(item)
            here = [iterator(begin + d) for d in range(len(met))]
            read = compose(builder.stretch_map(own.shape, met), here)
            if isinstance(item, Node):
                own = checked_positions(item, length, axis, item.shape and met)
            positions.append((own, read))
            lengths.append(length)
        elif not isinstance(item, bool):
            index.append(fixed(_position(item, node.shape[axis], axis)))
    extents = tuple(shape[d] for d in range(rank))
    return Gathered(tuple(index), positions, extents, lengths)


def _array_of(item: Node | _MaskPositions) -> Node:
    return item.positions if isinstance(item, _MaskPositions) else item


def _broadcast_shape(full: Sequence[Any]) -> tuple[Dim, ...]:
    """The shape to which positions broadcast; True counts as one position, False as none.

    Raises:
        IndexError: the positions do not broadcast.
    """
    shapes = [_array_of(item).shape for item in full if isinstance(item, Node | _MaskPositions)]
    shapes += [(dim(int(item)),) for item in full if isinstance(item, bool)]
    try:
        return builder.broadcast_shapes(shapes, "indexing")
    except GraphValueError as error:
        numbers = (tuple(map(describe_length, shape)) for shape in shapes)
        seen = " ".join(f"({','.join(s)}{',' * (len(s) == 1)})" for s in numbers)
        raise IndexError(
            f"shape mismatch: indexing arrays could not be broadcast together with shapes {seen} "
        ) from error


def _take(
    a: object, indices: object, axis: OneAxis = None, out: object = None, mode: str = "raise"
) -> Node:
    only_defaults("take", out=out)
    node, along = flat_along(array_node(a, "take"), axis)
    positions = array_node(indices, "take")
    if isinstance(indices, list | tuple) and not indices:
        positions = cast(positions, INT)
    try:
        np.take(np.zeros(1), np.zeros(1, positions.dtype))
    except TypeError as error:
        raise not_integers_error(str(error), "positions") from None
    length = node.shape[along]
    others = (*node.shape[:along], *node.shape[along + 1 :], *positions.shape)
    if any(n == 0 for n in others):  # No element is read.
        return take_checked(node, cast(positions, INT), along)
    if length == 0:
        raise IndexError("cannot do a non-empty take from an empty axes.")
    return take_checked(node, _in_mode(positions, length, along, mode), along)


def _take_along_axis(arr: object, indices: object, axis: OneAxis = -1) -> Node:
    node, positions = array_node(arr, "take_along_axis"), array_node(indices, "take_along_axis")
    if axis is None:
        node, _ = flat_along(node, None)
    return gather(node, *along_axis(node, positions, axis))


def along_axis(node: Node, positions: Node, axis: OneAxis) -> Gathered:
    """The elements that `take_along_axis` reads; if `axis` is None, the array must be flat.

    Raises:
        IndexError: the positions are not integers.
        ValueError: the dimensions of the positions do not fit the dimensions of the array.
        PositionError: a position is out of range; raised when the program runs.
    """
    if not is_integer(positions.dtype):
        raise IndexError("`indices` must be an integer array")
    if axis is None:
        if len(positions.shape) != 1:
            raise ValueError("when axis=None, `indices` must have a single dimension.")
        axis = 0
    axis = normalize_axis_index(axis, len(node.shape))
    if len(node.shape) != len(positions.shape):
        raise ValueError("`indices` and `arr` must have the same number of dimensions")
    rest = [n if d != axis else dim(1) for d, n in enumerate(node.shape)]
    shape = builder.broadcast_shapes([positions.shape, tuple(rest)], "take_along_axis")
    index = list(builder.stretch_map(tuple(rest), shape))
    index[axis] = iterator(len(shape))
    at = checked_positions(positions, node.shape[axis], axis, shape)
    where = [(at, builder.stretch_map(positions.shape, shape))]
    return Gathered(tuple(index), where, shape, [node.shape[axis]])


def at_flat(node: Node, positions: Node, mode: str) -> Gathered:
    """The elements at positions in the array that is flattened in C order.

    Raises:
        ValueError: the mode is unknown.
        PositionError: a position is out of range; raised when the program runs.
    """
    shape, rank = positions.shape, len(positions.shape)
    length = product(node.shape)
    at = _in_mode(positions, length, 0, mode)
    found: list[Position] = []
    step = dim(1)
    for k, n in reversed(list(enumerate(node.shape))):
        own = at if step is dim(1) else _divided("floor_divide", at, step)
        step = step * n
        own = own if k == 0 else _divided("remainder", own, n)
        found.append((own, builder.stretch_map(shape, shape)))
    index = tuple(iterator(rank + k) for k in range(len(node.shape)))
    return Gathered(index, found[::-1], shape, node.shape)


def _divided(name: str, node: Node, by: Dim) -> Node:
    return builder.elementwise(PRIMITIVES[name], node, size(by))


def _in_mode(positions: Node, length: Dim, axis: int, mode: str) -> Node:
    """Positions within a length: checked, wrapped or clipped, according to `mode`."""
    if mode == "raise":
        return checked_positions(positions, length, axis, positions.shape)
    if mode not in ("wrap", "clip"):
        raise ValueError(f"clipmode must be one of 'clip', 'raise', or 'wrap' (got {mode!r})")
    wide = cast(positions, INT)
    if mode == "wrap":
        return _divided("remainder", wide, length)
    return builder.elementwise(PRIMITIVES["clip"], wide, ZERO, size(length - 1))


def nonzero(a: object) -> tuple[Node, ...]:
    """The rule of np.nonzero: for each dimension, the positions of nonzero elements.

    Raises:
        ValueError: the array has no dimensions.
    """
    node = array_node(a, "nonzero")
    if not node.shape:
        raise ValueError(
            "Calling nonzero on 0d arrays is not allowed. Use np.atleast_1d(scalar).nonzero() "
            "instead. If the context of this error is of the form `arr[nonzero(cond)]`, just use "
            "`arr[cond]`."
        )
    if isinstance(base_of(node), Input | Constant):  # a single call counts and finds the positions
        call = ArrayCall("nonzero", nonzero_positions, (node,))
        length = (call.length(0),)
        return tuple(call.result(length, INT, k) for k in range(len(node.shape)))
    return true_positions(as_mask(node))


def _flatnonzero(a: object) -> Node:
    (found,) = nonzero(flat(array_node(a, "flatnonzero")))
    return found


def _argwhere(a: object) -> Node:
    node = array_node(a, "argwhere")
    return concatenate([insert_dimensions(at, (1,)) for at in nonzero(node)], 1)


def _compress(condition: object, a: object, axis: OneAxis = None, out: object = None) -> Node:
    only_defaults("compress", out=out)
    mask = as_mask(array_node(condition, "compress"))
    if len(mask.shape) != 1:
        raise ValueError("condition must be a 1-d array")
    node, along = flat_along(array_node(a, "compress"), axis)
    (positions,) = true_positions(mask)
    if mask.shape[0] <= node.shape[along]:
        return take_checked(node, positions, along)
    return take(node, positions, along)


def _extract(condition: object, arr: object) -> Node:
    mask = as_mask(flat(array_node(condition, "extract")))
    node = flat(array_node(arr, "extract"))
    return _compress(mask, node)


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.take: _take,
    np.take_along_axis: _take_along_axis,
    np.nonzero: nonzero,
    np.flatnonzero: _flatnonzero,
    np.argwhere: _argwhere,
    np.compress: _compress,
    np.extract: _extract,
}

METHODS: Final[dict[str, Rule]] = {
    "take": _take,
    "nonzero": nonzero,
    "compress": lambda a, condition, axis=None, out=None: _compress(condition, a, axis, out),
}
