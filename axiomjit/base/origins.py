"""Origins: the running line of the user's program, its frames, and the library of some code."""

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

LONGEST: Final = 80
"""Characters of a line that a message quotes."""
_PACKAGE: Final = os.path.dirname(os.path.dirname(__file__))
_PARTS: Final = tuple(os.path.realpath(f"{_PACKAGE}/{part}") for part in ("passes", "runtime"))
_PACKAGES: Final = tuple(f"{folder}{os.sep}" for folder in (_PACKAGE, *_PARTS))
_OURS: Final = (*_PACKAGES, f"{os.path.dirname(np.__file__)}{os.sep}")
_COMPILER: Final = tuple(
    f"{folder}{os.sep}" for folder in (os.path.join(_PACKAGE, "passes"), _PARTS[0])
)
"""The folders of the passes, where an error that is none of ours is a defect."""


def user_location() -> str | None:
    """`file:line` of the innermost frame of the user's."""
    frame = _users_frame()
    return None if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def user_place() -> tuple[object, ...]:
    """The instruction of the user's that runs now, and the one that called its function.

    Equal places are one step of the program, run again.
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


_CALL: Final = (lambda function, *args, **kwargs: function(*args, **kwargs)).__code__


def at_users_line(function: Callable[..., Any]) -> Callable[..., Any]:
    """A form of a function that seems to be called by the user's line that runs now.

    Warnings that the function gives then name this line, whoever calls it.
    """
    frame = _users_frame()
    if frame is None:
        return function
    of = frame.f_code
    code = _CALL.replace(
        co_filename=of.co_filename,
        co_firstlineno=frame.f_lineno,
        co_name=of.co_name,
        co_qualname=of.co_qualname,
    )
    return partial(FunctionType(code, frame.f_globals), function)


def quoted_line(where: str) -> str:
    """The place `file:line` with the text of the line, if that is known and short."""
    file, _, line = where.rpartition(":")
    text = lazy_import("linecache").getline(file, int(line)).strip()
    return f"{where}: {text}" if 0 < len(text) <= LONGEST else where


def is_users_frame(frame: FrameType) -> bool:
    """True for a frame outside axiomjit, NumPy and the libraries that put labels around arrays."""
    name = frame.f_code.co_filename
    if name.startswith(_OURS) or name.startswith("<frozen"):
        return False
    return "pandas" not in sys.modules or _top_of(frame) not in _LABELLING  # xarray imports it


def _top_of(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def asked_by_labels() -> bool:
    """True if the innermost frame outside axiomjit and NumPy is one of xarray's."""
    if "xarray" not in sys.modules:
        return False
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OURS):
        frame = frame.f_back
    return frame is not None and _top_of(frame) == "xarray"


def catches_errors(within: CodeType | None) -> bool:
    """True if a user's frame inside the function with this code may catch errors."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_code is not within:
        code: Any = frame.f_code
        if not code.co_filename.startswith(_OURS) and code.co_exceptiontable:
            return True
        frame = frame.f_back
    return False


def warn(text: str, category: type[Warning]) -> None:
    """Warn at the user's line."""
    file, _, line = (user_location() or "unknown:0").rpartition(":")
    warnings.warn_explicit(text, category, file, int(line))


def hide_frames(error: BaseException) -> None:
    """Remove axiomjit's frames from the tracebacks of an error, its causes and its context.

    So are frames of libraries that axiomjit called, and errors that axiomjit itself has handled. A
    defect of axiomjit keeps all its frames, and so does every error under `config.full_traceback`.
    A `raise` without an error must follow in the same `except` block: unlike `raise error`, it does
    not add the frame that it is in.
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
    """Return the function; its errors have no frames of axiomjit in their tracebacks."""

    @functools.wraps(function)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return called


def hides_frames_in_methods(kind: type[R]) -> type[R]:
    """Return the class; errors of its public methods have no frames of axiomjit."""
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
    """True for an error that was raised and handled in axiomjit alone."""
    return not _is_defect(error) and _users_part(error.__traceback__) is None


def _is_hidden(frame: FrameType, inside: bool) -> bool:
    """True for a frame of axiomjit or of a kernel, or, `inside` of these, of a library."""
    file = frame.f_code.co_filename
    if file.startswith(_PACKAGES) or file == "<kernel>":
        return True
    return inside and (file.startswith("<frozen") or _top_of(frame) in _FOREIGN)


def _is_defect(error: BaseException) -> bool:
    """True for an error by which axiomjit fails, and not the user's program."""
    last = error.__traceback__
    while last is not None and last.tb_next is not None:
        last = last.tb_next
    file = last.tb_frame.f_code.co_filename if last is not None else ""
    if isinstance(error, AssertionError):
        return file.startswith(_PACKAGES)
    return not isinstance(error, AxiomError) and file.startswith(_COMPILER)


_LABELLING: Final = frozenset({"xarray", "pandas"})
"""Libraries whose functions take traced arrays apart for the user."""
_FOREIGN: Final = sys.stdlib_module_names | {"numpy", "numba", "axiomjit"}


def is_library_code(part: Any) -> bool:
    """True if Python's library, NumPy, Numba or axiomjit defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or part.__name__)
    return name != "__main__" and name.partition(".")[0] in _FOREIGN


def is_installed(part: Any, own: str = "") -> bool:
    """True if an installed package other than `own` defines a class, function or module."""
    name = str(getattr(part, "__module__", None) or getattr(part, "__name__", ""))
    top = name.partition(".")[0]
    if top in ("", own, "__main__"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
