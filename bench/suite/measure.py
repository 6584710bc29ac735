"""Measure one case: a process per peer; compile one after the other, then time interleaved."""

from __future__ import annotations

import math
import random
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record
from axiomjit.bench.suite.intervals import median_interval, ratio_interval
from axiomjit.bench.suite.nursery import Fork, Nursery
from axiomjit.bench.suite.peers import PEERS
from axiomjit.bench.suite.processes import ANSWER_S, Lost, Worker
from axiomjit.bench.suite.records import (
    NUMPY,
    OK,
    OURS,
    TIMEOUT,
    UNSUPPORTED,
    Case,
    Cost,
    Limits,
    Run,
    Timing,
)
from axiomjit.bench.suite.workload import Workload

COMPILE_S: Final = 60.0
"""Seconds after which a peer without a first result is reported as such."""
CHECK_EVERY: Final = 5
SETTLED: Final = 1.15
"""If the ends of our ratio's interval differ by less than this factor, processes suffice."""
PAIR: Final = (NUMPY, OURS)


class Effort(Record):
    """The number of rounds, at least and at most, their time limit per peer, and the precision.

    Rounds end early when the interval of our ratio to NumPy's is narrower than `precision`.
    NumPy and axiomjit run in `processes`, at least and at most, with `further` rounds in each but
    the first. `serial` says that a second set of processes runs, pinned to one core, with warm disk
    caches. `limits_s` is spent on each limit of the machine; `imports` is how often each peer is
    imported.
    """

    least: int
    most: int
    budget_s: float
    precision: float
    serial: bool
    limits_s: float
    imports: int
    processes: tuple[int, int]
    further: int


FULL: Final = Effort(9, 20, 0.2, 0.03, True, 0.4, 3, (3, 7), 7)
QUICK: Final = Effort(7, 9, 0.15, 0.05, False, 0.15, 1, (2, 4), 5)


class Setting(Record):
    """What all cases of a run have in common.

    `imports_s` has the peers to compare, and how long each takes to import. `planted` names a case
    in which our calls are made twice, to test that this is noticed.
    """

    effort: Effort
    seed: int
    threads: tuple[int, ...]
    limits: tuple[Limits, ...]
    imports_s: Mapping[str, float]
    planted: str = ""


class Answers:
    """The answers of one peer's worker about a case."""

    __slots__ = ("first_s", "peak_bytes", "processes", "stop")

    def __init__(self) -> None:
        """Start without answers."""
        self.first_s = 0.0
        self.peak_bytes: int | None = None
        self.processes: list[list[float]] = []
        """The samples of each process."""
        self.stop: tuple[str, str] | None = None  # status and reason


