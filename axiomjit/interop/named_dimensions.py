"""Apply functions of arrays to DataArrays, with dimensions paired by name and labels from xarray.

Dimensions with the same name are one axis of the call, and must have equal lengths and indexes, as
in `xarray.apply_ufunc(..., join="exact")`. `apply_ufunc` gives results their coordinates, names and
attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final, NoReturn
from weakref import WeakValueDictionary

import numpy as np
import xarray
from xarray.core.utils import result_name
from xarray.structure.merge import merge_attrs

from axiomjit.accumulators.accumulator import Accumulator
from axiomjit.accumulators.elementwise import Elementwise
from axiomjit.accumulators.fold import fold
from axiomjit.axis.axes import Axes, AxesLike, make_axes
from axiomjit.axis.axis import Axis
from axiomjit.axis.named_arrays import NamedArray
from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.locks import new_lock
from axiomjit.base.origins import user_location
from axiomjit.graph.execution import in_arrays
from axiomjit.notation.einsum import ArrayCall, apply_call

Names = tuple[Hashable, ...]
_axes: Final[WeakValueDictionary[tuple[str, int], Axis]] = WeakValueDictionary()
_lock: Final = new_lock()
_ALIGN_REMEDY: Final = "align them, xarray.align(a, b), or select equal parts"


def _refuse(asked: str, seen: str, remedy: str) -> NoReturn:
    raise GraphValueError(asked, seen, remedy, user_location())


# Named arrays


def to_named(array: Any, axes: AxesLike = None) -> NamedArray:
    """A named array with the data of a DataArray, which are not copied.

    Raises:
        GraphTypeError: the object is not a DataArray, or the name of a dimension is not a string.
        AxesError: the given axes do not fit the shape.
    """
    asked = f"a named array of a {type(array).__name__}"
    if not isinstance(array, xarray.DataArray):
        seen = f"a {type(array).__module__}.{type(array).__name__}"
        raise GraphTypeError(asked, seen, "give a DataArray", user_location())
    refuse_chunked(array, asked)
    for name in array.dims if axes is None else ():
        if not isinstance(name, str):
            remedy = "rename the dimension, array.rename({...}), or give axes"
            seen = f"a dimension {name!r}, a {type(name).__name__}"
            raise GraphTypeError(asked, seen, remedy, user_location())
    if axes is None:
        axes = [axis_of(str(name), length) for name, length in array.sizes.items()]
    return NamedArray(array.data, make_axes(axes))


def axis_of(name: str, length: int) -> Axis:
    """The axis for dimensions with this name and length; the same object while it is used."""
    with _lock:
        found = _axes.get((name, length))
        if found is None:
            found = _axes[name, length] = Axis(length, name)
    return found


def from_named(array: NamedArray, coords: Any = None, name: Any = None, attrs: Any = None) -> Any:
    """A DataArray with the values of a named array, which are not copied.

    Raises:
        GraphValueError: two axes have one name.
    """
    dims = array.dims
    _check_distinct(dims, f"to_xarray of {array!r}")
    if isinstance(coords, xarray.core.coordinates.Coordinates):
        coords = {k: v for k, v in coords.items() if set(v.dims) <= set(dims)}
    return xarray.DataArray(array.values, coords, dims, name, attrs)


def ordered(array: Any, axes: Axes, asked: str) -> Any:
    """The data of a DataArray, transposed to the order of axes with the names of its dimensions.

    Raises:
        GraphValueError: the names of dimensions and of axes differ.
    """
    names = axes.names
    if len(names) != array.ndim or set(array.dims) != set(names):
        seen = f"a DataArray with dimensions {array.dims}, for axes {axes}"
        _refuse(asked, seen, "give one with a dimension for each axis, by name, or its data")
    return array.transpose(*names).data


# Calls


def _checked(values: Sequence[Any], asked: str) -> dict[Hashable, int]:
    """The length of each dimension of the DataArrays among the values, after checks.

    Raises:
        GraphValueError: a dimension has two different lengths or indexes.
        GraphTypeError: a value is a Dataset.
    """
    lengths: dict[Hashable, int] = {}
    for value in values:
        if isinstance(value, xarray.Dataset):
            remedy = "give its arrays, dataset[name], or call dataset.map(function)"
            raise GraphTypeError(asked, "a Dataset, which has several", remedy, user_location())
        for name, length in value.sizes.items() if isinstance(value, xarray.DataArray) else ():
            known = lengths.setdefault(name, length)
            if known != length:
                _refuse(asked, f"dimension {name!r} of lengths {known} and {length}", _ALIGN_REMEDY)
    try:
        xarray.align(*(v for v in values if isinstance(v, xarray.DataArray)), join="exact")
    except xarray.AlignmentError as error:
        _refuse(asked, _difference(values) or str(error), _ALIGN_REMEDY)
    return lengths


def _difference(values: Sequence[Any]) -> str | None:
    """A text about a dimension whose indexes differ between DataArrays; None if there is none."""
    found: dict[Hashable, Any] = {}
    for value in values:
        for name, index in value.indexes.items() if isinstance(value, xarray.DataArray) else ():
            if not found.setdefault(name, index).equals(index):
                return f"dimension {name!r} with two indexes that differ"
    return None


def _check_distinct(names: Names, asked: str) -> None:
    twice = next((one for k, one in enumerate(names) if one in names[:k]), None)
    if twice is not None:
        remedy = f"rename it in one operand, array.rename({{{twice!r}: ...}})"
        _refuse(asked, f"a result with two dimensions {twice!r}", remedy)


def _applied(
    function: Callable[..., Any],
    operands: Sequence[Any],
    core: Sequence[Names],
    result: Sequence[Names],
) -> Any:
    """Call a function of arrays by `xarray.apply_ufunc`, with attributes kept as in arithmetic."""
    made = xarray.apply_ufunc(
        function,
        *operands,
        input_core_dims=core,
        output_core_dims=result,
        join="exact",
        dask="allowed",
    )
    if xarray.get_options()["keep_attrs"]:  # True or "default"
        made.attrs = merge_attrs([getattr(one, "attrs", {}) for one in operands], "drop_conflicts")
    return made


def _labelled_results(
    values: Sequence[Any],
    results: Sequence[Names],
    operands: Sequence[Any],
    lengths: Mapping[Hashable, int],
) -> list[Any]:
    """The results as DataArrays, with those labels of operands that fit the results' dimensions."""
    given = [one for one in operands if isinstance(one, xarray.DataArray)]
    made = []
    for value, dims in zip(values, results, strict=True):
        pairs = zip(dims, np.shape(value), strict=True)
        changed = frozenset(d for d, n in pairs if d in lengths and lengths[d] != n)
        kept = [one.isel(dict.fromkeys(changed & {*one.dims}, 0), drop=True) for one in given]
        core = [one.dims for one in kept]
        made.append(_applied(lambda *_, value=value: value, kept, core, [dims]))
    return made


