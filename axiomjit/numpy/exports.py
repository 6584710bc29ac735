"""Memory of lazy arrays that is handed out: NumPy arrays, array interfaces, and buffers.

Other code can write into the memory as long as the handed-out object, or a view of it, exists.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from axiomjit.numpy.handles import Handle, hand_out, let_escape, value_of, view_of
from axiomjit.numpy.segments import finish_readers, look


def handed_out(handle: Handle) -> Any:
    """A NumPy array of the memory of a handle; from now on, other code may write into it."""
    finish_readers(handle)
    value, root = value_of(handle), handle.root()
    found = hand_out(root)
    return found if handle is root else view_of(found, value)


class Interface(dict[str, Any]):
    """The `__array_interface__` of a handle, as a dict.

    NumPy's C code takes a buffer from the dict, which keeps the handed-out array alive. Python code
    gets NumPy's pair of address and flag; from then on the memory counts as shared.
    """

    def __init__(self, handle: Handle) -> None:
        """Hand out the memory of a handle, and describe it."""
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
        """The value of a key, or the default if the key is missing."""
        return self._address() if key == "data" else super().get(key, default)

    def _address(self) -> tuple[int, bool]:
        """The address of the first element, and True if the memory is read-only."""
        if self._root is not None:
            let_escape(self._root)
        return self._data  # type: ignore[no-any-return]


class _Span:
    """The bytes that the elements of an array span, as an object that keeps the array alive."""

    def __init__(self, array: Any, low: int, count: int) -> None:
        self._array = array
        data = low, not array.flags.writeable
        self.__array_interface__ = {"data": data, "shape": (count,), "typestr": "|u1", "version": 3}


def _bytes_of(array: Any) -> tuple[Any, int]:
    """An array of all bytes that the elements span, and the offset of the first element."""
    low, high = np.lib.array_utils.byte_bounds(array)
    address = array.__array_interface__["data"][0]
    return np.asarray(_Span(array, low, high - low)), address - low
