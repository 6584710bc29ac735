"""The function that a task of a stage runs: the graph of a block, compiled once per process.

A task gets its blocks without halos, and the edges of the blocks around. Where it needs halos, or
would read a block twice, it runs the graph for strips of the block, one after the other, and makes
the results of the block of those of the strips. So only a strip is copied with its halo, and its
elements are in the cache when they are read again. The strips follow from the shapes of blocks.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, Final, NamedTuple

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.records import Record, cached_property
from axiomjit.graph.execution import in_block, run
from axiomjit.graph.nodes import Graph
from axiomjit.graph.primitives import FoldRule
from axiomjit.scale.block_graphs import BlockGraph, block_length, first_place, last_place
from axiomjit.scale.combining import State, combined
from axiomjit.scale.partitions import FAR, Values
from axiomjit.scale.stages import Span, Stage
from axiomjit.scale.tokens import token_of
from axiomjit.symbolic.dims import Dim, Lengths, Symbol

MOST_PROGRAMS: Final = 512
"""The largest number of programs of tasks that a process keeps."""
STRIP_BYTES: Final = 1 << 21
"""The number of bytes that a strip of a block reads, if its halo is short."""
HALOS_PER_STRIP: Final = 8
"""The length of a strip is at least this multiple of the length of its halo."""
Range = tuple[int, int, int]
"""The start, the end and the length of a range of a cut dimension; the ends may be `FAR`."""
Ranges = Mapping[int, Range]
"""The range of a block, or of a strip, along some of the grid axes."""


class Part(Record):
    """The part of a dimension of an input that a strip reads.

    The part is that of a `Span` along the grid axis `grid`. The input has the elements from
    `origin` to `end` of the cut dimension.
    """

    grid: int
    low: int
    high: int
    origin: int
    end: int

    def within(self, block: Range, strip: Range) -> tuple[int, int, int]:
        """The start and the end of the part, counted from the block's start; the block's length.

        A start before 0 is in the previous block, an end beyond the length in the next block.
        """
        first, last = max(block[0], self.origin), min(block[1], self.end)
        start = max(strip[0] + self.low, self.origin)
        end = min(strip[1] + self.high, self.end)
        return start - first, max(start, end) - first, max(last - first, 0)


Parts = tuple[Part | None, ...]
"""The part of each dimension of an input; None for a dimension that a strip reads entirely."""


class Program(Record):
    """The program that a task runs.

    `slots` has one entry per input: a position of the block, or None if the input is a block.
    `parts` has the parts of each input that a strip reads. `lengths` has the symbols whose values
    are equal in every block. `measured` has, for the symbol of each block length, an input and a
    dimension with this length. `positions` has the grid axes whose ranges the task gets. `folds`
    has the fold of each target that is a state, and None for other targets. `needs_elements` has an
    entry for each target: the number of its elements if its fold has no state without elements,
    else None. Strips are cut along the grid axis `strips`; `along` has the dimension of each result
    along this axis, None for a result that the axis does not have. `used` has the symbols of the
    graph.
    """

    __slots__ = ("__dict__",)

    graph: Graph
    slots: tuple[Dim | None, ...]
    parts: tuple[Parts, ...]
    lengths: tuple[tuple[Symbol, int], ...]
    measured: tuple[tuple[Symbol, int, int], ...]
    derived: tuple[tuple[Symbol, Dim], ...]
    positions: tuple[int, ...]
    counts: tuple[int, ...]
    folds: tuple[FoldRule | None, ...]
    needs_elements: tuple[Dim | None, ...]
    strips: int | None
    along: tuple[int | None, ...]
    names: tuple[str, ...]
    used: tuple[Symbol, ...]

    @cached_property
    def numbers(self) -> _Numbers:
        """The numbers of the program that depend on the block."""
        return _Numbers(self)

    @cached_property
    def depths(self) -> tuple[tuple[tuple[int, int], ...], ...]:
        """For each input, how far it reaches beyond its block in each dimension."""
        return tuple(
            tuple((0, 0) if one is None else (max(0, -one.low), max(0, one.high)) for one in parts)
            for parts in self.parts
        )

    def with_states(self, has_state: Sequence[bool]) -> Graph:
        """The graph without the results of targets that have no state, which must not be run."""
        if all(has_state):
            return self.graph
        results = iter(self.graph.outputs)
        parts = [tuple(islice(results, number)) for number in self.counts]
        outputs = (one for part, has in zip(parts, has_state, strict=True) if has for one in part)
        return self.graph.replace(outputs=tuple(outputs))


class _Numbers:
    """The numbers of a program that depend on the block, as indices of the results of `at`.

    `shapes` and `results` have the shapes of the inputs and of the results of the graph.
    """

    def __init__(self, program: Program) -> None:
        self._derived = Lengths()
        self._symbols = [(one, self._derived.number(length)) for one, length in program.derived]
        self._found = Lengths()
        number = self._found.number
        self.shapes = [tuple(map(number, node.shape)) for node in program.graph.inputs]
        self.results = [tuple(map(number, node.shape)) for node in program.graph.outputs]
        self.slots = [None if one is None else number(one) for one in program.slots]
        self.needs_elements = [None if n is None else number(n) for n in program.needs_elements]

    def at(self, known: dict[Symbol, int]) -> Sequence[int]:
        """The numbers for the values of symbols; those of derived symbols are added to `known`."""
        derived = self._derived.at(known)
        known.update((symbol, derived[k]) for symbol, k in self._symbols)
        return self._found.at(known)


_programs: Final[BoundedTable[str, Program]] = BoundedTable(limit=MOST_PROGRAMS)


class BlockTask:
    """A function of blocks that runs a program; Dask compares such functions by their tokens."""

    __slots__ = ("_packed", "token")

    def __init__(self, token: str, packed: bytes) -> None:
        """Store the token and the compressed pickle of a program."""
        self.token, self._packed = token, packed

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockTask, (self.token, self._packed)

    def __dask_tokenize__(self) -> object:
        return "axiomjit", self.token

    def __repr__(self) -> str:
        return f"<stage {self.token[:8]}>"

    __name__ = "stage"

    @property
    def program(self) -> Program:
        """The program, unpickled once per process."""
        found = _programs.get(self.token)
        if found is None:
            found = pickle.loads(zlib.decompress(self._packed))  # noqa: S301  # from our own graph
            _programs.keep(self.token, found)
        return found

    def __call__(self, *blocks: Any) -> Any:
        """The target of a block, an array or a state; a list if there are several targets."""
        program = self.program
        made = in_block(_Block(program, [_only(block) for block in blocks]).states)
        found = [
            state if fold is not None or state is None else state[0]
            for state, fold in zip(made, program.folds, strict=True)
        ]
        return found[0] if len(found) == 1 else found


class _Block:
    """The inputs of a task, by the inputs of its graph."""

    def __init__(self, program: Program, given: Sequence[Any]) -> None:
        self._program = program
        taken = iter(given)
        self._arrays: list[Any] = [
            None if slot is not None else _plain(next(taken), name)
            for slot, name in zip(program.slots, program.names, strict=True)
        ]
        self._edges = [next(taken) if any(map(any, one)) else None for one in program.depths]
        self._ranges: dict[int, Range] = {
            grid: tuple(np.asarray(row).reshape(-1).tolist())
            for grid, row in zip(program.positions, taken, strict=True)
        }
        for array, parts in zip(self._arrays, program.parts, strict=True):
            for n, part in zip(array.shape if parts else (), parts, strict=True):
                if part is not None and part.grid not in self._ranges:
                    # all inputs have exactly this block, so any start will do
                    self._ranges[part.grid] = 0, n, n

    def states(self) -> list[State]:
        """For each target, the arrays that the task makes; None for a fold without elements."""
        program, strips = self._program, self._strips()
        if len(strips) == 1:
            return self._run(strips[0])
        found = program.numbers.at(_lengths(program, self._arrays, self._ranges))
        whole = [tuple(found[n] for n in shape) for shape in program.numbers.results]
        made = _Results(program, whole)
        for strip in strips:
            made.add(self._run(strip))
        return made.found

    def _strips(self) -> list[Ranges]:
        """The ranges of the strips, in order."""
        grid = self._program.strips
        if grid is None:
            return [self._ranges]
        first, last, length = self._ranges[grid]
        size, reach = 0, 0
        for array, parts in zip(self._arrays, self._program.parts, strict=True):
            mine = [one for one in parts if one is not None and one.grid == grid]
            size += array.nbytes if mine else 0
            reach = max([reach, *(max(0, -one.low) + max(0, one.high) for one in mine)])
        step = max(2, HALOS_PER_STRIP * reach, STRIP_BYTES * length // max(size, 1))
        # the last strip has half of a step or more, so it is not one element or a halo alone
        starts = list(range(0, max(length - step // 2, 1), step))
        begin = first if first != -FAR else 0 if last == FAR else last - length
        found: list[Ranges] = []
        for start, end in zip(starts, [*starts[1:], length], strict=True):
            strip = (
                first if not start else begin + start,
                last if end == length else begin + end,
                end - start,
            )
            found.append({**self._ranges, grid: strip})
        return found

    def _run(self, strip: Ranges) -> list[State]:
        """For each target, the results for a strip; None for a fold without elements."""
        program = self._program
        arrays = [self._read(k, strip) for k in range(len(self._arrays))]
        known, numbers = _lengths(program, arrays, strip), program.numbers
        found = numbers.at(known)
        for k, slot in enumerate(numbers.slots):
            if slot is not None:
                arrays[k] = np.array(found[slot])
            elif isinstance(arrays[k], np.ndarray):
                wanted = tuple(found[n] for n in numbers.shapes[k])
                _check_shape(arrays[k], wanted, program.names[k])
        has_state = [n is None or found[n] > 0 for n in numbers.needs_elements]
        graph = program.with_states(has_state)
        made = iter(run(graph, arrays, {one: known[one] for one in program.used}))
        counts = zip(program.counts, has_state, strict=True)
        return [tuple(islice(made, number)) if has else None for number, has in counts]

    def _read(self, k: int, strip: Ranges) -> Any:
        """The elements of an input that a strip reads."""
        array, edges, parts = self._arrays[k], self._edges[k], self._program.parts[k]
        if not any(parts):
            return array
        bounds = [
            (0, n, n) if one is None else one.within(self._ranges[one.grid], strip[one.grid])
            for n, one in zip(array.shape, parts, strict=True)
        ]
        _check_shape(array, tuple(n for _, _, n in bounds), self._program.names[k])
        if edges is None:
            found = array[tuple(slice(start, end) for start, end, _ in bounds)]
            compact = found.flags.forc or not array.flags.forc
            return found if compact else found.copy(order="K")
        segments = [_segments(*one) for one in bounds]
        if all(len(one) == 1 and not one[0].side for one in segments):
            return np.ascontiguousarray(array[tuple(one.source(0) for (one,) in segments)])
        found = np.empty([end - start for start, end, _ in bounds], array.dtype)
        middle = [
            int(one is not None and one.low < 0 and self._ranges[one.grid][0] != -FAR)
            for one in parts
        ]
        for pieces in product(*segments):
            sides = tuple(one.side for one in pieces)
            source = array
            if any(sides):
                around = tuple(m + side for m, side in zip(middle, sides, strict=True))
                source = edges[around].towards(sides)
            taken = zip(pieces, source.shape, strict=True)
            found[tuple(one.target for one in pieces)] = source[
                tuple(one.source(n) for one, n in taken)
            ]
        return found


class _Segment(NamedTuple):
    """The part of a range that lies in the previous block, in the block, or in the next block.

    `side` is -1, 0 or 1. The elements from `start` to `end` of this block, counted from its start,
    or for the previous block from its end, are at `target` of the range.
    """

    side: int
    start: int
    end: int
    target: slice

    def source(self, length: int) -> slice:
        """The slice of the elements in an array of this length, which has the block's edge."""
        base = length if self.side < 0 else 0
        return slice(base + self.start, base + self.end)


