"""Choose the values of a graph that are stored; readers compute all other values."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.dtypes import is_inexact
from axiomjit.base.records import Record, cached_property
from axiomjit.graph.library_operations import MATRIX_PRODUCT, MIN_LIBRARY_WORK, LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    LengthNode,
    Node,
    Op,
    Readers,
    Scalar,
    Update,
    base_of,
    is_scan,
    is_view,
    loop_readers,
    operand_iterators,
    origin,
    users,
)
from axiomjit.graph.primitives import (
    GATHER,
    MATERIALIZE,
    PACKS,
    SAVE,
    STATE,
    UPDATE,
    UfuncFold,
)
from axiomjit.graph.regions import overwritten
from axiomjit.passes.ir.view_ir import Library
from axiomjit.symbolic.data_dependent import BodyScope, data_dependent_in
from axiomjit.symbolic.dims import Dim, Scope, bound, product
from axiomjit.symbolic.index_maps import (
    IndexMap,
    compose,
    fixed,
    is_computed_later,
    iterator,
    iterators_of,
)

MAX_REPEATED_WEIGHT: Final = 4
"""The largest cost, in additions, of a value that a broadcast computes again.

If the value costs more, it is stored.
"""
MAX_SHARED_WEIGHT: Final = 16
"""The largest cost, in additions, of computing a value again for further loop nests and indices."""
LOOKUP_COST: Final = 4
"""The cost of a random access, in additions."""
MAX_GATHERED_SHARE: Final = 8
"""An expensive value is stored if gathers read more positions than this share of its elements.
Storing all elements is faster per element, since loops along memory are vectorised, and gathers
perhaps not.
"""
STORE_AND_LOAD_COST: Final = 2
"""The cost, in additions, of a store and a later load of an element, if memory is accessed in
order.
"""
MAX_UNROLLED: Final = 8
"""The largest number of elements of a fold that runs without a loop, and of iterations of map loops
that are unrolled.
"""
MAX_SELECTIONS: Final = 8
"""The most reads of a join that is not stored; each read splits the loops around the read.
"""
MAX_PARTS: Final = 16
"""The largest number of parts of joins in a kernel; compile time grows faster than the number."""
MAX_OPS: Final = 128
"""The largest number of ops in a kernel; more ops cost more compile time than they gain."""
MAX_SPLIT_STATEMENTS: Final = 512
"""The largest number of statements of a kernel, after loops over joins are split at their parts."""
MOST_POINTS_WITHOUT_CALL: Final = 2_048
"""The largest number of multiplications of a matrix product that loops compute in a trip of a
user's loop.
"""
_NO_LOOPS: Final = object()
ALWAYS_STORED: Final = (*PACKS, SAVE, MATERIALIZE, UPDATE)
"""The primitives whose values are always stored."""


class Choice(Record):
    """The `stored` ops, each with the library function that computes it, or None for loops.

    `unrolled` has iterators of ops that take each of their few values in turn, without a loop: all
    folded iterators of a short fold that its readers compute, or iterators of a stored result.
    """

    stored: Mapping[Node, Library | None]
    unrolled: Mapping[Op, frozenset[int]]


def choose_storage(graph: Graph, scope: Scope, *, calls: bool = True) -> Choice:
    """The ops to store, and the iterators to unroll so that fewer values are stored.

    The lengths in the scope affect only speed, so they leave no guard. Without `calls`, loops
    compute products of matrices.

    Needs: a legal graph in which only outputs are views.
    Gives: outputs (the base of a view), explicit copies, written versions, library calls and their
        operands, folds that no single reader finishes, and values that are too expensive to compute
        again. A short fold that no reader broadcasts is such a value.
    Keeps: the graph.
    """
    return _Chooser(graph, scope, calls).choice()


class _Chooser:
    """The choice of stored ops of one graph; the readers of an op are decided before the op."""

    def __init__(self, graph: Graph, scope: Scope, calls: bool) -> None:
        self.scope, self.calls = scope, calls
        self.outputs = {base_of(node) for node in graph.outputs}
        self.order = graph.ops
        self.users = users(graph)
        self.overwritten = {old for op in self.order for old in op.operands[: overwritten(op)]}
        self.chosen: dict[Node, Library | None] = {}
        # for each value, the ops in whose loops it is computed, with the maps by which they read it
        self.readers: dict[Node, Readers] = {}
        self.cones = _cones(self.order)
        # operands of joins, and the values computed inline for them
        self.selected: set[Node] = set()
        # the extents of the folds that each op finishes
        self.folded: dict[Op, tuple[Dim, ...]] = {}
        self.unrolled: dict[Op, frozenset[int]] = {}
        folds = [op for op in self.order if op.fold is not None]
        self.short = {op: number for op in folds if (number := _short_length(op))}
        self.times = _times(self.order, self.short) if self.short else {}
        self.costs = {op: op.primitive.weight for op in self.order}
        for op, times in self.times.items():
            number = self.short.get(op, 1)
            self.costs[op] = times * (self.costs[op] * number + number - 1)

    @cached_property
    def repeated(self) -> dict[Op, frozenset[Op]]:
        """For each op, the ops that must be computed again if a reader computes the op again."""
        return _repeated_parts(self.order, self.cones, self._weight)

    def choice(self) -> Choice:
        """The stored ops and the unrolled iterators of the graph."""
        for op in reversed(self.order):
            if is_view(op):
                continue
            self.readers[op] = loop_readers(op, self.users, self.chosen, self.readers)
            if any(u.regions or u in self.selected for u in self.users[op]):
                self.selected.add(op)
            if self._must_store(op):
                self.chosen[op] = self._library_of(op)
                self.selected.discard(op)
            else:
                self._unroll_readers(op)
        return Choice(self.chosen, self.unrolled)

    def _joins(self, op: Op, fold: Op, reader: Op, index: IndexMap) -> bool:
        """True if the reader can finish the fold in one loop with the reader's other folds."""
        if op in self.selected or not _finishes(reader, index):
            return False
        extents = fold.extents[fold.rank :]
        return self.folded.setdefault(reader, extents) == extents

    def _weight(self, op: Op, parts: frozenset[Op]) -> int:
        """The cost, in additions, of a value of an op that is computed of these parts.

        A part that a short fold reads is computed for each element of the fold.
        """
        return sum([self.costs[part] for part in parts]) // self.times.get(op, 1)

    def _must_store(self, op: Op) -> bool:
        if op.primitive is STATE:  # the parts of a state are stored instead
            return False
        if not self.calls and not op.shape and self.overwritten & set(op.operands):
            return True  # the element is read into a cell before it is overwritten
        fold = _folded_in(op)
        if (fold is not None and is_scan(fold)) or self._needs_memory(op):
            return True
        readers = self.readers[op]
        if op.regions and not all(self._is_split(op, *reader) for reader in readers):
            return True
        if fold is None:
            return self._repeats_much(op)
        if len(readers) == 1 and self._joins(op, fold, *next(iter(readers))):
            return False
        number = len(self.cones[op]) * self.short.get(fold, 0)
        if op is not fold or not 0 < number <= MAX_OPS or self._repeats_much(op):
            return True
        if any(self._repeats(*reader) for reader in readers):  # rows are computed in one nest
            return True
        self.unrolled[op] = frozenset(range(op.rank, len(op.extents)))
        return False

    def _repeats(self, reader: Op, index: IndexMap) -> bool:
        """True if the reader broadcasts the value along an iterator that is not unrolled."""
        return bool(_missing(reader, index) - self._unrollable(reader, index))

    def _unrollable(self, reader: Op, index: IndexMap) -> frozenset[int]:
        """The iterators along which a reader would broadcast a value if they were not unrolled.

        Unrolled are the iterators of a short fold, and short dimensions of the result of a fold
        along dimensions of a value of pairs, which is larger than the result and the arguments.
        """
        missing = _missing(reader, index)
        found = missing & self.unrolled.get(reader, frozenset())
        kept = frozenset(k for k in missing - found if k < reader.rank)
        read = iterators_of(index)
        folds = reader.fold is not None and any(k >= reader.rank for k in read)
        folds = folds and sum(reader.extents[k].constant is None for k in read) > 1
        return found | kept if folds and self._unrolled_at(reader, kept) is not None else found

    def _unrolled_at(self, fold: Op, kept: frozenset[int]) -> tuple[Op, frozenset[int]] | None:
        """The op whose loops compute a fold, and its iterators for those of the fold's result.

        None if they are too long, or if the loops cannot be unrolled.
        """
        if fold in self.chosen:
            root, iterators = fold, kept
        elif len(self.readers[fold]) == 1:
            ((root, index),) = self.readers[fold]
            iterators = frozenset(n for k in kept for n, _ in index[k].terms)
        else:
            return None
        every = iterators | self.unrolled.get(root, frozenset())
        number = _number_of([root.extents[k] for k in every])
        plain = self.chosen.get(root, _NO_LOOPS) is None and not is_scan(root)
        plain = plain and not (root.regions or root.conditions or root.primitive.name == "part")
        if isinstance(root, Update):
            plain = plain and len(root.operands) == 2 and root.combine is None
        small = 0 < number <= MAX_UNROLLED and 0 < number * len(self.cones[root]) <= MAX_OPS
        return (root, iterators) if plain and small else None

    def _unroll_readers(self, op: Op) -> None:
        """Unroll the iterators along which readers would compute an expensive value repeatedly."""
        folds = [pair for pair in self.readers[op] if pair[0].fold is not None]
        if not folds or self._weight(op, self.cones[op]) <= MAX_REPEATED_WEIGHT:
            return
        for reader, index in folds:
            kept = frozenset(k for k in self._unrollable(reader, index) if k < reader.rank)
            found = self._unrolled_at(reader, kept) if kept else None
            if found is not None:
                root, iterators = found
                self.unrolled[root] = self.unrolled.get(root, frozenset()) | iterators

    def _place(self, reader: Op, index: IndexMap) -> tuple[tuple[Dim, ...], IndexMap]:
        """The extents of the loops in which a reader reads a value, and the map to these loops."""
        unrolled = self._unrollable(reader, index)
        loops = [k for k in range(len(reader.extents)) if k not in unrolled]
        numbers = {k: iterator(n) for n, k in enumerate(loops)}
        outer = [numbers.get(k, fixed(0)) for k in range(len(reader.extents))]
        return tuple(reader.extents[k] for k in loops), compose(index, outer)

    def _is_split(self, join: Op, reader: Op, index: IndexMap) -> bool:
        """True if loops of the readers can be split at the borders of the parts of a join.

        Each part must be a range of a single iterator, in the loops of the reader, and also in the
        loops that read a gather if the reader is a gather that is not stored. The loop of a scatter
        is not split, since two of its iterations may write the same element.
        """
        scatters = isinstance(reader, Update) and len(reader.operands) > 2
        if scatters or not _is_split(join, reader, index):
            return False
        inline = reader.primitive is GATHER and reader.fold is None and reader not in self.chosen
        outer = self.readers[reader] if inline else ()
        positions = [fixed(0)] * (len(reader.extents) - reader.rank)  # not split along these
        return all(
            self._is_split(join, op, compose(index, (*through, *positions)))
            for op, through in outer
        )

    def _needs_memory(self, op: Op) -> bool:
        """True if the value must be in memory, for instance as an operand of a library call."""
        if op in self.outputs or op.primitive in ALWAYS_STORED or self._library_of(op) is not None:
            return True
        return any(
            self._library_of(user) is not None or op in user.operands[: overwritten(user)]
            for user in self.users[op]
        )

    def _repeats_much(self, op: Op) -> bool:
        """True if readers would compute the value too often, or its kernel would be too large."""
        readers, cone = self.readers[op], self.cones[op]
        if not op.looped_extents and _is_number(
            cone
        ):  # computed once in each kernel, before its loops
            return False
        if not cone or (op.regions and len(readers) > MAX_SELECTIONS):
            return True
        weight = self._weight(op, cone)
        if weight > MAX_REPEATED_WEIGHT:
            weight = self._weight(op, self.repeated[op])
        gathers = [reader for reader, index in readers if _is_gathered(reader, index)]
        if gathers and self._is_gathered_often(op, gathers, self._weight(op, cone)):
            return True
        others = [pair for pair in readers if not _is_gathered(*pair)]
        if len(others) > 1 and weight * (len(others) - 1) > MAX_SHARED_WEIGHT:
            places = {self._place(*pair) for pair in others}
            if weight * (len(places) - 1) > MAX_SHARED_WEIGHT:
                return True
        repeated = any(self._repeats(*pair) for pair in others)
        return weight > MAX_REPEATED_WEIGHT and (repeated or self._in_several_kernels(readers))

    def _is_gathered_often(self, op: Op, gathers: Sequence[Op], weight: int) -> bool:
        """True if computing the value at the gathered positions costs more than storing it.

        A gather with data-dependent lengths counts as a read of every element.
        """
        places = self._points(op)
        if data_dependent_in(*op.shape, *(n for gather in gathers for n in gather.shape)):
            at_positions = places * len(gathers)
        else:
            at_positions = sum(map(self._points, gathers))
        if weight > MAX_REPEATED_WEIGHT:
            return at_positions * MAX_GATHERED_SHARE > places
        cone = self.cones[op]
        reads = {pair for part in cone for pair in zip(part.operands, part.maps, strict=True)}
        arrays = sum(bool(child.shape) and child not in cone for child, _ in reads)
        lookups = max(arrays - 1, 0)  # a stored value is written in a kernel, too
        return at_positions * (weight + LOOKUP_COST * lookups) > places * (
            weight + arrays + STORE_AND_LOAD_COST
        )

    def _library_of(self, op: Op) -> Library | None:
        """The library function that computes an op; None if loops compute the op.

        Library operations need entire operands. BLAS computes a product of two matrices. BLAS also
        computes a product of a matrix and a vector if both are in memory, or if the matrix is in
        memory and large, since storing the vector then costs little. If loops compute a product,
        they compute its operands where they read them.
        """
        if isinstance(op.primitive, LibraryOperation):
            return Library(op.primitive, operand_iterators(op), origin(op))
        sides = _sides_of(op) if self.calls and _is_product(op) else None
        if sides is None or self._is_small(op):
            return None
        computed = [isinstance(child, Op) for child in op.operands]
        left, right = map(set, sides)
        if any(computed) and not (left - right and right - left):
            points = math.prod(map(self.scope.value, op.extents))
            matrix = computed[0 if left - right else 1]
            if matrix or points < MIN_LIBRARY_WORK or not is_inexact(op.dtype):
                return None
        return Library(MATRIX_PRODUCT, sides)

    def _is_small(self, op: Op) -> bool:
        """True if loops compute a product in less time than a call of a library takes.

        The function returns True only in the body of a user's loop. Elsewhere a call of a library
        costs so little that a separate program for small lengths would not pay.
        """
        points = product(op.extents)
        if not isinstance(self.scope, BodyScope) or is_computed_later(points):
            return False
        with bound(self.scope):
            return points <= MOST_POINTS_WITHOUT_CALL

    def _points(self, op: Op) -> int:
        return math.prod(map(self.scope.value, op.shape))

    def _in_several_kernels(self, readers: Iterable[tuple[Op, IndexMap]]) -> bool:
        """True if the readers do not fit into one kernel, so that each would compute the value."""
        cones = [self.cones[reader] for reader in dict.fromkeys(reader for reader, _ in readers)]
        if len(cones) < 2:
            return False
        return not all(cones) or len(frozenset().union(*cones)) > MAX_OPS


