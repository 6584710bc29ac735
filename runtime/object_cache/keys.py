"""The key of a kernel on disk: a digest of everything that decides its machine code.

These are the kernel's own key (its source and words), its traits, the target and its features, the
versions of Numba and llvmlite, Numba's settings, and the code of axiomjit that compiles sources. If
any of them changes, no entry is found, so entries are never out of date.
"""

from __future__ import annotations

import os
import platform
import sys
from functools import cache
from importlib.util import source_hash
from typing import Final

from axiomjit.base.hashing import sha256
from axiomjit.base.target import Target
from axiomjit.passes.ir.kernel_ir import Kernel

ROOMS: Final = ("codegen", "elementary")
"""The packages of the runtime whose code determines machine code."""
FILES: Final = (
    *("base/target.py", "base/dtypes.py", "passes/ir/kernel_ir.py"),
    *("runtime/object_cache/cached_code.py", "runtime/object_cache/object_file.py"),
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
    """Numba's environment variables, any of which may change the machine code."""
    return sorted(item for item in os.environ.items() if item[0].startswith("NUMBA_"))


@cache
def maker_digest() -> str | None:
    """A digest of all code that makes machine code: ours, and the versions of Numba and LLVM.

    Our files enter by the hashes that Python uses for byte code, since SHA-256 of all of them would
    take 2 ms in each process. None if our code cannot be read, as in an archive, or if Numba or
    llvmlite is not installed.
    """
    try:
        sources = [source_hash(_content(path)) for path in maker_files()]
        return sha256(repr((compiler_versions(), sources)).encode()).hexdigest()
    except (ImportError, OSError, ValueError):
        return None


@cache
def compiler_versions() -> tuple[object, ...]:
    """The versions of Numba, llvmlite and its LLVM, found without importing them.

    Raises:
        ImportError: one of them is not installed.
        OSError: one of them cannot be read.
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
    """Our code that makes machine code, in order.

    Raises:
        OSError: a folder cannot be listed.
    """
    package = os.path.dirname(os.path.dirname(os.path.dirname(__file__)))
    files = [f"{package}/{name}" for name in FILES]
    for room in ROOMS:
        folder = f"{package}/runtime/{room}"
        files += sorted(f"{folder}/{name}" for name in os.listdir(folder) if name.endswith(".py"))
    return files
