"""An object file -> the names that it needs and has. Read from ELF's symbol table."""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from typing import Final

MAGIC: Final = b"\x7fELF\x02\x01"
"""64 bits, the lowest byte first."""
SYMBOLS: Final = 2
"""The type of the section that has the symbol table."""
MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183, "riscv64": 243}
"""ELF's number for the CPUs of a machine, as Python names it."""
_RELOCATABLE: Final = 1

_REAL: Final = "atan2 ceil floor fma fmod hypot log rint trunc"
_COMPLEX: Final = "cacos cacosh casin casinh catan catanh cpow csqrt ctan ctanh"
PROVIDED: Final = frozenset(
    ("memcpy", "memmove", "memset")
    + tuple(name + suffix for name in (_REAL + " " + _COMPLEX).split() for suffix in ("", "f"))
)
"""What machine code may call outside itself: functions of the C library."""


def is_for_this_cpu(code: bytes) -> bool:
    """Whether this is an ELF object file with code for the kind of CPU that runs Python."""
    if not code.startswith(MAGIC) or len(code) < 64:
        return False
    return struct.unpack_from("<HH", code, 0x10) == (_RELOCATABLE, MACHINES.get(platform.machine()))


def undefined_symbols(code: bytes) -> set[str]:
    """What an object file names and does not define; nothing of one that is not 64-bit ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {name for name, defined in _symbols(code) if not defined}


def defined_symbols(code: bytes) -> set[str]:
    """What an object file defines; nothing of one that is not 64-bit ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {name for name, defined in _symbols(code) if defined}


def _symbols(code: bytes) -> Iterator[tuple[str, bool]]:
    """Each name of the symbol table, and whether the file defines it."""
    if not code.startswith(MAGIC):
        return
    try:
        (sections,) = struct.unpack_from("<Q", code, 0x28)
        size, count = struct.unpack_from("<HH", code, 0x3A)
        headers = [
            struct.unpack_from("<IIQQQQIIQQ", code, sections + k * size) for k in range(count)
        ]
        for header in headers:
            if header[1] != SYMBOLS:
                continue
            names = headers[header[6]][4]
            table = code[header[4] : header[4] + header[5]]
            for name, _, _, section, _, _ in struct.iter_unpack("<IBBHQQ", table):
                if name:
                    start = names + name
                    yield code[start : code.index(b"\0", start)].decode(), bool(section)
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"no whole object file: {error}") from None
