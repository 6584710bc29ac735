"""Runs of programs that may find that they do not fit the call, which NumPy then runs.

NumPy must find arguments and random generators as they were. So what the program may change before
it knows whether it fits is kept, and put back where it does not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axiomjit.driver.arguments import CallArguments
from axiomjit.driver.assembling import assemble
from axiomjit.driver.fallbacks import WRITTEN, LeftError, other_length, other_result
from axiomjit.driver.tables import Ready
from axiomjit.driver.written_arguments import Same, why_not_written
from axiomjit.symbolic.data_dependent import OtherLengthError, OtherResultError, UnfitNumberError


def attempt(
    ready: Ready, arguments: Sequence[object], call: CallArguments, same: Same | None
) -> object:
    """What a call gives that a program answers, each argument as the program takes it.

    Args:
        ready: The program.
        arguments: Those of the call as the program takes them.
        call: The call.
        same: Which of its arguments are one input of the program.

    Raises:
        LeftError: NumPy runs the call; nothing has changed.
    """
    reason = why_not_written(ready, call.dynamic, same) if ready.writes else None
    if reason is not None:
        remedy = "pass writable arrays that share no memory, or one array twice"
        raise LeftError(("a write into an argument", reason, remedy), WRITTEN)
    put_back = _kept(ready, call.dynamic)
    try:
        return assemble(ready, arguments, call.static, call.dynamic)
    except Exception as error:
        if not ready.fails and not isinstance(error, OtherLengthError):
            raise
        put_back()
        raise _left(error) from None


def _kept(ready: Ready, arguments: Sequence[object]) -> Callable[[], None]:
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


def _left(error: Exception) -> LeftError:
    """Why NumPy runs a call; what a step raises it raises again, after the writes before it."""
    match error:
        case UnfitNumberError():
            return LeftError(None)
        case OtherResultError():
            return other_result(str(error))
        case OtherLengthError():
            return other_length(str(error))
    return LeftError(None)


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
