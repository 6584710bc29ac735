"""Sources of values from outside a function, and guards, which are conditions on these values.

A source is an argument, an object that cannot change for the function (its namespace, a cell), or a
part of another source: an item, an attribute, the contents of a cell, the class of an object. The
values of all sources of a program form one vector, in the order in which the sources are read.
Python and native code read the same vector and check the same guards.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Iterator, Sequence
from itertools import repeat
from operator import is_
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record

Vector = list[Any]


class _Missing:
    """The class of MISSING, the value of a source that has no value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "missing"


MISSING: Final = _Missing()
_HEAP: Final = 1 << 9
"""CPython's flag for a class that a class statement has made."""


class Source:
    """A place from which a value of each call is read.

    `number` is the index of the source in the vector; `line` is the user's line that first reads
    it.
    """

    __slots__ = ("line", "number")
    number: int
    line: str | None

    def read(self, vector: Vector, leaves: Sequence[object]) -> object:
        """The value of the source in this call; MISSING if there is no value.

        Args:
            vector: The values of all sources with smaller numbers.
            leaves: The arguments of the call.
        """
        raise NotImplementedError

    @property
    def identity(self) -> tuple[object, ...]:
        """A key that is equal for all sources of the same place, in all traces of a function."""
        raise NotImplementedError

    def __str__(self) -> str:
        raise NotImplementedError


class Argument(Source):
    """An argument of a call; if it is static, its numbers are constants of the program."""

    __slots__ = ("is_static", "name", "place")

    def __init__(self, place: int, name: str, is_static: bool = False) -> None:
        """Store the argument's place among the leaves of a call, and the name of the parameter."""
        self.place, self.name, self.is_static = place, name, is_static

    def read(self, vector: Vector, leaves: Sequence[object]) -> object:
        """The argument."""
        return leaves[self.place]

    @property
    def identity(self) -> tuple[object, ...]:
        """The place of the argument."""
        return (Argument, self.place)

    def __str__(self) -> str:
        return self.name


class Fixed(Source):
    """An object that is the same in all calls: a namespace, a cell, a function."""

    __slots__ = ("name", "value")

    def __init__(self, value: object, name: str) -> None:
        """Store the object, and its name for messages; empty for a namespace."""
        self.value, self.name = value, name

    def read(self, vector: Vector, leaves: Sequence[object]) -> object:
        """The object."""
        return self.value

    @property
    def identity(self) -> tuple[object, ...]:
        """The identity of the object."""
        return (Fixed, id(self.value))

    def __str__(self) -> str:
        return self.name


class Part(Source):
    """A part of the value of another source."""

    __slots__ = ("key", "of")

    def __init__(self, of: Source, key: Any = None) -> None:
        """Store the source of the whole object, and the key of this part."""
        self.of, self.key = of, key

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The part of a value; MISSING if the value has no such part."""
        raise NotImplementedError

    def read(self, vector: Vector, leaves: Sequence[object]) -> object:
        """The part in this call's value of the whole object."""
        whole = vector[self.of.number]
        return MISSING if whole is MISSING else self.get(whole, self.key)

    @property
    def identity(self) -> tuple[object, ...]:
        """The kind of the part, its key, and the identity of the whole object."""
        return (type(self), type(self.key), self.key, self.of.identity)


class Item(Part):
    """An entry of a dict by its key, or of a list, tuple or deque by its position."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The entry; the methods of a subclass are not called."""
        if isinstance(whole, dict):
            return dict.get(whole, key, MISSING)
        if type(whole) is MappingProxyType:
            return whole.get(key, MISSING)
        kinds: tuple[Any, ...] = (list, tuple, deque)
        for kind in kinds:
            if isinstance(whole, kind) and isinstance(key, int):
                inside = 0 <= key < kind.__len__(whole)
                return kind.__getitem__(whole, key) if inside else MISSING
        return MISSING

    def __str__(self) -> str:
        text = str(self.of)
        return f"{text}[{self.key!r}]" if text else str(self.key)


