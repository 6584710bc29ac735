"""Each elementwise rule: first and second derivatives at 200 points, by the keys of the tables."""

import numpy as np
import pytest
from scipy import special

from axiomjit.base.dtypes import is_inexact
from axiomjit.gradients import libraries, reverse
from axiomjit.gradients.rules import (
    ELEMENTWISE,
    IDENTITIES,
    NO_PATHS,
    NOT_OF_COMPLEX,
    OF_COMPLEX,
    NoPath,
    Refused,
)
from axiomjit.gradients.special import UFUNCS_OF_SCIPY
from axiomjit.gradients.values import NodeArray
from axiomjit.graph.builder import cast, elementwise, python_number, read_only
from axiomjit.graph.primitives import PRIMITIVES
from tests.gradients.evaluated import gradients_of
from tests.gradients.references import REFERENCES, special_references

BY_MPMATH = {"scipy.special.erfinv": (-0.9, 0.9), "scipy.special.ndtri": (0.05, 0.95)}
"""Inverse functions, which are not known at complex points."""
OF_PSI = "ufunc._zeta"
"""The derivative of psi: its second derivatives are those of psi's rule."""
COMPLEX_ONLY = {"reciprocal"}
"""NumPy's function of floats is a division."""
ALL = REFERENCES | special_references()
TOLERANCES = {"f8": 1e-12, "f4": 1e-5}


def test_every_rule_has_a_reference():
    rules = {
        name
        for name, row in (ELEMENTWISE | UFUNCS_OF_SCIPY).items()
        if isinstance(row, tuple) and name not in IDENTITIES
    }
    assert rules == ALL.keys() | BY_MPMATH.keys() | COMPLEX_ONLY | {OF_PSI}


def applied(name):
    """The function of a row, of node arrays."""
    if name not in PRIMITIVES:
        return getattr(special, name.split(".")[-1])
    return lambda *x: NodeArray(elementwise(PRIMITIVES[name], *(v.node for v in x)))


def orders(count, *numbers):
    """For each operand, the number of derivatives by it."""
    return tuple(sum(k == number for number in numbers) for k in range(count))


def wanted_of(reference, arrays, k, order):
    """The reference value of the gradient that `gradients_of` returns for operand k."""
    count = len(arrays)
    if order == 1:
        return reference.derivative(arrays, orders(count, k))
    return sum((j + 1) * reference.derivative(arrays, orders(count, j, k)) for j in range(count))


def compare(name, code, order):
    """Compare the derivatives by all operands."""
    reference = ALL[name]
    arrays = [x.astype(code) for x in reference.points(sum(map(ord, name)))]
    found = gradients_of(applied(name), *arrays, order=order)
    wide = [x.astype(float) for x in arrays]
    for k, one in enumerate(found):
        assert one.dtype == code
        wanted = wanted_of(reference, wide, k, order).real
        error = abs(one - wanted) / np.maximum(1, abs(wanted))
        assert error.max() < TOLERANCES[code], (name, k, order)


@pytest.mark.parametrize("code", TOLERANCES)
@pytest.mark.parametrize("name", ALL)
def test_derivatives(name, code):
    compare(name, code, 1)
    compare(name, code, 2)


@pytest.mark.parametrize("name", BY_MPMATH)
def test_derivatives_of_inverse_functions(name):
    mp = pytest.importorskip("mpmath")
    inverse = {
        "scipy.special.erfinv": mp.erfinv,
        "scipy.special.ndtri": lambda p: mp.sqrt(2) * mp.erfinv(2 * p - 1),
    }[name]
    x = np.random.default_rng(0).uniform(*BY_MPMATH[name], 200)
    slope = np.array([float(mp.diff(inverse, one)) for one in x])
    y = np.array([float(inverse(one)) for one in x])
    curve = slope**2 * y * (2 if name.endswith("erfinv") else 1)  # from the inverse function's
    for order, wanted in ((1, slope), (2, curve)):
        for code, tolerance in TOLERANCES.items():
            found = gradients_of(applied(name), x.astype(code), order=order)[0]
            close = 1e-12 if code == "f8" else 3e-5  # the points are rounded
            np.testing.assert_allclose(found, wanted, rtol=close, atol=tolerance)


def _planted(name, k):
    """A table with a wrong partial derivative by operand k."""
    table = UFUNCS_OF_SCIPY if name in UFUNCS_OF_SCIPY else ELEMENTWISE
    row = list(table[name])
    right = row[k]
    row[k] = lambda *values: 1.001 * right(*values) if callable(right) else 0.001 + right
    owner = (libraries, "UFUNCS_OF_SCIPY") if table is UFUNCS_OF_SCIPY else (reverse, "ELEMENTWISE")
    return (*owner, {**table, name: tuple(row)})


