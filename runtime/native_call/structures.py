"""The layout of CPython's and NumPy's objects: offsets of fields, and addresses of functions.

The offsets are checked on known objects before they are used. Native calls also read instances,
classes, functions, cells and containers from outside the call. The layout of objects from outside
the call differs among versions of CPython. If the version is unknown, or known objects have another
layout, `outside_refusal` returns a reason, and these objects are read in Python.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from types import CellType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.config import settings_address
from axiomjit.base.counters import native_word
from axiomjit.base.dtypes import DTYPES
from axiomjit.base.records import Record
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
"""The bits of NumPy's error state that request more than warnings; each kind of error has three
bits.
"""


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
"""The bits that differ between the letters "=" and "<", both of which stand for native byte order.

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


POINTER, TAGGED, INSIDE = "pointer", "tagged", "inside"
"""The three places where versions of CPython store the values of an instance without dict.

With "pointer", a word of the instance has the address of the values; with "tagged", the word of the
dict has this address minus 1; with "inside", the values are in the instance itself.
"""
VALUES: Final = {(3, 11): POINTER, (3, 12): TAGGED, (3, 13): INSIDE}.get(sys.version_info[:2])
DICT: Final = -24
"""The offset of the dict in instances of most classes."""
VALUES_POINTER: Final = -32
IS_VALID, INSIDE_VALUES = 19, 24
"""Two offsets in an instance: of a byte that is 1 if the instance has the values inside, and of the
first value.
"""
CONTENTS: Final = 16
"""The offset of the value in a cell."""
FUNCTION_PARTS: Final = {
    **{"__globals__": 16, "__code__": 48, "__defaults__": 56, "__kwdefaults__": 64},
    "__closure__": 72,
}
"""The offsets of the parts of a function; a part is 0 if it is None."""
_SET_SIZE: Final = 24
SIZES: Final = dict.fromkeys((list, tuple, dict), SIZE) | dict.fromkeys((set, frozenset), _SET_SIZE)
"""The offset of the number of entries, by the class of container."""
VERSION: Final = 384
"""The offset of the version of a class, which each change of the class or its bases changes."""
CACHED_KEYS: Final = 872 if VALUES == POINTER else 880
"""The offset, in a class, of the names of its instances' attributes, in the order of the values."""
KEYS_INDEX_BITS, KEYS_KIND, KEYS_COUNT, KEYS_TABLE, ONLY_STRINGS = 9, 10, 24, 32, 1
"""Four offsets in the keys of a dict or a class, and the kind of keys that are all strings."""
DICT_KEYS, DICT_VALUES = 32, 40
"""Offsets in a dict: its keys, and its values if they are not with the keys."""
_MEMBER, _MEMBER_KIND, _MEMBER_OFFSET, _OBJECT_MEMBER = 40, 8, 16, 16
_SETTER: Final = 152
"""The offset, in a class, of the C function that stores attributes of its instances."""
_INLINE_VALUES, _MANAGED_DICT, _IMMUTABLE = 1 << 2, 1 << 4, 1 << 8
"""Flags of classes."""


class Slot(Record):
    """The place of an attribute at a word of the instance; a missing value is 0."""

    at: int


class InDict(Record):
    """The place of an attribute in the dict whose address is at a word of the instance."""

    at: int


class Inline(Record):
    """The place of a value in an instance that may have no dict, `at` bytes from its first value.

    If no instance of the class has the attribute yet, `at` is -1. The class has `count` names at
    the address `keys`.
    """

    at: int
    keys: int
    count: int


class NoAttributes(Record):
    """The result for a class whose instances have only slots, and no place for the attribute."""


