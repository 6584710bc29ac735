"""Numba's library of a kernel, which makes steps of elementary functions part of its loops.

LLVM's inliner runs before loops are made vector loops, but what those call for a step of a recipe
is known only then (`vector_math.native`). Loops over what is left of a vector take the forms for
single numbers. Loops over strips become functions of their own after that.
"""

import re
from typing import Any

from llvmlite import binding
from numba.core.codegen import JITCodeLibrary
from numba.core.registry import cpu_target

from axiomjit.runtime.vector_math.native import PREFIX

GRID_OF_STRIPS = re.compile(r"^    for i0 in range\(lo, hi\):\n        k0 = i0 \* ", re.MULTILINE)


class KernelLibrary(JITCodeLibrary):
    """A library whose optimisation ends with what must follow the making of vector loops."""

    loops_apart = False
    """Whether loops inside the outer one become functions, which have all registers for themselves.

    LLVM takes constants out of all loops at once, and loads them again in every step where several
    loops need more of them than there are registers."""

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
            if self.loops_apart:
                passes.add_loop_extract_pass()
            passes.run(self._final_module, self._codegen._pass_builder())


def new_library(name: str, source: str) -> Any:
    """An empty library for a kernel with this source.

    Its loops come apart where the grid is one of strips; in rows, which may be short, calls of
    functions would cost more than they gain.
    """
    library = KernelLibrary(cpu_target.target_context.codegen(), name)
    library.loops_apart = GRID_OF_STRIPS.search(source) is not None
    library.enable_object_caching()  # keeps the object code, for disk caches
    return library