def _segments(start: int, end: int, length: int) -> list[_Segment]:
    """The segments of the range from `start` to `end` of a block of a length."""
    found = []
    for side, low, high in ((-1, start, 0), (0, 0, length), (1, length, end)):
        first, last = max(start, low), min(end, high)
        if first < last or (side == 0 and start == end):
            base = length if side > 0 else 0
            target = slice(first - start, last - start)
            found.append(_Segment(side, first - base, last - base, target))
    return found


class _Results:
    """The results of a block, made of the results of its strips."""

    def __init__(self, program: Program, shapes: Sequence[tuple[int, ...]]) -> None:
        self._program = program
        self.found: list[State] = [None] * len(program.counts)
        results = iter(zip(program.along, shapes, strict=True))
        self._ways = [tuple(islice(results, number)) for number in program.counts]
        self._filled = [0] * len(program.counts)

    def add(self, states: Sequence[State]) -> None:
        """Add the results of the next strip."""
        for k, (state, fold) in enumerate(zip(states, self._program.folds, strict=True)):
            if any(d is not None for d, _ in self._ways[k]):
                self._place(k, state)
            elif fold is not None:
                self.found[k] = combined(fold, self.found[k], state)

    def _place(self, k: int, state: State) -> None:
        """Copy the results of a strip into those of the block."""
        if state is None:
            return
        ways = self._ways[k]
        if self.found[k] is None:
            self.found[k] = tuple(
                one if d is None else np.empty(shape, one.dtype)
                for one, (d, shape) in zip(state, ways, strict=True)
            )
        filled = self._filled[k]
        for one, whole, (d, _) in zip(state, self.found[k] or (), ways, strict=True):
            if d is not None:
                self._filled[k] = filled + one.shape[d]
                whole[(*[slice(None)] * d, slice(filled, filled + one.shape[d]))] = one


