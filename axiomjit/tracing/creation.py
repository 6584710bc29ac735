"""NumPy's functions that make arrays, called by a traced function: the arrays are traced, too.

So `o = np.zeros(x.shape); o[1:-1] = x[1:-1]` writes into a traced array. NumPy itself makes the
arrays that the table cannot make (object arrays, Fortran order), and all arrays while no function
is traced.
"""

from __future__ import annotations

import cmath
import functools
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import AxiomError
from axiomjit.base.locks import lazy_import
from axiomjit.base.trace_context import current
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.creation import CONVERTERS, COUNTERS, FREQUENCIES, FUNCTIONS, MAKERS
from axiomjit.numpy_rules.options import Rule
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.tracing.lengths import (
    SymbolicInt,
    SymbolicNumber,
    differs_between_trips,
    known_numbers,
    square_root,
    unwrap,
)
from axiomjit.tracing.operators import leaves_in, node_of
from axiomjit.tracing.tracer import TracedArray, Tracer, new_array

Maker = Callable[..., Any]


def _always(args: Sequence[object]) -> bool:
    return True


def _has_length(args: Sequence[object]) -> bool:
    return any(issubclass(type(value), SymbolicNumber) for value in leaves_in(args))


def _has_unknown(args: Sequence[Any]) -> bool:
    """True if the first argument holds a traced array or a data-dependent length."""
    return any(map(_is_unknown, leaves_in(args[:1])))


def _is_unknown(value: Any) -> bool:
    kind = type(value)
    return issubclass(kind, TracedValue) or (
        issubclass(kind, SymbolicInt) and bool(data_dependent_in(value.dim))
    )


def _making(function: Any, row: Rule, wanted: Callable[[Sequence[Any]], bool]) -> Maker:
    """Wrap a creation function: it makes a traced array if `wanted`, else NumPy's array."""

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if current() is None or not wanted((*args, *kwargs.values())):
            return function(*args, **kwargs)
        if isinstance(kwargs.get("dtype"), TracedValue):
            raise TypeError("Cannot construct a dtype from an array")
        try:
            node = row(*map(node_of, args), **{k: node_of(v) for k, v in kwargs.items()})
        except (AxiomError, TypeError):  # NumPy says what is wrong with the arguments
            return function(*args, **kwargs)
        first: Any = args[0] if args else None
        same = isinstance(first, Tracer) and first.is_array and first.node is node
        return first if same else new_array(node)

    return made


@functools.wraps(len)
def _length_of(value: Any, /) -> Any:
    return value.shape[0] if type(value) is TracedArray and value.ndim else len(value)


@functools.wraps(np.fromfunction)
def _from_function(
    function: Callable[..., Any], shape: Any, *, dtype: Any = float, **kwargs: Any
) -> Any:
    if current() is None or not _has_length((shape,)):
        return np.fromfunction(function, shape, dtype=dtype, **kwargs)
    return function(*CREATORS[np.indices](shape, dtype), **kwargs)


def _ndarray(shape: Any, dtype: Any = float, *args: Any, **kwargs: Any) -> Any:
    """An array as made by `np.ndarray`; without a given buffer it is the array of `np.empty`."""
    if args or kwargs.keys() - {"order"}:
        return np.ndarray(shape, dtype, *args, **kwargs)
    return CREATORS[np.empty](shape, dtype, kwargs.get("order") or "C")


@functools.wraps(np.diag_indices)
def _diag_indices(n: Any, ndim: Any = 2) -> Any:
    return (CREATORS[np.arange](n),) * ndim


_MATHEMATICAL: Final = """
    acos acosh asin asinh atan atan2 atanh cbrt copysign cos cosh degrees exp exp2 expm1 fabs fmod
    hypot isfinite isinf isnan log log10 log1p log2 pow radians sin sinh sqrt tan tanh
"""
"""Functions of `math` and `cmath` that `tracing.python_numbers` applies to computed numbers."""


