"""Objects that represent arrays while a function is traced."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import EllipsisType
from typing import Any, ClassVar, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import ELEMENT_TYPES, DType, is_complex, is_integer
from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import amount
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import called_by_xarray, quoted_line, user_location
from axiomjit.base.trace_context import Following, current, is_usable, leaked_tracer_error
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, Op, base_of, describe_type
from axiomjit.graph.primitives import PACK, Primitive
from axiomjit.graph.storages import strides_of
from axiomjit.graph.traced_values import By, Folding, broadcast_folding, number_of_groups
from axiomjit.numpy_rules.creation import FUNCTIONS as NEW
from axiomjit.numpy_rules.elementwise import cast_to
from axiomjit.numpy_rules.indexing import index_node
from axiomjit.numpy_rules.options import Rule, RuleByKind
from axiomjit.numpy_rules.reductions import REDUCTIONS
from axiomjit.numpy_rules.shapes import part_of
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS, REDUCEATS, SCANS
from axiomjit.symbolic.dims import product
from axiomjit.tracing.lengths import QUERIES, SymbolicInt, length, unwrap
from axiomjit.tracing.numpy_calls import (
    call_externally,
    called_ufunc,
    may_be_external,
    or_external_call,
    piecewise,
    ufunc_calls,
)
from axiomjit.tracing.operators import TracedOperators, TracedStorage, node_of, result_of
from axiomjit.tracing.refusals import (
    VALUES,
    WithoutValues,
    recorded,
    refuse_method,
    refuse_write,
    value_of,
)
from axiomjit.tracing.writes import WRITERS, FlatElements, node_to_write, set_item, store_exactly


class InPlace:
    """Methods of a traced array that change it in place; numbers lack them."""

    __slots__ = ()

    def fill(self: Any, value: Any) -> None:
        """Write a number into every element.

        Raises:
            ValueError, TypeError: the value has dimensions, or is not a number.
        """
        if np.ndim(value):
            np.zeros(1, self.dtype).fill(np.zeros(1) if isinstance(value, np.ndarray) else [0])
        self[...] = value

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values at positions of the flat array."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    def sort(self: Any, *args: Any, **kwargs: Any) -> None:
        """Sort along a dimension, in place."""
        self[...] = np.sort(self, *args, **kwargs)

    def partition(self: Any, *args: Any, **kwargs: Any) -> None:
        """Partition along a dimension, in place."""
        self[...] = np.partition(self, *args, **kwargs)

    @property
    def flat(self: Any) -> Any:
        """The elements of the array in C order, read and written by position."""
        return FlatElements(self)

    @flat.setter
    def flat(self, value: object) -> None:
        self.flat[...] = value


_NEW_NUMBER: Final = "assign a new number: x = x.real + 1j * x.imag"
COPIES: Final = frozenset({"copy", "flatten"})
"""Functions whose results are never views, whatever the memory layout of the operands is."""
KEEPERS: Final = frozenset(
    {
        *("squeeze", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "astype"),
        *("real", "real_if_close", "conj", "conjugate", "diff", "trim_zeros"),
    }
)
"""Functions that return their operand itself, not a view of it, if they change nothing."""
FOLDS: Final[Mapping[str, Mapping[np.ufunc, Rule]]] = {
    **{"reduce": REDUCTIONS, "accumulate": SCANS, "reduceat": REDUCEATS}
}
"""The rules of the ufunc methods that are folds, by the method's name and the ufunc."""


