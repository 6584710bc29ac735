"""Parts of kernels that are functions, compiled once per process.

What combines the results of groups runs once, a loop that fills a tile runs once for a block of
lanes. Both are the same in many kernels, and LLVM would spend as long on each of them as on the
loop that does the work. So they are called, as the trees of blocks are. Parts that differ in names
and in where their numbers come from are one function.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import types

from axiomjit.base.hashing import sha256
from axiomjit.runtime.elementary.llvm_functions import add_attributes, shared_function
from axiomjit.runtime.emission.kernel_types import CODES, BufferType
from axiomjit.runtime.llvm.target_code import target_of

ROOM: Final = 256
"""The most functions of a process: they stay while it runs, and further parts stay in kernels."""
PREFIX: Final = "axiomjit_part_"
ENDS: Final = ("first", "last")
"""The names of the ends of a loop that fills."""

_BUILT_IN: Final = frozenset({"min", "max", "range"})


class Value(NamedTuple):
    """A value: its type and what holds it; `literal` is the number where the source has one."""

    type: Any
    llvm: Any
    literal: int | None = None

    @property
    def exact_type(self) -> Any:
        """The type that tells the number where the source has one."""
        return self.type if self.literal is None else types.IntegerLiteral(self.literal)


Write = Callable[[Any, str, dict[str, Value]], dict[str, Value]]
"""Writes a source where a builder is, given what names mean before it; what they mean after it."""

_results: Final[dict[str, list[tuple[Any, Any]]]] = {}
"""The types of what each function gives, in kernels and in LLVM."""


class Around(NamedTuple):
    """What stands around a part."""

    lines: Sequence[str]
    """The kernel's."""
    known: Mapping[str, Value]
    """What has a value before the part."""
    names: Mapping[str, Any]
    """What else a part may name."""
    way: str
    """How it is written."""


class Part(NamedTuple):
    """A part of a kernel, with names of its own."""

    source: str
    taken: tuple[str, ...]
    """The names in the kernel of what it takes."""
    given: tuple[str, ...]
    """The names in the kernel of what it gives."""
    named: Mapping[str, str]
    """What the names in the kernel are in the source."""


class Text:
    """Statements of a kernel: their lines from the first one's indent on, and the names in them."""

    __slots__ = ("_column", "_first", "_lines", "assigned", "found", "names")

    def __init__(self, body: Sequence[ast.stmt], lines: Sequence[str]) -> None:
        """Look through statements among the lines of a kernel."""
        nodes = (node for stmt in body for node in ast.walk(stmt))
        self.found = [node for node in nodes if isinstance(node, ast.Name)]
        self.names = {name.id for name in self.found}
        self.assigned = {name.id for name in self.found if isinstance(name.ctx, ast.Store)}
        self._first, self._column = (body[0].lineno, body[0].col_offset) if body else (1, 0)
        self._lines = lines[self._first - 1 : body[-1].end_lineno] if body else ()

    def renamed(self, values: set[str]) -> tuple[list[str], dict[str, str]]:
        """The lines with these names numbered by first use, and what they are then."""
        named: dict[str, str] = {}
        done, ends = [""] * len(self._lines), [self._column] * len(self._lines)
        for name in sorted(self.found, key=lambda name: (name.lineno, name.col_offset)):
            if name.id in values:
                at = name.lineno - self._first
                done[at] += self._lines[at][ends[at] : name.col_offset]
                done[at] += named.setdefault(name.id, f"x{len(named)}")
                ends[at] = name.col_offset + len(name.id)
        rests = (line[end:] for line, end in zip(self._lines, ends, strict=True))
        return [text + rest for text, rest in zip(done, rests, strict=True)], named


def fills(loop: ast.For) -> bool:
    """Whether a loop does nothing but store numbers that the source has."""
    return all(map(_stores_number, loop.body))


def _stores_number(stmt: ast.stmt) -> bool:
    match stmt:
        case ast.Expr(ast.Call(func=ast.Name(id="store"), args=[_, _, ast.Call(args=[number])])):
            number = number.operand if isinstance(number, ast.UnaryOp) else number
            named = isinstance(number, ast.Name) and number.id in ("inf", "nan")
            return named or isinstance(number, ast.Constant)
    return False


def beginning(body: Sequence[ast.stmt]) -> int:
    """How many statements of a branch to take apart: to where loops are done and little is left.

    Up to the last loop, and on to where the fewest names are used later, but no store.
    """
    loops = [k for k, stmt in enumerate(body, 1) if isinstance(stmt, ast.For)]
    if not loops:
        return 0
    ends = [loops[-1]]
    while ends[-1] < len(body) and isinstance(body[ends[-1]], ast.Assign):
        ends.append(ends[-1] + 1)
    texts = [Text([stmt], ()) for stmt in body]

    def left(end: int) -> int:
        assigned = set().union(*(text.assigned for text in texts[:end]))
        return len(assigned & set().union(*(text.names for text in texts[end:])))

    return min(ends, key=left)