class Group:
    """The workers of one case at one number of threads."""

    def __init__(
        self, setting: Setting, workload: Workload, threads: int, stack: ExitStack
    ) -> None:
        """Start without workers; those that are started later end with `stack`."""
        self.setting, self.workload, self.threads, self.stack = setting, workload, threads, stack
        self.serial = threads == 1
        self.seen: dict[str, Answers] = {}
        self.workers: dict[str, Worker | Fork] = {}
        self.size, self.dtype = 0, ""

    def start(self, peers: Iterable[str], fresh: Callable[[str], Worker | Fork]) -> None:
        """Start the workers; they import concurrently, before anything is timed."""
        for peer in peers:
            worker = fresh(peer)
            self.workers[peer] = worker
            self.stack.push(worker)
            self.seen[peer] = Answers()
            planted = 2 if peer == OURS and self.workload.name == self.setting.planted else 1
            worker.send(
                "prepare",
                peer=peer,
                case=self.workload.name,
                seed=self.setting.seed,
                pinned=self.serial,
                planted=planted,
            )
        for peer in tuple(self.workers):
            answer = self._of(peer, None)
            if answer:
                self.size, self.dtype = answer["size"], answer["dtype"]

    def compile(self) -> None:
        """Make the first call of each peer, one peer at a time; then warm up."""
        for peer in tuple(self.workers):
            answer = self._of(peer, "first", COMPILE_S)
            if answer:
                self.seen[peer].first_s = answer["first_s"]
        for peer in tuple(self.workers):
            self._of(peer, "steady")

    def sample(self, least: int, most: int) -> None:
        """Time all peers interleaved: one sample of each per round, in a new random order."""
        effort, order = self.setting.effort, random.Random(self.setting.seed)
        end = time.monotonic() + effort.budget_s * len(self.workers)
        for seen in self.seen.values():
            seen.processes.append([])
        for number in range(1, most + 1):
            turns = list(self.workers)
            order.shuffle(turns)
            for peer in turns:
                answer = self._of(peer, "sample")
                if answer:
                    self.seen[peer].processes[-1].append(answer["sample_s"])
            if number >= least and (time.monotonic() > end or self._precise(number)):
                return

    def _precise(self, rounds: int) -> bool:
        ours, theirs = (self.seen.get(peer) for peer in (OURS, NUMPY))
        if rounds % CHECK_EVERY or not ours or not theirs or len(ours.processes[-1]) < rounds:
            return False
        found = ratio_interval(ours.processes, theirs.processes)
        return found.high - found.low < self.setting.effort.precision * found.median

    @property
    def settled(self) -> bool:
        """Return whether further processes would hardly change our ratio to NumPy."""
        theirs, ours = (self.seen.get(peer) for peer in PAIR)
        if not ours or not theirs or ours.stop or not ours.processes:
            return True
        least, most = self.setting.effort.processes
        if not least <= len(ours.processes) < most:
            return len(ours.processes) >= most
        found = ratio_interval(ours.processes, theirs.processes)
        return found.high < SETTLED * found.low

    def again(self, nursery: Nursery) -> None:
        """Add samples of further processes of NumPy and axiomjit, unless the ratio is settled."""
        if self.settled:
            return
        rounds = self.setting.effort.further
        with ExitStack() as stack:
            more = Group(self.setting, self.workload, self.threads, stack)
            name, seed = self.workload.name, self.setting.seed
            more.start(PAIR, lambda peer: nursery.worker(peer, self.serial, name, seed))
            more.compile()
            more.sample(rounds, rounds)
        self.seen[OURS].stop = more.seen[OURS].stop
        for peer in PAIR:
            self.seen[peer].processes += more.seen[peer].processes

    def look_inside(self) -> Cost | None:
        """Measure the memory of each peer; return the cost of our plan."""
        for peer in tuple(self.workers):
            answer = self._of(peer, "memory")
            if answer:
                self.seen[peer].peak_bytes = answer["peak_bytes"]
        plan = self._of(OURS, "plan") if OURS in self.workers else None
        return Cost(**plan["cost"]) if plan and plan["cost"] else None

    def _of(self, peer: str, do: str | None, limit_s: float = ANSWER_S) -> dict[str, Any] | None:
        """Return a worker's answer; None if the peer is out of the case."""
        worker, stop = self.workers[peer], None
        try:
            answer = worker.receive(limit_s) if do is None else worker.ask(do, limit_s)
            if "status" not in answer:
                return answer
            stop = answer["status"], answer["reason"]
        except Lost as lost:
            if lost.late and do == "first":
                stop = TIMEOUT, f"no first result within {limit_s:.0f} s"
            else:
                stop = UNSUPPORTED, f"its process: {lost}"
        if peer == NUMPY:
            asked = f"measure {self.workload.name} in NumPy"
            raise BenchError(asked, ": ".join(stop), "correct the function or its arguments")
        self.seen[peer].stop = stop
        self.workers.pop(peer).close()
        return None


class Ongoing:
    """A case that is being measured."""

    def __init__(self, setting: Setting, workload: Workload) -> None:
        """Run the case with all peers.

        The first group of workers uses all threads and starts with empty disk caches; the second is
        pinned to one core and finds the caches that the first left.

        Raises:
            BenchError: NumPy itself does not run it.
        """
        self.setting, self.workload = setting, workload
        effort, widest = setting.effort, setting.threads[-1]
        with TemporaryDirectory(prefix="axiomjit-bench-") as name:
            with ExitStack() as stack:
                cold = Group(setting, workload, widest, stack)
                cold.start(setting.imports_s, lambda peer: _fresh(peer, name, cold.serial))
                cold.compile()
                cold.sample(effort.least, effort.most)
                self.cost = cold.look_inside()
            self.groups = [cold]
            if effort.serial:
                able = [p for p, seen in cold.seen.items() if not seen.stop and PEERS[p].serial]
                with ExitStack() as stack:
                    warm = Group(setting, workload, 1, stack)
                    warm.start(able, lambda peer: _fresh(peer, name, serial=True))
                    warm.compile()
                    if widest > 1:
                        warm.sample(effort.least, effort.most)
                self.groups.append(warm)

    @property
    def settled(self) -> bool:
        """Return whether no further process is needed."""
        return all(group.settled for group in self.groups)

    def again(self, nursery: Nursery) -> None:
        """Run NumPy and axiomjit in further processes, for each number of threads."""
        for group in self.groups:
            group.again(nursery)

    def case(self) -> Case:
        """Return the record of the case."""
        cold, workload = self.groups[0], self.workload
        peers = self.setting.imports_s
        return Case(
            name=workload.name,
            group=workload.group,
            text=workload.text,
            series=workload.series,
            size=cold.size,
            dtype=cold.dtype,
            cost=self.cost,
            runs=tuple(_run(self.setting, peer, self.groups, self.cost) for peer in peers),
        )


