"""Where in an iteration space conditions hold at given lengths, as boxes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from axiomjit.algebra.dims import Symbol, evaluate
from axiomjit.algebra.index_maps import Conditions

Span = tuple[int, int]
"""The first value of an iterator, and its end."""
BoundCondition = tuple[tuple[tuple[int, int], ...], int, int]
"""A condition at hand: pairs (iterator, coefficient), and what their sum is from and below."""


def at_lengths(conditions: Conditions, lengths: Mapping[Symbol, int]) -> tuple[BoundCondition, ...]:
    """The conditions with these lengths."""
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
    """Boxes without common points that hold all points at which the conditions hold, and no other.

    They come in rising order of all iterators but the first one of each condition.
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
    """Narrow the span of the first iterator of a condition; the others have one value."""
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
    """The numbers k for which low <= factor * k < high, of a positive factor."""
    return -(-low // factor), -(-high // factor)
