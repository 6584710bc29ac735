"""Fast versions of the methods of lazy arrays that record operations.

A fast version looks for the edge of the operation in the current state, without a lock; if there is
no such edge, the fast version calls the general method. Another thread that needs a value waits
until this thread runs no fast version (`segments.is_in_quick_way`).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from axiomjit.base.array_values import INFIX, OPERATOR_UFUNCS
from axiomjit.base.error_states import Harmless, error_state, user_traps_errors
from axiomjit.numpy.handles import Shared, ViewOf
from axiomjit.numpy.operations import FUNCTIONS, GET, IN_PLACE, SET
from axiomjit.numpy.paths import MAX_BYTES, State
from axiomjit.numpy.segments import CURRENT, QUICK, Segment
from axiomjit.numpy.temporaries import temporaries

Method = Callable[..., Any]
_NEW: Final[Callable[[type], Any]] = object.__new__
_NO_OPTIONS: Final[dict[str, Any]] = {}
_POSITIONS: Final = frozenset({int, type(None)})


def _number_of(now: Segment, handle: Any) -> int | None:
    """The value number of a handle, which becomes a leaf if it has none; None if impossible."""
    if handle._segment is now:
        return handle._number  # type: ignore[no-any-return]
    old, link = handle._segment, handle._link
    if link is not None and not (type(link) is Shared and link.is_lent):
        return None
    if handle._array is None or (old is not None and old.is_open):
        return None
    following = now.state.edges.get(handle._facts)
    if following is None or following.bytes > MAX_BYTES:
        return None
    values = now.values
    handle._segment, handle._number = now, len(values)
    values.append(handle)
    now.arguments.append(handle._array)
    now.state = following
    return handle._number  # type: ignore[no-any-return]


def _operand(now: Segment, kind: type, value: Any) -> Any:
    """The key of an operand; None if the general method must handle it."""
    of = type(value)
    if of is kind:
        return value._number if value._segment is now else _number_of(now, value)
    return (of, value) if of is int or (of is float and value and value == value) else None


def _recorded(now: Segment, following: State, kind: type, call: Any) -> Any:
    """The pending result of an operation whose edge is known; `call` has its arguments."""
    values = now.values
    now.state = following
    facts = following.fresh
    if facts is not None:
        made = _NEW(kind)
        made._array, made._facts, made._link = None, facts, None
        made._segment, made._number = now, len(values)
        values.append(made)
        return made
    view = following.view
    if view is not None:
        made = _NEW(kind)
        of = values[view.of]
        made._array, made._facts = None, view.facts
        made._link = ViewOf(of._link.root if type(of._link) is ViewOf else of, call)
        made._segment, made._number = now, len(values)
        values.append(made)
        return made
    for number in following.written:
        values[number]._array = None
    return None if following.same is None else values[following.same]


def _traps() -> bool:
    return error_state() is not Harmless.state and user_traps_errors()


def _varied(now: Segment, operation: Any, number: int | None, value: Any) -> State | None:
    """The next state for any number as operand; the number becomes an argument."""
    return now.state.edges.get((operation, number, type(value)))


def binary(kind: type, name: str, general: Method) -> Method:
    """The fast version of a binary operator of a lazy array.

    This function repeats the code of other functions, since their calls would take too long.
    """
    operation = FUNCTIONS[OPERATOR_UFUNCS[name]]

    def operator(self: Any, other: Any) -> Any:
        now = CURRENT.segment
        number = self._number if self._segment is now else _number_of(now, self)
        of = type(other)
        if of is kind:
            key: Any = other._number if other._segment is now else _number_of(now, other)
        else:
            key = (of, other) if (of is float and other == other and other) or of is int else None
        following = now.state.edges.get((operation, number, key))
        if following is None or (facts := following.fresh) is None:
            following = following or _varied(now, operation, number, other)
            if following is None or following.fresh is None or _traps():
                if now.is_cut(following):
                    return operator(self, other)
                return _slowly(general, self, other)
            now.arguments.append(other)
            return _recorded(now, following, kind, None)
        if error_state() is not Harmless.state and user_traps_errors():
            return general(self, other)
        made = _NEW(kind)
        made._array = made._link = None
        made._facts, made._segment = facts, now
        values = now.values
        made._number = len(values)
        values.append(made)
        now.state = following
        return made

    return operator


def reflected(general: Method) -> Method:
    """The fast version of a reflected operator, such as `__radd__`, of a lazy array."""

    def operator(self: Any, other: Any) -> Any:
        return _slowly(general, self, other)

    return operator


def _slowly(general: Method, one: Any, other: Any) -> Any:
    """The result of an operator; NumPy may use the memory of operands that are temporaries."""
    CURRENT.dying = temporaries(one, other)
    try:
        return general(one, other)
    finally:
        CURRENT.dying = ()


def in_place(kind: type, name: str, general: Method) -> Method:
    """The fast version of an operator that writes into a lazy array."""
    operation = IN_PLACE[name]

    def operator(self: Any, other: Any) -> Any:
        now = CURRENT.segment
        number = self._number if self._segment is now else _number_of(now, self)
        key = _operand(now, kind, other)
        following = now.state.edges.get((operation, number, key))
        if following is None or not following.is_quick or _traps():
            return operator(self, other) if now.is_cut(following) else general(self, other)
        return _recorded(now, following, kind, None)

    return operator


def _index_key(index: Any) -> Any:
    """The key that `encoded` gives an index of positions and slices; None for any other index."""
    of = type(index)
    if of is slice:
        start, stop, step = index.start, index.stop, index.step
        if type(start) in _POSITIONS and type(stop) in _POSITIONS and type(step) in _POSITIONS:
            return slice, start, stop, step
        return None
    if of is int or index is None or index is Ellipsis:
        return of, index
    if of is not tuple:
        return None
    parts = [_index_key(one) for one in index]
    return None if None in parts else (tuple, *parts)


def get(kind: type, general: Method) -> Method:
    """The fast version of `x[index]`, which makes a view."""

    def item(self: Any, index: Any) -> Any:
        now = CURRENT.segment
        key = _index_key(index)
        number = self._number if self._segment is now else _number_of(now, self)
        following = now.state.edges.get((GET, number, key))
        if following is None:
            following = _varied(now, GET, number, index)
            if following is not None and 0 <= index < self._facts.shape[0] and not _traps():
                now.arguments.append(index)
                return _recorded(now, following, kind, (GET, (self, index), _NO_OPTIONS))
        if following is None or not following.is_quick or _traps():
            return item(self, index) if now.is_cut(following) else general(self, index)
        return _recorded(now, following, kind, (GET, (self, index), _NO_OPTIONS))

    return item


def put(kind: type, general: Method) -> Method:
    """The fast version of `x[index] = value`, with positions and slices."""

    def set_item(self: Any, index: Any, value: Any) -> None:
        now = CURRENT.segment
        number = self._number if self._segment is now else _number_of(now, self)
        key = SET, number, _index_key(index), _operand(now, kind, value)
        following = now.state.edges.get(key)
        if following is not None and following.is_quick and not _traps():
            _recorded(now, following, kind, None)
        elif now.is_cut(following):
            set_item(self, index, value)
        else:
            general(self, index, value)

    return set_item


def ufunc(kind: type, general: Method) -> Method:
    """The fast version of a ufunc that is called without options."""

    def called(self: Any, function: Any, method: str, *operands: Any, **options: Any) -> Any:
        operation = FUNCTIONS.get(function)
        if options or operation is None or method != "__call__":
            return general(self, function, method, *operands, **options)
        now = CURRENT.segment
        keys = [_operand(now, kind, one) for one in operands]
        following = now.state.edges.get((operation, *keys))
        if following is None or not following.is_quick or _traps():
            if now.is_cut(following):
                return called(self, function, method, *operands)
            return general(self, function, method, *operands)
        return _recorded(now, following, kind, None)

    return called


def add_quick_ways(kind: Any) -> None:
    """Replace the methods of the class of lazy arrays by their fast versions."""
    stems: tuple[str, ...] = ("add", "sub", "mul", "truediv", "floordiv", "mod", "and", "or", "xor")
    stems += ("eq", "ne", "lt", "le", "gt", "ge")
    general = partial(type.__getattribute__, kind)
    ways = {f"__{stem}__": binary(kind, stem, general(f"__{stem}__")) for stem in stems}
    for stem in INFIX:
        setattr(kind, f"__r{stem}__", reflected(general(f"__r{stem}__")))
    for stem in IN_PLACE:
        ways[f"__i{stem}__"] = in_place(kind, stem, general(f"__i{stem}__"))
    ways["__getitem__"] = get(kind, general("__getitem__"))
    ways["__setitem__"] = put(kind, general("__setitem__"))
    ways["__array_ufunc__"] = ufunc(kind, general("__array_ufunc__"))
    for name, way in ways.items():
        setattr(kind, name, way)
        QUICK.add(way.__code__)
    QUICK.update(one.__code__ for one in (_number_of, _operand, _recorded))
