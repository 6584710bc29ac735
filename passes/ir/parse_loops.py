"""Full text of a loop program, written and read by the fields of its records.

The text has the syntax of Python, of which only calls, tuples, names, numbers and arithmetic occur.
Records that several others name come first, one a line; the program is last:

    n0 = Symbol(n0, length)
    a0 = Storage(a0, argument, f8, (n0,), (1,), origin=Input(f8, 0, (n0,)))
    t0 = Storage(t0, result, f8, (n0,), (1,))
    BoundProgram(
      program=LoopProgram(
        ...
        steps=(
          Nest(body=(
            For(i0, n0, map, body=(
              Load(v0, a0, Index(0, ((i0, 1),))),
              Store(t0, Index(0, ((i0, 1),)), v0),
            )),
          )),
        ),
      ),
      lengths=((n0, 1000),),
    )

A record is its class and the arguments of its constructor, without those that have their default.
Rows of the tables of primitives, folds, library operations and kinds stand by their name, with the
fields in which they differ from the row: `sum(running=True)`. Text that is no word is quoted.
Elements of arrays that the program holds are left out: an array that is read has zeros.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Iterator
from enum import StrEnum
from functools import lru_cache
from itertools import accumulate
from keyword import iskeyword
from types import NoneType, UnionType
from typing import Any, Final, NamedTuple, Union, get_args, get_origin, get_type_hints

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
from axiomjit.passes.ir.view_ir import Storage
from axiomjit.symbolic.assumptions import ANY, BACKWARD, DECLARED, LENGTH, STRIDE, Kind
from axiomjit.symbolic.data_dependent import DATA_DEPENDENT
from axiomjit.symbolic.dims import DIMS, Dim, Operators, Symbol, dim

WIDTH: Final = 100
"""Columns of a line, unless one part of it has more."""
LONG: Final = 80
"""Arguments that are longer have a line for each of their parts."""
SHARED: Final = (Symbol, Storage, State, StateFold, Op)
"""Records that are written once and named where they occur."""


class BoundProgram(Record):
    """A loop program, and the values of its lengths in one call."""

    program: LoopProgram
    lengths: tuple[tuple[Symbol, int], ...]


def print_loops(bound: BoundProgram) -> str:
    """The full text of a loop program, from which `parse_loops` makes an equal one.

    Raises:
        UnsupportedError: the program has what no text names, as a function of the user's.
    """
    return _Writer().text(bound)


def parse_loops(text: str, source: str = "text") -> BoundProgram:
    """The loop program of a full text; errors name the place in `source`.

    Raises:
        GraphValueError: the text is not that of a loop program.
    """
    return _Reader(source).program(text)


class _Field(NamedTuple):
    """An argument of a record's constructor: its name, type and default, `_MISSING` for none."""

    name: str
    kind: Any
    default: object


_MISSING: Final = object()


@lru_cache
def _fields(cls: Any) -> dict[str, _Field]:
    """The arguments of the constructor of a record, by name, in order."""
    if cls.__init__ is Record.__init__:
        hints, defaults = get_type_hints(cls), cls._defaults
    else:
        hints, parameters = get_type_hints(cls.__init__), inspect.signature(cls).parameters
        empty = inspect.Parameter.empty
        defaults = {k: p.default for k, p in parameters.items() if p.default is not empty}
    return {f: _Field(f, hints[f], defaults.get(f, _MISSING)) for f in cls._given}


@lru_cache
def _tables() -> dict[type, dict[str, Any]]:
    """The rows that stand by their name, by class."""
    library = [v for v in vars(library_operations).values() if isinstance(v, LibraryOperation)]
    library += [check(axis) for check in (check_positions, check_ends) for axis in range(32)]
    kinds = (LENGTH, DECLARED, STRIDE, BACKWARD, ANY, DATA_DEPENDENT)
    return {
        Primitive: {**PRIMITIVES, GATHER.name: GATHER},
        UfuncFold: dict(ACCUMULATORS),
        LibraryOperation: {row.name: row for row in library},
        Kind: {kind.name: kind for kind in kinds},
    }


