"""Calls of NumPy's functions with traced arrays inside lists, or together with known arrays."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.origins import user_location
from axiomjit.functions.outside import TraceAgain, Wanted, refuse
from axiomjit.graph.builder import as_node
from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.joins import INDEXED
from axiomjit.numpy_rules.table import FUNCTIONS
from axiomjit.tracing.operators import result_of, traced_in
from axiomjit.tracing.tracer import Tracer, new_array


def first_traced(values: Any) -> Tracer | None:
    """The first traced array in nested lists and tuples; None if there is none."""
    return next((one for one in traced_in(values) if issubclass(type(one), Tracer)), None)


def writing(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a function of NumPy that may write into one of its arguments.

    Raises:
        NeedsValuesError: the written array is read-only; arrays are read-only if the trace depends
            on their elements.
    """
    try:
        return function(*args, **kwargs)
    except ValueError as error:
        traced = bool(args) and issubclass(type(args[0]), TracedValue)
        if traced or "read-only" not in str(error):
            raise
        refuse(_KNOWN_WRITE)


_KNOWN_WRITE: Final = (
    "writes into an array whose elements decide what it does, or that is read-only"
)


_OPERANDS: Final = {"reduce": 1, "accumulate": 1, "reduceat": 2}
"""For each method of ufuncs that folds, the number of operands before the options."""


def call_numpy(function: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a function or ufunc called with lists that may contain traced arrays."""
    traced = first_traced([args, list(kwargs.values())])
    if traced is not None:
        if type(function) is np.ufunc:
            return call_ufunc(function, "__call__", args, kwargs)
        if hasattr(function, "_implementation"):
            return traced.__array_function__(function, (), args, kwargs)
    return writing(function, *args, **kwargs)


def call_ufunc(ufunc: Any, method: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """The result of a method of a ufunc called with lists that may contain traced arrays."""
    traced = first_traced([args, list(kwargs.values())])
    if traced is None:
        if method == "at" and isinstance(args[0], np.ndarray) and not args[0].flags.writeable:
            refuse(_KNOWN_WRITE)  # NumPy's `at` writes into read-only arrays, too
        return writing(getattr(ufunc, method), *args, **kwargs)
    if method == "__call__" and len(args) > ufunc.nin:
        args, kwargs = args[: ufunc.nin], {**kwargs, "out": tuple(args[ufunc.nin :])}
    if method in _OPERANDS:  # NumPy passes these options by name
        count = _OPERANDS[method]
        named = zip(("axis", "dtype", "out"), args[count:], strict=False)
        args, kwargs = args[:count], kwargs | dict(named)
    out = kwargs.get("out")
    if out is not None and not isinstance(out, tuple):
        kwargs = {**kwargs, "out": (out,)}
    return traced.__array_ufunc__(ufunc, method, *args, **kwargs)


def traced_array(array: np.ndarray) -> Any:
    """A new traced array with the values of a known array."""
    return new_array(FUNCTIONS[np.copy](as_node(array, "a new array")))


def item_of_indexed(owner: Any, key: Any) -> Any:
    """The result of `np.r_[key]` or `np.c_[key]`."""
    items = key if isinstance(key, tuple) else (key,)
    if first_traced(list(items)) is None or any(isinstance(item, str) for item in items):
        return owner[key]
    made = result_of(INDEXED[owner], items, {})
    assert isinstance(made, Node)
    return new_array(made)


class KnownArrays:
    """Arrays of known values that the function has made, with the line that made each of them.

    An array of known values cannot hold traced values. If traced values are written into an array
    of known values, the function is traced again, and all arrays that the array's line makes are
    then traced arrays.
    """

    def __init__(self, wanted: Wanted) -> None:
        """Start without arrays."""
        self._wanted = wanted
        self._lines: dict[int, tuple[np.ndarray, str | None]] = {}

    def note(self, found: Any) -> Any:
        """Return the result of a call, or a traced array if its line makes traced arrays."""
        if type(found) in (tuple, list):
            return type(found)(map(self.note, found))
        if type(found) is not np.ndarray:
            return found
        line = user_location()
        if line in self._wanted.lines and not self._is_view(found):
            return traced_array(found)
        self._lines[id(found)] = found, line
        return found

    def _is_view(self, array: Any) -> bool:
        """True for a view of a noted array."""
        while issubclass(type(array), np.ndarray):
            array = array.base
            if id(array) in self._lines:
                return True
        return False

    def forget(self) -> None:
        """Forget all arrays at the end of the trace, so that they can be freed."""
        self._lines.clear()

    def want_traced(self, array: Any) -> None:
        """End the trace if the line is known that made an array into which traced values go.

        Raises:
            TraceAgain: in the next trace, the arrays of this line are traced arrays.
        """
        while issubclass(type(array), np.ndarray):
            known = self._lines.get(id(array))
            if known is not None and known[1] not in self._wanted.lines | {None}:
                self._wanted.lines.add(str(known[1]))
                raise TraceAgain
            array = array.base
