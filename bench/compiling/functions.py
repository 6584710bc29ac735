"""Ten small functions for NumPy and for JAX."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

SHAPE: Final = (60, 100)
ROWS: Final = SHAPE[0]


class Small(NamedTuple):
    """A function of two arrays of doubles, for any module that has NumPy's names."""

    name: str
    flat: bool
    """True if the operands are vectors, False if they are matrices."""
    over: Callable[[ModuleType], Callable[[Any, Any], Any]]
    """Makes the function for a module; each call makes a new, uncompiled function.
    """

    def operands(self) -> tuple[np.ndarray, np.ndarray]:
        """The two arguments of the function."""
        values = np.random.default_rng(5).uniform(0.5, 2.0, (2, *SHAPE))
        x, y = values.reshape(2, -1) if self.flat else values
        return x, y


FUNCTIONS: Final = (
    Small("map", True, lambda m: lambda x, y: 2.0 * x + y * x - 1.0),
    Small("choice", True, lambda m: lambda x, y: m.where(x > y, x - y, m.sqrt(x * y))),
    Small("sum", True, lambda m: lambda x, y: (x * y).sum()),
    Small("norm", True, lambda m: lambda x, y: m.sqrt(((x - y) ** 2).sum())),
    Small("largest", True, lambda m: lambda x, y: m.maximum(x, y).max()),
    Small("rows", False, lambda m: lambda x, y: (x * y).sum(axis=1)),
    Small("columns", False, lambda m: lambda x, y: (x + y).sum(axis=0)),
    Small(
        "stencil",
        False,
        lambda m: (
            lambda x, y: (
                (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * y[0, 0]
            )
        ),
    ),
    Small("logistic", True, lambda m: lambda x, y: 1.0 / (1.0 + m.exp(-x)) + y),
    Small("waves", True, lambda m: lambda x, y: m.sin(x) * m.log(y)),
)
