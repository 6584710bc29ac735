"""Loops do not load again what no trip changes."""

import pytest

from axiomjit.base.config import config
from axiomjit.passes.ir import accesses
from axiomjit.passes.loops import hoist_loads as hoisting
from axiomjit.passes.loops.hoist_loads import hoist_loads
from axiomjit.symbolic.index_ranges import Trips
from tests.passes.examples import example
from tests.passes.graphs import lower_until
from tests.passes.loops.planted_loops import PLANTED
from tests.passes.loops.test_share_trips import differs, lowered


@pytest.mark.parametrize("name", ["pivot_column", "pivot_in_view"])
def test_hoist_loads_golden(golden, name):
    found = lowered(name)
    golden(f"{found.after('share_trips')}\n{found.after('hoist_loads')}")


def test_hoist_loads_leaves_alone():
    case = example("padded")
    program = lower_until("hoist_loads", case)
    assert hoist_loads(program, case.context) is program


@pytest.mark.parametrize("name", PLANTED)
def test_loads_are_moved_if_no_trip_writes_their_element(name):
    found = lowered(name)
    assert (found.after("share_trips") != found.after("hoist_loads")) == PLANTED[name][3]


def test_a_loop_without_trips_reads_nothing(monkeypatch):
    """`x[i + 1]` of the last row is beyond the array, and no trip reads it."""
    monkeypatch.setattr(config, "bounds", True)
    assert not differs("next_of_none")
    monkeypatch.setattr(hoisting, "is_inside", lambda *given: True)
    with pytest.raises(Exception, match="is outside"):
        differs("next_of_none")


FAULTS = {
    "accesses never meet": (Trips, "may_meet", lambda *given: False),
    "positions are not divided": (accesses, "divided", lambda length, by: (length, length * 0)),
    "stores are not seen": (hoisting, "accesses_in", lambda *given: []),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(*FAULTS[fault])
    found = [name for name, row in PLANTED.items() if not row[3] and name.startswith("pivot")]
    wrong = [name for name in (*found, "pivot_column") if differs(name)]
    moved = [lowered(name) for name in ("pivot", "pivot_column")]
    assert wrong or any(one.after("share_trips") == one.after("hoist_loads") for one in moved)
