"""Write the newest kept result into the documents: a chart, a summary, the full tables."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from axiomjit.base.errors import BenchError
from axiomjit.bench.report.chart_groups import group_chart
from axiomjit.bench.report.table import markdown, refused_names
from axiomjit.bench.report.units import count_things, count_threads, digits
from axiomjit.bench.suite.records import NUMPY, Case, Result
from axiomjit.bench.suite.standings import LOSS, Contest

README, PERFORMANCE = Path("README.md"), Path("docs/performance.md")
CHART: Final = Path("docs/performance.svg")
ALTERNATIVE: Final = "Axiomjit's time divided by that of other libraries, by group of cases"
LETTERS: Final = 100
START: Final = "<!-- axiomjit bench report --publish -->\n"
END: Final = "<!-- end -->\n"


def publish(result: Result, root: Path) -> list[Path]:
    """Write the documents of a result below a folder; return the paths of the files written.

    Raises:
        BenchError: a document is missing, has no marked part, or cannot be written.
    """
    written = documents(result, root)
    for path, text in written.items():
        try:
            path.write_text(text, encoding="utf-8")
        except OSError as error:
            remedy = "make the file writable"
            raise BenchError(f"write {path}", str(error), remedy) from error
    return list(written)


def documents(result: Result, root: Path) -> dict[Path, str]:
    """Return the text of each file: the chart, and two documents with their marked parts replaced.

    Raises:
        BenchError: a document is missing, or has no marked part.
    """
    parts = {README: brief(result), PERFORMANCE: markdown(result)}
    found = {root / CHART: group_chart(result)}
    for name, part in parts.items():
        found[root / name] = _with_part(root / name, part)
    return found


def _with_part(path: Path, part: str) -> str:
    asked = f"write measurements into {path}"
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise BenchError(asked, str(error), "run it in a whole clone") from error
    head, start, rest = text.partition(START)
    _, end, tail = rest.partition(END)
    if not start or not end:
        remedy = f"put the lines {START.strip()} and {END.strip()} around that part"
        raise BenchError(asked, "no marked part", remedy)
    return f"{head}{START}{part}{END}{tail}"


def brief(result: Result) -> str:
    """Return the README's summary in Markdown: losses by name, the chart, geometric means."""
    contest = Contest(result, result.threads[-1])
    timed = [case for case in contest.losses_first() if contest.time(case)]
    to_numpy = [case for case in timed if _lost(contest, case, NUMPY)]
    to_others = [case for case in timed if contest.verdict(case) == LOSS and case not in to_numpy]
    environment, of = result.environment, len(result.cases)
    lines = [
        f"**Slower than NumPy** in {len(to_numpy)} of {of} cases, by a factor of: "
        f"{_named(contest, to_numpy, [NUMPY])[NUMPY] or 'none'}.",
        f"**Slower than another library** in {len(to_others)} more. "
        + " ".join(
            f"{peer[0].upper()}{peer[1:]}: {names}."
            for peer, names in _named(contest, to_others, contest.peers).items()
            if names
        ),
    ]
    refused = refused_names(result)
    if refused:
        count = count_things(len(refused), "case")
        lines.append(f"**Not compiled yet**: {count}: {', '.join(refused)}.")
    lines.append(f"**Time in the geometric mean**: {', '.join(_means(result, contest))}.")
    where = (
        f"{environment.cpu}, {count_threads(contest.threads)}, load {environment.load_start:.1f} "
        f"to {environment.load_end:.1f}, {environment.date[:10]}"
    )
    texts = [textwrap.fill(line, LETTERS, break_on_hyphens=False) for line in [*lines, f"{where}."]]
    return "\n\n".join([f"![{ALTERNATIVE}]({CHART.as_posix()})", *texts]) + "\n"


def _lost(contest: Contest, case: Case, peer: str) -> bool:
    found = contest.against(case, peer)
    return found is not None and found.verdict == LOSS


def _named(contest: Contest, cases: Sequence[Case], peers: Sequence[str]) -> dict[str, str]:
    """Return, for each library ahead of axiomjit, the cases with their ratios, the worst first."""
    found: dict[str, list[tuple[float, str]]] = {peer: [] for peer in peers}
    for case in cases:
        own = [standing for standing in contest.standings(case) if standing.peer in found]
        lost = [standing for standing in own if standing.verdict == LOSS]
        worst = max(lost, key=lambda standing: standing.ratio)
        found[worst.peer].append((worst.ratio, f"`{case.name}` {digits(worst.ratio)}"))
    return {
        peer: ", ".join(text for _, text in sorted(entries, reverse=True))
        for peer, entries in found.items()
    }


def _means(result: Result, contest: Contest) -> Iterator[str]:
    for peer in contest.peers:
        score = contest.score(peer, result.cases)
        if score:
            count, lost = sum(score.verdicts.values()), score.verdicts[LOSS]
            yield f"{digits(score.mean)} of {peer}'s ({count_things(count, 'case')}, {lost} lost)"
