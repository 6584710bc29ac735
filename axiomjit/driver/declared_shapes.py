"""`jit(shapes="...ij,...ij->...ij")`: the shapes of arguments and results, declared by letters.

A letter is one length wherever it stands; other letters are other lengths, even where they are
equal in a call. `1` is a dimension of length 1, which may be broadcast; `...` stands for any
number of dimensions in front, which fit those of other arguments from the right. Numbers have the
empty shape. One program serves all calls whose declared lengths are 2 or more: neither that two
lengths are equal nor that they are small is looked at. Lengths 0 and 1 have programs of their own.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.driver.arguments import CallArguments
from axiomjit.symbolic.dims import Dim, Guard, dim

ONE: Final = "1"
FREE: Final = "..."


class Shape(Record):
    """A declared shape: whether dimensions in front are free, and the letters of the others."""

    free: bool
    letters: str

    def __repr__(self) -> str:
        return f"{'...' if self.free else ''}{self.letters}" or "()"

    def names(self, rank: int) -> tuple[str, ...] | None:
        """The name of each of `rank` dimensions; None where they are too few or too many."""
        front = rank - len(self.letters)
        if front < 0 or (front and not self.free):
            return None
        return (*(f"...{k}" for k in range(front, 0, -1)), *self.letters)


class DeclaredShapes:
    """The shapes of the parameters of a function that are not static, and of its results."""

    def __init__(self, text: str, signature: inspect.Signature, static: frozenset[str]) -> None:
        """Read the text.

        Raises:
            GraphValueError: it is no list of shapes, or not one for each parameter.
        """
        self.text = text
        self._asked = f"jit(shapes={text!r})"
        given, arrow, results = "".join(text.split()).partition("->")
        shapes = self._read(given)
        self.results = self._read(results) if arrow else None
        names = [name for name in signature.parameters if name not in static]
        kinds = {signature.parameters[name].kind for name in names}
        several = kinds & {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
        if several or len(names) != len(shapes):
            raise GraphValueError(
                self._asked,
                f"{amount(len(shapes), 'shape')} for the parameters ({', '.join(names)})",
                "give one shape for each parameter that is not static; *args can have none",
                user_location(),
            )
        self.by_name = dict(zip(names, shapes, strict=True))

    def _read(self, text: str) -> tuple[Shape, ...]:
        found = []
        for part in text.split(","):
            letters = part.removeprefix(FREE)
            if letters and not (letters.isascii() and letters.replace(ONE, "a").isalpha()):
                raise GraphValueError(
                    self._asked,
                    f"{part!r}",
                    "write letters, 1 for a dimension to broadcast, ... in front, as in '...ij'",
                    user_location(),
                )
            found.append(Shape(letters != part, letters))
        return tuple(found)

    def names(self, call: CallArguments, arguments: Sequence[object]) -> dict[int, tuple[str, ...]]:
        """The name of each dimension of each array of a call, by position.

        Raises:
            GraphValueError: the rank or a length of an argument does not fit.
        """
        lengths: dict[str, tuple[int, str]] = {ONE: (1, "the declaration")}
        found = {}
        for position, (name, value) in enumerate(zip(call.names, arguments, strict=True)):
            shape = np.shape(value) if isinstance(value, np.ndarray | np.generic) else ()
            declared = self.by_name[name]
            names = declared.names(len(shape))
            asked = f"argument {name}, declared {declared!r}"
            if names is None or call.names.count(name) > 1:
                several = "a container of arrays" if names is not None else ""
                raise GraphValueError(
                    asked,
                    several or f"an array of shape {shape}",
                    "pass one array or number of the declared number of dimensions",
                    user_location(),
                )
            for axis, n in zip(names, shape, strict=True):
                known, owner = lengths.setdefault(axis, (n, f"argument {name}"))
                if n != known:
                    raise GraphValueError(
                        asked,
                        f"an array of shape {shape}: {axis} is {n}, but {known} in {owner}",
                        "pass arrays whose lengths fit, or declare another letter, or 1",
                        user_location(),
                    )
            found[position] = names
        return found

    def check_results(
        self,
        shapes: Sequence[tuple[Dim, ...]],
        symbols: Mapping[str, Dim],
        guards: Sequence[Guard],
    ) -> None:
        """Refuse a program that is not as declared.

        Args:
            shapes: Those of the arrays and numbers that are computed.
            symbols: The length of each name.
            guards: What was looked at while the program was made.

        Raises:
            GraphValueError: the results have other shapes, or lengths had to be equal that the
                declaration tells apart.
        """
        declared = {id(length): name for name, length in symbols.items()}
        for guard in guards:
            one, other = (declared.get(id(side)) for side in (guard.left, guard.right))
            if guard.sign == "==" and guard.outcome and one and other:
                raise GraphValueError(
                    self._asked,
                    f"that the function needs {one} and {other} to be equal",
                    "declare one letter for both, or 1 where a dimension is broadcast",
                    user_location(),
                )
        if self.results is None:
            return
        fits = len(shapes) == len(self.results) and all(
            _is(shape, names, symbols) for shape, names in zip(shapes, self.results, strict=True)
        )
        if not fits:
            seen = ", ".join(_shown(shape, declared) for shape in shapes) or "none"
            raise GraphValueError(
                self._asked,
                f"that the results have the shapes {seen}",
                "declare these behind ->, or leave -> away",
                user_location(),
            )


def _is(shape: tuple[Dim, ...], declared: Shape, symbols: Mapping[str, Dim]) -> bool:
    names = declared.names(len(shape))
    return names is not None and all(
        length is (dim(1) if name == ONE else symbols.get(name))
        for length, name in zip(shape, names, strict=True)
    )


def _shown(shape: tuple[Dim, ...], declared: Mapping[int, str]) -> str:
    return f"({', '.join(declared.get(id(length), str(length)) for length in shape)})"
