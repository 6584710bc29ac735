"""Each rule of a function of entire arrays: first and second derivatives for 200 arrays at once."""

from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from scipy import special

import axiomjit as aj
from axiomjit.gradients import libraries
from axiomjit.gradients.orders import Twin
from axiomjit.gradients.rules import NoPath, Refused
from tests.gradients.evaluated import gradients_of
from tests.gradients.library_references import (
    COUNT,
    SIZE,
    Case,
    along,
    between,
    eigenvalues,
    factor,
    inverse_of_tall,
    inverse_of_wide,
    line,
    linear,
    lower,
    pair,
    polynomial,
    ranked,
    transposed,
    upper,
    upper_of_qr,
)

TOLERANCES = {"f8": 1e-12, "f4": 1e-5, "c16": 1e-12, "c8": 1e-5}


def turned(draw, rows=SIZE):
    """Matrices with orthonormal columns."""
    return np.linalg.qr(draw.normal(size=(COUNT, rows, SIZE)))[0]


def values(draw):
    """Numbers around 1, 3 and 5."""
    return 2 * np.arange(SIZE) + 1 + draw.uniform(-0.2, 0.2, (COUNT, 1, SIZE))


def square(draw):
    return [turned(draw) * (values(draw) / 3 + 1) @ transposed(turned(draw))]


def system(draw):
    return [*square(draw), draw.normal(size=(COUNT, SIZE, 2))]


def symmetric(draw):
    basis = turned(draw)
    return [basis * values(draw) @ transposed(basis)]


def spread(draw):
    """Matrices with real eigenvalues, of a well-conditioned basis."""
    basis = np.eye(SIZE) + draw.uniform(-0.2, 0.2, (COUNT, SIZE, SIZE))
    return [basis * values(draw) @ np.linalg.inv(basis)]


def tall(draw):
    (a,) = symmetric(draw)
    return [turned(draw, SIZE + 2) @ a]


def wide(draw):
    return [transposed(*tall(draw))]


def overdetermined(draw):
    return [draw.normal(size=(1, 60, SIZE)), draw.normal(size=(1, 60, 2))]


def rows(draw, length=6, count=COUNT):
    """Rows of numbers that are far apart, in any order."""
    places = draw.permuted(np.tile(np.arange(length) * 0.5, (count, 1)), axis=1)
    return [places + draw.uniform(-0.1, 0.1, places.shape)]


def values_of_set(made):
    return made.values if hasattr(made, "values") else made


def one_row(draw):
    return [x - 15 for x in rows(draw, 60, 1)]


def two_rows(draw):
    return [draw.normal(size=(1, COUNT)), draw.normal(size=(1, 4))]


def pairs(draw):
    return [draw.normal(size=(COUNT, 6)) for _ in range(2)]


def nodes_and_values(draw):
    nodes = np.arange(8) + draw.uniform(-0.2, 0.2, 8)
    at = draw.permuted(np.repeat(np.arange(-1.5, 8.5), 20)) + draw.uniform(-0.2, 0.2, 200)
    return [at[None], nodes[None], draw.normal(size=(1, 8))]


def alone(function):
    """A function that NumPy has for one matrix, of a stack of one."""
    return lambda *arrays: function(*(x[0] for x in arrays))[None]


def least_squares(a, b):
    return inverse_of_tall(a) @ b


def residuals(a, b):
    return ((b - a @ least_squares(a, b)) ** 2).sum(-2)


def times_values(values, squares):
    return squares * values[..., None, :] ** 2


def powers(n):
    return lambda a: np.linalg.matrix_power(a, n)


