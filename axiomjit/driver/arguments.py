"""A call's arguments taken apart: what is traced, what is static, and which class it is of."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.algebra.dims import Dim, Symbol, dim, named_length
from axiomjit.algebra.number_kinds import ANY, BACKWARD, DECLARED, LENGTH, SMALL, STRIDE, Kind
from axiomjit.base.config import config
from axiomjit.base.dtypes import COMPLEX, FLOAT, supported, walkable
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.tree import Structure, flatten_tree
from axiomjit.driver.static_keys import Forget, static_key, structure_key
from axiomjit.graph.nodes import Input

Array = np.ndarray
Layouts = dict[int, tuple[Dim, ...]]


class CallArguments(Record):
    """Leaves of the arguments in order of parameters; a static leaf has its place and value.

    `names` gives for each dynamic leaf the parameter it belongs to, `static_names` for each static.
    """

    structure: Structure
    dynamic: tuple[object, ...]
    static: tuple[tuple[int, object], ...]
    names: tuple[str, ...]
    static_names: tuple[str, ...] = ()

    def leaves(self, dynamic: Sequence[object]) -> list[object]:
        """All leaves in order, with other values for the dynamic ones."""
        total: list[object] = list(dynamic)
        for place, value in self.static:
            total.insert(place, value)
        return total


def static_parameters(
    names: Sequence[str], signature: inspect.Signature, function: str
) -> frozenset[str]:
    """The static parameters of a function that the user names.

    Raises:
        GraphValueError: it has no parameter of one of the names.
    """
    names = (names,) if isinstance(names, str) else names
    for name in names:
        if name not in signature.parameters:
            raise GraphValueError(
                f"jit(static_argnames={list(names)})",
                f"no parameter {name!r} in {function}{signature}",
                "name parameters of the function",
            )
    return frozenset(names)


def take_apart(
    signature: inspect.Signature,
    static: frozenset[str],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
) -> CallArguments:
    """Sort the leaves of a call's arguments.

    Raises:
        TypeError: the call does not fit the signature (Python's own message).
    """
    bound = signature.bind(*args, **kwargs)
    leaves, structure = flatten_tree((bound.args, bound.kwargs))
    owners = [name for name, value in bound.arguments.items() for _ in flatten_tree(value)[0]]
    dynamic: list[object] = []
    names: list[str] = []
    fixed: list[tuple[int, object]] = []
    fixed_names: list[str] = []
    for place, (leaf, name) in enumerate(zip(leaves, owners, strict=True)):
        if name in static or _is_static(leaf):
            fixed.append((place, leaf))
            fixed_names.append(name)
        else:
            dynamic.append(leaf)
            names.append(name)
    return CallArguments(structure, tuple(dynamic), tuple(fixed), tuple(names), tuple(fixed_names))


def _is_static(leaf: object) -> bool:
    """Whether an argument is no array or number: so is an enum that is an int, by what it adds."""
    if isinstance(leaf, Array | np.generic):
        return False
    if isinstance(leaf, int | float | complex):
        return type(leaf) not in (int, float, complex)
    return not hasattr(type(leaf), "__array__")


def exact_layout(
    leaves: Sequence[object], other: Callable[[Any], object] | None = None
) -> tuple[object, ...] | None:
    """What one bound plan depends on: the settings, and how each array lies.

    `other` says it of leaves that are no plain arrays; None comes back where it is not given.
    """
    key: list[object] = [config.bounds]
    for leaf in leaves:
        if type(leaf) is Array:
            key += (leaf.dtype, leaf.shape, leaf.strides, leaf.flags.aligned)
        elif other is None:
            return None
        else:
            key.append(other(leaf))
    return tuple(key)


def exact_key(call: CallArguments, forget: Forget | None = None) -> object:
    """Equal for calls that one bound plan can answer.

    `forget` is called when an object that the key refers to has died.
    """
    layout = exact_layout(call.dynamic, kind_of)
    return layout, structure_key(call.structure), statics_key(call, forget)


def kind_of(leaf: Any) -> object:
    """What decides how an argument that is no plain array is read; the value of an int."""
    if isinstance(leaf, Array):
        return type(leaf), leaf.dtype, leaf.shape, leaf.strides, leaf.flags.aligned
    return (int, leaf) if isinstance(leaf, int) else type(leaf)


def statics_key(call: CallArguments, forget: Forget | None = None) -> tuple[object, ...]:
    """The places of the static arguments, and what their values are told apart by."""
    return tuple((place, static_key(value, forget)) for place, value in call.static)


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
        self.values[Symbol(name, kind)] = value
        return named_length(name, kind)

    def integer(self, position: int, value: int) -> Dim:
        """The symbol of an integer argument, about which nothing is known."""
        return self._symbol(f"k{position}", ANY, value)

    def strides(self, array: Array, shape: tuple[Dim, ...]) -> tuple[Dim, ...]:
        """The symbolic strides (elements) of an array of this symbolic shape."""
        strides = [dim(0)] * array.ndim
        by_step = sorted(range(array.ndim), key=lambda d: (abs(array.strides[d]), -d))
        dense, inner, rank = 1, dim(1), 0
        for d in by_step:
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


def plain_array(array: Array) -> Array:
    """The array in a layout a kernel can walk: native, aligned, strides of whole elements.

    A copy keeps the order of the dimensions in memory, and holds repeated elements once.
    """
    if walkable(array):
        return array
    once = tuple(slice(1) if step == 0 else slice(None) for step in array.strides)
    copy = np.array(array[once], dtype=array.dtype.newbyteorder("="), order="K")
    return copy if copy.shape == array.shape else np.broadcast_to(copy, array.shape)


def plain_argument(value: Any, name: object) -> object:
    """An argument as an array or number of a kind that is compiled.

    Raises:
        GraphTypeError: an array-like that NumPy functions treat in ways of their own.
    """
    if type(value) is Array or type(value) is np.memmap:
        return plain_array(np.asarray(value))
    if isinstance(value, np.generic):
        return plain_array(np.asarray(value))
    if isinstance(value, int | float | complex):
        return value
    raise GraphTypeError(
        f"argument {name}",
        f"a {type(value).__module__}.{type(value).__name__}",
        "pass a numpy.ndarray, for example numpy.asarray(x), or a number",
        user_location(),
    )


def plain_arguments(
    arguments: Sequence[object], names: Iterable[object] | None = None
) -> tuple[object, ...]:
    """The arguments as kernels take them; `names` are those in errors, numbers when omitted.

    Raises:
        GraphTypeError: as `plain_argument`.
    """
    return tuple(map(plain_argument, arguments, range(len(arguments)) if names is None else names))
