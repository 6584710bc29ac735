"""Compile kernel source to machine code, with Numba and LLVM.

A kernel is compiled to `i32 k(result*, exception*, words*, lo, hi)`. The kernel has Numba's raw
calling convention, without CPython or C wrapper, reference counting, fastmath and threads. Numba
uses the first two pointers; a kernel does not touch them.

`lower_source` turns the source into LLVM code, with Numba's types, data models and intrinsics.
Numba's front end (byte code, type inference, registries of functions) is not used, since the
language of kernels does not need it. `KernelLibrary`, a subclass of Numba's code library, has LLVM
optimise the code and write an object file, which is loaded like object files from disk.

LLVM's inliner runs before its vectoriser. Vectorised loops call the vector forms of functions for
steps of recipes (`llvm_functions`), and loops over the remaining elements call their scalar forms;
the library inlines both afterwards. Finally, loops over strips become functions.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from llvmlite import binding
from numba.core.compiler_lock import global_compiler_lock

from axiomjit.base.caching import sha256
from axiomjit.base.errors import AxiomError, CompileError
from axiomjit.base.target import Target
from axiomjit.passes.ir.plan_ir import Traits
from axiomjit.runtime.codegen import kernel_types, memory_builtins, tree_builtins, value_builtins
from axiomjit.runtime.codegen.kernel_types import WordsType
from axiomjit.runtime.codegen.llvm_functions import (
    COMPILER_USED,
    PREFIX,
    TargetLibrary,
    copy_of,
    declare_linked,
    target_context,
)
from axiomjit.runtime.codegen.lower_source import lower_source
from axiomjit.runtime.object_cache.store import run_passes

if TYPE_CHECKING:
    from axiomjit.runtime.codegen.plain_builtins import KernelWord


class KernelLibrary(TargetLibrary):
    """A code library of Numba that runs additional LLVM passes after the vectoriser."""

    loops_apart = False
    """True if each inner loop becomes a function, which can use all registers.

    If loops are not functions, LLVM loads the constants of all loops before the first loop. If
    there are more constants than registers, LLVM loads constants again in every step of a loop.
    """

    def create_ir_module(self, name: str) -> Any:
        """A new module that records the recipes and steps to link."""
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
        """Drop functions that were kept only for the vectoriser; True if there were any."""
        try:
            kept = self._final_module.get_global_variable(COMPILER_USED)
        except NameError:
            return False
        kept.name, kept.linkage = "", "private"
        self._run("global_dead_code_eliminate")
        return True

    def _run(self, *names: str) -> None:
        """Run LLVM passes over the final module."""
        passes = binding.create_new_module_pass_manager()
        for name in names:
            getattr(passes, f"add_{name}_pass")()
        run_passes(passes, self._final_module, self._codegen._pass_builder())


def new_library(name: str, traits: Traits, target: Target) -> Any:
    """An empty code library for a kernel with these traits, for a target.

    Inner loops become functions if they run over strips. In loops over rows, which may be short, a
    call would cost more time than it saves.
    """
    library = KernelLibrary(target_context(target).codegen(), name)
    library.loops_apart = traits.strips
    return library


NAMES: dict[str, Any] = {
    "inf": math.inf,
    "nan": math.nan,
    **kernel_types.NAMES,
    **memory_builtins.NAMES,
    **value_builtins.NAMES,
    **value_builtins.NAMES,
    **tree_builtins.NAMES,
}
"""The names of a kernel source, without elementary functions (see `plain_builtins.plain_names`)."""
CHECKED_NAMES: dict[str, Any] = {**NAMES, **memory_builtins.CHECKED_NAMES}
"""The names of a kernel source if the kernel checks each access (see `plan_ir.Kernel`)."""

TRAITS: Final = Traits()
"""The traits of a kernel without elementary functions, strips or rows."""
# Packed instructions on x86: in wide registers all instructions except moves; in 128-bit registers
# only arithmetic, since scalar code also uses packed logic and moves there.
_WIDE = re.compile(r"^\s+(?!\w*mov)v\w+\s.*%[yz]mm", re.MULTILINE)
_NARROW = re.compile(
    r"^\s+v?(?:(?:add|sub|mul|div|sqrt|max|min|cmp\w*|fn?m(?:add|sub)\d+)p[sd]"
    r"|p(?:add|sub|mul|cmp|max|min)\w+)\s(?!.*%[yz]mm).*%xmm",
    re.MULTILINE,
)


class CompiledKernel:
    """A compiled kernel: its object files and texts."""

    __slots__ = ("_library", "checked", "compile_ms", "objects", "symbol")

    symbol: str
    """The symbol of the kernel in the first object file."""
    objects: tuple[bytes, ...]
    """The relocatable object file of the kernel, then the object files of called functions."""
    compile_ms: float
    """The compile time in milliseconds."""
    checked: bool
    """True if the argument block has the words of a checked kernel (see `plan_ir.Kernel`)."""

    def __init__(self, library: Any, symbol: str, compile_ms: float, checked: bool) -> None:
        """Wrap the function `symbol` of Numba's code library."""
        self.objects = library.objects
        self.symbol, self.compile_ms, self._library = symbol, compile_ms, library
        self.checked = checked

    @property
    def asm(self) -> str:
        """The assembly text, generated anew by each access."""
        with global_compiler_lock:
            return str(self._library.get_asm_str())

    @property
    def llvm(self) -> str:
        """The optimised LLVM IR."""
        with global_compiler_lock:
            return str(self._library.get_llvm_str())

    def packed_instructions(self) -> int:
        """The number of x86 instructions of the kernel that process several elements at once."""
        own = re.compile(rf"^{re.escape(self.symbol)}[\w.]*:$.*?\.size", re.MULTILINE | re.DOTALL)
        text = "".join(own.findall(self.asm))  # of the kernel, and of its loops that are functions
        return len(_WIDE.findall(text)) + len(_NARROW.findall(text))


