"""Native entries, which are C functions that are called with a cell and the arguments of a call.

The cell is a list of three items: a tuple of guard tables, each followed by the objects that it
keeps alive; the Python function for calls that no table fits; and the runtime block, with the
addresses of CPython and NumPy. The native entry gets all addresses that are not in the cell from
the tables. The code is the same for all entries and calls no function by name, so that its object
file can be stored and loaded anywhere. The code is loaded when the first entry is made.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.caching import keep_alive
from axiomjit.base.locks import new_lock
from axiomjit.runtime.native_call import structures
from axiomjit.runtime.native_call.builder import NAME, EntryBuilder
from axiomjit.runtime.native_call.guard_tables import guard_objects
from axiomjit.runtime.native_call.instructions import answer
from axiomjit.runtime.native_call.structures import RUNTIME, runtime_block
from axiomjit.runtime.object_cache.entries import LoadedCode
from axiomjit.runtime.object_cache.store import cached_code

Entry = Callable[..., Any]
_FLAGS: Final = 0x0080 | 0x0002
"""The flags METH_FASTCALL | METH_KEYWORDS of a C function."""
_lock: Final = new_lock()


class _Method(ctypes.Structure):
    """The structure `PyMethodDef`, by which CPython describes a C function."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


_INTRINSICS: Final = "".join(
    f"declare {{i64, i1}} @llvm.{operation}.with.overflow.i64(i64, i64)\n"
    for operation in ("sadd", "smul")
)


def entry_text() -> str:
    """The LLVM text of the native function that checks guard tables and runs calls."""
    e = EntryBuilder()
    items = e.load(e.cell, structures.LIST_ITEMS)
    e.tables = e.word(items, 0)
    # A cell without tables also needs the address of the runtime block, so the cell has it.
    take, vectorcall, drop = (
        e.word(e.add(e.word(items, 2), structures.BYTES), [*RUNTIME].index(name))
        for name in ("take", "vectorcall", "drop")
    )
    e.call(take, e.tables)  # the user's `__eq__` or `__del__` may replace the tables
    with e.count(e.load(e.tables, structures.SIZE), step=2) as number:
        item = e.load(e.at(e.tables, number), structures.TUPLE_ITEMS)
        e.table = e.add(item, structures.BYTES)
        missed, other = e.label(), e.label()
        _guard_call(e, other)
        e.take_memory(other)
        e.fill_vector()
        guard_objects(e, missed)
        _guard_errors(e, missed)
        answer(e, missed)
        e.begin(missed)
        e.drop_memory()
        e.go(other)
        e.begin(other)
    slow = e.word(items, 1)
    e.call(take, slow)
    e.call(drop, e.tables)
    result = e.call(vectorcall, slow, e.arguments, e.given, e.names)
    e.call(drop, slow)
    e.give(result)
    return e.text() + _INTRINSICS


def _guard_call(e: EntryBuilder, missed: str) -> None:
    """Emit the checks of the settings, and of the number and names of the arguments."""
    settings = e.load(e.runtime("settings"))
    e.require(e.test("eq", settings, e.head("settings")), missed)
    e.require(e.test("eq", e.given, e.head("positional")), missed)
    named = e.variable(0)
    with e.when(e.test("ne", e.names, 0)):
        e.store(e.load(e.names, structures.SIZE), named)
    keywords = e.load(named)
    e.require(e.test("eq", keywords, e.head("keywords")), missed)
    with e.count(keywords) as number:
        one = e.load(e.at(e.names, number), structures.TUPLE_ITEMS)
        other = e.load(e.at(e.head("names"), number), structures.TUPLE_ITEMS)
        e.require(e.test("eq", one, other), missed)


def _guard_errors(e: EntryBuilder, missed: str) -> None:
    """Emit the check that NumPy's error state requests neither exceptions nor calls."""
    state = e.variable(0)
    e.call(e.runtime("context_value"), e.runtime("error_states"), 0, state)
    capsule, asked = e.load(state), e.variable(0)
    with e.when(e.test("ne", capsule, 0)):
        bits = e.load(e.load(capsule, structures.VALUE), 0, bits=32)
        e.store(e.both(bits, structures.ERROR_BITS), asked)
        e.call(e.runtime("drop"), capsule)
    e.require(e.test("eq", e.load(asked), 0), missed)


_code: LoadedCode | None = None
_refusal: str | None = None


def refusal() -> str:
    """The reason why this process has no native entries; empty if it has native entries."""
    global _refusal, _code
    if _refusal is None:
        with _lock:
            if _refusal is None:
                reason = structures.refusal()
                if not reason:
                    try:
                        _code = cached_code(entry_text(), NAME)
                        reason = "" if _works() else "it did not pass its own test"
                    except (ImportError, RuntimeError, OSError, ValueError) as error:
                        reason = f"it could not be compiled: {error}"
                _refusal = reason
    return _refusal


def new_cell(slow: Entry) -> list[object]:
    """The cell of an entry without tables; `slow` is the function for all calls."""
    return [(), slow, runtime_block()]


def new_entry(cell: list[object]) -> Entry:
    """A C function with this cell; `refusal()` must be empty."""
    assert _code is not None, "asked after refusal()"
    make = ctypes.pythonapi.PyCFunction_NewEx
    make.restype = ctypes.py_object
    make.argtypes = [ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p]
    made: Entry = make(ctypes.addressof(_method(_code.address)), cell, None)
    return made


@lru_cache(maxsize=1)
def _method(address: int) -> _Method:
    """The description of the C function at an address, which all entries share."""
    return keep_alive(_Method(b"axiomjit_entry", address, _FLAGS, None))


def _works() -> bool:
    """True if an entry without tables passes positional and named arguments to `slow`."""
    cell = new_cell(lambda *args, **kwargs: (args, kwargs))
    given, named = (1, "two", None), {"three": 3.0}
    return bool(new_entry(cell)(*given, **named) == (given, named))
