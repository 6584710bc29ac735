"""The smaller and the larger of two lengths, without looking at their values."""

from __future__ import annotations

from axiomjit.algebra.dims import Binary, Dim, dim


def smaller(left: int | Dim, right: int | Dim) -> Dim:
    """min(left, right) without looking at values."""
    return _extreme("min", dim(left), dim(right))


def larger(left: int | Dim, right: int | Dim) -> Dim:
    """max(left, right) without looking at values."""
    return _extreme("max", dim(left), dim(right))


def _extreme(sign: str, left: Dim, right: Dim) -> Dim:
    apart = (left - right).constant
    if apart is not None:
        return left if (apart <= 0) is (sign == "min") else right
    return dim(Binary(sign, left, right))
