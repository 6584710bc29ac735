"""NumPy's submodules under our names: `import axiomjit.numpy.linalg` gives `numpy.linalg`.

A submodule whose functions are replaced is a file of axiomjit, which takes all other names from
NumPy.
"""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Mapping, Sequence
from types import ModuleType
from typing import Any, Final

OURS: Final = "axiomjit.numpy."


class ModuleWith(ModuleType):
    """A module of NumPy in which some objects are replaced."""

    def __init__(self, name: str, module: ModuleType, others: Mapping[str, Any]) -> None:
        """Make a module with this name, the names of `module`, and the objects of `others`."""
        super().__init__(name, module.__doc__)
        self._module = module
        self.__dict__.update({key: getattr(module, key) for key in ("__all__", "__path__")})
        self.__dict__.update(others)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_module"], name)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._module), *self.__dict__})


class Finder:
    """The import finder of NumPy's modules under our names.

    `importlib.abc`, which has the base classes of finders, would import 15 other modules.
    """

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """The spec for a module under our name; None if NumPy has no such module."""
        if not name.startswith(OURS):
            return None
        inner = name.removeprefix(OURS)
        if "." not in inner and importlib.machinery.PathFinder.find_spec(name, path):
            return None  # a file of axiomjit
        theirs = f"numpy.{inner}"
        if theirs not in sys.modules and importlib.util.find_spec(theirs) is None:
            return None
        loader: Any = self
        return importlib.machinery.ModuleSpec(name, loader, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Let Python make the module, which `exec_module` replaces."""

    def exec_module(self, module: ModuleType) -> None:
        """Replace the new module by NumPy's module."""
        theirs = module.__name__.removeprefix(OURS)
        sys.modules[module.__name__] = importlib.import_module(f"numpy.{theirs}")


def submodule(name: str) -> ModuleType:
    """The module of NumPy with this name, imported under our name."""
    return importlib.import_module(OURS + name)


sys.meta_path.insert(0, Finder())  # else modules would be loaded twice
