"""Symbolic indices, whose values are set before a tensor is evaluated."""

from __future__ import annotations

import itertools
import operator
from typing import Final

from axiomjit.base.errors import GraphTypeError, PositionError
from axiomjit.base.origins import hides_frames, user_location
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
            This symbol.

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
        range: The length of the axes that are indexed; by default it is inferred.

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
