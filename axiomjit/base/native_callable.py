"""A callable that answers calls by a native entry or, if there is none, by a Python method.

Calling an instance of a Python class is slow; a `functools.partial` without arguments forwards a
call in C. So the callable is a partial, whose function the native entry replaces later.
"""

from __future__ import annotations

import copyreg
import functools
import weakref
from array import array
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from axiomjit.base.locks import new_lock
from axiomjit.base.origins import hide_frames

R = TypeVar("R")
Tables = tuple[Any, ...]
"""Addresses of guard tables, each followed by the objects that its table keeps alive."""
ALWAYS_UNTIL = 16
"""The number of misses up to which a native entry may be built after each miss."""
THEN_EVERY = 64
"""After ALWAYS_UNTIL misses, a native entry is built only on every 64th miss."""


class NativeCallable(functools.partial[R]):
    """Answers calls by `answer`, or by a native entry installed by `enter`."""

    slow: Callable[..., Any]
    """Calls `answer` through a weak reference, since a strong reference would make a cycle."""
    hits_natively: array[int]
    """A memory word with the number of calls answered natively."""
    misses: int
    """Number of calls answered in Python that could have been answered natively."""

    def __new__(cls, *args: object, **kwargs: object) -> Any:
        """Make a callable without a native entry."""
        made: Any = super().__new__(cls, _answer)
        made.restart()
        return made

    def restart(self) -> None:
        """Drop the native entry."""
        self.slow = functools.partial(_answer, weakref.ref(self))
        self.hits_natively, self.misses = array("q", [0]), 0
        self.enter(self.slow)

    def drop_tables(self, kernel: object = None) -> None:
        """Drop all guard tables or, if a kernel is given, the tables that run this kernel."""
        cell = getattr(self.func, "__self__", None)
        if isinstance(cell, list):
            change_tables(cell, lambda tables: _without(tables, kernel) if kernel else ())

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that no native entry answers."""
        raise NotImplementedError

    def enter(self, function: Callable[..., Any]) -> None:
        """Make a function, the native entry, answer calls from now on."""
        super().__setstate__((function, (), {}, vars(self)))  # type: ignore[misc]

    def wants_guard(self) -> bool:
        """Count a miss; True if a native entry should be built for the call."""
        self.misses += 1
        return self.misses <= ALWAYS_UNTIL or self.misses % THEN_EVERY == 0

    def __reduce__(self) -> Any:
        state = {k: v for k, v in vars(self).items() if k not in NativeCallable.__annotations__}
        return copyreg.__newobj__, (type(self),), state  # type: ignore[attr-defined]

    def __setstate__(self, state: Any) -> None:
        vars(self).update(state)


def change_tables(cell: list[Any], change: Callable[[Tables], Tables]) -> None:
    """Replace the tables in a cell, which is a list of one item, by `change(tables)`.

    The change is made again if another thread or a signal handler replaces the tables meanwhile.
    """
    while True:
        with _tables_lock:
            tables = cell[0]
            changed = change(tables)
            if cell[0] is tables:  # no signal handler can run between this line and the next
                cell[0] = changed
                return


def _without(tables: Tables, kernel: object) -> Tables:
    """The tables that do not hold the kernel."""
    pairs = zip(tables[::2], tables[1::2], strict=True)
    others = [p for p in pairs if not any(kept is kernel for kept in p[1])]
    return tuple(part for pair in others for part in pair)


_tables_lock: Final = new_lock()


def _answer(reference: Callable[[], Any], /, *args: Any, **kwargs: Any) -> Any:
    try:
        return reference().answer(args, kwargs)
    except Exception as error:
        hide_frames(error)
        raise
