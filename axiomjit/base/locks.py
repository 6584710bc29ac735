"""All locks of axiomjit: they are freed in a forked child, and reentrant for signal handlers.

Only the forking thread exists in a child; a lock held by another thread would stay locked for ever.
So every lock is registered and, in the child, freed unless the forking thread holds it. The data
under a lock must be consistent after each statement. Work that cannot promise this (imports, Numba,
LLVM, lazy tables) runs under `FORKS_WAIT`.

The lock order is `FORKS_WAIT`, Numba's, LLVM's. A thread that holds Numba's or LLVM's lock never
waits for `FORKS_WAIT`: a fork waits for that thread anyway, and the thread compiles nothing
(`why_not_compile`).
"""

from __future__ import annotations

import _frozen_importlib
import _thread
import gc
import logging  # noqa: F401  its hooks for forks may not begin while ours waits for an import
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, Protocol, TypeVar
from weakref import WeakSet

PATIENCE_S: Final = 10.0
"""Seconds that a fork waits for compilations in other threads."""
_FOREIGN: Final = (
    ("numba.core.compiler_lock", ("global_compiler_lock", "_lock")),
    ("llvmlite.binding.ffi", ("lib", "_lock", "_lock")),
)
"""Locks of libraries that compile, each as a module and a path of attributes to the lock."""
_COMPILERS: Final = ("numba", "llvmlite")
"""Libraries that compile; no fork waits while a user's import of one of them is running."""


class Lock(Protocol):
    """A reentrant lock."""

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Acquire the lock; False if that fails or times out."""

    def release(self) -> None:
        """Release the lock."""

    def __enter__(self) -> bool: ...

    def __exit__(self, *error: object) -> None: ...


def new_lock() -> Lock:
    """A lock that its holder may acquire again, as a signal handler or a finalizer does."""
    lock: Any = threading.RLock()
    _locks.add(lock)
    made: Lock = lock
    return made


def new_gate() -> threading.Lock:
    """A lock that one thread acquires and another thread waits for; forks leave it unchanged."""
    return threading.Lock()


def is_held_here(lock: Any) -> bool:
    """True if this thread holds the lock."""
    return bool(lock._is_owned())


def after_fork(action: Callable[[], object]) -> None:
    """Run `action` in each forked child after all locks are freed there."""
    _actions.append(action)


class _Fork(threading.local):
    """The state of a fork made by this thread; other threads may fork at the same time."""

    taken: tuple[Any, ...] = ()
    """The locks acquired before the fork, in order."""


class _Process:
    """Facts about the start of this process."""

    interrupted_work = False
    """True if the process was forked while another thread compiled or imported."""


class _WorkLock:
    """A lock that lets a waiting fork go first.

    Threads that acquire a plain lock repeatedly would starve a fork. A `with` statement looks up
    `__enter__` and `__exit__` before it calls `__enter__`. `__enter__` and `__exit__` of this class
    return C methods, in which no signal handler runs, so that the lock is free after a handler
    raises.
    """

    def __init__(self) -> None:
        self.lock, self.queue = new_lock(), new_lock()

    @property
    def __enter__(self) -> Callable[[], bool]:
        if not is_held_here(self.lock):  # its holder must continue, or the fork would deadlock
            if _compiles_elsewhere():
                return bool
            with self.queue:
                pass
        return self.lock.__enter__

    @property
    def __exit__(self) -> Callable[..., None]:
        if not is_held_here(self.lock) and _compiles_elsewhere():
            return _do_nothing
        return self.lock.__exit__


class NotNowError(Exception):
    """This thread must not compile now (`why_not_compile`); NumPy answers the call."""


def why_not_compile() -> str | None:
    """The reason why this thread must not compile now; None if the thread may compile."""
    if _Process.interrupted_work:
        return "the process was forked while its parent compiled in another thread"
    if is_held_here(FORKS_WAIT.lock) or _compiles_elsewhere():
        return "a signal handler, finalizer or listener has interrupted a compilation"
    return None


def _compiles_elsewhere() -> bool:
    """True if this thread is already in Numba or LLVM, called by the user or another library."""
    return any(map(is_held_here, _foreign_locks()))


def _do_nothing(*_: object) -> None:
    """Do nothing, in place of releasing a lock."""


def _foreign_locks() -> list[Any]:
    found = []
    for module, path in _FOREIGN:
        lock: Any = sys.modules.get(module)
        for name in path:
            lock = getattr(lock, name, None)
        if lock is not None:
            found.append(lock)
    return found


def _before_fork() -> None:
    """Wait until no other thread compiles."""
    _fork.taken = ()
    deadline = time.monotonic() + PATIENCE_S
    for lock in (FORKS_WAIT.queue, FORKS_WAIT.lock, *_foreign_locks()):
        if lock.acquire(timeout=max(0.0, deadline - time.monotonic())):
            _fork.taken = (*_fork.taken, lock)


def _release_taken() -> None:
    for lock in reversed(_fork.taken):
        lock.release()
    _fork.taken = ()


def _free_locks() -> None:
    """Free every lock held by a thread that does not exist in this child."""
    wanted = [FORKS_WAIT.queue, FORKS_WAIT.lock, *_foreign_locks()]
    interrupted_work = len(_fork.taken) < len(wanted) or any(map(_is_half_imported, _COMPILERS))
    _release_taken()
    if interrupted_work:
        _Process.interrupted_work = True
        _forget_interrupted_imports()
    for lock in (*wanted, *_locks):
        if not is_held_here(lock):
            lock._at_fork_reinit()
    for action in _actions:
        action()


def _forget_interrupted_imports() -> None:
    """Let this child repeat imports that were interrupted by the fork in other threads.

    While Python imports a module, the lock of the imported module has an owner. Import locks whose
    owner does not exist in this child are deleted, together with their half-imported modules.
    """
    locks: dict[str, Any] = getattr(_frozen_importlib, "_module_locks", {})
    for name, reference in list(locks.items()):
        owner = getattr(reference(), "owner", None)
        if owner not in (None, threading.get_ident()):
            del locks[name]
            if _is_half_imported(name):
                del sys.modules[name]


_locks: Final[WeakSet[Any]] = WeakSet()
_actions: Final[list[Callable[[], object]]] = []
_fork: Final = _Fork()
FORKS_WAIT: Final = _WorkLock()
"""The lock held during work that a fork must not interrupt; forks in other threads wait for it."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=_release_taken, after_in_child=_free_locks
    )


