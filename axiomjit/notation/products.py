"""Make the node of a spec with known shapes: combine operands, reduce values, join blocks.

The operands are combined at each point of the product space. The combined values are reduced over
the iterators that the result lacks, then written at the result's index. Elements outside an operand
contribute nothing.

A concatenation `a^b` is a join of blocks, each of which is the sum of its runs. A run selects one
part of each concatenation as live, and reads the operand whose labels are all live. A block without
a run is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import reduce as fold_left
from typing import Final

import numpy as np

from axiomjit.accumulators.accumulator import BUILT_IN, Accumulator
from axiomjit.accumulators.fold import accumulator_of, fold_nodes
from axiomjit.base.dtypes import BOOL, HALF, INT, DType, common, is_inexact
from axiomjit.base.errors import (
    GraphTypeError,
    GraphValueError,
    ShapeError,
    UnsupportedError,
    amount,
)
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, concatenate, promotable
from axiomjit.graph.contractions import (
    Margins,
    Projections,
    Read,
    in_result_layout,
    sum_of_products,
)
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import ACCUMULATORS, PRIMITIVES, SUM, WHERE, UfuncFold
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import merge, padded
from axiomjit.notation.projections import axes_of, projections_of
from axiomjit.notation.specs import AxisSpec, Concat, EinsumSpec, Label, SlotSpec
from axiomjit.notation.templates import Solution
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import Dim, dim, larger
from axiomjit.symbolic.index_maps import (
    Affine,
    Condition,
    Conditions,
    IndexMap,
    affine,
    condition,
    identity,
    iterator,
)

Fold = Callable[[Node, tuple[int, ...]], Node]


def written_values(core: Node, to: Projections, empty: Node, fold: Fold) -> Node:
    """Write values with one dimension per iterator of the result into the result.

    Args:
        core: The values to write.
        to: The projections of the operation.
        empty: The value of result elements to which nothing is written.
        fold: A function that reduces, along dimensions, the values that are written to the same
            element.
    """
    merged = [d for d in range(len(to.shape)) if _is_merged(to, d)]
    if merged:
        apart = written_values(core, _split(to, merged), empty, fold)
        return merge(apart, [2 if d in merged else 1 for d in range(len(to.shape))])
    windows = [d for d, function in enumerate(to.written) if len(function.terms) == 2]
    if not all(_is_alone(to, d) for d in windows):
        return _guarded_result(core, to, empty, fold)
    node = core
    axes = list(range(to.rank))  # the iterator of each dimension
    for d in windows:
        node, axes = _scattered(node, axes, to, d, empty, fold)
    return _gathered(node, axes, to, empty)


def _guarded_result(core: Node, to: Projections, empty: Node, fold: Fold) -> Node:
    """The result of a spec if a label of a window in the result also indexes another dimension.

    Iterators that index no dimension alone are reduced. A mask lets each value contribute only to
    the element to which the spec writes it.
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
    return fold_left(lambda a, b: builder.elementwise(both, a, b), guards)


def _is_alone(to: Projections, d: int) -> bool:
    """True if dimension d shares no iterator with another dimension of the result."""
    others = {k for f in (*to.written[:d], *to.written[d + 1 :]) for k, _ in f.terms}
    return not others & {k for k, _ in to.written[d].terms}


def _outer(function: Affine) -> tuple[tuple[int, Dim], tuple[int, Dim]]:
    """The two terms of an index function; the term with the larger coefficient comes first."""
    first, second = function.terms
    larger_last = (second[1].constant or 0) > (first[1].constant or 0)
    return (second, first) if larger_last else (first, second)


def _is_merged(to: Projections, d: int) -> bool:
    """True if a dimension enumerates two iterators: the inner one covers a step of the outer."""
    function = to.written[d]
    if len(function.terms) != 2 or function.offset.constant != 0 or not _is_alone(to, d):
        return False
    (_, step), (inner, one) = _outer(function)
    return one.constant == 1 and step.constant != 1 and to.extents[inner] == step


