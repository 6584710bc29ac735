"""Numba's library of a kernel, which makes steps of elementary functions part of its loops.

LLVM's inliner runs before loops are made vector loops, but what those call for a step of a recipe
is known only then (`elementary.vector_steps`). Loops over what is left of a vector take the forms
for single numbers. After that loops over strips become functions of their own.
"""

from collections.abc import Iterable
from typing import Any

from llvmlite import binding

from axiomjit.base.target import Target
from axiomjit.passes.ir.kernel_ir import Traits
from axiomjit.runtime.elementary.llvm_functions import KEPT, copy_of, declare_linked
from axiomjit.runtime.elementary.vector_steps import PREFIX
from axiomjit.runtime.llvm.target_code import TargetLibrary, target_context
from axiomjit.runtime.object_cache.cached_code import run_passes


class KernelLibrary(TargetLibrary):
    """A library that runs further LLVM passes after the vectoriser."""

    loops_apart = False
    """Whether loops inside the outer one become functions, which have all registers for themselves.

    LLVM takes constants out of all loops at once, and loads them again in every step where several
    loops need more of them than there are registers."""

    def create_ir_module(self, name: str) -> Any:
        """A module whose recipes and steps are linked."""
        return declare_linked(super().create_ir_module(name))

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module and the recipes that it calls."""
        super().add_ir_module(ir_module)
        self._link(ir_module.axiomjit_links)

    def _link(self, names: Iterable[str]) -> None:
        for name in names:
            found = copy_of(self._codegen.target, name)
            if found is not None:
                self._final_module.link_in(found)

    def _optimize_final_module(self) -> None:
        super()._optimize_final_module()
        if self._drop_kept():
            declared = [function.name for function in self._final_module.functions]
            self._link(name for name in declared if name.startswith(PREFIX))
            self._run("always_inliner", "new_gvn", "instruction_combine")
            if self.loops_apart:
                self._run("loop_extract")

    def _drop_kept(self) -> bool:
        """Drop what was kept for the vectoriser and is not called; whether anything was kept."""
        try:
            kept = self._final_module.get_global_variable(KEPT)
        except NameError:
            return False
        kept.name, kept.linkage = "", "private"
        self._run("global_dead_code_eliminate")
        return True

    def _run(self, *names: str) -> None:
        """Run passes of LLVM over the module."""
        passes = binding.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        run_passes(passes, self._final_module, self._codegen._pass_builder())


def new_library(name: str, traits: Traits, target: Target) -> Any:
    """An empty library for a target's code of a kernel whose loops have these traits.

    Inner loops become functions where a unit of the grid is a strip. In rows, which may be short,
    a call would cost more than it gains.
    """
    library = KernelLibrary(target_context(target).codegen(), name)
    library.loops_apart = traits.strips
    return library
