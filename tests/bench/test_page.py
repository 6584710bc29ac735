"""The report of a run as HTML: its structure, for a usual run and for odd ones."""

import re

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.cli import main
from axiomjit.bench.report.charts import STAGES, stage_time
from axiomjit.bench.report.page import page
from axiomjit.bench.suite.records import (
    MISSING,
    NUMPY,
    OURS,
    TIMEOUT,
    UNSUPPORTED,
    WRONG,
    Run,
    write_result,
    write_text,
)
from axiomjit.bench.suite.results import LOSS, Ranking, rivals
from tests.bench.html_tree import dangling_names, outside_references, read_html
from tests.bench.samples import FILE, result

HOSTILE = """</script><script>alert("x")</script>'"&<!-- ]]>"""


def edited(change, cases=None):
    """The sample with every run of every case changed."""
    sample = result()
    chosen = sample.cases if cases is None else sample.cases[:cases]
    changed = (case.replace(runs=tuple(change(run) for run in case.runs)) for case in chosen)
    return sample.replace(cases=tuple(changed))


def without_peer(name):
    return edited(lambda run: Run(name, MISSING, "gone") if run.peer == name else run)


def failing(name):
    sample = result()
    reason = "outside the table"
    gone = tuple(Run(peer, UNSUPPORTED, reason) for peer in (OURS, NUMPY, "jax"))
    cases = [c.replace(runs=gone, cost=None) if c.name == name else c for c in sample.cases]
    return sample.replace(cases=tuple(cases))


def renamed(name):
    sample = result()
    first = sample.cases[0].replace(name=name, group=name, text=name, series=name)
    env = sample.environment.replace(cpu=name, machine=name, commit=name, blas=name)
    return sample.replace(cases=(first, *sample.cases[1:]), environment=env)


def times(factor):
    """A change that multiplies what axiomjit takes."""

    def change(run):
        if run.peer != OURS:
            return run
        fields = ("median_s", "low_s", "high_s", "ratio", "ratio_low", "ratio_high")
        longer = (
            t.replace(samples_s=(), **{name: factor * getattr(t, name) for name in fields})
            for t in run.timings
        )
        return run.replace(timings=tuple(longer))

    return change


ODD = {
    "usual": result,
    "a peer without times": lambda: without_peer("jax"),
    "no NumPy": lambda: without_peer(NUMPY),
    "a case that nobody runs": lambda: failing("matmul"),
    "nothing runs": lambda: edited(lambda run: Run(run.peer, MISSING, "gone")),
    "only axiomjit": lambda: edited(
        lambda run: run if run.peer == OURS else Run(run.peer, MISSING, "gone")
    ),
    "one case": lambda: edited(lambda run: run, cases=1),
    "one case, no limits": lambda: edited(lambda run: run, cases=1).replace(limits=()),
    "no cases": lambda: result().replace(cases=()),
    "no limits": lambda: result().replace(limits=()),
    "no plans": lambda: result().replace(
        cases=tuple(case.replace(cost=None) for case in result().cases)
    ),
    "one thread": lambda: edited(lambda run: run.replace(timings=run.timings[:1])).replace(
        threads=(1,), quick=True
    ),
    "long names": lambda: renamed("a_rather_long_name_of_a_case_" * 6),
    "hostile names": lambda: renamed(HOSTILE),
    "far ratios": lambda: edited(times(200.0)),
    "far faster": lambda: edited(times(1e-4)),
    "no samples": lambda: edited(
        lambda run: run.replace(timings=tuple(t.replace(samples_s=()) for t in run.timings))
    ),
}


@pytest.fixture(scope="module", params=ODD)
def odd(request):
    """A run and its page as a tree."""
    made = ODD[request.param]()
    return made, read_html(page(made))


def rankings(made):
    return [Ranking(made, threads) for threads in made.threads]


def part(tree, section, threads):
    """What a section shows for a number of threads."""
    (found,) = [
        element
        for whole in tree.all("section", aria_labelledby=section)
        for element in whole.all("div", data_threads=str(threads))
    ]
    return found


def test_nothing_is_fetched_and_all_names_resolve(odd):
    _, tree = odd
    assert outside_references(tree) == []
    assert dangling_names(tree) == []


