"""Text tables of results and cases, and quantities with three digits and a unit.

Letters stand for the reasons of missing times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from string import ascii_lowercase
from typing import Final

from axiomjit.base.errors import amount
from axiomjit.base.records import Record
from axiomjit.bench.suite.records import NUMPY, OK, OURS, UNSUPPORTED, Case, Result, Timing
from axiomjit.bench.suite.results import LOSS, Ranking
from axiomjit.bench.suite.workload import Workload, facts

Units = Sequence[tuple[float, str]]
TIME = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
COUNT = ((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))
BINARY = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "bytes"))


def digits(value: float) -> str:
    """Return a number as text with three digits or all integer digits, without a power of ten."""
    if value >= 99.95 or value == 0:
        return f"{value:.0f}"
    if value >= 9.995:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.0995 else f"{value:#.2g}"


def seconds(value: float) -> str:
    """Return a time in seconds as text, such as `1.25 ms`."""
    return _scaled(value, TIME)


def count(value: float, unit: str = "") -> str:
    """Return a count or a rate as text, such as `12.5 Gflop/s`."""
    return _scaled(value, COUNT, unit)


def memory(value: float) -> str:
    """Return a number of bytes as text, such as `1.50 MiB`."""
    return _scaled(value, BINARY)


def pace(ratio: float) -> str:
    """Return the speed of a ratio's numerator as text, such as `2.50× faster`."""
    if ratio > 1:
        return f"{digits(ratio)}× slower"
    return f"{digits(1 / ratio)}× faster"


def short(value: float, units: Units, unit: str = "") -> str:
    """Return a round number without trailing zeros for a tick, such as `10 µs`."""
    return _scaled(value, units, unit, lambda number: f"{number:.3g}")


def _scaled(
    value: float, units: Units, unit: str = "", form: Callable[[float], str] = digits
) -> str:
    """Return a number as text in the largest unit that is not larger, or in the smallest unit."""
    fitting = (pair for pair in units if value >= 0.9995 * pair[0])
    factor, prefix = next(fitting, units[-1])
    return f"{form(value / factor)} {prefix}{unit}".rstrip()


def share(value: float) -> str:
    """Return a fraction as text in percent, such as `52 %`."""
    return f"{100 * value:.0f} %" if value >= 0.0995 else f"{100 * value:.2g} %"


def shorten(text: str, most: int) -> str:
    """Return a text cut to `most` letters, with `…` at the end if it was longer."""
    return text if len(text) <= most else text[: most - 1] + "…"


MAX_LINE_LETTERS: Final = 60
HIDDEN_COLUMNS: Final = ("dtype", "memory")
"""The columns that the Markdown table leaves out."""
TITLES: Final = ("slower than NumPy", "slower than another library", "as fast as any")
Rows = list[list[str]]


def list_cases(workloads: Iterable[Workload]) -> str:
    """Return a line for each case: group, name, elements and dtype of arguments, function."""
    rows = []
    for w in workloads:
        size, dtype = facts(w.arguments(0))
        rows.append([w.group, w.name, str(size), dtype, w.text])
    return "\n".join(_columns(rows)) + "\n"


def table(result: Result) -> str:
    """Return the table of a run with all threads as text."""
    lines = [f"time by NumPy's in the same rounds, {amount(result.threads[-1], 'thread')}"]
    footnotes, of = _footnotes(result), len(result.cases)
    for title, rows in _parts(result, footnotes):
        lines += ["", f"{title}: {len(rows) - 1} of {of}", *_columns(rows)]
    refused = [f"{name}: {shorten(reason, MAX_LINE_LETTERS)}" for name, reason in _refused(result)]
    for title, entries in (
        (f"not run by axiomjit: {len(refused)} of {of}", refused),
        ("libraries left out", [f"{p.name}: {p.reason}" for p in result.peers if p.status != OK]),
        ("without a time", [f"{n.letter}  {n.subject}: {n.short_reason}" for n in footnotes.notes]),
    ):
        lines += ["", title, *(f"  {entry}" for entry in entries)] if entries else []
    lines += ["", *_means(result)]
    lines += ["", f"{result.wall_s:.0f} s, {result.cpu_s:.0f} s of processor time"]
    environment = result.environment
    if environment.load_start > environment.cores / 2:
        busy = f"load {environment.load_start:.1f} on {environment.cores} cores"
        lines.append(f"the machine was busy ({busy}): times and ratios are unreliable")
    return "\n".join(lines) + "\n"


