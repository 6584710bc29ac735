"""The report over time: axiomjit's ratio to NumPy in each kept run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from math import exp, log

from axiomjit.base.records import Record
from axiomjit.bench.report.frame import Section, controls, document, each
from axiomjit.bench.report.markup import Markup, join, tag
from axiomjit.bench.report.plots import (
    Axis,
    Chart,
    DateScale,
    breakable,
    legend,
    log_scale,
    numbers,
    panel,
)
from axiomjit.bench.report.units import count_things, digits, pace
from axiomjit.bench.suite.records import OURS, Result


class Sample(Record):
    """The ratio to NumPy in one run, with its interval; `moment` is in seconds since 1970."""

    machine: str
    moment: float
    ratio: float
    low: float
    high: float
    commit: str


class History(Record):
    """The samples of one case, by time."""

    name: str
    group: str
    samples: tuple[Sample, ...]


def history_page(results: Iterable[Result]) -> Markup:
    """Return the report over time as HTML: a chart per case, a line per machine."""
    runs = sorted(results, key=_moment)
    threads = sorted({number for run in runs for number in run.threads})
    found = {number: histories(runs, number) for number in threads}
    machines = {run.environment.machine: run.environment.cpu for run in runs}
    colours = {machine: f"c{1 + k % 8}" for k, machine in enumerate(machines)}
    names = legend((f"line {colours[m]}", f"{m}: {cpu}") for m, cpu in machines.items())
    dates = [run.environment.date[:10] for run in runs]
    span = f"{dates[0]} to {dates[-1]}" if dates else "none"
    words = (
        "Axiomjit's median time divided by NumPy's in the same run, below 1 axiomjit is faster; "
        "vertical lines are 95 % intervals. Compare along one machine's line, not across machines."
    )
    groups = [history.group for number in threads for history in found[number]]
    plots = each(found, lambda part: _panels(part, colours), "No case has a ratio.")
    parts: list[Section | Markup] = [
        controls(threads, groups),
        Section("history", "Ratio to NumPy over time", join(tag("p", words), names, plots)),
    ]
    about = f"{count_things(len(runs), 'run')} on {count_things(len(machines), 'machine')}, {span}"
    return document("axiomjit benchmark history", [about], parts)


def histories(runs: Sequence[Result], threads: int) -> list[History]:
    """Return the mean of the cases that all runs have, then each case's ratios over the runs."""
    samples: dict[str, list[Sample]] = {}
    groups: dict[str, str] = {}
    for run in runs:
        for name, group, sample in _samples(run, threads):
            samples.setdefault(name, []).append(sample)
            groups[name] = group
    found = [History(name, groups[name], tuple(members)) for name, members in samples.items()]
    mean = _mean([history for history in found if len(history.samples) == len(runs)])
    return [mean, *found] if mean else found


def _samples(run: Result, threads: int) -> Iterator[tuple[str, str, Sample]]:
    env = run.environment
    for case in run.cases:
        ours = case.run(OURS)
        time = ours.at(threads) if ours else None
        if time is not None:
            interval = (time.ratio, time.ratio_low, time.ratio_high)
            commit = (env.commit or "unknown")[:10]
            yield case.name, case.group, Sample(env.machine, _moment(run), *interval, commit)


def _mean(found: Sequence[History]) -> History | None:
    """Return the geometric mean over cases of each run; None for fewer than two cases."""
    if len(found) < 2:
        return None
    means = []
    for column in zip(*(history.samples for history in found), strict=True):
        mean = exp(sum(log(sample.ratio) for sample in column) / len(column))
        means.append(column[0].replace(ratio=mean, low=mean, high=mean))
    return History(f"geometric mean of {len(found)} cases", "", tuple(means))


def _moment(run: Result) -> float:
    """Return the time of a run in seconds since 1970; a date without a zone is UTC."""
    date = datetime.fromisoformat(run.environment.date)
    return (date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp()


def _panels(found: Sequence[History], colours: Mapping[str, str]) -> Markup | None:
    if not found:
        return None
    moments = sorted({sample.moment for history in found for sample in history.samples})
    when = Axis("", DateScale(moments[0], moments[-1]), _day, most=3)
    drawn = [_panel(history, when, colours) for history in found]
    rows = [
        [history.name, _day(s.moment), s.machine, s.commit, digits(s.ratio), _interval(s)]
        for history in found
        for s in history.samples
    ]
    head = ["case", "date", "machine", "commit", "ratio", "interval"]
    below = numbers("Ratios to NumPy by case and run", head, rows)
    return join(tag("div", *drawn, class_="panels"), below)


def _panel(history: History, when: Axis, colours: Mapping[str, str]) -> Markup:
    ends = [end for s in history.samples for end in (s.low, s.ratio, s.high)]
    ratio = Axis("", log_scale([*ends, 0.8, 1.25]), lambda v: f"{v:.3g}", most=5)
    chart = Chart(history.name, when, ratio)
    chart.rule("roof", y=1.0)
    for machine, style in colours.items():
        members = [s for s in history.samples if s.machine == machine]
        chart.curve(((s.moment, s.ratio) for s in members), f"line {style}")
        for s in members:
            chart.segment((s.moment, s.low), (s.moment, s.high), f"line {style}")
            chart.mark(s.moment, s.ratio, _tip(history.name, s), style)
    group = history.group or "all groups"
    data = {"data_case": history.name, "data_group": history.group}
    return panel(breakable(history.name), group, chart.draw(130, "slim"), **data)


def _tip(name: str, sample: Sample) -> str:
    interval = f", interval {_interval(sample)}" if sample.low < sample.high else ""
    return (
        f"{name}\n{_day(sample.moment)}, {sample.machine}, commit {sample.commit}\n"
        f"ratio {digits(sample.ratio)}{interval}: {pace(sample.ratio)} than NumPy"
    )


def _interval(sample: Sample) -> str:
    return f"{digits(sample.low)} to {digits(sample.high)}"


def _day(moment: float) -> str:
    return datetime.fromtimestamp(moment, UTC).strftime("%Y-%m-%d")