def attribute_place(kind: type, name: str) -> Slot | InDict | Inline | NoAttributes | None:
    """The place where instances of a class store an attribute; None if the place is unknown."""
    if outside_refusal() or issubclass(kind, type):
        return None
    held = _class_attribute(kind, name)
    if type(held) is MemberDescriptorType:
        member = word_at(id(held) + _MEMBER)
        if not issubclass(kind, held.__objclass__):
            return None
        is_object = short_at(member + _MEMBER_KIND) == _OBJECT_MEMBER
        return Slot(word_at(member + _MEMBER_OFFSET)) if is_object else None
    if not kind.__dictoffset__:
        return NoAttributes()
    if type(_class_attribute(kind, "__dict__")) not in (GetSetDescriptorType, MemberDescriptorType):
        return None
    if not kind.__flags__ & _MANAGED_DICT:
        return InDict(kind.__dictoffset__) if kind.__dictoffset__ > 0 else None
    if VALUES == INSIDE and not kind.__flags__ & _INLINE_VALUES:
        return InDict(DICT)
    keys = word_at(id(kind) + CACHED_KEYS)
    names = _names(keys)
    return Inline(8 * names.index(name) if name in names else -1, keys, len(names))


def stores_plainly(kind: type, name: str) -> bool:
    """True if a store of this attribute of an instance runs no user code."""
    if issubclass(kind, type) or word_at(id(kind) + _SETTER) != word_at(id(object) + _SETTER):
        return False
    held = _class_attribute(kind, name)
    is_word = type(held) is MemberDescriptorType or kind is CellType
    return is_word or not hasattr(type(held), "__set__")


def version(kind: type) -> int | None:
    """The version of a class, 0 if the class never changes; None if it has no version."""
    if outside_refusal():
        return None
    if kind.__flags__ & _IMMUTABLE:
        return 0
    type.__getattribute__(kind, "__new__")  # a look-up gives the class a version
    return (short_at(id(kind) + VERSION) & 0xFFFFFFFF) or None


def _class_attribute(kind: type, name: str) -> Any:
    spaces = (vars(base) for base in type.mro(kind))
    return next((space[name] for space in spaces if name in space), None)


def place_of_key(whole: dict[Any, Any], key: str) -> tuple[str, int]:
    """The dict's own object for a key, and the place of the key in the dict, -1 if unknown.

    Places are known only in dicts whose keys are all strings.
    """
    keys = word_at(id(whole) + DICT_KEYS)
    if word_at(id(whole) + DICT_VALUES) or _byte_at(keys + KEYS_KIND) != ONLY_STRINGS:
        return key, -1
    if not dict.__contains__(whole, key):
        return key, -1
    addresses = _keys(keys)
    places = np.flatnonzero(addresses == id(key))
    if places.size:
        return key, int(places[0])
    found = {one: one for one in dict.__iter__(whole)}[key]
    return found, int(np.flatnonzero(addresses == id(found))[0])


def _names(keys: int) -> list[str]:
    """The names of the attributes of a class's instances."""
    return [ctypes.cast(int(one), ctypes.py_object).value for one in _keys(keys)] if keys else []


def _keys(keys: int) -> np.ndarray:
    """The addresses of the keys in the structure of keys at this address."""
    first = keys + KEYS_TABLE + (1 << _byte_at(keys + KEYS_INDEX_BITS))
    words = ctypes.c_int64 * (2 * word_at(keys + KEYS_COUNT))
    return np.array(words.from_address(first))[::2]


