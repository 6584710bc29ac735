"""The curves of times: compile time by cases, and call time by array size."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.records import Record
from axiomjit.bench.report.markup import Markup, join, tag
from axiomjit.bench.report.plots import Axis, curve, legend, mark, plot
from axiomjit.bench.report.scales import LinearScale, log_scale
from axiomjit.bench.report.units import COUNT, TIME, seconds, short
from axiomjit.bench.suite.ranking import Ranking
from axiomjit.bench.suite.records import Case, Run


class Stage(Record):
    """A time before the steady state: its field in `Run`, and its title."""

    field: str
    title: str
    meaning: str


STAGES = (
    Stage("first_call_s", "First call", "import, compile and run in a fresh process"),
    Stage("cold_compile_s", "Cold compile", "empty caches, without the import"),
    Stage("warm_load_s", "Warm load", "a second process, caches on disk filled"),
)


def stage_time(run: Run | None, stage: Stage) -> float | None:
    """Return the time of a run in a stage, None where there is none."""
    value: float | None = getattr(run, stage.field) if run else None
    return value


def compile_curves(cases: Sequence[Case], colours: Mapping[str, str]) -> Markup | None:
    """Plot, for each stage, the share of cases that are ready after a time; a curve per peer."""
    panels = [
        tag("figure", tag("figcaption", tag("h3", s.title), tag("p", s.meaning)), drawn)
        for s in STAGES
        if (drawn := _stage_curves(cases, colours, s)) is not None
    ]
    if not panels:
        return None
    return join(_peer_legend(colours), tag("div", *panels, class_="panels"))


def _stage_curves(cases: Sequence[Case], colours: Mapping[str, str], stage: Stage) -> Markup | None:
    times = {
        peer: sorted(
            (time, case.name)
            for case in cases
            if (time := stage_time(case.run(peer), stage)) is not None
        )
        for peer in colours
    }
    every = [time for found in times.values() for time, _ in found]
    if not every:
        return None
    # A peer without a compiler takes nanoseconds, which would compress the rest of the axis.
    floor = max(min(every), max(every) / 1e6, 1e-6)
    x = Axis("time", log_scale([floor, *(t for t in every if t > floor)]), _tick, most=5)
    y = Axis("cases ready", LinearScale(0, 1), lambda v: f"{100 * v:.0f} %", most=5)
    lines, marks = [], []
    for peer, found in times.items():
        steps = [(x.place(t), (k + 1) / len(cases)) for k, (t, _) in enumerate(found)]
        lines.append(_lines(peer, _stairs(steps), colours))
        marks += [
            mark(
                place,
                f"{name}\n{peer}: {seconds(time)}",
                f"small {colours[peer]}",
                data_peer=peer,
                data_case=name,
            )
            for place, (time, name) in zip(steps, found, strict=True)
        ]
    return plot(stage.title, x, y, [*lines, *marks], height=260)


def _stairs(steps: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Return the corners of a staircase through the points, from 0 upwards."""
    corners, height = [], 0.0
    for x, y in steps:
        corners += [(x, height), (x, y)]
        height = y
    return corners


def size_curves(ranking: Ranking, colours: Mapping[str, str]) -> Markup | None:
    """Plot the time of a call against the number of elements, per series; a line per peer."""
    series: dict[str, list[Case]] = {}
    for case in ranking.cases:
        if case.series:
            series.setdefault(case.series, []).append(case)
    panels = [
        tag("figure", tag("figcaption", tag("h3", name), tag("p", members[0].text)), drawn)
        for name, members in series.items()
        if (drawn := _size_plot(ranking, members, colours)) is not None
    ]
    if not panels:
        return None
    return join(_peer_legend(colours), tag("div", *panels, class_="panels"))


def _size_plot(
    ranking: Ranking, cases: Sequence[Case], colours: Mapping[str, str]
) -> Markup | None:
    ordered = sorted(cases, key=lambda case: case.size)
    times = {
        peer: [(case, t) for case in ordered if (t := ranking.time(case, peer)) is not None]
        for peer in colours
    }
    every = [t for found in times.values() for _, t in found]
    if not every:
        return None
    x = Axis("elements", log_scale((case.size for case in cases), 1.3), _elements)
    y = Axis("time per call", log_scale(t.median_s for t in every), _tick)
    lines, marks = [], []
    for peer, found in times.items():
        places = [(x.place(case.size), y.place(t.median_s)) for case, t in found]
        lines.append(_lines(peer, places, colours))
        marks += [
            mark(
                place,
                f"{case.name}\n{peer}: {seconds(t.median_s)} per call\n"
                f"95 % interval {seconds(t.low_s)} to {seconds(t.high_s)}",
                f"small {colours[peer]}",
                data_peer=peer,
                data_case=case.name,
            )
            for place, (case, t) in zip(places, found, strict=True)
        ]
    return plot(cases[0].series, x, y, [*lines, *marks], height=260)


def _lines(peer: str, places: Sequence[tuple[float, float]], colours: Mapping[str, str]) -> Markup:
    return tag("g", curve(places, f"line {colours[peer]}"), data_peer=peer)


def _peer_legend(colours: Mapping[str, str]) -> Markup:
    return legend((f"line {style}", peer) for peer, style in colours.items())


def _elements(value: float) -> str:
    return f"{value:.0f}" if value < 10_000 else short(value, COUNT)


def _tick(value: float) -> str:
    return short(value, TIME)
