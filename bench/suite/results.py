"""Kept results, and the medians and ratios of their times, with intervals and verdicts.

A result is a dated file for each machine, in the folder bench/results of a clone.

Samples come from several processes, with several rounds each. The rounds of a process share its
memory and its place on the machine. Hence the bootstrap resamples processes, then the rounds in
each drawn process. The estimate is the median of the processes' medians.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, hypot, log
from pathlib import Path
from typing import Final

import numpy as np

import axiomjit
from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record
from axiomjit.bench.suite.records import (
    NUMPY,
    OURS,
    Case,
    Result,
    Run,
    Timing,
    from_text,
    read_result,
    to_text,
    write_result,
)

RESAMPLES: Final = 2000
PERCENTILES: Final = (2.5, 97.5)
Processes = Sequence[Sequence[float] | np.ndarray]
"""The samples of each process; a round has one sample."""


class Interval(Record):
    """A median and its 95 % confidence interval."""

    median: float
    low: float
    high: float


def median_interval(processes: Processes, seed: int = 0) -> Interval:
    """Return the median of the processes' medians, with its bootstrap interval by percentiles."""
    values = [np.asarray(samples, float) for samples in processes]
    rng = np.random.default_rng(seed)
    chosen = rng.integers(0, len(values), (RESAMPLES, len(values)))
    medians = np.empty(chosen.shape)
    for number, own in enumerate(values):
        where = chosen == number
        rounds = rng.integers(0, len(own), (int(where.sum()), len(own)))
        medians[where] = np.median(own[rounds], axis=1)
    middle = float(np.median([np.median(own) for own in values]))
    low, high = map(float, np.percentile(np.median(medians, axis=1), PERCENTILES))
    return Interval(middle, min(low, middle), max(high, middle))  # rounding may exclude it


def ratio_interval(ours: Processes, theirs: Processes) -> Interval:
    """Return the median and interval of the ratios of two samples in the same round."""
    return median_interval(
        [np.asarray(a, float) / np.asarray(b, float) for a, b in zip(ours, theirs, strict=True)]
    )


WIN: Final = "win"
TIE: Final = "tie"
LOSS: Final = "loss"


class PeerRatio(Record):
    """Axiomjit's time divided by a peer's time, with its 95 % interval."""

    peer: str
    ratio: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        """Return a win or a loss if the interval excludes 1, otherwise a tie."""
        return WIN if self.high < 1 else LOSS if self.low > 1 else TIE


class Score(Record):
    """The summary of axiomjit's ratios to a peer over some cases; `mean` is geometric."""

    peer: str
    mean: float
    best: float
    worst: float
    verdicts: dict[str, int]


class Ranking:
    """The comparison of axiomjit with its peers in warm calls, at one number of threads."""

    def __init__(self, result: Result, threads: int) -> None:
        """Compute the ratios of axiomjit to all peers in all cases."""
        self.cases, self.threads = result.cases, threads
        self.peers = rivals(result)
        self.groups: dict[str, list[Case]] = {}
        for case in result.cases:
            self.groups.setdefault(case.group, []).append(case)
        self._ratios = {
            case.name: {
                peer: found
                for peer in self.peers
                if (found := peer_ratio(case, peer, threads)) is not None
            }
            for case in result.cases
        }

    def time(self, case: Case, peer: str = OURS) -> Timing | None:
        """Return the timing of a peer in a case; None if the peer has no timing."""
        run = case.run(peer)
        return run.at(self.threads) if run else None

    def ratio_to(self, case: Case, peer: str) -> PeerRatio | None:
        """Return axiomjit's ratio to a peer in a case; None if one of the two has no timing."""
        return self._ratios[case.name].get(peer)

    def ratios(self, case: Case) -> tuple[PeerRatio, ...]:
        """Return axiomjit's ratios to all peers that have a timing in the case."""
        return tuple(self._ratios[case.name].values())

    def lost(self, case: Case, peer: str) -> bool:
        """Return True if axiomjit loses to a peer in a case."""
        found = self.ratio_to(case, peer)
        return found is not None and found.verdict == LOSS

    def verdict(self, case: Case) -> str:
        """Return the worst verdict against the peers in a case; a tie without a ratio."""
        found = {peer_ratio.verdict for peer_ratio in self.ratios(case)}
        return next((verdict for verdict in (LOSS, TIE, WIN) if verdict in found), TIE)

    def score(self, peer: str, cases: Sequence[Case]) -> Score | None:
        """Return the summary of the ratios to a peer; None if no case has a ratio."""
        found = [s for s in (self.ratio_to(case, peer) for case in cases) if s is not None]
        if not found:
            return None
        ratios = [peer_ratio.ratio for peer_ratio in found]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        verdicts = {v: sum(s.verdict == v for s in found) for v in (WIN, TIE, LOSS)}
        return Score(peer, mean, min(ratios), max(ratios), verdicts)

    def scores(self, cases: Sequence[Case]) -> list[Score]:
        """Return the summary of the ratios to each peer that has a ratio in some of the cases."""
        return [score for peer in self.peers if (score := self.score(peer, cases))]

    def losses_first(self) -> list[Case]:
        """Return the cases, with losses first.

        First come losses to a peer, with the largest ratio first; then cases that axiomjit does not
        run; then all other cases, with the largest ratio first.
        """

        def rank(case: Case) -> tuple[int, float]:
            found = self.ratios(case)
            lost = [s.ratio for s in found if s.verdict == LOSS]
            if lost:
                return 0, -max(lost)
            if self.time(case) is None:
                return 1, 0.0
            return 2, -max((s.ratio for s in found), default=0.0)

        return sorted(self.cases, key=rank)


