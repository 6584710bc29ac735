"""The values that a followed function returns: arrays by number, other values as they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Coroutine, Iterator
from typing import NoReturn

from axiomjit.algebra.chosen import chosen_in
from axiomjit.base.errors import TraceError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import Structure, flatten_tree
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, base_of, is_view, size
from axiomjit.graph.primitives import COPY
from axiomjit.tracing.holders import traced_inside
from axiomjit.tracing.lengths import Length, unwrap
from axiomjit.tracing.tracer import Tracer

Leaves = tuple[tuple[int | None, object], ...]


def take_results(returned: object) -> tuple[tuple[Node, ...], Structure, Leaves]:
    """The nodes to compute, the containers around them, and for each leaf its node or value.

    A leaf is the number of a node, or a value (a Dim where it depends on lengths); a length that
    only the running program knows is a node whose value becomes an `int`.

    Raises:
        TraceError: a traced array is of another call, or inside an object that is not opened.
    """
    values, structure = flatten_tree(returned, opens=lambda value: traced_inside(value) is not None)
    outputs: dict[Node, int] = {}
    owners: dict[Node, object] = {}
    leaves: list[tuple[int | None, object]] = []
    for value in values:
        if isinstance(value, Tracer):
            node = _array_of_its_own(value, owners)
            leaves.append((outputs.setdefault(node, len(outputs)), None))
        elif isinstance(value, Length) and chosen_in(value.dim):
            node = builder.elementwise(COPY, size(value.dim))
            leaves.append((outputs.setdefault(node, len(outputs)), int))
        else:
            _check_holds_none(value)
            leaves.append((None, unwrap(value)))
    return tuple(outputs), structure, tuple(leaves)


def _array_of_its_own(value: Tracer, owners: dict[Node, object]) -> Node:
    """The node to return: equal values that were computed twice are two arrays, as in NumPy."""
    node, storage = value.node, value.storage
    if storage is None:
        # A number has no memory that a later write could change.
        return builder.elementwise(COPY, node) if is_view(node) and not node.weak else node
    while owners.setdefault(base_of(node), storage) is not storage:
        storage.copy_values()
        node = storage.current(node)
    return node


def _check_holds_none(value: object) -> None:
    """Refuse to return a traced value inside an object that is not taken apart."""
    if isinstance(value, Length):
        return
    if isinstance(value, Coroutine):
        value.close()  # else Python warns that nobody awaited it
    if isinstance(value, Iterator | Coroutine | AsyncGenerator):
        _refuse(value, "it would compute its values after the call, and only once")
    found = traced_inside(value)
    if isinstance(found, Tracer):
        _refuse(value, f"inside it a traced {found.description()}, known only after the call")
    if found is not None:
        _refuse(value, "inside it a length of a traced array, which may differ in another call")


def _refuse(value: object, seen: str) -> NoReturn:
    kind = type(value).__name__
    raise TraceError(
        f"return a {kind}",
        seen,
        "return arrays in tuples, lists, dicts, their subclasses, or dataclasses, and make the "
        f"{kind} of them outside the compiled function",
        user_location(),
    )
