"""The module that defines a function or class; modules are of a library or the user's."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any, Final

from axiomjit.base.origins import is_installed, is_library_code
from axiomjit.functions.library_names import FAMILIES

HEAP: Final = 1 << 9
"""CPython's flag of classes that a class statement has made."""
replaced_in: dict[str, Callable[[], Iterator[tuple[Any, str, Any]]]] = {}
"""For each library, a function that yields the owner, the name and the replacement of functions."""


def is_library(part: Any, own: str = "") -> bool:
    """True if a library defines a function, class or module.

    Args:
        part: The function, class or module.
        own: The package of the function that is followed, whose code is the user's.
    """
    name = module_of(part)
    return bool(name) and _is_library(name, own)


def is_users(kind: Any) -> bool:
    """True for a class that the user's program defines, not a library."""
    return bool(kind.__flags__ & HEAP) and not _is_library(str(kind.__module__), "")


def users_function(value: Any) -> bool:
    """True for a Python function that the user's program defines."""
    return type(value) is FunctionType and not is_library(value)


def is_library_module(module: ModuleType) -> bool:
    """True for a module of a library, whose names do not change."""
    return _is_library(module.__name__, "")


@functools.lru_cache(maxsize=4096)
def _is_library(name: str, own: str) -> bool:
    named = ModuleType(name)
    compiled = name.startswith("_cython")  # the module of functions in Cython
    return compiled or is_library_code(named) or is_of_family(name) or is_installed(named, own)


def module_of(value: Any) -> str:
    """The module of a function, class or instance; for a built-in method, the module of its owner.

    A decorator may give a function another `__module__`; the module of its global names counts.
    """
    kind = type(value)
    if kind is FunctionType:
        name = value.__globals__.get("__name__")
        return name if type(name) is str else ""
    if issubclass(kind, type) or _is_of_library(kind):
        name = getattr(value, "__module__", None)
    else:
        name = kind.__module__
    if issubclass(kind, ModuleType):
        name = value.__name__
    if type(name) is str:
        return name
    owner = getattr(value, "__objclass__", None) or type(getattr(value, "__self__", value))
    return str(owner.__module__)


def _is_of_library(kind: type) -> bool:
    return is_library_code(kind) or kind.__module__.startswith("_cython")


def is_of_family(module: str) -> bool:
    """True for a module of one of `FAMILIES`, whose functions are pure except those in `DENIED`."""
    return any(module == name or module.startswith(f"{name}.") for name in FAMILIES)
