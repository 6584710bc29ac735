"""Base classes of the objects that represent arrays in the axis language and in a trace."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from operator import index
from typing import Any, NamedTuple, Self

from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit.base.caching import BoundedTable
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, describe_shape
from axiomjit.graph.primitives import Primitive
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim, Scope, Symbol, bound, dim


class Folding(Record):
    """Operands of equal shape, the dimensions to reduce in order, and a wrapper for the result.

    `wrap` wraps the node of a reduction, which lacks the reduced dimensions, or of a scan, which
    has them. `need_elements(name, node)` refuses lengths of 0 that are known only later, for a
    reduction without identity. A grouped reduction has `labels`, one integer for each point of the
    dimensions to reduce, in order, and the number of `groups`.
    """

    nodes: Sequence[Node]
    axes: tuple[int, ...]
    wrap: Callable[[Node], Any]
    need_elements: Callable[[str, Node], None] | None = None
    labels: Node | None = None
    groups: Dim | None = None


class By(NamedTuple):
    """The labels of a grouped reduction, and the number of groups or their axis."""

    labels: Any
    groups: Any


def broadcast_folding(
    nodes: Sequence[Node],
    axes: Any,
    wrap: Callable[[Node], Any],
    labels: Node | None = None,
    groups: Dim | None = None,
) -> Folding:
    """The reduction of nodes, broadcast as in NumPy, along dimensions in order.

    Raises:
        GraphValueError: the shapes do not broadcast, or the labels have another shape than the
            dimensions to reduce.
        numpy.exceptions.AxisError: a listed dimension does not exist.
        ValueError: a dimension is listed twice.
    """
    shape = builder.broadcast_shapes([node.shape for node in nodes], "fold", *nodes)
    whole = [builder.broadcast_to(node, shape) for node in nodes]
    every = range(len(shape)) if axes is None else axes
    folded = normalize_axis_tuple(every, len(shape), "axes")
    if labels is not None:
        _check_labels(labels, tuple(shape[d] for d in folded))
    return Folding(whole, folded, wrap, None, labels, groups)


def number_of_groups(given: object) -> Dim:
    """The number of groups, from a number or symbolic length.

    Raises:
        GraphTypeError: the number is not an integer.
        GraphValueError: the number is negative.
    """
    if isinstance(given, Dim):
        return given
    asked = f"fold(..., groups={given!r})"
    try:
        number = index(given)  # type: ignore[arg-type]
    except TypeError:
        seen, remedy = f"a {type(given).__name__}", "give the number of groups, an integer"
        raise GraphTypeError(asked, seen, remedy, user_location()) from None
    if number < 0:
        remedy = "give a number that is not negative"
        raise GraphValueError(asked, "a negative number of groups", remedy, user_location())
    return dim(number)


def _check_labels(labels: Node, shape: tuple[Dim, ...]) -> None:
    """Check that labels have the shape of the dimensions to reduce.

    Raises:
        GraphValueError: the labels have another shape.
    """
    pairs = zip(labels.shape, shape, strict=False)
    if len(labels.shape) != len(shape) or not all(assumed_equal(*pair) for pair in pairs):
        raise GraphValueError(
            f"a fold by groups along dimensions of lengths {describe_shape(shape)}",
            f"labels of shape {describe_shape(labels.shape)}",
            "give one label for each position along these dimensions, in the order of axes",
            user_location(),
        )


Source = tuple[int, int]
"""The number of an operand, and one of its dimensions."""


class Placing(Record):
    """Operands whose dimensions are paired by position, and a wrapper for the result.

    `wrap` takes the node of a result and, for each dimension of the result, the dimensions of
    operands that are paired there. `known` are lengths that are fixed in every call; None if guards
    decide about lengths. `need_elements` is as in `Folding`, but for one reduced length.
    """

    nodes: Sequence[Node]
    wrap: Callable[[Node, Sequence[Sequence[Source]]], Any]
    known: Mapping[Symbol, int] | None = None
    need_elements: Callable[[str, Node, Dim], None] | None = None

    def with_lengths(self) -> AbstractContextManager[object]:
        """A context in which the known lengths have their values."""
        return nullcontext() if self.known is None else bound(Scope(self.known))


class NodeValue:
    """An object for the value of a node; functions of every front end accept it."""

    __slots__ = ()

    def mapped(self, primitive: Primitive) -> Self:
        """The result of applying a primitive with one operand to each element."""
        raise NotImplementedError

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """Pair the dimensions of operands, which include this value, by position."""
        raise NotImplementedError

    def folding(
        self, operands: Sequence[object], axes: Any, running: bool, by: By | None = None
    ) -> Folding:
        """The reduction of operands, which include this value, along axes."""
        raise NotImplementedError


class AxisValue(NodeValue):
    """The base class of tensors of the axis language, by which other front ends recognise them."""

    __slots__ = ()


class NamedValue:
    """The base class of arrays with axes and known values, to which functions of tensors apply."""

    __slots__ = ()

    def computed(
        self,
        function: Callable[..., Any],
        operands: Sequence[object],
        kept: BoundedTable[Hashable, Any],
        key: Hashable,
    ) -> Any:
        """The result of a function of tensors for operands, which include this array.

        The table `kept` caches the compiled function by `key` and by the axes and dtypes of
        operands.
        """
        raise NotImplementedError


class ShapedValue(NodeValue):
    """The base class of tensors of label notation, by which other front ends recognise them."""

    __slots__ = ()

    def elementwise(self, function: Callable[..., object], operands: Sequence[object]) -> Self:
        """The result of a NumPy function of the elements of operands, which include this tensor."""
        raise NotImplementedError


class TracedValue(NodeValue):
    """The base class of arrays in a trace, by which front ends recognise them."""

    __slots__ = ()

    def placing(self, operands: Sequence[object], asked: str) -> Placing:
        """Pair the dimensions of operands as NumPy does; the result is a traced array."""
        nodes = [builder.as_node(getattr(value, "node", value), asked) for value in operands]
        wrap = self.folding((self,), (), False).wrap
        return Placing(list(map(builder.strong, nodes)), lambda node, sources: wrap(node))