def _is_word(text: str) -> bool:
    return text.isidentifier() and not iskeyword(text)


def _as_name(text: str) -> str:
    """The name of an iterator, value or state as a `Name`; another text as it is."""
    number = text[1:]
    return Name(text[0], int(number)) if text[0] in "ivs" and number.isdecimal() else text


def _members(kind: Any) -> tuple[Any, ...]:
    """The types of a union; of another type itself."""
    return get_args(kind) if isinstance(kind, UnionType) or get_origin(kind) is Union else (kind,)


def _has_several(kind: Any) -> bool:
    """True of the type of tuples of records of several classes, as statements are."""
    return get_origin(kind) is tuple and len(_members(get_args(kind)[0])) > 1


def _same(value: object, default: object) -> bool:
    return value is default or (type(value) is type(default) and value == default)


class _Group(NamedTuple):
    """Text in parentheses: what stands before, the parts, each behind a prefix `name=` or none.

    A `long` group has a line for each part that is long, and for each part of a tuple.
    """

    opening: str
    parts: tuple[tuple[str, _Text], ...]
    long: bool

    def __str__(self) -> str:
        inside = ", ".join(f"{prefix}{part}" for prefix, part in self.parts)
        comma = "," if len(self.parts) == 1 and not self.opening else ""
        return f"{self.opening}({inside}{comma})"

    def lines(self, indent: int) -> list[str]:
        """The text over lines; those behind the first are indented."""
        if not self.long:
            return [str(self)]
        short = [(p, t) for p, t in self.parts if self.opening and not _is_long(t)]
        start = f"{self.opening}(" + ", ".join(f"{p}{t}" for p, t in short)
        if len(start) + indent > WIDTH:
            short, start = [], f"{self.opening}("
        rest = [part for part in self.parts if part not in short]
        if self.opening and len(rest) == 1 and str(rest[0][1])[0] == "(":  # the body of a statement
            prefix, body = rest[0]
            first, *others = _lines(body, indent)
            others[-1] += ")"
            return [f"{start}{', ' if short else ''}{prefix}{first}", *others]
        found = [start + ("," if short else "")]
        for prefix, part in rest:
            first, *others = _lines(part, indent + 2)
            found += [" " * (indent + 2) + prefix + first, *others]
            found[-1] += ","
        return [*found, " " * indent + ")"]


_Text = str | _Group


def _is_long(text: _Text) -> bool:
    return isinstance(text, _Group) and text.long


def _lines(text: _Text, indent: int) -> list[str]:
    return [text] if isinstance(text, str) else text.lines(indent)


