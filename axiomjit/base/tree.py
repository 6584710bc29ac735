"""Nested containers of a function's arguments or results, as a list of leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from axiomjit.base.containers import ContainerForm, form_of
from axiomjit.base.errors import GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record


class Leaf(Record):
    """A place for one value."""


class Branch(Record):
    """A container: its type, the data it keeps (keys of a dict), and its parts."""

    kind: type
    keys: tuple[object, ...]
    parts: tuple[Structure, ...]


class OfArgument(Record):
    """A result in the memory of an argument: the caller's argument itself, or a view of it."""

    position: int
    is_itself: bool


Structure = Leaf | Branch
LEAF = Leaf()


def cannot_be_hashed(value: object) -> bool:
    """Whether an object has no usable hash; a dataclass with lists in it has none."""
    try:
        hash(value)
    except TypeError:
        return True
    return False


def flatten_tree(
    value: object,
    opens: Callable[[object], bool] = cannot_be_hashed,
    is_leaf: Callable[[object], bool] = lambda value: False,
) -> tuple[list[object], Structure]:
    """The leaves of nested containers, and the structure without them.

    Containers are tuples, lists, dicts, deques, their subclasses, namedtuples, namespaces, and
    those dataclass instances that `opens` says yes to. One of which `is_leaf` says so stays whole.

    Raises:
        GraphValueError: a container holds itself.
    """
    leaves: list[object] = []
    try:
        return leaves, _structure(value, leaves, opens, is_leaf)
    except RecursionError:
        pass
    raise GraphValueError(
        f"the values inside a {type(value).__name__}",
        "a container that holds itself, or hundreds inside each other",
        "pass and return containers that end, such as a list of arrays",
        user_location(),
    )


def _structure(
    value: object,
    leaves: list[object],
    opens: Callable[[object], bool],
    is_leaf: Callable[[object], bool],
) -> Structure:
    kind: Any = type(value)
    form: ContainerForm | None = form_of(kind)
    if form is None or (form.is_object and not opens(value)) or is_leaf(value):
        leaves.append(value)
        return LEAF
    keys, parts = form.apart(value)
    return Branch(kind, keys, tuple(_structure(part, leaves, opens, is_leaf) for part in parts))


def unflatten_tree(structure: Structure, leaves: Iterator[object]) -> object:
    """The containers again, with other leaves."""
    if isinstance(structure, Leaf):
        return next(leaves)
    parts = [unflatten_tree(part, leaves) for part in structure.parts]
    form = form_of(structure.kind)
    assert form is not None, structure.kind
    return form.build(structure.kind, structure.keys, parts)
