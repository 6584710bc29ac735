"""Warnings and log records that a program gives in each call, at the user's file and line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Sequence
from types import FrameType
from typing import Any

from axiomjit.base.origins import is_users_frame
from axiomjit.base.records import Record


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
    """The line that calls the compiled function, or the line of a caller at a higher level."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_users_frame(frame):
            level -= 1
            if not level:
                return line_of(frame)
        frame = frame.f_back
    return Line("sys", 1, "sys", vars(sys))  # the line that Python gives if there is no such caller


def do_warn(target: Any, key: Any, values: Sequence[Any]) -> None:
    """Warn."""
    (category, place), message = key, values[0]
    line = calling_line(place) if isinstance(place, int) else place
    if isinstance(message, Warning):
        category = type(message)
    module = str(line.names.get("__name__") or "<unknown>")
    registry = line.names.setdefault("__warningregistry__", {})
    category = UserWarning if category is None else category
    warnings.warn_explicit(message, category, line.file, line.number, module, registry)


def do_log(target: Any, key: Any, values: Sequence[Any]) -> None:
    """Log a record."""
    (level, line), (message, *args) = key, values
    if target is None:
        target = logging.root
        if not target.handlers:
            logging.basicConfig()
    if target.isEnabledFor(level):
        given = target.name, level, line.file, line.number, message, tuple(args), None
        target.handle(target.makeRecord(*given, line.function))
