"""Graph -> Graph: sums of products of windows and a filter become convolutions."""

from __future__ import annotations

from typing import Final

from axiomjit.base.dtypes import code
from axiomjit.graph.library_operations import CONVOLUTION
from axiomjit.graph.nodes import Constant, Graph, Input, Node, Op, rewrite
from axiomjit.graph.primitives import PRIMITIVES, SUM
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.data_dependent import HeuristicScope
from axiomjit.symbolic.dims import Dim, bound, product
from axiomjit.symbolic.index_maps import IndexMap, iterators_of

MIN_OUTPUTS: Final = 8
"""The smallest number of outputs per window for which a matrix product is faster than loops."""
MIN_DEPTH: Final = 8
"""The smallest number of elements of a window for which a matrix product is faster than loops."""


def find_convolutions(graph: Graph, context: Context) -> Graph:
    """Replace sums of products of a filter and windows of an operand by convolutions.

    In a convolution, each dimension of the result is from one operand, and each summed iterator
    from both. Loops compute convolutions with short windows or few outputs; the comparison of these
    lengths records guards in the scope.

    Needs: a legal graph in which only outputs are views.
    Gives: a legal graph.
    Keeps: the value of every output, up to the rounding of sums.
    """
    with bound(HeuristicScope(context.scope)):
        return rewrite(graph, _find)


def _find(node: Node) -> Node:
    if not isinstance(node, Op) or node.fold is not SUM:
        return node
    if node.primitive is not PRIMITIVES["multiply"] or code(node.dtype) not in CONVOLUTION.loops:
        return node
    sides = [k for k, index in enumerate(node.maps) if _has_windows(index)]
    if len(sides) != 1 or not all(map(_is_stored, node.operands)):
        return node
    seen = sides[0]
    order = (seen, 1 - seen)
    if not _is_convolution(node, node.maps[seen], node.maps[1 - seen]):
        return node
    return node.replace(
        primitive=CONVOLUTION,
        fold=None,
        operands=tuple(node.operands[k] for k in order),
        maps=tuple(node.maps[k] for k in order),
    )


def _has_windows(index: IndexMap) -> bool:
    return any(len(function.terms) > 1 for function in index)


def _is_stored(node: Node) -> bool:
    """True if an operand has elements in memory, or can have them."""
    return isinstance(node, Op | Constant) or (isinstance(node, Input) and not node.is_weak)


def _is_convolution(op: Op, windows: IndexMap, kernel: IndexMap) -> bool:
    """True if iterators and conditions are those of a convolution that is large enough."""
    kept, folded = set(range(op.rank)), set(range(op.rank, len(op.extents)))
    own, others = set(iterators_of(windows)), set(iterators_of(kernel))
    if not folded <= own & others or kept & own & others or not kept <= own | others:
        return False
    if sum(len(function.terms) for function in kernel) != len(others):
        return False
    for one in op.conditions:
        named = {k for k, _ in one.function.terms}
        if len(named & kept) > 1 or not named <= own:
            return False
    outputs, depth = (_points(op, ks) for ks in (kept & others, folded))
    return bool(kept & own) and bool(outputs >= MIN_OUTPUTS) and bool(depth >= MIN_DEPTH)


def _points(op: Op, iterators: set[int]) -> Dim:
    return product(tuple(op.extents[k] for k in sorted(iterators)))
