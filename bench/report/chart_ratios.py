"""The bar chart of ratios to each peer, case by case, with confidence intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isfinite

from axiomjit.bench.report.markup import Markup, join, percent, tag
from axiomjit.bench.report.plots import breakable, legend
from axiomjit.bench.report.scales import LogScale
from axiomjit.bench.report.units import digits, pace
from axiomjit.bench.suite.ranking import PeerRatio, Ranking
from axiomjit.bench.suite.records import Case

# Bars of ratios beyond these end at the rim; the tooltips and the table show the numbers.
FASTEST, SLOWEST = 0.01, 30.0


def ratio_bars(ranking: Ranking, colours: Mapping[str, str]) -> Markup:
    """Return a row per case, by group: a bar per peer from 1 to axiomjit's time over that peer's.

    Args:
        ranking: the comparison whose ratios are drawn.
        colours: the CSS class of each peer.
    """
    scale = _scale([s for case in ranking.cases for s in ranking.ratios(case)])
    members: dict[str, list[Case]] = {}
    for case in ranking.cases:
        members.setdefault(case.group, []).append(case)
    groups = [
        tag(
            "div",
            tag("div", tag("h3", group), _ruler(scale), class_="row head"),
            *(_row(case, ranking, colours, scale) for case in inside),
            class_="bars",
            data_group=group,
        )
        for group, inside in members.items()
    ]
    return tag(
        "div",
        legend((colours[peer], peer) for peer in ranking.peers),
        tag("div", *groups, class_="columns"),
        data_marks=True,
    )


def _scale(found: Sequence[PeerRatio]) -> LogScale:
    """Return a scale from the smallest to the largest ratio that includes 1, not at an end."""
    ends = [end for s in found for end in (s.low, s.high) if isfinite(end) and end > 0]
    low, high = min([*ends, 0.5]), max([*ends, 2.0])
    return LogScale(max(low / 1.1, FASTEST), min(high * 1.1, SLOWEST))


def _ruler(scale: LogScale) -> Markup:
    """Return the numbers of the axis, drawn above the bars of a group."""
    labels = [
        tag("text", f"{tick:.3g}", x=percent(scale.place(tick)), y=13, text_anchor="middle")
        for tick in scale.ticks(8)
    ]
    return tag("svg", *labels, class_="ruler", height=16, width="100%", aria_hidden="true")


def _row(case: Case, ranking: Ranking, colours: Mapping[str, str], scale: LogScale) -> Markup:
    found = ranking.ratios(case)
    if found:
        lines = [_rule(scale, tick) for tick in scale.ticks(8)]
        grid = tag("svg", *lines, class_="grid", width="100%", height="100%", aria_hidden="true")
        content = join(grid, *(_lane(case, s, colours[s.peer], scale) for s in found))
    elif ranking.time(case):
        content = tag("p", "no other peer has a time", class_="quiet small")
    else:
        content = tag("p", "not run by axiomjit", class_="quiet small")
    return tag(
        "div",
        tag("div", *breakable(case.name), class_="name"),
        tag("div", content, class_="track"),
        class_="row",
        data_case=case.name,
    )


def _rule(scale: LogScale, value: float) -> Markup:
    at = percent(scale.place(value))
    return tag("line", x1=at, x2=at, y1="0", y2="100%", class_="one" if value == 1 else None)


def _lane(case: Case, found: PeerRatio, style: str, scale: LogScale) -> Markup:
    one, end = scale.place(1.0), scale.place(found.ratio)
    left, width = percent(min(one, end)), percent(abs(end - one))
    low, high = percent(scale.place(found.low)), percent(scale.place(found.high))
    if scale.low < found.ratio < scale.high:
        last = tag("line", x1=low, x2=high, y1=4, y2=4, class_="whisker")
    else:
        inwards = 8 if found.ratio < 1 else -8
        rim = percent(end)
        shift = f"translate({inwards} 0)"
        last = tag("line", x1=rim, x2=rim, y1=0, y2=8, class_="gap", transform=shift)
    return tag(
        "svg",
        tag("rect", x=left, width=width, y=1, height=6, class_=style),
        last,
        class_="lane mark",
        role="img",
        tabindex=-1,
        aria_label=_tip(case.name, found),
        data_peer=found.peer,
        width="100%",
        height=8,
    )


def _tip(name: str, found: PeerRatio) -> str:
    """Return a tooltip that states a ratio in words."""
    return (
        f"{name}\n{pace(found.ratio)} than {found.peer}\n"
        f"ratio {digits(found.ratio)}, 95 % interval {digits(found.low)} to {digits(found.high)}"
    )
