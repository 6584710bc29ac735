"""Compare two runs of one machine, to find cases whose ratio to NumPy grew.

A ratio is axiomjit's time divided by NumPy's time in the same run, so that it does not depend on
the speed of the machine.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Final

from axiomjit.base.errors import BenchError, amount
from axiomjit.base.records import Record
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.measure import run
from axiomjit.bench.suite.peers import ALWAYS
from axiomjit.bench.suite.records import OK, OURS, Result, Timing

SLOWER: Final = 1.25
"""The factor by which a ratio to NumPy must grow to count as slower."""
Again = Callable[[Sequence[str]], Result]


class Change(Record):
    """The timings of a case in two runs, at a number of threads; `again` is from a rerun.

    If `after` is None, axiomjit no longer runs the case, for the reason in `reason`.
    """

    case: str
    threads: int
    before: Timing
    after: Timing | None
    again: Timing | None = None
    reason: str = ""

    @property
    def factor(self) -> float:
        """Return the factor by which the ratio to NumPy grew."""
        return self.after.ratio / self.before.ratio if self.after else math.inf


class Verdict(Record):
    """The result of `compare`; a rerun confirmed the changes in `slower`, not those in `unsure`."""

    slower: tuple[Change, ...]
    unsure: tuple[Change, ...]
    faster: tuple[Change, ...]
    mean: float
    compared: int
    missing: tuple[str, ...]

    @property
    def text(self) -> str:
        """Return the verdict as lines of text, with slower cases first."""
        words = {"slower": self.slower, "not confirmed": self.unsure, "faster": self.faster}
        lines = [_line(change, word) for word, changes in words.items() for change in changes]
        if self.missing:
            lines.append(f"only in the first file: {', '.join(self.missing)}")
        found = f"{len(self.slower)} slower" if self.slower else "none slower"
        lines.append(
            f"{self.compared} timings compared, {found}; "
            f"ratios to NumPy changed by a factor of {self.mean:.3f} in the geometric mean"
        )
        return "\n".join(lines) + "\n"


def _line(change: Change, word: str) -> str:
    if change.after is None:
        return f"{word}: {change.case} is not run any more: {change.reason}"
    threads = amount(change.threads, "thread")
    return (
        f"{word}: {change.case}, {threads}: {_ratio(change.before)} -> {_ratio(change.after)} of "
        f"NumPy's time, {change.factor:.2f} times"
        + (f"; again {_ratio(change.again)}" if change.again else "")
    )


def _ratio(t: Timing) -> str:
    return f"{t.ratio:.3g} [{t.ratio_low:.3g}, {t.ratio_high:.3g}]"


def is_slower(before: Timing, after: Timing) -> bool:
    """Return True if the ratio grew by more than `SLOWER` and the intervals do not overlap."""
    return after.ratio > SLOWER * before.ratio and after.ratio_low > before.ratio_high


def compare(before: Result, after: Result, again: Again | None) -> Verdict:
    """Compare two runs of one machine.

    Args:
        before: the result of the earlier run.
        after: the later run, which is judged.
        again: a function that measures the named cases again; a case counts as slower only if it is
            also slower in this rerun. None for no rerun.

    Raises:
        BenchError: the runs are of two machines, or have no number of threads in common.
    """
    _refuse_unlike(before, after)
    changes = list(_changes(before, after))
    suspects = [c for c in changes if c.after is None or is_slower(c.before, c.after)]
    slower, unsure = suspects, []
    if suspects and again is not None:
        measured = again(list(dict.fromkeys(c.case for c in suspects)))
        checked = [_checked(c, measured) for c in suspects]
        slower = [c for c, confirmed in checked if confirmed]
        unsure = [c for c, confirmed in checked if not confirmed]
    factors = [c.factor for c in changes if c.after]
    mean = math.exp(sum(map(math.log, factors)) / len(factors)) if factors else 1.0
    return Verdict(
        slower=tuple(sorted(slower, key=lambda c: -c.factor)),
        unsure=tuple(unsure),
        faster=tuple(c for c in changes if c.after and is_slower(c.after, c.before)),
        mean=mean,
        compared=len(factors),
        missing=tuple(c.name for c in before.cases if after.case(c.name) is None),
    )


def _refuse_unlike(before: Result, after: Result) -> None:
    first, second = before.environment.machine, after.environment.machine
    asked = "compare two runs"
    if first != second:
        seen = f"files of two machines, {first} and {second}"
        raise BenchError(asked, seen, "measure both on one machine")
    if not set(before.threads) & set(after.threads):
        seen = f"{before.threads} threads in one, {after.threads} in the other"
        raise BenchError(asked, seen, "measure both with the same limits of threads")


def _changes(before: Result, after: Result) -> Iterable[Change]:
    """Yield changes of timings that both runs have, and of cases that no longer run."""
    for case in after.cases:
        old_case = before.case(case.name)
        old, new = (c.run(OURS) if c else None for c in (old_case, case))
        if old is None or new is None or old.status != OK:
            continue
        if new.status != OK:
            yield Change(case.name, 0, old.timings[-1], None, None, new.reason)
        for timing in new.timings:
            earlier = old.at(timing.threads)
            if earlier:
                yield Change(case.name, timing.threads, earlier, timing)


def _checked(change: Change, measured: Result) -> tuple[Change, bool]:
    """Return the change with the timing of the rerun, and True if the rerun confirms it."""
    case = measured.case(change.case)
    run = case.run(OURS) if case else None
    if change.after is None:
        return change, run is None or run.status != OK
    timing = run.at(change.threads) if run else None
    confirmed = timing is None or is_slower(change.before, timing)
    return change.replace(again=timing), confirmed


def measure_again(after: Result) -> Again:
    """Return a function that measures cases of NumPy and axiomjit again, in a full run."""
    return lambda names: run(find(names), ALWAYS, quick=False, seed=after.seed)
