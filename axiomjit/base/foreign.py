"""Whose code something is: the user's, or that of a library."""

from __future__ import annotations

import sys
from typing import Any, Final

_FOREIGN: Final = sys.stdlib_module_names | {"numpy", "numba", "axiomjit"}


def is_foreign(part: Any) -> bool:
    """Whether a class, function or module is of Python's library, NumPy, Numba or this one."""
    name = str(getattr(part, "__module__", None) or part.__name__)
    return name != "__main__" and name.partition(".")[0] in _FOREIGN


def is_installed(part: Any, own: str = "") -> bool:
    """Whether a class, function or module is of an installed package other than `own`."""
    name = str(getattr(part, "__module__", None) or getattr(part, "__name__", ""))
    top = name.partition(".")[0]
    if top in ("", own, "__main__"):
        return False
    file = getattr(sys.modules.get(top), "__file__", None) or ""
    return "site-packages" in file or "dist-packages" in file
