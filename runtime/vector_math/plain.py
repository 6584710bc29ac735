"""The elementary functions of generated source in plain Python."""

from collections.abc import Callable
from typing import Any

import numpy as np

from axiomjit.runtime.vector_math.exact import Exact
from axiomjit.runtime.vector_math.functions import RECIPES, Recipe

_EXACT = {code: Exact(code) for code in ("f4", "f8")}


def _twin(name: str, recipe: Recipe) -> Callable[..., Any]:
    """The function of NumPy scalars of one dtype; of complex ones it is NumPy's."""

    def twin(*operands: Any) -> Any:
        exact = _EXACT.get(operands[0].dtype.str[1:])
        return getattr(np, name)(*operands) if exact is None else recipe(exact, *operands)

    return twin


NAMES: dict[str, Callable[..., Any]] = {
    name: _twin(name, recipe) for name, recipe in RECIPES.items()
}