def markdown(result: Result) -> str:
    """Return the table of a run with all threads as Markdown."""
    environment, footnotes, of = result.environment, _footnotes(result), len(result.cases)
    versions = (f"{name} {version}" for name, version in environment.versions.items())
    blocks = [
        f"{environment.cpu}, {environment.cores} cores, load {environment.load_start:.1f} to "
        f"{environment.load_end:.1f}; {', '.join(versions)}; {environment.date[:10]}. "
        "Time of a call by NumPy's in the same rounds with "
        f"{amount(result.threads[-1], 'thread')}; "
        "`axiomjit, 1 thread` is its ratio where all are pinned to one core; `compile` is the "
        "first compile of a fresh process; `of bound` is the part of the roofline that is reached."
    ]
    for title, (head, *rows) in _parts(result, footnotes):
        shown = [k for k, name in enumerate(head) if name not in HIDDEN_COLUMNS]
        lines = [[head[k] for k in shown], ["---"] * len(shown)]
        lines += [[f"`{row[0]}`", *(row[k] for k in shown[1:])] for row in rows]
        blocks.append(f"**{title[0].upper()}{title[1:]}**: {len(rows)} of {of} cases")
        blocks.append("\n".join(f"| {' | '.join(cells)} |" for cells in lines))
    refused = refused_names(result)
    if refused:
        count = f"{len(refused)} of {of} cases"
        blocks.append(f"**Not compiled yet**: {count}: {', '.join(refused)}")
    reasons = [(note, note.short_reason.replace("`", "'")) for note in footnotes.notes]
    notes = [f"- {note.letter}: {note.subject}: `{why}`" for note, why in reasons]
    if notes:
        blocks.append("**Without a time**\n\n" + "\n".join(notes))
    blocks.append(f"Over all cases, in the geometric mean: {'; '.join(_means(result))}.")
    return "\n\n".join(blocks) + "\n"


def refused_names(result: Result) -> list[str]:
    """Return the names of the cases that axiomjit does not run, as code."""
    return [f"`{name}`" for name, _ in _refused(result)]


def _refused(result: Result) -> list[tuple[str, str]]:
    """Return the cases that axiomjit does not run, with the reasons."""
    pairs = ((case.name, case.run(OURS)) for case in result.cases)
    return [(name, run.reason) for name, run in pairs if run and run.status != OK]


def _footnotes(result: Result) -> Footnotes:
    return Footnotes(result, (peer.name for peer in result.peers if peer.name != OURS))


def _parts(result: Result, footnotes: Footnotes) -> Iterator[tuple[str, Rows]]:
    """Yield the title and the rows of up to three tables: losses to NumPy, other losses, the rest.

    A table begins with a heading row; the largest ratio comes first.
    """
    ranking = Ranking(result, result.threads[-1])
    peers = [p.name for p in result.peers if p.status == OK and p.name != NUMPY]
    serial = result.threads[0] if len(result.threads) > 1 else None
    head = ["case", "elements", "dtype", NUMPY, *peers]
    head += [f"{OURS}, {amount(serial, 'thread')}"] if serial else []
    head += ["compile", "of bound", "memory"]
    parts: dict[str, Rows] = {title: [] for title in TITLES}
    for case in ranking.losses_first():
        if ranking.time(case):
            lost = ranking.verdict(case) == LOSS
            index = 0 if ranking.lost(case, NUMPY) else 1 if lost else 2
            parts[TITLES[index]].append(_row(ranking, case, peers, serial, footnotes))
    yield from ((title, [head, *rows]) for title, rows in parts.items() if rows)


def _row(
    ranking: Ranking, case: Case, peers: Sequence[str], serial: int | None, footnotes: Footnotes
) -> list[str]:
    ours, run, numpy = ranking.time(case), case.run(OURS), ranking.time(case, NUMPY)
    assert ours
    assert run
    row = [case.name, f"{case.size:,}", case.dtype, seconds(numpy.median_s) if numpy else ""]
    row += [_ratio(ranking.time(case, peer)) or footnotes.mark(peer, case.name) for peer in peers]
    row += [_ratio(run.at(serial))] if serial else []
    return [
        *row,
        seconds(run.cold_compile_s or 0.0),
        f"{ours.of_bound:.0%}" if ours.of_bound else "",
        "" if run.memory_peak_bytes is None else memory(run.memory_peak_bytes),
    ]


def _ratio(timing: Timing | None) -> str:
    return digits(timing.ratio) if timing else ""


def _means(result: Result) -> Iterator[str]:
    for s in Ranking(result, result.threads[-1]).scores(result.cases):
        count = amount(sum(s.verdicts.values()), "case")
        yield f"{digits(s.mean)} of {s.peer}'s time in {count}, slower in {s.verdicts[LOSS]}"


def _columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return a line for each row, with aligned columns."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    padded = ((f"{cell:{n}}" for cell, n in zip(row, widths, strict=True)) for row in rows)
    return ["  ".join(cells).rstrip() for cells in padded]


MAX_NAMED_CASES: Final = 3
"""The largest number of cases that a line names; for more cases the line has their number."""
MAX_REASON_LETTERS: Final = 120


class Footnote(Record):
    """The reason why a library has no time in some cases."""

    letter: str
    peer: str
    status: str
    reason: str
    cases: tuple[str, ...]

    @property
    def subject(self) -> str:
        """Return the library, the cases, and the status as text."""
        few = len(self.cases) <= MAX_NAMED_CASES
        cases = ", ".join(self.cases) if few else amount(len(self.cases), "case")
        return f"{self.peer}, {cases}: {self.status}"

    @property
    def short_reason(self) -> str:
        """Return the reason, shortened to at most two lines."""
        return shorten(self.reason, MAX_REASON_LETTERS)


class Footnotes:
    """The reasons of missing times in a result; equal reasons of a library are merged."""

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
        """Return the text in place of a time: a status and a letter, or a dash without a reason."""
        for note in self.notes:
            if note.peer == peer and case in note.cases:
                return f"{'-' if note.status == UNSUPPORTED else note.status} {note.letter}"
        return "-"


def _letter(k: int) -> str:
    """Return the letter of a number: a to z, then aa, ab and so on."""
    return (_letter(k // 26 - 1) if k >= 26 else "") + ascii_lowercase[k % 26]
