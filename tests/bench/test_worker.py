"""What a worker does, in this process; one real process; agreement with NumPy."""

from contextlib import closing

import numpy as np
import pytest

from axiomjit.bench.suite.machine import VECTOR_FMA, fma_source, peak_flops
from axiomjit.bench.suite.measure import Worker, WorkerLostError
from axiomjit.bench.suite.records import MISSING, UNSUPPORTED
from axiomjit.bench.suite.worker import Session, Stop, disagreement, serve


@pytest.fixture
def session():
    return Session()


@pytest.mark.alone
def test_a_case_from_start_to_end(session, unchecked):
    told = session.prepare(peer="axiomjit", case="affine_10", seed=0, pinned=False)
    assert told == {"size": 10, "dtype": "f8"}
    assert session.first()["first_s"] > 0
    assert session.steady()["call_s"] > 0
    assert session.repeat > 1  # about a millisecond of calls
    assert session.sample()["sample_s"] > 0
    assert session.memory()["peak_bytes"] in (None, *range(0, 2**22, 4096))
    assert session.plan()["cost"]["bytes_read"] == 160


def test_interrupted_samples_are_taken_again(session, monkeypatch):
    told = iter([0, 2, 2, 3, 3, 3])  # two, one, no interruption
    monkeypatch.setattr("axiomjit.bench.suite.worker.interruptions", lambda: next(told))
    times = iter([5.0, 4.0, 3.0])
    monkeypatch.setattr(session, "_timed", lambda repeat: next(times))
    assert session.sample() == {"sample_s": 3.0}
    told = iter(range(8))  # one each time: four tries, the fastest counts
    times = iter([5.0, 2.0, 4.0, 3.0])
    assert session.sample() == {"sample_s": 2.0}


@pytest.mark.parametrize(("lost", "left"), [(0.01, 0.02), (0.025, 0.03)])
def test_time_without_a_core_is_taken_off_unless_it_is_most(session, monkeypatch, lost, left):
    clock, waits = iter([1.0, 1.03]), iter([0.5, 0.5 + lost])
    monkeypatch.setattr("axiomjit.bench.suite.worker.time.perf_counter", lambda: next(clock))
    monkeypatch.setattr("axiomjit.bench.suite.worker.waiting_s", lambda: next(waits))
    monkeypatch.setattr("axiomjit.bench.suite.worker.other_threads_s", lambda: 0.0)
    session.call = lambda: None
    assert session._timed(1) == pytest.approx(left)


def test_a_sample_is_the_mean_of_its_calls(session, monkeypatch):
    monkeypatch.setattr("axiomjit.bench.suite.worker.interruptions", lambda: 0)
    session.prepare(peer="numpy", case="affine_10", seed=0, pinned=False)
    calls = []
    session.call = lambda: calls.append(1)
    session.repeat = 3
    session.sample()
    assert len(calls) == 3 + 1  # one is not timed


def test_a_wrong_result_is_refused(session):
    session.prepare(peer="numpy", case="affine_10", seed=0, pinned=False)
    session.call = lambda: np.zeros(10)
    with pytest.raises(Stop) as stop:
        session.first()
    assert stop.value.args[0] == "wrong result"
    assert "off NumPy's by" in stop.value.args[1]


@pytest.mark.parametrize(
    ("peer", "case", "status", "reason"),
    [
        ("opt_einsum", "axpy", MISSING, "ModuleNotFoundError"),
        ("numexpr", "softmax", UNSUPPORTED, "the case has no expression for it"),
    ],
)
def test_peers_that_are_out(session, monkeypatch, peer, case, status, reason):
    def load(name):
        if name == "opt_einsum":
            raise ModuleNotFoundError("No module named 'opt_einsum'")

    monkeypatch.setattr("importlib.import_module", load)
    monkeypatch.setitem(__import__("sys").modules, "numexpr", np)
    with pytest.raises(Stop) as stop:
        session.prepare(peer=peer, case=case, seed=0, pinned=False)
    assert stop.value.args[0] == status
    assert reason in stop.value.args[1]


def test_what_axiomjit_does_not_compile_is_said(session, tmp_path):
    path = tmp_path / "work.py"
    path.write_text("import numpy as np\ndef f(x=np.ones(3)):\n    return np.array2string(x)\n")
    session.prepare(peer="axiomjit", case=f"{path}:f", seed=0, pinned=False)
    with pytest.raises(Stop) as stop:
        session.first()
    assert stop.value.args[0] == UNSUPPORTED
    assert "array2string" in stop.value.args[1]
    assert session.plan() == {"cost": None}


