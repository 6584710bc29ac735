"""Functions without a program: they run in pieces with lazy arrays, or entirely in NumPy."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import AxiomError, UnfollowedError
from axiomjit.base.locks import lazy_import
from axiomjit.dispatch.fallbacks import (
    EXITS,
    PIECES,
    WHOLE,
    CallsInNumPy,
    falls_back,
    run_untraceable,
    short_reason,
)
from axiomjit.graph import execution

if TYPE_CHECKING:
    from axiomjit.functions.exits import Split
    from axiomjit.functions.harmless import Harmless
    from axiomjit.functions.outside import Wanted

MIN_ELEMENTS: Final = 2**17
"""From this number of elements of the largest argument on, running in pieces saves time."""


def _may_be_lazy(values: Sequence[Any]) -> bool:
    """True if lazy arrays may replace arguments, and an argument is large enough to gain time."""
    if not any(type(one) is np.ndarray and one.size >= MIN_ELEMENTS for one in values):
        return False
    return not (config.disable or config.fallback == "error" or user_traps_errors())


class WholeCalls:
    """The calls of a function that has no program."""

    def __init__(
        self,
        function: Callable[..., Any],
        name: str,
        calls: CallsInNumPy,
        wanted: Wanted,
        compiled: Any,
    ) -> None:
        """Take a function without a program, its name for messages, and its counts.

        `wanted` has the findings of its traces, and `compiled` compiles another function.
        """
        self._function, self._name, self._calls = function, name, calls
        self._wanted, self._compiled = wanted, compiled
        self._exits: Any = None
        self._known: Harmless | str | None = None

    def run(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Run a call, count it, and return its result."""
        run, cause = self._call(args, kwargs)
        self._calls.count(cause)
        return run()

    def run_untraceable(
        self,
        errors: list[UnfollowedError],
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        strict: bool,
        changes: bool,
    ) -> tuple[Any, AxiomError, str]:
        """The result of a call that could not be traced, the reason, and the cause.

        Args:
            errors: A list with the error, as in `fallbacks.run_untraceable`.
            args: The arguments.
            kwargs: The keyword arguments.
            strict: True if NumPy may not run the function.
            changes: True if the function changes something outside.

        Raises:
            Errors of `fallbacks.run_untraceable` are passed on.
        """
        run, cause = self._call(args, kwargs, strict)
        return (*run_untraceable(run, errors, strict, changes), cause)

    @property
    def function(self) -> Callable[..., Any]:
        """The user's function."""
        return self._function

    def cause(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
        """The cause under which a call counts; the call is not run."""
        return self._call(args, kwargs)[1]

    def refuse_pieces(self, reason: str) -> None:
        """Make NumPy run all later calls entirely, not in pieces."""
        self._known = reason

    def take_over(self, error: AxiomError, strict: bool) -> bool:
        """True if this object runs all later calls; otherwise the error is raised."""
        exits = self.exits() is not None
        in_pieces = not exits and not isinstance(self._harmless(), str)
        if not falls_back(self._name, error, strict, in_pieces, exits):
            return False
        self._calls.reasons |= dict.fromkeys((WHOLE, PIECES, EXITS), short_reason(error))
        return True

    def _call(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], strict: bool = False
    ) -> tuple[Callable[[], Any], str]:
        """A function that runs one call, and the cause under which the call is counted."""
        split = None if strict else self.exits()
        if split is not None:
            return functools.partial(split.function, *args, **kwargs), EXITS
        is_numpys = strict or not _may_be_lazy((*args, *kwargs.values()))
        known = "" if is_numpys else self._harmless()
        if not isinstance(known, str):
            call = execution.lend(self._function, known, args, kwargs)
            if call is not None:
                return call, PIECES
        return functools.partial(self._function, *args, **kwargs), WHOLE

    def exits(self) -> Split | None:
        """The function with loops that run between exits; None if it has no such loop."""
        if not self._wanted.exits:
            return None
        if self._exits is None:
            late = lazy_import("axiomjit.dispatch.exits")
            self._exits = late.Exits(self._function, self._wanted, self._compiled)
        found: Split | None = self._exits.found()
        return found

    def compiled_loops(self) -> dict[int, str]:
        """The outcomes of the loops that run between exits, by their lines."""
        found: dict[int, str] = {} if self.exits() is None else self._exits.outcomes()
        return found

    def _harmless(self) -> Harmless | str:
        """The facts of a function that may run in pieces, or the reason why it may not."""
        if self._known is None:
            late = lazy_import("axiomjit.functions.harmless")
            known: Harmless | str = late.harmless(self._function)
            is_short = not isinstance(known, str) and not known.has_much_to_fuse
            self._known = "has little to fuse" if is_short else known
        return self._known
