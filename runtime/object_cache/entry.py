"""An entry of the cache as bytes and back.

    axiomjit kernel 1 | SHA-256 of all that follows | length of the metadata | metadata | objects

The metadata are one line of JSON, texts and numbers only, which Python reads as a literal; the
object files follow without a gap. What is not exactly of this form, was made for another key or
calls what a kernel may not call is no entry: the kernel is compiled again.
"""

from __future__ import annotations

import struct
from ast import literal_eval
from collections.abc import Iterable
from typing import Any, Final

from axiomjit.base.hashing import sha256
from axiomjit.base.locks import lazy_import
from axiomjit.base.records import Record
from axiomjit.runtime.object_cache.object_file import PROVIDED, ObjectFile, read_object, tables_of

MAGIC: Final = b"axiomjit kernel 1\n"
UNREADABLE: Final = (SyntaxError, MemoryError, RecursionError)
"""What `literal_eval` raises over some texts, beside ValueError and TypeError."""
LARGEST: Final = 16 * 2**20
"""A larger file is none of ours."""
_HEAD: Final = struct.Struct("<32sI")
_START: Final = len(MAGIC) + _HEAD.size


class Entry(Record):
    """The machine code of one kernel: object files, and the function in them to call.

    `calls` are the functions of the C library that it needs; None stands for object files that no
    other process may have, or that are not understood. `compile_ms` is what compiling took, `files`
    are the tables of the objects.
    """

    key: str
    symbol: str
    calls: tuple[str, ...] | None
    objects: tuple[bytes, ...]
    compile_ms: float
    files: tuple[ObjectFile, ...]


def make_entry(key: str, symbol: str, objects: tuple[bytes, ...], compile_ms: float) -> Entry:
    """The entry of object files that were just made.

    Raises:
        ValueError: an object file is damaged.
    """
    files = tuple(map(tables_of, objects))
    called = _calls(files)
    known = all(file.is_for_this_cpu for file in files) and called <= PROVIDED
    return Entry(key, symbol, tuple(sorted(called)) if known else None, objects, compile_ms, files)


def pack(entry: Entry) -> bytes:
    """The bytes of an entry."""
    metadata = {
        "key": entry.key,
        "symbol": entry.symbol,
        "calls": list(entry.calls or ()),
        "sizes": [len(code) for code in entry.objects],
        "compile_ms": round(entry.compile_ms, 3),
    }
    lazy_import("json")  # here, since most processes write nothing
    import json

    line = json.dumps(metadata).encode()
    rest = struct.pack("<I", len(line)) + line + b"".join(entry.objects)
    return MAGIC + sha256(rest).digest() + rest


def unpack(key: str, data: bytes) -> Entry | None:
    """The entry of a key; None if the bytes are not exactly that."""
    try:
        if not data.startswith(MAGIC):
            return None
        digest, length = _HEAD.unpack_from(data, len(MAGIC))
        if sha256(data[len(MAGIC) + len(digest) :]).digest() != digest:
            return None
        end = _START + length
        entry = _read(literal_eval(data[_START:end].decode()), data[end:])
        whole = entry.key == key and all(file.is_for_this_cpu for file in entry.files)
        called = _calls(entry.files)
        known = set(entry.calls or ()) == called and called <= PROVIDED
    except (ValueError, TypeError, LookupError, struct.error, *UNREADABLE):
        return None
    return entry if whole and known else None


def _read(metadata: Any, code: bytes) -> Entry:
    """The entry that the metadata describe.

    Raises:
        ValueError: they do not describe what follows them, or an object file is damaged.
    """
    objects, start = [], 0
    for size in metadata["sizes"]:
        objects.append(code[start : start + size])
        start += size
    texts = [metadata["key"], metadata["symbol"], *metadata["calls"]]
    if start != len(code) or not objects or not all(isinstance(text, str) for text in texts):
        raise ValueError("metadata of other code")
    compile_ms = float(metadata["compile_ms"])
    files = tuple(map(read_object, objects))
    return Entry(texts[0], texts[1], tuple(texts[2:]), tuple(objects), compile_ms, files)


def _calls(files: Iterable[ObjectFile]) -> set[str]:
    """What the objects need from outside."""
    needed: set[str] = set()
    defined: set[str] = set()
    for file in files:
        needed |= file.undefined
        defined |= file.defined
    return needed - defined
