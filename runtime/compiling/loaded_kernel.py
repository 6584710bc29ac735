"""A kernel whose machine code came from disk; Numba is imported where its text is asked for."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from axiomjit.runtime.compiling.kernel_entry import KernelEntry, make_entry
from axiomjit.runtime.objects.entry import Entry
from axiomjit.runtime.objects.loader import LoadedCode

if TYPE_CHECKING:
    from axiomjit.runtime.compiling.compile_source import CompiledKernel


class LoadedKernel:
    """Machine code of one kernel; it stays loaded as long as this object or its `entry` lives."""

    entry: KernelEntry
    """`entry(words_address, lo, hi)` runs the kernel without the GIL; the status, 0 if done."""
    symbol: str
    """Name of the kernel in its object file."""
    compile_ms: float
    """What compiling took when it was kept, in milliseconds."""
    checked: bool
    """Whether the argument block has the words of a checked kernel (see `report`)."""

    def __init__(
        self, entry: Entry, code: LoadedCode, checked: bool, recompile: Callable[[], CompiledKernel]
    ) -> None:
        """Wrap loaded code; `recompile` compiles its source again."""
        self._code, self._recompile, self.objects = code, recompile, entry.objects
        self.entry = make_entry(code.address, code)
        self.symbol, self.compile_ms, self.checked = entry.symbol, entry.compile_ms, checked

    def unload(self) -> None:
        """Give the memory back now; nothing may run or call the kernel any more."""
        self._code.unload()

    @cached_property
    def _again(self) -> CompiledKernel:
        """The same kernel, compiled here; by the same key it has the same code."""
        return self._recompile()

    @property
    def asm(self) -> str:
        """Assembly text, of the source compiled again."""
        return self._again.asm

    @property
    def llvm(self) -> str:
        """Optimised LLVM IR, of the source compiled again."""
        return self._again.llvm

    @property
    def object_code(self) -> bytes:
        """Relocatable object file, as it was kept."""
        return self.objects[0]

    def packed_instructions(self) -> int:
        """How many x86 instructions of the kernel work on several elements at once."""
        return self._again.packed_instructions()
