"""Write lengths that depend on indices of serial loops as expressions of a kernel's source."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axiomjit.symbolic.dims import INDEX, Atom, Dim, Symbol, dim, symbol_of

FUNCTIONS: Final = {"//": "floor_divide", "min": "min", "max": "max"}
"""For each operator in a length, the function that computes it in a kernel's source."""


def serial_length(
    value: Dim, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str | None:
    """The expression of a length by iterators and words; None for a single word or literal.

    Sums are written out, so that LLVM knows the distance between two elements.

    Args:
        value: The length to write.
        index: Returns the name of an iterator in the source; None for the index of a loop outside
            the kernel.
        word: Returns the name of the word of a length, or its literal.
    """
    symbol = symbol_of(value)
    if value.constant is not None:
        return None
    if symbol is not None:
        return index(symbol.name) if symbol.kind == INDEX else None
    if len(value.terms) == 1 and not _names_index(value) and len(value.terms[0][0]) == 1:
        return None if value.terms[0][1] == 1 else f"({_sum_text(value, index, word)})"
    return f"({_sum_text(value, index, word)})"


def _sum_text(
    value: Dim, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str:
    text = ""
    for monomial, factor in value.terms:
        factors = [_atom_text(atom, index, word) for atom in monomial]
        factors += [word(abs(factor))] if abs(factor) != 1 or not monomial else []
        lead = f"{text} - " if factor < 0 else f"{text} + "
        part = " * ".join(factors)
        text = lead + part if text else part if factor > 0 else f"0 - {part}"
    return text


def _atom_text(
    atom: Atom, index: Callable[[str], str | None], word: Callable[[int | Dim], str]
) -> str:
    """The text of an atom: the name of an index or word, or a call of a function."""
    if isinstance(atom, Symbol) or not _names_index(dim(atom)):
        return word(dim(atom))
    return f"{FUNCTIONS[atom.sign]}({word(atom.left)}, {word(atom.right)})"


def _names_index(value: Dim) -> bool:
    return any(symbol.kind == INDEX for symbol in value.symbols)
