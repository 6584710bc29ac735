"""The exception tree; every message says what was asked, what was seen, and what to do instead.

AxiomError
├── GraphTypeError (TypeError)      a dtype or a kind of value that cannot be used
├── GraphValueError (ValueError)    lengths, axes or arguments that do not fit
│   ├── AxesError                   axes that do not pair
│   ├── PositionError (IndexError)  a position outside its dimension
│   └── ShapeError                  shapes that do not fit each other, or a spec
│       └── SpecError               text that is no label notation
├── TraceError (TypeError)          the function cannot be followed for all values at once
│   ├── NeedsValuesError            it branches on values, or changes something outside
│   │   └── ImpureError             it asks for what is other at each call: the time, files
│   ├── InterruptedWritesError      it raises after it has written, or in a step of NumPy's
│   ├── UnfollowedError             it raises where it is followed, as it may not in NumPy
│   └── UnsupportedError            a NumPy function or option outside the table
│       └── UnsupportedAttributeError (AttributeError)
├── CompileError (RuntimeError)     Numba or LLVM refused our own source
├── DataFileError (ValueError)      a data file that `axiomjit demo` cannot use
├── BenchError (ValueError)         a case, peer or result file that the benchmark cannot use
├── BoundsError (AssertionError)    memory beyond a buffer was asked for: a defect of axiomjit
└── VerifyError (AssertionError)    a pass broke an invariant: a defect of axiomjit
"""

from __future__ import annotations


def amount(count: object, noun: str, plural: str = "") -> str:
    """A number and its noun, e.g. `1 operand` or `2 axes`; the plural has an s when omitted."""
    return f"{count} {noun if str(count) == '1' else plural or noun + 's'}"


class AxiomError(Exception):
    """Base of the language's own errors: `asked`, `seen`, `remedy` and the user's `where`."""

    def __init__(self, asked: str, seen: str, remedy: str, where: str | None = None) -> None:
        """Keep the three parts; `where` is the user's "file:line"."""
        self.asked, self.seen, self.remedy, self.where = asked, seen, remedy, where
        place = f"{where}: " if where else ""
        super().__init__(f"{place}{asked}\n  seen: {seen}\n  instead: {remedy}")

    def at(self, where: str | None) -> AxiomError:
        """The error with the user's line, if it has none yet."""
        if self.where or where is None:
            return self
        return type(self)(self.asked, self.seen, self.remedy, where)

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.asked, self.seen, self.remedy, self.where)


class GraphTypeError(AxiomError, TypeError):
    """A dtype or a kind of value that cannot be used."""


class GraphValueError(AxiomError, ValueError):
    """Lengths, axes or arguments that do not fit each other."""


class AxesError(GraphValueError):
    """Axes that do not pair."""


class UnboundError(GraphValueError):
    """The values of a tensor that depends on placeholders."""


class PositionError(GraphValueError, IndexError):
    """A position outside its dimension."""


class ShapeError(GraphValueError):
    """Shapes that do not fit each other or a spec; `trace` says which demands were combined."""

    def __init__(
        self,
        asked: str,
        seen: str,
        remedy: str,
        where: str | None = None,
        trace: tuple[str, ...] = (),
    ) -> None:
        """Keep the parts; `trace` has a line for each demand, the one that failed first."""
        self.trace = trace
        lines = "".join(f"\n    {line}" for line in trace)
        super().__init__(asked, seen + lines, remedy, where)
        self.seen = seen

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.asked, self.seen, self.remedy, self.where, self.trace)


class SpecError(ShapeError):
    """Text that is no label notation; a caret stands below the character at `position`."""

    def __init__(
        self, spec: str, position: int, seen: str, remedy: str, where: str | None = None
    ) -> None:
        """Keep the spec and the position, from 0, of what is wrong in it."""
        self.spec, self.position = spec, position
        before, after = spec[:position].rpartition("\n")[2], spec[position:].partition("\n")[0]
        line = f"{before}{after}".expandtabs(1)
        picture = f"    {line}\n    {' ' * len(before)}^"
        super().__init__(f"the spec {spec!r}", f"{seen}\n{picture}", remedy, where)
        self.fault = seen

    def __reduce__(self) -> tuple[type, tuple[object, ...]]:
        return type(self), (self.spec, self.position, self.fault, self.remedy, self.where)


class TraceError(AxiomError, TypeError):
    """The function cannot be followed for all values at once."""


class NeedsValuesError(TraceError):
    """The function branches on values, or changes something outside, while it is followed."""


class NotDispatchedError(NeedsValuesError):
    """A traced value was given to what takes values, in a list or as an index, without asking."""


class ImpureError(NeedsValuesError):
    """The function asks for what is another at each call: the time, files, entropy."""


class InterruptedWritesError(TraceError):
    """The function raises while it is followed, after it has written or drawn random numbers."""


class UnfollowedError(TraceError):
    """The function raises an error while it is followed, which NumPy may not raise."""


class UnsupportedError(TraceError):
    """A NumPy function, or an option of one, that is outside the table."""


class UnsupportedAttributeError(UnsupportedError, AttributeError):
    """An attribute or method of NumPy arrays that is outside the table."""


class CompileError(AxiomError, RuntimeError):
    """Numba or LLVM refused source that axiomjit generated."""


class DataFileError(AxiomError, ValueError):
    """A data file that `axiomjit demo` cannot use."""


class BenchError(AxiomError, ValueError):
    """A case, a peer, an option or a result file that the benchmark cannot use."""


class BoundsError(AxiomError, AssertionError):
    """A kernel or a view reached outside its buffer: a defect of axiomjit, found when checked."""


class VerifyError(AxiomError, AssertionError):
    """A pass broke an invariant of its IR: a defect of axiomjit, not of the user's program."""


class FallbackWarning(UserWarning):
    """A function runs in NumPy itself, since it cannot be compiled."""


class SameNameWarning(UserWarning):
    """An operation combines two different axes of one name, and its result has both."""


class UnrolledLoopWarning(UserWarning):
    """A Python loop is recorded pass by pass, which makes a program that is slow to compile."""


class RetraceWarning(UserWarning):
    """A compiled function is followed again and again, for a cause that the warning names."""


class OuterProductWarning(UserWarning):
    """Operands of the axis graph have no axis in common, so that the result has all of them."""
