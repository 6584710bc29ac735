"""Worker processes, as the asking process sees them."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Final

import axiomjit

ANSWER_S: Final = 300.0
"""Seconds without an answer after which a worker counts as hung."""
END_S: Final = 5.0
SERIAL: Final = dict.fromkeys(
    (
        "OMP_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "MKL_NUM_THREADS",
        "BLIS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMBA_NUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    ),
    "1",
)
UNSET: Final = ("AXIOMJIT_CHECK", "AXIOMJIT_DISABLE", "AXIOMJIT_FALLBACK")
"""Environment variables that would change what is measured."""
Answer = dict[str, Any]


class Lost(Exception):
    """A worker did not answer: it hung (`late`), or its process ended."""

    def __init__(self, late: bool, words: str) -> None:
        """Keep which of the two happened, and the last lines it printed."""
        super().__init__(words)
        self.late = late


class Worker:
    """A worker process; `ask` sends a request and waits for the answer."""

    def __init__(self, environment: Mapping[str, str], serial: bool) -> None:
        """Start the process; with `serial`, libraries are told to use one thread."""
        root = str(Path(axiomjit.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
        limits = SERIAL if serial else {}
        kept = {name: value for name, value in os.environ.items() if name not in UNSET}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "axiomjit.bench.suite.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**kept, "PYTHONPATH": path, **environment, **limits},
            start_new_session=True,  # its forks end with it
        )
        self._waiting = selectors.DefaultSelector()
        assert self._process.stdout is not None
        self._waiting.register(self._process.stdout, selectors.EVENT_READ)

    def send(self, do: str, **what: Any) -> None:
        """Send a request without waiting."""
        assert self._process.stdin is not None
        line = json.dumps({"do": do, **what}) + "\n"
        try:
            self._process.stdin.write(line.encode())
            self._process.stdin.flush()
        except BrokenPipeError as error:
            raise self._lost(late=False) from error

    def receive(self, limit_s: float = ANSWER_S) -> Answer:
        """Return the next answer.

        Raises:
            Lost: none came within `limit_s`, or the process ended.
        """
        assert self._process.stdout is not None
        text, end = b"", time.monotonic() + limit_s
        while not text.endswith(b"\n"):
            if not self._waiting.select(max(0.0, end - time.monotonic())):
                raise self._lost(late=True)
            part = os.read(self._process.stdout.fileno(), 1 << 16)
            if not part:
                raise self._lost(late=False)
            text += part
        answer: Answer = json.loads(text)
        return answer

    def ask(self, do: str, limit_s: float = ANSWER_S, **what: Any) -> Answer:
        """Send a request and wait for its answer."""
        self.send(do, **what)
        return self.receive(limit_s)

    def _lost(self, late: bool) -> Lost:
        if not late:  # its pipe is closed: the process is about to end by itself
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        self.close()
        return Lost(late, "no answer" if late else f"ended with status {self._process.returncode}")

    @property
    def ended(self) -> bool:
        """Return whether it was closed, or ended before it answered."""
        return self._process.returncode is not None

    def close(self) -> None:
        """End the process and wait for it."""
        self._waiting.close()
        if self._process.returncode is None and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            try:
                pipe.close()
            except BrokenPipeError:  # unsent requests to a process that has ended
                continue

    def __enter__(self) -> Worker:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