def _grouped(text: str) -> str:
    """A sum or product in parentheses, unless it stands in some already."""
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
    """Writes records; shared ones once, with a label."""

    def __init__(self) -> None:
        self.labels: dict[Any, str] = {}
        self.taken: set[str] = set()
        self.lines: list[str] = []

    def text(self, record: Record) -> str:
        self.share(record)
        return "\n".join([*self.lines, *_lines(self.written(record), 0)]) + "\n"

    def share(self, value: Any) -> None:
        """Write the shared records in a value, those that others need first."""
        if isinstance(value, Dim):
            for symbol in sorted(value.symbols, key=lambda s: (len(s.name), s.name)):
                self.share(symbol)
        elif isinstance(value, tuple):
            for part in value:
                self.share(part)
        elif isinstance(value, Record) and value not in self.labels and self.row(value) is None:
            for field in _fields(type(value)):
                self.share(getattr(value, field))
            if isinstance(value, SHARED):
                text = self.written(value)
                label = self.labels[value] = self.free_label(value)
                self.lines += _lines(text, 0)
                self.lines[-len(_lines(text, 0))] = f"{label} = {_lines(text, 0)[0]}"

    def free_label(self, record: Any) -> str:
        """A label that no other record has: the record's name, where it has one."""
        base, number = getattr(record, "name", ""), 0
        if not _is_word(base):
            base = type(record).__name__.lower()
        label = base
        while label in self.taken:
            number += 1
            label = f"{base}_{number}"
        self.taken.add(label)
        return label

    def row(self, record: Any) -> str | None:
        """The text of a row of a table, and of one with changed fields; None of other records."""
        row = _tables().get(type(record), {}).get(getattr(record, "name", ""))
        if row is None:
            return None
        word = row.name if _is_word(row.name) else repr(row.name)
        changed = [f for f in _fields(type(row)) if getattr(row, f) != getattr(record, f)]
        if not changed or not _is_word(row.name):
            return None if changed else word
        values = (f"{f}={self.written(getattr(record, f))}" for f in changed)
        return f"{word}({', '.join(values)})"

    def written(self, value: Any, kind: Any = None) -> _Text:
        """The text of a value that a field of some type has."""
        match value:
            case None | bool() | int():
                return repr(value)
            case str():
                return str(value) if _is_word(value) else repr(str(value))
            case Dim():
                text = value.fold(self.leaf, _WRITTEN)
                alone = sum(factor == len(atoms) == 1 for atoms, factor in value.terms)
                whole = alone == len(value.terms) == 1 and text[0] == "("
                return text[1:-1] if whole else text
            case tuple():
                parts = [self.written(part) for part in value]
                long = (bool(parts) and _has_several(kind)) or any(map(_is_long, parts))
                return _Group("", tuple(("", part) for part in parts), long)
            case frozenset():
                return "{" + ", ".join(str(self.written(part)) for part in sorted(value)) + "}"
            case Record():
                return self.labels.get(value) or self.row(value) or self.record(value)
            case np.dtype():
                codes = [CODES[part] for part in state_parts(value)]
                return codes[0] if value.names is None else f"({', '.join(codes)})"
            case np.generic():
                return _scalar_text(value)
            case np.ufunc():
                return value.__name__
            case np.ndarray():
                return f"zeros({', '.join(map(str, (CODES[value.dtype], *value.shape)))})"
        raise UnsupportedError(
            "the full text of a loop program",
            f"{type(value).__name__} {value!r}",
            "read the short text of programs with calls that only this process can make",
        )

    def leaf(self, leaf: int | Symbol) -> str:
        return str(leaf) if isinstance(leaf, int) else self.labels[leaf]

    def record(self, record: Any) -> _Group:
        """The class of a record and its arguments, long ones last; by name behind an omission."""
        short: list[tuple[str, _Text]] = []
        long: list[tuple[str, _Text]] = []
        in_order = True
        for field in _fields(type(record)).values():
            value = getattr(record, field.name)
            if _same(value, field.default):
                in_order = False
                continue
            text = self.written(value, field.kind)
            if isinstance(text, _Group) and len(str(text)) > LONG:
                text = text._replace(long=True)
            in_order = in_order and not _is_long(text)
            part = "" if in_order else f"{field.name}=", text
            (long if _is_long(text) else short).append(part)
        return _Group(type(record).__name__, (*short, *long), bool(long))


def _scalar_text(value: np.generic) -> str:
    """The dtype and the number of a scalar; its bytes where the number has not all of them."""
    code, number = CODES[value.dtype], value.item()
    words = (number.real, number.imag) if isinstance(number, complex) else (number,)
    if _scalar(value.dtype, words).tobytes() != value.tobytes():
        return f"{code}({value.tobytes().hex()!r})"
    return f"{code}({', '.join(map(repr, words))})"


def _scalar(dtype: DType, words: Any) -> np.generic:
    number = complex(*words) if len(words) == 2 else words[0]
    if isinstance(number, str):
        return np.frombuffer(bytes.fromhex(number), dtype)[0]  # type: ignore[no-any-return]
    return np.asarray(number).astype(dtype)[()]  # type: ignore[no-any-return]


