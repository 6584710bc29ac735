"""Calls of NumPy's ufuncs and functions with traced arrays: by rules, or as external calls.

The module `external_calls` handles the external calls; the first such call imports it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import BOOL, is_bool
from axiomjit.base.errors import (
    AxiomError,
    GraphTypeError,
    NeedsValuesError,
    TraceError,
    UnfollowedError,
    UnsupportedError,
)
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current, refused
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node, describe_call
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.graph.shape_ops import insert_dimensions
from axiomjit.numpy_rules.creation import FUNCTIONS as NEW
from axiomjit.numpy_rules.elementwise import UFUNCS, axis_last
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.options import array_node, refuse
from axiomjit.numpy_rules.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.tracing.operators import node_of, traced_in
from axiomjit.tracing.refusals import unsupported
from axiomjit.tracing.writes import store_result, ufunc_at

Function = Callable[..., Any]
Represented = Callable[[Node, bool], Any]
"""A function from a node to the object that represents the node, an array or a number."""

MISFITS: Final = (TypeError, AttributeError, KeyError, AssertionError)
"""The errors that NumPy rules raise for arguments of kinds that the rules do not accept."""
OUTSIDE: Final = frozenset(
    {
        *(np.save, np.savez, np.savez_compressed, np.savetxt),
        *(np.array2string, np.array_repr, np.array_str),
        *(np.shares_memory, np.may_share_memory, np.einsum_path),
        *(np.ndarray.setflags, np.ndarray.resize, np.ndarray.setfield, np.ndarray.view),
    }
)
"""Functions that write files, make text, depend on memory addresses, or change an array's type."""


def may_be_external(function: Function) -> bool:
    """True if a function may be an external call of the traced function."""
    following = current()
    known = following is not None and following.arguments is not None
    return known and config.fallback != "error" and function not in OUTSIDE


def misfit(name: str, args: Sequence[Any], error: Exception) -> UnfollowedError:
    """The error for arguments that the rule of a function refuses, though NumPy may take them."""
    made = UnfollowedError(
        describe_call(name, *map(node_of, args)),
        "arguments of kinds that are not compiled",
        "pass arrays and numbers as NumPy documents them, or call it outside the compiled function",
        user_location(),
    )
    made.__context__ = error
    return made


