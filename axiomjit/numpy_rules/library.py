"""NumPy rules that need entire arrays: scans, sorting, argmax and argmin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import is_bool, wanted_dtype
from axiomjit.base.origins import user_location
from axiomjit.graph import external_calls
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.library_operations import (
    ARGSORT,
    SORT,
    LibraryOperation,
)
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import MAX, MIN, PROD, SUM, UfuncFold
from axiomjit.graph.reductions import choose_position, running_fold
from axiomjit.graph.shape_ops import flat, insert_dimensions, merge
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, reduced_dimensions, refuse

OneAxis = int | None


def flat_along(node: Node, axis: OneAxis) -> tuple[Node, int]:
    """The array, and the number of the dimension; flattened if `axis` is None or it has none."""
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


def _accumulate_rule(name: str, fold: UfuncFold) -> Rule:
    """The rule of a ufunc's `accumulate`."""

    def rule(a: object, axis: int = 0, dtype: Any = None, out: object = None) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        along = normalize_axis_index(axis, len(node.shape))
        wanted = fold.result_dtype(node.dtype)
        if dtype is not None:
            wanted = wanted_dtype(np.dtype(dtype), f"{name}(dtype={dtype})", user_location())
        if (is_bool(wanted) and fold in (SUM, PROD)) or fold.result_dtype(wanted) != wanted:
            raise refuse(name, "dtype", dtype)
        return running_fold(fold, node, wanted, (along,))

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
        return external_calls.in_order(operation, node, along)

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


_cumsum = _running_rule("cumsum", SUM)
_cumprod = _running_rule("cumprod", PROD)
_argmax = _choice_rule("argmax", MAX)
_argmin = _choice_rule("argmin", MIN)
_argsort = _sort_rule("argsort", ARGSORT)
FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.cumsum: _cumsum,
    np.cumprod: _cumprod,
    np.sort: _sort_rule("sort", SORT),
    np.argsort: _argsort,
    np.argmax: _argmax,
    np.argmin: _argmin,
}
SCANS: Final[dict[np.ufunc, Rule]] = {
    fold.reduce: _accumulate_rule(f"{fold.reduce.__name__}.accumulate", fold)
    for fold in (SUM, PROD, MAX, MIN)
}
"""The rules of `accumulate`, by ufunc."""
METHODS: Final[dict[str, Rule]] = {
    "cumsum": _cumsum,
    "cumprod": _cumprod,
    "argsort": _argsort,
    "argmax": _argmax,
    "argmin": _argmin,
}
