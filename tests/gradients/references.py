"""The functions that rules are compared with, at complex points, and where their points are.

Derivatives of a holomorphic function are means over a circle, to nearly all digits of a double. A
function with kinks is chosen by the real parts of its operands.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

COUNT = 200
NODES = 64
TURNS = np.exp(2j * np.pi * np.arange(NODES) / NODES)
WIDE = 1.0
"""The largest distance to a singularity that is used."""


class Reference(NamedTuple):
    """A function of complex numbers, the ranges of its operands, and its singular points.

    `distance` gives for all operands the distance to where the function is not holomorphic.
    """

    function: Callable
    ranges: tuple
    distance: Callable

    def points(self, seed, count=COUNT):
        """Random points that are not near a kink."""
        generator = np.random.default_rng(seed)
        drawn = [generator.uniform(low, high, 3 * count) for low, high in self.ranges]
        far = self.distance(*drawn) > 0.08
        return [x[far][:count] for x in drawn]

    def derivative(self, arrays, orders):
        """A partial derivative at each point, of at most two orders in all."""
        radius = 0.3 * np.minimum(self.distance(*arrays), WIDE)
        found = [x.astype(complex) for x in arrays]
        weight, axes = np.ones(radius.shape), 0
        for k, order in enumerate(orders):
            if order:
                found = [x[..., None] for x in found]
                around = TURNS * radius.reshape(radius.shape + (1,) * (axes + 1))
                found[k] = found[k] + around
                weight = weight[..., None] * math.factorial(order) / around**order
                axes += 1
        made = self.function(*found) * weight
        return made.mean(axis=tuple(range(1, axes + 1)))


def _from(*singular):
    """The distance to the nearest of some points."""

    def distance(x, *rest):
        return np.minimum.reduce([abs(x - one) for one in (*singular, np.inf)]) + 0 * x.real

    return distance


def _of_second(a, b):
    return abs(b)


def _of_both(a, b):
    return np.hypot(a, b)


def _apart(a, b):
    return abs(a - b)


def _steps(a, b):
    """The distance to where the quotient is an integer."""
    ratio = a / b
    return abs(ratio - np.rint(ratio)) * abs(b) / 3


def _of_ends(x, low, high):
    return np.minimum.reduce([abs(x - low), abs(x - high), abs(low - high)])


def _larger(a, b):
    return np.where(a.real > b.real, a, b)


def _smaller(a, b):
    return np.where(a.real < b.real, a, b)


def _size(x):
    return np.where(x.real > 0, x, -x)


def _logistic(x):
    return 1 / (1 + np.exp(-x))


ANY, POSITIVE, INSIDE = (-2.0, 2.0), (0.1, 4.0), (-0.9, 0.9)
FAR = _from()
ENDS = _from(-1, 1)
REFERENCES = {
    "add": Reference(lambda a, b: a + b, (ANY, ANY), FAR),
    "subtract": Reference(lambda a, b: a - b, (ANY, ANY), FAR),
    "multiply": Reference(lambda a, b: a * b, (ANY, ANY), FAR),
    "divide": Reference(lambda a, b: a / b, (ANY, POSITIVE), _of_second),
    "power": Reference(lambda a, b: a**b, (POSITIVE, ANY), _from(0)),
    "negative": Reference(lambda x: -x, (ANY,), FAR),
    "absolute": Reference(_size, (ANY,), _from(0)),
    "fabs": Reference(_size, (ANY,), _from(0)),
    "sqrt": Reference(np.sqrt, (POSITIVE,), _from(0)),
    "exp": Reference(np.exp, (ANY,), FAR),
    "exp2": Reference(lambda x: np.exp(x * math.log(2)), (ANY,), FAR),
    "expm1": Reference(np.expm1, (ANY,), FAR),
    "log": Reference(np.log, (POSITIVE,), _from(0)),
    "log2": Reference(np.log2, (POSITIVE,), _from(0)),
    "log10": Reference(np.log10, (POSITIVE,), _from(0)),
    "log1p": Reference(np.log1p, ((-0.9, 3.0),), _from(-1)),
    "cbrt": Reference(
        lambda x: np.where(x.real > 0, 1, -1) * _size(x) ** (1 / 3), (ANY,), _from(0)
    ),
    "logaddexp": Reference(
        lambda a, b: a + np.log1p(np.exp(b - a)), ((-6.0, 6.0), (-6.0, 6.0)), FAR
    ),
    "logaddexp2": Reference(
        lambda a, b: a + np.log1p(np.exp((b - a) * math.log(2))) / math.log(2),
        ((-6.0, 6.0), (-6.0, 6.0)),
        FAR,
    ),
    "sin": Reference(np.sin, ((-7.0, 7.0),), FAR),
    "cos": Reference(np.cos, ((-7.0, 7.0),), FAR),
    "tan": Reference(np.tan, ((-1.2, 1.2),), _from(-math.pi / 2, math.pi / 2)),
    "arcsin": Reference(np.arcsin, (INSIDE,), ENDS),
    "arccos": Reference(np.arccos, (INSIDE,), ENDS),
    "arctan": Reference(np.arctan, ((-5.0, 5.0),), _from(1j, -1j)),
    "arctan2": Reference(lambda a, b: np.arctan(a / b), (ANY, POSITIVE), _of_second),
    "sinh": Reference(np.sinh, (ANY,), FAR),
    "cosh": Reference(np.cosh, (ANY,), FAR),
    "tanh": Reference(np.tanh, (ANY,), FAR),
    "arcsinh": Reference(np.arcsinh, ((-5.0, 5.0),), _from(1j, -1j)),
    "arccosh": Reference(np.arccosh, ((1.1, 5.0),), ENDS),
    "arctanh": Reference(np.arctanh, (INSIDE,), ENDS),
    "hypot": Reference(lambda a, b: np.sqrt(a * a + b * b), (ANY, POSITIVE), _of_both),
    "maximum": Reference(_larger, (ANY, ANY), _apart),
    "minimum": Reference(_smaller, (ANY, ANY), _apart),
    "fmax": Reference(_larger, (ANY, ANY), _apart),
    "fmin": Reference(_smaller, (ANY, ANY), _apart),
    "clip": Reference(
        lambda x, low, high: _smaller(_larger(x, low), high),
        ((-3.0, 3.0), (-2.0, 0.0), (0.5, 2.0)),
        _of_ends,
    ),
    "remainder": Reference(
        lambda a, b: a - b * np.floor(a.real / b.real), (ANY, (0.3, 3.0)), _steps
    ),
    "fmod": Reference(lambda a, b: a - b * np.trunc(a.real / b.real), (ANY, (0.3, 3.0)), _steps),
    "copysign": Reference(
        lambda a, b: _size(a) * np.where(b.real > 0, 1, -1),
        (ANY, ANY),
        lambda a, b: np.minimum(abs(a), abs(b)),
    ),
}
"""For each elementwise primitive with partial derivatives, but those of `special_references`."""


def special_references():
    """The references of the error functions and of SciPy's ufuncs, by the names of their rows."""
    from scipy import special

    error = Reference(special.erf, ((-3.0, 3.0),), FAR)
    rest = Reference(special.erfc, ((-3.0, 3.0),), FAR)
    poles = _from(0, -1)
    rows = {
        "erf": error,
        "erfc": rest,
        "erfcx": Reference(lambda x: np.exp(x * x) * special.erfc(x), ((-2.0, 2.0),), FAR),
        "expit": Reference(_logistic, ((-5.0, 5.0),), FAR),
        "logit": Reference(lambda x: np.log(x / (1 - x)), ((0.1, 0.9),), _from(0, 1)),
        "log_expit": Reference(lambda x: -np.log1p(np.exp(-x)), ((-5.0, 5.0),), FAR),
        "gammaln": Reference(special.loggamma, ((0.5, 4.0),), poles),
        "gamma": Reference(special.gamma, ((0.5, 4.0),), poles),
        "psi": Reference(special.psi, ((0.5, 4.0),), poles),
        "xlogy": Reference(lambda x, y: x * np.log(y), (ANY, POSITIVE), _of_second),
        "ndtr": Reference(lambda x: special.erfc(-x / math.sqrt(2)) / 2, ((-3.0, 3.0),), FAR),
        "log_ndtr": Reference(special.log_ndtr, ((-5.0, 3.0),), FAR),
        "i0": Reference(lambda x: special.iv(0, x), ((-3.0, 3.0),), FAR),
        "i1": Reference(lambda x: special.iv(1, x), ((-3.0, 3.0),), FAR),
        "j0": Reference(lambda x: special.jv(0, x), ((-3.0, 3.0),), FAR),
        "j1": Reference(lambda x: special.jv(1, x), ((-3.0, 3.0),), FAR),
    }
    return {"erf": error, "erfc": rest} | {f"scipy.special.{k}": one for k, one in rows.items()}
