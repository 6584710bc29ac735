"""The adjoints of the reads of an operation, which give the cotangents of operands' elements.

An operation reads an operand at map(p) for each point p of its iteration space. `pull` computes the
adjoint of a read by a map: for each element, the sum of the values at the points that read the
element. The adjoint of a broadcast is a sum. The adjoint of a slice or window with steps of 1 or -1
is a read with conditions, and the adjoint of a reshape is the opposite reshape. The adjoints of
other maps write into zeros.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.base.dtypes import BOOL, DType
from axiomjit.base.errors import GradientError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import MULTIPLY
from axiomjit.graph.contractions import Read, sum_of_products
from axiomjit.graph.nodes import Input, Node, Op, Scalar, base_of, is_view
from axiomjit.graph.primitives import GATHER, PRIMITIVES, Primitive
from axiomjit.graph.shape_ops import flip, insert_dimensions, merge, padded, split
from axiomjit.graph.storages import update
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import (
    Affine,
    Conditions,
    IndexMap,
    affine,
    compose,
    condition,
    fixed,
    identity,
    iterator,
    iterators_of,
    through,
)
from axiomjit.symbolic.index_ranges import UndecidedError

ADD: Final = PRIMITIVES["add"]
Shape = tuple[Dim, ...]


def zeros(dtype: DType, shape: Shape) -> Node:
    """A node of zeros."""
    return builder.broadcast_to(Scalar(dtype, dtype.type(0), False), shape)


def pull(
    reads: Sequence[Read],
    extents: Shape,
    index: IndexMap,
    shape: Shape,
    conditions: Conditions = (),
) -> Node:
    """For each element of an operand, sum products of reads over the points that read the element.

    Args:
        reads: The factors of the products; each factor has a map from points to elements.
        extents: The lengths of the iteration space.
        index: The map by which the operation reads its operand.
        shape: The shape of the operand, and of the result.
        conditions: The conditions that a point must meet to be part of a sum.
    """
    merged = merged_group(index, extents, shape)
    if merged is not None:
        made = pull(reads, extents, merged.index, merged.shape, conditions)
        return split(made, merged.first, merged.lengths)
    if is_plain(index, extents, shape):
        return _plain(reads, extents, index, shape, conditions)
    for d, function in enumerate(index):
        if len(function.terms) > 1 and not _is_merge(function, extents, shape[d]):
            found = _without_window(reads, extents, index, d, shape[d], conditions)
            if found is not None:
                return pull(*found[:3], shape, found[3])
    return _written(reads, extents, index, shape, conditions)


def _is_step(function: Affine) -> bool:
    """True for a constant function, and for a function of one iterator with step 1 or -1."""
    return not function.terms or (
        len(function.terms) == 1 and function.terms[0][1].constant in (1, -1)
    )


def _is_merge(function: Affine, extents: Shape, length: Dim) -> bool:
    """True if several iterators, merged in row-major order, walk an entire dimension."""
    if function.offset.constant != 0 or len(function.terms) < 2:
        return False
    count = _point_count(function, extents)
    return _in_row_major_order(function, extents) and _are_equal(count, length)


def _in_row_major_order(function: Affine, extents: Shape) -> bool:
    order = _outer_first(function, extents)
    return order is not None


def _outer_first(function: Affine, extents: Shape) -> list[int] | None:
    """The iterators of a function, outermost first; None if they are not in row-major order."""
    left = [(k, step) for k, step in function.terms]
    order: list[int] = []
    step = dim(1)
    while left:
        here = next((pair for pair in left if _are_equal(pair[1], step)), None)
        if here is None:
            return None
        left.remove(here)
        order.insert(0, here[0])
        step = step * extents[here[0]]
    return order


def _are_equal(one: Dim, other: Dim) -> bool:
    """True if lengths are equal in all trips; a guard is recorded if only their values decide it.

    `x.reshape(6, -1)` of a cube has symbols that are equal to 6 and to the product of two symbols.
    """
    try:
        return one == other
    except UndecidedError:
        return False


def _point_count(function: Affine, extents: Shape) -> Dim:
    return product(tuple(extents[k] for k, _ in function.terms))


class Merged(Record):
    """A map and a shape in which one merged dimension replaces several dimensions of an operand.

    `first` is the first of the replaced dimensions, and `lengths` are their lengths.
    """

    index: IndexMap
    shape: Shape
    first: int
    lengths: Shape


def merged_group(index: IndexMap, extents: Shape, shape: Shape) -> Merged | None:
    """The dimensions that a map reads as one merged dimension; None if there are none.

    The function of the last merged dimension walks through all merged dimensions, and the functions
    of the other merged dimensions are 0.
    """
    for last, function in enumerate(index):
        if not function.terms or function.offset.constant != 0:
            continue
        walked = _point_count(function, extents)
        if _are_equal(walked, shape[last]) or not _in_row_major_order(function, extents):
            continue
        total, first = shape[last], last
        while first and not index[first - 1].terms and index[first - 1].offset.constant == 0:
            first -= 1
            total = shape[first] * total
            if _are_equal(total, walked) and first < last:
                lengths = shape[first : last + 1]
                flat = (*shape[:first], total, *shape[last + 1 :])
                return Merged((*index[:first], *index[last:]), flat, first, lengths)
    return None


def is_plain(index: IndexMap, extents: Shape, shape: Shape) -> bool:
    """True if a constant, an iterator or merged iterators walk each dimension, without repeats."""
    named = [k for function in index for k, _ in function.terms]
    return len(set(named)) == len(named) and all(
        _is_step(f) or _is_merge(f, extents, n) for f, n in zip(index, shape, strict=True)
    )


def _plain(
    reads: Sequence[Read], extents: Shape, index: IndexMap, shape: Shape, conditions: Conditions
) -> Node:
    kept = [k for order in _orders(index, extents) for k in order]
    return arranged(summed(reads, extents, kept, conditions), index, extents, shape)


def covers(index: IndexMap, extents: Shape, shape: Shape) -> bool:
    """True if a map is plain and reads all elements: the map's adjoint then inserts no zeros."""
    return is_plain(index, extents, shape) and all(
        function.offset.constant == 0
        and _are_equal(_point_count(function, extents), length)
        and all(step.constant != -1 or len(function.terms) > 1 for _, step in function.terms)
        for function, length in zip(index, shape, strict=True)
    )


