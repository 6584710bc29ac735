"""Shapes with batch, input and output axes, of which some may be unknown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from axiomjit.base.errors import ShapeError
from axiomjit.base.origins import user_location
from axiomjit.notation.closing import close
from axiomjit.notation.demands import EqualRows
from axiomjit.notation.solving import (
    Cell,
    Origin,
    Row,
    RowVariable,
    Solver,
    Unknown,
    closed_row,
    open_row,
)
from axiomjit.notation.specs import (
    KINDS,
    MEMORY_ORDER,
    Affine,
    AxisSpec,
    Fixed,
    Label,
    Sized,
    SlotSpec,
    parse_shape,
)
from axiomjit.symbolic.dims import Dim, dim

DEDUCED: Final = (None, "not_constrained", "input_equals_output")


Pads = tuple[tuple[int, int], ...]


class Entry:
    """The interface of `Size`: an object that users give for an axis of a shape."""

    __slots__ = ()

    @property
    def cell(self) -> Cell:
        """The cell with the size of the axis."""
        raise NotImplementedError


def number(size: Dim | None) -> int | None:
    """A size as users see it: an int if it is constant, None if unknown, else a Dim."""
    if size is None:
        return None
    return cast(int, size) if size.constant is None else size.constant


class ShapeRow:
    """The axes of one kind of a shape: iteration yields the sizes, `labels` has the labels.

    An unknown size is None; an Ellipsis stands for an unknown number of axes.
    """

    __slots__ = ("_row", "padding")

    def __init__(self, row: Row, padding: Pads | None = None) -> None:
        """Wrap a row; `padding` has the numbers of elements that windows read outside each axis."""
        self._row = row
        self.padding = padding

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The label of each axis; None for an axis without a label."""
        row = self._row.flat
        middle: list[Any] = [] if row.variable is None else [...]
        front, back = ([cell.label for cell in part] for part in (row.leading, row.trailing))
        return (*front, *middle, *back)

    def __iter__(self) -> Iterator[Any]:
        row = self._row.flat
        yield from (number(cell.size) for cell in row.leading)
        if row.variable is not None:
            yield ...
        yield from (number(cell.size) for cell in row.trailing)

    def __len__(self) -> int:
        row = self._row.flat
        return len(row.cells) + (row.variable is not None)

    def __getitem__(self, place: Any) -> Any:
        return tuple(self)[place]

    def __eq__(self, other: object) -> bool:
        return (
            tuple(self) == tuple(other) if isinstance(other, ShapeRow | tuple) else NotImplemented
        )

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __str__(self) -> str:
        return str(self._row)

    def __repr__(self) -> str:
        return repr(tuple(self))


