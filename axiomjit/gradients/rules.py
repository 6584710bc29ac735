"""The derivatives of elementwise primitives, with a row for each primitive."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.graph.primitives import BITS_AS, BITS_VIEWS

Partial = Callable[..., Any] | int | float
"""A partial derivative: a number, or a function of the result and all operands."""


class NoPath(Record):
    """The rule of a primitive whose derivative is zero wherever it exists."""


class Refused(Record):
    """The row of an operation without a derivative rule; the error message shows `reason`."""

    reason: str


NO_PATH: Final = NoPath()
Row = tuple[Partial, ...] | NoPath | Refused
TWO_BY_ROOT_PI: Final = 2 / math.sqrt(math.pi)
LOG_2, LOG_10 = math.log(2), math.log(10)


def _without_zero(value: Any, by: Any) -> Any:
    """The quotient of `value` and `by`; 0 where `by` is 0."""
    zero = by == 0
    return np.where(zero, 0, value / np.where(zero, 1, by))


def _power_of_base(y: Any, base: Any, exponent: Any) -> Any:
    return np.where(exponent == 0, 0, exponent * base ** (exponent - 1))


def _power_of_exponent(y: Any, base: Any, exponent: Any) -> Any:
    return np.where(base == 0, 0, y * np.log(base))


def _larger(a: Any, b: Any) -> Any:
    """The derivative of max(a, b) with respect to a; 0.5 where the two numbers are equal."""
    return np.where(a == b, 0.5, np.where((a > b) | np.isnan(a), 1, 0))


def _smaller(a: Any, b: Any) -> Any:
    return np.where(a == b, 0.5, np.where((a < b) | np.isnan(a), 1, 0))


def _number_larger(a: Any, b: Any) -> Any:
    """The derivative of fmax(a, b) with respect to a; 0.5 where the two numbers are equal."""
    return np.where(a == b, 0.5, np.where((a > b) | (np.isnan(b) & ~np.isnan(a)), 1, 0))


def _number_smaller(a: Any, b: Any) -> Any:
    return np.where(a == b, 0.5, np.where((a < b) | (np.isnan(b) & ~np.isnan(a)), 1, 0))


def _root(y: Any, x: Any) -> Any:
    return 0.5 * (1 / y)  # the quotient by a root has the same reciprocal


def of_norm(y: Any, x: Any) -> Any:
    """The derivative of a norm with respect to the sum of squares; 0 where the norm is 0."""
    return _without_zero(0.5, y)


def _cube_root(y: Any, x: Any) -> Any:
    return 1 / (3 * (y * y))


def _share(y: Any, a: Any, b: Any, power: Any) -> Any:
    """The derivative of log(power(a) + power(b)) with respect to a; 0.5 if both are infinite."""
    most = np.where(a == b, 0.5, 1)
    return np.where(np.isneginf(a), 0, np.where(np.isposinf(a), most, power(a - y)))


def _angle(a: Any, b: Any) -> Any:
    """The quotient b / (a**2 + b**2) without overflow; 0 if a and b are 0, or one is infinite."""
    size = np.hypot(a, b)
    none = (size == 0) | np.isinf(size)
    by = np.where(none, 1, size)
    return np.where(none, 0, b / by / by)


def _same_sign(y: Any, a: Any, b: Any) -> Any:
    return np.copysign(1, a) * np.copysign(1, b)


NO_PATHS: Final = (
    *("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("isnan", "isinf", "isfinite", "signbit", "sign", "floor", "ceil", "trunc", "rint"),
    *("logical_and", "logical_or", "logical_xor", "logical_not", "floor_divide", "position"),
    *("bitwise_and", "bitwise_or", "bitwise_xor", "invert", "left_shift", "right_shift"),
)
IDENTITIES: Final = (
    *("view", "read_only", "cast", "copy", "number", "pack", "merged", "save", "materialize"),
)
"""Primitives whose result has the values of the operand, in another dtype or in other memory."""
STRUCTURAL: Final = ("update", "join", "gather", "product", "state", "where", "complex_of")
"""Primitives whose rules are functions in `structures.py`, `folds.py` and `reverse.py`."""
PARTS: Final = {"real": "real", "imag": "imag", "real_view": "real", "imag_view": "imag"}
"""Primitives that give a part of complex numbers."""
_BITS: Final = Refused("the bits of numbers as other numbers, which have no derivative")

ELEMENTWISE: Final[Mapping[str, Row]] = {
    **dict.fromkeys(NO_PATHS, NO_PATH),
    **dict.fromkeys(IDENTITIES, (1,)),
    **{view.name: _BITS for view in (*BITS_AS.values(), *BITS_VIEWS.values())},
    "add": (1, 1),
    "subtract": (1, -1),
    "multiply": (lambda y, a, b: b, lambda y, a, b: a),
    "divide": (lambda y, a, b: 1 / b, lambda y, a, b: -y * (1 / b)),
    "reciprocal": (lambda y, x: -y * y,),
    "power": (_power_of_base, _power_of_exponent),
    "negative": (-1,),
    "absolute": (lambda y, x: np.sign(x),),
    "fabs": (lambda y, x: np.sign(x),),
    "sqrt": (_root,),
    "exp": (lambda y, x: y,),
    "exp2": (lambda y, x: y * LOG_2,),
    "expm1": (lambda y, x: y + 1,),
    "log": (lambda y, x: 1 / x,),
    "log2": (lambda y, x: 1 / (x * LOG_2),),
    "log10": (lambda y, x: 1 / (x * LOG_10),),
    "log1p": (lambda y, x: 1 / (1 + x),),
    "cbrt": (_cube_root,),
    "logaddexp": (
        lambda y, a, b: _share(y, a, b, np.exp),
        lambda y, a, b: _share(y, b, a, np.exp),
    ),
    "logaddexp2": (
        lambda y, a, b: _share(y, a, b, np.exp2),
        lambda y, a, b: _share(y, b, a, np.exp2),
    ),
    "erf": (lambda y, x: TWO_BY_ROOT_PI * np.exp(-x * x),),
    "erfc": (lambda y, x: -TWO_BY_ROOT_PI * np.exp(-x * x),),
    "sin": (lambda y, x: np.cos(x),),
    "cos": (lambda y, x: -np.sin(x),),
    "tan": (lambda y, x: 1 + y * y,),
    "arcsin": (lambda y, x: 1 / np.sqrt((1 - x) * (1 + x)),),
    "arccos": (lambda y, x: -1 / np.sqrt((1 - x) * (1 + x)),),
    "arctan": (lambda y, x: 1 / (1 + x * x),),
    "arctan2": (
        lambda y, a, b: _angle(a, b),
        lambda y, a, b: -_angle(b, a),
    ),
    "sinh": (lambda y, x: np.cosh(x),),
    "cosh": (lambda y, x: np.sinh(x),),
    "tanh": (lambda y, x: 1 - y * y,),
    "arcsinh": (lambda y, x: 1 / np.sqrt(1 + x * x),),
    "arccosh": (lambda y, x: 1 / (np.sqrt(x - 1) * np.sqrt(x + 1)),),
    "arctanh": (lambda y, x: 1 / ((1 - x) * (1 + x)),),
    "hypot": (lambda y, a, b: _without_zero(a, y), lambda y, a, b: _without_zero(b, y)),
    "maximum": (lambda y, a, b: _larger(a, b), lambda y, a, b: _larger(b, a)),
    "minimum": (lambda y, a, b: _smaller(a, b), lambda y, a, b: _smaller(b, a)),
    "fmax": (lambda y, a, b: _number_larger(a, b), lambda y, a, b: _number_larger(b, a)),
    "fmin": (lambda y, a, b: _number_smaller(a, b), lambda y, a, b: _number_smaller(b, a)),
    "clip": (
        lambda y, x, a, b: _larger(x, a) * _smaller(np.maximum(x, a), b),
        lambda y, x, a, b: _larger(a, x) * _smaller(np.maximum(x, a), b),
        lambda y, x, a, b: _smaller(b, np.maximum(x, a)),
    ),
    "remainder": (1, lambda y, a, b: -np.floor_divide(a, b)),
    "fmod": (1, lambda y, a, b: -np.trunc(a / b)),
    "copysign": (_same_sign, 0),
    "conjugate": NO_PATH,  # of real numbers: `builder` makes no such op; `OF_COMPLEX` has its rule
}
"""The partial derivatives of each primitive, one per operand."""


def _absolute(g: Any, y: Any, x: Any) -> tuple[Any, ...]:
    zero = y == 0
    return (np.where(zero, 0, g / np.where(zero, 1, y)) * x,)


def _real_if(chosen: Any, g: Any) -> Any:
    return np.where(chosen, g, 0)


OF_COMPLEX: Final[Mapping[str, Callable[..., tuple[Any, ...]]]] = {
    "conjugate": lambda g, y, x: (np.conj(g),),
    "absolute": _absolute,
    "maximum": lambda g, y, a, b: (
        np.where(a == b, g * 0.5, _real_if(y == a, g)),
        np.where(a == b, g * 0.5, _real_if(y == b, g)),
    ),
    "minimum": lambda g, y, a, b: (
        np.where(a == b, g * 0.5, _real_if(y == a, g)),
        np.where(a == b, g * 0.5, _real_if(y == b, g)),
    ),
}
"""For each primitive that is not holomorphic, a function for the cotangents of complex operands."""
NOT_OF_COMPLEX: Final = frozenset({"clip", "fmax", "fmin"})
"""Primitives without a rule for complex operands."""
