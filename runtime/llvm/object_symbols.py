"""An object file -> the names that it needs from elsewhere. Read from ELF's symbol table."""

from __future__ import annotations

import struct
from typing import Final

MAGIC: Final = b"\x7fELF\x02\x01"
"""64 bits, the lowest byte first."""
SYMBOLS: Final = 2
"""The type of the section that has the symbol table."""


def undefined_symbols(code: bytes) -> set[str]:
    """What an object file names and does not define; nothing of one that is not 64-bit ELF."""
    if not code.startswith(MAGIC):
        return set()
    (sections,) = struct.unpack_from("<Q", code, 0x28)
    size, count = struct.unpack_from("<HH", code, 0x3A)
    headers = [struct.unpack_from("<IIQQQQIIQQ", code, sections + k * size) for k in range(count)]
    found = set()
    for header in headers:
        if header[1] != SYMBOLS:
            continue
        names = headers[header[6]][4]
        table = code[header[4] : header[4] + header[5]]
        for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table):
            if name and not section:
                start = names + name
                found.add(code[start : code.index(b"\0", start)].decode())
    return found
