"""Random loops that print find faults of exits: one trip late, values of the trip before."""

from unittest.mock import patch

import pytest

from axiomjit.base.config import config
from axiomjit.dispatch import exits
from axiomjit.functions.exit_suites import Suites
from tests.generator.exit_loops import failure, short_loops
from tests.generator.sequences import way

SEED = 1
LATE, BEFORE, WHOLE = 2, 2, 3
"""Functions that find a fault."""


@pytest.fixture(autouse=True)
def _short():
    with way("evaluated"), patch.object(config, "_fallback", "warn"), short_loops():
        yield


@pytest.mark.parametrize("number", [LATE, WHOLE])
def test_functions_that_print_do_as_in_python(number):
    assert failure(SEED, number) is None


def late(right):
    """An exit whose branch runs in the trip after its own."""

    def run(self, names):
        found = right(self, names)
        if found and self.at and self._region.loop.counted:
            self.at = 0
        return found

    return run


def before(right):
    """An exit that has the values of the exit before."""
    last = {}

    def run(self, names):
        found = right(self, names)
        if found:
            key = self._region.loop.line
            self.values, last[key] = last.get(key, self.values), self.values
        return found

    return run


@pytest.mark.parametrize(("fault", "number"), [(late, LATE), (before, BEFORE)])
def test_faults_of_runs_are_found(fault, number, monkeypatch):
    monkeypatch.setattr(exits.Trips, "run", fault(exits.Trips.run))
    assert failure(SEED, number) is not None


def test_rests_of_trips_from_their_start_are_found(monkeypatch):
    right = Suites._resumed
    monkeypatch.setattr(
        Suites,
        "_resumed",
        lambda self, nodes, at, inside, done: right(self, nodes, "0", inside, done),
    )
    assert failure(SEED, WHOLE) is not None
