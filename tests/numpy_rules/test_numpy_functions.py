"""Functions of the NumPy table that are more than a row of the table of primitives."""

import itertools

import numpy as np
import pytest

import axiomjit
from axiomjit.base.dtypes import DTYPES
from axiomjit.base.errors import GraphTypeError
from tests.graph.test_primitives import VALUES, fails
from tests.passes.graphs import evaluated, follow, in_numpy, lowered, quiet, run_plain_case
from tests.runtime.codegen.kernels import same_bits

CODES = sorted(DTYPES)


def assert_as_in_numpy(function, *arguments):
    """The evaluator and the generated source give what NumPy gives, or raise what it raises."""
    for error in (TypeError, ValueError, OverflowError):
        if fails(lambda: in_numpy(function, arguments), error):
            assert fails(lambda: follow(function, *arguments), error)
            return
    want = in_numpy(function, arguments)
    case = follow(function, *arguments)
    with quiet():
        planned = run_plain_case(case, lowered(case).plan)
    for one, other, value in zip(evaluated(case.graph, case), planned, want, strict=True):
        assert same_bits(one, value)
        assert same_bits(other, value)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ["square", "positive", "reciprocal", "conjugate"])
def test_short_forms(name, code):
    assert_as_in_numpy(getattr(np, name), VALUES[code])


@pytest.mark.parametrize("code", CODES)
def test_divmod_gives_two_results(code):
    x = VALUES[code]
    assert_as_in_numpy(lambda x: divmod(x, x[::-1]), x)
    assert_as_in_numpy(lambda x: np.divmod(x, 2), x)
    assert_as_in_numpy(lambda x: 2 // x + 7 % x, x)


CLIPS = [
    lambda x: np.clip(x, 0, 5),
    lambda x: x.clip(1, 7),
    lambda x: x.clip(max=3),
    lambda x: np.clip(x, None, None),
    lambda x: np.clip(x, -300, 300),
    lambda x: np.clip(x, 300, None),
    lambda x: np.clip(x, 0.5, 2),
    lambda x: np.clip(x, x[:1], np.int64(9)),
    lambda x: np.clip(x, min=2, max=1),
]


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("function", CLIPS)
def test_clip(function, code):
    values = VALUES[code]
    assert_as_in_numpy(function, values[values != 0])


def test_clip_by_lengths():
    x = np.arange(-100, 100, dtype="i1")
    assert_as_in_numpy(lambda x: x.clip(-x.shape[0], x.shape[0]), x)
    assert_as_in_numpy(lambda x: x.clip(x.shape[0], None), x)


def test_clip_refuses_bounds_of_both_kinds():
    with pytest.raises(ValueError, match="is forbidden"):
        follow(lambda x: np.clip(x, 1, 2, max=3), np.zeros(3))


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 7, 10, -1, np.int64(3), np.uint8(2), True])
def test_powers_with_known_exponents(exponent, code):
    x = VALUES[code]
    if x.dtype.kind in "fc":  # the C library's, exact for small whole numbers
        x = np.array([0, 1, 2, 3, -2], code)
    if (code, exponent) != ("b1", 2):  # x ** 2 of bools is int8 in NumPy, but np.power(x, 2) int64
        assert_as_in_numpy(lambda x: x**exponent, x)
    if x.dtype.kind != "c" or exponent != -1:  # x ** -1 is np.reciprocal, with -0j
        assert_as_in_numpy(lambda x: np.power(x, exponent), x)


def test_powers_by_a_length_and_by_arrays():
    x = np.array([1, 2, -3, 5, 7])
    assert_as_in_numpy(lambda x: x ** x.shape[0], x)
    assert_as_in_numpy(lambda x: x ** abs(x), x)
    assert_as_in_numpy(lambda x: 2 ** abs(x), x)
    with pytest.raises(ValueError, match="negative integer powers"):
        axiomjit.jit(lambda x: x**x)(x)


def test_numpy_has_no_such_loop():
    with pytest.raises(GraphTypeError, match="left_shift"):
        follow(lambda x: x << 1, np.zeros(3))
    with pytest.raises(GraphTypeError, match="subtract"):
        follow(lambda x: x - x, np.zeros(3, bool))


def test_methods_take_traced_operands():
    x = np.arange(6.0)
    assert_as_in_numpy(lambda x, y: x.clip(y, y + 1), x, x[::-1])
    assert_as_in_numpy(lambda x, y: x.dot(y), x, x)


def test_float16_sums_do_not_overflow_on_the_way():
    x = np.full(1000, 1000, "f2")
    assert_as_in_numpy(np.mean, x)
    y = np.array([300, 300, 2], "f2")
    assert_as_in_numpy(lambda y, z: np.dot(y, z), y, np.array([300, -300, 5], "f2"))
    assert_as_in_numpy(lambda x: x[:60].sum(), x)


def test_float16_averages_are_taken_in_float32():
    x = np.full(3000, 1, "f2")
    x[::2] = 3
    for _ in range(5):
        x = np.concatenate([x, x])  # 96,000 elements: the count alone is beyond float16
    case = follow(lambda x: (np.mean(x, where=x > 0), np.var(x), np.std(x)), x)
    for got, want in zip(evaluated(case.graph, case), (2, 1, 1), strict=True):
        assert got == want
        assert got.dtype == np.float16
    y = np.array([-200, 200, -150, 150], "f2")
    case = follow(np.var, y)
    assert evaluated(case.graph, case)[0] == np.float16(31250)


SIDES = [*CODES, "int", "float", "bool", "complex"]


def test_promotion_of_where_is_numpys():
    weak = {"int": 3, "float": 2.5, "bool": True, "complex": 1j}
    wrong = []
    for left, right in itertools.product(SIDES, SIDES):
        sides = [weak[s] if s in weak else np.ones(3, DTYPES[s]) for s in (left, right)]
        given = [side for side in sides if isinstance(side, np.ndarray)]

        def function(mask, *given, sides=sides):
            values = iter(given)
            chosen = (next(values) if isinstance(s, np.ndarray) else s for s in sides)
            return np.where(mask, *chosen)

        arguments = [np.ones(3, bool), *given]
        want = in_numpy(function, arguments)[0].dtype
        got = follow(function, *arguments).graph.outputs[0].dtype
        if got != want:
            wrong.append((left, right, want, got))
    assert not wrong
