"""Measure a run: imports of peers, limits of the machine, and all cases.

In a case each peer has its own process. The peers compile one after the other; then they are timed
in turns. `worker` answers the requests in each peer's process.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import selectors
import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import axiomjit
from axiomjit.base.commands import package_version
from axiomjit.base.errors import BenchError
from axiomjit.base.records import Record
from axiomjit.bench.suite.machine import read_environment, read_load
from axiomjit.bench.suite.peers import PEERS
from axiomjit.bench.suite.records import (
    MISSING,
    NUMPY,
    OK,
    OURS,
    TIMEOUT,
    UNSUPPORTED,
    Case,
    Cost,
    Limits,
    Peer,
    Result,
    Run,
    Timing,
    Triad,
)
from axiomjit.bench.suite.results import Interval, median_interval, ratio_interval
from axiomjit.bench.suite.workload import Workload
from axiomjit.runtime.execution.workers import available_threads

ANSWER_S: Final = 300.0
"""The seconds without an answer after which a worker counts as hung."""
END_S: Final = 5.0
LIBRARIES: Final = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMBA", "NUMEXPR")
SERIAL: Final = {f"{name}_NUM_THREADS": "1" for name in LIBRARIES} | {"VECLIB_MAXIMUM_THREADS": "1"}
REMOVED_VARIABLES: Final = ("AXIOMJIT_CHECK", "AXIOMJIT_DISABLE", "AXIOMJIT_FALLBACK")
"""The environment variables that workers do not get, since they would change the figures."""
Answer = dict[str, Any]


class WorkerLostError(Exception):
    """Raised if a worker did not answer; `late` is True if it hung, False if its process ended."""

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


COMPILE_S: Final = 60.0
"""The seconds after which a peer without a first result is excluded from the case."""
CHECK_EVERY: Final = 5
SETTLED_FACTOR: Final = 1.15
"""The factor between the ends of the interval of axiomjit's ratio below which no more processes
run.
"""
PAIR: Final = (NUMPY, OURS)
IMPORT: Final = """
import sys, time, importlib, numpy
started = time.perf_counter()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(time.perf_counter() - started)
"""


class Effort(Record):
    """The numbers of rounds and processes, and the seconds, of a measurement.

    A case has at least `least` and at most `most` rounds, in which each peer may use `budget_s`.
    The rounds end early when the interval of axiomjit's ratio to NumPy is narrower than
    `precision`. NumPy and axiomjit run in several processes; `processes` has the smallest and the
    largest number. Each process after the first has `further` rounds. If `serial` is true, a second
    group of processes runs, pinned to one core, with warm disk caches. Each limit of the machine is
    measured for `limits_s`. Each peer is imported `imports` times.
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
    """The settings of a run, which all cases share.

    `imports_s` has the import time of each peer that is compared.
    """

    effort: Effort
    seed: int
    threads: tuple[int, ...]
    limits: tuple[Limits, ...]
    imports_s: Mapping[str, float]


@dataclass
class Answers:
    """The answers of a peer in a case; `processes` has the samples of each process."""

    first_s: float = 0.0
    peak_bytes: int | None = None
    processes: list[list[float]] = field(default_factory=list)
    stop: tuple[str, str] | None = None
    """The status and the reason if the peer is excluded from the case."""


