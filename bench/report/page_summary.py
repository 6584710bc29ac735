"""The head of a report: the score against each peer, and warnings."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from axiomjit.bench.report.markup import Markup, join, percent, tag
from axiomjit.bench.report.page_frame import Section
from axiomjit.bench.report.plots import folded, table
from axiomjit.bench.report.units import count_things, count_threads, digits, pace
from axiomjit.bench.suite.ranking import LOSS, TIE, WIN, Ranking, rivals
from axiomjit.bench.suite.records import OURS, TIMEOUT, WRONG, Case, Result

WORDS = {WIN: "won", TIE: "level", LOSS: "lost"}


def summary(result: Result, rankings: Sequence[Ranking]) -> Section:
    """Return the scores by peer and number of threads, what was left out, and means by group."""
    blocks = []
    for ranking in rankings:
        cards = [_card(ranking, peer) for peer in ranking.peers]
        heading = tag("h3", count_threads(ranking.threads))
        blocks.append(join(heading, tag("div", *cards, class_="cards")))
    words = tag(
        "p",
        "Geometric mean of axiomjit's time divided by the peer's, in the steady state, over the "
        "cases that both run: below 1 axiomjit is faster. A case is won or lost when the 95 % "
        "interval of its ratio excludes 1, and level otherwise.",
    )
    if not rivals(result):
        words = tag("p", "No peer has a time.", class_="quiet")
    groups = _by_group(result, rankings) if rivals(result) else None
    return Section("summary", "In short", join(words, *blocks, *_absences(result), groups))


def cautions(result: Result) -> list[str]:
    """Return warnings about what makes the figures of a run less certain."""
    env, found = result.environment, []
    if result.quick:
        found.append("A quick run: fewer rounds, one number of threads, no second process.")
    if env.modified:
        found.append("The tree had changes that the commit does not have.")
    if env.load_start > 0.5 * env.cores:
        found.append(
            f"The machine was busy: load {env.load_start:.2f} on {env.cores} cores at the start."
        )
    if env.governor not in (None, "performance"):
        found.append(f"The frequency governor was {env.governor!r}: clocks may have changed.")
    return found


def _absences(result: Result) -> Iterator[Markup]:
    """Yield the peers without any time, the cases axiomjit does not run, and unusable results."""
    timed = (OURS, *rivals(result))
    for peer in result.peers:
        if peer.name not in timed:
            yield tag("p", f"{peer.name} has no times: {peer.reason or peer.status}")
    missing = [case for case in result.cases if not _is_run(case)]
    if missing:
        count = f"{len(missing)} of {len(result.cases)} cases are not run by axiomjit"
        lines = [tag("li", f"{case.name}: {_why_not(case)}") for case in missing]
        yield folded(count, tag("ul", *lines, class_="small"))
    wrong = [
        tag("li", f"{case.name}, {run.peer}: {run.status}, {run.reason}")
        for case in result.cases
        for run in case.runs
        if run.peer != OURS and run.status in (WRONG, TIMEOUT)
    ]
    if wrong:
        count = f"{count_things(len(wrong), 'result')} of peers did not count"
        yield folded(count, tag("ul", *wrong, class_="small"))


def _is_run(case: Case) -> bool:
    ours = case.run(OURS)
    return ours is not None and bool(ours.timings)


def _why_not(case: Case) -> str:
    ours = case.run(OURS)
    return f"{ours.status}, {ours.reason}" if ours else "it was not asked"


def _card(ranking: Ranking, peer: str) -> Markup | None:
    found = ranking.score(peer, ranking.cases)
    if found is None:
        return None
    total = sum(found.verdicts.values())
    parts = [
        tag("i", class_=verdict, style=f"width:{percent(found.verdicts[verdict] / total)}")
        for verdict in WORDS
        if found.verdicts[verdict]
    ]
    counts = [
        tag("span", tag("b", found.verdicts[verdict]), f" {word}", class_=verdict)
        for verdict, word in WORDS.items()
    ]
    return tag(
        "div",
        tag("h4", f"against {peer}"),
        tag("p", digits(found.mean), tag("span", pace(found.mean)), class_="big"),
        tag("div", *parts, class_="share", aria_hidden="true"),
        tag("p", *counts, class_="counts"),
        tag("p", f"from {digits(found.best)} to {digits(found.worst)}", class_="quiet small"),
        class_="card",
    )


def _by_group(result: Result, rankings: Sequence[Ranking]) -> Markup:
    """Return a table of geometric means by group, for each number of threads."""
    rows: list[list[object]] = []
    for group in dict.fromkeys(case.group for case in result.cases):
        members = [case for case in result.cases if case.group == group]
        for ranking in rankings:
            found = [ranking.score(peer, members) for peer in ranking.peers]
            cells = [digits(s.mean) if s else "–" for s in found]
            rows.append([group, ranking.threads, len(members), *cells])
    head = ["group", "threads", "cases", *rivals(result)]
    return folded("Means by group", table(head, rows, "Geometric means of ratios by group"))
