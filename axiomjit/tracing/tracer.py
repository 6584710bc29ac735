"""Objects that represent arrays while a function is followed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from axiomjit.algebra.dims import product
from axiomjit.base.dtypes import WEAK_TYPES, DType
from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import AxiomError
from axiomjit.base.operator_names import OPERATORS
from axiomjit.base.origins import user_location
from axiomjit.base.owners import Following, current, is_usable, stranger
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, base_of
from axiomjit.graph.primitives import Primitive
from axiomjit.graph.print_graph import type_text
from axiomjit.graph.seen import seen_type
from axiomjit.graph.traced_values import Folding, TracedValue, broadcast_folding
from axiomjit.numpy_table.library import SCANS
from axiomjit.numpy_table.options import Row, refuse
from axiomjit.numpy_table.reductions import REDUCTIONS
from axiomjit.numpy_table.shapes import index_node, part_of
from axiomjit.numpy_table.table import FUNCTIONS, METHODS, UFUNCS, cast_to
from axiomjit.tracing.lengths import QUERIES, Length, length, unwrap
from axiomjit.tracing.refusals import (
    recorded,
    refuse_method,
    refuse_value,
    refuse_write,
    unsupported,
)


class Tracer(TracedValue, NDArrayOperatorsMixin):
    """Represents an array while a function is followed; records the NumPy operations on it.

    It claims to be what it represents (`isinstance`): an array, a NumPy scalar where a result has
    no dimensions, or a Python float or complex. Only the following that made it may use it.
    """

    __slots__ = ("__weakref__", "_following", "_held", "_where")
    __array_priority__ = 1000
    __hash__ = object.__hash__

    def __new__(cls, node: Node) -> Tracer:
        """Make a tracer of the class for an array, a NumPy scalar or a Python number."""
        return object.__new__(_class_for(node, current()))

    def __init__(self, node: Node) -> None:
        """Represent a node in the function that is followed now."""
        refuse_traps()
        self._held = node
        self._following = current()
        self._where = None if isinstance(node, Input) else user_location()
        if self._following is not None:
            self._following.note_operation()

    @recorded
    def folding(self, operands: Sequence[object], axes: Any, running: bool) -> Folding:
        """The operands broadcast, the dimensions as they are listed; all where none are."""
        given = [builder.strong(builder.as_node(node_of(value), "fold")) for value in operands]
        return broadcast_folding(given, unwrap(axes), Tracer)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        kind = type(self)
        if kind is TracedArray:
            return np.ndarray
        dtype = self._held.dtype
        return WEAK_TYPES[dtype.kind] if kind is Tracer else dtype.type

    @property
    def node(self) -> Node:
        """The node that is represented.

        Raises:
            TraceError: another function, or none, is followed here.
        """
        if not is_usable(self._following):
            dtype, rank = self._held.dtype, len(self._held.shape)
            what = f"{dtype} array with {rank} dimensions" if rank else f"{dtype} number"
            made = f"made at {self._where}" if self._where else "one of its arguments"
            raise stranger(self._following, what, made)
        return self._held

    def description(self) -> str:
        """What is represented, and the user's line where it was made."""
        where = f", made at {self._where}" if self._where else ""
        return f"{seen_type(self.node)}{where}"

    def mapped(self, primitive: Primitive) -> Tracer:
        """A primitive of one operand, of each element."""
        return Tracer(builder.elementwise(primitive, self.node))

    @property
    def real(self) -> Tracer:
        """The real parts, a view; real numbers themselves."""
        return Tracer(part_of(self.node, "real"))

    @real.setter
    def real(self, value: object) -> NoReturn:
        refuse_write("array.real = value", self.description())

    @property
    def imag(self) -> Tracer:
        """The imaginary parts, a view; zeros for real numbers."""
        return Tracer(part_of(self.node, "imag"))

    @imag.setter
    def imag(self, value: object) -> NoReturn:
        refuse_write("array.imag = value", self.description())

    def __getattr__(self, name: str) -> Any:
        stands_for = self.__class__
        if name.startswith("__") or not hasattr(stands_for, name):
            raise AttributeError(f"{_kind(self)!r} object has no attribute {name!r}")
        if name in METHODS:
            return lambda *args, **kwargs: called(METHODS[name], (self, *args), kwargs)
        if callable(getattr(stands_for, name)):
            return lambda *args, **kwargs: refuse_method(name, self.description(), METHODS)
        return refuse_method(name, self.description(), METHODS)

    @recorded
    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: object
    ) -> object:
        if any(not _ours(value) for value in inputs):
            return NotImplemented
        if options.get("out") is not None:
            refuse_write(f"{ufunc.__name__}(..., out=...)", self.description())
        options.pop("out", None)
        nodes = [node_of(value) for value in inputs]
        rows = {"reduce": REDUCTIONS, "accumulate": SCANS}.get(method, {})
        if ufunc in rows:
            return called(rows[ufunc], (*nodes, options.pop("axis", 0)), options)
        if method != "__call__" or ufunc not in UFUNCS:
            suffix = "" if method == "__call__" else f".{method}"
            raise unsupported(f"numpy.{ufunc.__name__}{suffix}", nodes)
        for option, value in options.items():
            if not (option == "where" and value is True):
                raise refuse(ufunc.__name__, option, value)
        made = UFUNCS[ufunc](*nodes)
        if isinstance(made, tuple):
            return tuple(Tracer(builder.strong(node)) for node in made)
        return Tracer(builder.strong(made))

    @recorded
    def __array_function__(
        self,
        func: Callable[..., object],
        types: Sequence[type],
        args: Sequence[object],
        kwargs: dict[str, object],
    ) -> object:
        if func in QUERIES and len(args) == 1 and isinstance(args[0], Tracer):
            return QUERIES[func](args[0].node)
        if func not in FUNCTIONS:
            raise unsupported(f"{func.__module__}.{func.__name__}", map(node_of, args))
        return called(FUNCTIONS[func], args, kwargs)

    def __bool__(self) -> NoReturn:
        refuse_value(
            "the truth of an array's values decides what the function does next",
            self.description(),
            "write where(condition, a, b), or make the deciding argument static_argnames",
        )

    def _number(self) -> NoReturn:
        refuse_value(
            "an array's value as a Python number",
            self.description(),
            "keep it an array, or make the argument static_argnames",
        )

    __float__ = __int__ = __index__ = __complex__ = _number

    def _rounded(self, digits: object = None) -> NoReturn:
        if self.__class__ is np.ndarray:
            raise TypeError("type numpy.ndarray doesn't define this method")
        self._number()

    __round__ = __trunc__ = __floor__ = __ceil__ = _rounded

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        refuse_value(
            "an array's values by a function that NumPy does not dispatch",
            self.description(),
            "call this function outside the compiled one",
        )

    def __str__(self) -> str:
        refuse_value(
            "an array's values as text",
            self.description(),
            "return the array and print it outside the compiled function; repr(x) gives its type",
        )

    def __format__(self, form: str) -> str:
        return str(self)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_value(
            "an array's values, to pickle them",
            self.description(),
            "pickle what the compiled function returns",
        )

    def __copy__(self) -> Tracer:
        return self if self.node.weak else Tracer(FUNCTIONS[np.copy](self.node))

    def __deepcopy__(self, memo: object) -> Tracer:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"Traced({type_text(self._held)})"


