"""Find and replace the traced data and coordinates of DataArrays and Datasets."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, Final

import numpy as np
import xarray

from axiomjit.graph.traced_values import TracedValue

DATA: Final = object()
"""The key of a DataArray's data in dictionaries whose other keys are names of coordinates."""


def is_traced(data: Any) -> bool:
    """True for a traced array."""
    return issubclass(type(data), TracedValue)


def traced_variables(value: Any) -> tuple[dict[Any, Any], dict[Any, Any]]:
    """The traced data and the traced coordinates of a DataArray or Dataset, by name."""
    if isinstance(value, xarray.DataArray):
        data, coords = {DATA: value._variable}, value._coords
    else:
        coords = {k: v for k, v in value._variables.items() if k in value._coord_names}
        data = {k: v for k, v in value._variables.items() if k not in coords}
    made = [{k: v for k, v in one.items() if is_traced(v._data)} for one in (data, coords)]
    return made[0], made[1]


def with_data(value: Any, data: Mapping[Any, Any]) -> Any:
    """A DataArray or Dataset in which some variables have other data with the same dimensions."""

    def replaced(variables: Mapping[Any, Any]) -> dict[Any, Any]:
        return {k: v._replace(data=data[k]) if k in data else v for k, v in variables.items()}

    if isinstance(value, xarray.DataArray):
        variable = replaced({DATA: value._variable})[DATA]
        return value._replace(variable, replaced(value._coords))
    return value._replace(replaced(value._variables))


def with_lengths(value: Any, like: Any, dims: Collection[Any]) -> Any:
    """A DataArray or Dataset whose dimensions `dims`, of length 1, are repeated to fit `like`.

    The coordinates along these dimensions are those of `like`; data are views. None if a coordinate
    is not in `like`.
    """
    lengths = {name: like.sizes[name] for name in dims}

    def repeated(variable: Any) -> Any:
        pairs = zip(variable.dims, variable.shape, strict=True)
        shape = tuple(lengths.get(name, n) for name, n in pairs)
        return variable._replace(data=np.broadcast_to(variable.values, shape))

    several = isinstance(value, xarray.Dataset)
    variables = dict(value._variables if several else value._coords)
    names = {*value.coords}
    for name, one in variables.items():
        if name not in names:
            variables[name] = repeated(one)
        elif not lengths.keys().isdisjoint(one.dims):
            if name not in like.coords or like.coords[name].dims != one.dims:
                return None
            variables[name] = like.coords[name].variable
    indexes = {
        name: index if lengths.keys().isdisjoint(variables[name].dims) else like._indexes[name]
        for name, index in value._indexes.items()
    }
    if several:
        sizes = {name: lengths.get(name, n) for name, n in value.sizes.items()}
        return value._replace(variables, dims=sizes, indexes=indexes)
    return value._replace(repeated(value._variable), variables, indexes=indexes)
