"""The adjoints of operations that move elements: joins, gathers, writes and scatters."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from axiomjit.base.dtypes import INT
from axiomjit.gradients.cotangents import Cotangent, Place
from axiomjit.gradients.rules import Refused
from axiomjit.gradients.transposes import ADD, copied, owned, zeros
from axiomjit.graph import builder
from axiomjit.graph.indexing_ops import gather
from axiomjit.graph.nodes import Node, Op, Scalar, Update
from axiomjit.graph.primitives import COPY, PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.storages import update
from axiomjit.symbolic.dims import in_body, product
from axiomjit.symbolic.index_maps import identity, is_identity, shift

Contributions = dict[int, Cotangent]
"""The cotangents of operands, by the number of the operand."""
Wanted = frozenset[int]
"""The numbers of operands that have a path to an argument."""


def of_join(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of each operand of a join: the part of `g` that the operand fills."""
    found = {}
    for k in wanted:
        lows = [low for low, _ in op.regions[k]]
        extents = tuple(high - low for low, high in op.regions[k])
        window = shift(identity(len(extents)), lows)
        here = g.seen(partial(builder.view, index=window, extents=extents))
        found[k] = here.through(shift(op.maps[k], lows), extents, op.operands[k].shape)
    return found


def of_gather(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of a gathered array: each element of `g` is added where it was gathered."""
    values, *nodes = op.operands
    positions = list(zip(nodes, op.maps[1:], strict=True))
    extents, lengths = op.extents[: op.rank], op.extents[op.rank :]
    value = g.settled()
    if in_body():
        place = Place(op.maps[0], extents, values.shape, tuple(positions), lengths)
        return {0: Cotangent(value, place=place)}
    into = copied(zeros(values.dtype, values.shape))
    made = update(
        into, op.maps[0], value, identity(op.rank), extents, positions, lengths, combine=ADD
    )
    return {0: Cotangent(made)}


def of_update(op: Op, g: Cotangent, wanted: Wanted) -> Contributions | Refused:
    """The cotangents of a write's operands: the elements of `g` that are written go to the value.

    The other elements of `g` go to the version of the storage before the write. A scatter that
    combines elements has the rule of `SCATTERS`.
    """
    assert isinstance(op, Update)
    if op.combine is not None:
        rule = SCATTERS.get(op.combine.name)
        if rule is None:
            return Refused(f"a scatter that combines elements by {op.combine.name}")
        return rule(op, g.settled(), wanted)
    return _overwritten(op, g.settled(), wanted)


def _at(op: Op, node: Node) -> Node:
    """The elements of a node, which has the shape of the storage, at the points of a write."""
    positions = list(zip(op.operands[2:], op.maps[2:], strict=True))
    extents, lengths = op.extents[: op.rank], op.extents[op.rank :]
    if not positions:
        return builder.view(node, op.maps[0], extents)
    return gather(node, op.maps[0], positions, extents, lengths)


def _written(op: Op, old: Node, value: Node, combine: bool = False) -> Node:
    """The storage `old` with a value written, or added, at the points of a write."""
    positions = list(zip(op.operands[2:], op.maps[2:], strict=True))
    extents, lengths = op.extents[: op.rank], op.extents[op.rank :]
    source = identity(op.rank)
    how = ADD if combine else None
    return update(
        owned(old),
        op.maps[0],
        value,
        source,
        extents,
        positions,
        lengths,
        combine=how,
    )


def _of_value(op: Op, value: Node) -> Cotangent:
    """The cotangent of the written operand, given a cotangent at each point of the write."""
    extents = op.extents[: op.rank]
    return Cotangent(value).through(op.maps[1], extents, op.operands[1].shape)


def _overwritten(op: Op, g: Node, wanted: Wanted) -> Contributions:
    found: Contributions = {}
    extents = op.extents[: op.rank]
    if 0 in wanted and not _is_whole(op):
        zero = builder.view(Scalar(g.dtype, g.dtype.type(0), False), (), extents)
        found[0] = Cotangent(_written(op, g, zero))
    if 1 in wanted:
        there = _at(op, g)
        if len(op.operands) > 2 and extents:  # the last value at a position remains
            number = positions_along(extents, range(op.rank))
            count = builder.as_node(product(extents), "a gradient")
            none = builder.broadcast_to(builder.cast(builder.strong(count), INT), g.shape)
            last = _at(op, _written(op, copied(none), number))
            stays = builder.elementwise(PRIMITIVES["equal"], last, number)
            there = builder.elementwise(WHERE, stays, there, zeros(g.dtype, extents))
        found[1] = _of_value(op, there)
    return found


def _is_whole(op: Op) -> bool:
    """True if a write replaces all elements."""
    assert isinstance(op, Update)
    return len(op.operands) == 2 and is_identity(op.maps[0], op.extents, op.whole)


def _added(op: Op, g: Node, wanted: Wanted) -> Contributions:
    found: Contributions = {}
    if 0 in wanted:
        found[0] = Cotangent(g)
    if 1 in wanted:
        found[1] = _of_value(op, _at(op, g))
    return found


def _subtracted(op: Op, g: Node, wanted: Wanted) -> Contributions:
    found = _added(op, g, wanted)
    if 1 in found:
        value = builder.elementwise(PRIMITIVES["negative"], _at(op, g))
        found[1] = _of_value(op, value)
    return found


def _extreme(op: Op, g: Node, wanted: Wanted) -> Contributions:
    """The cotangents of a scatter by maximum or minimum: equal shares of `g` for all ties.

    The old element of the storage is one of the ties if the old element is equal to the result.
    """
    equal = PRIMITIVES["equal"]
    old, given = op.operands[:2]
    extents = op.extents[: op.rank]
    value = builder.view(given, op.maps[1], extents)
    stays = builder.elementwise(equal, old, op)
    wins = builder.elementwise(equal, value, _at(op, op))
    one = builder.cast(wins, g.dtype)
    count = _written(op, builder.elementwise(COPY, builder.cast(stays, g.dtype)), one, True)
    share = builder.elementwise(PRIMITIVES["divide"], g, count)
    zero = Scalar(g.dtype, g.dtype.type(0), False)
    found: Contributions = {}
    if 0 in wanted:
        found[0] = Cotangent(builder.elementwise(WHERE, stays, share, zero))
    if 1 in wanted:
        found[1] = _of_value(op, builder.elementwise(WHERE, wins, _at(op, share), zero))
    return found


SCATTERS: Final[Mapping[str, Callable[[Op, Node, Wanted], Contributions]]] = {
    "add": _added,
    "subtract": _subtracted,
    "maximum": _extreme,
    "minimum": _extreme,
}
"""The adjoint of each kind of scatter, by the name of the primitive that combines elements."""
