"""Write and parse the full text of a loop program, which has all fields of its records.

The text is Python syntax with only calls, tuples, names, numbers and arithmetic. Records that
several other records use come first, one per line; the program is last:

    | n0 = Symbol(n0)
    | a0 = Storage(a0, argument, f8, (n0,), (1,), Input(f8, 0, (n0,)))
    | BoundProgram(lengths=((n0, 1000),), program=LoopProgram((a0, o1), (), ..., steps=(
    |   Nest(body=(
    |     For(i0, n0, map, body=(
    |       Load(v0, a0, Index(0, ((i0, 1),))),
    |       ...

A record is written as its class and the arguments of its constructor, without defaults. Primitives,
folds, library operations and kinds from the tables are written by name, with changed fields in
parentheses: `sum(running=True)`. A string that is not an identifier is quoted. Elements of constant
arrays are omitted; the parser makes zeros.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from keyword import iskeyword
from textwrap import shorten
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, get_args, get_origin, get_type_hints

import numpy as np

from axiomjit.base.dtypes import CODES, DTYPES, DType, state_dtype, state_parts
from axiomjit.base.errors import AxiomError, GraphValueError, UnsupportedError
from axiomjit.base.records import Record
from axiomjit.graph import library_operations
from axiomjit.graph.library_operations import LibraryOperation, check_ends, check_positions
from axiomjit.graph.nodes import Op
from axiomjit.graph.primitives import ACCUMULATORS, GATHER, PRIMITIVES, Primitive, UfuncFold
from axiomjit.graph.reductions import StateFold
from axiomjit.passes.ir.loop_ir import LoopProgram, Name, State
from axiomjit.passes.ir.view_ir import POSITIONS, Storage
from axiomjit.symbolic.data_dependent import RUNTIME_KINDS
from axiomjit.symbolic.dims import (
    ANY,
    BACKWARD,
    DECLARED,
    DIMS,
    LENGTH,
    STRIDE,
    Dim,
    Kind,
    Operators,
    Symbol,
    dim,
)

LINE_WIDTH: Final = 90
"""The largest number of columns of an argument that is written on one line."""
SHARED_RECORDS: Final = (Symbol, Storage, State, StateFold, Op)
"""The classes of records that are written once, with a label for later references."""


class BoundProgram(Record):
    """A loop program, and the values of its symbols in one call."""

    program: LoopProgram
    lengths: tuple[tuple[Symbol, int], ...]


def print_loops(bound: BoundProgram) -> str:
    """The full text of a loop program, from which `parse_loops` makes an equal program.

    Raises:
        UnsupportedError: the program has an external call or draws random numbers.
    """
    return _Writer().text(bound)


def parse_loops(text: str, source: str = "text") -> BoundProgram:
    """Parse the full text of a loop program; errors mention `source` and the line.

    Raises:
        GraphValueError: the text is not a loop program.
    """
    return _Reader(source).program(text)


_NO_DEFAULT: Final = object()


@lru_cache
def _fields(cls: Any) -> dict[str, tuple[Any, object]]:
    """The type and the default of each argument of a record class's constructor, in order."""
    if cls.__init__ is Record.__init__:
        hints, defaults = get_type_hints(cls), cls._defaults
    else:
        hints, parameters = get_type_hints(cls.__init__), inspect.signature(cls).parameters
        empty = inspect.Parameter.empty
        defaults = {k: p.default for k, p in parameters.items() if p.default is not empty}
    return {name: (hints[name], defaults.get(name, _NO_DEFAULT)) for name in cls._given}


def _arguments(record: Any) -> list[tuple[str, Any, Any, object]]:
    """The name, value, type and default of each constructor argument of a record."""
    cls: Any = type(record)
    return [(name, getattr(record, name), *field) for name, field in _fields(cls).items()]


@lru_cache
def _tables() -> dict[type, dict[str, Any]]:
    """For each class, the objects to which texts refer by name."""
    library = [v for v in vars(library_operations).values() if isinstance(v, LibraryOperation)]
    library += [check(axis) for check in (check_positions, check_ends) for axis in range(32)]
    kinds = (LENGTH, DECLARED, STRIDE, BACKWARD, ANY, *RUNTIME_KINDS)
    return {
        Primitive: {**PRIMITIVES, GATHER.name: GATHER},
        UfuncFold: dict(ACCUMULATORS),
        LibraryOperation: {row.name: row for row in library},
        Kind: {kind.name: kind for kind in kinds},
        Storage: {POSITIONS.name: POSITIONS},
    }


