"""The keys of files on disk: digests of all inputs of the content of a file.

The machine code of a kernel depends on the kernel's own key (its source and words), its traits, the
target with all its capabilities, the versions of Numba and llvmlite, Numba's settings, and the code
of axiomjit that turns a source into machine code. A change of one of these inputs gives another
key, so that no file is ever out of date.

The record of a target is on disk too, since LLVM takes 30 ms to describe this processor. The key of
a record depends on the processor's answers to the queries of LLVM, in place of the kernel.
"""

from __future__ import annotations

import ctypes
import os
import platform
import sys
from ast import literal_eval
from functools import cache
from importlib.util import source_hash
from operator import mul
from typing import Final

from axiomjit.base.caching import sha256
from axiomjit.base.locks import lazy_import
from axiomjit.base.target import Target
from axiomjit.passes.ir.plan_ir import Kernel
from axiomjit.runtime.object_cache.entry import UNREADABLE
from axiomjit.runtime.object_cache.loader import plain_code

COMPILER_FOLDERS: Final = ("codegen", "elementary")
"""The packages of the runtime whose code determines machine code."""
COMPILER_FILES: Final = (
    *("base/target.py", "base/dtypes.py", "passes/ir/plan_ir.py"),
    *("runtime/object_cache/store.py", "runtime/object_cache/entry.py"),
)
"""Modules of other packages whose code determines machine code."""


def disk_key(kernel: Kernel, target: Target, checked: bool, tag: str) -> str | None:
    """The key of a kernel for a target; None if a part of it is unknown."""
    maker = maker_digest()
    if maker is None:
        return None
    fields = [getattr(target, field) for field in type(target)._fields]
    words = [(word.kind, word.dtype) for word in kernel.parameters]
    text = kernel.key, kernel.source, words, kernel.traits
    parts = (maker, text, fields, checked, numba_settings(), tag)
    return sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()


def numba_settings() -> list[tuple[str, str]]:
    """Numba's environment variables; each of them may change the machine code."""
    return sorted([item for item in os.environ.items() if item[0].startswith("NUMBA_")])


@cache
def maker_digest() -> str | None:
    """A digest of our code that makes machine code, and of the versions of Numba and LLVM.

    Our files are hashed as Python does for byte code, since SHA-256 of all files would take 2 ms in
    each process. The digest is None if our code cannot be read, as in an archive, or if Numba or
    llvmlite is not installed.
    """
    try:
        sources = [source_hash(_content(path)) for path in maker_files()]
        return sha256(repr((compiler_versions(), sources)).encode()).hexdigest()
    except (ImportError, OSError, ValueError):
        return None


@cache
def compiler_versions() -> tuple[object, ...]:
    """The versions of Numba, llvmlite and LLVM, found without importing the packages.

    Raises:
        ImportError: Numba or llvmlite is not installed.
        OSError: a file with a version cannot be read.
    """
    numba, llvmlite = _folder("numba"), _folder("llvmlite")
    versions = [_content(f"{folder}/_version.py") for folder in (numba, llvmlite)]
    libraries = (file for file in os.scandir(f"{llvmlite}/binding") if "libllvm" in file.name)
    sizes = sorted(file.stat().st_size for file in libraries)
    return sys.platform, platform.machine(), *versions, *sizes


def _folder(package: str) -> str:
    """The folder of a package."""
    finders = (finder for finder in sys.meta_path if hasattr(finder, "find_spec"))
    found = next(filter(None, (finder.find_spec(package, None) for finder in finders)), None)
    if found is None or found.origin is None:
        raise ImportError(package)
    return os.path.dirname(found.origin)


def _content(path: str) -> bytes:
    """The bytes of a file."""
    with open(path, "rb") as file:
        return file.read()


