"""The state outside a function that it can reach, compared before and after it is followed.

Following runs the function's Python code once for many calls. A function that changes something
outside would change it once. Such a change is found here and undone, and each call runs in NumPy.

The comparison covers what can be reached from the globals that the code names, from closures,
defaults and static arguments: names and cells, lists, dicts, sets, deques, bytearrays, attributes
of instances and classes of the user's, and arrays.
"""

from __future__ import annotations

import functools
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from types import (
    CellType,
    FunctionType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

from axiomjit.base.foreign import is_foreign
from axiomjit.base.records import Record
from axiomjit.driver.static_keys import attributes
from axiomjit.graph.captured import Array, owner_of
from axiomjit.tracing.rebinding import names_of

MOST: Final = 2000
"""The most objects that are recorded for one function."""
LONGEST: Final = 100_000
"""The most entries of a container that is recorded."""
LARGEST: Final = 2**27
"""The most bytes of arrays that are recorded, in all."""
_ABSENT: Final = object()


class Spot(Record):
    """A place that can change: its name, its value, and how to read and write it."""

    name: str
    before: Any
    read: Callable[[], Any]
    write: Callable[[Any], object]

    def changed(self) -> bool:
        """Whether its value is another one now."""
        return _differ(self.before, self.read())

    def restore(self) -> None:
        """Write the old value back."""
        if self.changed():
            self.write(self.before)


def _differ(old: Any, new: Any) -> bool:
    """Whether two readings differ: entries of tuples by identity, other readings by value."""
    if issubclass(type(old), np.ndarray):
        alike = (old.shape, old.dtype) == (new.shape, new.dtype)
        return not alike or old.tobytes() != new.tobytes()
    if type(old) is tuple and type(new) is tuple:
        return len(old) != len(new) or any(a is not b for a, b in zip(old, new, strict=True))
    return old is not new


class Surroundings:
    """The state that a function can reach outside itself."""

    def __init__(self, function: object, statics: Sequence[object]) -> None:
        """Read everything that can be reached."""
        self._names: set[str] = set()
        named = -1
        while named != len(self._names):  # names found late decide what modules and classes show
            named = len(self._names)
            self.spots: list[Spot] = []
            self.known: dict[int, Any] = {}
            self._bytes = 0
            self._look(function, getattr(function, "__qualname__", "the function"))
            for value in statics:
                self._look(value, f"a static {type(value).__name__}")

    @property
    def arrays(self) -> list[Array]:
        """The arrays that can be reached."""
        return [value for value in self.known.values() if issubclass(type(value), np.ndarray)]

    def changes(self) -> str | None:
        """The name of a place with another value than before; None if there is none."""
        return next((spot.name for spot in self.spots if spot.changed()), None)

    def restore(self) -> None:
        """Write all old values back."""
        for spot in self.spots:
            spot.restore()

    def _add(
        self, name: str, read: Callable[[], Any], write: Callable[[Any], object], value: Any = None
    ) -> None:
        self.spots.append(Spot(name, read() if value is None else value, read, write))

    def _look(self, value: Any, name: str) -> None:
        """Record a value and all that it refers to; iterative, since references may be deep."""
        waiting = deque([(value, name)])
        while waiting and len(self.known) < MOST:
            found, called = waiting.popleft()
            if id(found) not in self.known and not issubclass(type(found), _ATOMS):
                self.known[id(found)] = found
                try:
                    waiting.extend(self._spots_of(found, called))
                except Exception:  # a user's container may raise anything when it is read
                    continue

    def _spots_of(self, value: Any, name: str) -> Iterable[tuple[Any, str]]:
        """Record what can change in a value itself; return the values to look at next."""
        if issubclass(type(value), np.ndarray):
            return self._array(value, name)
        if issubclass(type(value), list | deque | dict | set | bytearray):
            return self._container(value, name)
        if issubclass(type(value), tuple | frozenset):
            return [(part, name) for part in value]
        if issubclass(type(value), functools.partial) and "__wrapped__" not in vars(value):
            return [(part, name) for part in (value.func, value.args, value.keywords)]
        if issubclass(type(value), MethodType):
            return [(value.__func__, name), (value.__self__, name)]
        if issubclass(type(value), FunctionType):
            return [] if is_foreign(value) else self._function(value)
        if issubclass(type(value), ModuleType):
            names = self._names & set(vars(value))
            return [] if is_foreign(value) else self._bound(vars(value), names, name)
        return self._instance(value, name)

    def _array(self, array: Array, name: str) -> Iterable[tuple[Any, str]]:
        def write(before: Array) -> None:
            if array.shape == before.shape and array.flags.writeable:
                array[...] = before

        if array.flags.writeable and not array.dtype.hasobject:
            self._bytes += array.nbytes
            if self._bytes <= LARGEST:
                self._add(f"the array {name}", array.copy, write)
        owner = owner_of(array)
        return [] if owner is array else [(owner, name)]

    def _container(self, value: Any, name: str) -> Iterable[tuple[Any, str]]:
        if len(value) > LONGEST:
            return []
        called = f"the {type(value).__name__} {name}"
        if issubclass(type(value), dict):
            self._add(called, lambda: _flat(value), lambda old: _refill(value, old))
            return [(part, f"{name}[{key!r:.40}]") for key, part in value.items()]
        if issubclass(type(value), set):
            self._add(called, lambda: tuple(value), lambda old: _replace(value, value.update, old))
        elif issubclass(type(value), deque):
            self._add(called, lambda: tuple(value), lambda old: _replace(value, value.extend, old))
        else:
            self._add(called, lambda: tuple(value), lambda old: value.__setitem__(slice(None), old))
        return [(part, f"{name}[...]") for part in value]

    def _function(self, function: FunctionType) -> Iterable[tuple[Any, str]]:
        name = function.__name__
        names = set(names_of(function.__code__))
        self._names |= names
        cells: list[tuple[Any, str]] = []
        for free, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            held = _contents(cell)
            self._add(
                free,
                functools.partial(_contents, cell),
                functools.partial(setattr, cell, "cell_contents"),
                held,
            )
            cells.append((held, free))
        given = (function.__defaults__, function.__kwdefaults__)
        cells += [(part, f"a default of {name}") for part in given]
        cells.append((function.__dict__, name))
        return [*cells, *self._bound(function.__globals__, names, "")]

    def _bound(
        self, space: dict[str, Any], names: Iterable[str], owner: str
    ) -> Iterable[tuple[Any, str]]:
        """Record names in a dict of globals or attributes; return the values bound to them."""
        found: list[tuple[Any, str]] = []
        for name in sorted(names):
            called = f"{owner}.{name}" if owner else name

            def write(old: Any, name: str = name) -> None:
                if old is _ABSENT:
                    space.pop(name, None)
                else:
                    space[name] = old

            value = space.get(name, _ABSENT)
            self._add(called, functools.partial(space.get, name, _ABSENT), write, value)
            found.append((value, called))
        return found

    def _instance(self, value: Any, name: str) -> Iterable[tuple[Any, str]]:
        if issubclass(type(value), type):
            if is_foreign(value) or not value.__flags__ & _HEAP:
                return []
            return self._class(value, name)
        inside = getattr(value, "__dict__", None)
        wrapped = inside.get("__wrapped__") if isinstance(inside, dict) else None
        if isinstance(wrapped, FunctionType):
            return [(wrapped, name)]
        own = attributes(value)
        if own is None:
            return []

        def write(old: tuple[Any, ...]) -> None:
            before = dict(zip(old[::2], old[1::2], strict=True))
            for attribute in (attributes(value) or {}).keys() | before.keys():
                _put(value, attribute, before.get(attribute, _ABSENT))

        self._add(f"an attribute of {name}", lambda: _flat(attributes(value) or {}), write)
        methods: list[Any] = []
        for base in type(value).__mro__:
            called = (self._names | {"__call__"}) & set(vars(base))
            methods += [_function_of(vars(base)[method]) for method in called]
        parts = [(part, f"{name}.{attribute}") for attribute, part in own.items()]
        return [*parts, (type(value), type(value).__name__), *((m, name) for m in methods)]

    def _class(self, kind: type, name: str) -> Iterable[tuple[Any, str]]:
        found: list[tuple[Any, str]] = []
        for attribute in sorted(self._names & set(vars(kind))):
            held = vars(kind)[attribute]
            read = functools.partial(vars(kind).get, attribute, _ABSENT)
            self._add(
                f"{name}.{attribute}", read, functools.partial(setattr, kind, attribute), held
            )
            found.append((_function_of(held), f"{name}.{attribute}"))
        return found


_ATOMS: Final = (int, float, complex, str, bytes, type(None), np.generic, np.dtype, np.ufunc)
_HEAP: Final = 1 << 9
"""CPython's flag of classes that are made by a class statement."""


def _function_of(member: Any) -> Any:
    """The function behind a property, a static or a class method; others as they are."""
    for name in ("fget", "func", "__func__"):
        if isinstance(getattr(member, name, None), FunctionType):
            return getattr(member, name)
    return member


def _contents(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned to it yet
        return _ABSENT


def _put(owner: object, attribute: str, value: Any) -> None:
    """Set or delete an attribute of an instance, bypassing its class's own `__setattr__`."""
    slot = getattr(type(owner), attribute, None)
    if isinstance(slot, MemberDescriptorType):
        slot.__delete__(owner) if value is _ABSENT else slot.__set__(owner, value)
    elif value is _ABSENT:
        vars(owner).pop(attribute)
    else:
        vars(owner)[attribute] = value


def _flat(entries: dict[Any, Any]) -> tuple[Any, ...]:
    return tuple(part for entry in entries.items() for part in entry)


def _refill(target: dict[Any, Any], old: tuple[Any, ...]) -> None:
    target.clear()
    target.update(zip(old[::2], old[1::2], strict=True))


def _replace(target: Any, fill: Callable[[Any], object], old: tuple[Any, ...]) -> None:
    target.clear()
    fill(old)
