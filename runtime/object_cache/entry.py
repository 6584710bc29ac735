"""Converts entries of the cache to bytes and back.

    axiomjit kernel 1 | SHA-256 of all that follows | length of the metadata | metadata | objects

The metadata are one line of JSON with only texts and numbers, which Python reads as a literal; the
object files follow without a gap. Bytes that have another form, were made for another key or call a
function that kernels may not call are rejected: the kernel is compiled again.
"""

from __future__ import annotations

import struct
from ast import literal_eval
from typing import Any, Final

from axiomjit.base.hashing import sha256
from axiomjit.base.locks import lazy_import
from axiomjit.base.records import Record
from axiomjit.runtime.object_cache.object_file import ELF, PROVIDED, ObjectFile, read_object

MAGIC: Final = b"axiomjit kernel 1\n"
UNREADABLE: Final = (SyntaxError, MemoryError, RecursionError)
"""Errors of `literal_eval` for some texts, in addition to ValueError and TypeError."""
LARGEST: Final = 16 * 2**20
"""The largest size of an entry; a larger file is rejected."""
_HEAD: Final = struct.Struct("<32sI")
_START: Final = len(MAGIC) + _HEAD.size


class Entry(Record):
    """The machine code of one kernel: object files, and the function in them to call.

    `calls` are the functions of the C library that it needs; None for object files that other
    processes must not use or that could not be parsed. `compile_ms` is the compile time.
    """

    key: str
    symbol: str
    calls: tuple[str, ...] | None
    objects: tuple[bytes, ...]
    compile_ms: float


def make_entry(key: str, symbol: str, objects: tuple[bytes, ...], compile_ms: float) -> Entry:
    """The entry of newly compiled object files.

    Raises:
        ValueError: an object file is damaged.
    """
    calls = None
    if all(code.startswith(ELF) for code in objects):
        files = [read_object(code) for code in objects]
        called = _calls(files)
        if all(file.is_for_this_cpu for file in files) and called <= PROVIDED:
            calls = tuple(sorted(called))
    return Entry(key, symbol, calls, objects, compile_ms)


def pack(entry: Entry) -> bytes:
    """The bytes of an entry."""
    metadata = {
        "key": entry.key,
        "symbol": entry.symbol,
        "calls": list(entry.calls or ()),
        "sizes": [len(code) for code in entry.objects],
        "compile_ms": round(entry.compile_ms, 3),
    }
    lazy_import("json")  # imported here, since most processes write nothing
    import json

    line = json.dumps(metadata).encode()
    rest = struct.pack("<I", len(line)) + line + b"".join(entry.objects)
    return MAGIC + sha256(rest).digest() + rest


def unpack(key: str, data: bytes) -> Entry | None:
    """The entry in some bytes; None unless they are an entry for this key."""
    try:
        if not data.startswith(MAGIC):
            return None
        digest, length = _HEAD.unpack_from(data, len(MAGIC))
        if sha256(data[len(MAGIC) + len(digest) :]).digest() != digest:
            return None
        end = _START + length
        entry = _read(literal_eval(data[_START:end].decode()), data[end:])
        files = [read_object(code) for code in entry.objects]
        whole = entry.key == key and all(file.is_for_this_cpu for file in files)
        called = _calls(files)
        known = set(entry.calls or ()) == called and called <= PROVIDED
    except (ValueError, TypeError, LookupError, struct.error, *UNREADABLE):
        return None
    return entry if whole and known else None


def _read(metadata: Any, code: bytes) -> Entry:
    """The entry described by the metadata.

    Raises:
        ValueError: they do not describe the object files.
    """
    objects, start = [], 0
    for size in metadata["sizes"]:
        objects.append(code[start : start + size])
        start += size
    texts = [metadata["key"], metadata["symbol"], *metadata["calls"]]
    if start != len(code) or not objects or not all(isinstance(text, str) for text in texts):
        raise ValueError("metadata of other code")
    compile_ms = float(metadata["compile_ms"])
    return Entry(texts[0], texts[1], tuple(texts[2:]), tuple(objects), compile_ms)


def _calls(files: list[ObjectFile]) -> set[str]:
    """The functions that the objects need from outside."""
    symbols = [symbol for file in files for symbol in file.symbols if symbol.name]
    defined = {symbol.name for symbol in symbols if symbol.section}
    return {symbol.name for symbol in symbols} - defined
