"""The following of a function that owns a traced value, and its refusals."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from types import CodeType
from typing import Final, TypeVar

from axiomjit.base.errors import AxiomError, GraphTypeError, TraceError, UnrolledLoopWarning
from axiomjit.base.origins import user_location, warn

MANY: Final = 2000
"""Recorded operations of one following beyond which a warning names the user's line."""


class Following:
    """A function being followed once, for one class of arguments.

    Nodes are interned, so that two followings share them; traced arrays and lengths therefore
    hold the following that made them, and only it may use them.
    """

    __slots__ = (
        *("arguments", "count", "ended", "handles", "last", "may_fail", "name"),
        *("refusal", "scalars", "thread", "within"),
    )

    def __init__(self, name: str = "a function", scalars: frozenset[int] = frozenset()) -> None:
        """Start.

        Args:
            name: The function's, for messages.
            scalars: Positions of the inputs that are NumPy scalars, not arrays.
        """
        self.name = name
        self.scalars = scalars
        self.refusal: AxiomError | None = None
        self.ended = False
        self.last: object = None
        """The last node with an effect; it is computed even if nobody uses it."""
        self.may_fail: list[object] = []
        """Nodes that may raise an error; they are computed even if nobody uses them."""
        self.handles = False
        """Whether errors of such nodes may be caught where they are recorded."""
        self.arguments: Callable[[], Sequence[object]] | None = None
        """Gives the arguments of the call for which it is followed, where they are known."""
        self.within: CodeType | None = None
        """What runs the function: the frames within it are of this following."""
        self.count = 0
        self.thread = threading.get_ident()

    def note_operation(self) -> None:
        """Count one recorded operation; warn once where they are many."""
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
        """The refusal, which is kept no more: its traceback refers to what refers to it."""
        refusal, self.refusal = self.refusal, None
        assert refusal is not None
        return refusal


_following: ContextVar[Following | None] = ContextVar("axiomjit_following", default=None)


def current() -> Following | None:
    """The function that is being followed here, if any."""
    return _following.get()


@contextmanager
def entered(following: Following) -> Iterator[None]:
    """Make the following the current one; at the end its traced values can be used no more."""
    token = _following.set(following)
    try:
        yield
    finally:
        following.ended = True
        following.arguments = None
        _following.reset(token)


AnyError = TypeVar("AnyError", bound=AxiomError)


def refused(error: AnyError) -> AnyError:
    """The error, kept: it is raised when the function returns, should the function catch it."""
    following = _following.get()
    if following is not None and following.refusal is None:
        following.refusal = error
    return error


def is_refusal(error: AxiomError) -> bool:
    """Whether the function could go on in NumPy; what NumPy refuses too it may well catch."""
    numpy_refuses = error.__suppress_context__
    return isinstance(error, TraceError) or (
        isinstance(error, GraphTypeError) and not numpy_refuses
    )


def is_usable(owner: Following | None) -> bool:
    """Whether what a following made can be used here and now."""
    return owner is _following.get() and (owner is None or not owner.ended)


def leaked_tracer_error(owner: Following | None, what: str, made: str) -> TraceError:
    """The error for a traced value that is used where another function, or none, is followed.

    Args:
        owner: The following that made the value.
        what: The value, such as `array`.
        made: Where it comes from.
    """
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
