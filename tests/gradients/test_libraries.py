"""The pullbacks of NumPy's functions of entire arrays, and of SciPy's ufuncs."""

import numpy as np
import pytest

from axiomjit.base.errors import GradientError
from axiomjit.gradients.libraries import LIBRARY
from axiomjit.numpy_rules import fft, linalg, sorting
from tests.gradients.evaluated import check, check_second, gradients_of

R = np.random.default_rng(2)
X = R.normal(size=(4, 6))


def real(function):
    """A function of complex numbers as one of real parts, imaginary parts and weights."""

    def parts(a, b):
        made = function(a + 1j * b)
        return made.real * 0.7 + made.imag * 1.3

    return parts


TRANSFORMS = [
    *(
        (name, {"axis": axis, "norm": norm})
        for name in ("fft", "ifft")
        for axis, norm in ((1, None), (0, "ortho"))
    ),
    *(
        (name, options)
        for name in ("rfft", "irfft", "hfft", "ihfft")
        for options in ({}, {"axis": 0, "norm": "ortho"}, {"n": 5}, {"n": 9, "norm": "forward"})
    ),
    *((name, {"n": n}) for name in ("fft", "ifft") for n in (4, 8)),
    *((name, {}) for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "irfftn")),
    ("rfftn", {"s": (3, 5), "axes": (0, 1)}),
]


def transform(name, options):
    """A transform as a function of floats, and its arguments."""
    function = getattr(np.fft, name)
    if name.startswith(("rfft", "ihfft")):
        return (lambda x: (y := function(x, **options)).real * 0.7 + y.imag * 1.3), (X,)
    return real(lambda x: function(x, **options)), (X, X[::-1].copy())


@pytest.mark.parametrize(("name", "options"), TRANSFORMS)
def test_transforms(name, options):
    function, arrays = transform(name, options)
    check(function, *arrays, rtol=1e-12, step=0.1, order=1)  # it is linear


CONVOLUTIONS = {
    f"{function.__name__} {mode} of {first}": (
        lambda a, v, f=function, m=mode, turn=first > 3: f(v, a, m) if turn else f(a, v, m),
        X[0],
        X[1, :3],
    )
    for function in (np.convolve, np.correlate)
    for mode in ("full", "same", "valid")
    for first in (3, 6)
}


@pytest.mark.parametrize("name", CONVOLUTIONS)
def test_convolutions(name):
    check(CONVOLUTIONS[name][0], *CONVOLUTIONS[name][1:], rtol=1e-12, step=0.1, order=1)


A = R.normal(size=(2, 4, 4)) + 3 * np.eye(4)
B = R.normal(size=(2, 4, 3))
TALL = R.normal(size=(2, 5, 3)) + 2 * np.eye(5, 3)
SYMMETRIC = A @ A.swapaxes(-1, -2)


def vectors_and_values(a):
    values, vectors = np.linalg.eigh(a)
    return vectors**2 * values[..., None]


def left_vectors_and_values(a):
    u, s, _ = np.linalg.svd(a, full_matrices=False)
    return u**2 * s[..., None, :]


def right_vectors(a):
    return np.linalg.svd(a, full_matrices=False)[2] ** 2


MATRICES = {
    "inv": (np.linalg.inv, A),
    "det": (np.linalg.det, A),
    "logdet": (lambda a: np.linalg.slogdet(a)[1], A),
    "sign": (lambda a: np.linalg.slogdet(a)[0] * 1.0, A),
    "solve": (np.linalg.solve, A, B),
    "solve a vector": (np.linalg.solve, A[0], B[0, :, 0]),
    "solve one for many": (np.linalg.solve, A, B[0]),
    "cholesky": (np.linalg.cholesky, SYMMETRIC),
    "cholesky upper": (lambda a: np.linalg.cholesky(a, upper=True), SYMMETRIC),
    "eigvalsh": (np.linalg.eigvalsh, SYMMETRIC),
    "eigvalsh upper": (lambda a: np.linalg.eigvalsh(a, UPLO="U"), SYMMETRIC),
    "eigh": (vectors_and_values, SYMMETRIC),
    "svdvals": (np.linalg.svdvals, TALL),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), TALL),
    "svd": (left_vectors_and_values, TALL),
    "svd wide": (lambda a: right_vectors(np.swapaxes(a, -1, -2)), TALL),
    "r": (lambda a: np.linalg.qr(a)[1], TALL),
    "r alone": (lambda a: np.linalg.qr(a, mode="r"), A),
    "pinv": (np.linalg.pinv, TALL),
    "pinv wide": (lambda a: np.linalg.pinv(np.swapaxes(a, -1, -2)), TALL),
    "lstsq": (lambda a, b: np.linalg.lstsq(a, b)[0], TALL[0], TALL[1]),
    "lstsq of a vector": (lambda a, b: np.linalg.lstsq(a, b)[0], TALL[0], TALL[1, :, 0]),
    "residuals": (lambda a, b: np.linalg.lstsq(a, b)[1], TALL[0], TALL[1]),
    "power": (lambda a: np.linalg.matrix_power(a, 3), A),
    "negative power": (lambda a: np.linalg.matrix_power(a, -2), A),
    "no power": (lambda a: np.linalg.matrix_power(a, 0) + a, A),
    "norm": (lambda a: np.linalg.norm(a, axis=(1, 2)), A),
    "spectral norm": (lambda a: np.linalg.norm(a[0], 2), A),
    "nuclear norm": (lambda a: np.linalg.norm(a[0], "nuc"), A),
    "norm 1": (lambda a: np.linalg.norm(a[0], 1), A),
}


