"""Nest -> Python source of one kernel, specialised for what it bakes; runs in plain Python too.

Buffers, scalars, lengths, iterators and values are numbered by first use: equal nests, equal keys.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import partial
from typing import Final

from axiomjit.algebra.dims import Dim, dim
from axiomjit.algebra.number_kinds import SMALL
from axiomjit.base.dtypes import INT, DType, cast_name, code
from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget
from axiomjit.graph.primitives import UfuncFold
from axiomjit.graph.state_folds import StateFold
from axiomjit.passes.ir.kernel_ir import Kernel, Parameter, Traits, kernel_key
from axiomjit.passes.ir.loop_ir import (
    Alloc,
    Drain,
    Fold,
    For,
    If,
    Index,
    Let,
    Load,
    Nest,
    Push,
    State,
    Stmt,
    Store,
    Take,
    statements,
)
from axiomjit.passes.ir.range_source import RangeSource, shared_walk, strips_of
from axiomjit.passes.ir.state_source import (
    combine_source,
    combined_element,
    flagged_step,
    flagged_value,
    functions_of,
    is_flagged,
    start_source,
)
from axiomjit.passes.ir.view_ir import POSITIONS, ArrayRole, Number, Storage

LEVELS: Final = 32
"""Depth of a tree of blocks: enough for 2**32 of them."""


class Rendered(Record):
    """A kernel and the program's names of its words, in the order of its parameters."""

    kernel: Kernel
    buffers: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    lengths: tuple[Dim, ...]


def render_source(nest: Nest, numbers: tuple[Number, ...], target: ChosenTarget) -> Rendered:
    """Write the kernel of a nest for a target.

    Extents and offsets up to 4 and strides up to 1 are written into the source (with larger ones
    LLVM gathers, which is slower than loads); other lengths are words. The first map loop runs
    over the range that the caller gives.

    Needs: a legal nest with one outer map loop, or without loops.
    Gives: a kernel whose text depends on the nest alone; its key has the target's name, too.
    Keeps: the nest.
    """
    return _Writer({number.name: number for number in numbers}).kernel(nest, target)


