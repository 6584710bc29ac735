"""The table of cases: losses first, a column per peer."""

from __future__ import annotations

from typing import Final

from axiomjit.bench.report.footnotes import Footnotes
from axiomjit.bench.report.markup import Markup, join, tag
from axiomjit.bench.report.plots import breakable, scrolling
from axiomjit.bench.report.units import count_threads, digits, seconds, share, shorten
from axiomjit.bench.suite.ranking import LOSS, TIE, WIN, Ranking
from axiomjit.bench.suite.records import OURS, Case

SIGNS: Final = {TIE: "≈", LOSS: "▲"}
LETTERS: Final = 44
"""Letters of a function that are shown; its tooltip shows all of it."""


def case_table(ranking: Ranking, footnotes: Footnotes) -> Markup:
    """Return a row per case: axiomjit's time, the ratio to each peer, the share of the bound."""
    head = [
        _head("case", "text"),
        _head("axiomjit", "number", "steady"),
        *(_head(peer, "number", "ratio", data_peer=peer) for peer in ranking.peers),
        _head("bound", "number", "share"),
        _head("function", "text"),
    ]
    rows = [_row(case, ranking, footnotes) for case in ranking.losses_first()]
    caption = (
        f"Axiomjit's time divided by each peer's, {count_threads(ranking.threads)}, losses first"
    )
    return scrolling(caption, head, rows, class_="sortable")


def _head(name: str, kind: str, note: str | None = None, **data: object) -> Markup:
    """Return a heading that sorts its column when clicked."""
    below = tag("span", note, class_="quiet") if note else None
    return tag("th", tag("button", name, below, type="button"), scope="col", data_kind=kind, **data)


def _row(case: Case, ranking: Ranking, footnotes: Footnotes) -> Markup:
    ours = ranking.time(case)
    time = seconds(ours.median_s) if ours else _why_not(case, OURS, footnotes)
    bound = ours.of_bound if ours else None
    return tag(
        "tr",
        tag("th", *breakable(case.name), tag("small", case.group, class_="quiet"), scope="row"),
        _number(time, ours.median_s if ours else None),
        *(_ratio(case, peer, ranking, footnotes) for peer in ranking.peers),
        _number(share(bound) if bound else "–", bound),
        tag("td", shorten(case.text, LETTERS), class_="quiet", title=case.text),
        data_case=case.name,
        data_group=case.group,
    )


def _number(text: object, value: float | None, style: str = "", **data: object) -> Markup:
    """Return a cell that is sorted by `value`, or last if that is None."""
    return tag(
        "td",
        text,
        class_=f"number {style}".strip(),
        data_value=None if value is None else f"{value:.6g}",
        **data,
    )


def _ratio(case: Case, peer: str, ranking: Ranking, footnotes: Footnotes) -> Markup:
    found = ranking.against(case, peer)
    if found is None:
        return _number(_why_not(case, peer, footnotes), None, data_peer=peer)
    verdict = found.verdict
    sign = None if verdict == WIN else tag("b", SIGNS[verdict], role="img", aria_label=verdict)
    interval = tag("small", f"{digits(found.low)}–{digits(found.high)}", class_="quiet")
    text = join(sign, digits(found.ratio), interval)
    return _number(text, found.ratio, verdict, data_peer=peer)


def _why_not(case: Case, peer: str, footnotes: Footnotes) -> Markup:
    """Return the letter of the reason why a peer has no time; a dash if there is no reason."""
    run = case.run(peer)
    if run is None or run.timings:
        return tag("span", "–", class_="quiet")
    return tag("span", footnotes.mark(peer, case.name), class_="quiet", title=run.reason)
