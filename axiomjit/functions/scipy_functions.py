"""SciPy's functions, known by the modules that the program has loaded; SciPy is never imported."""

from __future__ import annotations

import functools
import sys
from collections.abc import Iterator, Mapping, Sequence
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.graph.traced_values import TracedValue

_FORTRAN: Final = tuple(
    f"scipy.linalg._{name}{long}"
    for name in ("fblas", "flapack", "cblas", "clapack")
    for long in ("", "_64")
)
"""Modules of functions that f2py has wrapped: those of BLAS and LAPACK."""
_WRAPPERS: Final = ("uarray", "_cython")
"""The modules that define the classes of functions made by uarray and by Cython."""
_BRACKETS: Final = str.maketrans("", "", "[]() ")
OF_DTYPES: Final = frozenset({"find_best_blas_type", "get_blas_funcs", "get_lapack_funcs"})
"""Functions of `scipy.linalg` that read the dtypes of arrays, and no elements."""


def module_name(value: Any) -> str:
    """The module of a function or class, or of the class of another object; no user code runs."""
    if is_fortran(value):
        return "scipy.linalg." + ("blas" if _holds("scipy.linalg.blas", value) else "lapack")
    kind: Any = type(value)
    if kind in (FunctionType, BuiltinFunctionType) or kind.__module__.startswith(_WRAPPERS):
        found = value.__module__
    elif issubclass(kind, type):
        found = type.__dict__["__dict__"].__get__(value).get("__module__")
    else:
        found = kind.__module__
    return found if type(found) is str else ""


def is_of_scipy(value: Any) -> bool:
    """True for a function, class or object of SciPy; False for its ufuncs."""
    return not isinstance(value, np.ufunc) and _is_in_scipy(module_name(value))


def is_object(value: Any) -> bool:
    """True for an object whose class is SciPy's: a sparse matrix, a distribution, a spline."""
    return _is_in_scipy(str(type(value).__module__)) and not isinstance(value, type | tuple)


def _is_in_scipy(module: str) -> bool:
    return module == "scipy" or module.startswith("scipy.")


def public_module(module: str) -> str:
    """The module that users import from: the part of the name before a private one."""
    return module.partition("._")[0]


def public_name(function: Any) -> str:
    """The name of a function with the module that users import it from."""
    name = str(getattr(function, "__name__", type(function).__name__))
    return f"{public_module(module_name(function))}.{name.removeprefix('function ')}"


def is_constant(value: Any) -> bool:
    """True for an object to which a module of SciPy gives a name, such as a distribution."""
    return _holds(public_module(str(type(value).__module__)), value)


def _holds(module: str, value: Any) -> bool:
    loaded = sys.modules.get(module)
    return loaded is not None and any(held is value for held in vars(loaded).values())


def is_fortran(value: Any) -> bool:
    """True for a function of SciPy's that f2py has wrapped, as those of `scipy.linalg.lapack`."""
    return type(value).__name__ == "fortran" and _is_fortran(value)


@functools.lru_cache(maxsize=1024)
def _is_fortran(value: Any) -> bool:
    return any(_holds(module, value) for module in _FORTRAN)


def is_multimethod(value: Any) -> bool:
    """True for a function of `scipy.fft`, which asks its back ends for the result."""
    return type(value).__module__ == "uarray" and _is_in_scipy(module_name(value))


def fortran_writes(function: Any) -> Iterator[tuple[int, str, int | None, str]]:
    """Yield place and name of each parameter that an f2py function may write, and of its flag.

    If there is no flag (place None), the array itself is written if its dtype and layout allow it.
    The first line of the docstring has the flags, as in `x,info = dpotrs(c,b,[lower,overwrite_b])`.
    """
    words = str(function.__doc__).split()
    results, _, call = str(function.__doc__).partition("\n")[0].partition(" = ")
    names = call.partition("(")[2].translate(_BRACKETS).split(",")
    stored = set(results.split(","))  # parameters whose storage a result has, by the docstring
    stored |= {name for name, said in zip(words, words[1:], strict=False) if said == "storage"}
    for place, name in enumerate(names):
        flag = f"overwrite_{name}"
        if flag in names:
            yield place, name, names.index(flag), flag
        elif name in stored:
            yield place, name, None, ""


def is_step(function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True for a public function, class or method of SciPy's that gets traced arrays."""
    if not is_of_scipy(function) or public_module(module_name(function)) == "scipy":
        return False
    return any(issubclass(type(one), TracedValue) for one in _leaves((args, kwargs)))


def _leaves(value: Any) -> Iterator[Any]:
    if issubclass(type(value), dict):
        yield from _leaves(list(value.values()))
    elif issubclass(type(value), list | tuple):
        for one in value:
            yield from _leaves(one)
    else:
        yield value
