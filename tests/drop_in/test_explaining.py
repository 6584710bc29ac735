"""Explanations of segments: their text, the user's lines, and whether they are compiled."""

import threading

import pytest

import axiomjit
import axiomjit.numpy as np
from axiomjit.base.errors import GraphValueError
from axiomjit.numpy import programs


def chain(x):
    y = np.sqrt(x * 2.0)
    y[1:3] = 0.5
    return y


def test_the_last_segment_has_the_users_lines():
    x = np.ones((60, 90))
    for _ in range(3):
        chain(x).materialize()
    told = axiomjit.explain_last()
    lines = told.text.splitlines()
    assert lines[:2] == ["def segment(v0):", "    # v0: float64 60 x 90"]
    shown = [line.partition("  # ") for line in lines[2:-1]]
    statements = [statement.strip() for statement, _, _ in shown]
    assert statements == ["v1 = v0 * 2.0", "v2 = np.sqrt(v1)", "v2[1:3] = 0.5"]
    assert [where.rpartition("/")[2] for _, _, where in shown] == [
        f"test_explaining.py:{chain.__code__.co_firstlineno + k}" for k in (1, 1, 2)
    ]
    assert lines[-1].strip() == "return (v2,)"
    assert (told.is_compiled, told.numpy_ms > 0) == (False, True)
    assert str(told).endswith(f"# runs: in NumPy so far, {told.numpy_ms:.1f} ms\n")


def test_a_segment_that_runs_often_is_compiled(monkeypatch):
    monkeypatch.setattr(programs, "COMPILE_S", 0.0)
    monkeypatch.setattr(programs, "STATEMENT_S", 0.0)
    monkeypatch.setattr(programs, "LOWER_S", 0.0)
    x = np.ones(5000)
    for _ in range(4):
        ((x + 1.5) * x).materialize()
    assert axiomjit.explain_last().is_compiled
    assert str(axiomjit.explain_last()).endswith("# runs: compiled\n")


def test_a_thread_without_segments_has_nothing_to_show():
    found = []

    def ask():
        with pytest.raises(
            GraphValueError, match="no segment of lazy operations has run"
        ) as raised:
            axiomjit.explain_last()
        found.append(raised)

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert len(found) == 1
