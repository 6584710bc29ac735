"""Functions of SciPy that are no ufuncs: steps of the program; skipped where SciPy is not there."""

import os
import subprocess
import sys
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError, UnsupportedError
from tests.numpy_rules.external_cases import difference

cases = pytest.importorskip("tests.numpy_rules.scipy_cases", reason="SciPy is not installed")
from scipy import fft, interpolate, linalg, ndimage, signal, sparse, special, stats  # noqa: E402
from scipy.linalg import blas, lapack  # noqa: E402
from scipy.spatial import distance  # noqa: E402

X, Y = cases.PAIR
LAYOUTS = {
    "C": lambda x: x,
    "F": np.asfortranarray,
    "stepped": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "backward": lambda x: x[::-1],
}


def strictly(function):
    return axiomjit.jit(function, strict=True)


@pytest.mark.parametrize("name", cases.COMPILED)
def test_steps(name):
    function, before = cases.COMPILED[name], axiomjit.stats()
    f = strictly(function)
    for k, layout in enumerate((*LAYOUTS, "C", "C")):
        pair = (LAYOUTS[layout](X + 0.01 * k), Y * (1 - 0.02 * k))
        assert difference(f(*pair), function(*pair)) is None, layout
    single = X.astype("f4"), Y.astype("f4")
    assert difference(f(*single), function(*single)) is None
    after = axiomjit.stats()
    assert after["fallbacks"] == before["fallbacks"]
    assert after["opaque_calls"] > before["opaque_calls"]


ONE_PROGRAM = """
    inv det expm toeplitz logsumexp softmax lfilter detrend fft dct
    gaussian_filter convolve sobel zscore cdist simpson rankdata linregress dgtsv
"""
LENGTHS = {name: cases.COMPILED[name] for name in ONE_PROGRAM.split()}
LENGTHS["inv"] = lambda x, y: linalg.inv(x) + y


@pytest.mark.parametrize("name", LENGTHS)
def test_one_program_for_other_lengths(name):
    f = strictly(LENGTHS[name])
    for n in (9, 12, 31):
        pair = np.random.default_rng(n).uniform(0.1, 1, (2, n, n)) + np.eye(n)
        assert difference(f(*pair), LENGTHS[name](*pair)) is None
    assert f.cache_info().traced == 1


def tridiagonal(a, b, c, d):
    """The vertical mixing of an ocean model: many small systems as one."""
    from scipy.linalg import lapack

    a, c = a * 1.0, c * 1.0
    a[..., 0] = 0  # couplings between slices
    c[..., -1] = 0
    return lapack.dgtsv(a.flatten()[1:], b.flatten(), c.flatten()[:-1], d.flatten())[3].reshape(
        a.shape
    )


def test_tridiagonal_systems_amid_array_code():
    def function(a, b, c, d):
        return np.sqrt(np.abs(tridiagonal(a * 0.1, b + 3, c * 0.1, d * 2) - d)) * 0.5

    f, before = strictly(function), axiomjit.stats()["fallbacks"]
    for shape in ((6, 7, 8), (6, 7, 8), (9, 5, 11)):
        given = np.random.default_rng(shape[0]).uniform(0.1, 1, (4, *shape))
        assert difference(f(*given), function(*given)) is None
    assert (f.cache_info().traced, axiomjit.stats()["fallbacks"]) == (1, before)


def test_all_results_of_a_fortran_function():
    def function(a, b, c, d):
        *rest, x, info = lapack.dgtsv(a[1:], b + 3, c[1:], d)
        return [one * 2 for one in rest], x, info

    f = strictly(function)
    for k in range(3):
        assert difference(f(*X[k : k + 4]), function(*X[k : k + 4])) is None


solver = lapack.dgtsv


def test_another_function_under_the_name_is_seen(monkeypatch):
    def function(x):
        return solver(x[0, 1:], x[1] + 9, x[2, 1:], x[3])[3]

    f = strictly(function)
    assert f(X).dtype == np.float64
    monkeypatch.setitem(globals(), "solver", lapack.sgtsv)
    assert difference(f(X), function(X)) is None
    assert f(X).dtype == np.float32


