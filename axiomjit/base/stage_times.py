"""How long what is compiled for one function takes, stage by stage."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from time import perf_counter
from typing import Final

from axiomjit.base.records import Record


class StageTimes(Record):
    """Milliseconds of all programs that were made for a function.

    `following` runs the function with stand-ins for its arguments, `lowering` are the passes and
    the writing of kernels, `compiling` is what Numba and LLVM take for machine code, the import of
    Numba included, and `loading` looks for it on disk and puts it into memory.
    """

    following: float = 0.0
    lowering: float = 0.0
    compiling: float = 0.0
    loading: float = 0.0

    @property
    def total(self) -> float:
        """All stages."""
        return self.following + self.lowering + self.compiling + self.loading


class Clock:
    """Adds up the times of what is compiled inside `running()`."""

    __slots__ = ("spent",)

    def __init__(self) -> None:
        """Start at 0."""
        self.spent: dict[str, float] = {}

    def times(self) -> StageTimes:
        """The times up to now."""
        return StageTimes(**self.spent)

    def running(self) -> _Running:
        """Let stages inside a `with` block count here."""
        return _Running(self)


class _Running:
    """A block in which a clock runs."""

    __slots__ = ("_clock", "_token")

    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def __enter__(self) -> None:
        self._token = _clock.set(self._clock)

    def __exit__(self, *error: object) -> None:
        _clock.reset(self._token)


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time inside the block as that of a stage, a field of `StageTimes`."""
    clock, started = _clock.get(), perf_counter()
    try:
        yield
    finally:
        if clock is not None:
            took = (perf_counter() - started) * 1e3
            clock.spent[name] = clock.spent.get(name, 0.0) + took


_clock: Final[ContextVar[Clock | None]] = ContextVar("clock", default=None)