def test_every_case_is_in_the_table_losses_first(odd):
    made, tree = odd
    for ranking in rankings(made):
        rows = part(tree, "cases", ranking.threads).one("tbody").all("tr")
        names = [row.attributes["data-case"] for row in rows]
        assert sorted(names) == sorted(case.name for case in made.cases)
        assert [row.one("th").text for row in rows] == [
            name + made.case(name).group for name in names
        ]
        lost = [ranking.verdict(made.case(name)) == LOSS for name in names]
        assert lost == sorted(lost, reverse=True)
        marked = [bool(row.all("td", "loss")) for row in rows]
        assert marked == lost


def test_every_row_has_a_cell_per_peer(odd):
    made, tree = odd
    peers = list(rivals(made))
    for threads in made.threads:
        for row in part(tree, "cases", threads).all("tr"):
            assert [
                c.attributes["data-peer"] for c in row.all() if "data-peer" in c.attributes
            ] == peers


def test_ratio_bars_are_as_many_as_ratios(odd):
    made, tree = odd
    for ranking in rankings(made):
        shown = part(tree, "ratios", ranking.threads)
        expected = [(case.name, s.peer) for case in made.cases for s in ranking.ratios(case)]
        found = [
            (row.attributes["data-case"], mark.attributes["data-peer"])
            for row in shown.all("div", "row")
            for mark in row.all("svg", "mark")
        ]
        assert sorted(found) == sorted(expected)
        assert len(shown.all("rect")) == len(expected)


def test_rooflines_have_a_point_per_case_with_arithmetic(odd):
    made, tree = odd
    for ranking in rankings(made):
        shown = part(tree, "machine", ranking.threads)
        timed = [case for case in made.cases if ranking.time(case)]
        expected = {
            "Roofline": [case.name for case in timed if case.cost and case.cost.flops],
            "Share of the bound reached": [c.name for c in timed if ranking.time(c).of_bound],
        }
        for title, names in expected.items():
            plots = shown.all("svg", "plot", aria_label=title)
            marks = [mark for plot in plots for mark in plot.all(style="mark")]
            assert sorted(mark.attributes["data-case"] for mark in marks) == sorted(names)


def test_compile_curves_have_a_mark_per_time(odd):
    made, tree = odd
    drawn = tree.one("section", aria_labelledby="compile")
    peers = (OURS, *rivals(made))
    for stage in STAGES:
        times = [
            (case.name, peer)
            for case in made.cases
            for peer in peers
            if stage_time(case.run(peer), stage) is not None
        ]
        marks = [
            (mark.attributes["data-case"], mark.attributes["data-peer"])
            for plot in drawn.all("svg", "plot", aria_label=stage.title)
            for mark in plot.all(style="mark")
        ]
        assert sorted(marks) == sorted(times)


def test_small_arrays_have_a_mark_per_time_and_a_line_per_peer(odd):
    made, tree = odd
    members = [case for case in made.cases if case.series]
    drawn = tree.all("section", aria_labelledby="small")
    assert bool(drawn) == bool(members)
    for ranking in rankings(made) if members else ():
        shown = part(tree, "small", ranking.threads)
        times = [
            (case.name, peer)
            for case in members
            for peer in (OURS, *ranking.peers)
            if ranking.time(case, peer)
        ]
        marks = [
            (m.attributes["data-case"], m.attributes["data-peer"]) for m in shown.all("circle")
        ]
        assert sorted(marks) == sorted(times)
        lines = [line.attributes["points"] for line in shown.all("polyline")]
        assert sum(len(points.split()) for points in lines) == len(times)


def test_the_work_of_each_case_is_in_a_table():
    made = result()
    shown = part(read_html(page(made)), "machine", 2).one("table").all("tr")
    rows = {row.one("th", scope="row").text: [c.text for c in row.all("td")] for row in shown[1:]}
    assert list(rows) == [case.name for case in made.cases if case.cost]
    # 2 million operations on 24 MB in 0.861 ms.
    assert rows["axpy"][:4] == ["2.00 M", "22.9 MiB", "0.083", "2.32 Gop/s"]
    assert rows["axpy"][4:] == ["27.9 GB/s", "147 %", "0 bytes", "7.63 MiB"]


def test_marks_lie_inside_their_plots(odd):
    _, tree = odd
    for mark in tree.all(style="mark"):
        for name in ("cx", "cy", "x", "y"):
            value = mark.attributes.get(name)
            if value is not None:
                assert 0 <= float(value.removesuffix("%")) <= 100


def test_marks_speak_and_are_no_tab_stops_of_their_own(odd):
    _, tree = odd
    for mark in tree.all(style="mark"):
        assert mark.attributes["aria-label"].strip()
        assert mark.attributes["role"] == "img"
        assert mark.attributes["tabindex"] == "-1"


