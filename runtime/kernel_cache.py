"""Compiled kernels by key: each key is compiled once per process, whoever asks first."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from axiomjit.counters import count
from axiomjit.passes.kernel_ir import Kernel

if TYPE_CHECKING:
    from axiomjit.runtime.compile_source import CompiledKernel


class KernelCache:
    """Kernels in memory; numba is imported by the first that has to be compiled."""

    def __init__(self, compiler: Callable[[Kernel], CompiledKernel] | None = None) -> None:
        """Start empty; `compiler` stands in for Numba in tests."""
        self._compile = compiler or _compile
        self._lock = threading.Lock()
        self._kernels: dict[str, CompiledKernel] = {}
        self._pending: dict[str, threading.Lock] = {}

    def get(self, kernel: Kernel) -> CompiledKernel:
        """The compiled kernel; threads that ask for one key at once wait for one compilation.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
        """
        with self._lock:
            found = self._kernels.get(kernel.key)
            pending = self._pending.setdefault(kernel.key, threading.Lock())
        if found is None:
            with pending:
                found = self._kernels.get(kernel.key)
                if found is None:
                    found = self._compile(kernel)
                    count("compiles")
                    with self._lock:
                        self._kernels[kernel.key] = found
                    return found
        count("cache_hits")
        return found


def _compile(kernel: Kernel) -> CompiledKernel:
    from axiomjit.runtime.compile_source import compile_source

    return compile_source(kernel.source, kernel.parameters)


KERNELS: Final = KernelCache()
