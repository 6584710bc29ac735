"""What LLVM said about this processor, kept on disk: asking it again takes 30 ms.

A record is found by all that decides it: the name of the target, what the processor says of itself,
Numba's settings, the versions of Numba and llvmlite, and our code.
"""

from __future__ import annotations

from ast import literal_eval
from typing import Final

from axiomjit.base.hashing import sha256
from axiomjit.base.locks import lazy_import
from axiomjit.base.target import Target
from axiomjit.runtime.objects.entry import UNREADABLE
from axiomjit.runtime.objects.keys import maker_digest, numba_settings
from axiomjit.runtime.objects.processor import processor_answers

MAGIC: Final = b"axiomjit target 1\n"


def target_key(name: str) -> str | None:
    """The key of the record of a target; None where what decides cannot be known."""
    answers, maker = processor_answers(), maker_digest()
    if answers is None or maker is None:
        return None
    parts = MAGIC, name, answers, numba_settings(), maker
    return sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()


def pack_target(key: str, target: Target) -> bytes:
    """The bytes of a record."""
    values = [getattr(target, field) for field in Target._fields]
    lazy_import("json")  # here, since most processes write nothing
    import json

    line = json.dumps([key, *(int(v) if type(v) is bool else v for v in values)]).encode()
    return MAGIC + sha256(line).digest() + line


def unpack_target(key: str, name: str, data: bytes) -> Target | None:
    """The record of a key and a name; None if the bytes are not exactly that."""
    digest, line = data[len(MAGIC) :][:32], data[len(MAGIC) + 32 :]
    if not data.startswith(MAGIC) or sha256(line).digest() != digest:
        return None
    try:
        owner, *values = literal_eval(line.decode())
        kinds = [type(getattr(Target(name), field)) for field in Target._fields]
        found = [kind(value) for kind, value in zip(kinds, values, strict=True)]
    except (ValueError, TypeError, *UNREADABLE):
        return None
    return Target(*found) if owner == key and found == values and found[0] == name else None
