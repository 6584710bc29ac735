"""The reasons for missing times: a letter in the table, a line below it."""

from __future__ import annotations

from collections.abc import Iterable
from string import ascii_lowercase
from typing import Final

from axiomjit.base.records import Record
from axiomjit.bench.report.units import count_things, shorten
from axiomjit.bench.suite.records import OK, UNSUPPORTED, Result

NAMED: Final = 3
"""The largest number of cases named in a line; beyond that, only the number is given."""
LONGEST: Final = 120


class Footnote(Record):
    """One reason: the library, its status, and the cases."""

    letter: str
    peer: str
    status: str
    reason: str
    cases: tuple[str, ...]

    @property
    def what(self) -> str:
        """Return the library, the cases, and the status as text."""
        few = len(self.cases) <= NAMED
        cases = ", ".join(self.cases) if few else count_things(len(self.cases), "case")
        return f"{self.peer}, {cases}: {self.status}"

    @property
    def why(self) -> str:
        """Return the reason, cut to a line or two."""
        return shorten(self.reason, LONGEST)


class Footnotes:
    """The reasons of a result; equal ones of a library are merged."""

    def __init__(self, result: Result, peers: Iterable[str]) -> None:
        """Collect the reasons of some libraries over all cases, in the order of the cases."""
        asked = tuple(peers)
        found: dict[tuple[str, str, str], list[str]] = {}
        for case in result.cases:
            for run in case.runs:
                if run.status != OK and run.peer in asked:
                    found.setdefault((run.peer, run.status, run.reason), []).append(case.name)
        self.notes = tuple(
            Footnote(_letter(k), *key, tuple(cases)) for k, (key, cases) in enumerate(found.items())
        )

    def mark(self, peer: str, case: str) -> str:
        """Return the text in place of a time: `- a`, or a dash if no reason is known."""
        for note in self.notes:
            if note.peer == peer and case in note.cases:
                return f"{'-' if note.status == UNSUPPORTED else note.status} {note.letter}"
        return "-"


def _letter(k: int) -> str:
    """Return the letter of a number: a to z, then aa, ab and so on."""
    return (_letter(k // 26 - 1) if k >= 26 else "") + ascii_lowercase[k % 26]