def block_task(
    block: BlockGraph,
    stage: Stage,
    values: Values,
    needs_elements: Sequence[bool],
    names: Sequence[str],
) -> BlockTask:
    """The task of a stage.

    The task gets the blocks of the inputs, then the edges of each input with a halo, then the
    ranges of its block along the grid axes `block.positioned`.

    Args:
        block: The graph of a block.
        stage: The stage.
        values: The values of the symbols for lengths of entire arrays.
        needs_elements: For each target, True if its fold has no state without elements.
        names: The names of the inputs, for error messages.
    """
    measured: dict[Symbol, tuple[int, int]] = {}
    for place, one in enumerate(block.inputs):
        for d, span in enumerate(() if isinstance(one, Dim) or one.is_before else one.spans):
            if span is not None and span.is_plain:
                measured.setdefault(block_length(span.grid), (place, d))
    nodes = (*block.graph.inputs, *block.graph.nodes)
    used = frozenset[Symbol]().union(*(node.symbols for node in nodes))
    program = Program(
        block.graph,
        tuple(one if isinstance(one, Dim) else None for one in block.inputs),
        tuple(
            () if isinstance(one, Dim) else tuple(_part(span, block) for span in one.spans)
            for one in block.inputs
        ),
        tuple(sorted(((s, n) for s, n in values.items()), key=lambda item: item[0].name)),
        tuple((symbol, *where) for symbol, where in measured.items()),
        block.derived,
        block.positioned,
        block.counts,
        tuple(one.node.fold if one.partial else None for one in stage.targets),
        tuple(n if needs else None for n, needs in zip(block.reduced, needs_elements, strict=True)),
        block.strips,
        tuple(_along(block, stage)),
        tuple(names),
        tuple(sorted(used, key=lambda symbol: symbol.name)),
    )
    found = token_of(program)
    if found not in _programs:  # a program in the table keeps its plans
        _programs.keep(found, program)
    return BlockTask(found, zlib.compress(pickle.dumps(program), 9))