class Shape:
    """The batch, input and output axes of a tensor; unknown parts are inferred from its uses."""

    __slots__ = ("__weakref__", "_windows", "deduced", "name", "rows")

    def __init__(
        self,
        batch: object = None,
        input: object = None,
        output: object = None,
        *,
        batch_labels: object = None,
        input_labels: object = None,
        output_labels: object = None,
        deduced: str | None = None,
        name: str | None = None,
    ) -> None:
        """Make a shape from the sizes and labels of axes.

        Args:
            batch: The batch axes, each a size, a `Size`, or a pair of label and size; `()` for no
                axes, None to infer the axes.
            input: The axes of kind "input".
            output: The axes of kind "output".
            batch_labels: The batch axes as pairs of label and size, or as labels alone, in place of
                `batch`.
            input_labels: The input axes, given like `batch_labels`, in place of `input`.
            output_labels: The output axes, given like `batch_labels`, in place of `output`.
            deduced: "input_equals_output" if input and output axes are the same.
            name: The name of the tensor in messages.

        Raises:
            ShapeError: an entry is not a size, or axes of a kind are given twice, or axes do not
                fit each other.
        """
        given = (batch, batch_labels), (input, input_labels), (output, output_labels)
        pairs = dict(zip(KINDS, given, strict=True))
        self.name = name
        rows = {kind: _row(kind, *pair, self._called) for kind, pair in pairs.items()}
        self._start(rows, deduced)

    def _start(self, rows: Mapping[str, Row], deduced: str | None) -> None:
        self.rows = dict(rows)
        self._windows: list[tuple[str, int, int, Cell]] = []
        if deduced not in DEDUCED:
            raise ShapeError(
                self._called,
                f"deduced={deduced!r}",
                "give 'input_equals_output', or leave it out",
                user_location(),
            )
        self.deduced = deduced
        if deduced == "input_equals_output":
            origin = Origin(self._called, "input and output axes are the same", user_location())
            Solver().add([EqualRows(self.rows["input"], self.rows["output"], origin)])

    @classmethod
    def of_rows(
        cls, rows: Mapping[str, Row], name: str | None = None, deduced: str | None = None
    ) -> Shape:
        """The shape with these rows."""
        shape = cls.__new__(cls)
        shape.name = name
        shape._start(rows, deduced)
        return shape

    @classmethod
    def parse(cls, spec: str, deduced: str | None = None, name: str | None = None) -> Shape:
        """The shape for a spec such as `"b|3->n"`, in which integers are sizes.

        Axes with equal labels have equal sizes, equal row variables have equal axes, and each `_`
        is a different unknown size. `rgb=3` is an axis with a label and a size; `str` writes axes
        this way.

        Raises:
            SpecError: the text is not the spec of a shape.
        """
        cells: dict[str, Cell] = {}
        variables: dict[str, RowVariable] = {}
        rows: dict[str, Row] = {}
        for kind, row in parse_shape(spec).rows:
            leading, trailing = (
                tuple(_written(axis, cells) for axis in axes)
                for axes in (row.leading, row.trailing)
            )
            name_ = row.variable
            variable = None if name_ is None else variables.setdefault(name_, RowVariable(kind))
            rows[kind] = Row(leading, variable, trailing)
        return cls.of_rows(rows, name, deduced)

    @property
    def _called(self) -> str:
        return "a shape" if self.name is None else f"the shape of {self.name}"

    @property
    def batch(self) -> ShapeRow:
        """The batch axes."""
        return self._row_of("batch")

    @property
    def input(self) -> ShapeRow:
        """The axes of kind "input"."""
        return self._row_of("input")

    @property
    def output(self) -> ShapeRow:
        """The axes of kind "output"."""
        return self._row_of("output")

    def _row_of(self, kind: str) -> ShapeRow:
        return ShapeRow(self.rows[kind], self._pads(kind) if self._windows else None)

    @property
    def padding(self) -> Pads | None:
        """The numbers of elements that windows read before and after each axis, else None.

        Axes are in memory order. Reads outside an axis contribute nothing and need no memory. If
        several operations read the tensor, each number is the largest of all operations. The shape
        is closed first.
        """
        if not self._windows:
            return None
        found: list[tuple[int, int]] = []
        for kind in MEMORY_ORDER:
            found += self._pads(kind) or [(0, 0) for _ in self.rows[kind].flat.cells]
        return tuple(found)

    def note_windows(self, slot: SlotSpec, labels: Mapping[str, Cell]) -> None:
        """Record the padded windows by which an operation reads the tensor as operand `slot`."""
        for (kind, place, from_end), axis in slot.axis_map.items():
            if isinstance(axis, Affine) and axis.padded and axis.kernel is not None:
                index = -place if from_end else place - 1
                self._windows.append((kind, index, axis.dilation, labels[axis.kernel]))

    def _pads(self, kind: str) -> Pads | None:
        self.close()
        pads = [(0, 0) for _ in self.rows[kind].flat.cells]
        found = [window[1:] for window in self._windows if window[0] == kind]
        for index, dilation, kernel in found:
            close([kernel.root])
            size = number(kernel.root.size) or 0
            reach = dilation * max(size - 1, 0)
            before, after = pads[index]
            pads[index] = max(before, reach // 2), max(after, reach - reach // 2)
        return tuple(pads) if found else None

    @property
    def is_closed(self) -> bool:
        """True if the number of axes and all sizes are known."""
        return not self._unknowns

    @property
    def _unknowns(self) -> list[Unknown]:
        return [unknown for row in self.rows.values() for unknown in row.flat.unknowns]

    def close(self) -> None:
        """Choose unknown axes and sizes of this shape and of all shapes connected with it.

        Raises:
            ShapeError: the choices contradict a demand, or no use determines the shape of a
                parameter.
        """
        if not self.is_closed:
            close(self._unknowns)

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """The sizes in memory order as Dims, symbolic in a traced function; closes the shape."""
        self.close()
        cells = (cell for kind in MEMORY_ORDER for cell in self.rows[kind].flat.cells)
        return tuple(cell.size for cell in cells if cell.size is not None)

    @property
    def dims(self) -> tuple[int, ...]:
        """The sizes in memory order (batch, output, input); closes the shape."""
        return tuple(cast(int, number(size)) for size in self.lengths)

    @property
    def labels(self) -> tuple[str | None, ...]:
        """The label of each axis, or None, in memory order; closes the shape."""
        self.close()
        return tuple(label for kind in MEMORY_ORDER for label in ShapeRow(self.rows[kind]).labels)

    def equate(self, other: Shape) -> None:
        """Demand that this shape equals `other`, row by row.

        Raises:
            ShapeError: the shapes differ.
        """
        if not isinstance(other, Shape):
            raise ShapeError(
                f"{self._called}, equal to another",
                f"a {type(other).__name__}",
                "give a Shape, as in Shape(output=(3,))",
                user_location(),
            )
        where = user_location()
        Solver().add(
            EqualRows(
                self.rows[kind],
                other.rows[kind],
                Origin(
                    f"equate of {self._called} and {other._called}", f"their {kind} axes", where
                ),
            )
            for kind in KINDS
        )

    def __eq__(self, other: object) -> bool:
        """True if both shapes have the same sizes, known or unknown, and the same labels."""
        if not isinstance(other, Shape):
            return NotImplemented
        pairs = ((ShapeRow(self.rows[kind]), ShapeRow(other.rows[kind])) for kind in KINDS)
        return all(a == b and a.labels == b.labels for a, b in pairs)

    __hash__ = None  # type: ignore[assignment]

    def __str__(self) -> str:
        names = _numbers(self._unknowns)
        batch, inner, output = (_written_row(self.rows[kind].flat, names) for kind in KINDS)
        return f"{batch}{batch and '|'}{inner}{inner and '->'}{output}"

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name}"
        return f"<Shape{name} {self}>"


