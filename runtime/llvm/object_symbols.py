"""An object file -> the names that it needs and has, and those that it may need."""

from __future__ import annotations

from typing import Final

from axiomjit.runtime.llvm.object_file import Symbol, read_object

ELF: Final = b"\x7fELF"

_REAL: Final = "atan2 ceil floor fma fmod hypot log rint trunc"
_COMPLEX: Final = "cacos cacosh casin casinh catan catanh cpow csqrt ctan ctanh"
PROVIDED: Final = frozenset(
    ("memcpy", "memmove", "memset")
    + tuple(name + suffix for name in (_REAL + " " + _COMPLEX).split() for suffix in ("", "f"))
)
"""What machine code may call outside itself: functions of the C library."""


def undefined_symbols(code: bytes) -> set[str]:
    """What an object file names and does not define; nothing of one that is not ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {s.name for s in _symbols(code) if s.name and not s.section}


def defined_symbols(code: bytes) -> set[str]:
    """What an object file defines; nothing of one that is not ELF.

    Raises:
        ValueError: the file is damaged.
    """
    return {s.name for s in _symbols(code) if s.name and s.section}


def _symbols(code: bytes) -> tuple[Symbol, ...]:
    return read_object(code).symbols if code.startswith(ELF) else ()
