"""Stand-ins that ask traced arrays what to do where NumPy does not ask them.

NumPy asks the operands of a call (`__array_function__`), but neither the elements of a list nor the
index of another array. A function that is refused for that is followed once more, as a copy in
which these stand for NumPy's functions and ufuncs and for the arrays that it has by name. Values
stay known: what is computed without traced arrays is computed at once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import CODES
from axiomjit.base.owners import current
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.numpy_table.joins import INDEXED
from axiomjit.numpy_table.options import Row
from axiomjit.numpy_table.table import METHODS
from axiomjit.tracing.asking_holders import Holders
from axiomjit.tracing.creation import generator_for, ours
from axiomjit.tracing.generators import is_generator
from axiomjit.tracing.impure import MODULES, refusing_builtin
from axiomjit.tracing.operands import traced_in
from axiomjit.tracing.operators import result_of
from axiomjit.tracing.outside_arrays import OutsideArray, plain
from axiomjit.tracing.rebinding import Rebinding
from axiomjit.tracing.tracer import Tracer, new_array

_MODULES: Final = (*MODULES, "numpy.fft", "numpy.linalg", "numpy.lib", "numpy.lib.stride_tricks")
_METHODS: Final = ("reduce", "accumulate", "reduceat", "outer", "at")


class AskingRebinding(Rebinding):
    """Copies of functions that have these stand-ins, our functions and generators."""

    def __init__(self) -> None:
        """Start without copies."""
        self._holders = Holders(_is_array, self.value)
        super().__init__(
            _replaced, self._is_asked, self._stand_in, _MODULES, refusing_builtin, plain
        )

    def original(self, value: object) -> object:
        """As `Rebinding.original`, for lists, dicts and instances, too."""
        return self._holders.original(super().original(value))

    def settle(self) -> None:
        """As `Rebinding.settle`, for lists, dicts and instances, too."""
        super().settle()
        self._holders.settle(self.original)

    def _is_asked(self, value: object) -> bool:
        return _is_asked(value) or self._holders.holds(value)

    def _stand_in(self, value: Any) -> Any:
        return _stand_in(value) if _is_asked(value) else self._holders.stand_in(value)


def _is_array(value: object) -> bool:
    return type(value) is np.ndarray and value.dtype in CODES


def _is_asked(value: object) -> bool:
    """Whether a value has a stand-in of its own."""
    if _is_array(value):
        return True
    return type(value) is np.ufunc or any(value is one for one in INDEXED) or is_generator(value)


def _stand_in(value: Any) -> Any:
    if type(value) is np.ndarray:
        return AskingArray.of(value)
    if type(value) is np.ufunc:
        return AskingUfunc(value)
    return generator_for(value) if is_generator(value) else _AskingIndex(value, INDEXED[value])


def _shown(value: Any) -> Any:
    """A new array as one that traced indices may meet; other values as they are."""
    return AskingArray.of(value) if _is_array(value) else value


def _asked(values: Any) -> Tracer | None:
    """The first traced array in lists of values, while a function is followed."""
    found = traced_in(values) if current() is not None else []
    return next((one for one in found if issubclass(type(one), Tracer)), None)


class AskingArray(OutsideArray):
    """An array of known values; at traced positions its elements are traced."""

    def __getitem__(self, key: Any) -> Any:
        if _asked(key) is not None:
            traced: Any = Tracer(builder.as_node(self.plain, "indexing"))
            return traced[key]
        return super().__getitem__(key)


def _method(name: str) -> Callable[..., Any]:
    known: Callable[..., Any] = getattr(np.ndarray, name)

    @functools.wraps(known)
    def method(self: AskingArray, *args: Any, **kwargs: Any) -> Any:
        if _asked([args, list(kwargs.values())]) is None:
            return known(self, *args, **kwargs)
        return getattr(Tracer(builder.as_node(self.plain, name)), name)(*args, **kwargs)

    return method


for _name in (*METHODS, "choose", "repeat", "searchsorted"):
    if callable(getattr(np.ndarray, _name, None)):
        setattr(AskingArray, _name, _method(_name))


class AskingUfunc:
    """A ufunc that looks into lists for traced arrays."""

    def __init__(self, ufunc: np.ufunc) -> None:
        """Stand for a ufunc."""
        self._ufunc = ufunc

    @property  # type: ignore[misc]
    def __class__(self) -> type[np.ufunc]:  # type: ignore[override]
        return np.ufunc

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Do what the ufunc does."""
        return self._done("__call__", args, kwargs)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._ufunc, name)
        if name not in _METHODS:
            return value
        return lambda *args, **kwargs: self._done(name, args, kwargs)

    def __repr__(self) -> str:
        return repr(self._ufunc)

    def _done(self, method: str, args: Any, kwargs: Any) -> Any:
        traced = _asked([args, list(kwargs.values())])
        if traced is None:
            return _shown(getattr(self._ufunc, method)(*args, **kwargs))
        out = kwargs.get("out")
        if out is not None and not isinstance(out, tuple):
            kwargs["out"] = (out,)
        if method in ("reduce", "accumulate"):  # NumPy names their options where it asks
            named = zip(("axis", "dtype", "out"), args[1:], strict=False)
            args, kwargs = args[:1], kwargs | dict(named)
        return traced.__array_ufunc__(self._ufunc, method, *args, **kwargs)


class _AskingIndex:
    """`np.r_` or `np.c_`, with traced arrays among the items."""

    def __init__(self, known: Any, row: Row) -> None:
        self._known, self._row = known, row

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if _asked(list(items)) is None or any(isinstance(item, str) for item in items):
            return _shown(self._known[key])
        made = result_of(self._row, items, {})
        assert isinstance(made, Node)
        return new_array(made)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)


def _replaced(function: Any) -> Any:
    """What stands for a function of NumPy's or of `MODULES`; classes stand for themselves."""
    known = ours(function)
    if isinstance(function, type) or not function.__module__.startswith("numpy"):
        return known

    @functools.wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        traced = _asked([args, list(kwargs.values())])
        if traced is not None and hasattr(function, "_implementation"):
            return traced.__array_function__(function, (), args, kwargs)
        return _shown(known(*args, **kwargs))

    return asked