def rivals(result: Result) -> tuple[str, ...]:
    """Return the peers, except axiomjit, that have a timing in at least one case."""
    timed = {run.peer for case in result.cases for run in case.runs if run.timings}
    return tuple(p.name for p in result.peers if p.name != OURS and p.name in timed)


def peer_ratio(case: Case, peer: str, threads: int) -> PeerRatio | None:
    """Return axiomjit's ratio to a peer with these threads; None if one of them has no timing."""
    runs = (case.run(OURS), case.run(peer))
    ours, theirs = (run.at(threads) if run else None for run in runs)
    if ours is None or theirs is None:
        return None
    if peer == NUMPY:
        return PeerRatio(peer, ours.ratio, ours.ratio_low, ours.ratio_high)
    pairs = list(zip(ours.processes, theirs.processes, strict=False))  # others have one process
    if pairs and all(len(a) == len(b) for a, b in pairs):
        drawn = ratio_interval([a for a, _ in pairs], [b for _, b in pairs])
        return PeerRatio(peer, drawn.median, drawn.low, drawn.high)
    if theirs.ours_by_this:
        return PeerRatio(peer, *theirs.ours_by_this)
    # There are neither samples nor their statistics, so the intervals of the medians are combined
    # as if they were independent.
    ratio = ours.median_s / theirs.median_s
    below = exp(hypot(log(ours.median_s / ours.low_s), log(theirs.high_s / theirs.median_s)))
    above = exp(hypot(log(ours.high_s / ours.median_s), log(theirs.median_s / theirs.low_s)))
    return PeerRatio(peer, ratio, ratio / below, ratio * above)


PACKAGE = Path(axiomjit.__file__).resolve().parent
DIGITS = 5
"""The number of significant digits of numbers in kept results."""


def checkout(package: Path = PACKAGE) -> Path | None:
    """Return the root of the clone of a package `axiomjit`; None for an installed package.

    Only in a clone is axiomjit/bench a link; in wheels and source distributions it is a folder.
    """
    return package.parent if (package / "bench").is_symlink() else None


def results_folder(asked: str, package: Path = PACKAGE) -> Path:
    """Return the folder of kept results.

    Raises:
        BenchError: the package is not in a clone.
    """
    root = checkout(package)
    if root is None:
        seen = f"axiomjit is installed in {package.parent}; only a clone keeps results"
        remedy = "name a file (`run --json FILE`, `report FILE`), or use a clone"
        raise BenchError(asked, seen, remedy)
    return root / "bench" / "results"


def keep(result: Result, folder: Path) -> Path:
    """Write the shortened result to a file, which later results of the same day replace.

    Raises:
        BenchError: the file cannot be written.
    """
    try:
        folder.mkdir(exist_ok=True)
    except OSError as error:
        remedy = "make the folder writable, or use --json"
        raise BenchError(f"keep results in {folder}", str(error), remedy) from error
    environment = result.environment
    path = folder / f"{environment.date[:10]}-{environment.machine}.json"
    write_result(shortened(result), path)
    return path


def kept(folder: Path) -> tuple[Result, ...]:
    """Return all kept results, with the oldest result first.

    Raises:
        BenchError: the folder has no result, or a file cannot be read.
    """
    found = [read_result(path) for path in sorted(folder.glob("*.json"))]
    if not found:
        remedy = "keep one first: `run --record`"
        raise BenchError("publish results", f"no file in {folder}", remedy)
    return tuple(sorted(found, key=lambda result: result.environment.date))


def shortened(result: Result) -> Result:
    """Return the result with statistics in place of samples, and with rounded numbers."""

    def shorter_timing(case: Case, run: Run, old: Timing) -> Timing:
        own = run.peer in (OURS, NUMPY)  # our timing has the ratio to NumPy
        found = None if own else peer_ratio(case, run.peer, old.threads)
        ours_by_this = (found.ratio, found.low, found.high) if found else ()
        return old.replace(samples_s=(), ours_by_this=ours_by_this)

    def shorter_run(case: Case, old: Run) -> Run:
        return old.replace(timings=tuple(shorter_timing(case, old, t) for t in old.timings))

    cases = (
        case.replace(runs=tuple(shorter_run(case, r) for r in case.runs)) for case in result.cases
    )
    return from_text(to_text(result.replace(cases=tuple(cases))), "a result", DIGITS)