BOTH = ("f8", "f4", "c16", "c8")
LINALG = {
    "inv": Case(np.linalg.inv, np.linalg.inv, square, BOTH),
    "det": Case(np.linalg.det, np.linalg.det, square, BOTH),
    "slogdet": Case(lambda a: np.linalg.slogdet(a)[1], lambda a: np.log(np.linalg.det(a)), square),
    "solve": Case(np.linalg.solve, np.linalg.solve, system, BOTH),
    "cholesky": Case(np.linalg.cholesky, lambda a: factor(lower(a)), symmetric),
    "upper cholesky": Case(
        lambda a: np.linalg.cholesky(a, upper=True),
        lambda a: transposed(factor(upper(a))),
        symmetric,
    ),
    "eigh": Case(
        lambda a: (e := np.linalg.eigh(a))[1] ** 2 * e[0][..., None, :] ** 2,
        lambda a: times_values(*pair(lower(a))),
        symmetric,
    ),
    # The rounding errors of the references grow with the square of 1 / radius.
    "eigvalsh": Case(
        lambda a: np.linalg.eigvalsh(a) ** 2,
        lambda a: eigenvalues(lower(a)) ** 2,
        symmetric,
        radius=0.2,
    ),
    "eigvalsh of the upper triangle": Case(
        lambda a: np.linalg.eigvalsh(a, UPLO="U") ** 2,
        lambda a: eigenvalues(upper(a)) ** 2,
        symmetric,
        radius=0.2,
    ),
    "eigvals": Case(
        lambda a: np.sum(np.linalg.eigvals(a) ** 3, -1),
        lambda a: np.trace(a @ a @ a, axis1=-2, axis2=-1),
        spread,
        ("c16", "c8"),
    ),
    "eig": Case(
        lambda a: np.sum(abs((e := np.linalg.eig(a))[1]) ** 2 * e[0][..., None, :] ** 2, -1),
        lambda a: times_values(*pair(a)).sum(-1),
        spread,
        ("c16", "c8"),
        real_directions=True,
    ),
    "svdvals": Case(
        lambda a: np.linalg.svdvals(a) ** 2,
        lambda a: eigenvalues(transposed(a) @ a)[..., ::-1],
        tall,
    ),
    "svd": Case(
        lambda a: np.linalg.svd(a, full_matrices=False)[2] ** 2,
        lambda a: transposed(pair(transposed(a) @ a)[1][..., ::-1]),
        tall,
    ),
    "svd of wide ones": Case(
        lambda a: np.linalg.svd(a, full_matrices=False)[0] ** 2,
        lambda a: pair(a @ transposed(a))[1][..., ::-1],
        wide,
    ),
    "r": Case(lambda a: np.linalg.qr(a)[1] ** 2, lambda a: upper_of_qr(a) ** 2, tall),
    "r alone": Case(lambda a: np.linalg.qr(a, mode="r") ** 2, lambda a: upper_of_qr(a) ** 2, tall),
    "q": Case(
        lambda a: np.linalg.qr(a)[0] ** 2,
        lambda a: (a @ np.linalg.inv(upper_of_qr(a))) ** 2,
        tall,
    ),
    "pinv": Case(np.linalg.pinv, inverse_of_tall, tall),
    "pinv of wide ones": Case(np.linalg.pinv, inverse_of_wide, wide),
    "lstsq": Case(alone(lambda a, b: np.linalg.lstsq(a, b)[0]), least_squares, overdetermined),
    "residuals": Case(alone(lambda a, b: np.linalg.lstsq(a, b)[1]), residuals, overdetermined),
    "power": Case(powers(3), powers(3), square, BOTH),
    "negative power": Case(powers(-2), powers(-2), square, BOTH),
    "norm": Case(
        lambda a: np.linalg.norm(a, axis=(1, 2)), lambda a: np.sqrt((a * a).sum((-2, -1))), square
    ),
    "spectral norm": Case(
        lambda a: np.linalg.norm(a, 2, axis=(1, 2)),
        lambda a: np.sqrt(eigenvalues(transposed(a) @ a)[..., -1]),
        tall,
    ),
    "nuclear norm": Case(
        lambda a: np.linalg.norm(a, "nuc", axis=(1, 2)),
        lambda a: np.sqrt(eigenvalues(transposed(a) @ a)).sum(-1),
        tall,
    ),
}


def of_transform(transform, is_real):
    """The cubes of parts of a transform of rows of 6 numbers."""

    def whole(z):
        return transform(z.real if is_real else z).reshape(len(z), -1)

    def parts(made):
        return (0.7 * made.real + 1.3 * made.imag) ** 3

    if is_real:
        return Case(lambda x: parts(transform(x)), linear(whole, 6), lambda d: pairs(d)[:1])
    return Case(lambda a, b: parts(transform(a + 1j * b)), linear(whole, 6), pairs)


