"""Rows of guard tables that read and check values from outside a call.

A row that reads a value compares it with a known object, or stores an owned reference to it in the
vector. Hence neither another thread nor user code (an `__eq__` while a dict is searched) can free a
value that the call uses. A missing value is 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from axiomjit.runtime.native_call import structures as fields
from axiomjit.runtime.native_call.builder import EntryBuilder, Row
from axiomjit.runtime.native_call.instructions import Words
from axiomjit.runtime.native_call.structures import LIST_ITEMS, SIZE, TUPLE_ITEMS, TYPE, VALUE
from axiomjit.runtime.object_cache.llvm_text import Value

_IS_EQUAL: Final = 2
"""The number of the comparison `==` in CPython."""


def _require_type(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    e.require(e.test("eq", e.load(value, TYPE), row["type"]), missed)


def _finish(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit code that compares a value with the known object, or stores an owned reference."""
    target = row["target"]
    known, kept, behind = e.label(), e.label(), e.label()
    e.choose(e.test("eq", target, 0), known, kept)
    e.begin(kept)
    e.call(e.runtime("take"), value)
    e.store(value, e.at(e.vector, target))
    e.go(behind)
    e.begin(known)
    e.require(e.test("eq", value, row["known"]), missed)
    e.go(behind)
    e.begin(behind)


def _require_no_error(e: EntryBuilder, missed: str) -> None:
    with e.when(e.test("ne", e.call(e.runtime("error_set")), 0)):
        e.call(e.runtime("clear_error"))
        e.go(missed)
        e.begin(e.label())


def _search(e: EntryBuilder, dictionary: Value, key: Value, missed: str) -> Value:
    """The value of a key in a dict, 0 if the key is missing."""
    found = e.call(e.runtime("dict_item"), dictionary, key)
    with e.when(e.test("eq", found, 0)):
        _require_no_error(e, missed)
    return found


def _read_dict_item(e: EntryBuilder, row: Row, whole: Value, missed: str) -> None:
    """Emit the read of an entry of a dict; methods of a subclass are not called."""
    _require_type(e, row, whole, missed)
    key, value = row["key"], e.variable(0)
    _read_known_place(e, row, whole, value)
    with e.when(e.test("eq", e.load(value), 0)):
        e.store(_search(e, whole, key, missed), value)
    _finish(e, row, e.load(value), missed)


def _read_known_place(e: EntryBuilder, row: Row, whole: Value, value: str) -> None:
    """Emit the read of a dict's value at the known place of its key, if the key is still there."""
    place, behind = row["place"], e.label()
    e.require(e.test("sge", place, 0), behind)
    e.require(e.test("eq", e.load(whole, fields.DICT_VALUES), 0), behind)
    keys = e.load(whole, fields.DICT_KEYS)
    kind = e.load(keys, fields.KEYS_KIND, bits=8)
    e.require(e.test("eq", kind, fields.ONLY_STRINGS), behind)
    e.require(e.test("ult", place, e.load(keys, fields.KEYS_COUNT)), behind)
    index_bytes = e.shift_left("1", e.load(keys, fields.KEYS_INDEX_BITS, bits=8))
    entry = e.at(e.add(e.add(keys, fields.KEYS_TABLE), index_bytes), e.shift_left(place, 1))
    e.require(e.test("eq", e.load(entry), row["key"]), behind)
    e.store(e.load(entry, 8), value)
    e.go(behind)
    e.begin(behind)


def _read_position(e: EntryBuilder, row: Row, whole: Value, missed: str) -> None:
    """Emit the read of an entry of a list or tuple."""
    _require_type(e, row, whole, missed)
    position, value = row["position"], e.variable(0)
    with e.when(e.test("ult", position, e.load(whole, SIZE))):
        first = e.variable(e.add(whole, TUPLE_ITEMS))
        with e.when(e.test("ne", row["is_list"], 0)):
            e.store(e.load(whole, LIST_ITEMS), first)
        e.store(e.word(e.load(first), position), value)
    _finish(e, row, e.load(value), missed)


def _read_word(e: EntryBuilder, row: Row, whole: Value, missed: str) -> None:
    """Emit the read of a word of an object: a slot of an instance, or a cell's value."""
    _require_type(e, row, whole, missed)
    _finish(e, row, e.load(whole, row["at"]), missed)


def _read_own(e: EntryBuilder, row: Row, whole: Value, missed: str) -> None:
    """Emit the read of an attribute from the dict whose address is at a word of the instance."""
    _require_type(e, row, whole, missed)
    _finish(e, row, _search_own(e, row, e.load(whole, row["at"]), missed), missed)


def _search_own(e: EntryBuilder, row: Row, own: Value, missed: str) -> Value:
    """The attribute in the dict of an instance, 0 if the attribute or the dict is missing."""
    value = e.variable(0)
    with e.when(e.test("ne", own, 0)):
        e.require(e.test("eq", e.load(own, TYPE), e.runtime("dict_type")), missed)
        e.store(_search(e, own, row["name"], missed), value)
    return e.load(value)