class Tracer(WithoutValues, TracedOperators):
    """Represents an array while a function is traced; records the NumPy operations on the array.

    For `isinstance`, a tracer is an instance of the represented class: an array, a NumPy scalar if
    a result has no dimensions, or a Python float or complex. A tracer may be used only in the trace
    that has made it.
    """

    __slots__ = ("__weakref__", "_following", "_held", "_storage", "_where")
    __array_priority__ = 1000

    def __new__(cls, node: Node, storage: TracedStorage | None = None) -> Tracer:
        """Make a tracer of the class for an array, a NumPy scalar or a Python number."""
        return object.__new__(TracedArray if storage else _class_for(node, current()))

    def __init__(self, node: Node, storage: TracedStorage | None = None) -> None:
        """Represent a node in the current trace.

        An array is a view of the given storage, or of a new storage.
        """
        refuse_traps()
        self._held = node
        self._storage = storage
        if storage is None and self.is_array:
            self._storage = TracedStorage(base_of(node))
        self._following = current()
        self._where = None if isinstance(node, Input) else user_location()
        if self._following is not None:
            self._following.note_operation()

    def _value(self, use: str) -> Any:
        if use == "bool":
            truth = lazy_import("axiomjit.tracing.computed_numbers").asked_truth(self.node)
            if truth is not None:
                return truth
        return super()._value(use)

    def _whole(self, function: np.ufunc) -> Any:
        late = lazy_import("axiomjit.tracing.python_numbers")
        found = late.rounded(self, function)
        return self._rounded() if found is None else found

    def __floor__(self) -> Any:
        return self._whole(np.floor)

    def __ceil__(self) -> Any:
        return self._whole(np.ceil)

    def __trunc__(self) -> Any:
        return self._whole(np.trunc)

    def __round__(self, digits: Any = None) -> Any:
        if digits is None:
            return self._whole(np.rint)
        return self._rounded() if self.node.weak else np.round(self, digits)

    @recorded
    def folding(
        self, operands: Sequence[object], axes: Any, running: bool, by: By | None = None
    ) -> Folding:
        """The broadcast operands, and the dimensions in the listed order (by default all)."""
        given = [builder.strong(builder.as_node(node_of(value), "fold")) for value in operands]
        if by is None:
            return broadcast_folding(given, unwrap(axes), Tracer)
        labels = builder.as_node(node_of(by.labels), "the labels of a fold")
        groups = number_of_groups(unwrap(by.groups))
        return broadcast_folding(given, unwrap(axes), Tracer, labels, groups)

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        kind = type(self)
        if kind is TracedArray:
            return np.ndarray
        dtype = self._held.dtype
        return ELEMENT_TYPES[dtype].python if kind is Tracer else dtype.type

    @property
    def node(self) -> Node:
        """The represented node, after all writes up to now.

        Raises:
            TraceError: the trace that made this tracer is not running here.
            NeedsValuesError: the value depends on the memory layout of an array.
        """
        if not is_usable(self._following):
            dtype, rank = self._held.dtype, len(self._held.shape)
            what = f"{dtype} array with {amount(rank, 'dimension')}" if rank else f"{dtype} number"
            made = f"made at {self._where}" if self._where else "one of its arguments"
            raise leaked_tracer_error(self._following, what, made)
        if self._storage is not None:
            self._held = self._storage.current(self._held)
        return self._held

    @property
    def storage(self) -> TracedStorage | None:
        """The memory of an array; None for a number."""
        return self._storage

    @property
    def is_array(self) -> bool:
        """True if this tracer represents an array, not a number."""
        return type(self) is TracedArray

    def represented(self, node: Node) -> Tracer:
        """Represent the result of an operator, a new array or number."""
        return Tracer(node)

    def description(self) -> str:
        """The type of the value, and the user's line where it was made."""
        return describe_type(self.node) + self.origin()

    def origin(self, quote: bool = False) -> str:
        """The user's line where the value was made, or the name of the argument, for messages."""
        if self._where:
            return f", made at {quoted_line(self._where) if quote else self._where}"
        root = self._held if self._storage is None else self._storage.root
        names = None if self._following is None else self._following.input_names
        if names is None or not isinstance(root, Input):
            return ""
        return f", the argument {names()[root.position]}"

    def as_operand(self) -> str:
        """The type and the origin of the value, for a line of a message."""
        return describe_type(self._held) + self.origin(quote=True)

    def mapped(self, primitive: Primitive) -> Tracer:
        """Apply a primitive of one operand to each element."""
        return Tracer(builder.elementwise(primitive, self.node))

    @property
    def real(self) -> Tracer:
        """The real parts as a view; for real numbers, the array itself."""
        return _seen_in((self,), part_of(self.node, "real"), True)

    @real.setter
    def real(self, value: object) -> None:
        if not self.is_array:
            refuse_write("array.real = value", self.description(), _NEW_NUMBER)
        self.real[...] = value

    @property
    def imag(self) -> Tracer:
        """The imaginary parts as a view; for real numbers, zeros."""
        seen = part_of(self.node, "imag")
        return _seen_in((self,), seen) if is_complex(self.node.dtype) else Tracer(seen)

    @imag.setter
    def imag(self, value: object) -> None:
        if not self.is_array:
            refuse_write("array.imag = value", self.description(), _NEW_NUMBER)
        if not is_complex(self.node.dtype):
            raise TypeError("array does not have imaginary part to set")
        self.imag[...] = value

    def __getattr__(self, name: str) -> Any:
        stands_for = self.__class__
        if name.startswith("__") or not hasattr(stands_for, name):
            raise AttributeError(f"{_kind(self)!r} object has no attribute {name!r}")
        method, asked = getattr(stands_for, name), f"numpy.{stands_for.__name__}.{name}"
        if name in ("item", "tolist") and value_of(self) is not None:
            return partial(_numbers_of, self) if name == "tolist" else partial(_item_of, self)
        if name in METHODS:
            row = partial(called, name, METHODS[name])
            return lambda *args, **kwargs: or_external_call(
                row, method, asked, (self, *args), kwargs, represented
            )
        if not callable(method):
            return refuse_method(name, self.description(), METHODS)
        if name in VALUES or not may_be_external(method):
            return lambda *args, **kwargs: refuse_method(name, self.description(), METHODS)
        return lambda *args, **kwargs: call_externally(
            method, asked, (self, *args), kwargs, represented
        )

    def _takes(self, value: object) -> bool:
        known = Tracer | np.ndarray | np.generic | int | float | complex | SymbolicInt | Node
        return isinstance(value, known) or not hasattr(value, "__array_ufunc__")

    @recorded
    def _ufunc(
        self, ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]
    ) -> object:
        out: Any = options.pop("out", None) or ()
        rows = FOLDS.get(method, {})
        if ufunc in rows:
            if out:
                options["out"] = out[0]
            asked = f"{ufunc.__name__}.{method}"
            row, axis = partial(called, asked, rows[ufunc]), options.pop("axis", 0)
            function = getattr(ufunc, method)
            return or_external_call(row, function, asked, (*inputs, axis), options, represented)
        if method == "__call__" or method in ("at", "outer"):
            return called_ufunc(ufunc, method, inputs, out, options, represented)
        if out:
            options["out"] = out[0]
        name = f"{ufunc_calls().ufunc_name(ufunc)}.{method}"
        return call_externally(getattr(ufunc, method), name, inputs, options, represented)

    @recorded
    def _function(self, func: Any, args: Sequence[Any], kwargs: Any) -> object:
        if func in QUERIES and len(args) == 1 and isinstance(args[0], Tracer):
            return QUERIES[func](args[0].node)
        if func is np.piecewise:
            return piecewise(represented, *args, **kwargs)
        name = f"{func.__module__}.{func.__name__}"
        if func not in FUNCTIONS:
            if func in WRITERS:
                return WRITERS[func](*args, **kwargs)
            return call_externally(func, name, args, kwargs, represented)
        if func in NEW:  # the node may be an operand's, but the array is new
            made = result_of(FUNCTIONS[func], args, kwargs)
            assert isinstance(made, Node)
            return new_array(made)
        if func is np.imag and isinstance(args[0], Tracer):
            return args[0].imag
        rule = FUNCTIONS[func]
        if isinstance(rule, RuleByKind) and not (args and getattr(args[0], "is_array", False)):
            rule = rule.of_numbers
        row = partial(called, func.__name__, rule)
        return or_external_call(row, func, name, args, kwargs, represented)

    def __copy__(self) -> Tracer:
        return self if self.node.weak else Tracer(FUNCTIONS[np.copy](self.node))

    def __deepcopy__(self, memo: object) -> Tracer:
        return self.__copy__()

    def __repr__(self) -> str:
        return f"Traced({lazy_import('axiomjit.passes.ir.print_program').type_text(self._held)})"


