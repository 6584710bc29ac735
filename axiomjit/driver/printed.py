"""Output that a thread prints while it follows a function: buffered, so it is printed only once."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from axiomjit.base.locks import after_fork, new_lock

_lock = new_lock()
_kept: dict[int, list[str]] = {}


class StandIn:
    """Replaces standard output; buffers the output of threads that asked for it."""

    def __init__(self, real: Any) -> None:
        """Replace a stream."""
        self.real = real

    def write(self, text: str) -> Any:
        """Buffer the text, or write it."""
        own = _kept.get(threading.get_ident())
        if own is None:
            return self.real.write(text) if self.real is not None else None
        own.append(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


@contextmanager
def kept_back() -> Iterator[list[str]]:
    """Buffer the output of this thread; the caller writes it, or drops it."""
    me = threading.get_ident()
    with _lock:
        outer = _kept.get(me)
        mine: list[str] = []
        _kept[me] = mine
        if not isinstance(sys.stdout, StandIn):
            sys.stdout = StandIn(sys.stdout)
    try:
        yield mine
    finally:
        with _lock:
            if outer is None:
                del _kept[me]
            else:
                _kept[me] = outer
            _stand_back()


def _stand_back() -> None:
    """Give standard output back when no thread keeps anything."""
    if not _kept and isinstance(sys.stdout, StandIn):
        sys.stdout = sys.stdout.real


def _forget_others() -> None:
    """Forget what threads of the parent print, whose numbers new threads may get."""
    for thread in list(_kept):
        if thread != threading.get_ident():
            del _kept[thread]
    _stand_back()


after_fork(_forget_others)
