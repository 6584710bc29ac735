"""Classify the axes of a graph whose inputs consist of blocks, by the operations' index maps.

Each dimension of a value has a place in a cut dimension, or no place. An iterator gets the place of
the dimensions that the iterator walks with step 1. The class of an axis is `map`, or `halo` if an
operation also reads elements nearby. The class of an axis that is folded is `reduce`, or `contract`
if the fold has several operands with this axis. The class of a running fold is `scan`. The results
of folds and scans are cuts: later operations read a cut from other tasks. Slices that leave out
blocks, and joins of different cut dimensions, are cuts, too. An operation that has none of these
classes needs the axis in one block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NoReturn

from axiomjit.base.records import Record
from axiomjit.graph.builder import cast, elementwise
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    Input,
    LengthNode,
    Node,
    Op,
    Update,
    inherit,
    is_scan,
    is_view,
    note,
    post_order,
    with_operands,
)
from axiomjit.graph.primitives import COPY, GATHER, JOIN, VIEW, UfuncFold
from axiomjit.graph.regions import Region, Written
from axiomjit.scale.counts import counted
from axiomjit.scale.flattened import is_flattening, unflattened
from axiomjit.scale.groups import (
    GroupsFold,
    begins_with_identity,
    few_taken,
    grouped_update,
    with_grouped_scans,
)
from axiomjit.scale.moments import squares_of
from axiomjit.scale.partitions import Partition, Place, Places, Values, number, sliced
from axiomjit.scale.refusals import (
    Arguments,
    needs_whole,
    other_blocks,
    refused,
    source_of,
    unknown_lengths,
)
from axiomjit.symbolic.dims import Dim, Symbol, dim, symbol_of, symbols_in
from axiomjit.symbolic.index_maps import (
    Affine,
    affine,
    compose,
    fixed,
    identity,
    iterator,
    iterators_of,
)

REDUCE: Final = "reduce"
SCAN: Final = "scan"
STORED: Final = "stored"
SLICE: Final = "slice"
JOINED: Final = "join"
PART: Final = "part"
TOTALS: Final = "totals"
"""The kinds of cuts; a cut of kind `TOTALS` folds single blocks, for a running fold."""


class Totals(Op):
    """The fold of single blocks that a running fold needs; it never equals a fold of all blocks."""


class AxisClass(Record):
    """The class of one axis of an argument in one operation."""

    name: str
    argument: str
    axis: int
    operation: Node


class Classified(Record):
    """A graph with the places of its values, and its cuts.

    `iterators` has the places of the iterators of each operation, folded iterators included. A cut
    value is computed at its level, and later levels read the value. For each running fold along an
    axis in blocks, `totals` has the operation that folds single blocks.
    """

    graph: Graph
    places: Mapping[Node, Places]
    iterators: Mapping[Node, Places]
    cuts: Mapping[Node, str]
    levels: Mapping[Node, int]
    totals: Mapping[Node, Op]
    classes: tuple[AxisClass, ...]


def classify_axes(graph: Graph, arguments: Arguments, values: Values) -> Classified:
    """Find the place of each value of a graph, and the values at which it is cut.

    Args:
        graph: A graph over entire shapes, without writes and data-dependent lengths.
        arguments: The inputs that consist of blocks.
        values: The values of the symbols of the graph.

    Raises:
        GraphValueError: an operation needs in one block an axis that has several blocks, or its
            operands have different blocks.
        GraphTypeError: no stage can run an operation.
    """
    found = _Classifying(arguments, values, _unknown_in(graph, arguments))
    now: dict[Node, Node] = {}
    graph, scans = with_grouped_scans(graph)
    for node in graph.nodes:
        found.classify_new(node, now)
        if node in scans and not found.is_cut(now[node]):
            # all elements are in one block: the scan itself
            for below in post_order((scans[node],)):
                if below not in now:
                    found.classify_new(below, now)
            now[node] = now[scans[node]]
    outputs = tuple(now[node] for node in graph.outputs)
    return found.classified(graph.replace(outputs=outputs))


def _unknown_in(graph: Graph, arguments: Arguments) -> dict[Symbol, list[tuple[Input, int]]]:
    """For each length that is not known, the inputs with a dimension of this length."""
    found: dict[Symbol, list[tuple[Input, int]]] = {}
    for node in graph.inputs:
        blocks = arguments.get(node.position)
        for d, n in enumerate(blocks.shape if blocks else ()):
            symbol = symbol_of(node.shape[d])
            if n is None and symbol is not None:
                found.setdefault(symbol, []).append((node, d))
    return found


Candidate = tuple[Place, int, Node, int]
"""A place and an origin for an iterator, and the operand and dimension that require the place."""


class _Classifying:
    """The state of `classify_axes`: facts about the nodes that are classified."""

    def __init__(
        self,
        arguments: Arguments,
        values: Values,
        unknown: Mapping[Symbol, Sequence[tuple[Input, int]]],
    ) -> None:
        self._arguments, self._values = arguments, values
        self._places: dict[Node, Places] = {}
        self._iterators: dict[Node, Places] = {}
        self._cuts: dict[Node, str] = {}
        self._levels: dict[Node, int] = {}
        self._heavy: dict[Node, bool] = {}
        self._totals: dict[Node, Op] = {}
        self._flat: dict[Node, Node] = {}
        self._unknown = unknown
        self._classes: dict[AxisClass, None] = {}

    def classify_new(self, node: Node, now: dict[Node, Node]) -> None:
        """Classify a node whose operands are replaced by `now`, and add the node to `now`."""
        now[node] = self.classify(with_operands(node, [now[c] for c in node.children]))
        inherit(now[node], node)

    def is_cut(self, node: Node) -> bool:
        """True if a node is a cut."""
        return node in self._cuts

    def classified(self, graph: Graph) -> Classified:
        """The classified graph, after costly values that later levels read have become cuts."""
        for node in graph.outputs:
            if node in self._flat:
                assert isinstance(node, Op)
                self._refuse_reshape(node, self._flat[node])
        for op in graph.ops:
            for child in op.operands:
                above = self._levels[op]
                if self._is_costly(child) and self._levels[child] < above:
                    self._cuts.setdefault(child, STORED)
        found = self._places, self._iterators, self._cuts, self._levels, self._totals
        return Classified(graph, *found, tuple(self._classes))

    def _is_costly(self, node: Node) -> bool:
        """True for a costly operation, which one stage computes for all stages that read it."""
        if not isinstance(node, Op):
            return False
        library = isinstance(node.primitive, LibraryOperation)
        scatters = isinstance(node, Update) and len(node.operands) > 2
        return node.fold is not None or library or scatters

    def classify(self, node: Node) -> Node:
        """Store the places of a node, and return the node or the node that replaces it."""
        if node in self._places:
            return node
        if isinstance(node, Input):
            blocks = self._arguments.get(node.position)
            self._note(node, self._of_argument(node) if blocks else (None,) * len(node.shape))
            return node
        if isinstance(node, LengthNode) and not symbols_in(node.length).isdisjoint(self._unknown):
            return self._counted(node)
        if not isinstance(node, Op):
            self._note(node, (None,) * len(node.shape))
            return node
        self._check(node)
        if any(child in self._flat for child in node.operands):
            return self._of_flat(node)
        if not any(any(self._places[child]) for child in node.operands):
            self._note_op(node, (None,) * len(node.extents))
            return node
        self._store_costly(node)
        if is_flattening(node):
            self._flat[node] = node.operands[0]
            self._note(node, (None,), self._level(node.operands))
            return node
        if is_view(node) and self._must_slice(node):
            return self._slice(node)
        if node.primitive is JOIN and self._must_concatenate(node):
            return self._concatenate(node)
        if isinstance(node, Update) and len(node.operands) > 2:
            return self._of_scatter(node)
        if node.primitive is GATHER and (made := self._of_gather(node)) is not None:
            return self.classify(made)
        iterators = self._iterators_of(node)
        squares = squares_of(node) if any(iterators[node.rank :]) else None
        if squares is not None:
            return self.classify(cast(self.classify(squares), node.dtype))
        self._note_op(node, iterators)
        return node

    def _counted(self, node: LengthNode) -> Node:
        """A length that is not known before the run, computed from the counts of blocks.

        Raises:
            GraphValueError: no argument has this length as its only unknown length.
        """
        sources = {}
        for symbol in symbols_in(node.length) & self._unknown.keys():
            for source, d in self._unknown[symbol]:
                others = (*source.shape[:d], *source.shape[d + 1 :])
                if symbols_in(*others).isdisjoint(self._unknown):
                    sources[symbol] = source, d
            if symbol not in sources:
                raise unknown_lengths(node, *self._unknown[symbol][0], self._arguments)
        made = counted(node, sources)
        for below in post_order((made,)):
            self.classify(below)
        return made

    def _of_flat(self, op: Op) -> Node:
        """The node for an operation of flattened values, done on the values before flattening.

        Raises:
            GraphValueError: the operation needs the elements in one dimension.
        """
        whole = unflattened(op, self._flat)
        if whole is None:
            child = next(self._flat[c] for c in op.operands if c in self._flat)
            self._refuse_reshape(op, child)
        assert whole is not None
        made = self.classify(whole)
        if op.fold is None:
            index = (*[fixed(0)] * (len(made.shape) - 1), iterator(0))
            flat = note(Op(made.dtype, VIEW, None, (made,), (index,), op.extents, 1))
            return self.classify(flat)
        return made

    def _refuse_reshape(self, op: Op, child: Node) -> NoReturn:
        axis = next(d for d, place in enumerate(self._places[child]) if place)
        why = "of elements in a row, across blocks"
        raise needs_whole(op, child, axis, self._arguments, why, every=True)

    def _of_scatter(self, op: Update) -> Node:
        """The node for a write at chosen positions: a write in each block, or a fold of groups.

        Raises:
            GraphValueError: the positions are along an axis in blocks, or elements of several
                blocks replace each other.
        """
        iterators = self._iterators_of(op)
        written = {k for function in op.maps[0] for k, _ in function.terms}
        folded = [k for k in range(op.rank) if iterators[k] is not None and k not in written]
        if not folded and not any(iterators[op.rank :]):
            self._note_op(op, iterators)
            return op
        grouped = grouped_update(op) if not any(iterators[op.rank :]) else None
        if grouped is None:
            child = next(c for c in op.operands if any(self._places[c]))
            axis = next(d for d, place in enumerate(self._places[child]) if place)
            raise needs_whole(op, child, axis, self._arguments, "at chosen positions")
        made: Node = grouped
        assert op.combine is not None
        assert isinstance(grouped.fold, GroupsFold)
        if not begins_with_identity(op, grouped.fold):
            made = elementwise(op.combine, op.operands[0], grouped)
        for below in post_order((made,)):
            self.classify(below)
        return made

    def _of_gather(self, op: Op) -> Op | None:
        """The fold of blocks for a gather of few elements along axes in blocks; None for others.

        Raises:
            GraphValueError: the lengths of the blocks are not known.
        """
        child, along = op.operands[0], []
        for d, (function, place) in enumerate(zip(op.maps[0], self._places[child], strict=True)):
            if place is not None and any(k >= op.rank for k, _ in function.terms):
                self._known(op, child, d, place)
                along.append(d)
        return few_taken(op, along, self._values) if along else None

    def _of_argument(self, node: Input) -> Places:
        cuts = self._arguments[node.position].partitions
        lengths = (number(length, self._values) for length in node.shape)
        pairs = zip(cuts, lengths, strict=True)
        return tuple(None if cut is None else Place(cut, 0, n) for cut, n in pairs)

    def _note(self, node: Node, places: Places, level: int = 0) -> None:
        self._places[node], self._levels[node] = places, level
        below = node.children if isinstance(node, Op) and node not in self._cuts else ()
        self._heavy[node] = self._is_costly(node) or any(
            self._heavy[c] and c not in self._cuts for c in below
        )

    def _level(self, operands: Sequence[Node]) -> int:
        return max((self._levels[one] + (one in self._cuts) for one in operands), default=0)

    def _note_op(self, op: Op, iterators: Places) -> None:
        """Store the places of an operation's iterators, and whether the operation is a cut."""
        self._iterators[op] = iterators
        places = iterators[: op.rank]
        if isinstance(op, Update):
            places = self._of_update(op, iterators)
        level = self._level(op.operands)
        if is_scan(op):
            if iterators[-1] is not None:
                self._note_totals(op, iterators, level)
                self._cuts[op], level = SCAN, level + 1
        elif op.primitive.name == "part" and self._cuts.get(op.operands[0]) == REDUCE:
            self._cuts[op], level = PART, level - 1
        elif any(iterators[op.rank :]):
            self._check_order(op, iterators)
            self._cuts[op] = REDUCE
        self._record(op, iterators)
        self._note(op, places, level)

    def _note_totals(self, op: Op, iterators: Places, level: int) -> None:
        """Store the operation that folds single blocks, for a running fold.

        Raises:
            GraphValueError: the running fold has states of several values.
        """
        if not isinstance(op.fold, UfuncFold):
            axis = next(d for d, place in enumerate(self._places[op.operands[0]]) if place)
            why = "in order, with states of several values"
            raise needs_whole(op, op.operands[0], axis, self._arguments, why)
        fold = op.fold.replace(running=False)
        parts = op.dtype, op.primitive, fold, op.operands, op.maps, op.extents, op.rank - 1
        made = note(Totals(*parts))
        self._totals[op], self._cuts[made] = made, TOTALS
        self._iterators[made] = iterators
        self._note(made, iterators[:-1], level)

    def _store_costly(self, op: Op) -> None:
        """Turn costly operands without blocks into cuts, so that only one task computes them."""
        for child in op.operands:
            if not any(self._places[child]) and self._heavy[child]:
                self._cuts.setdefault(child, STORED)

    # Iterators

    def _iterators_of(self, op: Op) -> Places:
        """The place of each iterator of an operation of values in blocks.

        Raises:
            GraphValueError: an axis must be in one block and is not, or two operands have different
                blocks.
        """
        found: dict[int, list[Candidate]] = {}
        for position, (child, index) in enumerate(zip(op.operands, op.maps, strict=True)):
            self._check_reach(op, child, index)
            for d, (function, place) in enumerate(zip(index, self._places[child], strict=True)):
                if place is None:
                    continue
                k = self._walker(op, position, d, function)
                shift = number(function.offset, self._values)
                found.setdefault(k, []).append((place, place.origin + shift, child, d))
        places: list[Place | None] = [None] * len(op.extents)
        for k, candidates in found.items():
            places[k] = self._common(op, k, candidates)
            if not candidates[0][0].partition.is_known and self._counts_places(op, k):
                raise unknown_lengths(op, *candidates[0][2:], self._arguments)
        return tuple(places)

    def _counts_places(self, op: Op, k: int) -> bool:
        """True if iterator k also walks a dimension without blocks, so positions must be known."""
        return any(
            place is None and any(one == k for one, _ in function.terms)
            for child, index in zip(op.operands, op.maps, strict=True)
            for function, place in zip(index, self._places[child], strict=True)
        )

    def _walker(self, op: Op, position: int, d: int, function: Affine) -> int:
        """The iterator that walks a cut dimension of an operand with step 1.

        Raises:
            GraphValueError: no iterator has step 1, or the axis must be in one block and is not.
        """
        child = op.operands[position]
        walking = [k for k, c in function.terms if c.constant == 1]
        gathers = op.primitive is GATHER and position == 0
        if not walking or (gathers and walking[0] >= op.rank):
            why = "at chosen positions" if gathers else "of single elements or steps"
            raise needs_whole(op, child, d, self._arguments, why)
        extents = {k: number(op.extents[k], self._values) for k, _ in function.terms}
        walker = max(walking, key=lambda k: extents[k])
        span = sum(
            abs(number(c, self._values)) * (extents[k] - 1)
            for k, c in function.terms
            if k != walker
        )
        place = self._places[child][d]
        assert place is not None
        if len(function.terms) > 1:
            self._known(op, child, d, place)
            if span > max(place.partition.known):
                raise needs_whole(op, child, d, self._arguments, "reshaped across blocks")
        if isinstance(op.primitive, LibraryOperation):
            apart = op.primitive.together
            if apart is None or walker >= len(op.extents) - apart:
                why = "along an axis in blocks"
                raise needs_whole(op, child, d, self._arguments, why, every=apart is None)
        return walker

    def _check_reach(self, op: Op, child: Node, index: Sequence[Affine]) -> None:
        """Refuse a view whose map reaches beyond the end of a dimension, into the next row.

        Raises:
            GraphValueError: the map of a view reaches into the next row, as the map of a reshape
                does.
        """
        if op.conditions or op.primitive is JOIN or isinstance(op, Update) or not is_view(op):
            return
        for d, function in enumerate(index):
            last = number(function.offset, self._values) + sum(
                max(0, number(c, self._values)) * (number(op.extents[k], self._values) - 1)
                for k, c in function.terms
            )
            if last >= max(number(child.shape[d], self._values), 1):
                self._refuse_reshape(op, child)

    def _common(self, op: Op, k: int, candidates: Sequence[Candidate]) -> Place:
        """The place of an iterator: the middle one of the places that the operands require."""
        first = candidates[0]
        for other in candidates[1:]:
            if other[0].partition != first[0].partition:
                cuts = first[0].partition, other[0].partition
                raise other_blocks(op, first[2:], other[2:], cuts, self._arguments)
        origins = sorted(origin for _, origin, _, _ in candidates)
        middle = first[1] if isinstance(op, Update) else origins[(len(origins) - 1) // 2]
        length = number(op.extents[k], self._values)
        partition = first[0].partition
        if not partition.is_known and (middle, origins[0], origins[-1]) != (0, 0, 0):
            raise unknown_lengths(op, first[2], first[3], self._arguments)
        if partition.is_known and origins[-1] - origins[0] > max(partition.known):
            raise needs_whole(op, first[2], first[3], self._arguments, "of distant elements")
        return Place(partition, middle, length)

    def _known(self, op: Op, child: Node, d: int, place: Place) -> None:
        if not place.partition.is_known:
            raise unknown_lengths(op, child, d, self._arguments)

    def _of_update(self, op: Update, iterators: Places) -> Places:
        """The places of a storage after a write, from the old version or else from the value."""
        old = self._places[op.operands[0]]
        found = list(old)
        for d, function in enumerate(op.maps[0]):
            walked = [k for k, _ in function.terms]
            place = iterators[walked[0]] if walked else None
            if place is not None and found[d] is None:
                shift = number(function.offset, self._values)
                length = number(op.whole[d], self._values)
                found[d] = Place(place.partition, place.origin - shift, length)
        return tuple(found)

    # Slices and joins

    def _must_slice(self, op: Op) -> bool:
        """True if a view leaves out blocks or has steps, so that Dask must slice the array."""
        (child,), (index,) = op.operands, op.maps
        self._check_reach(op, child, index)
        found = False
        for d, (function, place) in enumerate(zip(index, self._places[child], strict=True)):
            if place is None or len(function.terms) > 1:
                continue
            if not function.terms or function.terms[0][1].constant != 1:
                found = True
            elif place.partition.is_known:
                k = function.terms[0][0]
                start = number(function.offset, self._values)
                behind = place.length - start - number(op.extents[k], self._values)
                found = found or max(start, behind) > max(place.partition.known)
            if found:
                self._known(op, child, d, place)
        return found

    def _slice(self, op: Op) -> Node:
        """The view, rewritten as a view of a slice; the slice is a cut."""
        (child,), (index,) = op.operands, op.maps
        inner: list[Affine] = []
        outer: list[Affine] = []
        extents: list[Dim] = []
        places: list[Place | None] = []
        for function, place, length in zip(index, self._places[child], child.shape, strict=True):
            if place is None or len(function.terms) > 1:
                inner.append(iterator(len(extents)))
                outer.append(function)
                extents.append(length)
                places.append(None if place is None else place)
            elif not function.terms:
                inner.append(function)
            else:
                ((k, step),) = function.terms
                inner.append(affine({len(extents): step}, function.offset))
                outer.append(iterator(k))
                start = number(function.offset, self._values)
                count = number(op.extents[k], self._values)
                cut = sliced(place, start, number(step, self._values), count)
                kept = place if (start, step.constant, count) == (0, 1, place.length) else None
                places.append(kept or (Place(cut, 0, count) if cut.count > 1 else None))
                extents.append(op.extents[k])
        made = Op(op.dtype, VIEW, None, (child,), (tuple(inner),), tuple(extents), len(extents))
        made = note(made)
        if made not in self._places:
            self._cut_below(child)
            self._cuts[made] = SLICE
            self._iterators[made] = tuple(places)
            self._note(made, tuple(places), self._level((child,)))
        rest = Op(op.dtype, op.primitive, None, (made,), (tuple(outer),), op.extents, op.rank)
        return self.classify(note(rest))

    def _cut_below(self, node: Node) -> None:
        """Make a computed value a cut, because Dask takes parts of the value."""
        if isinstance(node, Op):
            self._cuts.setdefault(node, STORED)

    def _must_concatenate(self, op: Op) -> bool:
        """True if the parts of a join are in different cut dimensions, or far apart in one."""
        k = self._joined(op)
        found: list[tuple[Partition, int]] = []
        for child, index in zip(op.operands, op.maps, strict=True):
            for function, place in zip(index, self._places[child], strict=True):
                if place is not None and [n for n, _ in function.terms] == [k]:
                    self._known(op, child, 0, place)
                    shift = number(function.offset, self._values)
                    found.append((place.partition, place.origin + shift))
        if not found:
            return False
        origins = [origin for _, origin in found]
        apart = max(origins) - min(origins) > max(found[0][0].known)
        return apart or any(cut != found[0][0] for cut, _ in found)

    def _joined(self, op: Op) -> int:
        """The iterator along which parts are joined."""
        for k, extent in enumerate(op.extents):
            if any(one[k][0].constant != 0 or one[k][1] is not extent for one in op.regions):
                return k
        return 0

    def _concatenate(self, op: Op) -> Node:
        """The join, rewritten as a join of separate values; the new join is a cut."""
        k = self._joined(op)
        pieces = [self._piece(op, n) for n in range(len(op.operands))]
        pairs = zip(pieces, op.regions, strict=True)
        kept = [(one, region) for one, region in pairs if region[k][0] is not region[k][1]]
        cuts: list[int | None] = []
        rest: list[Place | None] = [None] * op.rank
        for piece, _ in kept:
            place = self._places[piece][k]
            own = number(piece.shape[k], self._values)
            cuts += [n for n in ((own,) if place is None else place.lengths()) if n]
            for d, one in enumerate(self._places[piece]):
                rest[d] = rest[d] or one
        self._check_pieces(op, [one for one, _ in kept], tuple(rest), k)
        rest[k] = Place(Partition(tuple(cuts) or (0,)), 0, number(op.extents[k], self._values))
        maps = tuple(
            tuple(affine({d: dim(1)}, -region[k][0] if d == k else 0) for d in range(op.rank))
            for _, region in kept
        )
        operands = tuple(one for one, _ in kept)
        made = op.replace(operands=operands, maps=maps, regions=tuple(r for _, r in kept))
        for piece in operands:
            self._cut_below(piece)
        self._cuts[made] = JOINED
        self._iterators[made] = tuple(rest)
        self._note(made, tuple(rest), self._level(operands))
        return made

    def _piece(self, op: Op, position: int) -> Node:
        """The part of a join that comes from one operand, as a separate value."""
        child, index, region = op.operands[position], op.maps[position], op.regions[position]
        extents = tuple(high - low for low, high in region)
        starts = [affine({d: dim(1)}, low) for d, (low, _) in enumerate(region)]
        moved = compose(index, starts)
        if moved == identity(len(extents)) and child.shape == extents and isinstance(child, Op):
            return child
        made = note(Op(child.dtype, VIEW, None, (child,), (moved,), extents, len(extents)))
        made = self.classify(made)  # type: ignore[assignment]
        if made not in self._cuts and isinstance(made, Op):
            copied = note(
                Op(made.dtype, COPY, None, (made,), (identity(made.rank),), extents, made.rank)
            )
            return self.classify(copied)
        return made

    def _check_pieces(self, op: Op, pieces: Sequence[Node], rest: Places, k: int) -> None:
        for piece in pieces:
            for d, own in enumerate(self._places[piece]):
                if d != k and own != rest[d]:
                    axis = d if own is not None else k
                    why = "of parts with other blocks along another axis"
                    raise needs_whole(op, piece, axis, self._arguments, why)

    # Checks

    def _check(self, op: Op) -> None:
        """Refuse random draws, and loops and scatters over values in blocks.

        Raises:
            GraphTypeError: the operation draws random numbers.
            GraphValueError: the operation is a loop or a scatter over values in blocks.
        """
        primitive = op.primitive
        if isinstance(primitive, LibraryOperation) and primitive.draws:
            raise refused(
                "random numbers in a call with arrays in blocks",
                f"a draw of {primitive}, whose numbers would depend on the order of tasks",
                "draw them before the call, as with dask.array.random, and pass them",
                op,
            )
        cut = next((c for c in op.operands if any(self._places[c])), None)
        if cut is None:
            return
        axis = next(d for d, place in enumerate(self._places[cut]) if place)
        if isinstance(primitive, Region) or isinstance(op, Written):
            why = "over values in blocks"
            raise needs_whole(op, cut, axis, self._arguments, why, every=True)

    def _check_order(self, op: Op, iterators: Places) -> None:
        """Refuse an ordered fold in which the elements of one block are not consecutive."""
        assert op.fold is not None
        if op.fold.commutative:
            return
        cut = [k for k in range(op.rank, len(iterators)) if iterators[k] is not None]
        before = range(op.rank, cut[-1])
        if any(number(op.extents[k], self._values) != 1 for k in before):
            child = next(c for c in op.operands if any(self._places[c]))
            axis = next(d for d, place in enumerate(self._places[child]) if place)
            why = "in order, whose blocks along this axis do not follow each other"
            raise needs_whole(op, child, axis, self._arguments, why)

    def _record(self, op: Op, iterators: Places) -> None:
        """Store the class of each axis of an operation, for the report."""
        for child, index in zip(op.operands, op.maps, strict=True):
            for d, (function, place) in enumerate(zip(index, self._places[child], strict=True)):
                source = None if place is None else source_of(child, d, self._arguments)
                walked = [k for k, _ in function.terms if iterators[k] is not None]
                if source is None or place is None or not walked:
                    continue
                name = self._class_of(op, walked[0], function, place, iterators[walked[0]])
                self._classes[AxisClass(name, source[0].name, source[1], op)] = None

    def _class_of(
        self, op: Op, k: int, function: Affine, place: Place, walked: Place | None
    ) -> str:
        assert walked is not None
        if is_scan(op):
            return SCAN if k == len(op.extents) - 1 else "map"
        if k >= op.rank and op.fold is not None:
            several = sum(k in iterators_of(index) for index in op.maps) > 1
            return "contract" if several and not isinstance(op.fold, GroupsFold) else REDUCE
        shift = number(function.offset, self._values) + place.origin - walked.origin
        if isinstance(op, Update):
            return "map"
        wide = sum(
            number(c, self._values) * (number(op.extents[n], self._values) - 1)
            for n, c in function.terms
            if n != k
        )
        low, high = max(0, -shift), max(0, shift + wide)
        return f"halo({low}, {high})" if low or high else "map"
