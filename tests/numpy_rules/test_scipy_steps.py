"""Ufuncs of SciPy are steps as those of NumPy are; skipped where SciPy is not installed."""

import numpy as np
import pytest

from tests.numpy_rules.ufunc_cases import check, check_every_layout

special = pytest.importorskip("scipy.special")
NAMES = ("gammaln", "erfcinv", "jv", "iv", "xlogy", "sici", "expi", "betainc", "kl_div")
CALLS = {
    "before and after": lambda x, y: special.gammaln(x * 2 + 1) * y - 1,
    "weak": lambda x, y: special.xlogy(2, x.astype("f4")),
}


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u8", "?", "c16"])
@pytest.mark.parametrize("name", NAMES)
def test_steps_agree_with_scipy(name, dtype):
    check_every_layout(getattr(special, name), dtype)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name):
    x, y = np.linspace(0.5, 4, 20).reshape(5, 4), np.linspace(3, 0.75, 20).reshape(5, 4)
    check(CALLS[name], (x, y))
