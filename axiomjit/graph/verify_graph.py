"""Verify a graph: check the invariants that every pass relies on and must preserve."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.base.dtypes import CODES, INT, UNSIGNED, code, state_dtype, state_parts
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    Input,
    Node,
    Op,
    Update,
    is_partial,
    is_scan,
    is_view,
    root_of,
)
from axiomjit.graph.primitives import ANY_NUMBER, GATHER, JOIN, STATE, UPDATE
from axiomjit.graph.regions import Region, Written, overwritten, region_faults
from axiomjit.symbolic.index_maps import iterators_of, show
from axiomjit.views.descriptions import partition_fault


def graph_faults(graph: Graph) -> Iterator[tuple[str, Graph]]:
    """Yield each fault of a graph, with the part of the graph to show in the error."""
    listed = set(graph.inputs)
    order = graph.nodes
    yield from ((fault, graph) for fault in _write_faults(graph))
    for index, node in enumerate(order):
        for fault in _faults(node, listed):
            yield fault, Graph(graph.inputs, tuple(order[max(0, index - 5) : index + 6]))
        if isinstance(node, Op) and isinstance(node.primitive, Region):
            yield from (fault for body in node.primitive.bodies for fault in graph_faults(body))


def _write_faults(graph: Graph) -> Iterator[str]:
    """Yield the faults of outputs and of writes into inputs."""
    positions = {node.position for node in graph.inputs}
    if any(map(is_partial, graph.outputs)):
        yield "an output is undefined at some places"
    last = graph.final_values
    if len(last) < len(graph.writes) or len(set(graph.writes)) < len(graph.writes):
        yield f"inputs {graph.writes} are written by {len(last)} outputs"
        return
    for node, position in zip(last, graph.writes, strict=True):
        root = root_of(node)
        if position not in positions:
            yield f"the absent input {position} is written"
        elif not isinstance(root, Input) or root.position != position or root is node:
            yield f"input {position} is written with another storage"
    roots: dict[Node, Node] = {}
    for node in graph.nodes:
        root = roots[node] = roots[node.operands[0]] if isinstance(node, Update) else node
        written = isinstance(root, Input) and root.position in graph.writes
        if isinstance(node, Update) and not isinstance(root, Op) and not written:
            yield f"an update of {root!r}, which the graph does not write"


def _faults(node: Node, listed: set[Input]) -> Iterator[str]:
    if any(part not in CODES for part in state_parts(node.dtype)):
        yield f"dtype {node.dtype} has no code"
    if isinstance(node, Input) and node not in listed:
        yield f"input {node.position} is not among the graph's inputs"
    if isinstance(node, Op):
        yield from _op_faults(node)


def _op_faults(op: Op) -> Iterator[str]:
    primitive = op.primitive
    if isinstance(primitive, Region):
        yield from region_faults(op)
    if isinstance(op, Written):
        old, region = op.operands
        if op.place >= overwritten(region) or region.children[op.place] is not old:
            yield f"a version of {old!r}, which {region!r} does not overwrite"
        return
    several = primitive.arity == ANY_NUMBER or isinstance(op, Update)
    count = len(op.operands) if several else primitive.arity
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
    library = primitive if isinstance(primitive, LibraryOperation) else None
    whole = library is not None and not library.keeps
    runs = is_scan(op) and op.fold is not None and op.fold.may_scan and op.rank > 0
    if primitive is GATHER or isinstance(op, Update):
        yield from _position_faults(op, 1 if primitive is GATHER else 2)
    elif library is not None and library.ranks is not None:
        if sum(library.ranks) != len(op.extents) - op.rank:
            yield f"operands of {library.ranks} dimensions with {len(op.extents)} iterators"
    elif not runs and (op.fold is None and not whole) != (op.rank == len(op.extents)):
        yield "folded iterators without an accumulator, or an accumulator without them"
    if isinstance(primitive, LibraryOperation) and op.dtype != primitive.dtype(
        op.operands[0].dtype
    ):
        yield f"{primitive} of {op.operands[0].dtype} as {op.dtype}"
    for child, index in zip(op.operands, op.maps, strict=True):
        if len(index) != len(child.shape):
            yield f"a map of {len(index)} dimensions onto an operand of {len(child.shape)}"
        for function in index:
            if any(not 0 <= k < len(op.extents) for k, _ in function.terms):
                yield f"map {function} names an iterator beyond {len(op.extents)}"
    yield from _condition_faults(op)
    if (primitive is UPDATE) != isinstance(op, Update):
        yield f"{primitive} in a {type(op).__name__}"
    if isinstance(op, Update):
        yield from _update_faults(op)
    yield from _dtype_faults(op)


def _condition_faults(op: Op) -> Iterator[str]:
    """Yield the faults in the conditions of an op, and its reads of undefined elements."""
    for one in op.conditions:
        if any(not 0 <= k < len(op.extents) for k, _ in one.function.terms):
            yield f"condition {one} names an iterator beyond {len(op.extents)}"
        if any((c.constant or 1) < 1 for _, c in one.function.terms):
            yield f"condition {one} has a coefficient below 1"
    if op.conditions and (op.regions or is_scan(op) or is_view(op) or isinstance(op, Update)):
        yield f"conditions of a {op.primitive}, which has none"
    if not op.conditions and any(map(is_partial, op.operands)):
        yield f"{op.primitive} reads places where its operand is undefined"


def _position_faults(op: Op, first: int) -> Iterator[str]:
    """Yield gathered iterators without a position, and positions that depend on such iterators.

    Positions are the operands from `first` on. A gather has positions; an update may have none.
    """
    gathered, what = len(op.extents) - op.rank, "gather" if first == 1 else "scatter"
    if op.fold is not None or len(op.operands) != first + gathered or gathered + first < 2:
        yield f"a {what} of {gathered} iterators by {len(op.operands)} operands"
    for positions in op.operands[first:]:
        if positions.dtype != INT:
            yield f"a {what} at {positions.dtype}"
    for index in op.maps[1:]:
        if any(k >= op.rank for k in iterators_of(index)):
            yield f"a position {show(index)} of gathered iterators"


def _update_faults(op: Update) -> Iterator[str]:
    """Yield the faults of an update, such as two points that replace the same element."""
    if is_view(op.operands[0]) or op.dtype != op.operands[0].dtype:
        yield f"an update of {op.operands[0]!r} as {op.dtype}"
    if op.whole != op.operands[0].shape:
        yield f"an update of {op.operands[0]!r} with another shape"
    if op.combine is not None and (
        op.combine.arity != 2 or code(op.operands[1].dtype) not in op.combine.loops
    ):
        yield f"an update by {op.combine} of {op.operands[1].dtype}"
    walked = iterators_of(op.maps[0])
    if op.rank < len(op.extents) or op.combine is not None:
        return  # each iterator once, in order
    for k, extent in enumerate(op.extents):
        if k not in walked and extent.constant not in (0, 1):
            yield f"an update in which i{k} writes one element again"


def _dtype_faults(op: Op) -> Iterator[str]:
    kinds = [child.dtype for child in op.operands]
    if op.primitive is STATE:
        if op.fold is None or op.dtype != state_dtype(kinds):
            yield f"a state of {len(kinds)} values as {op.dtype}, folded by {op.fold}"
        return
    values = kinds[:1] if op.primitive is GATHER else kinds
    if isinstance(op, Update):
        values = kinds[:2] if op.combine is None else kinds[:1]
    if op.primitive.chooser is not None:
        at, wanted = op.primitive.chooser
        values = kinds[:at] + kinds[at + 1 :]
        if kinds[at] != wanted:
            yield f"{op.primitive} chooses by {kinds[at]}"
    signs_meet = op.primitive.compares and set(values) == {INT, UNSIGNED}
    library = op.primitive if isinstance(op.primitive, LibraryOperation) else None
    apart = library is not None and (library.keeps or library.ranks is not None)
    if len(set(values)) > 1 and not (signs_meet or apart):
        yield f"operands of {', '.join(str(k) for k in kinds)} without a cast"
    if op.primitive.name == "part":
        parts = state_parts(kinds[0])
        if op.primitive.source not in map(str, range(len(parts))):
            yield f"part {op.primitive.source} of a state of {len(parts)} values"
        elif op.dtype != parts[int(op.primitive.source)]:
            yield f"part {op.primitive.source} of {kinds[0]} as {op.dtype}"
        return
    if op.primitive.name != "cast" and any(code(k) not in op.primitive.loops for k in values):
        yield f"{op.primitive} has no loop for {values[0]}"
    if op.fold is not None and code(op.dtype) not in op.fold.loops:
        yield f"{op.fold} has no loop for {op.dtype}"