def _orders(index: IndexMap, extents: Shape) -> list[list[int]]:
    """The iterators that walk each dimension, outermost first."""
    return [_outer_first(function, extents) or [k for k, _ in function.terms] for function in index]


def arranged(value: Node, index: IndexMap, extents: Shape, shape: Shape) -> Node:
    """An array of the operand's shape: the values at the points of a plain map, zeros elsewhere.

    The dimensions of `value` are the iterators of the map, in the order of `_orders`.
    """
    orders = _orders(index, extents)
    if any(len(order) > 1 for order in orders):
        value = merge(value, [len(order) for order in orders if order])
    for d, (function, length) in enumerate(zip(index, shape, strict=True)):
        value = _placed(value, d, function, length)
    return value


def mask_of_reads(index: IndexMap, extents: Shape, shape: Shape) -> Node | None:
    """The mask of the elements that a plain map reads; None if the map reads all elements."""
    true = Scalar(BOOL, BOOL.type(True), False)
    made = seen_by(builder.view(true, (), extents), index, extents, shape)
    return None if is_number(made, 1) else made


def seen_by(mask: Node, index: IndexMap, extents: Shape, shape: Shape) -> Node:
    """The mask of an operand's elements from a mask of the points at which a plain map reads them.

    If several points read an element, the mask of one of these points is taken. The mask is False
    at elements that no point reads.
    """
    kept = [k for order in _orders(index, extents) for k in order]
    turned = {k: iterator(new) for new, k in enumerate(kept)}
    places = tuple(turned.get(k, fixed(0)) for k in range(len(extents)))
    return arranged(
        builder.view(mask, places, tuple(extents[k] for k in kept)), index, extents, shape
    )


def is_constant_along(node: Node, iterators: frozenset[int]) -> bool:
    """True if a value is known to be constant along the dimensions in `iterators`."""
    if not iterators or isinstance(node, Scalar):
        return True
    if type(node) is not Op or node.fold is not None or node.conditions or node.regions:
        return False  # an `Update`, for example, has other maps
    if type(node.primitive) is not Primitive or node.primitive is GATHER or not node.operands:
        return False
    for operand, index in zip(node.operands, node.maps, strict=True):
        inner = frozenset(d for d, f in enumerate(index) if iterators & iterators_of((f,)))
        if not is_constant_along(operand, inner):
            return False
    return True