_SIGNS: Final[dict[type, str]] = {ast.Add: "+", ast.Mult: "*", ast.FloorDiv: "//"}
_FLOATS: Final = {"inf": float("inf"), "nan": float("nan")}


class _Reader:
    """Reads records by the types of their fields."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.shared: dict[str, Any] = {}
        self.leaves: dict[Any, Callable[[ast.expr], Any]] = {
            str: self.string,
            int: self.integer,
            bool: self.truth,
            np.generic: self.scalar,
            np.ufunc: self.ufunc,
            np.ndarray: self.zeros,
        }

    def program(self, text: str) -> BoundProgram:
        try:
            body = ast.parse(text).body
        except SyntaxError as error:
            place = f"{self.source}, line {error.lineno}, column {error.offset}"
            raise self.refusal(error.msg, "calls, tuples, names and numbers", place) from None
        for line in body[:-1]:
            if not (isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)):
                raise self.wrong(line, "a line such as `a0 = Storage(...)`")
            self.shared[line.targets[0].id] = self.record(line.value, SHARED)
        if not body or not isinstance(body[-1], ast.Expr):
            raise self.wrong(body[-1] if body else None, "the program last: BoundProgram(...)")
        found: BoundProgram = self.record(body[-1].value, (BoundProgram,))
        return found

    def refusal(self, seen: str, expected: str, place: str) -> GraphValueError:
        return GraphValueError("the text of a loop program", seen, f"write {expected}", place)

    def wrong(self, node: ast.AST | None, expected: str) -> GraphValueError:
        """The error that says what was expected in the place of a part of the text."""
        if node is None:
            return self.refusal("no text", expected, self.source)
        text = ast.unparse(node)
        seen = text if len(text) <= 40 else text[:37] + "..."
        return self.refusal(seen, expected, self.place(node))

    def place(self, node: Any) -> str:
        return f"{self.source}, line {node.lineno}, column {node.col_offset + 1}"

    def read(self, node: ast.expr, kind: Any) -> Any:
        """The value of a part of the text that stands for a field of some type."""
        members = _members(kind)
        if NoneType in members and isinstance(node, ast.Constant) and node.value is None:
            return None
        first, *_ = members = tuple(member for member in members if member is not NoneType)
        if Dim in members:
            length = self.length(node)
            return length if int not in members or length.constant is None else length.constant
        if get_origin(first) in (tuple, frozenset):
            return self.many(node, get_origin(first), get_args(first))
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

    def many(self, node: ast.expr, make: Any, kinds: tuple[Any, ...]) -> Any:
        """The tuple or set of the values in parentheses or braces."""
        if make is frozenset and isinstance(node, ast.Dict) and not node.keys:
            return frozenset()
        if not isinstance(node, ast.Tuple if make is tuple else ast.Set):
            raise self.wrong(node, "a tuple: (), (x,) or (x, y)" if make is tuple else "{} or {x}")
        if make is tuple and kinds[-1] is not Ellipsis:
            if len(kinds) != len(node.elts):
                raise self.wrong(node, f"a tuple of {len(kinds)}")
        else:
            kinds = kinds[:1] * len(node.elts)
        return make(self.read(part, kind) for part, kind in zip(node.elts, kinds, strict=True))

    def record(self, node: ast.expr, classes: tuple[Any, ...]) -> Any:
        """A shared record, a row of a table, or a record of one of some classes."""
        rows = [
            row
            for kind, table in _tables().items()
            if any(issubclass(kind, cls) for cls in classes)
            for row in table.items()
        ]
        known = dict(rows)
        made = {cls.__name__: cls for each in classes for cls in _with_subclasses(each)}
        match node:
            case ast.Name(id=word) | ast.Constant(value=word):
                found = known.get(word) or self.shared.get(word)
                if isinstance(found, classes):
                    return found
            case ast.Call(func=ast.Name(id=word)) if word in made:
                return self.built(node, made[word], None)
            case ast.Call(func=ast.Name(id=word)) if word in known:
                return self.built(node, type(known[word]), known[word])
        choices = sorted(made) if len(made) < len(known) or not known else sorted(known)
        labels = [label for label, one in self.shared.items() if isinstance(one, classes)]
        raise self.wrong(node, f"one of {', '.join([*labels, *choices])}")

    def built(self, node: ast.Call, cls: Any, row: Any) -> Any:
        """The record of a class with the arguments of a call; a row with them changed."""
        fields, values = _fields(cls), {}
        if len(node.args) > len(fields):
            raise self.wrong(node.args[len(fields)], f"no more than {', '.join(fields)}")
        for name, value in zip(fields, node.args, strict=False):
            values[name] = self.read(value, fields[name].kind)
        for keyword in node.keywords:
            if keyword.arg not in fields or keyword.arg in values:
                raise self.wrong(keyword, f"once each of {', '.join(fields)}")
            values[keyword.arg] = self.read(keyword.value, fields[keyword.arg].kind)
        if row is not None:
            return row.replace(**values)
        missing = [
            f.name for f in fields.values() if f.default is _MISSING and f.name not in values
        ]
        if missing:
            raise self.wrong(node, f"{cls.__name__} with {', '.join(missing)}")
        try:
            made = cls(**values)
        except AxiomError as error:
            raise error.at(self.place(node)) from None
        row = _tables().get(cls, {}).get(getattr(made, "name", ""))
        return row if row == made else made

    def length(self, node: ast.expr) -> Dim:
        """The length that arithmetic on integers and symbols stands for."""
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

    def number(self, node: ast.expr) -> Any:
        match node:
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.number(operand)
            case ast.Name(id=word) if word in _FLOATS:
                return _FLOATS[word]
            case ast.Constant(value=bool() | int() | float() | str() as value):
                return value
        raise self.wrong(node, "a number")

    def integer(self, node: ast.expr) -> int:
        found = self.number(node)
        if type(found) is not int:
            raise self.wrong(node, "an integer")
        return found

    def truth(self, node: ast.expr) -> bool:
        found = self.number(node)
        if not isinstance(found, bool):
            raise self.wrong(node, "True or False")
        return found

    def dtype(self, node: ast.expr) -> DType:
        """An element type by its code; a tuple of codes is that of a state."""
        if isinstance(node, ast.Tuple) and len(node.elts) > 1:
            return state_dtype([self.dtype(part) for part in node.elts])
        if isinstance(node, ast.Name) and node.id in DTYPES:
            return DTYPES[node.id]
        raise self.wrong(node, f"one of {', '.join(DTYPES)}")

    def scalar(self, node: ast.expr) -> np.generic:
        match node:
            case ast.Call(func=func, args=[_] | [_, _] as words):
                return _scalar(self.dtype(func), [self.number(word) for word in words])
        raise self.wrong(node, "a number and its dtype, such as f8(1.5)")

    def ufunc(self, node: ast.expr) -> np.ufunc:
        found = getattr(np, node.id, None) if isinstance(node, ast.Name) else None
        if not isinstance(found, np.ufunc):
            raise self.wrong(node, "a ufunc of NumPy, such as add")
        return found

    def zeros(self, node: ast.expr) -> np.ndarray:
        match node:
            case ast.Call(func=ast.Name(id="zeros"), args=[dtype, *shape]):
                return np.zeros([self.integer(n) for n in shape], self.dtype(dtype))
        raise self.wrong(node, "the dtype and the lengths of an array, such as zeros(f8, 3, 4)")


def _with_subclasses(cls: Any) -> Iterator[Any]:
    yield cls
    for sub in cls.__subclasses__():
        yield from _with_subclasses(sub)
