"""Arrays that stand for nodes in NumPy's functions and operators, in which rules are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.array_values import ArrayValue
from axiomjit.base.dtypes import DType
from axiomjit.graph import builder
from axiomjit.graph.external_calls import ufunc_step
from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import Dim


class NodeArray(ArrayValue[Any], TracedValue):
    """An array that represents a node; NumPy's functions of the array make further nodes."""

    __slots__ = ("node",)
    __array_priority__ = 3000

    def __init__(self, node: Node) -> None:
        """Make the array that represents a node."""
        self.node = node

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self.node.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The lengths of the dimensions."""
        return self.node.shape

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.node.shape)

    @property
    def mT(self) -> NodeArray:
        """The array with the last two dimensions swapped."""
        rank = self.ndim
        return NodeArray(builder.transpose(self.node, [*range(rank - 2), rank - 1, rank - 2]))

    @property
    def T(self) -> NodeArray:
        """The array with the dimensions in reverse order."""
        return NodeArray(builder.transpose(self.node, range(self.ndim)[::-1]))

    @property
    def real(self) -> NodeArray:
        """The real parts."""
        return NodeArray(builder.part(self.node, "real"))

    @property
    def imag(self) -> NodeArray:
        """The imaginary parts."""
        return NodeArray(builder.part(self.node, "imag"))

    def astype(self, dtype: Any) -> NodeArray:
        """The elements in another dtype."""
        return NodeArray(builder.cast(self.node, np.dtype(dtype)))

    def sum(self, axis: Any = None, keepdims: bool = False) -> NodeArray:
        """The sum along dimensions."""
        made: NodeArray = np.sum(self, axis=axis, keepdims=keepdims)  # type: ignore[call-overload]
        return made

    def __getitem__(self, key: Any) -> NodeArray:
        return NodeArray(index_node(self.node, _nodes_in(key)))

    def _ufunc(
        self, ufunc: np.ufunc, method: str, operands: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        assert method == "__call__", f"{ufunc.__name__}.{method} in a rule"
        assert not options, f"{ufunc.__name__} with options in a rule"
        nodes = list(map(_nodes_in, operands))
        if ufunc in UFUNCS:
            return _wrapped(UFUNCS[ufunc](*nodes))
        step = ufunc_step(ufunc, [builder.as_node(node, ufunc.__name__) for node in nodes])
        return _wrapped(step if len(step) > 1 else step[0])

    def _function(
        self, function: Any, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> object:
        named = {name: _nodes_in(value) for name, value in options.items()}
        return _wrapped(FUNCTIONS[function](*map(_nodes_in, operands), **named))


def _nodes_in(value: Any) -> Any:
    if isinstance(value, NodeArray):
        return value.node
    if isinstance(value, tuple | list):
        return type(value)(map(_nodes_in, value))
    return value


def _wrapped(made: Any) -> Any:
    if isinstance(made, Node):
        return NodeArray(made)
    kind: Any = type(made)
    return getattr(kind, "_make", kind)(map(NodeArray, made))


def node_of(value: object, like: Node) -> Node:
    """The node of a rule's result; a number becomes a node of the dtype of `like`."""
    if isinstance(value, NodeArray):
        return value.node
    return builder.cast(builder.strong(builder.as_node(value, "a gradient")), like.dtype)