def _numbers(unknowns: Sequence[Unknown]) -> dict[Unknown, str]:
    """A text for each unknown size: `$`, a number, and the name of its label if it has one."""
    cells = [u for u in dict.fromkeys(unknowns) if isinstance(u, Cell)]
    return {c: f"${k}" + (f":{c.name}" if c.name else "") for k, c in enumerate(cells, 1)}


def _written_row(row: Row, names: Mapping[Unknown, str]) -> str:
    def shown(cell: Cell) -> str:
        size = names[cell] if cell.size is None else str(cell.size)
        return size if cell.label is None else f"{cell.label}={size}"

    middle = [] if row.variable is None else ["..."]
    return ",".join([*map(shown, row.leading), *middle, *map(shown, row.trailing)])


def _written(axis: AxisSpec, cells: dict[str, Cell]) -> Cell:
    """The cell for an axis in the spec of a shape."""
    match axis:
        case Label(name=name):
            return cells.setdefault(name, Cell(name=name))
        case Fixed(index=size):
            return Cell(dim(size))
        case Sized(label=label, size=size):
            return Cell(dim(size), label)
    return Cell()


def _row(kind: str, sizes: object, labelled: object, asked: str) -> Row:
    if sizes is not None and labelled is not None:
        raise ShapeError(
            asked,
            f"both {kind}= and {kind}_labels=",
            f"give one of them: {kind}= takes pairs of label and size as well",
            user_location(),
        )
    given = sizes if labelled is None else labelled
    if given is None:
        return open_row(RowVariable(kind))
    if isinstance(given, Mapping):
        given = tuple(given.items())
    if not isinstance(given, Sequence) or isinstance(given, str):
        given = (given,)
    cells = (
        Cell(label=entry)
        if labelled is not None and isinstance(entry, str)
        else entry_cell(entry, f"{kind}=", asked)
        for entry in given
    )
    return closed_row(tuple(cells))


def entry_cell(entry: Any, kind: str, asked: str) -> Cell:
    """The cell for an axis that the user gives as a size, a `Size`, or a pair of label and size."""
    if isinstance(entry, tuple | list) and len(entry) == 2 and isinstance(entry[0], str | None):
        label, size = entry
        cell = Cell() if size is None else entry_cell(size, kind, asked)
        if label is not None:
            origin = Origin(asked, f"the label of an axis of {kind}", user_location())
            Solver().set_label(cell, label, origin)
        return cell
    if isinstance(entry, Entry):
        return entry.cell
    size = getattr(entry, "dim", entry)
    try:
        length = dim(size)
    except TypeError:
        length = None
    if length is None or isinstance(entry, bool) or length < 0:
        raise ShapeError(
            asked,
            f"{entry!r} as a size" + (f" of {kind}" if kind else ""),
            "give sizes, 0 or more, or pairs of label and size",
            user_location(),
        )
    return Cell(length)
