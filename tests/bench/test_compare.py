"""`compare` on runs with made-up times, whose truth is known."""

import re

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.compare import compare, measure_again
from axiomjit.bench.suite.measure import run
from axiomjit.bench.suite.peers import ALWAYS
from axiomjit.bench.suite.records import OURS
from tests.bench.fakes import REFUSED, install

GROUP = "map"


def measured(monkeypatch, seed, slower=None, answers=None):
    install(monkeypatch, slower, answers, seed)
    return run(find([GROUP]), ALWAYS, quick=True)


def test_an_unchanged_tree_is_not_slower(monkeypatch, capsys):
    before = measured(monkeypatch, 3)
    for seed in range(5):
        after = measured(monkeypatch, 20 + seed)
        assert compare(before, after, measure_again(after)).slower == ()
    told = capsys.readouterr()
    assert told.out == ""  # progress goes to standard error
    assert re.search(r"^1/\d+ \w+, \d+:\d\d left$", told.err, re.MULTILINE)


def test_each_tree_that_is_a_quarter_slower_is_told_apart(monkeypatch):
    before = measured(monkeypatch, 0)
    for seed in range(5):
        after = measured(monkeypatch, 10 + seed, {"axpy": 2.0})
        verdict = compare(before, after, measure_again(after))
        assert [c.case for c in verdict.slower] == ["axpy"]
        assert verdict.slower[0].factor == pytest.approx(2.0, rel=0.3)
        assert verdict.slower[0].again is not None


def test_what_a_rerun_does_not_find_is_not_slower(monkeypatch):
    before = measured(monkeypatch, 0)
    after = measured(monkeypatch, 1, {"axpy": 2.0})
    install(monkeypatch, seed=2)  # the rerun is as fast as ever
    verdict = compare(before, after, measure_again(after))
    assert verdict.slower == ()
    assert [c.case for c in verdict.unsure] == ["axpy"]
    assert "not confirmed: axpy, 2 threads: " in verdict.text
    assert "; again 0." in verdict.text
    assert "none slower" in verdict.text
    assert [c.case for c in compare(before, after, None).slower] == ["axpy"]


def test_faster_is_told_and_is_no_fault(monkeypatch):
    before, after = (measured(monkeypatch, k, {"axpy": s}) for k, s in ((0, 2.0), (1, 1.0)))
    verdict = compare(before, after, None)
    assert verdict.slower == ()
    assert [c.case for c in verdict.faster] == ["axpy"]
    assert verdict.mean < 1


def test_a_case_that_no_longer_runs(monkeypatch):
    before = measured(monkeypatch, 0)
    refused = {(OURS, "prepare"): REFUSED}
    after = measured(monkeypatch, 1, answers=refused)
    verdict = compare(before, after, measure_again(after))
    assert len(verdict.slower) == len(find([GROUP]))
    assert "slower: axpy is not run any more: the case has no expression for it" in verdict.text
    install(monkeypatch)
    verdict = compare(before, after, measure_again(after))
    assert (len(verdict.slower), len(verdict.unsure)) == (0, len(find([GROUP])))


def test_cases_of_one_file_only_are_named(monkeypatch):
    before = measured(monkeypatch, 0)
    after = before.replace(cases=before.cases[1:])
    assert "only in the first file: axpy" in compare(before, after, None).text


def test_runs_that_cannot_be_compared(monkeypatch):
    before = measured(monkeypatch, 0)
    other = before.replace(environment=before.environment.replace(machine="00000000"))
    with pytest.raises(BenchError, match="files of two machines"):
        compare(before, other, None)
    wider = before.replace(threads=(64,))
    with pytest.raises(BenchError, match=r"\(2,\) threads in one, \(64,\) in the other"):
        compare(before, wider, None)
