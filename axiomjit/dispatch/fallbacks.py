"""Calls that NumPy runs: which these are, how they are counted, and what is said.

A program writes into the memory of its arguments while it reads others: those that are one array
are one input of it, and any other overlap is left to NumPy. Some programs find, while they run,
that they do not fit the call; then arguments and random generators are put back as they were, and
NumPy runs it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, TypeVar

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.counters import counter
from axiomjit.base.dtypes import walkable
from axiomjit.base.errors import (
    AxiomError,
    FallbackWarning,
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    UnfollowedError,
    amount,
)
from axiomjit.base.origins import user_location, warn
from axiomjit.base.overlaps import overlaps_itself
from axiomjit.base.records import Record
from axiomjit.dispatch.arguments import CallArguments
from axiomjit.dispatch.caches import CompiledCall, run_and_unflatten
from axiomjit.symbolic.data_dependent import OtherLengthError, OtherResultError, UnfitNumberError

R = TypeVar("R")
_count_fallback: Final = counter("fallbacks")
LONGEST: Final = 80
"""Characters of a reason in `repr`."""
WHOLE: Final = "whole function"
WRITTEN: Final = "written arguments"
LENGTHS: Final = "lengths"
RESULTS: Final = "results of steps"
ERRORS: Final = "errors"
TRAPS: Final = "error states"
NOT_NOW: Final = "compilation"
DISABLED: Final = "disabled"
FOREIGN: Final = "arguments"


class InNumPy(Record):
    """Calls of a function that NumPy ran for one cause.

    The cause is "whole function", "written arguments", "arguments" (of classes
    or byte orders that are not compiled), "lengths" (numbers of chosen elements),
    "results of steps", "errors", "error states" (`np.errstate`), "compilation" (in an interrupted
    one) or "disabled" (`config.disable`); `reason` says why NumPy ran the last of these calls.
    """

    cause: str
    calls: int
    reason: str


class CallsInNumPy:
    """The calls of one function that NumPy ran, by cause."""

    __slots__ = ("_calls", "_last", "_whole", "reasons")

    def __init__(self) -> None:
        """Begin with no call."""
        self._calls: dict[str, int] = {}
        self._whole, self._last = 0, ""
        self.reasons = {
            TRAPS: "np.errstate or np.seterr traps errors around the call",
            NOT_NOW: "what was not compiled could not be compiled then",
            DISABLED: "config.disable is set",
        }

    def count_whole(self) -> None:
        """Count a call of a function that NumPy runs from now on, as `count` and sooner."""
        _count_fallback()
        self._whole += 1

    def count(self, cause: str) -> None:
        """Count a call; `reasons` has the reason."""
        if cause is not DISABLED:  # the user's setting is no fallback
            _count_fallback()
        self._last = cause
        self._calls[cause] = self._calls.get(cause, 0) + 1

    def all(self) -> tuple[InNumPy, ...]:
        """The calls of each cause, that of the last call last."""
        last = WHOLE if self._whole else self._last
        calls = [*self._calls.items(), *([(WHOLE, self._whole)] if self._whole else [])]
        calls.sort(key=lambda item: item[0] == last)
        return tuple(InNumPy(cause, n, self.reasons.get(cause, "")) for cause, n in calls)

    def in_words(self) -> str:
        """How many there were and why the last one, for `repr`; empty if there was none."""
        causes = self.all()
        if not causes:
            return ""
        total, why = sum(cause.calls for cause in causes), causes[-1].reason
        why = why if len(why) <= LONGEST else f"{why[: LONGEST - 3]}..."
        return f", {amount(total, 'call')} in NumPy: {why}"


def in_short(error: AxiomError) -> str:
    """What was asked and seen, in one line."""
    return " ".join(f"{error.asked}: {error.seen}".split())


def falls_back(name: str, error: AxiomError, strict: bool) -> bool:
    """Whether NumPy runs a function from now on; else the error is the user's."""
    policy = "warn" if isinstance(error, NeedsValuesError) else config.fallback
    if strict or policy in ("error", "step"):
        return False
    if policy == "warn":
        warn(f"{name} runs in NumPy, not compiled: {error}", FallbackWarning)
    return True


def unfollowed(name: str, error: Exception) -> UnfollowedError:
    """The error for a function that raises another one while it is followed."""
    return UnfollowedError(
        f"follow {name} once for all calls",
        f"that it raises {type(error).__name__}: {error}",
        "call it outside the compiled function, or mark arguments with static_argnames",
    )


def may_be_ours(error: Exception) -> bool:
    """Whether NumPy may not raise an error that a function raises while it is followed."""
    if isinstance(error, AxiomError):
        return isinstance(error, GraphTypeError | GraphValueError)
    return not isinstance(error, OtherLengthError | Warning)