def _remedy(source: str) -> str:
    """The remedy of a message about generated source that does not compile."""
    return "report this source, and meanwhile run without compilation:\n" + source


def _namespace(traits: Traits, checked: bool) -> dict[str, Any]:
    """For each name in a kernel source, its intrinsic; elementary functions only if needed."""
    names = CHECKED_NAMES if checked else NAMES
    if not traits.functions:
        return names
    from axiomjit.runtime.codegen import elementary_builtins as elementary

    loads = {} if checked else memory_builtins.PREFETCHING_NAMES
    return names | elementary.intrinsics_for(traits.functions) | loads


def compile_source(
    source: str,
    parameters: Sequence[KernelWord],
    target: Target,
    traits: Traits = TRAITS,
    *,
    checked: bool = False,
) -> CompiledKernel:
    """Compile the function `kernel(w, lo, hi)` that `source` defines.

    Returns:
        The kernel, which is not loaded. Several threads may call `compile_source`; they compile one
        after the other.

    Raises:
        CompileError: Numba or LLVM refused the source, or a function that it calls does not exist.
    """
    try:
        with global_compiler_lock:
            started = time.perf_counter()
            library = new_library("kernel", traits, target)
            symbol = "kernel_" + sha256(source.encode()).hexdigest()[:16]
            module = library.create_ir_module(symbol)
            words = WordsType([(p.kind, p.dtype) for p in parameters])
            names = _namespace(traits, checked)
            lower_source(source, words, names, target_context(target), module, symbol)
            library.add_ir_module(module)
            library.finalize()
            took_ms = (time.perf_counter() - started) * 1e3
    except AxiomError:
        raise
    except Exception as error:  # any error of Numba or LLVM; their traceback does not help users
        asked = f"compile a kernel of {len(parameters)} parameters"
        raise CompileError(asked, f"{type(error).__name__}: {error}", _remedy(source)) from None
    return CompiledKernel(library, symbol, took_ms, checked)
