"""Index maps: the element of each operand that an operation reads at each iteration point.

A map has one affine function of the op's iterators per dimension of the operand. Broadcasting,
transposes, diagonals, strided slices and windows are all maps, so that passes treat them alike
(OCANNL shapes: projections; ngraph tensors: y[i] == x[f(i)]). Conditions exclude iteration points;
`boxes` finds the points where they hold for given lengths.

Slices and strides are made without reading values: `range_of` follows Python's rules for
`[start:stop:step]`, `stride_size` and `is_backward` order strides by the kinds of their symbols,
and `infer_dim` fits a length as a function of others to a few sample values.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import combinations, product
from typing import Final, TypeVar

from axiomjit.base.records import Record
from axiomjit.symbolic.data_dependent import RUNTIME_KINDS
from axiomjit.symbolic.dims import (
    DIMS,
    INDEX,
    Dim,
    Monomial,
    Symbol,
    dim,
    evaluate,
    larger,
    smaller,
    symbols_in,
)
from axiomjit.symbolic.index_ranges import largest, least

IntOrDim = TypeVar("IntOrDim", int, Dim)


class Affine(Record):
    """The function offset + sum of coefficient * iterator; `terms` are sorted, without zeros."""

    offset: Dim
    terms: tuple[tuple[int, Dim], ...]

    def __str__(self) -> str:
        parts = [f"i{k}" if c.constant == 1 else f"{_factor(c)}*i{k}" for k, c in self.terms]
        if self.offset.constant != 0 or not parts:
            parts.append(str(self.offset))
        return " + ".join(parts)

    def coefficient(self, iterator: int) -> Dim:
        """The coefficient of one iterator, 0 if absent."""
        return dict(self.terms).get(iterator, dim(0))


IndexMap = tuple[Affine, ...]
Region = tuple[tuple[Dim, Dim], ...]
"""A box of an iteration space: the start and end of each iterator."""


class Condition(Record):
    """low <= function < high, where the function has no offset and only positive coefficients."""

    function: Affine
    low: Dim
    high: Dim

    def __str__(self) -> str:
        return f"{self.low} <= {self.function} < {self.high}"


Conditions = tuple[Condition, ...]
"""Conditions on an iteration space; a point is included if all conditions hold there."""


def _factor(value: Dim) -> str:
    return str(value) if len(value.terms) == 1 else f"({value})"


def affine(terms: dict[int, Dim], offset: int | Dim = 0) -> Affine:
    """The affine function with these coefficients; zero coefficients are dropped."""
    kept = sorted((k, c) for k, c in terms.items() if c.constant != 0)
    return Affine(dim(offset), tuple(kept))


def iterator(k: int) -> Affine:
    """The function equal to iterator k."""
    return Affine(dim(0), ((k, dim(1)),))


def fixed(value: int | Dim) -> Affine:
    """The constant function `value`."""
    return Affine(dim(value), ())


def identity(rank: int) -> IndexMap:
    """The identity map of an operand."""
    return tuple(iterator(k) for k in range(rank))


def is_identity(index: IndexMap, extents: tuple[Dim, ...], shape: tuple[Dim, ...]) -> bool:
    """True if reading an array of this shape through the map changes nothing.

    Data-dependent lengths and indices of loops are compared as expressions, since reading their
    values would record a guard.
    """
    whole = identity(len(extents))
    named = [d for function in index for d in (function.offset, *(c for _, c in function.terms))]
    symbols = symbols_in(*named, *extents, *shape)
    if any(symbol.kind in RUNTIME_KINDS or symbol.kind == INDEX for symbol in symbols):
        return _identity_key(index, extents) == _identity_key(whole, shape)
    return index == whole and extents == shape


def _identity_key(index: IndexMap, extents: tuple[Dim, ...]) -> tuple[object, ...]:
    functions = ((id(f.offset), tuple((k, id(c)) for k, c in f.terms)) for f in index)
    return tuple(functions), tuple(map(id, extents))


def permutation(order: Sequence[int]) -> IndexMap:
    """The map in which dimension d of the operand is read at iterator `order[d]`."""
    return tuple(iterator(k) for k in order)


def apply_map(function: Affine, values: Sequence[Affine]) -> Affine:
    """The function with `values[k]` substituted for iterator k."""
    if len(function.terms) == 1 and not function.offset.terms:
        ((k, factor),) = function.terms
        if factor.constant == 1:
            return values[k]
    offset = function.offset
    terms: dict[int, Dim] = {}
    for k, factor in function.terms:
        offset = offset + factor * values[k].offset
        for inner, c in values[k].terms:
            terms[inner] = terms.get(inner, dim(0)) + factor * c
    return affine(terms, offset)


def condition(function: Affine, low: Dim, high: Dim) -> Condition:
    """The condition low <= function < high, with the function's offset moved to the bounds."""
    bare = Affine(dim(0), function.terms)
    return Condition(bare, low - function.offset, high - function.offset)


