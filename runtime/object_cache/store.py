"""The folders in which this process reads and writes machine code.

The user's own folder comes first, then a shared folder that this process only reads. An entry that
is damaged or belongs to another kernel is dropped, and the kernel is compiled again without a
message. An entry that cannot be written stays in memory.

Only the owner can write in a folder; files are written atomically, and the oldest files are
dropped. A folder or file is not read if it is a symbolic link, belongs to another user, or is
writable by others. A folder is opened and checked for each use, and files are opened relative to
the open folder, so that nobody can replace the folder in between.

The folders also have the machine code of LLVM texts that are the same in every program
(`cached_code`). The code of texts that are the same in every program is never unloaded, since it
may be called until the process ends, even after Python has cleared its modules.

The key of a file is a digest of all inputs of its content. The machine code of a kernel depends on
the kernel's own key (its source and words), its traits, the target with all its capabilities, the
versions of Numba and llvmlite, Numba's settings, and the code of axiomjit that turns a source into
machine code. A change of an input gives another key, so that no file is ever out of date. The
record of a target is on disk too, since LLVM takes 30 ms to describe this processor. The key of a
record depends on the processor's answers to LLVM's queries, and not on a kernel.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import stat
import sys
import time
from ast import literal_eval
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import cache
from importlib.util import source_hash
from operator import mul
from typing import TYPE_CHECKING, Any, Final

from axiomjit.base.caching import keep_alive, sha256
from axiomjit.base.config import config
from axiomjit.base.locks import FORKS_WAIT, lazy_import
from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget, Target
from axiomjit.runtime.object_cache.entries import (
    LARGEST,
    UNREADABLE,
    Entry,
    LoadedCode,
    load,
    make_entry,
    pack,
    plain_code,
    unpack,
)

if TYPE_CHECKING:
    from axiomjit.passes.ir.plan_ir import Kernel

COMPILER_FOLDERS: Final = ("codegen", "elementary")
"""The packages of the runtime whose code determines machine code."""
COMPILER_FILES: Final = (
    *("base/target.py", "base/dtypes.py", "passes/ir/plan_ir.py"),
    *("runtime/object_cache/store.py", "runtime/object_cache/entries.py"),
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

    Our files are hashed with the hash that Python uses for byte code, since SHA-256 of all files
    would take 2 ms in each process. The digest is None if our code cannot be read, as in an
    archive, or if Numba or llvmlite is not installed.
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
"""The instructions that read which registers the system saves; the lower half of the result is
used.
"""
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


SUFFIX: Final = ".kernel"
TARGET_SUFFIX: Final = ".target"
CODE_SUFFIX: Final = ".code"
SUFFIXES: Final = (SUFFIX, TARGET_SUFFIX, CODE_SUFFIX)
"""The suffixes of files with kernels, records of targets, and code common to all programs."""
TEMPORARY: Final = ".new"
KEY_DIGITS: Final = 64
"""The number of hexadecimal digits of a key."""
TEMPORARY_DIGITS: Final = 16
STALE_SECONDS: Final = 3600
"""The age at which a temporary file is removed, and the shortest time between recorded uses."""
PROCESSES_PER_COUNT: Final = 32
"""On average, one process in this number adds up the sizes of all files at its first write."""
TRIM_FRACTION: Final = 0.8
"""The fraction of the size limit down to which files are dropped."""
ROOT: Final = 0
SUPPORTED: Final = os.open in os.supports_dir_fd and hasattr(os, "geteuid")
"""True if this system can open files relative to a folder, and files have owners."""


class UnusableFolderError(Exception):
    """Raised if a folder cannot be used; the message has the reason."""


class StoredFile(Record):
    """A file of the folder: its key, its size in bytes, and the time of its last use."""

    key: str
    size: int
    used: float


class Directory:
    """A folder of files by key; a `read_only` folder may belong to root and is never created."""

    def __init__(self, path: str, *, read_only: bool = False) -> None:
        """Store the path of a folder; the first write creates the folder."""
        self.path, self.read_only = path, read_only
        self._known_bytes: int | None = None

    def refusal(self) -> str | None:
        """The reason why the folder cannot be used; None if it can be used or created."""
        try:
            with self._opened():
                return None
        except FileNotFoundError:
            return None
        except (OSError, UnusableFolderError) as error:
            return str(error)

    def read(self, key: str, suffix: str = SUFFIX) -> bytes | None:
        """The content of a file; None if it does not exist or is not trusted."""
        try:
            with self._opened() as folder:
                return self._content(folder, key + suffix)
        except (OSError, UnusableFolderError):
            return None

    def write(self, key: str, data: bytes, bound_bytes: int, suffix: str = SUFFIX) -> None:
        """Write the file of a key, and drop the oldest files beyond the size limit.

        Raises:
            OSError, UnusableFolderError: the folder cannot be used, or the disk is full.
        """
        try:
            self._put(key + suffix, data)
        except FileNotFoundError:
            os.makedirs(os.path.dirname(self.path), exist_ok=True)
            with suppress(FileExistsError):
                os.mkdir(self.path, mode=0o700)
            self._put(key + suffix, data)
        if self._known_bytes is None:  # a random choice of the processes that add up sizes
            counts = int.from_bytes(os.urandom(1)) < 256 // PROCESSES_PER_COUNT
        else:
            self._known_bytes += len(data)
            counts = self._known_bytes > bound_bytes
        if counts:
            self._known_bytes = self._trim(bound_bytes)

    def remove(self, key: str, suffix: str = SUFFIX) -> bool:
        """Remove the file of a key; True if it no longer exists."""
        try:
            with self._opened() as folder:
                return _remove(folder, key + suffix)
        except (OSError, UnusableFolderError):
            return False

    def files(self, suffix: str = SUFFIX) -> list[StoredFile]:
        """The files of the folder, the most recently used first.

        Raises:
            UnusableFolderError: the folder cannot be used.
        """
        try:
            with self._opened() as folder:
                found = [
                    StoredFile(name.removesuffix(suffix), status.st_size, status.st_mtime)
                    for name, status in _listed(folder)
                    if _is_named(name, KEY_DIGITS, suffix)
                ]
        except OSError:
            return []
        return sorted(found, key=lambda file: (-file.used, file.key))

    @contextmanager
    def _opened(self) -> Iterator[int]:
        """Open and check the folder; yield its file descriptor.

        Raises:
            OSError: the folder does not exist, or the path is not a folder.
            UnusableFolderError: other users own the folder or can write in it.
        """
        if not SUPPORTED:
            raise UnusableFolderError("this system tells no owners of folders")
        try:
            folder = os.open(self.path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR):
                raise UnusableFolderError(f"{self.path} is no folder, or a link") from None
            raise
        try:
            status = os.fstat(folder)
            if not self._is_ours(status):
                raise UnusableFolderError(
                    f"{self.path} belongs to another user, or others can write it"
                )
            yield folder
        finally:
            os.close(folder)

    def _is_ours(self, status: os.stat_result) -> bool:
        owners = {os.geteuid(), ROOT} if self.read_only else {os.geteuid()}
        return status.st_uid in owners and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)

    def _content(self, folder: int, name: str) -> bytes | None:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
        file = os.open(name, flags, dir_fd=folder)
        try:
            status = os.fstat(file)
            fits = stat.S_ISREG(status.st_mode) and status.st_size <= LARGEST
            if not fits or not self._is_ours(status):
                return None
            if not self.read_only and time.time() - status.st_mtime > STALE_SECONDS:
                with suppress(OSError):
                    os.utime(file)
            with open(file, "rb", closefd=False) as content:
                return content.read(LARGEST)
        finally:
            os.close(file)

    def _put(self, name: str, data: bytes) -> None:
        """Write a temporary file, then rename it."""
        with self._opened() as folder:
            temporary = os.urandom(TEMPORARY_DIGITS // 2).hex() + TEMPORARY
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
            file = os.open(temporary, flags, 0o600, dir_fd=folder)
            try:
                with open(file, "wb") as content:
                    content.write(data)
                try:
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
                except (IsADirectoryError, NotADirectoryError):
                    os.rmdir(name, dir_fd=folder)
                    os.replace(temporary, name, src_dir_fd=folder, dst_dir_fd=folder)
            except BaseException:
                with suppress(OSError):
                    os.unlink(temporary, dir_fd=folder)
                raise

    def _trim(self, bound_bytes: int) -> int:
        """Remove old temporary files, and the oldest files beyond the limit; return the bytes left.

        Other processes may remove files at the same time.
        """
        with self._opened() as folder:
            now, found = time.time(), []
            for name, status in _listed(folder):
                if any(_is_named(name, KEY_DIGITS, end) for end in SUFFIXES):
                    found.append((status.st_mtime, status.st_size, name))
                    continue
                stale = now - status.st_mtime > STALE_SECONDS
                if stale and _is_named(name, TEMPORARY_DIGITS, TEMPORARY):
                    _remove(folder, name)
            total = sum(size for _, size, _ in found)
            if total > bound_bytes:
                for _, size, name in sorted(found):
                    if total <= TRIM_FRACTION * bound_bytes:
                        break
                    total -= size * _remove(folder, name)
            return total


def _is_named(name: str, digits: int, suffix: str) -> bool:
    """True if a file's name consists of this number of hexadecimal digits and the suffix."""
    stem = name.removesuffix(suffix)
    return stem != name and len(stem) == digits and set(stem) <= set("0123456789abcdef")


