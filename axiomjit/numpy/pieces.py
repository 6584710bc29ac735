"""Run functions in pieces, with lazy arrays, if `jit` cannot trace them.

A call lends the arrays of the caller to the function, as lazy arrays. Segments read and write the
memory of lent arrays without copies. No other code uses the memory during the call, since
everything that the function does is known (`functions.harmless`). When the function returns or
raises an error, all writes are done, and NumPy arrays replace the lazy arrays.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import CellType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import hides_frames
from axiomjit.base.overlaps import overlaps_itself
from axiomjit.functions.harmless import (
    DATUM,
    MISSING,
    Harmless,
    followed,
    is_datum,
    outside_value,
)
from axiomjit.functions.libraries import users_function
from axiomjit.numpy.facts import is_lazy_type
from axiomjit.numpy.handles import Shared, value_of
from axiomjit.numpy.lazy_arrays import LazyArray, made
from axiomjit.numpy.namespace import REPLACED
from axiomjit.numpy.segments import finish_readers, look

MAX_OBJECTS: Final = 1000
"""The largest number of objects in containers among the arguments."""


class NotLentError(Exception):
    """Raised if an argument or an outside object cannot be lent, so that NumPy runs the call."""


class Loan:
    """The arrays that one call lends, and the copies of functions that get these arrays."""

    def __init__(self, harmless: Harmless) -> None:
        """Start a call of a function with known effects."""
        self._harmless = harmless
        self._lent: dict[int, LazyArray] = {}
        self._arrays: dict[int, Any] = {}
        self._containers: dict[int, Any] = {}
        self._copies: dict[int, FunctionType] = {}

    # Before the call

    def taken(self, value: Any) -> Any:
        """The argument that the function gets: a lazy array for a large array, or the value itself.

        Raises:
            NotLentError: the references of an object are not known.
        """
        if type(value) is not np.ndarray:
            self._look_into(value)
            return value
        found = self._lent.get(id(value))
        if found is None and self._keep(value) and self._is_lendable(value):
            found = self._lent[id(value)] = made(value, Shared(value, is_lent=True))
        return value if found is None else found

    def _keep(self, array: Any) -> bool:
        if array.dtype.hasobject:
            raise NotLentError
        self._arrays[id(array)] = array
        return True

    def _is_lendable(self, array: Any) -> bool:
        flags = array.flags
        is_writeable = flags.writeable or not self._harmless.writes
        is_large = array.size >= config.lazy_from and is_lazy_type(array.dtype)
        return bool(is_large and is_writeable and flags.aligned) and not overlaps_itself(array)

    def _look_into(self, value: Any) -> None:
        """Check the contents of a container; its arrays are not lent."""
        waiting = [value]
        while waiting:
            one = waiting.pop()
            kind = type(one)
            if kind is np.ndarray:
                self._keep(one)
            elif kind in (list, tuple, dict):
                if id(one) not in self._containers:
                    self._containers[id(one)] = one
                    waiting += one if kind is not dict else [*one, *one.values()]
            elif not is_datum(one):
                raise NotLentError
            if len(waiting) > MAX_OBJECTS:
                raise NotLentError

    def check(self) -> None:
        """Check that no array that the function can reach shares memory with a lent array.

        Raises:
            NotLentError: an array shares memory with a lent array.
        """
        for key in self._lent:
            lent = self._arrays[key]
            for other, array in self._arrays.items():
                if other != key and np.may_share_memory(lent, array):
                    raise NotLentError

    def copied(self, function: Any) -> FunctionType:
        """A copy of a function that reads lent arrays in place of outside arrays.

        Raises:
            NotLentError: an outside object was replaced since the function was analysed.
        """
        found = self._copies.get(id(function))
        if found is not None:
            return found
        code = function.__code__
        part = self._harmless.parts.get(code)
        if part is None:
            raise NotLentError
        names = function.__globals__
        space = {"__builtins__": function.__builtins__, "__name__": names.get("__name__")}
        space["__warningregistry__"] = names.setdefault("__warningregistry__", {})
        cells = {name: CellType() for name in code.co_freevars}
        defaults = self._defaults(function.__defaults__)
        copy = FunctionType(code, space, function.__name__, defaults, tuple(cells.values()))
        copy.__kwdefaults__ = self._defaults(function.__kwdefaults__)
        copy.__qualname__ = function.__qualname__
        self._copies[id(function)] = copy
        for name, known in part.outside.items():
            value = self._outside(outside_value(function, name), known)
            if name in cells:
                cells[name].cell_contents = value
            else:
                space[name] = value
        return copy

    def _outside(self, value: Any, known: object) -> Any:
        if value is MISSING or (known is not DATUM and value is not known):
            raise NotLentError
        inner = followed(value)
        if users_function(inner):
            return self.copied(inner)
        if value is np:
            return lazy_import("axiomjit.numpy")
        if known is DATUM:
            return self.taken(value)
        return _OURS.get(id(value), value)

    def _defaults(self, values: Any) -> Any:
        if values is not None and not is_datum(
            tuple(values.values()) if type(values) is dict else values
        ):
            raise NotLentError
        return values

    # After the call

    def settle(self, memo: dict[int, Any]) -> None:
        """Perform pending writes into lent arrays, and replace lazy arrays in containers."""
        for handle in self._lent.values():
            finish_readers(handle)
        for container in self._containers.values():
            plain(container, memo)


def plain(value: Any, memo: dict[int, Any]) -> Any:
    """A value with NumPy's arrays in place of lazy arrays; lists are changed in place."""
    kind = type(value)
    if kind is LazyArray:
        return look(value) if value._facts.is_number else _array(value)
    if isinstance(value, BaseException):
        _clear(value, memo)
    if not issubclass(kind, tuple | list | dict | set | frozenset):
        return value
    if id(value) in memo:
        return memo[id(value)][1]
    memo[id(value)] = value, value
    if kind is dict:
        parts = [(plain(key, memo), plain(one, memo)) for key, one in value.items()]
        if any(map(_differ, parts, value.items())):
            value.clear()
            value.update(parts)
        return value
    new = [plain(one, memo) for one in value]
    if not _differ(new, value):
        return value
    if kind is list:
        value[:] = new
    elif kind is set:
        value.clear()
        value.update(new)
    else:
        found = value._make(new) if hasattr(value, "_make") else kind(new)
        memo[id(value)] = value, found
        return found
    return value