def test_what_has_no_time_is_listed_with_its_reason(odd):
    made, tree = odd
    summary = tree.one("section", aria_labelledby="summary")
    runs = [(case.name, case.run(OURS)) for case in made.cases]
    lines = [f"{name}: {run.status}, {run.reason}" for name, run in runs if not run.timings]
    useless = [
        f"{case.name}, {run.peer}: {run.status}, {run.reason}"
        for case in made.cases
        for run in case.runs
        if run.peer != OURS and run.status in (WRONG, TIMEOUT)
    ]
    assert [item.text for item in summary.all("li")] == [*lines, *useless]
    listed = summary.text
    count = f"{len(lines)} of {len(made.cases)} cases are not run by axiomjit"
    assert (count in listed) == bool(lines)
    timed = {run.peer for case in made.cases for run in case.runs if run.timings}
    for peer in made.peers:
        assert (f"{peer.name} has no times" in listed) == (peer.name not in timed | {OURS})


def test_the_header_says_what_was_measured():
    text = read_html(page(result())).one("header").text
    for word in ("Example CPU 3000", "2026-11-20 12:00", "8f5c10a", "numpy 2.4.6", "load 0.20"):
        assert word in text


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"modified": True}, "changes that the commit does not have"),
        ({"load_start": 1.5}, "busy: load 1.50 on 2 cores"),
        ({"governor": "powersave"}, "'powersave'"),
    ],
)
def test_the_header_warns(change, word):
    sample = result()
    made = sample.replace(environment=sample.environment.replace(**change))
    (line,) = read_html(page(made)).one("header").all("p", "caution")
    assert word in line.text


def test_a_quick_run_is_called_quick():
    made = result().replace(quick=True)
    assert "quick run" in read_html(page(made)).one("header").text
    assert "quick run" not in read_html(page(result())).one("header").text


def test_summary_counts_and_means():
    made = result()
    cards = read_html(page(made)).one("section", aria_labelledby="summary").all("div", "card")
    seen = [[card.one("h4").text, *(b.text for b in card.all("b"))] for card in cards]
    expected = []
    for ranking in rankings(made):
        for peer in ranking.peers:
            counts = ranking.score(peer, made.cases).verdicts
            expected.append([f"against {peer}", *(str(count) for count in counts.values())])
    assert seen == expected


def test_hostile_names_stay_text():
    text = page(renamed(HOSTILE))
    tree = read_html(text)
    assert HOSTILE in tree.one("section", aria_labelledby="ratios").text
    assert len(tree.all("script")) == 1
    assert "alert" not in tree.one("script").text


def test_the_page_is_the_same_every_time():
    assert page(result()) == page(result())


def test_file(tmp_path):
    write_text(page(result()), tmp_path / "page.html")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == page(result())
    with pytest.raises(BenchError, match=re.escape(f"write {tmp_path}\n")):
        write_text(page(result()), tmp_path)


def test_command(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(FILE), "--out", "a.html"], "bench") == 0
    assert capsys.readouterr().out == "wrote a.html\n"
    assert (tmp_path / "a.html").read_text(encoding="utf-8") == page(result())
    write_result(result(), tmp_path / "b.json")
    assert main(["report", "b.json"], "bench") == 0
    assert (tmp_path / "b.html").is_file()
    assert main(["report", "none.json"], "bench") == 2
    assert "read the results in none.json" in capsys.readouterr().err


@pytest.mark.parametrize("text", ["<p><b></p></b>", "<div>", "</p>", '<p id="a" id="b"></p>'])
def test_reader_refuses_broken_html(text):
    with pytest.raises((ValueError, IndexError)):
        read_html(text)


@pytest.mark.parametrize(
    "text",
    [
        '<img src="https://x.org/a.png"></img>',
        '<link rel="stylesheet" href="page.css">',
        "<style>p { background: url(a.png) }</style>",
        '<p style="background: url(a.png)"></p>',
        "<script>fetch('a')</script>",
        "<style>@import 'a.css';</style>",
    ],
)
def test_outside_references_are_found(text):
    assert outside_references(read_html(text))


@pytest.mark.parametrize(
    "text", ['<p id="a"></p><p id="a"></p>', '<p aria-labelledby="b"></p>', '<a href="#c"></a>']
)
def test_dangling_names_are_found(text):
    assert dangling_names(read_html(text))
