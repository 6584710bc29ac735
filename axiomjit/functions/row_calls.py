"""Trace `np.apply_along_axis`: the function of a row is traced once for all rows.

If there are few rows, the function is traced for each row. For more rows, the function is traced
with one row that stands for all rows. The function must then do nothing but compute, so that the
results for all rows are the same computation with more loops around it. `np.apply_over_axes` calls
its function once for each axis.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from itertools import count
from types import BuiltinFunctionType, CellType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.trace_context import current
from axiomjit.functions.expressions import PREFIX
from axiomjit.functions.libraries import is_users
from axiomjit.functions.outside import KNOWN_BYTES, refuse
from axiomjit.functions.sources import is_known_value
from axiomjit.graph import builder
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Node, Op, Update, note, post_order
from axiomjit.graph.primitives import COPY, JOIN, NUMBER, VIEW
from axiomjit.graph.shape_ops import pack
from axiomjit.symbolic.dims import ANY, Dim, current_scope, dim, named_length, product, symbols_in
from axiomjit.symbolic.index_maps import IndexMap, compose, fixed, identity, iterator
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer, new_array


def batched(result: Node, row: Node, rows: Node) -> Node | None:
    """The result for each row of an array, from the result for one row; None if impossible.

    Args:
        result: The node that is computed from one row.
        row: The node that represents one row, and is used for nothing else.
        rows: The array of all rows. The last dimensions of the array are the dimensions of a row;
            its other dimensions become the first dimensions of the returned node.
    """
    more = rows.shape[: len(rows.shape) - len(row.shape)]
    made: dict[Node, Node] = {row: rows}
    for node in post_order((result,)):
        if node in made or not any(child in made for child in node.children):
            continue
        assert isinstance(node, Op)
        if isinstance(node.primitive, LibraryOperation) or node.conditions:
            return None
        made[node] = note(_with_iterators(node, made, more))
    if result in made:
        return made[result]
    shape = (*more, *result.shape)
    return builder.broadcast_to(builder.strong(result), shape)


def _with_iterators(node: Op, made: dict[Node, Node], more: tuple[Dim, ...]) -> Op:
    """The node with the extents `more` in front, reading batched operands from `made`."""
    if node.primitive is NUMBER:
        node = node.replace(primitive=COPY)
    count = len(more)
    outer = [iterator(count + k) for k in range(len(node.extents))]
    operands, maps = list[Node](), list[IndexMap]()
    for place, (child, index) in enumerate(zip(node.operands, node.maps, strict=True)):
        found, inner = made.get(child), compose(index, outer)
        if found is None and isinstance(node, Update) and place == 0:
            found = builder.elementwise(COPY, _repeated(child, more))
        operands.append(child if found is None else found)
        maps.append(inner if found is None else (*identity(count), *inner))
    parts = {
        **{"operands": tuple(operands), "maps": tuple(maps), "rank": node.rank + count},
        "extents": (*more, *node.extents),
    }
    if node.primitive is JOIN:
        every = tuple((dim(0), n) for n in more)
        parts["regions"] = tuple((*every, *region) for region in node.regions)
    if isinstance(node, Update):
        parts["whole"] = (*more, *node.whole)
    return node.replace(**parts)


def _repeated(node: Node, more: Sequence[Dim]) -> Node:
    """The node, broadcast along the leading dimensions `more`."""
    return builder.broadcast_to(node, (*more, *node.shape))


_NAME: Final = "apply_along_axis"
MOST_ROWS: Final = 8
"""The largest number of rows for which the function is traced row by row."""
_numbers: Final = count()


def along_axis(calls: Any, func1d: Any, axis: Any, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """The result of `np.apply_along_axis` for a traced array.

    Raises:
        ValueError: there are no rows.
        NeedsValuesError: there are many rows, and the function does more than compute.
    """
    if not issubclass(type(arr), Tracer) or not arr.node.shape:
        return NotImplemented
    rank = len(arr.node.shape)
    along = normalize_axis_index(int(axis), rank)
    rows = np.moveaxis(arr, along, -1)
    lengths = rows.node.shape[:-1]
    if any(n == 0 for n in lengths):
        raise ValueError("Cannot apply_along_axis when any iteration dimensions are 0")
    call = functools.partial(_result, calls, func1d, args, kwargs)
    number = product(lengths).constant
    if number is not None and number <= MOST_ROWS:
        made = _one_by_one(call, rows, [int(n) for n in lengths])
    else:
        made = _all_at_once(call, rows, _Watched(calls, rows, func1d, *args, *kwargs.values()))
    order = [*range(along), *range(len(lengths), len(made.shape)), *range(along, len(lengths))]
    return new_array(builder.transpose(pack(made), order))


def over_axes(calls: Any, func: Any, a: Any, axes: Any) -> Any:
    """The result of `np.apply_over_axes` for a traced array.

    Raises:
        ValueError: the function gives an array of another rank.
    """
    if not issubclass(type(a), Tracer):
        return NotImplemented
    value = a
    for axis in (axes,) if isinstance(axes, int) else axes:
        along = a.ndim + axis if axis < 0 else axis
        found = calls.call(func, value, along)
        if found.ndim != value.ndim:
            found = np.expand_dims(found, along)
        if found.ndim != value.ndim:
            raise ValueError("function is not returning an array of the correct shape")
        value = found
    return value


_REMEDY: Final = "apply a function with an axis, or write a loop over the rows"


def _result(calls: Any, function: Any, args: Any, kwargs: Any, row: Tracer) -> Node:
    """The function's result for a row, as an array."""
    found = calls.call(function, row, *args, **kwargs)
    return builder.strong(builder.as_node(node_of(found), _NAME))


