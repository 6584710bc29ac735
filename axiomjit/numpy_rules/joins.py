"""The rules that join, repeat and split arrays; parts are read in place, and pieces are views."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base import dtypes
from axiomjit.base.dtypes import ELEMENT_TYPES, DType, is_bool
from axiomjit.base.errors import GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, check_fits, concatenate
from axiomjit.graph.indexing_ops import true_positions
from axiomjit.graph.nodes import Node, Scalar, describe_call, describe_shape
from axiomjit.graph.primitives import COPY, PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import (
    MARGINS_BY_MODE,
    Widths,
    flat,
    insert_dimensions,
    is_copied,
    padded,
    reshaped,
    sliced,
    with_margins,
)
from axiomjit.numpy_rules.creation import COUNTERS
from axiomjit.numpy_rules.elementwise import copied
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.library import OneAxis, flat_along
from axiomjit.numpy_rules.options import (
    AxisOption,
    Rule,
    array_node,
    only_defaults,
    reduced_dimensions,
    refuse,
)
from axiomjit.numpy_rules.shapes import FUNCTIONS as SHAPES
from axiomjit.numpy_rules.shapes import at_least_1d, at_least_2d, at_least_3d
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_in
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import Affine, is_computed_later, iterator


def _count(value: Any, function: str, option: str) -> Dim:
    """The number of repeats, as a length.

    Raises:
        UnsupportedError: the number is computed, or it is an array.
        ValueError: the number is negative.
    """
    if isinstance(value, Node | np.ndarray | list | tuple):
        raise refuse(function, option, value)
    times = value if isinstance(value, Dim) else dim(operator.index(value))
    if times < 0:
        raise ValueError("repeats may not contain negative values.")
    return times


def _tile(A: object, reps: Any) -> Node:
    """The rule of np.tile: a copy in C order, or in the array's memory order if nothing repeats."""
    node = array_node(A, "tile")
    given = reps if isinstance(reps, list | tuple) else (reps,)
    times = tuple(_count(one, "tile", "reps") for one in given)
    node = insert_dimensions(node, range(len(times) - len(node.shape)))
    times = (dim(1),) * (len(node.shape) - len(times)) + times
    if all(one.constant == 1 for one in times):
        return copied(node)
    return _repeated(node, times, before=True)


def _repeat(a: object, repeats: Any, axis: OneAxis = None) -> Node:
    """The rule of np.repeat with a single number of repeats: a copy in C order."""
    times = _count(repeats, "repeat", "repeats")
    node, along = flat_along(array_node(a, "repeat"), axis)
    each = [times if d == along else dim(1) for d in range(len(node.shape))]
    return _repeated(node, each, before=False)


def _repeated(node: Node, times: Sequence[Dim], *, before: bool) -> Node:
    """The node repeated along each dimension: as a whole with `before`, else element by element."""
    maps: list[Affine] = []
    extents: list[Dim] = []
    for length, count in zip(node.shape, times, strict=True):
        both = (count, length) if before else (length, count)
        maps.append(iterator(len(extents) + (before and count.constant != 1)))
        extents += both if count.constant != 1 else (length,)
    spread = builder.view(node, tuple(maps), tuple(extents))
    merged = tuple(n if m.constant == 1 else n * m for n, m in zip(node.shape, times, strict=True))
    made = reshaped(spread, merged)
    return made if is_copied(spread, merged) else copied(made, "C")


def _triangle_rule(name: str, *, upper: bool) -> Rule:
    def rule(m: object, k: Any = 0) -> Node:
        if not isinstance(k, int | np.integer | Dim):
            raise refuse(name, "k", k)
        node = array_node(m, name)
        if not node.shape:
            raise TypeError("tri() missing 1 required positional argument: 'N'")
        lengths = node.shape[-2:]
        below = COUNTERS[np.tri](lengths[0], lengths[-1], k - 1 if upper else k, bool)
        zero = Scalar(node.dtype, node.dtype.type(0), False)
        return builder.elementwise(WHERE, below, *((zero, node) if upper else (node, zero)))

    return rule


def _nodes(arrays: Any, name: str) -> list[Node]:
    if isinstance(arrays, Node):
        return [index_node(arrays, k) for k in range(int(arrays.shape[0]))]
    return [array_node(a, name) for a in arrays]


