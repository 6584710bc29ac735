"""The trace that owns a traced value, and its refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Any, Final, TypeVar

from axiomjit.base.errors import AxiomError, GraphTypeError, TraceError, UnrolledLoopWarning
from axiomjit.base.origins import user_location, warn

MANY: Final = 2000
"""Number of recorded operations of one trace beyond which a warning names the user's line."""


class Following:
    """One trace of a function, for one signature of arguments.

    Nodes are interned, so that two traces share them; traced arrays and lengths therefore refer to
    the trace that made them, and only it may use them.
    """

    __slots__ = (
        *(
            "arguments",
            "asked",
            "copied",
            "count",
            "ended",
            "handles",
            "input_names",
            "is_made",
            "kept",
            "values",
            "last",
        ),
        *("lives_outside", "may_fail", "may_know", "name", "refusal", "region", "regions"),
        *("represent_input", "rules", "scalars", "thread", "want_traced", "within"),
    )

    def __init__(self, name: str = "a function", scalars: frozenset[int] = frozenset()) -> None:
        """Start a trace.

        Args:
            name: The name of the traced function in messages.
            scalars: Positions of inputs that are NumPy scalars, not arrays.
        """
        self.name = name
        self.scalars = scalars
        self.copied: frozenset[int] = frozenset()
        """Positions of inputs that are copies of arguments which kernels cannot read."""
        self.refusal: AxiomError | None = None
        self.ended = False
        self.last: object = None
        """The last node that has an effect; this node is computed even if no other one reads it."""
        self.may_fail: list[object] = []
        """Nodes that may raise an error, which are computed even if nothing reads them."""
        self.handles = False
        """True if the function may catch the errors that nodes of `may_fail` raise."""
        self.arguments: Callable[[], Sequence[object]] | None = None
        """A function that returns the arguments of the traced call, if known."""
        self.input_names: Callable[[], Sequence[str]] | None = None
        """A function that returns the names of the inputs of the trace so far, if known."""
        self.lives_outside: Callable[[object], bool] = lambda value: False
        """True for a container from outside the function; if it is a result, the call returns this
        same object.
        """
        self.is_made: Callable[[object], bool] | None = None
        """True for an instance of a user's class that the function has made, if known."""
        self.may_know: Callable[[Any], bool] | None = None
        """True if the next trace may know a node's value, which depends on small captured arrays
        only; None if no such test is known."""
        self.want_traced: Callable[[object], None] | None = None
        """Ends the trace if traced values are to go into an array whose values are known.

        The next trace represents that array by a tracer, too.
        """
        self.represent_input: Callable[[Any], Any] | None = None
        """Returns what represents one more input of the program."""
        self.region: Any = None
        """The loop or branch whose body is followed now, if any (`tracing.control_flow`)."""
        self.regions = 0
        """The number of regions followed so far, which tells their symbols and copies apart."""
        self.asked: Any = None
        """The last node whose value the function wanted to know, which tracing does not know."""
        self.within: CodeType | None = None
        """The code of the frame that runs the function; frames inside it belong to this trace."""
        self.rules: dict[Any, Any] = {}
        """Derivatives given by the user, by the nodes of the results that they are for."""
        self.kept: dict[Any, Any] = {}
        """For values after a region the same values after one that keeps more for a gradient."""
        self.values: Callable[[Any], Any] | None = None
        """A function that returns the value of a node, if this trace is for one call only."""
        self.count = 0
        self.thread = threading.get_ident()

    def note_operation(self) -> None:
        """Count one recorded operation; warn once when there are MANY."""
        self.count += 1
        if self.count == MANY:
            warn(
                f"{self.name}: {MANY:,} operations were recorded, and following goes on\n"
                "  seen: a Python loop, of which every pass is recorded and compiled anew; the "
                "time to compile grows with the number of passes\n"
                "  instead: write the loop as operations on whole arrays, or do not compile "
                "this function",
                UnrolledLoopWarning,
            )

    def take_refusal(self) -> AxiomError:
        """Return the stored refusal and drop it, as its traceback refers to this trace."""
        refusal, self.refusal = self.refusal, None
        assert refusal is not None
        return refusal


_following: ContextVar[Following | None] = ContextVar("axiomjit_following", default=None)


def current() -> Following | None:
    """The trace of the current context, if any."""
    return _following.get()


@contextmanager
def entered(following: Following) -> Iterator[None]:
    """Make the trace current; its traced values are unusable after the block."""
    token = _following.set(following)
    try:
        yield
    finally:
        following.ended = True
        following.arguments = following.represent_input = following.input_names = None
        following.values = None
        following.rules.clear()
        following.kept.clear()
        _following.reset(token)


AnyError = TypeVar("AnyError", bound=AxiomError)


def refused(error: AnyError) -> AnyError:
    """Store the error, to be raised when the function returns even if it is caught; return it."""
    following = _following.get()
    if following is not None and following.refusal is None:
        following.refusal = error
    return error


def is_refusal(error: AxiomError) -> bool:
    """True for an error that only tracing raises: NumPy would run the function."""
    numpy_refuses = error.__suppress_context__
    return isinstance(error, TraceError) or (
        isinstance(error, GraphTypeError) and not numpy_refuses
    )


def is_usable(owner: Following | None) -> bool:
    """True if this trace is the current one, so that its values can be used."""
    return owner is _following.get() and (owner is None or not owner.ended)


def leaked_tracer_error(owner: Following | None, what: str, made: str) -> TraceError:
    """The error for a traced value used in another trace, or in none."""
    here = _following.get()
    name = "nobody" if owner is None else owner.name
    kept = f"kept from when {name} was followed"
    if owner is not None and not owner.ended:
        elsewhere = owner.thread != threading.get_ident()
        kept = f"of {name}, which is still followed" + (" in another thread" if elsewhere else "")
    place = f"{here.name}, which is followed now" if here else "code that is not compiled"
    return refused(
        TraceError(
            f"a traced {what} in {place}",
            f"a traced {what} of another call, {kept}, {made}",
            f"return it from {name}, and pass what is returned as an argument, instead of keeping "
            "it in an attribute, a global variable or a closure",
            user_location(),
        )
    )
