"""NumPy's `fft`, whose functions of frequencies make lazy arrays and take a dtype."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy import fft as _fft

from axiomjit.base.dtypes import is_float
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.numpy.namespace import extended, wrapped

__all__ = list(_fft.__all__)
__path__ = _fft.__path__


def _frequencies(function: Callable[..., Any], args: Sequence[Any], dtype: Any) -> Any:
    found = function(*args)
    if dtype is not None and not is_float(np.dtype(dtype)):
        asked, remedy = f"np.fft.{function.__name__}(..., dtype={dtype!r})", "ask for a float dtype"
        raise GraphTypeError(asked, "that frequencies are no such numbers", remedy, user_location())
    return wrapped(found if dtype is None else found.astype(dtype))


def _fftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    return _frequencies(_fft.fftfreq, (n, d, device), dtype)


def _rfftfreq(n: Any, d: Any = 1.0, device: Any = None, *, dtype: Any = None) -> Any:
    return _frequencies(_fft.rfftfreq, (n, d, device), dtype)


fftfreq: Final = extended(_fft.fftfreq, _fftfreq, __name__)
rfftfreq: Final = extended(_fft.rfftfreq, _rfftfreq, __name__)


def __getattr__(name: str) -> Any:
    return getattr(_fft, name)


def __dir__() -> list[str]:
    return sorted({*dir(_fft), *globals()})
