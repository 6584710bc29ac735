"""Base classes of the objects that represent arrays in the axis language and in a trace."""

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
    """Operands of one shape, the dimensions to reduce in order, and the result's wrapper.

    `wrap` wraps a node without these dimensions, or with all of them for a scan.
    `need_elements(name, node)` refuses lengths of 0 that are known only later, for a reduction
    without identity.
    """

    nodes: Sequence[Node]
    axes: tuple[int, ...]
    wrap: Callable[[Node], Any]
    need_elements: Callable[[str, Node], None] | None = None


def broadcast_folding(nodes: Sequence[Node], axes: Any, wrap: Callable[[Node], Any]) -> Folding:
    """Prepare the reduction of nodes, broadcast as in NumPy, along dimensions in order.

    Raises:
        GraphValueError: the shapes do not broadcast.
        numpy.exceptions.AxisError: there is no such dimension.
        ValueError: a dimension is listed twice.
    """
    shape = builder.broadcast_shapes([node.shape for node in nodes], "fold", *nodes)
    whole = [builder.broadcast_to(node, shape) for node in nodes]
    every = range(len(shape)) if axes is None else axes
    return Folding(whole, normalize_axis_tuple(every, len(shape), "axes"), wrap)


Source = tuple[int, int]
"""An operand's number, and a dimension of it."""


class Placing(Record):
    """Operands paired by the position of their dimensions, and the result's wrapper.

    `wrap` takes a result's node and for each of its dimensions the equal dimensions of operands.
    `known` are lengths fixed in every call; None if guards decide. `need_elements` is that of
    `Folding`, for one reduced length.
    """

    nodes: Sequence[Node]
    wrap: Callable[[Node, Sequence[Sequence[Source]]], Any]
    known: Mapping[Symbol, int] | None = None
    need_elements: Callable[[str, Node, Dim], None] | None = None

    def with_lengths(self) -> AbstractContextManager[object]:
        """Return a context in which the known lengths have their values."""
        return nullcontext() if self.known is None else bound(Scope(self.known))


class NodeValue:
    """Represents the value of a node; functions of every front end ask it to apply a primitive."""

    __slots__ = ()

    def mapped(self, primitive: Primitive) -> Self:
        """Return a primitive of one operand, applied to each element."""
        raise NotImplementedError

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """Pair the dimensions of the operands, of which this value is one, by position."""
        raise NotImplementedError

    def folding(self, operands: Sequence[object], axes: Any, running: bool) -> Folding:
        """Make the reduction of the operands, of which this value is one, along the axes."""
        raise NotImplementedError


class AxisValue(NodeValue):
    """A tensor of the axis language; other front ends recognise it by this class."""

    __slots__ = ()


class NamedValue:
    """An array with axes and known values: functions of tensors compute with it directly."""

    __slots__ = ()

    def computed(
        self,
        function: Callable[..., Any],
        operands: Sequence[object],
        kept: BoundedTable[Hashable, Any],
        key: Hashable,
    ) -> Any:
        """Compute a function of tensors on operands, including this one.

        The table `kept` caches the compiled function by `key` and the operands' axes and dtypes.
        """
        raise NotImplementedError


class ShapedValue(NodeValue):
    """Stands for a tensor of label notation; functions of other front ends dispatch to it."""

    __slots__ = ()

    def elementwise(self, function: Callable[..., object], operands: Sequence[object]) -> Self:
        """A NumPy function of the elements of operands, including this one."""
        raise NotImplementedError


class TracedValue(NodeValue):
    """Stands for an array while a function is traced; front ends recognise it by this class."""

    __slots__ = ()

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """The operands as arrays; the result is an array."""
        nodes = [builder.as_node(getattr(value, "node", value), asked) for value in operands]
        wrap = self.folding((self,), (), False).wrap
        return Placing(list(map(builder.strong, nodes)), lambda node, sources: wrap(node))