class Attribute(Part):
    """An attribute that belongs to the object itself, in its `__dict__` or in a slot."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The attribute, read without running the user's code."""
        held = static_attribute(type(whole), key)
        if type(held) is MemberDescriptorType:
            try:
                return held.__get__(whole)
            except AttributeError:
                return MISSING
        if type(held) is GetSetDescriptorType and isinstance(whole, deque):
            return held.__get__(whole)
        if held is MISSING and type(whole).__flags__ & _HEAP:  # a read of `__dict__` would make one
            try:
                return object.__getattribute__(whole, key)
            except AttributeError:
                return MISSING
        own = own_dict(whole)
        return MISSING if own is None else own.get(key, MISSING)

    def __str__(self) -> str:
        return f"{self.of}.{self.key}"


class ClassAttribute(Part):
    """An attribute of a class or of its bases, as it is stored there."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The attribute in the namespace of the class, read without calling descriptors."""
        return static_attribute(whole, key)

    def __str__(self) -> str:
        return f"{self.of}.{self.key}"


_FUNCTIONS: Final = (FunctionType, MethodType, BuiltinFunctionType, MethodWrapperType)


class FunctionPart(Part):
    """The code or the defaults of a function, which can be replaced; or the object of a method."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The part of the function or method."""
        return getattr(whole, key) if type(whole) in _FUNCTIONS else MISSING

    def __str__(self) -> str:
        return f"{self.of}.{self.key}"


class Class(Part):
    """The class of an object."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The class."""
        return type(whole)

    def __str__(self) -> str:
        return f"type({self.of})"


class Contents(Part):
    """The value in a cell of a closure."""

    __slots__ = ()

    @staticmethod
    def get(whole: Any, key: Any) -> object:
        """The value in the cell; MISSING for an empty cell."""
        if type(whole) is not CellType:
            return MISSING
        try:
            return whole.cell_contents
        except ValueError:
            return MISSING

    def __str__(self) -> str:
        return str(self.of)


def own_dict(value: Any) -> dict[str, Any] | None:
    """The `__dict__` of an object, read without calling its methods; None without a `__dict__`."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except AttributeError:
        return None
    return found if type(found) is dict else None


def static_attribute(kind: Any, name: str) -> Any:
    """An attribute as a class or its bases store it; MISSING if there is no such attribute."""
    for base in type.__dict__["__mro__"].__get__(kind):
        found = type.__dict__["__dict__"].__get__(base).get(name, MISSING)
        if found is not MISSING:
            return found
    return MISSING


class Guard(Record):
    """A condition on the value of a source."""

    source: Source

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if the condition holds for this value of the source."""
        raise NotImplementedError


class Is(Guard):
    """The condition that the value of the source is this object, or MISSING."""

    value: object

    def holds(self, value: Any, vector: Vector) -> bool:
        """True for the object itself."""
        return value is self.value

    def __str__(self) -> str:
        if self.value is MISSING:
            return f"{self.source} is not defined"
        shown = getattr(self.value, "__qualname__", None) or repr(self.value)
        if isinstance(self.value, ModuleType):
            shown = self.value.__name__
        return f"{self.source} is {shown}"


class Unchanged(Guard):
    """The condition that the parts of a function, such as its code, are those of the trace."""

    names: tuple[str, ...]
    parts: tuple[object, ...]

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if all parts are the same objects."""
        if type(value) is not FunctionType:
            return False
        return all(map(is_, map(getattr, repeat(value), self.names), self.parts))

    def __str__(self) -> str:
        return f"{self.source} is unchanged"


class Equals(Guard):
    """The condition that the source has this value, a number, a text, or a tuple of these."""

    value: object

    def holds(self, value: Any, vector: Vector) -> bool:
        """True for the same value with the same type and sign."""
        return same_value(value, self.value)

    def __str__(self) -> str:
        return f"{self.source} == {self.value!r}"


class Defined(Guard):
    """The condition that the source has a value."""

    def holds(self, value: Any, vector: Vector) -> bool:
        """True unless the value is missing."""
        return value is not MISSING

    def __str__(self) -> str:
        return f"{self.source} is defined"


class Length(Guard):
    """The condition that a container has this number of entries."""

    count: int

    def holds(self, value: Any, vector: Vector) -> bool:
        """True for a container of this length."""
        return _length(value) == self.count

    def __str__(self) -> str:
        return f"len({self.source}) == {self.count}"


class Keys(Guard):
    """The condition that a dict or set has these keys, in this order."""

    keys: tuple[object, ...]

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if the keys are equal, and in the same order."""
        if _length(value) != len(self.keys):
            return False
        kinds = (OrderedDict, dict, set, frozenset)
        kind = next(kind for kind in kinds if isinstance(value, kind))
        return all(map(same_value, kind.__iter__(value), self.keys))

    def __str__(self) -> str:
        return f"list({self.source}) == {list(self.keys)!r}"


