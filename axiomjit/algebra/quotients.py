"""Exact division of symbolic lengths."""

from __future__ import annotations

from axiomjit.algebra.dims import Dim, Monomial, dim, polynomial


def exact_quotient(top: Dim, bottom: Dim) -> Dim | None:
    """The polynomial whose product with `bottom` is `top`, None if there is none."""
    if bottom == 0:
        return bottom if top == 0 else None
    rest, quotient = top, dim(0)
    lead, factor = bottom.terms[0]
    while rest.terms:
        monomial, count = rest.terms[0]
        over = _without(monomial, lead)
        if over is None or count % factor:
            return None
        part = polynomial({over: count // factor})
        quotient, rest = quotient + part, rest - part * bottom
    return quotient


def _without(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)
