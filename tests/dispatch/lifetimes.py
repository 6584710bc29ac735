"""What is still alive after a user has dropped it."""

import gc
import sys
import tracemalloc
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Watch:
    """Weak references to what a program makes, by the name of its type."""

    def __init__(self):
        self.seen: list[tuple[str, weakref.ref]] = []

    def __call__(self, thing):
        self.seen.append((f"{len(self.seen)}: {type(thing).__name__}", weakref.ref(thing)))
        return thing

    def alive(self) -> list[str]:
        """What is left."""
        return [name for name, reference in self.seen if reference() is not None]


@contextmanager
def counted() -> Iterator[None]:
    """Only reference counts free memory: the collector of cycles does not run."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


CALLS = 500
"""How many calls show what each of them leaves, beside caches that fill up."""


def blocks_left(call: Callable[[], object]) -> int:
    """How many blocks of memory further calls leave; at least `CALLS` if each leaves an object."""

    def allocated() -> int:
        for _ in range(CALLS):
            call()
        gc.collect()
        return sys.getallocatedblocks()

    before = allocated()
    return allocated() - before


def table_sizes() -> dict[str, int]:
    """How many entries each weak table of the package has, by module and name."""
    weak = weakref.WeakKeyDictionary, weakref.WeakValueDictionary
    return {
        f"{module}.{name}": len(value)
        for module, content in sorted(sys.modules.items())
        if module.startswith("axiomjit")
        for name, value in vars(content).items()
        if isinstance(value, weak)
    }


def left_by(program: Callable[[Watch], object], cyclic: bool = False) -> tuple[list[str], dict]:
    """What a program leaves behind when it runs again: objects alive, and tables that have grown.

    The first run fills the caches of programs. `cyclic` lets the collector run afterwards.
    """
    program(Watch())
    watch = Watch()
    with counted():
        before = table_sizes()
        program(watch)
        if cyclic:
            gc.collect()
        alive, after = watch.alive(), table_sizes()
    assert watch.seen, "the program shows nothing that it makes"
    return alive, {name: n - before[name] for name, n in after.items() if n != before[name]}


def bytes_left_by(program: Callable[[Watch], object], times: int = 1) -> int:
    """Bytes of memory that runs of a program leave behind, after one that fills the caches.

    The least of three measurements: each counts what other threads of the process allocate, too.
    """
    program(Watch())
    return min(_bytes_left_now(program, times) for _ in range(3))


def _bytes_left_now(program: Callable[[Watch], object], times: int) -> int:
    with counted():
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            for _ in range(times):
                program(Watch())
            return tracemalloc.get_traced_memory()[0] - before
        finally:
            tracemalloc.stop()
