"""Finds the loops that read a value of a graph."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from axiomjit.graph.nodes import Node, Op, is_view
from axiomjit.graph.primitives import GATHER
from axiomjit.symbolic.index_maps import IndexMap, compose

Readers = dict[tuple[Op, IndexMap], None]
"""Ops, each with the map from a value to the op's iterators."""


def loop_readers(
    node: Node,
    users: Mapping[Node, Sequence[Op]],
    stored: Container[Node],
    known: Mapping[Node, Readers],
) -> Readers:
    """The ops in whose loops a value is read, given the readers of its users.

    These are users that are stored, fold, or gather from the value. Any other user is computed
    inline by its own readers, which then read the value.
    """
    found: Readers = {}
    for user in dict.fromkeys(users[node]):
        if is_view(user):
            continue
        for k, (child, index) in enumerate(zip(user.operands, user.maps, strict=True)):
            if child is not node:
                continue
            gathered = user.primitive is GATHER and k == 0
            if user in stored or user.fold is not None or gathered:
                found[user, index] = None
            else:
                found.update(((op, compose(index, outer)), None) for op, outer in known[user])
    return found
