"""Objects that represent arrays with values not known yet: in the axis language, while tracing."""

from __future__ import annotations

from typing import Self

from axiomjit.graph.primitives import Primitive


class NodeValue:
    """Represents the value of a node; functions for every door ask it to apply a primitive."""

    __slots__ = ()

    def mapped(self, primitive: Primitive) -> Self:
        """Return a primitive of one operand, of each element."""
        raise NotImplementedError


class TracedValue(NodeValue):
    """Represents an array while a function is followed; other doors recognise it by this class."""

    __slots__ = ()
