"""The rules of functions that need entire arrays: scans, sorting, argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import DType, is_bool, is_inexact, wanted_dtype
from axiomjit.base.origins import user_location
from axiomjit.graph import builder, external_calls
from axiomjit.graph.builder import cast
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.library_operations import (
    ARGSORT,
    SORT,
    LibraryOperation,
)
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import MAX, MIN, PRIMITIVES, PROD, SUM, WHERE, UfuncFold
from axiomjit.graph.reductions import choose_position, positions_along, running_fold
from axiomjit.graph.shape_ops import flat, insert_dimensions, merge, padded
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, reduced_dimensions, refuse
from axiomjit.numpy_rules.shapes import at_least_1d
from axiomjit.symbolic.dims import dim

OneAxis = int | None


def flat_along(node: Node, axis: OneAxis) -> tuple[Node, int]:
    """The array and the number of a dimension; the array is flattened if `axis` is None."""
    if axis is None or not node.shape:
        return flat(node), 0 if axis is None else normalize_axis_index(axis, 1)
    return node, normalize_axis_index(axis, len(node.shape))


def _running_rule(name: str, fold: UfuncFold) -> Rule:
    def rule(a: object, axis: OneAxis = None, dtype: Any = None, out: object = None) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        if axis is None:
            node, along = merge(node, (len(node.shape),)), 0
        else:
            node, along = flat_along(node, axis)
        wanted = fold.result_dtype(node.dtype)
        if dtype is not None:
            wanted = wanted_dtype(np.dtype(dtype), f"{name}(dtype={dtype})", user_location())
        if is_bool(wanted):
            raise refuse(name, "dtype", dtype)
        return running_fold(fold, node, wanted, (along,))

    return rule


def _scanned_in(name: str, fold: UfuncFold, node: Node, dtype: Any) -> DType:
    """The dtype in which the `accumulate` of a ufunc scans an array."""
    wanted = fold.result_dtype(node.dtype)
    if dtype is not None:
        wanted = wanted_dtype(np.dtype(dtype), f"{name}(dtype={dtype})", user_location())
    if (is_bool(wanted) and fold in (SUM, PROD)) or fold.result_dtype(wanted) != wanted:
        raise refuse(name, "dtype", dtype)
    return wanted


def _accumulate_rule(name: str, fold: UfuncFold) -> Rule:
    """The rule of the `accumulate` of a ufunc."""

    def rule(a: object, axis: int = 0, dtype: Any = None, out: object = None) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        along = normalize_axis_index(axis, len(node.shape))
        return running_fold(fold, node, _scanned_in(name, fold, node, dtype), (along,))

    return rule


def _sort_rule(name: str, operation: LibraryOperation) -> Rule:
    def rule(
        a: object, axis: OneAxis = -1, kind: object = None, order: object = None, **options: Any
    ) -> Node:
        stable = options.pop("stable", None)
        only_defaults(name, order=order, **options)
        node = array_node(a, name)
        if operation is SORT and axis is not None:
            normalize_axis_index(axis, len(node.shape))
        node, along = flat_along(node, axis)
        if kind not in (None, "quicksort") or stable is not None:
            given = (("axis", along), ("kind", kind), ("stable", stable))
            call = ArrayCall(name, getattr(np, name), (node,), given)
            return call.result(node.shape, call.dtypes()[0])
        return external_calls.sorted_along(operation, node, along)

    return rule


def _choice_rule(name: str, extreme: UfuncFold) -> Rule:
    def rule(
        a: object, axis: OneAxis = None, out: object = None, *, keepdims: object = False
    ) -> Node:
        only_defaults(name, out=out)
        if keepdims not in (False, True):
            raise refuse(name, "keepdims", keepdims)
        node = array_node(a, name)
        if axis is not None and node.shape:
            axis = normalize_axis_index(axis, len(node.shape))
        axes = reduced_dimensions(node, axis)
        if any(node.shape[d] == 0 for d in axes):
            raise ValueError(f"attempt to get {name} of an empty sequence")
        found = choose_position(extreme, node, axes)
        return insert_dimensions(found, axes) if keepdims else found

    return rule


def _cumulative_rule(name: str, fold: UfuncFold) -> Rule:
    """The rule of `cumulative_sum` or `cumulative_prod`."""

    def rule(
        x: object,
        /,
        *,
        axis: OneAxis = None,
        dtype: Any = None,
        out: object = None,
        include_initial: bool = False,
    ) -> Node:
        only_defaults(name, out=out)
        node = at_least_1d(array_node(x, name))
        if axis is None and len(node.shape) > 1:
            raise ValueError(
                "For arrays which have more than one dimension ``axis`` argument is required."
            )
        along = normalize_axis_index(0 if axis is None else axis, len(node.shape))
        wanted = _scanned_in(name, fold, node, dtype)
        if include_initial:
            return _from_identity(fold, cast(node, wanted), along)
        return running_fold(fold, node, wanted, (along,))

    return rule


def _from_identity(fold: UfuncFold, node: Node, axis: int) -> Node:
    """The array of the identity of the fold, followed by the partial reductions along a dimension.

    The identity is the first element of the scan, so that one loop computes everything. A sum
    starts at -0.0, which preserves the sign of zeros; the identity then replaces the -0.0.
    """
    dtype = node.dtype
    start, identity = (
        Scalar(dtype, dtype.type(value), False)
        for value in (fold.replace(running=True).initial(dtype), fold.reduce.identity)
    )
    found = running_fold(fold, padded(node, axis, (dim(1), dim(0)), start), dtype, (axis,))
    if fold is not SUM or not is_inexact(dtype):
        return found
    place = positions_along(found.shape, (axis,))
    first = builder.elementwise(PRIMITIVES["equal"], place, builder.as_node(0, "cumulative_sum"))
    return builder.elementwise(WHERE, first, identity, found)


_cumsum = _running_rule("cumsum", SUM)
_cumprod = _running_rule("cumprod", PROD)
_argmax = _choice_rule("argmax", MAX)
_argmin = _choice_rule("argmin", MIN)
_argsort = _sort_rule("argsort", ARGSORT)
FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.cumsum: _cumsum,
    np.cumprod: _cumprod,
    np.cumulative_sum: _cumulative_rule("cumulative_sum", SUM),
    np.cumulative_prod: _cumulative_rule("cumulative_prod", PROD),
    np.sort: _sort_rule("sort", SORT),
    np.argsort: _argsort,
    np.argmax: _argmax,
    np.argmin: _argmin,
}
SCANS: Final[dict[np.ufunc, Rule]] = {
    fold.reduce: _accumulate_rule(f"{fold.reduce.__name__}.accumulate", fold)
    for fold in (SUM, PROD, MAX, MIN)
}
"""For each ufunc, the rule of its `accumulate`."""
METHODS: Final[dict[str, Rule]] = {
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    "argsort": _argsort,
    "argmax": _argmax,
    "argmin": _argmin,
}
