"""A run with workers that tell made-up times: what is recorded, and what puts a peer out."""

import pytest

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.measure import QUICK, bound, run
from axiomjit.bench.suite.peers import ALWAYS, chosen
from axiomjit.bench.suite.records import NUMPY, OURS, TIMEOUT, UNSUPPORTED, WRONG, Cost, to_text
from tests.bench.fakes import COST, LOST, ONE_LIMIT, REFUSED, FakeWorker, install

PEERS = ("numpy", "axiomjit", "numexpr", "numba", "numba-parallel")


def measured(peers=PEERS, quick=False):
    return run(find(["axpy"]), peers, quick=quick).cases[0]


def test_a_full_run(monkeypatch):
    install(monkeypatch)
    result = run(find(["axpy", "total_10"]), PEERS, quick=False)
    to_text(result)  # obeys the format
    assert result.threads == (1, 2)
    assert [limit.threads for limit in result.limits] == [1, 2]
    ours = result.case("axpy").run(OURS)
    assert [t.threads for t in ours.timings] == [1, 2]
    assert ours.at(2).ratio == pytest.approx(0.5, rel=0.1)
    assert ours.at(2).ratio_low < 0.5 < ours.at(2).ratio_high
    assert ours.first_call_s == 0.3
    assert ours.cold_compile_s == pytest.approx(0.05, rel=0.05)
    assert ours.warm_load_s == pytest.approx(0.025, rel=0.1)
    assert ours.memory_peak_bytes == 8 * 10**6
    least_s = 24e6 / 1e10  # the nearest triad is the one of 10**8 bytes
    assert ours.at(2).of_bound == pytest.approx(least_s / ours.at(2).median_s)
    assert result.case("axpy").run(NUMPY).at(1).ratio == 1.0
    parallel = result.case("axpy").run("numba-parallel")
    assert [t.threads for t in parallel.timings] == [2]
    assert parallel.warm_load_s is None


def test_a_quick_run_has_one_group_of_workers(monkeypatch):
    install(monkeypatch)
    case = measured(ALWAYS, quick=True)
    assert set(FakeWorker.started) == {(NUMPY, False), (OURS, False)}
    assert case.run(OURS).warm_load_s is None
    assert [t.threads for t in case.run(OURS).timings] == [2]


@pytest.mark.parametrize(
    ("do", "answer", "status", "reason"),
    [
        ("prepare", REFUSED, UNSUPPORTED, "no expression"),
        ("first", {"status": WRONG, "reason": "off by 1"}, WRONG, "off by 1"),
        ("first", LOST["late"], TIMEOUT, "no first result within 60 s"),
        ("first", LOST["died"], UNSUPPORTED, "its process: ended with status -11"),
        ("steady", LOST["late"], UNSUPPORTED, "its process: no answer"),
        ("sample", LOST["died"], UNSUPPORTED, "its process: ended with status -11"),
    ],
)
def test_a_peer_that_is_out(monkeypatch, do, answer, status, reason):
    install(monkeypatch, answers={("numexpr", do): answer})
    case = measured()
    out = case.run("numexpr")
    assert out.status == status
    assert reason in out.reason
    assert out.timings == ()
    assert len(case.run(OURS).timings) == 2
    assert ("numexpr", True) not in FakeWorker.started  # not started once more


def test_numpy_has_to_run(monkeypatch):
    install(monkeypatch, answers={(NUMPY, "first"): REFUSED})
    with pytest.raises(BenchError, match="measure axpy in NumPy"):
        measured()


def test_the_bound_is_memory_or_arithmetic():
    cost = Cost(**COST)
    assert bound(cost, "f8", ONE_LIMIT) == pytest.approx(24e6 / 1e10)
    busy = cost.replace(flops=10**10)
    assert bound(busy, "f8", ONE_LIMIT) == pytest.approx(0.1)
    assert bound(busy, "f4", ONE_LIMIT) == pytest.approx(0.05)
    small = cost.replace(bytes_read=10**6, bytes_written=0)
    assert bound(small, "f8", ONE_LIMIT) == pytest.approx(1e-5)
    assert bound(busy, "f8", ONE_LIMIT.replace(flops_per_s={"f8": None, "f4": None})) == 24e-4


@pytest.mark.parametrize(
    ("names", "quick", "expected"),
    [
        ([], False, [*PEERS, "jax", "opt_einsum"]),
        ([], True, ["numpy", "axiomjit", "numexpr", "numba", "jax", "opt_einsum"]),
        (["numba"], False, ["numpy", "axiomjit", "numba", "numba-parallel"]),
        (["numba"], True, ["numpy", "axiomjit", "numba"]),
        (["numba-parallel"], True, ["numpy", "axiomjit", "numba-parallel"]),
        (["torch", "numpy"], True, ["numpy", "axiomjit", "torch"]),
    ],
)  # fmt: skip
def test_which_peers(names, quick, expected):
    assert list(chosen(names, quick)) == expected


def test_unknown_peers_are_refused():
    with pytest.raises(BenchError, match="no peer of that name\n  instead: one of numpy, axiomjit"):
        chosen(["nunba"], False)


def test_further_processes_are_of_numpy_and_axiomjit(monkeypatch):
    install(monkeypatch)
    result = run(find(["axpy"]), ("numpy", "axiomjit", "numexpr"), quick=True)
    to_text(result)
    ours, theirs, other = (result.cases[0].run(p).at(2) for p in (OURS, NUMPY, "numexpr"))
    least, most = QUICK.processes
    assert least <= len(ours.process_rounds) <= most
    assert ours.process_rounds == theirs.process_rounds
    assert ours.process_rounds[1:] == (QUICK.further,) * (len(ours.process_rounds) - 1)
    assert [len(p) for p in ours.processes] == list(ours.process_rounds)
    assert other.process_rounds == ()
    assert [len(p) for p in other.processes] == [ours.process_rounds[0]]
    assert ours.ratio_low < 0.5 < ours.ratio_high


def test_processes_end_where_they_agree(monkeypatch):
    install(monkeypatch)
    monkeypatch.setattr(FakeWorker, "_sample", lambda self: self.factor)
    ours = measured(ALWAYS, quick=True).run(OURS).at(2)
    assert len(ours.process_rounds) == QUICK.processes[0]
    assert (ours.ratio_low, ours.ratio_high) == pytest.approx((0.5, 0.5))


def test_a_wrong_result_of_a_further_process_counts(monkeypatch):
    install(monkeypatch)
    answers = FakeWorker._answer

    def late(self, do):
        if (self.peer, do) == (OURS, "first") and len(FakeWorker.started) > 2:
            return {"status": WRONG, "reason": "off by 1"}
        return answers(self, do)

    monkeypatch.setattr(FakeWorker, "_answer", late)
    run = measured(ALWAYS, quick=True).run(OURS)
    assert (run.status, run.reason) == (WRONG, "off by 1")
