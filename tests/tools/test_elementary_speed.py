"""Commands that time elementary functions: turns, bounds, what is refused, compile time."""

import itertools
import statistics
import sys

import pytest

from tools.elementary import speed
from tools.elementary.compile import FUNCTIONS, PLAIN, compile_ms, measure
from tools.elementary.speed import NAMES, compare, main
from tools.elementary.turns import LEAST, interleaved, upper


def test_turns_change_their_order_and_ratios_are_of_one_round():
    calls, durations = [], {"a": itertools.count(1), "b": itertools.count(2)}
    now = [0.0]

    def runner(name):
        def run():
            calls.append(name)
            now[0] += next(durations[name])

        return run

    found = interleaved(runner("a"), runner("b"), 4, clock=lambda: now[0])
    assert "".join(calls) == "ab" + "ba" + "ab" + "ba" + "ab"
    assert found.seconds == 3.5
    assert found.ratio == pytest.approx((3 / 4 + 4 / 5) / 2)
    assert found.bound == 5 / 6


def test_rounds_end_when_time_is_spent():
    calls = []
    interleaved(lambda: calls.append(1), lambda: None, 10**6, spend_s=0.0)
    assert len(calls) == LEAST + 1


def test_the_bound_covers_the_median():
    assert upper([1.0] * 20 + [9.0]) == 1.0
    assert upper(list(range(101))) == 61
    assert upper([3.0, 1.0]) == 3.0


def test_cells_of_a_function_and_of_one_that_numpy_lacks(monkeypatch):
    monkeypatch.setattr(speed, "SAMPLE", 3000)
    ours, *ratios = compare("hypot", "f4", 1000, 20)
    assert all(float(cell) > 0 for cell in (ours, *ratios))
    assert compare("erf", "f8", 1000, 20)[1:3] == ["-", "-"]


def test_an_unknown_function_is_refused(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["elementary_speed", "sinus"])
    with pytest.raises(SystemExit):
        main()
    assert f"sinus: not among {', '.join(NAMES)}" in capsys.readouterr().err


@pytest.mark.alone
def test_ten_functions_take_at_most_two_and_a_half_times_the_compile_time():
    """The goal is 2; processor time varies on a busy machine."""
    assert len(FUNCTIONS) == len(PLAIN) == 10
    found = measure("f8", 9)
    print(f"a kernel of ten functions / one without: {found.ratio:.2f}, {found}")
    assert found.ratio <= 2.5
    pairs = [(compile_ms(PLAIN[:1], "f8"), compile_ms(PLAIN, "f8")) for _ in range(9)]
    assert statistics.median(one / ten for one, ten in pairs) < 1