# What is written


def filled(x):
    made = np.zeros_like(x)
    same = ndimage.gaussian_filter(x, 1.0, output=made)
    return made * 2, same


def labels(x):
    made = np.zeros((9, 9), "i4")
    return ndimage.label(x > 0.5, output=made), made + 1


def distances(x):
    one, two = np.zeros((9, 9)), np.zeros((2, 9, 9), "i4")
    none = ndimage.distance_transform_edt(x > 0.3, return_indices=True, distances=one, indices=two)
    return none is None, one + 1, two + 1


def holes(x):
    made = np.zeros((9, 9), bool)
    return ndimage.binary_fill_holes(x > 0.5, output=made) is None, ~made


def every_other(x):
    made = np.ones((18, 9))
    ndimage.uniform_filter(x, output=made[::2])
    return made * 2


def between(x):
    made = np.empty((9, 9))
    distance.cdist(x, x + 1, out=made)
    return made


def in_place(x):
    y = x * 1.0
    ndimage.laplace(y, output=y)
    return y + 1


def solved(x):
    right = x * 2
    return linalg.solve(x + np.eye(9), right, overwrite_b=True)


def added(x):
    y = x[1] * 2
    return blas.daxpy(x[0], y, a=3.0)


WRITES = (filled, labels, distances, holes, every_other, between, in_place, solved, added)


@pytest.mark.parametrize("function", WRITES)
def test_writes_into_new_arrays(function):
    f, x = strictly(function), X.copy()
    for _ in range(3):
        assert difference(f(x), function(x)) is None
        x[2:] *= 1.1
    assert type(f(X)) is type(function(X))


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8"])
def test_writes_into_arguments(dtype):
    def function(x, out):
        made = ndimage.uniform_filter(x, 3, output=out[1:])
        out += 1
        return made * 2

    f = strictly(function)
    mine, theirs = np.zeros((10, 9), dtype), np.zeros((10, 9), dtype)
    for k in range(3):
        assert difference(f(X * k, mine), function(X * k, theirs)) is None
        np.testing.assert_array_equal(mine, theirs)


def used_later(x):
    right = x * 2
    return linalg.solve(x, right, overwrite_b=True) + right


def shared(x):
    ndimage.uniform_filter(x[1:], output=x[:-1])
    return x + 0


LEFT = {
    "used later": (used_later, "after a call that may have overwritten"),
    "argument": (lambda x: linalg.inv(x, overwrite_a=True), "which it may overwrite"),
    "argument in Fortran": (lambda x: lapack.dgetrf(x, overwrite_a=1)[0], "may overwrite"),
    "argument in BLAS": (lambda x: blas.dscal(2.0, x[0]) + 1, "may overwrite"),
    "shared": (shared, "shares memory"),
}


@pytest.mark.parametrize("name", LEFT)
def test_writes_that_are_left_to_numpy(name):
    function, text = LEFT[name]
    mine, theirs = np.asfortranarray(X + np.eye(9)), np.asfortranarray(X + np.eye(9))
    with pytest.raises((UnsupportedError, NeedsValuesError), match=text):
        strictly(function)(mine)
    np.testing.assert_array_equal(mine, theirs)
    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning, match=text):
        assert difference(f(mine), function(theirs)) is None
    np.testing.assert_array_equal(mine, theirs)


def test_options_that_overwrite_nothing():
    f = strictly(lambda x: linalg.inv(x, overwrite_a=False) + lapack.dgetrf(x, overwrite_a=0)[0])
    x = np.asfortranarray(X)
    f(x)
    np.testing.assert_array_equal(x, X)


# What is refused


class Fitted:
    """Holds an object with objects in it."""

    law = stats.norm(0, 2)


