"""Random loops over arrays do what Python does; faults in the rules of regions are found."""

import pytest

from axiomjit.base.config import config
from axiomjit.numpy_rules import indexing
from axiomjit.passes.graph import save_versions
from axiomjit.symbolic.dims import larger
from axiomjit.symbolic.index_ranges import IndexRanges, Trips
from axiomjit.tracing.region_bodies import RegionBody
from tests.generator import array_loops
from tests.generator.budget import budget

MOST_TRIED = 150
"""The functions among which a planted fault must show."""
SHOWS = {"a version is ignored": 69}
"""By the fault, a function that shows it and is tried first, where many before it do not."""


@pytest.mark.parametrize("name", ["evaluated", "small", "interpreted"])
def test_random_loops_over_arrays_do_what_python_does(name):
    assert array_loops.campaign(1, 0, budget(12), name) == []


class Ordered:
    """An order of writes in which no version is read after the next write."""

    late = frozenset()

    def __init__(self, order):
        self._order = order

    def __getattr__(self, name):
        return getattr(self._order, name)


order_writes, within = save_versions.order_writes, IndexRanges.within
FAULTS = {
    "a dependence is not seen": (save_versions, "may_meet_in_trip", lambda *given: False),
    "a value is not copied": (save_versions, "_reads_elsewhere", lambda *given: False),
    "a version is ignored": (save_versions, "order_writes", lambda *g: Ordered(order_writes(*g))),
    "the last trip is forgotten": (IndexRanges, "within", lambda r, s, n: within(r, s, n - 1)),
    "positions do not wrap": (indexing, "wrapped", lambda position, length: larger(position, 0)),
    "trips are taken for independent": (Trips, "may_meet_later", lambda *given: False),
    "elements are taken for unwritten": (Trips, "may_meet", lambda *given: False),
    "writes are not noted": (RegionBody, "note_write", lambda self, storage: None),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(config, "bounds", True)  # no kernel runs that may leave its memory
    monkeypatch.setattr(*FAULTS[fault])
    with array_loops.in_way("interpreted"):
        numbers = dict.fromkeys((SHOWS.get(fault, 0), *range(MOST_TRIED)))
        drawn = (array_loops.drawn(2, number) for number in numbers)
        assert any(array_loops.failure(*one) for one in drawn)
