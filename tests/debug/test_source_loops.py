"""`explain` says of each loop of the source what became of it."""

import linecache

import numpy as np
import pytest

import axiomjit
from axiomjit.base import loop_outcomes
from axiomjit.debug import lowered
from axiomjit.debug.lowered import ONE_KERNEL, REPEATED

X, M = np.ones(20), np.eye(20)


def all_kinds(x, m, n):
    s, kept = 0.0, []
    for i in range(x.shape[0]):  # one kernel
        for _ in range(i):  # inside
            s += x[i]
        if x[i] < -1.0:
            raise ValueError
    for k in range(3):  # short
        s += k
    for _ in range(n):  # repeated
        x = np.sort(m @ x)
    for v in x:  # one kernel
        kept.append(v)
    for v in kept:  # one kernel
        s += v
    for v in x:  # strings
        kept.append(str(v > 0))
    for v in (s, s):  # objects
        s += v
    while s > 1.0:  # one kernel
        s *= 0.5
    for _ in range(9):  # statements
        try:  # noqa: SIM105
            s += 1
        except ValueError:
            pass
    return s, x


OUTCOMES = {
    "one kernel": ONE_KERNEL,
    "inside": loop_outcomes.INSIDE,
    "short": f"unrolled: {loop_outcomes.SHORT}",
    "repeated": REPEATED,
    "strings": "unrolled: append of a list",
    "objects": f"unrolled: {loop_outcomes.NO_ARRAYS}",
    "statements": f"unrolled: {loop_outcomes.STATEMENTS}",
}


def outcomes(function, *args):
    """The word behind the `#` of each loop that is explained, and its outcome."""
    text = axiomjit.jit(function).lower(*args).source_loops
    found = []
    for line in text.splitlines():
        place, _, outcome = line.partition(": ")
        name, _, number = place.rpartition(":")
        assert name == __file__
        found.append((linecache.getline(name, int(number)).partition("# ")[2].strip(), outcome))
    return found


def test_each_loop_has_its_outcome():
    found = outcomes(all_kinds, X, M, 9)
    assert len(found) == 10
    assert all(OUTCOMES[word] == outcome for word, outcome in found)
    text = str(axiomjit.jit(all_kinds).explain(X, M, 9))
    assert text.index("loops of the source") < text.index("graph: what is computed")


def without_loops(x):
    return x + 1


def test_a_function_without_loops_has_no_such_section():
    assert "loops of the source" not in str(axiomjit.jit(without_loops).explain(X))


def test_a_region_is_told_from_a_repeated_plan(monkeypatch):
    monkeypatch.setattr(lowered, "Region", int)
    with pytest.raises(AssertionError):
        test_each_loop_has_its_outcome()


def over_numbers(numbers):
    s = 0.0
    for v in numbers:
        if v > 0.5:
            s += v
            print(v)
    return s


def test_a_loop_over_many_numbers_of_a_list_has_a_reason():
    numbers = [float(k % 2) for k in range(40)]
    text = str(axiomjit.jit(over_numbers).explain(numbers))
    assert "left to Python: a traced bool" in text
