"""The rules of functions that sort, search, count or find distinct elements, as library calls.

The number of distinct elements is known only after NumPy has found them, so later code is compiled
for any number.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib._arraysetops_impl import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
)
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import FLOAT, INT, is_bool, is_integer
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.external_calls import (
    ArrayCall,
    WithNamedArrays,
    as_named_tuple,
    may_fail,
    stored,
)
from axiomjit.graph.indexing_ops import not_integers_error
from axiomjit.graph.library_operations import END, Labels, Shapes
from axiomjit.graph.nodes import Node, Op, Scalar, describe_type, note
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.graph.storages import update
from axiomjit.numpy_rules.library import OneAxis, flat_along
from axiomjit.numpy_rules.options import (
    AxisOption,
    Rule,
    array_node,
    kept,
    only_defaults,
    reduced_dimensions,
    refuse,
)
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_length
from axiomjit.symbolic.dims import Dim, current_scope, dim, product
from axiomjit.symbolic.index_maps import identity, iterator


def _linear_cost(shapes: Shapes, labels: Labels) -> Dim:
    return product(shapes[0]) * 20


def _search_cost(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of a binary search for each element of the second operand."""
    return product(shapes[1]) * 20


def _partition_rule(function: Callable[..., Any]) -> Rule:
    name = function.__name__

    def rule(
        a: object, kth: Any, axis: OneAxis = -1, kind: str = "introselect", order: object = None
    ) -> Node:
        only_defaults(name, order=order)
        node, along = flat_along(array_node(a, name), axis)
        if isinstance(kth, Node):
            raise refuse(name, "kth", kth)
        wanted = tuple(map(int, kth)) if isinstance(kth, Sequence | np.ndarray) else int(kth)
        options = (("kth", wanted), ("axis", along), ("kind", kind))
        dtype = node.dtype if function is np.partition else np.dtype(np.intp)
        call = ArrayCall(name, function, (node,), options, additions=_linear_cost, may_raise=True)
        return call.result(node.shape, dtype)

    return rule


def _lexsort(keys: Any, axis: int = -1) -> Node:
    several = isinstance(keys, list | tuple)
    nodes = tuple(array_node(key, "lexsort") for key in (keys if several else (keys,)))
    if not nodes:
        raise TypeError("need sequence of keys with len > 0 in lexsort")
    shape = nodes[0].shape if several else nodes[0].shape[1:]
    if any(len(node.shape) != len(shape) for node in nodes) and several:
        raise ValueError("all keys need to be the same shape")
    if several and any(m != n for node in nodes for m, n in zip(node.shape, shape, strict=True)):
        raise ValueError("all keys need to be the same shape")
    if not shape:  # NumPy treats a number as a key with one element
        raise refuse("lexsort", "keys", keys)
    normalize_axis_index(operator.index(axis), len(shape))
    function = _lexsorted if several else np.lexsort
    options = (("axis", operator.index(axis)),)
    call = ArrayCall("lexsort", function, nodes, options, additions=_linear_cost)
    return call.result(shape, np.dtype(np.intp))


def _lexsorted(*keys: np.ndarray, axis: int) -> Any:
    return np.lexsort(keys, axis)


def _searchsorted(a: object, v: object, side: str = "left", sorter: object = None) -> Node:
    operands = [array_node(a, "searchsorted"), array_node(v, "searchsorted")]
    if len(operands[0].shape) != 1:
        deep = "too deep" if operands[0].shape else "of too small depth"
        raise ValueError(f"object {deep} for desired array")
    names: tuple[str, ...] = ("v",)
    if sorter is not None:
        operands.append(array_node(sorter, "searchsorted"))
        if not is_integer(operands[2].dtype):
            raise TypeError("sorter must only contain integers")
        if len(operands[2].shape) != 1 or operands[2].shape[0] != operands[0].shape[0]:
            raise ValueError("sorter.size must equal a.size")
        names = ("v", "sorter")
    function = WithNamedArrays(np.searchsorted, names) if sorter is not None else np.searchsorted
    options = (("side", side),)
    may_raise = sorter is not None
    given = tuple(operands), options
    call = ArrayCall("searchsorted", function, *given, additions=_search_cost, may_raise=may_raise)
    return call.result(operands[1].shape, np.dtype(np.intp))


