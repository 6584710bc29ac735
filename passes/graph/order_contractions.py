"""Graph -> Graph: sums of products of several operands become sums of products of two operands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_inexact
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import MATRIX_PRODUCTS, MIN_LIBRARY_WORK
from axiomjit.graph.nodes import Graph, Node, Op, rewrite
from axiomjit.graph.primitives import COPY, PRIMITIVES, PRODUCT, SUM, VIEW
from axiomjit.passes.ir.context import Context
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import (
    Affine,
    IndexMap,
    affine,
    identity,
    iterators_of,
    permutation,
)

MIN_GAIN: Final = 2
"""The factor by which pairwise steps must reduce the work to replace one loop nest."""
MIN_STACK_WORK: Final = 27
"""The smallest number of multiplications per product for which a library computes a stack of
products.
"""
MAX_SEARCHED: Final = 6
"""The largest number of operands for which NumPy tries every order."""
_MULTIPLY: Final = PRIMITIVES["multiply"]

Sizes = Sequence[int]
"""The extent of each iterator of a sum in this call."""


class Factor(Record):
    """An operand, with the map from the iterators of the sum to its indices."""

    node: Node
    read: IndexMap

    @property
    def iterators(self) -> frozenset[int]:
        """The iterators of the sum on which the operand depends."""
        return iterators_of(self.read)


def order_contractions(graph: Graph, context: Context) -> Graph:
    """Contract the operands of a sum of products in pairs, in a cheap order.

    The order is from opt_einsum if it can be imported, otherwise from NumPy. If an iterator occurs
    in only one operand, this operand is summed over it first. If pairwise steps save little, all
    operands stay in one loop nest without temporaries. BLAS computes large stacks of matrix
    products and products with permuted axes; `choose_storage` selects BLAS for other matrix
    products. The lengths of this call affect only speed, so they leave no guard.

    Needs: a legal graph in which only outputs are views.
    Gives: a legal graph in which no op is a product of more than two operands.
    Keeps: every value, up to the rounding of sums in another order.
    """

    def rule(node: Node) -> Node:
        if not isinstance(node, Op) or node.primitive is not PRODUCT:
            return node
        return _Contraction(node, [context.scope.value(n) for n in node.extents]).node()

    return rewrite(graph, rule)


class _Contraction:
    """The contraction of one sum of products, which chooses the steps and makes their ops."""

    def __init__(self, op: Op, sizes: Sizes) -> None:
        self.op, self.sizes = op, sizes
        self.kept = frozenset(range(op.rank))
        self.factors = [Factor(*pair) for pair in zip(op.operands, op.maps, strict=True)]

    def node(self) -> Node:
        """The node of the sum of products, computed in steps or in one loop nest."""
        steps = None if self.op.conditions else self._steps()
        if steps is None:
            return self._one_nest(self.factors)
        factors = list(self.factors)
        for places in steps[:-1]:
            taken = [factors.pop(k) for k in sorted(places, reverse=True)]
            rest = frozenset().union(*(factor.iterators for factor in factors))
            factors.append(self._contracted(taken[::-1], self.kept | rest))
        if len(factors) > 2:
            return self._one_nest(factors)
        return self._final_product(factors)

    def _steps(self) -> list[tuple[int, ...]] | None:
        """For each step, the positions of its operands; None if one loop nest is as fast."""
        sets = [factor.iterators for factor in self.factors]
        shown = self.kept & frozenset().union(*sets)
        path = _path([sorted(own) for own in sets], sorted(shown), self.sizes)
        cost = 0
        for places in path:
            taken = [sets.pop(k) for k in sorted(places, reverse=True)]
            wanted = self.kept.union(*sets)
            met: list[frozenset[int]] = []
            for k, own in enumerate(taken):
                others = frozenset().union(*taken[:k], *taken[k + 1 :], wanted)
                alone = own - others
                cost += self._points(own) if alone else 0
                met.append(own - alone)
            if len(met) == 2 and self._is_product(met[0], met[1], wanted):
                return path
            every = frozenset().union(*met)
            cost += self._points(every)
            sets.append(every & wanted)
        once = self._points(range(len(self.sizes))) * (len(self.factors) - 1)
        return path if once > MIN_GAIN * cost else None

    def _points(self, iterators: Iterable[int]) -> int:
        return math.prod(self.sizes[k] for k in iterators)

    def _is_product(
        self, left: frozenset[int], right: frozenset[int], wanted: frozenset[int]
    ) -> bool:
        """True if a step is a product of matrices or of stacks of matrices for a library."""
        rows, columns, met = left - right, right - left, (left & right) - wanted
        each, stack = self._points(rows | columns | met), self._points(left & right & wanted)
        large = each >= MIN_LIBRARY_WORK or (
            each >= MIN_STACK_WORK and each * stack >= MIN_LIBRARY_WORK
        )
        return bool(rows and columns and met) and large

    def _contracted(self, factors: Sequence[Factor], wanted: frozenset[int]) -> Factor:
        """The product of operands, summed over all iterators that are not in `wanted`."""
        factors = self._summed_alone(factors, wanted)
        every = list(dict.fromkeys(k for f in factors for k in _in_order(f)))
        kept = [k for k in every if k in wanted]
        node = self._product(factors, kept, [k for k in every if k not in wanted])
        return Factor(node, permutation(kept))

    def _summed_alone(self, factors: Sequence[Factor], wanted: frozenset[int]) -> list[Factor]:
        """The operands; each is summed over the iterators that no other operand has."""
        found: list[Factor] = []
        for k, factor in enumerate(factors):
            others = frozenset().union(*(f.iterators for j, f in enumerate(factors) if j != k))
            alone = factor.iterators - others - wanted
            windows = any(len(f.terms) > 1 for f in factor.read)  # an element is in several windows
            if windows or not alone or not others - factor.iterators:
                found.append(factor)
                continue
            kept = [j for j in _in_order(factor) if j not in alone]
            local, extents = self._renumbering([*kept, *sorted(alone)])
            index = _renumbered(factor.read, local)
            op = Op(self.op.dtype, VIEW, SUM, (factor.node,), (index,), extents, len(kept))
            found.append(Factor(op, permutation(kept)))
        return found

    def _final_product(self, factors: Sequence[Factor]) -> Node:
        """The product of the last operands, whose iterators are in the order of the result."""
        taken = self._summed_alone(factors, self.kept)
        first = [k for k in _in_order(taken[0]) if k in self.kept]
        if first != list(range(len(first))):
            taken = taken[::-1]  # the products are the same, and a library writes them in order
        return self._product(taken, range(self.op.rank), self._summed_iterators(taken))

    def _summed_iterators(self, factors: Sequence[Factor]) -> list[int]:
        """The iterators over which the factors are summed, also iterators that no operand has."""
        summed = frozenset().union(*(f.iterators for f in self.factors))
        left = frozenset().union(*(f.iterators for f in factors))
        return [k for k in range(self.op.rank, len(self.sizes)) if k in left or k not in summed]

    def _product(
        self, factors: Sequence[Factor], kept: Sequence[int], folded: Sequence[int]
    ) -> Node:
        """The op that multiplies the factors and sums over the iterators `folded`."""
        if len(factors) != 2:
            return self._one_nest(factors, kept, folded)
        local, extents = self._renumbering([*kept, *folded])
        operands = tuple(factor.node for factor in factors)
        maps = tuple(_renumbered(factor.read, local) for factor in factors)
        dtype, rank = self.op.dtype, len(kept)
        if not folded:
            return Op(dtype, _MULTIPLY, None, operands, maps, extents, rank)
        if self._is_stack(factors, kept, folded):
            return Op(dtype, MATRIX_PRODUCTS, None, operands, maps, extents, rank)
        return Op(dtype, _MULTIPLY, SUM, operands, maps, extents, rank)

    def _is_stack(
        self, factors: Sequence[Factor], kept: Sequence[int], folded: Sequence[int]
    ) -> bool:
        """True if `numpy.matmul` computes the step, which multiplies stacks of large matrices."""
        left, right = (factor.iterators for factor in factors)
        alone = all(len(f.terms) < 2 for factor in factors for f in factor.read)
        common = left & right & frozenset(kept)
        whole = frozenset(kept) <= left | right and frozenset(folded) <= left & right
        written = [k for factor in factors for k in _in_order(factor) if k in kept]
        return (
            alone
            and whole
            and bool(common or written != list(kept))
            and is_inexact(self.op.dtype)
            and self._is_product(left, right, frozenset(kept))
        )

    def _one_nest(
        self,
        factors: Sequence[Factor],
        kept: Sequence[int] | None = None,
        folded: Sequence[int] | None = None,
    ) -> Node:
        """The sum of products of all operands as one loop nest."""
        kept = range(self.op.rank) if kept is None else kept
        folded = self._summed_iterators(factors) if folded is None else folded
        local, extents = self._renumbering([*kept, *folded])
        reads = [(f.node, _renumbered(f.read, local)) for f in factors]
        dtype = self.op.dtype
        if len(reads) == 1:
            ((node, index),) = reads
            fold, primitive = (SUM, VIEW) if folded else (None, COPY)
            return Op(dtype, primitive, fold, (node,), (index,), extents, len(kept))
        (first, index), *middle, (last, last_index) = reads
        for node, one in middle:
            operands, maps = (first, node), (index, one)
            first = Op(dtype, _MULTIPLY, None, operands, maps, extents, len(extents))
            index = identity(len(extents))
        operands, maps = (first, last), (index, last_index)
        fold, within = SUM if folded else None, self.op.conditions
        return Op(dtype, _MULTIPLY, fold, operands, maps, extents, len(kept), (), within)

    def _renumbering(self, iterators: Sequence[int]) -> tuple[dict[int, int], tuple[Dim, ...]]:
        """The numbers that iterators have in an op with only these iterators, and their extents."""
        return {k: n for n, k in enumerate(iterators)}, tuple(self.op.extents[k] for k in iterators)


def _in_order(factor: Factor) -> list[int]:
    return list(dict.fromkeys(k for function in factor.read for k, _ in function.terms))


def _renumbered(index: IndexMap, local: Mapping[int, int]) -> tuple[Affine, ...]:
    return tuple(affine({local[k]: c for k, c in f.terms}, f.offset) for f in index)


def _path(
    operands: Sequence[Sequence[int]], result: Sequence[int], sizes: Sizes
) -> list[tuple[int, ...]]:
    """For each step, the positions of its operands among the remaining operands."""
    if len(operands) == 2:
        return [(0, 1)]
    names = {k: chr(0x100 + k) for k in range(len(sizes))}
    letters = [chr(c) for c in (*range(65, 91), *range(97, 123))]
    if len(sizes) <= len(letters):
        names = dict(enumerate(letters[: len(sizes)]))
    texts = ["".join(names[k] for k in one) for one in operands]
    spec = f"{','.join(texts)}->{''.join(names[k] for k in result)}"
    shapes = [tuple(sizes[k] for k in one) for one in operands]
    if find_spec("opt_einsum") is not None:
        search: Any = import_module("opt_einsum").contract_path
        path, _ = search(spec, *shapes, shapes=True)
        return [tuple(step) for step in path]
    if len(sizes) > len(letters):
        return [(0, 1)] * (len(operands) - 1)
    arrays = [np.broadcast_to(np.float64(0), shape) for shape in shapes]
    method = "optimal" if len(operands) <= MAX_SEARCHED else "greedy"
    found, _ = np.einsum_path(spec, *arrays, optimize=method)
    return [tuple(step) for step in found[1:]]
