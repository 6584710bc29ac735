"""Calls that NumPy runs instead of a program: their causes, counts and messages.

A program writes into the memory of some arguments while it reads other arguments. If several
arguments are the same array, they are one input of the program; NumPy runs a call whose arguments
overlap in another way. Some programs find during the run that they are not valid for the call.
Arguments and random generators are then rolled back, and NumPy runs the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import Final, NoReturn, TypeVar

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
from axiomjit.dispatch.caches import CompiledCall, after_effects, run_and_unflatten, snapshot
from axiomjit.dispatch.matching import fails
from axiomjit.functions.sources import Vector
from axiomjit.symbolic.data_dependent import (
    STATUS,
    OtherLengthError,
    OtherResultError,
    UnfitNumberError,
)
from axiomjit.symbolic.dims import Symbol, symbols_in

R = TypeVar("R")
_count_fallback: Final = counter("fallbacks")
MAX_REASON: Final = 80
"""The largest number of characters of a reason in `repr`."""
WHOLE: Final = "whole function"
PIECES: Final = "in pieces"
EXITS: Final = "between exits"
WRITTEN: Final = "written arguments"
LENGTHS: Final = "lengths"
RESULTS: Final = "results of steps"
TRUTHS: Final = "truths"
ERRORS: Final = "errors"
CHECKS: Final = "checks"
ERROR_STATES: Final = "error states"
NOT_NOW: Final = "compilation"
DISABLED: Final = "disabled"
FOREIGN: Final = "arguments"


class InNumPy(Record):
    """The calls of a function that NumPy ran for one cause.

    The cause is "whole function", "in pieces" (lazy arrays ran compiled segments between the values
    that Python asks for), "between exits" (compiled code ran its loops, and Python the branches
    that only Python can run), "written arguments", "arguments" (classes or byte orders that are not
    compiled), "lengths" (numbers of selected elements), "truths" (of computed values), "results of
    steps", "checks" (of loops: Python raises an error, or computes with integers beyond 64 bits),
    "errors", "error states" (`np.errstate`), "compilation" (the call came inside an interrupted
    compilation) or "disabled" (`config.disable`). `reason` explains the last call that NumPy ran
    for the cause.
    """

    cause: str
    calls: int
    reason: str


class CallsInNumPy:
    """The calls of one function that NumPy ran, by cause."""

    __slots__ = ("_calls", "_last", "reasons")

    def __init__(self) -> None:
        self._calls: dict[str, int] = {}
        self._last = ""
        self.reasons = {
            ERROR_STATES: "np.errstate or np.seterr traps errors around the call",
            NOT_NOW: "what was not compiled could not be compiled then",
            DISABLED: "config.disable is set",
        }

    def count(self, cause: str) -> None:
        """Count a call that NumPy ran for this cause; the reason is stored in `reasons`."""
        if cause is not DISABLED:  # a user's setting, not a fallback
            _count_fallback()
        self._last = cause
        self._calls[cause] = self._calls.get(cause, 0) + 1

    def all(self) -> tuple[InNumPy, ...]:
        """The calls of each cause; the cause of the last call is the last entry."""
        calls = sorted(self._calls.items(), key=lambda item: item[0] == self._last)
        return tuple(InNumPy(cause, n, self.reasons.get(cause, "")) for cause, n in calls)

    def in_words(self) -> str:
        """The number of calls and the last reason, for `repr`; an empty text without calls."""
        causes = self.all()
        if not causes:
            return ""
        total, why = sum(cause.calls for cause in causes), causes[-1].reason
        why = why if len(why) <= MAX_REASON else f"{why[: MAX_REASON - 3]}..."
        where = causes[-1].cause if causes[-1].cause in (PIECES, EXITS) else "in NumPy"
        return f", {amount(total, 'call')} {where}: {why}"


def short_reason(error: AxiomError) -> str:
    """The first two parts of an error on one line: the request and the cause."""
    return " ".join(f"{error.asked}: {error.seen}".split())


def may_fall_back(error: AxiomError, strict: bool) -> bool:
    """True if Python runs calls for which there is no program, because of an error."""
    refused = config.fallback in ("error", "step")
    return not strict and (isinstance(error, NeedsValuesError) or not refused)


def falls_back(
    name: str, error: AxiomError, strict: bool, in_pieces: bool, between_exits: bool = False
) -> bool:
    """True if later calls run in NumPy or with lazy arrays, False if the error is raised."""
    if not may_fall_back(error, strict):
        return False
    if isinstance(error, NeedsValuesError) or config.fallback == "warn":
        if between_exits:
            how = "only its loops compiled, up to exits"
            warn(f"{name} runs in Python, {how}: {error}", FallbackWarning)
            return True
        how = "large arrays in pieces, not as one program" if in_pieces else "not compiled"
        warn(f"{name} runs in NumPy, {how}: {error}", FallbackWarning)
    return True


def untraceable_error(name: str, error: Exception) -> UnfollowedError:
    """The error for a function that raises an error while it is traced."""
    return UnfollowedError(
        f"follow {name} once for all calls",
        f"that it raises {type(error).__name__}: {_text_of(error)}",
        "call it outside the compiled function, or name parameters that decide in static_argnames",
    )


def _text_of(error: Exception) -> str:
    """The text of an error; a fixed text if the error holds traced values, which have no text."""
    with suppress(Exception):
        return str(error)
    return "of traced values"


def may_be_tracing_error(error: Exception) -> bool:
    """True if an error raised while tracing may be caused by axiomjit, and not by the function."""
    if isinstance(error, AxiomError):
        return isinstance(error, GraphTypeError | GraphValueError)
    return not isinstance(error, OtherLengthError | Warning)


def raised(error: UnfollowedError) -> Exception:
    """The error that the function raised while it was traced."""
    cause = error.__cause__
    return cause if isinstance(cause, Exception) else error


def run_untraceable(
    run: Callable[[], R], errors: list[UnfollowedError], strict: bool, changes: bool = False
) -> tuple[R, AxiomError]:
    """Run in NumPy a function that could not be traced; return the result, and the reason.

    Args:
        run: A function that calls the user's function.
        errors: A list with the error that the trace raised. The error is removed from the list,
            since a frame that holds it would be in a reference cycle.
        strict: True if NumPy may not run the function.
        changes: True if the function changes an object outside it; then NumPy does not run it if
            `strict`.

    Raises:
        AxiomError: the reason, if `strict` is true or NumPy raises an error of the same kind.
        Exception: the error that NumPy raises.
    """
    error = errors.pop()
    cause = error.__cause__
    reason = cause if isinstance(cause, AxiomError) else error
    refuses = strict or config.fallback in ("error", "step")
    try:
        if refuses and (changes or reason is cause):
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
    """The class of an error, or its first base class with a public name."""
    every = type(error).__mro__
    return next(c for c in every if "._" not in c.__module__ and not c.__name__.startswith("_"))


class OtherTruth(Exception):
    """Raised if a comparison of a computed number has another outcome than the program assumes.

    No argument has changed. `known` has the numbers that were computed so far, by their symbols.
    """

    def __init__(self, known: Mapping[Symbol, int]) -> None:
        super().__init__(known)
        self.known = known


class FallbackToNumPy(Exception):
    """Raised to let NumPy run one call for a `cause`; `refusal` is the message, or None.

    A call that may raise an error in NumPy, for example because of a wrong length, is run before a
    warning is given.
    """

    def __init__(self, refusal: tuple[str, str, str] | None, cause: str = ERRORS) -> None:
        super().__init__(refusal)
        self.refusal, self.cause = refusal, cause

    @property
    def reason(self) -> str:
        """The request and the cause of a fallback, on one line."""
        if self.refusal is None:
            return "the call raises an error"
        return short_reason(NeedsValuesError(*self.refusal))

    def refusal_of(self, name: str) -> NeedsValuesError:
        """The message of the fallback, as an error that names the function."""
        raising = ("a program", "arguments for which it raises an error", "pass other arguments")
        asked, seen, remedy = self.refusal or raising
        return NeedsValuesError(f"{asked} of {name}", seen, remedy, user_location())

    def counted(self, name: str, strict: bool, calls: CallsInNumPy) -> FallbackToNumPy:
        """Count the call, and return the exception without its traceback.

        Raises:
            NeedsValuesError: `strict` is true, and the fallback has a message; calls with a failed
                check run first, since the function is likely to raise an error of its own.
        """
        if self.refusal is not None and strict and self.cause is not CHECKS:
            raise self.refusal_of(name)
        calls.reasons[self.cause] = self.reason
        calls.count(self.cause)
        return self.with_traceback(None)


def warn_of_fallback(name: str, fallback: FallbackToNumPy, before: bool) -> bool:
    """Warn that NumPy runs calls of this kind, before the call or after a call without an error.

    Returns:
        True if a warning was issued.
    """
    if fallback.refusal is None or before is (fallback.cause is not WRITTEN):
        return False
    error = fallback.refusal_of(name)
    warn(f"such calls of {name} run in NumPy, not compiled: {error}", FallbackWarning)
    return True


def other_length(seen: str) -> FallbackToNumPy:
    """The fallback for a call whose data-dependent lengths do not fit the program."""
    return FallbackToNumPy(
        (
            "one program for every number of elements that a mask chooses, in a call",
            seen,
            "choose outside the compiled function, or keep all elements and use where(...)",
        ),
        LENGTHS,
    )


def length_refused(error: OtherLengthError) -> FallbackToNumPy:
    """The fallback if no program is valid for any data-dependent length."""
    cause = error.__cause__
    return other_length(cause.seen if isinstance(cause, AxiomError) else str(error))


def failed_check(where: str) -> FallbackToNumPy:
    """The fallback for a call in which a check of a loop does not hold."""
    asked = "a loop as one program, in a call"
    seen = (
        f"a check of the loop at {where} that does not hold: a position, a division by zero, an "
        "integer of 64 bits, `raise` or `assert`"
    )
    return FallbackToNumPy((asked, seen, "compute such values outside of the loop"), CHECKS)


def unstable_truth(where: str) -> FallbackToNumPy:
    """The fallback for a truth value that differs between NumPy and compiled code."""
    asked = "the truth of a computed value, in a call"
    seen = f"a truth at {where} that differs from NumPy's, as the value is rounded otherwise"
    return FallbackToNumPy((asked, seen, "compare with a tolerance"), TRUTHS)


def other_result(seen: str) -> FallbackToNumPy:
    """The fallback for an external call whose result has another shape or dtype than inferred."""
    remedy = "call it outside the compiled function, or use one whose result has one dtype"
    asked = "one program for every shape and dtype of a result that depends on values, in a call"
    return FallbackToNumPy((asked, seen, remedy), RESULTS)


class _NumPyPlan:
    """A substitute for a plan: NumPy runs the calls with this layout."""

    def __init__(self, refusal: tuple[str, str, str] | None, cause: str) -> None:
        self._refusal, self._cause = refusal, cause

    def run(self, arguments: Sequence[object], given: Sequence[object] | None = None) -> NoReturn:
        """Raise the fallback to NumPy."""
        raise FallbackToNumPy(self._refusal, self._cause)


def byteswapped(dtype: object) -> CompiledCall:
    """The compiled call for byteswapped arrays: NumPy runs it, and decides about the byte order."""
    remedy = "convert it once outside, for example with x.astype(x.dtype.newbyteorder('='))"
    seen = f"elements of dtype {dtype}, bytes in an order that is not native"
    return CompiledCall(
        _NumPyPlan(("an array argument", seen, remedy), FOREIGN), plain=True, speculative=True
    )


def numpy_call(error: Exception) -> CompiledCall:
    """The compiled call for a layout of arguments that cannot be traced: NumPy runs these calls.

    Calls with a layout that cannot be traced raise an error, need other lengths, or have arguments
    that are not compiled. The compiled call is cached, so that the next call with this layout is
    not traced again.
    """
    refusal, cause = None, ERRORS
    if isinstance(error, GraphTypeError):
        refusal, cause = (error.asked, error.seen, error.remedy), FOREIGN
    if isinstance(error, OtherLengthError) and not isinstance(error, UnfitNumberError):
        refusal, cause = length_refused(error).refusal, LENGTHS
    return CompiledCall(_NumPyPlan(refusal, cause), plain=True, speculative=True)


EqualPositions = tuple[int, ...]


def same_arrays(arguments: Sequence[object], are_objects: bool = False) -> EqualPositions | None:
    """For each argument, the position of the first equal array; None if all arrays differ.

    Arrays are equal if they have the same memory and layout; with `are_objects`, only identical
    objects are equal.
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
    compiled: CompiledCall, arguments: Sequence[object], same: EqualPositions | None
) -> tuple[int, str, str] | None:
    """An argument that cannot be written into, the reason and a remedy; None if all can be."""
    arrays = [(k, value) for k, value in enumerate(arguments) if isinstance(value, np.ndarray)]
    if compiled.watch is not None:
        arrays += [(-1, array) for array, _ in compiled.watch.known()]
    for position in compiled.writes:
        written = arguments[position]
        if not isinstance(written, np.ndarray) or not written.flags.writeable:
            return position, "a read-only array", "pass a writable array, for example a copy"
        if not walkable(written):
            return position, "an array that is byteswapped or misaligned", "pass a copy of it"
        if overlaps_itself(written):
            return position, "an array whose elements share memory", "pass a copy of it"
        for k, array in arrays:
            one = k == position or (same is not None and k >= 0 and same[k] == same[position])
            if not one and np.may_share_memory(written, array):
                remedy = "pass a copy of one of them, or the same array twice"
                return position, "an array that overlaps another one in memory", remedy
    return None