@contextmanager
def uncollected() -> Iterator[None]:
    """Pause the garbage collector inside a block, unless other threads exist.

    If there are other threads, they may switch the collector on or off at the same time.

    During the import of this package the collector would run forty times without freeing anything.
    """
    waits = gc.isenabled() and not _thread._count()
    try:  # a signal handler may raise from here on
        if waits:
            gc.disable()
        yield
    finally:
        if waits:
            gc.enable()


@lru_cache
def lazy_import(*modules: str) -> Any:
    """Import modules while no other thread forks, and return the last one.

    A child forked while another thread imports would wait for that thread for ever.
    """
    with FORKS_WAIT, uncollected():
        return [import_module(module) for module in modules][-1]


def imported(module: str) -> Any:
    """Return a module if its import is complete, None if it is missing or being imported.

    `sys.modules` may hold a half-imported module, without all its names.
    """
    return None if _is_half_imported(module) else sys.modules.get(module)


def _is_half_imported(module: str) -> bool:
    """True while a thread imports the module."""
    spec = getattr(sys.modules.get(module), "__spec__", None)
    return bool(getattr(spec, "_initializing", False))


Key = TypeVar("Key")
Value = TypeVar("Value")


class LazyRegistry(Mapping[Key, Value]):
    """A mapping that, at the first missing key, imports further modules and merges their tables."""

    def __init__(self, near: Mapping[Key, Value], table: str, *modules: str) -> None:
        """Start with the entries that need no import."""
        self._near, self._table, self._modules = near, table, modules
        self._whole: Mapping[Key, Value] | None = None

    def _merged(self) -> Mapping[Key, Value]:
        if self._whole is None:
            whole = dict(self._near)
            for module in self._modules:
                whole |= getattr(lazy_import(module), self._table)
            self._whole = whole
        return self._whole

    def __getitem__(self, key: Key) -> Value:
        return self._near[key] if key in self._near else self._merged()[key]

    def __contains__(self, key: object) -> bool:
        return key in self._near or key in self._merged()

    def __iter__(self) -> Iterator[Key]:
        return iter(self._merged())

    def __len__(self) -> int:
        return len(self._merged())
