"""The explanation of a call that has no program, since Python runs it."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.debug.lowered import Explanation


class PythonExplanation(Explanation):
    """The result of `f.explain(*args)` if Python runs the call, perhaps with lazy arrays."""

    def __init__(self, name: str, how: str, reason: str, loops: Sequence[tuple[str, str]]) -> None:
        """Store the name of a function, how it runs and why, and each loop's line and outcome."""
        self._name, self._how, self._reason, self._loops = name, how, reason, tuple(loops)

    def _sections(self) -> tuple[tuple[str, str], ...]:
        loops = "".join(f"{line}: {outcome}\n" for line, outcome in self._loops)
        runs = f"{self._how}\nwhy: {self._reason}\n"
        return ("how it runs", runs), *([("loops of the source", loops)] if loops else [])
