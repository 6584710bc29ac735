"""The layout of instances, classes, functions, cells and containers in CPython.

Native calls read such objects from outside the call. The layout differs among versions of CPython.
If the version is unknown, or known objects have another layout, `refusal` returns a reason, and
these objects are read in Python.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections import OrderedDict, defaultdict
from functools import lru_cache
from types import CellType, GetSetDescriptorType, MemberDescriptorType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.runtime.native_call import structures
from axiomjit.runtime.native_call.structures import SIZE, first_failed, short_at, word_at

POINTER, TAGGED, INSIDE = "pointer", "tagged", "inside"
"""Where the values of an instance without dict are.

The values are at the address in a word; at the address in the word of the dict, minus 1; or in the
instance itself.
"""
VALUES: Final = {(3, 11): POINTER, (3, 12): TAGGED, (3, 13): INSIDE}.get(sys.version_info[:2])
DICT: Final = -24
"""The offset of the dict in instances of most classes."""
VALUES_POINTER: Final = -32
IS_VALID, INSIDE_VALUES = 19, 24
"""Offsets in an instance: a byte that is 1 if the values are there, and the first value."""
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
"""Offsets in the keys of a dict or a class; the last number is the kind for strings."""
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
    """The class has no place for an attribute: its instances have only slots."""


def attribute_place(kind: type, name: str) -> Slot | InDict | Inline | NoAttributes | None:
    """The place where instances of a class store an attribute; None if the place is unknown."""
    if refusal() or issubclass(kind, type):
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
    if refusal():
        return None
    if kind.__flags__ & _IMMUTABLE:
        return 0
    type.__getattribute__(kind, "__new__")  # a look-up gives the class a version
    return (short_at(id(kind) + VERSION) & 0xFFFFFFFF) or None


def _class_attribute(kind: type, name: str) -> Any:
    spaces = (vars(base) for base in type.mro(kind))
    return next((space[name] for space in spaces if name in space), None)


def place_of_key(whole: dict[Any, Any], key: str) -> tuple[str, int]:
    """The dict's own object for a key, and its place among the keys, -1 if unknown.

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
    """The addresses of the keys at this address."""
    first = keys + KEYS_TABLE + (1 << _byte_at(keys + KEYS_INDEX_BITS))
    words = ctypes.c_int64 * (2 * word_at(keys + KEYS_COUNT))
    return np.array(words.from_address(first))[::2]


def _byte_at(address: int) -> int:
    return ctypes.c_uint8.from_address(address).value


@lru_cache(maxsize=1)
def refusal() -> str:
    """The reason why native code cannot read values from outside a call; empty if it can."""
    if VALUES is None:
        return f"the objects of Python {sys.version_info[0]}.{sys.version_info[1]} are not known"
    checks = _containers, _cells, _functions, _classes, _slots, _instances
    return structures.refusal() or first_failed(checks)


def _containers() -> bool:
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