def _digitize(x: object, bins: object, right: bool = False) -> Node:
    operands = array_node(x, "digitize"), array_node(bins, "digitize")
    options = (("right", bool(right)),)
    call = ArrayCall(
        "digitize", np.digitize, operands, options, additions=_search_cost, may_raise=True
    )
    return call.result(operands[0].shape, call.dtypes()[0])


def _reduced_shape(node: Node, axis: AxisOption, keepdims: object) -> tuple[Dim | int, ...]:
    """The shape of the result of a reduction along dimensions."""
    axes = reduced_dimensions(node, axis)
    shape = [(d in axes, n) for d, n in enumerate(node.shape)]
    return tuple(1 if gone else n for gone, n in shape if kept(keepdims) or not gone)


def _median_rule(function: Callable[..., Any]) -> Rule:
    name = function.__name__

    def rule(
        a: object,
        axis: AxisOption = None,
        out: object = None,
        overwrite_input: bool = False,
        keepdims: object = False,
    ) -> Node:
        only_defaults(name, out=out, overwrite_input=overwrite_input or None)
        node = array_node(a, name)
        shape = tuple(map(dim, _reduced_shape(node, axis, keepdims)))
        options = (("axis", _static(axis)), ("keepdims", kept(keepdims)))
        call = ArrayCall(name, function, (node,), options, additions=_linear_cost)
        return call.result(shape, call.dtypes()[0])

    return rule


def _static(axis: AxisOption) -> Any:
    return tuple(axis) if isinstance(axis, Sequence) else axis


def _quantile_rule(function: Callable[..., Any]) -> Rule:
    name = function.__name__

    def rule(
        a: object,
        q: Any,
        axis: AxisOption = None,
        out: object = None,
        overwrite_input: bool = False,
        method: str = "linear",
        keepdims: object = False,
        **options: Any,
    ) -> Node:
        only_defaults(name, out=out, overwrite_input=overwrite_input or None, **options)
        node = array_node(a, name)
        shape = tuple(map(dim, _reduced_shape(node, axis, keepdims)))
        given = [("axis", _static(axis)), ("method", method), ("keepdims", kept(keepdims))]
        if isinstance(q, int | float | np.generic):
            called: tuple[Any, ...] = function, (node,), (("q", q), *given)
        else:
            parts = array_node(q, name)
            shape = (*parts.shape, *shape)
            called = WithNamedArrays(function, ("q",)), (node, parts), tuple(given)
        call: ArrayCall = ArrayCall(name, *called).replace(additions=_linear_cost, may_raise=True)
        return call.result(shape, call.dtypes()[0])

    return rule


def _bins(
    name: str, a: object, bins: Any, bounds: Any, weights: object
) -> tuple[tuple[Node, ...], tuple[str, ...], list[tuple[str, Any]], Dim | None]:
    """A histogram's operands, the names of all but the first, options, and the number of bins."""
    operands, names = [array_node(a, name)], []
    options: list[tuple[str, Any]] = []
    count: Dim | None = None
    if isinstance(bins, str):
        options.append(("bins", bins))
    elif isinstance(bins, Node | np.ndarray | Sequence):
        operands.append(array_node(bins, name))
        names.append("bins")
        if len(operands[1].shape) != 1:
            raise ValueError("`bins` must be 1d, when an array")
        count = operands[1].shape[0] - 1
    else:
        options.append(("bins", operator.index(bins)))
        count = dim(operator.index(bins))
    if bounds is not None:
        low, high = bounds
        if isinstance(low, Node) or isinstance(high, Node):
            raise refuse(name, "range", low if isinstance(low, Node) else high)
        options.append(("range", (low, high)))
    if weights is not None:
        operands.append(array_node(weights, name))
        names.append("weights")
    return tuple(operands), tuple(names), options, count


def _histogram(
    a: object,
    bins: Any = 10,
    range: Any = None,
    density: bool | None = None,
    weights: object = None,
) -> tuple[Node, ...]:
    operands, names, options, count = _bins("histogram", a, bins, range, weights)
    options += [("density", True)] if density else []
    function = WithNamedArrays(np.histogram, names) if names else np.histogram
    call = ArrayCall("histogram", function, operands, tuple(options), _linear_cost, may_raise=True)
    dtypes = call.dtypes(2)
    length = call.length(0) if count is None else count
    return call.result((length,), dtypes[0], 0), call.result((length + 1,), dtypes[1], 1)


