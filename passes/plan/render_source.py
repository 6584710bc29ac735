"""Nest -> Python source of a kernel, with small lengths as literals; plain Python can run it.

Buffers, scalars, lengths, iterators and values are numbered by first use, so that equal nests have
equal keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from axiomjit.base.dtypes import (
    INT,
    DType,
    cast_name,
    code,
    is_bool,
    is_float,
    is_integer,
    part_dtype,
    resolve_loop,
)
from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.primitives import MAX, MIN, Primitive, UfuncFold
from axiomjit.graph.reductions import StateFold, computed
from axiomjit.passes.ir.loop_ir import (
    OVER_RANGE,
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Index,
    Leave,
    Let,
    Load,
    Nest,
    Push,
    ReadState,
    State,
    Stmt,
    Store,
    When,
    bodies_of,
)
from axiomjit.passes.ir.plan_ir import Kernel, Parameter, Traits, kernel_key
from axiomjit.passes.ir.range_source import RangeSource, serial_length
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Number, Storage
from axiomjit.symbolic.dims import SMALL, Dim, dim

MAX_BAKED_TRIPS: Final = 64
"""The largest number of trips of a user's loop that is a literal, so that LLVM may unroll the
loop."""
Terms = tuple[tuple[str, Dim], ...]
"""The iterators of an index, each with its stride."""
TREE_LEVELS: Final = 32
"""The number of levels of a tree of block results, enough for 2**32 blocks."""


class Rendered(Record):
    """A kernel, and the buffers, numbers and lengths of its words, in the order of parameters."""

    kernel: Kernel
    buffers: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    lengths: tuple[Dim, ...]


def render_source(nest: Nest, numbers: tuple[Number, ...], target: ChosenTarget) -> Rendered:
    """Make the kernel of a nest for a target.

    Extents and offsets up to 4 and strides up to 1 are literals in the source; for larger literal
    strides LLVM would emit gathers, which are slower than loads. All lengths that are not literals
    are words. In loops of the user's program, integers and numbers of trips up to 64 are literals,
    too. The first map loop runs over the range that the caller gives.

    Needs: a legal nest with one outer map loop, or without loops.
    Gives: a kernel whose text depends on the nest alone; its key also has the target's name.
    Keeps: the nest.
    """
    return _Writer({number.name: number for number in numbers}).kernel(nest, target)


class _Writer:
    """Writes the lines of a kernel, and numbers names by first use."""

    def __init__(self, numbers: dict[str, Number]) -> None:
        self.program_numbers = numbers
        self.names: dict[tuple[str, object], str] = {}
        self.counts: dict[str, int] = {}
        self.buffers: dict[Storage, str] = {}
        self.scratch: dict[Storage, str] = {}
        self.written: set[Storage] = set()
        self.numbers, self.lengths, self.serial = dict[str, str](), dict[Dim, str](), set[str]()
        self.dtypes: dict[str, DType] = {}
        self.over_blocks: dict[str, For] = {}
        self.without_gaps = set[tuple[Storage, Terms]]()
        self.firsts, self.ends = dict[str, str](), dict[str, str]()
        self.open: dict[str, None] = {}
        self.left: list[str | None] = []
        self.strips = self.polls = self.calls = False

    @property
    def ranges(self) -> RangeSource:
        """The writer of ranges, made for each use to avoid a reference cycle."""
        named = partial(self.named, "i"), self.value, self.length
        return RangeSource(*named, self.over_blocks, self.firsts, self.ends)

    def kernel(self, nest: Nest, target: ChosenTarget) -> Rendered:
        """Make the kernel of a nest; the header is written last, when the words are known."""
        self.written = {s.buffer for s in nest.statements if isinstance(s, Store)}
        loops = [s for s in nest.statements if isinstance(s, For) and s.block is not None]
        self.over_blocks = {loop.iterator: loop for loop in loops}
        self.without_gaps = set(_without_gaps(nest))
        self.calls = _functions_of(nest) > 0
        self.serial = set(nest.serial_iterators)
        lines = [*self.tiles(nest.tiles), *self.body(nest.body, 1, grid=True)]
        traits = Traits(_functions_of(nest), self.strips)
        if nest.combine:
            lines.append("    if lo == hi:")
            lines += self.body(nest.combine, 2, grid=False)
        parameters = (
            *(Parameter(n, "buffer", code(b.dtype)) for b, n in self.buffers.items()),
            *(
                Parameter(n, "scalar", code(self.program_numbers[k].dtype))
                for k, n in self.numbers.items()
            ),
            *(Parameter(n, "length", code(INT)) for n in self.lengths.values()),
            *([Parameter("h0", "flag", code(INT))] if self.polls else []),
        )
        header = ["def kernel(w, lo, hi):"]
        header += [f"    {p.name} = {p.kind}(w, {k})" for k, p in enumerate(parameters)]
        source = "\n".join(header + lines) + "\n"
        key = kernel_key(source, parameters, target)
        return Rendered(
            Kernel(source, parameters, key, bool(nest.combine), target, traits),
            tuple(self.buffers),
            tuple(self.program_numbers[name] for name in self.numbers),
            (*self.lengths, *([dim(0)] if self.polls else [])),
        )

    def tiles(self, tiles: tuple[Storage, ...]) -> Iterator[str]:
        """The lines that allocate tiles, which are scratch memory on the stack."""
        for tile in tiles:
            self.scratch[tile] = self.fresh("x")
            dtype = cast_name(code(tile.dtype))
            yield f"    {self.scratch[tile]} = tile({tile.shape[0]}, {dtype})"

    def fresh(self, letter: str) -> str:
        """The next unused name with this letter."""
        self.counts[letter] = self.counts.get(letter, 0) + 1
        return f"{letter}{self.counts[letter] - 1}"

    def named(self, letter: str, old: str) -> str:
        """The name in the source for a name in the nest."""
        if (letter, old) not in self.names:
            self.names[letter, old] = self.fresh(letter)
        return self.names[letter, old]

    def iterator(self, old: str) -> str | None:
        """The name in the source for the iterator of a serial loop; None for other iterators."""
        return self.named("i", old) if old in self.serial else None

    def value(self, old: str) -> str:
        """The name in the source for a scalar or number of the program, or a constant's literal."""
        if old in self.program_numbers and ("v", old) not in self.names:
            number = self.program_numbers[old]
            if self.serial and isinstance(number.origin, Scalar) and _is_whole(number.dtype):
                text = _literal(number.origin.value.item(), number.dtype)
                self.dtypes[text] = number.dtype
                return text
            if old not in self.numbers:
                self.numbers[old] = self.fresh("c")
                self.dtypes[self.numbers[old]] = self.program_numbers[old].dtype
            return self.numbers[old]
        return self.named("v", old)

    def buffer(self, storage: Storage) -> str:
        """The source name of a buffer: a0 if read, o0 if written, p0 for partials, x0 for tiles."""
        if storage in self.scratch:
            return self.scratch[storage]
        if storage not in self.buffers:
            stored = "o" if storage in self.written else "a"
            letter = "p" if storage.role is ArrayRole.PARTIAL else stored
            self.buffers[storage] = self.fresh(letter)
        return self.buffers[storage]

    def length(self, value: int | Dim, baked: int = SMALL) -> str:
        """The text of a length: a literal if it is at most `baked`, else the name of its word."""
        constant = value if isinstance(value, int) else value.constant
        if isinstance(value, int) or (constant is not None and -baked <= constant <= baked):
            return str(constant)
        if self.serial and (known := serial_length(dim(value), self.iterator, self.length)):
            return str(known)
        if value not in self.lengths:
            self.lengths[value] = self.fresh("n")
        return self.lengths[value]

    def place(self, storage: Storage, index: Index) -> str:
        """The text of a buffer and an element's index, in terms of iterators and lengths."""
        if storage.role is ArrayRole.TILE:
            return f"{self.scratch[storage]}, {self.ranges.step(index.terms[-1][0])}"
        parts = []
        for name, stride in index.terms:
            step = self.value(name) if name in index.gathered else self.named("i", name)
            factor = self.stride(storage, index, name, stride)
            parts.append(step if factor == "1" else f"{step} * {factor}")
        if index.offset.constant != 0 or not parts:
            parts.append(self.length(index.offset))
        element = " + ".join(parts)
        return f"int64({element})" if storage is POSITIONS else f"{self.buffer(storage)}, {element}"

    def stride(self, storage: Storage, index: Index, name: str, stride: Dim) -> str:
        """The text of a stride; LLVM gathers along a loop whose stride of 2 to 4 is a literal.

        Where the loop accesses all elements between two steps, LLVM reads them as vectors instead.
        """
        along = name == next(reversed(self.open), "")
        apart = along and (storage, index.terms) not in self.without_gaps
        return self.length(stride, baked=1 if apart else SMALL)

    def suffix(self, stmt: Load | Store) -> str:
        """The suffix `_apart` if the access has a word as stride and the kernel calls functions."""
        if not self.calls or stmt.buffer in self.scratch or stmt.buffer is POSITIONS:
            return ""
        along = next(reversed(self.open), "")
        step = dict(stmt.index.terms).get(along, dim(0))
        text = self.stride(stmt.buffer, stmt.index, along, step)
        return "" if text.lstrip("-").isdigit() else "_apart"

    def body(self, body: tuple[Stmt, ...], depth: int, *, grid: bool) -> Iterator[str]:
        """The lines of statements; with `grid`, their map loop runs over the caller's range."""
        indent = "    " * depth
        walks = Counter(_shared_walk(stmt) for stmt in body if isinstance(stmt, For))
        bounds: dict[tuple[str, str] | None, tuple[str, ...]] = {}
        for stmt in body:
            if isinstance(stmt, If):
                tests = self.ranges.tests(stmt.limits)
                yield from (f"{indent}{'    ' * k}if {test}:" for k, test in enumerate(tests))
                yield from self.body(stmt.body, depth + len(tests), grid=False)
                continue
            if isinstance(stmt, When):
                yield f"{indent}if {self.value(stmt.value)}:"
                yield from self.body(stmt.body, depth + 1, grid=False)
                yield from [f"{indent}    pass", f"{indent}else:"][bool(stmt.body) :]
                yield from self.body(stmt.otherwise, depth + 1, grid=False)
                yield from [f"{indent}    pass"][bool(stmt.otherwise) :]
                continue
            if not isinstance(stmt, For):
                yield from (indent + line for line in self.statement(stmt))
                continue
            walk = _shared_walk(stmt)
            if walk is not None and walks[walk] > 1 and walk not in bounds:
                start, stop = self.fresh("k"), self.fresh("e")
                yield f"{indent}{start} = {self.ranges.start(stmt)}"
                yield f"{indent}{stop} = {self.ranges.limits(stmt, start)[-1]}"
                bounds[walk] = start, stop
                self.strips |= depth == 2 and stmt is body[0]
            over = grid and stmt.kind in OVER_RANGE
            limits = bounds.get(walk) or self.ranges.limits(stmt, grid=over)
            limits = self.ranges.range_arguments(stmt, limits, grid=grid)
            if stmt.kind == "serial":
                yield from self.serial_loop(stmt, limits, depth)
                continue
            if stmt.poll_every:
                self.polls, strip = True, self.fresh("k")
                strips, limits = _strips_of(limits, strip, stmt.poll_every)
                yield f"{indent}for {strip} in range({strips}):"
            inner, step = depth + bool(stmt.poll_every), self.named("i", stmt.iterator)
            yield f"{'    ' * inner}for {step} in range({', '.join(limits)}):"
            self.open[stmt.iterator] = None
            yield from self.body(stmt.body, inner + 1, grid=False)
            del self.open[stmt.iterator]

    def serial_loop(self, stmt: For, limits: tuple[str, ...], depth: int) -> Iterator[str]:
        """The lines of a serial loop; if the loop polls, a cancelled kernel ends between two trips.

        A `Leave` ends both the loop over the trips of a strip and the loop over strips.
        """
        steps, left, head = stmt.poll_every, None, "    " * depth
        trips = stmt.extent.constant
        if trips is not None and trips <= MAX_BAKED_TRIPS:
            limits = (str(trips),)
        self.polls |= bool(steps)
        poll = "if live(h0, 0) < 0:", "    return"
        if steps > 1:
            if _has_leave(stmt.body):
                left = self.fresh("g")
                yield f"{head}{left} = b1(True)"
            strip = self.fresh("k")
            first, last = limits if len(limits) > 1 else ("0", *limits)
            yield f"{head}for {strip} in range({first}, {last}, {steps}):"
            yield from (f"{head}    {line}" for line in poll)
            limits = strip, f"min({strip} + {steps}, {last})"
        inner = "    " * (steps > 1) + head
        yield f"{inner}for {self.named('i', stmt.iterator)} in range({', '.join(limits)}):"
        yield from (f"{inner}    {line}" for line in poll if steps == 1)
        self.left.append(left)
        yield from self.body(stmt.body, depth + 1 + (steps > 1), grid=False)
        self.left.pop()
        if left is not None:
            yield from (f"{head}    if not {left}:", f"{head}        break")

    def leave(self, stmt: Leave) -> Iterator[str]:
        """The lines of a `Leave`, which ends the loop around it, with all strips of this loop."""
        value, left = self.value(stmt.value), self.left[-1]
        if left is not None:
            yield f"{left} = {value}"
        yield from (f"if not {value}:", "    break")

    def statement(self, stmt: Stmt) -> Iterator[str]:
        """The lines of one statement other than a loop or branch."""
        match stmt:
            case Let():
                operands = [self.value(name) for name in stmt.operands]
                codes = [code(self.dtypes[name]) for name in operands]
                text = stmt.primitive.written(operands, codes, code(stmt.dtype))
                yield f"{self.define(stmt.name, stmt.dtype)} = {text}"
            case Load():
                place, name = self.place(stmt.buffer, stmt.index), stmt.name
                load = "load" + self.suffix(stmt)
                text = place if stmt.buffer is POSITIONS else f"{load}({place})"
                if stmt.prefetch is not None:
                    text = f"load_ahead({place}, {self.length(stmt.prefetch)})"
                yield f"{self.define(name, stmt.buffer.dtype)} = {text}"
            case Store():
                yield from self.store(stmt)
            case Alloc():
                yield from self.alloc(stmt)
            case Fold():
                yield from self.fold(stmt)
            case ReadState():
                yield from self.read_state(stmt)
            case Push():
                yield self.push(stmt)
            case Drain():
                yield self.drain(stmt.state)
            case Leave():
                yield from self.leave(stmt)
            case _:
                raise TypeError(f"{type(stmt).__name__} has no form in source")

    def store(self, stmt: Store) -> Iterator[str]:
        """The lines that store a scalar, combined with the old element if the statement says so."""
        place, dtype = self.place(stmt.buffer, stmt.index), stmt.buffer.dtype
        if stmt.combine is None:
            yield f"store{self.suffix(stmt)}({place}, {self.as_type(stmt.value, dtype)})"
            return
        held, value = self.fresh("u"), self.value(stmt.value)
        yield f"{held} = load({place})"
        made = _combined_element(stmt.combine, held, dtype, value, self.dtypes[value])
        yield f"store({place}, {made})"

    def define(self, old: str, dtype: DType) -> str:
        """The name in the source for a new scalar, whose dtype is recorded."""
        name = self.named("v", old)
        self.dtypes[name] = dtype
        return name

    def as_type(self, old: str, dtype: DType) -> str:
        """The text of a scalar, cast to the dtype if it has another one."""
        name = self.value(old)
        return name if self.dtypes[name] == dtype else f"{cast_name(code(dtype))}({name})"

    def values_of(self, state: State) -> list[str]:
        """The names of a state's values, or of the tiles with these values for all lanes."""
        if _is_flagged(state):
            return [self.named(letter, state.name) for letter in "sgz"[: 2 + state.signs]]
        first = self.named("s", state.name)
        more = (self.named("s", f"{state.name}.{k}") for k in range(1, len(state.parts)))
        return [first, *more]

    def has_element_flag(self, state: State) -> str | None:
        """The flag that is true if a state has an element; None for a state with an identity."""
        fold = state.accumulator
        counts = isinstance(fold, UfuncFold) or fold.has_identity
        return None if counts else self.named("g", state.name)

    def lane_value(self, state: State, name: str) -> str:
        """The text of a state's value, or of the value in the cell of the current lane."""
        return name if state.lanes is None else f"load({name}, {self.ranges.step(state.lanes)})"

    def alloc(self, stmt: Alloc) -> Iterator[str]:
        """The lines that create a fold's state, or the tree of its block results."""
        state, has_element_flag = stmt.state, self.has_element_flag(stmt.state)
        dtypes = [cast_name(code(dtype)) for dtype in state.parts]
        names = self.values_of(state)
        start = _start_source(state)
        if has_element_flag is not None:
            names, dtypes, start = (
                [*names, has_element_flag],
                [*dtypes, "b1"],
                [*start, "b1(False)"],
            )
        if stmt.scope == "tree":
            yield f"{self.named('t', state.name)} = tile({TREE_LEVELS * state.cells}, {dtypes[0]})"
            yield f"{self.named('q', state.name)} = 0"
        if state.lanes is None:
            if stmt.scope != "tree":
                yield from (f"{n} = {v}" for n, v in zip(names, start, strict=True))
            return
        if stmt.scope == "tree" or ("q", state.name) not in self.names:
            for name, dtype in zip(names, dtypes, strict=True):
                yield f"{name} = tile({state.cells}, {dtype})"
        if stmt.scope != "tree":
            block = self.over_blocks[state.lanes].block
            known = block is not None and block.outer in self.open
            yield f"for j0 in range({self.ranges.width(state) if known else state.cells}):"
            yield from (f"    store({n}, j0, {v})" for n, v in zip(names, start, strict=True))

    def fold(self, stmt: Fold) -> Iterator[str]:
        """The lines that combine values into a state."""
        state, fold, has_element_flag = (
            stmt.state,
            stmt.state.accumulator,
            self.has_element_flag(stmt.state),
        )
        names = self.values_of(state)
        values = [self.as_type(v, d) for v, d in zip(stmt.values, state.parts, strict=True)]
        if _is_flagged(state):
            yield f"{', '.join(names)} = {', '.join(_flagged_step(state, names, values[0]))}"
            return
        if _is_ranked(state):
            yield f"{names[0]} = {_ranked_step(state, names[0], values[0], stmt.kept)}"
            return
        free = state.lanes is None and not stmt.kept
        if isinstance(fold, UfuncFold) and free and not fold.running:
            yield f"{names[0]} = {fold.lane.format(names[0], values[0])}"
            return
        lines, combined = ([], values) if stmt.kept else self.combined(state, values)
        yield from lines
        if has_element_flag is not None:
            names, combined = [*names, has_element_flag], [*combined, "b1(True)"]
        if state.lanes is None:
            yield f"{', '.join(names)} = {', '.join(combined)}"
        else:
            step = self.ranges.step(state.lanes)
            yield from (f"store({n}, {step}, {c})" for n, c in zip(names, combined, strict=True))

    def combined(self, state: State, values: list[str]) -> tuple[list[str], list[str]]:
        """The lines that combine values with a state, and the new values of the state.

        The first element of a state without identity replaces the state.
        """
        has_element_flag, left = (
            self.has_element_flag(state),
            [self.lane_value(state, n) for n in self.values_of(state)],
        )
        if isinstance(state.accumulator, StateFold) and state.lanes is not None:
            named = [self.fresh("u") for _ in left]
            loads = [f"{name} = {cell}" for name, cell in zip(named, left, strict=True)]
            left = named
        else:
            loads = []
        if _is_ranked(state):
            return [], [f"unranked({_ranked_step(state, left[0], values[0])})"]
        fold, dtype = state.accumulator, state.dtype
        lines, combined = _combine_source(fold, left, values, dtype, self.fresh)
        if has_element_flag is not None:
            pairs = zip(combined, values, strict=True)
            on = self.lane_value(state, has_element_flag)
            made = [(self.fresh("u"), f"select({on}, {c}, {v})") for c, v in pairs]
            lines += [f"{name} = {text}" for name, text in made]
            combined = [name for name, _ in made]
        return loads + lines, combined

    def read_state(self, stmt: ReadState) -> Iterator[str]:
        """The lines that read a value of a state, after combining the values in `including`."""
        state, part = stmt.state, stmt.part
        if stmt.including:
            values = [self.value(name) for name in stmt.including]
            lines, combined = self.combined(state, values)
            yield from lines
            value = combined[part]
        elif _is_flagged(state):
            value = _flagged_value(self.values_of(state))
        elif _is_ranked(state):
            value = f"unranked({self.values_of(state)[0]})"
        else:
            value = self.lane_value(state, self.values_of(state)[part])
        yield f"{self.define(stmt.name, stmt.dtype)} = {value}"

    def push(self, stmt: Push) -> str:
        """The line that adds a block's state to the tree."""
        state = stmt.state
        name = self.named("s", state.name) if stmt.value is None else self.value(stmt.value)
        tree, count = self.named("t", state.name), self.named("q", state.name)
        assert isinstance(state.accumulator, UfuncFold)
        kind = state.accumulator.tree
        if state.lanes is None:
            return f"{count} = push{kind}({tree}, {count}, {name})"
        return f"{count} = push_lanes{kind}({tree}, {count}, {name}, {self.ranges.width(state)})"

    def drain(self, state: State) -> str:
        """The line that combines the finished subtrees into the state."""
        name, tree = self.named("s", state.name), self.named("t", state.name)
        assert isinstance(state.accumulator, UfuncFold)
        count, kind = self.named("q", state.name), state.accumulator.tree
        if state.lanes is None:
            return f"{name} = drain{kind}({tree}, {count})"
        return f"drain_lanes{kind}({tree}, {count}, {name}, {self.ranges.width(state)})"


