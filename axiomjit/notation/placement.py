"""Puts values where the axes of a result have them: diagonals, fixed indices, windows.

Each element of the result reads the value that belongs there, chosen by a guard, or the neutral
one. So nothing is filled before, and readers may compute it in place.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce

from axiomjit.graph import builder
from axiomjit.graph.contractions import Projections
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import merge, padded
from axiomjit.symbolic.dims import Dim, dim, larger
from axiomjit.symbolic.index_maps import Affine, affine, identity, iterator

Fold = Callable[[Node, tuple[int, ...]], Node]


def placed(core: Node, to: Projections, empty: Node, fold: Fold) -> Node:
    """The result of values that have one dimension for each iterator of the result.

    Args:
        core: The values.
        to: Where they belong.
        empty: What elements are that nothing is written to.
        fold: How values that are written to one element become one, along dimensions.
    """
    merged = [d for d in range(len(to.shape)) if _is_merged(to, d)]
    if merged:
        apart = placed(core, _split(to, merged), empty, fold)
        return merge(apart, [2 if d in merged else 1 for d in range(len(to.shape))])
    windows = [d for d, function in enumerate(to.written) if len(function.terms) == 2]
    if not all(_is_alone(to, d) for d in windows):
        return _guarded(core, to, empty, fold)
    node = core
    axes = list(range(to.rank))  # which iterator each dimension is
    for d in windows:
        node, axes = _scattered(node, axes, to, d, empty, fold)
    return _gathered(node, axes, to, empty)


def _guarded(core: Node, to: Projections, empty: Node, fold: Fold) -> Node:
    """The result whose windows have labels in common with other dimensions.

    Each element is the fold over the iterators that are no dimension, of the values whose place it
    is.
    """
    index: dict[int, int] = {}
    for d, function in enumerate(to.written):
        ((k, _), *others) = function.terms or ((-1, dim(1)),)
        plain = k >= 0 and not others and _is_plain(function, to.shape[d], to.extents[k])
        if plain and k not in index:
            index[k] = d
    left = [k for k in range(to.rank) if k not in index]
    rank = len(to.shape)
    places = index | {k: rank + n for n, k in enumerate(left)}
    extents = (*to.shape, *(to.extents[k] for k in left))
    value = builder.view(core, tuple(iterator(places[k]) for k in range(to.rank)), extents)
    guards: list[Node] = []
    for d, function in enumerate(to.written):
        if d in index.values():
            continue
        place = builder.as_node(function.offset, "einsum")
        for k, factor in function.terms:
            steps = positions_along(extents, (places[k],))
            step = builder.as_node(factor, "einsum")
            moved = builder.elementwise(PRIMITIVES["multiply"], steps, step)
            place = builder.elementwise(PRIMITIVES["add"], place, moved)
        here = positions_along(extents, (d,))
        guards.append(builder.elementwise(PRIMITIVES["equal"], here, place))
    value = builder.elementwise(WHERE, _all(guards), value, empty)
    return fold(value, tuple(range(rank, rank + len(left)))) if left else value


def _all(guards: list[Node]) -> Node:
    both = PRIMITIVES["logical_and"]
    return reduce(lambda a, b: builder.elementwise(both, a, b), guards)


def _is_alone(to: Projections, d: int) -> bool:
    """Whether the iterators of a dimension of the result are in no other one."""
    others = {k for f in (*to.written[:d], *to.written[d + 1 :]) for k, _ in f.terms}
    return not others & {k for k, _ in to.written[d].terms}


def _outer(function: Affine) -> tuple[tuple[int, Dim], tuple[int, Dim]]:
    """The two terms of a function, that with the larger coefficient first."""
    first, second = function.terms
    larger_last = (second[1].constant or 0) > (first[1].constant or 0)
    return (second, first) if larger_last else (first, second)


def _is_merged(to: Projections, d: int) -> bool:
    """Whether a dimension is two iterators, the second of which runs from one to the next."""
    function = to.written[d]
    if len(function.terms) != 2 or function.offset.constant != 0 or not _is_alone(to, d):
        return False
    (_, step), (inner, one) = _outer(function)
    return one.constant == 1 and step.constant != 1 and to.extents[inner] == step


def _split(to: Projections, merged: list[int]) -> Projections:
    """The projections of a result in which merged dimensions are two."""
    written: list[Affine] = []
    shape: list[Dim] = []
    for d, function in enumerate(to.written):
        pair = [k for k, _ in _outer(function)] if d in merged else []
        written += map(iterator, pair) if pair else [function]
        shape += [to.extents[k] for k in pair] if pair else [to.shape[d]]
    return to.replace(written=tuple(written), shape=tuple(shape))


def _gathered(node: Node, axes: list[int], to: Projections, empty: Node) -> Node:
    """The result of values that have a dimension for each iterator that is left."""
    extents = list(to.shape)
    index: dict[int, int] = {}
    equal: list[tuple[int, int]] = []
    apart: list[int] = []
    for d, function in enumerate(to.written):
        if not function.terms:
            extents[d] = dim(1)
            continue
        k, factor = function.terms[0]
        if k in index:
            equal.append((d, index[k]))
        index.setdefault(k, d)
        if len(function.terms) == 1 and not _is_plain(function, to.shape[d], to.extents[k]):
            extents[d] = to.extents[k]
            apart.append(d)
    shape = tuple(extents)
    value = builder.view(node, tuple(iterator(index[k]) for k in axes), shape)
    if equal:
        guard = _all([_equal(shape, *pair) for pair in equal])
        value = builder.elementwise(WHERE, guard, value, empty)
    for d in apart:
        value = _moved(value, d, to.written[d], to.shape[d], empty)
    for d, function in enumerate(to.written):
        length, place = to.shape[d], function.offset
        if function.terms or (length.constant == 1 and place.constant == 0):
            continue
        if _is_outside(place, length):
            return builder.view(empty, (), to.shape)
        value = padded(value, d, (place, length - place - 1), empty)
    return value


def _is_plain(function: Affine, length: Dim, extent: Dim) -> bool:
    """Whether a dimension is an iterator, from end to end."""
    ((_, factor),) = function.terms
    alone = factor.constant == 1 and function.offset.constant == 0
    return alone and (length is extent or length == extent)


def _is_outside(place: Dim, length: Dim) -> bool:
    """Whether a place is known to be outside; that of a window of length 1 may be."""
    if place.constant is None or length.constant is None:
        return False
    return not 0 <= place.constant < length.constant


def _equal(shape: tuple[Dim, ...], here: int, there: int) -> Node:
    """Whether two dimensions are at the same place, at each point of a shape."""
    places = (positions_along(shape, (here,)), positions_along(shape, (there,)))
    return builder.elementwise(PRIMITIVES["equal"], *places)


def _strided(node: Node, d: int, stride: Dim, offset: Dim, empty: Node) -> Node:
    """The elements of a dimension at multiples of a stride, and `empty` between them."""
    extents = (*node.shape[: d + 1], stride, *node.shape[d + 1 :])
    index = [iterator(k if k <= d else k + 1) for k in range(len(node.shape))]
    spread = builder.view(node, tuple(index), extents)
    place = builder.as_node(offset, "einsum")
    here = builder.elementwise(PRIMITIVES["equal"], positions_along(extents, (d + 1,)), place)
    chosen = builder.elementwise(WHERE, here, spread, empty)
    return merge(chosen, [1] * d + [2] + [1] * (len(node.shape) - d - 1))


def _moved(node: Node, d: int, function: Affine, length: Dim, empty: Node) -> Node:
    """The elements of a dimension at `a * k + offset` of one of this length, where they fit."""
    ((_, step),), offset = function.terms, function.offset
    fills = offset.constant is not None and 0 <= offset.constant < (step.constant or 0)
    if step.constant != 1 and fills and length == node.shape[d] * step:
        return _strided(node, d, step, offset, empty)
    if step.constant != 1:
        node = _strided(node, d, step, dim(0), empty)
    before = larger(0, offset)
    node = padded(node, d, (before, larger(0, length - node.shape[d] - offset)), empty)
    index = list(identity(len(node.shape)))
    index[d] = affine({d: dim(1)}, before - offset)
    return builder.view(node, tuple(index), (*node.shape[:d], length, *node.shape[d + 1 :]))


def _scattered(
    node: Node, axes: list[int], to: Projections, at: int, empty: Node, fold: Fold
) -> tuple[Node, list[int]]:
    """An axis `a * x + b * y + offset` of the result: values that meet there are folded.

    Element r is the fold over y of the values at x = (r - offset - b * y) / a, where there is one.
    """
    function, length = to.written[at], to.shape[at]
    (x, a), (y, b) = function.terms
    d, k = axes.index(x), axes.index(y)
    if a.constant != 1:
        node = _strided(node, d, a, dim(0), empty)
    reach = (to.extents[y] - 1) * b
    start = reach - function.offset
    before = larger(0, function.offset)
    after = larger(0, length - node.shape[d] - function.offset)
    node = padded(node, d, (reach + before, after), empty)
    index: list[Affine] = [iterator(j) for j in range(len(node.shape))]
    index[d] = affine({d: dim(1), k: -b}, start + before)
    extents = (*node.shape[:d], length, *node.shape[d + 1 :])
    return fold(builder.view(node, tuple(index), extents), (k,)), [j for j in axes if j != y]
