"""Calls of functions that warn or log, in a traced function; each is an effect with its line."""

from __future__ import annotations

import logging
import sys
import warnings
from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, Final

from axiomjit.base.origins import is_users_frame
from axiomjit.base.trace_context import current
from axiomjit.functions.messages import Line, line_of
from axiomjit.functions.outside import refuse
from axiomjit.tracing.lengths import known_numbers


def running_line(level: int) -> Line | int:
    """The line of the user's program that runs now (level 1), or that of a caller (higher levels).

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
