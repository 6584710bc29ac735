"""Load the object files of a cache entry into memory as executable code.

Most files are linked by this module, without LLVM, whose import and start take 30 ms. The object
files that LLVM writes for code in memory (large code model, x86-64) need little linking: sections
are placed one after another, and absolute addresses are filled in. LLVM's linker links the other
files, for instance files with jump tables. There each kernel is a separate library, so that equal
names do not collide. A missing name is an error in both linkers, never a call of address 0. The
functions that an entry may call are checked when the entry is read (`entry`).
"""

from __future__ import annotations

import ctypes
import itertools
import mmap
import struct
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.locks import FORKS_WAIT
from axiomjit.runtime.object_cache.entry import (
    MACHINES,
    NO_BITS,
    Entry,
    ObjectFile,
    Section,
)

MACHINE: Final = MACHINES["x86_64"]
PROGRAM, UNWINDING = 1, 0x70000001
"""Types of sections: content to load, and unwind tables of exceptions, which are not loaded."""
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
    """Object files need more than this linker supports; the text has the reason."""


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
    """The addresses of the symbols that files share; the first definition of a name holds."""
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
