"""A kernel as plans and native calls hold it: its machine code may be dropped and comes back.

A loaded kernel is machine code in memory, compiled just now or read from disk, called as a Python
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
from axiomjit.passes.ir.plan_ir import Kernel
from axiomjit.runtime.object_cache.entry import Entry
from axiomjit.runtime.object_cache.loader import LoadedCode, load

KernelEntry = Callable[[int, int, int], int]
"""`entry(words_address, lo, hi)` runs a kernel without the GIL; the status, 0 if done."""
_ENTRY: Final = ctypes.CFUNCTYPE(
    ctypes.c_int32,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_void_p,
    ctypes.c_int64,
    ctypes.c_int64,
)
# Stands in for Numba's result and exception slots; a kernel without a result stores one null there,
# so sharing it between threads is harmless.
_SCRATCH: Final = ctypes.create_string_buffer(64)


def make_entry(address: int, owner: object) -> KernelEntry:
    """The function at an address; `owner` keeps its code loaded and lives as long."""
    function = _ENTRY(address)
    function.library = owner  # type: ignore[attr-defined]
    scratch = ctypes.addressof(_SCRATCH)
    return functools.partial(function, scratch, scratch)


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


_USES: Final = itertools.count()
"""Numbers the uses of all kernels."""


class NativeUser(Protocol):
    """A function whose calls run kernels natively."""

    hits_natively: array[int]

    def drop_tables(self, kernel: object = None) -> None:
        """Let no further call run a kernel natively."""


class KernelHandle:
    """A kernel that is loaded when it is run, and may be dropped in between.

    What `get` gives stays loaded while somebody holds it: a call that runs it does so.
    """

    __slots__ = (
        *("__weakref__", "_dropped", "_hits", "_last", "_load", "_users"),
        *("checked", "failure", "is_told", "kernel", "loaded"),
    )

    kernel: Kernel
    checked: bool
    """Whether it is the form that checks each access."""
    loaded: LoadedKernel | None
    """Its machine code, as long as that is in memory."""
    failure: Exception | None
    """Why it could not be compiled in the background."""
    is_told: bool
    """Whether the user has been told of the failure."""

    def __init__(
        self, kernel: Kernel, checked: bool, load: Callable[[KernelHandle], LoadedKernel]
    ) -> None:
        """Begin without machine code; `load` provides it, and enters it here."""
        self.kernel, self.checked, self.loaded, self._load = kernel, checked, None, load
        self.failure, self.is_told = None, False
        self._users: dict[int, weakref.ref[NativeUser]] = {}
        self._hits: dict[int, int] = {}
        self._dropped: Callable[[], LoadedKernel | None] = _nothing
        self._last = 0

    def get(self) -> LoadedKernel:
        """The kernel, to run it; a dropped one that somebody holds is as good as a loaded one.

        Raises:
            As `KernelCache.get`, where it has to be loaded.
        """
        found = self.loaded or self._dropped() or self._load(self)
        self._last = next(_USES)
        return found

    def add_user(self, user: NativeUser) -> None:
        """Take notice of a function whose native calls run the kernel."""
        users, number = self._users, id(user)
        self._hits[number] = user.hits_natively[0]
        users[number] = weakref.ref(user, lambda _: users.pop(number, None))

    def last_use(self) -> int:
        """The number of its last use; native ones since this was last asked count as now."""
        users = [reference() for reference in list(self._users.values())]
        hits = {id(user): user.hits_natively[0] for user in users if user is not None}
        if any(self._hits.get(number, found) != found for number, found in hits.items()):
            self._last = next(_USES)
        self._hits = hits
        return self._last

    def drop(self) -> None:
        """Give up the machine code; calls that run it now keep it until they end."""
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
    """The kernels of a plan, to run them.

    Raises:
        As `KernelHandle.get`; a thread that compiles has got all of them then.
    """
    try:
        return [handle.get() for handle in handles]
    except NotNowError:
        for handle in handles:
            with suppress(NotNowError):
                handle.get()
        raise
