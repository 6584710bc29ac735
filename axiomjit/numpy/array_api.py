"""The namespace of the array API standard 2025.12: that of `axiomjit.numpy`, with other functions.

`x.__array_namespace__()` of a lazy array is this module. Here are the functions of which NumPy 2.4
has other results; `axiomjit.numpy` has NumPy's.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as _theirs

import axiomjit.numpy as _np
from axiomjit.base.dtypes import is_complex as _is_complex
from axiomjit.base.records import Record as _Record
from axiomjit.numpy.submodules import With as _With

__array_api_version__: Final = "2025.12"
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that the namespace has."""


class FloatInfo(_Record):
    """The limits of a floating-point dtype, as Python's numbers, and its real dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a dtype or of the dtype of an array.

    Raises:
        ValueError: the dtype is none of floats or complex numbers.
    """
    found: Any = _theirs.finfo(_dtype_of(type))
    numbers = (found.eps, found.max, found.min, found.smallest_normal)
    eps, most, least, normal = map(float, numbers)
    return FloatInfo(int(found.bits), eps, most, least, normal, found.dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype or of the dtype of an array.

    Raises:
        ValueError: the dtype is none of integers.
    """
    return _theirs.iinfo(_dtype_of(type))


def _dtype_of(value: Any) -> Any:
    """The dtype of an array; other values themselves."""
    return value.dtype if isinstance(value, _theirs.ndarray) else value


class NamespaceInfo:
    """The dtypes, capabilities and devices of the namespace."""

    def __init__(self) -> None:
        """Ask NumPy for all but the devices."""
        self._numpy = _theirs.__array_namespace_info__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpy, name)

    def devices(self) -> tuple[str, ...]:
        """The devices, as a tuple."""
        return tuple(self._numpy.devices())


__array_namespace_info__: Final = NamespaceInfo


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements in order along an axis."""
    return _np.sort(x, axis, stable=stable, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions of the elements in order along an axis."""
    return _np.argsort(x, axis, stable=stable, descending=descending)


def clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """The elements, with bounds in place of those beyond them."""
    return _theirs.clip(x, min, max, **options)


def expm1(x: Any, /, **options: Any) -> Any:
    """exp(x) - 1, with the standard's values for infinite and NaN parts of complex numbers."""
    found = _theirs.expm1(x, **options)
    if not _is_complex(found.dtype):
        return found
    a, b = x.real, x.imag
    far = _theirs.isinf(a) & ~_theirs.isfinite(b)
    real = _theirs.where(far | (b == 0), _theirs.expm1(a) + 0.0, found.real)
    zero = _theirs.where(b == 0, b, _theirs.copysign(0.0, b))
    return _complex(found, real, _theirs.where((b == 0) | (far & (a < 0)), zero, found.imag))


def tanh(x: Any, /, **options: Any) -> Any:
    """The hyperbolic tangent; where real parts are infinite, it is 1 + 0j, or a mirror of this."""
    found = _theirs.tanh(x, **options)
    if not _is_complex(found.dtype):
        return found
    zero = _theirs.copysign(0.0, x.imag)
    far = _theirs.isinf(x.real) & _theirs.isfinite(x.imag)
    return _complex(found, found.real, _theirs.where(far, zero, found.imag))


def _complex(like: Any, real: Any, imag: Any) -> Any:
    """An array of a dtype and shape, of these parts."""
    made = _theirs.empty_like(like)
    made.real, made.imag = real, imag
    return made


def _eig(x: Any, /) -> Any:
    """The eigenvalues and eigenvectors, complex also where all are real."""
    found = _theirs.linalg.eig(x)
    kind = _theirs.result_type(x, _theirs.complex64)
    return type(found)(*(one.astype(kind, copy=False) for one in found))


def _eigvals(x: Any, /) -> Any:
    """The eigenvalues, complex also where all are real."""
    return _theirs.linalg.eigvals(x).astype(_theirs.result_type(x, _theirs.complex64), copy=False)


linalg: Final = _With(f"{__name__}.linalg", _theirs.linalg, {"eig": _eig, "eigvals": _eigvals})


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*dir(_np), *globals()})
