"""Writes into traced arrays: a value is checked, cast and written into the storage.

As in NumPy, the value is computed before anything is stored. A write that is refused or raises an
error changes nothing.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import (
    BOOL,
    ELEMENT_TYPES,
    INT,
    DType,
    code,
    is_bool,
    is_complex,
    is_integer,
)
from axiomjit.base.errors import GraphTypeError, GraphValueError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, check_fits, loop_of
from axiomjit.graph.external_calls import stored_elements, stored_number
from axiomjit.graph.indexing_ops import gather, take_checked
from axiomjit.graph.nodes import (
    ELEMENT_VIEWS,
    PART_VIEWS,
    Input,
    Node,
    Op,
    Scalar,
    describe_shape,
    describe_type,
    note,
    size,
    views_on,
)
from axiomjit.graph.primitives import PRIMITIVES, READ_ONLY, WHERE, Primitive
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import flat
from axiomjit.graph.storages import update, view_map
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.indexing import (
    Gathered,
    along_axis,
    at_flat,
    gathered_by,
    index_node,
    index_view,
    mask_of,
)
from axiomjit.numpy_rules.library import OneAxis
from axiomjit.numpy_rules.shapes import drop_dimensions
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim, product
from axiomjit.symbolic.index_maps import IndexMap, compose
from axiomjit.tracing.generators import Represents
from axiomjit.tracing.lengths import unwrap
from axiomjit.tracing.operators import TracedOperators, TracedStorage, leaves_in, node_of
from axiomjit.tracing.refusals import (
    recorded,
    refuse_method,
    refuse_outside,
    refuse_write,
    unsupported,
)

ITEM: Final = "array[...] = value"
_PYTHON_TYPES: Final = (bool, int, float, complex)


def node_to_write(value: Any, dtype: DType) -> Node:
    """The node of a value to write into elements of a dtype.

    A list or other object becomes an array by NumPy's rules: each element must fit. An array
    without dimensions is cast like any array; a number is stored as a number.

    Raises:
        TypeError, ValueError, OverflowError: the error that NumPy raises for this value.
    """
    if hasattr(type(value), "dims"):  # a variable of xarray
        value = value.data
    given = unwrap(node_of(value))
    known = Node | Dim | np.ndarray | np.generic | int | float | complex
    if builder.holds_nodes(given) and not isinstance(given, known):
        given = stored_elements(given, dtype)
    elif not isinstance(given, known):
        given = np.asarray(given, dtype)
    made = builder.as_node(given, ITEM)
    is_array = isinstance(value, TracedOperators) and value.is_array and not made.shape
    return cast(made, dtype) if is_array else made


def set_item(
    storage: TracedStorage, node: Node, key: object, value: Node, listed: bool = False
) -> None:
    """Do `node[key] = value`; `listed` is True if the value is a list.

    Raises:
        IndexError: a part of the key is out of range or not an index, or there are too many
            indices.
        PositionError: a position is out of range; the program raises this error.
        NeedsValuesError: the index is a single unknown bool.
        ValueError, TypeError: an array is written into one element, or a list into a view with
            fewer dimensions. The errors of `write_item` are raised, too.
    """
    if isinstance(key, tuple) and len(key) == 1:
        (key,) = key
    if isinstance(key, list) and list(leaves_in(key)):  # an empty list is a list of integers
        key = builder.as_node(key, "an index")
    if value.shape and _is_element(node, key):
        index_node(node, key)  # errors of the value come first, as in NumPy
        if node.dtype == BOOL and all(length == 1 for length in value.shape):
            value = cast(drop_dimensions(value, range(len(value.shape))), BOOL)
    if value.shape and _is_element(node, key):
        if is_complex(node.dtype):
            raise TypeError("only 0-dimensional arrays can be converted to Python scalars")
        raise ValueError("setting an array element with a sequence.")
    mask = None if value.shape else mask_of(node, key)
    if mask is not None:
        write_item(storage, node, value, mask)
        return
    rank = len(key.shape) if isinstance(key, Node | np.ndarray) and key.dtype == BOOL else 0
    if 0 < rank == len(node.shape) and len(value.shape) > 1:
        raise TypeError(
            "NumPy boolean array indexing assignment requires a 0 or 1-dimensional input, "
            f"input has {len(value.shape)} dimensions"
        )
    try:
        gathered = gathered_by(node, key)
    except UnsupportedError:
        remedy = "write at slices, at arrays of integers, or under one mask"
        refuse_write(ITEM, describe_type(node), remedy)
    if gathered is not None:
        if listed and not _by_arrays(gathered):
            _check_depth(value, gathered.shape)
        scatter_item(storage, node, gathered, value)
        return
    part = index_view(node, key)
    if listed:
        _check_depth(value, part.shape)
    write_item(storage, part, value)


def _is_element(node: Node, key: object) -> bool:
    """True if a key selects one element: the key has an integer for each dimension."""
    items = key if isinstance(key, tuple) else (key,)
    return len(items) == len(node.shape) and all(map(_is_integer, items))


def _is_integer(item: object) -> bool:
    if isinstance(item, Node | np.ndarray):
        return not item.shape and is_integer(item.dtype)
    return isinstance(item, int | np.integer | Dim) and not isinstance(item, bool)


def _by_arrays(gathered: Gathered) -> bool:
    """True if arrays select the elements; False if single computed integers select one element."""
    computed = [node for node, _ in gathered.positions]
    return not computed or any(node.shape for node in computed)


def _check_depth(value: Node, shape: tuple[Dim, ...]) -> None:
    """Refuse lists nested deeper than the target has dimensions."""
    if len(value.shape) > len(shape):
        raise ValueError(
            "setting an array element with a sequence. The requested array would exceed the "
            f"maximum number of dimension of {len(shape)}."
        )


def write_item(storage: TracedStorage, part: Node, value: Node, where: Node | None = None) -> None:
    """Do `part[...] = value`: the value is cast unsafely and loses leading dimensions of length 1.

    With a mask `where`, a number is written only into elements whose mask is true.

    Raises:
        GraphValueError: the value cannot be broadcast to the shape of the part.
        TypeError, ValueError, OverflowError: the dtype cannot hold a Python number.
        NeedsValuesError: the part is not a view of writable memory.
    """
    value = without_leading(value, part.shape)
    if value.weak or where is None:
        value = stored_number(value, part.dtype)
    if where is not None:
        value = builder.elementwise(WHERE, where, cast(value, part.dtype), part)
    write_part(storage, part, value, ITEM)


def scatter_item(
    storage: TracedStorage,
    seen: Node,
    gathered: Gathered,
    value: Node,
    combine: Primitive | None = None,
) -> None:
    """Do `seen[positions] = value`; if a position is repeated, the last value is stored.

    With `combine` each value is combined with the old element, in the value's dtype.

    Raises:
        Errors of `write_item` are passed on.
    """
    whole, views = (seen, []) if combine is not None else _behind_part(seen)
    base = _place(storage, whole, ITEM)
    if combine is None:
        if _by_arrays(gathered) and _is_nothing(value.shape, gathered.shape):
            write_nothing(storage, seen, ITEM)
            return
        value = without_leading(value, gathered.shape)
        if value.weak or not _by_arrays(gathered):
            # by arrays and masks NumPy's own numbers are cast, as arrays are
            value = stored_number(value, seen.dtype)
        value = cast(value, seen.dtype)
    check_stretches(value, gathered.shape, ITEM)
    if views:
        value = _hidden(views, value, gather(whole, *gathered))
    target = compose(base, gathered.place)
    source = builder.stretch_map(value.shape, gathered.shape)
    where = gathered.shape, gathered.positions, gathered.lengths
    storage.write(lambda old: note(update(old, target, value, source, *where, combine)))


def store_result(
    place: Any, value: Node, asked: str, where: Node | None = None, casting: Any = "same_kind"
) -> TracedOperators:
    """Write the result of a function into `out`; with `where`, only where the mask is true.

    Returns:
        The array `place`, into which the result was written.

    Raises:
        GraphTypeError: the dtype may not be cast this way.
        GraphValueError: the value cannot be broadcast to the shape of the part.
        NeedsValuesError: the part is not a view of writable memory.
    """
    if not isinstance(place, TracedOperators) or place.storage is None:
        refuse_outside(f"{asked}(..., out=...)", place)
    part = place.node
    asked = f"a write of {asked}(...) into {describe_type(part)}"
    if not _is_cast(value, part, casting):
        raise GraphTypeError(
            asked,
            f"elements of dtype {value.dtype} for an array of dtype {part.dtype}, which "
            f"casting={casting!r} does not allow",
            f"write into an array of dtype {value.dtype}, or convert what is written with "
            f".astype({part.dtype})",
            user_location(),
        )
    check_fits(value, part.dtype)
    if where is not None:
        value = builder.elementwise(WHERE, where, cast(value, part.dtype), part)
    write_part(place.storage, part, value, asked)
    return place


def store_exactly(place: Any, value: Node | Sequence[Node], asked: str) -> TracedOperators:
    """Write the result of a function that is not a ufunc into an `out` of its shape and dtype.

    Returns:
        The array `place`.

    Raises:
        NeedsValuesError: `out` has another shape or dtype, which NumPy's functions treat
            differently.
    """
    out = f"{asked}(..., out=...)"
    if not isinstance(place, TracedOperators):
        refuse_outside(out, place)
    fits = False
    if isinstance(value, Node):
        fits = (place.node.shape, place.node.dtype) == (value.shape, value.dtype)
    if not fits or not isinstance(value, Node):
        remedy = "give an array of the shape and dtype of the result, or leave out= away"
        refuse_write(out, "array of another shape or dtype", remedy)
    return store_result(place, value, asked)


def copy_to(dst: Any, src: object, casting: Any = "same_kind", where: object = True) -> None:
    """Do `np.copyto(dst, src, casting, where)`.

    Raises:
        Errors of `store_result` are passed on.
    """
    value = builder.as_node(node_of(src), "copyto")
    mask = None if where is True else builder.as_node(node_of(where), "copyto")
    store_result(dst, value, "copyto", mask, casting)


def _is_cast(value: Node, part: Node, casting: Any) -> bool:
    if value.weak and casting != "unsafe":
        given, held = (ELEMENT_TYPES[node.dtype].python for node in (value, part))
        return _PYTHON_TYPES.index(given) <= _PYTHON_TYPES.index(held)
    return np.can_cast(value.dtype, part.dtype, casting)


def write_part(storage: TracedStorage, part: Node, value: Node, asked: str) -> None:
    """Make the next version of the storage, with the value in this part."""
    whole, views = _behind_part(part)
    target = _place(storage, whole, asked)
    check_stretches(value, part.shape, asked)
    if value is part:  # at the end of `x[1:] += y`, the value is already written
        write_nothing(storage, whole, asked)
        return
    stored = _hidden(views, cast(value, part.dtype), whole)
    source = builder.stretch_map(stored.shape, part.shape)
    storage.write(lambda old: note(update(old, target, stored, source, part.shape)))


def _behind_part(seen: Node) -> tuple[Node, list[Op]]:
    """The memory of a view, and the views that show its elements in another type or only a part.

    For any other view, the function returns the view itself and no views.
    """
    base, views = views_on(seen)
    node, others = base, list[Op]()
    for one in views:
        if one.primitive.name in ELEMENT_VIEWS:
            others.append(one)
        else:
            node = one.replace(operands=(node,), dtype=node.dtype)
    return (node, others) if others else (seen, others)


def _hidden(views: Sequence[Op], value: Node, whole: Node) -> Node:
    """The elements to store in `whole`, so that the chain of views shows the written value."""
    for view in reversed(views):
        dtype = view.operands[0].dtype
        if view.primitive.name in PART_VIEWS:
            value = builder.with_part(whole, PART_VIEWS[view.primitive.name].name, value)
        elif is_bool(dtype):
            remedy = "write bools into the array itself, or view a copy: x.copy().view(dtype)"
            refuse_write("a view of bools with other elements", describe_type(view), remedy)
        else:
            value = builder.bits(value, dtype)
    return value


def write_nothing(storage: TracedStorage, part: Node, asked: str) -> None:
    """Record a write without elements into an argument; NumPy refuses read-only arguments."""
    _place(storage, part, asked)
    if storage.is_written or not isinstance(storage.root, Input):
        return
    none = index_view(part, slice(0, 0)) if part.shape else part
    target, source = _place(storage, none, asked), builder.stretch_map(none.shape, none.shape)
    storage.write(lambda old: note(update(old, target, none, source, none.shape)))


def without_leading(value: Node, shape: tuple[Dim, ...]) -> Node:
    """The value without extra leading dimensions of length 1."""
    extra = len(value.shape) - len(shape)
    if extra > 0 and all(length == 1 for length in value.shape[:extra]):
        return drop_dimensions(value, range(extra))
    return value


def _is_nothing(shape: tuple[Dim, ...], wanted: tuple[Dim, ...]) -> bool:
    """True if NumPy ignores extra dimensions of a value because no element is written."""
    extra = len(shape) - len(wanted)
    if extra <= 0 or all(n.constant != 0 for n in shape[extra:]):
        return False
    return all(n == 1 or n == other for n, other in zip(shape[extra:], wanted, strict=True))


def check_stretches(value: Node, shape: tuple[Dim, ...], asked: str) -> None:
    """Refuse a value that cannot be broadcast to the shape."""
    missing = len(shape) - len(value.shape)
    pairs = zip(value.shape, shape[max(missing, 0) :], strict=False)
    unequal = ((n, wanted) for n, wanted in pairs if n is not wanted)  # `n == 1` adds a guard
    if missing < 0 or not all(n == 1 or assumed_equal(n, wanted) for n, wanted in unequal):
        raise GraphValueError(
            asked,
            f"a value of shape {describe_shape(value.shape)} for a part of shape "
            f"{describe_shape(shape)}",
            f"give a value that stretches to the shape {describe_shape(shape)}",
            user_location(),
        )


def _place(storage: TracedStorage, part: Node, asked: str) -> IndexMap:
    """The index map from a storage to a part, which is a view of the storage.

    Raises:
        ValueError: the view is read-only.
        NeedsValuesError: the view repeats elements, or shows memory from outside the function.
    """
    base, views = views_on(part)
    if any(one.primitive is READ_ONLY for one in views):
        raise ValueError("assignment destination is read-only")
    seen = view_map(part)
    memory = isinstance(base, Op) or (isinstance(base, Input) and not base.weak)
    if seen is None or seen[0] is not storage.version or not memory:
        remedy = "write into the array of which this is a part, or into a copy: x = x.copy()"
        refuse_write(asked, describe_type(part), remedy)
    return seen[1]


def ufunc_at(ufunc: np.ufunc, a: Any, indices: Any, *operands: Any) -> None:
    """Do `ufunc.at`: each value is combined with the element at its position, one after the other.

    Raises:
        UnsupportedError: no compiled loop computes the ufunc element by element.
        NeedsValuesError: the array is from outside the function. Errors of `set_item` are passed
        on.
    """
    asked = f"numpy.{ufunc.__name__}.at"
    storage, seen = _memory(a, asked)
    values = [_strong(builder.as_node(node_of(value), asked)) for value in operands]
    combine = _combine_of(ufunc, seen, values)
    if combine is None:
        raise unsupported(asked, [seen, *values])
    key = unwrap(node_of(indices))
    gathered = gathered_by(seen, key)
    if gathered is None:
        part = index_view(seen, key)
        check_stretches(values[0], part.shape, asked)
        made = UFUNCS[ufunc](part, values[0])
        assert isinstance(made, Node)
        write_part(storage, part, made, asked)
        return
    *inputs, _ = loop_of(ufunc, (seen.dtype, values[0].dtype))
    scatter_item(storage, seen, gathered, cast(values[0], inputs[0]), combine)


def _strong(node: Node) -> Node:
    """A node whose dtype is not weak, since `ufunc.at` converts Python numbers to arrays."""
    return node.replace(is_weak=False) if isinstance(node, Scalar) else builder.strong(node)


def _combine_of(ufunc: np.ufunc, seen: Node, values: list[Node]) -> Primitive | None:
    """The primitive that computes a ufunc of two numbers of one dtype; None if there is none."""
    combine = PRIMITIVES.get(ufunc.__name__)
    if combine is None or combine.ufunc is not ufunc or combine.elementary or len(values) != 1:
        return None
    left, right, _ = loop_of(ufunc, (seen.dtype, values[0].dtype))
    return combine if left == right and code(left) in combine.loops else None


def put(a: Any, ind: Any, v: Any, mode: str = "raise") -> None:
    """Do `np.put`: write values at positions of the flat array; too few values are repeated.

    Raises:
        NeedsValuesError: the array is from outside the function.
        PositionError: a position is out of range; the program raises this error.
    """
    storage, seen = _memory(a, "put")
    positions = flat(cast(builder.as_node(node_of(ind), "put"), INT))
    given = node_to_write(v, seen.dtype)
    if given.weak:
        given = stored_number(given, seen.dtype)
    values = flat(given)
    (count,), (length,) = positions.shape, values.shape
    if any(n == 0 for n in seen.shape) and count != 0:
        raise IndexError("cannot replace elements of an empty array")
    if length == 0 or count == 0:
        write_nothing(storage, seen, "put")
        return
    if length > count:
        values = index_view(values, slice(0, count))
    elif not (length == 1 or length == count):
        repeated = PRIMITIVES["remainder"], positions_along((count,), (0,)), size(length)
        values = take_checked(values, builder.elementwise(*repeated), 0)
    scatter_item(storage, seen, at_flat(seen, positions, mode), values)


def put_along_axis(arr: Any, indices: Any, values: Any, axis: OneAxis = None) -> None:
    """Do `np.put_along_axis`.

    Raises:
        Errors of `put` are passed on, and NumPy's errors for shapes that do not fit.
    """
    positions = builder.as_node(node_of(indices), "put_along_axis")
    if axis is None:
        along_axis(positions, positions, None)  # raises the errors of the index
        put(arr, positions, values)
        return
    storage, seen = _memory(arr, "put_along_axis")
    value = node_to_write(values, seen.dtype)
    scatter_item(storage, seen, along_axis(seen, positions, axis), value)


def _memory(array: Any, asked: str) -> tuple[TracedStorage, Node]:
    """The storage of a traced array, and the array's view of it.

    Raises:
        TypeError: the object is not an array.
        NeedsValuesError: the array is from outside the function.
    """
    if not isinstance(array, np.ndarray):
        raise TypeError(f"{asked}: the first operand must be an array")
    if not isinstance(array, TracedOperators) or array.storage is None:
        refuse_outside(asked, array)
    return array.storage, array.node


WRITERS: Final[dict[Callable[..., object], Callable[..., None]]] = {
    np.copyto: copy_to,
    np.put: put,
    np.put_along_axis: put_along_axis,
}
"""NumPy's functions that write into their first argument and return nothing."""


