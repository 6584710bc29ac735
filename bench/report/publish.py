"""The documents of a result: a chart, the summary in the README, and the full tables."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from axiomjit.base.errors import BenchError, amount
from axiomjit.bench.report.charts import LogScale, Markup, join, log_scale, tag
from axiomjit.bench.report.table import digits, markdown, pace, refused_names, shorten
from axiomjit.bench.suite.records import NUMPY, Case, Result, write_text
from axiomjit.bench.suite.results import LOSS, Ranking, Score

README, PERFORMANCE = Path("README.md"), Path("docs/performance.md")
CHART: Final = Path("docs/performance.svg")
ALT_TEXT: Final = "Axiomjit's time divided by that of other libraries, by group of cases"
LINE_LETTERS: Final = 100
START: Final = "<!-- axiomjit bench report --publish -->\n"
END: Final = "<!-- end -->\n"
WIDTH: Final = 840
MARGIN: Final = 24
LEFT, RIGHT, BOTTOM = 190, MARGIN, 52
FIRST, LINE, HEAD = 28, 22, 38
"""The position of the legend, the distance of its lines, and the distance to the axes."""
LEGEND_TEXT: Final = "axiomjit's time divided by that of"
ROW: Final = 21
NAME_LETTERS: Final = 16
"""The largest number of letters of a name."""
MARK_DISTANCE: Final = 3.2
"""The vertical distance between marks of a row, so that equal ratios do not hide each other."""
LETTER_WIDTH: Final = 7.2
"""The approximate width of a letter in the legend."""
SHAPES: Final = (
    "M-5.5,0a5.5,5.5 0 1,0 11,0a5.5,5.5 0 1,0 -11,0z",
    "M-4,-4h8v8h-8z",
    "M0,-5.5L5.5,0L0,5.5L-5.5,0z",
    "M0,-5L5,4.5H-5z",
    "M0,5L5,-4.5H-5z",
    "M-5,-1.5h3.5v-3.5h3v3.5h3.5v3h-3.5v3.5h-3v-3.5h-3.5z",
    "M-2.5,-5.5h5v11h-5z",
)
# An image in a page does not get the page's style: it follows the system's colour scheme itself.
STYLE: Final = """
svg { --ground: #ffffff; --ink: #1a1f26; --quiet: #56606b; --grid: #dde2e7; --slower: #fbeee8;
  --c0: #14181d; --c1: #0b6bb8; --c2: #8a6100; --c3: #0a7a55; --c4: #a02c8f; --c5: #c23f0c;
  --c6: #5b4fc4; }
@media (prefers-color-scheme: dark) {
  svg { --ground: #161b22; --ink: #e6edf3; --quiet: #9aa4af; --grid: #30363d; --slower: #33231d;
    --c0: #f2f5f8; --c1: #5cb0f5; --c2: #e3b341; --c3: #45c492; --c4: #e08ad4; --c5: #ff8f60;
    --c6: #a9a1ff; }
}
text { font: 13px system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; fill: var(--ink); }
.quiet { fill: var(--quiet); }
.all { font-weight: 700; }
.ground { fill: var(--ground); }
.slower { fill: var(--slower); }
.grid { stroke: var(--grid); }
.one { stroke: var(--quiet); stroke-width: 1.5; }
.mark { stroke: var(--ground); }
.c0 { fill: var(--c0); } .c1 { fill: var(--c1); } .c2 { fill: var(--c2); }
.c3 { fill: var(--c3); } .c4 { fill: var(--c4); } .c5 { fill: var(--c5); }
.c6 { fill: var(--c6); }
"""


def publish(result: Result, root: Path) -> list[Path]:
    """Write the documents of a result below the folder `root`; return the written paths.

    Raises:
        BenchError: a document is missing, has no marked part, or cannot be written.
    """
    written = documents(result, root)
    for path, text in written.items():
        write_text(text, path)
    return list(written)


def documents(result: Result, root: Path) -> dict[Path, str]:
    """Return the texts of the chart and of two documents with replaced marked parts.

    Raises:
        BenchError: a document is missing, or has no marked part.
    """
    parts = {root / README: brief(result), root / PERFORMANCE: markdown(result)}
    replaced = {path: _with_part(path, part) for path, part in parts.items()}
    return {root / CHART: group_chart(result), **replaced}


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
    """Return the README's summary in Markdown: the chart, the lost cases, and geometric means."""
    ranking = Ranking(result, result.threads[-1])
    lost = [case for case in ranking.losses_first() if ranking.verdict(case) == LOSS]
    to_numpy = [case for case in lost if ranking.lost(case, NUMPY)]
    to_others = [case for case in lost if case not in to_numpy]
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
        count = amount(len(refused), "case")
        lines.append(f"**Not compiled yet**: {count}: {', '.join(refused)}.")
    means = [
        f"{digits(s.mean)} of {s.peer}'s ({amount(sum(s.verdicts.values()), 'case')}, "
        f"{s.verdicts[LOSS]} lost)"
        for s in ranking.scores(result.cases)
    ]
    lines.append(f"**Time in the geometric mean**: {', '.join(means)}.")
    where = (
        f"{environment.cpu}, {amount(ranking.threads, 'thread')}, load "
        f"{environment.load_start:.1f} to {environment.load_end:.1f}, {environment.date[:10]}"
    )
    texts = [
        textwrap.fill(line, LINE_LETTERS, break_on_hyphens=False) for line in [*lines, f"{where}."]
    ]
    return "\n\n".join([f"![{ALT_TEXT}]({CHART.as_posix()})", *texts]) + "\n"


def _named(ranking: Ranking, cases: Sequence[Case], peers: Sequence[str]) -> dict[str, str]:
    """Return, for each library, the cases in which it is fastest, the worst ratio first."""
    found: dict[str, list[tuple[float, str]]] = {peer: [] for peer in peers}
    for case in cases:
        lost = [r for r in ranking.ratios(case) if r.peer in found and r.verdict == LOSS]
        worst = max(lost, key=lambda r: r.ratio)
        found[worst.peer].append((worst.ratio, f"`{case.name}` {digits(worst.ratio)}"))
    return {
        peer: ", ".join(text for _, text in sorted(entries, reverse=True))
        for peer, entries in found.items()
    }


def group_chart(result: Result) -> str:
    """Return a chart of a result's geometric means, by group and over all cases, as SVG.

    A mark is the mean ratio of axiomjit's time to a library's, with all threads, over the cases
    that both run.

    Raises:
        BenchError: no library has a time.
    """
    ranking = Ranking(result, result.threads[-1])
    peers = sorted(ranking.peers, key=lambda peer: peer != NUMPY)
    parts = [*ranking.groups.items(), ("all", ranking.cases)]
    rows = [(name, cases, s) for name, cases in parts if (s := ranking.scores(cases))]
    if not rows:
        raise BenchError("draw a chart", "no library with a time", "name a run of several ones")
    scale = log_scale((score.mean for _, _, scores in rows for score in scores), 1.35)
    scale = LogScale(min(scale.low, 0.5), max(scale.high, 2.0))
    entries, last = _legend(peers)
    top = last + HEAD
    height = top + ROW * len(rows) + BOTTOM
    title = (
        f"Axiomjit's time divided by that of other libraries, {amount(ranking.threads, 'thread')}"
    )
    drawn = tag(
        "svg",
        tag("title", title),
        tag("style", Markup(STYLE)),
        tag("rect", width=WIDTH, height=height, rx=8, class_="ground"),
        tag("text", LEGEND_TEXT, x=MARGIN, y=FIRST),
        *entries,
        _axes(scale, top, ROW * len(rows)),
        *(_row(*row, top + ROW * k, peers, scale) for k, row in enumerate(rows)),
        xmlns="http://www.w3.org/2000/svg",
        role="img",
        view_box=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
    )
    return drawn.replace("><", ">\n<") + "\n"


def _x(scale: LogScale, ratio: float) -> float:
    return LEFT + scale.place(ratio) * (WIDTH - LEFT - RIGHT)


def _legend(peers: Sequence[str]) -> tuple[list[Markup], int]:
    """Return the legend, with a mark and a name for each peer, and its last line's y position."""
    at, y, found = MARGIN + LETTER_WIDTH * len(LEGEND_TEXT) + 8, FIRST, []
    for k, peer in enumerate(peers):
        width = 36 + LETTER_WIDTH * len(peer)
        if at + width > WIDTH:
            at, y = float(MARGIN), y + LINE
        found += [_mark(k, at + 6, y - 4.5), tag("text", peer, x=at + 18, y=y)]
        at += width
    return found, y


def _axes(scale: LogScale, top: int, height: int) -> Markup:
    """Return the axis, with labels for the sides on which axiomjit is faster and slower."""
    one, end = _x(scale, 1.0), top + height
    rest = WIDTH - RIGHT - one
    parts = [tag("rect", x=one, y=top, width=rest, height=height, class_="slower")]
    for tick in scale.ticks(8):
        x = _x(scale, tick)
        parts.append(tag("line", x1=x, x2=x, y1=top, y2=end, class_="grid"))
        parts.append(tag("text", f"{tick:.3g}", x=x, y=end + 18, text_anchor="middle"))
    parts.append(tag("line", x1=one, x2=one, y1=top - 6, y2=end, class_="one"))
    sides = (("← axiomjit is faster", one - 10, "end"), ("slower →", one + 10, "start"))
    for words, x, anchor in sides:
        parts.append(tag("text", words, x=x, y=top - 10, text_anchor=anchor, class_="quiet"))
    middle = (LEFT + WIDTH - RIGHT) / 2
    words = "geometric mean over the cases that both run"
    parts.append(tag("text", words, x=middle, y=end + 40, text_anchor="middle", class_="quiet"))
    return join(*parts)


def _row(
    group: str,
    cases: Sequence[Case],
    scores: Sequence[Score],
    top: int,
    peers: Sequence[str],
    scale: LogScale,
) -> Markup:
    """Return a row of the chart: the name of the group, and a mark for each library."""
    y = top + ROW / 2
    count = tag("tspan", f" {amount(len(cases), 'case')}", class_="quiet")
    style, name = "all" if group == "all" else None, shorten(group, NAME_LETTERS)
    label = tag("text", name, count, x=LEFT - 12, y=y + 4, text_anchor="end", class_=style)
    marks = []
    for score in sorted(scores, key=lambda score: -peers.index(score.peer)):
        k = peers.index(score.peer)
        words = f"{group}: {digits(score.mean)}, {pace(score.mean)} than {score.peer}"
        lane = y + MARK_DISTANCE * (k - (len(peers) - 1) / 2)
        marks.append(_mark(k, _x(scale, score.mean), lane, words))
    rule = tag("line", x1=MARGIN, x2=WIDTH - RIGHT, y1=top, y2=top, class_="grid")
    return join(rule, label, *marks)


def _mark(number: int, x: float, y: float, words: str = "") -> Markup:
    title = tag("title", words) if words else None
    k = number % len(SHAPES)
    return tag(
        "path", title, d=SHAPES[k], transform=f"translate({x:.1f} {y:.1f})", class_=f"mark c{k}"
    )