FLAGGED_EXTREMES: Final = {MAX.name: ("larger", "&", -1), MIN.name: ("smaller", "|", 0)}
"""For a minimum or maximum of floats: a function of two numbers, a bit operator, and the operator's
first operand.

The operator combines the bits of all elements; the combined bits have the sign of a zero result.
"""

RANK_FUNCTIONS: Final = {MAX.name: ("maximum", "rank_above"), MIN.name: ("minimum", "rank_below")}
"""For a minimum or maximum: the function of two ranks, and the function from a float to its
rank."""


def _combined_element(combine: Primitive, held: str, kind: DType, value: str, dtype: DType) -> str:
    """The text of the element that a scatter stores: the old element combined with a value."""
    result = resolve_loop(combine.ufunc, (dtype, dtype))[-1] if combine.ufunc else dtype
    codes = [code(dtype)] * 2
    cast = held if kind == dtype else f"{cast_name(code(dtype))}({held})"
    text = combine.written([cast, value], codes, code(result))
    return text if result == kind else f"{cast_name(code(kind))}({text})"


def _is_flagged(state: State) -> bool:
    """True if a state has flags for NaN and signs of zeros, which decide its final value.

    A step of a fold with flags takes a few independent instructions; a step of an exact `maximum`
    takes a chain of six instructions. The cells of a tile are independent of each other, so they
    use the exact function.
    """
    fold = state.accumulator
    plain = isinstance(fold, UfuncFold) and not fold.running and state.lanes is None
    return plain and fold.name in FLAGGED_EXTREMES and is_float(state.dtype)


