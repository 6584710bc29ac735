"""Nested tuples, lists and dicts of what a function takes or gives, as a list of leaves."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.records import Record


class Leaf(Record):
    """A place for one value."""


class Branch(Record):
    """A container: its type, its keys (for a dict), and what stands in it."""

    kind: type
    keys: tuple[object, ...]
    parts: tuple[Structure, ...]


Structure = Leaf | Branch
LEAF = Leaf()


def flatten(value: object) -> tuple[list[object], Structure]:
    """The leaves of nested tuples, lists and dicts, and the structure without them."""
    leaves: list[object] = []
    return leaves, _structure(value, leaves)


def _structure(value: object, leaves: list[object]) -> Structure:
    if type(value) is dict:
        parts = tuple(_structure(v, leaves) for v in value.values())
        return Branch(dict, tuple(value), parts)
    if isinstance(value, tuple | list) and type(value) in (tuple, list):
        return Branch(type(value), (), tuple(_structure(v, leaves) for v in value))
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return Branch(type(value), (), tuple(_structure(v, leaves) for v in value))
    leaves.append(value)
    return LEAF


def unflatten(structure: Structure, leaves: Iterator[object]) -> object:
    """The containers again, with other leaves."""
    if isinstance(structure, Leaf):
        return next(leaves)
    parts = [unflatten(part, leaves) for part in structure.parts]
    if structure.kind is dict:
        return dict(zip(structure.keys, parts, strict=True))
    if hasattr(structure.kind, "_make"):
        return structure.kind._make(parts)
    return structure.kind(parts)
