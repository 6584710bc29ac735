"""Cotangents: derivatives with respect to nodes, with masks of the elements that are defined.

A cotangent keeps the condition of a `where`, mask or padding until the cotangent is summed. Until
the cotangent is summed, a factor that is infinite or NaN where the condition is false has no
effect.

In the body of a loop, the cotangent of a part of an array stores the place of the part until it is
added to the cotangent of the array. Each trip then writes only the part.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_

from axiomjit.base.dtypes import is_complex
from axiomjit.base.records import Record
from axiomjit.gradients.transposes import (
    ADD,
    covers,
    is_constant_along,
    is_number,
    is_plain,
    mask_of_reads,
    merged_group,
    multiplied,
    owned,
    pull,
    seen_by,
    summed,
    zeros,
)
from axiomjit.graph import builder
from axiomjit.graph.contractions import Read
from axiomjit.graph.nodes import Node, Update
from axiomjit.graph.primitives import PRIMITIVES, WHERE
from axiomjit.graph.shape_ops import split
from axiomjit.graph.storages import update
from axiomjit.symbolic.dims import Dim, in_body
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

Shape = tuple[Dim, ...]


class Place(Record):
    """A part of an array: an element for each point of a space, as in `graph.storages.update`."""

    target: IndexMap
    extents: Shape
    shape: Shape
    positions: tuple[Read, ...] = ()
    lengths: Shape = ()


class Cotangent(Record):
    """The derivative of a result with respect to a node, at the elements that count.

    An element counts if some mask in `within` is true at it; if `within` is None, all count. If
    `exact` is true, elements that do not count are zero; otherwise elements that do not count are
    undefined. If there is a `place`, `value` is the cotangent of that part of the node, and the
    cotangent of the other elements is zero.
    """

    value: Node
    within: tuple[Node, ...] | None = None
    exact: bool = True
    place: Place | None = None

    def settled(self) -> Node:
        """The values of the cotangent, with zeros in place of elements that do not count."""
        if self.place is not None:
            return self.onto(zeros(self.value.dtype, self.place.shape)).value
        if self.exact or self.within is None:
            return self.value
        zero = zeros(self.value.dtype, self.value.shape)
        return builder.elementwise(WHERE, _any_of(self.within), self.value, zero)

    def replaces(self, rest: Cotangent | None) -> bool:
        """True if the last write into `rest` was of zeros, at the place of this cotangent."""
        return rest is not None and self.place is not None and _is_zeroed(rest.value, self.place)

    def onto(self, rest: Node) -> Cotangent:
        """The cotangent of an array that is the sum of `rest` and of this cotangent of a part."""
        at = self.place
        assert at is not None
        whole = identity(len(at.extents))
        if _is_zeroed(rest, at):  # the value takes the place of the zeros
            assert isinstance(rest, Update)
            return Cotangent(update(rest.operands[0], at.target, self.value, whole, at.extents))
        space = at.target, self.value, whole, at.extents
        made = update(owned(rest), *space, at.positions, at.lengths, combine=ADD)
        return Cotangent(made)

    def times(self, factor: Node) -> Cotangent:
        """The product with a factor; the product may be undefined at elements that do not count."""
        made = multiplied(self.value, factor)
        return Cotangent(made, self.within, self.exact and self.within is None)

    def where(self, mask: Node) -> Cotangent:
        """The cotangent in which only elements at which the mask is true still count."""
        if self.within is not None and self.within != (mask,):
            mask = builder.elementwise(PRIMITIVES["logical_and"], mask, _any_of(self.within))
        return Cotangent(self.value, (mask,), False)

    def plus(self, other: Cotangent) -> Cotangent:
        """The sum of two cotangents of a node."""
        if self.within is None or other.within is None:
            within = None
        else:
            within = tuple(dict.fromkeys((*self.within, *other.within)))
        if self.within == other.within:
            made = _added(self.value, other.value)
            return Cotangent(made, within, self.exact and other.exact)
        return Cotangent(_added(self.settled(), other.settled()), within)

    def cast_to(self, node: Node) -> Cotangent:
        """The cotangent in the dtype of its node: the real part, if the node is real."""
        value = self.value
        if is_complex(value.dtype) and not is_complex(node.dtype):
            value = builder.part(value, "real")
        return self.replace(value=builder.cast(value, node.dtype))

    def through(self, index: IndexMap, extents: Shape, shape: Shape) -> Cotangent:
        """The cotangent of an operand that is read by a map, from the cotangent of each read."""
        if is_identity(index, extents, shape):
            return self
        merged = merged_group(index, extents, shape)
        if merged is not None:
            made = self.through(merged.index, extents, merged.shape)
            made = made if made.place is None else Cotangent(made.settled())
            return made.seen(lambda node: split(node, merged.first, merged.lengths))
        if in_body() and not covers(index, extents, shape):
            kept = sorted(iterators_of(index))
            value = summed([self._read()], extents, kept)
            turned = {k: iterator(new) for new, k in enumerate(kept)}
            target = compose(index, [turned.get(k, fixed(0)) for k in range(len(extents))])
            return Cotangent(value, place=Place(target, value.shape, shape))
        if not is_plain(index, extents, shape):
            return Cotangent(pull([self._read()], extents, index, shape))
        summed_over = frozenset(range(len(extents))) - iterators_of(index)
        if summed_over or self.within is None:
            value = pull([self._read()], extents, index, shape)
            if self.within and all(is_constant_along(one, summed_over) for one in self.within):
                return Cotangent(
                    value, tuple(seen_by(m, index, extents, shape) for m in self.within)
                )
            mask = mask_of_reads(index, extents, shape)
            return Cotangent(value, None if mask is None else (mask,))
        whole = identity(len(extents))
        value, *masks = (
            pull([(node, whole)], extents, index, shape) for node in (self.value, *self.within)
        )
        return Cotangent(value, tuple(masks), self.exact)

    def seen(self, view: Callable[[Node], Node]) -> Cotangent:
        """The cotangent, with its values and its masks read through a view."""
        within = None if self.within is None else tuple(map(view, self.within))
        return Cotangent(view(self.value), within, self.exact)

    def _read(self) -> tuple[Node, IndexMap]:
        return self.settled(), identity(len(self.value.shape))


def _is_zeroed(node: Node, place: Place) -> bool:
    """True if the last write into a node wrote zeros at a place."""
    return (
        isinstance(node, Update)
        and node.combine is None
        and len(node.operands) == 2
        and not place.positions
        and is_number(node.operands[1], 0)
        and len(node.extents) == len(place.extents)
        and all(map(is_, node.extents, place.extents))
        and all(map(_is_same, node.maps[0], place.target))
    )


def _is_same(one: Affine, other: Affine) -> bool:
    """True if two functions have identical offsets and steps; the comparison records no guard."""
    steps = dict(other.terms)
    return (
        one.offset is other.offset
        and len(one.terms) == len(steps)
        and all(steps.get(k) is step for k, step in one.terms)
    )


def _any_of(masks: Sequence[Node]) -> Node:
    found, *others = masks
    for mask in others:
        found = builder.elementwise(PRIMITIVES["logical_or"], found, mask)
    return found


def _added(left: Node, right: Node) -> Node:
    return builder.elementwise(PRIMITIVES["add"], left, right)
