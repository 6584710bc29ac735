"""Keys and texts of recorded calls.

The key of a call has the value number of each operand, and all other arguments. A pattern is a key
without the numbers that often differ between calls: positions of an index, and floats.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record

_PLAIN: Final = frozenset({int, bool, str, type(None), type(Ellipsis)})
_TYPES: Final = frozenset({bool, int, float, complex})


OPERAND: Final = "\0"
"""Stands for the name of an operand in the text of a call that becomes a `Statement`."""


class Statement(Record):
    """A recorded call as Python text.

    Attributes:
        target: The names of the new results; empty if the call has no new result.
        parts: The text of the call before, between and after its operands.
        read: The value numbers of the operands, in the order of the text.
    """

    target: str
    parts: tuple[str, ...]
    read: tuple[int, ...]

    def text(self, called: str | None = None) -> str:
        """The statement, with another text of the call if one is given."""
        called = self.called({}) if called is None else called
        return f"{self.target} = {called}" if self.target else called

    def called(self, texts: Mapping[int, str]) -> str:
        """The call with texts in place of the names of some operands."""
        names = [texts.get(k, f"v{k}") for k in self.read]
        pairs = zip(names, self.parts[1:], strict=True)
        return self.parts[0] + "".join([name + part for name, part in pairs])


class UnrecordedError(Exception):
    """Raised for an argument of a kind that segments cannot record."""


def encoded(value: Any, number_of: Callable[[Any], int | None]) -> Hashable:
    """The key of an argument.

    Args:
        value: The argument.
        number_of: Returns the value number of an array or lazy number; None for other values.

    Raises:
        UnrecordedError: segments cannot record an argument of this kind.
    """
    kind = type(value)
    if kind in _PLAIN or (kind is float and value and value == value):
        return kind, value
    if kind is float or kind is complex:  # -0.0 == 0.0, and NaN differs from itself
        return kind, _literal(value)
    if kind is slice:
        return slice, *map(_position, (value.start, value.stop, value.step))
    if kind is tuple or kind is list:
        return kind, *(encoded(one, number_of) for one in value)
    number = number_of(value)
    if number is not None:
        return number
    if isinstance(value, np.integer):
        return int, int(value)
    if kind is type and (value in _TYPES or issubclass(value, np.generic)):
        return kind, value
    if isinstance(value, np.dtype) and value.names is None:
        return np.dtype, value
    raise UnrecordedError


def _position(value: Any) -> int | None:
    """An end or the step of a slice, as an integer or None.

    Raises:
        UnrecordedError: the value is not an integer.
    """
    if value is not None and not isinstance(value, int | np.integer):
        raise UnrecordedError
    return None if value is None else int(value)


class Writer:
    """A writer of the arguments of one call as Python expressions."""

    def __init__(
        self, name_of: Callable[[Any], str | None], words: Mapping[int, str] | None = None
    ) -> None:
        """Prepare for the arguments of one call.

        Args:
            name_of: Returns the name of an array or lazy number, None for other values.
            words: The names of varying numbers, by their position in `numbers_in`.
        """
        self._name_of, self._words = name_of, words or {}
        self._count = 0

    def text(self, value: Any) -> str:
        """The Python expression of an argument."""
        kind = type(value)
        if kind is int or kind is float:
            self._count += 1
            return self._words.get(self._count - 1) or _literal(value)
        if kind in _PLAIN:
            return "..." if value is Ellipsis else repr(value)
        if kind is complex:
            return _literal(value)
        if kind is slice:
            start, stop = (self.text(_position(one)) for one in (value.start, value.stop))
            return f"slice({start}, {stop}, {_position(value.step)!r})"
        if kind is tuple:
            return f"({', '.join(map(self.text, value))}{',' if len(value) == 1 else ''})"
        if kind is list:
            return f"[{', '.join(map(self.text, value))}]"
        name = self._name_of(value)
        if name is not None:
            return name
        if isinstance(value, np.integer):
            return repr(int(value))
        return value.__name__ if value in _TYPES else f"np.dtype({np.dtype(value).str!r})"

    def index(self, value: Any) -> str:
        """The Python text of an index, to stand between brackets."""
        if type(value) is tuple and value:
            return ", ".join(map(self._item, value)) + ("," if len(value) == 1 else "")
        return self._item(value)

    def _item(self, value: Any) -> str:
        if type(value) is not slice:
            return self.text(value)
        start, stop, step = map(_position, (value.start, value.stop, value.step))
        ends = ("" if one is None else self.text(one) for one in (start, stop))
        return ":".join(ends) + ("" if step is None else f":{step!r}")


def _literal(value: complex) -> str:
    if isinstance(value, complex):
        return f"complex({_literal(value.real)}, {_literal(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        sign = "-" if math.copysign(1.0, value) < 0 else ""
        return f"{sign}float({repr(abs(value))!r})"
    return repr(value)


def numbers_in(values: Sequence[Any]) -> list[int | float]:
    """The Python numbers in arguments that may vary, in the order of the text.

    The step of a slice does not vary.
    """
    found: list[int | float] = []
    for value in values:
        kind = type(value)
        if kind is int or kind is float:
            found.append(value)
        elif kind is slice:
            found += [one for one in map(_position, (value.start, value.stop)) if one is not None]
        elif kind is tuple or kind is list:
            found += numbers_in(value)
    return found


def pattern_of(key: Any) -> Hashable:
    """A key without its numbers; the sign of an integer remains."""
    if not isinstance(key, tuple):
        plain: Hashable = key
        return plain
    if key and key[0] is int:
        return int, key[1] < 0
    if key and key[0] is float:
        return (float,)
    if key and key[0] is slice:
        return slice, *(one if one is None else one < 0 for one in key[1:3]), key[3]
    return tuple(map(pattern_of, key))