class Same(Guard):
    """The condition that the values of two sources are the same object."""

    other: Source

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if both values are the same object."""
        return value is vector[self.other.number]

    def __str__(self) -> str:
        return f"{self.source} is {self.other}"


class Distinct(Guard):
    """The condition that the value of a source is not the value of any of the other sources."""

    others: tuple[Source, ...]

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if the object is none of the other objects."""
        return all(value is not vector[other.number] for other in self.others)

    def __str__(self) -> str:
        return f"{self.source} is none of {', '.join(map(str, self.others))}"


class Elements(Guard):
    """The condition that an array has these elements, this dtype and this shape."""

    array: np.ndarray

    def holds(self, value: Any, vector: Vector) -> bool:
        """True if the bytes of both arrays are equal."""
        known = self.array
        return (
            type(value) is np.ndarray
            and value.dtype == known.dtype
            and value.shape == known.shape
            and value.strides == known.strides
            and value.tobytes() == known.tobytes()
        )

    def __str__(self) -> str:
        return f"the elements of {self.source} are {self.array.tolist()}"


def _length(value: Any) -> int:
    if type(value) is MappingProxyType:
        return len(value)
    kinds: tuple[Any, ...] = (list, dict, tuple, set, frozenset, deque, bytearray)
    for kind in kinds:
        if isinstance(value, kind):
            return int(kind.__len__(value))
    return -1


NUMBERS: Final = frozenset({int, float, complex})
"""Types of numbers that may become arguments of a program."""
VALUES: Final = (int, float, complex, str, bytes)
"""Types whose instances, and instances of subclasses, are compared by value."""
ATOMS: Final = frozenset({*NUMBERS, bool, str, bytes, type(None), type(Ellipsis), range, slice})
"""Types of immutable values that hold no objects of other types."""


_OF_VALUES: Final = frozenset({"datetime", "decimal", "fractions", "uuid", "zoneinfo"})
"""Modules of Python's library with classes whose instances never change."""


def is_known_value(value: Any) -> bool:
    """True if `same_value` can compare a value: an atom, a scalar, a date, or a tuple of these."""
    kind = type(value)
    if kind is tuple or kind is frozenset:
        return len(value) <= LONGEST and all(map(is_known_value, value))
    if kind is slice:
        return all(map(is_known_value, (value.start, value.stop, value.step)))
    if kind in ATOMS or isinstance(value, np.generic | np.dtype):
        return True
    return kind.__module__ in _OF_VALUES and kind.__hash__ is not None


LONGEST: Final = 64
"""The largest number of entries of a tuple whose entries are compared by one guard."""


def is_known_key(value: Any) -> bool:
    """True if `same_value` can compare a key of a dict or set, also a frozen dataclass."""
    if is_known_value(value):
        return True
    kind: Any = type(value)
    if is_frozen(kind):
        return all(map(is_known_key, _fields_of(value)))
    base: Any = next((base for base in VALUES if issubclass(kind, base)), None)
    return base is not None and kind.__hash__ is base.__hash__


def is_frozen(kind: Any) -> bool:
    """True for a dataclass whose fields do not change and are compared by its `==`."""
    parameters = static_attribute(kind, "__dataclass_params__")
    return parameters is not MISSING and parameters.frozen and parameters.eq


def _fields_of(value: Any) -> list[Any]:
    names = static_attribute(type(value), "__dataclass_fields__")
    return [Attribute.get(value, name) for name in names]


