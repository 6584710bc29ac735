"""Split DataArrays and Datasets of xarray into arrays and labels, and build them again.

Labels are dimensions, names, attributes, and coordinates that have an index or hold no numbers;
calls with equal labels share a program. The data and the other coordinates are arrays. Objects are
built by xarray's constructors without checks, which take a thirtieth of the time.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import numpy as np
import xarray
from xarray.core.dataset import calculate_dimensions

from axiomjit.base.array_values import ArrayValue
from axiomjit.base.dtypes import CODES
from axiomjit.base.tree import ComparedByValue, ContainerForm, Keys, KeysAndParts
from axiomjit.dispatch.arguments import static_key

_COMPARED_BY_BYTES: Final = "mMUSV"
"""The kinds of dtypes whose values are compared by their bytes."""


def _key_of(values: Mapping[Any, Any] | None) -> object:
    """The cache key of attributes or of an encoding."""
    if not values:
        return None
    if {*map(type, values), *map(type, values.values())} == {str}:
        return tuple(values.items())
    return static_key(dict(values))


def _key_of_name(name: Any) -> object:
    return name if name is None or type(name) is str else static_key(name)


def _data_of(variable: Any) -> Any:
    """The array of a variable; a lazy array is computed, and an array in a file is loaded."""
    data = variable._data
    if type(data) is np.ndarray:
        return data
    if issubclass(type(data), ArrayValue):
        return data.as_argument()
    return variable.data if isinstance(data, _LAZY) else data


_NUMBERS: Final = frozenset({dtype.type for dtype in CODES})
"""The classes of NumPy's numbers, which xarray stores as arrays without dimensions."""
_LAZY: Final[Any] = xarray.core.indexing.ExplicitlyIndexed
_SLOTS: Final = {"_attrs", "_data", "_dims", "_encoding"}
_HAS_KNOWN_SLOTS: Final = {
    name for kind in xarray.IndexVariable.__mro__ for name in getattr(kind, "__slots__", ())
} == _SLOTS
"""True if variables have exactly the attributes in `_SLOTS`, so that they can be made without a
constructor.
"""


def _new_variable(kind: Any, dims: Any, data: Any) -> Any:
    """A variable made without xarray's constructor, which takes ten times as long."""
    if not _HAS_KNOWN_SLOTS:
        return kind(dims, data, None, None, fastpath=True)
    made = object.__new__(kind)
    made._dims, made._data, made._attrs, made._encoding = dims, data, None, None
    return made


class LabelsOfVariable:
    """The labels of one variable; `fixed` has its data if the data belong to the labels."""

    __slots__ = ("attrs", "dims", "encoding", "fixed", "key", "kind", "name")

    def __init__(self, name: Any, variable: Any, fixed: bool, indexed: bool) -> None:
        """Read the labels of a variable; attributes are copied, since the user may change them.

        The values of an `indexed` variable are compared by its index, not here.
        """
        self.name, self.kind, self.dims = name, type(variable), variable._dims
        self.attrs = dict(variable._attrs) if variable._attrs else None
        self.encoding = dict(variable._encoding) if variable._encoding else None
        self.fixed = variable._data if fixed else None
        details = _key_of(self.attrs), _key_of(self.encoding)
        values = variable._data.dtype if indexed else None
        if fixed and not indexed:
            values = _key_of_data(np.asarray(variable._data))
        self.key = name, self.kind, self.dims, details, values

    def build(self, data: Any) -> Any:
        """The variable with these labels and with `data`, unless the data belong to the labels."""
        if self.fixed is None:
            data = np.asarray(data) if type(data) in _NUMBERS else data
            made = _new_variable(xarray.Variable, self.dims, data)
        else:
            held = self.fixed.copy() if isinstance(self.fixed, np.ndarray) else self.fixed
            made = _new_variable(self.kind, self.dims, held)
        if self.attrs is not None:
            made._attrs = dict(self.attrs)
        if self.encoding is not None:
            made._encoding = dict(self.encoding)
        return made


def _key_of_data(data: np.ndarray) -> object:
    if data.dtype.kind in _COMPARED_BY_BYTES:
        return data.dtype, data.shape, data.tobytes()
    return data.dtype, data.shape, static_key(data.ravel().tolist())