def fold_dimensions(
    acc: Accumulator, operands: Sequence[Any], axes: Any, running: bool, by: Any, groups: Any
) -> Any:
    """The result of `axiomjit.fold` for DataArrays, along the dimensions named in `axes`.

    The dimension of groups is named after the labels, or "group", and replaces the first reduced
    dimension.

    Raises:
        GraphValueError: dimensions differ in length or index, or no dimension has a given name.
        GraphTypeError: an operand is an array whose dimensions have no names.
    """
    asked = f"fold({acc!r}, ...) of DataArrays"
    operands = in_arrays(operands)
    lengths = _checked((*operands, by), asked)
    dims: Names = tuple(dict.fromkeys(d for one in operands for d in getattr(one, "dims", ())))
    along = _along(dims, axes, asked)
    named = [_expanded(one, along, lengths, asked) for one in operands]
    out: Names = along if running else ()
    if by is not None:
        out = (_name_of_groups(by, set(dims) - {*along}),)
        if isinstance(by, xarray.DataArray):
            if set(by.dims) != {*along}:
                seen = f"labels with dimensions {by.dims}, of elements along {along}"
                _refuse(asked, seen, "give a label for each position along these dimensions")
            named.append(by)
    count, several = len(operands), list[Any]()

    def function(*arrays: Any) -> Any:
        labels = arrays[count] if len(arrays) > count else by
        last = tuple(range(-len(along), 0))
        found = fold(acc, *arrays[:count], axes=last, running=running, by=labels, groups=groups)
        several.extend(found if isinstance(found, tuple) else ())
        return found[0] if several else found

    core = [along if isinstance(one, xarray.DataArray) else () for one in named]
    first = _applied(function, named, core, [out])
    place = out[:1] if by is not None else ()
    order = dims if running else _replaced(dims, along, place)
    made = [first.copy(data=one) for one in several] or [first]
    results = [one.transpose(*order) for one in made]
    return tuple(results) if several else results[0]


def _replaced(dims: Names, along: Names, groups: Names) -> Names:
    """The dimensions of the result: groups, if any, replace the first reduced dimension."""
    found: list[Hashable] = []
    for one in dims:
        if one not in along:
            found.append(one)
        elif groups and groups[0] not in found:
            found += groups
    return tuple(found)


