"""Cut a classified graph into stages; in a stage, one task per block computes several values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Constant, Input, Node, Op, Update, is_scan, post_order
from axiomjit.graph.primitives import GATHER, POSITION
from axiomjit.scale.axis_classes import (
    JOINED,
    PART,
    REDUCE,
    SCAN,
    SLICE,
    TOTALS,
    Classified,
)
from axiomjit.scale.partitions import Partition, Place, Values, number
from axiomjit.symbolic.index_maps import Affine


class Span(Record):
    """The part of a cut dimension that a block needs of a value.

    The part starts `low` elements after the start of the block along the grid axis `grid` (before
    the start, if `low` is negative), and ends `high` elements after the block's end. Only elements
    in `place` belong to the part.
    """

    grid: int
    low: int
    high: int
    place: Place

    @property
    def is_plain(self) -> bool:
        """True if the span is exactly the block."""
        return not self.low and not self.high and self.place.is_whole

    def widened(self, other: Span) -> Span:
        """The smallest span that contains this span and another one."""
        return self.replace(low=min(self.low, other.low), high=max(self.high, other.high))


Spans = tuple[Span | None, ...]
Key = tuple[Node, tuple[tuple[int, int] | None, ...]]
"""A value, and for each dimension of the value the grid axis and the origin, or None."""


def key_of(node: Node, spans: Spans) -> Key:
    """The key of a value in these spans."""
    return node, tuple(None if one is None else (one.grid, one.place.origin) for one in spans)


class Target(Record):
    """A value that a stage computes, with the grid axis of each dimension or iterator.

    If `partial` is true, the stage computes the state of a fold for the elements of one block, and
    the states of all blocks are combined later.
    """

    node: Op
    grids: tuple[int | None, ...]
    partial: bool

    @property
    def own(self) -> tuple[int | None, ...]:
        """The grid axis of each dimension of the value."""
        return self.grids[: len(self.node.shape)] if self.partial else self.grids


class Stage(Record):
    """The values that one task per block of a grid computes, at one level."""

    level: int
    partitions: tuple[Partition, ...]
    targets: tuple[Target, ...]

    @property
    def tasks(self) -> int:
        """The number of blocks."""
        count = 1
        for partition in self.partitions:
            count *= partition.count
        return count


def stages_of(classified: Classified, values: Values) -> tuple[Stage, ...]:
    """The stages of a classified graph, in the order of their levels.

    Targets of one level with equal partitions are in one stage if they read the same blocks of some
    value.
    """
    made: list[Stage] = []
    for target, partitions in _targets(classified):
        level = classified.levels[target.node]
        for k, stage in enumerate(made):
            same = stage.level == level
            joined = _joined(stage, target, partitions, classified, values) if same else None
            if joined is not None:
                made[k] = joined
                break
        else:
            made.append(Stage(level, partitions, (target,)))
    return tuple(sorted(made, key=lambda stage: stage.level))


def with_fused_scans(classified: Classified, values: Values) -> Classified:
    """The classified graph; running folds that one stage reads block by block are no cuts.

    The stage then computes the running fold, so no array of the fold is made.
    """
    graph, kinds = classified.graph, classified.cuts
    readers: dict[Node, list[Op]] = {}
    for op in graph.ops:
        for child in dict.fromkeys(op.operands):
            readers.setdefault(child, []).append(op)
    fused = {
        op
        for op in graph.ops
        if kinds.get(op) == SCAN and len(_reading_levels(op, readers, classified, values)) == 1
    }
    cuts = {node: kind for node, kind in kinds.items() if node not in fused}
    return classified.replace(cuts=cuts)


def _reading_levels(
    op: Op, readers: Mapping[Node, Sequence[Op]], classified: Classified, values: Values
) -> set[int]:
    """The levels of the stages that read a value; empty if it is a result or read elsewhere."""
    found: set[int] = set()
    if op in classified.graph.outputs:
        return found
    for reader in readers.get(op, ()):
        if not _reads_own_block(reader, op, classified, values):
            return set()
        levels = {classified.levels[reader]}
        if reader not in classified.cuts and reader not in classified.graph.outputs:
            levels = _reading_levels(reader, readers, classified, values)
        if not levels:
            return set()
        found |= levels
    return found


def _reads_own_block(op: Op, child: Node, classified: Classified, values: Values) -> bool:
    """True if an operation computes a block from the same block of an operand."""
    special = op.regions or op.conditions or isinstance(op, Update) or is_scan(op)
    if special or isinstance(op.primitive, LibraryOperation) or op.primitive is GATHER:
        return False
    iterators, places = classified.iterators.get(op, ()), classified.places[child]
    maps = (index for one, index in zip(op.operands, op.maps, strict=True) if one is child)
    for index in maps:
        for function, place in zip(index, places, strict=True):
            walked = [(iterators[k], c.constant) for k, c in function.terms]
            own = walked == [(place, 1)] and number(function.offset, values) == 0
            if place is not None and not own:
                return False
    return True


def _targets(classified: Classified) -> Iterator[tuple[Target, tuple[Partition, ...]]]:
    """The values that tasks compute: results, and cuts other than slices, joins and parts."""
    results = dict.fromkeys(classified.graph.outputs)
    nodes = (one for node in classified.graph.nodes for one in (classified.totals.get(node), node))
    for node in nodes:
        if not isinstance(node, Op) or (kind := classified.cuts.get(node)) in (SLICE, JOINED, PART):
            continue
        if kind is None and node not in results:
            continue
        partial = kind in (REDUCE, TOTALS)
        places = classified.iterators[node] if partial else classified.places[node]
        cut = [place for place in places if place is not None]
        grid = iter(range(len(cut)))
        numbers = tuple(None if place is None else next(grid) for place in places)
        yield Target(node, numbers, partial), tuple(place.partition for place in cut)


def _joined(
    stage: Stage,
    target: Target,
    partitions: Sequence[Partition],
    classified: Classified,
    values: Values,
) -> Stage | None:
    """The stage with one more target; None if the stage and the target read no common block."""
    if len(partitions) != len(stage.partitions):
        return None
    if not partitions:
        return stage.replace(targets=(*stage.targets, target))
    known = {key for one in stage.targets for key in demands(classified, (one,), values)[1]}
    for order in permutations(range(len(partitions))):
        if any(stage.partitions[order[k]] != cut for k, cut in enumerate(partitions)):
            continue
        grids = tuple(None if k is None else order[k] for k in target.grids)
        moved = target.replace(grids=grids)
        leaves = demands(classified, (moved,), values)[1]
        if any(key in known and len({*key[1]} - {None}) == len(order) for key in leaves):
            return stage.replace(targets=(*stage.targets, moved))
    return None


def is_leaf(node: Node, level: int, classified: Classified) -> bool:
    """True if a stage of this level reads a value from an array, and does not compute the value."""
    is_cut = node in classified.cuts and classified.levels[node] < level
    return is_cut or isinstance(node, Input | Constant)


def is_position(node: Node) -> bool:
    """True for the positions along an axis; each block computes its positions itself."""
    return isinstance(node, Op) and node.primitive is POSITION


def inner_iterators(
    op: Op, target: Target | None, spans: Spans, classified: Classified
) -> list[Span | None]:
    """The span of each iterator of an operation, given the spans of the result."""
    places = classified.iterators[op]
    if target is not None and target.partial:
        return [
            None if place is None or grid is None else Span(grid, 0, 0, place)
            for place, grid in zip(places, target.grids, strict=True)
        ]
    if isinstance(op, Update):
        return _written_spans(op, spans, places)
    return [*spans, *[None] * (len(places) - len(spans))]


def _written_spans(op: Update, spans: Spans, places: Sequence[Place | None]) -> list[Span | None]:
    """The spans of the iterators of a write, given the spans of the storage after the write."""
    found: list[Span | None] = [None] * len(places)
    for d, function in enumerate(op.maps[0]):
        for k, _ in function.terms:
            span, place = spans[d], places[k]
            if span is not None and place is not None:
                found[k] = Span(span.grid, span.low, span.high, place)
    return found


def operand_spans(
    op: Op,
    position: int,
    iterators: Sequence[Span | None],
    classified: Classified,
    level: int,
    values: Values,
) -> Spans:
    """The span of each dimension of an operand that an operation reads, in a stage of a level."""
    child = op.operands[position]
    found: list[Span | None] = []
    for d, function in enumerate(op.maps[position]):
        place = classified.places[child][d]
        walked = [k for k, _ in function.terms if iterators[k] is not None]
        if place is None:
            is_made = not is_leaf(child, level, classified)
            found.append(_of_uncut(child, is_made, d, function, iterators, values))
            continue
        span = iterators[walked[0]] if walked else None
        if span is None:
            found.append(None)
            continue
        shift = number(function.offset, values) + place.origin - span.place.origin
        others = [
            number(c, values) * (number(op.extents[k], values) - 1)
            for k, c in function.terms
            if k != walked[0]
        ]
        low = span.low + shift + sum(min(0, reach) for reach in others)
        high = span.high + shift + sum(max(0, reach) for reach in others)
        found.append(Span(span.grid, low, high, place))
    return tuple(found)


def _of_uncut(
    child: Node,
    is_made: bool,
    d: int,
    function: Affine,
    iterators: Sequence[Span | None],
    values: Values,
) -> Span | None:
    """The span of a dimension that is not cut, but that an iterator over blocks walks.

    An array in memory is cut if it has the length of the cut dimension. A value that the task
    computes itself is computed for the block alone.
    """
    if len(function.terms) != 1:
        return None
    ((k, step),) = function.terms
    span = iterators[k]
    if span is None or step.constant != 1 or not span.place.partition.is_known:
        return None
    length = number(child.shape[d], values)
    place = Place(span.place.partition, span.place.origin - number(function.offset, values), length)
    if is_made:
        return span.replace(place=place) if _is_pointwise(child) else None
    plain = not span.low and not span.high and place.is_whole
    held = isinstance(child, Input | Constant)
    return Span(span.grid, 0, 0, place) if held and plain else None


def _is_pointwise(node: Node) -> bool:
    """True if each element of a value is computed independently of the other elements."""
    if not isinstance(node, Op) or isinstance(node, Update) or node.regions:
        return False
    library = isinstance(node.primitive, LibraryOperation)
    return node.fold is None and not library and not is_position(node)


def demands(
    classified: Classified, targets: Sequence[Target], values: Values
) -> tuple[Mapping[Key, Spans], dict[Key, None]]:
    """The spans of all values that a stage computes or reads, and the keys of the read values.

    If several operations read a value at the same blocks, one span covers all these reads.
    """
    found: dict[Key, Spans] = {}
    own = {target.node: target for target in targets}
    nodes = [target.node for target in targets]
    level = classified.levels[nodes[0]]

    def children(node: Node) -> tuple[Node, ...]:
        return () if is_leaf(node, level, classified) else node.children

    for target in targets:
        if not target.partial:
            places = classified.places[target.node]
            spans = tuple(
                None if place is None or grid is None else Span(grid, 0, 0, place)
                for place, grid in zip(places, target.grids, strict=True)
            )
            found[key_of(target.node, spans)] = spans
    leaves: dict[Key, None] = {}
    for node in reversed(post_order(tuple(nodes), children)):
        mine = [(key, spans) for key, spans in found.items() if key[0] is node]
        if is_leaf(node, level, classified):
            leaves |= dict.fromkeys(key for key, _ in mine)
            found.update((key, _with_block(spans)) for key, spans in mine)
            continue
        if not isinstance(node, Op):
            continue
        made = own.get(node)
        ways: list[tuple[Target | None, Spans]] = [(None, spans) for _, spans in mine]
        if made is not None and made.partial:
            ways = [(made, ())]
        for way, spans in ways:
            _demand_operands(node, way, spans, level, found, classified, values)
    return found, leaves


def _with_block(spans: Spans) -> Spans:
    """The spans, widened to include the block itself, since arrays consist of whole blocks."""
    return tuple(
        None if one is None else one.replace(low=min(one.low, 0), high=max(one.high, 0))
        for one in spans
    )


def _demand_operands(
    op: Op,
    target: Target | None,
    spans: Spans,
    level: int,
    found: dict[Key, Spans],
    classified: Classified,
    values: Values,
) -> None:
    iterators = inner_iterators(op, target, spans, classified)
    for position, child in enumerate(op.operands):
        if is_position(child):
            continue
        if isinstance(op, Update) and position == 0:
            places = classified.places[child]
            pairs = zip(spans, places, strict=True)
            wanted: Spans = tuple(
                None if span is None or place is None else span.replace(place=place)
                for span, place in pairs
            )
        else:
            wanted = operand_spans(op, position, iterators, classified, level, values)
        key = key_of(child, wanted)
        before = found.get(key)
        if before is not None:
            wanted = tuple(
                None if one is None or other is None else one.widened(other)
                for one, other in zip(before, wanted, strict=True)
            )
        found[key] = wanted
