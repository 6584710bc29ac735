"""What LLVM makes of the loops of a kernel."""

import re

import numpy as np
import pytest

import axiomjit
from axiomjit.base.target import target
from axiomjit.passes.ir.plan_ir import Launch
from tests.passes.examples import NAMES, example
from tests.passes.graphs import lowered, small_forms
from tests.runtime.codegen.kernels import LENGTH, buffers, compiled, run_compiled, traits_of

STRIPS = """def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    o0 = buffer(w, 1)
    n0 = length(w, 2)
    x0 = tile(512, {code})
    x1 = tile(512, {code})
    for i0 in range(lo, hi):
        k0 = i0 * 512
        e0 = min(k0 + 512, n0)
        for i1 in range(k0, e0):
            store(x0, i1 - k0, log(load(a0, i1)))
        for i1 in range(k0, e0):
            store(x1, i1 - k0, erf(load(x0, i1 - k0)))
        for i1 in range(k0, e0):
            store(o0, i1, tanh(load(x1, i1 - k0)))
"""
ROWS = STRIPS.replace("for i0", "for j0").replace("k0 = i0", "i0 = j0\n        k0 = i0")
"""The same, not recognised as strips."""


def vector_loops(kernel):
    """The innermost loops of 64-byte vectors, as lines of assembly."""
    lines = kernel.asm.splitlines()
    labels = {line.removesuffix(":"): k for k, line in enumerate(lines) if line.endswith(":")}
    for k, line in enumerate(lines):
        jump = re.match(r"\s+j\w+\s+(\.L\w+)$", line)
        start = labels.get(jump[1], k) if jump else k
        loop = lines[start:k]
        inner = start < k and not any(label.startswith(".LBB") for label in loop[1:])
        if inner and sum("%zmm" in text for text in loop) > 9 and "%ymm" not in "".join(loop):
            yield loop


def constants(kernel):
    """How often steps of these loops load a constant."""
    return sum("LCPI" in line or "{1to" in line for loop in vector_loops(kernel) for line in loop)


@pytest.mark.skipif(target().vector_bytes < 64, reason="recipes in basic operations need more")
@pytest.mark.parametrize("code", ["f4", "f8"])
def test_loops_over_strips_have_all_registers_for_themselves(code):
    parameters = (*buffers(code, code), LENGTH)
    apart, together = (compiled(text.format(code=code), parameters) for text in (STRIPS, ROWS))
    assert len(list(vector_loops(apart))) >= 3
    assert constants(apart) < constants(together) / 4
    x = np.random.default_rng(4).uniform(1, 9, 1300).astype(code)
    results = [np.zeros_like(x), np.zeros_like(x)]
    for kernel, result in zip((apart, together), results, strict=True):
        assert run_compiled(kernel, parameters, [x, result, len(x)], 0, 3) == 0
    np.testing.assert_array_equal(*results)
    assert (results[0] != 0).sum() > 1200


def test_kernels_whose_grid_is_of_strips_say_so():
    x = np.random.default_rng(5).uniform(1, 2, (40, 900))
    made = axiomjit.jit(lambda x: np.log1p(np.exp(x)))
    flat, rows, short = (made.lower(v).kernels[0] for v in (x.ravel(), x[:, :800], x[0, :20]))
    assert all("= tile(" in kernel.source for kernel in (flat, rows))
    assert [k.traits.strips for k in (flat, rows, short)] == [True, False, False]
    assert {k.traits.functions for k in (flat, rows, short)} == {2}


@pytest.mark.parametrize("name", NAMES)
def test_traits_are_those_that_the_source_shows(name):
    case = example(name)
    stages = [lowered(case)]
    with small_forms():
        stages.append(lowered(case))
    for stage in stages:
        for step in stage.plan.steps:
            if isinstance(step, Launch):
                assert step.kernel.traits == traits_of(step.kernel.source)


def test_instructions_of_loops_that_are_functions_are_counted():
    parameters = (*buffers("f8", "f8"), LENGTH)
    assert compiled(STRIPS.format(code="f8"), parameters).packed_instructions() > 100
