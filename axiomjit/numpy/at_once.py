"""Operations that NumPy runs at once, without recording: their counts and refusals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.errors import AxiomError, FallbackWarning, UnsupportedError
from axiomjit.base.locks import lazy_import, new_lock
from axiomjit.base.origins import user_location, warn
from axiomjit.numpy.operations import Operation

NOT_RECORDED: Final = "no segment records the function"
ARGUMENTS: Final = "no segment records such arguments, or what they give"
ERROR_STATES: Final = "np.errstate or np.seterr traps errors"
SHARED: Final = "memory that others can write, or that is read-only"
VALUES: Final = "the values decide whether it raises an error"
DRAWN: Final = "random numbers are drawn in the order of the program"
LOOKED_AT: Final = ""
"""The reason for operations that show or store values, which are not counted or refused."""
_SEGMENT: Final = "a segment of axiomjit.numpy"
_UNKNOWN: Final = (NOT_RECORDED, ARGUMENTS)
_SHOWING: Final = frozenset(
    {
        *(np.save, np.savez, np.savez_compressed, np.savetxt),
        *(np.array2string, np.array_repr, np.array_str),
        *(np.shares_memory, np.may_share_memory),
    }
)
"""Functions that show or store values, or compare addresses."""


def note(called: Operation | Callable[..., Any], reason: str) -> None:
    """Count an operation that runs at once.

    Raises:
        UnsupportedError: segments cannot record the operation, and `config.fallback` is "error".
    """
    if not reason or called in _SHOWING:
        return
    name = name_of(called)
    if reason in _UNKNOWN and config.fallback == "error":
        asked, remedy = f"{name} of lazy arrays", "allow NumPy to run it: config.fallback = 'step'"
        raise UnsupportedError(asked, reason, remedy, user_location())
    _count()
    with _lock:
        _counts[name, reason] += 1


def note_refused(error: AxiomError) -> None:
    """Count a segment that cannot be compiled; warn if `config.fallback` is "warn"."""
    reason = lazy_import("axiomjit.dispatch.fallbacks").short_reason(error)
    with _lock:
        _counts[_SEGMENT, reason] += 1
    if config.fallback == "warn":
        warn(f"{_SEGMENT} runs in NumPy, not compiled: {error}", FallbackWarning)


def name_of(called: Operation | Callable[..., Any]) -> str:
    """The name of an operation or function, as users write it; NumPy's names have no `np.`."""
    if isinstance(called, Operation):
        return called.name.removeprefix("np.")
    owner = getattr(called, "__objclass__", None)
    if owner is not None:
        return f".{called.__name__}"
    bound = getattr(called, "__self__", None)
    if isinstance(bound, np.ufunc):
        return f"{bound.__name__}.{called.__name__}"
    function: Any = called
    name = str(getattr(function, "__qualname__", None) or getattr(function, "__name__", function))
    module = getattr(called, "__module__", None) or ""
    if module.startswith("numpy"):
        module = ".".join(one for one in module.split(".")[1:] if not one.startswith("_"))
    return f"{module}.{name}" if module else name


def ran_at_once() -> Counter[tuple[str, str]]:
    """The number of operations that NumPy ran at once, by name and reason."""
    with _lock:
        return _counts.copy()


_count: Final = counter("at_once")
_counts: Final = Counter[tuple[str, str]]()
_lock: Final = new_lock()
