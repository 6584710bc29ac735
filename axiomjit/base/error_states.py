"""Error states of np.errstate and np.seterr that raise, call or print."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.origins import user_location

_NO_TRAPS: Final = frozenset({"warn", "ignore"})


def user_traps_errors() -> bool:
    """True if np.errstate asks for errors, calls or prints, which only NumPy's own loops support.

    NumPy keeps the state in a context variable, as an immutable object. The last state found
    harmless is remembered.
    """
    state = error_state()
    if state is Harmless.state:
        return False
    if not _NO_TRAPS.issuperset(np.geterr().values()):
        return True
    Harmless.state = state
    return False


_state: Any = getattr(import_module("numpy._core.umath"), "_extobj_contextvar", None)
error_state: Callable[[], object] = object if _state is None else _state.get
"""Returns the object in which NumPy keeps its error states, or a new object if that object cannot
be read."""


class Harmless:
    """The last error state that was found to trap no error."""

    state: object = None


def without_traps() -> np.errstate:
    """A context manager that sets every error state to "ignore"."""
    return np.errstate(all="ignore")


def refuse_traps() -> None:
    """Refuse a traced function in which an error state raises, calls or prints.

    Raises:
        NeedsValuesError: an error state is "raise", "call", "print" or "log".
    """
    trapped = [f"{k}={how!r}" for k, how in np.geterr().items() if how not in _NO_TRAPS]
    if trapped:
        raise NeedsValuesError(
            "np.errstate or np.seterr inside the function",
            ", ".join(trapped) + ", which only NumPy's own loops answer",
            "set it around the call instead, or ask for 'ignore' or 'warn'",
            user_location(),
        )
