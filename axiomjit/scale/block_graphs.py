"""Make the graph of a block: a stage's targets, with symbols for lengths and positions.

The length of a block is a symbol; the program assumes only that the length is 2 or more. So one
program runs for all blocks, also for shorter last blocks and for square blocks. A position is an
integer. Each block computes where a halo is clipped at the ends of a dimension, and the program
gets the result as another symbol.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

from axiomjit.base.dtypes import INT
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import (
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Update,
    is_view,
    post_order,
)
from axiomjit.graph.primitives import COPY, POSITION, PRIMITIVES, VIEW, UfuncFold
from axiomjit.graph.reductions import StateFold, parts_of
from axiomjit.scale.axis_classes import Classified, Totals
from axiomjit.scale.counts import COUNTED, block_count
from axiomjit.scale.groups import TAKEN, GroupsFold, block_groups, block_taken
from axiomjit.scale.moments import SQUARES, block_moments
from axiomjit.scale.partitions import Values
from axiomjit.scale.stages import (
    Key,
    Span,
    Spans,
    Stage,
    Target,
    demands,
    inner_iterators,
    is_leaf,
    is_position,
    key_of,
    operand_spans,
)
from axiomjit.symbolic.data_dependent import PLACE
from axiomjit.symbolic.dims import (
    DECLARED,
    Dim,
    Kind,
    Symbol,
    dim,
    larger,
    smaller,
    symbol_of,
    symbols_in,
)
from axiomjit.symbolic.index_maps import (
    Affine,
    Condition,
    Conditions,
    IndexMap,
    Region,
    affine,
    identity,
)


class BlockInput(Record):
    """A value that a task gets, with the part of each dimension that the task gets.

    If `is_before` is true, the value is the fold of all previous blocks, for a running fold. The
    last dimension then has length 1.
    """

    node: Node
    spans: Spans
    is_before: bool = False

    @property
    def depths(self) -> tuple[tuple[int, int], ...] | None:
        """For each dimension, how far the halo reaches to both sides; None without a halo."""
        found = tuple(
            (0, 0) if span is None else (max(0, -span.low), max(0, span.high))
            for span in self.spans
        )
        return found if any(map(any, found)) else None


class BlockGraph(Record):
    """The graph of a block.

    `inputs` are parts of values, and positions of the block. `derived` has symbols with the numbers
    that are computed from the ends of the block's range along each of the `grids` axes. `counts`
    has the number of results of each target. `reduced` has the number of elements that each target
    folds in a block; 1 for a target that is not the state of a fold, or that counts elements. A
    task may cut a block into strips along the grid axis `strips`, and run the graph for each strip.
    """

    graph: Graph
    inputs: tuple[BlockInput | Dim, ...]
    derived: tuple[tuple[Symbol, Dim], ...]
    grids: int
    counts: tuple[int, ...]
    reduced: tuple[Dim, ...]
    strips: int | None

    @property
    def positioned(self) -> tuple[int, ...]:
        """The grid axes along which the graph needs the range of the block, not only the length."""
        numbers = (one for one in self.inputs if isinstance(one, Dim))
        used = symbols_in(*(length for _, length in self.derived), *numbers)
        return tuple(k for k in range(self.grids) if used & {first_place(k), last_place(k)})


@functools.cache
def block_length(grid: int) -> Symbol:
    """The symbol of a block's length along a grid axis."""
    return Symbol(f"b{grid}", DECLARED)


@functools.cache
def first_place(grid: int) -> Symbol:
    """The symbol of the start of a block's range; the first block starts at `-FAR`."""
    return Symbol(f"f{grid}", PLACE)


@functools.cache
def last_place(grid: int) -> Symbol:
    """The symbol of the end of a block's range; the last block ends at `FAR`."""
    return Symbol(f"l{grid}", PLACE)


def block_graph(stage: Stage, classified: Classified, values: Values) -> BlockGraph:
    """Make the graph of a block of a stage."""
    return _Building(stage, classified, values).built()


