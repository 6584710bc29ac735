"""Numba's library of a kernel, which makes steps of elementary functions part of its loops.

LLVM's inliner runs before loops are made vector loops, but what those call for a step of a recipe
is known only then (`vector_math.native`). Loops over what is left of a vector take the forms for
single numbers.
"""

from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from axiomjit.runtime.vector_math.native import PREFIX


class KernelLibrary(JITCodeLibrary):
    """A library whose optimisation ends with what must follow the making of vector loops."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        steps = [f for f in self._final_module.functions if f.name.startswith(PREFIX)]
        for step in steps:
            step.add_function_attribute("alwaysinline")
        if steps:
            passes = binding.create_new_module_pass_manager()
            passes.add_always_inliner_pass()
            passes.add_new_gvn_pass()
            passes.add_instruction_combine_pass()
            passes.run(self._final_module, self._codegen._pass_builder())


def new_library(name: str) -> Any:
    """An empty library."""
    library = KernelLibrary(cpu_target.target_context.codegen(), name)
    library.enable_object_caching()  # keeps the object code, for disk caches
    return library
