"""Folds and writes of elements that a mask selects, as loops over the entire mask.

`x[x > 0].sum()` becomes the sum of `where(x > 0, x, 0)`, and `x[mask] = y[mask] + 1` becomes
`x[...] = where(mask, y + 1, x)`: no array of the selected elements is made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import is_
from typing import Final

from axiomjit.base.dtypes import is_complex
from axiomjit.graph.builder import cast
from axiomjit.graph.contractions import Read
from axiomjit.graph.indexing_ops import counted
from axiomjit.graph.library_operations import NONZERO, LibraryOperation
from axiomjit.graph.nodes import (
    ELEMENT_VIEWS,
    LengthNode,
    Node,
    Op,
    Scalar,
    Update,
    inherit,
    is_scan,
    is_view,
    post_order,
    with_operands,
)
from axiomjit.graph.primitives import GATHER, POSITION, PRODUCT, STATE, VIEW, WHERE, UfuncFold
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, Symbol, symbol_of
from axiomjit.symbolic.index_maps import (
    Affine,
    IndexMap,
    compose,
    fixed,
    identity,
    is_identity,
    iterator,
    iterators_of,
)

MAX_UNSELECTED_WEIGHT: Final = 50
"""The largest cost, in additions, of a value that is computed at unselected elements as well.

