"""NumPy's matmul: products of matrices, of vectors, and of stacks of them that broadcast."""

from __future__ import annotations

from axiomjit.base.errors import GraphValueError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.contractions import sum_of_products
from axiomjit.graph.describe import describe_call, describe_length
from axiomjit.graph.nodes import Node
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.index_maps import iterator


def matmul_node(a: object, b: object) -> Node:
    """numpy.matmul; large matrices of a stack go to a library, small ones into loops.

    Raises:
        UnsupportedError: an operand is a number.
        GraphValueError: lengths that meet differ.
    """
    left, right = builder.as_node(a, "matmul"), builder.as_node(b, "matmul")
    ranks = len(left.shape), len(right.shape)
    if 0 in ranks:
        raise UnsupportedError(
            describe_call("matmul", left, right),
            "an operand without dimensions",
            "use matrices, vectors or stacks of matrices; for numbers use *",
            user_location(),
        )
    return builder.dot(left, right) if max(ranks) <= 2 else _stacks(left, right)


def _stacks(left: Node, right: Node) -> Node:
    stack = builder.broadcast_shapes([left.shape[:-2], right.shape[:-2]], "matmul", left, right)
    place = len(stack)
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if len(right.shape) > 1 else ()
    met, other = left.shape[-1], right.shape[max(len(right.shape) - 2, 0)]
    if not assumed_equal(met, other):
        raise GraphValueError(
            describe_call("matmul", left, right),
            f"lengths {describe_length(met)} (last dimension of the left operand) and "
            f"{describe_length(other)} (last but one of the right one)",
            "transpose or slice an operand so that these two lengths are equal",
            user_location(),
        )
    row, column = place, place + len(rows)
    inner = column + len(columns)
    shape = (*stack, *rows, *columns)
    own_rows = (iterator(row),) if rows else ()
    own_columns = (iterator(column),) if columns else ()
    reads = [
        (left, (*builder.stretch_map(left.shape[:-2], stack), *own_rows, iterator(inner))),
        (right, (*builder.stretch_map(right.shape[:-2], stack), iterator(inner), *own_columns)),
    ]
    return sum_of_products(reads, (*shape, met), len(shape))