def _joined(
    name: str, nodes: list[Node], axis: int, dtype: Any = None, casting: str = "same_kind"
) -> Node:
    """Join nodes along a dimension, in their common dtype or the requested one.

    Raises:
        ValueError: there are no arrays, or an array has no dimensions.
        GraphValueError: the numbers of dimensions differ, or the lengths along a dimension other
            than `axis` differ.
        TypeError: `casting` does not allow the conversion.
    """
    if not nodes:
        raise ValueError("need at least one array to concatenate")
    rank = len(nodes[0].shape)
    if any(not node.shape for node in nodes):
        raise ValueError("zero-dimensional arrays cannot be concatenated")
    at = normalize_axis_index(axis, rank)
    for node in nodes[1:]:
        alike = len(node.shape) == rank and all(
            d == at or assumed_equal(n, m)
            for d, (n, m) in enumerate(zip(node.shape, nodes[0].shape, strict=True))
        )
        if not alike:
            raise GraphValueError(
                describe_call(name, *nodes),
                f"shapes {describe_shape(nodes[0].shape)} and {describe_shape(node.shape)}",
                f"give arrays that agree in every length but that of dimension {at}",
                user_location(),
            )
    common = dtypes.common(tuple(node.dtype for node in nodes))
    wanted = (
        common if dtype is None else dtypes.wanted_dtype(np.dtype(dtype), f"{name}(dtype={dtype})")
    )
    for node in nodes:
        if not np.can_cast(node.dtype, wanted, casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Cannot cast array data from {node.dtype!r} to {wanted!r} "
                f"according to the rule {casting!r}"
            )
    return concatenate([cast(node, wanted) for node in nodes], at)