def _is_word(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def _as_name(text: str) -> str:
    """The string as a `Name` if it names an iterator, value or state; else unchanged."""
    letter = text.rstrip("0123456789")
    digits = text.removeprefix(letter)
    name = Name(letter, int(digits)) if digits and letter in ("i", "v", "s") else text
    return name if name == text else text


def _members(kind: Any) -> tuple[Any, ...]:
    """The member types of a union; a tuple of the type itself for other types."""
    return get_args(kind) if isinstance(kind, UnionType) else (kind,)


def _has_several_classes(kind: Any) -> bool:
    """True for the type of a tuple whose records may be of several classes, such as statements."""
    return get_origin(kind) is tuple and len(_members(get_args(kind)[0])) > 1


def _is_same_value(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)


class _Text(NamedTuple):
    """The text of a value: a word, or a word with parts in parentheses, some with a prefix `name=`.

    A `long` text is written on several lines: one for each long part and each part of a tuple.
    """

    word: str
    parts: tuple[tuple[str, _Text], ...] | None = None
    long: bool = False

    def __str__(self) -> str:
        if self.parts is None:
            return self.word
        inside = ", ".join(f"{prefix}{text}" for prefix, text in self.parts)
        comma = "," if len(self.parts) == 1 and not self.word else ""
        return f"{self.word}({inside}{comma})"

    def lines(self, indent: int) -> list[str]:
        """The text as lines; all lines except the first are indented."""
        if not self.long or self.parts is None:
            return [str(self)]
        short = [(p, t) for p, t in self.parts if self.word and not t.long]
        start = f"{self.word}(" + ", ".join(f"{p}{t}" for p, t in short)
        if len(start) + indent > LINE_WIDTH:
            short, start = [], f"{self.word}("
        rest = [part for part in self.parts if part not in short]
        if self.word and len(rest) == 1 and not rest[0][1].word:  # the body of a statement
            first, *others = rest[0][1].lines(indent)
            others[-1] += ")"
            return [f"{start}{', ' if short else ''}{rest[0][0]}{first}", *others]
        found = [start + ("," if short else "")]
        for prefix, text in rest:
            first, *others = text.lines(indent + 2)
            found += [" " * (indent + 2) + prefix + first, *others]
            found[-1] += ","
        return [*found, " " * indent + ")"]


def _grouped(text: str) -> str:
    """A sum or product in parentheses, unless the text already has them."""
    outside = accumulate((c == "(") - (c == ")") for c in text)
    inside = all(depth or c not in " *" for c, depth in zip(text, outside, strict=True))
    return text if inside else f"({text})"


_WRITTEN: Final[Operators[str]] = {
    "+": lambda left, right: f"{left} + {right}".replace(" + -1*", " - ").replace(" + -", " - "),
    "*": lambda left, right: f"{left}*{right}",
    "//": lambda left, right: f"({_grouped(left)} // {_grouped(right)})",
    "min": lambda left, right: f"min({left}, {right})",
    "max": lambda left, right: f"max({left}, {right})",
}


class _Writer:
    """Writes records as text; a shared record is written once, with a label."""

    def __init__(self) -> None:
        self.labels: dict[Any, str] = {}
        self.lines: list[str] = []

    def text(self, record: Record) -> str:
        self.share(record)
        return "\n".join([*self.lines, *self.written(record).lines(0)]) + "\n"

    def share(self, value: Any) -> None:
        """Write the shared records in a value, each after the records that it uses."""
        if isinstance(value, Dim):
            for symbol in sorted(value.symbols, key=lambda s: (len(s.name), s.name)):
                self.share(symbol)
        elif isinstance(value, tuple):
            for part in value:
                self.share(part)
        elif isinstance(value, Record) and value not in self.labels and self.row(value) is None:
            for _, part, _, _ in _arguments(value):
                self.share(part)
            if isinstance(value, SHARED_RECORDS):
                first, *others = self.written(value).lines(0)
                label = self.labels[value] = self.free_label(value)
                self.lines += [f"{label} = {first}", *others]

    def free_label(self, record: Any) -> str:
        """An unused label for a record: its name if it has one, else its class."""
        base, number = getattr(record, "name", ""), 0
        if not _is_word(base):
            base = type(record).__name__.lower()
        while (label := f"{base}_{number}" if number else base) in self.labels.values():
            number += 1
        return label

    def row(self, record: Any) -> str | None:
        """The text of a record that a table has, perhaps with changed fields; None for others."""
        row = _tables().get(type(record), {}).get(getattr(record, "name", ""))
        if row is None:
            return None
        word = row.name if _is_word(row.name) else repr(row.name)
        changed = [(f, v) for f, v, _, _ in _arguments(record) if getattr(row, f) != v]
        if not changed or not _is_word(row.name):
            return None if changed else word
        return f"{word}({', '.join(f'{f}={self.written(value)}' for f, value in changed)})"

    def written(self, value: Any, kind: Any = None) -> _Text:
        """The text of a value of a field; `kind` is the type of the field."""
        if isinstance(value, tuple):
            parts = tuple(("", self.written(part)) for part in value)
            several = bool(parts) and _has_several_classes(kind)
            return _Text("", parts, several or any(text.long for _, text in parts))
        if isinstance(value, Record):
            word = self.labels.get(value) or self.row(value)
            return _Text(word) if word else self.record(value)
        return _Text(self.word(value))

    def word(self, value: Any) -> str:
        """The text of a value that is neither a record nor a tuple."""
        match value:
            case None | bool() | int():
                return repr(value)
            case str():
                return str(value) if _is_word(value) else repr(str(value))
            case Dim():
                text = value.fold(lambda leaf: self.labels.get(leaf) or str(leaf), _WRITTEN)
                alone = [factor == len(atoms) == 1 for atoms, factor in value.terms] == [True]
                return text[1:-1] if alone and text[0] == "(" else text
            case frozenset():
                return "{" + ", ".join(map(self.word, sorted(value))) + "}"
            case np.dtype():
                codes = [CODES[part] for part in state_parts(value)]
                return codes[0] if value.names is None else f"({', '.join(codes)})"
            case np.generic():
                return _scalar_text(value)
            case np.ndarray():
                return f"zeros({', '.join(map(str, (CODES[value.dtype], *value.shape)))})"
        raise UnsupportedError(
            "the full text of a loop program",
            f"{type(value).__name__} {value!r}",
            "leave external calls and random draws out of the function",
        )

    def record(self, record: Any) -> _Text:
        """The text of a record: its class and arguments, with names after an omitted argument."""
        parts: list[tuple[str, _Text]] = []
        in_order = True
        for name, value, kind, default in _arguments(record):
            if _is_same_value(value, default):
                in_order = False
                continue
            text = self.written(value, kind)
            if text.parts is not None and len(str(text)) > LINE_WIDTH:
                text = text._replace(long=True)
            in_order = in_order and not text.long
            parts.append(("" if in_order else f"{name}=", text))
        parts.sort(key=lambda part: part[1].long)
        return _Text(type(record).__name__, tuple(parts), any(text.long for _, text in parts))


def _scalar_text(value: np.generic) -> str:
    """The text of a scalar: its dtype and number, or its bytes if the number's text is inexact."""
    code, number = CODES[value.dtype], value.item()
    parts = (number.real, number.imag) if isinstance(number, complex) else (number,)
    words = [float("nan") if part != part else part for part in parts]
    if _scalar(value.dtype, words).tobytes() != value.tobytes():
        return f"{code}({value.tobytes().hex()!r})"
    return f"{code}({', '.join(map(repr, words))})"


def _scalar(dtype: DType, words: Any) -> Any:
    number = complex(*words) if len(words) == 2 else words[0]
    if isinstance(number, str):
        return np.frombuffer(bytes.fromhex(number), dtype).reshape(())[()]
    return np.asarray(number).astype(dtype)[()]


_SIGNS: Final[dict[type, str]] = {ast.Add: "+", ast.Mult: "*", ast.FloorDiv: "//"}


class _Reader:
    """Parses the text of records, by the types of their fields."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.shared: dict[str, Any] = {}
        self.leaves: dict[Any, Callable[[ast.expr], Any]] = {
            str: self.string,
            int: lambda node: self.number(node, int, "an integer"),
            bool: lambda node: self.number(node, bool, "True or False"),
            np.generic: self.scalar,
            np.ndarray: self.zeros,
        }

    def program(self, text: str) -> BoundProgram:
        try:
            body = ast.parse(text).body
        except SyntaxError as error:
            at = ast.Pass(lineno=error.lineno or 1, col_offset=(error.offset or 1) - 1)
            raise self.refusal(error.msg, "calls, tuples, names and numbers", at) from None
        except (ValueError, MemoryError, RecursionError) as error:  # zero bytes, or deep nesting
            raise self.refusal(str(error), "a loop program") from None
        for line in body[:-1]:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                raise self.wrong(line, "a line such as `a0 = Storage(...)`")
            self.shared[line.targets[0].id] = self.record(line.value, SHARED_RECORDS)
        if not body:
            raise self.refusal("no text", "BoundProgram(...)")
        if not isinstance(body[-1], ast.Expr):
            raise self.wrong(body[-1], "BoundProgram(...) as the last line")
        found: BoundProgram = self.record(body[-1].value, (BoundProgram,))
        for label, one in self.shared.items():
            if isinstance(one, Symbol) and one not in dict(found.lengths):
                raise self.refusal(f"no value of {label}", f"({label}, 1000) in lengths", body[-1])
        return found

    def refusal(self, seen: str, expected: str, node: Any = None) -> GraphValueError:
        at = self.source + (f", line {node.lineno}, column {node.col_offset + 1}" if node else "")
        return GraphValueError("the text of a loop program", seen, f"write {expected}", at)

    def wrong(self, node: ast.AST, expected: str) -> GraphValueError:
        """The error for a part of the text; `expected` describes the text that belongs there."""
        return self.refusal(shorten(ast.unparse(node), 60), expected, node)

    def read(self, node: ast.expr, kind: Any) -> Any:
        """Parse a part of the text as the value of a field of this type."""
        members = _members(kind)
        if NoneType in members and isinstance(node, ast.Constant) and node.value is None:
            return None
        first, *_ = members = tuple(member for member in members if member is not NoneType)
        if Dim in members:
            length = self.length(node)
            return length if int not in members or length.constant is None else length.constant
        if get_origin(first) in (tuple, frozenset):
            return self.collection(node, get_origin(first), get_args(first))
        if get_origin(first) is np.dtype:
            return self.dtype(node)
        if first in self.leaves:
            return self.leaves[first](node)
        if isinstance(first, type) and issubclass(first, StrEnum):
            if isinstance(node, ast.Name) and node.id in list(first):
                return first(node.id)
            raise self.wrong(node, f"one of {', '.join(first)}")
        if all(isinstance(member, type) and issubclass(member, Record) for member in members):
            return self.record(node, members)
        raise self.wrong(node, "nothing here: no text has such a value")

    def collection(self, node: ast.expr, make: Any, kinds: tuple[Any, ...]) -> Any:
        """Parse the values in parentheses or braces as a tuple or frozenset."""
        if make is frozenset and isinstance(node, ast.Dict) and not node.keys:
            return frozenset()
        if not isinstance(node, ast.Tuple if make is tuple else ast.Set):
            raise self.wrong(node, "a tuple: (), (x,) or (x, y)" if make is tuple else "{} or {x}")
        if make is frozenset or kinds[-1] is Ellipsis:
            kinds = kinds[:1] * len(node.elts)
        if len(kinds) != len(node.elts):
            raise self.wrong(node, f"a tuple of {len(kinds)}")
        return make(self.read(part, kind) for part, kind in zip(node.elts, kinds, strict=True))

    def record(self, node: ast.expr, classes: tuple[Any, ...]) -> Any:
        """Parse a shared record's label, the name of a table's record, or a call of a class."""
        tables = [table for kind, table in _tables().items() if issubclass(kind, classes)]
        known = {name: row for table in tables for name, row in table.items()}
        made = {cls.__name__: cls for each in classes for cls in _with_subclasses(each)}
        match node:
            case ast.Name(id=word) | ast.Constant(value=word):
                found = known.get(str(word)) or self.shared.get(str(word))
                if isinstance(found, classes):
                    return found
            case ast.Call(func=ast.Name(id=word)) if word in made:
                return self.built(node, made[word], None)
            case ast.Call(func=ast.Name(id=word)) if word in known:
                return self.built(node, type(known[word]), known[word])
        labels = [label for label, one in self.shared.items() if isinstance(one, classes)]
        raise self.wrong(node, f"one of {', '.join([*labels, *sorted(known), *sorted(made)])}")

    def built(self, node: ast.Call, cls: Any, row: Any) -> Any:
        """The record that a call of a class makes, or a table's record with changed fields."""
        fields, values = _fields(cls), {}
        if len(node.args) > len(fields):
            raise self.wrong(node.args[len(fields)], f"no more than {', '.join(fields)}")
        for name, value in zip(fields, node.args, strict=False):
            values[name] = self.read(value, fields[name][0])
        for keyword in node.keywords:
            if keyword.arg not in fields or keyword.arg in values:
                raise self.wrong(keyword, f"once each of {', '.join(fields)}")
            values[keyword.arg] = self.read(keyword.value, fields[keyword.arg][0])
        try:
            made = cls(**values) if row is None else row.replace(**values)
        except (TypeError, ValueError) as error:
            seen = error.seen if isinstance(error, AxiomError) else str(error)
            expected = f"{ast.unparse(node.func)}({', '.join(fields)})"
            raise self.refusal(seen, expected, node) from None
        row = _tables().get(cls, {}).get(getattr(made, "name", ""))
        return row if row == made else made

    def length(self, node: ast.expr) -> Dim:
        """Parse arithmetic on integers and symbols as a length."""
        match node:
            case ast.Constant(value=int(number)) if not isinstance(number, bool):
                return dim(number)
            case ast.Name(id=label) if isinstance(self.shared.get(label), Symbol):
                return dim(self.shared[label])
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.length(operand)
            case ast.BinOp(op=ast.Sub(), left=left, right=right):
                return self.length(left) - self.length(right)
            case ast.BinOp(op=sign, left=left, right=right) if type(sign) in _SIGNS:
                one, other = self.length(left), self.length(right)
                if not (isinstance(sign, ast.FloorDiv) and other.constant == 0):
                    return DIMS[_SIGNS[type(sign)]](one, other)
            case ast.Call(func=ast.Name(id=("min" | "max") as sign), args=[left, right]):
                return DIMS[sign](self.length(left), self.length(right))
        symbols = [label for label, one in self.shared.items() if isinstance(one, Symbol)]
        names = f" of {', '.join(symbols)}" if symbols else ""
        raise self.wrong(node, f"a length: an integer, or a sum, product or quotient{names}")

    def string(self, node: ast.expr) -> str:
        if isinstance(node, ast.Name):
            return _as_name(node.id)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self.wrong(node, "a name, or text in quotes")

    def number(self, node: ast.expr, kind: Any = object, expected: str = "a number") -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                found = self.number(operand, kind, expected)
                if not isinstance(found, str):
                    return -found
            case ast.Name(id="inf" | "nan" as word) if kind is object:
                return float(word)
            case ast.Constant(value=bool() | int() | float() | str() as value):
                if kind in (object, type(value)):
                    return value
        raise self.wrong(node, expected)

    def dtype(self, node: ast.expr) -> DType:
        """Parse the code of a dtype; a tuple of codes is the dtype of a state."""
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            return state_dtype([self.dtype(part) for part in node.elts])
        if isinstance(node, ast.Name) and node.id in DTYPES:
            return DTYPES[node.id]
        raise self.wrong(node, f"one of {', '.join(DTYPES)}")

    def scalar(self, node: ast.expr) -> Any:
        match node:
            case ast.Call(func=func, args=[_] | [_, _] as words):
                try:
                    return _scalar(self.dtype(func), [self.number(word) for word in words])
                except (TypeError, ValueError, OverflowError) as error:
                    if isinstance(error, AxiomError):
                        raise
        raise self.wrong(node, "a dtype and a number of it, such as f8(1.5)")

    def zeros(self, node: ast.expr) -> np.ndarray:
        match node:
            case ast.Call(func=ast.Name(id="zeros"), args=[dtype, *shape]):
                return np.zeros([self.leaves[int](n) for n in shape], self.dtype(dtype))
        raise self.wrong(node, "the dtype and the lengths of an array, such as zeros(f8, 3, 4)")


def _with_subclasses(cls: Any) -> list[Any]:
    return [cls, *(one for sub in cls.__subclasses__() for one in _with_subclasses(sub))]
