"""Explanations of calls that Python runs: how and why, and each source loop's outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.errors import AxiomError, NeedsValuesError, UnsupportedError
from axiomjit.base.loop_outcomes import INSIDE, NOT_TRIED, REGION, SHORT
from axiomjit.debug.in_python import PythonExplanation
from axiomjit.debug.lowered import Explanation
from axiomjit.dispatch.fallbacks import EXITS, PIECES, WHOLE, may_fall_back, short_reason
from axiomjit.functions.source_lines import loops_of
from axiomjit.functions.transforms import innermost

if TYPE_CHECKING:
    from axiomjit.dispatch.pieces import WholeCalls
    from axiomjit.functions.outside import Wanted

_RUNS: Final = {
    PIECES: "in pieces: Python runs it with lazy arrays, whose operations run as kernels at looks",
    EXITS: "between exits: compiled code runs its loops, and Python the rest",
    WHOLE: "in NumPy",
}
_NOT_REFUSED: Final = (REGION, INSIDE, SHORT, NOT_TRIED)
_LOOPS: Final = {PIECES: "in pieces", EXITS: "left to Python", WHOLE: "left to Python"}


def explained(
    jitted: Any,
    whole: WholeCalls,
    wanted: Wanted,
    strict: bool,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
) -> Explanation:
    """The explanation of a call, with or without a program.

    Args:
        jitted: The compiled function.
        whole: The calls of the function without a program.
        wanted: The findings of the function's traces.
        strict: True if Python runs no call.
        args: The arguments.
        kwargs: The keyword arguments.

    Raises:
        Errors of `lower` are passed on, unless Python runs calls that have no program.
    """
    try:
        return Explanation(jitted._name, jitted.lower(*args, **kwargs))
    except (NeedsValuesError, UnsupportedError) as error:
        if not may_fall_back(error, strict):
            raise
        cause = whole.cause(args, kwargs)
        loops = _loops(whole, cause, error, wanted.loops)
        reason = short_reason(error) + (f" ({error.where})" if error.where else "")
        return PythonExplanation(jitted._name, _RUNS[cause], reason, loops)


def _loops(
    whole: WholeCalls, cause: str, error: AxiomError, outcomes: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The line and the outcome of each loop of a function that has no program.

    The reason is the error if the error has the line of the loop; otherwise it is the reason for
    which the loop was refused as a region, or else the reason of the function.
    """
    inner = innermost(whole.function)
    file, _, number = (error.where or ":0").rpartition(":")
    compiled = whole.compiled_loops() if cause == EXITS else {}
    made = []
    for line, lines in loops_of(getattr(inner, "__func__", inner)):
        own = outcomes.get(line, REGION)
        why = f"the function is, because of {error.where}" if error.where else error.seen
        if line.startswith(f"{file}:") and int(number) in lines:
            why = f"{error.seen} ({error.where})"
        elif own not in _NOT_REFUSED:
            why = own
        outcome = compiled.get(lines.start) or f"{_LOOPS[cause]}: {' '.join(why.split())}"
        made.append((line, outcome))
    return made
