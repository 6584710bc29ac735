"""Workers that tell made-up times, so that a whole run takes no time and its truth is known."""

import numpy as np

from axiomjit.bench.suite.measure import WorkerLostError
from axiomjit.bench.suite.records import NUMPY, OK, OURS, UNSUPPORTED, Limits, Peer, Triad

CALL_S = {NUMPY: 1e-3, OURS: 5e-4, "numexpr": 8e-4, "numba": 4e-4, "jax": 9e-4}
LIMITS = {
    "triads": [{"bytes": 10**6, "bytes_per_s": 1e11}, {"bytes": 10**8, "bytes_per_s": 1e10}],
    "flops_per_s": {"f8": 1e11, "f4": 2e11},
}
COST = {
    "bytes_read": 16 * 10**6,
    "bytes_written": 8 * 10**6,
    "flops": 10**6,
    "temporary_bytes": 0,
    "kernels": 1,
    "library_calls": 0,
}


class FakeWorker:
    """Stands for `processes.Worker`; times scatter by a tenth, and drift with the machine."""

    rng = np.random.default_rng(0)
    slower: dict[str, float] = {}
    """By what factor our calls of a case are slower."""
    answers: dict[tuple[str, str], object] = {}
    """What a peer answers to a request instead: an answer, or an exception."""
    started: list[tuple[str, bool]] = []
    drift = 1.0

    def __init__(self, environment, serial):
        self.serial, self.peer, self.factor = serial, "", 1.0

    def send(self, do, peer, case, **rest):
        self.peer = peer
        FakeWorker.started.append((peer, self.serial))
        self.factor = CALL_S.get(peer, 1e-3) * (1 + self.serial)
        if peer == OURS:
            self.factor *= self.slower.get(case, 1.0)

    def receive(self, limit_s=0.0):
        return self._answer("prepare")

    def ask(self, do, limit_s=0.0, **rest):
        return LIMITS if do == "limits" else self._answer(do)

    def _answer(self, do):
        given = self.answers.get((self.peer, do))
        if isinstance(given, Exception):
            raise given
        if given is not None:
            return given
        return {
            "prepare": {"size": 10**6, "dtype": "f8"},
            "first": {"first_s": 0.05 / (1 + self.serial)},
            "steady": {"call_s": self.factor},
            "sample": {"sample_s": self._sample()},
            "memory": {"peak_bytes": 8 * 10**6},
            "plan": {"cost": COST},
        }[do]

    def _sample(self):
        FakeWorker.drift *= float(np.exp(self.rng.normal(0.0, 0.05)))
        return self.factor * self.drift * float(np.exp(self.rng.normal(0.0, 0.1)))

    def close(self):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *raised):
        pass


def install(monkeypatch, slower=None, answers=None, seed=0):
    """Let runs use fake workers."""
    monkeypatch.setattr(FakeWorker, "rng", np.random.default_rng(seed))
    monkeypatch.setattr(FakeWorker, "slower", slower or {})
    monkeypatch.setattr(FakeWorker, "answers", answers or {})
    monkeypatch.setattr(FakeWorker, "started", [])
    monkeypatch.setattr("axiomjit.bench.suite.measure.Worker", FakeWorker)
    monkeypatch.setattr("axiomjit.bench.suite.measure.available_threads", lambda: 2)
    monkeypatch.setattr(
        "axiomjit.bench.suite.measure._probe", lambda name, times: Peer(name, OK, "", "1.0", 0.25)
    )


LOST = {
    "late": WorkerLostError(True, "no answer"),
    "died": WorkerLostError(False, "ended with status -11"),
}
REFUSED = {"status": UNSUPPORTED, "reason": "the case has no expression for it"}
ONE_LIMIT = Limits(2, (Triad(10**6, 1e11), Triad(10**8, 1e10)), {"f8": 1e11, "f4": 2e11})