def raised(error: UnfollowedError) -> Exception:
    """The error that a function raises while it is followed."""
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error


def run_unfollowed(
    run: Callable[[], R], errors: list[UnfollowedError], strict: bool
) -> tuple[R, AxiomError]:
    """Return what NumPy gives for a call of a function that could not be followed, and why not.

    Args:
        run: Calls the function.
        errors: The error, which is taken out: a frame that kept it would be kept by it.
        strict: Whether NumPy may not run the function.

    Raises:
        AxiomError: the reason, under `strict`, or where NumPy raises an error of its kind.
        Exception: NumPy's own error.
    """
    error = errors.pop()
    cause = error.__cause__
    reason = cause if isinstance(cause, AxiomError) else error
    refuses = strict or config.fallback in ("error", "step")
    try:
        if refuses and reason is cause:
            raise reason
        try:
            result = run()
        except Exception as numpys:
            if reason is cause and isinstance(reason, public_class(numpys)):
                raise reason.with_traceback(numpys.__traceback__) from None
            raise
        if refuses:
            raise reason
        return result, reason
    finally:
        del error, cause, reason


def public_class(error: Exception) -> type:
    """The class of an error, or the first one above it that users can name."""
    every = type(error).__mro__
    return next(c for c in every if "._" not in c.__module__ and not c.__name__.startswith("_"))


class FallbackToNumPy(Exception):
    """One call that NumPy runs for a `cause`; `refusal` says why, if there is something to say.

    Of what may raise in NumPy, as a length that does not fit, nothing is said before it has run.
    """

    def __init__(self, refusal: tuple[str, str, str] | None, cause: str = ERRORS) -> None:
        """Keep what was asked, what was seen, and what to do instead."""
        super().__init__(refusal)
        self.refusal, self.cause = refusal, cause

    @property
    def reason(self) -> str:
        """What was asked and seen, in one line."""
        if self.refusal is None:
            return "the call raises an error"
        return in_short(NeedsValuesError(*self.refusal))

    def refusal_of(self, name: str) -> NeedsValuesError:
        """What to say of calls of a function."""
        assert self.refusal is not None
        asked, seen, remedy = self.refusal
        return NeedsValuesError(f"{asked} of {name}", seen, remedy, user_location())

    def counted(self, name: str, strict: bool, calls: CallsInNumPy) -> FallbackToNumPy:
        """Count the call, and give itself without the frames that it was raised in.

        Raises:
            NeedsValuesError: under `strict`, if there is something to say.
        """
        if self.refusal is not None and strict:
            raise self.refusal_of(name)
        calls.reasons[self.cause] = self.reason
        calls.count(self.cause)
        return self.with_traceback(None)


def say_left(name: str, left: FallbackToNumPy, before: bool) -> bool:
    """Warn of calls that NumPy runs: before, or after one that has raised nothing.

    Returns:
        Whether it was said.
    """
    if left.refusal is None or before is (left.cause is not WRITTEN):
        return False
    error = left.refusal_of(name)
    warn(f"such calls of {name} run in NumPy, not compiled: {error}", FallbackWarning)
    return True


def other_length(seen: str) -> FallbackToNumPy:
    """The call has numbers of chosen elements that the program does not fit."""
    return FallbackToNumPy(
        (
            "one program for every number of elements that a mask chooses, in a call",
            seen,
            "choose outside the compiled function, or keep all elements and use where(...)",
        ),
        LENGTHS,
    )


def length_refused(error: OtherLengthError) -> FallbackToNumPy:
    """Why no program could be made that fits any number of chosen elements."""
    cause = error.__cause__
    return other_length(cause.seen if isinstance(cause, AxiomError) else str(error))


def other_result(seen: str) -> FallbackToNumPy:
    """A function has given another shape or dtype than the program assumes."""
    remedy = "call it outside the compiled function, or use one whose result has one dtype"
    asked = "one program for every shape and dtype of a result that depends on values, in a call"
    return FallbackToNumPy((asked, seen, remedy), RESULTS)


class _Left:
    """In the place of a plan: NumPy runs the calls of a layout."""

    def __init__(self, refusal: tuple[str, str, str] | None, cause: str) -> None:
        self._refusal, self._cause = refusal, cause

    def run(self, arguments: Sequence[object], given: Sequence[object] | None = None) -> NoReturn:
        """Leave the call to NumPy."""
        raise FallbackToNumPy(self._refusal, self._cause)


