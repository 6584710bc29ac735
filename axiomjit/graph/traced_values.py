"""What stands for arrays whose values are not known yet: in the axis language, while tracing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Self

from axiomjit.graph.primitives import Primitive


class NodeValue:
    """Stands for what a node computes; functions for every door ask it to apply a primitive."""

    __slots__ = ()

    def mapped(self, primitive: Primitive) -> Self:
        """A primitive of one operand, of each element."""
        raise NotImplementedError


class ShapedValue(NodeValue):
    """Stands for a tensor of label notation; functions of other doors hand operands over to it."""

    __slots__ = ()

    def elementwise(self, function: Callable[..., object], operands: Sequence[object]) -> Self:
        """A function of NumPy of the elements of operands, of which this is one."""
        raise NotImplementedError


class TracedValue(NodeValue):
    """Stands for an array while a function is followed; by this class other doors tell it."""

    __slots__ = ()
