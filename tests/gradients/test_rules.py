"""Each elementwise rule against differences in extended precision, and its second derivative."""

import math

import numpy as np
import pytest

from axiomjit.gradients import reverse
from axiomjit.gradients.folds import FOLDS, SCANS
from axiomjit.gradients.rules import ELEMENTWISE, NO_PATHS, PARTS, STRUCTURAL, NoPath
from axiomjit.gradients.values import NodeArray
from axiomjit.graph.builder import elementwise
from axiomjit.graph.primitives import ACCUMULATORS, BITS_AS, BITS_VIEWS, PRIMITIVES
from tests.gradients.evaluated import gradients_of

# Where the points of each function are; by default from -2 to 2.
DOMAINS = {
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), (0.1, 4.0)),
    "power": (0.1, 3.0),
    "tan": (-1.2, 1.2),
    "arctan2": (0.3, 2.0),
    "log1p": (-0.9, 3.0),
    "cbrt": (0.1, 4.0),
    "arccosh": (1.1, 5.0),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), (-0.9, 0.9)),
    **dict.fromkeys(("divide", "reciprocal", "remainder", "fmod"), (0.3, 3.0)),
}
SMOOTH = [
    name
    for name, row in ELEMENTWISE.items()
    if isinstance(row, tuple)
    and PRIMITIVES[name].ufunc is not None
    and name not in ("copysign", "reciprocal")
]


def test_every_primitive_has_a_row():
    assert set(PRIMITIVES) == {*ELEMENTWISE, *PARTS, *STRUCTURAL} - {"gather"}
    assert set(FOLDS) == set(SCANS) == set(ACCUMULATORS)


def test_no_path_is_where_the_result_is_no_float_or_does_not_change():
    assert {name for name, row in ELEMENTWISE.items() if isinstance(row, NoPath)} == {
        *NO_PATHS,
        "conjugate",
    }
    assert not {*BITS_AS.values(), *BITS_VIEWS.values()} & set(NO_PATHS)


def points(name, count=200, dtype=float):
    low, high = DOMAINS.get(name, (-2.0, 2.0))
    generator = np.random.default_rng(sum(map(ord, name)))
    return [
        generator.uniform(low, high, count).astype(dtype) for _ in range(PRIMITIVES[name].arity)
    ]


def applied(name):
    """The primitive as a function of node arrays."""
    return lambda *x: NodeArray(elementwise(PRIMITIVES[name], *(v.node for v in x)))


def slopes(function, arrays, k, step):
    """Five-point differences by operand k, at each point."""

    def at(shift):
        return function(*(a + shift * step if j == k else a for j, a in enumerate(arrays)))

    return (at(-2) - 8 * at(-1) + 8 * at(1) - at(2)) / (12 * step)


def near_kink(name, arrays, margin=1e-2):
    """Points near which the function has a kink."""
    if name in ("maximum", "minimum", "fmax", "fmin"):
        return abs(arrays[0] - arrays[1]) < margin
    if name == "clip":
        x, low, high = arrays
        return np.minimum.reduce([abs(x - low), abs(x - high), abs(low - high)]) < margin
    if name in ("absolute", "fabs"):
        return abs(arrays[0]) < margin
    if name in ("remainder", "fmod"):
        ratio = arrays[0] / arrays[1]
        return abs(ratio - np.rint(ratio)) < 5 * margin
    return np.zeros(arrays[0].shape, bool)


