"""Object files to a function at an address.

Most are linked without LLVM (`linked_code`), which takes 30 ms to import and start; LLVM's linker
for code in memory takes the others. Each kernel is a library of its own, so that equal names in
two of them do not meet. A name that is nowhere is an error of the linker, never a call of address
0; that an entry calls no other function of the process than it may was seen when it was read
(`entry`).
"""

from __future__ import annotations

import itertools
from typing import Any, Final

from axiomjit.base.locks import FORKS_WAIT
from axiomjit.runtime.llvm.object_file import read_object
from axiomjit.runtime.objects.entry import Entry
from axiomjit.runtime.objects.linked_code import LinkedCode, NotLinkedError, function_address, link

LIBRARIES: Final = 64
"""Libraries to one linker: what it keeps of unloaded ones, 8 KB each, goes when it goes."""


class _Linkers:
    """The linker that takes the next library; earlier ones live as long as libraries in them."""

    current: Any = None
    left = 0
    numbers = itertools.count()


class LoadedCode:
    """The code of one kernel in memory, for as long as somebody holds this object."""

    __slots__ = ("_library", "address")

    address: int
    """Of the function."""

    def __init__(self, library: Any, address: int) -> None:
        """Keep the library."""
        self._library, self.address = library, address


def load(entry: Entry) -> LoadedCode | None:
    """Load an entry; None if it calls what is not there or LLVM refuses it.

    Safe to call from several threads. A fork waits until LLVM has linked.

    Raises:
        OSError: the system gives no memory that can be executed, to LLVM neither.
    """
    trouble: OSError | None = None
    try:
        code = _linked(entry)
        return LoadedCode(code, code.address)
    except OSError as error:
        trouble = error
    except (NotLinkedError, ValueError):
        pass
    loaded = _load_by_llvm(entry)
    if loaded is None and trouble is not None:
        raise trouble
    return loaded


def _linked(entry: Entry) -> LinkedCode:
    """The code of an entry, linked here.

    Raises:
        NotLinkedError: it needs more than our linker does.
        OSError: the system gives no memory that can be executed.
        ValueError: an object file is damaged.
    """
    outside = {name: function_address(name) for name in entry.calls or ()}
    known = {name: address for name, address in outside.items() if address is not None}
    return link([read_object(code) for code in entry.objects], entry.symbol, known)


def _load_by_llvm(entry: Entry) -> LoadedCode | None:
    """Let LLVM link an entry; None if it calls what is not there or LLVM refuses it."""
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
        library.linker = linker  # goes after the library
        return LoadedCode(library, int(library[entry.symbol]))


def _linker(binding: Any) -> Any:
    if not _Linkers.left:
        binding.initialize_native_target()
        binding.initialize_native_asmprinter()
        _Linkers.current = binding.create_lljit_compiler(suppress_errors=True)
        _Linkers.left = LIBRARIES
    return _Linkers.current
