"""Recipes and steps that are linked into kernels."""

import numpy as np
import pytest

from axiomjit.base.target import target
from axiomjit.runtime.codegen.llvm_functions import _LINKED, PREFIX
from tests.runtime.codegen.kernels import buffers, compiled, run_compiled

KERNEL = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    o = buffer(w, 1)
    for i in range(lo, hi):
        store(o, i, {expression})
"""
WAVES = "sin(load(a, i)) * log(load(a, i))"


def test_recipes_are_written_once():
    compiled(KERNEL.format(expression=WAVES), buffers("f8", "f8"))
    before = dict(_LINKED)
    assert (target(), "axiomjit_sin_f8_inlined") in before
    compiled(KERNEL.format(expression=f"log({WAVES})"), buffers("f8", "f8"))
    assert before == _LINKED


def test_nothing_of_what_is_linked_is_left_beside_the_kernel():
    kernel = compiled(KERNEL.format(expression=WAVES), buffers("f8", "f8"))
    assert f"@{PREFIX}" not in kernel.llvm
    assert "_inlined(" not in kernel.llvm


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_vectors_and_what_is_left_of_them_have_the_same_bits(code):
    kernel = compiled(KERNEL.format(expression=WAVES), buffers(code, code))
    x = np.random.default_rng(7).uniform(0.1, 9.0, 67).astype(code)
    whole, single = np.zeros_like(x), np.zeros_like(x)
    run_compiled(kernel, buffers(code, code), [x, whole], 0, x.size)
    for k in range(x.size):
        run_compiled(kernel, buffers(code, code), [x, single], k, k + 1)
    assert whole.tobytes() == single.tobytes()