def same_value(one: Any, other: Any) -> bool:
    """True for equal values of equal type; -0.0 differs from 0.0, a NaN equals the same NaN."""
    if one is other:
        return True
    kind: Any = type(one)
    if kind is not type(other):
        return False
    if kind not in ATOMS:
        kind = next((base for base in VALUES if issubclass(kind, base)), kind)
    if kind is float or kind is complex:
        return bool(kind.__repr__(one) == kind.__repr__(other))
    if kind in (int, str, bytes):
        return bool(kind.__eq__(one, other))
    if kind is tuple or kind is frozenset:
        return len(one) == len(other) and all(map(same_value, one, other))
    if kind is slice or kind is range:
        ends = ((v.start, v.stop, v.step) for v in (one, other))
        return same_value(*ends)
    if isinstance(one, np.generic):
        return bool(one.dtype == other.dtype) and one.tobytes() == other.tobytes()
    if kind in ATOMS or isinstance(one, np.dtype):
        return bool(one == other)
    if kind.__module__ in _OF_VALUES:
        return same_value(one.__reduce_ex__(4), other.__reduce_ex__(4))
    return is_frozen(kind) and all(map(same_value, _fields_of(one), _fields_of(other)))


class GuardInfo(Record):
    """A condition under which a program answers a call, as text, with the line that needs it.

    `seldom` is True for a guard on a function or on a library's module, since these seldom change.
    """

    source: str
    condition: str
    line: str | None
    seldom: bool = False

    def __str__(self) -> str:
        return self.condition + (f"  # {self.line}" if self.line else "")


class Guards:
    """The sources of a program in order, the program's guards, and the sources of its inputs."""

    __slots__ = ("_rows", "conditions", "inputs", "sources")

    def __init__(
        self, sources: Sequence[Source], conditions: Sequence[Guard], inputs: Sequence[Source]
    ) -> None:
        """Store the fields, and give each source its index as its number."""
        self.sources, self.conditions, self.inputs = (
            tuple(sources),
            tuple(conditions),
            tuple(inputs),
        )
        by_last: dict[int, list[Guard]] = {}
        for one in conditions:
            by_last.setdefault(max(_numbers(one)), []).append(one)
        self._rows = [(one, by_last.get(one.number, ())) for one in self.sources]

    def __bool__(self) -> bool:
        return bool(self.sources)

    def described(self) -> tuple[GuardInfo, ...]:
        """The guards and the inputs as text, for users."""
        found = [(one.source, str(one), _seldom_fails(one)) for one in self.conditions]
        found += [(one, f"{one} is an argument", False) for one in self.inputs]
        found.sort(key=lambda row: row[0].number)
        return tuple(GuardInfo(str(one), text, one.line, seldom) for one, text, seldom in found)

    def _checked(self, leaves: Sequence[object]) -> tuple[Vector, Guard | None]:
        """The vector of a call up to the first guard that does not hold, and this guard."""
        vector: Vector = []
        for source, conditions in self._rows:
            vector.append(source.read(vector, leaves))
            for one in conditions:
                if not one.holds(vector[one.source.number], vector):
                    return vector, one
        return vector, None

    def read(self, leaves: Sequence[object]) -> Vector | None:
        """The vector of a call; None if a guard does not hold."""
        vector, failed = self._checked(leaves)
        return vector if failed is None else None

    def failing(self, leaves: Sequence[object]) -> Guard | None:
        """The first guard that does not hold for a call; None if all guards hold."""
        return self._checked(leaves)[1]

    def given(self, vector: Vector) -> list[Any]:
        """The values of the inputs in a vector."""
        if not self.inputs:
            return []
        return [vector[source.number] for source in self.inputs]


def _seldom_fails(guard: Guard) -> bool:
    """True for a guard on a function or a module."""
    module = isinstance(guard, Is) and isinstance(guard.value, ModuleType)
    return module or isinstance(guard, Unchanged)


def _numbers(guard: Guard) -> Iterator[int]:
    yield guard.source.number
    if isinstance(guard, Same):
        yield guard.other.number
    if isinstance(guard, Distinct):
        yield from (other.number for other in guard.others)
