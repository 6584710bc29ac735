"""The stages of a call with Dask arrays, found before any result is made."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from math import isnan

from axiomjit.dispatch.chunked_calls import WholeTrace
from axiomjit.graph.nodes import Graph, Node
from axiomjit.scale.axis_classes import Classified, classify_axes
from axiomjit.scale.partitions import Partition
from axiomjit.scale.refusals import Arguments, Blocks, unknown_lengths
from axiomjit.scale.stages import Stage, stages_of, with_fused_scans
from axiomjit.symbolic.dims import Dim, symbols_in


def is_array(kind: type) -> bool:
    """True for the class of Dask arrays and its subclasses; does not import Dask."""
    dask = sys.modules.get("dask.array")
    return dask is not None and issubclass(kind, dask.Array)


def blocks_of(trace: WholeTrace) -> Arguments:
    """The arguments that consist of blocks, by position."""
    found = {}
    for position, (value, name) in enumerate(zip(trace.arguments, trace.names, strict=True)):
        if not is_array(type(value)):
            continue
        cuts = tuple(_partition(cut) for cut in value.chunks)
        shape = tuple(None if isnan(n) else int(n) for n in value.shape)
        found[position] = Blocks(name, value.dtype.itemsize, shape, cuts)
    return found


def _partition(chunks: Sequence[float]) -> Partition | None:
    lengths = tuple(None if isnan(n) else int(n) for n in chunks)
    return None if len(lengths) == 1 and lengths[0] is not None else Partition(lengths)


class Planned:
    """A traced call, with classified axes, cut into stages."""

    def __init__(self, trace: WholeTrace) -> None:
        """Classify the axes of a call, and find its stages.

        Raises:
            GraphTypeError, GraphValueError: the call cannot be cut into stages.
        """
        self.trace, self.arguments = trace, blocks_of(trace)
        self.values = dict(trace.values)
        graph = _results_only(trace)
        _check_unknown(trace, graph, self.arguments)
        classified = classify_axes(graph, self.arguments, self.values)
        self.classified: Classified = with_fused_scans(classified, self.values)
        self.stages: tuple[Stage, ...] = stages_of(self.classified, self.values)


def _results_only(trace: WholeTrace) -> Graph:
    """The graph with only those outputs that the leaves of the result refer to by number."""
    numbers = sorted({n for n, _ in trace.leaves if n is not None})
    outputs = tuple(trace.graph.outputs[n] for n in numbers)
    return Graph(trace.graph.inputs, outputs)


def _check_unknown(trace: WholeTrace, graph: Graph, arguments: Arguments) -> None:
    """Refuse a call whose function compares or returns a length that is not known.

    Raises:
        GraphValueError: the function compares or returns a length that is not known.
    """
    for node in graph.inputs:
        blocks = arguments.get(node.position)
        for d, n in enumerate(blocks.shape if blocks else ()):
            if n is not None:
                continue
            unknown = symbols_in(node.shape[d])
            compared = any(unknown & symbols_in(guard.left, guard.right) for guard in trace.guards)
            leaves = (v for _, v in trace.leaves if isinstance(v, Dim))
            if compared or any(unknown & symbols_in(v) for v in leaves):
                raise unknown_lengths(_first_reader(graph, node), node, d, arguments)


def _first_reader(graph: Graph, node: Node) -> Node:
    return next((op for op in graph.ops if node in op.operands), node)
