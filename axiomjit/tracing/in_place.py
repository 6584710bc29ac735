"""Methods of arrays that write into them, by the functions of NumPy that do so, and `x.flat`."""

from __future__ import annotations

from typing import Any

import numpy as np

from axiomjit.base.locks import lazy_import


class InPlace:
    """What a traced array has and no number: methods that change it."""

    __slots__ = ()

    def fill(self: Any, value: Any) -> None:
        """Write a number into every element.

        Raises:
            ValueError, TypeError: what has dimensions is no number.
        """
        if np.ndim(value):
            np.zeros(1, self.dtype).fill(np.zeros(1) if isinstance(value, np.ndarray) else [0])
        self[...] = value

    def put(self, indices: Any, values: Any, mode: Any = "raise") -> None:
        """Write values at positions of the flat array."""
        np.put(self, indices, values, mode)  # type: ignore[arg-type]

    def sort(self: Any, *args: Any, **kwargs: Any) -> None:
        """Sort along a dimension, in place."""
        self[...] = np.sort(self, *args, **kwargs)

    def partition(self: Any, *args: Any, **kwargs: Any) -> None:
        """Put elements where sorting would put them, in place."""
        self[...] = np.partition(self, *args, **kwargs)

    @property
    def flat(self) -> Any:
        """The elements in C order, by their places."""
        return lazy_import("axiomjit.tracing.flat_elements").FlatElements(self)

    @flat.setter
    def flat(self, value: object) -> None:
        self.flat[...] = value
