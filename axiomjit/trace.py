"""Following a NumPy function once, with arrays of unknown values, to get its graph."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from axiomjit import builder
from axiomjit.dims import Dim, Scope, bound, product
from axiomjit.dtypes import DType
from axiomjit.error_states import refuse_traps
from axiomjit.errors import (
    NeedsValuesError,
    TraceError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from axiomjit.graph import Graph, Input, Node, Op, base_of, post_order
from axiomjit.layouts import Strides, laid_out
from axiomjit.lengths import Length, length, unwrap
from axiomjit.numpy_options import Row, refuse
from axiomjit.numpy_reductions import REDUCTIONS
from axiomjit.numpy_shapes import index_node, part_of
from axiomjit.numpy_table import FUNCTIONS, METHODS, UFUNCS, cast_to
from axiomjit.origins import origin, user_location
from axiomjit.primitives import COPY
from axiomjit.print_graph import type_text
from axiomjit.records import Record
from axiomjit.seen import seen_call, seen_type
from axiomjit.tree import Structure, flatten


class Tracer(NDArrayOperatorsMixin):
    """Stands for an array while a function is followed; records what NumPy is asked to do."""

    __slots__ = ("node",)
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __init__(self, node: Node) -> None:
        """Stand for a node."""
        refuse_traps()
        self.node = node

    @property
    def shape(self) -> tuple[int | Length, ...]:
        """The shape; a length that may differ in the next call is a `Length`."""
        return tuple(length(n) for n in self.node.shape)

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.node.shape)

    @property
    def size(self) -> int | Length:
        """The number of elements."""
        return length(product(self.node.shape))

    @property
    def itemsize(self) -> int:
        """Bytes of an element."""
        return self.node.dtype.itemsize

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.node.dtype

    @property
    def T(self) -> Tracer:
        """The transpose, a view."""
        return Tracer(FUNCTIONS[np.transpose](self.node))

    @property
    def mT(self) -> Tracer:
        """The last two dimensions swapped, a view."""
        return Tracer(FUNCTIONS[np.matrix_transpose](self.node))

    @property
    def real(self) -> Tracer:
        """The real parts, a view; real numbers themselves."""
        return Tracer(part_of(self.node, "real"))

    @real.setter
    def real(self, value: object) -> NoReturn:
        _refuse_write("array.real = value", self.node)

    @property
    def imag(self) -> Tracer:
        """The imaginary parts, a view; zeros for real numbers."""
        return Tracer(part_of(self.node, "imag"))

    @imag.setter
    def imag(self, value: object) -> NoReturn:
        _refuse_write("array.imag = value", self.node)

    def transpose(self, *axes: Any) -> Tracer:
        """The dimensions in another order, a view."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return Tracer(FUNCTIONS[np.transpose](self.node, order))

    def astype(self, dtype: Any, copy: bool = True) -> Tracer:
        """A copy with elements of another type; itself with `copy=False` where it has it."""
        return Tracer(cast_to(self.node, dtype, copy))

    def __getitem__(self, key: object) -> Tracer:
        return Tracer(index_node(self.node, unwrap(_node(key))))

    def __len__(self) -> int:
        if not self.node.shape:
            raise TypeError("len() of unsized object")
        return int(self.node.shape[0])

    def __iter__(self) -> Iterator[Tracer]:
        if not self.node.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(len(self))])

    def __getattr__(self, name: str) -> Any:
        if name in METHODS:
            return lambda *args, **kwargs: _called(METHODS[name], (self, *args), kwargs)
        if name.startswith("__") or not hasattr(np.ndarray, name):
            raise AttributeError(f"'numpy.ndarray' object has no attribute {name!r}")
        raise UnsupportedAttributeError(
            f"array.{name}",
            f"the attribute {name} of {seen_type(self.node)}, which is not compiled yet",
            f"call it outside the compiled function; compiled methods: {', '.join(METHODS)}",
            user_location(),
        )

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> object:
        if any(not _ours(value) for value in inputs):
            return NotImplemented
        if options.get("out") is not None:
            _refuse_write(f"{ufunc.__name__}(..., out=...)", self.node)
        options.pop("out", None)
        nodes = [_node(value) for value in inputs]
        if method == "reduce" and ufunc in REDUCTIONS:
            axis = options.pop("axis", 0)
            return _called(REDUCTIONS[ufunc], (*nodes, axis), options)
        if method != "__call__" or ufunc not in UFUNCS:
            suffix = "" if method == "__call__" else f".{method}"
            raise _unsupported(f"numpy.{ufunc.__name__}{suffix}", inputs)
        for option, value in options.items():
            if not (option == "where" and value is True):
                raise refuse(ufunc.__name__, option, value)
        made = UFUNCS[ufunc](*nodes)
        if isinstance(made, tuple):
            return tuple(Tracer(builder.strong(node)) for node in made)
        return Tracer(builder.strong(made))

    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: dict[str, object],
    ) -> object:
        if func in QUERIES and len(args) == 1 and isinstance(args[0], Tracer):
            return getattr(args[0], QUERIES[func])
        if func not in FUNCTIONS:
            raise _unsupported(f"{func.__module__}.{func.__name__}", args)
        return _called(FUNCTIONS[func], args, kwargs)

    def __setitem__(self, key: object, value: object) -> NoReturn:
        _refuse_write("array[...] = value", self.node)

    def __bool__(self) -> NoReturn:
        _refuse_value(
            "the truth of an array's values decides what the function does next",
            self.node,
            "write where(condition, a, b), or make the deciding argument static_argnames",
        )

    def _number(self) -> NoReturn:
        _refuse_value(
            "an array's value as a Python number",
            self.node,
            "keep it an array, or make the argument static_argnames",
        )

    __float__ = __int__ = __index__ = __complex__ = _number

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        _refuse_value(
            "an array's values by a function that NumPy does not dispatch",
            self.node,
            "call this function outside the compiled one",
        )

    def __repr__(self) -> str:
        return f"Traced({type_text(self.node)})"


