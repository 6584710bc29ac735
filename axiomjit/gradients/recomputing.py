"""The values of a `checkpoint`: a gradient computes these values again instead of keeping them.

Equal nodes of a graph are the same node. Therefore the second computation reads marked copies of
the operands of the first computation. Marked copies have numbers, so that they are not equal, and
no pass before `choose_storage` removes them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from axiomjit.base.dtypes import is_inexact
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.marks import again, marked
from axiomjit.graph.library_operations import NORMAL, PRINT, UNIFORM, LibraryOperation
from axiomjit.graph.nodes import Node, Op, post_order

_ONCE = (NORMAL.evaluate, UNIFORM.evaluate, PRINT.evaluate)
Adjoint = Callable[[Sequence[tuple[Node, Node]], Sequence[Node]], Mapping[Node, Cotangent]]
"""The type of `reverse.adjoint`, a function of seeds and arguments that returns cotangents."""


def happens_once(node: Node) -> bool:
    """True for random draws and for printing, which must not be done a second time."""
    if not isinstance(node, Op) or not isinstance(node.primitive, LibraryOperation):
        return False
    return node.primitive.generator is not None or node.primitive.evaluate in _ONCE


class Recomputed:
    """Results of a function that are computed again when their cotangents are pulled back.

    `inputs` are the operands that the second computation reads and that have cotangents.
    `depending` are the results that depend on the arguments.
    """

    def __init__(
        self, arguments: Sequence[Node], results: Sequence[Node], adjoint: Adjoint
    ) -> None:
        """Find the nodes to compute again: nodes that depend on arguments, except random draws."""
        self._results, self._adjoint = tuple(results), adjoint
        ends = frozenset(arguments)
        order = post_order(
            self._results, lambda n: () if n in ends or happens_once(n) else n.children
        )
        inner: set[Node] = set()
        for node in order:
            if (
                node not in ends
                and not happens_once(node)
                and any(child in inner or child in ends for child in node.children)
            ):
                inner.add(node)
        read = dict.fromkeys(c for n in order if n in inner for c in n.children if c not in inner)
        self.inputs = tuple(n for n in read if is_inexact(n.dtype) and not _is_known(n))
        self.depending = frozenset(node for node in results if node in inner)
        self._fixed = {node: node for node in read if node not in self.inputs}
        self._again: tuple[list[Node], list[Node]] | None = None

    def pull(self, k: int, g: Node) -> list[Node | None]:
        """The cotangents of the inputs, given the cotangent `g` of result k."""
        if self._again is None:
            fresh: list[Node] = [marked(node) for node in self.inputs]
            given = self._fixed | dict(zip(self.inputs, fresh, strict=True))
            self._again = fresh, again(self._results, given)
        fresh, copies = self._again
        found = self._adjoint([(copies[k], g)], fresh)
        return [found[node].settled() if node in found else None for node in fresh]


def _is_known(node: Node) -> bool:
    return not isinstance(node, Op) and not node.shape and node.weak
