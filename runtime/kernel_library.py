"""Numba's library of a kernel, which makes steps of elementary functions part of its loops.

LLVM's inliner runs before loops are made vector loops, but what those call for a step of a recipe
is known only then (`vector_math.native`). Loops over what is left of a vector take the forms for
single numbers. After that long loops start divisions early, and loops over strips become functions
of their own.
"""

import re
from typing import Any

from llvmlite import binding

from axiomjit.runtime.early_divisions import start_early
from axiomjit.runtime.target_code import TargetLibrary, target_context
from axiomjit.runtime.vector_math.native import PREFIX
from axiomjit.target import target

GRID_OF_STRIPS = re.compile(r"^    for i0 in range\(lo, hi\):\n        k0 = i0 \* ", re.MULTILINE)
ROWS = re.compile(r"^ {8,}for \w+ in range\(n\d+\):", re.MULTILINE)
COMBINE = "    if lo == hi:\n"
AVX512 = 64


class KernelLibrary(TargetLibrary):
    """A library whose optimisation ends with what must follow the making of vector loops."""

    loops_apart = False
    """Whether loops inside the outer one become functions, which have all registers for themselves.

    LLVM takes constants out of all loops at once, and loads them again in every step where several
    loops need more of them than there are registers."""
    divides_early = False
    """Whether loops over vectors have the steps and the registers to divide one vector ahead."""

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        steps = [f for f in self._final_module.functions if f.name.startswith(PREFIX)]
        for step in steps:
            step.add_function_attribute("alwaysinline")
        if steps:
            self._run("always_inliner", "new_gvn", "instruction_combine")
            if self.divides_early:
                self._start_divisions_early()
            if self.loops_apart:
                self._run("loop_extract")

    def _start_divisions_early(self) -> None:
        text = start_early(str(self._final_module))
        if text is not None:
            name = self._final_module.name
            self._final_module = binding.parse_assembly(text)
            self._final_module.name = name

    def _run(self, *names: str) -> None:
        """Run passes of LLVM over the module."""
        passes = binding.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        passes.run(self._final_module, self._codegen._pass_builder())


def new_library(name: str, source: str) -> Any:
    """An empty library for a kernel with this source.

    Its loops come apart where the grid is one of strips. In rows, which may be short, calls of
    functions would cost more than they gain, and so would divisions before the first step; these
    want the 32 registers of AVX-512, too.
    """
    library = KernelLibrary(target_context().codegen(), name)
    library.loops_apart = GRID_OF_STRIPS.search(source) is not None
    rows = ROWS.search(source.partition(COMBINE)[0])
    library.divides_early = rows is None and target().vector_bytes >= AVX512
    return library
