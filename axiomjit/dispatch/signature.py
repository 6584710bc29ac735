"""The signature of a call: the key of its programs, and the symbols with their values.

Shapes may be declared, as in `jit(shapes="...ij,...ij->...ij")`. The same letter stands for the
same length in all shapes. Different letters stand for different lengths, even if the lengths are
equal in a call. `1` is a dimension of length 1, which may be broadcast. `...` means any number of
leading dimensions, which are aligned from the right with the leading dimensions of other arguments.
Numbers have the empty shape. One program is valid for all calls whose declared lengths are 2 or
more, since it does not depend on lengths being equal or small. Lengths 0 and 1 need their own
programs.
"""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.dtypes import COMPLEX, FLOAT, supported, walkable
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.spec_tokens import Token, scan, split
from axiomjit.dispatch.arguments import CallArguments, Forget, statics_key
from axiomjit.graph.nodes import Input
from axiomjit.symbolic.dims import (
    ANY,
    BACKWARD,
    DECLARED,
    LENGTH,
    SMALL,
    STRIDE,
    Dim,
    Guard,
    Kind,
    Symbol,
    dim,
    named_length,
    symbol_of,
)

Array = np.ndarray
Layouts = dict[int, tuple[Dim, ...]]
_DENSE, _DENSE_BACKWARD, _STEP, _STEP_BACKWARD = 2, 3, 4, 5


