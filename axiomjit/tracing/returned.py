"""The values that a followed function returns: arrays by number, other values as they are."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator, Mapping
from typing import NoReturn

from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import OfArgument, Structure, flatten_tree
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, base_of, is_view, size
from axiomjit.graph.primitives import COPY
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.tracing.holders import traced_inside
from axiomjit.tracing.lengths import Length, SymbolicFloat, SymbolicNumber, unwrap
from axiomjit.tracing.refusals import traced
from axiomjit.tracing.tracer import Tracer

Leaves = tuple[tuple[int | None, object], ...]


def take_results(
    returned: object, arguments: Mapping[int, Input], is_outside: Callable[[object], bool]
) -> tuple[tuple[Node, ...], Structure, Leaves]:
    """The nodes to compute, the containers around them, and for each leaf its node or value.

    A leaf is the number of a node, or a value (a Dim where it depends on lengths); a length that
    only the running program knows is a node whose value becomes an `int`, and a Python float that
    is computed from lengths one whose value becomes a `float`.

    Args:
        returned: The function's return value.
        arguments: The inputs by the ids of the tracers that stand for them.
        is_outside: Whether a container exists outside the function: it is a value, not opened.

    Raises:
        TraceError: a traced array is of another call.
        UnsupportedError: one is inside an object that is not opened.
    """
    values, structure = flatten_tree(
        returned, opens=lambda value: traced_inside(value) is not None, is_leaf=is_outside
    )
    outputs: dict[Node, int] = {}
    owners: dict[Node, object] = {}
    leaves: list[tuple[int | None, object]] = []
    for value in values:
        if isinstance(value, Tracer):
            node = _array_of_its_own(value, owners)
            place = _place(value, node, arguments)
            leaves.append((outputs.setdefault(node, len(outputs)), place))
        elif isinstance(value, Length) and data_dependent_in(value.dim):
            node = builder.elementwise(COPY, size(value.dim))
            leaves.append((outputs.setdefault(node, len(outputs)), int))
        elif isinstance(value, SymbolicFloat):
            node, made = value.node, float if value.node.weak else None
            leaves.append((outputs.setdefault(node, len(outputs)), made))
        elif is_outside(value):
            leaves.append((None, value))
        else:
            _check_holds_none(value)
            leaves.append((None, unwrap(value)))
    return tuple(outputs), structure, tuple(leaves)


def _place(value: Tracer, node: Node, arguments: Mapping[int, Input]) -> OfArgument | None:
    """The argument in whose memory a result lies; None where it lies in none."""
    if id(value) in arguments:
        return OfArgument(arguments[id(value)].position, True)
    root = None if value.storage is None else value.storage.root
    return OfArgument(root.position, False) if isinstance(root, Input) and node.shape else None


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
    if isinstance(value, SymbolicNumber):
        return
    if isinstance(value, Coroutine):
        value.close()  # else Python warns that nobody awaited it
    if isinstance(value, Iterator | Coroutine | AsyncGenerator):
        _refuse(value, "it would compute its values after the call, and only once")
    found = traced_inside(value)
    if isinstance(found, Tracer):
        _refuse(value, f"inside it {traced(found.description())}, known only after the call")
    if found is not None:
        _refuse(value, "inside it a length of a traced array, which may differ in another call")


def _refuse(value: object, seen: str) -> NoReturn:
    kind = type(value).__name__
    raise UnsupportedError(
        f"return a {kind}",
        seen,
        "return arrays in tuples, lists, dicts, their subclasses, or dataclasses, and make the "
        f"{kind} of them outside the compiled function",
        user_location(),
    )
