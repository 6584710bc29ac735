"""Arrays of known values that a followed function has, as views that traced indices may meet."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray


class OutsideArray(np.ndarray):
    """A view of an array from outside; what is computed from it alone is of this class, too."""

    _seen: Array | None = None

    @classmethod
    def of(cls, array: Array) -> OutsideArray:
        """The view that stands for an array."""
        made = array.view(cls)
        made._seen = array
        return made

    def want_traced(self) -> None:
        """Let this array be traced when the function is followed again, if the function made it."""

    @property
    def plain(self) -> Array:
        """The array for which this stands; of what was computed from it a plain view."""
        return self.view(np.ndarray) if self._seen is None else self._seen


def plain(value: Any) -> Any:
    """The array for which such a view stands; other values as they are."""
    return value.plain if issubclass(type(value), OutsideArray) else value
