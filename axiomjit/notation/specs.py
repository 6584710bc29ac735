"""The records of parsed label notation: axes, rows, slots, and the spec of an operation."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from axiomjit.base.records import Record

KINDS: Final = ("batch", "input", "output")
"""The kinds of axes, in the order of label notation."""
MEMORY_ORDER: Final = ("batch", "output", "input")
"""The kinds of axes, in the order of an array's dimensions: a matrix has its input axis last."""

Position = tuple[str, int, bool]
"""The position of an axis: its kind, its number from 1, and True if it is counted from the end."""
Default = TypeVar("Default")


class AxisSpec(Record):
    """One axis of a spec; axes are ordered by class, then by fields."""

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels that the axis contains, in the order of the text."""
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
    """An axis with a label; equal labels in a spec share one iterator."""

    name: str

    @property
    def labels(self) -> tuple[str, ...]:
        """The label of the axis."""
        return (self.name,)

    def __str__(self) -> str:
        return self.name


class Fixed(AxisSpec):
    """An axis that is read or written at one fixed index."""

    index: int

    def __str__(self) -> str:
        return str(self.index)


class Placeholder(AxisSpec):
    """An axis `_` without a name; two placeholders are unrelated."""

    def __str__(self) -> str:
        return "_"


class Affine(AxisSpec):
    """An axis indexed by `stride * over + offset + dilation * kernel`, with labels over and kernel.

    If `padded`, the length of the axis is `stride` times the size of `over`, and windows reach
    outside the axis; otherwise every window is inside. Without a kernel, `dilation` is 1.
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
        """The labels of the parts."""
        return self.parts

    def __str__(self) -> str:
        return "^".join(self.parts)


class Sized(AxisSpec):
    """An axis with a label and a size, such as `rgb=3` in the spec of a shape."""

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
    """The axes of one kind: `leading` axes, the axes of a row variable, and `trailing` axes.

    Without a row variable (`variable` is None) all axes are trailing. The row variable `...` has
    the name of its kind.
    """

    leading: tuple[AxisSpec, ...] = ()
    variable: str | None = None
    trailing: tuple[AxisSpec, ...] = ()

    @property
    def axes(self) -> tuple[AxisSpec, ...]:
        """The axes that the text names, in order."""
        return self.leading + self.trailing

    def __bool__(self) -> bool:
        return bool(self.leading or self.trailing or self.variable is not None)

    def __str__(self) -> str:
        return self.written("")

    def written(self, kind: str) -> str:
        """The text that parses to this row if the row has this kind ("" for any kind)."""
        name = self.variable
        middle = [] if name is None else ["..." if name == kind else f"..{name}.."]
        items = [*map(str, self.leading), *middle, *map(str, self.trailing)]
        names = [axis.name for axis in self.axes if isinstance(axis, Label)]
        # A comma makes several letters one name.
        alone = len(items) == 1 and any(len(word) > 1 for word in names)
        return ",".join(items) + ("," if alone else "")


class SlotSpec(Record):
    """The batch, input and output row of an operand or of the result."""

    batch: RowSpec = RowSpec()
    input: RowSpec = RowSpec()
    output: RowSpec = RowSpec()

    @property
    def rows(self) -> tuple[tuple[str, RowSpec], ...]:
        """Pairs of a kind and its row, in the order of label notation."""
        return tuple((kind, self.row(kind)) for kind in KINDS)

    def row(self, kind: str) -> RowSpec:
        """The row of a kind."""
        row: RowSpec = getattr(self, kind)
        return row

    def __iter__(self) -> Iterator[AxisSpec]:
        return (axis for _, row in self.rows for axis in row.axes)

    @property
    def axis_map(self) -> dict[Position, AxisSpec]:
        """The axes that are not placeholders, by position.

        Axes after a row variable, and all axes of a row without a row variable, are counted from
        the end.
        """
        found: dict[Position, AxisSpec] = {}
        for kind, row in self.rows:
            found |= {(kind, k, False): axis for k, axis in enumerate(row.leading, 1)}
            count = len(row.trailing)
            found |= {(kind, count - k, True): axis for k, axis in enumerate(row.trailing)}
        return {place: axis for place, axis in found.items() if not isinstance(axis, Placeholder)}

    def in_memory_order(self, default: Default) -> tuple[AxisSpec | Default, ...]:
        """The axes in memory order, with `default` for placeholders and none for row variables."""
        axes = (axis for kind in MEMORY_ORDER for axis in self.row(kind).axes)
        return tuple(default if isinstance(axis, Placeholder) else axis for axis in axes)

    def __str__(self) -> str:
        batch, inner, output = (row.written(kind) for kind, row in self.rows)
        return f"{batch}{batch and '|'}{inner}{inner and '->'}{output}"


class EinsumSpec(Record):
    """A parsed spec: the slots of the operands and of the result; `text` is the user's text."""

    operands: tuple[SlotSpec, ...]
    result: SlotSpec
    text: str

    @property
    def slots(self) -> tuple[SlotSpec, ...]:
        """The slots of the operands, followed by the slot of the result."""
        return (*self.operands, self.result)

    @property
    def labels(self) -> tuple[str, ...]:
        """The distinct labels, in the order of first appearance."""
        found = (label for slot in self.slots for axis in slot for label in axis.labels)
        return tuple(dict.fromkeys(found))

    @property
    def row_variables(self) -> tuple[str, ...]:
        """The distinct names of row variables, in the order of first appearance."""
        rows = (row.variable for slot in self.slots for _, row in slot.rows)
        return tuple(dict.fromkeys(name for name in rows if name is not None))

    def __str__(self) -> str:
        return f"{';'.join(map(str, self.operands))}=>{self.result}"