def byteswapped(dtype: object) -> CompiledCall:
    """What answers calls with a byteswapped array: results of NumPy keep its byte order or not."""
    remedy = "convert it once outside, for example with x.astype(x.dtype.newbyteorder('='))"
    seen = f"elements of dtype {dtype}, bytes in an order that is not native"
    return CompiledCall(
        _Left(("an array argument", seen, remedy), FOREIGN), plain=True, speculative=True
    )


def left_to_numpy(error: Exception) -> CompiledCall:
    """What answers calls of a layout that cannot be followed.

    These raise, need other lengths, or have arguments of classes that are not compiled. It is
    kept, so that the next such call is not followed again.
    """
    refusal, cause = None, ERRORS
    if isinstance(error, GraphTypeError):
        refusal, cause = (error.asked, error.seen, error.remedy), FOREIGN
    if isinstance(error, OtherLengthError) and not isinstance(error, UnfitNumberError):
        refusal, cause = length_refused(error).refusal, LENGTHS
    return CompiledCall(_Left(refusal, cause), plain=True, speculative=True)


Same = tuple[int, ...]


def same_arrays(arguments: Sequence[object], are_objects: bool = False) -> Same | None:
    """For each argument the number of the first that is the same array; None if all differ.

    Arrays of one memory and layout are the same; if they `are_objects`, only one object is.
    """
    seen: dict[object, int] = {}
    key: Callable[[np.ndarray], object] = id if are_objects else _memory
    numbers = tuple(
        seen.setdefault(("array", key(value)) if isinstance(value, np.ndarray) else k, k)
        for k, value in enumerate(arguments)
    )
    return None if len(seen) == len(numbers) else numbers


def _memory(array: np.ndarray) -> object:
    address = array.__array_interface__["data"]
    return address, array.shape, array.strides, array.dtype, type(array)


def why_not_written(
    ready: CompiledCall, arguments: Sequence[object], same: Same | None
) -> str | None:
    """Why a program that writes arguments cannot answer a call; None where it can.

    Args:
        ready: The program.
        arguments: Those of the call, as they were given.
        same: Which of them are one input of the program.
    """
    arrays = [(k, value) for k, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    if ready.watch is not None:
        arrays += [(-1, array) for array, _ in ready.watch.known()]
    for position in ready.writes:
        written = arguments[position]
        if not isinstance(written, np.ndarray) or not written.flags.writeable:
            return "a read-only array"
        if not walkable(written):
            return "an array that is byteswapped or misaligned"
        if overlaps_itself(written):
            return "an array whose elements share memory"
        for k, array in arrays:
            one = k == position or (same is not None and k >= 0 and same[k] == same[position])
            if not one and np.may_share_memory(written, array):
                return "an array that overlaps another one in memory"
    return None


def speculative_run(
    ready: CompiledCall, arguments: Sequence[object], call: CallArguments, same: Same | None
) -> object:
    """What a call gives that a program answers, each argument as the program takes it.

    Args:
        ready: The program.
        arguments: Those of the call as the program takes them.
        call: The call.
        same: Which of its arguments are one input of the program.

    Raises:
        FallbackToNumPy: NumPy runs the call; nothing has changed.
    """
    reason = why_not_written(ready, call.dynamic, same) if ready.writes else None
    if reason is not None:
        remedy = "pass writable arrays that share no memory, or one array twice"
        raise FallbackToNumPy(("a write into an argument", reason, remedy), WRITTEN)
    put_back = _kept(ready, call.dynamic)
    try:
        return run_and_unflatten(ready, arguments, call.static, call.dynamic)
    except Exception as error:
        if not ready.fails and not isinstance(error, OtherLengthError):
            raise
        put_back()
        raise _left(error) from None


def _kept(ready: CompiledCall, arguments: Sequence[object]) -> Callable[[], None]:
    """Keep what the program may change too early; a function that puts it back."""
    written = [arguments[position] for position in ready.early]
    arrays = [(array, array.copy()) for array in written if isinstance(array, np.ndarray)]
    states = [(one, _state_of(one)) for one in ready.generators]

    def put_back() -> None:
        for array, before in arrays:
            array[...] = before
        for generator, state in states:
            _set_state(generator, state)

    return put_back


def _left(error: Exception) -> FallbackToNumPy:
    """Why NumPy runs a call; what a step raises it raises again, after the writes before it."""
    match error:
        case UnfitNumberError():
            return FallbackToNumPy(None)
        case OtherResultError():
            return other_result(str(error))
        case OtherLengthError():
            return other_length(str(error))
    return FallbackToNumPy(None)


def _state_of(generator: Any) -> Any:
    """The state of a `Generator` or a `RandomState`."""
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    if hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