def _is_ranked(state: State) -> bool:
    """True if a state holds the rank of a float, an integer, in place of the float.

    Each step of a running extreme waits for the previous step. Comparing two integers takes two
    cycles, and comparing floats that may be NaN takes more than ten.
    """
    fold = state.accumulator
    plain = isinstance(fold, UfuncFold) and fold.running and state.lanes is None
    return (
        plain and fold.name in RANK_FUNCTIONS and is_float(state.dtype) and state.dtype.itemsize > 2
    )


def _ranked_step(state: State, name: str, value: str, kept: bool = False) -> str:
    """The text of a ranked state after one more element, or after a value that replaces it."""
    function, rank = RANK_FUNCTIONS[state.accumulator.name]
    return f"{rank}({value})" if kept else f"{function}({name}, {rank}({value}))"


def _flagged_step(state: State, names: Sequence[str], value: str) -> list[str]:
    """The texts of an extreme and its flags after one more element."""
    name, nan, *signs = names
    function, join, _ = FLAGGED_EXTREMES[state.accumulator.name]
    steps = [f"{function}({name}, {value})", f"{nan} | isnan({value})"]
    return [*steps, *(f"{each} {join} bits({value})" for each in signs)]


def _flagged_value(names: Sequence[str]) -> str:
    """The text of an extreme's value, in which the flags decide NaN and the sign of a zero."""
    return f"extreme({', '.join(names)})"