def _folded_in(op: Op) -> Op | None:
    """The op itself if it is a fold, or the fold of which it selects a part; otherwise None."""
    of = op.operands[0] if op.primitive.name == "part" else op
    return of if isinstance(of, Op) and of.fold is not None else None


def _cones(order: Sequence[Op]) -> dict[Op, frozenset[Op]]:
    """For each op, the ops that one kernel would compute with it; empty if there are too many.

    Loops that read a join are split at the borders of its parts. Each part is computed in one piece
    of the loops; the readers of the join are computed in all pieces.
    """
    cones: dict[Op, frozenset[Op]] = {}
    repeated: dict[Op, frozenset[Op]] = {}
    cuts: dict[Op, frozenset[tuple[int, Dim]]] = {}
    parts: dict[Op, int] = {}
    none: frozenset[Any] = frozenset()
    for op in order:
        children = [c for c in op.operands if isinstance(c, Op) and c.primitive is not UPDATE]
        cone = frozenset({op}).union(*(cones[child] for child in children))
        within = none.union(*(repeated[child] for child in children))
        places = none.union(*(cuts[child] for child in children))
        statements = len(cone) + len(within) * (_pieces(places) - 1)
        joined = len(op.operands if op.regions else (op,))
        joined += sum(parts[child] - 1 for child in children)
        large = len(cone) > MAX_OPS or statements > MAX_SPLIT_STATEMENTS
        large = large or (bool(op.regions) and joined > MAX_PARTS)
        parts[op] = 1 if large else joined
        cones[op] = none if large else cone
        repeated[op] = none if large else frozenset({op}) | (none if op.regions else within)
        cuts[op] = none if large else places.union(_cuts(op))
    return cones


