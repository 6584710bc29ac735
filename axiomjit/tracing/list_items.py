"""Items that a loop has appended to a list, as one array.

In a traced list one `ListItems` stands for all items that a loop has appended: numbers or arrays of
one type, or lists and tuples of these. The list that a call returns has the items themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.base.tree import Several
from axiomjit.graph.builder import elementwise, python_number
from axiomjit.graph.closing import RegionRefused
from axiomjit.graph.nodes import Input, LengthNode, Node, base_of, post_order, root_of
from axiomjit.graph.primitives import COPY
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import INDEX, Dim, dim, in_body
from axiomjit.tracing.lengths import length
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.region_bodies import Kind, kind_of
from axiomjit.tracing.tracer import Tracer, new_array

_SEQUENCES: Final = (list, tuple)


class ItemKind(Record):
    """The type of an item: the sequences that it consists of, and the type of its leaves.

    For a list of three pairs of numbers, `sequences` is `((list, 3), (tuple, 2))` and `leaf` is the
    type of a number.
    """

    sequences: tuple[tuple[type, Dim], ...]
    leaf: Kind

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the item as an array."""
        return (*(count for _, count in self.sequences), *self.leaf.shape)

    def joined(self, other: ItemKind) -> ItemKind | None:
        """The kind of all items of a list that has items of both kinds; None if there is none.

        Numbers of one dtype may be Python numbers in some places and NumPy numbers in others.
        """
        one, two = self.leaf, other.leaf
        alike = (one.dtype, one.shape, one.is_array) == (two.dtype, two.shape, two.is_array)
        if self.sequences != other.sequences or not alike:
            return None
        is_mixed = one.is_mixed or two.is_mixed or one.weak is not two.weak
        return self.replace(leaf=one.replace(weak=one.weak and two.weak, is_mixed=is_mixed))


class ListItems(Several):
    """The items that a loop has appended to a list.

    `source` identifies the loop. If conditions decide how many items there are, `places` has a
    place for each possible item, and the mask `filled` is true at the places of the actual items.
    """

    __slots__ = ("_array", "_pythons", "filled", "kind", "places", "source")

    def __init__(
        self,
        places: Any,
        kind: ItemKind,
        source: Any = None,
        pythons: Any = None,
        filled: Any = None,
    ) -> None:
        """Store a traced array with one place for each item that the loop may append.

        Args:
            places: The array of the places, in the order of the list.
            kind: The type of the items.
            source: The loop that has appended them.
            pythons: For numbers of Python and NumPy, an array that is True where the number is
                Python's.
            filled: The mask of the places that hold an item; None if all places do.
        """
        self.places, self.kind, self.source, self.filled = places, kind, source, filled
        self._pythons, self._array = pythons, places if filled is None else None

    def __len__(self) -> Any:
        raise TypeError("the number of items may be symbolic: use count")

    @property
    def array(self) -> Any:
        """The array of the items.

        Raises:
            RegionRefused: conditions decide in the body of a region how many items there are.
        """
        if self._array is None:
            if in_body():
                raise RegionRefused("a list whose length conditions decide in each trip")
            self._array = self.places[self.filled]
        return self._array

    @property
    def pythons(self) -> Any:
        """For numbers of Python and NumPy, an array that is True where the number is Python's."""
        if self._pythons is None or self.filled is None:
            return self._pythons
        return self._pythons[self.filled]

    @property
    def count(self) -> Any:
        """The number of items, as an integer or a symbolic integer."""
        return length(self.array.node.shape[0])

    def number(self) -> Any:
        """The number of items, as `len` returns it."""
        if self.filled is None or not in_body():
            return self.count
        filled: Any = np.count_nonzero(self.filled)
        return Tracer(python_number(filled.node))

    def apart(self) -> tuple[tuple[object, ...], Sequence[object]]:
        """The types of the items, and their array."""
        kinds = tuple(kind for kind, _ in self.kind.sequences)
        parts = [self.array] if self._pythons is None else [self.array, self.pythons]
        return (kinds, self.kind.leaf.weak), parts

    @staticmethod
    def build(kind: Any, keys: tuple[object, ...], parts: Sequence[object]) -> object:
        """The items, built from an array of the program's results."""
        sequences, weak = keys
        return _items(*parts, sequences=sequences, weak=weak)

    def item(self, place: Any) -> Any:
        """The item at a place, which may be symbolic or computed.

        Raises:
            IndexError: there is no such item.
        """
        return self._item(self.array[place])

    def place(self, place: Any) -> Any:
        """The item in one of the `places`, whether the place is filled or not."""
        return self._item(self.places[place])

    def _item(self, found: Any) -> Any:
        if not self.kind.sequences:
            weak = self.kind.leaf.weak
            return Tracer(python_number(found.node)) if weak else found
        (sequence, count), *_ = self.kind.sequences
        inner = ListItems(found, self.kind.replace(sequences=self.kind.sequences[1:]), self.source)
        if count.constant is None:
            return [inner]
        return sequence(inner.item(k) for k in range(int(count)))

    def items(self, count: int) -> Iterator[Any]:
        """The items one by one, for a number of items that is known."""
        return (self.item(k) for k in range(count))

    def part(self, key: slice) -> ListItems:
        """The items of a slice."""
        pythons = None if self._pythons is None else self.pythons[key]
        return ListItems(self.array[key], self.kind, self.source, pythons)

    def copy(self) -> Any:
        """A new array of the items, as `numpy.array` makes it."""
        return new_array(elementwise(COPY, self.array.node))

    @property
    def is_of_numbers(self) -> bool:
        """True if the items are numbers."""
        return not (self.kind.sequences or self.kind.leaf.is_array)