def _histogram_bin_edges(
    a: object, bins: Any = 10, range: Any = None, weights: object = None
) -> Node:
    operands, names, options, count = _bins("histogram_bin_edges", a, bins, range, weights)
    function = WithNamedArrays(np.histogram_bin_edges, names) if names else np.histogram_bin_edges
    name = "histogram_bin_edges"
    call = ArrayCall(name, function, operands, tuple(options), _linear_cost, may_raise=True)
    length = call.length() if count is None else count + 1
    return call.result((length,), call.dtypes(2)[0])


def _interp(
    x: object, xp: object, fp: object, left: Any = None, right: Any = None, period: Any = None
) -> Node:
    operands = tuple(array_node(one, "interp") for one in (x, xp, fp))
    options = []
    for name, value in (("left", left), ("right", right), ("period", period)):
        if isinstance(value, Scalar):
            value = value.value.item()
        if isinstance(value, Node):
            raise refuse("interp", name, value)
        options += [] if value is None else [(name, value)]
    given = operands, tuple(options)
    call = ArrayCall("interp", np.interp, *given, additions=_linear_cost, may_raise=True)
    return call.result(operands[0].shape, call.dtypes()[0])


METHODS: Final[dict[str, Rule]] = {
    "argpartition": _partition_rule(np.argpartition),
    "searchsorted": _searchsorted,
}


_ADD: Final = PRIMITIVES["add"]


def _bincount(x: object, weights: object = None, minlength: Any = 0) -> Node:
    node = array_node(x, "bincount")
    if len(node.shape) != 1:
        deep = "too deep" if node.shape else "of too small depth"
        raise ValueError(f"object {deep} for desired array")
    if not (is_bool(node.dtype) or is_integer(node.dtype)):
        raise not_integers_error(f"bincount({describe_type(node)})", "elements")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    at = stored(cast(node, INT))
    end = may_fail(note(Op(INT, END, None, (at,), (identity(1),), at.shape, 0)))
    count = builder.elementwise(
        PRIMITIVES["maximum"], end, cast(builder.as_node(minlength, "bincount"), INT)
    )
    length = data_dependent_length(current_scope(), count)
    values = _values(weights, node)
    source = identity(len(values.shape))
    start = Scalar(values.dtype, values.dtype.type(0), False)
    zeros = builder.elementwise(COPY, builder.broadcast_to(start, (length,)))
    positions = [(at, identity(1))]
    parts = (iterator(1),), values, source, at.shape, positions, [length]
    counts = update(zeros, *parts, combine=_ADD)
    return note(counts)


def _values(weights: object, node: Node) -> Node:
    """The number that each element adds to the count of its bin."""
    if weights is None:
        return Scalar(INT, INT.type(1), False)
    given = array_node(weights, "bincount")
    if not np.can_cast(given.dtype, FLOAT):
        raise TypeError(
            f"Cannot cast array data from {given.dtype!r} to {FLOAT!r} according to the rule 'safe'"
        )
    if len(given.shape) != 1 or not assumed_equal(given.shape[0], node.shape[0]):
        raise ValueError("The weights and list don't have the same length.")
    # Without elements NumPy returns integer zeros, whatever the weights.
    return cast(given, INT if node.shape[0] == 0 else FLOAT)


def _sort_cost(shapes: Shapes, labels: Labels) -> Dim:
    sizes = [product(shape) for shape in shapes]
    return sum(sizes[1:], sizes[0]) * 30


def _call(function: Callable[..., Any], *operands: Node, **options: Any) -> ArrayCall:
    given = tuple(options.items())
    return ArrayCall(function.__name__, function, operands, given, additions=_sort_cost)


