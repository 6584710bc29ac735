"""A whole run: probe the peers, measure the machine's limits, then case after case."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any, Final

from axiomjit.base.commands import package_version
from axiomjit.bench.suite.environment import read_environment, read_load
from axiomjit.bench.suite.measure import FULL, QUICK, Setting, measure_cases
from axiomjit.bench.suite.peers import PEERS
from axiomjit.bench.suite.processes import Worker
from axiomjit.bench.suite.records import MISSING, NUMPY, OK, Case, Limits, Peer, Result, Triad
from axiomjit.bench.suite.workload import Workload
from axiomjit.runtime.execution.workers import available_threads

IMPORT: Final = """
import sys, time, importlib, numpy
started = time.perf_counter()
for name in sys.argv[1:]:
    importlib.import_module(name)
print(time.perf_counter() - started)
"""
Tell = Callable[[str], Any]


def run(
    workloads: Sequence[Workload],
    peers: Sequence[str],
    *,
    quick: bool,
    seed: int = 0,
    planted: str = "",
    tell: Tell = lambda line: None,
    done: Callable[[Case], Any] = lambda case: None,
) -> Result:
    """Measure the cases.

    Args:
        workloads: the cases.
        peers: names of `PEERS`, NumPy and axiomjit among them.
        quick: fewer rounds, all threads only, no second process.
        seed: of the arguments and of the order of peers.
        planted: a case in which our calls are made twice.
        tell: called with a line for what is skipped and what begins.
        done: called with each case when it is measured.

    Raises:
        BenchError: NumPy does not run a case.
    """
    started, cpu = time.monotonic(), _cpu_s()
    environment = read_environment()
    effort, widest = (QUICK if quick else FULL), available_threads()
    known = [_probe(name, effort.imports) for name in peers]
    for peer in known:
        if peer.status != OK:
            tell(f"{peer.name} is left out: {peer.reason}")
    threads = (1, widest) if effort.serial and widest > 1 else (widest,)
    tell("limits of the machine")
    limits = tuple(_limits(n, effort.limits_s) for n in threads)
    imports = {peer.name: peer.import_s or 0.0 for peer in known if peer.status == OK}
    setting = Setting(effort, seed, threads, limits, imports, planted)
    cases = measure_cases(setting, workloads, done)
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


def _probe(name: str, times: int) -> Peer:
    """Return whether a peer can be imported, and the import's time in a fresh process."""
    kind = PEERS[name]
    modules = [] if name == NUMPY else [kind.module, *kind.needs]
    taken = []
    for _ in range(times):
        command = [sys.executable, "-c", IMPORT, *modules]
        told = subprocess.run(command, capture_output=True, text=True, env=_environment())
        if told.returncode:
            lines = told.stderr.strip().splitlines() or [f"ended with status {told.returncode}"]
            return Peer(name, MISSING, lines[-1], None, None)
        taken.append(float(told.stdout.split()[-1]))
    return Peer(name, OK, "", package_version(kind.module, ""), statistics.median(taken))


def _environment() -> dict[str, str]:
    """Return the variables of a process that can import what this one can."""
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


def _limits(threads: int, spent_s: float) -> Limits:
    with Worker({}, threads == 1) as worker:
        told = worker.ask("limits", pinned=threads == 1, threads=threads, spent_s=spent_s)
    triads = tuple(Triad(int(t["bytes"]), t["bytes_per_s"]) for t in told["triads"])
    return Limits(threads, triads, told["flops_per_s"])


def _cpu_s() -> float:
    """Return the processor time of this process and of its ended children."""
    return sum(os.times()[:4])