def summed(
    reads: Sequence[Read], extents: Shape, kept: Sequence[int], conditions: Conditions = ()
) -> Node:
    """A sum of products; the dimensions of the sum are the iterators `kept`, in this order."""
    every = range(len(extents))
    rest = [k for k in every if k not in kept and extents[k].constant != 1]
    order = [*kept, *rest]
    places = [iterator(order.index(k)) if k in order else fixed(0) for k in every]
    turned = [(node, compose(index, places)) for node, index in reads]
    lengths = tuple(extents[k] for k in order)
    if conditions and not rest:  # only a fold skips points
        lengths = (*lengths, dim(1))
    return sum_of_products(turned, lengths, len(kept), through(conditions, places))


def _placed(value: Node, d: int, function: Affine, length: Dim) -> Node:
    """The value, with zeros along dimension d at the positions that the function does not reach.

    The result has the length `length` along dimension d.
    """
    if not function.terms:
        value, low = insert_dimensions(value, [d]), function.offset
    elif function.terms[0][1].constant == -1:
        value, low = flip(value, [d]), function.offset - value.shape[d] + 1
    else:
        low = function.offset
    if _are_equal(value.shape[d], length):
        return value
    zero = Scalar(value.dtype, value.dtype.type(0), False)
    return padded(value, d, (low, length - low - value.shape[d]), zero)


Pulled = tuple[Sequence[Read], Shape, IndexMap, Conditions]


