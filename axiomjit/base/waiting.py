"""Whether calls wait for machine code, or NumPy answers them while a thread compiles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from axiomjit.base.config import config


def calls_wait() -> bool:
    """Whether a call that needs a kernel waits until it is compiled."""
    return not config.background or _waits.get()


@contextmanager
def waiting() -> Iterator[None]:
    """Wait for what is compiled inside the block, whatever `config.background` says."""
    token = _waits.set(True)
    try:
        yield
    finally:
        _waits.reset(token)


_waits: Final[ContextVar[bool]] = ContextVar("waits", default=False)
