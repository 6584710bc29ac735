"""Where the values of tensors come from that are not computed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Constant, Node, Scalar
from axiomjit.notation.shapes import number
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import Dim


class Source:
    """Where the values of a leaf come from."""

    __slots__ = ()

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The node of a leaf of these lengths."""
        raise NotImplementedError


class Filled(Source):
    """One number everywhere."""

    __slots__ = ("value",)

    def __init__(self, value: Scalar) -> None:
        self.value = value

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The number, stretched."""
        return builder.view(self.value, (), lengths)


class Given(Source):
    """The elements of a node, an array or what is computed of one, in C order."""

    __slots__ = ("value",)

    def __init__(self, value: Node) -> None:
        self.value = value

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The elements in this shape."""
        if self.value.shape == lengths:
            return self.value
        sizes = [length.constant for length in lengths]
        if isinstance(self.value, Constant) and None not in sizes:
            array = self.value.array.reshape([size or 0 for size in sizes])
            array.flags.writeable = False
            return Constant(array.dtype, array, lengths)
        reshaped = FUNCTIONS[np.reshape](self.value, lengths)
        assert isinstance(reshaped, Node)
        return reshaped


class Fetch(Source):
    """Values that are made for the shape, once it is closed."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[tuple[int, ...]], np.ndarray]) -> None:
        self.name, self.make = name, make

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The values for this shape."""
        shape = tuple(int(number(length) or 0) for length in lengths)
        array = np.asarray(self.make(shape))
        return builder.as_node(np.array(array, order="C"), f"the values of {self.name}")

    def __repr__(self) -> str:
        return self.name


class Missing(Source):
    """In the place of values that are missing: whoever asks for them is refused."""

    __slots__ = ("called",)

    def __init__(self, called: str) -> None:
        self.called = called

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """Refuse: there is nothing to compute with."""
        shape = ", ".join(map(str, lengths))
        raise GraphValueError(
            f"the values of {self.called}",
            f"a tensor of shape ({shape}) that was made without values",
            "give values where it is made: tensor(values, ...)",
            user_location(),
        )


def _counted(shape: tuple[int, ...]) -> np.ndarray:
    return np.arange(np.prod(shape, dtype=int), dtype=dtypes.FLOAT).reshape(shape)


arange_like: Final = Fetch("arange_like", _counted)
"""Values 0, 1, 2, ... of float64 in memory order, whatever the shape is."""


def source_of(value: Any, asked: str) -> tuple[Source, tuple[Dim, ...] | None]:
    """Where values come from, and the shape of an array.

    Raises:
        GraphTypeError: the value is nothing one can compute with.
    """
    if value is None:
        return Missing(asked), None
    if isinstance(value, Fetch):
        return value, None
    node = value if isinstance(value, Node) else _node(value, asked)
    if isinstance(node, Scalar):
        return Filled(Scalar(node.dtype, node.value, False)), None
    return Given(node), node.shape


def _node(value: Any, asked: str) -> Node:
    if not isinstance(value, np.ndarray | Sequence | np.generic | bool | int | float | complex):
        raise GraphTypeError(
            asked,
            f"values of type {type(value).__name__}",
            "give an array, a number, or a fetch such as axiomjit.notation.arange_like",
            user_location(),
        )
    try:
        array = np.array(value, order="C")
    except (TypeError, ValueError, OverflowError) as error:
        remedy = "give numbers of one kind, in rows of equal length"
        raise GraphTypeError(asked, str(error), remedy, user_location()) from None
    native = dtypes.supported(array.dtype, asked, user_location())
    array = array.astype(native, copy=False)
    array.flags.writeable = False
    if array.ndim == 0:
        return Scalar(array.dtype, array[()], False)
    return builder.as_node(array, asked)