def test_serving_answers_each_line(session):
    told = []
    lines = ['{"do": "memory"}', '{"do": "first"}']
    session.call = lambda: 1 / 0
    serve(session, lines[1:], told.append)
    assert told == [{"status": UNSUPPORTED, "reason": "ZeroDivisionError: division by zero"}]


def test_a_real_process_answers_hangs_and_dies():
    with closing(Worker({}, serial=True)) as worker:
        told = worker.ask("prepare", peer="numpy", case="total_10", seed=0, pinned=True)
        assert told == {"size": 10, "dtype": "f8"}
        assert worker.ask("first")["first_s"] > 0
        with pytest.raises(WorkerLostError, match="no answer") as lost:
            worker.receive(limit_s=0.0)  # nothing was asked
        assert lost.value.late
    with closing(Worker({}, serial=False)) as worker:
        with pytest.raises(WorkerLostError, match="ended with status 1") as lost:
            worker.ask("no such request")
        assert not lost.value.late


@pytest.mark.parametrize(
    ("result", "expected", "message"),
    [
        (np.ones(3), np.ones(3), ""),
        (np.ones(3) + 1e-12, np.ones(3), ""),
        (np.float32([1, 1]) + np.float32(1e-5), np.float32([1, 1]), ""),
        (np.float64([1, 2]), np.float32([1, 2]), ""),
        ([np.nan, np.inf], [np.nan, np.inf], ""),
        ((1, 2.0), (1, 2.0), ""),
        (np.ones(3) + 1e-6, np.ones(3), "off NumPy's by 1.0e-06"),
        (np.ones(3), np.ones((3, 1)), "shape (3,), NumPy's has (3, 1)"),
        (np.float32([1]), np.float64([1]), "dtype float32, NumPy's has float64"),
        (np.int64([1]), np.float64([1]), "dtype int64"),
        (np.int64([1, 2]), np.int64([1, 3]), "1 of 2 elements differ"),
        ([np.nan, 1.0], [1.0, 1.0], "NaN or infinity in other places"),
        ([np.inf, 1.0], [-np.inf, 1.0], "NaN or infinity in other places"),
        ((1.0,), (1.0, 2.0), "1 results, NumPy's are 2"),
    ],
)
def test_agreement(result, expected, message):
    if isinstance(expected, list):
        result, expected = np.array(result), np.array(expected)
    found = disagreement(result, expected)
    assert (message in found) if message else found == ""


def test_the_peak_kernel_is_vector_code_or_says_so(monkeypatch):
    assert fma_source("double", 4).count("call <4 x double> @llvm.fma.v4f64") == 12
    assert VECTOR_FMA.findall("vfmadd213pd %zmm0\nvfmadd231ps %ymm1\nvfmadd213sd %xmm0") == [
        "vfmadd213pd",
        "vfmadd231ps",
    ]
    rate = peak_flops("double", 1, 0.0)
    assert rate is None or rate > 1e8
    monkeypatch.setattr("axiomjit.bench.suite.machine.fma_source", lambda kind, lanes: SCALAR)
    assert peak_flops("double", 1, 0.0) is None


SCALAR = """define void @peak(i64 %turns, double %p, double* %out) {
  ret void
}"""


def test_time_without_a_core_does_not_count_on_one_thread(session, monkeypatch):
    told = iter([1.0, 1.004])  # 4 ms without a core
    monkeypatch.setattr("axiomjit.bench.suite.worker.waiting_s", lambda: next(told))
    monkeypatch.setattr("axiomjit.bench.suite.worker.other_threads_s", lambda: 0.0)
    clock = iter([5.0, 5.01])
    monkeypatch.setattr("time.perf_counter", lambda: next(clock))
    session.call = lambda: None
    assert session._timed(1) == pytest.approx(0.006)
    others, clock = iter([0.0, 0.005]), iter([5.0, 5.01])  # a second thread: all counts
    monkeypatch.setattr("axiomjit.bench.suite.worker.other_threads_s", lambda: next(others))
    told = iter([1.0, 1.004])
    assert session._timed(1) == pytest.approx(0.01)
