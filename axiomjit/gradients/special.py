"""The derivatives of SciPy's special functions, by their names.

A ufunc has partial derivatives, a function of entire arrays has a pullback.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex
from axiomjit.base.locks import lazy_import
from axiomjit.gradients.decompositions import folded
from axiomjit.gradients.rules import TWO_BY_ROOT_PI, NoPath, Partial, Refused
from axiomjit.gradients.values import NodeArray

ROOT_2_PI: Final = math.sqrt(2 * math.pi)
ROOT_2_BY_PI: Final = math.sqrt(2 / math.pi)
ROOT_HALF: Final = math.sqrt(0.5)


def _special(name: str) -> Callable[..., Any]:
    """A function of `scipy.special`, which is imported already if a graph has a node of it."""
    found: Callable[..., Any] = getattr(lazy_import("scipy.special"), name)
    return found


def _xlogy_by_y(z: Any, x: Any, y: Any) -> Any:
    return np.where(x == 0, 0, x / y)


SpecialRow = tuple[Partial | Refused, ...] | NoPath | Refused
UFUNCS_OF_SCIPY: Final[Mapping[str, SpecialRow]] = {
    "scipy.special.erf": (lambda y, x: TWO_BY_ROOT_PI * np.exp(-x * x),),
    "scipy.special.erfc": (lambda y, x: -TWO_BY_ROOT_PI * np.exp(-x * x),),
    "scipy.special.erfinv": (lambda y, x: np.exp(y * y) / TWO_BY_ROOT_PI,),
    "scipy.special.expit": (lambda y, x: y * _special("expit")(-x),),
    "scipy.special.logit": (lambda y, x: 1 / (x * (1 - x)),),
    "scipy.special.log_expit": (lambda y, x: _special("expit")(-x),),
    "scipy.special.gammaln": (lambda y, x: _special("psi")(x),),
    "scipy.special.gamma": (lambda y, x: y * _special("psi")(x),),
    "scipy.special.psi": (lambda y, x: _special("zeta")(2.0, x),),
    "ufunc._zeta": (
        Refused("the zeta function by its exponent, which has no rule"),
        lambda y, s, x: -s * _special("zeta")(s + 1, x),
    ),
    "scipy.special.xlogy": (
        lambda z, x, y: np.where((x == 0) & (y == 0), 0, np.log(y)),
        _xlogy_by_y,
    ),
    "scipy.special.ndtr": (lambda y, x: np.exp(-0.5 * x * x) / ROOT_2_PI,),
    "scipy.special.log_ndtr": (lambda y, x: ROOT_2_BY_PI / _special("erfcx")(x * -ROOT_HALF),),
    "scipy.special.erfcx": (lambda y, x: 2 * x * y - TWO_BY_ROOT_PI,),
    "scipy.special.ndtri": (lambda y, x: np.exp(0.5 * y * y) * ROOT_2_PI,),
    "scipy.special.i0": (lambda y, x: _special("i1")(x),),
    "scipy.special.i1": (
        lambda y, x: _special("i0")(x) - np.where(x == 0, 0.5, y / np.where(x == 0, 1, x)),
    ),
    "scipy.special.j0": (lambda y, x: -_special("j1")(x),),
    "scipy.special.j1": (
        lambda y, x: _special("j0")(x) - np.where(x == 0, 0.5, y / np.where(x == 0, 1, x)),
    ),
}
"""The partial derivatives of each ufunc, one per operand."""


def _with_kept_axes(values: Sequence[Any], axis: Any, keepdims: bool) -> list[Any]:
    """Results of a reduction, with the reduced axes as dimensions of length 1."""
    if axis is None or keepdims:
        return list(values)
    return [np.expand_dims(one, axis) for one in values]


def _logsumexp(
    g: Any,
    y: Any,
    a: Any,
    axis: Any = None,
    b: Any = None,
    keepdims: bool = False,
    return_sign: bool = False,
    part: int | None = None,
) -> Any:
    """The cotangents of the terms and the weights; terms of -inf and sums of none have zeros."""
    if return_sign or is_complex(y.dtype):
        return Refused("logsumexp of complex numbers, or with signs")
    g, y = _with_kept_axes((g, y), axis, keepdims)
    share = np.where(a == -np.inf, 0.0, np.exp(a - np.where(y == -np.inf, 0.0, y))) * g
    if b is None:
        return (share,)
    weighted = share * b
    return (weighted, folded(share, b)) if isinstance(b, NodeArray) else (weighted,)


def _softmax(g: Any, y: Any, x: Any, axis: Any = None) -> Any:
    return ((g - (g * y).sum(axis=axis, keepdims=True)) * y,)


def _log_softmax(g: Any, y: Any, x: Any, axis: Any = None) -> Any:
    return (g - np.exp(y) * g.sum(axis=axis, keepdims=True),)


FUNCTIONS_OF_SCIPY: Final[Mapping[str, Callable[..., Any]]] = {
    "scipy.special.logsumexp": _logsumexp,
    "scipy.special.softmax": _softmax,
    "scipy.special.log_softmax": _log_softmax,
}
"""The pullback of each function, which gets and returns what those of `LIBRARY` do."""
