"""The cache of kernels: a kernel is taken from memory, loaded from disk, or compiled once.

A kernel and its checked form (`config.bounds`) are different kernels. A kernel is kept as long as a
plan may run it. After that, a kernel is kept while it is one of the last `MAX_IDLE_KERNELS` kernels
that were requested. At most `config.kernels` kernels are loaded. The least recently run kernels are
dropped, and are loaded or compiled again when they run.

With `config.background`, a thread compiles kernels while NumPy runs the calls that need them. The
first waiting kernel starts the thread. The thread ends after the last waiting kernel, or with the
main thread. A forked child process does not have the compiling thread, so its next call requests a
waiting kernel again.

Plans and native calls hold a kernel as a `KernelHandle`, whose machine code may be dropped and
loaded again. A `LoadedKernel` is machine code in memory, which is called like a Python function.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import os
import threading
import weakref
from array import array
from collections import OrderedDict
from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import Context, copy_context
from typing import TYPE_CHECKING, Final, Protocol
from weakref import WeakValueDictionary

from axiomjit.base.config import calls_wait, config, waiting
from axiomjit.base.counters import counter, stage
from axiomjit.base.errors import BoundsError, CompileError, FallbackWarning
from axiomjit.base.locks import (
    FORKS_WAIT,
    Lock,
    NotNowError,
    after_fork,
    imported,
    new_lock,
    why_not_compile,
)
from axiomjit.base.origins import warn
from axiomjit.passes.ir.plan_ir import FIRST_BUFFER, REPORT_WORDS, TILE_NUMBER, Kernel
from axiomjit.runtime.memory.allocation import ArgumentBlock
from axiomjit.runtime.object_cache.entries import Entry, LoadedCode, load, make_entry
from axiomjit.runtime.object_cache.store import OBJECTS, ObjectStore, disk_key

if TYPE_CHECKING:
    from axiomjit.runtime.codegen.compile_source import CompiledKernel

KernelEntry = Callable[[int, int, int], int]
"""A function `entry(words_address, lo, hi)` that runs a kernel without the GIL.

The function returns a status, which is 0 for success.
"""
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


def kernel_entry(address: int, owner: object) -> KernelEntry:
    """The function at an address; it keeps `owner` alive, and with it the code."""
    function = _ENTRY(address)
    function.library = owner  # type: ignore[attr-defined]
    scratch = ctypes.addressof(_SCRATCH)
    return functools.partial(function, scratch, scratch)


class LoadedKernel:
    """The machine code of one kernel, loaded as long as this object or its `entry` exists."""

    __slots__ = ("__weakref__", "checked", "compile_ms", "entry")

    entry: KernelEntry
    """The function `entry(words_address, lo, hi)` that runs the kernel without the GIL."""
    compile_ms: float
    """The compile time in milliseconds."""
    checked: bool
    """True if the argument block has the words of a checked kernel (see `plan_ir.Kernel`)."""

    def __init__(self, code: LoadedCode, compile_ms: float, checked: bool) -> None:
        """Take loaded code, and its compile time in milliseconds."""
        self.entry = kernel_entry(code.address, code)
        self.compile_ms, self.checked = compile_ms, checked


def load_kernel(compiled: Entry, checked: bool) -> LoadedKernel:
    """Load a kernel that was just compiled.

    Raises:
        CompileError: LLVM refuses the code, or the system has no memory for it.
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
"""The counter that numbers the uses of all kernels."""


class NativeUser(Protocol):
    """A function whose calls run kernels natively."""

    hits_natively: array[int]

    def drop_tables(self, kernel: object = None) -> None:
        """Drop the guard tables that run a kernel, so that no further call runs it natively."""


