"""The tools that measure programs of Dask arrays: peaks of processes, and simulated workers."""

import sys

import numpy as np
import pytest

pytest.importorskip("dask.array")

from axiomjit.base.config import config  # noqa: E402 - below the import of dask
from tests.programs import worker_programs  # noqa: E402
from tests.programs.block_programs import (  # noqa: E402
    DASK,
    GOAL,
    OURS,
    PROGRAMS,
    Cost,
    measured,
    results,
    table,
)
from tests.programs.simulated_workers import Task, recorded, simulated  # noqa: E402


@pytest.mark.parametrize("name", [one for one in PROGRAMS if one != "climatology"])
def test_compiled_programs_are_plain_dasks(name, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    plain, ours = (results(name, way, 2**16, 3) for way in (DASK, OURS))
    for one, other in zip(plain, ours, strict=True):
        found = other.compute(scheduler="synchronous")
        np.testing.assert_allclose(found, one.compute(scheduler="synchronous"), rtol=1e-10)


def test_the_table_names_programs_that_miss_the_goal():
    good = Cost("good", (100.0, 2.0), (50.0, 1.0))
    head, row, *missed = table([good])
    assert head.split()[-3:] == ["dask", "s", "s"]
    assert row.split() == ["good", "100", "50", "0.50", "2.00", "1.00"]
    assert missed == []
    bad = good._replace(name="bad", ours=(51.0, 1.0))
    assert table([bad])[2:] == ["missed: bad takes more than 0.5 of plain Dask's"]


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel tells it under /proc")
@pytest.mark.parametrize("name", ["standardised", "chain"])
def test_programs_take_half_of_plain_dasks_memory(name):
    assert measured(name, size=2**23, blocks=8).ratio <= GOAL


def test_simulated_workers():
    tasks = {k: Task(1.0, 100, frozenset()) for k in "abcd"}
    tasks["sum"] = Task(2.0, 10, frozenset("abcd"))
    one, two, many = (simulated(tasks, workers, rate=100.0) for workers in (1, 2, 9))
    assert (one.alone, one.path, one.seconds, one.transfer) == (6.0, 3.0, 6.0, 0)
    assert (two.seconds, two.transfer) == (2.0 + 1.0 + 2.0, 100)  # two rounds, a transfer, the sum
    assert many.seconds == 1.0 + 1.0 + 2.0
    assert one.peak == 4 * 100 + 10


def test_tasks_of_a_program_are_recorded(monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    tasks = recorded("chain", OURS, 2**16, 5)
    seen = set()
    for key, task in tasks.items():
        assert task.needs <= seen
        seen.add(key)
    assert max(task.size for task in tasks.values()) >= 2**16
    assert simulated(tasks, 2).path <= simulated(tasks, 2).seconds


@pytest.mark.parametrize("name", worker_programs.PROGRAMS)
def test_programs_of_workers_are_numpys(name, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    assert worker_programs.equals_numpy(name)


def test_a_worker_program_fails_by_name(monkeypatch, capsys):
    runs = iter(
        [
            worker_programs.Run([np.ones(2)], 1.0, 2 * 10**9, 0),
            worker_programs.Run([np.zeros(2)], 1.0, 10**6, 5),
        ]
    )
    monkeypatch.setattr(worker_programs, "run", lambda *_, **__: next(runs))
    monkeypatch.setattr(worker_programs, "equals_numpy", lambda _: True)
    assert worker_programs.faults("scan", 1e9, 10**9, True) == [
        "other bits with a worker killed",
        "a worker held more than its limit",
        "a worker wrote to disk",
    ]
    assert len(capsys.readouterr().out.splitlines()) == 2
