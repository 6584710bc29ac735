"""A kernel in memory; its machine code was compiled just now or comes from disk."""

from __future__ import annotations

from axiomjit.base.errors import CompileError
from axiomjit.runtime.compiling.kernel_entry import KernelEntry, make_entry
from axiomjit.runtime.object_cache.entry import Entry
from axiomjit.runtime.object_cache.loader import LoadedCode, load


class LoadedKernel:
    """Machine code of one kernel; it stays loaded as long as this object or its `entry` lives."""

    __slots__ = ("__weakref__", "checked", "compile_ms", "entry")

    entry: KernelEntry
    """`entry(words_address, lo, hi)` runs the kernel without the GIL; the status, 0 if done."""
    compile_ms: float
    """What compiling took, in milliseconds."""
    checked: bool
    """Whether the argument block has the words of a checked kernel (see `report`)."""

    def __init__(self, code: LoadedCode, compile_ms: float, checked: bool) -> None:
        """Wrap loaded code."""
        self.entry = make_entry(code.address, code)
        self.compile_ms, self.checked = compile_ms, checked


def load_kernel(compiled: Entry, checked: bool) -> LoadedKernel:
    """Load what was just compiled.

    Raises:
        CompileError: LLVM refuses it, or there is no memory for code.
    """
    try:
        code = load(compiled)
    except OSError as error:
        raise CompileError(
            f"load the machine code of {compiled.symbol}",
            f"the system gives no memory that can be executed ({error})",
            "free memory, allow it, or run with AXIOMJIT_DISABLE=1",
        ) from None
    if code is None:
        raise CompileError(
            f"load the machine code of {compiled.symbol}",
            "LLVM refuses its object file",
            "report this, and meanwhile run with AXIOMJIT_DISABLE=1",
        )
    return LoadedKernel(code, compiled.compile_ms, checked)
