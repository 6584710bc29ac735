"""Generated source: readable, specialised for what it bakes, keyed by its text alone."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import axiomjit
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.runtime.codegen.plain_builtins import plain_names
from tests.passes.examples import NAMES, example, l2, mapped, numbers
from tests.passes.graphs import follow, lowered, small_forms

ROOT = Path(__file__).resolve().parents[3]


def kernels(case):
    """The kernels of a case, in order."""
    return [step.kernel for step in lowered(case).plan.steps if isinstance(step, Launch)]


def keys(function, *arguments):
    """The keys of the kernels of a function."""
    return [kernel.key for kernel in kernels(follow(function, *arguments))]


@pytest.mark.parametrize(
    "name",
    ["l2", "rows_and_columns", "mapped", "products", "tests", "masked", "complexes", "chained"],
)
def test_source_golden(golden, name):
    golden("\n".join(kernel.source for kernel in kernels(example(name))))


def renamed(first, other):
    return np.sqrt(np.dot(first - other, first - other))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (renamed, (numbers(3000), numbers(3000))),
        (l2, (numbers(4711), numbers(4711))),
        (lambda x, y: renamed(y, x), (numbers(3000), numbers(3000))),
    ],
)
def test_names_lengths_and_order_do_not_change_keys(function, arguments):
    assert keys(function, *arguments) == keys(l2, numbers(3000), numbers(3000))


def test_constants_do_not_change_keys():
    assert keys(lambda x: x * 2.0 + 1.0, numbers(9)) == keys(lambda x: x * 7.5 + -3.0, numbers(9))


@pytest.mark.parametrize(
    "other",
    [
        (lambda x: x * 2.0 - 1.0, numbers(9)),  # another operation
        (lambda x: x * 2.0 + 1.0, numbers(9, dtype="f4")),  # another dtype
        (lambda x: x * 2.0 + 1.0, numbers(18)[::2]),  # another stride
        (lambda x: x * 2.0 + 1.0, numbers(3, 5)[:, :4]),  # a baked extent
    ],
)
def test_what_changes_the_loop_changes_the_key(other):
    assert keys(*other) != keys(lambda x: x * 2.0 + 1.0, numbers(9))


def test_an_unrelated_output_before_does_not_change_a_later_kernel():
    alone = keys(lambda x: x.sum(axis=1), numbers(6, 7))
    assert keys(lambda y, x: (y + 1.0, x.sum(axis=1)), numbers(9), numbers(6, 7))[1:] == alone


def test_small_extents_are_written_and_others_are_words():
    (kernel,) = kernels(follow(lambda x: x.sum(axis=1), numbers(60, 3)))
    assert "range(3)" in kernel.source
    (kernel,) = kernels(follow(lambda x: x.sum(axis=1), numbers(60, 30)))
    assert [p.kind for p in kernel.parameters].count("length") == 1


@pytest.mark.parametrize(
    ("function", "is_literal"),
    [
        (lambda x: x[:, 0] + x[:, 1] * x[:, 2], True),  # all elements between two steps
        (lambda x: x[:, 0] * x[:, 2], False),
        (lambda x: x[:, 0].sum(), False),
        (lambda x: np.exp(x[:, 0] + x[:, 1] * x[:, 2]), True),
        (lambda x: np.exp(x[:, 0]), False),
        (lambda x: x.sum(axis=1), True),  # the innermost loop has the stride 1
    ],
)
def test_a_stride_of_3_is_a_literal_where_a_loop_leaves_out_no_element(function, is_literal):
    (kernel,) = kernels(follow(function, numbers(60, 3)))
    assert ("* 3" in kernel.source) == is_literal
    assert "_apart" not in kernel.source or not is_literal


def test_rows_of_columns_that_are_read_in_vectors_are_right():
    x, y = np.random.default_rng(0).normal(size=(2, 1003, 3))
    columns = axiomjit.jit(lambda x: np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2 + x[:, 2] ** 2))
    assert np.allclose(columns(x), np.linalg.norm(x, axis=1), rtol=1e-14)
    turned = axiomjit.jit(lambda x, y: np.cross(x, y))
    assert np.allclose(turned(x, y), np.cross(x, y), rtol=1e-14)
    rows = axiomjit.jit(lambda x: np.exp(x) / np.exp(x).sum(axis=1, keepdims=True))
    assert np.allclose(rows(x), np.exp(x) / np.exp(x).sum(axis=1, keepdims=True), rtol=1e-14)


SHOW_KEYS = """
from tests.passes.plan.test_render_source import keys, kernels, mapped, numbers
from tests.passes.examples import example
for name in ("l2", "rows_and_columns", "centred", "mapped"):
    print([kernel.key for kernel in kernels(example(name))])
"""


def test_keys_are_the_same_in_every_process():
    found = set()
    for seed in ("1", "2"):
        environment = os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)}
        done = subprocess.run(
            [sys.executable, "-c", SHOW_KEYS], cwd=ROOT, env=environment, capture_output=True
        )
        assert done.returncode == 0, done.stderr.decode()
        found.add(done.stdout)
    assert len(found) == 1


def test_mapped_source_means_what_numpy_does():
    (kernel,) = kernels(follow(mapped, numbers(6, 7), numbers(6, 7)))
    assert "select(" in kernel.source
    assert kernel.source.startswith("def kernel(w, lo, hi):\n")


@pytest.mark.parametrize("name", NAMES)
def test_no_variable_however_high_its_number_has_the_name_of_a_function(name):
    with small_forms():
        sources = [kernel.source for kernel in kernels(example(name))]
    tree = ast.walk(ast.parse("\n".join(sources)))
    variables = {n.id for n in tree if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    assert variables
    others = {f"{name.rstrip('0123456789')}{number}" for name in variables for number in range(129)}
    assert others.isdisjoint(plain_names([]))