def _items(array: Any, pythons: Any = None, *, sequences: Any, weak: Any) -> list[Any]:
    if weak and tuple not in sequences:
        found: list[Any] = array.tolist()
        return found
    if sequences:
        inner = partial(_items, sequences=sequences[1:], weak=weak)
        return [sequences[0](one) for one in map(inner, *_present(array, pythons))]
    if pythons is not None:
        return [v.item() if python else v for v, python in zip(array, pythons, strict=True)]
    return array.tolist() if weak else list(array)


def _present(*arrays: Any) -> list[Any]:
    return [one for one in arrays if one is not None]


def are_pythons(leaf: Any) -> Any:
    """True if a leaf is a Python number; for items of a list, perhaps an array of bools."""
    if type(leaf) is ListItems:
        pythons = leaf.pythons
        return leaf.kind.leaf.weak if pythons is None else pythons
    found = kind_of(leaf)
    return found is not None and found.weak


def leaves_of_item(value: Any) -> tuple[ItemKind, list[tuple[tuple[int, ...], Any]]] | None:
    """The kind of an item, and its leaves with their positions in it; None for other objects.

    Lists and tuples are opened; a list of items that a loop has appended is one leaf.
    """
    if type(value) is list and len(value) == 1 and type(value[0]) is ListItems:
        inner = value[0]
        if inner.filled is not None:
            return None
        count = inner.array.node.shape[0]
        if not _is_steady(count):
            return None
        kind = inner.kind.replace(sequences=((list, count), *inner.kind.sequences))
        return kind, [((), inner)]
    if type(value) in _SEQUENCES:
        return _leaves_of_sequence(value)
    found = kind_of(value)
    if found is None or not all(map(_is_steady, found.shape)):
        return None
    return ItemKind((), found.replace(is_mixed=False)), [((), value)]


def _leaves_of_sequence(value: Any) -> tuple[ItemKind, list[tuple[tuple[int, ...], Any]]] | None:
    parts = [leaves_of_item(one) for one in value]
    if not parts or parts[0] is None:
        return None
    kind, leaves = parts[0][0], []
    for place, part in enumerate(parts):
        joined = None if part is None else kind.joined(part[0])
        if part is None or joined is None:
            return None
        kind = joined
        leaves += [((place, *inner), leaf) for inner, leaf in part[1]]
    around = (type(value), dim(len(value)))
    return kind.replace(sequences=(around, *kind.sequences)), leaves


def _is_steady(count: Dim) -> bool:
    """True for a length that is the same in all trips, and that no mask decides."""
    return not data_dependent_in(count) and all(s.kind != INDEX for s in count.symbols)


def is_fresh(value: Any, region: Any) -> bool:
    """True if an array was made in a trip, so that each trip appends another array."""
    memory = value.storage
    root = root_of(base_of(value.node))
    alone = len(memory.related()) == 1 and not memory.is_sealed
    return bool(region.owns(memory)) and alone and not isinstance(root, Input)


def depends_on_inputs(value: Any) -> bool:
    """True if the value of a leaf may depend on arguments, or on lengths other than indices."""
    node: Any = node_of(value.array if type(value) is ListItems else value)
    if isinstance(node, Dim):
        return any(s.kind != INDEX for s in node.symbols)
    if not isinstance(node, Node):
        return False
    nodes = post_order((node,))
    lengths = [s for one in nodes if isinstance(one, LengthNode) for s in one.length.symbols]
    return any(isinstance(one, Input) for one in nodes) or any(s.kind != INDEX for s in lengths)


def is_appended(value: Any) -> bool:
    """True for a list in which an entry stands for several items."""
    return type(value) is list and any(issubclass(type(one), Several) for one in value)
