"""Tokens of specs: of label notation, of NumPy's einsum, and of declared shapes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from axiomjit.base.errors import SpecError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record

_MARKS: Final = ("...", "..", "->", "=>", *"|;,*+^<=")
_DIGITS: Final = "0123456789"
_WHITE: Final = " \t\n\r"


class Token(Record):
    """A token of a spec: its kind, its text and the position where it starts.

    The kind is "name", "int", "end", the mark itself, or "" for a character that starts no token.
    """

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def refused(spec: str, place: int, seen: str, remedy: str) -> SpecError:
    """Return the error for a position in a spec."""
    return SpecError(spec, place, seen, remedy, user_location())


def scan(spec: str, several: bool = False) -> list[Token]:
    """Return the tokens of a spec.

    A name has one character; it may be longer between two `..`, and everywhere if `several` is
    true.
    """
    tokens: list[Token] = []
    place, in_dots = 0, False
    while place < len(spec):
        if spec[place] in _WHITE:
            place += 1
            continue
        token = _token(spec, place, several or in_dots)
        tokens.append(token)
        in_dots ^= token.kind == ".."
        place += len(token.text)
    return tokens


def _token(spec: str, place: int, several: bool) -> Token:
    sign = spec[place]
    for mark in _MARKS:
        if spec.startswith(mark, place):
            return Token(mark, mark, place)
    stop = place + 1
    if sign in _DIGITS:
        while stop < len(spec) and spec[stop] in _DIGITS:
            stop += 1
        return Token("int", spec[place:stop], place)
    if several and sign.isalpha():
        while stop < len(spec) and (spec[stop].isalpha() or spec[stop] in (*_DIGITS, "_")):
            stop += 1
    return Token("name" if sign == "_" or sign.isalpha() else "", spec[place:stop], place)


def split(tokens: Iterable[Token], mark: str, once: bool = False) -> list[list[Token]]:
    """Split the tokens at each mark, or only at the first mark if `once` is true."""
    parts: list[list[Token]] = [[]]
    for token in tokens:
        if token.kind == mark and not (once and len(parts) == 2):
            parts.append([])
        else:
            parts[-1].append(token)
    return parts
