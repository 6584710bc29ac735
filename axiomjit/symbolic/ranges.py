"""Slices, stride order and inferred lengths, without reading values.

`range_of` follows Python's rules for `[start:stop:step]`, `stride_size` and `is_backward` order
strides by the kinds of their symbols, and `infer_dim` fits a length as a function of others to a
few sample values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Final

from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import DIMS, Dim, Monomial, Symbol, dim, larger, smaller

SliceBound = int | Dim | None


def range_of(start: SliceBound, stop: SliceBound, step: int, length: Dim) -> tuple[Dim, Dim]:
    """First position and number of positions of `[start:stop:step]`.

    The sign of a bound that is not constant is compared; the rest stays symbolic, as minima and
    maxima of two lengths.
    """
    low, high = (dim(0), length) if step > 0 else (dim(-1), length - 1)

    def clipped(value: SliceBound, default: Dim) -> Dim:
        if value is None:
            return default
        at = dim(value)
        return larger(at + length, low) if at < 0 else smaller(at, high)

    first, behind = (low, high) if step > 0 else (high, low)
    begin, end = clipped(start, first), clipped(stop, behind)
    if begin is first:
        span = end - begin if step > 0 else begin - end
    elif step > 0:  # a start beyond the end is at least the end, clipped or not
        late = begin if start is None or dim(start) < 0 else dim(start)
        span = larger(end - late, 0)
    else:
        span = larger(begin - end, 0)
    return begin, (span + (abs(step) - 1)) // abs(step)


def resolved(length: Dim) -> Dim:
    """Replace every minimum and maximum in a length by its operand in this call.

    Each comparison records a guard in the ambient scope. Minima and maxima of data-dependent
    lengths stay: the program computes them.
    """
    return length.fold(dim, _DECIDING)


def _least(left: Dim, right: Dim) -> Dim:
    if data_dependent_in(left, right):
        return smaller(left, right)
    return left if left <= right else right


def _largest(left: Dim, right: Dim) -> Dim:
    if data_dependent_in(left, right):
        return larger(left, right)
    return right if left <= right else left


_DECIDING: Final = {**DIMS, "min": _least, "max": _largest}


Cases = Sequence[int]
"""The values of a length, one per sample."""


def infer_dim(cases: Cases, known: Mapping[Dim, Cases]) -> Dim | None:
    """A length with these sample values, as a constant or in terms of one or two known lengths.

    The forms tried are a * n + b, a * (n // 2) + b, and n + m + b.

    Returns:
        None if no form fits.
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
    """Factor and offset of the line through all pairs (value, case), if there is one."""
    pairs = list(zip(values, cases, strict=True))
    (low, first), (high, last) = min(pairs), max(pairs)
    if low == high or (last - first) % (high - low):
        return None
    factor = (last - first) // (high - low)
    offset = first - factor * low
    return (factor, offset) if all(factor * n + offset == m for n, m in pairs) else None


def magnitude(length: Dim) -> int:
    """A magnitude that orders lengths and strides: more symbols weigh more."""
    return max((len(m) * (1 << 40) + abs(c) for m, c in length.terms), default=0)


def stride_size(stride: Dim) -> tuple[int, int]:
    """A key that orders the strides of one array by size: a larger rank is a larger stride."""
    symbols = [atom for m, _ in stride.terms for atom in m if isinstance(atom, Symbol)]
    return max((symbol.kind.rank for symbol in symbols), default=0), magnitude(stride)


def is_backward(stride: Dim) -> bool:
    """True if a stride is surely negative, or 0 because a length is 0."""
    return {_sign(m) * (1 if c > 0 else -1) for m, c in stride.terms} == {-1}


def _sign(monomial: Monomial) -> int:
    """1 or -1 if every factor's sign is fixed, else 0."""
    sign = 1
    for atom in monomial:
        low, high = (atom.kind.low, atom.kind.high) if isinstance(atom, Symbol) else (None, None)
        if high is not None and high <= 0:
            sign = -sign
        elif low is None or low < 0:
            return 0
    return sign
