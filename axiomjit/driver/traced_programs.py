"""Programs of followed functions: what is run, and how its results are put together again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from axiomjit.driver.call_classes import Signature
from axiomjit.driver.programs import LoweredProgram
from axiomjit.driver.tables import Ready
from axiomjit.graph.indexing_ops import size_estimate
from axiomjit.graph.nodes import Node
from axiomjit.symbolic.dims import Dim, Scope, Symbol, evaluate

if TYPE_CHECKING:
    from axiomjit.driver.following import Followed


class TracedProgram(LoweredProgram):
    """A program and how its results are put together again."""

    def __init__(self, followed: Followed, signature: Signature, scope: Scope) -> None:
        """Lower what was followed."""
        super().__init__(followed.trace.graph, signature.layouts, scope)
        self.trace, self.watch = followed.trace, followed.watch
        self._handles = followed.handles

    def is_stale(self) -> bool:
        """Whether an array from outside, which it reads where it lies, lies otherwise now."""
        return not self.watch.holds()

    def lengths(self, given: Mapping[Symbol, int]) -> dict[Symbol, int]:
        """All lengths: the call's own, and for each data-dependent one its size estimate."""
        found = dict(given)
        for mask, symbol in self.stages.context.scope.data_dependent.items():
            assert isinstance(mask, Node)
            found[symbol] = evaluate(size_estimate(mask), found)
        return found

    def ready(self, lengths: Mapping[Symbol, int], plain: bool) -> Ready:
        """What runs for these lengths; `plain` says that arguments can be used as they are."""
        leaves = tuple(
            (number, evaluate(value, lengths) if isinstance(value, Dim) else value)
            for number, value in self.trace.leaves
        )
        structure = self.trace.structure
        watch, graph = self.watch or None, self.trace.graph
        plan = self.stages.plan
        chooses = bool(graph.data_dependent) or plan.guesses
        fails = plan.fails and bool(graph.writes or plan.generators or self._handles)
        facts = structure, leaves, graph.writes, chooses or fails
        drawn = plan.generators if chooses or fails else ()
        return Ready(self.bind(lengths), plain, (), watch, *facts, plan.early, drawn, fails)
