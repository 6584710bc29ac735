"""Make the graph for many values of an argument at once: each operation gets one more iterator.

In every value that depends on the argument, the new dimension is the first one; other values do not
get the new dimension. A library operation is called with stacks of its operands.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import GradientError
from axiomjit.base.origins import user_location
from axiomjit.gradients.transposes import copied
from axiomjit.gradients.values import NodeArray, node_of
from axiomjit.graph import builder
from axiomjit.graph.closing import values_alone
from axiomjit.graph.external_calls import ArrayFunction
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Input, Node, Op, Update, note, origin, post_order
from axiomjit.graph.regions import Cond, Region, Written, region_node, written_versions
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import IndexMap, compose, iterator, through

STACKED: Final = frozenset(
    {
        *(np.linalg.inv, np.linalg.det, np.linalg.slogdet, np.linalg.cholesky, np.linalg.eigh),
        *(np.linalg.eigvalsh, np.linalg.eig, np.linalg.eigvals, np.linalg.svd, np.linalg.qr),
        *(np.linalg.svdvals, np.linalg.pinv, np.linalg.matrix_power, np.linalg.solve),
    }
)
"""NumPy functions whose operands may be stacks of matrices."""
ALONG: Final = frozenset(
    getattr(np.fft, name) for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
)
"""NumPy functions along one axis, which is an option of the call."""


def lifted(outputs: Sequence[Node], given: Mapping[Node, Node], length: Dim) -> list[Node]:
    """The outputs for many values of some nodes; each output has the new dimension first.

    Args:
        outputs: Nodes of the graph for one value.
        given: For some nodes of the graph for one value, the node with all values, whose first
            dimension has the length `length`.
        length: The number of values.

    Raises:
        GradientError: a library operation has no form for stacks.
    """
    new, single = dict(given), dict[Node, Node]()
    outputs = values_alone(outputs, {node: node for node in given})
    order = post_order(tuple(outputs), lambda node: () if node in given else node.children)
    for node in order:
        if node in new or not isinstance(node, Op):
            continue
        operands = [new.get(child, single.get(child, child)) for child in node.operands]
        many = [child in new for child in node.operands]
        if any(many):
            if isinstance(node, Written):
                _, region = operands
                assert isinstance(region, Op)
                new[node] = written_versions(region)[node.place]
            elif isinstance(node.primitive, Region):
                new[node] = _lifted_region(node, operands, many, length)
            elif (
                isinstance(node.primitive, LibraryOperation)
                and node.primitive.may_raise
                and (node.primitive.name.startswith(("positions_", "ends_")))
            ):
                single[node] = _check(node, operands, many, length)
            else:
                new[node] = note(_lift(node, operands, many, length))
        elif any(child in single for child in node.operands):
            single[node] = note(node.replace(operands=tuple(operands)))
    return [
        new[node]
        if node in new
        else builder.broadcast_to(single.get(node, node), (length, *node.shape))
        for node in outputs
    ]


def _moved(index: IndexMap, rank: int, is_many: bool) -> IndexMap:
    """A map with a new first iterator, which walks the new dimension if the operand has it."""
    inner = compose(index, [iterator(k + 1) for k in range(rank)])
    return (iterator(0), *inner) if is_many else inner


def _lift(op: Op, operands: list[Node], many: Sequence[bool], length: Dim) -> Node:
    if isinstance(op.primitive, LibraryOperation) and not op.primitive.keeps:
        return _stacked_call(op, operands, many, length)
    many = list(many)
    if isinstance(op, Update):
        if not many[0]:
            operands[0] = copied(builder.broadcast_to(operands[0], (length, *op.whole)))
        many[0] = True
        op = op.replace(whole=(length, *op.whole))
    rank = len(op.extents)
    maps = tuple(_moved(m, rank, each) for m, each in zip(op.maps, many, strict=True))
    places = [iterator(k + 1) for k in range(rank)]
    return op.replace(
        operands=tuple(operands),
        maps=maps,
        extents=(length, *op.extents),
        rank=op.rank + 1,
        regions=tuple(((dim(0), length), *region) for region in op.regions),
        conditions=through(op.conditions, places),
    )


def _lifted_region(op: Op, operands: Sequence[Node], many: Sequence[bool], length: Dim) -> Op:
    """A region that computes all values in each trip; the number of trips is equal for all."""
    region = op.primitive
    assert isinstance(region, Region)
    first = region.overwrites
    decides = many[first] if isinstance(region, Cond) else len(region.bodies) > 1
    if decides:
        raise GradientError(
            "a loop or branch under vmap or in a Jacobian",
            "a condition that may differ between the mapped values",
            "choose with np.where, or run a number of trips that is the same for all values",
            origin(op) or user_location(),
        )
    given, every = list(operands), [k < first or each for k, each in enumerate(many)]
    for k, each in enumerate(many[:first]):
        if not each:
            given[k] = copied(builder.broadcast_to(given[k], (length, *given[k].shape)))
    inputs = tuple(Input(node.dtype, k, node.shape) for k, node in enumerate(given))
    bodies = []
    for body in region.bodies:
        pairs = zip(body.inputs, inputs, every, strict=True)
        stacked = dict[Node, Node]((old, new) for old, new, each in pairs if each)
        bodies.append(Graph(inputs, tuple(lifted(body.outputs, stacked, length)), body.writes))
    ranks = tuple(len(node.shape) for node in given)
    return region_node(region.replace(bodies=tuple(bodies), ranks=ranks), given)


def _check(op: Op, operands: Sequence[Node], many: Sequence[bool], length: Dim) -> Node:
    """A check of the positions of all values at once; its result is one number."""
    if op.primitive.name.startswith("ends_"):
        folds = (builder.MIN, builder.MAX)
        ends = (
            builder.fold(fold, node, (0,)) if each else node
            for fold, node, each in zip(folds, operands, many, strict=True)
        )
        return note(op.replace(operands=tuple(ends)))
    maps = tuple(_moved(m, len(op.extents), True) for m in op.maps)
    return note(op.replace(operands=tuple(operands), maps=maps, extents=(length, *op.extents)))


def _stacked_call(op: Op, operands: Sequence[Node], many: Sequence[bool], length: Dim) -> Node:
    evaluate: Any = op.primitive.evaluate
    function: Any = evaluate.function if isinstance(evaluate, ArrayFunction) else None
    if not isinstance(function, Hashable) or function not in STACKED | ALONG:
        raise GradientError(
            f"{op.primitive.name} under vmap or in a Jacobian",
            f"{op.primitive.name}, which has no form for stacks of operands",
            "call it outside of the mapped function",
            origin(op) or user_location(),
        )
    options = dict(evaluate.options)
    if function in ALONG:
        options["axis"] = options["axis"] + 1
    whole = [
        node if each else builder.broadcast_to(node, (length, *node.shape))
        for node, each in zip(operands, many, strict=True)
    ]
    vector = function is np.linalg.solve and len(op.operands[1].shape) == 1
    arrays = [NodeArray(node) for node in whole]
    if vector:
        arrays[1] = arrays[1][..., None]
    stacked: Any = function
    rule: Callable[..., Any] = FUNCTIONS[stacked]
    made = rule(*(one.node for one in arrays), **options)
    found: Node = made if evaluate.part is None else made[evaluate.part]
    return node_of(NodeArray(found)[..., 0], found) if vector else found
