"""The layout of CPython's and NumPy's objects: offsets of fields, and addresses of functions.

The offsets are checked on known objects before they are used.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_address
from axiomjit.base.counters import native_word
from axiomjit.base.dtypes import DTYPES
from axiomjit.runtime.memory.allocation import (
    AS_SCALAR,
    NEW_FROM_DESCRIPTION,
    SET_BASE,
    numpy_function,
)

TYPE: Final = 8
SIZE: Final = 16
"""The offset of the length of a tuple, list or bytes."""
TUPLE_ITEMS, LIST_ITEMS, BYTES = 24, 24, 32
VALUE: Final = 16
"""The offset of the value of a Python number or NumPy scalar, and of a capsule's pointer."""
DATA, RANK, SHAPE, STRIDES, DTYPE, FLAGS = 16, 24, 32, 40, 56, 64
DTYPE_KIND: Final = 24
"""The offset of a dtype's kind, letter, byte order, flags (which are ignored) and number."""
DTYPE_BYTES: Final = 0xFFFFFFFF_00FFFFFF
ALIGNED, WRITEABLE = 0x100, 0x400
ERROR_BITS: Final = 0o6666
"""The bits of NumPy's error state that request more than warnings; a kind of error has three."""


def word_at(address: int) -> int:
    """The word at an address."""
    return ctypes.c_int64.from_address(address).value


def short_at(address: int) -> int:
    """The 32 bits at an address, as a signed number."""
    return ctypes.c_int32.from_address(address).value


def dtype_word(dtype: np.dtype[Any]) -> int:
    """The word that identifies a dtype in native calls."""
    return word_at(id(dtype) + DTYPE_KIND) & DTYPE_BYTES


def refusal() -> str:
    """The reason why native calls are impossible in this process; empty if they are possible."""
    if sys.implementation.name != "cpython" or sys.byteorder != "little":
        return "it is written for CPython on little-endian machines"
    if ctypes.sizeof(ctypes.c_void_p) != 8 or object.__basicsize__ != 16:
        return "objects of this Python are laid out differently"
    if not getattr(sys, "_is_gil_enabled", lambda: True)():
        return "it relies on the global interpreter lock"
    return first_failed((_containers, _numbers, _arrays, _dtypes, _error_states))


def first_failed(checks: Sequence[Callable[[], bool]]) -> str:
    """A message with the name of the first check that fails; empty if no check fails."""
    return next((f"{name} lie differently" for name in map(_failed, checks) if name), "")


def _failed(check: Any) -> str:
    """The name of the check in words if it fails; empty if it passes."""
    try:
        good = check()
    except (AttributeError, TypeError, ValueError):
        good = False
    return "" if good else check.__name__.strip("_").replace("_", " ")


def _containers() -> bool:
    a, b = object(), object()
    pair, listed, text = (a, b), [a, b], b"0123456789abcdef"
    items = word_at(id(listed) + LIST_ITEMS)
    return (
        word_at(id(a) + TYPE) == id(object)
        and word_at(id(pair) + SIZE) == 2
        and [word_at(id(pair) + TUPLE_ITEMS + k) for k in (0, 8)] == [id(a), id(b)]
        and [word_at(items + k) for k in (0, 8)] == [id(a), id(b)]
        and ctypes.string_at(id(text) + BYTES, len(text)) == text
    )


def _numbers() -> bool:
    """True if numbers of Python and NumPy have the bits of their value at the offset `VALUE`."""
    known: list[Any] = [1.5, 2.5 - 3.5j]
    known += [dtype.type(1) for dtype in DTYPES.values()]
    return all(
        ctypes.string_at(id(v) + VALUE, np.asarray(v).nbytes) == np.asarray(v).tobytes()
        for v in known
    )


def _arrays() -> bool:
    base = np.zeros((4, 6, 10), "f4")
    frozen = np.zeros(3)
    frozen.flags.writeable = False
    odd = np.zeros(17, np.uint8)[1:].view("f8")
    known = (base, base[1:, ::2, ::-3], base.T, np.zeros(()), frozen, odd, np.zeros((0, 3), "i2"))
    return all(map(_is_laid_out, known))