FINE = {"rtol": 1e-11, "step": 0.02, "order": 6}
"""The options of the comparison of a smooth function with differences."""


@pytest.mark.parametrize("name", MATRICES)
def test_matrices(name):
    function, *arrays = MATRICES[name]
    check(function, *arrays, **FINE)
    check_second(function, *arrays)


COMPLEX = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "sign": lambda a: np.linalg.slogdet(a)[0],
    "logdet": lambda a: np.linalg.slogdet(a)[1] * (1 + 0j),
    "eigvals": lambda a: (w := np.linalg.eigvals(a)) * w,
    "eig": lambda a: np.linalg.eig(a)[0] ** 2,
    "vectors of eig": lambda a: abs(np.linalg.eig(a)[1]) ** 2 * (1 + 0j),
    "cholesky": lambda a: np.linalg.cholesky(a @ np.conj(np.swapaxes(a, -1, -2))),
    "eigvalsh": lambda a: np.linalg.eigvalsh(a @ np.conj(np.swapaxes(a, -1, -2))) * (1 + 0j),
    "pinv": lambda a: np.linalg.pinv(a[..., :3]),
}


@pytest.mark.parametrize("name", COMPLEX)
def test_complex_matrices(name):
    function, arrays = real(COMPLEX[name]), (A[0], A[1] - 3 * np.eye(4))
    check(function, *arrays, **FINE)
    check_second(function, *arrays)


def test_equal_eigenvalues_matter_only_where_vectors_do():
    found = gradients_of(lambda a: np.linalg.eigvalsh(a), np.eye(3))[0]
    np.testing.assert_allclose(found, np.eye(3), atol=1e-12)


ORDERED = {
    "sort": lambda x: np.sort(x, axis=0) ** 2,
    "sort stable": lambda x: np.sort(x, kind="stable") ** 2 * np.arange(6.0),
    "partition": lambda x: np.partition(x, 2, axis=1)[:, 2] ** 2,
    "median": lambda x: np.median(x, axis=1) ** 2,
    "median of all": lambda x: np.median(x, keepdims=True) ** 2,
    "quantile": lambda x: np.quantile(x, 0.3, axis=0) ** 2,
    "percentile": lambda x: np.percentile(x, 40.0, axis=1, keepdims=True) ** 2,
    "quantiles": lambda x: np.quantile(x, np.array([0.1, 0.5, 1.0]), axis=1) ** 2,
}


SPREAD = R.permutation(24.0 + np.arange(24)).reshape(4, 6) / 24


@pytest.mark.parametrize("name", ORDERED)
def test_orders(name):
    check(ORDERED[name], SPREAD, rtol=1e-11, step=0.02, order=1)  # squares of pieces of lines
    check_second(ORDERED[name], SPREAD, step=1e-4)


INTERPOLATED = {
    "between": lambda x, xp, fp: np.interp(x, xp, fp),
    "beyond": lambda x, xp, fp: np.interp(x, xp, fp, left=-2.0, right=7.0),
}
AT = np.array([-1.0, 0.2, 0.5, 1.7, 2.2, 5.0])
NODES = np.array([0.0, 0.4, 1.0, 3.0]), np.array([1.0, -1.0, 2.0, 0.5])


@pytest.mark.parametrize("name", INTERPOLATED)
def test_interpolation(name):
    check(INTERPOLATED[name], AT, *NODES, rtol=1e-10, step=0.01, order=6)
    check_second(INTERPOLATED[name], AT, *NODES, step=3e-3)


def test_equal_elements_are_sorted_stably():
    x = np.array([2.0, 1.0, 1.0])
    found = gradients_of(np.sort, x, weights=np.array([1.0, 2.0, 3.0]))[0]
    assert found.tolist() == [3, 1, 2]


def test_special_functions_of_two():
    special = pytest.importorskip("scipy.special")
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.5, 1.5, 3.0])
    found = gradients_of(special.xlogy, x, y)
    np.testing.assert_allclose(found[0], np.log(y))
    np.testing.assert_allclose(found[1], x / y)
    zeros = gradients_of(special.xlogy, np.zeros(1), np.zeros(1))
    assert [one.item() for one in zeros] == [0, 0]
    with pytest.raises(GradientError, match="by its exponent"):
        gradients_of(special.zeta, y + 1, y)
    with pytest.raises(GradientError, match="scipy.special.kn, a ufunc without a derivative"):
        gradients_of(lambda x: special.kn(2, x), y)


def test_every_function_has_a_row():
    """Functions of NumPy that are called with entire arrays; others are made of operations."""
    composed = {
        *("norm", "multi_dot", "vector_norm", "matrix_norm", "fftshift", "ifftshift", "bincount"),
        *("cross", "diagonal", "inner", "matmul", "matrix_transpose", "outer", "tensordot"),
        *("trace", "vdot", "vecdot"),
    }
    every = {**linalg.FUNCTIONS, **fft.FUNCTIONS, **sorting.FUNCTIONS}
    assert {f.__name__ for f in set(every) - set(LIBRARY)} == composed