class Group:
    """The peers in one case at one number of threads; each peer has its own process."""

    def __init__(self, setting: Setting, workload: Workload, threads: int, folder: Path) -> None:
        """Start without processes; `folder` is for the disk caches of processes."""
        self.setting, self.workload, self.threads = setting, workload, threads
        self.folder = folder
        self.answers: dict[str, Answers] = {}
        self.workers: dict[str, Worker] = {}
        self.size, self.dtype = 0, ""
        self.cost: Cost | None = None

    def measure(self, peers: Iterable[str], least: int, most: int, inspect: bool = False) -> None:
        """Measure each peer in a new process.

        The processes import at the same time, before times are measured. After the imports, the
        processes make their first calls one after the other.

        Args:
            peers: the names of the peers.
            least: the smallest number of rounds.
            most: the largest number of rounds; 0 to time only the first call.
            inspect: True to measure memory and to get the cost of axiomjit's plan, too.
        """
        self.workers = {}
        with ExitStack() as stack:
            for peer in peers:
                self._start(peer, stack)
            for _, answer in self._ask(""):
                self.size, self.dtype = answer["size"], answer["dtype"]
            for found, answer in self._ask("first", limit_s=COMPILE_S):
                found.first_s = found.first_s or answer["first_s"]
            list(self._ask("steady"))
            if most:
                self._sample(least, most)
            if inspect:
                for found, answer in self._ask("memory"):
                    found.peak_bytes = answer["peak_bytes"]
                for _, answer in self._ask("plan", [OURS]):
                    self.cost = Cost(**answer["cost"]) if answer["cost"] else None

    def measure_more(self) -> None:
        """Measure NumPy and axiomjit in another process, unless the ratio is precise enough."""
        if not self.settled:
            self.measure(PAIR, self.setting.effort.further, self.setting.effort.further)

    @property
    def settled(self) -> bool:
        """Return True if axiomjit's ratio to NumPy is precise, or enough processes have run."""
        ratio = self._ratio()
        if ratio is None:
            return True
        least, most = self.setting.effort.processes
        count = len(self.answers[OURS].processes)
        return count >= most or count >= least and ratio.high < SETTLED_FACTOR * ratio.low

    def _ratio(self) -> Interval | None:
        """Return axiomjit's ratio to NumPy; None if one of the two has no samples."""
        theirs, ours = (self.answers.get(peer) for peer in PAIR)
        if not ours or not theirs or ours.stop or not ours.processes:
            return None
        return ratio_interval(ours.processes, theirs.processes)

    def _start(self, peer: str, stack: ExitStack) -> None:
        """Start a process that prepares the case; the process ends when `stack` is closed."""
        folder, serial = self.folder / peer, self.threads == 1
        folder.mkdir(parents=True, exist_ok=True)
        worker = self.workers[peer] = Worker(PEERS[peer].environment(str(folder)), serial)
        stack.callback(worker.close)
        self.answers.setdefault(peer, Answers())
        case, seed = self.workload.name, self.setting.seed
        worker.send("prepare", peer=peer, case=case, seed=seed, pinned=serial)

    def _sample(self, least: int, most: int) -> None:
        """Time all peers in rounds, with a sample of each peer per round, in random order."""
        effort, order = self.setting.effort, random.Random(self.setting.seed)
        end = time.monotonic() + effort.budget_s * len(self.workers)
        for peer in self.workers:
            self.answers[peer].processes.append([])
        for number in range(1, most + 1):
            turns = list(self.workers)
            order.shuffle(turns)
            for found, answer in self._ask("sample", turns):
                found.processes[-1].append(answer["sample_s"])
            if number >= least and (time.monotonic() > end or self._precise(number)):
                return

    def _precise(self, rounds: int) -> bool:
        ratio = None if rounds % CHECK_EVERY else self._ratio()
        return ratio is not None and (
            ratio.high - ratio.low < self.setting.effort.precision * ratio.median
        )

    def _ask(
        self, do: str, peers: Iterable[str] | None = None, limit_s: float = ANSWER_S
    ) -> Iterator[tuple[Answers, Answer]]:
        """Send a request to each peer; yield the answers of peers that stay in the case.

        Args:
            do: the request; empty to receive the answer of a request that was sent before.
            peers: the peers in order, without excluded peers; None for all peers.
            limit_s: the seconds after which a peer without answer is excluded.
        """
        for peer in tuple(self.workers if peers is None else peers):
            worker = self.workers.get(peer)
            if worker is None:
                continue
            try:
                answer = worker.ask(do, limit_s) if do else worker.receive(limit_s)
                stop = (answer["status"], answer["reason"]) if "status" in answer else None
            except WorkerLostError as lost:
                stop = UNSUPPORTED, f"its process: {lost}"
                if lost.late and do == "first":
                    stop = TIMEOUT, f"no first result within {limit_s:.0f} s"
            if stop is None:
                yield self.answers[peer], answer
                continue
            if peer == NUMPY:
                asked = f"measure {self.workload.name} in NumPy"
                raise BenchError(asked, ": ".join(stop), "correct the function or its arguments")
            self.answers[peer].stop = stop
            self.workers.pop(peer).close()


