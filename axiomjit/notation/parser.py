"""Parse label notation: the slots of operands and result, their rows and axes (OCANNL shapes).

    einsum   := slot (';' slot)* '=>' slot
    slot     := [row '|'] [row '->'] row
    row      := axes | axes? ellipsis axes?
    ellipsis := '...' | '..' name '..'
    axis     := name | '_' | integer | affine | concat
    affine   := [coefficient '*'] name [pad] ['+' integer] '+' [coefficient '*'] name
              | coefficient '*' name ['+' integer]
    concat   := name ('^' name)+

In single-character mode each letter is an axis; in multi-character mode commas separate axes. The
name of a row variable may have several characters in both modes.
"""

from __future__ import annotations

from typing import Final

from axiomjit.base.errors import GraphTypeError, SpecError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.spec_tokens import Token, refused, scan
from axiomjit.notation.specs import (
    KINDS,
    Affine,
    AxisSpec,
    Concat,
    EinsumSpec,
    Fixed,
    Label,
    Placeholder,
    RowSpec,
    Sized,
    SlotSpec,
)

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
        """The error for a token, with a caret below it."""
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
        """A row of the given kind, which names the row variable `...`."""
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