def _without_window(
    reads: Sequence[Read],
    extents: Shape,
    index: IndexMap,
    d: int,
    length: Dim,
    conditions: Conditions,
) -> Pulled | None:
    """The arguments of `pull` with a new iterator: the position read along dimension d.

    The new iterator replaces one iterator of the window, with step 1 or -1. The replaced iterator
    is the position minus the other terms, and conditions keep it in its range. The result is None
    if no iterator with step 1 or -1 occurs in dimension d alone.
    """
    function = index[d]
    others = iterators_of(tuple(f for e, f in enumerate(index) if e != d))
    terms = [(k, step.constant) for k, step in function.terms]
    slot = next((k for k, step in terms if step in (1, -1) and k not in others), None)
    if slot is None or any(step is None for _, step in terms):
        return None
    stretched = next((k for k, step in terms if step not in (1, -1)), None)
    if stretched is not None:
        if stretched in others:
            return None
        between = abs(function.coefficient(stretched).constant or 0)
        found = _stretched(reads, extents, stretched, conditions, between)
        if found is None:
            return None
        steps = dict(function.terms)
        steps[stretched] = dim((steps[stretched].constant or 0) // between)
        new_index = (*index[:d], affine(steps, function.offset), *index[d + 1 :])
        return found[0], found[1], new_index, found[2]
    sign = function.coefficient(slot).constant or 1
    places = list(identity(len(extents)))
    # slot = sign * (element - offset - the other terms), with all coefficients positive
    offset, solved = -function.offset, {slot: dim(1)}
    for k, step in terms:
        if k != slot and step is not None:
            if step > 0:
                places[k] = affine({k: dim(-1)}, extents[k] - 1)
                offset = offset - (extents[k] - 1) * step
            solved[k] = dim(abs(step))
    inside = affine(solved, offset)
    places[slot] = affine({k: c * sign for k, c in solved.items()}, offset * sign)
    low, high = (dim(0), extents[slot]) if sign == 1 else (1 - extents[slot], dim(1))
    turned = [(node, compose(each, places)) for node, each in reads]
    kept = (*through(conditions, places), condition(inside, low, high))
    if any((c.constant or 0) < 0 for one in kept for _, c in one.function.terms):
        return None
    new = list(compose(index, places))
    new[d] = iterator(slot)
    lengths = (*extents[:slot], length, *extents[slot + 1 :])
    return turned, lengths, tuple(new), kept


def _stretched(
    reads: Sequence[Read], extents: Shape, k: int, conditions: Conditions, step: int
) -> tuple[Sequence[Read], Shape, Conditions] | None:
    """The reads, with `step - 1` zeros between the points of iterator k; None if impossible.

    The zeros are inserted into only one factor. If several factors depend on the iterator, their
    product becomes one factor first. The insertion is impossible if a condition has a coefficient
    of k that is no multiple of `step`.
    """
    walking = [pair for pair in reads if k in iterators_of(pair[1])]
    terms = [c for one in conditions for j, c in one.function.terms if j == k]
    if any((c.constant or 0) % step for c in terms):
        return None
    if len(walking) != 1:
        whole = [pair for pair in reads if pair in walking] or list(reads[:1])
        made = sum_of_products(whole, extents, len(extents))
        rest = [pair for pair in reads if pair not in whole]
        return _stretched([(made, identity(len(extents))), *rest], extents, k, conditions, step)
    node, index = walking[0]
    at = [e for e, f in enumerate(index) if any(j == k for j, _ in f.terms)]
    if len(at) != 1 or index[at[0]] != iterator(k):
        made = sum_of_products([walking[0]], extents, len(extents))
        others = [pair for pair in reads if pair is not walking[0]]
        return _stretched([(made, identity(len(extents))), *others], extents, k, conditions, step)
    d = at[0]
    longer = (extents[k] - 1) * step + 1
    shape = (*node.shape[:d], longer, *node.shape[d + 1 :])
    target = list(identity(len(shape)))
    target[d] = affine({d: dim(step)})
    empty = zeros(node.dtype, shape)
    wide = update(copied(empty), tuple(target), node, identity(len(shape)), node.shape)
    new = [(wide, index) if pair is walking[0] else pair for pair in reads]
    shrunk = tuple(
        one.replace(
            function=Affine(
                one.function.offset,
                tuple(
                    (j, dim((c.constant or 0) // step)) if j == k else (j, c)
                    for j, c in one.function.terms
                ),
            )
        )
        for one in conditions
    )
    return new, (*extents[:k], longer, *extents[k + 1 :]), shrunk


def copied(node: Node) -> Node:
    """A copy of a node, in memory that writes may change."""
    return builder.elementwise(PRIMITIVES["copy"], node)


class Placeholder(Input):
    """An input of the body of a region; the input does not share memory with an argument."""


class Carried(Placeholder):
    """A cotangent that a loop carries from trip to trip, in memory of its own."""


def owned(node: Node) -> Node:
    """The node if it has memory of its own that writes may change; otherwise a copy."""
    own = isinstance(node, Carried) or (isinstance(node, Op) and not is_view(node))
    return node if own else copied(node)


def _written(
    reads: Sequence[Read], extents: Shape, index: IndexMap, shape: Shape, conditions: Conditions
) -> Node:
    """The adjoint of any map: products are written into zeros, and added at each element."""
    if conditions:  # the conditions exclude points beyond the operand's ends, too
        raise GradientError(
            "a gradient through windows that take steps",
            "a map of windows that no loop turns around",
            "write the windows as slices, one for each of their elements",
            user_location(),
        )
    kept = sorted(iterators_of(index))
    value = summed(reads, extents, kept, conditions)
    places: list[Affine] = [fixed(0)] * len(extents)
    for new, k in enumerate(kept):
        places[k] = iterator(new)
    target = compose(index, places)
    combine = None if _is_injective(target, value.shape) else ADD
    into = copied(zeros(value.dtype, shape))
    return update(into, target, value, identity(len(kept)), value.shape, combine=combine)


def _is_injective(index: IndexMap, extents: Shape) -> bool:
    """True if a map is known to send different points of a space to different elements."""
    pinned: set[int] = set()
    waiting = list(index)
    while waiting:
        found = [f for f in waiting if len([k for k, _ in f.terms if k not in pinned]) <= 1]
        merged = [f for f in waiting if f not in found and _in_row_major_order(f, extents)]
        if not found and not merged:
            return False
        for function in found or merged:
            pinned |= {k for k, _ in function.terms}
            waiting.remove(function)
    return pinned == set(range(len(extents)))


def multiplied(left: Node, right: Node) -> Node:
    """The product of two nodes; a factor that is the number 1 is left out."""
    if is_number(left, 1) and left.dtype == right.dtype:
        return right
    if is_number(right, 1) and left.dtype == right.dtype:
        return left
    return builder.elementwise(MULTIPLY, left, right)


def is_number(node: Node, value: int) -> bool:
    """True if all elements are known while tracing, and equal to `value`."""
    base = base_of(node)
    return isinstance(base, Scalar) and bool(base.value == value)