def _read_inline(e: EntryBuilder, row: Row, whole: Value, missed: str) -> None:
    """Emit the read of an attribute of an instance that may have no dict.

    An attribute that no instance of the class has had is missing as long as the class has the same
    number of attribute names.
    """
    _require_type(e, row, whole, missed)
    values, own = _own_values(e, whole)
    value, at, behind = e.variable(0), row["at"], e.label()
    with e.when(e.test("ne", values, 0)):
        with e.when(e.test("sge", at, 0)):
            e.store(e.load(values, at), value)
            e.go(behind)
            e.begin(e.label())
        keys = row["keys"]
        e.require(e.test("eq", e.load(row["type"], fields.CACHED_KEYS), keys), missed)
        e.require(e.test("eq", e.load(keys, fields.KEYS_COUNT), row["count"]), missed)
        e.go(behind)
        e.begin(e.label())
    e.store(_search_own(e, row, own, missed), value)
    e.go(behind)
    e.begin(behind)
    _finish(e, row, e.load(value), missed)


def _own_values(e: EntryBuilder, instance: Value) -> tuple[Value, Value]:
    """The addresses of an instance's values and of its dict, as in `structures.own_values`."""
    held = e.load(instance, fields.DICT)
    if fields.VALUES == fields.POINTER:
        return e.load(instance, fields.VALUES_POINTER), held
    values = e.variable(0)
    if fields.VALUES == fields.INSIDE:
        with e.when(e.test("ne", e.load(instance, fields.IS_VALID, bits=8), 0)):
            e.store(e.add(instance, fields.INSIDE_VALUES), values)
        return e.load(values), held
    own = e.variable(held)
    with e.when(e.test("ne", e.both(held, 1), 0)):
        e.store(e.add(held, 1), values)
        e.store(0, own)
    return e.load(values), e.load(own)


def _guard_class(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check of the class of an object."""
    _require_type(e, row, value, missed)


def _guard_version(e: EntryBuilder, row: Row, kind: Value, missed: str) -> None:
    """Emit the check that a class and its bases are unchanged."""
    e.require(e.test("eq", e.load(kind, fields.VERSION, bits=32), row["version"]), missed)


def _guard_length(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check of the number of entries of a container."""
    _require_type(e, row, value, missed)
    e.require(e.test("eq", e.load(value, row["at"]), row["length"]), missed)


def _guard_keys(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that a dict has the same objects as keys, in the same order."""
    _require_type(e, row, value, missed)
    length, known = row["length"], row.tail
    e.require(e.test("eq", e.load(value, SIZE), length), missed)
    e.store(0, e.scratch)
    with e.count(length) as number:
        key = e.add(e.scratch, 8)
        found = e.call_short(e.runtime("next_item"), value, e.scratch, key, 0)
        e.require(e.test("ne", found, 0), missed)
        e.require(e.test("eq", e.load(key), e.word(known, number)), missed)


def _guard_equal(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the comparison of a value with a known object; the comparison runs no user code."""
    _require_type(e, row, value, missed)
    found = e.call_short(e.runtime("compare"), value, row["known"], _IS_EQUAL)
    with e.when(e.test("ne", found, 1)):
        e.call(e.runtime("clear_error"))
        e.go(missed)
        e.begin(e.label())


def _guard_bits(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check of a number's class and of the bits of its value."""
    _require_type(e, row, value, missed)
    known, first = row.tail, e.add(value, VALUE)
    with e.count(row["words"]) as number:
        bits = e.both(e.word(first, number), row["mask"])
        e.require(e.test("eq", bits, e.word(known, number)), missed)


def _guard_one(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that two values are the same object."""
    e.require(e.test("eq", value, e.word(e.vector, row["other"])), missed)


def _guard_distinct(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that a value is a different object than each of several others."""
    others = row.tail
    with e.count(row["count"]) as number:
        other = e.word(e.vector, e.word(others, number))
        e.require(e.test("ne", value, other), missed)


_READ: Final = ("target", "known", "type")
"""The first words of a row that reads a value.

`target` is the value's number in the vector, or 0 if the value is compared with `known`. `type` is
the class of the object from which the value is read.
"""
SOURCE_ROWS: Final[dict[str, tuple[Words, Callable[..., None]]]] = {
    "dict_item": ((*_READ, "key", "place"), _read_dict_item),
    "position": ((*_READ, "position", "is_list"), _read_position),
    "word": ((*_READ, "at"), _read_word),
    "own": ((*_READ, "at", "name"), _read_own),
    "inline": ((*_READ, "at", "keys", "count", "name"), _read_inline),
    "class": (("type",), _guard_class),
    "version": (("version",), _guard_version),
    "defined": ((), lambda *_: None),
    "length": (("type", "at", "length"), _guard_length),
    "keys": (("type", "length"), _guard_keys),
    "equal": (("type", "known"), _guard_equal),
    "bits": (("type", "words", "mask"), _guard_bits),
    "one": (("other",), _guard_one),
    "distinct": (("count",), _guard_distinct),
}
"""The words and the code of each row; only rows in `OF_MISSING` accept a missing value."""
OF_MISSING: Final = ("one",)
