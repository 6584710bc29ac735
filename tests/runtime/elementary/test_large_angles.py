"""sin, cos and tan of large numbers: the table of turns, the reduction, calls from vector loops."""

import numpy as np
import pytest
from mpmath import mp, mpf

from axiomjit.runtime.elementary.functions import PLAIN_NAMES
from axiomjit.runtime.elementary.trigonometric import (
    FIRST_EXPONENT,
    FRACTION_BITS,
    LAST_ROW,
    REACH,
    ROW_PARTS,
    ROW_STEP,
    TWO_OVER_PI_BITS,
    turns_table,
)
from tests.runtime.codegen.kernels import buffers, compiled, run_compiled, same_bits
from tools.elementary.ulps import ulps

WORST = 6381956970095103 * 2.0**797
"""The double that lies nearest to a multiple of pi / 2."""


def numbers(code):
    """Numbers of every size around the reach, among small ones, and those near multiples of pi."""
    info = np.finfo(code)
    sizes = np.ldexp(1.37, np.arange(30, info.maxexp - 1))
    near = [float(mp.nint(mpf(2) ** k / mp.pi) * mp.pi) for k in range(20, info.maxexp, 7)]
    ends = [
        *REACH.values(),
        *np.nextafter([*REACH.values()], np.inf),
        float(info.max),
        -float(info.max),
    ]
    rest = [WORST] if code == "f8" else [np.float32(16367173 * 2.0**72)]
    values = np.concatenate([sizes, -sizes, near, ends, rest, [0.5, -0.0, 1.0, np.inf, np.nan]])
    return values.astype(code)


def test_the_constant():
    with mp.workprec(FRACTION_BITS + 64):
        assert int(mp.floor(2 / mp.pi * mpf(2) ** FRACTION_BITS)) == TWO_OVER_PI_BITS


@pytest.mark.parametrize("row", [0, 1, 30, LAST_ROW])
def test_rows_of_the_table(row):
    with mp.workprec(3000):
        power = row * ROW_STEP + FIRST_EXPONENT - 52
        parts = turns_table()[row * ROW_PARTS : (row + 1) * ROW_PARTS]
        left = mp.fmod(2 / mp.pi * mpf(2) ** power - mp.fsum(map(mpf, parts)), 4)
        assert min(abs(left), abs(4 - left)) < mpf(2) ** -150


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", ["sin", "cos", "tan"])
def test_large_angles(name, code):
    x = numbers(code)
    parameters = buffers(code, code)
    source = (
        "def kernel(w, lo, hi):\n    a = buffer(w, 0)\n    o = buffer(w, 1)\n"
        f"    for i in range(lo, hi):\n        store(o, i, {name}(load(a, i)))\n"
    )
    got = np.zeros_like(x)
    kernel = compiled(source, parameters)
    assert "vector.body" in kernel.llvm
    run_compiled(kernel, parameters, [x, got], 0, len(x))
    with np.errstate(all="ignore"):
        plain = np.array([PLAIN_NAMES[name](value) for value in x])
        assert same_bits(got, plain)
        with mp.workprec(1300):
            want = [getattr(mp, name)(mpf(float(v))) if np.isfinite(v) else np.nan for v in x]
            wider = np.array([np.longdouble(mp.nstr(mpf(v), 25)) for v in want])
            wider[wider == 0] = x[wider == 0]  # mpmath's 0 has no sign
    assert np.isnan(got[-2:]).all()
    assert ulps(got, wider).max() < {"f4": 1.0, "f8": 2.0}[code]
