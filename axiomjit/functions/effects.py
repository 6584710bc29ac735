"""Effects of a function, which each call does in order after it has run the program.

The values of effects and the return value are one tree of results: an object that the function
makes is made once per call, wherever it is stored or returned. Warnings and log records are effects
at the user's file and line.
"""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
from typing import Any, Final

from axiomjit.base.origins import is_users_frame
from axiomjit.base.records import Record
from axiomjit.functions.outside import Effect
from axiomjit.functions.sources import Source, Vector


class Line(Record):
    """A line of the user's: its file, its function, and the global names of its module."""

    file: str
    number: int
    function: str
    names: dict[str, Any]


def line_of(frame: FrameType) -> Line:
    """The line that a frame runs."""
    code = frame.f_code
    return Line(code.co_filename, frame.f_lineno, code.co_name, frame.f_globals)


def calling_line(level: int) -> Line:
    """The line that calls the compiled function, or the line of a caller further up."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_frame(frame):
            level -= 1
            if not level:
                return line_of(frame)
        frame = frame.f_back
    return Line("sys", 1, "sys", vars(sys))  # the line that Python gives if there is no such caller


def do_warn(target: Any, key: Any, values: Sequence[Any]) -> None:
    """Issue a warning."""
    (category, place), message = key, values[0]
    line = calling_line(place) if isinstance(place, int) else place
    if isinstance(message, Warning):
        category = type(message)
    module = str(line.names.get("__name__") or "<unknown>")
    registry = line.names.setdefault("__warningregistry__", {})
    category = UserWarning if category is None else category
    warnings.warn_explicit(message, category, line.file, line.number, module, registry)


def do_log(target: Any, key: Any, values: Sequence[Any]) -> None:
    """Write a log record."""
    (level, line), (message, *args) = key, values
    if target is None:
        target = logging.root
        if not target.handlers:
            logging.basicConfig()
    if target.isEnabledFor(level):
        given = target.name, level, line.file, line.number, message, tuple(args), None
        target.handle(target.makeRecord(*given, line.function))


class FromSource(Record):
    """An object from outside: the value of a source in this call."""

    source: Source

    def now(self, vector: Vector) -> object:
        """Return the object."""
        return vector[self.source.number]


def _set_attribute(target: Any, key: Any, values: Sequence[Any]) -> None:
    setattr(target, key, *values)


def _set_plainly(target: Any, key: Any, values: Sequence[Any]) -> None:
    object.__setattr__(target, key, *values)


def _delete_attribute(target: Any, key: Any, values: Sequence[Any]) -> None:
    delattr(target, key)


def _delete_plainly(target: Any, key: Any, values: Sequence[Any]) -> None:
    object.__delattr__(target, key)


def _set_item(target: Any, key: Any, values: Sequence[Any]) -> None:
    target[key] = values[0]


def _delete_item(target: Any, key: Any, values: Sequence[Any]) -> None:
    del target[key]


def _set_cell(target: Any, key: Any, values: Sequence[Any]) -> None:
    target.cell_contents = values[0]


def _call_method(target: Any, key: Any, values: Sequence[Any]) -> None:
    getattr(target, key)(*values)


def _call_with(target: Any, key: Any, values: Sequence[Any]) -> None:
    key(target, *values)


def _call(target: Any, key: Any, values: Sequence[Any]) -> None:
    key(*values)


HOW: Final[Mapping[str, Callable[[Any, Any, Sequence[Any]], None]]] = {
    "attribute": _set_attribute,
    "plain attribute": _set_plainly,
    "delete attribute": _delete_attribute,
    "delete plain attribute": _delete_plainly,
    "item": _set_item,
    "delete item": _delete_item,
    "cell": _set_cell,
    "method": _call_method,
    "function": _call_with,
    "call": _call,
    "warning": do_warn,
    "log": do_log,
}
"""The function that does each kind of effect, given the target, the key and the values."""


class Replay(Record):
    """An effect of a program, with the source of its target and the number of its values."""

    how: str
    target: Source | None
    key: object
    count: int
    line: str | None

    def do(self, vector: Vector, values: Sequence[Any]) -> None:
        """Do the effect."""
        target = None if self.target is None else vector[self.target.number]
        HOW[self.how](target, self.key, values)

    def __str__(self) -> str:
        name = "" if self.target is None else str(self.target)
        item = f"{name}[{self.key!r}]" if name else str(self.key)
        shown = {
            "attribute": f"{name}.{self.key} = ...",
            "plain attribute": f"{name}.{self.key} = ...",
            "delete attribute": f"del {name}.{self.key}",
            "delete plain attribute": f"del {name}.{self.key}",
            "item": f"{item} = ...",
            "delete item": f"del {item}",
            "cell": f"{name} = ...",
            "method": f"{name}.{self.key}(...)",
            "function": f"{getattr(self.key, '__name__', self.key)}({name}, ...)",
            "call": f"{getattr(self.key, '__name__', self.key)}(...)",
            "warning": "warnings.warn(...)",
            "log": f"{name or 'logging'}.log(...)",
        }
        return shown[self.how] + (f"  # {self.line}" if self.line else "")


def replays(effects: Sequence[Effect], source_of: Callable[[Any], Source | None]) -> Any:
    """The effects of a trace, as records that each call of the program does."""
    return tuple(
        Replay(
            e.how, None if e.target is None else source_of(e.target), e.key, len(e.values), e.line
        )
        for e in effects
    )


def do_effects(effects: Sequence[Replay], vector: Vector, values: Sequence[Any]) -> None:
    """Do all effects in order, with their values in order."""
    start = 0
    for one in effects:
        one.do(vector, values[start : start + one.count])
        start += one.count