def speculative_run(
    compiled: CompiledCall,
    arguments: Sequence[object],
    call: CallArguments,
    same: EqualPositions | None,
    vector: Vector | None = None,
) -> object:
    """Run a program that may change its arguments, or fall back to NumPy during the run.

    Args:
        compiled: The compiled call.
        arguments: The arguments, converted for the program.
        call: The arguments of the call before conversion.
        same: The positions of `same_arrays`, or None if all arguments differ.
        vector: The values of outside sources.

    Raises:
        FallbackToNumPy: NumPy runs the call; nothing has changed.
        OtherTruth: another program may run the call; nothing has changed.
    """
    reason = why_not_written(compiled, call.dynamic, same) if compiled.writes else None
    if reason is not None:
        position, seen, remedy = reason
        asked = f"a write into the argument {call.names[position]}"
        raise FallbackToNumPy((asked, seen, remedy), WRITTEN)
    put_back = snapshot(compiled, call.dynamic)
    try:
        made = run_and_unflatten(compiled, arguments, call.dynamic, vector)
    except Exception as error:
        effects = compiled.outside is not None and compiled.outside.effects
        too_large = isinstance(error, OverflowError) and effects  # raised before the run
        if not (compiled.may_raise or too_large or isinstance(error, OtherLengthError)):
            raise
        put_back()
        known = error.known if isinstance(error, OtherLengthError) else {}
        failing = [one for one in compiled.decisions if fails(one[0], known)]
        for guard, where in failing[:1]:
            if any(one.kind == STATUS for one in symbols_in(guard.left, guard.right)):
                raise failed_check(where) from None
            raise OtherTruth(known) from None
        raise _fallback_for(error) from None
    return made if compiled.outside is None else after_effects(compiled, made, vector)


def _fallback_for(error: Exception) -> FallbackToNumPy:
    """The fallback for an error in a run; NumPy repeats the call."""
    match error:
        case UnfitNumberError():
            return FallbackToNumPy(None)
        case OtherResultError():
            return other_result(str(error))
        case OtherLengthError():
            return other_length(str(error))
    return FallbackToNumPy(None)
