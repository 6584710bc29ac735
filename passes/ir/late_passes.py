"""Passes that are imported for the first program that they concern, and what that is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.base.locks import lazy_import
from axiomjit.graph.nodes import Graph, Node, Op, post_order
from axiomjit.graph.reductions import StateFold
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import Fold, For, LoopProgram, Nest, Stmt, statements


class LatePass:
    """A pass that many programs do without; those that it does not concern stay as they are."""

    def __init__(self, name: str, concerns: Callable[[Any], bool]) -> None:
        """Name a module of `passes`, and say which programs its pass may change."""
        self.__name__, self.concerns = name, concerns

    def __call__(self, program: Any, context: Context) -> Any:
        """Do what the pass does; under `config.check` it is also asked about other programs.

        Raises:
            VerifyError: it changes a program that it does not concern.
        """
        concerned = self.concerns(program)
        if not concerned and not config.check:
            return program
        made = self.imported()(program, context)
        if not concerned and made != program:
            raise VerifyError(
                f"{self.__name__} of a program",
                "a program that it changes and does not concern",
                "report this program as a defect of axiomjit",
            )
        return made

    def imported(self) -> Callable[[Any, Context], Any]:
        """The pass itself."""
        module = lazy_import(f"axiomjit.passes.{self.__name__}")
        found: Callable[[Any, Context], Any] = getattr(module, self.__name__)
        return found


def has_node(wanted: Callable[[Node], bool]) -> Callable[[Graph], bool]:
    """Whether there is such a node."""
    return lambda graph: any(map(wanted, post_order(graph.outputs)))


def has_op(wanted: Callable[[Op], bool]) -> Callable[[Graph], bool]:
    """Whether there is such an op."""
    return has_node(lambda node: isinstance(node, Op) and wanted(node))


def reads_windows(op: Op) -> bool:
    """Whether elements along two dimensions of an op are neighbours in an operand."""
    return any(len(function.terms) > 1 for index in op.maps for function in index)


def has_statement(wanted: Callable[[Stmt], bool]) -> Callable[[LoopProgram], bool]:
    """Whether there is such a statement in a nest."""
    return lambda program: any(
        any(map(wanted, statements(step))) for step in program.steps if isinstance(step, Nest)
    )


folds_by_graph: Final = has_statement(
    lambda stmt: isinstance(stmt, Fold) and isinstance(stmt.state.accumulator, StateFold)
)
"""Whether states are folded that a graph of scalars combines: moments and places are, too."""
has_fold: Final = has_statement(lambda stmt: isinstance(stmt, For) and stmt.kind == "fold")
"""Whether there is a loop that feeds a fold."""