@pytest.mark.parametrize("name", SMOOTH)
def test_partial_derivatives_are_the_slopes(name):
    ufunc, row = PRIMITIVES[name].ufunc, ELEMENTWISE[name]
    arrays = points(name)
    wide = [a.astype(np.longdouble) for a in arrays]
    ok = ~near_kink(name, arrays)
    found = gradients_of(applied(name), *arrays)
    for k in range(len(arrays)):
        wanted = slopes(ufunc, wide, k, np.longdouble(1e-4)).astype(float)
        np.testing.assert_allclose(found[k][ok], wanted[ok], rtol=1e-11, atol=1e-11)
        if callable(row[k]):
            plain = np.broadcast_to(row[k](ufunc(*wide), *wide), ok.shape).astype(float)
            np.testing.assert_allclose(plain[ok], wanted[ok], rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("name", SMOOTH)
def test_second_derivatives_are_the_slopes_of_the_first(name):
    ufunc, row = PRIMITIVES[name].ufunc, ELEMENTWISE[name]
    arrays = points(name, 50)
    wide = [a.astype(np.longdouble) for a in arrays]
    ok = ~near_kink(name, arrays)

    def first(*x):
        y = ufunc(*x)
        parts = [p(y, *x) if callable(p) else p for p in row]
        return sum((k + 1) * part for k, part in enumerate(parts)) + 0 * x[0]

    found = gradients_of(applied(name), *arrays, order=2)
    for k in range(len(arrays)):
        wanted = slopes(first, wide, k, np.longdouble(1e-4)).astype(float)
        np.testing.assert_allclose(found[k][ok], wanted[ok], rtol=1e-10, atol=1e-9)


def error_functions():
    return [("erf", 1.0), ("erfc", -1.0)]


@pytest.mark.parametrize(("name", "sign"), error_functions())
def test_error_functions(name, sign):
    x = np.linspace(-3, 3, 200)
    found = gradients_of(applied(name), x)[0]
    np.testing.assert_allclose(found, sign * 2 / math.sqrt(math.pi) * np.exp(-x * x), rtol=1e-14)


def test_ties_share_evenly_and_zeros_give_zero():
    one = np.array([1.0, -1.0])
    for function in (np.maximum, np.minimum, np.fmax, np.fmin):
        assert [g.tolist() for g in gradients_of(function, one, one)] == [[0.5, 0.5]] * 2
    zero = np.zeros(1)
    assert gradients_of(np.abs, zero)[0] == 0
    assert [g.item() for g in gradients_of(np.hypot, zero, zero)] == [0, 0]
    assert [g.item() for g in gradients_of(np.arctan2, zero, zero)] == [0, 0]
    assert gradients_of(lambda x: np.clip(x, 0.0, 1.0), zero)[0] == 0.5
    assert gradients_of(lambda x: x**0.0, zero)[0] == 0
    assert [g.item() for g in gradients_of(np.power, zero, np.ones(1))] == [1, 0]


def test_zero_stays_zero():
    x = np.array([0.0, 4.0, -1.0])
    root = gradients_of(lambda x: np.where(x > 0, np.sqrt(x), 0), x)[0]
    assert root.tolist() == [0, 0.25, 0]
    twice = gradients_of(lambda x: np.where(x > 0, (s := np.sqrt(x)) + s * s, 0), x)[0]
    assert twice.tolist() == [0, 1.25, 0]
    summed = gradients_of(
        lambda x: np.where(np.sum(x, 1) > 0, np.sum(np.sqrt(x), axis=1), 0), np.zeros((2, 3))
    )[0]
    assert not summed.any()
    part = gradients_of(lambda x: np.sqrt(x)[1:2], x)[0]
    assert part.tolist() == [0, 0.25, 0]
    second = gradients_of(lambda x: np.where(x > 0, np.sqrt(x), 0), x, order=2)[0]
    assert second.tolist() == [0, -0.25 / 8, 0]


def test_complex_adjoints_descend():
    generator = np.random.default_rng(0)
    z, w = (generator.normal(size=4) + 1j * generator.normal(size=4) for _ in range(2))

    def check(function):
        node = gradients_of(lambda x: (function(x) * w).real, z)[0]
        step = 1e-6
        real, imag = (
            ((function(z + d) - function(z - d)) * w).real / (2 * step) for d in (step, 1j * step)
        )
        np.testing.assert_allclose(node, real + 1j * imag, rtol=1e-6)

    for function in (np.exp, np.sin, np.sqrt, np.log, np.tanh, np.conj, np.abs, np.square):
        check(function)
    check(lambda x: x.real * 2 + 1j * x.imag)
    check(lambda x: x * np.conj(x) / (1 + x))


@pytest.mark.parametrize("name", SMOOTH)
def test_wrong_rules_are_found(name, monkeypatch):
    row = ELEMENTWISE[name]
    for k, partial in enumerate(row):
        wrong = (lambda y, *x, p=partial: 1.001 * p(y, *x)) if callable(partial) else 1.001
        if partial == -1:
            wrong = -1.001
        planted = tuple(_as_partial(wrong) if j == k else p for j, p in enumerate(row))
        with monkeypatch.context() as patch:
            patch.setattr(reverse, "ELEMENTWISE", ELEMENTWISE | {name: planted})
            with pytest.raises(AssertionError):
                test_partial_derivatives_are_the_slopes(name)


def _as_partial(wrong):
    return wrong if callable(wrong) else lambda y, *x: wrong + 0 * y
