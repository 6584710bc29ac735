"""Avoid flattening values that only elementwise operations and one fold of all elements read.

For example, `np.linalg.norm(x)` flattens its operand. If the fold may read the elements in any
order, the operations give an equal result without flattening, and no block is reshaped.
"""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Node, Op, Update, is_scan, is_view, note
from axiomjit.graph.primitives import GATHER
from axiomjit.symbolic.dims import product
from axiomjit.symbolic.index_maps import fixed, identity, iterator


def is_flattening(op: Op) -> bool:
    """True for a view of all elements of an operand as one dimension."""
    if not is_view(op) or op.rank != 1 or len(op.extents) != 1:
        return False
    (child,), (index,) = op.operands, op.maps
    rank = len(child.shape)
    if rank < 2 or op.extents[0] is not product(child.shape):
        return False
    return index == (*[fixed(0)] * (rank - 1), iterator(0))


def unflattened(op: Op, flat: Mapping[Node, Node]) -> Op | None:
    """The operation on values before flattening; None if the results would differ.

    `flat` maps each flattened value to the value before flattening.
    """
    whole = [flat[child] for child in op.operands if child in flat]
    shape = whole[0].shape
    if any(one.shape != shape for one in whole) or op.conditions or op.regions:
        return None
    special = isinstance(op.primitive, LibraryOperation) or op.primitive is GATHER
    if special or isinstance(op, Update) or is_scan(op) or len(op.extents) != 1:
        return None
    if op.fold is not None and (op.rank or not op.fold.commutative):
        return None
    operands, maps = [], []
    for child, index in zip(op.operands, op.maps, strict=True):
        if child in flat and index == identity(1):
            operands.append(flat[child])
            maps.append(identity(len(shape)))
        elif not child.shape:
            operands.append(child)
            maps.append(())
        else:
            return None
    rank = 0 if op.fold is not None else len(shape)
    changes = {"operands": tuple(operands), "maps": tuple(maps), "extents": shape, "rank": rank}
    return note(op.replace(**changes))
