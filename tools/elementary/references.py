"""Reference functions: in float64, in longdouble and in mpmath.

NumPy has float64 and longdouble forms of nearly all; error functions are the C library's.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from ctypes.util import find_library
from functools import cache
from typing import Any, Final

import numba
import numpy as np
from mpmath import mp, mpf

Array = np.ndarray[Any, Any]
Exact = Callable[..., Any]
"""A function of mpmath's numbers."""
DIGITS: Final = 40
FARTHEST: Final = 16_000
"""The range of longdouble's exponents."""

_LOOP: Final = """
declare {kind} @{name}({kind})
define void @loop(ptr %x, ptr %out, i64 %n) {{
entry:
  br label %body
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %from = getelementptr {kind}, ptr %x, i64 %i
  %value = load {kind}, ptr %from
  %result = call {kind} @{name}({kind} %value)
  %to = getelementptr {kind}, ptr %out, i64 %i
  store {kind} %result, ptr %to
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret void
}}
"""


@cache
def reference(name: str, code: str) -> Callable[..., Array]:
    """Return the function on arrays of float64 ("f8") or longdouble ("g"); it accepts `out=`.

    Raises:
        OSError: longdouble is needed and not x86's, or there is no C library.
    """
    numpys: Callable[..., Array] | None = getattr(np, name, None)
    if numpys is not None:
        return numpys
    if code == "g":
        return _of_longdouble(f"{name}l")
    made: Callable[..., Array] = numba.vectorize(["f8(f8)"])(_of_number(getattr(math, name)))
    return made


def _of_number(function: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: function(x)


def _of_longdouble(name: str) -> Callable[..., Array]:
    """Return a C function of long double on arrays; neither NumPy nor Numba can call those."""
    from llvmlite import binding

    if np.finfo("g").nmant != 63:
        raise OSError(f"{name} of longdouble numbers of x86, which this machine does not have")
    binding.load_library_permanently(find_library("m") or "libm.so.6")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    module = binding.parse_assembly(_LOOP.format(kind="x86_fp80", name=name))
    machine = binding.Target.from_default_triple().create_target_machine()
    engine = binding.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    pointer = ctypes.c_void_p
    loop = ctypes.CFUNCTYPE(None, pointer, pointer, ctypes.c_int64)(
        engine.get_function_address("loop")
    )

    def function(x: Array, out: Array | None = None) -> Array:
        result = np.empty(len(x), "g") if out is None else out
        given = np.ascontiguousarray(x, "g")
        loop(given.ctypes.data, result.ctypes.data, len(given))
        return result

    function.engine = engine  # type: ignore[attr-defined]  # keeps the code loaded
    return function


def rounded(value: Any) -> np.longdouble:
    """Return the longdouble nearest to an mpmath number; NaN for a complex one."""
    if not isinstance(value, mpf):
        return np.longdouble(np.nan)
    if mp.isinf(value) or mp.isnan(value) or value == 0:
        return np.longdouble(float(value))
    mantissa, exponent = mp.frexp(value)
    high = float(mantissa)
    total = np.longdouble(high) + np.longdouble(float(mantissa - high))
    scale = np.ldexp(np.longdouble(1), max(-FARTHEST, min(FARTHEST, int(exponent))))
    return np.longdouble(total * scale)


def settled(exact: Exact, operands: Sequence[Array], want: Array) -> Array:
    """Return `want`, replaced by mpmath's results where operands and results are finite numbers.

    Zeros, infinities and NaN stay: mpmath's zeros have no sign, and its limits are not C's.
    """
    result = want.astype("g")
    with mp.workdps(DIGITS), np.errstate(all="ignore"):
        for k in np.flatnonzero(np.isfinite(want) & (want != 0)):
            given = [values[k] for values in operands]
            if np.all(np.isfinite(given)) and np.all(given):
                result[k] = rounded(exact(*(mpf(float(value)) for value in given)))
    return result