def _item_of(array: Any, *place: Any) -> Any:
    """The number at a place of an array, as a Python number; the trace is for one call only."""
    whole: Any = array.reshape(-1)
    if not place and whole.shape != (1,):
        raise ValueError("can only convert an array of size 1 to a Python scalar")
    at = place[0] if len(place) == 1 and isinstance(place[0], tuple) else place
    found = (whole if len(at) < 2 else array)[at or 0]
    return Tracer(builder.python_number(found.node))


def _numbers_of(array: Any) -> Any:
    """The numbers of an array in nested lists."""
    if not array.shape:
        return _item_of(array)
    return [_numbers_of(row) for row in array]


class TracedScalar(Tracer):
    """Represents a NumPy scalar: a result without dimensions."""

    __slots__ = ()
    __iter__: ClassVar[Any] = None

    @property
    def shape(self) -> tuple[int | SymbolicInt, ...]:
        """The shape; a length that may differ in the next call is a `SymbolicInt`."""
        return tuple(length(n) for n in self.node.shape)

    @shape.setter
    def shape(self, value: object) -> None:
        self._reshape_in_place(unwrap(value))

    @recorded
    def _reshape_in_place(self, shape: Any) -> None:
        """Make this array a view of its memory in another shape; other views stay the same.

        The operation is refused for a number, for an argument, since the caller's array would
        change, and if the memory may not allow a view.
        """
        seen = METHODS["reshape"](self.node, shape)
        if not self.is_array or self._where is None or base_of(seen) is not base_of(self.node):
            remedy = "assign a reshaped array: x = x.reshape(shape)"
            refuse_write("array.shape = value", self.description(), remedy)
        self._held = seen

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self.node.shape)

    @property
    def size(self) -> int | SymbolicInt:
        """The number of elements."""
        return length(product(self.node.shape))

    @property
    def itemsize(self) -> int:
        """The number of bytes of an element."""
        return self.node.dtype.itemsize

    @property
    def nbytes(self) -> int | SymbolicInt:
        """The number of bytes of all elements."""
        return length(product(self.node.shape) * self.node.dtype.itemsize)

    @property
    def strides(self) -> tuple[int | SymbolicInt, ...]:
        """The strides in bytes of an argument or of a view of an argument."""
        found: tuple[int | SymbolicInt, ...] = _layouts().strides_in_bytes(self)
        return found

    @property
    def flags(self) -> Any:
        """The flags; reading a flag that may differ between calls is refused."""
        return _layouts().Flags(self)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.node.dtype

    @dtype.setter
    def dtype(self, value: object) -> NoReturn:
        remedy = "set it outside the compiled function, or convert values: x = x.astype(dtype)"
        refuse_write("array.dtype = value", self.description(), remedy)

    @property
    def T(self) -> Tracer:
        """The transpose as a view."""
        return _seen_in((self,), FUNCTIONS[np.transpose](self.node))

    @property
    def mT(self) -> Tracer:
        """The array with its last two dimensions swapped, as a view."""
        return _seen_in((self,), FUNCTIONS[np.matrix_transpose](self.node))

    def transpose(self, *axes: Any) -> Tracer:
        """The array with its dimensions in another order, as a view."""
        order = axes[0] if len(axes) == 1 and not isinstance(axes[0], int) else axes or None
        return _seen_in((self,), FUNCTIONS[np.transpose](self.node, unwrap(order)))

    @recorded
    def astype(
        self,
        dtype: Any,
        order: Any = "K",
        casting: Any = "unsafe",
        subok: bool = True,
        copy: bool = True,
    ) -> Tracer:
        """A copy cast to another dtype; with `copy=False` the array itself if it has the dtype."""
        return _seen_in((self,), cast_to(self.node, dtype, order, casting, copy), True)

    @recorded
    def __getitem__(self, key: object) -> Tracer:
        positions = tuple(map(_position, key)) if isinstance(key, tuple) else _position(key)
        index = _index(positions)
        made = _seen_in((self,), index_node(self.node, index))
        items = key if isinstance(key, tuple) else (key,)
        if made.is_array and _is_part(positions):  # with numbers alone NumPy returns a view
            return _part(self, index, made)
        taken_out = not made.is_array and any(item is Ellipsis for item in items)
        # with an ellipsis and positions without dimensions NumPy returns an array, not a number
        return new_array(made.node) if taken_out else made


