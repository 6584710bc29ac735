"""The programs that are timed against JAX: ours and NumPy's agree, a wrong one has no time."""

from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import numpy as np
import pytest

from axiomjit.base.errors import BenchError
from axiomjit.runtime.execution.workers import available_threads
from tools.elementary import programs
from tools.elementary.programs import PROGRAMS, compare, difference, pin, runs


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name, code):
    operands = [v[:2000].astype(code) for v in PROGRAMS[name][1](np.random.default_rng(1))]
    timed = runs(name, operands)
    ours, numpys = timed["ours"](), timed["numpy"]()
    assert ours.dtype == code
    scale = abs(numpys).max()
    np.testing.assert_allclose(ours, numpys, rtol=0, atol=20 * np.finfo(code).eps * scale)


def test_the_cells_of_a_line(monkeypatch):
    monkeypatch.setattr(programs, "SIZE", 500)
    cells = compare("haversine", "f8", 15)
    assert len(cells) == 5
    assert 0 < float(cells[3]) <= float(cells[4])


def test_a_wrong_result_has_no_time(monkeypatch):
    monkeypatch.setattr(programs, "SIZE", 500)
    right = runs

    def wrong(name, operands):
        return right(name, operands) | {"jax": lambda: np.zeros(len(operands[0]), "f4")}

    monkeypatch.setattr(programs, "runs", wrong)
    with pytest.raises(BenchError, match=r"jax in black_scholes.*\n.*off by"):
        compare("black_scholes", "f4", 15)
    assert difference(np.zeros(3), np.zeros(3, "f4")) == "float64 (3,) instead of float32 (3,)"


def test_one_thread_is_one_cpu():
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        pool.submit(pin).result()
        assert pool.submit(available_threads).result() == 1
