"""Calls that NumPy runs: whether they may, how they are counted, and what is said."""

from __future__ import annotations

from typing import Final

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.errors import FallbackWarning, NeedsValuesError, TraceError
from axiomjit.base.origins import user_location, warn

_count_fallback: Final = counter("fallbacks")


def falls_back(name: str, error: TraceError, strict: bool) -> bool:
    """Whether NumPy runs a function from now on; else the error is the user's."""
    needs_values = isinstance(error, NeedsValuesError)
    policy = "warn" if needs_values else config.fallback
    if policy == "error" or (needs_values and strict):
        return False
    _count_fallback()
    if policy == "warn":
        warn(f"{name} runs in NumPy, not compiled: {error}", FallbackWarning)
    return True


def leave_call(name: str, seen: str, strict: bool, say: bool) -> bool:
    """Count one call that NumPy runs, since of what it writes; `say` warns.

    Returns:
        True: it was said, now or before.

    Raises:
        NeedsValuesError: under `strict`.
    """
    error = NeedsValuesError(
        f"write into an argument of {name}",
        seen,
        "pass writable arrays that share no memory, or one array twice",
        user_location(),
    )
    if strict:
        raise error
    _count_fallback()
    if say:
        warn(f"such calls of {name} run in NumPy, not compiled: {error}", FallbackWarning)
    return True


def count_fallback() -> None:
    """Count one call that NumPy runs, which raises there, or has other lengths than assumed."""
    _count_fallback()