def _repeated_parts(
    order: Sequence[Op],
    cones: Mapping[Op, frozenset[Op]],
    weigh: Callable[[Op, frozenset[Op]], int],
) -> dict[Op, frozenset[Op]]:
    """For each op, the ops that must be computed again if a reader computes the op again.

    The result has the ops that one kernel would compute with the op, without expensive values that
    one of the ops broadcasts: such values are stored, since they have fewer elements.
    """
    found: dict[Op, frozenset[Op]] = {}
    none: frozenset[Op] = frozenset()
    for op in order:
        parts = {op} if cones[op] else none
        for child, index in zip(op.operands, op.maps, strict=True) if parts else ():
            if isinstance(child, Op) and child.primitive is not UPDATE:
                part = found[child]
                stored = weigh(child, part) > MAX_REPEATED_WEIGHT and bool(_missing(op, index))
                stored = stored and not _is_gathered(op, index)
                parts |= none if stored else found[child]
        found[op] = frozenset(parts)
    return found


def _is_number(cone: frozenset[Op]) -> bool:
    """True if a value is computed from scalars and lengths alone, without a loop."""
    return bool(cone) and all(
        not part.looped_extents
        and all(c in cone or isinstance(c, Scalar | LengthNode) for c in part.operands)
        for part in cone
    )


