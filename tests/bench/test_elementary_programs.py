"""The programs that are timed against JAX: ours and NumPy's agree, and a line has its cells."""

import numpy as np
import pytest

from axiomjit.bench.elementary_programs import PROGRAMS, cells, runs


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_agree(name, code):
    operands = [v[:2000].astype(code) for v in PROGRAMS[name][1](np.random.default_rng(1))]
    timed = runs(name, operands)
    ours, numpys = timed["ours"](), timed["numpy"]()
    assert ours.dtype == code
    scale = abs(numpys).max()
    np.testing.assert_allclose(ours, numpys, rtol=0, atol=20 * np.finfo(code).eps * scale)


def test_the_cells_of_a_line():
    times = {"ours": [0.001] * 20, "jax": [0.002] * 20}
    assert cells(times, ("jax", "numpy")) == ["1.00", "0.50 (<= 0.50)", "-"]
