"""The objects outside a function that it can reach: read, never changed.

The walk begins with the function, its static arguments, and the globals that its code names. It
enters closures, defaults, containers, attributes of instances and classes of the user's, but no
library.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Iterable, Sequence
from types import CellType, FunctionType, MethodType, ModuleType, SimpleNamespace
from typing import Any, Final

import numpy as np

from axiomjit.base.origins import is_installed, is_library_code
from axiomjit.base.tree import attributes
from axiomjit.graph.captured import owner_of
from axiomjit.tracing.rebinding import names_of

MOST: Final = 2000
"""The most objects that are found for one function."""
LONGEST: Final = 100_000
"""The most entries of a container that is entered."""
_ATOMS: Final = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, np.ufunc)
_HEAP: Final = 1 << 9
"""CPython's flag of classes that are made by a class statement."""


def reachable(function: object, statics: Sequence[object]) -> dict[int, Any]:
    """The objects that a function can reach, by id."""
    walk = _Walk(str(getattr(function, "__module__", None) or "").partition(".")[0])
    named = -1
    while named != len(walk.names):  # names found late decide what modules and classes show
        named = len(walk.names)
        walk.known = {}
        walk.look([function, *statics])
    return walk.known


class _Walk:
    """What was found, and the names that code mentions."""

    def __init__(self, own: str) -> None:
        self.own = own
        self.names: set[str] = set()
        self.known: dict[int, Any] = {}

    def look(self, values: Iterable[object]) -> None:
        """Find values and all that they refer to; iterative, since references may be deep."""
        waiting = deque(values)
        while waiting and len(self.known) < MOST:
            found = waiting.popleft()
            if id(found) not in self.known and not issubclass(type(found), _ATOMS):
                self.known[id(found)] = found
                try:
                    waiting.extend(self._inside(found))
                except Exception:  # a user's container may raise anything when it is read
                    continue

    def _is_library(self, part: object) -> bool:
        return is_library_code(part) or is_installed(part, self.own)

    def _inside(self, value: Any) -> Iterable[object]:
        """What a value refers to."""
        kind = type(value)
        if issubclass(kind, np.ndarray):
            return [] if owner_of(value) is value else [owner_of(value)]
        if issubclass(kind, dict):
            return value.values() if len(value) <= LONGEST else []
        if issubclass(kind, list | deque | set | tuple | frozenset):
            return list(value) if len(value) <= LONGEST else []
        if issubclass(kind, functools.partial) and "__wrapped__" not in vars(value):
            return [value.func, value.args, value.keywords]
        if issubclass(kind, MethodType):
            return [value.__func__, value.__self__]
        if issubclass(kind, FunctionType):
            return [] if self._is_library(value) else self._of_function(value)
        if issubclass(kind, ModuleType):
            return [] if self._is_library(value) else self._named_in(vars(value))
        if issubclass(kind, type):
            own = value.__flags__ & _HEAP and not self._is_library(value)
            return map(_function_of, self._named_in(vars(value))) if own else []
        return self._of_instance(value)

    def _named_in(self, space: Any) -> list[object]:
        return [space[name] for name in sorted(self.names & set(space))]

    def _of_function(self, function: FunctionType) -> Iterable[object]:
        self.names |= set(names_of(function.__code__))
        cells = [_contents(cell) for cell in function.__closure__ or ()]
        given = (function.__defaults__, function.__kwdefaults__, function.__dict__)
        names = set(names_of(function.__code__)) & function.__globals__.keys()
        return [*cells, *given, *(function.__globals__[name] for name in sorted(names))]

    def _of_instance(self, value: Any) -> Iterable[object]:
        kind = type(value)
        inside = getattr(value, "__dict__", None)
        wrapped = inside.get("__wrapped__") if isinstance(inside, dict) else None
        if isinstance(wrapped, FunctionType):
            return [wrapped]
        if kind is SimpleNamespace:
            return list(vars(value).values())
        own = None if self._is_library(kind) else attributes(value)
        if own is None:
            return []
        methods: list[object] = []
        for base in kind.__mro__:
            called = (self.names | {"__call__"}) & set(vars(base))
            methods += [_function_of(vars(base)[method]) for method in called]
        return [*own.values(), kind, *methods]


def _function_of(member: Any) -> Any:
    """The function behind a property, a static or a class method; other members themselves."""
    for name in ("fget", "func", "__func__"):
        if isinstance(getattr(member, name, None), FunctionType):
            return getattr(member, name)
    return member


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned to it yet
        return None
