"""Reads of lists that contain `ListItems`, the items that a loop has appended as a region.

The length, items, slices and conversions to arrays use the array of the items. Before any other
use, the items are put into the list one by one, if their number is known. If conditions decide how
many items there are, the function is traced again, with each trip of the loop traced separately.
"""

from __future__ import annotations

import builtins
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import FLOAT, INT
from axiomjit.base.locks import lazy_import
from axiomjit.base.tree import Several
from axiomjit.functions.array_calls import call_numpy
from axiomjit.functions.loop_hooks import MOST_REFUSED, SHORT
from axiomjit.functions.outside import TraceAgain, in_region
from axiomjit.graph.builder import python_number
from axiomjit.graph.closing import RegionRefused
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import current_scope
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.list_items import ListItems, is_appended
from axiomjit.tracing.python_numbers import extreme
from axiomjit.tracing.tracer import Tracer

if TYPE_CHECKING:
    from axiomjit.functions.calls import Calls

_COMPENSATED: Final = (3, 12)
"""From this version of Python on, `sum` adds Python's floats with a smaller rounding error."""
_OF_ARRAYS: Final = frozenset(
    {
        *(np.array, np.asarray, np.asanyarray, np.ascontiguousarray, np.sum, np.mean, np.std),
        *(np.var, np.min, np.max, np.amin, np.amax, np.median, np.prod, np.cumsum, np.cumprod),
        *(np.diff, np.sort, np.argsort, np.argmax, np.argmin, np.any, np.all, np.ptp, np.dot),
        *(np.abs, np.sqrt, np.exp, np.log, np.shape, np.ndim, np.size, np.nanmean, np.nansum),
        *(np.average, np.percentile, np.quantile, np.count_nonzero, np.isnan, np.round),
        *(np.trapezoid, np.unique, np.flip, np.linalg.norm, np.maximum, np.minimum, np.add),
        *(np.subtract, np.multiply, np.divide, np.vdot, np.inner, np.outer, np.transpose),
        *(np.cov, np.corrcoef, np.histogram, np.convolve, np.interp, np.isclose, np.allclose),
    }
)
"""NumPy's functions to which a list is the same as the array that `numpy.array` makes of it."""
_JOINS: Final = (np.stack, np.vstack, np.hstack, np.concatenate, np.column_stack)


def whole(value: list[Any]) -> ListItems | None:
    """The `ListItems` of a list that has no other items; None for other lists."""
    return value[0] if len(value) == 1 and type(value[0]) is ListItems else None


def put_items(calls: Calls, value: list[Any]) -> None:
    """Put the items into a list one by one.

    Raises:
        RegionRefused: a loop that is being traced would have to know the items.
        TraceAgain: a condition decides how many items there are.
    """
    counts = {}
    for place, one in enumerate(value):
        if issubclass(type(one), Several):
            known = _known_count(one)
            if known is None:
                _refuse(calls, one)
            counts[place] = known
    parts = [
        one.items(counts[place]) if place in counts else (one,) for place, one in enumerate(value)
    ]
    value[:] = [item for part in parts for item in part]


def _known_count(items: Any) -> int | None:
    """The number of items in the traced call, which a guard records; None if it is not known."""
    if type(items) is not ListItems or items.filled is not None:
        return None
    count, indices = items.array.node.shape[0], current_scope().indices
    if data_dependent_in(count) or (indices is not None and indices.occur_in(count)):
        return None
    return int(count)


def _refuse(calls: Calls, items: Any) -> NoReturn:
    reason = "a list of which more is read than its items in order"
    if in_region() or type(items) is not ListItems:
        raise RegionRefused(reason)
    wanted = calls.outside.wanted
    wanted.repeated[items.source, False] = f": {reason}"
    wanted.may_have_regions = len(wanted.repeated) < MOST_REFUSED
    raise TraceAgain


def opened(calls: Calls, value: Any) -> Any:
    """The value, after all items were put one by one into the lists in it."""
    if is_appended(value):
        put_items(calls, value)
    if type(value) in (list, tuple):
        for one in value:
            opened(calls, one)
    elif type(value) is dict:
        for one in value.values():
            opened(calls, one)
    return value


def length_of(value: list[Any]) -> Any:
    """The result of `len(value)`."""
    found: Any = 0
    for one in value:
        if issubclass(type(one), Several) and type(one) is not ListItems:
            raise RegionRefused("the length of a list that the loop appends to")
        found = found + (one.number() if type(one) is ListItems else 1)
    return found


def key_of(calls: Calls, key: Any) -> Any:
    """A key of an array, with arrays in place of lists."""
    if type(key) is tuple:
        return tuple(key_of(calls, one) for one in key)
    return as_array(calls, key) if is_appended(key) else key


def item_of(calls: Calls, value: list[Any], key: Any) -> Any:
    """The result of `value[key]`."""
    items = whole(value)
    if items is not None:
        if isinstance(key, slice):
            return [items.part(key)]
        if _is_place(key):
            return items.item(key)
    elif type(key) is int:
        before = next(k for k, one in enumerate(value) if issubclass(type(one), Several))
        behind = next(k for k, one in enumerate(value[::-1]) if issubclass(type(one), Several))
        if -behind <= key < before:
            return value[key]
        last = value[-behind - 1]
        if key == -behind - 1 and type(last) is ListItems and last.count > 0:
            return last.item(-1)
    put_items(calls, value)
    return calls.item(value, key)


