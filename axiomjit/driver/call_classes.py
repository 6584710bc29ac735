"""The class of a call: what programs are found by, and the values that it leaves open."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.dtypes import COMPLEX, FLOAT, supported
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.driver.arguments import CallArguments, statics_key
from axiomjit.driver.static_keys import Forget, structure_key
from axiomjit.graph.nodes import Input
from axiomjit.symbolic.assumptions import ANY, BACKWARD, DECLARED, LENGTH, SMALL, STRIDE, Kind
from axiomjit.symbolic.dims import Dim, Symbol, dim, named_length, symbol_of

Array = np.ndarray
Layouts = dict[int, tuple[Dim, ...]]
_INNER, _BACK, _STEP, _STEP_BACK = 2, 3, 4, 5


class ArgumentClass:
    """What the call guard looks at in array arguments.

    Extents up to 4 are baked; larger ones are symbols, equal ones the same symbol. Strides of -1,
    0 and 1 are baked (2 to 4 are not: LLVM would gather, six times slower than scalar loads);
    another is the stride of the next dimension in memory times its length, or minus that, where
    that is so, else a symbol of its own, whose kind tells the sign: it may equal a length or
    another stride.
    """

    def __init__(self) -> None:
        """Start without arguments."""
        self.values: dict[Symbol, int] = {}
        self._by_length: dict[int, Dim] = {}
        self.declared: dict[str, Dim] = {}

    def shape(self, shape: Sequence[int], names: Sequence[str] | None = None) -> tuple[Dim, ...]:
        """The symbolic shape of an argument, whose dimensions may have declared names."""
        if names is not None:
            return tuple(map(self._declared_length, names, shape))
        return tuple(self._length(n) for n in shape)

    def _declared_length(self, name: str, n: int) -> Dim:
        """The symbol of a name, whatever it equals; lengths 0 and 1 are themselves."""
        if name not in self.declared:
            symbol = f"n{name.replace('...', '_')}"
            self.declared[name] = dim(n) if n < 2 else self._symbol(symbol, DECLARED, n)
        return self.declared[name]

    def _length(self, n: int) -> Dim:
        if n <= SMALL:
            return dim(n)
        if n not in self._by_length:
            self._by_length[n] = self._symbol(f"n{len(self._by_length)}", LENGTH, n)
        return self._by_length[n]

    def _symbol(self, name: str, kind: Kind, value: int) -> Dim:
        length = named_length(name, kind)
        symbol = symbol_of(length)
        assert symbol is not None
        self.values[symbol] = value
        return length

    def integer(self, position: int, value: int) -> Dim:
        """The symbol of an integer argument, about which nothing is known."""
        return self._symbol(f"k{position}", ANY, value)

    def strides(self, array: Array, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """The symbolic strides (elements) of an array of this symbolic shape."""
        strides = [dim(0)] * array.ndim
        dense, inner, rank = 1, dim(1), 0
        for d in _by_step(array.strides):
            step = array.strides[d] // array.itemsize
            if shape[d].constant == 1 or step == dense:
                strides[d] = inner
            elif step == -dense:
                strides[d] = inner * -1
            elif step in (-1, 0, 1):
                strides[d] = dim(step)
            else:
                rank += 1
                letter, kind = ("t", STRIDE) if step > 0 else ("u", BACKWARD)
                ranked = kind.replace(rank=rank)
                strides[d] = self._symbol(f"{letter}{len(self.values)}", ranked, step)
            if shape[d].constant != 1 and step:
                dense, inner = step * array.shape[d], strides[d] * shape[d]
        return tuple(strides)


class Signature(Record):
    """The class of a call.

    `given` has an input for each array, float and complex number, a symbol for each integer;
    `values` are those of the symbols, `layouts` the strides of arrays, `key` the call guard;
    `scalars` are the positions of NumPy scalars, which become arrays without dimensions;
    `declared` are lengths by their declared names.
    """

    given: tuple[Input | Dim, ...]
    layouts: Layouts
    values: dict[Symbol, int]
    key: object
    scalars: frozenset[int]
    declared: Mapping[str, Dim]


def classify(
    call: CallArguments,
    arguments: Sequence[object],
    forget: Forget | None = None,
    names: Mapping[int, Sequence[str]] | None = None,
    same: Sequence[int] | None = None,
) -> Signature:
    """The class of a call with these (plain) dynamic arguments; `forget` as in `exact_key`.

    `names` are those of the dimensions of arguments whose shapes are declared, by position;
    `same` says for each argument which is the first that is one array with it.

    Raises:
        GraphTypeError: an argument's elements or its type cannot be compiled.
    """
    form = call.form if names is None and same is None else None
    if form is None:
        return _classified(call, arguments, forget, names, same)
    code, numbers = _array_code(arguments)
    known: _Known | None = form.classes.get(code)
    if known is None:
        made = _classified(call, arguments, forget, names, same)
        assert list(made.values.values()) == numbers, "the code of a class is not its class"
        form.classes.keep(code, _Known(made, tuple(made.values)))
        return made
    like, values = known.signature, dict(zip(known.symbols, numbers, strict=True))
    return Signature(like.given, like.layouts, values, like.key, like.scalars, like.declared)


class _Known(Record):
    """A class that was met, and the symbols that stand for the numbers of its calls."""

    signature: Signature
    symbols: tuple[Symbol, ...]


def _array_code(arrays: Sequence[Any]) -> tuple[tuple[object, ...], list[int]]:
    """Plain numbers that are equal for arrays of one class only, and what its symbols stand for.

    It says what `ArgumentClass` says, without symbols: that takes a tenth of the time.
    """
    code: list[object] = []
    numbers: list[int] = []
    places: dict[int, int] = {}
    for array in arrays:
        shape, strides, size = array.shape, array.strides, array.itemsize or 1
        code.append(array.dtype)
        for n in shape:
            if n > SMALL:
                if n not in places:
                    places[n] = len(places)
                    numbers.append(n)
                n = -1 - places[n]
            code.append(n)
        dense = 1
        for d in _by_step(strides):
            step, n = strides[d] // size, shape[d]
            if n == 1 or step == dense:
                kind = _INNER
            elif step == -dense:
                kind = _BACK
            elif step in (-1, 0, 1):
                kind = step
            else:
                kind = _STEP if step > 0 else _STEP_BACK
                numbers.append(step)
            code += (d, kind)
            if n != 1 and step:
                dense = step * n
    return tuple(code), numbers


def _by_step(strides: Sequence[int]) -> Sequence[int]:
    """The dimensions from the innermost in memory to the outermost."""
    if len(strides) == 2:
        return (1, 0) if abs(strides[1]) <= abs(strides[0]) else (0, 1)
    return sorted(range(len(strides)), key=lambda d: (abs(strides[d]), -d))


def _classified(
    call: CallArguments,
    arguments: Sequence[object],
    forget: Forget | None,
    names: Mapping[int, Sequence[str]] | None,
    same: Sequence[int] | None,
) -> Signature:
    """As `classify`, symbol by symbol."""
    classes = ArgumentClass()
    given: list[Input | Dim] = []
    layouts: Layouts = {}
    for position, (argument, name) in enumerate(zip(arguments, call.names, strict=True)):
        asked = f"argument {name}"
        if same is not None and same[position] != position:
            given.append(given[same[position]])
        elif isinstance(argument, Array | np.generic):
            dtype = supported(argument.dtype, asked, user_location())
            shape = classes.shape(argument.shape, None if names is None else names[position])
            given.append(Input(dtype, position, shape))
            if isinstance(argument, Array):
                layouts[position] = classes.strides(argument, shape)
        elif isinstance(argument, int):
            given.append(classes.integer(position, argument))
        else:
            dtype = COMPLEX if isinstance(argument, complex) else FLOAT
            given.append(Input(dtype, position, (), True))
    scalars = frozenset(k for k, v in enumerate(call.dynamic) if isinstance(v, np.generic))
    structure, statics = structure_key(call.structure), statics_key(call, forget)
    key = (structure, tuple(given), tuple(layouts.items()), statics, scalars)
    return Signature(tuple(given), layouts, classes.values, key, scalars, classes.declared)
