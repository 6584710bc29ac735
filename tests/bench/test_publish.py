"""The chart, the README and the page of measurements show the newest result that is kept."""

import re
import xml.etree.ElementTree as ElementTree
from math import exp, log

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.report.publish import (
    END,
    PERFORMANCE,
    README,
    START,
    brief,
    documents,
    group_chart,
    publish,
)
from axiomjit.bench.report.table import digits
from axiomjit.bench.suite.records import NUMPY, OURS
from axiomjit.bench.suite.results import LOSS, Ranking
from tests.bench.samples import newest, result
from tests.bench.test_page import ODD
from tests.structure.sources import ROOT

SVG = "{http://www.w3.org/2000/svg}"
MARKED = f"head\n{START}old\n{END}tail\n"
CHARTS = sorted(set(ODD) - {"nothing runs", "only axiomjit", "no cases"})


@pytest.fixture
def clone(tmp_path):
    """A folder with the two documents."""
    (tmp_path / "docs").mkdir()
    for name in (README, PERFORMANCE):
        (tmp_path / name).write_text(MARKED, encoding="utf-8")
    return tmp_path


def test_the_documents_show_the_newest_kept_result():
    """`axiomjit bench report --publish` writes them."""
    written = documents(newest(), ROOT)
    assert {path.relative_to(ROOT).as_posix() for path in written} == {
        "README.md",
        "docs/performance.md",
        "docs/performance.svg",
    }
    for path, text in written.items():
        assert path.read_text(encoding="utf-8") == text, "axiomjit bench report --publish"


def test_only_the_marked_part_is_replaced(clone):
    paths = publish(result(), clone)
    assert len(paths) == 3
    for name in (README, PERFORMANCE):
        text = (clone / name).read_text(encoding="utf-8")
        assert text.startswith(f"head\n{START}")
        assert text.endswith(f"{END}tail\n")
        assert "old" not in text
    assert documents(result(), clone) == {path: path.read_text("utf-8") for path in paths}


@pytest.mark.parametrize("text", ["", f"{START}x", f"x{END}", f"{END}{START}"])
def test_a_document_without_a_marked_part_is_refused(clone, text):
    (clone / README).write_text(text)
    with pytest.raises(BenchError, match="write measurements into .*README.md") as caught:
        publish(result(), clone)
    assert caught.value.seen == "no marked part"
    assert START.strip() in caught.value.remedy
    assert (clone / PERFORMANCE).read_text(encoding="utf-8") == MARKED


def test_a_missing_document_is_refused(clone):
    (clone / README).unlink()
    with pytest.raises(BenchError, match="run it in a whole clone"):
        publish(result(), clone)


@pytest.mark.parametrize(
    "make", [result, ODD["no cases"], newest, ODD["no NumPy"], ODD["far ratios"]]
)
def test_the_summary_names_every_loss_and_every_mean(make):
    made = make()
    text = " ".join(brief(made).split())
    ranking = Ranking(made, made.threads[-1])
    to_numpy, _, to_others = text.partition("**Slower than another library**")
    for case in made.cases:
        numpy = ranking.ratio_to(case, NUMPY)
        if numpy and numpy.verdict == LOSS:
            assert f"`{case.name}` {digits(numpy.ratio)}" in to_numpy
        elif ranking.verdict(case) == LOSS:
            assert f"`{case.name}` " in to_others
        elif ranking.time(case):
            assert f"`{case.name}`" not in text
    for peer in ranking.peers:
        ratios = [s.ratio for c in made.cases if (s := ranking.ratio_to(c, peer))]
        mean = exp(sum(map(log, ratios)) / len(ratios))
        assert f"{digits(mean)} of {peer}'s ({len(ratios)} cases, " in text
    refused = [c.name for c in made.cases if not (c.run(OURS) and c.run(OURS).timings)]
    assert all(f"`{name}`" in text for name in refused)
    assert len(brief(made).splitlines()) < 24


@pytest.mark.parametrize("name", CHARTS)
def test_the_chart_has_a_mark_per_mean_at_its_place(name):
    made = ODD[name]()
    root = ElementTree.fromstring(group_chart(made))
    ranking = Ranking(made, made.threads[-1])
    groups = dict.fromkeys(case.group for case in made.cases)
    parts = [*([c for c in made.cases if c.group == group] for group in groups), made.cases]
    means = [s.mean for part in parts for p in ranking.peers if (s := ranking.score(p, part))]
    marks = [p for p in root.iter(f"{SVG}path") if p.find(f"{SVG}title") is not None]
    assert len(marks) == len(means)
    width = float(root.get("width"))
    places = [float(re.search(r"\(([\d.]+) ", p.get("transform"))[1]) for p in marks]
    assert all(0 < x < width for x in places)
    one = float(next(e.get("x1") for e in root.iter(f"{SVG}line") if e.get("class") == "one"))
    faster = sum(mean < 1 for mean in means)
    assert sum(x < one for x in places) == faster or min(abs(m - 1) for m in means) < 0.01
    kinds = {mark.get("class") for mark in marks}
    assert len(kinds) == len({mark.get("d") for mark in marks}) == len(ranking.peers)


@pytest.mark.parametrize("name", sorted(set(ODD) - set(CHARTS)))
def test_a_chart_of_nothing_is_refused(name):
    with pytest.raises(BenchError, match="draw a chart") as caught:
        group_chart(ODD[name]())
    assert caught.value.seen == "no library with a time"
    assert "name a run of several ones" in caught.value.remedy