@pytest.mark.parametrize("name", ALL)
def test_wrong_rules_are_found(name, monkeypatch):
    for k in range(len((ELEMENTWISE | UFUNCS_OF_SCIPY)[name])):
        with monkeypatch.context() as patch:
            patch.setattr(*_planted(name, k))
            with pytest.raises(AssertionError):
                compare(name, "f8", 1)


HOLOMORPHIC = [
    name
    for name in (*REFERENCES, "reciprocal")
    if name not in (*OF_COMPLEX, *NOT_OF_COMPLEX)
    and {"D->D", "DD->D"} & set(getattr(PRIMITIVES[name].ufunc, "types", ()))
]


@pytest.mark.parametrize("name", HOLOMORPHIC)
def test_derivatives_by_complex_numbers(name):
    """The adjoint under Re(conj(a) b) of f is the conjugate of w f'(z) for the result Re(w f)."""
    reference = ALL["divide" if name == "reciprocal" else name]
    points = reference.points(3)
    turned = [x + 0.3j * np.random.default_rng(4).uniform(-1, 1, x.size) for x in points]
    if name == "reciprocal":
        points, turned = points[1:], turned[1:]
        reference = reference._replace(function=lambda x: 1 / x, distance=abs)
    weight = 0.6 - 0.8j
    for code, tolerance in (("c16", 1e-12), ("c8", 1e-5)):
        arrays = [x.astype(code) for x in turned]
        wide = [x.astype(complex) for x in arrays]
        for order in (1, 2):
            found = gradients_of(lambda *x: applied(name)(*x) * weight, *arrays, order=order)
            for k, one in enumerate(found):
                wanted = np.conj(weight * wanted_of(reference, wide, k, order))
                error = abs(one - wanted) / np.maximum(1, abs(wanted))
                assert error.max() < tolerance, (name, k, order)


def _first(a, b):
    """True where NumPy's maximum is the first of two complex numbers."""
    return (a.real > b.real) | ((a.real == b.real) & (a.imag > b.imag))


W = 0.6 - 0.8j
CLOSED = {
    "conjugate": (lambda z: [0 * z + W], lambda z: [0 * z]),
    "absolute": (
        lambda z: [W.real * z / abs(z)],
        lambda z: [W.real * (1 / abs(z) - z.real * z / abs(z) ** 3)],
    ),
    "maximum": (
        lambda a, b: [np.where(_first(a, b), np.conj(W), 0), np.where(_first(a, b), 0, np.conj(W))],
        lambda a, b: [0 * a, 0 * b],
    ),
    "minimum": (
        lambda a, b: [np.where(_first(a, b), 0, np.conj(W)), np.where(_first(a, b), np.conj(W), 0)],
        lambda a, b: [0 * a, 0 * b],
    ),
}
"""The first and second derivatives of functions that are not holomorphic, for Re(W f)."""


@pytest.mark.parametrize("name", OF_COMPLEX)
def test_derivatives_of_functions_that_are_not_holomorphic(name, monkeypatch):
    draw = np.random.default_rng(6)
    arity = PRIMITIVES[name].arity
    z = [draw.normal(size=200) + 1j * draw.normal(size=200) for _ in range(arity)]

    def compare_to(code, tolerance):
        for order, closed in enumerate(CLOSED[name], 1):
            found = gradients_of(
                lambda *x: applied(name)(*x) * W, *(one.astype(code) for one in z), order=order
            )
            for one, wanted in zip(found, closed(*z), strict=True):
                np.testing.assert_allclose(one, wanted, rtol=tolerance, atol=tolerance)

    compare_to("c16", 1e-12)
    compare_to("c8", 2e-5)
    right = OF_COMPLEX[name]
    wrong = {name: lambda *values: tuple(1.001 * one for one in right(*values))}
    monkeypatch.setattr(reverse, "OF_COMPLEX", OF_COMPLEX | wrong)
    with pytest.raises(AssertionError):
        compare_to("c16", 1e-12)


@pytest.mark.parametrize("name", NO_PATHS)
def test_no_path_gives_zeros(name, monkeypatch):
    primitive = PRIMITIVES[name]
    if primitive.ufunc is None:
        assert name == "position"  # has no operand that is differentiated by
        return
    kinds = [one.split("->") for one in primitive.ufunc.types]
    of_floats = next((made for given, made in kinds if given == "d" * primitive.arity), None)
    if of_floats is None:
        assert not any(is_inexact(np.dtype(given[0])) for given, _ in kinds)
        return
    arrays = [np.linspace(-3, 3, 200) + 0.01 * k for k in range(primitive.arity)]

    def function(*x):
        made = elementwise(primitive, *(v.node for v in x))
        return NodeArray(cast(made, np.dtype(float))) * x[0]

    def check():
        values = primitive.ufunc(*arrays) * 1.0
        found = gradients_of(function, *arrays)
        np.testing.assert_array_equal(found[0], values)
        assert not any(one.any() for one in found[1:])

    with np.errstate(all="ignore"):
        check()
        if of_floats == "d":
            monkeypatch.setattr(reverse, "ELEMENTWISE", ELEMENTWISE | {name: (1,) * len(arrays)})
            with pytest.raises(AssertionError):
                check()


