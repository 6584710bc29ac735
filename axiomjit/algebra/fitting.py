"""Find lengths as functions of others, from what they are in a few cases."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from axiomjit.algebra.dims import Dim, dim

Cases = Sequence[int]
"""The values of a length, one for each case."""


def fitted(cases: Cases, known: Mapping[Dim, Cases]) -> Dim | None:
    """A length that has these values, as a number or by one or two lengths that are known.

    It may be a * n + b, a * (n // 2) + b, or n + m + b.

    Returns:
        None where none of these is the one.
    """
    if len(set(cases)) == 1:
        return dim(cases[0])
    for length, values in _candidates(known):
        line = _line(cases, values)
        if line is not None:
            return length * line[0] + line[1]
    return None


def _candidates(known: Mapping[Dim, Cases]) -> Iterator[tuple[Dim, Cases]]:
    yield from known.items()
    for length, values in known.items():
        yield length // 2, [value // 2 for value in values]
    for (left, first), (right, second) in combinations(known.items(), 2):
        yield left + right, [a + b for a, b in zip(first, second, strict=True)]


def _line(cases: Cases, values: Cases) -> tuple[int, int] | None:
    """The factor and the offset by which values become those of the cases."""
    pairs = list(zip(values, cases, strict=True))
    (low, first), (high, last) = min(pairs), max(pairs)
    if low == high or (last - first) % (high - low):
        return None
    factor = (last - first) // (high - low)
    offset = first - factor * low
    return (factor, offset) if all(factor * n + offset == m for n, m in pairs) else None
