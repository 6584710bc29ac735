"""The report over time: a plot per case, a line per machine, a mark per run."""

import math

import pytest

from axiomjit.bench.report.history import histories, history_page
from axiomjit.bench.suite.records import OURS, write_text
from tests.bench.html_tree import dangling_names, outside_references, read_html
from tests.bench.samples import result


def run(date, machine="3f9a21", factor=1.0, without=()):
    """The sample of another day, axiomjit's ratios multiplied."""
    sample = result()

    def scaled(one):
        if one.peer != OURS:
            return one
        timings = (
            t.replace(
                ratio=t.ratio * factor,
                ratio_low=t.ratio_low * factor,
                ratio_high=t.ratio_high * factor,
            )
            for t in one.timings
        )
        return one.replace(timings=tuple(timings))

    return sample.replace(
        environment=sample.environment.replace(date=date, machine=machine),
        cases=tuple(
            case.replace(runs=tuple(scaled(one) for one in case.runs))
            for case in sample.cases
            if case.name not in without
        ),
    )


RUNS = (
    run("2026-11-20T12:00:00Z", factor=0.5),
    run("2026-09-01T12:00:00Z"),
    run("2026-10-01T12:00:00+00:00", machine="other", without=("axpy",)),
)


def test_a_plot_per_case_and_a_mark_per_run():
    tree = read_html(history_page(RUNS))
    assert outside_references(tree) == []
    assert dangling_names(tree) == []
    shown = tree.one("div", data_threads="2")
    timed = [case.name for case in result().cases if case.run(OURS).timings]
    plots = {plot.attributes["aria-label"]: plot for plot in shown.all("svg", "plot")}
    assert [name for name in plots if not name.startswith("geometric")] == timed
    for name, plot in plots.items():
        runs = 2 if name == "axpy" else 3
        assert len(plot.all(style="mark")) == runs
        places = [line.attributes["points"].split() for line in plot.all("polyline")]
        assert [len(points) for points in places] == [2, runs - 2]


def test_samples_are_in_order_of_time():
    axpy = next(h for h in histories(sorted(RUNS, key=str), 1) if h.name == "axpy")
    ordered = histories(RUNS[::-1], 1)
    assert {s.ratio for s in axpy.samples} == {0.58, 0.29}
    tree = read_html(history_page(RUNS)).one("div", data_threads="1")
    tips = [
        mark.attributes["aria-label"].split("\n")[1]
        for mark in tree.one("svg", "plot", aria_label="jacobi").all(style="mark")
    ]
    assert [tip.split(",")[0] for tip in tips] == ["2026-09-01", "2026-11-20", "2026-10-01"]
    assert len(ordered) == len(histories(RUNS, 1))


def test_the_mean_is_over_cases_that_all_runs_have():
    (mean, *rest) = histories(RUNS[:2], 1)
    expected = math.prod(h.samples[1].ratio for h in rest) ** (1 / len(rest))
    assert mean.name == f"geometric mean of {len(rest)} cases"
    assert mean.samples[1].ratio == pytest.approx(expected)
    assert mean.samples[0].ratio == pytest.approx(expected / 2)
    assert histories(RUNS, 1)[0].name == f"geometric mean of {len(rest) - 1} cases"


@pytest.mark.parametrize("runs", [(), RUNS[:1], (result().replace(cases=()),)])
def test_few_runs(runs, tmp_path):
    write_text(history_page(runs), tmp_path / "history.html")
    tree = read_html((tmp_path / "history.html").read_text(encoding="utf-8"))
    marks = tree.all(style="mark")
    assert bool(marks) == any(run.cases for run in runs)
