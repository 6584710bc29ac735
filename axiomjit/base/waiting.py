"""Whether calls wait for machine code, or NumPy answers them while a thread compiles."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final

from axiomjit.base.config import config


def calls_wait() -> bool:
    """Whether a call that needs a kernel waits until it is compiled."""
    return not config.background or _waits.get()


class waiting:  # noqa: N801  # used as a function, in a with statement
    """Wait for what is compiled inside the block, whatever `config.background` says."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = _waits.set(True)

    def __exit__(self, *error: object) -> None:
        _waits.reset(self._token)


_waits: Final[ContextVar[bool]] = ContextVar("waits", default=False)
