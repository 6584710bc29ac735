"""The record of one running trace, which owns the traced values made in it."""

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

    Two traces may share a node, since nodes are interned. Traced arrays and lengths therefore refer
    to the trace that made them, and only this trace may use them.
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
        *("lives_outside", "loop_values", "may_fail", "may_know", "name", "refusal"),
        *("region", "regions", "represent_input", "rules", "scalars", "thread", "too_many"),
        *("want_traced", "within"),
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
        """The positions of inputs that are copies of arguments which kernels cannot read."""
        self.refusal: AxiomError | None = None
        self.ended = False
        self.last: object = None
        """The last node that has an effect; it is computed even if no other node reads it."""
        self.may_fail: list[object] = []
        """Nodes that may raise an error, which are computed even if nothing reads them."""
        self.handles = False
        """True if the function may catch the errors that nodes of `may_fail` raise."""
        self.arguments: Callable[[], Sequence[object]] | None = None
        """A function that returns the arguments of the traced call, if known."""
        self.input_names: Callable[[], Sequence[str]] | None = None
        """A function that returns the names of the inputs of the trace so far, if known."""
        self.lives_outside: Callable[[object], bool] = lambda value: False
        """True for a container from outside the function; a call that returns such a container
        returns the object itself.
        """
        self.is_made: Callable[[object], bool] | None = None
        """True for an instance of a user's class that the function has made, if known."""
        self.may_know: Callable[[Any], bool] | None = None
        """True for a node that depends on small captured arrays only, so that the next trace may
        know its value; None if there is no such test."""
        self.want_traced: Callable[[object], None] | None = None
        """Called when an array of known values is to hold traced ones; ends the trace. The next
        trace represents this array by a tracer, too."""
        self.represent_input: Callable[[Any], Any] | None = None
        """Adds an input to the program and returns the tracer that represents it."""
        self.region: Any = None
        """The loop or branch whose body is being traced, if any (`tracing.control_flow`)."""
        self.regions = 0
        """The number of regions traced so far, which makes the names of symbols and of copies
        unique."""
        self.asked: Any = None
        """The last node whose value the function asked for and tracing did not know."""
        self.within: CodeType | None = None
        """The code of the frame that runs the function; frames inside it belong to this trace."""
        self.rules: dict[Any, Any] = {}
        """Derivatives given by the user, by the nodes of the results to which they apply."""
        self.kept: dict[Any, Any] = {}
        """For each value after a region, the same value after another form of the region, which
        keeps more values for a gradient."""
        self.loop_values: dict[Any, Any] = {}
        """The values, in the traced call, of arrays that loops have written."""
        self.values: Callable[[Any], Any] | None = None
        """A function that returns the value of a node, if this trace is for one call only."""
        self.count = 0
        self.thread = threading.get_ident()
        self.too_many: Callable[[], None] | None = None
        """A function that ends the trace when it has recorded MANY operations, if it is to end."""

    def note_operation(self) -> None:
        """Count one recorded operation; warn once when there are MANY, or call `too_many`."""
        self.count += 1
        if self.count == MANY and self.too_many is not None:
            self.too_many()
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
    """The trace that runs in this context; None if no trace runs."""
    return _following.get()


@contextmanager
def entered(following: Following) -> Iterator[None]:
    """Make a trace the current one inside a block; its traced values are unusable afterwards."""
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
    """Store and return an error; it is raised when the function returns, even if caught before."""
    following = _following.get()
    if following is not None and following.refusal is None:
        following.refusal = error
    return error


def is_refusal(error: AxiomError) -> bool:
    """True for an error that only tracing raises, where NumPy would run the function."""
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
