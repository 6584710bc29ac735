"""The elementary functions that generated source calls, in plain Python."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES
from axiomjit.runtime.elementary.exact import Exact
from axiomjit.runtime.elementary.functions import RECIPES, Recipe

_EXACT = {code: Exact(code) for code in ("f4", "f8")}


@lru_cache(maxsize=4096)
def _of_complex(name: str, data: bytes) -> Any:
    """A complex function of the number with these bytes; cached, since it is slow."""
    z = np.frombuffer(data, f"c{len(data)}")
    exact = _EXACT[f"f{len(data) // 2}"]

    def of(real: str, *operands: Any) -> Any:
        return RECIPES[real](exact, *operands)

    result = np.zeros(1, z.dtype)
    result.real, result.imag = COMPLEX_RECIPES[name](exact, of, z.real[0], z.imag[0])
    return result[0]


def _twin(name: str, recipe: Recipe) -> Callable[..., Any]:
    """Return the function of NumPy scalars; of complex ones by a recipe, or else NumPy's."""

    def twin(*operands: Any) -> Any:
        exact = _EXACT.get(operands[0].dtype.str[1:])
        if exact is not None:
            return recipe(exact, *operands)
        if name in COMPLEX_RECIPES:
            return _of_complex(name, operands[0].tobytes())
        return getattr(np, name)(*operands)

    return twin


NAMES: dict[str, Callable[..., Any]] = {
    name: _twin(name, recipe) for name, recipe in RECIPES.items()
}
