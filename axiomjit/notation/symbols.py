"""Indices with a value that is set when a tensor is evaluated."""

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
        """See `symbol`."""
        self.name = name
        self.range = range
        self.dim: Dim = named_length(f"s{next(_numbers)}", ANY)
        self.value: int | None = None

    def bind(self, value: int) -> Symbol:
        """Set the value of the index, until it is set again.

        Returns:
            The symbol.

        Raises:
            PositionError: the value is not in the range.
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
    """Make an index for `t[index]`, with a value that is set when the tensor is evaluated.

    Args:
        name: A name for messages.
        range: The length of the axes that it indexes; by default inferred.

    Raises:
        GraphTypeError: the name is not a text, or the range not an integer.
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
