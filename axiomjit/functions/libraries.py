"""Code of libraries and code of the user's: which module defines a function or class."""

from __future__ import annotations

import functools
from types import FunctionType, ModuleType
from typing import Any

from axiomjit.base.origins import is_installed, is_library_code
from axiomjit.functions.library_names import FAMILIES


def is_library(part: Any, own: str = "") -> bool:
    """True if a library defines a function, class or module.

    Args:
        part: The function, class or module.
        own: The package of the function that is followed, whose code is the user's.
    """
    name = module_of(part)
    return bool(name) and _is_library(name, own)


@functools.lru_cache(maxsize=4096)
def _is_library(name: str, own: str) -> bool:
    named = ModuleType(name)
    return is_library_code(named) or is_installed(named, own)


def module_of(value: Any) -> str:
    """The module of a function, class or instance; of a built-in method that of its owner.

    A decorator may give a function another `__module__`; that of its global names counts.
    """
    if type(value) is FunctionType:
        name = value.__globals__.get("__name__")
        return name if type(name) is str else ""
    if isinstance(value, ModuleType):
        return value.__name__
    kind: Any = value if isinstance(value, type) else type(value)
    name = getattr(value, "__module__", None)
    if type(name) is str:
        return name
    owner = getattr(value, "__objclass__", None) or type(getattr(value, "__self__", None))
    kind = owner if owner is not type(None) else kind
    name = getattr(kind, "__module__", "")
    return name if type(name) is str else ""


def is_of_family(module: str) -> bool:
    """True if a module is part of a package whose functions are pure unless named."""
    return any(module == name or module.startswith(f"{name}.") for name in FAMILIES)
