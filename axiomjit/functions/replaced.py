"""NumPy's functions and indexing objects where NumPy does not ask traced arrays what to do.

NumPy asks the operands of a call (`__array_function__`), but neither the elements of a list nor the
index of another array.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.numpy_rules.joins import INDEXED
from axiomjit.tracing.asking_arrays import first_traced, is_array
from axiomjit.tracing.creation import GRIDS, represented
from axiomjit.tracing.operators import result_of
from axiomjit.tracing.tracer import Tracer, new_array

_NAMED: Final = ("axis", "dtype", "out")
"""Options of `reduce` and `accumulate` that NumPy names where it asks, in their order."""


def call_numpy(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a function or ufunc; traced arrays in lists among the arguments are asked.

    Args:
        function: The function of NumPy's.
        args: Its arguments by position.
        kwargs: Those by name.
    """
    traced = first_traced([args, list(kwargs.values())])
    if traced is not None:
        if isinstance(function, np.ufunc):
            return call_ufunc(function, "__call__", args, kwargs)
        if hasattr(function, "_implementation"):
            return traced.__array_function__(function, (), args, dict(kwargs))
    return function(*args, **kwargs)


def call_ufunc(ufunc: np.ufunc, method: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a method of a ufunc, as `call_numpy`.

    Args:
        ufunc: The ufunc.
        method: The name of its method.
        args: Its arguments by position.
        kwargs: Those by name.
    """
    traced = first_traced([args, list(kwargs.values())])
    if traced is None:
        return getattr(ufunc, method)(*args, **kwargs)
    given = dict(kwargs)
    if method == "__call__" and len(args) > ufunc.nin:
        args, given["out"] = args[: ufunc.nin], tuple(args[ufunc.nin :])
    if method in ("reduce", "accumulate"):
        args, given = args[:1], given | dict(zip(_NAMED, args[1:], strict=False))
    out = given.get("out")
    if out is not None and not isinstance(out, tuple):
        given["out"] = (out,)
    return traced.__array_ufunc__(ufunc, method, *args, **given)


def replaced_item(owner: Any) -> Callable[[Any], Any] | None:
    """Our indexing of `np.mgrid`, `np.ogrid`, `np.r_`, `np.c_` or an array of known values.

    None for other objects.
    """
    if any(owner is one for one in GRIDS):
        return represented(owner).__getitem__  # type: ignore[no-any-return]
    if any(owner is one for one in INDEXED):
        return lambda key: _joined(owner, key)
    if is_array(owner):
        return lambda key: _part(owner, key)
    return None


def _joined(owner: Any, key: Any) -> Any:
    """What `np.r_` or `np.c_` makes of items."""
    items = key if isinstance(key, tuple) else (key,)
    if first_traced(list(items)) is None or any(isinstance(item, str) for item in items):
        return owner[key]
    made = result_of(INDEXED[owner], items, {})
    assert isinstance(made, Node)
    return new_array(made)


def _part(array: np.ndarray, key: Any) -> Any:
    """An array of known values, indexed perhaps by a traced one."""
    if first_traced(key) is None:
        return array[key]
    traced: Any = Tracer(builder.as_node(array, "indexing"))
    return traced[key]