class _Writer:
    """Numbers names by first use while it writes lines."""

    def __init__(self, numbers: dict[str, Number]) -> None:
        self.program_numbers = numbers
        self.names: dict[tuple[str, object], str] = {}
        self.counts: dict[str, int] = {}
        self.buffers: dict[Storage, str] = {}
        self.scratch: dict[Storage, str] = {}
        self.written: set[Storage] = set()
        self.numbers: dict[str, str] = {}
        self.lengths: dict[Dim, str] = {}
        self.dtypes: dict[str, DType] = {}
        self.over_blocks: dict[str, For] = {}
        self.firsts: dict[str, str] = {}
        self.ends: dict[str, str] = {}
        self.open: dict[str, None] = {}
        self.strips = self.rows = self.looks = self.calls = False

    @property
    def ranges(self) -> RangeSource:
        """Writes ranges; made anew, since one that is kept would be a cycle of references."""
        named = partial(self.named, "i"), self.value, self.length
        return RangeSource(*named, self.over_blocks, self.firsts, self.ends)

    def kernel(self, nest: Nest, target: ChosenTarget) -> Rendered:
        """The whole function, header last since only the body knows its words."""
        self.written = {s.buffer for s in statements(nest) if isinstance(s, Store)}
        loops = [s for s in statements(nest) if isinstance(s, For) and s.block is not None]
        self.over_blocks = {loop.iterator: loop for loop in loops}
        self.calls = functions_of(nest) > 0
        lines = [*self.tiles(nest.tiles), *self.body(nest.body, 1, grid=True)]
        traits = Traits(functions_of(nest), self.strips, self.rows)
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
            *([Parameter("h0", "flag", code(INT))] if self.looks else []),
        )
        header = ["def kernel(w, lo, hi):"]
        header += [f"    {p.name} = {p.kind}(w, {k})" for k, p in enumerate(parameters)]
        source = "\n".join(header + lines) + "\n"
        key = kernel_key(source, parameters, target)
        return Rendered(
            Kernel(source, parameters, key, bool(nest.combine), target, traits),
            tuple(self.buffers),
            tuple(self.program_numbers[name] for name in self.numbers),
            (*self.lengths, *([dim(0)] if self.looks else [])),
        )

    def tiles(self, tiles: tuple[Storage, ...]) -> Iterator[str]:
        """The lines that open tiles: scratch memory on the stack."""
        for tile in tiles:
            self.scratch[tile] = self.fresh("x")
            dtype = cast_name(code(tile.dtype))
            yield f"    {self.scratch[tile]} = tile({tile.shape[0]}, {dtype})"

    def fresh(self, letter: str) -> str:
        """The next name with this letter."""
        self.counts[letter] = self.counts.get(letter, 0) + 1
        return f"{letter}{self.counts[letter] - 1}"

    def named(self, letter: str, old: str) -> str:
        """The name in the source of something in the nest."""
        if (letter, old) not in self.names:
            self.names[letter, old] = self.fresh(letter)
        return self.names[letter, old]

    def value(self, old: str) -> str:
        """The name of a scalar, or of a number of the program."""
        if old in self.program_numbers and ("v", old) not in self.names:
            if old not in self.numbers:
                self.numbers[old] = self.fresh("c")
                self.dtypes[self.numbers[old]] = self.program_numbers[old].dtype
            return self.numbers[old]
        return self.named("v", old)

    def buffer(self, storage: Storage) -> str:
        """The name of a buffer: a for read, o for written, p for partial results, x for tiles."""
        if storage in self.scratch:
            return self.scratch[storage]
        if storage not in self.buffers:
            letter = (
                "p"
                if storage.role is ArrayRole.PARTIAL
                else "o"
                if storage in self.written
                else "a"
            )
            self.buffers[storage] = self.fresh(letter)
        return self.buffers[storage]

    def length(self, value: int | Dim, baked: int = SMALL) -> str:
        """A literal where it is at most `baked`, else the word that holds it."""
        constant = value if isinstance(value, int) else value.constant
        if isinstance(value, int) or (constant is not None and -baked <= constant <= baked):
            return str(constant)
        if value not in self.lengths:
            self.lengths[value] = self.fresh("n")
        return self.lengths[value]

    def place(self, storage: Storage, index: Index) -> str:
        """A buffer and the index of an element, as an expression of iterators and lengths."""
        if storage in self.scratch:
            return f"{self.scratch[storage]}, {self.ranges.step(index.terms[-1][0])}"
        parts = []
        for name, stride in index.terms:
            step = self.value(name) if name in index.gathered else self.named("i", name)
            factor = self.length(stride, baked=1)
            parts.append(step if factor == "1" else f"{step} * {factor}")
        if index.offset.constant != 0 or not parts:
            parts.append(self.length(index.offset))
        element = " + ".join(parts)
        return f"int64({element})" if storage is POSITIONS else f"{self.buffer(storage)}, {element}"

    def apart(self, stmt: Load | Store) -> str:
        """The end of the name of an access beside calls, in steps that are a length."""
        if not self.calls or stmt.buffer in self.scratch or stmt.buffer is POSITIONS:
            return ""
        step = dict(stmt.index.terms).get(next(reversed(self.open), ""), 0)
        return "" if self.length(step, baked=1).lstrip("-").isdigit() else "_apart"

    def body(self, body: tuple[Stmt, ...], depth: int, *, grid: bool) -> Iterator[str]:
        """The lines of statements; `grid` marks the level whose map loop the caller ranges over."""
        indent = "    " * depth
        walks = Counter(shared_walk(stmt) for stmt in body if isinstance(stmt, For))
        bounds: dict[tuple[str, str] | None, tuple[str, ...]] = {}
        for stmt in body:
            if isinstance(stmt, If):
                tests = self.ranges.tests(stmt.limits)
                yield from (f"{indent}{'    ' * k}if {test}:" for k, test in enumerate(tests))
                yield from self.body(stmt.body, depth + len(tests), grid=False)
                continue
            if not isinstance(stmt, For):
                yield from (indent + line for line in self.statement(stmt))
                continue
            walk = shared_walk(stmt)
            if walk is not None and walks[walk] > 1 and walk not in bounds:
                start, stop = self.fresh("k"), self.fresh("e")
                yield f"{indent}{start} = {self.ranges.start(stmt)}"
                yield f"{indent}{stop} = {self.ranges.limits(stmt, start)[-1]}"
                bounds[walk] = start, stop
                self.strips |= depth == 2 and stmt is body[0]
            limits = bounds.get(walk) or self.ranges.limits(stmt, grid=grid and stmt.kind == "map")
            limits = self.ranges.entered(stmt, limits, grid=grid)
            self.rows |= depth > 1 and limits in {(word,) for word in self.lengths.values()}
            if stmt.poll_every:
                self.looks, strip = True, self.fresh("k")
                strips, limits = strips_of(limits, strip, stmt.poll_every)
                yield f"{indent}for {strip} in range({strips}):"
            inner, step = depth + bool(stmt.poll_every), self.named("i", stmt.iterator)
            yield f"{'    ' * inner}for {step} in range({', '.join(limits)}):"
            self.open[stmt.iterator] = None
            yield from self.body(stmt.body, inner + 1, grid=False)
            del self.open[stmt.iterator]

    def statement(self, stmt: Stmt) -> Iterator[str]:
        """The lines of one statement that is no loop."""
        match stmt:
            case Let():
                operands = [self.value(name) for name in stmt.operands]
                codes = [code(self.dtypes[name]) for name in operands]
                text = stmt.primitive.written(operands, codes, code(stmt.dtype))
                yield f"{self.define(stmt.name, stmt.dtype)} = {text}"
            case Load():
                place, name = self.place(stmt.buffer, stmt.index), stmt.name
                load = "load" + self.apart(stmt)
                text = place if stmt.buffer is POSITIONS else f"{load}({place})"
                if stmt.ahead is not None:
                    text = f"load_ahead({place}, {self.length(stmt.ahead)})"
                yield f"{self.define(name, stmt.buffer.dtype)} = {text}"
            case Store():
                yield from self.store(stmt)
            case Alloc():
                yield from self.alloc(stmt)
            case Fold():
                yield from self.fold(stmt)
            case Take():
                yield from self.take(stmt)
            case Push():
                yield self.push(stmt)
            case Drain():
                yield self.drain(stmt.state)
            case _:
                raise TypeError(f"{type(stmt).__name__} has no form in source")

    def store(self, stmt: Store) -> Iterator[str]:
        """A scalar, perhaps combined with what is there."""
        place, dtype = self.place(stmt.buffer, stmt.index), stmt.buffer.dtype
        if stmt.combine is None:
            yield f"store{self.apart(stmt)}({place}, {self.as_type(stmt.value, dtype)})"
            return
        held, value = self.fresh("u"), self.value(stmt.value)
        yield f"{held} = load({place})"
        made = combined_element(stmt.combine, held, dtype, value, self.dtypes[value])
        yield f"store({place}, {made})"

    def define(self, old: str, dtype: DType) -> str:
        """The name of a new scalar."""
        name = self.named("v", old)
        self.dtypes[name] = dtype
        return name

    def as_type(self, old: str, dtype: DType) -> str:
        """A scalar, cast where it has another dtype."""
        name = self.value(old)
        return name if self.dtypes[name] == dtype else f"{cast_name(code(dtype))}({name})"

    def values_of(self, state: State) -> list[str]:
        """The names of a state's values, or of the tiles that have a cell of it per lane."""
        if is_flagged(state):
            return [self.named(letter, state.name) for letter in "sgz"[: 2 + state.signs]]
        first = self.named("s", state.name)
        more = (self.named("s", f"{state.name}.{k}") for k in range(1, len(state.parts)))
        return [first, *more]

    def begun(self, state: State) -> str | None:
        """Whether a state has taken in an element; None where it begins with its identity."""
        fold = state.accumulator
        counts = isinstance(fold, UfuncFold) or fold.has_identity
        return None if counts else self.named("g", state.name)

    def here(self, state: State, name: str) -> str:
        """The value, or the cell of the current lane where the state has lanes."""
        return name if state.lanes is None else f"load({name}, {self.ranges.step(state.lanes)})"

    def alloc(self, stmt: Alloc) -> Iterator[str]:
        """Open a state, or the tree of its blocks."""
        state, begun = stmt.state, self.begun(stmt.state)
        dtypes = [cast_name(code(dtype)) for dtype in state.parts]
        names = self.values_of(state)
        start = start_source(state)
        if begun is not None:
            names, dtypes, start = [*names, begun], [*dtypes, "b1"], [*start, "b1(False)"]
        if stmt.scope == "tree":
            yield f"{self.named('t', state.name)} = tile({LEVELS * state.cells}, {dtypes[0]})"
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
        """Combine values into a state; lanes of one state may be reordered, cells may not."""
        state, fold, begun = stmt.state, stmt.state.accumulator, self.begun(stmt.state)
        names = self.values_of(state)
        values = [self.as_type(v, d) for v, d in zip(stmt.values, state.parts, strict=True)]
        if is_flagged(state):
            yield f"{', '.join(names)} = {', '.join(flagged_step(state, names, values[0]))}"
            return
        free = state.lanes is None and not stmt.kept
        if isinstance(fold, UfuncFold) and free and not fold.running:
            yield f"{names[0]} = {fold.lane.format(names[0], values[0])}"
            return
        lines, combined = ([], values) if stmt.kept else self.combined(state, values)
        yield from lines
        if begun is not None:
            names, combined = [*names, begun], [*combined, "b1(True)"]
        if state.lanes is None:
            yield f"{', '.join(names)} = {', '.join(combined)}"
        else:
            step = self.ranges.step(state.lanes)
            yield from (f"store({n}, {step}, {c})" for n, c in zip(names, combined, strict=True))

    def combined(self, state: State, values: list[str]) -> tuple[list[str], list[str]]:
        """Lines for, and the values of, a state with values combined into it; the first as is."""
        begun, left = self.begun(state), [self.here(state, n) for n in self.values_of(state)]
        if isinstance(state.accumulator, StateFold) and state.lanes is not None:
            named = [self.fresh("u") for _ in left]
            loads = [f"{name} = {cell}" for name, cell in zip(named, left, strict=True)]
            left = named
        else:
            loads = []
        fold, dtype = state.accumulator, state.dtype
        lines, combined = combine_source(fold, left, values, dtype, self.fresh)
        if begun is not None:
            pairs = zip(combined, values, strict=True)
            on = self.here(state, begun)
            made = [(self.fresh("u"), f"select({on}, {c}, {v})") for c, v in pairs]
            lines += [f"{name} = {text}" for name, text in made]
            combined = [name for name, _ in made]
        return loads + lines, combined

    def take(self, stmt: Take) -> Iterator[str]:
        """A value of a state, perhaps with more combined into it."""
        state, part = stmt.state, stmt.part
        if stmt.ahead:
            values = [self.value(name) for name in stmt.ahead]
            lines, combined = self.combined(state, values)
            yield from lines
            value = combined[part]
        elif is_flagged(state):
            value = flagged_value(self.values_of(state))
        else:
            value = self.here(state, self.values_of(state)[part])
        yield f"{self.define(stmt.name, stmt.dtype)} = {value}"

    def push(self, stmt: Push) -> str:
        """Add a block to the tree."""
        state = stmt.state
        name = self.named("s", state.name) if stmt.value is None else self.value(stmt.value)
        tree, count = self.named("t", state.name), self.named("q", state.name)
        assert isinstance(state.accumulator, UfuncFold)
        kind = state.accumulator.tree
        if state.lanes is None:
            return f"{count} = push{kind}({tree}, {count}, {name})"
        return f"{count} = push_lanes{kind}({tree}, {count}, {name}, {self.ranges.width(state)})"

    def drain(self, state: State) -> str:
        """Combine the finished subtrees into the state."""
        name, tree = self.named("s", state.name), self.named("t", state.name)
        assert isinstance(state.accumulator, UfuncFold)
        count, kind = self.named("q", state.name), state.accumulator.tree
        if state.lanes is None:
            return f"{name} = drain{kind}({tree}, {count})"
        return f"drain_lanes{kind}({tree}, {count}, {name}, {self.ranges.width(state)})"
