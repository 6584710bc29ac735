"""The namespace of the array API standard 2025.12, which extends `axiomjit.numpy`.

`x.__array_namespace__()` of a lazy array is this module. The module has the functions whose results
in NumPy 2.4 differ from the standard; `axiomjit.numpy` has NumPy's functions.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as _theirs

import axiomjit.numpy as _np
from axiomjit.base.dtypes import is_complex as _is_complex
from axiomjit.base.records import Record as _Record
from axiomjit.numpy.submodules import ModuleWith as _With

__array_api_version__: Final = "2025.12"
VERSIONS: Final = ("2021.12", "2022.12", "2023.12", "2024.12", "2025.12")
"""The versions of the standard that the namespace supports."""


class FloatInfo(_Record):
    """The limits of a floating-point dtype, as Python numbers, and its real dtype."""

    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: Any


def finfo(type: Any, /) -> FloatInfo:
    """The limits of a dtype or of the dtype of an array.

    Raises:
        ValueError: the dtype is neither floating nor complex.
    """
    found: Any = _theirs.finfo(_dtype_of(type))
    numbers = (found.eps, found.max, found.min, found.smallest_normal)
    eps, most, least, normal = map(float, numbers)
    return FloatInfo(int(found.bits), eps, most, least, normal, found.dtype)


def iinfo(type: Any, /) -> Any:
    """The limits of an integer dtype or of the dtype of an array.

    Raises:
        ValueError: the dtype is not an integer dtype.
    """
    return _theirs.iinfo(_dtype_of(type))


def _dtype_of(value: Any) -> Any:
    """The dtype of an array; other values are returned unchanged."""
    return value.dtype if isinstance(value, _theirs.ndarray) else value


class NamespaceInfo:
    """The dtypes, capabilities and devices of the namespace."""

    def __init__(self) -> None:
        """Take NumPy's information about its namespace; only `devices` gives another result."""
        self._numpy = _theirs.__array_namespace_info__()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._numpy, name)

    def devices(self) -> tuple[str, ...]:
        """The names of the devices, as a tuple."""
        return tuple(self._numpy.devices())


__array_namespace_info__: Final = NamespaceInfo


def sort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The elements, sorted along an axis."""
    return _np.sort(x, axis, stable=stable, descending=descending)


def argsort(x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Any:
    """The positions that sort the elements along an axis."""
    return _np.argsort(x, axis, stable=stable, descending=descending)


def clip(x: Any, /, min: Any = None, max: Any = None, **options: Any) -> Any:
    """The elements, limited to a range: a bound replaces elements beyond the bound."""
    return _theirs.clip(x, min, max, **options)


def expm1(x: Any, /, **options: Any) -> Any:
    """exp(x) - 1, with the values of the standard for infinite and NaN complex numbers."""
    found = _theirs.expm1(x, **options)
    if not _is_complex(found.dtype):
        return found
    a, b = x.real, x.imag
    far = _theirs.isinf(a) & ~_theirs.isfinite(b)
    real = _theirs.where(far | (b == 0), _theirs.expm1(a) + 0.0, found.real)
    zero = _theirs.where(b == 0, b, _theirs.copysign(0.0, b))
    return _complex(found, real, _theirs.where((b == 0) | (far & (a < 0)), zero, found.imag))


def tanh(x: Any, /, **options: Any) -> Any:
    """The hyperbolic tangent, with the values of the standard for infinite real parts."""
    found = _theirs.tanh(x, **options)
    if not _is_complex(found.dtype):
        return found
    zero = _theirs.copysign(0.0, x.imag)
    far = _theirs.isinf(x.real) & _theirs.isfinite(x.imag)
    return _complex(found, found.real, _theirs.where(far, zero, found.imag))


def _complex(like: Any, real: Any, imag: Any) -> Any:
    """A complex array with the dtype and shape of `like`, and these real and imaginary parts."""
    made = _theirs.empty_like(like)
    made.real, made.imag = real, imag
    return made


def _eig(x: Any, /) -> Any:
    """The eigenvalues and eigenvectors, always as complex numbers."""
    found = _theirs.linalg.eig(x)
    kind = _theirs.result_type(x, _theirs.complex64)
    return type(found)(*(one.astype(kind, copy=False) for one in found))


def _eigvals(x: Any, /) -> Any:
    """The eigenvalues, always as complex numbers."""
    return _theirs.linalg.eigvals(x).astype(_theirs.result_type(x, _theirs.complex64), copy=False)


linalg: Final = _With(f"{__name__}.linalg", _theirs.linalg, {"eig": _eig, "eigvals": _eigvals})


def __getattr__(name: str) -> Any:
    return getattr(_np, name)


def __dir__() -> list[str]:
    return sorted({*dir(_np), *globals()})