class Ongoing:
    """A case during its measurement."""

    def __init__(self, setting: Setting, workload: Workload, folder: Path) -> None:
        """Measure the first processes of all peers in the case.

        The first group of processes uses all threads and starts with empty disk caches in `folder`.
        The second group is pinned to one core and uses the disk caches of the first group.

        Raises:
            BenchError: NumPy cannot run the case.
        """
        self.setting, self.workload = setting, workload
        effort, widest = setting.effort, setting.threads[-1]
        cold = Group(setting, workload, widest, folder)
        cold.measure(setting.imports_s, effort.least, effort.most, inspect=True)
        self.groups = [cold]
        if effort.serial:
            able = [p for p, seen in cold.answers.items() if not seen.stop and PEERS[p].serial]
            warm = Group(setting, workload, 1, folder)
            warm.measure(able, effort.least, effort.most if widest > 1 else 0)
            self.groups.append(warm)

    @property
    def settled(self) -> bool:
        """Return True if the case needs no further process."""
        return all(group.settled for group in self.groups)

    def case(self) -> Case:
        """Return the record of the case."""
        cold, workload = self.groups[0], self.workload
        return Case(
            name=workload.name,
            group=workload.group,
            text=workload.text,
            series=workload.series,
            size=cold.size,
            dtype=cold.dtype,
            cost=cold.cost,
            runs=tuple(self._run(peer) for peer in self.setting.imports_s),
        )

    def _run(self, peer: str) -> Run:
        """Return the record of a peer in the case."""
        found = [group.answers.get(peer) for group in self.groups]
        stops = [answers.stop for answers in found if answers and answers.stop]
        if stops:
            return Run(peer, *stops[0])
        cold, warm = found[0], found[1] if len(found) > 1 else None
        assert cold is not None
        timings = [self._timing(group, peer) for group in self.groups]
        steady_s = timings[0].median_s if timings[0] else 0.0
        warm_s = timings[-1].median_s if timings[-1] else steady_s
        return Run(
            peer=peer,
            status=OK,
            cold_compile_s=max(0.0, cold.first_s - steady_s),
            warm_load_s=max(0.0, warm.first_s - warm_s) if warm else None,
            first_call_s=self.setting.imports_s[peer] + cold.first_s,
            memory_peak_bytes=cold.peak_bytes,
            timings=tuple(sorted(filter(None, timings), key=lambda t: t.threads)),
        )

    def _timing(self, group: Group, peer: str) -> Timing | None:
        seen, cost = group.answers.get(peer), self.groups[0].cost
        if seen is None or not seen.processes:
            return None
        own = median_interval(seen.processes)
        theirs = group.answers[NUMPY].processes[: len(seen.processes)]
        ratio = ratio_interval(seen.processes, theirs)
        limits = next(limit for limit in self.setting.limits if limit.threads == group.threads)
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


class Progress:
    """A printer of the progress of a run; it prints to standard error."""

    def __init__(self, total: int) -> None:
        self._total, self._done, self._started = total, 0, time.monotonic()

    def print_line(self, line: str) -> None:
        """Print a line to standard error."""
        print(line, file=sys.stderr, flush=True)

    def step(self, label: str) -> None:
        """Count a step as done, and print it with the remaining time."""
        self._done += 1
        left = (time.monotonic() - self._started) / self._done * (self._total - self._done)
        minutes, seconds = divmod(round(left), 60)
        self.print_line(f"{self._done}/{self._total} {label}, {minutes}:{seconds:02} left")


