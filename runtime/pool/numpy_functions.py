"""NumPy's C interface: a table of functions, whose places are fixed for good."""

from __future__ import annotations

import ctypes
from typing import Any, Final

NEW_FROM_DESCRIPTION, AS_SCALAR, SET_BASE, SET_HANDLER = 94, 76, 282, 304
"""Places of PyArray_NewFromDescr, PyArray_Return, PyArray_SetBaseObject, PyDataMem_SetHandler."""
_WORD: Final = 8


def numpy_function(place: int) -> int:
    """The address of a function by its place in the table.

    Raises:
        ImportError, AttributeError: NumPy shows no table.
    """
    from numpy._core import multiarray

    module: Any = multiarray
    read = ctypes.pythonapi.PyCapsule_GetPointer
    read.restype, read.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table: int = read(module._ARRAY_API, None)
    return ctypes.c_size_t.from_address(table + _WORD * place).value