def _differ(new: Iterable[Any], old: Iterable[Any]) -> bool:
    return any(one is not other for one, other in zip(new, old, strict=True))


def _array(handle: LazyArray) -> Any:
    look(handle)
    return value_of(handle)


def _clear(error: BaseException, memo: dict[int, Any]) -> None:
    """Replace the lazy arrays in an error and its causes by NumPy arrays."""
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in memo:
            memo[id(one)] = one, one
            one.args = plain(one.args, memo)
            waiting += [one.__cause__, one.__context__]


def lend(
    function: FunctionType, harmless: Harmless, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """A function that makes the call with lazy arrays; None if NumPy must run the call."""
    loan = Loan(harmless)
    try:
        copy = loan.copied(function)
        given = [loan.taken(one) for one in args]
        named = {name: loan.taken(one) for name, one in kwargs.items()}
        loan.check()
    except NotLentError:
        return None
    return functools.partial(_call, loan, copy, given, named)


@hides_frames
def _call(loan: Loan, function: FunctionType, args: Any, kwargs: Any) -> Any:
    memo: dict[int, Any] = {}
    try:
        result = function(*args, **kwargs)
    except BaseException as error:
        loan.settle(memo)
        _clear(error, memo)
        raise
    loan.settle(memo)
    return plain(result, memo)


_OURS: Final = {id(one.stands_for): one for one in REPLACED.values() if hasattr(one, "stands_for")}