MADE = {
    "view": lambda x: x[::-1],
    "read_only": lambda x: NodeArray(read_only(x.node, x.node)),
    "cast": lambda x: x.astype("f4"),
    "number": lambda x: NodeArray(python_number(x[0].node)),
}
"""Functions that compute the values of primitives which are identities but no copies."""


@pytest.mark.parametrize("name", IDENTITIES)
def test_identities(name, monkeypatch):
    x = np.linspace(-3, 3, 5)
    make = MADE.get(name) or applied(name)

    def function(x):
        return make(x) ** 2

    found = gradients_of(function, x)[0]
    wanted = 2 * x if name != "number" else [2 * x[0], 0, 0, 0, 0]
    np.testing.assert_allclose(found, wanted, rtol=1e-6)
    monkeypatch.setattr(reverse, "ELEMENTWISE", ELEMENTWISE | {name: (-1,)})
    assert not np.allclose(gradients_of(function, x)[0], wanted)


INF, NAN = np.inf, np.nan
SPECIAL = {
    "exp": ((-INF, INF, 0, NAN), (0, INF, 1, NAN)),
    "exp2": ((-INF, INF, NAN), (0, INF, NAN)),
    "expm1": ((-INF, INF, 0, NAN), (0, INF, 1, NAN)),
    **dict.fromkeys(("log", "log2", "log10", "sqrt"), ((INF, 0, NAN), (0, INF, NAN))),
    "log1p": ((INF, -1, 0, NAN), (0, INF, 1, NAN)),
    "cbrt": ((-INF, INF, 0, -0.0, NAN), (0, 0, INF, INF, NAN)),
    "sin": ((-INF, INF, 0, NAN), (NAN, NAN, 1, NAN)),
    "cos": ((-INF, INF, 0, NAN), (NAN, NAN, 0, NAN)),
    "tan": ((-INF, INF, 0, NAN), (NAN, NAN, 1, NAN)),
    "arcsin": ((-1, 1, 0, NAN), (INF, INF, 1, NAN)),
    "arccos": ((-1, 1, 0, NAN), (-INF, -INF, -1, NAN)),
    "arctan": ((-INF, INF, 0, NAN), (0, 0, 1, NAN)),
    "sinh": ((-INF, INF, 0, NAN), (INF, INF, 1, NAN)),
    "cosh": ((-INF, INF, 0, NAN), (-INF, INF, 0, NAN)),
    "tanh": ((-INF, INF, 0, NAN), (0, 0, 1, NAN)),
    "arcsinh": ((-INF, INF, 0, NAN), (0, 0, 1, NAN)),
    "arccosh": ((1, INF, NAN), (INF, 0, NAN)),
    "arctanh": ((-1, 1, 0, NAN), (INF, INF, 1, NAN)),
    **dict.fromkeys(("absolute", "fabs"), ((-INF, INF, 0, -0.0, NAN), (-1, 1, 0, 0, NAN))),
    "negative": ((-INF, INF, 0, NAN), (-1, -1, -1, -1)),
    "erf": ((-INF, INF, NAN), (0, 0, NAN)),
    "erfc": ((-INF, INF, NAN), (0, 0, NAN)),
    "scipy.special.erf": ((-INF, INF, NAN), (0, 0, NAN)),
    "scipy.special.erfc": ((-INF, INF, NAN), (0, 0, NAN)),
    "scipy.special.erfcx": ((-INF, INF, NAN), (-INF, NAN, NAN)),
    "scipy.special.erfinv": ((-1, 1, NAN), (INF, INF, NAN)),
    "scipy.special.expit": ((-INF, INF, 0, NAN), (0, 0, 0.25, NAN)),
    "scipy.special.log_expit": ((-INF, INF, 0, NAN), (1, 0, 0.5, NAN)),
    "scipy.special.logit": ((0, 1, 0.5, NAN), (INF, INF, 4, NAN)),
    "scipy.special.gammaln": ((INF, NAN), (INF, NAN)),
    "scipy.special.gamma": ((INF, NAN), (INF, NAN)),
    "scipy.special.psi": ((INF, NAN), (0, NAN)),
    "scipy.special.ndtr": ((-INF, INF, NAN), (0, 0, NAN)),
    "scipy.special.log_ndtr": ((-INF, INF, NAN), (INF, 0, NAN)),
    "scipy.special.ndtri": ((0, 1, NAN), (INF, INF, NAN)),
    "scipy.special.i0": ((0, NAN), (0, NAN)),
    "scipy.special.i1": ((0, NAN), (0.5, NAN)),
    "scipy.special.j0": ((0, NAN), (0, NAN)),
    "scipy.special.j1": ((0, NAN), (0.5, NAN)),
}
"""For each row of one operand its special values, and the derivatives there."""
OF_TWO = {
    "add": ((INF, 1, 1, 1), (NAN, 0, 1, 1)),
    "subtract": ((INF, 1, 1, -1), (NAN, 0, 1, -1)),
    "multiply": ((INF, 0, 0, INF), (NAN, 2, 2, NAN), (0, 3, 3, 0)),
    "divide": ((1, INF, 0, 0), (1, 0, INF, -INF), (0, 2, 0.5, 0), (NAN, 2, 0.5, NAN)),
    "power": ((0, 2, 0, 0), (0, 1, 1, 0), (0, 0, 0, 0), (0, -1, -INF, 0), (0, 0.5, INF, 0))
    + ((-2, 3, 12, NAN), (INF, 2, INF, INF), (1, INF, INF, 0), (NAN, 0, 0, NAN)),
    "logaddexp": ((INF, 0, 1, 0), (-INF, -INF, 0, 0), (INF, INF, 0.5, 0.5), (0, -INF, 1, 0)),
    "logaddexp2": ((INF, 0, 1, 0), (-INF, -INF, 0, 0), (INF, INF, 0.5, 0.5), (0, -INF, 1, 0)),
    "arctan2": ((0, 0, 0, 0), (3e200, 4e200, 1.6e-201, -1.2e-201), (0, INF, 0, 0)),
    "hypot": ((0, 0, 0, 0), (3e200, 4e200, 0.6, 0.8), (3e-200, 4e-200, 0.6, 0.8)),
    "maximum": ((1, 1, 0.5, 0.5), (INF, 0, 1, 0), (NAN, 0, 1, 0), (0, NAN, 0, 1)),
    "minimum": ((1, 1, 0.5, 0.5), (INF, 0, 0, 1), (NAN, 0, 1, 0), (0, NAN, 0, 1)),
    "fmax": ((1, 1, 0.5, 0.5), (INF, 0, 1, 0), (NAN, 0, 0, 1), (0, NAN, 1, 0)),
    "fmin": ((1, 1, 0.5, 0.5), (INF, 0, 0, 1), (NAN, 0, 0, 1), (0, NAN, 1, 0)),
    "remainder": ((1, INF, 1, 0), (5.5, 2, 1, -2), (-5.5, 2, 1, 3)),
    "fmod": ((1, INF, 1, 0), (5.5, 2, 1, -2), (-5.5, 2, 1, 2)),
    "copysign": ((0, -1, -1, 0), (-2, 0.0, -1, 0), (2, -0.0, -1, 0)),
    "scipy.special.xlogy": ((0, 0, 0, 0), (0, 2, np.log(2), 0), (1, INF, INF, 0)),
}
"""For each row of two operands their special values, and the derivatives by both."""