def _one_by_one(call: Callable[[Any], Node], rows: Any, lengths: Sequence[int]) -> Node:
    """The results of all rows; the dimensions of the rows come first."""
    found = [call(rows[(*place, ...)]) for place in np.ndindex(*lengths)]
    first = found[0]
    if any((one.dtype, one.shape) != (first.dtype, first.shape) for one in found):
        refuse("applies a function to rows that gives results of several types", _REMEDY)
    nested: Any = found
    for n in lengths[:0:-1]:
        nested = [nested[k : k + n] for k in range(0, len(nested), n)]
    return builder.as_node(nested, _NAME) if lengths else first


def _all_at_once(call: Callable[[Any], Node], rows: Any, watched: _Watched) -> Node:
    """The results of all rows, from one trace with a row whose index is symbolic.

    Raises:
        NeedsValuesError: the function does more than compute, or its computation is no loop.
    """
    places = [named_length(f"row{next(_numbers)}", ANY) for _ in rows.node.shape[:-1]]
    symbols = symbols_in(*places)
    scope = current_scope()
    scope.values.update(dict.fromkeys(symbols, 0))
    index = (*map(fixed, places), iterator(0))
    seen = Op(rows.dtype, VIEW, None, (rows.node,), (index,), rows.node.shape[-1:], 1)
    row = Tracer(note(seen), rows.storage)
    found = call(row)
    watched.check(row.node)
    made = batched(found, row.node, rows.node)
    if made is None or any(symbols & symbols_in(one.left, one.right) for one in scope.guards):
        refuse("applies a function to rows that is no loop", _REMEDY)
    for one in symbols:
        del scope.values[one]
    return made


class _Watched:
    """The state that a function of a row could change, stored before the trace for all rows.

    Raises:
        NeedsValuesError: the function refers to an object or gets an object whose changes would not
            be noticed.
    """

    def __init__(self, calls: Any, rows: Tracer, *given: object) -> None:
        self._calls, self._storages, self._cells = calls, [rows.storage], list[Any]()
        self._arrays = list[tuple[np.ndarray, bytes]]()
        self._seen = set[int]()
        self._note(given)
        self._before = self._state()
        following = current()
        self._checks = 0 if following is None else len(following.may_fail)

    def _note(self, value: Any) -> None:
        if id(value) in self._seen:
            return
        self._seen.add(id(value))
        kind = type(value)
        if issubclass(kind, Tracer):
            self._storages.append(value.storage)
        elif kind is np.ndarray and value.nbytes <= KNOWN_BYTES:
            self._arrays.append((value, value.tobytes()))
        elif kind is tuple:
            for one in value:
                self._note(one)
        elif kind is functools.partial:
            self._note((value.func, *value.args, *value.keywords.values()))
        elif kind is FunctionType:
            pairs = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
            cells = [cell for name, cell in pairs if not name.startswith(PREFIX)]
            self._cells += cells
            held = [cell.cell_contents for cell in cells if _is_filled(cell)]
            self._note((*held, *(value.__defaults__ or ()), *(value.__kwdefaults__ or {}).values()))
        elif not (is_known_value(value) or _is_unchanged(value)):
            refuse(f"applies a function to rows that may change a {kind.__name__}", _REMEDY)

    def _state(self) -> list[object]:
        following, scope = current(), current_scope()
        assert following is not None
        effects = len(self._calls.outside.effects), len(scope.computed)
        versions = [id(one.version) for one in self._storages if one is not None]
        held = [_is_filled(cell) and id(cell.cell_contents) for cell in self._cells]
        arrays = [array.tobytes() == before for array, before in self._arrays]
        return [*effects, id(following.last), *versions, *held, *arrays]

    def check(self, row: Node) -> None:
        """Refuse a function of a row that has done more than compute.

        Raises:
            NeedsValuesError: the function has written, drawn, warned, or asked for the values of a
                row.
        """
        following = current()
        assert following is not None
        checks = tuple(n for n in following.may_fail[self._checks :] if isinstance(n, Node))
        if self._state() != self._before or row in post_order(checks):
            refuse("applies a function to rows that does more than to compute", _REMEDY)


_UNCHANGED: Final = (*(BuiltinFunctionType, ModuleType, np.ufunc, type(np.sum), SymbolicNumber),)


def _is_unchanged(value: Any) -> bool:
    """True for objects whose changes by a function are noticed, or that cannot change."""
    kind = type(value)
    return issubclass(kind, _UNCHANGED) or (issubclass(kind, type) and not is_users(value))


def _is_filled(cell: CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True
