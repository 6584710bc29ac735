"""Memory of lazy arrays that others get: NumPy arrays, NumPy's interface, buffers.

While what was handed out lives, or a view of it, others can write into the memory.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axiomjit.numpy.handles import Handle, hand_out, let_escape, value_of, view_of
from axiomjit.numpy.segments import finish_readers, look


def handed_out(handle: Handle) -> Any:
    """A NumPy array of the handle's memory, which others may write into from now on."""
    finish_readers(handle)
    value, root = value_of(handle), handle.root()
    found = hand_out(root)
    return found if handle is root else view_of(found, value)


class Interface(dict[str, Any]):
    """The `__array_interface__` of a handle.

    NumPy's C code reads the memory from the dict itself, a buffer that keeps what was handed out
    alive; Python code gets NumPy's pair of address and flag, behind which the memory counts as
    shared for good.
    """

    def __init__(self, handle: Handle) -> None:
        """Describe the memory of a handle, which is handed out."""
        if handle._facts.is_number:
            self._root, array = None, np.array(look(handle))
        else:
            self._root, array = handle.root(), handed_out(handle)
        description = array.__array_interface__
        self._data = description["data"]
        super().__init__(description)
        if array.flags.c_contiguous:
            self["data"] = array
        else:
            self["data"], self["offset"] = _bytes_of(array)

    def __getitem__(self, key: str) -> Any:
        return self._address() if key == "data" else super().__getitem__(key)

    def get(self, key: str, default: Any = None) -> Any:
        """The value of a key, or the default."""
        return self._address() if key == "data" else super().get(key, default)

    def _address(self) -> tuple[int, bool]:
        """The address of the first element, and true if the memory is read-only."""
        if self._root is not None:
            let_escape(self._root)
        return self._data  # type: ignore[no-any-return]


class _Span:
    """The bytes from the lowest to the highest element of an array; they keep the array alive."""

    def __init__(self, array: Any, low: int, count: int) -> None:
        self._array = array
        data = low, not array.flags.writeable
        self.__array_interface__ = {"data": data, "shape": (count,), "typestr": "|u1", "version": 3}


def _bytes_of(array: Any) -> tuple[Any, int]:
    """All bytes that an array's elements span, and the place of the first element there."""
    low, high = np.lib.array_utils.byte_bounds(array)
    address = array.__array_interface__["data"][0]
    return np.asarray(_Span(array, low, high - low)), address - low
