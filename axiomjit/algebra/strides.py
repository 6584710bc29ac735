"""Signs and orders of strides, from the kinds of their symbols, without looking at values."""

from __future__ import annotations

from axiomjit.algebra.dims import Dim, Monomial, Symbol


def magnitude(length: Dim) -> int:
    """A size that orders lengths and strides: more symbols weigh more."""
    return max((len(m) * (1 << 40) + abs(c) for m, c in length.terms), default=0)


def stride_size(stride: Dim) -> tuple[int, int]:
    """A key that orders the strides of one array by size: a larger rank is a larger stride."""
    symbols = [atom for m, _ in stride.terms for atom in m if isinstance(atom, Symbol)]
    return max((symbol.kind.rank for symbol in symbols), default=0), magnitude(stride)


def is_backward(stride: Dim) -> bool:
    """Whether a stride is known to be negative, or to be 0 because a length is."""
    return {_sign(m) * (1 if c > 0 else -1) for m, c in stride.terms} == {-1}


def _sign(monomial: Monomial) -> int:
    """1 or -1 for a product of numbers none of which changes its sign, else 0."""
    sign = 1
    for atom in monomial:
        low, high = (atom.kind.low, atom.kind.high) if isinstance(atom, Symbol) else (None, None)
        if high is not None and high <= 0:
            sign = -sign
        elif low is None or low < 0:
            return 0
    return sign