fitted = Fitted()
REFUSED = {
    "function": (lambda x: distance.cdist(x, x, lambda u, v: 0.0), "that is a function"),
    "function of NumPy": (lambda x: ndimage.generic_filter(x, np.max, 3), "_ArrayFunctionDisp"),
    "interpolator": (lambda x: interpolate.CubicSpline(x[0].cumsum(), x)(1.0), "of computed arr"),
    "sparse": (lambda x: sparse.csr_matrix(x), "makes a scipy.sparse.csr_matrix of computed"),
    "sparse result": (lambda x: sparse.diags([x[0]], [0]), "a result that is a dia_"),
    "view": (lambda x: stats.pearsonr(x[0], x[1]).statistic, "a view of its argument"),
    "draws": (lambda x: stats.permutation_test((x[0],), np.mean), "is not known"),
    "frozen": (lambda x: fitted.law.cdf(x), "in it, which lives on outside"),
    "transpose": (lambda x: cases.MATRIX.T @ x, "uses what is in"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name):
    with pytest.raises((UnsupportedError, NeedsValuesError), match=REFUSED[name][1]) as caught:
        strictly(REFUSED[name][0])(X)
    assert "test_scipy_functions.py:" in caught.value.where


def test_the_policy_rules(monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    for call in (lambda x: fft.dct(x), lambda x: lapack.dgetrf(x)[0]):
        with pytest.raises(UnsupportedError, match="which is not compiled yet"):
            axiomjit.jit(call)(X)


# Results


def test_results_that_are_named_tuples():
    def function(x):
        return stats.linregress(x[0], x[1]), stats.describe(x), stats.ttest_1samp(x[0], 0.5)

    found, wanted = strictly(function)(X), function(X)
    assert list(map(type, found)) == list(map(type, wanted))
    assert difference(found, wanted) is None
    assert found[0].intercept_stderr == pytest.approx(wanted[0].intercept_stderr)
    assert found[2].df == wanted[2].df


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_lengths_that_depend_on_values():
    f = axiomjit.jit(lambda x: signal.find_peaks(x * 2)[0] + 1)
    for row in X:
        assert difference(f(row), signal.find_peaks(row * 2)[0] + 1) is None


# The outside

table = X + 9 * np.eye(9)
matrix = sparse.csr_matrix(np.diag(np.arange(1.0, 10)))


def test_arrays_from_outside_are_read_anew():
    f = strictly(lambda x: linalg.inv(table) @ x)
    for _ in range(3):
        table[0] += 1
        assert difference(f(X), linalg.inv(table) @ X) is None


def test_matrices_from_outside_are_read_anew(monkeypatch):
    f = strictly(lambda x: matrix @ (x * 2) + 1)
    for _ in range(3):
        matrix.data *= 2
        assert difference(f(X), matrix @ (X * 2) + 1) is None
    for other in (sparse.coo_array(X), sparse.dia_matrix(X), matrix.copy()):
        monkeypatch.setitem(globals(), "matrix", other)
        assert difference(f(X), other @ (X * 2) + 1) is None


def written_before(x):
    matrix.data[:] = x[0, 0]
    return matrix @ x


def written_after(x):
    made = matrix @ x
    matrix.data[:] = x[0, 0]
    return made


@pytest.mark.parametrize("function", [written_before, written_after])
def test_matrices_that_are_written_are_numpys(function, monkeypatch):
    monkeypatch.setitem(globals(), "matrix", sparse.csr_matrix(X))
    with pytest.raises(NeedsValuesError, match="a part of a csr_matrix"):
        strictly(function)(X)
    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning):
        found = f(X)
    assert difference(matrix.data, np.full_like(matrix.data, X[0, 0])) is None
    monkeypatch.setitem(globals(), "matrix", sparse.csr_matrix(X))
    assert difference(found, function(X)) is None


def test_matrices_of_instances():
    class Model:
        def __init__(self, factor):
            self.matrix = sparse.eye(9, format="csr") * factor

        @axiomjit.jit(strict=True)
        def step(self, x):
            return self.matrix @ x + 1

    one, two = Model(2.0), Model(3.0)
    for model in (one, two, one):
        assert difference(model.step(X), model.matrix @ X + 1) is None


# Warnings and errors


def solve(x, y):
    z = x * 1.0
    return (
        linalg.solve(
            z,
            y,
        )
        + 1
    )


def messages(function, *args):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function(*args)
    return [(w.category, str(w.message), w.filename, w.lineno) for w in seen]


def test_warnings_name_the_line_of_the_user():
    x, y, f = linalg.hilbert(14), np.ones(14), strictly(solve)
    wanted = messages(solve, x, y)
    assert wanted
    assert messages(f, x, y) == messages(f, x, y) == wanted
    assert messages(f, np.eye(14), y) == []
    g = strictly(lambda x, y: linalg.solve(x, y * 1, overwrite_b=True))
    assert [(line[0], line[2]) for line in messages(g, x, y)] == [wanted[0][::2]]


def test_no_warnings_of_trials():
    f = strictly(lambda x: signal.welch(x, nperseg=20)[1])  # more than some trials have
    for n in (40, 40, 50):
        assert messages(f, np.arange(float(n))) == []


def test_warnings_under_filters_are_numpys():
    def function(x):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return signal.welch(x)[1] * 2

    with pytest.raises(NeedsValuesError, match="where filters of warnings are set"):
        strictly(function)(X[0])


def test_errors_are_scipys():
    f, zeros = axiomjit.jit(solve), np.zeros((9, 9))
    for x in (zeros, X, zeros):
        if x is X:
            assert difference(f(x, Y), solve(x, Y)) is None
            continue
        with pytest.raises(linalg.LinAlgError) as wanted:
            solve(x, Y)
        with pytest.raises(linalg.LinAlgError) as found:
            f(x, Y)
        assert str(found.value) == str(wanted.value)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_errors_that_are_caught():
    def function(x):
        try:
            return linalg.cholesky(x * 2)
        except linalg.LinAlgError:
            return x * 0

    f = axiomjit.jit(function)
    for x in (np.eye(3), -np.eye(3), np.eye(3) * 4):
        assert difference(f(x), function(x)) is None


# Without SciPy

PROGRAM = """
import sys
{first}
import numpy as np, axiomjit
f = axiomjit.jit(lambda x: np.median(x * 2) + np.interp(x, x, x), strict=True)
assert (f(np.arange(5.0)) == np.arange(5.0) + 4).all()
print(any(name.startswith("scipy") and module for name, module in sys.modules.items()))
"""


@pytest.mark.parametrize("first", ["", "sys.modules['scipy'] = None"])
def test_scipy_is_not_imported(first):
    text = PROGRAM.format(first=first)
    # nothing is compiled, as numba imports SciPy where it finds it
    settings = {**os.environ, "AXIOMJIT_DISABLE": "1", "AXIOMJIT_CHECK": "0"}
    given = [sys.executable, "-W", "ignore", "-c", text]
    done = subprocess.run(given, capture_output=True, text=True, env=settings)
    assert (done.stdout, done.stderr) == ("False\n", "")


def test_pivots_are_never_made_up():
    """LAPACK writes at the places that they say, wherever these are."""
    f = strictly(lambda b, lu, piv: linalg.lu_solve((lu, piv), b * 2))
    for n in (9, 9, 5, 1):
        lu, piv = linalg.lu_factor(X[:n, :n])
        assert difference(f(Y[:n], lu, piv), linalg.lu_solve((lu, piv), Y[:n] * 2)) is None
    random = np.random.default_rng(0)
    g = strictly(lambda b, lu: linalg.lu_solve((lu, random.integers(0, 9, 9)), b))
    with pytest.raises(UnsupportedError, match="integers that only the running program knows"):
        g(Y, X)


def test_functions_of_dtypes_read_no_elements():
    def function(x):
        return linalg.get_blas_funcs("gemm", (x, x))(1.0, x, x) * special.comb(5, 2, exact=True)

    f = strictly(function)
    for dtype in ("f4", "f8", "c16"):
        x = X.astype(dtype)
        assert difference(f(x), function(x)) is None
