"""Sums of products of any number of operands over common iterators.

The dtype is that of NumPy's einsum: the common one of the operands, also for integers; of bools
the sum is `any` and the product `and`. float16 is summed in float32 and rounded once.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import Conditions, IndexMap, identity
from axiomjit.base.dtypes import BOOL, HALF, SINGLE, common
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import ANY, PRIMITIVES, PRODUCT, SUM, VIEW
from axiomjit.graph.promotion import cast, promotable

Read = tuple[Node, IndexMap]
"""An operand and the map by which it is read."""


def sum_of_products(
    reads: Sequence[Read], extents: tuple[Dim, ...], rank: int, conditions: Conditions = ()
) -> Node:
    """The products of all operands at each point, summed over the iterators from `rank` on.

    Points where one of the conditions does not hold are left out of a sum.
    """
    dtype = common(tuple(promotable(node) for node, _ in reads))
    folded = len(extents) > rank
    wide = SINGLE if dtype == HALF and folded else dtype
    factors = [(cast(builder.strong(node), wide), index) for node, index in reads]
    *before, (last, last_map) = factors
    if not before and not folded:
        return builder.view(last, last_map, extents)
    if folded and not (before and wide == BOOL):
        operands, maps = zip(*factors, strict=True)
        total, primitive = ANY if wide == BOOL else SUM, PRODUCT if before else VIEW
        found: Node = note(
            Op(wide, primitive, total, operands, maps, extents, rank, (), conditions)
        )
        return cast(found, dtype)
    whole = identity(len(extents))

    def multiplied(left: Read, right: Read) -> Read:
        pair, maps = (left[0], right[0]), (left[1], right[1])
        return builder.map_op(PRIMITIVES["multiply"], pair, maps, extents), whole

    first, first_map = reduce(multiplied, before)
    found = builder.contract(first, last, (first_map, last_map), extents, rank, conditions)
    return cast(found, dtype)