class KernelHandle:
    """A kernel that is loaded when it runs, and may be dropped between runs.

    The result of `get` stays loaded as long as it is referenced, for example by a running call.
    """

    __slots__ = (
        *("__weakref__", "_hits", "_last", "_load", "_users"),
        *("checked", "dropped", "failure", "was_reported", "kernel", "loaded"),
    )

    kernel: Kernel
    checked: bool
    """True for the checked form of the kernel."""
    loaded: LoadedKernel | None
    """The machine code in memory; None if it is not loaded."""
    dropped: Callable[[], LoadedKernel | None]
    """A weak reference to the last dropped machine code."""
    failure: Exception | None
    """The error of a compilation that failed in the background, or None."""
    was_reported: bool
    """True if the user was warned of the failure."""

    def __init__(
        self, kernel: Kernel, checked: bool, load: Callable[[KernelHandle], LoadedKernel]
    ) -> None:
        """Make a handle without machine code; `load` loads the code and stores it in the handle."""
        self.kernel, self.checked, self.loaded, self._load = kernel, checked, None, load
        self.failure, self.was_reported = None, False
        self._users: dict[int, weakref.ref[NativeUser]] = {}
        self._hits: dict[int, int] = {}
        self.dropped = _no_kernel
        self._last = 0

    def get(self) -> LoadedKernel:
        """The loaded kernel.

        Raises:
            Errors of `KernelCache.get` are passed on if the kernel is not loaded.
        """
        found = self.loaded or self._load(self)
        self._last = next(_USES)
        return found

    def add_user(self, user: NativeUser) -> None:
        """Record a function whose native calls run the kernel."""
        users, number = self._users, id(user)
        self._hits[number] = user.hits_natively[0]
        users[number] = weakref.ref(user, lambda _: users.pop(number, None))

    def last_use(self) -> int:
        """The number of the last use; native uses since the last query count as one use now."""
        users = [reference() for reference in list(self._users.values())]
        hits = {id(user): user.hits_natively[0] for user in users if user is not None}
        if any(self._hits.get(number, found) != found for number, found in hits.items()):
            self._last = next(_USES)
        self._hits = hits
        return self._last

    def drop(self) -> None:
        """Drop the machine code; running calls keep the code until they end."""
        dropped = self.loaded
        if dropped is not None:
            self.dropped = weakref.ref(dropped)
        self.loaded = None
        for reference in list(self._users.values()):
            user = reference()
            if user is not None:
                user.drop_tables(dropped)
        self._users.clear()


def _no_kernel() -> None:
    """Return None, as `dropped` of a handle does until its kernel is dropped for the first time."""


def load_all(handles: Sequence[KernelHandle]) -> list[LoadedKernel]:
    """Load the kernels of a plan.

    Raises:
        Errors of `KernelHandle.get` are passed on after all kernels were requested.
    """
    try:
        return [handle.get() for handle in handles]
    except NotNowError:
        for handle in handles:
            with suppress(NotNowError):
                handle.get()
        raise


def entry_of(made: CompiledKernel, key: str = "") -> Entry:
    """The disk entry of a kernel that was just compiled."""
    return make_entry(key, made.symbol, made.objects, made.compile_ms)


def refuse_report(kernel: Kernel, block: ArgumentBlock) -> None:
    """Raise an error if a checked kernel reported an access outside a buffer.

    Raises:
        BoundsError: the kernel reached outside a buffer.
    """
    place, index, low, high = block[:REPORT_WORDS]
    if not place:
        return
    number, stores = divmod(place, 2)
    buffers = [p for p in kernel.parameters if p.kind == "buffer"]
    name = "a tile" if number == TILE_NUMBER else f"buffer {buffers[number - FIRST_BUFFER].name}"
    verb = "store" if stores else "load"
    raise BoundsError(
        f"{verb} element {index} of {name} in a compiled kernel",
        f"the elements [{low}, {high}) that it may touch",
        "a defect of axiomjit, please report it with this source:\n" + kernel.source,
    )


CompileRequest = tuple[KernelHandle, Context]
"""A kernel, and the context of the first call that requested it."""