def _ours(value: object) -> bool:
    known = Tracer | np.ndarray | np.generic | int | float | complex | Length | Node
    return isinstance(value, known) or not hasattr(value, "__array_ufunc__")


def _node(value: object) -> object:
    """The node of a traced array, the symbol of a length, lists of them; others as they are."""
    if isinstance(value, list | tuple) and any(isinstance(part, Tracer) for part in value):
        return [_node(part) for part in value]
    return value.node if isinstance(value, Tracer) else unwrap(value)


def _called(row: Row, args: Sequence[object], kwargs: dict[str, object]) -> object:
    """What a row of the table gives, as traced arrays."""
    made = row(*map(_node, args), **{name: _node(value) for name, value in kwargs.items()})
    return tuple(map(Tracer, made)) if isinstance(made, tuple) else Tracer(made)


def _made(node: Node) -> str:
    where = origin(node)
    return seen_type(node) + (f", made at {where}" if where else "")


def _refuse_value(asked: str, node: Node, remedy: str) -> NoReturn:
    raise NeedsValuesError(
        asked, f"a traced {_made(node)}: its values are not known", remedy, user_location()
    )


def _refuse_write(asked: str, node: Node) -> NoReturn:
    raise NeedsValuesError(
        asked,
        f"a write into a traced {_made(node)}",
        "make a new array instead, for example x = x + y",
        user_location(),
    )


def _unsupported(name: str, args: Sequence[object]) -> UnsupportedError:
    return UnsupportedError(
        seen_call(name, *map(_node, args)),
        f"{name}, which is not compiled yet",
        "call it outside the compiled function, or set axiomjit.config.fallback = 'warn' "
        "to run the whole function in NumPy",
        user_location(),
    )


def _operator(ufunc: np.ufunc, mirrored: bool) -> Callable[[Tracer, object], object]:
    """An infix operator: of Python numbers alone it gives a Python number, unlike the ufunc."""

    def method(self: Tracer, other: object) -> object:
        if not isinstance(other, Tracer | Length | int | float | complex):
            return ufunc(other, self) if mirrored else ufunc(self, other)
        pair = (other, self) if mirrored else (self, other)
        made = UFUNCS[ufunc](*map(_node, pair))
        assert isinstance(made, Node)
        return Tracer(made)

    return method