def or_external_call(
    row: Callable[[Sequence[Any], dict[str, Any]], object],
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """The result of a NumPy rule; if the rule refuses, the result of an external call."""
    following = current()
    if following is None or not may_be_external(function):
        try:
            return row(args, kwargs)
        except MISFITS as error:
            if following is None or isinstance(error, AxiomError):
                raise
            raise refused(misfit(name, args, error)) from None
    before = following.refusal
    try:
        return row(args, dict(kwargs))
    except UnsupportedError as error:
        refusal: TraceError = error.with_traceback(None)
        not_a_step: tuple[type[TraceError], ...] = (UnsupportedError,)
    except MISFITS as error:
        if isinstance(error, AxiomError):
            raise
        refusal = misfit(name, args, error)
        not_a_step = (UnsupportedError, NeedsValuesError)
    following.refusal = before
    try:
        return call_externally(function, name, args, dict(kwargs), represented)
    except not_a_step:
        following.refusal = before or refusal
        raise refusal from None


def call_externally(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """Call a function externally, with `external_calls`, which the first call imports."""
    made: object = lazy_import("axiomjit.tracing.external_calls").call_externally(
        function, name, args, kwargs, represented
    )
    return made


LOOPS: Final = ("dtype", "signature", "sig", "casting")
"""Options that choose the inner loop of a ufunc, which decides the dtypes."""
OF_CORES: Final = frozenset({"axes", "keepdims"})
"""Options of `matmul` and similar ufuncs that no rule supports: NumPy computes such a call."""
NAMES: Final = {"sig": "signature"}


def called_ufunc(
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[object],
    out: tuple[Any, ...],
    options: dict[str, Any],
    represented: Represented,
) -> object:
    """The result of a ufunc, or of its method `outer` or `at`; written into `out` if given.

    Raises:
        UnsupportedError: neither a rule nor NumPy computes the ufunc with these options.
    """
    if method == "at":
        at = partial(_at, ufunc)
        name = f"{ufunc_calls().ufunc_name(ufunc)}.at"
        return or_external_call(at, ufunc.at, name, inputs, {}, represented)
    nodes = [node_of(value) for value in inputs]
    name = ufunc.__name__
    outer = method == "outer"
    if outer and ufunc.nin == len(nodes) == 2:
        left, right = (builder.strong(builder.as_node(n, "outer")) for n in nodes)
        rank, more = len(left.shape), len(right.shape)
        nodes = [insert_dimensions(left, range(rank, rank + more)), right]
    odd = outer and (ufunc.nin != 2 or ufunc.signature is not None)
    if odd or (ufunc not in UFUNCS and config.fallback == "error"):
        suffix = "" if method == "__call__" else f".{method}"
        raise unsupported(f"numpy.{name}{suffix}", nodes)
    if ufunc.signature is not None and (ufunc not in UFUNCS or options.keys() & OF_CORES):
        options |= {"out": out[0]} if out else {}
        name = ufunc_calls().ufunc_name(ufunc)
        return call_externally(ufunc, name, inputs, options, represented)
    mask = options.pop("where", True)
    if ufunc is np.vecdot:
        axis = options.pop("axis", -1)
        nodes = [axis_last(array_node(n, name), axis) for n in nodes]
    given = {key: options.pop(key, None) for key in LOOPS}
    loop = {NAMES.get(key, key): value for key, value in given.items() if value is not None}
    if traced_in(list(loop.values())):
        raise TypeError("Cannot construct a dtype from an array")
    _refuse_options(name, options)
    where = None if mask is True else _mask(mask, name)
    try:
        made = _results(ufunc, [builder.as_node(n, name) for n in nodes], loop)
    except UnsupportedError:
        plain = not out and mask is True and not outer
        if not plain or ufunc not in UFUNCS or not may_be_external(ufunc):
            raise
        name = ufunc_calls().ufunc_name(ufunc)
        return call_externally(ufunc, name, inputs, loop, represented)
    results = [builder.strong(n) for n in (made if isinstance(made, tuple) else (made,))]
    places = [*out, *[None] * (len(results) - len(out))]
    found = [
        represented(_stretched(node, where, name), False)
        if place is None
        else store_result(place, node, name, where, loop.get("casting", "same_kind"))
        for node, place in zip(results, places, strict=True)
    ]
    return tuple(found) if isinstance(made, tuple) else found[0]


def _refuse_options(name: str, options: dict[str, Any]) -> None:
    """Refuse the options of a ufunc, except options that do not change the result."""
    for option, value in options.items():
        if option != "subok" and not (option == "order" and value in (None, "K")):
            raise refuse(name, option, value)


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> None:
    ufunc_at(ufunc, *inputs)


def ufunc_calls() -> Any:
    """The module of ufunc calls that NumPy runs, imported on first use."""
    return lazy_import("axiomjit.graph.external_calls")


def _results(
    ufunc: np.ufunc, nodes: Sequence[Node], loop: dict[str, Any]
) -> Node | tuple[Node, ...]:
    if ufunc not in UFUNCS:
        steps: tuple[Node, ...] = ufunc_calls().ufunc_step(ufunc, nodes, **loop)
        return steps if ufunc.nout > 1 else steps[0]
    if not loop:
        return UFUNCS[ufunc](*nodes)
    *inputs, result = ufunc_calls().loop_with(ufunc, nodes, **loop)
    made = UFUNCS[ufunc](*(builder.cast(n, dtype) for n, dtype in zip(nodes, inputs, strict=False)))
    if isinstance(made, tuple) or made.dtype != result:
        raise refuse(ufunc.__name__, *next(iter(loop.items())))
    return made


def _mask(value: object, name: str) -> Node:
    mask = builder.as_node(node_of(value), "where")
    if not is_bool(mask.dtype):
        raise GraphTypeError(
            f"{name}(..., where=...)",
            f"elements of dtype {mask.dtype}",
            "give an array of bools, for example mask != 0",
            user_location(),
        )
    return mask


def _stretched(node: Node, where: Node | None, name: str) -> Node:
    """The result, broadcast to the shape of the mask; elements with a false mask are undefined."""
    if where is None:
        return node
    shape = builder.broadcast_shapes([node.shape, where.shape], name, node, where)
    if shape == node.shape:
        return node
    return builder.elementwise(COPY, builder.broadcast_to(node, shape))


def piecewise(
    represented: Callable[[Node, bool], Any],
    x: Any,
    condlist: Any,
    funclist: Any,
    *args: Any,
    **kw: Any,
) -> Any:
    """The result of `np.piecewise`; each condition has a number, or a function of the elements.

    Raises:
        ValueError: there are too few or too many functions.
    """
    node = array_node(node_of(x), "piecewise")
    given, values = represented(node, True), represented(NEW[np.zeros_like](node), True)
    conditions = _conditions(condlist, node, len(funclist))
    for condition, function in zip(conditions, funclist, strict=True):
        mask = represented(condition, True)
        value = function
        if callable(function):
            value = function(given[mask] if node.shape else given.reshape(1), *args, **kw)
        if node.shape:
            values[mask] = value
        else:  # one bool cannot select elements
            np.copyto(values, np.reshape(value, ()), casting="unsafe", where=mask)
    return values


def _conditions(condlist: Any, node: Node, count: int) -> list[Node]:
    """The mask of each function; a function without a condition gets all other elements."""
    first = None if np.isscalar(condlist) else condlist[0]
    if first is None or (not isinstance(first, list | np.ndarray) and node.shape):
        condlist = [condlist]
    every = cast(array_node(node_of(condlist), "piecewise"), BOOL)
    found = [index_node(every, k) for k in range(int(every.shape[0]))]
    if len(found) == count - 1:
        some = REDUCTIONS[np.any](every, 0)
        return [*found, builder.elementwise(PRIMITIVES["logical_not"], some)]
    if len(found) != count:
        raise ValueError(
            f"with {len(found)} condition(s), either {len(found)} or {len(found) + 1} functions "
            "are expected"
        )
    return found