class _Building:
    """The state of `block_graph`."""

    def __init__(self, stage: Stage, classified: Classified, values: Values) -> None:
        self._stage, self._classified, self._values = stage, classified, values
        self._spans, self._leaves = demands(classified, stage.targets, values)
        self._made: dict[Key, Node] = {}
        grids = range(len(stage.partitions))
        self._ends = frozenset(end for k in grids for end in (first_place(k), last_place(k)))
        self._inputs: list[BlockInput | Dim] = []
        self._given: list[Input] = []
        self._numbers: dict[Dim, Input] = {}
        self._symbols: dict[tuple[Dim, Kind], Symbol] = {}

    def built(self) -> BlockGraph:
        """The graph of the block, with the results of all targets."""
        outputs: list[Node] = []
        counts, reduced = [], []
        by_node: dict[Node, list[Key]] = {}
        for key in self._spans:
            by_node.setdefault(key[0], []).append(key)
        level = self._stage.level

        def children(node: Node) -> tuple[Node, ...]:
            return () if is_leaf(node, level, self._classified) else node.children

        partial = {one.node for one in self._stage.targets if one.partial}
        for node in post_order(tuple(one.node for one in self._stage.targets), children):
            for key in by_node.get(node, ()):
                if node not in partial:
                    self._make(key)
        for target in self._stage.targets:
            results, count = self._results(target)
            outputs += results
            counts.append(len(results))
            reduced.append(count)
        graph = Graph(tuple(self._given), tuple(outputs))
        derived = tuple((symbol, length) for (length, _), symbol in self._symbols.items())
        return BlockGraph(
            graph,
            tuple(self._inputs),
            derived,
            len(self._stage.partitions),
            tuple(counts),
            tuple(reduced),
            self._strips(),
        )

    def _strips(self) -> int | None:
        """The grid axis along which a task cuts a block into strips; None if it reads whole blocks.

        Strips save the copy of a block with its halo, and the second read of a block whose elements
        are folded twice. A running fold is continued from previous blocks, so no strips are cut
        along its axis. The chosen axis is the outermost one in memory.
        """
        blocks = [one for one in self._inputs if isinstance(one, BlockInput)]
        wide = [one for one in blocks if one.depths is not None]
        if not wide and all(one.node.fold is not SQUARES for one in self._stage.targets):
            return None
        scanned = {one.spans[-1].grid for one in blocks if one.is_before and one.spans[-1]}
        for one in (*wide, *blocks):
            for span in one.spans:
                if span is not None and span.place.partition.is_known and span.grid not in scanned:
                    return span.grid
        return None

    def _results(self, target: Target) -> tuple[list[Node], Dim]:
        """The results of a target, and the number of elements that it folds."""
        if not target.partial:
            places = self._classified.places[target.node]
            spans = tuple(
                None if place is None or grid is None else Span(grid, 0, 0, place)
                for place, grid in zip(places, target.grids, strict=True)
            )
            key = key_of(target.node, spans)
            made = self._made[key]
            return [self._narrowed(made, self._spans[key], spans)], dim(1)
        made = self._op(target.node, target, ())
        assert isinstance(made, Op)
        count = dim(1)
        for extent in made.extents[made.rank :]:
            count = count * extent
        if isinstance(target.node.fold, StateFold):
            return parts_of(made), count
        if target.node.fold is COUNTED:
            return [block_count(made)], dim(1)
        if isinstance(target.node.fold, GroupsFold):
            return block_groups(made), count
        if target.node.fold is SQUARES:
            return block_moments(made), count
        if target.node.fold is TAKEN:
            walked = inner_iterators(target.node, target, (), self._classified)
            starts = [self._number(self._offset(one)) for one in walked[made.rank :]]
            return block_taken(made, starts), count
        return [made], count

    def _narrowed(self, node: Node, spans: Spans, wanted: Spans) -> Node:
        """The part of a value in the spans `wanted`, from the value in the spans `spans`."""
        if spans == wanted:
            return _fresh(node)
        shape, index = [], []
        for d, (one, other) in enumerate(zip(spans, wanted, strict=True)):
            if one is None or other is None:
                shape.append(node.shape[d])
                index.append(affine({d: dim(1)}))
            else:
                shape.append(self._extent(other))
                index.append(
                    affine({d: dim(1)}, self._derived(self._start(other) - self._start(one)))
                )
        return Op(node.dtype, COPY, None, (node,), (tuple(index),), tuple(shape), len(shape))

    # Lengths and positions

    def _start(self, span: Span) -> Dim:
        """The first position of a span in its cut dimension."""
        if span.is_plain and not span.place.partition.is_known:
            return dim(0)
        return larger(dim(first_place(span.grid)) + span.low, span.place.origin)

    def _offset(self, span: Span | None) -> Dim:
        """The index at which a span starts in its value; 0 for a dimension that is not cut."""
        return dim(0) if span is None else self._start(span) - span.place.origin

    def _end(self, span: Span) -> Dim:
        end = span.place.origin + span.place.length
        return smaller(dim(last_place(span.grid)) + span.high, end)

    def _extent(self, span: Span) -> Dim:
        """The number of elements of a span."""
        if span.is_plain:
            return dim(block_length(span.grid))
        return self._derived(larger(self._end(span) - self._start(span), 0), is_length=True)

    def _derived(self, length: Dim, is_length: bool = False) -> Dim:
        """A symbol for a number that depends on the block; other numbers are returned unchanged."""
        if length.symbols.isdisjoint(self._ends):
            return length
        key = length, DECLARED if is_length else PLACE
        if key not in self._symbols:
            self._symbols[key] = Symbol(f"d{len(self._symbols)}", key[1])
        return dim(self._symbols[key])

    # Nodes

    def _make(self, key: Key) -> None:
        node, spans = key[0], self._spans[key]
        if key in self._leaves:
            shape = self._shape(node.shape, spans)
            made = Input(node.dtype, len(self._inputs), shape, node.weak)
            self._made[key] = made
            self._inputs.append(BlockInput(node, spans))
            self._given.append(made)
        elif isinstance(node, Op):
            self._made[key] = self._op(node, None, spans)
        else:
            self._made[key] = node

    def _shape(self, shape: Sequence[Dim], spans: Spans) -> tuple[Dim, ...]:
        pairs = zip(shape, spans, strict=True)
        return tuple(n if span is None else self._extent(span) for n, span in pairs)

    def _op(self, op: Op, target: Target | None, spans: Spans) -> Node:
        """The form of an operation for a block, with the operands of the block."""
        iterators = tuple(inner_iterators(op, target, spans, self._classified))
        extents = self._shape(op.extents, iterators)
        starts = [self._offset(one) for one in iterators]
        operands, maps = [], []
        for position in range(len(op.operands)):
            node, index = self._operand(op, position, iterators, starts, extents, spans)
            operands.append(node)
            maps.append(index)
        conditions = self._conditions(op.conditions, starts)
        regions = tuple(self._region(one, op, starts, extents) for one in op.regions)
        changes: dict[str, object] = {}
        if isinstance(op, Update):
            changes["whole"] = operands[0].shape
        if target is not None and target.partial and isinstance(op.fold, UfuncFold):
            state = op.fold.state_dtype(op.dtype)
            if state != op.dtype and op.primitive is VIEW:
                operands[0] = builder.cast(operands[0], state)
                changes["dtype"] = state
        made = op.replace(
            operands=tuple(operands),
            maps=tuple(maps),
            extents=extents,
            conditions=conditions,
            regions=regions,
            **changes,
        )
        if isinstance(made, Totals):
            return Op(
                made.dtype, made.primitive, made.fold, made.operands, made.maps, extents, made.rank
            )
        if op in self._classified.totals:
            return self._continued(op, made, spans)
        return made

    def _continued(self, op: Op, scan: Op, spans: Spans) -> Node:
        """A running fold of a block, continued from the fold of all previous blocks."""
        assert isinstance(op.fold, UfuncFold)
        state = op.fold.state_dtype(op.dtype)
        before = Input(state, len(self._inputs), (*scan.shape[:-1], dim(1)))
        self._inputs.append(BlockInput(self._classified.totals[op], spans, True))
        self._given.append(before)
        both = builder.elementwise(op.fold.combine, before, builder.cast(scan, state))
        return builder.cast(both, op.dtype)

    def _operand(
        self,
        op: Op,
        position: int,
        iterators: Sequence[Span | None],
        starts: Sequence[Dim],
        extents: Sequence[Dim],
        spans: Spans,
    ) -> tuple[Node, IndexMap]:
        child, index = op.operands[position], op.maps[position]
        if is_position(child) and any(
            iterators[k] is not None for function in index for k, _ in function.terms
        ):
            return self._positions(index[0], starts, extents)
        if isinstance(op, Update) and position == 0:
            return self._old_version(op, spans, starts)
        if is_position(child):
            return child, index
        level = self._stage.level
        wanted = operand_spans(op, position, iterators, self._classified, level, self._values)
        key = key_of(child, wanted)
        node, own = self._made[key], self._spans[key]
        return node, tuple(
            self._moved(function, starts, span) for function, span in zip(index, own, strict=True)
        )

    def _moved(self, function: Affine, starts: Sequence[Dim], span: Span | None) -> Affine:
        """A function of a map, rewritten for the parts of arrays that a block has."""
        offset = function.offset
        for k, c in function.terms:
            offset = offset + c * starts[k]
        if span is not None:
            offset = offset + span.place.origin - self._start(span)
        return affine(dict(function.terms), self._derived(offset))

    def _positions(
        self, function: Affine, starts: Sequence[Dim], extents: Sequence[Dim]
    ) -> tuple[Node, IndexMap]:
        """Positions along axes: the position of the block plus positions within the block."""
        count, first = dim(1), function.offset
        for k, c in function.terms:
            count = count + c * (extents[k] - 1)
            first = first + c * starts[k]
        length = larger(count, 0)
        within = Op(INT, POSITION, None, (), (), (length,), 1)
        start = self._number(first)
        both = builder.elementwise(PRIMITIVES["add"], within, start)
        return both, (affine(dict(function.terms)),)

    def _number(self, length: Dim) -> Node:
        """A position of the block as an input of the graph; a constant position is no input.

        Blocks that differ only in positions that are inputs share one plan.
        """
        if length.symbols.isdisjoint(self._ends):
            return LengthNode(INT, length)
        if length not in self._numbers:
            self._numbers[length] = Input(INT, len(self._inputs), ())
            self._inputs.append(length)
            self._given.append(self._numbers[length])
        return self._numbers[length]

    def _old_version(
        self, op: Update, spans: Spans, starts: Sequence[Dim]
    ) -> tuple[Node, IndexMap]:
        """A copy of the version before an update, in the spans of the version after the update."""
        child = op.operands[0]
        places = self._classified.places[child]
        wanted: Spans = tuple(
            None if span is None or place is None else span.replace(place=place)
            for span, place in zip(spans, places, strict=True)
        )
        key = key_of(child, wanted)
        node, own = self._made[key], self._spans[key]
        shape, index = [], []
        for d, (one, span) in enumerate(zip(own, spans, strict=True)):
            shape.append(node.shape[d] if span is None else self._extent(span))
            offset = dim(0)
            if span is not None:
                offset = self._start(span) - span.place.origin
                offset = offset if one is None else self._start(span) - self._start(one)
            index.append(affine({d: dim(1)}, self._derived(offset)))
        plain = tuple(index) == identity(len(index)) and isinstance(node, Op) and not is_view(node)
        if not plain:
            node = Op(node.dtype, COPY, None, (node,), (tuple(index),), tuple(shape), len(shape))
        functions = []
        for d, function in enumerate(op.maps[0]):
            span, offset = spans[d], function.offset
            for k, c in function.terms:
                offset = offset + c * starts[k]
            if span is not None:
                offset = offset + span.place.origin - self._start(span)
            functions.append(affine(dict(function.terms), self._derived(offset)))
        return node, tuple(functions)

    def _conditions(self, conditions: Conditions, starts: Sequence[Dim]) -> Conditions:
        found = []
        for one in conditions:
            moved = dim(0)
            for k, c in one.function.terms:
                moved = moved + c * starts[k]
            low, high = self._derived(one.low - moved), self._derived(one.high - moved)
            found.append(Condition(one.function, low, high))
        return tuple(found)

    def _region(
        self, region: Region, op: Op, starts: Sequence[Dim], extents: Sequence[Dim]
    ) -> Region:
        """The part of a join's region in a block."""
        found = []
        for k, (low, high) in enumerate(region):
            if starts[k].constant == 0 and extents[k] is op.extents[k]:
                found.append((low, high))
                continue
            begin = dim(0) if low.constant == 0 else self._within(low - starts[k], extents[k])
            end = extents[k]
            if high is not op.extents[k]:
                end = self._within(high - starts[k], extents[k])
            found.append((begin, end))
        return tuple(found)

    def _within(self, place: Dim, extent: Dim) -> Dim:
        return self._derived(larger(smaller(place, self._range_of(extent)), 0))

    def _range_of(self, extent: Dim) -> Dim:
        """The number that the symbol of a derived extent represents."""
        symbol = symbol_of(extent)
        found = {one: length for (length, _), one in self._symbols.items()}
        return found.get(symbol, extent) if symbol is not None else extent


def _fresh(node: Node) -> Node:
    """The node as a result that shares no memory with an input."""
    if isinstance(node, Op) and not is_view(node):
        return node
    rank = len(node.shape)
    return Op(node.dtype, COPY, None, (node,), (identity(rank),), node.shape, rank)
