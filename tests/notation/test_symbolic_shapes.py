"""Shapes of symbolic lengths: what was looked at stands in guards, what follows stays symbolic."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import ShapeError
from axiomjit.notation import parse_einsum
from axiomjit.notation.templates import solve_known
from axiomjit.symbolic.dims import Scope, bound, dim, named_length

N, M = named_length("n"), named_length("m")


def solve(values, spec, *shapes, **sizes):
    """The solution and the guards, as text."""
    scope = Scope({length.terms[0][0][0]: value for length, value in values.items()})
    with bound(scope):
        found = solve_known(parse_einsum(spec), [tuple(map(dim, s)) for s in shapes], sizes)
    return found, [f"{g.left} {g.sign} {g.right}: {g.outcome}" for g in scope.guards]


def test_what_is_the_same_symbol_needs_no_guard():
    found, guards = solve({N: 8, M: 9}, "ij;jk=>ik", (N, M), (M, N))
    assert found.result.output == (N, N)
    assert found.labels["j"] is M
    assert guards == []


def test_sizes_that_must_be_equal_leave_a_guard():
    scope_values = {N: 8, M: 4}
    found, guards = solve(scope_values, "ij;jk=>ik", (3, N), (M * 2, 5))
    assert found.result.output == (dim(3), dim(5))
    assert len(guards) == 1
    assert guards[0].endswith(": True")


@pytest.mark.parametrize(
    ("spec", "shapes", "result", "guard"),
    [
        ("2*o=+k;k=>o", [(N,), (3,)], "floor(n / 2)", "n - 2*floor(n / 2) == 0: True"),
        ("o<+k;k=>o", [(N,), (3,)], "n - 2", "n - 3 < 0: False"),
        ("o=+k;k=>o", [(N,), (3,)], "n", None),
        ("o<+k;k=>o", [(N,), (M,)], "n - m + 1", "-m + n < 0: False"),
        ("a;b=>a^b", [(N,), (M,)], "n + m", None),
        ("o;k=>o<+k", [(N,), (M,)], "n + m - 1", None),
        ("i2=>i", [(3, N)], "3", None),
    ],
)
def test_results_are_symbolic(spec, shapes, result, guard):
    found, guards = solve({N: 10, M: 6}, spec, *shapes)
    difference = found.result.output[0] - polynomial(result)
    assert difference.constant == 0
    assert guard is None or guard in guards


def polynomial(text):
    """A length from its text."""
    return dim(eval(text, {"n": N, "m": M, "floor": lambda q: q}) if "/" not in text else N // 2)


def test_what_does_not_divide_is_refused():
    with pytest.raises(ShapeError, match="steps of 2 that do not tile an axis of 9"):
        solve({N: 9}, "2*o=+k;k=>o", (N,), (3,))


def test_shapes_in_a_compiled_function_stay_symbolic():
    @aj.jit
    def scaled(x):
        n = aj.Size("n")
        shape = aj.Shape(batch=(), input=(n,), output=(n, 2), deduced=None)
        n.set(x.shape[0])
        return x * shape.dims[0] + n.value

    for length in (30, 7, 12):
        assert scaled(np.ones(length)).tolist() == [2.0 * length] * length
    assert scaled.cache_info().traced == 1


def test_values_of_a_followed_function_are_refused():
    @aj.jit(strict=True)
    def looked_at(x):
        return np.asarray(aj.tensor(x, batch=(), input=(), output=(3,)) + 1)

    with pytest.raises(TypeError, match="a tensor of arrays of a function that is"):
        looked_at(np.ones(3))
