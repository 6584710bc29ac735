"""Why a library has no time is said once per reason, with a letter in the tables."""

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.report.page import page
from axiomjit.bench.report.table import Footnotes, markdown, table
from axiomjit.bench.suite import peers
from axiomjit.bench.suite.records import TIMEOUT, UNSUPPORTED, WRONG, Run
from axiomjit.bench.suite.results import PACKAGE, checkout, results_folder
from tests.bench.samples import result
from tests.structure.sources import ROOT, clone_only

STATUSES = {UNSUPPORTED: "-", WRONG: WRONG, TIMEOUT: TIMEOUT}


def failing(how):
    """The sample where peers fail as said: (case, peer) -> (status, reason)."""
    made, cases = result(), []
    for case in made.cases:
        runs = (
            Run(run.peer, *how[case.name, run.peer]) if (case.name, run.peer) in how else run
            for run in case.runs
        )
        cases.append(case.replace(runs=tuple(runs)))
    return made.replace(cases=tuple(cases))


@pytest.mark.parametrize("status", STATUSES)
@pytest.mark.parametrize("reason", ["too `large` | $5", "x" * 500])
def test_every_form_says_why_a_peer_failed(status, reason):
    made = failing({("axpy", "jax"): (status, reason)})
    (note,) = [n for n in Footnotes(made, ["jax"]).notes if "axpy" in n.cases]
    mark = f"{STATUSES[status]} {note.letter}"
    assert Footnotes(made, ["jax"]).mark("jax", "axpy") == mark
    for text in (table(made), markdown(made), page(made)):
        assert f"jax, axpy: {status}" in text
        assert reason[:9].replace("`", "'") in text.replace("`", "'")
    row = next(line for line in table(made).splitlines() if line.startswith("axpy "))
    letter = Footnotes(made, [p.name for p in made.peers if p.name != "axiomjit"]).mark(
        "jax", "axpy"
    )
    assert letter in row


def test_equal_reasons_are_one_note_and_letters_go_on_after_z():
    names = [case.name for case in result().cases]
    how = {(name, peer): (WRONG, f"{peer} {name}") for name in names for peer in ("jax", "numba")}
    how |= {(name, "numexpr"): (WRONG, "as always") for name in names}
    notes = Footnotes(failing(how), ["jax", "numba", "numexpr"]).notes
    assert len(notes) == 2 * len(names) + 1
    letters = [note.letter for note in notes]
    assert letters[:2] == ["a", "b"]
    assert letters[25:27] == ["z", "aa"]
    (same,) = [note for note in notes if note.peer == "numexpr"]
    assert same.cases == tuple(names)
    assert same.subject == f"numexpr, {len(names)} cases: {WRONG}"


def test_a_peer_that_was_not_asked_has_a_dash():
    assert Footnotes(result(), ["torch"]).mark("torch", "axpy") == "-"


@clone_only
def test_reasons_do_not_tell_where_the_tree_lies():
    error = TypeError(f"no loop in {PACKAGE / 'bench' / 'cases.py'} (3)")
    assert peers.reason(error) == "TypeError: no loop in axiomjit/bench/cases.py (3)"


@clone_only
def test_a_clone_is_told_from_an_installation(tmp_path):
    assert checkout() == ROOT
    assert results_folder("keep") == ROOT / "bench" / "results"
    package = tmp_path / "axiomjit"
    (package / "bench").mkdir(parents=True)
    (tmp_path / "pyproject.toml").write_text("")  # whose own it may be
    assert checkout(package) is None
    with pytest.raises(BenchError) as caught:
        results_folder("keep results", package)
    assert caught.value.asked == "keep results"
    assert f"installed in {tmp_path}" in caught.value.seen
    assert "--json FILE" in caught.value.remedy
