"""Stand-ins that ask traced arrays what to do where NumPy does not ask them.

NumPy asks the operands of a call (`__array_function__`), but neither the elements of a list nor the
index of another array. A function that is refused for that is followed once more, as a copy in
which these stand for NumPy's functions and ufuncs and for the arrays that it has by name. Values
stay known: what is computed without traced arrays is computed at once. Where traced values are
written into an array that the function has made, it is followed again with that array traced.
"""

from __future__ import annotations

from functools import partial, wraps
from typing import Any, Final

import numpy as np

from axiomjit.graph.nodes import Node
from axiomjit.numpy_rules.joins import INDEXED
from axiomjit.numpy_rules.options import Rule
from axiomjit.tracing.asking_arrays import TracedLines, first_traced, is_array
from axiomjit.tracing.asking_holders import Holders
from axiomjit.tracing.creation import OUR_MODULES, is_represented, our_builtin, ours, represented
from axiomjit.tracing.operators import result_of
from axiomjit.tracing.outside_arrays import plain
from axiomjit.tracing.rebinding import Rebinding
from axiomjit.tracing.tracer import new_array

_MODULES: Final = (*OUR_MODULES, "numpy.linalg", "numpy.lib", "numpy.lib.stride_tricks")
_METHODS: Final = ("reduce", "accumulate", "reduceat", "outer", "at")


class AskingRebinding(Rebinding):
    """Copies of functions that have these stand-ins, our functions and generators."""

    def __init__(self, traced_lines: TracedLines | None = None) -> None:
        """Start without copies; arrays that are made on some lines are traced."""
        self._traced_lines = traced_lines or TracedLines()
        self._holders = Holders(is_array, self.value)
        replaced = partial(_replaced, self._traced_lines)
        super().__init__(replaced, self._is_asked, self._stand_in, _MODULES, our_builtin, plain)

    def original(self, value: object) -> object:
        """As `Rebinding.original`, for lists, dicts and instances, too."""
        return self._holders.original(super().original(value))

    def _is_asked(self, value: object) -> bool:
        return _is_asked(value) or self._holders.holds(value)

    def _stand_in(self, value: Any) -> Any:
        if _is_asked(value):
            return _stand_in(value, self._traced_lines)
        return self._holders.stand_in(value)


def _is_asked(value: object) -> bool:
    """Whether a value has a stand-in of its own."""
    if is_array(value):
        return True
    return type(value) is np.ufunc or any(value is one for one in INDEXED) or is_represented(value)


def _stand_in(value: Any, traced_lines: TracedLines) -> Any:
    if type(value) is np.ndarray:
        return traced_lines.outside(value)
    if type(value) is np.ufunc:
        return AskingUfunc(value, traced_lines)
    if is_represented(value):
        return represented(value)
    return _AskingIndex(value, INDEXED[value], traced_lines)


class AskingUfunc:
    """A ufunc that looks into lists for traced arrays."""

    def __init__(self, ufunc: np.ufunc, traced_lines: TracedLines) -> None:
        """Stand for a ufunc."""
        self._ufunc, self._traced_lines = ufunc, traced_lines

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
        traced = first_traced([args, list(kwargs.values())])
        if traced is None:
            made = getattr(self._ufunc, method)(*args, **kwargs)
            return self._traced_lines.shown(made, (*args, *kwargs.values()))
        out = kwargs.get("out")
        if out is not None and not isinstance(out, tuple):
            kwargs["out"] = (out,)
        if method in ("reduce", "accumulate"):  # NumPy names their options where it asks
            named = zip(("axis", "dtype", "out"), args[1:], strict=False)
            args, kwargs = args[:1], kwargs | dict(named)
        return traced.__array_ufunc__(self._ufunc, method, *args, **kwargs)


class _AskingIndex:
    """`np.r_` or `np.c_`, with traced arrays among the items."""

    def __init__(self, known: Any, row: Rule, traced_lines: TracedLines) -> None:
        self._known, self._row, self._traced_lines = known, row, traced_lines

    def __getitem__(self, key: Any) -> Any:
        items = key if isinstance(key, tuple) else (key,)
        if first_traced(list(items)) is None or any(isinstance(item, str) for item in items):
            return self._traced_lines.shown(self._known[key])
        made = result_of(self._row, items, {})
        assert isinstance(made, Node)
        return new_array(made)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)


def _replaced(traced_lines: TracedLines, function: Any) -> Any:
    """What stands for a function of NumPy's or of `MODULES`; classes stand for themselves."""
    known = ours(function)
    if isinstance(function, type) or not function.__module__.startswith("numpy"):
        return known

    @wraps(function)
    def asked(*args: Any, **kwargs: Any) -> Any:
        traced = first_traced([args, list(kwargs.values())])
        if traced is not None and hasattr(function, "_implementation"):
            return traced.__array_function__(function, (), args, kwargs)
        return traced_lines.shown(known(*args, **kwargs), (*args, *kwargs.values()))

    return asked
