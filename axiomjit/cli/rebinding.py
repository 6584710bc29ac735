"""Rebind `numpy` to `axiomjit.numpy` in the modules of one program; other modules keep NumPy."""

from __future__ import annotations

import ast
import os
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from types import CodeType, ModuleType
from typing import Any, Final

from axiomjit.functions.numpy_imports import rebind_imports

PROGRAM: Final = "_axiomjit_program"
"""The module name under which spawned processes import the program's file."""
SPAWN: Final = "multiprocessing.spawn"
INSTALLED: Final = {"site-packages", "dist-packages"}
STANDARD: Final = os.path.join(os.path.dirname(os.__file__), "")


def rebound_code(source: bytes, file: str) -> CodeType:
    """Compile a module so that its imports of NumPy import `axiomjit.numpy`; lines stay the same.

    Raises:
        SyntaxError, ValueError: the source cannot be compiled.
    """
    tree = ast.parse(source, file)
    if b"numpy" in source:
        rebind_imports(tree)
    code: CodeType = compile(tree, file, "exec", dont_inherit=True)
    return code


def rebind(folders: Sequence[str], program: str = "") -> None:
    """Rebind NumPy in modules of these folders from now on, also in spawned processes.

    Args:
        folders: Absolute paths; packages installed below them, and Python's library, keep NumPy.
        program: The file that runs as `__main__`; empty if no file does.
    """
    finder = _Finder(folders, program)
    sys.meta_path.insert(0, finder)
    if SPAWN in sys.modules:
        finder.rebind_spawned(sys.modules[SPAWN])


class _Finder:
    """Finds modules by the finders after it, and gives modules of the program another loader."""

    def __init__(self, folders: Sequence[str], program: str) -> None:
        self.folders = tuple(folders)
        self.program = program

    def __reduce__(self) -> tuple[Callable[..., None], tuple[object, ...]]:
        """Unpickling in a spawned process rebinds NumPy there."""
        return rebind, (self.folders, self.program)

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The spec of a module; None if no finder knows the module."""
        if name == PROGRAM and self.program:
            loader = SourceFileLoader(name, self.program)
            return self._rebound(spec_from_file_location(name, self.program, loader=loader))
        rest = sys.meta_path[sys.meta_path.index(self) + 1 :]
        specs = (finder.find_spec(name, path, target) for finder in rest)
        spec = next((spec for spec in specs if spec is not None), None)
        if spec is not None and name == SPAWN and type(spec.loader) is SourceFileLoader:
            spec.loader = _SpawnLoader(name, spec.loader.path, self)
        return self._rebound(spec)

    def _rebound(self, spec: ModuleSpec | None) -> ModuleSpec | None:
        """The spec, with a rebinding loader for a module of the program that uses NumPy."""
        if spec is None or type(spec.loader) is not SourceFileLoader or not self._is_own(spec):
            return spec
        loader = spec.loader
        try:
            source = loader.get_data(loader.path)
            if b"numpy" in source:
                code = rebound_code(source, loader.path)
                spec.loader = _RebindingLoader(loader.name, loader.path, code)
        except (OSError, SyntaxError, ValueError, RecursionError):
            pass  # raised again by Python's own loader, without a frame of ours
        return spec

    def _is_own(self, spec: ModuleSpec) -> bool:
        """True for a module of the program itself."""
        file = os.path.abspath(spec.origin or "")
        if spec.name.partition(".")[0] in ("axiomjit", "numpy") or file.startswith(STANDARD):
            return False
        if not INSTALLED.isdisjoint(file.split(os.sep)):
            return False
        return any(file.startswith(os.path.join(folder, "")) for folder in self.folders)

    def rebind_spawned(self, spawn: Any) -> None:
        """Let `multiprocessing.spawn` rebind NumPy in the processes that it starts."""
        prepare = spawn.get_preparation_data

        def get_preparation_data(name: str) -> dict[str, object]:
            data = {"axiomjit": self, **prepare(name)}  # first, so that it is unpickled first
            if self.program and data.get("init_main_from_path") == self.program:
                del data["init_main_from_path"]  # would be run without our loader
                data["init_main_from_name"] = PROGRAM
            return data

        spawn.get_preparation_data = get_preparation_data


class _RebindingLoader(SourceFileLoader):
    """A loader with rebound code, which is never written to `__pycache__`."""

    def __init__(self, name: str, path: str, code: CodeType) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> CodeType:
        """The rebound code, for any name."""
        return self._code


class _SpawnLoader(SourceFileLoader):
    """A loader of `multiprocessing.spawn` after which spawned processes rebind NumPy, too."""

    def __init__(self, name: str, path: str, finder: _Finder) -> None:
        super().__init__(name, path)
        self._finder = finder

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, then let it rebind NumPy in spawned processes."""
        super().exec_module(module)
        self._finder.rebind_spawned(module)
