"""SHA-256 of graphs and of values made from graphs; the hashes are equal in every process."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable
from typing import Any

import numpy as np

from axiomjit.base.records import Record
from axiomjit.graph.nodes import Constant, Graph, Node
from axiomjit.graph.primitives import PRIMITIVES, Primitive
from axiomjit.symbolic.dims import Dim


def token_of(*values: object) -> str:
    """The SHA-256 of values: graphs, records, numbers, texts, functions, in tuples and dicts."""
    found = hashlib.sha256()
    seen: dict[object, int] = {}
    for value in values:
        for part in _parts(value, seen):
            found.update(part.encode())
            found.update(b"\0")
    return found.hexdigest()


def _parts(value: Any, seen: dict[object, int]) -> Iterable[str]:
    """Yield the texts of a value; the text of a node that occurred before is its number."""
    if isinstance(value, Graph):
        # operands before users, so that long chains do not recurse
        for node in value.nodes:
            yield from _parts(node, seen)
    if isinstance(value, Node):
        if value in seen:
            yield f"node {seen[value]}"
            return
        seen[value] = len(seen)
    yield type(value).__qualname__
    yield from _content(value, seen)


def _content(value: Any, seen: dict[object, int]) -> Iterable[str]:
    match value:
        case Primitive() if PRIMITIVES.get(value.name) is value:
            yield value.name
        case Constant():
            yield from _parts(np.asarray(value.array), seen)
        case Record():
            for field in type(value)._given:
                yield from _parts(getattr(value, field), seen)
        case Dim() | np.dtype() | str() | int() | float() | complex() | None:
            yield repr(value)
        case np.generic():
            yield str(value.dtype)
            yield value.tobytes().hex()
        case np.ndarray():
            yield str((value.dtype, value.shape))
            yield hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        case np.ufunc():
            yield value.__name__
        case frozenset() | set():
            yield from sorted(part for one in value for part in _parts(one, seen))
        case dict():
            yield from _parts(tuple(value.items()), seen)
        case tuple() | list():
            yield str(len(value))
            for one in value:
                yield from _parts(one, seen)
        case functools.partial():
            yield from _parts((value.func, value.args, value.keywords), seen)
        case _:
            yield from _of_object(value, seen)


def _of_object(value: Any, seen: dict[object, int]) -> Iterable[str]:
    """Yield the name of a function or class, or the class and the state of another object."""
    name = getattr(value, "__qualname__", None)
    if name is not None:
        yield f"{getattr(value, '__module__', '')}.{name}"
        code = getattr(value, "__code__", None)
        if code is not None:
            yield code.co_code.hex()
        return
    made = value.__reduce_ex__(4)
    yield from _parts(made if isinstance(made, str) else tuple(made[:3]), seen)
