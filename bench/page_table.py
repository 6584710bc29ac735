"""The table of a run: every loss first, a column per peer."""

from __future__ import annotations

from typing import Final

from axiomjit.bench.markup import Markup, join, tag
from axiomjit.bench.plots import breakable
from axiomjit.bench.records import OURS, UNSUPPORTED, Case
from axiomjit.bench.standings import LOSS, TIE, WIN, Contest
from axiomjit.bench.units import count_threads, digits, seconds, share, shorten

SIGNS: Final = {TIE: "≈", LOSS: "▲"}
LETTERS: Final = 44
"""How much of a function is shown; pointing at it shows the rest."""


def case_table(contest: Contest) -> Markup:
    """Cases as rows: axiomjit's time, the ratio to each peer, the share of the bound."""
    head = [
        _head("case", "text"),
        _head("axiomjit", "number", "steady"),
        *(_head(peer, "number", "ratio", data_peer=peer) for peer in contest.peers),
        _head("bound", "number", "share"),
        _head("function", "text"),
    ]
    rows = [_row(case, contest) for case in contest.losses_first()]
    caption = (
        f"Axiomjit's time divided by each peer's, {count_threads(contest.threads)}, losses first"
    )
    return tag(
        "div",
        tag(
            "table",
            tag("caption", caption, class_="unseen"),
            tag("thead", tag("tr", *head)),
            tag("tbody", *rows),
            class_="sortable",
        ),
        class_="scroll",
        tabindex=0,
        role="region",
        aria_label=caption,
    )


def _head(name: str, kind: str, note: str | None = None, **data: object) -> Markup:
    """A heading that sorts its column when pressed."""
    below = tag("span", note, class_="quiet") if note else None
    return tag("th", tag("button", name, below, type="button"), scope="col", data_kind=kind, **data)


def _row(case: Case, contest: Contest) -> Markup:
    ours = contest.time(case)
    time = seconds(ours.median_s) if ours else _why_not(case, OURS)
    bound = ours.of_bound if ours else None
    return tag(
        "tr",
        tag("th", *breakable(case.name), tag("small", case.group, class_="quiet"), scope="row"),
        _number(time, ours.median_s if ours else None),
        *(_ratio(case, peer, contest) for peer in contest.peers),
        _number(share(bound) if bound else "–", bound),
        tag("td", shorten(case.text, LETTERS), class_="quiet", title=case.text),
        data_case=case.name,
        data_group=case.group,
    )


def _number(text: object, value: float | None, style: str = "", **data: object) -> Markup:
    """A cell that sorts by `value`, last where there is none."""
    return tag(
        "td",
        text,
        class_=f"number {style}".strip(),
        data_value=None if value is None else f"{value:.6g}",
        **data,
    )


def _ratio(case: Case, peer: str, contest: Contest) -> Markup:
    found = contest.against(case, peer)
    if found is None:
        return _number(_why_not(case, peer), None, data_peer=peer)
    verdict = found.verdict
    sign = None if verdict == WIN else tag("b", SIGNS[verdict], role="img", aria_label=verdict)
    interval = tag("small", f"{digits(found.low)}–{digits(found.high)}", class_="quiet")
    text = join(sign, digits(found.ratio), interval)
    return _number(text, found.ratio, verdict, data_peer=peer)


def _why_not(case: Case, peer: str) -> Markup:
    """What became of a peer without a time, its reason on pointing; a dash where none is due."""
    run = case.run(peer)
    if run is None or run.timings:
        return tag("span", "–", class_="quiet")
    text = "–" if run.status == UNSUPPORTED and peer != OURS else run.status
    return tag("span", text, class_="quiet", title=run.reason)
