"""Tests that measure time run while no other process of the session runs one.

pytest-xdist spreads the tests over processes. Those marked `alone` would share the cores with
others then, and their times would say nothing.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: all take their turns at the same time
    fcntl = None  # type: ignore[assignment]


class Turns:
    """Two locks that the processes of a session share.

    Who wants to run waits at the door, and goes into the room: alone, or with others. A test that
    waits for an empty room keeps the door shut, so it is not overtaken for ever.
    """

    def __init__(self, folder: Path | None) -> None:
        """Open the locks in a folder of the session; without one there is nobody to wait for."""
        self._files: list[int] = []
        if folder is not None and fcntl is not None:
            paths = (folder / "tests.door", folder / "tests.room")
            self._files = [os.open(path, os.O_CREAT | os.O_RDWR, 0o600) for path in paths]

    @contextlib.contextmanager
    def taken(self, alone: bool) -> Iterator[None]:
        """Run while no test that is `alone` runs elsewhere, or while nothing runs elsewhere."""
        if not self._files:
            yield
            return
        door, room = self._files
        fcntl.flock(door, fcntl.LOCK_EX)
        fcntl.flock(room, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        fcntl.flock(door, fcntl.LOCK_UN)
        try:
            yield
        finally:
            fcntl.flock(room, fcntl.LOCK_UN)