class BackgroundCompiler:
    """A queue of kernels to compile, and the thread that compiles them."""

    def __init__(self, load: Callable[[KernelHandle], object]) -> None:
        """Make an empty queue; `load` compiles a kernel and stores it in its handle."""
        self._load = load
        self._wishes: dict[int, CompileRequest] = {}
        self._thread: threading.Thread | None = None
        self._lock = new_lock()
        self._knows_forks = False

    def has(self, handle: KernelHandle) -> bool:
        """True if a kernel is in the queue, or being compiled."""
        return id(handle) in self._wishes

    def ask(self, handle: KernelHandle) -> None:
        """Put a kernel into the queue; start the thread if there is none.

        If the system cannot start a thread, the queue is cleared, and a later call tries again.
        """
        with self._lock:
            self._wishes.setdefault(id(handle), (handle, copy_context()))
            if self._thread is None:
                if not self._knows_forks:
                    after_fork(self._forget)
                self._knows_forks = True
                # Not a daemon, even if the caller is one: LLVM must not run while the process ends.
                thread = threading.Thread(
                    target=self._compile_jobs, name="axiomjit-compile", daemon=False
                )
                try:
                    thread.start()
                except RuntimeError:
                    self._wishes.clear()
                    return
                self._thread = thread

    def join(self) -> None:
        """Wait until the queue is empty."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _compile_jobs(self) -> None:
        main = threading.main_thread()
        while True:
            with self._lock:
                if not self._wishes or not main.is_alive():
                    self._wishes.clear()
                    self._thread = None
                    return
                handle, context = next(iter(self._wishes.values()))
            try:
                context.run(self._compile, handle)
            finally:
                self._wishes.pop(id(handle), None)

    def _compile(self, handle: KernelHandle) -> None:
        try:
            with waiting():
                self._load(handle)
        except (
            Exception
        ) as error:  # an error of Numba, LLVM or the disk; the user's next call reports it
            handle.failure = error

    def _forget(self) -> None:
        self._wishes.clear()
        self._thread = None


def refuse_failed(handle: KernelHandle) -> None:
    """Refuse a kernel whose compilation failed in the background; warn once.

    Raises:
        NotNowError: the compilation failed; NumPy runs this call and later calls.
    """
    failure = handle.failure
    if failure is None:
        return
    if not handle.was_reported:
        handle.was_reported = True
        warn(f"such calls run in NumPy, not compiled: {failure}", FallbackWarning)
    raise NotNowError(str(failure))


_count_compile: Final = counter("compiles")
_count_hit: Final = counter("cache_hits")
_count_disk_hit: Final = counter("disk_hits")
_count_disk_miss: Final = counter("disk_misses")
Compiler = Callable[[Kernel, bool], "CompiledKernel"]
Key = tuple[str, bool]

MAX_IDLE_KERNELS: Final = 256
"""The number of kernels that are kept although no plan may run them any more."""
EVICT_FRACTION: Final = 1 / 8
"""The fraction of kernels that is evicted at once beyond the limit, so that sorting is rare."""


class KernelCache:
    """The kernels in memory; Numba is imported when the first kernel is compiled."""

    def __init__(
        self,
        compiler: Compiler | None = None,
        objects: ObjectStore | None = None,
        kept: int = MAX_IDLE_KERNELS,
    ) -> None:
        """Make an empty cache.

        Args:
            compiler: A function `compiler(kernel, checked)` that replaces Numba in tests.
            objects: The machine code on disk; None to use memory only.
            kept: The number of kernels that are kept although no plan may run them any more.
        """
        self._compile, self._most = compiler or _compile, kept
        self._objects = objects
        self._alive: WeakValueDictionary[Key, KernelHandle] = WeakValueDictionary()
        self._recent: OrderedDict[Key, KernelHandle] = OrderedDict()
        self._loaded: dict[int, weakref.ref[KernelHandle]] = {}
        self._turns: dict[Key, Lock] = {}
        self._lock = new_lock()
        self.background = BackgroundCompiler(self._load)

    def get(self, kernel: Kernel) -> LoadedKernel:
        """The loaded kernel; simultaneous requests for the same key wait for one compilation.

        If a signal handler requests the kernel that its own thread is compiling, the handler
        compiles the kernel, too.

        Raises:
            CompileError: Numba refused the source; the next call tries again.
            NotNowError: the kernel is not loaded, and this thread cannot load it or does not wait
                for another thread.
        """
        return self.handle(kernel).get()

    def handle(self, kernel: Kernel) -> KernelHandle:
        """The handle of a kernel for a plan; the kernel is loaded by its first run."""
        key = kernel.key, config.bounds
        with self._lock:
            found = self._alive.get(key)
            if found is None:
                found = self._alive[key] = KernelHandle(kernel, key[1], self._load)
            elif found.loaded is not None:
                _count_hit()
        self._keep(key, found)
        return found

    def is_at_hand(self, kernel: Kernel) -> bool:
        """True if a kernel is in memory or could be loaded from disk; nothing is compiled."""
        handle = self.handle(kernel)
        if handle.loaded is None:
            disk_key = self._disk_key(kernel, handle.checked)
            found = handle.dropped() or self._from_disk(disk_key, handle.checked)
            if found is None:
                return False
            handle.loaded = found
            self._make_room(handle)
        return True

    def compiled(self, kernel: Kernel) -> CompiledKernel:
        """The kernel, compiled again to get its texts; the errors are those of `get`."""
        self._require_now()
        return self._compiled(kernel, config.bounds)

    def forget(self) -> None:
        """Drop all kernels that no plan may run."""
        self._recent.clear()

    def _keep(self, key: Key, handle: KernelHandle) -> None:
        """Mark a kernel as the last one that was requested."""
        self._recent[key] = handle
        with suppress(KeyError):
            self._recent.move_to_end(key)
            while len(self._recent) > self._most:
                self._recent.popitem(last=False)

    def _load(self, handle: KernelHandle) -> LoadedKernel:
        """Load a kernel; dropped code that is still referenced is used again."""
        found = handle.dropped()
        if found is not None:
            handle.loaded = found
            self._make_room(handle)
            return found
        self._require_now()
        waits = calls_wait()
        if not waits:
            refuse_failed(handle)
            if self.background.has(handle):
                raise NotNowError("it is compiled in the background")
        key = handle.kernel.key, handle.checked
        with self._turns.setdefault(key, new_lock()):
            found = handle.loaded
            if found is not None:
                _count_hit()
                return found
            disk_key = self._disk_key(handle.kernel, handle.checked)
            found = self._from_disk(disk_key, handle.checked)
            if found is None and not waits:
                self.background.ask(handle)
                raise NotNowError("it is compiled in the background")
            found = found or self._new_kernel(handle.kernel, handle.checked, disk_key)
            handle.loaded, handle.failure = found, None
            self._turns.pop(key, None)
        self._make_room(handle)
        return found

    def _require_now(self) -> None:
        reason = why_not_compile()
        if reason is not None:  # the compiling thread may wait for this thread
            raise NotNowError(reason)

    def _make_room(self, new: KernelHandle) -> None:
        """Record a kernel that was just loaded; beyond the limit, drop an eighth of all kernels."""
        loaded, number = self._loaded, id(new)
        loaded[number] = weakref.ref(new, lambda _: loaded.pop(number, None))
        if len(loaded) <= config.kernels:
            return
        with self._lock:
            handles = [reference() for reference in list(loaded.values())]
            others = [one for one in handles if one is not None and one is not new]
            others.sort(key=KernelHandle.last_use)
            left = config.kernels - int(config.kernels * EVICT_FRACTION)
            for handle in others[: max(0, len(others) + 1 - left)]:
                loaded.pop(id(handle), None)
                handle.drop()

    def _disk_key(self, kernel: Kernel, checked: bool) -> str | None:
        """The key of a kernel on disk; None if the disk is not used."""
        objects = self._objects
        if objects is None or not objects.folders() or not _compiles_here():
            return None
        with stage("loading"):
            return disk_key(kernel, objects.record_of(kernel.target), checked, config.cache_tag)

    def _from_disk(self, key: str | None, checked: bool) -> LoadedKernel | None:
        """The kernel, loaded from disk; None if it is not on disk."""
        if key is None or self._objects is None:
            return None
        with stage("loading"):
            found = self._objects.find(key)
            if found is None:
                return None
            _count_disk_hit()
            return LoadedKernel(found[1], found[0].compile_ms, checked)

    def _new_kernel(self, kernel: Kernel, checked: bool, key: str | None) -> LoadedKernel:
        """The kernel, after it was compiled, loaded and stored on disk."""
        if key is not None:
            _count_disk_miss()
        with stage("compiling"):
            made = self._compiled(kernel, checked)
            entry = entry_of(made, key or "")
        with stage("loading"):
            loaded = load_kernel(entry, checked)
        if self._objects is not None and key is not None:
            self._objects.keep(entry)
        return loaded

    def _compiled(self, kernel: Kernel, checked: bool) -> CompiledKernel:
        made = self._compile(kernel, checked)
        _count_compile()
        return made


def _compiles_here() -> bool:
    """True unless Numba's environment variables disable compilation."""
    numba = imported("numba")
    if numba is not None:
        return not numba.config.DISABLE_JIT
    return os.environ.get("NUMBA_DISABLE_JIT", "0") in ("", "0")


def _compile(kernel: Kernel, checked: bool) -> CompiledKernel:
    """Compile a kernel with Numba.

    Raises:
        ImportError: Numba is not installed, or its compilation is disabled.
        GraphValueError: this CPU cannot run code for the kernel's target.
    """
    with FORKS_WAIT:
        import numba

        if numba.config.DISABLE_JIT:
            raise ImportError("NUMBA_DISABLE_JIT is set")
        from axiomjit.runtime.codegen.compile_source import compile_source

        target = kernel.target.record
        return compile_source(
            kernel.source, kernel.parameters, target, kernel.traits, checked=checked
        )


KERNELS: Final = KernelCache(objects=OBJECTS)
