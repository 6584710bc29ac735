"""Show the progress of a run: a bar with the time left on a terminal, a line per case elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import Any, TextIO


class Progress:
    """Shows each step on standard error, so that standard output stays clean."""

    def __init__(self, total: int, stream: TextIO | None = None) -> None:
        """Expect `total` steps; the bar is tqdm's, if installed."""
        self._stream = stream or sys.stderr
        self._total, self._done, self._started = total, 0, time.monotonic()
        self._bar: Any = _bar(total, self._stream)

    def tell(self, line: str) -> None:
        """Print a line without disturbing the bar."""
        if self._bar:
            self._bar.write(line, file=self._stream)
        else:
            print(line, file=self._stream, flush=True)

    def step(self, label: str) -> None:
        """Count one more step as done."""
        self._done += 1
        if self._bar:
            self._bar.set_postfix_str(label, refresh=False)
            self._bar.update()
            return
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        minutes, seconds = divmod(round(left), 60)
        self.tell(f"{self._done}/{self._total} {label}, {minutes}:{seconds:02} left")

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *error: object) -> None:
        if self._bar:
            self._bar.close()


def _bar(total: int, stream: TextIO) -> Any:
    if stream.isatty():
        with contextlib.suppress(ImportError):
            from tqdm import tqdm

            return tqdm(total=total, file=stream, unit="case", dynamic_ncols=True, leave=False)
    return None
