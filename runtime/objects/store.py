"""The folders where this process finds and keeps machine code, asked in order.

The user's own folder comes first, then one that others filled and this process only reads. What
is damaged or foreign is dropped and compiled again, without a word; what cannot be written is
kept in memory only.
"""

from __future__ import annotations

import errno
import os
from typing import Final

from axiomjit.base.config import config
from axiomjit.base.target import ChosenTarget, Target
from axiomjit.runtime.objects.directory import SUFFIX, TARGET_SUFFIX, Directory, Unusable
from axiomjit.runtime.objects.entry import Entry, pack, unpack
from axiomjit.runtime.objects.known_targets import pack_target, target_key, unpack_target
from axiomjit.runtime.objects.loader import LoadedCode, load

MEGABYTE: Final = 2**20
_LASTING: Final = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


class ObjectStore:
    """Machine code by key, in the folders that the settings name now."""

    def __init__(self) -> None:
        """Open nothing yet."""
        self._settings: tuple[object, ...] | None = None
        self._own: Directory | None = None
        self._shared: Directory | None = None
        self.trouble: str | None = None
        """Why nothing is written any more."""

    def folders(self) -> list[Directory]:
        """The user's own folder, if any, and the shared one, if any."""
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
        """The entry of a key and its code, loaded; None if there is none that can be loaded."""
        for folder in self.folders():
            data = folder.read(key, suffix)
            if data is None:
                continue
            entry = unpack(key, data)
            try:
                code = None if entry is None else load(entry)
            except OSError:  # there is no memory for code now: the file is as good as before
                continue
            if entry is not None and code is not None:
                return entry, code
            if not folder.read_only:
                folder.remove(key, suffix)
        return None

    def record_of(self, chosen: ChosenTarget) -> Target:
        """The record of a target, from disk where LLVM was asked before; LLVM's is kept there.

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
        """Write an entry, unless other processes could not load it or there is no place for it."""
        if entry.calls is not None:
            self._write(entry.key, pack(entry), suffix)

    def _write(self, key: str, data: bytes, suffix: str) -> None:
        """Write a file where there is a place for it."""
        self.folders()
        if self._own is None or self.trouble is not None:
            return
        try:
            self._own.write(key, data, config.cache_mb * MEGABYTE, suffix)
        except Unusable as error:
            self.trouble = str(error)
        except OSError as error:
            if error.errno in _LASTING:
                self.trouble = str(error)


def own_path() -> str | None:
    """The user's folder: the one that is set, else in the folder for caches; None if there is none.

    The path is absolute; a user without a home has none.
    """
    if config.cache_dir is not None:
        return os.path.abspath(config.cache_dir) if config.cache_dir else None
    caches = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(caches):
        caches = os.path.expanduser("~/.cache")
    return os.path.join(caches, "axiomjit", "kernels") if os.path.isabs(caches) else None


OBJECTS: Final = ObjectStore()
