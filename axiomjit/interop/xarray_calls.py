"""Traced forms of functions of xarray that need the values of arrays.

xarray makes the labels: its method runs once on an object with the same labels and zeros as data,
and traced numbers then replace the zeros of its result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import xarray

from axiomjit.base.dtypes import CODES, ELEMENT_TYPES, is_bool, is_complex, is_float
from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import refused
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.graph.builder import as_node
from axiomjit.interop import xarray_groups
from axiomjit.interop.traced_variables import DATA, is_traced, traced_variables, with_data
from axiomjit.tracing.lengths import converted
from axiomjit.tracing.tracer import Tracer


def _is_date(dtype: Any) -> bool:
    return isinstance(dtype, np.dtype) and issubclass(dtype.type, np.datetime64 | np.timedelta64)


def _has_numbers(dtype: Any) -> bool:
    """True for integers and floats."""
    return dtype in CODES and not (is_bool(dtype) or is_complex(dtype))


def _can_hold_nan(dtype: Any) -> bool:
    return is_float(dtype) or is_complex(dtype)


def _holds_traced(value: Any) -> bool:
    """True for a DataArray or Dataset with traced data or coordinates."""
    return any(map(is_traced, flatten_tree(value)[0]))


def _refuse(asked: str, seen: str) -> Any:
    remedy = "call it outside the compiled function"
    raise refused(NeedsValuesError(asked, seen, remedy, user_location()))


def _data(value: Any) -> Any:
    """The data of a variable or DataArray if they are traced, else its `values`."""
    variable = value if isinstance(value, xarray.Variable) else value._variable
    return variable._data if is_traced(variable._data) else variable.values


def _item(value: Any, *place: Any) -> Any:
    """The only element, or the element at a position, as a Python number."""
    data = _data(value)
    if not is_traced(data):
        return data.item(*place)
    number = data.reshape(()) if not place else np.ravel(data)[place[0]]
    kind = ELEMENT_TYPES[data.dtype].python
    found = converted(kind, number)
    return number.item() if found is None else found


def _zeros(value: Any) -> Any:
    """A DataArray or Dataset with the same labels and zeros in place of traced data."""
    leaves: Any
    leaves, structure = flatten_tree(value)
    shapes = [tuple(map(int, one.shape)) if is_traced(one) else None for one in leaves]
    known = (
        leaf if shape is None else np.zeros(shape, leaf.dtype)
        for leaf, shape in zip(leaves, shapes, strict=True)
    )
    return unflatten_tree(structure, iter(known))


def _with_data(labels: Any, dims: tuple[Any, ...], data: Any) -> Any:
    """A variable with the labels of `labels` and with `data`, whose dimensions are `dims`."""
    made = xarray.Variable(dims, data, fastpath=True).transpose(*labels.dims)
    return labels._replace(data=made._data)


# Interpolation


def _positions(index: Any, wanted: Any, method: str) -> tuple[Any, Any, Any]:
    """The positions of the neighbours below and above each wanted value, and the distance.

    The distance is a pair: from the lower neighbour to the wanted value (NaN outside the index),
    and from the lower to the upper neighbour. For the method "nearest", both positions are those of
    the nearest neighbour, and the distance is 0, or NaN outside the index.
    """
    order = np.argsort(index, kind="stable")
    x = index[order]
    if _is_date(x.dtype):
        wanted, x = (wanted - x[0]).astype(np.float64), (x - x[0]).astype(np.float64)
    inside = (wanted >= x[0]) & (wanted <= x[-1])
    if method == "nearest":
        nearest = np.searchsorted((x[1:] + x[:-1]) / 2.0, wanted, side="left")
        chosen = order[np.clip(nearest, 0, len(x) - 1)]
        return chosen, chosen, np.where(inside, 0.0, np.nan)
    above = np.clip(np.searchsorted(x, wanted), 1, len(x) - 1)
    below = above - 1
    distance = np.where(inside, wanted - x[below], np.nan), x[above] - x[below]
    return order[below], order[above], distance


def _interpolated(variable: Any, dim: Any, index: Any, wanted: Any, method: str) -> Any:
    """A traced variable interpolated at the values `wanted` along one dimension."""
    below, above, distance = _positions(index, np.atleast_1d(wanted.values), method)
    place = variable.dims.index(dim)
    low = np.take(variable._data, below, axis=place)
    shape = [1] * variable.ndim
    shape[place] = len(below)
    if method == "nearest":
        made = low + distance.reshape(shape)
    else:
        offset, step = (np.asarray(one).reshape(shape) for one in distance)
        slope = (np.take(variable._data, above, axis=place) - low) / step
        made = slope * offset + low
    dims = list(variable.dims)
    if wanted.ndim == 0:
        made = np.squeeze(made, axis=place)
        del dims[place]
    else:
        dims[place] = wanted.dims[0]
    return xarray.Variable(dims, made, fastpath=True)


def _interpolate_dataset(
    dataset: Any,
    coords: Any = None,
    method: str = "linear",
    assume_sorted: bool = False,
    kwargs: Any = None,
    **more: Any,
) -> Any:
    """The traced form of `Dataset.interp`: linear or nearest, along indexed dimensions."""
    others = {k: more.pop(k) for k in ("method_non_numeric",) if k in more}
    wanted = {**(coords or {}), **more}
    if not _holds_traced(dataset):
        return xarray.Dataset.interp(dataset, wanted, method, assume_sorted, kwargs, **others)
    if method not in ("linear", "nearest") or kwargs or assume_sorted:
        _refuse(f"interp(method={method!r}) of a traced array", "options for which SciPy runs")
    if _holds_traced(list(wanted.values())):
        _refuse("interp of a traced array", "places that are not known")
    made = xarray.Dataset.interp(_zeros(dataset), wanted, method, **others)
    for dim in wanted:
        if dim not in dataset._indexes or made[dim].ndim > 1 or made[dim].dims not in ((), (dim,)):
            _refuse("interp of a traced array", f"{dim}, along which it is no indexed dimension")
    variables = {}
    for name, variable in dataset._variables.items():
        if not is_traced(variable._data):
            continue
        found = variable
        for dim in wanted:
            if dim in variable.dims:
                index = dataset._variables[dim].values
                found = _interpolated(found, dim, index, made[dim].variable, method)
        variables[name] = _with_data(made._variables[name], found.dims, found._data)
    return made._replace({**made._variables, **variables})


def _interpolate(array: Any, *args: Any, **kwargs: Any) -> Any:
    """The traced form of `DataArray.interp`."""
    return array._from_temp_dataset(_interpolate_dataset(array._to_temp_dataset(), *args, **kwargs))


def _interpolate_like(
    array: Any, other: Any, method: str = "linear", assume_sorted: bool = False, kwargs: Any = None
) -> Any:
    """The traced form of `interp_like`, along dimensions that are indexed in `other`."""
    coords = {
        dim: other._coords[dim] if isinstance(other, xarray.DataArray) else other._variables[dim]
        for dim in other.dims
        if dim in array.dims and dim in other._indexes
    }
    if not all(_has_numbers(one.dtype) or _is_date(one.dtype) for one in coords.values()):
        _refuse("interp_like of a traced array", "an index without numbers")
    kind = _interpolate if isinstance(array, xarray.DataArray) else _interpolate_dataset
    return kind(array, coords, method, assume_sorted, kwargs)


# Labels of extremes


def _labels_of_extremes(name: str) -> Callable[..., Any]:
    """The traced form of `DataArray.idxmax` or `idxmin`."""
    own: Any = getattr(xarray.DataArray, f"idx{name}")

    def idx(
        array: Any,
        dim: Any = None,
        *,
        skipna: bool | None = None,
        fill_value: Any = xarray.core.dtypes.NA,
        keep_attrs: bool | None = None,
    ) -> Any:
        options: dict[str, Any] = {"skipna": skipna, "keep_attrs": keep_attrs}
        if not is_traced(array._variable._data):
            return own(array, dim, fill_value=fill_value, **options)
        labels = own(_zeros(array), dim, fill_value=fill_value, **options)
        along = array.dims[0] if dim is None else dim
        index = array._coords[along]
        if not _has_numbers(index.dtype):
            _refuse(f"idx{name} of a traced array", f"{along}, whose index has no numbers")
        skips = skipna or (skipna is None and _can_hold_nan(array.dtype))
        if skips:
            empty = array.isnull().all(along)
            array = array.where(~empty, 0)
        place = getattr(array, f"arg{name}")(along, skipna=skipna)
        values = Tracer(as_node(index.values, f"idx{name}"))
        made: Any = np.take(values, place._variable._data)
        if skips:
            fill = np.nan if fill_value is xarray.core.dtypes.NA else fill_value
            made = np.where(empty._variable._data, fill, made)
        coords = {k: v._data for k, v in traced_variables(array)[1].items() if k in labels.coords}
        return with_data(labels, {DATA: made.astype(labels.dtype), **coords})

    return idx


# Polynomials


def _traced_fit(own: Any) -> Callable[..., Any]:
    """The traced form of `polyfit`; by default it skips missing values only if there are some."""

    def fit(value: Any, dim: Any, deg: int, skipna: bool | None = None, **options: Any) -> Any:
        if skipna is None:
            leaves: list[Any] = [one for one in flatten_tree(value)[0] if is_traced(one)]
            floats = [one for one in leaves if _can_hold_nan(one.dtype)]
            skipna = any(bool(np.isnan(one).any()) for one in floats) if floats else None
        return own(value, dim, deg, skipna, **options)

    return fit


def traced_forms() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Yield each function of xarray that has a traced form, its name, and the traced form."""
    yield from xarray_groups.traced_forms()
    for kind in (xarray.DataArray, xarray.Variable):
        for name, ours in {"values": _data, "to_numpy": _data, "item": _item}.items():
            held: Any = getattr(kind, name)
            yield getattr(held, "fget", held), f"{kind.__name__}.{name}", ours
    array: Mapping[str, Callable[..., Any]] = {
        "interp": _interpolate,
        "interp_like": _interpolate_like,
        "idxmax": _labels_of_extremes("max"),
        "idxmin": _labels_of_extremes("min"),
        "polyfit": _traced_fit(xarray.DataArray.polyfit),
    }
    for name, ours in array.items():
        yield getattr(xarray.DataArray, name), f"DataArray.{name}", ours
    dataset: Mapping[str, Callable[..., Any]] = {
        "interp": _interpolate_dataset,
        "interp_like": _interpolate_like,
        "polyfit": _traced_fit(xarray.Dataset.polyfit),
    }
    for name, ours in dataset.items():
        yield getattr(xarray.Dataset, name), f"Dataset.{name}", ours
