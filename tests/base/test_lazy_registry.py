"""Tables of which some rows are imported by the first look at them."""

import sys

import numpy as np
import pytest

from axiomjit.base.locks import LazyRegistry
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS
from axiomjit.tracing.tracer import WRITERS


@pytest.fixture
def rows(tmp_path, monkeypatch):
    """A table with a row at hand, and one of a module that is not imported."""
    (tmp_path / "late_rows_of_a_test.py").write_text("ROWS = {'far': 2}\n")
    monkeypatch.syspath_prepend(tmp_path)
    yield LazyRegistry({"near": 1}, "ROWS", "late_rows_of_a_test")
    sys.modules.pop("late_rows_of_a_test", None)


def test_a_row_at_hand_imports_nothing(rows):
    assert rows["near"] == 1
    assert "near" in rows
    assert "late_rows_of_a_test" not in sys.modules


def test_another_row_imports_its_module(rows):
    assert "far" in rows
    assert "late_rows_of_a_test" in sys.modules
    assert rows["far"] == 2
    assert dict(rows) == {"near": 1, "far": 2}
    assert len(rows) == 2
    assert "nowhere" not in rows
    with pytest.raises(KeyError, match="nowhere"):
        rows["nowhere"]


@pytest.mark.parametrize("table", [FUNCTIONS, METHODS])
def test_no_row_stands_in_two_tables(table):
    found = [*table._near]
    for module in table._modules:
        found += getattr(sys.modules[module], table._table) if len(table) else ()
    assert len(found) == len(set(found)) == len(table)


def test_what_writes_has_no_row_that_computes():
    assert not set(WRITERS) & set(FUNCTIONS)
    assert np.put in WRITERS