def transforms():
    """A case for each function and some of its options."""
    found = {}
    for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft"):
        for options in ({}, {"n": 9, "norm": "ortho"}, {"n": 5, "norm": "forward"}):
            function = partial(getattr(np.fft, name), **options)
            found[f"{name} {options}"] = of_transform(function, name in ("rfft", "ihfft"))
    for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"):
        function = partial(of_pages, getattr(np.fft, name))
        found[name] = of_transform(function, name.startswith("rfft"))
    return found


def of_pages(function, z):
    return function(np.reshape(z, (-1, 2, 3)), axes=(-2, -1))


ORDERS = {
    "sort": Case(lambda x: np.sort(x) ** 2, lambda x: ranked(x) ** 2, rows),
    "stable sort": Case(lambda x: np.sort(x, kind="stable") ** 2, lambda x: ranked(x) ** 2, rows),
    "partition": Case(
        lambda x: np.partition(x, 2, axis=1)[:, 2] ** 3, lambda x: ranked(x)[..., 2] ** 3, rows
    ),
    "median": Case(lambda x: np.median(x, axis=1) ** 2, lambda x: between(x, 0.5) ** 2, rows),
    "quantile": Case(
        lambda x: np.quantile(x, 0.3, axis=1) ** 2, lambda x: between(x, 0.3) ** 2, rows
    ),
    "quantiles": Case(
        lambda x: np.quantile(x, np.array([0.1, 0.5, 1.0]), axis=1).T ** 2,
        lambda x: np.stack([between(x, share) for share in (0.1, 0.5, 1.0)], -1) ** 2,
        rows,
    ),
    "percentile": Case(
        lambda x: np.percentile(x, 40.0, axis=1) ** 2, lambda x: between(x, 0.4) ** 2, rows
    ),
    "convolve": Case(alone(lambda a, v: np.convolve(a, v) ** 2), polynomial, two_rows),
    "correlate": Case(
        alone(lambda a, v: np.correlate(a, v, "full") ** 2),
        lambda a, v: polynomial(a, v[..., ::-1]),
        two_rows,
    ),
    **{
        name: Case(
            alone(lambda x, f=name: values_of_set(getattr(np, f)(x)) ** 2),
            lambda x: ranked(x) ** 2,
            one_row,
            has_unknown_lengths=True,
            radius=0.3,
        )
        for name in ("unique", "unique_all", "unique_counts", "unique_inverse")
    },
    "interp": Case(alone(np.interp), line, nodes_and_values),
}


def of_rows(name, plain, draw=None, **options):
    """The case of a function of SciPy that takes rows."""
    function = partial(getattr(special, name), axis=-1, **options)
    return Case(function, plain, draw or rows, has_unknown_lengths=True)


def rows_and_weights(draw, length=6):
    return [*rows(draw), draw.uniform(0.5, 1.5, (COUNT, length))]


def sums_of_weighted_powers(x, b):
    return special.logsumexp(x, axis=-1, b=b)


SCIPY = {
    "logsumexp": of_rows("logsumexp", lambda x: np.log(np.exp(x).sum(-1))),
    "logsumexp kept": of_rows(
        "logsumexp", lambda x: np.log(np.exp(x).sum(-1, keepdims=True)), keepdims=True
    ),
    "weighted logsumexp": Case(
        sums_of_weighted_powers,
        lambda x, b: np.log((b * np.exp(x)).sum(-1)),
        rows_and_weights,
        has_unknown_lengths=True,
    ),
    "logsumexp with a weight for each row": Case(
        sums_of_weighted_powers,
        lambda x, b: np.log((b * np.exp(x)).sum(-1)),
        partial(rows_and_weights, length=1),
        has_unknown_lengths=True,
    ),
    "softmax": of_rows("softmax", lambda x: np.exp(x) / np.exp(x).sum(-1, keepdims=True)),
    "log_softmax": of_rows("log_softmax", lambda x: x - np.log(np.exp(x).sum(-1, keepdims=True))),
}
CASES = LINALG | transforms() | ORDERS | SCIPY
"""A function for each rule."""