def _literal(value: Any, dtype: DType) -> str:
    if isinstance(value, complex):
        part = code(part_dtype(dtype))
        return f"complex_of({part}({value.real!r}), {part}({value.imag!r}))"
    return f"{cast_name(code(dtype))}({value!r})"


def _start_source(state: State) -> list[str]:
    """The texts of a state's initial values, which are never combined if there is no identity.

    Of the flags of an extreme, the flag for NaN starts as False, and the bits start as the
    operator's first operand.
    """
    fold = state.accumulator
    if isinstance(fold, StateFold):
        pairs = zip(fold.start, state.parts, strict=True)
        return [_literal(value.item(), dtype) for value, dtype in pairs]
    first = _literal(fold.initial(state.dtype), state.dtype)
    if _is_ranked(state):
        return [f"{RANK_FUNCTIONS[fold.name][1]}({first})"]
    if not _is_flagged(state):
        return [first]
    bits = f"{cast_name(f'i{state.dtype.itemsize}')}({FLAGGED_EXTREMES[fold.name][2]})"
    return [first, "b1(False)", *[bits] * state.signs]


def _combine_source(
    fold: UfuncFold | StateFold,
    left: Sequence[str],
    right: Sequence[str],
    dtype: DType,
    fresh: Callable[[str], str],
) -> tuple[list[str], list[str]]:
    """The lines that combine two states of a dtype, and the texts of the combined state's values.

    `left` and `right` are the texts of the states' values; `fresh("u")` names new values.
    """
    if isinstance(fold, UfuncFold):
        kind = code(dtype)
        return [], [fold.combine.written((*left, *right), (kind, kind), kind)]
    lines: list[str] = []

    def text(value: Any) -> tuple[str, str]:
        if isinstance(value, Scalar):
            return _literal(value.value.item(), value.dtype), code(value.dtype)
        found: tuple[str, str] = value
        return found

    def apply(op: Op, operands: Sequence[Any]) -> tuple[str, str]:
        named = [text(operand) for operand in operands]
        kind, name = code(op.dtype), fresh("u")
        written = op.primitive.written([n for n, _ in named], [c for _, c in named], kind)
        lines.append(f"{name} = {written}")
        return name, kind

    kinds = [code(value.dtype) for value in fold.start]
    given = [*zip(left, kinds, strict=True), *zip(right, kinds, strict=True)]
    outputs: Sequence[Node] = fold.outputs
    return lines, [text(value)[0] for value in computed(outputs, given, apply)]


