"""Cheap fresh processes: forked from one that has imported and compiled, but not run."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Final

from axiomjit.bench.suite.peers import PEERS
from axiomjit.bench.suite.processes import ANSWER_S, Answer, Lost, Worker
from axiomjit.bench.suite.records import OURS

FORKS: Final = sys.platform == "linux"


class Fork:
    """A process forked from a worker, which waits until the fork ends; used like a worker."""

    def __init__(self, parent: Worker) -> None:
        """Make `parent` fork."""
        self._parent, self._open = parent, True
        parent.ask("fork")

    def send(self, do: str, **what: Any) -> None:
        """Send a request without waiting."""
        self._parent.send(do, **what)

    def receive(self, limit_s: float = ANSWER_S) -> Answer:
        """Return the next answer."""
        return self._parent.receive(limit_s)

    def ask(self, do: str, limit_s: float = ANSWER_S, **what: Any) -> Answer:
        """Send a request and wait for its answer."""
        return self._parent.ask(do, limit_s, **what)

    def close(self) -> None:
        """End the fork; its parent can fork again."""
        if self._open and not self._parent.ended:
            with contextlib.suppress(Lost):
                self._parent.ask("end")
        self._open = False

    def __enter__(self) -> Fork:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is not None:  # an answer may be pending
            self._parent.close()
        self.close()


class Nursery:
    """Workers to fork from, one per peer and number of threads, started at first use."""

    def __init__(self) -> None:
        """Start without workers."""
        self._folder = TemporaryDirectory(prefix="axiomjit-bench-")
        self._workers: dict[tuple[str, bool], Worker] = {}
        self._ready: set[tuple[Worker, str]] = set()

    def worker(self, peer: str, serial: bool, case: str, seed: int) -> Worker | Fork:
        """Return a fresh process of a peer for a case; it is not forked where forks are unsafe.

        It finds the kernels of axiomjit compiled.
        """
        if not FORKS:
            return self._start(peer, serial)
        parent = self._workers.get((peer, serial))
        if parent is None or parent.ended:
            parent = self._workers[peer, serial] = self._start(peer, serial)
            parent.ask("load", peer=peer, pinned=serial)
        if peer == OURS and (parent, case) not in self._ready:
            self._ready.add((parent, case))
            parent.ask("ready", case=case, seed=seed)
        return Fork(parent)

    def _start(self, peer: str, serial: bool) -> Worker:
        own = Path(self._folder.name) / peer
        own.mkdir(exist_ok=True)
        return Worker(PEERS[peer].environment(str(own)), serial)

    def __enter__(self) -> Nursery:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for worker in self._workers.values():
            worker.close()
        self._folder.cleanup()
