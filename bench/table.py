"""Results and cases as text, losses first."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from typing import Final

from axiomjit.bench.records import NUMPY, OK, OURS, Case, Result, Timing
from axiomjit.bench.workload import Workload, facts

UNITS: Final = ((1.0, "s"), (1e-3, "ms"), (1e-6, "us"), (1e-9, "ns"))
SHORT: Final = 60


def list_cases(workloads: Iterable[Workload]) -> str:
    """Every case: name, group, elements and dtype of its arguments, and what it computes."""
    rows = []
    for w in workloads:
        size, dtype = facts(w.arguments(0))
        rows.append([w.group, w.name, str(size), dtype, w.text])
    return columns(rows)


def table(result: Result) -> str:
    """The table of a run with all threads: each loss first, the worst on top."""
    threads = result.threads[-1]
    peers = [p.name for p in result.peers if p.status == OK]
    run = [case for case in result.cases if _time(case, OURS, threads)]
    run.sort(key=lambda case: -worst(case, threads))
    lost = [case for case in run if worst(case, threads) > 1]
    won = [case for case in run if worst(case, threads) <= 1]
    others = [name for name in peers if name != NUMPY]
    head = ["case", "elements", "", NUMPY, *others, "compile", "of bound", "memory"]
    lines = [f"time by NumPy's, {threads} thread{'s' * (threads > 1)}"]
    for title, cases in (("slower than NumPy or another library", lost), ("fastest", won)):
        if cases:
            rows = [head, *(_row(case, others, threads) for case in cases)]
            lines += ["", f"{title}: {len(cases)} of {len(result.cases)}", columns(rows).rstrip()]
    lines += _refused(result)
    lines += ["", "geometric mean of our time by theirs:"]
    lines += [f"  {name}  {text}" for name, text in means(result, threads)]
    lines.append(f"\n{result.wall_s:.0f} s, {result.cpu_s:.0f} s of processor time")
    return "\n".join(lines) + "\n"


def _row(case: Case, peers: Sequence[str], threads: int) -> list[str]:
    ours, run = _time(case, OURS, threads), case.run(OURS)
    assert ours is not None
    assert run is not None
    numpy = _time(case, NUMPY, threads)
    ratios = [_ratio(_time(case, peer, threads)) for peer in peers]
    memory = "" if run.memory_peak_bytes is None else f"{run.memory_peak_bytes / 2**20:.1f} MiB"
    return [
        case.name,
        f"{case.size}",
        case.dtype,
        seconds(numpy.median_s) if numpy else "",
        *ratios,
        seconds(run.cold_compile_s or 0.0),
        f"{ours.of_bound:.0%}" if ours.of_bound else "",
        memory,
    ]


def _refused(result: Result) -> list[str]:
    """Cases that axiomjit does not run, and results that were not NumPy's."""
    lines = []
    for case in result.cases:
        run = case.run(OURS)
        if run is not None and run.status != OK:
            lines.append(f"  {case.name}: {run.status}: {_cut(run.reason)}")
    if lines:
        lines = ["", f"not run by axiomjit: {len(lines)} of {len(result.cases)}", *lines]
    wrong = [
        f"  {case.name}, {run.peer}: {run.status}: {_cut(run.reason)}"
        for case in result.cases
        for run in case.runs
        if run.peer != OURS and run.status not in (OK, "not supported")
    ]
    return [*lines, "", "peers without a time:", *wrong] if wrong else lines


def means(result: Result, threads: int) -> list[tuple[str, str]]:
    """For each peer the geometric mean of our time by its time, and the count of losses."""
    found = []
    for peer in (p.name for p in result.peers if p.name != OURS):
        ratios = [r for case in result.cases if (r := against(case, peer, threads))]
        if ratios:
            mean = math.exp(statistics.fmean(map(math.log, ratios)))
            losses = sum(r > 1 for r in ratios)
            found.append((peer, f"{mean:.2f} over {len(ratios)} cases, slower in {losses}"))
    return found


def against(case: Case, peer: str, threads: int) -> float | None:
    """Our time by a peer's, None where one of them has none."""
    ours, theirs = _time(case, OURS, threads), _time(case, peer, threads)
    return ours.median_s / theirs.median_s if ours and theirs else None


def worst(case: Case, threads: int) -> float:
    """Our time by that of the fastest peer."""
    found = (against(case, run.peer, threads) for run in case.runs if run.peer != OURS)
    return max((ratio for ratio in found if ratio), default=0.0)


def _time(case: Case, peer: str, threads: int) -> Timing | None:
    run = case.run(peer)
    return run.at(threads) if run else None


def _ratio(timing: Timing | None) -> str:
    return f"{timing.ratio:.2f}" if timing else "-"


def seconds(value: float) -> str:
    """A time with three digits."""
    factor, unit = next((pair for pair in UNITS if value >= pair[0]), UNITS[-1])
    return f"{value / factor:.3g} {unit}"


def _cut(text: str) -> str:
    return text if len(text) <= SHORT else text[: SHORT - 3] + "..."


def columns(rows: Sequence[Sequence[str]]) -> str:
    """Rows in columns, the last one as it is."""
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]) - 1)]
    lines = (
        "  ".join([*(f"{cell:{n}}" for cell, n in zip(row[:-1], widths, strict=True)), row[-1]])
        for row in rows
    )
    return "\n".join(line.rstrip() for line in lines) + "\n"
