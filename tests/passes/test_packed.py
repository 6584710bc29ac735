"""Kernels stay vector code: those of the golden set, those on narrow types, each primitive."""

import re

import numpy as np
import pytest

from axiomjit.base.target import target
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.llvm_functions import _LIBRARIES
from tests.passes.examples import NAMES, example
from tests.passes.graphs import follow, lowered, plain_division
from tests.passes.stored import MAKERS

N = 5000
VECTOR_LOOPS = {
    "l2": [1],
    "sums_and_map": [1],
    "rows_and_columns": [1, 1],
    "centred": [2],
    "strided": [1],
    "product": [1, 1],
    "undone": [1],
    "mapped": [1],
    "total": [1],
    "reversed_total": [1],
    "reversed_join": [2],
    "planes": [1],
    "products": [1, 1],  # and its trees, which are functions: see below
    "tests": [1, 1],  # what joins the results of groups is not vectorised: they are few
    "masked": [2],
    "merged": [1, 1],
    "complexes": [1],
    "parts": [1],
    "padded": [3],
    "joined": [1, 2],
    "many_parts": [8, 8, 1, 1, 10, 10, 4, 1],
    "remainder": [1],
    "remainders": [1],
    "remainder_total": [1],
    "chained": [2],
    "chained_total": [3],
    "single": [1],
}
"""How many loops of each kernel of the golden set LLVM made packed code of, at least."""


def compiled(case):
    """The kernels of a case."""
    kernels = [step.kernel for step in lowered(case).plan.steps if isinstance(step, Launch)]
    return [
        compile_source(kernel.source, kernel.parameters, kernel.target.record, kernel.traits)
        for kernel in kernels
    ]


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


def test_trees_of_lanes_are_vector_code():
    compiled(example("products"))
    trees = [tree for (_, name), tree in _LIBRARIES.items() if "_lanes" in name]
    assert trees
    assert all("vector.body" in tree.get_llvm_str() for tree in trees)


@pytest.mark.parametrize(("name", "loops"), [("in_place", 1), ("swapped", 1)])
def test_kernels_that_write_over_what_they_read_are_vector_code(name, loops):
    (kernel,) = compiled(MAKERS[name]())
    assert vector_loops(kernel) >= loops
    assert kernel.packed_instructions() > 0


def test_the_count_of_vector_loops_sees_scalar_code():
    with plain_division():
        (kernel,) = compiled(follow(lambda x: x // 7, np.ones(N, "i8")))
    assert vector_loops(kernel) == kernel.packed_instructions() == 0


def _write(x, y):
    y[:] = np.log(x[: len(y)])


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_functions_of_numbers_apart_are_vector_code(code):
    x, y = np.ones(3 * N, code), np.ones((N, 7), code)
    for function, *arguments in (
        (lambda x: np.exp(x), x[::3]),
        (lambda x: np.exp(x).sum(), x[::3]),
        (lambda y: np.tanh(y) * 2, y[:, 2]),
        (_write, x, x[N::2]),
    ):
        (kernel,) = compiled(follow(function, *arguments))
        assert kernel.packed_instructions() > 3
        assert "ident.check" not in kernel.llvm  # whether the step is 1


def test_other_operations_of_numbers_apart_have_code_for_a_step_of_1():
    (kernel,) = compiled(follow(lambda x: x * 2 + 1, np.ones(3 * N)[::3]))
    assert "ident.check" in kernel.llvm


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
        (lambda x: x.astype("c16") * x, "c8"),
    ],
)
def test_narrow_kernels_are_vector_code(function, code):
    (count,) = packed(function, np.ones(N, code))
    assert count >= 3


ROWS = [name for name, row in PRIMITIVES.items() if row.ufunc is not None]


def code_of_row(row):
    """One dtype of a row that is not scalar: floats where it has them, else integers."""
    return next(code for code in ("f4", "i4", "b1", "c8") if code in row.loops)


@pytest.mark.parametrize("name", ROWS)
def test_loops_around_primitives_are_packed(name):
    """Other arithmetic stands beside each, since calls of the C library are not packed alone."""
    row = PRIMITIVES[name]
    operands = [np.ones(N, code_of_row(row))] * row.arity
    (count,) = packed(lambda *operands: row.ufunc(*operands) * operands[0], *operands)
    assert count > 0


DIVISIONS = [name for name, row in PRIMITIVES.items() if row.scalar]


@pytest.mark.parametrize("code", ["i1", "u2", "i4", "i8", "u8"])
@pytest.mark.parametrize("name", DIVISIONS)
def test_the_scalar_column_is_honest(name, code):
    row = PRIMITIVES[name]
    operands = [np.ones(N, code)] * 2
    (count,) = packed(row.ufunc, *operands)
    assert (count > 0) is not row.is_scalar(code, target())
    with plain_division():
        (count,) = packed(row.ufunc, *operands)
        assert (count > 0) is not row.is_scalar(code, target())
        assert row.is_scalar(code, target()) is (code in ("i8", "u8"))