def through(conditions: Conditions, places: Sequence[Affine]) -> Conditions:
    """The conditions with `places[k]` substituted for iterator k."""
    return tuple(condition(apply_map(g.function, places), g.low, g.high) for g in conditions)


def compose(inner: IndexMap, outer: Sequence[Affine]) -> IndexMap:
    """The map from an op to a base: `inner` maps a view to the base, `outer` the op to the view."""
    return tuple(apply_map(function, outer) for function in inner)


def shift(index: IndexMap, starts: Sequence[int | Dim]) -> IndexMap:
    """The map with `starts[k]` added to iterator k."""
    return compose(index, [affine({k: dim(1)}, start) for k, start in enumerate(starts)])


def strides_through(
    index: IndexMap, strides: Sequence[IntOrDim], rank: int, number: Callable[[Dim], IntOrDim]
) -> tuple[IntOrDim, tuple[IntOrDim, ...]]:
    """The offset and the stride of each iterator for strided memory that is read through a map.

    Args:
        index: One function per stride.
        strides: The strides of the memory, one per dimension.
        rank: The number of iterators.
        number: Converts a length to the type of the strides: `dim`, or its integer value.
    """
    offset = number(dim(0))
    steps = [offset] * rank
    for function, stride in zip(index, strides, strict=True):
        offset = offset + number(function.offset) * stride
        for k, factor in function.terms:
            steps[k] = steps[k] + number(factor) * stride
    return offset, tuple(steps)


def iterators_of(index: IndexMap) -> frozenset[int]:
    """The iterators in a map."""
    return frozenset(k for function in index for k, _ in function.terms)


def show(index: IndexMap) -> str:
    """The text of a map, such as `[i0, 2*i1 + 1]`."""
    return "[" + ", ".join(str(a) for a in index) + "]"


def show_conditions(conditions: Conditions) -> str:
    """The text of conditions after an op, such as ` where 1 <= i0 + i1 < n0 + 1`; empty if none."""
    return " where " + " and ".join(map(str, conditions)) if conditions else ""


def show_region(region: Region, extents: Sequence[Dim]) -> str:
    """The text of a box, such as `i0 in [0, n0)`, without iterators that have their whole range."""
    parts = [
        f"i{k} in [{low}, {high})"
        for k, ((low, high), extent) in enumerate(zip(region, extents, strict=True))
        if low.constant != 0 or high is not extent
    ]
    return " and ".join(parts)


Span = tuple[int, int]
"""The start and end of an iterator."""
BoundCondition = tuple[tuple[tuple[int, int], ...], int, int]
"""A condition with known lengths: pairs (iterator, coefficient), and the bounds of their sum."""


def at_lengths(conditions: Conditions, lengths: Mapping[Symbol, int]) -> tuple[BoundCondition, ...]:
    """The conditions with integers in place of their symbolic lengths."""
    return tuple(
        (
            tuple((k, evaluate(c, lengths)) for k, c in one.function.terms),
            evaluate(one.low, lengths),
            evaluate(one.high, lengths),
        )
        for one in conditions
    )


def boxes(
    conditions: Sequence[BoundCondition], extents: Sequence[int]
) -> Iterator[tuple[Span, ...]]:
    """Disjoint boxes that cover exactly the points where the conditions hold.

    The boxes are in ascending order of all iterators except the first iterator of each condition.
    """
    looped = sorted({k for terms, _, _ in conditions for k, _ in terms[1:]})
    for point in product(*(range(extents[k]) for k in looped)):
        spans = [(0, extent) for extent in extents]
        for k, at in zip(looped, point, strict=True):
            spans[k] = (at, at + 1)
        for condition in conditions:
            _narrow(spans, condition)
        if all(low < high for low, high in spans):
            yield tuple(spans)


def _narrow(spans: list[Span], condition: BoundCondition) -> None:
    """Narrow the span of a condition's first iterator, for fixed values of its other iterators."""
    terms, low, high = condition
    if not terms:
        if not low <= 0 < high:
            spans[:] = [(0, 0)] * len(spans)
        return
    (k, factor), *others = terms
    rest = sum(c * spans[other][0] for other, c in others)
    first, stop = multiples_within(factor, low - rest, high - rest)
    start, end = spans[k]
    spans[k] = max(start, first), min(end, stop)