class TracedArray(InPlace, TracedScalar):
    """Represents an array."""

    __slots__ = ()

    def __len__(self) -> int:
        if not self.node.shape:
            raise TypeError("len() of unsized object")
        return int(length(self.node.shape[0]))

    def __iter__(self) -> Iterator[Tracer]:
        if not self.node.shape:
            raise TypeError("iteration over a 0-d array")
        return map(self.__getitem__, range(len(self)))  # each item is read when its turn comes

    @recorded
    def __setitem__(self, key: object, value: object) -> None:
        assert self._storage is not None
        seen, listed = self.node, not isinstance(value, np.ndarray)
        given, index = node_to_write(value, seen.dtype), _index(key)
        if _is_part(key) and isinstance(value, Tracer) and _is_at(value, self, index):
            return  # after `x[k] += y`: the part has been written
        set_item(self._storage, seen, index, given, listed)


def _layouts() -> Any:
    """The module of strides and flags, imported on first use."""
    return lazy_import("axiomjit.tracing.layouts")


def _index(key: Any) -> Any:
    """The nodes and lengths of an index; the ends of slices may be computed integers."""
    if isinstance(key, tuple) and any(isinstance(one, slice) for one in key):
        key = tuple(map(_slice, key))
    return unwrap(node_of(_slice(key)))