def _part(span: Span | None, block: BlockGraph) -> Part | None:
    """The part of a dimension that a strip reads; None if it reads all of its block."""
    if span is None or (span.grid != block.strips and not (span.low or span.high)):
        return None
    place = span.place
    return Part(span.grid, span.low, span.high, place.origin, place.origin + place.length)


def _along(block: BlockGraph, stage: Stage) -> Iterator[int | None]:
    """For each result of a block, the dimension along the axis of strips, or None."""
    results = iter(block.graph.outputs)
    for target, count in zip(stage.targets, block.counts, strict=True):
        grids = target.own
        own = grids.index(block.strips) if block.strips in grids else None
        for one in islice(results, count):
            yield own if block.strips is not None and len(one.shape) == len(grids) else None


class Edges(Record):
    """Copies of the edges of a block, which the tasks of the blocks around read.

    `faces` has, for each dimension, the first elements, which the previous block reads, and the
    last elements, which the next block reads.
    """

    faces: tuple[tuple[np.ndarray, np.ndarray], ...]

    def towards(self, sides: tuple[int, ...]) -> np.ndarray:
        """The edge that a block reads, for which this block lies on `sides`, -1, 0 or 1 each."""
        d = next(d for d, side in enumerate(sides) if side)
        return self.faces[d][sides[d] < 0]