def _unique(
    ar: object,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    axis: int | None = None,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Node | tuple[Node, ...]:
    node = array_node(ar, "unique")
    asked = {
        "return_index": bool(return_index),
        "return_inverse": bool(return_inverse),
        "return_counts": bool(return_counts),
    }
    options: dict[str, Any] = {name: True for name, value in asked.items() if value}
    options |= {} if equal_nan else {"equal_nan": False}
    options |= {} if sorted else {"sorted": False}
    if axis is not None:
        axis = options["axis"] = normalize_axis_index(operator.index(axis), len(node.shape))
    call = _call(np.unique, node, **options)
    several = any(asked.values())
    length = call.length(0 if several else None, axis or 0)
    shape = (length,) if axis is None else _with_length(node.shape, axis, length)
    if not several:
        return call.result(shape, call.dtypes()[0])
    flat = axis is None or len(node.shape) == 1
    inverse = node.shape if flat else (node.shape[axis or 0],)
    kept = zip(asked.values(), ((length,), inverse, (length,)), strict=True)
    found: tuple[Node, ...] = call.results(shape, *(one for wanted, one in kept if wanted))
    return found


def _with_length(shape: tuple[Dim, ...], axis: int, length: Dim) -> tuple[Dim, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


def _unique_all(x: object) -> tuple[Node, ...]:
    node = array_node(x, "unique_all")
    call = _call(np.unique_all, node)
    length = (call.length(0),)
    return as_named_tuple(UniqueAllResult, *call.results(length, length, node.shape, length))


def _unique_counts(x: object) -> tuple[Node, ...]:
    call = _call(np.unique_counts, array_node(x, "unique_counts"))
    length = (call.length(0),)
    return as_named_tuple(UniqueCountsResult, *call.results(length, length))


def _unique_inverse(x: object) -> tuple[Node, ...]:
    node = array_node(x, "unique_inverse")
    call = _call(np.unique_inverse, node)
    return as_named_tuple(UniqueInverseResult, *call.results((call.length(0),), node.shape))


def _only_result(call: ArrayCall) -> Node:
    """The only result of a call, a vector with a data-dependent length."""
    return call.result((call.length(),), call.dtypes()[0])


def _unique_values(x: object) -> Node:
    return _only_result(_call(np.unique_values, array_node(x, "unique_values")))


def _union1d(ar1: object, ar2: object) -> Node:
    return _only_result(_call(np.union1d, array_node(ar1, "union1d"), array_node(ar2, "union1d")))


def _set_rule(function: Callable[..., Any]) -> Rule:
    name = function.__name__

    def rule(ar1: object, ar2: object, assume_unique: bool = False) -> Node:
        operands = array_node(ar1, name), array_node(ar2, name)
        return _only_result(_call(function, *operands, assume_unique=bool(assume_unique)))

    return rule


def _intersect1d(
    ar1: object, ar2: object, assume_unique: bool = False, return_indices: bool = False
) -> Node | tuple[Node, ...]:
    operands = array_node(ar1, "intersect1d"), array_node(ar2, "intersect1d")
    if not return_indices:
        return _only_result(_call(np.intersect1d, *operands, assume_unique=bool(assume_unique)))
    options = {"assume_unique": bool(assume_unique), "return_indices": True}
    call = _call(np.intersect1d, *operands, **options)
    length = (call.length(0),)
    return call.results(length, length, length)


def _isin(
    element: object,
    test_elements: object,
    assume_unique: bool = False,
    invert: bool = False,
    *,
    kind: str | None = None,
) -> Node:
    operands = array_node(element, "isin"), array_node(test_elements, "isin")
    options = {"assume_unique": bool(assume_unique), "invert": bool(invert), "kind": kind}
    call = _call(np.isin, *operands, **options)
    return call.result(operands[0].shape, call.dtypes()[0])


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.partition: _partition_rule(np.partition),
    np.argpartition: METHODS["argpartition"],
    np.lexsort: _lexsort,
    np.searchsorted: _searchsorted,
    np.digitize: _digitize,
    np.median: _median_rule(np.median),
    np.nanmedian: _median_rule(np.nanmedian),
    np.percentile: _quantile_rule(np.percentile),
    np.quantile: _quantile_rule(np.quantile),
    np.nanpercentile: _quantile_rule(np.nanpercentile),
    np.nanquantile: _quantile_rule(np.nanquantile),
    np.histogram: _histogram,
    np.histogram_bin_edges: _histogram_bin_edges,
    np.interp: _interp,
    np.bincount: _bincount,
    np.unique: _unique,
    np.unique_all: _unique_all,
    np.unique_counts: _unique_counts,
    np.unique_inverse: _unique_inverse,
    np.unique_values: _unique_values,
    np.union1d: _union1d,
    np.intersect1d: _intersect1d,
    np.setdiff1d: _set_rule(np.setdiff1d),
    np.setxor1d: _set_rule(np.setxor1d),
    np.isin: _isin,
}
