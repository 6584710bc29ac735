"""Texts of computed values, and calls that write messages, both made after the program has run.

A `Text` is the result of `str`, `repr`, formatting or joining of values that only the running
program knows. In effects and results, a `Text` is a container of the values in it, and the string
is built from the values. If the traced call knows all numbers of a text, the trace can build the
string, and guards check the numbers. Calls of functions that warn or log are effects, which store
the line of the call.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any, Final

import numpy as np

from axiomjit.base.origins import is_users_frame
from axiomjit.base.trace_context import current
from axiomjit.base.tree import Composed, flatten_tree
from axiomjit.functions.effects import Line, line_of
from axiomjit.functions.outside import refuse
from axiomjit.graph.traced_values import TracedValue
from axiomjit.tracing.generators import Represents
from axiomjit.tracing.lengths import SymbolicNumber, known_numbers
from axiomjit.tracing.refusals import value_of

_CONVERSIONS: Final[dict[int, Callable[[Any], str]]] = {114: repr, 115: str, 97: ascii}
"""For the code of each conversion in f-strings (such as !r), the function that converts."""


def _join(*parts: str) -> str:
    return "".join(parts)


def _format(value: Any, conversion: int, spec: str) -> str:
    shown = _CONVERSIONS.get(conversion)
    return format(value if shown is None else shown(value), spec)


def _percent(template: str, values: Any) -> str:
    return str(template % values)


def _method(template: str, values: Sequence[Any], named: Mapping[str, Any]) -> str:
    return template.format(*values, **named)


_MAKERS: Final[dict[str, Callable[..., str]]] = {
    "join": _join,
    "format": _format,
    "percent": _percent,
    "method": _method,
}


class Text(Composed, Represents):
    """A text of computed values, stored as the name of a function that makes it, and arguments."""

    __slots__ = ("_how", "_parts")

    def __init__(self, how: str, *parts: Any) -> None:
        """Store the name of the maker, a function, and the arguments from which it makes the text.

        Raises:
            TypeError, ValueError, LookupError: Python raises the error for values of these types.
        """
        self._how, self._parts = how, parts
        self.example()

    def apart(self) -> tuple[tuple[object, ...], Sequence[object]]:
        """The maker and its arguments."""
        return (self._how,), self._parts

    def example(self) -> str:
        """The text for example values of the same types."""
        return _MAKERS[self._how](*map(_example, self._parts))

    @staticmethod
    def build(kind: Any, keys: tuple[object, ...], parts: Sequence[object]) -> str:
        """The text that the maker `keys[0]` makes of these parts."""
        return _MAKERS[str(keys[0])](*parts)

    @property  # type: ignore[misc]
    def __class__(self) -> type[str]:  # type: ignore[override]
        return str

    def __str__(self) -> str:
        """The text in the traced call.

        Raises:
            NeedsValuesError: the text depends on a value that only the program knows.
        """
        parts = [one for one in flatten_tree(self)[0] if issubclass(type(one), TracedValue)]
        if any(value_of(one) is None for one in parts):
            refuse("asks for the text of a computed value")
        return _MAKERS[self._how](*map(known, self._parts))

    def __repr__(self) -> str:
        return repr(str(self))

    def __format__(self, spec: str) -> str:
        return format(str(self), spec)

    def __getattr__(self, name: str) -> Any:
        return getattr(str(self), name)

    def __add__(self, other: Any) -> Any:
        return Text("join", self, other) if isinstance(other, str) else NotImplemented

    def __radd__(self, other: Any) -> Any:
        return Text("join", other, self) if isinstance(other, str) else NotImplemented

    def __mod__(self, values: Any) -> Any:
        return Text("percent", self, values)


def _asked(name: str) -> Callable[..., Any]:
    def method(self: Text, *args: Any) -> Any:
        return getattr(str(self), name)(*map(known, args))

    return method


for _name in (
    *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__hash__", "__len__"),
    *("__iter__", "__getitem__", "__contains__", "__mul__", "__rmul__"),
):
    setattr(Text, _name, _asked(_name))


def known(value: Any) -> Any:
    """The value, in which texts and symbolic numbers are replaced by their values in this call."""
    kind = type(value)
    if kind is Text:
        return str(value)
    if issubclass(kind, SymbolicNumber):
        return value.concrete_value()
    if issubclass(kind, TracedValue):
        found = value_of(value)
        return value if found is None else found.item() if value.node.weak else found
    if kind in (tuple, list):
        return kind(map(known, value))
    return {key: known(part) for key, part in value.items()} if kind is dict else value


def _example(value: Any) -> Any:
    """An example value of the same type, for a value that only the running program knows."""
    kind = type(value)
    if kind is Text:
        return value.example()
    if issubclass(kind, TracedValue):
        return np.ones((1,) * len(value.node.shape), value.node.dtype)[()]
    if issubclass(kind, SymbolicNumber):
        return 1 if isinstance(value, int) else 1.0
    if kind in (tuple, list):
        return kind(map(_example, value))
    return {key: _example(part) for key, part in value.items()} if kind is dict else value


def is_computed(value: Any) -> bool:
    """True if only the running program knows a value, or a value in the value's containers."""
    if type(value) in (str, int, float, bool):
        return False
    kinds = (TracedValue, SymbolicNumber, Text)
    return any(issubclass(type(one), kinds) for one in flatten_tree(value, is_leaf=_is_text)[0])


def _is_text(value: object) -> bool:
    return type(value) is Text


def joined(parts: Sequence[Any]) -> Any:
    """The concatenation of the texts."""
    if all(type(one) is str for one in parts):
        return "".join(parts)
    return Text("join", *parts)


def running_line(level: int) -> Line | int:
    """The line of the user's program that runs now (level 1), or the line of a caller further up.

    Returns:
        The line. A line outside the compiled function is given by the number of levels above that
        function.
    """
    following = current()
    within: CodeType | None = None if following is None else following.within
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not within:
        if is_users_frame(frame):
            level -= 1
            if not level:
                return line_of(frame)
        frame = frame.f_back
    return level


def warn(
    calls: Any,
    message: Any,
    category: Any = None,
    stacklevel: Any = 1,
    source: Any = None,
    **others: Any,
) -> None:
    """Record the effect of `warnings.warn`."""
    if others or source is not None:
        refuse("calls warnings.warn with options that are not known")
    place = running_line(max(int(known_numbers(stacklevel)), 1))
    calls.outside.effect("warning", None, (category, place), (calls.shown(message),))


_LEVELS: Final = {
    **{name: getattr(logging, name.upper()) for name in ("debug", "info", "warning", "error")},
    **{"critical": logging.CRITICAL, "fatal": logging.CRITICAL, "warn": logging.WARNING},
}


def _logging(name: str, of_logger: bool) -> Callable[..., None]:
    def log(calls: Any, *args: Any, **options: Any) -> None:
        logger, *values = args if of_logger else (None, *args)
        level = _LEVELS.get(name)
        if level is None:
            level, *values = values
        if any(options.values()) or not values:
            refuse(f"calls logging's {name} with options that are not known")
        place = running_line(1)
        key = known_numbers(level), place
        calls.outside.effect("log", logger, key, tuple(map(calls.shown, values)))

    return log


RECORDED: Final[dict[Any, Callable[..., None]]] = {
    warnings.warn: warn,
    **{getattr(logging, name): _logging(name, False) for name in (*_LEVELS, "log")},
    **{getattr(logging.Logger, name): _logging(name, True) for name in (*_LEVELS, "log")},
}
"""For each function that warns or logs, the function that records this effect."""
