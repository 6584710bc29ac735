"""The entries of the cache of machine code: their form as bytes, and the linker that loads them.

    | axiomjit kernel 1 | SHA-256 of all that follows | length of the metadata | metadata | objects
    |

The metadata are one line of JSON with only texts and numbers, which Python reads as a literal; the
object files follow without a gap. Bytes are rejected if they have another form, were made for
another key, or call a function that kernels may not call; the kernel is then compiled again. The
tables of an object file (ELF) list the functions that it calls. The tables of object files are
checked, because LLVM aborts the process on damaged tables.

Most files are linked here, without LLVM, whose import and start take 30 ms. The object files that
LLVM writes for code in memory (large code model, x86-64) need little linking: sections are placed
one after another, and absolute addresses are filled in. LLVM's linker links the other files, for
instance files with jump tables. In LLVM's linker, each kernel is a separate library, so that equal
names do not collide. In both linkers, a missing name is an error, never a call of address 0. The
functions that an entry may call are checked when the entry is read.
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import platform
import struct
from ast import literal_eval
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, NamedTuple

from axiomjit.base.caching import sha256
from axiomjit.base.locks import FORKS_WAIT, lazy_import
from axiomjit.base.records import Record

ELF: Final = b"\x7fELF"
_IDENTITY: Final = ELF + b"\x02\x01\x01"
"""The start of an ELF header: 64 bits, little endian, version 1."""
MACHINES: Final = {"x86_64": 62, "AMD64": 62, "aarch64": 183, "arm64": 183, "riscv64": 243}
"""The ELF number of each machine, by the name that Python gives the machine."""
SYMBOLS, STRINGS, RELOCATIONS, NO_BITS = 2, 3, 4, 8
"""The types of sections that have symbols, strings, relocations, and no bytes in the file."""
_HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION: Final = struct.Struct("<IIQQQQIIQQ")
_SYMBOL: Final = struct.Struct("<IBBHQQ")
_RELOCATION: Final = struct.Struct("<QQq")
_RELOCATABLE: Final = 1
_LOCAL: Final = 0
_RESERVED: Final = 0xFF00
"""The first special section number; special numbers stand for absolute and common symbols."""


class Section(NamedTuple):
    """A section of an object file: its type, its bytes, and the sections it refers to."""

    kind: int
    flags: int
    content: bytes
    size: int
    link: int
    info: int
    align: int


class Symbol(NamedTuple):
    """A symbol of an object file, at the offset `place` in a section; undefined in section 0."""

    name: str
    section: int
    place: int
    is_local: bool


Relocation = tuple[int, int, int, int]
"""A relocation: the place in a section, the type, the number of the symbol, and an addend."""


class ObjectFile(Record):
    """The machine, sections and symbols of an object file."""

    machine: int
    sections: tuple[Section, ...]
    symbols: tuple[Symbol, ...]

    @property
    def is_for_this_cpu(self) -> bool:
        """True if the code is for the kind of CPU that runs Python."""
        return self.machine == MACHINES.get(platform.machine())

    @property
    def undefined(self) -> set[str]:
        """The symbols that the file uses but does not define."""
        return {symbol.name for symbol in self.symbols if symbol.name and not symbol.section}

    @property
    def defined(self) -> set[str]:
        """The symbols that the file defines."""
        return {symbol.name for symbol in self.symbols if symbol.name and symbol.section}

    def relocations(self) -> Iterator[tuple[int, Relocation]]:
        """The relocations, each with the number of the section that it changes."""
        for section in self.sections:
            if section.kind == RELOCATIONS:
                for place, info, addend in _RELOCATION.iter_unpack(section.content):
                    yield section.info, (place, info & 0xFFFFFFFF, info >> 32, addend)


def tables_of(code: bytes) -> ObjectFile:
    """The tables of an object file; empty if the file's format is not ELF.

    Raises:
        ValueError: a table is incomplete.
    """
    return read_object(code) if code.startswith(ELF) else ObjectFile(0, (), ())


def read_object(code: bytes) -> ObjectFile:
    """The tables of an object file.

    Raises:
        ValueError: the bytes are not an object file, or one of its tables is incomplete.
    """
    try:
        found = _tables(code)
    except (struct.error, IndexError, OverflowError) as error:
        raise ValueError(f"no whole object file: {error}") from None
    return found


def _tables(code: bytes) -> ObjectFile:
    ident, kind, machine, version, *rest = _HEADER.unpack_from(code)
    _, segments, start, _, header_size, _, segment_count, size, count, names = rest
    if not ident.startswith(_IDENTITY) or kind != _RELOCATABLE or version != 1:
        raise _damaged("header")
    if header_size != _HEADER.size or segments or segment_count:
        raise _damaged("header")
    if size != _SECTION.size or not 0 < names < count < _RESERVED:
        raise _damaged("sections")
    sections = tuple([_section(code, start + k * size, count) for k in range(count)])
    if sections[names].kind != STRINGS:
        raise _damaged("names of sections")
    tables = [section for section in sections if section.kind == SYMBOLS]
    if len(tables) != 1:
        raise _damaged("symbols")
    symbols = _symbols(tables[0], sections)
    for section in sections:
        if section.kind == RELOCATIONS:
            if not 0 < section.info < count or sections[section.link] is not tables[0]:
                raise _damaged("relocations")
            _check_relocations(section.content, sections[section.info].size, len(symbols))
    return ObjectFile(machine, sections, symbols)


def _damaged(part: str) -> ValueError:
    return ValueError(f"no whole object file: {part}")


def _section(code: bytes, at: int, count: int) -> Section:
    """The section whose table row is at the position `at`; there are `count` sections."""
    _, kind, flags, _, start, size, link, info, align, _ = _SECTION.unpack_from(code, at)
    stored = 0 if kind in (0, NO_BITS) else size
    if (stored and start + stored > len(code)) or size > len(code) + 2**20:
        raise _damaged("a section")
    if align & (align - 1) or align > 4096:
        raise _damaged("a section")
    if link >= count:
        raise _damaged("a section's link")
    content = code[start : start + stored] if stored else b""
    if kind == STRINGS and not content.endswith(b"\0"):
        raise _damaged("strings")
    return Section(kind, flags, content, size, link, info, max(align, 1))


def _symbols(table: Section, sections: tuple[Section, ...]) -> tuple[Symbol, ...]:
    names = sections[table.link]
    if names.kind != STRINGS or len(table.content) % _SYMBOL.size:
        raise _damaged("symbols")
    found = []
    for name, about, _, section, value, size in _SYMBOL.iter_unpack(table.content):
        if name >= len(names.content):
            raise _damaged("a symbol's name")
        if section < _RESERVED:
            if section >= len(sections):
                raise _damaged("a symbol's section")
            if section and value + size > sections[section].size:
                raise _damaged("a symbol's place")
        text = names.content[name : names.content.index(b"\0", name)].decode()
        found.append(Symbol(text, section, value, about >> 4 == _LOCAL))
    if not 0 < table.info <= len(found):
        raise _damaged("local symbols")
    return tuple(found)


def _check_relocations(entries: bytes, size: int, symbols: int) -> None:
    if len(entries) % _RELOCATION.size:
        raise _damaged("relocations")
    for place, info, _ in _RELOCATION.iter_unpack(entries):
        if place >= size or info >> 32 >= symbols:
            raise _damaged("a relocation")


_REAL: Final = "atan2 ceil floor fma fmod hypot log rint trunc"
_COMPLEX: Final = "cacos cacosh casin casinh catan catanh cpow csqrt ctan ctanh"
C_FUNCTIONS: Final = frozenset(
    ("memcpy", "memmove", "memset")
    + tuple([name + suffix for name in (_REAL + " " + _COMPLEX).split() for suffix in ("", "f")])
)
"""The functions of the C library that machine code may call."""


MAGIC: Final = b"axiomjit kernel 1\n"
UNREADABLE: Final = (SyntaxError, MemoryError, RecursionError)
"""The errors that `literal_eval` raises for some texts, in addition to ValueError and TypeError."""
LARGEST: Final = 16 * 2**20
"""The largest size of an entry in bytes; a larger file is rejected."""
_HEAD: Final = struct.Struct("<32sI")
_START: Final = len(MAGIC) + _HEAD.size


class Entry(Record):
    """The machine code of one kernel: object files, and the name of the kernel's function.

    `calls` are the functions of the C library that the code calls. `calls` is None if another
    process cannot load the object files. `compile_ms` is the time of the compilation. `files` are
    the tables of the object files.
    """

    key: str
    symbol: str
    calls: tuple[str, ...] | None
    objects: tuple[bytes, ...]
    compile_ms: float
    files: tuple[ObjectFile, ...]


def make_entry(key: str, symbol: str, objects: tuple[bytes, ...], compile_ms: float) -> Entry:
    """The entry of newly compiled object files.

    Raises:
        ValueError: an object file is damaged.
    """
    files = tuple(map(tables_of, objects))
    called = _calls(files)
    known = all(file.is_for_this_cpu for file in files) and called <= C_FUNCTIONS
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
    lazy_import("json")  # imported here, since most processes write nothing
    import json

    line = json.dumps(metadata).encode()
    rest = struct.pack("<I", len(line)) + line + b"".join(entry.objects)
    return MAGIC + sha256(rest).digest() + rest


def _literal_value(text: str) -> Any:
    """The value of a Python literal in a text.

    Python 3.11 counts the depth of syntax trees for all threads together. Hence a literal may be
    rejected while another thread parses, and is read again.

    Raises:
        ValueError: the text is not a literal, or another thread was parsing at each attempt.
    """
    for _ in range(100):
        try:
            return literal_eval(text)
        except SystemError:  # another thread parses, too
            continue
    raise ValueError(text)


def unpack(key: str, data: bytes) -> Entry | None:
    """The entry that the bytes contain; None if the bytes are not an entry for this key."""
    try:
        if not data.startswith(MAGIC):
            return None
        digest, length = _HEAD.unpack_from(data, len(MAGIC))
        if sha256(data[len(MAGIC) + len(digest) :]).digest() != digest:
            return None
        end = _START + length
        entry = _read(_literal_value(data[_START:end].decode()), data[end:])
        whole = entry.key == key and all(file.is_for_this_cpu for file in entry.files)
        called = _calls(entry.files)
        known = set(entry.calls or ()) == called and called <= C_FUNCTIONS
    except (ValueError, TypeError, LookupError, struct.error, *UNREADABLE):
        return None
    return entry if whole and known else None


def _read(metadata: Any, code: bytes) -> Entry:
    """The entry that the metadata describe.

    Raises:
        ValueError: the metadata do not describe this code, or an object file is damaged.
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
    """The functions that the object files call but do not define."""
    needed: set[str] = set()
    defined: set[str] = set()
    for file in files:
        needed |= file.undefined
        defined |= file.defined
    return needed - defined


