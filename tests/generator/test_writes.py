"""Random functions that write into arrays mean what they mean in NumPy.

`AXIOMJIT_WRITES` is how many of them run in the evaluator; others run in plain Python, compiled.
"""

import os

import pytest

from axiomjit.base.counters import stats
from axiomjit.graph.storages import VersionedStorage
from axiomjit.tracing.traced_storages import TracedStorage
from tests.generator.sequences import way
from tests.generator.writes import Written, campaign, draw, failure

PROGRAMS = int(os.environ.get("AXIOMJIT_WRITES", "400"))


@pytest.mark.parametrize(
    ("name", "share"), [("evaluated", 1.0), ("interpreted", 0.2), ("compiled", 0.03)]
)
def test_writes_mean_what_numpy_does(name, share):
    before, count = stats()["fallbacks"], int(PROGRAMS * share)
    failures = campaign(1, 0, count, name)
    assert not failures, "\n\n".join(failures[:3])
    assert stats()["fallbacks"] - before < count / 2


def test_programs_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)


PLANTED = {
    "a view keeps the version it was made of": (
        TracedStorage,
        "current",
        lambda storage, node: node,
    ),
    "writes are lost": (VersionedStorage, "write", lambda storage, following: None),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_defects_are_found(name, monkeypatch):
    monkeypatch.setattr(*PLANTED[name])
    assert campaign(1, 0, 40, "evaluated")


def test_a_value_that_is_read_while_it_is_written_is_found(monkeypatch):
    shift = Written(("a[1:] += a[:-1]",), ("a",), ("np.arange(9.0)", "np.arange(3.0)"))
    with way("interpreted"):
        assert failure(shift) is None
        monkeypatch.setattr("axiomjit.passes.save_versions.reads_of", lambda op, stored: {})
        assert failure(shift)
