"""Objects that represent arrays with values not known yet: in the axis language, while tracing."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Self

from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import Primitive
from axiomjit.symbolic.dims import Dim, Scope, Symbol, bound


class Folding(Record):
    """Operands of one shape, the dimensions to fold in their order, and what a result becomes.

    `made` takes a node without these dimensions, of a running fold one with all of them.
    `need_elements` takes a node and the name of a fold that has no value for no elements: it
    refuses lengths of 0 that are known later than the node is made.
    """

    nodes: Sequence[Node]
    axes: tuple[int, ...]
    made: Callable[[Node], Any]
    need_elements: Callable[[str, Node], None] | None = None


def broadcast_folding(nodes: Sequence[Node], axes: Any, made: Callable[[Node], Any]) -> Folding:
    """How nodes that broadcast as in NumPy are folded along dimensions, in the order listed.

    Args:
        nodes: What is folded.
        axes: A dimension, several of them, or None for all in their order.
        made: What a result becomes.

    Raises:
        GraphValueError: the shapes do not broadcast.
        numpy.exceptions.AxisError: no such dimension.
        ValueError: one is listed twice.
    """
    shape = builder.broadcast_shapes([node.shape for node in nodes], "fold", *nodes)
    whole = [builder.broadcast_to(node, shape) for node in nodes]
    every = range(len(shape)) if axes is None else axes
    return Folding(whole, normalize_axis_tuple(every, len(shape), "axes"), made)


Source = tuple[int, int]
"""An operand, by its number, and a dimension of it."""


class Placing(Record):
    """Operands whose dimensions are known by position, and what a result becomes.

    `made` takes the node of a result and for each of its dimensions the dimensions of operands that
    are the same one. `known` are lengths that hold in every call, None where guards decide.
    `need_elements` is as that of `Folding`, for one reduced length.
    """

    nodes: Sequence[Node]
    made: Callable[[Node, Sequence[Sequence[Source]]], Any]
    known: Mapping[Symbol, int] | None = None
    need_elements: Callable[[str, Node, Dim], None] | None = None

    def with_lengths(self) -> AbstractContextManager[object]:
        """Return a context in which lengths have the values that are known."""
        return nullcontext() if self.known is None else bound(Scope(self.known))


class NodeValue:
    """Represents the value of a node; functions for every door ask it to apply a primitive."""

    __slots__ = ()

    def mapped(self, primitive: Primitive) -> Self:
        """Return a primitive of one operand, of each element."""
        raise NotImplementedError

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """Operands, of which this is one, by the positions of their dimensions."""
        raise NotImplementedError

    def folding(self, operands: Sequence[object], axes: Any, running: bool) -> Folding:
        """How operands, of which this is one, are folded along axes of theirs."""
        raise NotImplementedError


class AxisValue(NodeValue):
    """A tensor of the axis language; other doors recognise it by this class."""

    __slots__ = ()


class NamedValue:
    """An array with axes whose values are known: functions of tensors compute with it directly."""

    __slots__ = ()

    def computed(
        self,
        function: Callable[..., Any],
        operands: Sequence[object],
        kept: BoundedTable[Hashable, Any],
        key: Hashable,
    ) -> Any:
        """What a function of tensors gives for operands, of which this is one.

        The compiled function is kept in a table, under `key` and the axes and dtypes of operands.
        """
        raise NotImplementedError


class ShapedValue(NodeValue):
    """Stands for a tensor of label notation; functions of other doors hand operands over to it."""

    __slots__ = ()

    def elementwise(self, function: Callable[..., object], operands: Sequence[object]) -> Self:
        """A function of NumPy of the elements of operands, of which this is one."""
        raise NotImplementedError


class TracedValue(NodeValue):
    """Represents an array while a function is followed; other doors recognise it by this class."""

    __slots__ = ()

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """The operands as arrays; the result is one."""
        nodes = [builder.as_node(getattr(value, "node", value), asked) for value in operands]
        made = self.folding((self,), (), False).made
        return Placing(list(map(builder.strong, nodes)), lambda node, sources: made(node))
