"""Kernels on narrow types stay vector code."""

import numpy as np
import pytest

from axiomjit.passes.plan_ir import Launch
from axiomjit.primitives import PRIMITIVES
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
        (lambda x: x * x + x, "f2"),
        (lambda x: x * x + x, "c8"),
        (lambda x: x / x[::1].conj() + 1j, "c16"),
        (lambda x: abs(x), "c16"),
        (lambda x: x.real * x.real + x.imag * x.imag, "c16"),
        (lambda x: x.sum(), "c8"),
        (lambda x: (x * x.conj()).sum(), "c16"),
        (lambda x: x.astype("c16"), "c8"),
    ],
)
def test_narrow_kernels_are_vector_code(function, code):
    (count,) = packed(function, np.ones(N, code))
    assert count >= 3


ROWS = [name for name, row in PRIMITIVES.items() if row.ufunc is not None]


@pytest.mark.parametrize("name", ROWS)
def test_the_vector_column_is_honest(name):
    """One dtype a row: floats where it has them, else integers; scalar rows on integers."""
    row = PRIMITIVES[name]
    if not row.vector and "i4" not in row.loops:
        return  # a call of the C library, with packed arithmetic around it
    code = "f4" if "f4" in row.loops and row.vector else "i4"
    code = code if code in row.loops else "c8"
    operands = [np.ones(N, code)] * row.arity
    (count,) = packed(lambda *operands: row.ufunc(*operands), *operands)
    assert (count > 0) == row.vector
