"""Derivatives that users give in the bodies of loops and branches; used while a trace runs.

The node of a result has these operands: the value, a hole that stands for the cotangent of the
result, the inputs of the derivative, and the cotangents of the inputs, which read the hole. The
parts of the derivative are operands, so code that closes a body, instantiates a body or cuts a body
into blocks also rewrites the derivative. No program reads the operands of the derivative, because
`values_alone` removes given derivatives before a program is made.
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
"""The primitive whose result is its first operand; a trace may evaluate the primitive, too."""


class Hole(Op):
    """A placeholder for a cotangent; `Given.pulled` replaces the hole by the cotangent."""

    number: int = 0


class Given(Op):
    """A copy of the first operand, with a given derivative as further operands."""

    @property
    def inputs(self) -> tuple[Node, ...]:
        """The nodes whose cotangents the derivative gives."""
        return self.operands[2 : 2 + (len(self.operands) - 2) // 2]

    def pulled(self, g: Node) -> list[Node]:
        """The cotangents of the inputs, for the cotangent `g` of the result."""
        return rebuilt(self.operands[2 + len(self.inputs) :], {self.operands[1]: g})


def hole_like(node: Node, number: int) -> Hole:
    """A hole with the dtype and shape of a node; the number makes the hole unequal to others."""
    rank = len(node.shape)
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    return Hole(node.dtype, COPY, None, (zero,), ((),), node.shape, rank, number=number)


def given(value: Node, hole: Hole, pairs: Sequence[tuple[Node, Node]]) -> Given:
    """A copy of a value whose derivative is given.

    Args:
        value: The value.
        hole: The node that stands for the cotangent of the value.
        pairs: Pairs of an input and the cotangent of the input.
    """
    inputs, cotangents = [one for one, _ in pairs], [one for _, one in pairs]
    operands = (value, hole, *inputs, *cotangents)
    rank = len(value.shape)
    maps = [tuple(fixed(0) for _ in node.shape) for node in operands[1:]]
    maps = [identity(rank), *maps]
    return note(Given(value.dtype, GIVEN, None, operands, tuple(maps), value.shape, rank))


def values_alone(outputs: Sequence[Node], given: Mapping[Node, Node] | None = None) -> list[Node]:
    """The outputs without given derivatives, which are also removed in the bodies of regions."""
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