def _functions_of(nest: Nest) -> int:
    """The number of calls of elementary functions in one run of a nest's statements."""
    found = 0
    for stmt in nest.statements:
        if isinstance(stmt, Let):
            found += stmt.primitive.elementary
        elif isinstance(stmt, Fold) or (isinstance(stmt, ReadState) and stmt.including):
            fold = stmt.state.accumulator
            found += fold.functions if isinstance(fold, StateFold) else 0
    return found


def _without_gaps(nest: Nest) -> Iterator[tuple[Storage, Terms]]:
    """The accesses in an innermost loop with a stride of 2 to 4 that leave out no element."""
    for loop in nest.statements:
        if not isinstance(loop, For):
            continue
        offsets: dict[tuple[Storage, Terms], set[Dim]] = {}
        for stmt in loop.body:
            if isinstance(stmt, Load | Store):
                key = stmt.buffer, stmt.index.terms
                offsets.setdefault(key, set()).add(stmt.index.offset)
        for (storage, terms), found in offsets.items():
            step = abs(dict(terms).get(loop.iterator, dim(0)).constant or 0)
            if 1 < step <= SMALL and len(found) >= step:
                first = next(iter(found))
                apart = [(offset - first).constant for offset in found]
                if len({n % step for n in apart if n is not None}) == step:
                    yield storage, terms


def _is_whole(dtype: DType) -> bool:
    return is_integer(dtype) or is_bool(dtype)


def _shared_walk(loop: For) -> tuple[str, str] | None:
    """A key, equal for loops over the same whole block, which share bounds; None for others."""
    whole = loop.span is None and not loop.limits
    return (loop.iterator, loop.block.outer) if loop.block and whole else None


def _has_leave(body: tuple[Stmt, ...]) -> bool:
    """True if a `Leave` among these statements ends the loop around them."""
    return any(
        isinstance(s, Leave) or (not isinstance(s, For) and any(map(_has_leave, bodies_of(s))))
        for s in body
    )


def _strips_of(limits: tuple[str, ...], strip: str, steps: int) -> tuple[str, tuple[str, str]]:
    """The ranges of a loop over strips of `steps` iterations, and of the polling loop inside it."""
    first, last = limits if len(limits) > 1 else ("0", *limits)
    return f"{first}, {last}, {steps}", (strip, f"live(h0, min({strip} + {steps}, {last}))")