def _listed(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    """The names in a folder, each with the status of the file or link."""
    for name in os.listdir(folder):
        with suppress(FileNotFoundError):
            yield name, os.stat(name, dir_fd=folder, follow_symlinks=False)


def _remove(folder: int, name: str) -> bool:
    """Remove the file or empty folder of this name; True if it no longer exists."""
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        return True
    except OSError:
        try:
            os.rmdir(name, dir_fd=folder)
        except OSError:
            return False
    return True


MEGABYTE: Final = 2**20
_LASTING_ERRORS: Final = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EROFS,
    errno.EACCES,
    errno.EPERM,
    errno.EIO,
)


class ObjectStore:
    """A reader and writer of machine code by key, in the folders of the current settings."""

    def __init__(self) -> None:
        self._settings: tuple[object, ...] | None = None
        self._own: Directory | None = None
        self._shared: Directory | None = None
        self.trouble: str | None = None
        """The reason why files are no longer written; None if files are written."""

    def folders(self) -> list[Directory]:
        """The user's own folder and the shared folder, if the settings have them."""
        settings = config.cache_dir, config.cache_shared, config.cache_mb
        if settings != self._settings:
            path = own_path() if config.cache_mb > 0 else None
            self._own = Directory(path) if path else None
            shared = config.cache_shared if config.cache_mb > 0 else ""
            self._shared = Directory(os.path.abspath(shared), read_only=True) if shared else None
            self.trouble = None
            self._settings = settings
        return [folder for folder in (self._own, self._shared) if folder]

    def find(self, key: str, suffix: str = SUFFIX) -> tuple[Entry, LoadedCode] | None:
        """The entry of a key with its loaded code; None if no folder has a valid entry."""
        for folder in self.folders():
            data = folder.read(key, suffix)
            if data is None:
                continue
            entry = unpack(key, data)
            try:
                code = None if entry is None else load(entry)
            except OSError:  # there is no memory for code now; the file is valid
                continue
            if entry is not None and code is not None:
                return entry, code
            if not folder.read_only:
                folder.remove(key, suffix)
        return None

    def record_of(self, chosen: ChosenTarget) -> Target:
        """The record of a target, from disk; a missing record comes from LLVM and is then written.

        Raises:
            GraphValueError: this CPU cannot run code of the target.
        """
        key = None if chosen.is_found else target_key(chosen.name)
        if key is None:
            return chosen.record
        for folder in self.folders():
            found = unpack_target(key, chosen.name, folder.read(key, TARGET_SUFFIX) or b"")
            if found is not None:
                chosen.take(found)
                return found
        self._write(key, pack_target(key, chosen.record), TARGET_SUFFIX)
        return chosen.record

    def keep(self, entry: Entry, suffix: str = SUFFIX) -> None:
        """Write an entry if other processes can load it and the user's folder is writable."""
        if entry.calls is not None:
            self._write(entry.key, pack(entry), suffix)

    def _write(self, key: str, data: bytes, suffix: str) -> None:
        """Write a file if the user's own folder can be written."""
        self.folders()
        if self._own is None or self.trouble is not None:
            return
        try:
            self._own.write(key, data, config.cache_mb * MEGABYTE, suffix)
        except UnusableFolderError as error:
            self.trouble = str(error)
        except OSError as error:
            if error.errno in _LASTING_ERRORS:
                self.trouble = str(error)


