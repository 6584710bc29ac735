"""Numba's code generation for the target, and libraries of code that calls only what there is.

LLVM writes calls of its own for what a CPU has no instructions for. Such a function may be nowhere:
a call of it would go to address 0. So machine code is looked through before it is loaded.
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
from axiomjit.runtime.llvm.object_symbols import PROVIDED, undefined_symbols


class TargetLibrary(JITCodeLibrary):
    """Machine code that is loaded if all it calls is there."""

    _codegen: Any
    _final_module: Any

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions to the passes over the whole module.

        Numba runs these passes three times, to bring together what counts references.
        """
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = self._codegen._pass_builder()
        passes.getModulePassManager().run(self._final_module, passes)

    def _finalize_final_module(self) -> None:
        code = self._codegen._tm.emit_object(self._final_module)
        missing = sorted(name for name in undefined_symbols(code) if not self._has(name))
        if missing:
            name = self._codegen.target.name
            raise CompileError(
                f"load the machine code of {self.name!r} for the target {name!r}",
                f"it calls {', '.join(missing)}, which nothing provides",
                "report this, and meanwhile run with AXIOMJIT_DISABLE=1 or on another target",
            )
        self.enable_object_caching()  # the engine takes this code, and compiles none
        self._compiled_object, self.object_code = code, code
        super()._finalize_final_module()

    def _has(self, name: str) -> bool:
        if self._codegen._engine.is_symbol_defined(name):
            return True
        return name in PROVIDED and binding.address_of_symbol(name) is not None


class TargetCodegen(JITCPUCodegen):
    """Code generation for one target, with an engine and a machine of its own."""

    _library_class = TargetLibrary

    def __init__(self, target: Target) -> None:
        """Start an engine."""
        self.target = target
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
    """Numba's context for code of a target: how types are represented, and an engine of its own.

    A kernel calls nothing of what Numba's registries hold, so none is filled: that is half of what
    the first compilation of a process would take. A user's own Numba has another context.
    """

    def __init__(self, target: Target) -> None:
        """Start an engine."""
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
