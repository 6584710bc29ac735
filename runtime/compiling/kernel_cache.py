"""Compiled kernels by key: in memory, else on disk, else compiled, once whoever asks first.

A kernel and its checked form (`config.bounds`) are two. A kernel lives as long as a plan runs it;
beyond that, as long as it is one of the last `KEPT` that were asked for.
"""

from __future__ import annotations

import os
import sys
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.locks import FORKS_WAIT, Lock, NotNowError, new_lock, why_not_compile
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

KEPT: Final = 256
"""Kernels that are kept although nobody may run them any more."""


class KernelCache:
    """Kernels in memory; numba is imported by the first that has to be compiled."""

    def __init__(
        self,
        compiler: Compiler | None = None,
        objects: ObjectStore | None = None,
        kept: int = KEPT,
    ) -> None:
        """Start empty.

        Args:
            compiler: `compiler(kernel, checked)` stands in for Numba in tests.
            objects: where machine code is kept on disk; None keeps it in memory.
            kept: how many kernels are kept although nobody may run them any more.
        """
        self._compile, self._most = compiler or _compile, kept
        self._objects = objects
        self._alive: WeakValueDictionary[Key, CompiledKernel | LoadedKernel] = WeakValueDictionary()
        self._recent: OrderedDict[Key, CompiledKernel | LoadedKernel] = OrderedDict()
        self._turns: dict[Key, Lock] = {}

    def get(self, kernel: Kernel) -> CompiledKernel | LoadedKernel:
        """The compiled kernel; threads that ask for one key at once wait for one compilation.

        A signal handler that asks for what its own thread is compiling compiles it, too.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
            NotNowError: it is not compiled yet, and this thread cannot do it now.
        """
        key = kernel.key, config.bounds
        found = self._find(key)
        if found is not None:
            _count_hit()
            return found
        reason = why_not_compile()
        if reason is not None:  # who compiles this key may be waiting for this thread
            raise NotNowError(reason)
        with self._turns.setdefault(key, new_lock()):
            found = self._find(key)
            if found is not None:
                _count_hit()
                return found
            found = self._alive[key] = self._made(kernel, key[1])
            self._keep(key, found)
            self._turns.pop(key, None)
        return found

    def forget(self) -> None:
        """Keep no kernel that nobody runs."""
        self._recent.clear()

    def _find(self, key: Key) -> CompiledKernel | LoadedKernel | None:
        found = self._alive.get(key)
        if found is not None:
            self._keep(key, found)
        return found

    def _keep(self, key: Key, kernel: CompiledKernel | LoadedKernel) -> None:
        """Make a kernel the last one that was asked for; other threads may do so meanwhile."""
        self._recent[key] = kernel
        with suppress(KeyError):
            self._recent.move_to_end(key)
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)

    def _made(self, kernel: Kernel, checked: bool) -> CompiledKernel | LoadedKernel:
        """A kernel that is not in memory."""
        objects = self._objects
        if objects is None or not objects.folders() or not _compiles_here():
            return self._compiled(kernel, checked)
        key = disk_key(kernel, objects.record_of(kernel.target), checked, config.cache_tag)
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
    with FORKS_WAIT:
        import numba

        if numba.config.DISABLE_JIT:
            raise ImportError("NUMBA_DISABLE_JIT is set")
        from axiomjit.runtime.compiling.compile_source import compile_source

        target = kernel.target.record
        return compile_source(
            kernel.source, kernel.parameters, target, kernel.traits, checked=checked
        )


KERNELS: Final = KernelCache(objects=OBJECTS)
