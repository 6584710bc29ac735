"""Reduce xarray's groups by grouped folds, each of which is one loop over all elements.

xarray makes the labels: its method runs once on the ranks of groups, with a function that takes the
first element.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

import numpy as np
import xarray
from xarray.core import duck_array_ops
from xarray.core.groupby import DataArrayGroupBy, DatasetGroupBy
from xarray.core.resample import DataArrayResample, DatasetResample

from axiomjit.accumulators.fold import fold
from axiomjit.base.dtypes import CODES, is_complex, is_float
from axiomjit.base.records import Record
from axiomjit.interop.traced_variables import DATA, traced_variables, with_data, with_lengths


class Groups(Record):
    """The groups along one axis: `codes` has the number of each position's group, or -1."""

    codes: np.ndarray
    count: int
    axis: int
    skips_missing: bool
    """True if the reduction leaves out missing elements (NaN)."""

    @property
    def sizes(self) -> np.ndarray:
        """The number of elements in each group, missing elements included."""
        return np.bincount(self.codes[self.codes >= 0], minlength=self.count)

    def fold(self, name: str, values: Any) -> Any:
        """Reduce each group of values along the axis by a built-in accumulator."""
        return fold(name, values, axes=self.axis, by=self.codes, groups=self.count)

    def along(self, numbers: np.ndarray, values: Any) -> Any:
        """One number per group or position, reshaped so that it broadcasts against `values`."""
        return numbers.reshape([-1 if k == self.axis else 1 for k in range(values.ndim)])

    def counts(self, values: Any) -> Any:
        """The number of elements in each group that are not left out."""
        if self.skips_missing:
            return self.fold("sum", ~np.isnan(values))
        return self.along(self.sizes, values)

    def filled(self, values: Any, number: Any, given: Any = None) -> Any:
        """The values, with a number in place of elements that are left out.

        Elements are left out where `given`, from which the values were computed, is NaN; without
        `given`, where the values are NaN.
        """
        if not self.skips_missing:
            return values
        return np.where(np.isnan(values if given is None else given), number, values)

    def with_missing(self, values: Any, result: Any) -> Any:
        """A result with NaN for each group whose elements are all left out."""
        if not self.skips_missing:
            return result
        return np.where(self.fold("any", ~np.isnan(values)), result, result.dtype.type(np.nan))


def _count(groups: Groups, x: Any) -> Any:
    return groups.fold("sum", ~np.isnan(x) if _can_hold_nan(x.dtype) else x == x)


def _with_neutral(name: str, neutral: float) -> Callable[..., Any]:
    def reduce(groups: Groups, x: Any) -> Any:
        return groups.fold(
            name, groups.filled(x, x.dtype.type(neutral) if groups.skips_missing else None)
        )

    return reduce


def _extreme(name: str, neutral: float) -> Callable[..., Any]:
    def reduce(groups: Groups, x: Any) -> Any:
        values = groups.filled(x, x.dtype.type(neutral) if groups.skips_missing else None)
        return groups.with_missing(x, groups.fold(name, values))

    return reduce


def _mean(groups: Groups, x: Any) -> Any:
    if not groups.skips_missing:
        return groups.fold("mean", x)
    total = groups.fold("sum", groups.filled(x, x.dtype.type(0)))
    return total / groups.counts(x).astype(total.dtype)


def _variance(groups: Groups, x: Any, ddof: int = 0) -> Any:
    if not ddof and not groups.skips_missing:
        return groups.fold("variance", x)
    x = x if is_float(x.dtype) else x.astype(np.float64)
    number = groups.counts(x).astype(x.dtype)
    center = groups.fold("sum", groups.filled(x, x.dtype.type(0))) / number
    offset = x - np.take(center, np.maximum(groups.codes, 0), axis=groups.axis)
    total = groups.fold("sum", groups.filled(offset * offset, x.dtype.type(0), x))
    left = number - x.dtype.type(ddof)
    if groups.skips_missing:
        left = np.where(left > 0, left, x.dtype.type(np.nan))
    return total / np.maximum(left, x.dtype.type(0))


def _deviation(groups: Groups, x: Any, ddof: int = 0) -> Any:
    return np.sqrt(_variance(groups, x, ddof))


