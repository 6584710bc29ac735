"""Makes native entries; their code, the same for all, is loaded when it is first needed."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_word
from axiomjit.base.counters import word_of
from axiomjit.base.keep_alive import keep_alive
from axiomjit.base.locks import new_lock
from axiomjit.runtime.entry import structures
from axiomjit.runtime.entry.entry_code import entry_text
from axiomjit.runtime.entry.entry_values import NAME
from axiomjit.runtime.entry.layout import RUNTIME
from axiomjit.runtime.objects.kept_code import kept_code
from axiomjit.runtime.objects.loader import LoadedCode
from axiomjit.runtime.pool.numpy_functions import (
    AS_SCALAR,
    NEW_FROM_DESCRIPTION,
    SET_BASE,
    numpy_function,
)

Entry = Callable[..., Any]
_STATUS: Final = b"kernel returned status %d"
_FLAGS: Final = 0x0080 | 0x0002
"""METH_FASTCALL | METH_KEYWORDS."""
_lock: Final = new_lock()


class _Method(ctypes.Structure):
    """CPython's description of a C function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


def _address(function: Any) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0


@lru_cache(maxsize=1)
def runtime_block() -> bytes:
    """The words `layout.RUNTIME`; the tables that point into it need it for good."""
    python = ctypes.pythonapi
    known = {
        "take": _address(python.Py_IncRef),
        "drop": _address(python.Py_DecRef),
        "vectorcall": _address(python.PyObject_Vectorcall),
        "save_thread": _address(python.PyEval_SaveThread),
        "restore_thread": _address(python.PyEval_RestoreThread),
        "new_array": numpy_function(NEW_FROM_DESCRIPTION),
        "as_scalar": numpy_function(AS_SCALAR),
        "new_tuple": _address(python.PyTuple_New),
        "set_item": _address(python.PyTuple_SetItem),
        "context_value": _address(python.PyContextVar_Get),
        "int_value": _address(python.PyLong_AsLongLongAndOverflow),
        "set_error": _address(python.PyErr_Format),
        "error_states": id(structures.error_state_variable()),
        "settings": settings_word(),
        "kernels_run": word_of("kernels_run"),
        "array_type": id(np.ndarray),
        "status_error": id(RuntimeError),
        "status_text": id(_STATUS) + structures.BYTES,
        "set_base": numpy_function(SET_BASE),
        "is_error": _address(python.PyErr_ExceptionMatches),
        "clear_error": _address(python.PyErr_Clear),
        "nothing": id(None),
        "check_signals": _address(python.PyErr_CheckSignals),
        "take_memory": _address(python.PyMem_Malloc),
        "drop_memory": _address(python.PyMem_Free),
    }
    return b"".join(known[name].to_bytes(8, "little") for name in RUNTIME)


_code: LoadedCode | None = None
_refused: str | None = None


def refusal() -> str:
    """Why calls of this process go through Python; empty where they have native entries."""
    global _refused, _code
    if _refused is None:
        with _lock:
            if _refused is None:
                reason = structures.refusal()
                if not reason:
                    try:
                        _code = kept_code(entry_text(), NAME)
                        reason = "" if _works() else "it did not pass its own test"
                    except (ImportError, RuntimeError, OSError, ValueError) as error:
                        reason = f"it could not be compiled: {error}"
                _refused = reason
    return _refused


def new_cell(slow: Entry) -> list[object]:
    """What an entry refers to: its tables, and what answers calls that none of them fits."""
    return [(), slow, runtime_block()]


def new_entry(cell: list[object]) -> Entry:
    """A callable of C over a cell; `refusal()` was empty."""
    assert _code is not None, "asked after refusal()"
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Entry = make(ctypes.addressof(_method(_code.address)), cell, None)
    return made


@lru_cache(maxsize=1)
def _method(address: int) -> _Method:
    """The description of the entry at an address; entries refer to it as long as they live."""
    return keep_alive(_Method(b"axiomjit_entry", address, _FLAGS, None))


def _works() -> bool:
    """Whether an entry without tables passes its arguments on, by number and by name."""
    cell = new_cell(lambda *args, **kwargs: (args, kwargs))
    given, named = (1, "two", None), {"three": 3.0}
    return bool(new_entry(cell)(*given, **named) == (given, named))
