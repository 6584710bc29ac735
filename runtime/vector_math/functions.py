"""The table of elementary functions: what generated source calls, and the recipe behind it."""

from collections.abc import Callable

from axiomjit.runtime.vector_math.arcs import arccos, arcsin, arctan, arctan2
from axiomjit.runtime.vector_math.arithmetic import Value
from axiomjit.runtime.vector_math.exponential import exp, exp2
from axiomjit.runtime.vector_math.hyperbolic import cosh, sinh, tanh
from axiomjit.runtime.vector_math.logarithm import log

Recipe = Callable[..., Value]
"""Of an arithmetic and one value per operand."""

RECIPES: dict[str, Recipe] = {
    "exp": exp,
    "exp2": exp2,
    "log": log,
    "arcsin": arcsin,
    "arccos": arccos,
    "arctan": arctan,
    "arctan2": arctan2,
    "sinh": sinh,
    "cosh": cosh,
    "tanh": tanh,
}
