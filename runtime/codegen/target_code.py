"""Numba's code generation for the target: libraries that end as object files and are not loaded.

LLVM writes calls of its own for what a CPU has no instructions for. Such a function may be nowhere:
a call of it would go to address 0. So machine code is looked through before anybody loads it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext

from axiomjit.base.errors import CompileError
from axiomjit.base.target import Target
from axiomjit.runtime.object_cache.entry import PROVIDED, ObjectFile, tables_of
from axiomjit.runtime.object_cache.store import run_passes


class TargetLibrary(JITCodeLibrary):
    """Machine code of which all that it calls is there, once it is finalized."""

    _codegen: Any
    _final_module: Any
    object_code: bytes
    """The object file."""
    tables: ObjectFile
    """What it calls outside itself, and what it defines."""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The object file, and the object files of shared libraries that it calls."""
        found = [self]
        for library in found:  # which grows meanwhile
            called = (self._codegen.shared.get(name) for name in sorted(library.tables.undefined))
            found += [one for one in dict.fromkeys(called) if one and one not in found]
        return tuple(library.object_code for library in found)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions to the passes over the whole module.

        Numba runs these passes three times, to bring together what counts references.
        """
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = self._codegen._pass_builder()
        run_passes(passes.getModulePassManager(), self._final_module, passes)

    def _finalize_final_module(self) -> None:
        code = self._codegen._tm.emit_object(self._final_module)
        self.tables = tables_of(code)
        missing = sorted([name for name in self.tables.undefined if not self._has(name)])
        if missing:
            name = self._codegen.target.name
            raise CompileError(
                f"load the machine code of {self.name!r} for the target {name!r}",
                f"it calls {', '.join(missing)}, which nothing provides",
                "report this, and meanwhile run with AXIOMJIT_DISABLE=1 or on another target",
            )
        self.object_code, self._finalized = code, True

    def share(self) -> None:
        """Let other libraries of the target call what this one defines."""
        self._codegen.shared |= dict.fromkeys(self.tables.defined, self)

    def _has(self, name: str) -> bool:
        if name in self._codegen.shared:
            return True
        return name in PROVIDED and binding.address_of_symbol(name) is not None


class TargetCodegen(JITCPUCodegen):
    """Code generation for one target, with a machine of its own; its engine loads nothing."""

    _library_class = TargetLibrary

    def __init__(self, target: Target) -> None:
        """Make the machine."""
        self.target = target
        self.shared: dict[str, TargetLibrary] = {}
        super().__init__("axiomjit.exec")

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.axiomjit_target = self.target
        return module

    def _get_host_cpu_name(self) -> str:
        return self.target.cpu

    def _get_host_cpu_features(self) -> str:
        return self.target.features


class TargetContext(CPUContext):
    """Numba's context for code of a target: how types are represented, and how code is made.

    A kernel calls nothing of what Numba's registries hold, so none is filled: that is half of what
    the first compilation of a process would take. A user's own Numba has another context.
    """

    def __init__(self, target: Target) -> None:
        """Start code generation."""
        self._internal_codegen = TargetCodegen(target)
        super().__init__(None)

    def init(self) -> None:
        """Nothing is left to be done."""


@global_compiler_lock
@cache
def target_context(target: Target) -> Any:
    """Numba's context for code of a target."""
    return TargetContext(target)


def target_of(module: Any) -> Target:
    """The target of a module of LLVM code: rules of emission ask it what instructions there are."""
    found: Target = module.axiomjit_target
    return found