def _short_length(op: Op) -> int:
    """The number of elements of a fold if it may run without a loop, otherwise 0."""
    plain = isinstance(op.fold, UfuncFold) and not op.fold.running and not op.conditions
    number = _number_of(op.extents[op.rank :]) if plain else 0
    return number if number <= MAX_UNROLLED else 0


def _number_of(extents: Sequence[Dim]) -> int:
    """The number of points of an iteration space; 0 if it is not known."""
    return math.prod(n.constant or 0 for n in extents)


def _times(order: Sequence[Op], short: Mapping[Op, int]) -> dict[Op, int]:
    """For each op, the number of its values in one value of all short folds that read it."""
    times = dict.fromkeys(order, 1)
    for op in reversed(order):
        length = short.get(op, 0)
        for child, index in zip(op.operands, op.maps, strict=True):
            if isinstance(child, Op):
                folded = length and any(k >= op.rank for k in iterators_of(index))
                times[child] = max(times[child], times[op] * (length if folded else 1))
    return times


def _cuts(join: Op) -> Iterator[tuple[int, Dim]]:
    """The borders between the parts of a join: the number of a dimension and a position in it."""
    for region in join.regions:
        for d, ((low, high), extent) in enumerate(zip(region, join.extents, strict=True)):
            inner = (p for p in (low, high) if p.constant != 0 and p is not extent)
            yield from ((d, place) for place in inner)


