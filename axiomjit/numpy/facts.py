"""The facts of arrays and numbers: dtype, shape and strides; equal facts are one object."""

from __future__ import annotations

from typing import Any, Final
from weakref import WeakValueDictionary

import numpy as np

from axiomjit.base.dtypes import ELEMENT_TYPES

LAZY_TYPES: Final = frozenset(dtype.num for dtype in ELEMENT_TYPES)
"""NumPy's type numbers of the dtypes that lazy arrays can have."""


class Facts:
    """The dtype, shape and strides (in bytes) of an array, or the dtype of a NumPy number.

    Equal facts are one object, so that edges of a path compare facts by identity.
    """

    __slots__ = ("__weakref__", "_sample", "dtype", "is_number", "nbytes", "shape", "strides")

    def __init__(
        self, dtype: Any, shape: tuple[int, ...], strides: tuple[int, ...], is_number: bool
    ) -> None:
        self.dtype, self.shape, self.strides = dtype, shape, strides
        self.is_number = is_number
        self.nbytes = dtype.itemsize
        for length in shape:
            self.nbytes *= length
        self._sample: Any = None

    @property
    def sample(self) -> Any:
        """An array with this dtype and shape that takes no memory; its elements have no meaning."""
        if self._sample is None:
            self._sample = np.broadcast_to(np.zeros((), self.dtype), self.shape)
        return self._sample


def is_lazy_type(dtype: Any) -> bool:
    """True if lazy arrays can have a dtype, which must be in native byte order."""
    return dtype.num in LAZY_TYPES and dtype.isnative and dtype.names is None


def facts_of(value: Any) -> Facts:
    """The facts of a NumPy array or number.

    Args:
        value: An array or number whose dtype lazy arrays can have.
    """
    is_number = isinstance(value, np.generic)
    dtype, shape, strides = value.dtype, value.shape, value.strides
    key = dtype.num, shape, strides, is_number
    found = _interned.get(key)
    if found is None:
        found = _interned.setdefault(key, Facts(dtype, shape, strides, is_number))
    return found


_interned: Final[WeakValueDictionary[object, Facts]] = WeakValueDictionary()