MACHINE: Final = MACHINES["x86_64"]
PROGRAM, UNWINDING = 1, 0x70000001
"""The types of sections with contents to load, and with unwind tables, which are not loaded."""
WRITTEN, LOADED, THREADS_OWN = 1, 2, 0x400
"""Flags of sections: writable at run time, in memory at run time, separate for each thread."""
WHOLE, DISTANCE, CALL, WHOLE_DISTANCE = 1, 2, 4, 24
"""The types of relocation R_X86_64_64, PC32, PLT32 and PC64."""
_READ, _EXECUTE = 1, 4
_LARGEST: Final = 2**26
_WORD: Final = 8

Place = tuple[int, int]
"""The number of a file, and the number of a section in the file."""


class NotLinkedError(Exception):
    """Raised if object files need more than this linker supports; the text has the reason."""


class LinkedCode:
    """The holder of code in memory, which is freed with this object."""

    __slots__ = ("_memory", "address")

    def __init__(self, memory: mmap.mmap, address: int) -> None:
        self._memory, self.address = memory, address


def link(files: Sequence[ObjectFile], symbol: str, outside: Mapping[str, int]) -> LinkedCode:
    """Link object files in memory as executable code.

    Args:
        files: the object files, which may use each other's symbols.
        symbol: the name of the function whose address the result has.
        outside: the addresses of symbols that no file defines.

    Raises:
        NotLinkedError: the files need something that this linker does not support.
        OSError: the system provides no executable memory.
    """
    if any(file.machine != MACHINE for file in files):
        raise NotLinkedError("another machine")
    places, readable, size = _layout(files)
    memory, base = _memory(size)
    for (number, k), at in places.items():
        content = files[number].sections[k].content
        memory[at : at + len(content)] = content
    globals_ = _global_symbols(files, places, base)
    addresses = {**outside, **globals_}
    for number, file in enumerate(files):
        _relocate(memory, base, number, file, places, addresses)
    if symbol not in globals_:
        raise NotLinkedError(f"no {symbol}")
    _protect(base, readable)
    return LinkedCode(memory, globals_[symbol])


