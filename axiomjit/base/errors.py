"""The exception tree; each message says what was asked, what was seen, and what to do instead.

The message of an operation's error may end with `operands`: one line per operand, with the
operand's type, and either its name as an argument or the user's line that made the operand.

| AxiomError
| ├── GraphTypeError (TypeError)      a dtype or a kind of value that cannot be used
| ├── GraphValueError (ValueError)    lengths, axes or arguments that do not fit
| │   ├── AxesError                   axes that do not pair
| │   ├── PositionError (IndexError)  a position outside its dimension
| │   └── ShapeError                  shapes that do not fit each other, or a spec
| │       └── SpecError               text that is no label notation
| ├── TraceError (TypeError)          the function cannot be traced for all values at once
| │   ├── NeedsValuesError            it needs values, or changes something outside
| │   │   └── ImpureError             it reads state that differs at each call: the time, files
| │   ├── InterruptedWritesError      it raises after it has written, or in a step run by NumPy
| │   ├── UnfollowedError             it raises while traced, which NumPy may not do
| │   └── UnsupportedError            a NumPy function or option without a rule
| │       └── UnsupportedAttributeError (AttributeError)
| ├── CompileError (RuntimeError)     Numba or LLVM refused generated source
| ├── DataFileError (ValueError)      a data file that `axiomjit demo` cannot use
| ├── BenchError (ValueError)         a case, peer or result file that the benchmark cannot use
| ├── BoundsError (AssertionError)    an access beyond a buffer: a defect of axiomjit
| └── VerifyError (AssertionError)    a pass broke an invariant: a defect of axiomjit
"""

from __future__ import annotations

from typing import Any


def amount(count: object, noun: str, plural: str = "") -> str:
    """A number and its noun, as in `1 operand` or `2 axes`; by default the plural adds an s."""
    return f"{count} {noun if str(count) == '1' else plural or noun + 's'}"


class AxiomError(Exception):
    """Base of axiomjit's own errors: `asked`, `seen`, `remedy` and the user's line, `where`."""

    def __init__(self, asked: str, seen: str, remedy: str, where: str | None = None) -> None:
        """Store the three parts; `where` is the user's "file:line"."""
        self.asked, self.seen, self.remedy, self.where = asked, seen, remedy, where
        self.operands: tuple[str, ...] = ()
        place = f"{where}: " if where else ""
        super().__init__(f"{place}{asked}\n  seen: {seen}\n  instead: {remedy}")

    def at(self, where: str | None) -> AxiomError:
        """This error, with the user's line added if the error has no line."""
        if self.where or where is None:
            return self
        return type(self)(self.asked, self.seen, self.remedy, where)

    def add_operands(self, lines: tuple[str, ...]) -> None:
        """Add a line for each operand to the message, unless the message has such lines."""
        if lines and not self.operands:
            self.operands = lines
            self.args = ("\n    ".join((f"{self.args[0]}\n  operands:", *lines)),)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), self._parts(), {"operands": self.operands, "args": self.args}

    def _parts(self) -> tuple[object, ...]:
        """The constructor's arguments, from which a copy of the error is made."""
        return self.asked, self.seen, self.remedy, self.where


class GraphTypeError(AxiomError, TypeError):
    """A dtype or a kind of value that cannot be used."""


class GraphValueError(AxiomError, ValueError):
    """Lengths, axes or arguments that do not fit each other."""


class GradientError(GraphTypeError):
    """A derivative that does not exist, or an operation without a derivative rule."""


class AxesError(GraphValueError):
    """Axes, or names of axes, that do not fit each other."""


class UnboundError(GraphValueError):
    """Values are requested of a tensor that depends on placeholders."""


class PositionError(GraphValueError, IndexError):
    """A position outside its dimension."""


class ShapeError(GraphValueError):
    """Shapes that do not fit each other or a spec; `trace` lists the demands that were combined."""

    def __init__(
        self,
        asked: str,
        seen: str,
        remedy: str,
        where: str | None = None,
        trace: tuple[str, ...] = (),
    ) -> None:
        """Store the parts; `trace` has a line per demand, the failed one first."""
        self.trace = trace
        lines = "".join(f"\n    {line}" for line in trace)
        super().__init__(asked, seen + lines, remedy, where)
        self.seen = seen

    def _parts(self) -> tuple[object, ...]:
        return self.asked, self.seen, self.remedy, self.where, self.trace


class SpecError(ShapeError):
    """Text that is not label notation; a caret marks the character at `position`."""

    def __init__(
        self, spec: str, position: int, seen: str, remedy: str, where: str | None = None
    ) -> None:
        """Store the spec and the index of its faulty character, counted from 0."""
        self.spec, self.position = spec, position
        before, after = spec[:position].rpartition("\n")[2], spec[position:].partition("\n")[0]
        line = f"{before}{after}".expandtabs(1)
        picture = f"    {line}\n    {' ' * len(before)}^"
        super().__init__(f"the spec {spec!r}", f"{seen}\n{picture}", remedy, where)
        self.fault = seen

    def _parts(self) -> tuple[object, ...]:
        return self.spec, self.position, self.fault, self.remedy, self.where


class TraceError(AxiomError, TypeError):
    """One trace of the function cannot serve all values of its arguments."""


class NeedsValuesError(TraceError):
    """The function needs values, or changes something outside, while it is traced."""


class NotDispatchedError(NeedsValuesError):
    """A traced value was used where NumPy's dispatch protocol does not reach, as in `float(x)`."""


class ImpureError(NeedsValuesError):
    """The function reads state that differs at each call: the time, files, entropy."""


class InterruptedWritesError(TraceError):
    """The function raises an error while it is traced, after writing or drawing random numbers."""


class UnfollowedError(TraceError):
    """The function raises an error while it is traced; NumPy might run it without an error."""


class UnsupportedError(TraceError):
    """A NumPy function, or one of its options, that has no rule."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """An attribute or method of NumPy arrays that has no rule."""


class CompileError(AxiomError, RuntimeError):
    """Numba or LLVM refused generated source."""


class DataFileError(AxiomError, ValueError):
    """A data file that `axiomjit demo` cannot use."""


class BenchError(AxiomError, ValueError):
    """A case, a peer, an option or a result file that the benchmark cannot use."""


class BoundsError(AxiomError, AssertionError):
    """A kernel or a view reached outside its buffer: a defect of axiomjit, found by a check."""


class VerifyError(AxiomError, AssertionError):
    """A pass broke an invariant of its IR: a defect of axiomjit, not of the user's program."""


class FallbackWarning(UserWarning):
    """A function that cannot be compiled runs in NumPy."""


class SameNameWarning(UserWarning):
    """An operation combines two different axes of the same name; the result has both axes."""


class UnrolledLoopWarning(UserWarning):
    """A Python loop is recorded iteration by iteration; the program is slow to compile."""


class RetraceWarning(UserWarning):
    """A compiled function is traced repeatedly; the warning names the cause."""


class OuterProductWarning(UserWarning):
    """Operands of the axis graph have no common axis, so their product has all axes."""