def _split(to: Projections, merged: list[int]) -> Projections:
    """The projections with each merged dimension of the result split into two dimensions."""
    written: list[Affine] = []
    shape: list[Dim] = []
    for d, function in enumerate(to.written):
        pair = [k for k, _ in _outer(function)] if d in merged else []
        written += map(iterator, pair) if pair else [function]
        shape += [to.extents[k] for k in pair] if pair else [to.shape[d]]
    return to.replace(written=tuple(written), shape=tuple(shape))


def _gathered(node: Node, axes: list[int], to: Projections, empty: Node) -> Node:
    """The result for values with one dimension per iterator in `axes`."""
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
        value = _moved_elements(value, d, to.written[d], to.shape[d], empty)
    for d, function in enumerate(to.written):
        length, place = to.shape[d], function.offset
        if function.terms or (length.constant == 1 and place.constant == 0):
            continue
        if _is_outside(place, length):
            return builder.view(empty, (), to.shape)
        value = padded(value, d, (place, length - place - 1), empty)
    return value


def _is_plain(function: Affine, length: Dim, extent: Dim) -> bool:
    """True if a dimension's index is a single iterator that covers the full length."""
    ((_, factor),) = function.terms
    alone = factor.constant == 1 and function.offset.constant == 0
    return alone and (length is extent or length == extent)


def _is_outside(place: Dim, length: Dim) -> bool:
    """True if a constant index is known to be outside its dimension."""
    if place.constant is None or length.constant is None:
        return False
    return not 0 <= place.constant < length.constant


def _equal(shape: tuple[Dim, ...], here: int, there: int) -> Node:
    """A mask that is True at points with equal positions along two dimensions."""
    places = (positions_along(shape, (here,)), positions_along(shape, (there,)))
    return builder.elementwise(PRIMITIVES["equal"], *places)


def _strided(node: Node, d: int, stride: Dim, offset: Dim, empty: Node) -> Node:
    """Spread the elements of a dimension to multiples of a stride, with `empty` between them."""
    extents = (*node.shape[: d + 1], stride, *node.shape[d + 1 :])
    index = [iterator(k if k <= d else k + 1) for k in range(len(node.shape))]
    spread = builder.view(node, tuple(index), extents)
    place = builder.as_node(offset, "einsum")
    here = builder.elementwise(PRIMITIVES["equal"], positions_along(extents, (d + 1,)), place)
    chosen = builder.elementwise(WHERE, here, spread, empty)
    return merge(chosen, [1] * d + [2] + [1] * (len(node.shape) - d - 1))


