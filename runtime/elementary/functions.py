"""The recipes of elementary functions, and their NumPy forms, by names in generated source."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from axiomjit.runtime.elementary.arithmetic import Numeric, NumpyArithmetic
from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES
from axiomjit.runtime.elementary.exponential import cosh, erf, erfc, exp, exp2, expm1, sinh, tanh
from axiomjit.runtime.elementary.logarithm import (
    arccosh,
    arcsinh,
    arctanh,
    cbrt,
    hypot,
    log,
    log1p,
    log2,
    log10,
    logaddexp,
    logaddexp2,
    power,
)
from axiomjit.runtime.elementary.trigonometric import arccos, arcsin, arctan, arctan2, cos, sin, tan

Recipe = Callable[..., Numeric]
"""A function of an arithmetic and one value per operand, which returns the result."""

RECIPES: dict[str, Recipe] = {
    recipe.__name__: recipe
    for recipe in (
        *(exp, exp2, expm1, log, log2, log10, log1p, cbrt, power, logaddexp, logaddexp2),
        *(sin, cos, tan, arcsin, arccos, arctan, arctan2),
        *(sinh, cosh, tanh, arcsinh, arccosh, arctanh, hypot, erf, erfc),
    )
}


_EXACT = {code: NumpyArithmetic(code) for code in ("f4", "f8")}


@lru_cache(maxsize=4096)
def _of_complex(name: str, data: bytes) -> Any:
    """The result of a complex function for a number given as bytes; it is cached, as it is slow."""
    z = np.frombuffer(data, f"c{len(data)}")
    exact = _EXACT[f"f{len(data) // 2}"]

    def of(real: str, *operands: Any) -> Any:
        return RECIPES[real](exact, *operands)

    result = np.zeros(1, z.dtype)
    result.real, result.imag = COMPLEX_RECIPES[name](exact, of, z.real[0], z.imag[0])
    return result[0]


def _twin(name: str, recipe: Recipe) -> Callable[..., Any]:
    """Return the function of NumPy scalars: the recipe, or NumPy's for dtypes without recipe."""

    def twin(*operands: Any) -> Any:
        exact = _EXACT.get(operands[0].dtype.str[1:])
        if exact is not None:
            return recipe(exact, *operands)
        if name in COMPLEX_RECIPES:
            return _of_complex(name, operands[0].tobytes())
        return getattr(np, name)(*operands)

    return twin


PLAIN_NAMES: dict[str, Callable[..., Any]] = {
    name: _twin(name, recipe) for name, recipe in RECIPES.items()
}
