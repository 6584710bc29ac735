"""Python's operators: one table, which the doors and the printed forms read."""

import operator

import numpy as np
import pytest

import axiomjit
from axiomjit.base.array_values import COMPARISONS, INFIX, OPERATORS, PREFIX
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.tracer import Tracer

PAIRS = INFIX | COMPARISONS
X, Y = np.array([7, -3, 0, 5]), np.array([2, 4, 1, 5])


@pytest.mark.parametrize("method", PAIRS)
def test_an_infix_operator_is_its_function(method):
    name, sign = PAIRS[method]
    expected = getattr(np, name)(X, Y)
    np.testing.assert_array_equal(getattr(operator, f"__{method}__")(X, Y), expected)
    np.testing.assert_array_equal(eval(f"X {sign} Y"), expected)


@pytest.mark.parametrize("method", PREFIX)
def test_a_prefix_operator_is_its_function(method):
    name, sign = PREFIX[method]
    expected = getattr(np, name)(X)
    np.testing.assert_array_equal(getattr(operator, f"__{method}__")(X), expected)
    if sign is not None:
        np.testing.assert_array_equal(eval(f"{sign}X"), expected)


@pytest.mark.parametrize("kind", [np.ndarray, SymbolicInt, Tracer, axiomjit.Tensor])
def test_what_stands_for_numbers_has_the_operators(kind):
    mirrored = {f"r{name}" for name in INFIX}
    missing = [name for name in {*OPERATORS, *mirrored} if f"__{name}__" not in dir(kind)]
    assert missing == []


def test_primitives_are_written_with_their_signs():
    signs = {row.name: row.sign for row in PRIMITIVES.values() if row.sign}
    listed = {name: sign for table in (INFIX, COMPARISONS, PREFIX) for name, sign in table.values()}
    assert signs == {n: s for n, s in listed.items() if s and n != "positive"}


@pytest.mark.parametrize("method", [m for m in OPERATORS if m not in ("eq", "ne")])
def test_tensors_have_the_operators(method):
    axis = axiomjit.make_axis(4, "H")
    x, y = (X + 0.5, Y / 2) if method == "pow" else (X, Y)
    if method.endswith(("shift", "pow")):
        x = np.abs(x)
    apply = getattr(operator, f"__{method}__")
    left, right = axiomjit.constant(x, axis), axiomjit.constant(y, axis)
    given = [left, right][: 1 + (method in PAIRS)]
    np.testing.assert_allclose(apply(*given).eval().values, apply(*[x, y][: len(given)]), 1e-15)
    if method in INFIX:
        np.testing.assert_allclose(apply(9, right).eval().values, apply(9, y), 1e-15)
