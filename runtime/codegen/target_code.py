"""Numba's code generation for a target: libraries that become object files and are not loaded.

LLVM adds calls of functions for operations that a CPU lacks. Such a function may not exist, and
calling it would jump to address 0. So machine code is checked for calls before it is loaded.
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
from axiomjit.runtime.object_cache.cached_code import run_passes
from axiomjit.runtime.object_cache.object_file import PROVIDED, defined_symbols, undefined_symbols


class TargetLibrary(JITCodeLibrary):
    """Machine code, which once finalized calls only functions that exist."""

    _codegen: Any
    _final_module: Any
    object_code: bytes
    """The object file."""
    calls: set[str]
    """The functions that it calls but does not define."""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The object file, and the object files of shared libraries that it calls."""
        found = [self]
        for library in found:  # the list grows meanwhile
            called = (self._codegen.shared.get(name) for name in sorted(library.calls))
            found += [one for one in dict.fromkeys(called) if one and one not in found]
        return tuple(library.object_code for library in found)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions to the passes over the whole module.

        Numba runs these passes three times, for reference counting, which kernels do not use.
        """
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = self._codegen._pass_builder()
        run_passes(passes.getModulePassManager(), self._final_module, passes)

    def _finalize_final_module(self) -> None:
        code = self._codegen._tm.emit_object(self._final_module)
        self.calls = undefined_symbols(code)
        missing = sorted(name for name in self.calls if not self._has(name))
        if missing:
            name = self._codegen.target.name
            raise CompileError(
                f"load the machine code of {self.name!r} for the target {name!r}",
                f"it calls {', '.join(missing)}, which nothing provides",
                "report this, and meanwhile run with AXIOMJIT_DISABLE=1 or on another target",
            )
        self.object_code, self._finalized = code, True

    def share(self) -> None:
        """Let other libraries of the target call the functions of this one."""
        self._codegen.shared |= dict.fromkeys(defined_symbols(self.object_code), self)

    def _has(self, name: str) -> bool:
        if name in self._codegen.shared:
            return True
        return name in PROVIDED and binding.address_of_symbol(name) is not None


class TargetCodegen(JITCPUCodegen):
    """Code generation for one target, with its own LLVM target machine; it loads no code."""

    _library_class = TargetLibrary

    def __init__(self, target: Target) -> None:
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
    """Numba's target context: the representation of types, and code generation.

    A kernel uses nothing from Numba's registries, so they stay empty, which halves the time of a
    process's first compilation. Numba functions of the user have another context.
    """

    def __init__(self, target: Target) -> None:
        self._internal_codegen = TargetCodegen(target)
        super().__init__(None)

    def init(self) -> None:
        """Do nothing: Numba would fill its registries here."""


@global_compiler_lock
@cache
def target_context(target: Target) -> Any:
    """Numba's context for code of a target."""
    return TargetContext(target)


def target_of(module: Any) -> Target:
    """The target of an LLVM module; emissions depend on its instructions."""
    found: Target = module.axiomjit_target
    return found
