"""NumPy's `linalg` in compiled functions: steps of NumPy's between kernels, with its results."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning, NeedsValuesError
from axiomjit.passes.ir.print_program import print_program
from tests.numpy_rules.library_cases import (
    assert_as_numpy,
    assert_equal,
    assert_in_layouts,
    outcome,
)
from tests.passes.graphs import follow, lowered

RNG = np.random.default_rng(5)
CODES = ["f4", "f8", "c8", "c16", "i8", "b1"]


def square(code, *shape):
    """Well conditioned stacks of matrices, hermitian with positive eigenvalues."""
    a = RNG.normal(size=(*shape, 4, 4))
    if code[0] == "c":
        a = a + 1j * RNG.normal(size=(*shape, 4, 4))
    a = a @ a.swapaxes(-1, -2).conj() + 4 * np.eye(4)
    return np.rint(a.real).astype(code) if code in ("i8", "b1") else a.astype(code)


ROWS = {
    "inv": np.linalg.inv,
    "det": np.linalg.det,
    "slogdet": np.linalg.slogdet,
    "cholesky": np.linalg.cholesky,
    "cholesky upper": lambda a: np.linalg.cholesky(a, upper=True),
    "eigh": np.linalg.eigh,
    "eigh upper": lambda a: np.linalg.eigh(a, "U"),
    "eigvalsh": np.linalg.eigvalsh,
    "svd": np.linalg.svd,
    "svd reduced": lambda a: np.linalg.svd(a[..., :3], full_matrices=False),
    "svd full": lambda a: np.linalg.svd(a[..., :3]),
    "svd values": lambda a: np.linalg.svd(a, compute_uv=False),
    "svd hermitian": lambda a: np.linalg.svd(a, hermitian=True),
    "svdvals": np.linalg.svdvals,
    "qr": lambda a: np.linalg.qr(a[..., :3]),
    "qr complete": lambda a: np.linalg.qr(a[..., :3], mode="complete"),
    "qr r": lambda a: np.linalg.qr(a[..., :3, :], "r"),
    "qr raw": lambda a: np.linalg.qr(a[..., :3], "raw"),
    "solve vector": lambda a: np.linalg.solve(a, a[(0,) * (a.ndim - 2)][0]),
    "solve matrix": lambda a: np.linalg.solve(a, a[..., :2]),
    "solve stack": lambda a: np.linalg.solve(a[None], a[..., :2]),
    "pinv": lambda a: np.linalg.pinv(a[..., :3]),
    "pinv hermitian": lambda a: np.linalg.pinv(a, hermitian=True, rtol=1e-3),
    "matrix_rank": np.linalg.matrix_rank,
    "matrix_power": lambda a: np.linalg.matrix_power(a, 3),
    "matrix_power inverse": lambda a: np.linalg.matrix_power(a, -1),
    "cond": np.linalg.cond,
    "cond 1": lambda a: np.linalg.cond(a, 1),
    "parts alone": lambda a: (np.linalg.eigh(a)[1], np.linalg.svd(a).S),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, code):
    if code == "b1" and name.startswith("matrix_power"):
        code = "i8"
    assert_in_layouts(ROWS[name], square(code), rtol=1e-4 if code in ("f4", "c8") else 1e-11)


@pytest.mark.parametrize("name", ROWS)
def test_stacks(name):
    assert_as_numpy(ROWS[name], square("f8", 2, 3), rtol=1e-11)
    assert_as_numpy(ROWS[name], square("f8", 3)[:0], rtol=1e-11)


LSTSQ = [(6, 3, (6,)), (6, 3, (6, 2)), (3, 6, (3,)), (4, 4, (4, 1))]


@pytest.mark.parametrize(("rows", "columns", "right"), LSTSQ)
def test_least_squares(rows, columns, right):
    a, b = RNG.normal(size=(rows, columns)), RNG.normal(size=right)
    assert_as_numpy(lambda a, b: np.linalg.lstsq(a, b), a, b, rtol=1e-11)
    assert_as_numpy(lambda a, b: np.linalg.lstsq(a, b, rcond=1e-3)[0] * 2, a, b, rtol=1e-11)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_least_squares_of_dependent_columns_have_no_residuals():
    a, b = np.ones((6, 3)), RNG.normal(size=6)
    solved = aj.jit(lambda a, b: np.linalg.lstsq(a, b)[:3])
    before = aj.stats()["fallbacks"]
    for matrix in (a, RNG.normal(size=(6, 3))):
        for one, other in zip(solved(matrix, b), np.linalg.lstsq(matrix, b), strict=False):
            np.testing.assert_allclose(one, other, rtol=1e-10)
    assert aj.stats()["fallbacks"] == before + 1


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("function", [np.linalg.eig, np.linalg.eigvals])
def test_eigenvalues_are_real_or_complex_by_value(function):
    compiled = aj.jit(lambda a: function(a))
    turned = np.array([[0.0, 1, 0], [-1, 0, 0], [0, 0, 2]])
    before = aj.stats()["fallbacks"]
    for a, runs_in_numpy in ((turned, 0), (np.diag([3.0, 1, 2]), 1), (turned * 2, 0)):
        for _ in range(3):
            assert_equal(compiled(a), function(a))
        before += 3 * runs_in_numpy
        assert aj.stats()["fallbacks"] == before
    assert_as_numpy(lambda a: function(a), turned * 1j)


def test_eigenvalues_of_another_dtype_are_said_once():
    compiled = aj.jit(lambda a: np.linalg.eigvals(a) + 1)
    with pytest.warns(FallbackWarning, match=r"linalg.eigvals gives float64\(3,\)"):
        assert_equal(compiled(np.eye(3)), np.full(3, 2.0))
    assert_equal(compiled(np.eye(3)), np.full(3, 2.0))
    with pytest.raises(NeedsValuesError, match="dtype of a result that depends on values"):
        aj.jit(lambda a: np.linalg.eigvals(a), strict=True)(np.eye(3))


def test_products_of_several_matrices():
    a, b, c = RNG.normal(size=(3, 4)), RNG.normal(size=(4, 5)), RNG.normal(size=(5, 2))
    assert_as_numpy(lambda a, b, c: np.linalg.multi_dot([a, b, c]), a, b, c, rtol=1e-12)
    assert_as_numpy(lambda a, b, c: np.linalg.multi_dot([a[0], b, c[:, 0]]), a, b, c, rtol=1e-12)
    assert_as_numpy(lambda a: np.linalg.tensorinv(a, 1), RNG.normal(size=(6, 2, 3)), rtol=1e-11)


REFUSED = {
    "not square": (np.linalg.inv, np.ones((2, 3))),
    "a vector": (np.linalg.det, np.ones(3)),
    "float16": (np.linalg.inv, np.ones((2, 2), "f2")),
    "lengths": (lambda a: np.linalg.solve(a, a[:2, 0]), np.eye(3)),
    "mode": (lambda a: np.linalg.qr(a, mode="other"), np.eye(3)),
    "triangle": (lambda a: np.linalg.eigh(a, UPLO="X"), np.eye(3)),
    "singular": (np.linalg.inv, np.ones((3, 3))),
    "singular solve": (lambda a: np.linalg.solve(a, a[0]), np.ones((3, 3))),
    "indefinite": (lambda a: np.linalg.cholesky(-a) * 2, np.eye(3)),
    "not finite": (np.linalg.eigvals, np.full((3, 3), np.nan)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name):
    function, a = REFUSED[name]
    want, found = outcome(function, (a,)), outcome(aj.jit(lambda a: function(a)), (a,))
    assert found == want


def test_errors_name_the_line():
    solved = aj.jit(lambda a, b: np.linalg.solve(a * 2, b) + 1)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix") as raised:
        solved(np.ones((3, 3)), np.ones(3))
    assert any("test_linalg.py" in note for note in raised.value.__notes__)


def test_earlier_writes_are_kept_where_a_function_fails():
    def steps(a, out):
        out[0] = 5
        solved = np.linalg.solve(a, out)
        out[:] = solved
        return solved * 2

    compiled = aj.jit(steps, strict=True)
    for a in (np.eye(3) * 2, np.ones((3, 3)), np.eye(3)):
        out, other = np.arange(3.0), np.arange(3.0)
        found, want = outcome(compiled, (a, out)), outcome(steps, (a, other))
        assert str(found) == str(want)
        np.testing.assert_array_equal(out, other)


def test_draws_before_a_failure_are_those_of_numpy():
    generator = np.random.default_rng(3)

    def noisy(a):
        first = generator.normal(size=3)
        solved = np.linalg.solve(a, first)
        return solved + generator.normal(size=3)

    compiled = aj.jit(noisy, strict=True)
    for a in (np.eye(3), np.ones((3, 3)), np.eye(3) * 2):
        start = generator.bit_generator.state
        want, state = outcome(noisy, (a,)), generator.bit_generator.state
        generator.bit_generator.state = start
        found = outcome(compiled, (a,))
        assert str(found) == str(want)
        assert generator.bit_generator.state == state


def test_what_stands_around_is_compiled():
    def both(a, b):
        return np.exp(np.linalg.solve(a + a.T, b * 2) - 1).sum()

    a, b = square("f8"), RNG.normal(size=4)
    assert_as_numpy(both, a, b, rtol=1e-11)
    assert aj.jit(both).lower(a, b).cost.kernels == 2
    compiled = aj.jit(both)
    compiled(a, b)
    before = aj.stats()
    compiled(a, b)
    after = aj.stats()
    assert after["kernels_run"] - before["kernels_run"] == 2
    assert after["library_calls"] - before["library_calls"] == 1


def test_several_results_are_one_call(golden):
    def parts(a):
        values, vectors = np.linalg.eigh(a)
        return values * 2, vectors[:, 0]

    a = square("f8")
    compiled = aj.jit(parts)
    golden(print_program(lowered(follow(parts, a)).plan))
    compiled(a)
    before = aj.stats()["library_calls"]
    assert_equal(compiled(a), parts(a), 1e-12)
    assert aj.stats()["library_calls"] == before + 1


def test_another_length_costs_no_compile():
    compiled = aj.jit(lambda a: np.linalg.inv(a * 2) + 1)
    compiled(np.eye(5))
    before = aj.stats()["compiles"]
    for n in (6, 9, 30):
        assert_equal(compiled(np.eye(n)), np.linalg.inv(np.eye(n) * 2) + 1)
    assert aj.stats()["compiles"] == before