def maker_files() -> list[str]:
    """The paths of our files that make machine code, in order.

    Raises:
        OSError: a folder cannot be listed.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    files = [f"{package}/{name}" for name in COMPILER_FILES]
    for room in COMPILER_FOLDERS:
        folder = f"{package}/runtime/{room}"
        files += sorted([f"{folder}/{n}" for n in os.listdir(folder) if n.endswith(".py")])
    return files


_CPUID_CODE: Final = bytes.fromhex(
    "53"  # push rbx
    "4989d0"  # mov r8, rdx
    "89f8"  # mov eax, edi
    "89f1"  # mov ecx, esi
    "0fa2"  # cpuid
    "418900"  # mov [r8], eax
    "41895804"  # mov [r8 + 4], ebx
    "41894808"  # mov [r8 + 8], ecx
    "4189500c"  # mov [r8 + 12], edx
    "5b"  # pop rbx
    "c3"  # ret
)
_XGETBV_CODE: Final = bytes.fromhex(
    "31c9"  # xor ecx, ecx
    "0f01d0"  # xgetbv
    "c3"  # ret
)
"""The instructions that read which registers the system saves; the lower half is used."""
_ALL_WORDS: Final = (1, 1, 1, 1)
_LEAVES: Final = (
    (0, 0, _ALL_WORDS),
    (1, 0, (1, 0, 1, 1)),  # the second word has the number of the core
    (7, 0, _ALL_WORDS),
    (7, 1, _ALL_WORDS),
    (7, 2, _ALL_WORDS),
    (0xD, 1, (1, 0, 0, 0)),  # the second word is a size that depends on the process
    (0x14, 0, _ALL_WORDS),
    (0x19, 0, _ALL_WORDS),
    (0x1E, 0, _ALL_WORDS),
    (0x1E, 1, _ALL_WORDS),
    (0x24, 0, _ALL_WORDS),
    (0x29, 0, _ALL_WORDS),
    (0x80000000, 0, _ALL_WORDS),
    (0x80000001, 0, (1, 0, 1, 1)),
    (0x80000008, 0, (0, 1, 0, 0)),
    (0x80000021, 0, _ALL_WORDS),
)
"""The CPUID queries by which LLVM identifies a processor, and the words of the answers that are the
same on each core and in each process.
"""
_HAS_XGETBV: Final = 1 << 27


@cache
def processor_answers() -> tuple[int, ...] | None:
    """The words by which LLVM identifies this processor; None if it cannot be queried."""
    if platform.machine() not in ("x86_64", "AMD64") or platform.system() == "Windows":
        return None
    try:
        code, saved = plain_code(_CPUID_CODE), plain_code(_XGETBV_CODE)
    except OSError:
        return None
    kind = ctypes.CFUNCTYPE(None, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
    ask = kind(code.address)

    def answer(leaf: int, part: int) -> tuple[int, ...]:
        words = (ctypes.c_uint32 * 4)()
        ask(leaf, part, ctypes.addressof(words))
        return tuple(words)

    most = {first: answer(first, 0)[0] for first in (0, 0x80000000)}
    found: list[int] = []
    for leaf, part, kept in _LEAVES:
        if leaf <= most[leaf & 0x80000000]:
            words = answer(leaf, part)
            found += [leaf, part, *map(mul, words, kept)]
    if answer(1, 0)[2] & _HAS_XGETBV:
        found.append(ctypes.CFUNCTYPE(ctypes.c_uint32)(saved.address)())
    return tuple(found)


MAGIC: Final = b"axiomjit target 1\n"


def target_key(name: str) -> str | None:
    """The key of the record of a target; None if a part of it is unknown."""
    answers, maker = processor_answers(), maker_digest()
    if answers is None or maker is None:
        return None
    parts = MAGIC, name, answers, numba_settings(), maker
    return sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()


def pack_target(key: str, target: Target) -> bytes:
    """The bytes by which a target is stored on disk."""
    values = [getattr(target, field) for field in Target._fields]
    lazy_import("json")  # here, since most processes write nothing
    import json

    line = json.dumps([key, *(int(v) if type(v) is bool else v for v in values)]).encode()
    return MAGIC + sha256(line).digest() + line


def unpack_target(key: str, name: str, data: bytes) -> Target | None:
    """The target that the bytes contain; None if the bytes are no record for this key and name."""
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