def _moved_elements(node: Node, d: int, function: Affine, length: Dim, empty: Node) -> Node:
    """Move element k of a dimension to `a * k + offset` in a dimension of this length."""
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
    """Write values to positions `a * x + b * y + offset` of a dimension; reduce values that meet.

    Element r is the reduction over y of the values at x = (r - offset - b * y) / a, for those y
    where x is an index.
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


COMBINE: Final = {"mul": np.multiply, "add": np.add, "sub": np.subtract, "div": np.divide}
"""The functions that combine two operands at a time, from left to right."""
_LOGSUMEXP: Final = BUILT_IN["logsumexp"]
ONE_PASS: Final = Accumulator(
    _LOGSUMEXP.init,
    _LOGSUMEXP.combine,
    lambda e: (e, e.dtype.type(1)),
    _LOGSUMEXP.final,
    True,
    True,
)
"""An accumulator for logsumexp in one pass, which does not store the combined operands."""
REDUCE: Final = ("sum", "max", "min", "prod", "mean", "logsumexp")


class Meaning(Record):
    """The functions of an `einsum`: the name in `combine`, the name or accumulator in `reduce`."""

    combine: str
    reduce: str | Accumulator

    @property
    def has_start(self) -> bool:
        """True if a reduction without elements has a value."""
        return accumulator_of(self.reduce).init is not None


def checked_meaning(combine: object, reduce: object, operands: int, asked: str) -> Meaning:
    """Check the arguments `combine` and `reduce` of `einsum`, and return a Meaning of both.

    Raises:
        GraphValueError: a name is unknown, or does not fit the number of operands.
        GraphTypeError: an argument is neither a name nor an accumulator.
    """
    where = user_location()
    if not isinstance(combine, str) or not isinstance(reduce, str | Accumulator):
        wrong = reduce if isinstance(combine, str) else combine
        seen, remedy = f"a {type(wrong).__name__}", "give names, or an Accumulator as reduce="
        raise GraphTypeError(f"combine or reduce of {asked}", seen, remedy, where)
    names = (*COMBINE, "where")
    if combine not in names:
        remedy = f"name one of {', '.join(names)}"
        raise GraphValueError(f"combine={combine!r} of {asked}", "no such name", remedy, where)
    if combine == "where" and operands != 3:
        seen, remedy = amount(operands, "operand"), "give three: a condition and two values"
        raise GraphValueError(f"combine='where' of {asked}", seen, remedy, where)
    if isinstance(reduce, str) and reduce not in REDUCE:
        remedy = f"name one of {', '.join(REDUCE)}, or give an Accumulator"
        raise GraphValueError(f"reduce={reduce!r} of {asked}", "no such name", remedy, where)
    return Meaning(combine, reduce)


def emit(projections: Projections, nodes: Sequence[Node], meaning: Meaning, asked: str) -> Node:
    """The node of an operation with these projections.

    Raises:
        UnsupportedError: an accumulator has no value for elements outside of the operands.
        GraphValueError: a maximum or minimum has no elements, or an accumulator has several
            results.
    """
    return _Emission(projections, nodes, meaning, asked).node()


class _Emission:
    """Makes the node of one operation from its projections, operands and meaning."""

    def __init__(
        self, projections: Projections, nodes: Sequence[Node], meaning: Meaning, asked: str
    ) -> None:
        self.to = projections
        self.meaning, self.asked = meaning, asked
        every = common(tuple(promotable(node) for node in nodes))
        self.narrow = meaning.reduce == "logsumexp" and every == HALF
        self.nodes = [_summable(builder.strong(node), meaning) for node in nodes]
        margins = projections.margins or ((),) * len(nodes)
        self.margins = [_nonempty_margins(own) for own in margins]
        self.conditions = self._conditions()

    def _conditions(self) -> Conditions | None:
        """Conditions under which no operand is read outside; None if folds cannot skip points."""
        found: list[Condition] = []
        for k, margins in enumerate(self.margins):
            for d in margins:
                function = self.to.read[k][d]
                if not function.terms or not self.to.reduced:
                    return None
                found.append(condition(function, dim(0), self.nodes[k].shape[d]))
        return tuple(found)

    @property
    def extents(self) -> tuple[Dim, ...]:
        """The extents of the product space."""
        return self.to.extents

    def node(self) -> Node:
        """The node of the result."""
        if self.meaning == Meaning("mul", "sum"):
            reads = list(map(self._read, range(len(self.nodes))))
            within = self.conditions or ()
            return self._put(sum_of_products(reads, self.extents, self.to.rank, within), "sum")
        if self.meaning.reduce == "mean":
            return self._mean()
        found = self._put(self._reduced(self._combined()), self.meaning.reduce)
        return cast(found, HALF) if self.narrow else found

    def _read(self, k: int) -> Read:
        """Operand k, padded with zeros where reads are outside, and its index map."""
        node, index = self.nodes[k], self.to.read[k]
        for d, widths in self.margins[k].items():
            node = padded(node, d, widths, _number(0, node.dtype))
        return node, _shifted(index, self.margins[k])

    def _combined(self) -> Node:
        """The combined operands at each point of the product space; padded operands give zeros."""
        return self._combine(
            [builder.view(*self._read(k), self.extents) for k in range(len(self.nodes))]
        )

    def _combine(self, values: Sequence[Node]) -> Node:
        if self.meaning.combine == "where":
            return builder.elementwise(WHERE, as_mask(values[0]), *values[1:])

        def apply(left: Node, right: Node) -> Node:
            found = UFUNCS[COMBINE[self.meaning.combine]](left, right)
            assert isinstance(found, Node)
            return found

        return fold_left(apply, values)

    def _inside_mask(self) -> Node | None:
        """A mask of the points at which no operand is read outside; None if this is every point."""
        found: Node | None = None
        for k, margins in enumerate(self.margins):
            if not margins:
                continue
            node = builder.view(_number(True, BOOL), (), self.nodes[k].shape)
            for d, widths in margins.items():
                node = padded(node, d, widths, _number(False, BOOL))
            one = builder.view(node, _shifted(self.to.read[k], margins), self.extents)
            both = PRIMITIVES["logical_and"]
            found = one if found is None else builder.elementwise(both, found, one)
        return found

    def _masked(self, value: Node, neutral: Node) -> Node:
        """The value, with the neutral element at points where an operand has no element."""
        inside = self._inside_mask()
        return value if inside is None else builder.elementwise(WHERE, inside, value, neutral)

    def _reduced(self, value: Node) -> Node:
        """The value, reduced over the iterators that the result lacks, in its own dtype."""
        acc, axes = self.meaning.reduce, self.to.reduced
        if isinstance(acc, str) and acc in ACCUMULATORS and axes and self.conditions is not None:
            return self._folded(ACCUMULATORS[acc], value)
        if any(self.margins):
            value = self._masked(value, neutral_element(acc, value.dtype, self.asked))
        if isinstance(acc, Accumulator):
            return _single_result(*fold_nodes(acc, [value], axes), acc, self.asked)
        if acc == "logsumexp":
            several = len(self.nodes) > 1 and bool(axes)
            (found,), _ = fold_nodes(ONE_PASS if several else BUILT_IN[acc], [value], axes)
            return cast(found, value.dtype)
        return cast(BUILT_IN[acc].build(value, axes), value.dtype) if axes else value

    def _folded(self, fold: UfuncFold, value: Node) -> Node:
        """The value, reduced over points at which no operand is read outside, in its own dtype."""
        axes, conditions = self.to.reduced, self.conditions or ()
        folded = builder.fold(fold, value, axes, None, conditions)
        return cast(folded, value.dtype)

    def _put(self, core: Node, acc: str | Accumulator) -> Node:
        """Write values into the result; values that are written to the same element are reduced."""
        to = self.to
        if to.is_surjective and to.is_injective and all(len(f.terms) < 2 for f in to.written):
            return in_result_layout(core, to)
        if isinstance(acc, Accumulator):
            (empty, *rest), _ = fold_nodes(acc, [_nothing(core.dtype)], (0,))
            assert not rest
        else:
            empty = neutral_element(acc, core.dtype, self.asked)

        def folded(value: Node, axes: tuple[int, ...]) -> Node:
            if isinstance(acc, Accumulator):
                raise UnsupportedError(
                    self.asked,
                    f"{acc!r} of elements that several points of the result's axes write",
                    "reduce by a name, or give the result an axis for each label",
                    user_location(),
                )
            found = BUILT_IN[acc].build(value, axes)
            return found if acc == "logsumexp" else cast(found, value.dtype)

        return written_values(core, to, empty, folded)

    def _mean(self) -> Node:
        """Sums divided by the number of elements inside the operands; 0 if there are none."""
        value = self._combined()
        wide = builder.summed_in(value)
        ones: Node = builder.view(_number(1, INT), (), self.extents)
        by_mask = self.conditions is None
        if by_mask:
            ones = self._masked(ones, _number(0, INT))
        plain = not any(self.margins) and self.to.is_surjective and self.to.is_injective
        if plain:
            counted: Node = builder.as_node(builder.count(value, self.to.reduced), "mean")
        else:
            counted = builder.elementwise(
                PRIMITIVES["maximum"], self._summed(ones), _number(1, INT)
            )
        wanted = cast(value, wide)
        total = self._summed(self._masked(wanted, _number(0, wide)) if by_mask else wanted)
        result = value.dtype if is_inexact(value.dtype) else wide
        return cast(builder.average(total, counted), result)

    def _summed(self, value: Node) -> Node:
        return self._put(self._folded(SUM, value) if self.to.reduced else value, "sum")


def neutral_element(reduce: str | Accumulator, dtype: DType, asked: str) -> Node:
    """The neutral element of a reduction in a dtype.

    Raises:
        UnsupportedError: the reduction is by an accumulator, whose neutral element is unknown.
    """
    if isinstance(reduce, Accumulator):
        raise UnsupportedError(
            asked,
            f"{reduce!r} of windows that reach outside of an operand",
            "keep windows inside with '<', or reduce by a name, which leaves outside elements out",
            user_location(),
        )
    if reduce == "mean":
        return _number(0, dtype)
    if reduce == "logsumexp":
        return _number(float("-inf"), dtype)
    if dtype == BOOL and reduce == "sum":
        return _number(False, dtype)
    return _number(ACCUMULATORS[reduce].initial(dtype), dtype)


def _summable(node: Node, meaning: Meaning) -> Node:
    """The operand, converted to floats if it is reduced by logsumexp."""
    return cast(node, builder.summed_in(node)) if meaning.reduce == "logsumexp" else node


def _single_result(nodes: Sequence[Node], is_tuple: bool, acc: Accumulator, asked: str) -> Node:
    if is_tuple:
        raise GraphValueError(
            asked,
            f"{acc!r}, which gives {amount(len(nodes), 'result')}",
            "give the accumulator a final that makes one number of a state",
            user_location(),
        )
    return nodes[0]


def _nonempty_margins(margins: Margins) -> dict[int, tuple[Dim, Dim]]:
    """The margins that may be nonempty, with their dimensions as keys."""
    return {d: pair for d, pair in enumerate(margins) if any(w.constant != 0 for w in pair)}


def _shifted(index: IndexMap, margins: dict[int, tuple[Dim, Dim]]) -> IndexMap:
    """The index map of an operand after padding by these margins."""
    moved = list(index)
    for d, (before, _) in margins.items():
        moved[d] = moved[d].replace(offset=moved[d].offset + before)
    return tuple(moved)


def _nothing(dtype: DType) -> Node:
    """An array without elements."""
    return builder.view(_number(0, dtype), (), (dim(0),))


def _number(value: object, dtype: DType) -> Scalar:
    return Scalar(dtype, dtype.type(value), False)


_SUM = Meaning("mul", "sum")


class Run(Record):
    """One run: the operand that is read, and its projections onto a block and onto the result."""

    operand: int
    live: tuple[str, ...]
    block: Projections
    whole: Projections


class ConcatRuns:
    """The runs of a spec with concatenations, for known shapes; makes the node of the result."""

    def __init__(self, spec: EinsumSpec, solution: Solution) -> None:
        """Find the groups of labels of which exactly one is live in a run."""
        self.spec, self.solution = spec, solution
        self.axes = axes_of(spec.result, solution.result)
        joined = [axis for slot in spec.slots for axis in slot if isinstance(axis, Concat)]
        self.groups = _groups(joined)

    def parts(self) -> tuple[Run, ...]:
        """All runs that read an operand, in the order of the result's blocks."""
        found: list[Run] = []
        for choice in itertools.product(*map(_choices, self.axes)):
            found += self._runs(choice)
        return tuple(found)

    def projections(self) -> tuple[Projections, ...]:
        """For each run, the projections of its operand onto the whole result."""
        return tuple(part.whole for part in self.parts())

    def node(self, nodes: Sequence[Node], asked: str) -> Node:
        """The node of the result: a join of blocks, each of which is the sum of its runs."""
        dtype = common(tuple(promotable(node) for node in nodes))
        given = [cast(builder.strong(node), dtype) for node in nodes]
        runs: dict[tuple[str | None, ...], list[Run]] = {}
        for part in self.parts():
            runs.setdefault(self._block(part.live), []).append(part)

        def block(choice: tuple[str | None, ...]) -> Node:
            values = [emit(p.block, [given[p.operand]], _SUM, asked) for p in runs.get(choice, ())]
            if not values:
                return builder.view(Scalar(dtype, dtype.type(0), False), (), self._extents(choice))
            total, *others = values
            for value in others:
                total = builder.elementwise(PRIMITIVES["add"], total, value)
            return total

        def joined(choice: tuple[str | None, ...]) -> Node:
            d = len(choice)
            if d == len(self.axes):
                return block(choice)
            pieces = [joined((*choice, one)) for one in _choices(self.axes[d])]
            return pieces[0] if len(pieces) == 1 else concatenate(pieces, d)

        return joined(())

    def _extents(self, choice: Sequence[str | None]) -> tuple[Dim, ...]:
        pairs = zip(choice, self.solution.result.dims, strict=True)
        return tuple(size if one is None else self.solution.labels[one] for one, size in pairs)

    def _block(self, live: Sequence[str]) -> tuple[str | None, ...]:
        return tuple(
            next(p for p in axis.parts if p in live) if isinstance(axis, Concat) else None
            for axis in self.axes
        )

    def _runs(self, choice: Sequence[str | None]) -> Iterator[Run]:
        """The runs that write one block of the result."""
        plain = (axis.name for axis in self.axes if isinstance(axis, Label))
        wanted = {name for name in (*choice, *plain) if name is not None}
        for every in itertools.product(*self.groups):
            live = set(every)
            if any(name in group and name not in live for group in self.groups for name in wanted):
                continue
            read = [k for k, slot in enumerate(self.spec.operands) if self._is_read(slot, live)]
            if len(read) > 1:
                raise ShapeError(
                    f"concat {self.spec.text!r}",
                    f"operands {read[0] + 1} and {read[1] + 1} for the same part of the result",
                    "give each operand a label of its own in the concatenation, as in a;b=>a^b",
                    user_location(),
                )
            for k in read:
                yield self._part(k, every, choice)

    def _is_read(self, slot: SlotSpec, live: set[str]) -> bool:
        joined = {name for group in self.groups for name in group}
        return all(
            live & set(axis.labels) if isinstance(axis, Concat) else axis.name in live
            for axis in slot
            if isinstance(axis, Concat) or (isinstance(axis, Label) and axis.name in joined)
        )

    def _part(self, k: int, live: tuple[str, ...], choice: Sequence[str | None]) -> Run:
        slot, rows = self.spec.operands[k], self.solution.operands[k]
        alone = self.solution.replace(operands=(rows,))
        spec = EinsumSpec((slot,), self.spec.result, self.spec.text)
        whole = projections_of(spec, alone, live)
        written: list[Affine] = []
        for function, one in zip(whole.written, choice, strict=True):
            inner = function if one is None else function.replace(offset=function.offset * 0)
            written.append(inner)
        block = whole.replace(written=tuple(written), shape=self._extents(choice))
        return Run(k, live, block, whole)


def _choices(axis: AxisSpec | None) -> tuple[str | None, ...]:
    return axis.parts if isinstance(axis, Concat) else (None,)


def _groups(joined: Sequence[Concat]) -> list[tuple[str, ...]]:
    """Groups of labels that concatenations connect; in a run, one label of each group is live."""
    groups: list[tuple[str, ...]] = []
    for axis in joined:
        if len(set(axis.parts)) < len(axis.parts):
            raise ShapeError(
                f"the concatenation {axis}",
                "one label twice in it",
                "give each part a label of its own; sizes may be equal",
                user_location(),
            )
        met = [group for group in groups if set(group) & set(axis.parts)]
        groups = [group for group in groups if group not in met]
        groups.append(tuple(dict.fromkeys(p for group in (*met, axis.parts) for p in group)))
    return groups
