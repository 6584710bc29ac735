"""Kernels stay vector code: those of the golden set, those on narrow types, each primitive."""

import re

import numpy as np
import pytest

from axiomjit.passes.plan_ir import Launch
from axiomjit.primitives import PRIMITIVES
from axiomjit.runtime.compile_source import compile_source
from tests.graphs import follow, lowered
from tests.passes.examples import NAMES, example

N = 5000
VECTOR_LOOPS = {
    "l2": [1],
    "sums_and_map": [1],
    "rows_and_columns": [1, 1],
    "centred": [2, 1],
    "strided": [1],
    "product": [1, 1],
    "undone": [1],
    "mapped": [1],
    "total": [1],
    "planes": [1],
    "products": [1, 4],
    "tests": [2, 1],
    "masked": [2],
    "merged": [1, 1],
    "complexes": [1],
    "parts": [1],
    "padded": [3],
    "joined": [1, 2],
    "single": [1],
}
"""How many loops of each kernel of the golden set LLVM made packed code of, at least."""


def compiled(case):
    """The kernels of a case."""
    kernels = [step.kernel for step in lowered(case).plan.steps if isinstance(step, Launch)]
    return [compile_source(kernel.source, kernel.parameters) for kernel in kernels]


def packed(function, *arguments):
    """Packed instructions of each kernel."""
    return [kernel.packed_instructions() for kernel in compiled(follow(function, *arguments))]


def vector_loops(kernel):
    """The loops that LLVM's vectoriser made packed code of, vector remainders apart."""
    return len(re.findall(r"^vector\.body\d*:", kernel.llvm, re.MULTILINE))


@pytest.mark.parametrize("name", NAMES)
def test_golden_kernels_keep_their_vector_code(name):
    kernels = compiled(example(name))
    assert len(kernels) == len(VECTOR_LOOPS[name])
    for kernel, loops in zip(kernels, VECTOR_LOOPS[name], strict=True):
        assert vector_loops(kernel) >= loops
        assert kernel.packed_instructions() > 0


def test_the_count_of_vector_loops_sees_scalar_code():
    (kernel,) = compiled(follow(lambda x: x // 7, np.ones(N, "i8")))
    assert vector_loops(kernel) == kernel.packed_instructions() == 0


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