def _is_place(key: Any) -> bool:
    if issubclass(type(key), Tracer):
        return not key.is_array and key.node.dtype == INT
    return isinstance(key, int | np.integer | SymbolicInt) and not isinstance(key, bool)


def as_array(calls: Calls, value: list[Any]) -> Any:
    """The new array that `numpy.array` makes of a list."""
    for one in value:
        if type(one) is not ListItems and issubclass(type(one), Several):
            raise RegionRefused("a list that the loop appends to, as an array")
    items = whole(value)
    if items is not None and items.is_of_numbers and items.kind.leaf.dtype == FLOAT:
        return items.copy()
    if any(type(one) is ListItems and not one.count > 0 for one in value):
        put_items(calls, value)
        return calls.call(np.array, value)
    if items is not None:
        return items.copy()
    parts, rest = list[Any](), list[Any]()
    for one in value:
        if type(one) is ListItems:
            parts += [calls.call(np.array, rest)] if rest else []
            parts.append(one.copy())
            rest = []
        else:
            rest.append(one)
    parts += [calls.call(np.array, rest)] if rest else []
    return call_numpy(np.concatenate, [parts], {})


def called(calls: Calls, function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The result of a function that can use the array of the items; NotImplemented for others."""
    if not any(map(is_appended, args)):
        return NotImplemented
    if function is list and len(args) == 1:
        return list(args[0])
    found = _folded(calls, function, args, kwargs)
    found = _joined(function, args, kwargs) if found is NotImplemented else found
    if found is NotImplemented and _takes_arrays(function):
        given = [as_array(calls, one) if is_appended(one) else one for one in args]
        return calls.call(function, *given, **kwargs)
    return found


def _takes_arrays(function: Any) -> bool:
    try:
        return function in _OF_ARRAYS
    except TypeError:
        return False


def _joined(function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The join of the arrays of a list, as `numpy.stack`; NotImplemented for other calls."""
    if not any(function is one for one in _JOINS) or len(args) != 1 or not is_appended(args[0]):
        return NotImplemented
    items = whole(args[0])
    rank = None if items is None else len(items.kind.shape)
    axis = kwargs.get("axis", 0)
    if items is None or not rank or kwargs.keys() - {"axis"} or type(axis) is not int:
        return NotImplemented
    if not items.count > 0:
        return NotImplemented
    array = items.copy()
    if function is np.stack:
        return np.moveaxis(array, 0, axis) if axis else array
    if axis or (function is np.vstack and rank > 1) or (function is np.hstack and rank > 1):
        return NotImplemented
    if function is np.vstack:
        return array
    if function is np.column_stack:
        return array.T if rank == 1 else NotImplemented
    return array.reshape((-1, *array.shape[2:]))


def _folded(calls: Calls, function: Any, args: Sequence[Any], kwargs: Any) -> Any:
    """The result of `sum`, `min`, `max`, `any` or `all` for a list; else NotImplemented."""
    fold = _FOLDS.get(function) if type(function) is type(sum) else None
    items = whole(args[0]) if fold is not None and args and is_appended(args[0]) else None
    if fold is None or items is None or not items.is_of_numbers or kwargs:
        return NotImplemented
    places = items.places.node.shape[0].constant
    if places is not None and places < SHORT and items.filled is None:
        return NotImplemented
    try:
        return fold(calls, items, *args[1:])
    except RegionRefused:
        if in_region():
            raise
        return NotImplemented


def _sum(calls: Calls, items: ListItems, start: Any = 0) -> Any:
    leaf = items.kind.leaf
    if leaf.weak and leaf.dtype != INT and sys.version_info >= _COMPENSATED:
        return NotImplemented
    late = lazy_import("axiomjit.tracing.control_flow")
    if items.filled is None:

        def add(place: Any, total: Any) -> tuple[Any]:
            return (calls.binary("+", total, items.item(place)),)

        count = items.count
    else:
        filled = items.filled

        def add(place: Any, total: Any) -> tuple[Any]:
            def more(now: Any) -> tuple[Any]:
                return (calls.binary("+", now, items.place(place)),)

            found: tuple[Any] = late.trace_cond(filled[place], more, lambda now: (now,), (total,))
            return found

        count = filled.shape[0]
    return late.trace_loop((0, count, 1), add, (start,))[1]


def _extreme(sign: str) -> Any:
    def best(calls: Calls, items: ListItems) -> Any:
        if items.filled is not None or not items.count > 0:
            return NotImplemented
        late = lazy_import("axiomjit.tracing.control_flow")

        def better(place: Any, now: Any) -> tuple[Any]:
            found = extreme(sign, [now, items.item(place)])
            if found is None:
                raise RegionRefused("the extreme of numbers that are not ordered")
            return (found,)

        return late.trace_loop((1, items.count, 1), better, (items.item(0),))[1]

    return best


def _truths(function: Any) -> Any:
    def truth(calls: Calls, items: ListItems) -> Any:
        found = np.not_equal(items.places, 0)
        if items.filled is not None:  # an empty place changes nothing
            is_all = function is np.all
            other = np.logical_not(items.filled) if is_all else items.filled
            found = (np.logical_or if is_all else np.logical_and)(found, other)
        found = function(found)
        return Tracer(python_number(found.node))

    return truth


_FOLDS: Final[dict[Any, Any]] = {
    builtins.sum: _sum,
    builtins.min: _extreme("<"),
    builtins.max: _extreme(">"),
    builtins.any: _truths(np.any),
    builtins.all: _truths(np.all),
}


def is_empty(value: list[Any]) -> bool:
    """The result of `not value`."""
    return not length_of(value) > 0
