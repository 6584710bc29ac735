"""Legality of a graph: what every pass over it may rely on and must keep."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.complex_views import partition_fault
from axiomjit.dtypes import CODES, INT, UNSIGNED, code
from axiomjit.errors import VerifyError
from axiomjit.graph import Graph, Input, Node, Op, post_order
from axiomjit.primitives import JOIN
from axiomjit.print_graph import print_graph


def verify_graph(graph: Graph) -> None:
    """Check every node.

    Raises:
        VerifyError: an invariant does not hold; the message shows the node and its neighbours.
    """
    listed = set(graph.inputs)
    order = list(post_order(graph.outputs))
    for index, node in enumerate(order):
        for fault in _faults(node, listed):
            lines = print_graph(Graph(graph.inputs, tuple(order[max(0, index - 5) : index + 6])))
            raise VerifyError("a legal graph", fault, f"report this as a defect\n{lines}")


def _faults(node: Node, listed: set[Input]) -> Iterator[str]:
    if node.dtype not in CODES:
        yield f"dtype {node.dtype} has no code"
    if isinstance(node, Input) and node not in listed:
        yield f"input {node.position} is not among the graph's inputs"
    if isinstance(node, Op):
        yield from _op_faults(node)


def _op_faults(op: Op) -> Iterator[str]:
    primitive = op.primitive
    count = len(op.operands) if primitive is JOIN else primitive.arity
    if not len(op.operands) == len(op.maps) == count:
        yield f"{primitive} takes {count} operands, has {len(op.operands)}"
        return
    regions = count if primitive is JOIN else 0
    if len(op.regions) != regions or any(len(r) != len(op.extents) for r in op.regions):
        yield f"{primitive} needs {regions} regions of {len(op.extents)} iterators"
    elif op.regions and (fault := partition_fault(op.regions, op.extents)) is not None:
        yield f"{primitive} of {fault}"
    if not 0 <= op.rank <= len(op.extents):
        yield f"rank {op.rank} with {len(op.extents)} iterators"
    if not primitive.whole and (op.fold is None) != (op.rank == len(op.extents)):
        yield "folded iterators without an accumulator, or an accumulator without them"
    for child, index in zip(op.operands, op.maps, strict=True):
        if len(index) != len(child.shape):
            yield f"a map of {len(index)} dimensions onto an operand of {len(child.shape)}"
        for function in index:
            if any(not 0 <= k < len(op.extents) for k, _ in function.terms):
                yield f"map {function} names an iterator beyond {len(op.extents)}"
    yield from _dtype_faults(op)


def _dtype_faults(op: Op) -> Iterator[str]:
    kinds = [child.dtype for child in op.operands]
    values = kinds
    if op.primitive.chooser is not None:
        at, wanted = op.primitive.chooser
        values = kinds[:at] + kinds[at + 1 :]
        if kinds[at] != wanted:
            yield f"{op.primitive} chooses by {kinds[at]}"
    signs_meet = op.primitive.compares and set(values) == {INT, UNSIGNED}
    if len(set(values)) > 1 and not signs_meet:
        yield f"operands of {', '.join(str(k) for k in kinds)} without a cast"
    if op.primitive.name != "cast" and any(code(k) not in op.primitive.loops for k in values):
        yield f"{op.primitive} has no loop for {values[0]}"
    if op.fold is not None and code(op.dtype) not in op.fold.loops:
        yield f"{op.fold} has no loop for {op.dtype}"