def _along(dims: Names, axes: Any, asked: str) -> Names:
    """The names of the dimensions to reduce.

    Raises:
        GraphValueError: no dimension has a given name, or a name is listed twice.
    """
    if axes is None:
        return dims
    along: Names = (axes,) if isinstance(axes, Hashable) and axes in dims else ()
    if not along:
        along = tuple(axes) if isinstance(axes, list | tuple) else (axes,)
    for k, one in enumerate(along):
        if one not in dims or one in along[:k]:
            seen = f"no dimension {one!r} in {dims}" if one not in dims else f"{one!r} twice"
            _refuse(asked, seen, "list names of dimensions, each once")
    return along


def _expanded(value: Any, along: Names, lengths: dict[Hashable, int], asked: str) -> Any:
    """An operand expanded to all dimensions to reduce; a number is unchanged."""
    if not isinstance(value, xarray.DataArray):
        if np.ndim(value):
            seen = f"an array of shape {np.shape(value)}, whose dimensions have no names"
            remedy = "give a DataArray, xarray.DataArray(value, dims=...)"
            raise GraphTypeError(asked, seen, remedy, user_location())
        return value
    missing = {one: lengths[one] for one in along if one not in value.dims}
    return value.expand_dims(missing) if missing else value


def _name_of_groups(by: Any, taken: set[Hashable]) -> Hashable:
    name = getattr(by, "name", None)
    return "group" if name is None or name in taken else name


def apply_elementwise(function: Elementwise, operands: Sequence[Any]) -> Any:
    """The result of a function made by `elementwise` for DataArrays.

    A result has all dimensions; in a mode that accumulates, it has those of the smallest operand.

    Raises:
        GraphValueError: dimensions differ in length or index, or the smallest operand has a
            dimension that another operand lacks.
        GraphTypeError: an operand is an array whose dimensions have no names.
    """
    asked = f"{function!r} of DataArrays"
    operands = in_arrays(operands)
    lengths = _checked(operands, asked)
    named = [_expanded(one, (), {}, asked) for one in operands]
    given = [one for one in named if isinstance(one, xarray.DataArray)]
    whole: Names = tuple(dict.fromkeys(d for one in given for d in one.dims))
    kept, arrays = whole, list(xarray.broadcast(*given))
    if any(function.accumulates):
        kept = () if len(given) < len(named) else min((one.dims for one in given), key=len)
        whole = _kept_first(kept, whole, function.order)
        arrays = []
        for one in given:
            if not set(kept) <= {*one.dims} or set(one.dims) not in ({*kept}, {*whole}):
                seen = f"operands with dimensions {[one.dims for one in given]}"
                _refuse(asked, seen, "give operands with all dimensions, and one with some of them")
            arrays.append(one.transpose(*_kept_first(kept, one.dims, function.order)))
    rest = iter(arrays)
    data = [next(rest).data if isinstance(one, xarray.DataArray) else one for one in named]
    found = function(*data)
    results = [kept if one else whole for one in function.accumulates]
    made = _labelled_results(found if isinstance(found, list) else [found], results, given, lengths)
    made = [one.rename(result_name(given)) for one in made]
    return made if isinstance(found, list) else made[0]


def _kept_first(kept: Names, dims: Names, order: str) -> Names:
    """The dimensions, with kept dimensions first for order "c" and last for order "f"."""
    rest = tuple(one for one in dims if one not in kept)
    return (*kept, *rest) if order == "c" else (*rest, *kept)


def contract_dimensions(function: ArrayCall, operands: Sequence[Any]) -> Any:
    """The result of `axiomjit.einsum` for DataArrays; the spec labels dimensions by position.

    A dimension of the result has the name that the dimension with the same label has in the first
    operand with this label.

    Raises:
        GraphValueError: dimensions with the same name have different lengths, or the result has a
            name twice.
    """
    asked = f"{function!r} of DataArrays"
    operands = in_arrays(operands)
    lengths = _checked(operands, asked)
    data = [one.data if isinstance(one, xarray.DataArray) else one for one in operands]
    found = apply_call(function, data)
    names: list[Hashable] = []
    for k, places in enumerate(function.sources([tuple(map(int, np.shape(one))) for one in data])):
        own = [operands[at].dims[d] for at, d in places if hasattr(operands[at], "dims")]
        names.append(own[0] if own else f"dim_{k}")
    _check_distinct(tuple(names), asked)
    return _labelled_results([found], [tuple(names)], operands, lengths)[0]
