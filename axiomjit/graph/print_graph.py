"""Print a graph in stable lines: nodes are numbered in post-order, without names or addresses."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.base.dtypes import type_name
from axiomjit.graph.nodes import (
    Constant,
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Scalar,
    Update,
)
from axiomjit.graph.regions import Loop, Region, Written
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import show, show_conditions, show_region


def _shape_text(shape: tuple[Dim, ...]) -> str:
    return "[" + ", ".join(str(length) for length in shape) + "]"


def type_text(node: Node) -> str:
    """The text of a node's dtype and shape, such as `f8[n0]`; a weak number starts with `~`."""
    return f"{'~' if node.weak else ''}{type_name(node.dtype)}{_shape_text(node.shape)}"


def _op_text(op: Op, numbers: dict[Node, int]) -> str:
    reads = [
        f"%{numbers[child]}{show(index)}"
        for child, index in zip(op.operands, op.maps, strict=False)
    ]
    for k, region in enumerate(op.regions):
        reads[k] += f" where {show_region(region, op.extents) or 'always'}"
    name = f"part {op.primitive.source} of " if op.primitive.name == "part" else op.primitive
    if isinstance(op, Update) and op.combine is not None:
        name = f"{op.combine} {name}"
    if isinstance(op, Written):
        return f"%{numbers[op.operands[0]]} after %{numbers[op.operands[1]]}"
    if isinstance(op.primitive, Region):
        return _region_text(op.primitive, [f"%{numbers[child]}" for child in op.operands])
    text = f"{name}({', '.join(reads)})"
    if op.fold is not None:
        folded = ", ".join(
            f"i{k} < {length}" for k, length in enumerate(op.extents) if k >= op.rank
        )
        text = f"{op.fold} {text} over {folded}" if folded else f"running {op.fold} {text}"
    return text + show_conditions(op.conditions)


def _region_text(region: Region, names: list[str]) -> str:
    """The first line of a region: its range, overwritten storages and captured values."""
    text = region.name
    if isinstance(region, Loop) and region.trips is not None:
        text += f" {region.index.name if region.index else '_'} < {region.trips}"
    written, captured = names[: region.overwrites], names[region.overwrites :]
    text += f" over {', '.join(written)}" if written else ""
    return text + (f" with {', '.join(captured)}" if captured else "")


_HEADS = {True: ("do", "while"), False: ("then", "else")}
"""The words before the bodies of a loop (True), and of a branch (False)."""


def _node_text(node: Node, numbers: dict[Node, int]) -> str:
    """The text of a node, without its number and type."""
    match node:
        case Input():
            return f"input {node.position}"
        case Scalar():
            return f"scalar {node.value.item()!r}"
        case Constant():
            return "held array"
        case LengthNode():
            return f"length {node.length}"
        case Op():
            return _op_text(node, numbers)
    raise TypeError(f"no text for {type(node).__name__}")


def graph_lines(graph: Graph) -> Iterator[str]:
    """Yield the lines of a graph, one per node, operands before users."""
    numbers: dict[Node, int] = {}
    for node in (*graph.inputs, *graph.nodes):
        if node in numbers:
            continue
        numbers[node] = len(numbers)
        yield f"%{numbers[node]} = {_node_text(node, numbers)}: {type_text(node)}"
        if isinstance(node, Op) and isinstance(node.primitive, Region):
            heads = _HEADS[isinstance(node.primitive, Loop)]
            for head, body in zip(heads, node.primitive.bodies, strict=False):
                yield f"  {head}:"
                yield from (f"    {line}" for line in graph_lines(body))
    yield "return " + ", ".join(f"%{numbers[node]}" for node in graph.results)
    for length, node in zip(graph.data_dependent, graph.counts, strict=True):
        asked = [f"{g.left} {g.sign} {g.right} is {g.outcome}" for g in length.guards]
        yield f"let {length.symbol.name} = %{numbers[node]}" + "".join(f", {a}" for a in asked)
    for node, position in zip(graph.final_values, graph.writes, strict=False):
        yield f"write %{numbers[node]} to input {position}"
