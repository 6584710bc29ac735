"""Sources of values that no operation computes: the values of leaves and of symbolic indices.

Symbolic indices are set before a tensor is evaluated.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.base.errors import GraphTypeError, GraphValueError, PositionError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Constant, Node, Scalar
from axiomjit.notation.shapes import number
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.symbolic.dims import ANY, Dim, named_length

_numbers: Final = itertools.count()


class Symbol:
    """An index with a value set by `bind`, before or after tensors use it."""

    __slots__ = ("dim", "name", "range", "value")

    def __init__(self, name: str, range: int | None = None) -> None:
        """Make an index without a value; users call `symbol`."""
        self.name = name
        self.range = range
        self.dim: Dim = named_length(f"s{next(_numbers)}", ANY)
        self.value: int | None = None

    def bind(self, value: int) -> Symbol:
        """Set the value of the index; a later call replaces the value.

        Returns:
            The symbol itself.

        Raises:
            PositionError: the value is negative or not below `range`.
            GraphTypeError: the value is not an integer.
        """
        number = _integer(value, f"{self!r}.bind({value!r})")
        if number < 0 or (self.range is not None and number >= self.range):
            limit = "0 or more" if self.range is None else f"from 0 to {self.range - 1}"
            seen, remedy = f"the index {number}", f"give an index {limit}"
            raise PositionError(f"{self!r}.bind", seen, remedy, user_location())
        self.value = number
        return self

    def __repr__(self) -> str:
        inside = "" if self.range is None else f", {self.range}"
        return f"symbol({self.name!r}{inside})"


@hides_frames
def symbol(name: str, range: int | None = None) -> Symbol:
    """Make a symbolic index for `t[index]`, whose value is set before the tensor is evaluated.

    Args:
        name: A name for messages.
        range: The length of the axes that are indexed; by default the length is inferred.

    Raises:
        GraphTypeError: the name is not a string, or the range is not an integer.
    """
    if not isinstance(name, str):
        seen = f"the name {name!r}"
        raise GraphTypeError("a symbol", seen, "give a name as text", user_location())
    return Symbol(name, None if range is None else _integer(range, f"symbol({name!r}, {range!r})"))


def _integer(value: object, asked: str) -> int:
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        seen = f"a {type(value).__name__}"
        raise GraphTypeError(asked, seen, "give an integer", user_location()) from None


class Source:
    """Base class of the sources of a leaf's values."""

    __slots__ = ()

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The node of a leaf with these lengths."""
        raise NotImplementedError


class Repeated(Source):
    """The source of a leaf whose elements are all the same number."""

    __slots__ = ("value",)

    def __init__(self, value: Scalar) -> None:
        self.value = value

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The number, broadcast to these lengths."""
        return builder.view(self.value, (), lengths)


class Elements(Source):
    """The source of a leaf with the elements of an array or of a computed node, in C order."""

    __slots__ = ("value",)

    def __init__(self, value: Node) -> None:
        self.value = value

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The elements, reshaped to these lengths."""
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
    """The source of a leaf whose values a function makes from the closed shape."""

    __slots__ = ("make", "name")

    def __init__(self, name: str, make: Callable[[tuple[int, ...]], np.ndarray]) -> None:
        self.name, self.make = name, make

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """The node of the values that the function makes for these lengths."""
        shape = tuple(int(number(length) or 0) for length in lengths)
        array = np.asarray(self.make(shape))
        return builder.as_node(np.array(array, order="C"), f"the values of {self.name}")

    def __repr__(self) -> str:
        return self.name


class NoValues(Source):
    """The source of a leaf that has a shape but no values."""

    __slots__ = ("called",)

    def __init__(self, called: str) -> None:
        self.called = called

    def node(self, lengths: tuple[Dim, ...]) -> Node:
        """Raise an error: the leaf has no values."""
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
"""The float64 values 0, 1, 2, ... in memory order, for any shape."""


def source_of(value: Any, asked: str) -> tuple[Source, tuple[Dim, ...] | None]:
    """The source of a leaf's values, and the shape of an array, which is None for other values.

    Raises:
        GraphTypeError: the value cannot be an operand.
    """
    if value is None:
        return NoValues(asked), None
    if isinstance(value, Fetch):
        return value, None
    node = value if isinstance(value, Node) else _node(value, asked)
    if isinstance(node, Scalar):
        return Repeated(Scalar(node.dtype, node.value, False)), None
    return Elements(node), node.shape


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
