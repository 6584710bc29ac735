"""Functions of complex numbers: vector code, errors per part, numbers near the ends."""

import numpy as np
import pytest

from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES
from tests.runtime.codegen.kernels import buffers, compiled, near, run_compiled, same_bits
from tools.elementary.ulps import ulps

RNG = np.random.default_rng(6)
BOUND = 3.5
INHERITED = ("exp2", "expm1")
"""NumPy's formulas, whose errors are larger where their terms cancel."""


def computed(name, z):
    """Compiled results, the first of them as plain source has them, and LLVM's code."""
    code = f"c{z.itemsize}"
    parameters = buffers(code, code)
    source = "def kernel(w, lo, hi):\n    a = buffer(w, 0)\n    o = buffer(w, 1)\n"
    source += f"    for i in range(lo, hi):\n        store(o, i, {name}(load(a, i)))\n"
    kernel = compiled(source, parameters)
    machine, plain = np.zeros_like(z), np.zeros_like(z)
    assert run_compiled(kernel, parameters, [z, machine], 0, len(z)) == 0
    run_plain(source, parameters, [z, plain], 0, 40)
    assert same_bits(machine[:40], plain[:40])
    return machine, kernel.llvm


@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize("name", COMPLEX_RECIPES)
def test_packed_and_right(name, code):
    x, y = RNG.uniform(-4, 4, (2, 3000))
    circle = np.exp(1j * RNG.uniform(-4, 4, 300)) * (1 + RNG.normal(0, 1e-4, 300))
    ends = (np.array([708, 710, 900, -740, 87, 89, 120, -100]) + 0.75j) * np.array([[1], [1j]])
    tiny = np.array([1e-30 + 1e-35j, 1e-300 - 1e-310j, 1 + 1e-20j, 1e200 + 1e200j])
    with np.errstate(all="ignore"):
        z = np.concatenate([x + 1j * y, circle, ends.ravel(), tiny]).astype(code)
        wide = getattr(np, name)(z.astype("c16" if code == "c8" else np.clongdouble))
        want = getattr(np, name)(z)
    got, llvm = computed(name, z)
    assert "vector.body" in llvm
    assert near(got, want, 5)
    if name not in INHERITED:
        assert ulps(got.real, wide.real).max() < BOUND
        assert ulps(got.imag, wide.imag).max() < BOUND
