"""`x.flat` of lazy arrays, which uses NumPy's iterator over memory that is handed out."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from axiomjit.base.origins import hides_frames
from axiomjit.numpy.exports import handed_out
from axiomjit.numpy.handles import concrete
from axiomjit.numpy.lazy_arrays import LazyArray, wrap


class Flat:
    """The iterator over the elements of a lazy array; indices and values may be lazy arrays."""

    __slots__ = ("_flat", "_of")
    locals()["__class__"] = property(lambda self: np.flatiter)

    def __init__(self, of: LazyArray) -> None:
        """Hand out the memory of an array, and start at its first element."""
        self._of, self._flat = of, handed_out(of).flat

    @property
    def base(self) -> LazyArray:
        """The array over whose elements the iterator runs."""
        return self._of

    def copy(self) -> Any:
        """A new array of all elements."""
        return wrap(self._flat.copy())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._flat, name)

    @hides_frames
    def __getitem__(self, index: Any) -> Any:
        return wrap(self._flat[concrete(index)])

    @hides_frames
    def __setitem__(self, index: Any, value: Any) -> None:
        self._flat[concrete(index)] = concrete(value)

    @hides_frames
    def __delitem__(self, index: Any) -> None:
        operator.delitem(self._flat, index)  # NumPy's error

    def __iter__(self) -> Any:
        return self._flat

    @hides_frames
    def __next__(self) -> Any:
        return next(self._flat)

    def __len__(self) -> int:
        return len(self._flat)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._flat, dtype, copy=copy)


def _comparison(name: str) -> Any:
    compare = getattr(operator, name)
    return hides_frames(lambda self, other: wrap(compare(self._flat, concrete(other))))


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(Flat, f"__{_name}__", _comparison(_name))
