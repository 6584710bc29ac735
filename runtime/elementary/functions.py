"""The table of elementary functions: names in generated source, and their recipes."""

from collections.abc import Callable

from axiomjit.runtime.elementary.arcs import arccos, arcsin, arctan, arctan2
from axiomjit.runtime.elementary.areas import arccosh, arcsinh, arctanh, hypot
from axiomjit.runtime.elementary.arithmetic import Numeric
from axiomjit.runtime.elementary.circular import cos, sin, tan
from axiomjit.runtime.elementary.complement import erfc
from axiomjit.runtime.elementary.error_function import erf
from axiomjit.runtime.elementary.exponential import exp, exp2, expm1
from axiomjit.runtime.elementary.hyperbolic import cosh, sinh, tanh
from axiomjit.runtime.elementary.logarithm import log, log1p, log2, log10
from axiomjit.runtime.elementary.power import cbrt, power
from axiomjit.runtime.elementary.sums import logaddexp, logaddexp2

Recipe = Callable[..., Numeric]
"""A function of an arithmetic and one value per operand, which returns the result."""

RECIPES: dict[str, Recipe] = {
    "exp": exp,
    "exp2": exp2,
    "expm1": expm1,
    "log": log,
    "log2": log2,
    "log10": log10,
    "log1p": log1p,
    "cbrt": cbrt,
    "power": power,
    "logaddexp": logaddexp,
    "logaddexp2": logaddexp2,
    "sin": sin,
    "cos": cos,
    "tan": tan,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "arctan2": arctan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
    "arcsinh": arcsinh,
    "arccosh": arccosh,
    "arctanh": arctanh,
    "hypot": hypot,
    "erf": erf,
    "erfc": erfc,
}