def _byte_at(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


@lru_cache(maxsize=1)
def outside_refusal() -> str:
    """The reason why native code cannot read values from outside a call; empty if it can."""
    if VALUES is None:
        return f"the objects of Python {sys.version_info[0]}.{sys.version_info[1]} are not known"
    checks = _outside_containers, _cells, _functions, _classes, _slots, _instances
    return refusal() or first_failed(checks)


def _outside_containers() -> bool:
    less = {1, 2, 3}
    less.discard(1)
    pair = os.terminal_size((4, 5))
    lists = ({1: 2, 3: 4}, OrderedDict(a=1), defaultdict(int, a=1), pair, [1, 2, 3])
    sets = (less, frozenset("abc"))
    found = [word_at(id(one) + SIZE) for one in lists]
    found += [word_at(id(one) + _SET_SIZE) for one in sets]
    names = [f"name {k}" for k in range(300)]
    space = dict.fromkeys(names)
    del space[names[7]]
    places = [place_of_key(space, name)[1] for name in names]
    return found == [2, 1, 1, 2, 3, 2, 3] and places == [k if k != 7 else -1 for k in range(300)]


def _cells() -> bool:
    one = object()
    return [word_at(id(c) + CONTENTS) for c in (CellType(one), CellType())] == [id(one), 0]


def _functions() -> bool:
    def plain() -> None: ...
    def given(a: int = 1, *, b: int = 2) -> None: ...

    return all(
        word_at(id(one) + at) == (0 if getattr(one, name) is None else id(getattr(one, name)))
        for one in (plain, given)
        for name, at in FUNCTION_PARTS.items()
    )


class _Base:
    pass


class _Known(_Base):
    pass


class _OwnSetter:
    def __setattr__(self, name: str, value: object) -> None:
        """Set an attribute by the method of the class."""


class _Slotted:
    __slots__ = ("a", "b")


def _classes() -> bool:
    """True if the version of a class changes with each change of the class or its base."""

    def now() -> int:
        type.__getattribute__(_Known, "__new__")
        return short_at(id(_Known) + VERSION)

    seen = [now()]
    for kind in (_Known, _Base):
        kind.changed = 1  # type: ignore[attr-defined]
        after = short_at(id(_Known) + VERSION)
        seen.append(now())
        del kind.changed  # type: ignore[attr-defined]
        if after == seen[-2]:
            return False
        seen.append(now())
    generic = ctypes.cast(ctypes.pythonapi.PyObject_GenericSetAttr, ctypes.c_void_p).value
    setters = [word_at(id(kind) + _SETTER) for kind in (object, _Known, ModuleType, _OwnSetter)]
    good = setters[:3] == [generic] * 3 and setters[3] not in (generic, 0)
    return good and now() == seen[-1] and all(seen) and len({*seen}) == len(seen)


def _slots() -> bool:
    one, value = _Slotted(), object()
    one.b = value  # type: ignore[attr-defined]
    members = [word_at(id(vars(_Slotted)[name]) + _MEMBER) for name in "ab"]
    kinds = [short_at(member + _MEMBER_KIND) for member in members]
    words = [word_at(id(one) + word_at(member + _MEMBER_OFFSET)) for member in members]
    return kinds == [_OBJECT_MEMBER] * 2 and words == [0, id(value)]


def _instances() -> bool:
    """True if the attributes of instances are found, with and without a dict."""
    new: Any = _Known()
    new.first, new.second = values = object(), object()
    own: Any = _Known()
    own.__dict__ = {"second": values[0]}
    given: Any = _Known()
    given.second, made = values[1], given.__dict__
    keys = word_at(id(_Known) + CACHED_KEYS)
    expected = [[0, 8], ["first", "second"]]
    first, in_dict = own_values(id(new))
    found = [word_at(first + 8 * k) for k in range(2)], in_dict
    inside = INSIDE_VALUES + id(given) if VALUES == INSIDE else 0
    return (
        [[0, 8], _names(keys)] == expected
        and found == ([*map(id, values)], 0)
        and own_values(id(own)) == (0, id(own.__dict__))
        and own_values(id(given)) == (inside, id(made))
        and (not inside or [word_at(inside + 8 * k) for k in range(2)] == [0, id(values[1])])
        and ModuleType.__dictoffset__ > 0
        and word_at(id(sys) + ModuleType.__dictoffset__) == id(vars(sys))
    )


def own_values(instance: int) -> tuple[int, int]:
    """The addresses of an instance's values and of its dict; an address is 0 if missing."""
    in_dict = word_at(instance + DICT)
    if VALUES == POINTER:
        return word_at(instance + VALUES_POINTER), in_dict
    if VALUES == TAGGED:
        return (in_dict + 1, 0) if in_dict & 1 else (0, in_dict)
    valid = _byte_at(instance + IS_VALID)
    return instance + INSIDE_VALUES if valid else 0, in_dict