class ArgumentCode:
    """The code of a call's arguments: calls with equal codes have the same signature.

    Lengths up to 4 are in the code. A larger length is represented by -1 minus its index among the
    distinct lengths, so that equal lengths have equal codes. The code contains strides of -1, 0 and
    1. The code does not contain strides of 2 to 4, since LLVM would use gather instructions, which
    are six times slower than scalar loads. For any other stride, the code says if it is plus or
    minus the product of the stride and the length of the next inner dimension; if it is not, the
    code has only the sign of the stride. `numbers` are the values that are not in the code, in
    order; `ClassSymbols` makes their symbols.
    """

    __slots__ = ("_places", "numbers")

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self._places: dict[object, int] = {}

    def shape(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The code of a shape."""
        code = []
        for n in shape:
            if n > SMALL:
                if n not in self._places:
                    self._places[n] = len(self._places)
                    self.numbers.append(n)
                n = -1 - self._places[n]
            code.append(n)
        return tuple(code)

    def declared(self, shape: Sequence[int], names: Sequence[str]) -> tuple[object, ...]:
        """The code of a shape with named dimensions; it has the values of lengths 0 and 1 only."""
        for name, n in zip(names, shape, strict=True):
            if n > 1 and name not in self._places:
                self._places[name] = len(self._places)
                self.numbers.append(n)
        return tuple((name, n if n < 2 else None) for name, n in zip(names, shape, strict=True))

    def strides(self, array: Array) -> tuple[tuple[int, int], ...]:
        """The code of strides: dimensions in memory order, each with its kind of stride."""
        code = []
        size, dense = array.itemsize or 1, 1
        for d in _by_step(array.strides):
            step, n = array.strides[d] // size, array.shape[d]
            if n == 1 or step == dense:
                kind = _DENSE
            elif step == -dense:
                kind = _DENSE_BACKWARD
            elif step in (-1, 0, 1):
                kind = step
            else:
                kind = _STEP if step > 0 else _STEP_BACKWARD
                self.numbers.append(step)
            code.append((d, kind))
            if n != 1 and step:
                dense = step * n
        return tuple(code)


def argument_code(
    arguments: Sequence[Any],
    names: Mapping[int, Sequence[str]] | None = None,
    same: Sequence[int] | None = None,
) -> tuple[tuple[object, ...], list[int]]:
    """The code of a call's plain arguments, and the values of the symbols (see `classify`)."""
    made, code = ArgumentCode(), list[object]()
    for position, value in enumerate(arguments):
        if same is not None and same[position] != position:
            code.append(same[position])
        elif isinstance(value, Array):
            shape = value.shape
            declared = None if names is None else names.get(position)
            lengths = made.shape(shape) if declared is None else made.declared(shape, declared)
            code.append((value.dtype, lengths, made.strides(value)))
        elif isinstance(value, int):
            code.append(int)
            made.numbers.append(value)
        else:
            code.append(complex if isinstance(value, complex) else float)
    return tuple(code), made.numbers


def _by_step(strides: Sequence[int]) -> Sequence[int]:
    """The dimensions in memory order, the innermost first."""
    if len(strides) == 2:
        return (1, 0) if abs(strides[1]) <= abs(strides[0]) else (0, 1)
    return sorted(range(len(strides)), key=lambda d: (abs(strides[d]), -d))


class ClassSymbols:
    """The symbols for the values that are not in an argument code."""

    def __init__(self) -> None:
        self.symbols: list[Symbol] = []
        self.by_name: dict[str, Dim] = {}
        self._lengths: dict[int, Dim] = {}

    def shape(self, code: Sequence[Any]) -> tuple[Dim, ...]:
        """The symbolic shape for a code made by `ArgumentCode.shape` or `declared`."""
        return tuple(self._length(n) if isinstance(n, int) else self._declared(*n) for n in code)

    def _length(self, n: int) -> Dim:
        if n >= 0:
            return dim(n)
        if n not in self._lengths:
            self._lengths[n] = self.symbol(f"n{-1 - n}", LENGTH)
        return self._lengths[n]

    def _declared(self, name: str, n: int | None) -> Dim:
        """The symbol of a declared name."""
        if name not in self.by_name:
            symbol = f"n{name.replace('...', '_')}"
            self.by_name[name] = self.symbol(symbol, DECLARED) if n is None else dim(n)
        return self.by_name[name]

    def symbol(self, name: str, kind: Kind) -> Dim:
        """A new symbol for the next value that is not in the code."""
        length = named_length(name, kind)
        symbol = symbol_of(length)
        assert symbol is not None
        self.symbols.append(symbol)
        return length

    def strides(self, code: Sequence[tuple[int, int]], shape: Sequence[Dim]) -> tuple[Dim, ...]:
        """The symbolic strides, in elements, of an array with this code and symbolic shape."""
        strides = [dim(0)] * len(code)
        inner, rank = dim(1), 0
        for d, kind in code:
            if kind in (_DENSE, _DENSE_BACKWARD):
                strides[d] = inner if kind == _DENSE else inner * -1
            elif kind in (-1, 0, 1):
                strides[d] = dim(kind)
            else:
                rank += 1
                letter, sign = ("t", STRIDE) if kind == _STEP else ("u", BACKWARD)
                name = f"{letter}{len(self.symbols)}"
                strides[d] = self.symbol(name, sign.replace(rank=rank))
            if shape[d].constant != 1 and kind:
                inner = strides[d] * shape[d]
        return tuple(strides)


class Signature(Record):
    """The signature of a call, with the values of its symbols.

    `given` has an input for each array, float and complex number, and a symbol for each integer.
    `values` are the values of the symbols, `layouts` the strides of arrays, `key` the key of the
    programs. `scalars` are the positions of NumPy scalars, which become arrays without dimensions.
    `declared` has the lengths by their declared names. `copied` are the positions of arrays that
    are copied because kernels cannot read them; their layout in memory is unknown.
    """

    given: tuple[Input | Dim, ...]
    layouts: Layouts
    values: dict[Symbol, int]
    key: object
    scalars: frozenset[int]
    declared: Mapping[str, Dim]
    copied: frozenset[int]


class _Class(Record):
    """The parts of a `Signature` that an argument code determines, and the symbols of the code."""

    given: tuple[Input | Dim, ...]
    layouts: Layouts
    symbols: tuple[Symbol, ...]
    declared: Mapping[str, Dim]


Classes = BoundedTable[object, _Class]
"""The parts that signatures share, by argument code."""


def classify(
    call: CallArguments,
    arguments: Sequence[object],
    classes: Classes | None = None,
    forget: Forget | None = None,
    names: Mapping[int, Sequence[str]] | None = None,
    same: Sequence[int] | None = None,
) -> Signature:
    """The signature of a call; `arguments` are the dynamic leaves after conversion.

    `forget` is called when an object in the key is freed. `names` has the dimension names of
    arguments with declared shapes, by position. `same` has for each argument the position of the
    first argument that is the same array.

    Raises:
        GraphTypeError: the dtype or the class of an argument cannot be compiled.
    """
    code, numbers = argument_code(arguments, names, same)
    known = None if classes is None else classes.get(code)
    if known is None:
        for argument, name in zip(arguments, call.names, strict=True):
            if isinstance(argument, Array):
                supported(argument.dtype, f"argument {name}", user_location())
        known = _class_of(code)
        if classes is not None:
            classes.keep(code, known)
    pairs = enumerate(zip(call.dynamic, arguments, strict=True))
    converted = [(k, old) for k, (old, new) in pairs if old is not new]
    scalars, copied = _converted(converted) if converted else (_NONE, _NONE)
    key = call.structure_key, code, statics_key(call, forget), scalars, copied
    values = dict(zip(known.symbols, numbers, strict=True))
    return Signature(known.given, known.layouts, values, key, scalars, known.declared, copied)


_NONE: Final[frozenset[int]] = frozenset()


def _converted(values: Sequence[tuple[int, object]]) -> tuple[frozenset[int], frozenset[int]]:
    """The positions of NumPy scalars and of copied arrays among the converted arguments."""
    scalars = frozenset([k for k, value in values if isinstance(value, np.generic)])
    arrays = ((k, value) for k, value in values if isinstance(value, Array))
    return scalars, frozenset([k for k, value in arrays if not walkable(value)])


def _class_of(code: Sequence[Any]) -> _Class:
    """The parts that the signatures of all calls with this code share."""
    symbols = ClassSymbols()
    given: list[Input | Dim] = []
    layouts: Layouts = {}
    for position, part in enumerate(code):
        if isinstance(part, int):
            given.append(given[part])
        elif isinstance(part, tuple):
            dtype, lengths, steps = part
            shape = symbols.shape(lengths)
            given.append(Input(dtype, position, shape))
            layouts[position] = symbols.strides(steps, shape)
        elif part is int:
            given.append(symbols.symbol(f"k{position}", ANY))
        else:
            given.append(Input(COMPLEX if part is complex else FLOAT, position, (), True))
    return _Class(tuple(given), layouts, tuple(symbols.symbols), symbols.by_name)


ONE: Final = "1"
FREE: Final = "..."


class Shape(Record):
    """A declared shape: letters for the last dimensions; `free` if other dimensions may precede."""

    free: bool
    letters: str

    def __repr__(self) -> str:
        return f"{'...' if self.free else ''}{self.letters}" or "()"

    def names(self, rank: int) -> tuple[str, ...] | None:
        """The names of `rank` dimensions; None if the shape does not allow this rank."""
        front = rank - len(self.letters)
        if front < 0 or (front and not self.free):
            return None
        return (*(f"...{k}" for k in range(front, 0, -1)), *self.letters)


class DeclaredShapes:
    """The declared shapes of a function's dynamic parameters, and of its results."""

    def __init__(self, text: str, signature: inspect.Signature, static: frozenset[str]) -> None:
        """Parse the shapes in the text of the option `shapes`.

        Raises:
            GraphValueError: the text is not a list of shapes, or lacks a shape for a parameter.
        """
        self.text = text
        self._asked = f"jit(shapes={text!r})"
        given, *results = split(scan("".join(text.split())), "->", once=True)
        shapes = self._read(given)
        self.results = self._read(results[0]) if results else None
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

    def _read(self, tokens: Sequence[Token]) -> tuple[Shape, ...]:
        found = []
        for part in split(tokens, ","):
            free = [token.kind for token in part[:1]] == [FREE]
            letters = "".join(token.text for token in part[free:])
            if letters and not (letters.isascii() and letters.replace(ONE, "a").isalpha()):
                raise GraphValueError(
                    self._asked,
                    f"{FREE * free + letters!r}, which is no shape",
                    "write letters, 1 for a dimension to broadcast, ... in front, as in '...ij', "
                    "and -> before the shapes of results",
                    user_location(),
                )
            found.append(Shape(free, letters))
        return tuple(found)

    def names(self, call: CallArguments, arguments: Sequence[object]) -> dict[int, tuple[str, ...]]:
        """For the position of each array of a call, the names of its dimensions.

        Raises:
            GraphValueError: the rank or a length of an argument does not fit.
        """
        for name in call.static_names:
            if name in self.by_name:
                raise GraphValueError(
                    f"argument {name}, declared {self.by_name[name]!r}",
                    "a container of arrays, or another object",
                    "pass one array or number of the declared number of dimensions",
                    user_location(),
                )
        lengths: dict[str, tuple[int, str]] = {ONE: (1, "the declaration")}
        found = {}
        for position, (name, value) in enumerate(zip(call.names, arguments, strict=True)):
            shape = np.shape(value) if isinstance(value, np.ndarray | np.generic) else ()
            declared = self.by_name[name]
            names = declared.names(len(shape))
            asked = f"argument {name}, declared {declared!r}"
            if names is None:
                raise GraphValueError(
                    asked,
                    f"an array of shape {shape}",
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
        """Refuse a program that violates the declared shapes.

        Raises:
            GraphValueError: the results have other shapes, or lengths with different letters must
                be equal.
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
            _has_shape(shape, names, symbols)
            for shape, names in zip(shapes, self.results, strict=True)
        )
        if not fits:
            seen = ", ".join(_shown(shape, declared) for shape in shapes) or "none"
            raise GraphValueError(
                self._asked,
                f"that the results have the shapes {seen}",
                "declare these behind ->, or leave -> away",
                user_location(),
            )


def _has_shape(shape: tuple[Dim, ...], declared: Shape, symbols: Mapping[str, Dim]) -> bool:
    names = declared.names(len(shape))
    return names is not None and all(
        length is (dim(1) if name == ONE else symbols.get(name))
        for length, name in zip(shape, names, strict=True)
    )


def _shown(shape: tuple[Dim, ...], declared: Mapping[int, str]) -> str:
    return f"({', '.join(declared.get(id(length), str(length)) for length in shape)})"
