"""Named sizes, whose values become known before or after the operations that use them."""

from __future__ import annotations

from axiomjit.base.errors import ShapeError
from axiomjit.base.origins import user_location
from axiomjit.notation.demands import EqualRows, Total
from axiomjit.notation.shapes import Entry, entry_cell, number
from axiomjit.notation.solving import Cell, Demand, Origin, Row, Solver, closed_row, open_row
from axiomjit.notation.templates import Capture, Template


class Size(Entry, Capture):
    """The size of the label with a given name, or the number of elements of a row variable.

    `capture=[size]` binds the object to a label or row variable of a spec. The number of elements
    of a row variable is the product of the sizes of its axes, 1 without axes.
    """

    __slots__ = ("_cell", "_row", "name")

    def __init__(self, name: str) -> None:
        """Make an unknown size.

        Raises:
            ShapeError: the name is not a string, or is empty.
        """
        if not isinstance(name, str) or not name:
            seen, remedy = f"the name {name!r}", "give a label or the name of a row variable"
            raise ShapeError("a Size", seen, remedy, user_location())
        self.name = name
        self._cell = Cell(name=name)
        self._row: Row | None = None

    @property
    def cell(self) -> Cell:
        """The cell of the size."""
        return self._cell

    @property
    def value(self) -> int | None:
        """The size, or None while it is unknown; in a traced function a symbolic length."""
        return number(self._cell.root.size)

    def set(self, size: int) -> None:
        """Demand that the size equals a number.

        Raises:
            ShapeError: the size is already known to be another number, or the number does not fit
                other demands.
        """
        given = entry_cell(size, "", f"{self!r}.set")
        origin = self._origin(repr(self), f"set to {given}")
        Solver().add([EqualRows(closed_row((self._cell,)), closed_row((given,)), origin)])

    def equate(self, other: Size) -> None:
        """Demand that two sizes are equal, or that two row variables have the same axes.

        Raises:
            ShapeError: the sizes differ, or both are unknown and no spec has captured one of them.
        """
        if not isinstance(other, Size):
            seen, remedy = f"a {type(other).__name__}", "give another Size, or use set(number)"
            raise ShapeError(f"{self!r}.equate", seen, remedy, user_location())
        origin = self._origin(f"{self!r}.equate", f"equal to {other!r}")
        known = self.value is not None or other.value is not None
        if not known and (self._row is None or other._row is None):
            unbound = self if self._row is None else other
            raise ShapeError(
                origin.operation,
                f"{unbound!r}, which no spec has captured, and no value",
                "capture it first, as in einsum(spec, x, capture=[size]), or set a value",
                origin.where,
            )
        rows = [one._row for one in (self, other) if one._row is not None]
        pairs = [(closed_row((self._cell,)), closed_row((other._cell,)))]
        if len(rows) == 2 and all(_is_variable(row) for row in rows):
            pairs.append((rows[0], rows[1]))
        Solver().add(EqualRows(left, right, origin) for left, right in pairs)

    def captured(self, template: Template) -> list[Demand]:
        """The demands that bind this size to the label or row variable with its name; see `bind`.

        Raises:
            ShapeError: the spec lacks the name.
        """
        origin = template.origin(f"the captured {self.name!r}")
        if self.name in template.labels:
            row = closed_row((template.labels[self.name],))
            return [EqualRows(closed_row((self._cell,)), row, origin)]
        if self.name not in template.rows:
            template.refuse_name(self.name, "capture=")
        return [Total([open_row(template.rows[self.name])], self._cell, origin)]

    def bind(self, template: Template) -> None:
        """Store the label's cell or the row variable, after the solver has accepted the demands."""
        variable = template.rows.get(self.name)
        self._row = closed_row((self._cell,)) if variable is None else open_row(variable)

    def _origin(self, operation: str, demand: str) -> Origin:
        return Origin(operation, demand, user_location())

    def __repr__(self) -> str:
        return f"Size({self.name!r})"


def _is_variable(row: Row) -> bool:
    return row.variable is not None