class FlatElements(Represents):
    """Represents `x.flat`: reads are copies; a write of too few values repeats the values."""

    __hash__ = object.__hash__

    def __init__(self, base: TracedOperators) -> None:
        self.base: Any = base
        self._next = 0

    @property  # type: ignore[misc]
    def __class__(self) -> type[np.flatiter]:  # type: ignore[override]
        return np.flatiter

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> FlatElements:
        return self

    def __next__(self) -> Any:
        if self._next == len(self):
            self._next = 0
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> Any:
        """The elements as a new array."""
        return self.base.flatten()

    def __getitem__(self, key: Any) -> Any:
        _check(key)
        return self.copy()[key]

    @recorded
    def __setitem__(self, key: Any, value: Any) -> None:
        _check(key)
        places = positions_along((product(self.base.node.shape),), (0,))
        at = index_node(places, unwrap(node_of(key)))
        put(self.base, at, value if at.shape else self._item(value))

    def _item(self, value: Any) -> Node:
        """The node of a value that is written into one element.

        Raises:
            ValueError: the value is not a number that the dtype can hold.
        """
        dtype = self.base.node.dtype
        try:
            if not np.ndim(value) or dtype == BOOL:
                return stored_number(node_to_write(value, dtype), dtype)
        except (OverflowError, TypeError, ValueError):
            pass
        raise ValueError("Error setting single item of array.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self.base.__array__()
        raise AssertionError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.flatiter, name):
            raise AttributeError(f"'numpy.flatiter' object has no attribute {name!r}")
        return refuse_method(f"flat.{name}", self.base.description(), ("flat.copy",))


def _check(key: Any) -> None:
    """Refuse indices that arrays accept and `flat` does not."""
    if key is None or isinstance(key, bool) or (isinstance(key, tuple) and len(key) > 1):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid "
            "indices"
        )


def _compared(name: str) -> Any:
    return lambda self, other: getattr(operator, name)(self.copy(), other)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FlatElements, f"__{_name}__", _compared(_name))