def _at_end(name: str) -> Callable[..., Any]:
    """The rule for the first element of each group ("min") or for the last element ("max")."""

    def reduce(groups: Groups, x: Any) -> Any:
        length = len(groups.codes)
        nowhere = length if name == "min" else -1
        order = slice(None, None, -1 if name == "min" else 1)
        ends = np.zeros(groups.count, np.int64)
        places = np.flatnonzero(groups.codes >= 0)[order]
        ends[groups.codes[places]] = places
        if not groups.skips_missing:
            return np.take(x, ends, axis=groups.axis)
        missing = np.isnan(x)
        places = groups.along(np.arange(length), x)
        found = groups.fold(name, np.where(missing, nowhere, places))
        nothing = (found < 0) | (found >= length)
        taken = np.take_along_axis(x, np.where(nothing, 0, found), axis=groups.axis)
        return np.where(nothing, x.dtype.type(np.nan), taken)

    return reduce


_REDUCTIONS: Final[Mapping[Any, Callable[..., Any]]] = {
    duck_array_ops.count: _count,
    duck_array_ops.sum: _with_neutral("sum", 0),
    duck_array_ops.prod: _with_neutral("prod", 1),
    duck_array_ops.mean: _mean,
    duck_array_ops.max: _extreme("max", -np.inf),
    duck_array_ops.min: _extreme("min", np.inf),
    duck_array_ops.var: _variance,
    duck_array_ops.std: _deviation,
    duck_array_ops.array_any: lambda groups, x: groups.fold("any", x),
    duck_array_ops.array_all: lambda groups, x: groups.fold("all", x),
    duck_array_ops.first: _at_end("min"),
    duck_array_ops.last: _at_end("max"),
}
"""The rule of the grouped fold that replaces each of xarray's reduction functions."""


def _can_hold_nan(dtype: Any) -> bool:
    return is_float(dtype)


class GroupReduction:
    """The reduction of one GroupBy object."""

    def __init__(self, grouped: Any, skipna: bool | None) -> None:
        """Find the traced variables, and each position's group as a rank among nonempty groups."""
        self._obj, self._dim, self._skipna = grouped._obj, grouped._group_dim, skipna
        self._grouped = grouped
        self._data, self._coords = traced_variables(grouped._obj)
        several = isinstance(self._obj, xarray.Dataset)
        self._count = len(self._obj.data_vars) if several else 1
        codes = grouped.group1d.variable._data
        self._present = np.unique(codes[codes >= 0])
        self._ranks = np.where(codes >= 0, np.searchsorted(self._present, codes), -1)

    @property
    def is_foldable(self) -> bool:
        """True if all data are traced and have the grouped dimension."""
        variables = self._data.values()
        return len(variables) == self._count > 0 and all(
            self._dim in one.dims and not is_complex(one.dtype) and all(map(int, one.shape))
            for one in variables
        )

    def labels(self, own: Callable[..., Any], options: Mapping[str, Any]) -> Any:
        """xarray's result for the ranks of groups as data; NaN for a group without elements."""
        data = {}
        for name, one in (*self._data.items(), *self._coords.items()):
            numbers, shape = np.zeros(()), tuple(map(int, one.shape))
            if name in self._data:
                at = one.dims.index(self._dim)
                numbers = self._ranks.reshape([-1 if k == at else 1 for k in range(one.ndim)])
            data[name] = np.broadcast_to(numbers.astype(np.float64), shape)
        whole = with_data(self._obj, data)
        # one element along the other dimensions, since xarray copies what it groups
        others = [one for one in whole.dims if one != self._dim]
        like = copy.copy(self._grouped)
        like._obj = whole.isel(dict.fromkeys(others, slice(0, 1)))

        def first(values: Any, axis: Any = None, **more: Any) -> Any:
            return np.take(values, 0, axis=axis[0] if isinstance(axis, tuple) else axis)

        made = own(like, first, **options)
        return with_lengths(made, whole, [one for one in others if one in made.dims])

    def result(self, labels: Any, rule: Callable[..., Any], options: Mapping[str, Any]) -> Any:
        """The labels with the reduced data; None if these do not fit the labels."""
        data: dict[Any, Any] = {}
        if labels is None:
            return None
        coords = {**getattr(labels, "_coords", {}), **getattr(labels, "_variables", {})}
        for name, one in self._coords.items():
            if name in coords:
                if coords[name].dims != one.dims:
                    return None
                data[name] = one._data
        for name, one in self._data.items():
            made = labels._variable if name is DATA else labels._variables.get(name)
            folded = None if made is None else self._folded(one, made, rule, options)
            if folded is None:
                return None
            data[name] = folded
        return with_data(labels, data)

    def _folded(
        self, variable: Any, made: Any, rule: Callable[..., Any], options: Mapping[str, Any]
    ) -> Any:
        """The reduced data of a variable, each group at the position of its rank in the labels."""
        x, at = variable._data, variable.dims.index(self._dim)
        rest = [one for one in variable.dims if one != self._dim]
        new = [one for one in made.dims if one not in rest]
        if len(made.dims) != len(rest) + len(new):
            return None
        ranks = made.isel(dict.fromkeys(rest, 0)).transpose(*new).values
        missing = np.isnan(ranks)
        if sorted(ranks[~missing]) != list(range(len(self._present))):
            return None
        place = np.zeros(len(self._present) + 1, np.int64)
        place[-1] = -1  # the place for rank -1
        place[ranks[~missing].astype(np.int64)] = np.flatnonzero(~missing)
        skips_missing = _can_hold_nan(x.dtype) and self._skipna is not False
        codes = place[self._ranks]
        codes.flags.writeable = False  # so that later calls need no check
        groups = Groups(codes, ranks.size, at, skips_missing)
        found = rule(groups, x, **options)
        if missing.any():
            dtype = xarray.core.dtypes.maybe_promote(found.dtype)[0]
            if dtype not in CODES:
                return None
            empty = groups.along(missing.ravel(), found)
            found = np.where(empty, dtype.type(np.nan), found.astype(dtype))
        shape = found.shape
        found = found.reshape((*shape[:at], *ranks.shape, *shape[at + 1 :]))
        dims = (*rest[:at], *new, *rest[at:])
        return np.transpose(found, [dims.index(one) for one in made.dims])


