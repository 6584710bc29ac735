"""Start worker processes, and send requests to them; `worker` answers the requests."""

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
from typing import Any, Final

import axiomjit

ANSWER_S: Final = 300.0
"""The seconds without an answer after which a worker counts as hung."""
END_S: Final = 5.0
LIBRARIES: Final = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
SERIAL: Final = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {"VECLIB_MAXIMUM_THREADS": "1"}
REMOVED_VARIABLES: Final = ("AXIOMJIT_CHECK", "AXIOMJIT_DISABLE", "AXIOMJIT_FALLBACK")
"""The environment variables that workers do not get, since they would change the figures."""
Answer = dict[str, Any]


class WorkerLostError(Exception):
    """A worker did not answer; `late` is True if it hung, False if its process ended."""

    def __init__(self, late: bool, words: str) -> None:
        super().__init__(words)
        self.late = late


class Worker:
    """A worker process that answers requests."""

    def __init__(self, environment: Mapping[str, str], serial: bool) -> None:
        """Start the process; with `serial`, environment variables limit libraries to one thread."""
        root = str(Path(axiomjit.__file__).resolve().parents[1])
        path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
        kept = {name: value for name, value in os.environ.items() if name not in REMOVED_VARIABLES}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "axiomjit.bench.suite.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**kept, "PYTHONPATH": path, **environment, **(SERIAL if serial else {})},
            start_new_session=True,  # processes that a library starts end with it
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._answers = self._process.stdin, self._process.stdout
        self._waiting = selectors.DefaultSelector()
        self._waiting.register(self._answers, selectors.EVENT_READ)

    def send(self, do: str, **what: Any) -> None:
        """Send a request, and do not wait for the answer."""
        try:
            self._requests.write((json.dumps({"do": do, **what}) + "\n").encode())
            self._requests.flush()
        except BrokenPipeError as error:
            raise self._lost(late=False) from error

    def receive(self, limit_s: float = ANSWER_S) -> Answer:
        """Wait for the next answer and return it.

        Raises:
            WorkerLostError: no answer came within `limit_s`, or the process ended.
        """
        text, end = b"", time.monotonic() + limit_s
        while not text.endswith(b"\n"):
            if not self._waiting.select(max(0.0, end - time.monotonic())):
                raise self._lost(late=True)
            part = os.read(self._answers.fileno(), 1 << 16)
            if not part:
                raise self._lost(late=False)
            text += part
        answer: Answer = json.loads(text)
        return answer

    def ask(self, do: str, limit_s: float = ANSWER_S, **what: Any) -> Answer:
        """Send a request, wait for its answer, and return it."""
        self.send(do, **what)
        return self.receive(limit_s)

    def _lost(self, late: bool) -> WorkerLostError:
        if not late:  # its pipe is closed: the process is about to end by itself
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(END_S)
        self.close()
        return WorkerLostError(
            late, "no answer" if late else f"ended with status {self._process.returncode}"
        )

    def close(self) -> None:
        """End the process and wait for it."""
        self._waiting.close()
        if self._process.returncode is None and hasattr(os, "killpg"):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._answers):
            with contextlib.suppress(BrokenPipeError):  # requests that were not sent
                pipe.close()