def part_of(
    body: Sequence[ast.stmt], after: Sequence[ast.stmt], around: Around, index: str = ""
) -> Part | None:
    """Statements with names of their own; None where they take more than numbers and pointers.

    Args:
        body: the statements.
        after: those behind them in their block.
        around: what stands around them.
        index: of the loop over ENDS, which are known, whose body they are; without it of none.
    """
    if not body:
        return None
    text, known = Text(body, around.lines), around.known
    own = text.assigned | ({index} if index else set())
    values = {name for name in text.names if name in known} | own
    if not own.isdisjoint(known) or not text.names - values <= around.names.keys() | _BUILT_IN:
        return None
    lines, named = text.renamed(values)
    taken = tuple(name for name in named if name not in own)
    if index:
        header = f"for {named.setdefault(index, 'x')} in range({', '.join(ENDS)}):"
        lines, taken = [header, *(f"    {line}" for line in lines)], (*ENDS, *taken)
        named |= dict(zip(ENDS, ENDS, strict=True))
    if not all(_is_plain(known[name]) for name in taken):
        return None
    left = text.assigned & Text(after, around.lines).names
    given = tuple(name for name in named if name in left)
    return Part("\n".join(lines) + "\n", taken, given, named)


def _is_plain(value: Value) -> bool:
    known = value.type in CODES or isinstance(value.type, BufferType)
    return known and not isinstance(value.llvm.type, ir.LiteralStructType)


def _apart(kind: Any) -> Any:
    """The type of a value in a part, which knows nothing of the kernel's other buffers."""
    return BufferType(kind.dtype, 0, 0) if isinstance(kind, BufferType) else kind


def call_apart(builder: Any, part: Part, around: Around, write: Write) -> dict[str, Value] | None:
    """Call the function of a part, and return what it gives; None if the part stays where it is.

    It does where there is no room for another function, or where it gives a tile, which would end
    with the function.
    """
    module, taken = builder.module, [around.known[name] for name in part.taken]
    own = [_apart(value.type) for value in taken]
    kinds = [value.llvm.type for value in taken]
    outside = [part.named[name] for name in part.given]
    key = "\n".join([around.way, *map(str, own), *map(str, kinds), *outside, part.source])
    name = PREFIX + sha256(key.encode()).hexdigest()[:16]

    def body(function: Any) -> tuple[Any, list[Value]]:
        inside = ir.IRBuilder(function.append_basic_block("entry"))
        values = map(Value, own, function.args)
        known = dict(zip((part.named[name] for name in part.taken), values, strict=True))
        after = write(inside, part.source, known)
        return inside, [after[name] for name in outside]

    if name not in _results:
        if len(_results) >= ROOM:
            return None
        tried = ir.Function(_beside(module), ir.FunctionType(ir.VoidType(), kinds), name)
        _results[name] = [(value.type, value.llvm.type) for value in body(tried)[1]]
    results = _results[name]
    if any(isinstance(kind, ir.PointerType) for _, kind in results):
        return None
    whole = _together([kind for _, kind in results])

    def fill(function: Any) -> None:
        inside, values = body(function)
        _give(inside, whole, [value.llvm for value in values])

    function = shared_function(module, name, lambda to: _declare(to, name, whole, kinds), fill)
    result = builder.call(function, [value.llvm for value in taken])
    several = len(results) > 1
    parts = [builder.extract_value(result, k) if several else result for k in range(len(results))]
    given = (Value(kind, held) for (kind, _), held in zip(results, parts, strict=True))
    return dict(zip(part.given, given, strict=True))


def _declare(module: Any, name: str, result: Any, kinds: Sequence[Any]) -> Any:
    function = ir.Function(module, ir.FunctionType(result, kinds), name)
    add_attributes(function, "nounwind", "memory(argmem: readwrite)")
    for argument in function.args:
        if isinstance(argument.type, ir.PointerType):
            argument.add_attribute("noalias")
            argument.add_attribute("captures(none)")
    return function


def _beside(module: Any) -> Any:
    """A module for the target of another one, to be dropped."""
    found = ir.Module("tried")
    found.axiomjit_target = target_of(module)
    return found


def _together(kinds: Sequence[Any]) -> Any:
    """The type of what a function returns."""
    if len(kinds) == 1:
        return kinds[0]
    return ir.LiteralStructType(kinds) if kinds else ir.VoidType()


def _give(builder: Any, kind: Any, values: Sequence[Any]) -> None:
    if not values:
        builder.ret_void()
    elif len(values) == 1:
        builder.ret(values[0])
    else:
        whole = ir.Constant(kind, ir.Undefined)
        for k, value in enumerate(values):
            whole = builder.insert_value(whole, value, k)
        builder.ret(whole)
