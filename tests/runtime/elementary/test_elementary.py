"""Elementary functions: fused multiply-add, polynomials, accuracy (`test_intrinsics`: the rest)."""

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import erfc, exp, log, mpf, pi, workprec

import axiomjit
from axiomjit.base.errors import GraphTypeError
from axiomjit.runtime.elementary import arithmetic, exponential, tables
from axiomjit.runtime.elementary.arithmetic import NumpyArithmetic, fma_of_integers
from axiomjit.runtime.elementary.functions import RECIPES
from tests.runtime.codegen.kernels import near, same_bits
from tools.elementary.accuracy import measure
from tools.elementary.accuracy_cases import CASES, samples
from tools.elementary.coefficients import NAMES, table

BOUNDS = {"f4": 1.0, "f8": 2.0}
RNG = np.random.default_rng(11)


@pytest.mark.parametrize("name", NAMES)
def test_the_table_is_what_the_script_makes(name):
    assert getattr(tables, name) == table(name)


SUMS = [
    *((lambda: log(2), pair, code) for code, pair in arithmetic.LN2.items()),
    *((lambda: 1 / log(2), pair, code) for code, pair in arithmetic.LOG2_OF_E.items()),
    *((lambda: 1 / log(10), pair, code) for code, pair in arithmetic.LOG10_OF_E.items()),
    *((lambda: pi / 2, pair, code) for code, pair in arithmetic.HALF_PI.items()),
    (lambda: log(2) / exponential.PARTS, exponential.STEP, "f4"),
    (lambda: exp(9) * erfc(3) * (1 + 3 * mpf(exponential.RISE)), exponential.AT_3, "f8"),
]


@pytest.mark.parametrize(("exact", "pair", "code"), SUMS)
def test_constants_of_two_parts_are_as_near_as_their_sum_can_be(exact, pair, code):
    first, second = (float(np.array(part, code)) for part in pair)
    with workprec(200):
        off = abs(exact() - first - second)
    assert off <= 0.51 * np.spacing(np.array(abs(second), code))


def operands_of_fma(code, count=4000):
    """Numbers of all sizes, products near a third number, halves of units, and the ends."""
    info, bits = np.finfo(code), np.dtype(f"u{code[1]}")
    a, b, c = (RNG.standard_normal(count).astype(code) for _ in range(3))
    top = np.iinfo(bits).max
    wild = [RNG.integers(0, top, count, bits).view(code) for _ in range(3)]
    near = -(a * b) * np.array(1 + RNG.integers(-3, 4, count) * info.eps, code)
    ends = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, info.max, info.tiny]
    ends = np.array([*ends, info.smallest_subnormal, 1 + info.eps], code)
    grid = [v.ravel() for v in np.meshgrid(ends, ends, ends)]
    columns = zip((a, b, c), wild, (a, b, near), grid, strict=True)
    return [np.concatenate(column) for column in columns]


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_fused_multiply_add_rounds_once(code):
    with np.errstate(all="ignore"):
        a, b, c = operands_of_fma(code)
        m = NumpyArithmetic(code)
        got = m.fma(a, b, c)
        singly = np.array([m.fma(*values) for values in zip(a, b, c, strict=True)])
    assert same_bits(got, singly)
    for x, y, z, value in list(zip(a, b, c, got, strict=True))[:9000]:
        if not np.all(np.isfinite([x, y, z, value])) or value == 0:
            continue
        exact = Fraction(float(x)) * Fraction(float(y)) + Fraction(float(z))
        off = abs(exact - Fraction(float(value)))
        for beside in (np.nextafter(value, value.dtype.type(side)) for side in (np.inf, -np.inf)):
            if np.isfinite(beside):
                assert off <= abs(exact - Fraction(float(beside)))


def test_fused_multiply_add_at_the_ends():
    assert fma_of_integers(1e308, 10.0, -np.inf) == -np.inf
    assert fma_of_integers(1e308, 10.0, 1.0) == np.inf
    assert np.isnan(fma_of_integers(np.inf, 0.0, 1.0))
    assert np.signbit(fma_of_integers(-0.0, 1.0, -0.0))
    assert not np.signbit(fma_of_integers(1.0, 1.0, -1.0))


def test_every_recipe_is_measured():
    assert set(CASES) == set(RECIPES)


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", CASES)
def test_errors_of_a_sample(name, code):
    worst = measure(name, code, samples(CASES[name], code, 1 << 16))
    assert 0 < worst.ours <= BOUNDS[code], worst


def test_error_functions_of_arrays_numbers_tensors_and_traced_arrays():
    x = np.array([-1.5, -0.0, 0.25, 3.0, np.inf, np.nan], "f4")
    for function, exact in ((axiomjit.erf, math.erf), (axiomjit.erfc, math.erfc)):
        want = np.array([exact(v) for v in x.tolist()], "f4")
        assert near(np.asarray(axiomjit.jit(lambda x, f=function: f(x))(x)), want, 1)
        assert near(function(x), want, 1)
        axis = axiomjit.make_axis(length=6, name="i")
        tensor = function(axiomjit.constant(x, [axis]))
        computed = axiomjit.transformers.make_transformer().computation(tensor)()
        assert near(np.asarray(computed), want, 1)
        assert function(2) == exact(2.0)
        assert function(np.ones(2, "i1")).dtype == np.float16
    with pytest.raises(GraphTypeError, match="erf"):
        axiomjit.erf(np.ones(2, "c8"))
    with pytest.raises(GraphTypeError, match="erf"):
        axiomjit.jit(axiomjit.erf)(np.ones(2, "c8"))


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_cubes_are_two_products(code):
    x = np.append(RNG.normal(0, 10, 5000), [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-30, -1e200])
    with np.errstate(all="ignore"):
        x = x.astype(code)
        exact = x.astype(np.longdouble) ** 3
        assert near(axiomjit.jit(lambda x: x**3)(x), exact.astype(code), 1)
    assert "power" not in axiomjit.jit(lambda x: x**3).lower(x).source
