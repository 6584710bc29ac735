"""Compiled kernels by key: each key is compiled once per process, whoever asks first.

A kernel and its checked form (`config.bounds`) are two. A kernel lives as long as a plan runs it;
beyond that, as long as it is one of the last `KEPT` that were asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final
from weakref import WeakValueDictionary

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.locks import FORKS_WAIT, Lock, new_lock, why_not_compile
from axiomjit.passes.ir.kernel_ir import Kernel

if TYPE_CHECKING:
    from axiomjit.runtime.compiling.compile_source import CompiledKernel


_count_compile: Final = counter("compiles")
_count_hit: Final = counter("cache_hits")
Compiler = Callable[[Kernel, bool], "CompiledKernel"]


KEPT: Final = 256
"""Kernels that live although nobody may run them any more."""


class NotNowError(Exception):
    """This thread must not compile now, as `locks.why_not_compile` says; NumPy answers the call."""


class KernelCache:
    """Kernels in memory; numba is imported by the first that has to be compiled."""

    def __init__(self, compiler: Compiler | None = None, kept: int = KEPT) -> None:
        """Start empty; `compiler(kernel, checked)` stands in for Numba in tests."""
        self._compile, self._most = compiler or _compile, kept
        self._alive: WeakValueDictionary[tuple[str, bool], CompiledKernel] = WeakValueDictionary()
        self._recent: OrderedDict[tuple[str, bool], CompiledKernel] = OrderedDict()
        self._turns: dict[tuple[str, bool], Lock] = {}

    def get(self, kernel: Kernel) -> CompiledKernel:
        """The compiled kernel; threads that ask for one key at once wait for one compilation.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
            NotNowError: it is not compiled yet, and this thread cannot do it now.
        """
        key = kernel.key, config.bounds
        found = self._find(key)
        if found is None:
            reason = why_not_compile()
            if reason is not None:  # whose turn it is may be waiting for this thread
                raise NotNowError(reason)
            with self._turns.setdefault(key, new_lock()):
                found = self._find(key)
                if found is None:
                    found = self._alive[key] = self._compile(kernel, key[1])
                    self._keep(key, found)
                    self._turns.pop(key, None)
                    _count_compile()
                    return found
        _count_hit()
        return found

    def forget(self) -> None:
        """Keep no kernel that nobody runs."""
        self._recent.clear()

    def _find(self, key: tuple[str, bool]) -> CompiledKernel | None:
        found = self._alive.get(key)
        if found is not None:
            self._keep(key, found)
        return found

    def _keep(self, key: tuple[str, bool], kernel: CompiledKernel) -> None:
        """Make a kernel the last one that was asked for; other threads may do so meanwhile."""
        self._recent[key] = kernel
        with suppress(KeyError):
            self._recent.move_to_end(key)
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)


def _compile(kernel: Kernel, checked: bool) -> CompiledKernel:
    """Compile with Numba.

    Raises:
        ImportError: there is no Numba, or it is told to compile nothing.
        GraphValueError: this CPU cannot run code of the kernel's target.
    """
    with FORKS_WAIT:
        import numba

        if numba.config.DISABLE_JIT:
            raise ImportError("NUMBA_DISABLE_JIT is set")
        from axiomjit.runtime.compiling.compile_source import compile_source

        target = kernel.target.record
        return compile_source(
            kernel.source, kernel.parameters, target, kernel.traits, checked=checked
        )


KERNELS: Final = KernelCache()
