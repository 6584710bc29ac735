"""Compiled kernels by key: each key is compiled once per process, whoever asks first.

A kernel and its checked form (`config.bounds`) are two.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.passes.ir.kernel_ir import Kernel

if TYPE_CHECKING:
    from axiomjit.runtime.compiling.compile_source import CompiledKernel


_count_compile: Final = counter("compiles")
_count_hit: Final = counter("cache_hits")
Compiler = Callable[[Kernel, bool], "CompiledKernel"]


class KernelCache:
    """Kernels in memory; numba is imported by the first that has to be compiled."""

    def __init__(self, compiler: Compiler | None = None) -> None:
        """Start empty; `compiler(kernel, checked)` stands in for Numba in tests."""
        self._compile = compiler or _compile
        self._lock = threading.Lock()
        self._kernels: dict[tuple[str, bool], CompiledKernel] = {}
        self._pending: dict[tuple[str, bool], threading.Lock] = {}

    def get(self, kernel: Kernel) -> CompiledKernel:
        """The compiled kernel; threads that ask for one key at once wait for one compilation.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
        """
        key = kernel.key, config.bounds
        with self._lock:
            found = self._kernels.get(key)
            pending = self._pending.setdefault(key, threading.Lock())
        if found is None:
            with pending:
                found = self._kernels.get(key)
                if found is None:
                    found = self._compile(kernel, key[1])
                    _count_compile()
                    with self._lock:
                        self._kernels[key] = found
                    return found
        _count_hit()
        return found


def _compile(kernel: Kernel, checked: bool) -> CompiledKernel:
    """Compile with Numba.

    Raises:
        ImportError: there is no Numba, or it is told to compile nothing.
        GraphValueError: this CPU cannot run code of the kernel's target.
    """
    import numba

    if numba.config.DISABLE_JIT:
        raise ImportError("NUMBA_DISABLE_JIT is set")
    from axiomjit.runtime.compiling.compile_source import compile_source

    target = kernel.target.record
    return compile_source(kernel.source, kernel.parameters, target, kernel.traits, checked=checked)


KERNELS: Final = KernelCache()
