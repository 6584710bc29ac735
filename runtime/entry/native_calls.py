"""Makes native entries: the entry's code is compiled once a process, when first needed."""

from __future__ import annotations

import ctypes
import os
import sys
import threading
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_word
from axiomjit.base.counters import word_of
from axiomjit.runtime.entry import structures
from axiomjit.runtime.entry.entry_code import NAME, entry_text
from axiomjit.runtime.entry.layout import RUNTIME

Entry = Callable[..., Any]
_STATUS: Final = b"kernel returned status %d"
_FLAGS: Final = 0x0080 | 0x0002
"""METH_FASTCALL | METH_KEYWORDS."""
_NEW_ARRAY, _AS_SCALAR = 94, 76
"""Places of PyArray_NewFromDescr and PyArray_Return in NumPy's table of functions."""
_lock: Final[Any] = threading.RLock()  # a signal's handler may call while this thread has it
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_lock._at_fork_reinit)


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
    numpy = _numpy_functions()
    known = {
        "take": _address(python.Py_IncRef),
        "drop": _address(python.Py_DecRef),
        "vectorcall": _address(python.PyObject_Vectorcall),
        "save_thread": _address(python.PyEval_SaveThread),
        "restore_thread": _address(python.PyEval_RestoreThread),
        "new_array": numpy(_NEW_ARRAY),
        "as_scalar": numpy(_AS_SCALAR),
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
    }
    return b"".join(known[name].to_bytes(8, "little") for name in RUNTIME)


def _numpy_functions() -> Callable[[int], int]:
    """The addresses of functions of NumPy's C interface, by number."""
    module: Any = sys.modules["numpy._core._multiarray_umath"]
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table: int = pointer(module._ARRAY_API, None)
    return lambda number: ctypes.c_size_t.from_address(table + 8 * number).value


def entry_object() -> bytes:
    """The object file of the entry for this CPU, compiled now; it calls nothing by name."""
    from llvmlite import binding

    machine = _machine()
    module = binding.parse_assembly(entry_text())
    module.verify()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    passes.add_sroa_pass()
    passes.add_instruction_combine_pass()
    passes.add_simplify_cfg_pass()
    passes.run(module, builder)
    return bytes(machine.emit_object(module))


def _machine() -> Any:
    """A machine of its own: engines do not share one."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(opt=2, codemodel="jitdefault", jit=True)


class _Loaded:
    """The entry's machine code in this process."""

    def __init__(self, code: bytes) -> None:
        from llvmlite import binding

        empty = binding.parse_assembly("")
        self._engine = binding.create_mcjit_compiler(empty, _machine())
        self._engine.add_object_file(binding.ObjectFileRef.from_data(code))
        self._engine.finalize_object()
        address = self._engine.get_function_address(NAME)
        self.method = _Method(b"axiomjit_entry", address, _FLAGS, None)


_loaded: _Loaded | None = None
_refused: str | None = None


def refusal() -> str:
    """Why calls of this process go through Python; empty where they have native entries."""
    global _refused, _loaded
    if _refused is None:
        with _lock:
            if _refused is None:
                reason = structures.refusal()
                if not reason:
                    try:
                        _loaded = _Loaded(entry_object())
                        reason = "" if _works() else "it did not pass its own test"
                    except (ImportError, RuntimeError, OSError) as error:
                        reason = f"it could not be compiled: {error}"
                _refused = reason
    return _refused


def new_cell(slow: Entry) -> list[object]:
    """What an entry refers to: its tables, and what answers calls that none of them fits."""
    return [(), slow, runtime_block()]


def new_entry(cell: list[object]) -> Entry:
    """A callable of C over a cell; `refusal()` was empty."""
    assert _loaded is not None, "asked after refusal()"
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Entry = make(ctypes.addressof(_loaded.method), cell, None)
    return made


def _works() -> bool:
    """Whether an entry without tables passes its arguments on, by number and by name."""
    cell = new_cell(lambda *args, **kwargs: (args, kwargs))
    given, named = (1, "two", None), {"three": 3.0}
    return bool(new_entry(cell)(*given, **named) == (given, named))
