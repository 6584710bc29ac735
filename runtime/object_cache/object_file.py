"""The tables of an ELF object file, and the names that it needs and defines.

The tables are checked, because LLVM aborts the process on damaged ones.
"""

from __future__ import annotations

import platform
import struct
from collections.abc import Iterator
from typing import Final

from axiomjit.base.records import Record

MAGIC: Final = b"\x7fELF\x02\x01\x01"
"""The ELF header's start: 64 bits, little endian, version 1."""
MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183, "riscv64": 243}
"""ELF's number of a machine, by Python's name of the machine."""
SYMBOLS, STRINGS, RELOCATIONS, NO_BITS = 2, 3, 4, 8
"""Types of sections."""
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_RELOCATABLE: Final = 1
_LOCAL: Final = 0
_RESERVED: Final = 0xFF00
"""Section numbers from here on are special: absolute and common symbols."""


class Section(Record):
    """One section: its type, its bytes in the file, and the sections that it refers to."""

    kind: int
    flags: int
    content: bytes
    size: int
    link: int
    info: int
    align: int


class Symbol(Record):
    """One symbol: its name, the section that defines it (0 for none), and its offset."""

    name: str
    section: int
    place: int
    is_local: bool


Relocation = tuple[int, int, int, int]
"""The place in a section, the type of relocation, the symbol's number, and an addend."""


class ObjectFile(Record):
    """The machine, sections and symbols of an object file."""

    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]

    @property
    def is_for_this_cpu(self) -> bool:
        """True if its code is for the kind of CPU that runs Python."""
        return self.machine == MACHINES.get(platform.machine())

    def relocations(self) -> Iterator[tuple[int, Relocation]]:
        """The relocations, each with the number of its section."""
        for section in self.sections:
            if section.kind == RELOCATIONS:
                for place, info, addend in _RELOCATION.iter_unpack(section.content):
                    yield section.info, (place, info & 0xFFFFFFFF, info >> 32, addend)


def read_object(code: bytes) -> ObjectFile:
    """The tables of an object file.

    Raises:
        ValueError: the bytes are not an object file, or one of its tables is incomplete.
    """
    try:
        found = _read(code)
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"no whole object file: {error}") from None
    return found


def _read(code: bytes) -> ObjectFile:
    ident, kind, machine, version, *rest = _HEADER.unpack_from(code)
    _, segments, start, _, header_size, _, segment_count, size, count, names = rest
    _require(ident.startswith(MAGIC) and kind == _RELOCATABLE and version == 1, "header")
    _require(header_size == _HEADER.size and not segments and not segment_count, "header")
    _require(size == _SECTION.size and 0 < names < count < _RESERVED, "sections")
    sections = tuple(_section(code, start + k * size) for k in range(count))
    _require(sections[names].kind == STRINGS, "names of sections")
    for section in sections:
        _require(section.link < count, "a section's link")
    tables = [section for section in sections if section.kind == SYMBOLS]
    _require(len(tables) == 1, "symbols")
    symbols = _symbols(tables[0], sections)
    for section in sections:
        if section.kind == RELOCATIONS:
            _require(0 < section.info < count, "relocations")
            _require(sections[section.link] is tables[0], "relocations")
            _check_relocations(section.content, sections[section.info].size, len(symbols))
    return ObjectFile(machine, sections, symbols)


def _require(whole: bool, what: str) -> None:
    if not whole:
        raise ValueError(f"no whole object file: {what}")


def _section(code: bytes, at: int) -> Section:
    _, kind, flags, _, start, size, link, info, align, _ = _SECTION.unpack_from(code, at)
    stored = 0 if kind in (0, NO_BITS) else size
    _require(not stored or start + stored <= len(code), "a section")
    _require(align & (align - 1) == 0 and align <= 4096 and size <= len(code) + 2**20, "a section")
    content = code[start : start + stored] if stored else b""
    _require(kind != STRINGS or content.endswith(b"\0"), "strings")
    return Section(kind, flags, content, size, link, info, max(align, 1))


def _symbols(table: Section, sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    names = sections[table.link]
    _require(names.kind == STRINGS and len(table.content) % _SYMBOL.size == 0, "symbols")
    found = []
    for name, about, _, section, value, size in _SYMBOL.iter_unpack(table.content):
        _require(name < len(names.content), "a symbol's name")
        if section < _RESERVED:
            _require(section < len(sections), "a symbol's section")
            inside = not section or value + size <= sections[section].size
            _require(inside, "a symbol's place")
        text = names.content[name : names.content.index(b"\0", name)].decode()
        found.append(Symbol(text, section, value, about >> 4 == _LOCAL))
    _require(0 < table.info <= len(found), "local symbols")
    return tuple(found)


def _check_relocations(entries: bytes, size: int, symbols: int) -> None:
    _require(len(entries) % _RELOCATION.size == 0, "relocations")
    for place, info, _ in _RELOCATION.iter_unpack(entries):
        _require(place < size and info >> 32 < symbols, "a relocation")


ELF: Final = b"\x7fELF"

_REAL: Final = "atan2 ceil floor fma fmod hypot log rint trunc"
_COMPLEX: Final = "cacos cacosh casin casinh catan catanh cpow csqrt ctan ctanh"
PROVIDED: Final = frozenset(
    ("memcpy", "memmove", "memset")
    + tuple(name + suffix for name in (_REAL + " " + _COMPLEX).split() for suffix in ("", "f"))
)
"""The functions of the C library that machine code may call."""


def undefined_symbols(code: bytes) -> set[str]:
    """The symbols that an object file uses but does not define; none if it is not ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {s.name for s in _elf_symbols(code) if s.name and not s.section}


def defined_symbols(code: bytes) -> set[str]:
    """The symbols that an object file defines; none if it is not ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {s.name for s in _elf_symbols(code) if s.name and s.section}


def _elf_symbols(code: bytes) -> tuple[Symbol, ...]:
    return read_object(code).symbols if code.startswith(ELF) else ()
