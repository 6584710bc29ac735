"""Programs with `axiomjit.numpy` take at most 1.1 of the memory that they take in NumPy."""

import sys

import pytest

from tests.programs.peak_memory import GOAL, PROGRAMS, Peak, measured, table

GOOD = Peak("good", 100.0, 105.0, 200.0)


def test_the_table_names_programs_that_miss_the_goal():
    head, row, *missed = table([GOOD])
    assert head.split()[-2:] == ["MB", "ratio"]
    assert row.split() == ["good", "100", "105", "1.05", "200", "2.00"]
    assert missed == []
    bad = GOOD._replace(name="bad", ours=112.0)
    assert table([GOOD, bad])[3:] == ["missed: bad takes more than 1.1 of NumPy's"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it under /proc")
@pytest.mark.parametrize("name", ["chain", "stencil"])
def test_processes_take_at_most_a_tenth_more(name):
    assert name in PROGRAMS
    found = measured(name, passes=2)
    assert found.ratio <= GOAL, found
