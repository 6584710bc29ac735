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
from axiomjit.bench.suite.ranking import LOSS, Ranking
from axiomjit.bench.suite.records import NUMPY, Case, Result

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
    ranking = Ranking(result, result.threads[-1])
    timed = [case for case in ranking.losses_first() if ranking.time(case)]
    to_numpy = [case for case in timed if _lost(ranking, case, NUMPY)]
    to_others = [case for case in timed if ranking.verdict(case) == LOSS and case not in to_numpy]
    environment, of = result.environment, len(result.cases)
    lines = [
        f"**Slower than NumPy** in {len(to_numpy)} of {of} cases, by a factor of: "
        f"{_named(ranking, to_numpy, [NUMPY])[NUMPY] or 'none'}.",
        f"**Slower than another library** in {len(to_others)} more. "
        + " ".join(
            f"{peer[0].upper()}{peer[1:]}: {names}."
            for peer, names in _named(ranking, to_others, ranking.peers).items()
            if names
        ),
    ]
    refused = refused_names(result)
    if refused:
        count = count_things(len(refused), "case")
        lines.append(f"**Not compiled yet**: {count}: {', '.join(refused)}.")
    lines.append(f"**Time in the geometric mean**: {', '.join(_means(result, ranking))}.")
    where = (
        f"{environment.cpu}, {count_threads(ranking.threads)}, load {environment.load_start:.1f} "
        f"to {environment.load_end:.1f}, {environment.date[:10]}"
    )
    texts = [textwrap.fill(line, LETTERS, break_on_hyphens=False) for line in [*lines, f"{where}."]]
    return "\n\n".join([f"![{ALTERNATIVE}]({CHART.as_posix()})", *texts]) + "\n"


def _lost(ranking: Ranking, case: Case, peer: str) -> bool:
    found = ranking.against(case, peer)
    return found is not None and found.verdict == LOSS


def _named(ranking: Ranking, cases: Sequence[Case], peers: Sequence[str]) -> dict[str, str]:
    """Return, for each library ahead of axiomjit, the cases with their ratios, the worst first."""
    found: dict[str, list[tuple[float, str]]] = {peer: [] for peer in peers}
    for case in cases:
        own = [peer_ratio for peer_ratio in ranking.ratios(case) if peer_ratio.peer in found]
        lost = [peer_ratio for peer_ratio in own if peer_ratio.verdict == LOSS]
        worst = max(lost, key=lambda peer_ratio: peer_ratio.ratio)
        found[worst.peer].append((worst.ratio, f"`{case.name}` {digits(worst.ratio)}"))
    return {
        peer: ", ".join(text for _, text in sorted(entries, reverse=True))
        for peer, entries in found.items()
    }


def _means(result: Result, ranking: Ranking) -> Iterator[str]:
    for peer in ranking.peers:
        score = ranking.score(peer, result.cases)
        if score:
            count, lost = sum(score.verdicts.values()), score.verdicts[LOSS]
            yield f"{digits(score.mean)} of {peer}'s ({count_things(count, 'case')}, {lost} lost)"
