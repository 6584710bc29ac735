"""`axiomjit cache ls | verify | clear`: list, check or drop the machine code on disk."""

from __future__ import annotations

import argparse
import os
import time
from typing import Any, Final

from axiomjit.base.commands import BROKEN, OK
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError, amount
from axiomjit.runtime.object_cache.entry import unpack
from axiomjit.runtime.object_cache.loader import load
from axiomjit.runtime.object_cache.store import OBJECTS, SUFFIXES, Directory, StoredFile

DIGITS: Final = 12
"""The number of a key's digits that are shown."""
NO_FOLDER: Final = (
    "memory only (AXIOMJIT_CACHE_DIR or AXIOMJIT_CACHE_MB says so, or no home folder)"
)


def add_cache_command(commands: Any) -> None:
    """Add `cache` to a parser's commands."""
    cache = commands.add_parser(
        "cache",
        help="list, check or drop the kernels kept on disk",
        description="Kernels kept on disk, which later processes load instead of compiling them.",
    )
    verbs = cache.add_subparsers(dest="verb", required=True, metavar="ls | verify | clear")
    for name, run, text in (
        ("ls", _list, "the kernels, those used last first"),
        ("verify", _verify, "load each kernel, and name those that are damaged"),
        ("clear", _clear, "drop all kernels of your own folder"),
    ):
        verbs.add_parser(name, help=text, description=text).set_defaults(run=run)


def cache_summary() -> str:
    """One line per kernel folder: its contents, or the reason why it is not used."""
    lines = []
    for folder in OBJECTS.folders():
        tier = "shared, only read" if folder.read_only else f"of at most {config.cache_mb} MB"
        reason = folder.refusal()
        held = f"not used: {reason}" if reason else f"{_amount(folder.files())}, {tier}"
        lines.append(f"{folder.path}, {held}")
    return f"\n{'':10}".join(lines) or NO_FOLDER


def _amount(files: list[StoredFile]) -> str:
    kernels = amount(len(files), "kernel")
    return f"{kernels} of {sum(file.size for file in files):,} bytes"


def _folders() -> list[Directory]:
    """The folders of kernels, which must be usable.

    Raises:
        GraphValueError: no folder is set, or a folder cannot be used, such as a folder of another
            user.
    """
    folders = OBJECTS.folders()
    if not folders:
        remedy = "name a folder in AXIOMJIT_CACHE_DIR, and leave AXIOMJIT_CACHE_MB above 0"
        raise GraphValueError("the kernels kept on disk", "none are kept", remedy)
    for folder in folders:
        if reason := folder.refusal():
            remedy = "a folder of your own that only you can write (chmod 700)"
            raise GraphValueError(f"the kernels in {folder.path}", reason, remedy)
    return folders


def _list(arguments: argparse.Namespace) -> None:
    now = time.time()
    for folder in _folders():
        files = folder.files()
        print(f"{folder.path}: {_amount(files)}")
        for file in files:
            entry = unpack(file.key, folder.read(file.key) or b"")
            made = f"{entry.compile_ms:8.1f} ms to compile" if entry else "damaged"
            age = f"{max(0.0, now - file.used) / 3600:8.1f} hours ago"
            print(f"  {file.key[:DIGITS]}  {file.size:9,} bytes  {age}  {made}")


def _verify(arguments: argparse.Namespace) -> int:
    damaged = 0
    for folder in _folders():
        files = folder.files()
        for file in files:
            entry = unpack(file.key, folder.read(file.key) or b"")
            if entry is None or load(entry) is None:
                damaged += 1
                print(f"damaged: {os.path.join(folder.path, file.key)}")
        print(f"{folder.path}: {_amount(files)} looked through")
    print(f"{damaged} damaged" + "; they are compiled again when they are needed" * bool(damaged))
    return BROKEN if damaged else OK


def _clear(arguments: argparse.Namespace) -> None:
    own = [folder for folder in _folders() if not folder.read_only]
    for folder in own:
        dropped = [file for file in folder.files() if folder.remove(file.key)]
        for suffix in SUFFIXES:
            for file in folder.files(suffix):
                folder.remove(file.key, suffix)
        print(f"{folder.path}: {_amount(dropped)} dropped")
