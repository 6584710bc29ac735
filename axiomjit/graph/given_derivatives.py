"""Derivatives that users give in the bodies of loops and branches, until the trace has ended.

The node of a result reads, behind its value, what the derivative is made of: a hole for the
cotangent of the result, inputs, and their cotangents, which read the hole. They are operands, so
whatever closes a body, makes an instance of it or cuts it into blocks maps them with the rest.
Nothing computes them: the programs of a trace have the values alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.graph import builder
from axiomjit.graph.nodes import Graph, Node, Op, Scalar, note, post_order, with_operands
from axiomjit.graph.primitives import ANY_NUMBER, COPY, Primitive
from axiomjit.graph.regions import Region, rebuilt
from axiomjit.symbolic.index_maps import fixed, identity

GIVEN: Final = Primitive("given", ANY_NUMBER, lambda value, *rest: np.array(value), "{0}")
"""The first operand; a value that is asked for while a trace runs is computed as it stands."""


class Hole(Op):
    """Stands for a value that is given later, in the trip of the body that reads it."""

    number: int = 0


class Given(Op):
    """The first operand, with a derivative."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes that the derivative gives cotangents of."""
        return self.operands[2 : 2 + (len(self.operands) - 2) // 2]

    def pulled(self, g: Node) -> list[Node]:
        """The cotangents of the inputs, for that of the result."""
        return rebuilt(self.operands[2 + len(self.inputs) :], {self.operands[1]: g})


def hole_like(node: Node, number: int) -> Hole:
    """A hole for values of the dtype and shape of a node; the number tells holes apart."""
    rank = len(node.shape)
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return Hole(node.dtype, COPY, None, (zero,), ((),), node.shape, rank, number=number)


def given(value: Node, hole: Hole, pairs: Sequence[tuple[Node, Node]]) -> Given:
    """A copy of a value whose derivative is given.

    Args:
        value: The value.
        hole: The node that stands for its cotangent.
        pairs: Inputs with their cotangents.
    """
    inputs, cotangents = [one for one, _ in pairs], [one for _, one in pairs]
    operands = (value, hole, *inputs, *cotangents)
    rank = len(value.shape)
    maps = [tuple(fixed(0) for _ in node.shape) for node in operands[1:]]
    maps = [identity(rank), *maps]
    return note(Given(value.dtype, GIVEN, None, operands, tuple(maps), value.shape, rank))


def values_alone(outputs: Sequence[Node], given: Mapping[Node, Node] | None = None) -> list[Node]:
    """The outputs without given derivatives, also in the bodies of regions."""
    new = dict(given or {})
    for node in post_order(tuple(outputs), lambda n: () if n in new else _read(n)):
        if node in new:
            continue
        if isinstance(node, Given):
            new[node] = builder.elementwise(COPY, new[node.operands[0]])
            continue
        made = with_operands(node, [new[child] for child in node.children])
        if isinstance(made, Op) and isinstance(made.primitive, Region):
            made = made.replace(primitive=_without(made.primitive))
        new[node] = made
    return [new[node] for node in outputs]


def _read(node: Node) -> tuple[Node, ...]:
    return node.operands[:1] if isinstance(node, Given) else node.children


def _without(region: Region) -> Region:
    bodies = tuple(
        body.replace(outputs=tuple(values_alone(body.outputs))) for body in region.bodies
    )
    same = all(new.outputs == old.outputs for new, old in zip(bodies, region.bodies, strict=True))
    return region if same else region.replace(bodies=bodies)


def graph_of_values(graph: Graph) -> Graph:
    """The graph without given derivatives."""
    return graph.replace(outputs=tuple(values_alone(graph.outputs)))