def run(
    workloads: Sequence[Workload], peers: Sequence[str], *, quick: bool, seed: int = 0
) -> Result:
    """Measure cases and return the result of the run; print the progress to standard error.

    Raises:
        BenchError: NumPy cannot run a case.
    """
    started, cpu = time.monotonic(), _cpu_s()
    environment = read_environment()
    effort, widest = (QUICK if quick else FULL), available_threads()
    threads = (1, widest) if effort.serial and widest > 1 else (widest,)
    known = [_probe(name, effort.imports) for name in peers]
    progress = Progress(len(workloads))
    for peer in known:
        if peer.status != OK:
            progress.print_line(f"{peer.name} is left out: {peer.reason}")
    progress.print_line("limits of the machine")
    limits = tuple(_limits(n, effort.limits_s) for n in threads)
    imports = {peer.name: peer.import_s or 0.0 for peer in known if peer.status == OK}
    setting = Setting(effort, seed, threads, limits, imports)
    cases = _measure_cases(setting, workloads, progress)
    return Result(
        environment=environment.replace(load_end=read_load()),
        quick=quick,
        seed=seed,
        wall_s=round(time.monotonic() - started, 1),
        cpu_s=round(_cpu_s() - cpu, 1),
        threads=threads,
        limits=limits,
        peers=tuple(known),
        cases=cases,
    )


def _measure_cases(
    setting: Setting, workloads: Sequence[Workload], progress: Progress
) -> tuple[Case, ...]:
    """Measure the cases in order.

    Further processes of a case run after the next cases have begun. Hence a few seconds in which
    the machine is busy do not affect all samples of a case.
    """
    cases: dict[str, Case] = {}
    going: list[Ongoing] = []
    with TemporaryDirectory(prefix="axiomjit-bench-") as folder:
        waiting = [(workload, Path(folder, str(k))) for k, workload in enumerate(workloads)]
        while waiting or going:
            for ongoing in going:
                for group in ongoing.groups:
                    group.measure_more()
            if waiting:
                going.append(Ongoing(setting, *waiting.pop(0)))
            for ongoing in [one for one in going if one.settled]:
                going.remove(ongoing)
                cases[ongoing.workload.name] = ongoing.case()
                progress.step(ongoing.workload.name)
    return tuple(cases[workload.name] for workload in workloads)


def _probe(name: str, times: int) -> Peer:
    """Return the record of a peer with its import time, measured in fresh processes."""
    kind, taken = PEERS[name], []
    modules = [] if name == NUMPY else [kind.module, *kind.needs]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for _ in range(times):
        command = [sys.executable, "-c", IMPORT, *modules]
        output = subprocess.run(command, capture_output=True, text=True, env=environment)
        if output.returncode:
            lines = output.stderr.strip().splitlines() or [f"ended with status {output.returncode}"]
            return Peer(name, MISSING, lines[-1], None, None)
        taken.append(float(output.stdout.split()[-1]))
    return Peer(name, OK, "", package_version(kind.module, ""), statistics.median(taken))


def _limits(threads: int, spent_s: float) -> Limits:
    with closing(Worker({}, threads == 1)) as worker:
        answer = worker.ask("limits", pinned=threads == 1, threads=threads, spent_s=spent_s)
    triads = tuple(Triad(int(t["bytes"]), t["bytes_per_s"]) for t in answer["triads"])
    return Limits(threads, triads, answer["flops_per_s"])


def _cpu_s() -> float:
    """Return the processor time of this process and of its child processes that have ended."""
    return sum(os.times()[:4])


def bound(cost: Cost, dtype: str, limits: Limits) -> float:
    """Return the shortest time that the bandwidth and the arithmetic of the machine allow.

    The bandwidth is from the triad whose number of bytes is nearest, by ratio.
    """
    moved = cost.bytes_read + cost.bytes_written
    triad = min(limits.triads, key=lambda t: abs(math.log(t.bytes / max(moved, 1))))
    flops_per_s = limits.flops_per_s["f4" if dtype == "f4" else "f8"]
    arithmetic_s = cost.flops / flops_per_s if flops_per_s else 0.0
    return max(moved / triad.bytes_per_s, arithmetic_s)