class EdgesOf:
    """A function that copies the edges of a block, as an array with one element.

    `depths` has, for each dimension, the number of elements that the next and the previous block
    read.
    """

    __slots__ = ("depths",)

    def __init__(self, depths: tuple[tuple[int, int], ...]) -> None:
        """Store how far the tasks of the blocks around reach into a block."""
        self.depths = depths

    def __reduce__(self) -> tuple[Any, ...]:
        return EdgesOf, (self.depths,)

    def __dask_tokenize__(self) -> object:
        return "axiomjit.edges", self.depths

    __name__ = "edges"

    def __call__(self, block: Any) -> np.ndarray:
        """An array of one element, the edges of a block."""
        block = _only(block)
        faces = []
        for d, (low, high) in enumerate(self.depths):
            ends = slice(0, high), slice(block.shape[d] - low, None)
            front, back = (np.array(block[(*[slice(None)] * d, end)]) for end in ends)
            faces.append((front, back))
        found = np.empty((1,) * block.ndim, object)
        found[(0,) * block.ndim] = Edges(tuple(faces))
        return found


def _only(block: Any) -> Any:
    """The block in nested lists of length 1, in which Dask passes a block of contracted axes."""
    while type(block) is list:
        (block,) = block
    return block


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, int | float | complex):
        return value
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.generic) or type(value) is np.memmap:
        return np.asarray(value)
    raise GraphTypeError(
        f"a block of {name} in a compiled call",
        f"a {type(value).__module__}.{type(value).__name__}",
        "give arrays whose blocks are NumPy arrays, as by x.map_blocks(numpy.asarray)",
    )


def _lengths(program: Program, arrays: Sequence[Any], ranges: Ranges) -> dict[Symbol, int]:
    """The values of the symbols, without derived ones, for a block or for a strip of it."""
    known = dict(program.lengths)
    for grid, (first, last, length) in ranges.items():
        known[first_place(grid)], known[last_place(grid)] = first, last
        known[block_length(grid)] = length
    for symbol, place, d in program.measured:
        known[symbol] = arrays[place].shape[d]
    return known


def _check_shape(array: np.ndarray, wanted: tuple[int, ...], name: str) -> None:
    if array.shape == wanted:
        return
    raise GraphValueError(
        f"a block of {name} of shape {wanted}",
        f"one of shape {array.shape}",
        "give arrays whose chunks say the lengths of their blocks, and whose blocks fit each other",
    )