def _reduction(kind: Any) -> Callable[..., Any]:
    """The traced form of `reduce` for groups of DataArrays or Datasets."""
    own = kind.reduce

    def reduce(
        grouped: Any,
        func: Any,
        dim: Any = None,
        *,
        axis: Any = None,
        keep_attrs: bool | None = None,
        shortcut: bool = True,
        **options: Any,
    ) -> Any:
        given = {"dim": dim, "axis": axis, "keep_attrs": keep_attrs, "shortcut": shortcut}
        rule = _REDUCTIONS.get(func)
        skipna, ddof = options.get("skipna"), options.get("ddof", 0)
        known = {"skipna", "ddof", "numeric_only", "min_count"}
        if (
            rule is not None
            and axis is None
            and options.get("min_count") is None
            and known.issuperset(options)
            and dim in (None, grouped._group_dim, [grouped._group_dim], (grouped._group_dim,))
            and (folding := GroupReduction(grouped, skipna)).is_foldable
        ):
            labels = folding.labels(own, {**given, **options})
            more = {"ddof": ddof} if "ddof" in options else {}
            found = folding.result(labels, rule, more)
            if found is not None:
                return found
        return own(grouped, func, **given, **options)

    return reduce


def _without_flox(
    grouped: Any, dim: Any, keep_attrs: bool | None = None, func: str = "", **options: Any
) -> Any:
    """Reduce groups by `reduce`; xarray would call the library flox here."""
    options.pop("fill_value", None)
    name = f"array_{func}" if func in ("any", "all") else func
    return grouped.reduce(getattr(duck_array_ops, name), dim=dim, keep_attrs=keep_attrs, **options)


@lru_cache(maxsize=64)
def _folding_class(kind: Any) -> Any:
    """A subclass of a class of groups whose reductions are grouped folds."""
    own = {"__slots__": (), "reduce": _reduction(kind), "_flox_reduce": _without_flox}
    return type(kind.__name__, (kind,), own)


def _method(held: Callable[..., Any]) -> Callable[..., Any]:
    """The traced form of a method of groups, which calls the traced `reduce`."""

    def method(grouped: Any, *args: Any, **options: Any) -> Any:
        like = copy.copy(grouped)
        kind: Any = type(grouped)
        like.__class__ = _folding_class(kind)
        return held(like, *args, **options)

    return method


_METHODS: Final = (
    *("count", "sum", "prod", "mean", "max", "min", "var", "std"),
    *("any", "all", "first", "last"),
)


def traced_forms() -> Iterator[tuple[Any, str, Callable[..., Any]]]:
    """Yield each method of groups that has a traced form, its name, and the traced form."""
    kinds = (DataArrayGroupBy, DatasetGroupBy, DataArrayResample, DatasetResample)
    for kind in kinds:
        for name in _METHODS:
            held = getattr(kind, name)
            yield held, f"{kind.__name__}.{name}", _method(held)
