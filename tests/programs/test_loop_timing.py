"""The table of loops against Python and Numba names the goals that are missed."""

import pytest

from tests.programs.loop_timing import ARRAYS, NUMBERS, Timing, programs, table, timed

GOOD = Timing("good", NUMBERS, 100.0, 1.0, 1.0, 50.0, 200.0)
STEPS = Timing("steps", ARRAYS, 4.0, 1.0, 1.0, 50.0, 200.0)


def missed(*timings):
    return [line.removeprefix("missed: ") for line in table(timings) if line.startswith("missed")]


def test_the_table_has_ratios_and_means():
    head, *rows = table([GOOD, STEPS])
    assert head.split()[:3] == ["program", "python", "ms"]
    assert rows[0].split() == ["good", "100.00", "1.0000", "1.0000", "100.0", "1.00", "50", "200"]
    assert rows[2:] == [
        "numbers: 100.0 times as fast in the mean, goal 30; 1.00 of numba",
        "arrays: 4.0 times as fast in the mean, goal 3; 1.00 of numba",
        "of numba: 1.00, goal 1.1; first calls: 0.25",
    ]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"ours": 1.6}, "good takes 1.60 of Numba's time"),
        ({"first": 2500.0}, "the first call of good takes 2500 ms"),
        ({"python": 20.0}, "numbers are too slow"),
        ({"ours": 1.4}, "Numba is faster in the mean"),
        ({"first": 150.0}, "first calls are too slow"),
    ],
)
def test_each_goal_is_asked(change, reason):
    assert missed(GOOD) == []
    assert reason in missed(GOOD._replace(**change))


def test_a_program_is_timed():
    pytest.importorskip("numba")
    found = timed("prefix_sums", programs()["prefix_sums"], seconds=0.0)
    assert found.kind == NUMBERS
    assert min(found[2:]) > 0.0
