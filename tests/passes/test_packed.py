"""Kernels on narrow types stay vector code."""

import numpy as np
import pytest

from axiomjit.passes.plan_ir import Launch
from axiomjit.runtime.compile_source import compile_source
from tests.graphs import follow, lowered

N = 5000


def packed(function, *arguments):
    """Packed instructions of each kernel."""
    steps = lowered(follow(function, *arguments)).plan.steps
    kernels = [step.kernel for step in steps if isinstance(step, Launch)]
    return [compile_source(k.source, k.parameters).packed_instructions() for k in kernels]


@pytest.mark.parametrize(
    ("function", "code"),
    [
        (lambda x: x + x[::1] * x, "i1"),
        (lambda x: x + x[::1], "i4"),
        (lambda x: x.sum(), "u1"),
        (lambda x: x.max(), "i2"),
        (lambda x: x.astype("u8"), "f8"),
    ],
)
def test_narrow_kernels_are_vector_code(function, code):
    (count,) = packed(function, np.ones(N, code))
    assert count >= 3