def _prefix(ufunc: np.ufunc) -> Callable[[Tracer], object]:
    """A prefix operator: of a Python number it gives a Python number, unlike the ufunc."""

    def method(self: Tracer) -> object:
        made = UFUNCS[ufunc](self.node)
        assert isinstance(made, Node)
        return Tracer(made)

    return method


setattr(Tracer, "__neg__", _prefix(np.negative))  # noqa: B010 - as those below
setattr(Tracer, "__abs__", _prefix(np.absolute))  # noqa: B010
for _name, _ufunc in (
    ("add", np.add),
    ("sub", np.subtract),
    ("mul", np.multiply),
    ("truediv", np.divide),
    ("pow", np.power),
    ("floordiv", np.floor_divide),
    ("mod", np.remainder),
):
    setattr(Tracer, f"__{_name}__", _operator(_ufunc, mirrored=False))
    setattr(Tracer, f"__r{_name}__", _operator(_ufunc, mirrored=True))


QUERIES: Final[dict[Callable[..., object], str]] = {
    np.shape: "shape",
    np.ndim: "ndim",
    np.size: "size",
}


class Trace(Record):
    """A followed function: its graph, and the structure of what it returned.

    `leaves` has one entry per leaf of the structure: the number of a graph output, or a value
    that depends on no array (a Dim where it depends on lengths).
    """

    graph: Graph
    structure: Structure
    leaves: tuple[tuple[int | None, object], ...]


def _array_of_its_own(value: Tracer, owners: dict[Node, Tracer]) -> Node:
    """The node to return: equal values that were computed twice are two arrays, as in NumPy."""
    node = value.node
    while owners.setdefault(node, value) is not value and not _is_argument(node):
        node = builder.elementwise(COPY, node)
    return node


def _is_argument(node: Node) -> bool:
    return not isinstance(base_of(node), Op)


def _check_holds_none(value: object) -> None:
    """Refuse to return a traced array inside a container that is not taken apart."""
    inside: list[object] = []
    if isinstance(value, set | frozenset):
        inside = list(value)
    elif not isinstance(value, type | np.ndarray | np.generic) and hasattr(value, "__dict__"):
        inside = list(vars(value).values())
    if isinstance(value, Generator) or any(isinstance(part, Tracer | Length) for part in inside):
        raise TraceError(
            f"return a {type(value).__name__}",
            "traced arrays inside, whose values are known only after the call",
            "return arrays in tuples, named tuples, lists or dicts",
            user_location(),
        )


def trace(
    call: Callable[[Sequence[Tracer | Length]], object],
    given: Sequence[Input | Dim],
    scope: Scope,
    layouts: Mapping[int, Strides] | None = None,
) -> Trace:
    """Follow `call` with a tracer for each input, a `Length` for each integer.

    `layouts` has the strides (elements) of arrays by position, where they decide what is a view.

    Raises:
        NeedsValuesError: it branches on values or writes into an array.
        UnsupportedError: it calls what the table does not have.
        GraphTypeError, GraphValueError: operands do not fit.
    """
    with bound(scope), laid_out(layouts or {}), np.errstate(all="ignore"):
        returned = call([Tracer(v) if isinstance(v, Input) else Length(v) for v in given])
    inputs = tuple(v for v in given if isinstance(v, Input))
    values, structure = flatten(returned)
    outputs: dict[Node, int] = {}
    owners: dict[Node, Tracer] = {}
    leaves: list[tuple[int | None, object]] = []
    for value in values:
        if isinstance(value, Tracer):
            node = _array_of_its_own(value, owners)
            leaves.append((outputs.setdefault(node, len(outputs)), None))
        else:
            _check_holds_none(value)
            leaves.append((None, unwrap(value)))
    strangers = {n for n in post_order(tuple(outputs)) if isinstance(n, Input)} - set(inputs)
    if strangers:
        raise TraceError(
            "a result",
            "a traced array of another call, kept from when it was followed",
            "return arrays instead of storing them outside the function",
            user_location(),
        )
    return Trace(Graph(inputs, tuple(outputs)), structure, tuple(leaves))