class Labels(ComparedByValue):
    """All labels of a DataArray or Dataset.

    `variables` has the labels of each variable, `indexes` the index of each indexed coordinate,
    `more` the key of labels of the whole object.
    """

    __slots__ = ("_hash", "_key", "indexes", "more", "variables")

    def __init__(
        self, variables: Sequence[LabelsOfVariable], indexes: Mapping[Any, Any], more: object = None
    ) -> None:
        """Store the labels; two `Labels` are equal if all parts are; `equals` compares indexes."""
        self.variables, self.indexes, self.more = variables, dict(indexes), more
        self._key = tuple(one.key for one in variables), tuple(indexes), more
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if not isinstance(other, Labels) or self._hash != other._hash or self._key != other._key:
            return False
        return all(
            one is two or (type(one) is type(two) and _are_equal(one, two))
            for one, two in zip(self.indexes.values(), other.indexes.values(), strict=True)
        )

    def __repr__(self) -> str:
        return f"labels of {', '.join(str(one.name) for one in self.variables)}"

    def built(self, arrays: Iterable[Any]) -> dict[Any, Any]:
        """The variables by name, with these arrays as data."""
        given = iter(arrays)
        return {
            one.name: one.build(next(given) if one.fixed is None else None)
            for one in self.variables
        }


def _are_equal(one: Any, other: Any) -> bool:
    held = getattr(one, "index", None)
    if held is not None and held is getattr(other, "index", one):
        return True
    return bool(one.equals(other))


def _parts(
    variables: Iterable[tuple[Any, Any]], indexes: Mapping[Any, Any], coords: Iterable[Any]
) -> tuple[list[LabelsOfVariable], list[Any]]:
    """The labels of variables, and the arrays of those whose data do not belong to the labels."""
    labels, arrays = [], []
    coordinates = frozenset(coords)
    for name, variable in variables:
        indexed = name in indexes
        fixed = indexed or isinstance(variable, xarray.IndexVariable)
        data = None if fixed else _data_of(variable)
        if name in coordinates and not fixed:
            fixed = getattr(data, "dtype", None) not in CODES
        labels.append(LabelsOfVariable(name, variable, fixed, indexed))
        if not fixed:
            arrays.append(data)
    return labels, arrays


class _Data:
    """The key of a DataArray's data in dictionaries whose other keys are names of coordinates."""

    def __repr__(self) -> str:
        return "the data"


_DATA: Final = _Data()


def _array_apart(value: Any) -> KeysAndParts:
    coords = value._coords
    variables = ((_DATA, value._variable), *coords.items())
    labels, arrays = _parts(variables, value._indexes, coords)
    return (Labels(labels, value._indexes, _key_of_name(value._name)), value._name), arrays


def _build_array(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    labels: Any = keys[0]
    variables = labels.built(parts)
    data = variables.pop(_DATA)
    return kind(data, variables, name=keys[1], indexes=dict(labels.indexes), fastpath=True)


def _dataset_apart(value: Any) -> KeysAndParts:
    names = frozenset(value._coord_names)
    labels, arrays = _parts(value._variables.items(), value._indexes, names)
    attrs = dict(value._attrs) if value._attrs else None
    encoding = dict(value._encoding) if value._encoding else None
    more = names, _key_of(attrs), _key_of(encoding)
    return (Labels(labels, value._indexes, more), _DatasetDetails(names, attrs, encoding)), arrays


def _data_of_array(keys: Any) -> list[bool]:
    return [one.name is _DATA for one in keys[0].variables if one.fixed is None]


def _data_of_dataset(keys: Any) -> list[bool]:
    return [one.name not in keys[1].names for one in keys[0].variables if one.fixed is None]


class _DatasetDetails(ComparedByValue):
    """The names, attributes and encoding of a Dataset, which `Labels` compares."""

    __slots__ = ("attrs", "encoding", "names")

    def __init__(self, names: frozenset[Any], attrs: Any, encoding: Any) -> None:
        self.names, self.attrs, self.encoding = names, attrs, encoding

    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _DatasetDetails)


def _build_dataset(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    labels: Any = keys[0]
    whole: Any = keys[1]
    variables = labels.built(parts)
    return kind._construct_direct(
        variables,
        set(whole.names),
        calculate_dimensions(variables),
        None if whole.attrs is None else dict(whole.attrs),
        dict(labels.indexes),
        None if whole.encoding is None else dict(whole.encoding),
    )


FORMS: Final[Mapping[Any, ContainerForm]] = {
    xarray.DataArray: ContainerForm(
        _array_apart, _build_array, is_labelled=True, are_data=_data_of_array
    ),
    xarray.Dataset: ContainerForm(
        _dataset_apart, _build_dataset, is_labelled=True, are_data=_data_of_dataset
    ),
}


def form_of(kind: type) -> ContainerForm | None:
    """The form that splits DataArrays or Datasets; None for derived classes."""
    return FORMS.get(kind)