`exp` and `log` cost less, a power costs more. If one element of a thousand is written, a loop over
all elements takes up to twice NumPy's time; with a power, which costs more, it would take 20 times
NumPy's time. If half of the elements are written, the loop takes a twentieth of NumPy's time.
"""
COMPLEX_WEIGHT: Final = 4
"""The factor by which an elementary function costs more for complex numbers, as it calls several
real functions.
"""


def without_selections(outputs: Sequence[Node], counts: Mapping[Symbol, Node]) -> list[Node]:
    """The outputs with loops over entire masks in place of folds and writes of their selections.

    In a fold, the neutral value replaces unselected elements. A count of selected elements that is
    used as a number becomes another fold over the mask.

    Args:
        outputs: The outputs of a graph.
        counts: The lengths that masks decide, each with the node that counts the mask.
    """
    new: dict[Node, Node] = {}

    def below(node: Node) -> tuple[Node, ...]:
        if isinstance(node, LengthNode):
            return tuple(count for s, count in counts.items() if s in node.symbols)
        return node.children

    for node in post_order(tuple(outputs), below):
        made = with_operands(node, [new[child] for child in node.children])
        if isinstance(made, LengthNode) and not made.symbols.isdisjoint(counts):
            known = {s: new[n] for s, n in counts.items() if n in new}
            made = cast(counted(made.length, known), made.dtype)
        elif isinstance(made, Update):
            made = _write_over_mask(made, counts)
        elif isinstance(made, Op):
            made = _over_masks(made, counts)
        inherit(made, node)
        new[node] = made
    return [new[node] for node in outputs]


def _over_masks(op: Op, counts: Mapping[Symbol, Node]) -> Op:
    """The op, changed from a fold over selected elements to a fold over the mask if possible."""
    if not isinstance(op.fold, UfuncFold) or is_scan(op) or op.conditions:
        return op
    if op.primitive is PRODUCT:  # a STATE has no meaning without its fold
        return op
    for k in range(op.rank, len(op.extents)):
        symbol = _symbol(op.extents[k])
        places = None if symbol is None or symbol not in counts else _places_of(op, symbol)
        whole = None if places is None else _MaskRewrite(places).fold(op, k)
        if whole is not None:
            return _over_masks(whole, counts)
    return op


def _write_over_mask(op: Update, counts: Mapping[Symbol, Node]) -> Update:
    """The write, changed from the positions of a mask to all elements if possible."""
    if len(op.operands) < 3 or op.combine is not None:
        return op
    positions = [_value_of(read) for read in zip(op.operands[2:], op.maps[2:], strict=True)]
    places, index = positions[0]
    if not isinstance(places, Op) or places.primitive is not NONZERO:
        return op
    if _symbol(places.extents[1]) not in counts:
        return op
    rows, k = len(places.extents) - 2, index[1].terms[0][0] if index[1].terms else op.rank
    at_places = [index for _, index in positions] == _rows(rows, k)
    # `is`: a comparison of lengths would record a guard
    as_long = all(map(is_, op.extents[op.rank :], places.extents[2:]))
    once = k < op.rank and k not in iterators_of(op.maps[0])
    if at_places and as_long and once and all(node is places for node, _ in positions):
        whole = _MaskRewrite(places).write(op, k)
        return op if whole is None else whole
    return op


def _rows(number: int, k: int) -> list[IndexMap]:
    """The reads of all positions of a mask of `number` dimensions along iterator k."""
    return [(fixed(j), iterator(k)) for j in range(number)]


def _value_of(read: Read) -> Read:
    """The read behind views; of the written values, if an update overwrites all elements."""
    node, index = read
    while is_view(node):
        assert isinstance(node, Op)
        if node.primitive.name in ELEMENT_VIEWS:
            break
        index = compose(node.maps[0], index)
        node = node.operands[0]
    if not isinstance(node, Update) or len(node.operands) != 2 or node.combine is not None:
        return node, index
    if not is_identity(node.maps[0], node.extents, node.whole):
        return node, index
    return _value_of((node.operands[1], compose(node.maps[1], index)))


def _symbol(length: Dim) -> Symbol | None:
    """The symbol of a length that is data-dependent; otherwise None."""
    symbol = symbol_of(length)
    return symbol if symbol in data_dependent_in(length) else None


def _places_of(op: Op, symbol: Symbol) -> Op | None:
    """The op that computes the positions of selected elements on which an op depends."""
    for node in post_order((op,)):
        if (
            isinstance(node, Op)
            and node.primitive is NONZERO
            and _symbol(node.extents[1]) == symbol
        ):
            return node
    return None


class _MaskRewrite:
    """A rewriter that turns ops over selected elements into ops over all elements of the mask.

    `places` is the op with the positions of the selected elements, with a row for each dimension of
    the mask. `weight` is the cost of the rewritten ops for one element, in additions.
    """

    def __init__(self, places: Op) -> None:
        self.places = places
        self.lengths = places.extents[2:]
        self.made: dict[tuple[Op, int], Op | None] = {}
        self.weight = 0

    def fold(self, op: Op, k: int) -> Op | None:
        """The fold with the mask's iterators in place of iterator k; None if operands forbid it."""
        assert isinstance(op.fold, UfuncFold)
        reads = self.reads(op, k)
        if reads is None:
            return None
        extents = (*op.extents[:k], *self.lengths, *op.extents[k + 1 :])
        whole = identity(len(extents))
        value: Read = reads[0]
        if op.primitive is not VIEW:
            nodes, maps = zip(*reads, strict=True)
            value = Op(op.dtype, op.primitive, None, nodes, maps, extents, len(extents)), whole
        neutral = Scalar(op.dtype, op.dtype.type(op.fold.initial(op.dtype)), False)
        mask, seen = self.places.operands[0], self.places.maps[0]
        within = (fixed(0), fixed(0), *map(iterator, range(k, k + len(self.lengths))))
        operands, maps = (mask, value[0], neutral), (compose(seen, within), value[1], ())
        chosen = Op(op.dtype, WHERE, None, operands, maps, extents, len(extents))
        return Op(op.dtype, VIEW, op.fold, (chosen,), (whole,), extents, op.rank)

    def write(self, op: Update, k: int) -> Update | None:
        """The write of all elements in place of a write of the elements at iterator k; or None.

        An unselected element is replaced by itself. None if the value cannot be rewritten, or costs
        too much at unselected elements.
        """
        value = self.read(op.operands[1], op.maps[1], k)
        if value is None or self.weight > MAX_UNSELECTED_WEIGHT:
            return None
        rows, old = len(self.lengths), op.operands[0]
        extents = (*op.extents[:k], *self.lengths, *op.extents[k + 1 : op.rank])
        place = [iterator(i if i <= k else i + rows - 1) for i in range(op.rank)]
        along = tuple(map(iterator, range(k, k + rows)))
        target = compose(op.maps[0], [*place, *along])
        seen = compose(self.places.maps[0], [fixed(0), fixed(0), *along])
        reads = (self.places.operands[0], value[0], old), (seen, value[1], target)
        chosen = Op(op.dtype, WHERE, None, *reads, extents, len(extents))
        parts = (old, chosen), (target, identity(len(extents))), extents, len(extents)
        return Update(op.dtype, op.primitive, None, *parts, whole=op.whole)

    def reads(self, op: Op, k: int) -> list[Read] | None:
        """The reads of an op, with the mask's iterators in place of iterator k."""
        found = [self.read(*read, k) for read in zip(op.operands, op.maps, strict=True)]
        known = [read for read in found if read is not None]
        return known if len(known) == len(found) else None

    def read(self, child: Node, index: IndexMap, k: int) -> Read | None:
        """A read of an op, with the mask's iterators in place of iterator k."""
        child, index = _value_of((child, index))
        more = len(self.lengths) - 1
        place = [iterator(i if i <= k else i + more) for i in range(_next_iterator(index, k))]
        along = [d for d, function in enumerate(index) if k in iterators_of((function,))]
        if not along:
            return child, compose(index, place)
        if len(along) > 1 or index[along[0]] != iterator(k) or not isinstance(child, Op):
            return None
        (d,) = along
        mask = tuple(map(iterator, range(k, k + len(self.lengths))))
        before = compose(index[:d], place)
        after = compose(index[d + 1 :], place)
        if self.is_chosen(child, d):
            inner: list[Affine] = [*before, fixed(0), *after, *mask]
            return child.operands[0], compose(child.maps[0], inner)
        whole = self.op(child, d)
        return None if whole is None else (whole, (*before, *mask, *after))

    def is_chosen(self, op: Op, d: int) -> bool:
        """True if an op gathers the selected elements along its dimension d."""
        if op.primitive is not GATHER:
            return False
        reads = [_value_of(read) for read in zip(op.operands[1:], op.maps[1:], strict=True)]
        at_places = [index for _, index in reads] == _rows(len(self.lengths), d)
        return at_places and all(node is self.places for node, _ in reads)

    def op(self, op: Op, d: int) -> Op | None:
        """The op, with the mask's dimensions in place of dimension d; None if impossible."""
        if (op, d) not in self.made:
            self.made[op, d] = self.new_op(op, d)
        return self.made[op, d]

    def new_op(self, op: Op, d: int) -> Op | None:
        """The result of `op`, computed without looking into the cache."""
        special = isinstance(op.primitive, LibraryOperation) or op.primitive in (POSITION, STATE)
        if special or op.fold is not None or op.regions or op.conditions or isinstance(op, Update):
            return None
        if op.primitive is GATHER and any(d in iterators_of(index) for index in op.maps[1:]):
            return None  # positions that the mask excludes may be out of range
        reads = self.reads(op, d)
        if reads is None:
            return None
        parts = op.primitive.elementary and any(is_complex(node.dtype) for node, _ in reads)
        self.weight += op.primitive.weight * (COMPLEX_WEIGHT if parts else 1)
        nodes, maps = zip(*reads, strict=True)
        extents = (*op.extents[:d], *self.lengths, *op.extents[d + 1 :])
        rank = op.rank + len(self.lengths) - 1
        return Op(op.dtype, op.primitive, None, nodes, maps, extents, rank)


def _next_iterator(index: IndexMap, k: int) -> int:
    """The number after the largest iterator in a map, or after k if the map has none."""
    return max(iterators_of(index), default=k) + 1
