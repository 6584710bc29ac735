"""Label notation: parsed slots with their rows and axes, and the parser of specs (OCANNL shapes).

    | einsum   := slot (';' slot)* '=>' slot
    | slot     := [row '|'] [row '->'] row
    | row      := axes | axes? ellipsis axes?
    | ellipsis := '...' | '..' name '..'
    | axis     := name | '_' | integer | affine | concat
    | affine   := [coefficient '*'] name [pad] ['+' integer] '+' [coefficient '*'] name
    |           | coefficient '*' name ['+' integer]
    | concat   := name ('^' name)+

In single-character mode each letter is an axis; in multi-character mode commas separate axes. The
name of a row variable may have several characters in both modes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, TypeVar

from axiomjit.base.errors import GraphTypeError, SpecError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.spec_tokens import Token, refused, scan

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


_MULTICHAR: Final = ",*+^&<"
_MOST_DIGITS: Final = 18
"""The largest number of digits of an integer, so that integers are below 2^63."""
_PADS: Final = ("<", "=")
_OPEN: Final = ("...", "..")
_Row = tuple[tuple[AxisSpec, ...], Token | None, tuple[AxisSpec, ...]]


def is_multichar(spec: str) -> bool:
    """True for a spec in multi-character mode, whose labels are separated by commas.

    A spec is in this mode if it contains one of `, * + ^ & <`, or a `=` that is not followed by
    `>`.
    """
    for place, sign in enumerate(spec):
        if sign in _MULTICHAR or (sign == "=" and spec[place + 1 : place + 2] != ">"):
            return True
    return False


def parse_einsum(spec: str, use_padding: bool = False) -> EinsumSpec:
    """Parse a spec such as `"ij;jk=>ik"`: slots of operands, and after `=>` the slot of the result.

    Args:
        spec: The text of the spec.
        use_padding: True if windows written with a plain `+` (without `<` or `=`) may reach outside
            the axis.

    Raises:
        SpecError: the text is not a spec; a caret marks the wrong character.
        GraphTypeError: `spec` is not a string.
    """
    parser = _Parser(spec, use_padding)
    operands = [parser.slot()]
    while parser.accept(";"):
        operands.append(parser.slot())
    if not parser.accept("=>"):
        raise parser.unexpected("write '=>' and the axes of the result after the operands")
    result = parser.slot()
    if parser.next.kind == ";":
        raise parser.unexpected("write operands before '=>', and one result after it")
    parser.finish()
    return EinsumSpec(tuple(operands), result, spec)


def parse_labels(spec: str, use_padding: bool = False) -> SlotSpec:
    """Parse the spec of one tensor, such as `"batch|in->out"`, into its rows.

    Raises:
        SpecError: the text is not a spec; a caret marks the wrong character.
        GraphTypeError: `spec` is not a string.
    """
    parser = _Parser(spec, use_padding)
    found = parser.slot()
    if parser.next.kind in (";", "=>"):
        remedy = "give the axes of one tensor; parse_einsum reads operands => result"
        raise parser.unexpected(remedy)
    parser.finish()
    return found


def parse_shape(spec: str) -> SlotSpec:
    """Parse the spec of a shape, in which `rgb=3` is an axis with a label and a size.

    Raises:
        SpecError: the text is not the spec of a shape, which has no windows or concatenations.
        GraphTypeError: `spec` is not a string.
    """
    parser = _Parser(spec, False, shape=True)
    found = parser.slot()
    parser.finish()
    return found


def _scanned(spec: str, several: bool) -> list[Token]:
    """The tokens of a spec, followed by a token of kind "end".

    Raises:
        SpecError: a character is not part of the notation, or an integer is too large.
    """
    tokens = scan(spec, several)
    for token in tokens:
        if not token.kind:
            raise _wrong_character(spec, token)
        if token.kind == "int" and len(token.text) > _MOST_DIGITS:
            seen = f"an integer of {amount(len(token.text), 'digit')}"
            remedy = f"write integers of at most {_MOST_DIGITS} digits"
            raise refused(spec, token.start, seen, remedy)
    return [*tokens, Token("end", "", len(spec))]


def _wrong_character(spec: str, token: Token) -> SpecError:
    place = token.start
    match token.text:
        case "-":
            return refused(spec, place, "'-' without '>'", "write '->' after the input axes")
        case ".":
            remedy = "write '...' or '..name..' for a row variable"
            return refused(spec, place, "a single '.'", remedy)
        case "&":
            return refused(spec, place, "'&', which is reserved", "separate axes by ','")
        case ">":
            remedy = "write '->' after the input axes and '=>' before the result"
            return refused(spec, place, "'>' on its own", remedy)
        case sign:
            remedy = "write letters, digits, '_' and the marks | -> => ; , ... * + ^ < ="
            return refused(spec, place, f"the character {sign!r}", remedy)


class _Parser:
    """A recursive-descent parser of one spec."""

    def __init__(self, spec: object, use_padding: bool, shape: bool = False) -> None:
        if not isinstance(spec, str):
            asked, seen = "a spec in label notation", f"a {type(spec).__name__}"
            remedy = "write the spec as text, such as 'ij;jk=>ik'"
            raise GraphTypeError(asked, seen, remedy, user_location())
        self.spec = spec
        self.use_padding, self.shape = use_padding, shape
        self.several = is_multichar(spec)
        self.tokens = _scanned(spec, self.several)
        self.place = 0
        self.axes: dict[str, Token] = {}
        self.variables: dict[str, Token] = {}

    @property
    def next(self) -> Token:
        """The next token."""
        return self.tokens[self.place]

    def take(self) -> Token:
        """Consume the next token and return it."""
        token = self.next
        self.place += token.kind != "end"
        return token

    def accept(self, kind: str) -> Token | None:
        """Consume the next token and return it if it has this kind, else return None."""
        return self.take() if self.next.kind == kind else None

    def refuse(self, token: Token, seen: str, remedy: str) -> SpecError:
        """The error for a token, with a caret below the token."""
        return refused(self.spec, token.start, seen, remedy)

    def unexpected(self, remedy: str) -> SpecError:
        """The error for the next token."""
        return self.refuse(self.next, f"{self.next} there", remedy)

    def finish(self) -> None:
        """Refuse remaining tokens, and a name that is both a label and a row variable."""
        if self.next.kind != "end":
            raise self.unexpected("end the spec before it")
        for name, token in self.variables.items():
            if name in self.axes:
                later = max(token, self.axes[name], key=lambda t: t.start)
                seen = f"{name!r} both as a label and as a row variable"
                raise self.refuse(later, seen, "give the row variable a name of its own")

    def slot(self) -> SlotSpec:
        """Parse a slot: the rows up to `;`, `=>` or the end."""
        rows = dict.fromkeys(KINDS, RowSpec())
        row = self.row()
        if self.accept("|"):
            rows["batch"] = self.named(row, "batch")
            row = self.row()
        if self.accept("->"):
            rows["input"] = self.named(row, "input")
            row = self.row()
        rows["output"] = self.named(row, "output")
        if self.next.kind in ("|", "->"):
            remedy = "write batch | input -> output, each mark at most once, '|' before '->'"
            raise self.unexpected(remedy)
        return SlotSpec(**rows)

    def named(self, row: _Row, kind: str) -> RowSpec:
        """A row of the given kind; its row variable `...` gets the name of the kind."""
        leading, variable, trailing = row
        if variable is None:
            return RowSpec((), None, leading)
        name = variable.text if variable.kind == "name" else kind
        self.variables.setdefault(name, variable)
        return RowSpec(leading, name, trailing)

    def row(self) -> _Row:
        """Parse a row: the axes before the row variable, the variable, and the axes after it."""
        leading = self.listed()
        if self.next.kind not in _OPEN:
            return leading, None, ()
        variable = self.variable()
        if self.accept(",") and self.next.kind == ",":
            raise self.unexpected("write an axis between two commas")
        trailing = self.listed()
        if self.next.kind in _OPEN:
            remedy = "use at most one row variable among the axes of one kind"
            raise self.refuse(self.next, f"a second row variable {self.next}", remedy)
        return leading, variable, trailing

    def variable(self) -> Token:
        """Parse a row variable; return the token of its name, or the token `...`."""
        token = self.take()
        if token.kind == "...":
            return token
        name = self.next
        if name.kind != "name" or name.text == "_":
            raise self.unexpected("write a row variable as '..name..', or '...' without a name")
        self.take()
        if not self.accept(".."):
            raise self.unexpected("write '..' after the name of a row variable, as in '..name..'")
        return name

    def listed(self) -> tuple[AxisSpec, ...]:
        """Parse the axes up to a row variable or the end of the row."""
        axes: list[AxisSpec] = []
        while self.next.kind in ("name", "int"):
            axes.append(self.axis())
            if not self.several:
                continue
            if self.next.kind in ("name", "int"):
                raise self.unexpected("separate axes by ','")
            if not self.accept(","):
                break
        if self.next.kind in (",", "*", "+", "^", *_PADS):
            raise self.unexpected("write an axis before it")
        return tuple(axes)

    def axis(self) -> AxisSpec:
        """Parse an axis."""
        first = self.take()
        if self.shape and self.next.kind in ("+", "*", "^", *_PADS):
            return self.sized(first)
        if first.kind == "int":
            if self.next.kind == "*":
                return self.affine(first)
            if self.next.kind in ("+", "^", *_PADS):
                raise self.unexpected("write labels, not integers, in sums and concatenations")
            return Fixed(int(first.text))
        if self.next.kind in ("+", *_PADS):
            return self.affine(first)
        if self.next.kind == "*":
            remedy = "write an integer before '*', then a label, as in 2*i"
            raise self.refuse(first, f"{first} as a coefficient", remedy)
        if self.next.kind == "^":
            return self.concat(first)
        if first.text == "_":
            return Placeholder()
        return Label(self.label(first))

    def sized(self, first: Token) -> Sized:
        """Parse the size of an axis whose label is already consumed."""
        if first.kind == "name" and first.text != "_" and self.accept("="):
            if self.next.kind == "int":
                return Sized(first.text, int(self.take().text))
            raise self.unexpected("write a size after '=', as in rgb=3")
        remedy = "write sizes, labels, label=size and row variables in a shape"
        raise self.unexpected(remedy)

    def label(self, token: Token) -> str:
        """The name of a label; tokens that are not a label, such as `_`, are refused."""
        if token.kind != "name" or token.text == "_":
            raise self.refuse(token, f"{token} there", "write a label there")
        self.axes.setdefault(token.text, token)
        return token.text

    def concat(self, first: Token) -> Concat:
        """Parse a concatenation of labels, of which the first is already consumed."""
        parts = [self.label(first)]
        while self.accept("^"):
            parts.append(self.label(self.take()))
        if self.next.kind in ("+", "*", *_PADS):
            raise self.unexpected("write a sum or a concatenation of labels, not both")
        return Concat(tuple(parts))

    def term(self, first: Token) -> tuple[int, str]:
        """Parse a coefficient (by default 1) and a label; the first token is already consumed."""
        if first.kind != "int":
            return 1, self.label(first)
        factor = int(first.text)
        if factor == 0:
            raise self.refuse(first, "0 as a coefficient", "write a positive coefficient")
        if not self.accept("*"):
            raise self.unexpected("write '*' and a label after a coefficient")
        return factor, self.label(self.take())

    def affine(self, first: Token) -> Affine:
        """Parse `stride*over + offset + dilation*kernel`, whose first token is already consumed."""
        stride, over = self.term(first)
        pad = self.take() if self.next.kind in _PADS else None
        offset, dilation, kernel = 0, 1, None
        if pad is not None and self.next.kind != "+":
            raise self.refuse(pad, f"{pad} without a kernel", "write '+' and a label after it")
        if self.accept("+"):
            number = self.next if self.next.kind == "int" else None
            if number is not None and self.tokens[self.place + 1].kind != "*":
                offset = int(self.take().text)
                if self.accept("+"):
                    dilation, kernel = self.term(self.take())
                elif pad is not None or first.kind != "int":
                    remedy = (
                        "write '+' and a label after the offset, or a stride above it, as in 2*i+1"
                    )
                    raise self.refuse(number, f"the offset {number} without a kernel", remedy)
            else:
                dilation, kernel = self.term(self.take())
            if number is not None and offset >= stride:
                seen = f"an offset of {offset} for a stride of {stride}"
                raise self.refuse(number, seen, "write an offset below the stride")
        if self.next.kind in ("+", "*", "^", *_PADS):
            remedy = "write stride*over + offset + dilation*kernel, and nothing after the kernel"
            raise self.unexpected(remedy)
        padded = self.use_padding if pad is None else pad.kind == "="
        return Affine(stride, over, offset, dilation, kernel, padded and kernel is not None)
