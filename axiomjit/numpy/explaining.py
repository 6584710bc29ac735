"""The explanation of the last segment of a thread."""

from __future__ import annotations

from axiomjit.base.errors import GraphValueError
from axiomjit.base.records import Record
from axiomjit.numpy.facts import Facts
from axiomjit.numpy.paths import State
from axiomjit.numpy.programs import Program
from axiomjit.numpy.segments import CURRENT


class SegmentExplanation(Record):
    """The explanation of a segment that ran: its text with the user's lines, and how it ran.

    Attributes:
        text: The segment as a Python function.
        is_compiled: True if the next run is compiled; otherwise NumPy runs the segment.
        numpy_ms: The milliseconds that NumPy has spent on segments with this text.
    """

    text: str
    is_compiled: bool
    numpy_ms: float

    def __str__(self) -> str:
        how = "compiled" if self.is_compiled else f"in NumPy so far, {self.numpy_ms:.1f} ms"
        return f"{self.text}# runs: {how}\n"


def explain_last() -> SegmentExplanation:
    """Explain the last segment of lazy operations that this thread ran.

    Raises:
        GraphValueError: no segment has run.
    """
    if CURRENT.last is None:
        raise GraphValueError(
            "explain_last()",
            "that no segment of lazy operations has run in this thread",
            "compute with arrays of axiomjit.numpy first, and look at a value",
        )
    state, program = CURRENT.last
    return SegmentExplanation(
        _explained(state, program), program.is_compiled, program.spent_s * 1e3
    )


def _explained(state: State, program: Program) -> str:
    """The text of a program with the shapes of leaves and the user's line per statement."""
    first, *lines, last = program.text.splitlines()
    notes, number = [], 0
    statements = []
    for one in state.path():
        if one.statement:
            statements.append(one)
        else:
            (facts,) = one.results
            assert isinstance(facts, Facts)
            lengths = " x ".join(map(str, facts.shape))
            notes.append(f"    # v{number}: {facts.dtype} {lengths or 'number'}")
        number = one.numbers
    width = max([len(line) for line in lines], default=0)
    texts = [f"{line:{width}}  # {one.where}" for line, one in zip(lines, statements, strict=True)]
    return "\n".join([first, *notes, *texts, last]) + "\n"