def _is_laid_out(array: np.ndarray) -> bool:
    at, rank = id(array), array.ndim
    shape, strides = (word_at(at + k) for k in (SHAPE, STRIDES))
    flags = short_at(at + FLAGS)
    return (
        word_at(at + DATA) == array.__array_interface__["data"][0]
        and short_at(at + RANK) == rank
        and [word_at(shape + 8 * k) for k in range(rank)] == list(array.shape)
        and [word_at(strides + 8 * k) for k in range(rank)] == list(array.strides)
        and word_at(at + DTYPE) == id(array.dtype)
        and bool(flags & ALIGNED) == array.flags.aligned
        and bool(flags & WRITEABLE) == array.flags.writeable
    )


def _dtypes() -> bool:
    """True if two dtypes have the same word if and only if they are equal."""
    foreign = (">i2", ">f8", ">c8", "M8[s]", "S8", "V8", "U2", "O")
    codes = (*DTYPES, *foreign)
    words = [dtype_word(np.dtype(code)) for code in codes]
    again = [np.dtype(code).newbyteorder("S").newbyteorder("S") for code in codes[1:14]]
    return len(set(words)) == len(words) and all(
        dtype_word(dtype) in (word, word ^ _NATIVE)
        for dtype, word in zip(again, words[1:14], strict=True)
    )


_NATIVE: Final = (ord("=") ^ ord("<")) << 16
"""The bits in which the letters "=" and "<" for native byte order differ.

Calls with arrays of the other byte order run in Python.
"""


def error_state_variable() -> Any:
    """The context variable with NumPy's error state."""
    from numpy._core import umath

    return umath._extobj_contextvar


def _error_states() -> bool:
    """True if the error state is a capsule of a number with three bits for each kind of error."""
    modes = {"ignore": 0, "warn": 1, "raise": 2, "call": 3, "print": 4, "log": 5}
    shifts = {"divide": 0, "over": 3, "under": 6, "invalid": 9}
    changed: Any = np.errstate
    for kind, shift in shifts.items():
        for mode, number in modes.items():
            with changed(all="ignore", call=sys.stderr), changed(**{kind: mode}):
                capsule = error_state_variable().get()
                if short_at(word_at(id(capsule) + VALUE)) != number << shift:
                    return False
    return True


def _python(name: str) -> Callable[[], int]:
    """A function that returns the address of a function of CPython."""
    return lambda: ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


_STATUS: Final = b"kernel returned status %d"
RUNTIME: Final[Mapping[str, Callable[[], int]]] = {
    "take": _python("Py_IncRef"),
    "drop": _python("Py_DecRef"),
    "vectorcall": _python("PyObject_Vectorcall"),
    "save_thread": _python("PyEval_SaveThread"),
    "restore_thread": _python("PyEval_RestoreThread"),
    "new_array": partial(numpy_function, NEW_FROM_DESCRIPTION),
    "as_scalar": partial(numpy_function, AS_SCALAR),
    "new_tuple": _python("PyTuple_New"),
    "set_item": _python("PyTuple_SetItem"),
    "context_value": _python("PyContextVar_Get"),
    "new_integer": _python("PyLong_FromLongLong"),
    "int_value": _python("PyLong_AsLongLongAndOverflow"),
    "set_error": _python("PyErr_Format"),
    "error_states": lambda: id(error_state_variable()),
    "settings": settings_address,
    "kernels_run": partial(native_word, "kernels_run"),
    "array_type": partial(id, np.ndarray),
    "status_error": partial(id, RuntimeError),
    "status_text": lambda: id(_STATUS) + BYTES,
    "set_base": partial(numpy_function, SET_BASE),
    "is_error": _python("PyErr_ExceptionMatches"),
    "clear_error": _python("PyErr_Clear"),
    "nothing": partial(id, None),
    "check_signals": _python("PyErr_CheckSignals"),
    "take_memory": _python("PyMem_Malloc"),
    "drop_memory": _python("PyMem_Free"),
    "dict_item": _python("PyDict_GetItemWithError"),
    "next_item": _python("PyDict_Next"),
    "dict_type": partial(id, dict),
    "compare": _python("PyObject_RichCompareBool"),
    "error_set": _python("PyErr_Occurred"),
    "set_attribute": _python("PyObject_GenericSetAttr"),
    "set_key": _python("PyDict_SetItem"),
    "set_position": _python("PyList_SetItem"),
}
"""The functions, objects and words that native calls use; each entry returns an address."""


@lru_cache(maxsize=1)
def runtime_block() -> bytes:
    """The addresses in `RUNTIME` as bytes, which are never freed, since tables refer to them."""
    return b"".join(find().to_bytes(8, "little") for find in RUNTIME.values())