def _concatenate(
    arrays: Any,
    axis: int | None = 0,
    out: object = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Node:
    only_defaults("concatenate", out=out)
    nodes = _nodes(arrays, "concatenate")
    if axis is None:
        nodes, axis = [flat(node) for node in nodes], 0
    return _joined("concatenate", nodes, axis, dtype, casting)


def _stack(
    arrays: Any,
    axis: int = 0,
    out: object = None,
    *,
    dtype: Any = None,
    casting: str = "same_kind",
) -> Node:
    only_defaults("stack", out=out)
    nodes = _nodes(arrays, "stack")
    if not nodes:
        raise ValueError("need at least one array to stack")
    if len({len(node.shape) for node in nodes}) > 1:
        raise ValueError("all input arrays must have the same shape")
    at = normalize_axis_index(axis, len(nodes[0].shape) + 1)
    return _joined("stack", [insert_dimensions(n, (at,)) for n in nodes], at, dtype, casting)


def _concatenation_rule(name: str, grow: Callable[[Node], Node], axis: int) -> Rule:
    """The rule of vstack, hstack or dstack: add dimensions to the arrays, then concatenate them."""

    def rule(tup: Any, *, dtype: Any = None, casting: str = "same_kind") -> Node:
        nodes = [grow(node) for node in _nodes(tup, name)]
        flat = name == "hstack" and len(nodes[0].shape) == 1
        return _joined(name, nodes, 0 if flat else axis, dtype, casting)

    return rule


def _column(node: Node) -> Node:
    """A vector as a column; a matrix is returned unchanged."""
    return node if len(node.shape) > 1 else insert_dimensions(at_least_1d(node), (1,))


def _depth_of(blocks: object, depth: int = 0) -> int:
    """The depth of the nested lists of `np.block`.

    Raises:
        ValueError: a list is empty, or the depths of two blocks differ.
        TypeError: a block is a tuple.
    """
    if isinstance(blocks, tuple):
        raise TypeError("a block is a tuple. Only lists can be used to arrange blocks")
    if not isinstance(blocks, list):
        return depth
    if not blocks:
        raise ValueError("a list of blocks cannot be empty")
    first, *others = (_depth_of(block, depth + 1) for block in blocks)
    if any(other != first for other in others):
        raise ValueError("List depths are mismatched.")
    return first


def _block(arrays: object) -> Node:
    """The rule of np.block: innermost lists are joined first, along the last dimension."""
    depth = _depth_of(arrays)
    nodes = [array_node(one, "block") for one in _blocks(arrays)]
    rank = max(depth, *(len(node.shape) for node in nodes))
    if len({node.dtype for node in nodes}) > 2:  # NumPy promotes large arrays in one step
        raise refuse("block", "arrays", "blocks of more than two dtypes")
    rest = iter(nodes)

    def joined(blocks: object, level: int) -> Node:
        if not isinstance(blocks, list):
            node = next(rest)
            return insert_dimensions(node, range(rank - len(node.shape)))
        parts = [joined(block, level + 1) for block in blocks]
        return _joined("block", parts, level - depth)

    made = joined(arrays, 0)
    return made if depth else builder.elementwise(COPY, made)


def _blocks(arrays: object) -> Iterator[object]:
    """The blocks in nested lists, in order."""
    if isinstance(arrays, list):
        for one in arrays:
            yield from _blocks(one)
    else:
        yield arrays


def _append(arr: object, values: object, axis: int | None = None) -> Node:
    nodes = [array_node(arr, "append"), array_node(values, "append")]
    if axis is None:
        nodes, axis = [flat(node) for node in nodes], 0
    return _joined("append", nodes, axis)


def _roll(a: object, shift: Any, axis: AxisOption = None) -> Node:
    """The rule of np.roll: elements that are shifted beyond one end come back at the other."""
    node = array_node(a, "roll")
    if axis is None:
        return reshaped(_rolled(flat(node), shift, 0), node.shape)
    axes = reduced_dimensions(node, axis) if isinstance(axis, int) else tuple(axis)
    shifts = tuple(shift) if isinstance(shift, Sequence) else (shift,) * len(axes)
    axes = axes * len(shifts) if len(axes) == 1 else axes
    if len(shifts) != len(axes):
        raise ValueError("'shift' and 'axis' should be scalars or 1D sequences")
    for step, d in zip(shifts, axes, strict=True):
        node = _rolled(node, step, normalize_axis_index(d, len(node.shape)))
    return node if axes else builder.elementwise(COPY, node)


def _rolled(node: Node, shift: Any, axis: int) -> Node:
    length, steps = node.shape[axis], dim(shift)
    if steps.constant == 0 or length == 0:
        return builder.elementwise(COPY, node)
    cut = _first_after_shift(steps, length)
    ends = sliced(node, [axis], slice(cut, None)), sliced(node, [axis], slice(cut))
    return concatenate(ends, axis)


def _first_after_shift(steps: Dim, length: Dim) -> Dim:
    """The position of the element that comes first after a shift.

    If the number of steps is known, a guard replaces the remainder, so that the lengths of both
    parts of the result contain no division.
    """
    known = steps.constant
    if known is None or is_computed_later(length, steps) or length < abs(known):
        return -steps % length
    return -steps if known < 0 else length - steps


def _pad(array: object, pad_width: Any, mode: object = "constant", **options: Any) -> Node:
    """The rule of np.pad: dimensions are padded in order; later dimensions fill corners."""
    node = array_node(array, "pad")
    rank = len(node.shape)
    if mode != "constant" and mode not in MARGINS_BY_MODE:
        raise refuse("pad", "mode", mode)
    values = options.pop("constant_values", 0) if mode == "constant" else 0
    for option, value in options.items():
        raise refuse("pad", option, value)
    fills = _fill_values(values, rank)
    for d, (widths, fill) in enumerate(zip(_widths(pad_width, rank), fills, strict=True)):
        if mode == "constant":
            node = padded(node, d, widths, *(_filler(value, node.dtype) for value in fill))
        else:
            node = with_margins(node, d, MARGINS_BY_MODE[str(mode)](node, d, widths))
    return builder.elementwise(COPY, node) if not rank else node


def _filler(value: Any, dtype: DType) -> Node:
    number = builder.as_node(value, "pad")
    check_fits(number, dtype)
    return cast(number, dtype)


def _pairs(value: Any, rank: int, name: str) -> list[tuple[Any, Any]]:
    """A pair (before, after) per dimension; a single pair or number is used for all dimensions."""
    rows = value if isinstance(value, Sequence | np.ndarray) else (value,)
    if len(rows) == 2 and not any(isinstance(row, Sequence | np.ndarray) for row in rows):
        rows = (rows,)
    ends = [tuple(row) if isinstance(row, Sequence | np.ndarray) else (row,) for row in rows]
    ends = [pair * 2 if len(pair) == 1 else pair for pair in ends]
    ends = ends * rank if len(ends) == 1 else ends
    if len(ends) != rank or any(len(pair) != 2 for pair in ends):
        raise ValueError(f"{name} of {value} does not fit {rank} dimensions")
    return [(first, second) for first, second in ends]


def _fill_values(values: Any, rank: int) -> list[tuple[Any, Any]]:
    """The numbers that pad each dimension before and after.

    NumPy makes an array of one or two numbers, so the numbers are cast by the rules for arrays. In
    a longer list, each Python integer must fit the dtype.
    """
    pairs = _pairs(values, rank, "constant_values")
    if not pairs or np.size(values) > 2 or np.shape(values) == (2, 1):
        return pairs
    first, last = (
        value if isinstance(value, Node | Dim) else np.asarray(value)[()] for value in pairs[0]
    )
    return [(first, last)] * rank


def _widths(pad_width: Any, rank: int) -> list[Widths]:
    if isinstance(pad_width, dict):
        given = {normalize_axis_index(d, rank): width for d, width in pad_width.items()}
        pairs = [_pairs(given.get(d, 0), 1, "pad_width")[0] for d in range(rank)]
    else:
        pairs = _pairs(pad_width, rank, "pad_width")
    widths = [(dim(before), dim(after)) for before, after in pairs]
    if any(width < 0 for pair in widths for width in pair):
        raise ValueError("index can't contain negative values")
    return widths


def _by_index(name: str, columns: bool) -> Rule:
    """The rule of `np.r_`, which joins its items, or of `np.c_`, which joins columns."""

    def rule(*items: Any) -> Node:
        given = [_slice_numbers(item) if isinstance(item, slice) else item for item in items]
        found = [builder.as_node(item, name) for item in given]
        kinds = [ELEMENT_TYPES[n.dtype].python(0) if n.weak else n.dtype for n in found]
        nodes = [at_least_1d(builder.strong(node)) for node in found]
        if columns:
            nodes = [_column(node) for node in nodes]
        return _joined(name, nodes, -1 if columns else 0, np.result_type(*kinds))

    return rule


def _slice_numbers(part: slice) -> Any:
    """The numbers for which a slice stands in `np.r_`."""
    if not any(isinstance(end, Dim) for end in (part.start, part.stop, part.step)):
        return np.r_[part]
    first, step = (0 if part.start is None else part.start), part.step
    return COUNTERS[np.arange](first, part.stop, 1 if step is None else step)


INDEXED: Final[dict[Any, Rule]] = {np.r_: _by_index("r_", False), np.c_: _by_index("c_", True)}
"""NumPy's objects that concatenate the items of an index."""


def _array_split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[Node]:
    node = array_node(ary, "array_split")
    d = normalize_axis_index(axis, len(node.shape))
    length = node.shape[d]
    if isinstance(indices_or_sections, int | np.integer | Dim):
        sections = int(indices_or_sections)
        if sections <= 0:
            raise ValueError("number sections must be larger than 0.")
        longer, each = int(length % sections), length // sections
        starts = [each * k + min(k, longer) for k in range(sections + 1)]
    else:
        starts = [dim(0), *_ends(indices_or_sections), length]
    ends = zip(starts, starts[1:], strict=False)
    return [sliced(node, [d], slice(start, end)) for start, end in ends]


def _ends(indices: Any) -> Sequence[Any]:
    """The positions at which an array is split.

    Raises:
        UnsupportedError: the positions are computed, so that the lengths of the parts are unknown.
    """
    if isinstance(indices, Node) or any(isinstance(end, Node) for end in indices):
        raise refuse("array_split", "indices_or_sections", indices)
    return [end if isinstance(end, Dim) else int(end) for end in indices]


def _split(ary: object, indices_or_sections: Any, axis: int = 0) -> list[Node]:
    node = array_node(ary, "split")
    if isinstance(indices_or_sections, int | np.integer | Dim):
        length = node.shape[normalize_axis_index(axis, len(node.shape))]
        if length % int(indices_or_sections) != 0:
            raise ValueError("array split does not result in an equal division")
    return _array_split(node, indices_or_sections, axis)


def _split_rule(name: str, least: int, axis: int) -> Rule:
    """The rule of vsplit, hsplit or dsplit, for arrays with at least `least` dimensions."""

    def rule(ary: object, indices_or_sections: Any) -> list[Node]:
        node = array_node(ary, name)
        rank = len(node.shape)
        if rank < least:
            raise ValueError(f"{name} only works on arrays of {least} or more dimensions")
        return _split(node, indices_or_sections, min(axis, rank - 1))

    return rule


def _unstack(x: object, /, *, axis: int = 0) -> tuple[Node, ...]:
    """The rule of np.unstack: one view, or number, for each position along a dimension."""
    node = array_node(x, "unstack")
    if not node.shape:
        raise ValueError("Input array must be at least 1-d.")
    first: Node = SHAPES[np.moveaxis](node, axis, 0)
    if data_dependent_in(first.shape[0]):
        raise refuse("unstack", "x", node)
    return tuple(index_node(first, k) for k in range(int(first.shape[0])))


def _diag(v: object, k: int = 0) -> Node:
    """The rule of np.diag: the diagonal of a matrix, or the matrix with this diagonal."""
    node = array_node(v, "diag")
    if len(node.shape) == 2:
        seen: Node = SHAPES[np.diagonal](node, k)
        return builder.read_only(node, seen)
    if len(node.shape) != 1:
        raise ValueError("Input must be 1- or 2-d.")
    return _with_diagonal(node, k)


def _diagflat(v: object, k: int = 0) -> Node:
    """The rule of np.diagflat: the matrix whose diagonal has all elements of an array."""
    return _with_diagonal(flat(array_node(v, "diagflat")), k)


def _with_diagonal(node: Node, k: int) -> Node:
    """The matrix with a vector as diagonal `k`, and zeros elsewhere."""
    more, zero = dim(abs(k)), Scalar(node.dtype, node.dtype.type(0), False)
    whole = padded(node, 0, (dim(0), more), zero)
    side = whole.shape[0]
    along, other = (0, 1) if k >= 0 else (1, 0)
    place, wanted = (positions_along((side, side), (d,)) for d in (along, other))
    shift = builder.as_node(more, "diag")
    here = builder.elementwise(
        PRIMITIVES["equal"], builder.elementwise(PRIMITIVES["add"], place, shift), wanted
    )
    values = builder.view(whole, (iterator(along),), (side, side))
    return builder.elementwise(WHERE, here, values, zero)


def _vectors(arrays: Sequence[object], name: str) -> list[Node]:
    """The arrays as vectors, each along a dimension of its own."""
    nodes = [array_node(value, name) for value in arrays]
    return [
        insert_dimensions(flat(node), [k for k in range(len(nodes)) if k != d])
        for d, node in enumerate(nodes)
    ]


def _open_grid(*args: object) -> tuple[Node, ...]:
    """The rule of np.ix_: positions along each dimension of a grid; for bools, of true elements."""
    nodes: list[Node] = []
    for value in args:
        node = array_node(value, "ix_")
        if len(node.shape) != 1:
            raise ValueError("Cross index must be 1 dimensional")
        if node.shape[0].constant == 0:
            node = cast(node, np.dtype(np.intp))
        nodes.append(true_positions(node)[0] if is_bool(node.dtype) else node)
    return tuple(_vectors(nodes, "ix_"))


def _meshgrid(
    *xi: object, copy: bool = True, sparse: bool = False, indexing: str = "xy"
) -> tuple[Node, ...]:
    if indexing not in ("xy", "ij"):
        raise ValueError("Valid values for `indexing` are 'xy' and 'ij'.")
    nodes = _vectors(xi, "meshgrid")
    if indexing == "xy" and len(nodes) > 1:
        order = (1, 0, *range(2, len(nodes)))
        nodes = [builder.transpose(node, order) for node in nodes]
    if not sparse:
        shape = builder.broadcast_shapes([node.shape for node in nodes], "meshgrid", *nodes)
        nodes = [builder.broadcast_to(node, shape) for node in nodes]
    return tuple(builder.elementwise(COPY, node) for node in nodes) if copy else tuple(nodes)


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.concatenate: _concatenate,
    np.stack: _stack,
    np.vstack: _concatenation_rule("vstack", at_least_2d, 0),
    np.hstack: _concatenation_rule("hstack", at_least_1d, 1),
    np.dstack: _concatenation_rule("dstack", at_least_3d, 2),
    np.column_stack: _concatenation_rule("column_stack", _column, 1),
    np.block: _block,
    np.append: _append,
    np.roll: _roll,
    np.pad: _pad,
    np.array_split: _array_split,
    np.split: _split,
    np.vsplit: _split_rule("vsplit", 2, 0),
    np.hsplit: _split_rule("hsplit", 1, 1),
    np.dsplit: _split_rule("dsplit", 3, 2),
    np.unstack: _unstack,
    np.diag: _diag,
    np.diagflat: _diagflat,
    np.ix_: _open_grid,
    np.meshgrid: _meshgrid,
    np.tile: _tile,
    np.repeat: _repeat,
    np.tril: _triangle_rule("tril", upper=False),
    np.triu: _triangle_rule("triu", upper=True),
}
METHODS: Final[dict[str, Rule]] = {"repeat": _repeat}
