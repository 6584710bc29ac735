"""Calls that NumPy runs: whether they may, how they are counted, and what is said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NoReturn

from axiomjit.algebra.chosen import OtherLengthError
from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.errors import AxiomError, FallbackWarning, NeedsValuesError, TraceError
from axiomjit.base.origins import user_location, warn
from axiomjit.driver.tables import Ready

_count_fallback: Final = counter("fallbacks")


def falls_back(name: str, error: TraceError, strict: bool) -> bool:
    """Whether NumPy runs a function from now on; else the error is the user's."""
    needs_values = isinstance(error, NeedsValuesError)
    policy = "warn" if needs_values else config.fallback
    if policy in ("error", "step") or (needs_values and strict):
        return False
    _count_fallback()
    if policy == "warn":
        warn(f"{name} runs in NumPy, not compiled: {error}", FallbackWarning)
    return True


class LeftError(Exception):
    """One call that NumPy runs; `refusal` says why, if there is something to say.

    Of what `may_raise` in NumPy, as a length that does not fit, nothing is said before it has run.
    """

    def __init__(self, refusal: tuple[str, str, str] | None, may_raise: bool = False) -> None:
        """Keep what was asked, what was seen, and what to do instead."""
        super().__init__(refusal)
        self.refusal, self.may_raise = refusal, may_raise

    def refusal_of(self, name: str) -> NeedsValuesError:
        """What to say of calls of a function."""
        assert self.refusal is not None
        asked, seen, remedy = self.refusal
        return NeedsValuesError(f"{asked} of {name}", seen, remedy, user_location())

    def counted(self, name: str, strict: bool) -> LeftError:
        """Count the call, and give itself without the frames that it was raised in.

        Raises:
            NeedsValuesError: under `strict`, if there is something to say.
        """
        if self.refusal is not None and strict:
            raise self.refusal_of(name)
        _count_fallback()
        return self.with_traceback(None)


def say_left(name: str, left: LeftError, before: bool) -> bool:
    """Warn of calls that NumPy runs: before, or after one that has raised nothing.

    Returns:
        Whether it was said.
    """
    if left.refusal is None or before is left.may_raise:
        return False
    error = left.refusal_of(name)
    warn(f"such calls of {name} run in NumPy, not compiled: {error}", FallbackWarning)
    return True


def other_length(seen: str) -> LeftError:
    """The call has numbers of chosen elements that the program does not fit."""
    return LeftError(
        (
            "one program for every number of elements that a mask chooses, in a call",
            seen,
            "choose outside the compiled function, or keep all elements and use where(...)",
        ),
        may_raise=True,
    )


def other_result(seen: str) -> LeftError:
    """A function has given another shape or dtype than the program assumes."""
    remedy = "call it outside the compiled function, or use one whose result has one dtype"
    asked = "one program for every shape and dtype of a result that depends on values, in a call"
    return LeftError((asked, seen, remedy), may_raise=True)


class _Left:
    """In the place of a plan: NumPy runs the calls of a layout."""

    def __init__(self, refusal: tuple[str, str, str] | None) -> None:
        self._refusal = refusal

    def run(self, arguments: Sequence[object], given: Sequence[object] | None = None) -> NoReturn:
        """Leave the call to NumPy."""
        raise LeftError(self._refusal, may_raise=True)


def left_to_numpy(error: Exception) -> Ready:
    """What answers calls of a layout that cannot be followed: which raise, or need other lengths.

    It is kept, so that the next such call is not followed again.
    """
    refusal = None
    if isinstance(error, OtherLengthError):
        cause = error.__cause__
        refusal = other_length(cause.seen if isinstance(cause, AxiomError) else str(error)).refusal
    return Ready(_Left(refusal), plain=True, chooses=True)