def multiples_within(factor: int, low: int, high: int) -> Span:
    """The range of k with low <= factor * k < high, for a positive factor."""
    return -(-low // factor), -(-high // factor)


SliceBound = int | Dim | None


def range_of(start: SliceBound, stop: SliceBound, step: int, length: Dim) -> tuple[Dim, Dim]:
    """The first position and the number of positions of `[start:stop:step]`.

    Only the sign of a symbolic bound is compared, with a guard; the results are symbolic, with
    minima and maxima.
    """
    low, high = (dim(0), length) if step > 0 else (dim(-1), length - 1)

    def clipped(value: SliceBound, default: Dim) -> Dim:
        if value is None:
            return default
        at = dim(value)
        return largest(at + length, low) if at < 0 else least(at, high)

    first, behind = (low, high) if step > 0 else (high, low)
    begin, end = clipped(start, first), clipped(stop, behind)
    if begin is first:
        span = end - begin if step > 0 else begin - end
    elif step > 0:  # clipping a start beyond the end changes nothing
        late = begin if start is None or dim(start) < 0 else dim(start)
        span = largest(end - late, dim(0))
    else:
        span = largest(begin - end, dim(0))
    return begin, (span + (abs(step) - 1)) // abs(step)


def resolved(length: Dim) -> Dim:
    """Replace every minimum and maximum in a length by the operand that it equals in this call.

    Each comparison records a guard in the ambient scope. Minima and maxima of data-dependent
    lengths and of indices of loops stay: the program computes them.
    """
    return length.fold(dim, _DECIDING)


def _least(left: Dim, right: Dim) -> Dim:
    if is_computed_later(left, right):
        return smaller(left, right)
    return left if left <= right else right


def is_computed_later(*lengths: Dim) -> bool:
    """True if only the running program knows the values of these lengths."""
    symbols = symbols_in(*lengths)
    return any(symbol.kind in RUNTIME_KINDS or symbol.kind == INDEX for symbol in symbols)


def _largest(left: Dim, right: Dim) -> Dim:
    if is_computed_later(left, right):
        return larger(left, right)
    return right if left <= right else left


_DECIDING: Final = {**DIMS, "min": _least, "max": _largest}


Samples = Sequence[int]
"""The values of a length, one per sample."""


def infer_dim(cases: Samples, known: Mapping[Dim, Samples]) -> Dim | None:
    """A length that has these values in the samples, as a constant or a function of known lengths.

    The forms tried are a * n + b, a * (n // 2) + b, and n + m + b.

    Returns:
        The fitted length; None if no form fits.
    """
    if len(set(cases)) == 1:
        return dim(cases[0])
    for length, values in _candidates(known):
        line = _line(cases, values)
        if line is not None:
            return length * line[0] + line[1]
    return None


def _candidates(known: Mapping[Dim, Samples]) -> Iterator[tuple[Dim, Samples]]:
    yield from known.items()
    for length, values in known.items():
        yield length // 2, [value // 2 for value in values]
    for (left, first), (right, second) in combinations(known.items(), 2):
        yield left + right, [a + b for a, b in zip(first, second, strict=True)]


def _line(cases: Samples, values: Samples) -> tuple[int, int] | None:
    """The factor and offset of the line through all pairs (value, case); None if there is none."""
    pairs = list(zip(values, cases, strict=True))
    (low, first), (high, last) = min(pairs), max(pairs)
    if low == high or (last - first) % (high - low):
        return None
    factor = (last - first) // (high - low)
    offset = first - factor * low
    return (factor, offset) if all(factor * n + offset == m for n, m in pairs) else None


def magnitude(length: Dim) -> int:
    """A number by which lengths and strides are sorted: a product of more symbols is larger."""
    return max((len(m) * (1 << 40) + abs(c) for m, c in length.terms), default=0)


def stride_size(stride: Dim) -> tuple[int, int]:
    """A sort key for the strides of one array; the rank of a symbol's kind comes first."""
    symbols = [atom for m, _ in stride.terms for atom in m if isinstance(atom, Symbol)]
    return max((symbol.kind.rank for symbol in symbols), default=0), magnitude(stride)


def is_backward(stride: Dim) -> bool:
    """True if a stride is surely negative, or 0 because a length is 0."""
    return {_sign(m) * (1 if c > 0 else -1) for m, c in stride.terms} == {-1}


def _sign(monomial: Monomial) -> int:
    """The sign of a monomial, 1 or -1; 0 if the sign of a factor is not the same in every call."""
    sign = 1
    for atom in monomial:
        low, high = (atom.kind.low, atom.kind.high) if isinstance(atom, Symbol) else (None, None)
        if high is not None and high <= 0:
            sign = -sign
        elif low is None or low < 0:
            return 0
    return sign
