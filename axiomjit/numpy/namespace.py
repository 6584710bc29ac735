"""Functions of NumPy that make arrays or do not dispatch, as versions that make lazy arrays.

Some functions have arguments of the array API standard that NumPy 2.4 lacks. Functions of NumPy
that are not replaced are NumPy's own, which dispatch to lazy arrays (`__array_function__`).
"""

from __future__ import annotations

import functools
import inspect
import math
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.origins import hide_frames, hides_frames
from axiomjit.numpy.at_once import LOOKED_AT
from axiomjit.numpy.facts import is_lazy_type
from axiomjit.numpy.lazy_arrays import LazyArray, at_once, run, wrap
from axiomjit.numpy.operations import FUNCTIONS, METHODS
from axiomjit.numpy.segments import run_freely

Function = Callable[..., Any]
UNTOUCHED_BYTES: Final = 2**25
"""From this size on, the system provides zeroed memory only when a page is touched."""


def wrapped(value: Any, is_shared: bool = False) -> Any:
    """The result of a function, with lazy arrays in place of large arrays."""
    if type(value) is np.ndarray and value.size < config.lazy_from:
        return value
    if type(value) is tuple or type(value) is list:
        return type(value)(wrapped(one, is_shared) for one in value)
    return wrap(value, is_shared)


def _making(function: Function) -> Function:
    """The function, with lazy results, which are new or share memory that their `base` owns."""

    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            return wrapped(run_freely(function, *args, **kwargs))
        except Exception as error:
            hide_frames(error)
            raise

    return made


