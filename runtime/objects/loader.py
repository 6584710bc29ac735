"""Object files to a function at an address, by LLVM's linker for code in memory.

Each kernel is a library of its own, so that equal names in two of them do not meet. A name that is
nowhere is an error of the linker, never a call of address 0; that an entry calls no other function
of the process than it may was seen when it was read (`entry`).
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from axiomjit.base.locks import FORKS_WAIT
from axiomjit.runtime.objects.entry import Entry

LIBRARIES: Final = 64
"""Libraries to one linker: what it keeps of unloaded ones, 8 KB each, goes when it goes."""


class _Linkers:
    """The linker that takes the next library; earlier ones live as long as libraries in them."""

    current: Any = None
    left = 0
    numbers = itertools.count()


class LoadedCode:
    """The code of one kernel in memory, until `unload` is called or nobody holds this object."""

    __slots__ = ("_library", "address")

    address: int
    """Of the function; 0 once unloaded."""

    def __init__(self, library: Any, address: int) -> None:
        """Keep the library."""
        self._library, self.address = library, address

    def unload(self) -> None:
        """Give the memory back; whoever runs or calls the code later crashes."""
        library, self._library, self.address = self._library, None, 0
        if library is not None:
            library.close()


def load(entry: Entry) -> LoadedCode | None:
    """Load an entry; None if it calls what is not there or LLVM refuses it.

    Safe to call from several threads. A fork waits until no thread loads.
    """
    from llvmlite import binding

    with FORKS_WAIT:
        try:
            linker, builder = _linker(binding), binding.JITLibraryBuilder()
            for code in entry.objects:
                builder.add_object_img(code)
            for name in entry.calls:
                address = binding.address_of_symbol(name)
                if address is None:
                    return None
                builder.import_symbol(name, address)
            builder.export_symbol(entry.symbol)
            library = builder.link(linker, f"axiomjit-{next(_Linkers.numbers)}")
        except RuntimeError:
            return None
        _Linkers.left -= 1
        library.linker = linker  # goes after the library
        return LoadedCode(library, int(library[entry.symbol]))


def _linker(binding: Any) -> Any:
    if not _Linkers.left:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _Linkers.current = binding.create_lljit_compiler(suppress_errors=True)
        _Linkers.left = LIBRARIES
    return _Linkers.current
