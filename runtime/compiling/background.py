"""A thread that compiles kernels while NumPy answers the calls that need them.

It is started by the first kernel that waits and ends after the last one, or with the program: after
the end of the main thread it compiles no further one. A forked child has no such thread; what
waited is asked for again by the next call there.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextvars import Context, copy_context

from axiomjit.base.config import waiting
from axiomjit.base.errors import FallbackWarning
from axiomjit.base.locks import NotNowError, after_fork, new_lock
from axiomjit.base.origins import warn
from axiomjit.runtime.compiling.kernel_handle import KernelHandle

Wish = tuple[KernelHandle, Context]
"""A kernel and the context of the call that asked first, with the clock of its function."""


class BackgroundCompiler:
    """Kernels that are to be compiled, in the order in which they were asked for."""

    def __init__(self, load: Callable[[KernelHandle], object]) -> None:
        """Start no thread yet; `load` compiles a kernel and enters it in its handle."""
        self._load = load
        self._wishes: dict[int, Wish] = {}
        self._thread: threading.Thread | None = None
        self._lock = new_lock()
        self._knows_forks = False

    def has(self, handle: KernelHandle) -> bool:
        """Whether a kernel is being compiled, or will be."""
        return id(handle) in self._wishes

    def ask(self, handle: KernelHandle) -> None:
        """Have a kernel compiled; the thread starts where there is none.

        Where the system has no further thread nothing is kept, and a later call asks again.
        """
        with self._lock:
            self._wishes.setdefault(id(handle), (handle, copy_context()))
            if self._thread is None:
                if not self._knows_forks:
                    after_fork(self._forget)
                self._knows_forks = True
                # No daemon, also where the caller is one: LLVM must not run while the process ends.
                thread = threading.Thread(target=self._work, name="axiomjit-compile", daemon=False)
                try:
                    thread.start()
                except RuntimeError:
                    self._wishes.clear()
                    return
                self._thread = thread

    def join(self) -> None:
        """Wait until nothing is left to be compiled."""
        thread = self._thread
        if thread is not None:
            thread.join()

    def _work(self) -> None:
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
        except Exception as error:  # of Numba, LLVM or the disk: a call of the user tells it
            handle.failure = error

    def _forget(self) -> None:
        self._wishes.clear()
        self._thread = None


def refuse_failed(handle: KernelHandle) -> None:
    """Refuse a kernel whose compilation has failed in the background, and say so once.

    Raises:
        NotNowError: it has: NumPy answers the call, and later ones.
    """
    failure = handle.failure
    if failure is None:
        return
    if not handle.is_told:
        handle.is_told = True
        warn(f"such calls run in NumPy, not compiled: {failure}", FallbackWarning)
    raise NotNowError(str(failure))