def _pieces(cuts: frozenset[tuple[int, Dim]]) -> int:
    """The number of boxes between all cuts."""
    return math.prod(1 + n for n in Counter(d for d, _ in cuts).values())


def _finishes(reader: Op, index: IndexMap) -> bool:
    """True if the reader uses each result of a fold once, so that it can finish the fold."""
    alone = all(len(f.terms) <= 1 and f.offset.constant == 0 for f in index)
    covered = iterators_of(index)
    missing = [n for k, n in enumerate(reader.extents) if k not in covered]
    plain = reader.fold is None and reader.looped_extents == reader.extents
    return plain and alone and all(n.constant == 1 for n in missing)


def _is_split(join: Op, reader: Op, index: IndexMap) -> bool:
    """True if the parts of a join, read through a map, are ranges of single iterators."""
    steps = len(reader.looped_extents)
    for d, function in enumerate(index):
        spans = [region[d] for region in join.regions]
        limited = any(low.constant != 0 or high is not join.extents[d] for low, high in spans)
        known = all(k < steps and factor.constant is not None for k, factor in function.terms)
        if limited and (len(function.terms) > 1 or not known):
            return False
    return True


def _missing(reader: Op, index: IndexMap) -> frozenset[int]:
    """The iterators along which a reader broadcasts a value."""
    covered = iterators_of(index)
    return frozenset(
        k for k, n in enumerate(reader.looped_extents) if k not in covered and n.constant != 1
    )


def _is_gathered(reader: Op, index: IndexMap) -> bool:
    """True if the reader gathers from the value."""
    return reader.primitive is GATHER and any(k >= reader.rank for k in iterators_of(index))


def _is_product(op: Op) -> bool:
    """True if an op is an unconditional sum of products of two operands."""
    if op.fold is None or op.fold.name != "sum" or op.primitive.name != "multiply":
        return False
    return not op.conditions  # BLAS cannot skip excluded points


def _sides_of(op: Op) -> tuple[tuple[int, ...], ...] | None:
    """The iterators of both operands of a product of matrices; None for other products.

    Each summed iterator is in both operands, and each other iterator in only one of them.
    """
    sides: list[tuple[int, ...]] = []
    for index in op.maps:
        side = [k for function in index for k, _ in function.terms]
        if any(len(function.terms) > 1 for function in index) or len(set(side)) < len(side):
            return None
        sides.append(tuple(side))
    left, right = map(set, sides)
    kept = set(range(op.rank))
    folded = set(range(op.rank, len(op.extents)))
    if left == right or not folded <= left & right or left & right & kept:
        return None
    in_order = [k for side in sides for k in side if k in kept] == list(range(op.rank))
    return tuple(sides) if in_order else None