def plain_code(instructions: bytes) -> LinkedCode:
    """Copy instructions into executable memory; the result has the first instruction's address.

    Raises:
        OSError: the system provides no executable memory.
    """
    memory, base = _memory(len(instructions))
    memory[: len(instructions)] = instructions
    _protect(base, len(instructions))
    return LinkedCode(memory, base)


def _memory(size: int) -> tuple[mmap.mmap, int]:
    """New writable memory, and its address."""
    memory = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    return memory, ctypes.addressof(ctypes.c_char.from_buffer(memory))


def _protect(base: int, size: int) -> None:
    """Make memory readable and executable, and no longer writable.

    Raises:
        OSError: the system does not allow executable memory.
    """
    if _process().mprotect(ctypes.c_void_p(base), ctypes.c_size_t(size), _READ | _EXECUTE):
        raise OSError(ctypes.get_errno(), "memory cannot be made executable")


def _layout(files: Sequence[ObjectFile]) -> tuple[dict[Place, int], int, int]:
    """The offset of each section, the end of the read-only sections, and the end of all sections.

    Raises:
        NotLinkedError: a section has an unsupported type, or the sections are too large.
    """
    kept: list[tuple[Place, Section]] = []
    for number, file in enumerate(files):
        for k, section in enumerate(file.sections):
            if section.flags & LOADED and section.kind != UNWINDING:
                if section.kind not in (PROGRAM, NO_BITS) or section.flags & THREADS_OWN:
                    raise NotLinkedError(f"a section of type {section.kind}")
                kept.append(((number, k), section))
    places, end = {}, 0
    ends = []
    for written in (0, WRITTEN):
        for place, section in kept:
            if section.flags & WRITTEN == written:
                places[place] = -(-end // section.align) * section.align
                end = places[place] + section.size
        end = -(-end // mmap.PAGESIZE) * mmap.PAGESIZE
        ends.append(end)
    if not 0 < end <= _LARGEST:
        raise NotLinkedError(f"{end} bytes")
    return places, ends[0], end


def _global_symbols(
    files: Sequence[ObjectFile], places: Mapping[Place, int], base: int
) -> dict[str, int]:
    """The addresses of the symbols that files share; the first definition of a name is used."""
    found: dict[str, int] = {}
    for number, file in enumerate(files):
        for symbol in file.symbols:
            at = places.get((number, symbol.section))
            if at is not None and symbol.name and not symbol.is_local:
                found.setdefault(symbol.name, base + at + symbol.place)
    return found


def _relocate(
    memory: mmap.mmap,
    base: int,
    number: int,
    file: ObjectFile,
    places: Mapping[Place, int],
    addresses: Mapping[str, int],
) -> None:
    """Write addresses into the sections of a file, as its relocations require.

    Raises:
        NotLinkedError: an address is unknown or too far, or a relocation is not supported.
    """
    known = [
        base + places[number, symbol.section] + symbol.place
        if (number, symbol.section) in places
        else addresses.get(symbol.name)
        for symbol in file.symbols
    ]
    for k, (place, kind, symbol, addend) in file.relocations():
        if (number, k) not in places:
            continue
        at, wanted = places[number, k] + place, known[symbol]
        if wanted is None:
            raise NotLinkedError(f"no {file.symbols[symbol].name}")
        if place + _WORD > file.sections[k].size:
            raise NotLinkedError("a place outside its section")
        distance = wanted + addend - base - at
        try:
            if kind == WHOLE:
                struct.pack_into("<Q", memory, at, (wanted + addend) % 2**64)
            elif kind == WHOLE_DISTANCE:
                struct.pack_into("<q", memory, at, distance)
            elif kind in (DISTANCE, CALL):
                struct.pack_into("<i", memory, at, distance)
            else:
                raise NotLinkedError(f"a relocation of type {kind}")
        except struct.error as error:
            raise NotLinkedError(str(error)) from None


@lru_cache(maxsize=1)
def _process() -> ctypes.CDLL:
    """The C library and the other libraries of this process."""
    return ctypes.CDLL(None, use_errno=True)


def function_address(name: str) -> int | None:
    """The address of a function of the C library in this process; None if it does not exist."""
    try:
        return ctypes.cast(_process()[name], ctypes.c_void_p).value
    except AttributeError:
        return None


LIBRARIES: Final = 64
"""The largest number of libraries of a linker, which keeps 8 KB for each unloaded library."""


class _Linkers:
    """The holder of the current linker of LLVM; earlier linkers live as long as their libraries."""

    current: Any = None
    left = 0
    numbers = itertools.count()


class LoadedCode:
    """The holder of the code of one kernel in memory, which is unloaded with this object."""

    __slots__ = ("_library", "address")

    address: int
    """The address of the function."""

    def __init__(self, library: Any, address: int) -> None:
        self._library, self.address = library, address


def load(entry: Entry) -> LoadedCode | None:
    """Load an entry; None if it calls a function that does not exist, or LLVM rejects it.

    Several threads may load entries at the same time. A fork waits until LLVM has linked.

    Raises:
        OSError: the system provides no executable memory.
    """
    trouble: OSError | None = None
    try:
        code = _linked_code(entry)
        return LoadedCode(code, code.address)
    except OSError as error:
        trouble = error
    except NotLinkedError:
        pass
    loaded = _load_by_llvm(entry)
    if loaded is None and trouble is not None:
        raise trouble
    return loaded


def _linked_code(entry: Entry) -> LinkedCode:
    """The code of an entry, linked by this module.

    Raises:
        NotLinkedError: this module does not support a part of the object files.
        OSError: the system provides no executable memory.
    """
    outside = {name: function_address(name) for name in entry.calls or ()}
    known = {name: address for name, address in outside.items() if address is not None}
    return link(entry.files, entry.symbol, known)


def _load_by_llvm(entry: Entry) -> LoadedCode | None:
    """Link an entry by LLVM; None if LLVM rejects it or it calls a function that does not exist."""
    with FORKS_WAIT:
        from llvmlite import binding

        try:
            linker, builder = _linker(binding), binding.JITLibraryBuilder()
            for code in entry.objects:
                builder.add_object_img(code)
            if entry.calls is None:
                builder.add_current_process()
            for name in entry.calls or ():
                address = binding.address_of_symbol(name)
                if address is None:
                    return None
                builder.import_symbol(name, address)
            builder.export_symbol(entry.symbol)
            library = builder.link(linker, f"axiomjit-{next(_Linkers.numbers)}")
        except RuntimeError:
            return None
        _Linkers.left -= 1
        library.linker = linker  # freed after the library
        return LoadedCode(library, int(library[entry.symbol]))


def _linker(binding: Any) -> Any:
    if not _Linkers.left:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _Linkers.current = binding.create_lljit_compiler(suppress_errors=True)
        _Linkers.left = LIBRARIES
    return _Linkers.current