def measure_cases(
    setting: Setting, workloads: Iterable[Workload], done: Callable[[Case], Any]
) -> tuple[Case, ...]:
    """Measure the cases, one after the other.

    Further processes of a case run after the next cases have begun, so that a few seconds in which
    the machine is busy do not affect all samples of a case.

    Args:
        setting: of the run.
        workloads: the cases.
        done: called with each case when it is measured.

    Raises:
        BenchError: NumPy does not run a case.
    """
    cases: dict[str, Case] = {}
    going: list[Ongoing] = []

    def end() -> None:
        for ongoing in tuple(going):
            if ongoing.settled:
                going.remove(ongoing)
                cases[ongoing.workload.name] = ongoing.case()
                done(cases[ongoing.workload.name])

    names = []
    with Nursery() as nursery:
        for workload in workloads:
            names.append(workload.name)
            for ongoing in going:
                ongoing.again(nursery)
            going.append(Ongoing(setting, workload))
            end()
        while going:
            for ongoing in going:
                ongoing.again(nursery)
            end()
    return tuple(cases[name] for name in names)


def _fresh(peer: str, folder: str, serial: bool) -> Worker:
    """Return a new process with its disk caches in a folder of the case."""
    own = Path(folder) / peer
    own.mkdir(exist_ok=True)
    return Worker(PEERS[peer].environment(str(own)), serial)


def _run(setting: Setting, peer: str, groups: Sequence[Group], cost: Cost | None) -> Run:
    """Return the record of one peer from the answers in all groups."""
    cold = groups[0].seen[peer]
    stops = [g.seen[peer].stop for g in groups if peer in g.seen and g.seen[peer].stop]
    if stops and stops[0]:
        return Run(peer, *stops[0])
    timings = [_timing(setting, group, peer, cost) for group in groups]
    steady_s = timings[0].median_s if timings[0] else 0.0
    warm = groups[1].seen.get(peer) if len(groups) > 1 else None
    warm_s = None
    if warm is not None:
        serial = timings[1].median_s if timings[1] else steady_s
        warm_s = max(0.0, warm.first_s - serial)
    return Run(
        peer=peer,
        status=OK,
        cold_compile_s=max(0.0, cold.first_s - steady_s),
        warm_load_s=warm_s,
        first_call_s=setting.imports_s[peer] + cold.first_s,
        memory_peak_bytes=cold.peak_bytes,
        timings=tuple(sorted(filter(None, timings), key=lambda t: t.threads)),
    )


def _timing(setting: Setting, group: Group, peer: str, cost: Cost | None) -> Timing | None:
    seen = group.seen.get(peer)
    if seen is None or not seen.processes:
        return None
    own = median_interval(seen.processes)
    theirs = group.seen[NUMPY].processes[: len(seen.processes)]
    ratio = ratio_interval(seen.processes, theirs)
    limits = next(limit for limit in setting.limits if limit.threads == group.threads)
    least_s = bound(cost, group.dtype, limits) if cost else None
    return Timing(
        threads=group.threads,
        rounds=sum(map(len, seen.processes)),
        median_s=own.median,
        low_s=own.low,
        high_s=own.high,
        ratio=ratio.median,
        ratio_low=ratio.low,
        ratio_high=ratio.high,
        of_bound=least_s / own.median if least_s else None,
        samples_s=tuple(float(f"{s:.4g}") for one in seen.processes for s in one),
        process_rounds=tuple(map(len, seen.processes)) if len(seen.processes) > 1 else (),
    )


def bound(cost: Cost, dtype: str, limits: Limits) -> float:
    """Return the least time that memory and arithmetic allow: the roofline.

    The bandwidth is that of the triad nearest in size, by ratio.
    """
    moved = cost.bytes_read + cost.bytes_written
    triad = min(limits.triads, key=lambda t: abs(math.log(t.bytes / max(moved, 1))))
    flops_per_s = limits.flops_per_s["f4" if dtype == "f4" else "f8"]
    arithmetic_s = cost.flops / flops_per_s if flops_per_s else 0.0
    return max(moved / triad.bytes_per_s, arithmetic_s)
