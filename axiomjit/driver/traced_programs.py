"""Programs of followed functions: what is run, and how its results are put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from axiomjit.algebra.dims import Dim, Scope, Symbol, evaluate
from axiomjit.driver.arguments import Signature
from axiomjit.driver.programs import LoweredProgram
from axiomjit.driver.tables import Ready

if TYPE_CHECKING:
    from axiomjit.driver.following import Followed


class TracedProgram(LoweredProgram):
    """A program and how its results are put together again."""

    def __init__(self, followed: Followed, signature: Signature, scope: Scope) -> None:
        """Lower what was followed."""
        super().__init__(followed.trace.graph, signature.layouts, scope)
        self.trace, self.watch = followed.trace, followed.watch

    def is_stale(self) -> bool:
        """Whether an array from outside, which it reads where it lies, lies otherwise now."""
        return not self.watch.holds()

    def ready(self, lengths: Mapping[Symbol, int], plain: bool) -> Ready:
        """What runs for these lengths; `plain` says that arguments can be used as they are."""
        leaves = tuple(
            (number, evaluate(value, lengths) if isinstance(value, Dim) else value)
            for number, value in self.trace.leaves
        )
        structure = self.trace.structure
        watch, writes = self.watch or None, self.trace.graph.writes
        return Ready(self.bind(lengths), plain, (), watch, structure, leaves, writes)
