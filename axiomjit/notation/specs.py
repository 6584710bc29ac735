"""The records of parsed label notation: axes, rows, slots, and the spec of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from axiomjit.base.records import Record

KINDS: Final = ("batch", "input", "output")
"""The kinds of axes in the order of notation."""
MEMORY_ORDER: Final = ("batch", "output", "input")
"""The kinds of axes in the order of an array's dimensions; the input of a matrix is last."""

Position = tuple[str, int, bool]
"""The position of an axis: kind, number from 1, and True if counted from the end."""
Default = TypeVar("Default")


class AxisSpec(Record):
    """One axis of a spec; axes can be sorted, first by class."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels in the axis, in the order of the text."""
        return ()

    def __lt__(self, other: AxisSpec) -> bool:
        return _key(self) < _key(other) if isinstance(other, AxisSpec) else NotImplemented

    def __le__(self, other: AxisSpec) -> bool:
        return _key(self) <= _key(other) if isinstance(other, AxisSpec) else NotImplemented

    def __gt__(self, other: AxisSpec) -> bool:
        return _key(self) > _key(other) if isinstance(other, AxisSpec) else NotImplemented

    def __ge__(self, other: AxisSpec) -> bool:
        return _key(self) >= _key(other) if isinstance(other, AxisSpec) else NotImplemented


class Label(AxisSpec):
    """An axis with a label; labels with equal names in a spec are one iterator."""

    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The one label."""
        return (self.name,)

    def __str__(self) -> str:
        return self.name


class Fixed(AxisSpec):
    """An axis read or written at one index only."""

    index: int

    def __str__(self) -> str:
        return str(self.index)


class Placeholder(AxisSpec):
    """An axis without a name, `_`; two placeholders are unrelated."""

    def __str__(self) -> str:
        return "_"


class Affine(AxisSpec):
    """An axis indexed by `stride * over + offset + dilation * kernel`, by two labels.

    Without a kernel `dilation` is 1. If `padded`, the axis has the length `stride * over`, and some
    reads are outside; otherwise every window is inside.
    """

    stride: int
    over: str
    offset: int = 0
    dilation: int = 1
    kernel: str | None = None
    padded: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The label `over`, and the label `kernel` if there is one."""
        return (self.over,) if self.kernel is None else (self.over, self.kernel)

    def __str__(self) -> str:
        offset = f"+{self.offset}" if self.offset else ""
        if self.kernel is None:
            return f"{self.stride}*{self.over}{offset}"
        mark = "=" if self.padded else "<"
        return (
            f"{_times(self.stride, self.over)}{mark}{offset}+{_times(self.dilation, self.kernel)}"
        )


class Concat(AxisSpec):
    """An axis that concatenates the positions of several labels."""

    parts: tuple[str, ...]

    @property
    def labels(self) -> tuple[str, ...]:
        """The parts."""
        return self.parts

    def __str__(self) -> str:
        return "^".join(self.parts)


class Sized(AxisSpec):
    """An axis of a shape with a label and a size, `rgb=3`."""

    label: str
    size: int

    def __str__(self) -> str:
        return f"{self.label}={self.size}"


_CLASSES: Final = (Label, Fixed, Placeholder, Affine, Concat, Sized)


def _key(axis: AxisSpec) -> tuple[object, ...]:
    values = (getattr(axis, field) for field in type(axis)._fields)
    return (_CLASSES.index(type(axis)), *("" if value is None else value for value in values))


def _times(factor: int, label: str) -> str:
    return label if factor == 1 else f"{factor}*{label}"


class RowSpec(Record):
    """The axes of one kind: `leading` ones, those of a row variable, `trailing` ones.

    Without a row variable (`variable` is None) all axes are trailing. The row variable of `...` has
    the name of its kind.
    """

    leading: tuple[AxisSpec, ...] = ()
    variable: str | None = None
    trailing: tuple[AxisSpec, ...] = ()

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes in the text, in order."""
        return self.leading + self.trailing

    def __bool__(self) -> bool:
        return bool(self.leading or self.trailing or self.variable is not None)

    def __str__(self) -> str:
        return self.written("")

    def written(self, kind: str) -> str:
        """The row as text that parses to this row, in a row of a kind ("" for any kind)."""
        name = self.variable
        middle = [] if name is None else ["..." if name == kind else f"..{name}.."]
        items = [*map(str, self.leading), *middle, *map(str, self.trailing)]
        names = [axis.name for axis in self.axes if isinstance(axis, Label)]
        # A comma makes several letters one name.
        alone = len(items) == 1 and any(len(word) > 1 for word in names)
        return ",".join(items) + ("," if alone else "")


class SlotSpec(Record):
    """The three rows of an operand or of the result."""

    batch: RowSpec = RowSpec()
    input: RowSpec = RowSpec()
    output: RowSpec = RowSpec()

    @property
    def rows(self) -> tuple[tuple[str, RowSpec], ...]:
        """Each kind with its row, in the order of notation."""
        return tuple((kind, self.row(kind)) for kind in KINDS)

    def row(self, kind: str) -> RowSpec:
        """The row of a kind."""
        row: RowSpec = getattr(self, kind)
        return row

    def __iter__(self) -> Iterator[AxisSpec]:
        return (axis for _, row in self.rows for axis in row.axes)

    @property
    def axis_map(self) -> dict[Position, AxisSpec]:
        """The position of each axis that is not a placeholder.

        Axes after a row variable, and all axes of a row without one, are counted from the end.
        """
        found: dict[Position, AxisSpec] = {}
        for kind, row in self.rows:
            found |= {(kind, k, False): axis for k, axis in enumerate(row.leading, 1)}
            count = len(row.trailing)
            found |= {(kind, count - k, True): axis for k, axis in enumerate(row.trailing)}
        return {place: axis for place, axis in found.items() if not isinstance(axis, Placeholder)}

    def in_memory_order(self, default: Default) -> tuple[AxisSpec | Default, ...]:
        """The axes in memory order; placeholders become `default`, row variables have no axes."""
        axes = (axis for kind in MEMORY_ORDER for axis in self.row(kind).axes)
        return tuple(default if isinstance(axis, Placeholder) else axis for axis in axes)

    def __str__(self) -> str:
        batch, inner, output = (row.written(kind) for kind, row in self.rows)
        return f"{batch}{batch and '|'}{inner}{inner and '->'}{output}"


class EinsumSpec(Record):
    """The slots of the operands and of the result; `text` is the spec as written."""

    operands: tuple[SlotSpec, ...]
    result: SlotSpec
    text: str

    @property
    def slots(self) -> tuple[SlotSpec, ...]:
        """The slots of the operands, then that of the result."""
        return (*self.operands, self.result)

    @property
    def labels(self) -> tuple[str, ...]:
        """Each label once, in the order of first appearance."""
        found = (label for slot in self.slots for axis in slot for label in axis.labels)
        return tuple(dict.fromkeys(found))

    @property
    def row_variables(self) -> tuple[str, ...]:
        """The names of all row variables, each once, in the order of first appearance."""
        rows = (row.variable for slot in self.slots for _, row in slot.rows)
        return tuple(dict.fromkeys(name for name in rows if name is not None))

    def __str__(self) -> str:
        return f"{';'.join(map(str, self.operands))}=>{self.result}"
