"""Compiled kernels by key: in memory, else on disk, else compiled, once whoever asks first.

A kernel and its checked form (`config.bounds`) are two.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.runtime.objects.keys import disk_key
from axiomjit.runtime.objects.store import OBJECTS, ObjectStore

if TYPE_CHECKING:
    from axiomjit.runtime.compiling.compile_source import CompiledKernel
    from axiomjit.runtime.compiling.loaded_kernel import LoadedKernel

_count_compile: Final = counter("compiles")
_count_hit: Final = counter("cache_hits")
Compiler = Callable[[Kernel, bool], "CompiledKernel"]
Key = tuple[str, bool]


class KernelCache:
    """Kernels in memory; numba is imported by the first that has to be compiled."""

    def __init__(
        self, compiler: Compiler | None = None, objects: ObjectStore | None = None
    ) -> None:
        """Start empty.

        Args:
            compiler: `compiler(kernel, checked)` stands in for Numba in tests.
            objects: where machine code is kept on disk; None keeps it in memory.
        """
        self._compile = compiler or _compile
        self._objects = objects
        self._kernels: dict[Key, CompiledKernel | LoadedKernel] = {}
        self._pending: dict[Key, Any] = {}

    def get(self, kernel: Kernel) -> CompiledKernel | LoadedKernel:
        """The compiled kernel; threads that ask for one key at once wait for one compilation.

        A signal handler that asks for what its own thread is compiling compiles it, too.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
        """
        key = kernel.key, config.bounds
        found = self._kernels.get(key)
        if found is not None:
            _count_hit()
            return found
        with self._pending.setdefault(key, threading.RLock()):
            found = self._kernels.get(key)
            if found is not None:
                _count_hit()
                return found
            made = self._made(kernel, key[1])
            found = self._kernels.setdefault(key, made)
        self._pending.pop(key, None)
        return found

    def forget(self, kernel: Kernel) -> None:
        """Drop both forms of a kernel; the code goes when no plan that runs it is left."""
        for checked in (False, True):
            self._kernels.pop((kernel.key, checked), None)

    def reset_locks(self) -> None:
        """Take new locks: in a forked child, whoever held the old ones is not there."""
        self._pending = {}

    def _made(self, kernel: Kernel, checked: bool) -> CompiledKernel | LoadedKernel:
        """A kernel that is not in memory."""
        objects = self._objects
        if objects is None or not objects.folders() or not _compiles_here():
            return self._compiled(kernel, checked)
        key = disk_key(kernel, kernel.target.record, checked, config.cache_tag)
        if key is None:
            return self._compiled(kernel, checked)
        found = objects.find(key)
        if found is not None:
            from axiomjit.runtime.compiling.loaded_kernel import LoadedKernel

            return LoadedKernel(*found, checked, partial(self._compiled, kernel, checked))
        made = self._compiled(kernel, checked)
        objects.keep(key, made)
        return made

    def _compiled(self, kernel: Kernel, checked: bool) -> CompiledKernel:
        made = self._compile(kernel, checked)
        _count_compile()
        return made


def _compiles_here() -> bool:
    """Whether Numba is not told to compile nothing, as far as can be seen without importing it."""
    numba: Any = sys.modules.get("numba")
    if numba is not None:
        return not numba.config.DISABLE_JIT
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


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


KERNELS: Final = KernelCache(objects=OBJECTS)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=KERNELS.reset_locks)
