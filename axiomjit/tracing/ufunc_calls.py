"""Calls of ufuncs with traced arrays: by their rows of the table, else as steps that NumPy runs."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.dtypes import is_bool
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import COPY
from axiomjit.graph.shape_ops import insert_dimensions
from axiomjit.numpy_table.elementwise import UFUNCS
from axiomjit.numpy_table.options import refuse
from axiomjit.tracing.operands import node_of, traced_in
from axiomjit.tracing.refusals import unsupported
from axiomjit.tracing.steps import Represented, called_opaquely, is_step, or_opaquely
from axiomjit.tracing.writes import store_result

LOOPS: Final = ("dtype", "signature", "sig", "casting")
"""Options that choose the loop."""
NAMES: Final = {"sig": "signature"}


def called_ufunc(
    ufunc: np.ufunc,
    method: str,
    inputs: Sequence[object],
    out: tuple[Any, ...],
    options: dict[str, Any],
    represented: Represented,
) -> object:
    """What a call of a ufunc, of its `outer` or its `at`, gives; in `out` where that is given.

    Raises:
        UnsupportedError: neither a loop of ours nor NumPy's computes it with these options.
    """
    if method == "at":
        at = partial(_at, ufunc)
        name = f"{steps_of_ufuncs().ufunc_name(ufunc)}.at"
        return or_opaquely(at, ufunc.at, name, inputs, {}, represented)
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
    if ufunc not in UFUNCS and ufunc.signature is not None:
        options |= {"out": out[0]} if out else {}
        name = steps_of_ufuncs().ufunc_name(ufunc)
        return called_opaquely(ufunc, name, inputs, options, represented)
    mask = options.pop("where", True)
    given = {key: options.pop(key, None) for key in LOOPS}
    loop = {NAMES.get(key, key): value for key, value in given.items() if value is not None}
    if traced_in(list(loop.values())):
        raise TypeError("Cannot construct a dtype from an array")
    if options.get("order") in (None, "K"):
        options.pop("order", None)
    options.pop("subok", None)
    for option, value in options.items():
        raise refuse(name, option, value)
    where = None if mask is True else _mask(mask, name)
    try:
        made = _results(ufunc, [builder.as_node(n, name) for n in nodes], loop)
    except UnsupportedError:
        plain = not out and mask is True and not outer
        if not plain or ufunc not in UFUNCS or not is_step(ufunc):
            raise
        name = steps_of_ufuncs().ufunc_name(ufunc)
        return called_opaquely(ufunc, name, inputs, loop, represented)
    results = [builder.strong(n) for n in (made if isinstance(made, tuple) else (made,))]
    places = [*out, *[None] * (len(results) - len(out))]
    found = [
        represented(_stretched(node, where, name), False)
        if place is None
        else store_result(place, node, name, where, loop.get("casting", "same_kind"))
        for node, place in zip(results, places, strict=True)
    ]
    return tuple(found) if isinstance(made, tuple) else found[0]


def _at(ufunc: np.ufunc, inputs: Sequence[Any], options: dict[str, Any]) -> None:
    lazy_import("axiomjit.tracing.scattered_writes").ufunc_at(ufunc, *inputs)


def steps_of_ufuncs() -> Any:
    """The module of ufuncs that NumPy runs, with their names and loops; few programs need it."""
    return lazy_import("axiomjit.graph.external_calls")


def _results(
    ufunc: np.ufunc, nodes: Sequence[Node], loop: dict[str, Any]
) -> Node | tuple[Node, ...]:
    if ufunc not in UFUNCS:
        steps: tuple[Node, ...] = steps_of_ufuncs().ufunc_step(ufunc, nodes, **loop)
        return steps if ufunc.nout > 1 else steps[0]
    if not loop:
        return UFUNCS[ufunc](*nodes)
    *inputs, result = steps_of_ufuncs().loop_with(ufunc, nodes, **loop)
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
    """The result, as long as the mask; where that is not true any value is as good as another."""
    if where is None:
        return node
    shape = builder.broadcast_shapes([node.shape, where.shape], name, node, where)
    if shape == node.shape:
        return node
    return builder.elementwise(COPY, builder.broadcast_to(node, shape))