def own_path() -> str | None:
    """The path of the user's own folder, by default in the folder for caches.

    The path is absolute; None for a user without a home folder.
    """
    if config.cache_dir is not None:
        return os.path.abspath(config.cache_dir) if config.cache_dir else None
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):
        caches = os.path.expanduser("~/.cache")
    return os.path.join(caches, "axiomjit", "kernels") if os.path.isabs(caches) else None


OBJECTS: Final = ObjectStore()


def run_passes(manager: Any, module: Any, builder: Any) -> None:
    """Run the passes of a manager over a module, and free the manager, which may take 75 KB."""
    from llvmlite.binding.newpassmanagers import NewPassManager

    try:
        manager.run(module, builder)
    finally:
        NewPassManager._dispose(manager)  # its close() calls an empty method of another base
        manager.detach()


PASSES: Final = ("sroa", "instruction_combine", "simplify_cfg")
"""The LLVM passes that run over a text, in order."""
MACHINE: Final = {"opt": 2, "codemodel": "jitdefault", "jit": True}
"""The options of LLVM's target machine."""


def cached_code(text: str, symbol: str) -> LoadedCode:
    """The machine code of a text, with the address of its function `symbol`; it is never unloaded.

    Raises:
        ImportError: llvmlite is not installed.
        RuntimeError, OSError, ValueError: the text cannot be compiled, or its code not loaded.
    """
    key = _key(text) if OBJECTS.folders() else ""
    found = OBJECTS.find(key, CODE_SUFFIX) if key else None
    if found is not None:
        return keep_alive(found[1])
    began = time.perf_counter()
    with FORKS_WAIT:
        code = compiled(text)
    entry = make_entry(key, symbol, (code,), (time.perf_counter() - began) * 1e3)
    if key:
        OBJECTS.keep(entry, CODE_SUFFIX)
    loaded = load(entry)
    if loaded is None:
        raise RuntimeError(f"LLVM does not load the code of {symbol}")
    return keep_alive(loaded)


def compiled(text: str) -> bytes:
    """The object file of a text, whose code runs on every CPU of this machine type."""
    from llvmlite import binding

    machine = _machine(binding)
    module = binding.parse_assembly(text)
    module.verify()
    builder = binding.create_pass_builder(machine, binding.create_pipeline_tuning_options())
    passes = binding.create_new_module_pass_manager()
    for name in PASSES:
        getattr(passes, f"add_{name}_pass")()
    run_passes(passes, module, builder)
    return bytes(machine.emit_object(module))


def _machine(binding: Any) -> Any:
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    target = binding.Target.from_default_triple()
    return target.create_target_machine(**MACHINE)


def _key(text: str) -> str:
    """The key of a text's machine code on disk; empty if the compiler's version is unknown."""
    try:
        parts = "own code", text, PASSES, MACHINE, compiler_versions(), config.cache_tag
    except (ImportError, OSError):
        return ""
    return sha256(repr(parts).encode(errors="surrogateescape")).hexdigest()
