"""The adjoints of folds and scans, of built-in accumulators and of users' own."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.accumulators.fold import accumulator_of, fold_nodes
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.gradients.values import NodeArray
from axiomjit.numpy_rules.table import SCANS
from tests.gradients.evaluated import check, differences, gradients_of

R = np.random.default_rng(4)
X = R.uniform(0.5, 2.0, (3, 5)) * R.choice([-1, 1], (3, 5))


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


FOLDS = {
    "prod": lambda x: np.prod(x, axis=1),
    "prod of all": lambda x: np.prod(x),
    "prod of columns": lambda x: np.prod(x, axis=0),
    "max": lambda x: np.max(x, axis=0) ** 2,
    "min": lambda x: np.min(x) ** 2,
    "var": lambda x: np.var(x, axis=1),
    "std": lambda x: np.std(x, axis=0, ddof=1),
    "norm": lambda x: np.linalg.norm(x, axis=1),
    "norm 3": lambda x: np.linalg.norm(x, 3, axis=1),
    "frobenius": lambda x: np.linalg.norm(x),
    "average": lambda x: np.average(x, weights=np.arange(1.0, 6), axis=1) ** 2,
    "nansum": lambda x: np.nansum(x * x, axis=0),
    "ptp": lambda x: np.ptp(x, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1) ** 2,
    "cumsum of all": lambda x: np.cumsum(x) ** 2,
    "cumsum of columns": lambda x: np.cumsum(x, axis=0) ** 2,
    "cumprod": lambda x: np.cumprod(x, axis=1),
    "cov": lambda x: np.cov(x),
    "corrcoef": lambda x: np.corrcoef(x)[0, 1:],
    "softmax": lambda x: (e := np.exp(x - np.max(x, 1)[:, None])) / np.sum(e, 1)[:, None],
}


@pytest.mark.parametrize("name", FOLDS)
def test_folds(name):
    check(FOLDS[name], X)


def test_facts_of_products():
    def gradient(x):
        return gradients_of(np.prod, np.array(x))[0].tolist()

    assert gradient([2.0, 0.0, 3.0]) == [0, 6, 0]
    assert gradient([2.0, 0.0, 0.0]) == [0, 0, 0]
    assert gradient([1e-200, 1e-200, 1e150]) == pytest.approx([1e-50, 1e-50, 0])
    assert gradient([2.0, np.inf, 3.0]) == [np.inf, 6, np.inf]
    with_nan = gradient([2.0, np.nan, 3.0])
    assert np.isnan(with_nan[0])
    assert with_nan[1] == 6
    assert np.isnan(with_nan[2])
    assert gradients_of(lambda x: np.prod(x, axis=1), np.zeros((2, 0)))[0].shape == (2, 0)
    assert gradients_of(lambda x: np.prod(x), np.zeros(3), order=2)[0].tolist() == [0, 0, 0]
    with_zero = np.array([2.0, 0.0, 3.0])
    second = gradients_of(np.prod, with_zero, order=2)[0]
    np.testing.assert_allclose(second, [3, 5, 2])  # of the sum of x1 x2 + x0 x2 + x0 x1


WEIGHTED = R.uniform(0.5, 2.0, (4, 3, 5)) * R.choice([-1, 1], (4, 3, 5))
AXES = (None, 0, 1, 2, (0, 2), (1, 0), (1, 2))


def other_factors(x, axes):
    """For each element the product of the other ones along axes, by NumPy alone."""
    made = np.empty(x.shape, x.dtype)
    every = range(x.ndim)
    axes = every if axes is None else (axes,) if isinstance(axes, int) else axes
    for place in np.ndindex(x.shape):
        row = x[tuple(slice(None) if d in axes else place[d] for d in every)].copy()
        row[tuple(place[d] for d in every if d in axes)] = 1
        made[place] = row.prod()
    return made


@pytest.mark.parametrize("axes", AXES)
@pytest.mark.parametrize("zeros", [0, 1, 2])
def test_gradients_of_products(axes, zeros):
    x = WEIGHTED.copy()
    x[1, 2, [3, 0][:zeros]] = 0
    for code, tolerance in (("f8", 1e-14), ("f4", 1e-6), ("c16", 1e-14), ("c8", 1e-6)):
        given = (x * (1 + 0.3j if code[0] == "c" else 1)).astype(code)
        found = gradients_of(lambda x: np.prod(x, axis=axes).real, given)[0]
        wanted = np.conj(other_factors(given.astype("c16"), axes))
        assert found.dtype == given.dtype
        size = abs(wanted).max()
        np.testing.assert_allclose(
            found, wanted if code[0] == "c" else wanted.real, atol=tolerance * size
        )


ROOTS = aj.Accumulator(None, np.hypot)
MEMORY = {
    "prod": (lambda x, axes: np.prod(x, axis=axes), ("f8", "f4", "c16", "c8")),
    "user": (lambda x, axes: aj.fold(ROOTS, x, axes=axes), ("f8", "f4")),
}


@pytest.mark.parametrize("name", MEMORY)
@pytest.mark.parametrize("axes", AXES)
def test_folds_with_one_value_need_a_row_beside_the_gradient(name, axes, monkeypatch):
    """The states stand in the gradient, until a fold from the end multiplies it in place."""
    monkeypatch.setattr(aj.config, "disable", False)
    function, codes = MEMORY[name]
    for code in codes:
        x = np.ones((40, 30, 50), code)
        every = axes if axes is not None or name == "prod" else (0, 1, 2)
        compiled = aj.jit(aj.grad(lambda x, axes=every: (function(x, axes).real ** 2).sum()))
        cost = compiled.lower(x).cost
        assert cost.temporary_bytes + cost.scratch_bytes < x.nbytes / 4  # results per row


def test_ties_of_extremes_share_evenly():
    x = np.array([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]])
    found = gradients_of(lambda x: np.max(x, axis=1), x)[0]
    np.testing.assert_allclose(found, [[0, 0.5, 0.5], [1 / 3] * 3])
    with_nan = gradients_of(np.min, np.array([1.0, np.nan, 0.0]))[0]
    assert with_nan.tolist() == [0, 1, 0]


def running(accumulator, x, axes=None):
    """A scan of node arrays."""
    nodes = [v.node for v in x]
    every = tuple(range(len(nodes[0].shape))) if axes is None else axes
    made, _ = fold_nodes(accumulator_of(accumulator), nodes, every, True)
    return made


def folded(accumulator, x, axes):
    return fold_nodes(accumulator_of(accumulator), [v.node for v in x], axes)[0]


def test_logsumexp():
    def f(x):
        return NodeArray(folded("logsumexp", [x], (1,))[0])

    weights = R.uniform(1, 2, 3)
    found = gradients_of(f, X, weights=weights)[0]
    share = np.exp(X) / np.exp(X).sum(1)[:, None]
    np.testing.assert_allclose(found, share * weights[:, None], rtol=1e-13)
    inf = np.inf
    special = np.array([[-inf, -inf, -inf], [0, inf, inf], [0, 0, -inf], [1, np.nan, 0]])
    found = gradients_of(f, special)[0]
    np.testing.assert_array_equal(found[:3], [[0, 0, 0], [0, 0.5, 0.5], [0.5, 0.5, 0]])
    assert np.isnan(found[3]).all()
    second = gradients_of(f, X, order=2)[0]
    np.testing.assert_allclose(second, 0 * X, atol=1e-13)


ACCUMULATORS = {
    "sum of squares": aj.Accumulator(0.0, lambda a, b: a + b, lift=lambda e: e * e),
    "hypot": aj.Accumulator(0.0, np.hypot, has_identity=True, commutative=True),
    "last": aj.Accumulator(0.0, lambda a, b: b),
    "product from 2": aj.Accumulator(2.0, lambda a, b: a * b),
    "first start": aj.Accumulator(None, lambda a, b: a * b + 0 * a),
    "moments": aj.Accumulator(
        (0.0, 0.0),
        lambda a, b: (a[0] + b[0], a[1] + b[1]),
        lift=lambda e: (e, e * e),
        final=lambda s: s[1] - s[0] * s[0] / 5,
    ),
    "affine": aj.Accumulator(
        (1.0, 0.0),
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
        lift=lambda e: (np.cos(e), e),
        final=lambda s: s[1] * s[0],
    ),
}


@pytest.mark.parametrize("name", ACCUMULATORS)
@pytest.mark.parametrize("axes", [(1,), (0,), (0, 1)])
@pytest.mark.parametrize("runs", [False, True])
def test_accumulators_of_users(name, axes, runs):
    accumulator = ACCUMULATORS[name]

    def plain(x):
        made = aj.fold(accumulator, np.asarray(x), axes=axes, running=runs)
        return np.asarray(made)

    weights = R.uniform(0.5, 1.5, plain(X).shape)

    def nodes(x):
        made = running(accumulator, [x], axes) if runs else folded(accumulator, [x], axes)
        return NodeArray(made[0])

    found = gradients_of(nodes, X, weights=weights)[0]
    np.testing.assert_allclose(
        found, differences(plain, [X], weights=weights)[0], rtol=1e-7, atol=1e-7
    )


def test_scans_of_extremes_and_products():
    for ufunc in (np.maximum, np.minimum, np.multiply, np.add):
        check(lambda x, u=ufunc: np.cumsum(x, axis=1) * 0 + _scan(u, x), X)


def _scan(ufunc, x):
    if isinstance(x, np.ndarray):
        return ufunc.accumulate(x, axis=1)
    return NodeArray(SCANS[ufunc](x.node, 1))


def scaled(factor):
    """A pair fold of affine functions, whose pullback scales one cotangent of its elements."""
    return aj.Accumulator(
        (1.0, 0.0),
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
        lift=lambda p, q: (p, q),
        final=lambda s: s[1],
        pullback=lambda g, y, a, b: (
            (g[0] * b[0], g[1] * b[0]),
            (g[0] * a[0] + g[1] * a[1], factor * g[1]),
        ),
    )


@pytest.mark.parametrize("running", [False, True])
def test_pullbacks_of_accumulators(running):
    right, wrong = scaled(1), scaled(3)
    derived = aj.Accumulator((1.0, 0.0), right.combine, right.lift, right.final)
    found = [
        aj.grad(
            lambda x, acc=acc: (aj.fold(acc, x, np.cos(x) * 2, axes=1, running=running) ** 2).sum()
        )(X)
        for acc in (derived, right, wrong)
    ]
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    assert abs(found[2] - found[0]).max() > 1e-3


def test_a_pullback_of_a_number():
    product = aj.Accumulator(1.0, lambda a, b: a * b, pullback=lambda g, y, a, b: (g * b, g * a))
    wanted = aj.grad(lambda x: (np.prod(x, axis=1) ** 2).sum())(X)
    found = aj.grad(lambda x: (aj.fold(product, x, axes=1) ** 2).sum())(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)


def test_a_pullback_returns_the_cotangents_of_both_states(golden):
    pair = scaled(1)
    single = aj.Accumulator(1.0, np.maximum, pullback=lambda g, y, a, b: g)
    double = aj.Accumulator((1.0, 0.0), pair.combine, pair.lift, pullback=lambda *_: (1, 2))
    messages = []
    for wrong, operands in ((single, [X]), (double, [X, X])):
        with pytest.raises(GraphValueError) as caught:
            aj.fold(wrong, *operands)
        messages.append(str(caught.value).split(": ", 1)[1])
    with pytest.raises(GraphTypeError) as caught:
        aj.Accumulator(1.0, np.maximum, pullback=3)
    messages.append(str(caught.value).split(": ", 1)[1])
    golden("\n\n".join(messages))
