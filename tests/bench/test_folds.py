"""The comparison of folds with NumPy prints a line for each case and dtype."""

import pytest

from axiomjit.bench import folds


def test_each_case_has_its_figures():
    _, *lines = folds.table(tuple(folds.CASES), rounds=1, side=200)
    assert [line.split()[0] for line in lines] == [n for n in folds.CASES for _ in "84"]
    for line in lines:
        name, _, *cells, limit = line.split()
        assert float(limit) == folds.CASES[name].limit
        of_rows = folds.CASES[name].of_rows
        assert cells[1:] == ["1", "kernel"] if of_rows else len(cells) == len(folds.AXES)
        assert all(float(cell.rstrip("*")) > 0 for cell in cells[: 1 if of_rows else 3])


@pytest.mark.parametrize(("value", "text"), [(1.0, "1.00"), (1.104, "1.10*"), (2.5, "2.50*")])
def test_what_is_above_the_limit_has_a_star(value, text):
    assert folds._starred(value, 1.1) == text


def test_the_command_measures_the_case_that_is_named(capsys, monkeypatch):
    asked = []
    monkeypatch.setattr(
        folds, "table", lambda names, rounds: asked.append((names, rounds)) or ["x"]
    )
    folds.main(["--case", "max", "--rounds", "3"])
    assert asked == [(["max"], 3)]
    assert capsys.readouterr().out == "x\n"
