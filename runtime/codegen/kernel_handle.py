"""Handles of kernels, held by plans and native calls; machine code may be dropped and reloaded.

A loaded kernel is machine code in memory, compiled or read from disk, which is called as a Python
function.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import weakref
from array import array
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final, Protocol

from axiomjit.base.errors import CompileError
from axiomjit.base.locks import NotNowError
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.runtime.object_cache.entry import Entry
from axiomjit.runtime.object_cache.loader import LoadedCode, load

KernelEntry = Callable[[int, int, int], int]
"""`entry(words_address, lo, hi)` runs a kernel without the GIL and returns 0 for success."""
_ENTRY: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
)
# Serves as Numba's result and exception slots; a kernel without a result only stores a null there,
# so threads can share it.
_SCRATCH: Final = ctypes.create_string_buffer(64)


def make_entry(address: int, owner: object) -> KernelEntry:
    """The function at an address; it keeps `owner`, which keeps the code loaded, alive."""
    function = _ENTRY(address)
    function.library = owner  # type: ignore[attr-defined]
    scratch = ctypes.addressof(_SCRATCH)
    return functools.partial(function, scratch, scratch)


class LoadedKernel:
    """Machine code of one kernel, loaded as long as this object or its `entry` lives."""

    __slots__ = ("__weakref__", "checked", "compile_ms", "entry")

    entry: KernelEntry
    """`entry(words_address, lo, hi)` runs the kernel without the GIL and returns a status."""
    compile_ms: float
    """The compile time in milliseconds."""
    checked: bool
    """True if the argument block has the words of a checked kernel (see `report`)."""

    def __init__(self, code: LoadedCode, compile_ms: float, checked: bool) -> None:
        self.entry = make_entry(code.address, code)
        self.compile_ms, self.checked = compile_ms, checked


def load_kernel(compiled: Entry, checked: bool) -> LoadedKernel:
    """Load a kernel that was just compiled.

    Raises:
        CompileError: LLVM refuses the code, or there is no memory for it.
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


_USES: Final = itertools.count()
"""Numbers the uses of all kernels."""


class NativeUser(Protocol):
    """A function whose calls run kernels natively."""

    hits_natively: array[int]

    def drop_tables(self, kernel: object = None) -> None:
        """Drop the guard tables that run a kernel, so that no further call runs it natively."""


class KernelHandle:
    """A kernel that is loaded when it is run and may be dropped between runs.

    The result of `get` stays loaded while referenced, for example by a running call.
    """

    __slots__ = (
        *("__weakref__", "_dropped", "_hits", "_last", "_load", "_users"),
        *("checked", "failure", "was_reported", "kernel", "loaded"),
    )

    kernel: Kernel
    checked: bool
    """True for the form that checks each access."""
    loaded: LoadedKernel | None
    """A weak reference to the machine code in memory."""
    failure: Exception | None
    """The error of a failed compilation in the background."""
    was_reported: bool
    """True once the user has been warned of the failure."""

    def __init__(
        self, kernel: Kernel, checked: bool, load: Callable[[KernelHandle], LoadedKernel]
    ) -> None:
        """Start without machine code; `load` loads it and stores it here."""
        self.kernel, self.checked, self.loaded, self._load = kernel, checked, None, load
        self.failure, self.was_reported = None, False
        self._users: dict[int, weakref.ref[NativeUser]] = {}
        self._hits: dict[int, int] = {}
        self._dropped: Callable[[], LoadedKernel | None] = _nothing
        self._last = 0

    def get(self) -> LoadedKernel:
        """The loaded kernel; a dropped one that is still referenced counts as loaded.

        Raises:
            As `KernelCache.get`, if it must be loaded.
        """
        found = self.loaded or self._dropped() or self._load(self)
        self._last = next(_USES)
        return found

    def add_user(self, user: NativeUser) -> None:
        """Record a function whose native calls run the kernel."""
        users, number = self._users, id(user)
        self._hits[number] = user.hits_natively[0]
        users[number] = weakref.ref(user, lambda _: users.pop(number, None))

    def last_use(self) -> int:
        """The number of the last use; native uses since the last query count as now."""
        users = [reference() for reference in list(self._users.values())]
        hits = {id(user): user.hits_natively[0] for user in users if user is not None}
        if any(self._hits.get(number, found) != found for number, found in hits.items()):
            self._last = next(_USES)
        self._hits = hits
        return self._last

    def drop(self) -> None:
        """Drop the machine code; running calls keep it until they end."""
        dropped = self.loaded
        if dropped is not None:
            self._dropped = weakref.ref(dropped)
        self.loaded = None
        for reference in list(self._users.values()):
            user = reference()
            if user is not None:
                user.drop_tables(dropped)
        self._users.clear()


def _nothing() -> None:
    """No kernel was dropped yet."""


def load_all(handles: Sequence[KernelHandle]) -> list[LoadedKernel]:
    """Load the kernels of a plan.

    Raises:
        As `KernelHandle.get`, after all kernels have been requested.
    """
    try:
        return [handle.get() for handle in handles]
    except NotNowError:
        for handle in handles:
            with suppress(NotNowError):
                handle.get()
        raise