def _filling(function: Function) -> Function:
    """The function that fills a new array; the call is recorded if the array is large."""
    operation = FUNCTIONS[function]
    most = UNTOUCHED_BYTES if function is np.zeros else math.inf

    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            if args and type(args[0]) is int and args[0] < config.lazy_from:
                return function(*args, **kwargs)
            count = _count(args[0] if args else kwargs.get("shape"))
            if count < config.lazy_from or count * 8 > most:
                return wrapped(function(*args, **kwargs))
            return run(operation, args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    return made


def _counting(function: Function) -> Function:
    """The function `arange`; the call is recorded for integers if the result is long."""
    operation = FUNCTIONS[function]

    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            if len(args) == 1 and type(args[0]) is int and args[0] < config.lazy_from:
                return function(*args, **kwargs)
            return long(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def long(args: Any, kwargs: Any) -> Any:
        are_bounds = 0 < len(args) < 4 and all(type(one) is int for one in args)
        if are_bounds and args[2:] != (0,) and config.lazy_from <= _length(*args) <= sys.maxsize:
            return run(operation, args, kwargs)
        return wrapped(function(*args, **kwargs))

    return made


def _length(start: int, stop: int | None = None, step: int = 1) -> int:
    """The length of a range, which may be too long for Python's `len`."""
    first, end = (0, start) if stop is None else (start, stop)
    return max(0, -((first - end) // step))


def _count(shape: Any) -> int:
    """The number of elements of a shape; 0 if the argument is not a shape of integers."""
    lengths = shape if type(shape) is tuple or type(shape) is list else (shape,)
    return math.prod(lengths) if all(type(one) is int for one in lengths) else 0


def _converting(function: Function) -> Function:
    """The function that converts an array; an array that needs no conversion is not copied."""

    def made(*args: Any, **kwargs: Any) -> Any:
        try:
            if args and type(args[0]) is np.ndarray and args[0].size < config.lazy_from:
                return function(*args, **kwargs)
            return other(args, kwargs)
        except Exception as error:
            hide_frames(error)
            raise

    def other(args: Any, kwargs: Any) -> Any:
        given = args[0] if args else None
        if type(given) is LazyArray:
            found = None if given._facts.is_number else _converted(function, args, kwargs)
            return at_once(function, args, kwargs, reason=LOOKED_AT) if found is None else found
        found = function(*args, **kwargs)
        copies = function is np.array and kwargs.get("copy", True) is True
        return wrapped(found, is_shared=not copies and type(given) not in (list, tuple))

    return made


def _converted(function: Function, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
    """A lazy array, converted without computing it; None if NumPy must convert it."""
    given, dtype = args[0], args[1] if len(args) > 1 else kwargs.get("dtype")
    if len(args) > 2 or not _OPTIONS.issuperset(kwargs) or function not in _PLAIN:
        return None
    order = kwargs.get("order")
    copy = _COPIES.get(kwargs.get("copy", True if function is np.array else None), ...)
    if order not in (None, "K") or copy is ... or kwargs.get("subok") not in (None, False, True):
        return None
    if dtype is not None and (wanted := np.dtype(dtype)) != given.dtype:
        if copy is False or not is_lazy_type(wanted):
            return None
        return run(METHODS["astype"], (given, wanted), {})
    return run(METHODS["copy"], (given,), {"order": "K"}) if copy else given


def _from_function(
    function: Function, shape: Any, *, dtype: Any = float, like: Any = None, **kwargs: Any
) -> Any:
    if like is not None:
        return np.fromfunction(function, shape, dtype=dtype, like=like, **kwargs)
    return function(*wrapped(tuple(np.indices(shape, dtype=dtype))), **kwargs)


def _sort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Any:
    if not descending:
        return np.sort(a, axis, kind, order, stable=stable)
    a, axis = _reversed(a, axis)
    return np.flip(np.sort(a, axis, kind, order, stable=stable), axis).copy()


def _argsort(
    a: Any,
    axis: int | None = -1,
    kind: Any = None,
    order: Any = None,
    *,
    stable: bool | None = None,
    descending: bool = False,
) -> Any:
    if not descending:
        return np.argsort(a, axis, kind, order, stable=stable)
    a, axis = _reversed(a, axis)
    last = a.shape[axis] - 1
    return last - np.flip(np.argsort(a, axis, kind, order, stable=stable), axis)


def _reversed(a: Any, axis: int | None) -> tuple[Any, int]:
    """The array reversed along an axis, and the axis.

    A descending sort sorts the reversed array, so that equal elements keep their order.
    """
    array = np.asanyarray(a) if type(a) is not LazyArray else a
    if axis is None:
        array, axis = array.ravel(), 0
    return np.flip(array, axis), axis


class _ByIndex:
    """The base class of objects like `np.r_` that make arrays, which are lazy if they are large."""

    __slots__ = ()
    stands_for: Any

    def __getitem__(self, key: Any) -> Any:
        try:
            if isinstance(key, str):  # the key names matrices of the caller
                frame = sys._getframe(1)
                return np.bmat(key, frame.f_globals, frame.f_locals)
            return wrapped(self.stands_for[key])
        except Exception as error:
            hide_frames(error)
            raise


_MGrid: Any = type(np.mgrid)
_OGrid: Any = type(np.ogrid)
_R: Any = type(np.r_)
_C: Any = type(np.c_)


class MGrid(_ByIndex, _MGrid):  # type: ignore[misc]
    """The class of `np.mgrid`."""

    __slots__ = ()
    stands_for = np.mgrid


class OGrid(_ByIndex, _OGrid):  # type: ignore[misc]
    """The class of `np.ogrid`."""

    __slots__ = ()
    stands_for = np.ogrid


class Rows(_ByIndex, _R):  # type: ignore[misc]
    """The class of `np.r_`."""

    __slots__ = ()
    stands_for = np.r_


class Columns(_ByIndex, _C):  # type: ignore[misc]
    """The class of `np.c_`."""

    __slots__ = ()
    stands_for = np.c_


_COPIES: Final[dict[Any, bool | None]] = {
    **{True: True, np._CopyMode.ALWAYS: True},
    **{False: False, np._CopyMode.NEVER: False},
    **{None: None, np._CopyMode.IF_NEEDED: None},
}
"""The meaning of each value of the option `copy`."""
_PLAIN: Final = (np.asarray, np.asanyarray, np.array)
_OPTIONS: Final = frozenset({"copy", "dtype", "order", "subok"})
_TABLE: Final[dict[Callable[[Function], Function], str]] = {
    _making: """
        empty empty_like zeros_like ones_like full_like identity eye tri diag diagflat vander
        linspace logspace geomspace meshgrid indices tril_indices triu_indices mask_indices
        diag_indices fromfile fromiter fromstring fromregex frombuffer from_dlpack load loadtxt
        genfromtxt copy bartlett blackman hamming hanning kaiser
    """,
    _filling: "zeros ones full",
    _counting: "arange",
    _converting: """
        array asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite require
    """,
}
"""For each wrapper, the names of NumPy's functions that get the wrapper."""


def like(function: Any, made: Function, module: str) -> Function:
    """Our version of a NumPy function, with NumPy's name and documentation, in our module.

    In a compiled function, the call becomes a call of NumPy's function. As an attribute of a class,
    our version is a method only if NumPy's function is one, too.
    """
    found: Any = functools.wraps(function)(made)
    found.__module__, found.__qualname__, found.stands_for = module, found.__name__, function
    if not hasattr(type(function), "__get__"):
        found = functools.update_wrapper(Builtin(found), found)
        found.__text_signature__ = getattr(function, "__text_signature__", None)
    return found  # type: ignore[no-any-return]


class Builtin(functools.partial[Any]):
    """A function that does not become a method if it is an attribute of a class."""

    __slots__ = ()
    __name__: str

    def __get__(self, owner: Any, kind: Any = None) -> Builtin:
        return self

    def __reduce__(self) -> Any:
        return self.__name__


def extended(function: Any, made: Function, module: str) -> Function:
    """Our version of a NumPy function, with its own signature."""
    found: Any = like(function, hides_frames(made), module)
    found.__signature__ = inspect.signature(made)
    return found  # type: ignore[no-any-return]


def _function(name: str, way: Callable[[Function], Function]) -> Function:
    function: Any = getattr(np, name)
    return like(function, way(function), "axiomjit.numpy")


REPLACED: Final[dict[str, Any]] = {
    **{name: _function(name, way) for way, names in _TABLE.items() for name in names.split()},
    "sort": extended(np.sort, _sort, "axiomjit.numpy"),
    "argsort": extended(np.argsort, _argsort, "axiomjit.numpy"),
    "fromfunction": like(np.fromfunction, hides_frames(_from_function), "axiomjit.numpy"),
    "ndarray": LazyArray,
    "mgrid": MGrid(),
    "ogrid": OGrid(),
    "r_": Rows(),
    "c_": Columns(),
}
"""The axiomjit version of each NumPy name, such as `zeros`."""
