"""The functions for loops and branches, such as `fori_loop`, traced as regions.

Only `functions/loop_functions.py` imports this module, when a region is traced.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from axiomjit.base.dtypes import DType
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.graph.builder import broadcast_to, elementwise
from axiomjit.graph.closing import RegionRefused
from axiomjit.graph.nodes import Scalar
from axiomjit.graph.primitives import COPY
from axiomjit.symbolic.dims import dim
from axiomjit.tracing.control_flow import trace_cond, trace_loop, undone_if_refused
from axiomjit.tracing.lengths import unwrap
from axiomjit.tracing.region_bodies import UNBOUND, followed
from axiomjit.tracing.tracer import new_array


def fori(lower: Any, upper: Any, body: Callable[..., Any], init: Any) -> Any:
    """The value after the loop of `fori_loop`; raises the errors of `trace_loop`."""
    parts, structure = flatten_tree(init)

    def trip(index: Any, *values: Any) -> list[Any]:
        return _parts_of(body(index, unflatten_tree(structure, iter(values))), structure)

    found = trace_loop((lower, upper, 1), trip, parts)
    return unflatten_tree(structure, iter(found[1:]))


def repeated(asked: Callable[..., Any], body: Callable[..., Any], init: Any) -> Any:
    """The value after the loop of `while_loop`; raises the errors of `trace_loop`."""
    parts, structure = flatten_tree(init)

    def whole(values: Sequence[Any]) -> Any:
        return unflatten_tree(structure, iter(values))

    found = trace_loop(
        None,
        lambda _, *values: _parts_of(body(whole(values)), structure),
        parts,
        condition=lambda *values: asked(whole(values)),
    )
    return whole(found[1:])


def branched(
    truth: Any, then: Callable[..., Any], otherwise: Callable[..., Any], operands: Sequence[Any]
) -> Any:
    """The value after the branch of `cond`; raises the errors of `trace_cond`."""
    with undone_if_refused() as (following, _), followed(following, {}):
        parts, structure = flatten_tree(then(*operands))

    def side(function: Callable[..., Any]) -> Callable[..., list[Any]]:
        return lambda *_: _parts_of(function(*operands), structure)

    found = trace_cond(truth, side(then), side(otherwise), (UNBOUND,) * len(parts))
    return unflatten_tree(structure, iter(found))


def _parts_of(value: Any, structure: Structure) -> list[Any]:
    """The numbers and arrays in a value, which must have this structure."""
    parts, found = flatten_tree(value)
    if found != structure:
        raise RegionRefused("a value whose structure changes")
    return list(parts)


def zeros(shape: Sequence[Any], dtype: DType) -> Any:
    """A traced array of zeros."""
    node = Scalar(dtype, dtype.type(0), False)
    lengths = tuple(dim(unwrap(n)) for n in shape)
    return new_array(elementwise(COPY, broadcast_to(node, lengths)))
