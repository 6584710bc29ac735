"""Origins: the user's line that runs now, the user's frames, the library of an object."""

from __future__ import annotations

import functools
import os
import sys
import warnings
from collections.abc import Callable
from functools import partial
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.errors import AxiomError
from axiomjit.base.locks import lazy_import

if TYPE_CHECKING:
    from types import CodeType, FrameType, TracebackType

P = ParamSpec("P")
R = TypeVar("R")

LONGEST_QUOTE: Final = 80
"""The longest line that messages quote, in characters."""
_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
_LINKED: Final = tuple(os.path.realpath(f"{_PACKAGE}/{part}") for part in ("passes", "runtime"))
_PACKAGES: Final = tuple(f"{folder}{os.sep}" for folder in (_PACKAGE, *_LINKED))
_INTERNAL_FOLDERS: Final = (*_PACKAGES, f"{os.path.dirname(np.__file__)}{os.sep}")
_PASSES: Final = tuple(
    f"{folder}{os.sep}" for folder in (os.path.join(_PACKAGE, "passes"), _LINKED[0])
)
"""The folders of the passes; an error raised there that is no AxiomError is a defect of
axiomjit."""


def user_location() -> str | None:
    """`file:line` of the user's innermost frame; None if there is no frame of the user."""
    frame = _users_frame()
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def user_place() -> tuple[object, ...]:
    """The user's instruction that runs now, and the instruction that called its function.

    Two calls with equal places run the same step of the program.
    """
    frame = _users_frame()
    caller = None if frame is None else frame.f_back
    return tuple([(one.f_code, one.f_lasti) for one in (frame, caller) if one is not None])


def _users_frame() -> FrameType | None:
    """The innermost frame outside axiomjit and NumPy."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not is_users_frame(frame):
        frame = frame.f_back
    return frame


_CALL_CODE: Final = (lambda function, *args, **kwargs: function(*args, **kwargs)).__code__


def at_users_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function so that its caller seems to be the user's line that runs now.

    Warnings of the function then name this line.
    """
    frame = _users_frame()
    if frame is None:
        return function
    of = frame.f_code
    code = _CALL_CODE.replace(
        co_filename=of.co_filename,
        co_firstlineno=frame.f_lineno,
        co_name=of.co_name,
        co_qualname=of.co_qualname,
    )
    return partial(FunctionType(code, frame.f_globals), function)


def quoted_line(where: str) -> str:
    """The place `file:line`, followed by the text of the line if it is known and short."""
    file, _, line = where.rpartition(":")
    text = lazy_import("linecache").getline(file, int(line)).strip()
    return f"{where}: {text}" if 0 < len(text) <= LONGEST_QUOTE else where


def is_users_frame(frame: FrameType) -> bool:
    """True for a frame outside axiomjit, NumPy, xarray and pandas."""
    name = frame.f_code.co_filename
    if name.startswith(_INTERNAL_FOLDERS) or name.startswith("<frozen"):
        return False
    if "pandas" not in sys.modules:  # xarray imports pandas
        return True
    return _top_package(frame) not in _LABELLED_LIBRARIES


def _top_package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def called_by_xarray() -> bool:
    """True if the innermost frame outside axiomjit and NumPy is one of xarray's."""
    if "xarray" not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_INTERNAL_FOLDERS):
        frame = frame.f_back
    return frame is not None and _top_package(frame) == "xarray"


def catches_errors(within: CodeType | None) -> bool:
    """True if a user's frame inside the function with this code may catch errors."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not within:
        code: Any = frame.f_code
        if not code.co_filename.startswith(_INTERNAL_FOLDERS) and code.co_exceptiontable:
            return True
        frame = frame.f_back
    return False


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the user's line."""
    file, _, line = (user_location() or "unknown:0").rpartition(":")
    warnings.warn_explicit(text, category, file, int(line))


def hide_frames(error: BaseException) -> None:
    """Remove axiomjit's frames from the tracebacks of an error, its causes and its context.

    Frames of libraries that axiomjit called, and errors that axiomjit has handled, are removed,
    too. An error that a defect of axiomjit causes keeps all frames, and so does every error under
    `config.full_traceback`. A bare `raise` must follow in the same `except` block: unlike `raise
    error`, a bare `raise` adds no frame.
    """
    if config.full_traceback:
        return
    rest: list[BaseException | None] = [error]
    seen = set()
    while rest:
        one = rest.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        if not _is_defect(one):
            one.__traceback__ = _users_part(one.__traceback__)
        while (before := one.__context__) is not None and id(before) not in seen:
            if not _is_internal(before):
                break
            seen.add(id(before))
            one.__context__ = before.__context__
        rest += [one.__cause__, one.__context__]
        rest += one.exceptions if isinstance(one, BaseExceptionGroup) else ()


def hides_frames(function: Callable[P, R]) -> Callable[P, R]:
    """Wrap a function so that tracebacks of its errors show no frames of axiomjit."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return called


def hides_frames_in_methods(kind: type[R]) -> type[R]:
    """Wrap the public methods of a class: tracebacks of their errors show no frames of axiomjit."""
    for name, method in list(vars(kind).items()):
        if isinstance(method, FunctionType) and (name == "__getitem__" or not name.startswith("_")):
            setattr(kind, name, hides_frames(method))
    return kind


def _users_part(first: TracebackType | None) -> TracebackType | None:
    """The traceback without frames of axiomjit and of the libraries that it called."""
    kept, inside = [], False
    while first is not None:
        inside = _is_hidden(first.tb_frame, inside)
        kept += [] if inside else [first]
        first = first.tb_next
    for one, after in zip(kept, [*kept[1:], None], strict=False):
        if one.tb_next is not after:
            one.tb_next = after
    return kept[0] if kept else None


def _is_internal(error: BaseException) -> bool:
    """True for an error that was raised and handled inside axiomjit."""
    return not _is_defect(error) and _users_part(error.__traceback__) is None


def _is_hidden(frame: FrameType, inside: bool) -> bool:
    """True for a frame of axiomjit or a kernel; with `inside`, also of a library called there."""
    file = frame.f_code.co_filename
    if file.startswith(_PACKAGES) or file == "<kernel>":
        return True
    return inside and (file.startswith("<frozen") or _top_package(frame) in _KNOWN_LIBRARIES)


def _is_defect(error: BaseException) -> bool:
    """True for an error that shows a defect of axiomjit, not of the user's program."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file = last.tb_frame.f_code.co_filename if last is not None else ""
    if isinstance(error, AssertionError):
        return file.startswith(_PACKAGES)
    return not isinstance(error, AxiomError) and file.startswith(_PASSES)


_LABELLED_LIBRARIES: Final = frozenset({"xarray", "pandas"})
"""Libraries of labelled arrays, whose functions call NumPy for the user."""
_KNOWN_LIBRARIES: Final = sys.stdlib_module_names | {"numpy", "numba", "axiomjit"}


def is_library_code(part: Any) -> bool:
    """True if Python's library, NumPy, Numba or axiomjit defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or part.__name__)
    return name != "__main__" and name.partition(".")[0] in _KNOWN_LIBRARIES


def is_installed(part: Any, own: str = "") -> bool:
    """True if an installed package other than `own` defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or getattr(part, "__name__", ""))
    top = name.partition(".")[0]
    if top in ("", own, "__main__"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
