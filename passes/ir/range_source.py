"""Write ranges, limits and serial lengths of loops as expressions of a kernel's source.

Serial lengths depend on indices of serial loops.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from axiomjit.base.records import Record
from axiomjit.passes.ir.loop_ir import Block, For, Limit, State
from axiomjit.symbolic.dims import INDEX, SMALL, Atom, Dim, Symbol, dim, symbol_of

FUNCTIONS: Final = {"//": "floor_divide", "min": "min", "max": "max"}
"""For each operator in a length, the function that computes it in a kernel's source."""


def serial_length(
    value: Dim, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str | None:
    """The source text of a length computed from iterators and words; None for one word or literal.

    Sums are written as sums of words, so that LLVM knows the distance between two elements.

    Args:
        value: The length to write.
        index: Returns the name of an iterator in the source; None for the index of a loop outside
            the kernel.
        word: Returns the text of a factor: the name of the word of a length, or the literal of an
            int.
    """
    symbol = symbol_of(value)
    if value.constant is not None:
        return None
    if symbol is not None:
        return index(symbol.name) if symbol.kind == INDEX else None
    if len(value.terms) == 1 and not _names_index(value) and len(value.terms[0][0]) == 1:
        return None if value.terms[0][1] == 1 else f"({_sum_text(value, index, word)})"
    return f"({_sum_text(value, index, word)})"


def _sum_text(
    value: Dim, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str:
    text = ""
    for monomial, factor in value.terms:
        factors = [_atom_text(atom, index, word) for atom in monomial]
        factors += [word(abs(factor))] if abs(factor) != 1 or not monomial else []
        lead = f"{text} - " if factor < 0 else f"{text} + "
        part = " * ".join(factors)
        text = lead + part if text else part if factor > 0 else f"0 - {part}"
    return text


def _atom_text(
    atom: Atom, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str:
    """The text of an atom: the name of an index or word, or a call of a function."""
    if isinstance(atom, Symbol) or not _names_index(dim(atom)):
        return word(dim(atom))
    return f"{FUNCTIONS[atom.sign]}({word(atom.left)}, {word(atom.right)})"


def _names_index(value: Dim) -> bool:
    return any(symbol.kind == INDEX for symbol in value.symbols)


Term = tuple[str, Dim]


class RangeSource(Record):
    """A writer of ranges and limits, with functions that return names of iterators and lengths.

    For each iterator, `over_blocks` has its loop over a block, `firsts` the text of the block's
    first iteration, and `ends` the text of the end of an unrolled loop.
    """

    iterator: Callable[[str], str]
    value: Callable[[str], str]
    length: Callable[[int | Dim], str]
    over_blocks: dict[str, For]
    firsts: dict[str, str]
    ends: dict[str, str]

    def start(self, loop: For) -> str:
        """The text of the first iteration of a loop over a block."""
        assert loop.block is not None
        return f"{self.iterator(loop.block.outer)} * {self.length(loop.block.size)}"

    def limits(self, loop: For, start: str = "", *, grid: bool = False) -> tuple[str, ...]:
        """The arguments of a loop's `range`; `start` names the first iteration of its block."""
        if loop.at is not None:
            return self.value(loop.at), f"{self.value(loop.at)} + 1"
        first, last = (dim(0), loop.extent) if loop.span is None else loop.span
        starts = [] if first.constant == 0 else [self.length(first)]
        stops = [] if grid and last is loop.extent else [self._stop(first, last)]
        if loop.limits:
            starts = starts or ["0"]
            starts, stops = starts + self.starts(loop), stops + self.stops(loop)
        if loop.under is not None:
            passed = f"{self.iterator(loop.under)} * {self.length(loop.extent)}"
            starts, stops = [f"lo - {passed}", "0"], [f"hi - {passed}", *stops]
        elif grid:
            low, high = self._caller_range(loop)
            starts, stops = [low, *starts], [high, *stops]
        elif loop.block is not None:
            start = start or self.start(loop)
            starts, stops = [start, *starts], [*self._block_stops(loop.block, start), *stops]
        return *([_extreme("max", starts)] if starts else []), _extreme("min", stops)

    def _caller_range(self, loop: For) -> tuple[str, str]:
        """The range of the first loop, from the caller's range, which may have other units."""
        inner = loop.body[0] if loop.body else None
        if not isinstance(inner, For) or inner.under is None:
            return "lo", "hi"
        steps = self.length(inner.extent)
        return f"floor_divide(lo, {steps})", f"floor_divide(hi - 1, {steps}) + 1"

    def range_arguments(self, loop: For, limits: tuple[str, ...], *, grid: bool) -> tuple[str, ...]:
        """The arguments of a loop's `range` for these limits; also records the loop's block."""
        if loop.block is not None:
            named = limits[0].isidentifier()
            self.firsts[loop.iterator] = limits[0] if named else self.start(loop)
            self.over_blocks[loop.iterator] = loop
        if loop.unroll == 1:
            return limits
        if grid:
            self.ends[loop.iterator] = limits[1]
        return (*(limits if len(limits) > 1 else ("0", *limits)), str(loop.unroll))

    def step(self, iterator: str) -> str:
        """The text of the current iteration's number within its block."""
        return f"{self.iterator(iterator)} - {self.firsts[iterator]}"

    def width(self, state: State) -> str:
        """The text of the number of lanes in use of a state's tile."""
        assert state.lanes is not None
        loop = self.over_blocks[state.lanes]
        assert loop.block is not None
        start = self.start(loop)
        _, *others = self._block_stops(loop.block, start)
        stops = [f"{stop} - {start}" for stop in (*others, self.length(loop.extent))]
        return f"min({state.cells}, {', '.join(stops)})"

    def _block_stops(self, block: Block, start: str) -> list[str]:
        """The end of a block and, if the outer loop is unrolled, the end of the caller's range."""
        if block.unroll == 1:
            return [f"{start} + {self.length(block.size)}"]
        assert isinstance(block.size, int)
        last = [f"{self.ends[block.outer]} * {block.size}"] if block.outer in self.ends else []
        return [f"{start} + {block.size * block.unroll}", *last]

    def _stop(self, first: Dim, last: Dim) -> str:
        """The end of a span; for a short span `start + n`, for which LLVM makes scalar code."""
        steps = (last - first).constant
        short = steps is not None and steps <= SMALL and first.constant is None
        return f"{self.length(first)} + {steps}" if short else self.length(last)

    def starts(self, loop: For) -> list[str]:
        """The first iteration that each limit allows; the loop starts at the largest of them."""
        return [self._first_at(limit.low, limit, loop.iterator) for limit in loop.limits]

    def stops(self, loop: For) -> list[str]:
        """The end that each limit allows; the loop stops at the smallest of them."""
        return [self._first_at(limit.high, limit, loop.iterator) for limit in loop.limits]

    def tests(self, limits: Sequence[Limit]) -> list[str]:
        """The texts of comparisons; the limits hold if all comparisons are true."""
        found = []
        for limit in limits:
            total = " + ".join(map(self._product, limit.terms)) or "0"
            found += [f"{self.length(limit.low)} <= {total}"]
            found += [f"{total} < {self.length(limit.high)}"]
        return found

    def _first_at(self, place: Dim, limit: Limit, iterator: str) -> str:
        """The text of the first iteration at which the sum in a limit is at least `place`."""
        own = dict(limit.terms)[iterator]
        others = [term for term in limit.terms if term[0] != iterator]
        left = " - ".join([self.length(place + own - 1), *map(self._product, others)])
        return left if own.constant == 1 else f"floor_divide({left}, {self.length(own)})"

    def _product(self, term: Term) -> str:
        name, times = self.iterator(term[0]), self.length(term[1])
        return name if times == "1" else f"{name} * {times}"


def _extreme(function: str, values: Sequence[str]) -> str:
    return values[0] if len(values) == 1 else f"{function}({', '.join(values)})"
