"""Trace functions without text, by their byte code, if this code stores nothing outside.

The copy of a function without text has other global names: its callables are hooks, and outside
values that it reads have sources and guards. Objects of the user's classes are refused.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final, Protocol

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.functions.known_calls import Kind, kind_of_call
from axiomjit.functions.libraries import is_library_module, is_users
from axiomjit.functions.objects import is_plain
from axiomjit.functions.outside import refuse
from axiomjit.functions.sources import is_known_value

_REFUSED: Final = frozenset(
    {
        *("STORE_GLOBAL", "STORE_NAME", "STORE_ATTR", "IMPORT_NAME", "LOAD_BUILD_CLASS"),
        *("DELETE_GLOBAL", "DELETE_NAME", "DELETE_ATTR", "DELETE_DEREF", "RETURN_GENERATOR"),
        *("LOAD_NAME", "LOAD_LOCALS", "LOAD_SUPER_ATTR"),
    }
)
"""The refused instructions: stores outside, generators, classes, and reads of names without
guards.
"""
_SAFE: Final = (Kind.PURE, Kind.ASKS)


class Names(Protocol):
    """Reads the names of a function, with guards."""

    def name(self, name: str) -> Any:
        """The value of a global or builtin name."""

    def cell(self, name: str) -> Any:
        """The value of a variable of an enclosing function."""


def copy_without_text(calls: Any, function: FunctionType, names: Names) -> FunctionType:
    """Return a copy of a function without text, to be traced in its place.

    Args:
        calls: The hooks of the trace.
        function: A function of the user's.
        names: The object that reads the names of the function.

    Raises:
        NeedsValuesError: the code stores outside, or uses an object of an unknown kind.
    """
    shown = f"has code without text ({function.__name__}), which"
    space: dict[str, Any] = {"__name__": function.__globals__.get("__name__"), "__builtins__": {}}
    for code in _codes(function.__code__):
        for step in dis.get_instructions(code):
            stores = step.opname == "STORE_DEREF" and step.argval in code.co_freevars
            if step.opname in _REFUSED or stores:
                refuse(f"{shown} stores to {step.argval}")
            if step.opname == "LOAD_GLOBAL":
                space[step.argval] = _represented(calls, names.name(step.argval), shown)
            if step.opname in ("IS_OP", "CONTAINS_OP"):
                calls.identifies = True
        calls.handles_errors = calls.handles_errors or bool(code.co_exceptiontable)
    cells = [_represented(calls, names.cell(n), shown) for n in function.__code__.co_freevars]
    closure = tuple(map(CellType, cells))
    return FunctionType(function.__code__, space, function.__name__, None, closure or None)


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _represented(calls: Any, value: Any, shown: str) -> Any:
    """The value of a name as the copy sees it."""
    if is_plain(value) or is_known_value(value) or isinstance(value, np.ndarray):
        return value
    if isinstance(value, ModuleType) and is_library_module(value):
        return _Module(value, functools.partial(_represented, calls, shown=shown))
    if isinstance(value, type):
        known = not is_users(value) and kind_of_call(value).kind in _SAFE
        made: Any = value
    else:
        own = isinstance(value, FunctionType | MethodType | NativeCallable)
        known = own or (callable(value) and not is_users(type(value)))
        made = functools.partial(calls.call, value)
    if not known:
        refuse(f"{shown} uses something that is not known, {value!r:.60}")
    return made


class _Module:
    """A library's module, whose functions are called as hooks."""

    def __init__(self, module: ModuleType, represent: Any) -> None:
        self._module, self._represent = module, represent

    def __getattr__(self, name: str) -> Any:
        return self._represent(getattr(self._module, name))