def compare(name, code, order):
    """Compare the derivatives along random directions, by all operands together."""
    case, draw = CASES[name], np.random.default_rng(sum(map(ord, name)))
    arrays = [x.astype(code) for x in case.draw(draw)]
    weights = draw.uniform(0.5, 1.5, np.shape(case.function(*arrays)))
    with_parts = code[0] == "c" and not case.real_directions
    constant = 0.6 - 0.8j if with_parts else 1.0
    gradients = by_grad if case.has_unknown_lengths else gradients_of
    found = gradients(
        lambda *x: case.function(*x) * constant, *arrays, order=order, weights=weights
    )
    assert all(one.dtype == code for one in found)
    wide = [x.astype(complex) for x in arrays]
    for _ in range(8 if len(weights) == 1 else 1):
        way = [draw.normal(size=x.shape) for x in arrays]
        if with_parts:
            way = [v + 1j * draw.normal(size=v.shape) for v in way]
        ways = [unit(way)]
        if order == 2:  # of the first derivatives by all elements, times 1, 2 and so on
            ways.append(unit([np.full(x.shape, k + 1.0) for k, x in enumerate(arrays)]))
        wanted = along(case, wide, [way for way, _ in ways], weights * constant)
        wanted = wanted * np.prod([size for _, size in ways[1:]], axis=0)
        parts = [np.conj(g) * v for g, v in zip(found, ways[0][0], strict=True)]
        made = sum(one.reshape(len(weights), -1).sum(-1) for one in parts)
        size = sum(abs(one).reshape(len(weights), -1).sum(-1) for one in parts)
        if not with_parts:
            made, wanted = made.real, wanted.real
        error = (abs(made - wanted) / np.maximum(1, size)).max()
        assert error < TOLERANCES[code], (name, code, order, error)


def by_grad(function, *arrays, order, weights):
    """The result of `gradients_of`, also for lengths that only the running program knows."""

    def value(*x):
        return (function(*x) * weights).sum()

    every = tuple(range(len(arrays)))
    first = aj.grad(value, argnums=every)

    def second(*x):
        return sum((k + 1) * one.sum() for k, one in enumerate(first(*x)))

    with patch.object(aj.config, "disable", True):
        return (first if order == 1 else aj.grad(second, argnums=every))(*arrays)


def unit(way):
    """A direction with length 1 for each array of the stacks, and the length that it had."""
    squares = sum((abs(v) ** 2).reshape(len(v), -1).sum(-1) for v in way)
    sizes = np.sqrt(squares)
    return [v / sizes.reshape(-1, *[1] * (v.ndim - 1)) for v in way], sizes


@pytest.mark.parametrize("name", CASES)
def test_derivatives(name):
    for code in CASES[name].codes:
        compare(name, code, 1)
        compare(name, code, 2)


class Recording(dict):
    """A table that notes which rows are asked for."""

    def __init__(self, table):
        super().__init__(table)
        self.asked = set()

    def get(self, key, default=None):
        self.asked.add(key)
        return super().get(key, default)


def planted(row):
    """Fault: the cotangents of a pullback, or the values of a twin, are too large."""
    if isinstance(row, Twin):
        return Twin(lambda *given, **options: row.function(*given, **options) * 1.001)

    def wrong(*given, **options):
        made = row(*given, **options)
        return tuple(None if one is None else one * 1.001 for one in made)

    return wrong


@pytest.mark.parametrize("of", ["LIBRARY", "FUNCTIONS_OF_SCIPY"])
def test_each_rule_planted_wrong_is_found(of, monkeypatch):
    """For each rule some case that a fault in the rule makes fail."""
    every, found = getattr(libraries, of), set()
    rules = {f for f, row in every.items() if not isinstance(row, NoPath | Refused)}
    for name, case in CASES.items():
        table = Recording(every)
        with monkeypatch.context() as changed:
            changed.setattr(libraries, of, table)
            compare(name, case.codes[0], 1)
        for rule in (table.asked & rules) - found:
            with monkeypatch.context() as changed:
                changed.setattr(libraries, of, {**every, rule: planted(every[rule])})
                try:
                    compare(name, case.codes[0], 1)
                except AssertionError:
                    found.add(rule)
    assert rules - found == set()