def _position(key: Any) -> Any:
    """An integer argument as a length; other parts of an index are unchanged."""
    if type(key) is TracedScalar and isinstance(base_of(key.node), Input):
        return lazy_import("axiomjit.tracing.python_numbers").position(key)
    return key


_NUMBERS: Final = (Tracer, TracedScalar)
"""The classes of traced Python and NumPy numbers."""


def _is_part(key: object) -> bool:
    """True for an index with a computed integer and without arrays, lists and masks."""
    items = key if isinstance(key, tuple) else (key,)
    numbers = [one for one in items if type(one) in _NUMBERS]
    rest = [one for one in items if type(one) not in _NUMBERS]
    basic = (int, np.integer, slice, type(None), EllipsisType, SymbolicInt)
    others = all(isinstance(one, basic) and not isinstance(one, bool) for one in rest)
    return bool(numbers) and others and all(is_integer(one.node.dtype) for one in numbers)


def _part(whole: Any, index: object, made: Tracer) -> Tracer:
    """The part of an array at an index with computed integers."""
    parts = lazy_import("axiomjit.tracing.parts")
    return Tracer(made.node, parts.PartStorage(whole, index, made.node))


def _is_at(value: Tracer, whole: Any, index: object) -> bool:
    """True if a value is the part of an array at an index."""
    storage: Any = value.storage
    is_at = getattr(storage, "is_at", None)
    return is_at is not None and is_at(whole, index) and value.node is storage.version


def _slice(key: Any) -> Any:
    """A slice with computed integers as lengths; any other part of an index is unchanged."""
    if not isinstance(key, slice):
        return key
    ends = (key.start, key.stop, key.step)
    if not any(issubclass(type(end), Tracer) for end in ends):
        return key
    late = lazy_import("axiomjit.tracing.python_numbers")
    return slice(*map(late.position, ends))


def _class_for(node: Node, following: Following | None) -> type[Tracer]:
    if node.shape:
        return TracedArray
    if node.weak:
        return Tracer
    base = base_of(node)
    if isinstance(base, Input) and following is not None and base.position in following.scalars:
        return TracedScalar
    if base.shape or isinstance(base, Input) or called_by_xarray():
        return TracedArray  # xarray makes an array of each number
    return TracedScalar


def _kind(tracer: Tracer) -> str:
    """The name of the type that a tracer represents."""
    kind = tracer.__class__
    return kind.__name__ if kind.__module__ == "builtins" else f"numpy.{kind.__name__}"


def new_array(node: Node) -> Tracer:
    """Represent a new array, which may have no dimensions."""
    return Tracer(node, TracedStorage(base_of(node)))


def _seen_in(operands: Sequence[object], made: Node, keeps: bool = False) -> Tracer:
    """Represent a result: a view shares its operand's storage; other results have new storages.

    If `keeps` is True and the function changes nothing, the result is the operand itself.
    """
    base = base_of(made)
    for one in operands:
        if isinstance(one, Tracer) and one.storage is not None and base_of(one.node) is base:
            if keeps and one.node is made:
                return one
            return Tracer(made, one.storage)
    result = Tracer(made)
    if isinstance(base, Op) and base.primitive is PACK and isinstance(operands[0], Tracer):
        # The layout of a computed array is not known: NumPy may return a view of it.
        first, own = operands[0].storage, result.storage
        if first is not None and own is not None and strides_of(operands[0].node) is None:
            first.relate(own)
    return result


def represented(node: Node, is_array: bool = False) -> Tracer:
    """Represent a new array or number that a function returns."""
    return new_array(node) if is_array else Tracer(node)


def called(asked: str, row: Rule, args: Sequence[object], kwargs: dict[str, object]) -> object:
    """The results of a NumPy rule as traced arrays, written into `out` if given."""
    out = kwargs.pop("out", None)
    made = result_of(row, args, kwargs)
    if isinstance(made, bool):
        return made
    if out is not None:
        return store_exactly(out, made, asked)
    keeps = asked in KEEPERS
    if isinstance(made, Node):
        return Tracer(made) if asked in COPIES else _seen_in(args, made, keeps)
    same = len(made) == len(args)
    first = args if same else [()] * len(made)
    every = [_seen_in((one, *args), n, keeps) for one, n in zip(first, made, strict=True)]
    kind: Any = type(made)  # some functions give named tuples, or lists
    return getattr(kind, "_make", kind)(every)