def test_every_rule_has_special_values():
    assert ALL.keys() | BY_MPMATH.keys() == SPECIAL.keys() | OF_TWO.keys() | {"clip"}


@pytest.mark.parametrize("name", SPECIAL)
def test_special_values(name):
    at, wanted = (np.array(one, float) for one in SPECIAL[name])
    np.testing.assert_allclose(gradients_of(applied(name), at)[0], wanted, rtol=1e-15)


@pytest.mark.parametrize("name", OF_TWO)
def test_special_values_of_two(name):
    first, second, *wanted = np.array(OF_TWO[name], float).T
    found = gradients_of(applied(name), first.copy(), second.copy())
    for one, other in zip(found, wanted, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)


def test_special_values_of_clip():
    x, low, high = np.array([[0, 0, 1], [NAN, 0, 1], [1, 0, 1], [INF, 0, 1], [0.5, 2, 1]], float).T
    found = gradients_of(applied("clip"), x.copy(), low.copy(), high.copy())
    np.testing.assert_array_equal(found[0], [0.5, 1, 0.5, 0, 0])
    np.testing.assert_array_equal(found[1], [0.5, 0, 0, 0, 0])
    np.testing.assert_array_equal(found[2], [0, 0, 0.5, 1, 1])


def test_rows_are_of_a_known_kind():
    for row in (*ELEMENTWISE.values(), *UFUNCS_OF_SCIPY.values()):
        assert isinstance(row, tuple | NoPath | Refused)
