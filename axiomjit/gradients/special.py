"""The partial derivatives of SciPy's special functions, by the name of the ufunc."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.gradients.rules import TWO_BY_ROOT_PI, NoPath, Partial, Refused

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
