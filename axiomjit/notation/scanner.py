"""The tokens of label notation, in its two modes."""

from __future__ import annotations

from typing import Final

from axiomjit.base.errors import SpecError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record

_MARKS: Final = "|;,*+^<="
_MULTICHAR: Final = ",*+^&<"
_DIGITS: Final = "0123456789"
_LONGEST: Final = 18
"""Digits of the largest integer, so that it is below 2^63."""
_WHITE: Final = " \t\n\r"


class Token(Record):
    """A piece of a spec: its kind ("name", "int", "end", or the mark itself), text and place."""

    kind: str
    text: str
    start: int

    def __str__(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)


def refused(spec: str, place: int, seen: str, remedy: str) -> SpecError:
    """The error for what stands at a place of a spec."""
    return SpecError(spec, place, seen, remedy, user_location())


def is_multichar(spec: str) -> bool:
    """Whether the labels of a spec have several characters, and are separated by commas.

    One of `, * + ^ & <`, or `=` without `>` after it, anywhere in the spec makes it so.
    """
    for place, sign in enumerate(spec):
        if sign in _MULTICHAR or (sign == "=" and spec[place + 1 : place + 2] != ">"):
            return True
    return False


def scan(spec: str) -> list[Token]:
    """The tokens of a spec, the last of kind "end".

    Raises:
        SpecError: a character that is no part of the notation.
    """
    several = is_multichar(spec)
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
    return [*tokens, Token("end", "", len(spec))]


def _token(spec: str, place: int, several: bool) -> Token:
    sign = spec[place]
    for mark in ("...", "..", "->", "=>"):
        if spec.startswith(mark, place):
            return Token(mark, mark, place)
    if sign in _MARKS:
        return Token(sign, sign, place)
    if sign == "_":
        return Token("name", sign, place)
    if sign.isalpha():
        return Token("name", _name(spec, place) if several else sign, place)
    if sign in _DIGITS:
        return _integer(spec, place)
    raise _strange(spec, place)


def _name(spec: str, place: int) -> str:
    stop = place
    while stop < len(spec) and (spec[stop].isalpha() or spec[stop] in _DIGITS or spec[stop] == "_"):
        stop += 1
    return spec[place:stop]


def _integer(spec: str, place: int) -> Token:
    stop = place
    while stop < len(spec) and spec[stop] in _DIGITS:
        stop += 1
    if stop - place > _LONGEST:
        raise refused(
            spec,
            place,
            f"an integer of {stop - place} digits",
            f"write integers of at most {_LONGEST} digits",
        )
    return Token("int", spec[place:stop], place)


def _strange(spec: str, place: int) -> SpecError:
    match spec[place]:
        case "-":
            return refused(spec, place, "'-' without '>'", "write '->' after the input axes")
        case ".":
            remedy = "write '...' or '..name..' for a row variable"
            return refused(spec, place, "a single '.'", remedy)
        case "&":
            return refused(spec, place, "'&', which is reserved", "separate axes by ','")
        case ">":
            remedy = "write '->' after the input axes and '=>' before the result"
            return refused(spec, place, "'>' on its own", remedy)
        case sign:
            remedy = "write letters, digits, '_' and the marks | -> => ; , ... * + ^ < ="
            return refused(spec, place, f"the character {sign!r}", remedy)