class TracedScalar(Tracer):
    """Represents a NumPy scalar: a result without dimensions."""

    __slots__ = ()
    __iter__: ClassVar[Any] = None

    @property
    def shape(self) -> tuple[int | Length, ...]:
        """The shape; a length that may differ in the next call is a `Length`."""
        return tuple(length(n) for n in self.node.shape)

    @shape.setter
    def shape(self, value: object) -> NoReturn:
        refuse_write("array.shape = value", self.description())

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
    def nbytes(self) -> int | Length:
        """Bytes of all elements."""
        return length(product(self.node.shape) * self.node.dtype.itemsize)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.node.dtype

    @dtype.setter
    def dtype(self, value: object) -> NoReturn:
        refuse_write("array.dtype = value", self.description())

    @property
    def T(self) -> Tracer:
        """The transpose, a view."""
        return Tracer(FUNCTIONS[np.transpose](self.node))

    @property
    def mT(self) -> Tracer:
        """The last two dimensions swapped, a view."""
        return Tracer(FUNCTIONS[np.matrix_transpose](self.node))

    def transpose(self, *axes: Any) -> Tracer:
        """The dimensions in another order, a view."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return Tracer(FUNCTIONS[np.transpose](self.node, unwrap(order)))

    @recorded
    def astype(self, dtype: Any, copy: bool = True) -> Tracer:
        """A copy with elements of another type; itself with `copy=False` where it has it."""
        return Tracer(cast_to(self.node, dtype, copy))

    @recorded
    def __getitem__(self, key: object) -> Tracer:
        return Tracer(index_node(self.node, unwrap(node_of(key))))


class TracedArray(TracedScalar):
    """Represents an array."""

    __slots__ = ()

    def __len__(self) -> int:
        if not self.node.shape:
            raise TypeError("len() of unsized object")
        return int(self.node.shape[0])

    def __iter__(self) -> Iterator[Tracer]:
        if not self.node.shape:
            raise TypeError("iteration over a 0-d array")
        return iter([self[k] for k in range(len(self))])

    def __setitem__(self, key: object, value: object) -> NoReturn:
        refuse_write("array[...] = value", self.description())


def _class_for(node: Node, following: Following | None) -> type[Tracer]:
    if node.shape:
        return TracedArray
    if node.weak:
        return Tracer
    base = base_of(node)
    if isinstance(base, Input) and following is not None and base.position in following.scalars:
        return TracedScalar
    return TracedArray if base.shape or isinstance(base, Input) else TracedScalar


def _kind(tracer: Tracer) -> str:
    """The name of the type that a tracer represents."""
    kind = tracer.__class__
    return kind.__name__ if kind.__module__ == "builtins" else f"numpy.{kind.__name__}"


def _ours(value: object) -> bool:
    known = Tracer | np.ndarray | np.generic | int | float | complex | Length | Node
    return isinstance(value, known) or not hasattr(value, "__array_ufunc__")


def node_of(value: object) -> object:
    """The node of a traced array, the symbol of a length, lists of them; others as they are."""
    if isinstance(value, list | tuple | deque) and _traced_in(value):
        return [node_of(part) for part in value]
    return value.node if isinstance(value, Tracer) else unwrap(value)


def _traced_in(value: object) -> list[Tracer]:
    """The traced arrays in nested lists and tuples."""
    if isinstance(value, list | tuple | deque):
        return [one for part in value for one in _traced_in(part)]
    return [value] if isinstance(value, Tracer) else []


@recorded
def called(row: Row, args: Sequence[object], kwargs: dict[str, object]) -> object:
    """The result of a row of the table, as traced arrays."""
    options = {name: node_of(value) for name, value in kwargs.items()}
    try:
        made = row(*map(node_of, args), **options)
    except TypeError as error:
        traced = _traced_in([*args[1:], *kwargs.values()])
        numbers = [one for one in traced if one.node.dtype.kind in "iu" and not one.node.shape]
        if isinstance(error, AxiomError) or not numbers:
            raise
        refuse_value(
            "an array's value as an axis, a length or another option",
            numbers[0].description(),
            "pass a Python int, or make the argument static_argnames",
        )
    return tuple(map(Tracer, made)) if isinstance(made, tuple) else Tracer(made)


def _operator(ufunc: np.ufunc, mirrored: bool) -> Callable[[Tracer, object], object]:
    """An infix operator: on Python numbers alone it returns a Python number, unlike the ufunc."""

    @recorded
    def method(self: Tracer, other: object) -> object:
        if not isinstance(other, Tracer | Length | int | float | complex):
            return ufunc(other, self) if mirrored else ufunc(self, other)
        pair = (other, self) if mirrored else (self, other)
        made = UFUNCS[ufunc](*map(node_of, pair))
        assert isinstance(made, Node)
        return Tracer(made)

    return method


def _prefix(ufunc: np.ufunc) -> Callable[[Tracer], object]:
    """A prefix operator: on a Python number it returns a Python number, unlike the ufunc."""

    @recorded
    def method(self: Tracer) -> object:
        made = UFUNCS[ufunc](self.node)
        assert isinstance(made, Node)
        return Tracer(made)

    return method


for _name in ("neg", "abs"):
    setattr(Tracer, f"__{_name}__", _prefix(getattr(np, OPERATORS[_name])))
for _name in ("add", "sub", "mul", "truediv", "pow", "floordiv", "mod"):
    _ufunc = getattr(np, OPERATORS[_name])
    setattr(Tracer, f"__{_name}__", _operator(_ufunc, mirrored=False))
    setattr(Tracer, f"__r{_name}__", _operator(_ufunc, mirrored=True))