def _is_computed(value: Any) -> bool:
    return issubclass(type(value), TracedValue) or differs_between_trips(value)


def _of_numbers(function: Maker) -> Maker:
    """Wrap a function of `math`: for computed numbers, the result is traced if possible."""
    of_values = square_root if function is math.sqrt else function

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if not kwargs and any(map(_is_computed, args)):
            late = lazy_import("axiomjit.tracing.python_numbers")
            found = late.mathematical(function, args)
            if found is not None:
                return found
        return of_values(*args, **kwargs)

    return made


CREATORS: Final[dict[Any, Maker]] = {
    **{
        function: _making(function, row, wanted)
        for rows, wanted in (
            (MAKERS, _always),
            (COUNTERS, _has_length),
            ({np.linspace: FUNCTIONS[np.linspace]}, _has_length),
            (CONVERTERS, _has_unknown),
        )
        for function, row in rows.items()
    },
    **{len: _length_of, np.fromfunction: _from_function, np.diag_indices: _diag_indices},
    np.ndarray: _ndarray,
    **{
        function: _of_numbers(function)
        for module in (math, cmath)
        for function in (getattr(module, name, None) for name in _MATHEMATICAL.split())
        if function is not None
    },
}
"""For functions of NumPy and Python, our functions that make traced arrays or numbers."""
GRIDS: Final = (np.mgrid, np.ogrid)
"""NumPy's objects that are indexed to make an array, as `np.mgrid[:3]`."""


def represented(value: Any) -> Any:
    """The object that stands for a random generator, or for a maker of grids (`np.mgrid`)."""
    return _TracedGrid(value) if any(value is one for one in GRIDS) else generator_for(value)


def generator_for(generator: Any) -> Any:
    """The object that stands for a random generator; its module is imported on first use."""
    return lazy_import("axiomjit.tracing.traced_random").TracedGenerator(generator)


class _TracedGrid:
    """`np.mgrid` or `np.ogrid`, for slices with lengths of traced arrays."""

    def __init__(self, known: Any) -> None:
        self._known = known

    def __getitem__(self, key: Any) -> Any:
        parts = key if isinstance(key, tuple) else (key,)
        slices = [part for part in parts if isinstance(part, slice)]
        ends = [end for part in slices for end in (part.start, part.stop, part.step)]
        if current() is None or len(slices) < len(parts) or not _has_length(ends):
            return self._known[key]
        bounds = [unwrap((p.start or 0, p.stop, 1 if p.step is None else p.step)) for p in slices]
        try:
            made = [new_array(COUNTERS[np.arange](*bound)) for bound in bounds]
        except (AxiomError, TypeError):  # NumPy says what is wrong with the slices
            return self._known[key]
        if not isinstance(key, tuple):
            return made[0]
        sparse = self._known is np.ogrid
        every: Any = np.meshgrid(*made, indexing="ij", sparse=sparse)
        return tuple(every) if sparse else np.stack(every)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._known, name)


def replacement(function: Any) -> Maker | None:
    """Our replacement for a function that makes arrays, asks for lengths or draws; else None.

    Args:
        function: A function of NumPy or of Python's library.
    """
    if function.__module__.startswith("numpy.random"):
        return {"seed": _seed, "default_rng": _default_rng}.get(function.__name__)
    if function.__module__ == "numpy.fft" and function.__name__ in FREQUENCIES:
        return _making(function, FREQUENCIES[function.__name__], _has_length)
    return CREATORS.get(function)


def _seed(*args: Any, **kwargs: Any) -> Any:
    """Perform a call of `np.random.seed`."""
    return generator_for(np.random.mtrand._rand).seed(*args, **kwargs)


def _default_rng(seed: Any = None) -> Any:
    """Perform a call of `np.random.default_rng`; without a seed, numbers differ in each call."""
    generator = np.random.default_rng(known_numbers(seed))
    return generator if seed is not None or current() is None else generator_for(generator)
