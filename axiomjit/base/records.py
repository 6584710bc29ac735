"""Frozen records with named slots, the base of every IR node, and cached properties."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter, is_
from types import FunctionType
from typing import Any, Generic, Self, TypeVar, dataclass_transform

_UNSET = object()


@dataclass_transform(frozen_default=True)
class RecordType(type):
    """Turns the annotations of a class body into slots, constructor arguments and equality."""

    _fields: tuple[str, ...]
    _given: tuple[str, ...]
    _defaults: dict[str, object]
    _setters: tuple[Callable[[object, object], None], ...]
    _values: Callable[[object], tuple[object, ...]]

    def __new__(
        mcs, name: str, bases: tuple[type, ...], body: dict[str, Any], **kwargs: Any
    ) -> RecordType:
        """Make the class; inherited fields come first, values in the class body are defaults."""
        own = tuple(body.get("__annotations__", ()))
        defaults = {field: body.pop(field) for field in own if field in body}
        extra = body.get("__slots__", ())
        body["__slots__"] = (*own, *extra)
        cls = super().__new__(mcs, name, bases, body, **kwargs)
        fields: dict[str, None] = {}
        inherited: dict[str, object] = {}
        for base in bases:
            fields |= dict.fromkeys(getattr(base, "_fields", ()))
            inherited |= getattr(base, "_defaults", {})
        cls._fields = (*fields, *own)
        cls._defaults = inherited | defaults
        cls._given = _constructor_fields(cls._fields, bases, body.get("__init__"))
        cls._setters = tuple([getattr(cls, field).__set__ for field in cls._fields])
        cls._values = staticmethod(_getter(cls._fields))
        return cls


def _getter(fields: tuple[str, ...]) -> Callable[[object], tuple[object, ...]]:
    """Return a function that reads these fields of an object."""
    if len(fields) > 1:
        return attrgetter(*fields)
    return lambda record: tuple(getattr(record, field) for field in fields)


def _constructor_fields(
    fields: tuple[str, ...], bases: tuple[type, ...], init: FunctionType | None
) -> tuple[str, ...]:
    """The constructor's arguments: the fields, or the parameters of the class's own `__init__`."""
    if not bases:
        return fields
    if init is not None:
        return init.__code__.co_varnames[1 : init.__code__.co_argcount]
    given: tuple[str, ...] = getattr(bases[0], "_given", fields)
    return fields if given == getattr(bases[0], "_fields", given) else given


class Record(metaclass=RecordType):
    """An immutable value: equal when type and fields are equal, hashable, with a readable repr."""

    def __init__(self, *values: Any, **named: Any) -> None:
        fields = type(self)._fields
        if len(values) == len(fields) and not named:
            for put, value in zip(type(self)._setters, values, strict=True):
                put(self, value)
            return
        if len(values) > len(fields):
            raise TypeError(f"{type(self).__name__} takes {len(fields)} fields, got {len(values)}")
        given = dict(zip(fields, values, strict=False))
        for field in fields:
            value = given.get(field, _UNSET)
            if field in named:
                if value is not _UNSET:
                    raise TypeError(f"{type(self).__name__} got {field!r} twice")
                value = named.pop(field)
            if value is _UNSET:
                value = type(self)._defaults.get(field, _UNSET)
            if value is _UNSET:
                raise TypeError(f"{type(self).__name__} needs {field!r}")
            object.__setattr__(self, field, value)
        if named:
            raise TypeError(f"{type(self).__name__} has no field {next(iter(named))!r}")

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} cannot change; use .replace({name}=...)")

    def __delattr__(self, name: str) -> None:
        raise AttributeError(f"{type(self).__name__} cannot change")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        values = type(self)._values
        return values(self) == values(other)

    def __hash__(self) -> int:
        return hash((type(self), *type(self)._values(self)))

    def __repr__(self) -> str:
        inside = ", ".join(f"{f}={getattr(self, f)!r}" for f in type(self)._fields)
        return f"{type(self).__name__}({inside})"

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), tuple(getattr(self, f) for f in type(self)._given)

    def map(self, kinds: type | tuple[type, ...], rule: Callable[[Any], Any]) -> Self:
        """Return the record with `rule` applied to every value of these types in its fields.

        Tuples and records in the fields are searched too. Tuples and records without a value of
        these types are not copied.
        """
        old = {field: getattr(self, field) for field in type(self)._given}
        changes = {field: _mapped(value, kinds, rule) for field, value in old.items()}
        return self.replace(**changes) if any(changes[f] is not old[f] for f in old) else self

    def replace(self, **changes: Any) -> Self:
        """A copy with some constructor arguments changed."""
        given = type(self)._given
        values = [changes.pop(f) if f in changes else getattr(self, f) for f in given]
        return type(self)(*values, **changes)


def _mapped(value: Any, kinds: type | tuple[type, ...], rule: Callable[[Any], Any]) -> Any:
    if isinstance(value, kinds):
        return rule(value)
    if isinstance(value, tuple):
        new = tuple([_mapped(part, kinds, rule) for part in value])
        return value if all(map(is_, new, value)) else new
    return value.map(kinds, rule) if isinstance(value, Record) else value


T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  # a decorator, as `property` is
    """A property computed at first use and stored in the instance's `__dict__`.

    In Python 3.11, `functools.cached_property` holds one lock for all instances: a child process
    forked while another thread computes a property would deadlock. With this class, two threads may
    both compute the value, and one of the two values is stored.
    """

    def __init__(self, compute: Callable[[Any], T]) -> None:
        self._compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, instance: Any, owner: type) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = vars(instance)[self._compute.__name__] = self._compute(instance)
        return value  # from now on, Python finds the value in `__dict__`
