"""Programs that are one call of a NumPy function: small arguments go straight to it."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning
from axiomjit.runtime.execution.execute import BoundPlan
from tests.numpy_rules.library_cases import assert_equal, outcome

RNG = np.random.default_rng(11)
SQUARE = RNG.normal(size=(4, 4)) + 4 * np.eye(4)
LINE = RNG.integers(0, 9, 20).astype(float)

DIRECT = {
    "inv": (np.linalg.inv, SQUARE),
    "solve": (lambda a: np.linalg.solve(a, a), SQUARE),
    "eigh": (lambda a: np.linalg.eigh(a, "U"), SQUARE),
    "svd": (np.linalg.svd, SQUARE),
    "singular values": (lambda a: np.linalg.svd(a, compute_uv=False), SQUARE),
    "slogdet": (np.linalg.slogdet, SQUARE),
    "qr": (np.linalg.qr, SQUARE),
    "fft": (np.fft.fft, LINE),
    "unique": (np.unique, LINE),
    "unique counts": (lambda x: np.unique(x, return_counts=True), LINE),
    "nonzero": (np.nonzero, LINE),
    "nonzero rows": (np.nonzero, SQUARE > 0),
    "histogram": (np.histogram, LINE),
    "sort": (np.sort, LINE),
}
TWO = {
    "turned": lambda a, b: np.linalg.solve(b, a),
    "twice": lambda a, b: np.linalg.solve(b, b),
    "the second": lambda a, b: np.linalg.eigh(b),
    "product": lambda a, b: b @ a,
}
OTHERS = {
    "turned": (lambda a: np.linalg.eigh(a)[::-1], SQUARE),
    "one of two": (lambda a: np.linalg.eigh(a)[1], SQUARE),
    "a plain tuple": (lambda a: tuple(np.linalg.eigh(a)), SQUARE),
    "in a tuple": (lambda x: (np.unique(x),), LINE),
    "twice": (lambda x: (np.unique(x), np.unique(x)), LINE),
    "some": (lambda x: np.unique(x, return_counts=True, return_index=True)[:2], LINE),
    "a part": (lambda a: np.linalg.inv(a[1:, 1:]), SQUARE),
    "turned operand": (lambda a: np.linalg.inv(a.T), SQUARE),
    "in a dict": (lambda a: dict(zip("uv", np.linalg.eigh(a), strict=True)), SQUARE),
    "real numbers": (lambda a: np.linalg.eigvals(a + a.T), SQUARE),
}


@pytest.mark.parametrize("name", ["svd", "unique counts"])
def test_one_call_is_the_whole_program(name, golden):
    function, x = DIRECT[name]
    lowered = aj.jit(function).lower(x)
    golden(f"{lowered.loops}\n{lowered.plan}")


@pytest.mark.parametrize("name", DIRECT)
def test_small_arguments_go_to_numpy(name):
    function, x = DIRECT[name]
    compiled = aj.jit(function, strict=True)
    for _ in range(4):
        assert_equal(compiled(x), function(x))
    before = aj.stats()
    results = [compiled(x) for _ in range(3)]
    after = aj.stats()
    assert after["library_calls"] - before["library_calls"] == 3
    assert after["kernels_run"] == before["kernels_run"]
    assert after["fallbacks"] == before["fallbacks"]
    assert compiled.cache_info().hits >= 3
    assert_equal(results[-1], function(x))
    assert results[0] is not results[1]


@pytest.mark.parametrize("name", TWO)
def test_operands_are_the_arguments_that_are_meant(name):
    compiled, other = aj.jit(TWO[name], strict=True), SQUARE.T + np.eye(4)
    for _ in range(6):
        assert_equal(compiled(SQUARE, other), TWO[name](SQUARE, other))
    before = aj.stats()["library_calls"]
    assert_equal(compiled(SQUARE, other), TWO[name](SQUARE, other))
    assert aj.stats()["library_calls"] == before + 1


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_other_programs_are_as_right(name):
    function, x = OTHERS[name]
    compiled = aj.jit(function)
    for _ in range(6):
        found, want = compiled(x), function(x)
        assert type(found) is type(want)
        if isinstance(want, dict):
            found, want = tuple(found.values()), tuple(want.values())
        assert_equal(found, want)


def test_errors_come_from_numpy():
    compiled = aj.jit(np.linalg.inv)
    for _ in range(3):
        assert_equal(compiled(SQUARE), np.linalg.inv(SQUARE))
        assert outcome(compiled, (np.ones((4, 4)),)) == outcome(np.linalg.inv, (np.ones((4, 4)),))


def test_lengths_that_do_not_fit_are_found_in_guarded_calls():
    compiled = aj.jit(lambda x, y: np.unique(x) * y)
    many, y = np.arange(20.0) % 5, np.arange(5.0)
    for _ in range(6):
        assert_equal(compiled(many, y), np.unique(many) * y)
    before = aj.stats()["fallbacks"]
    with pytest.warns(FallbackWarning, match="m0 = 1"):
        assert_equal(compiled(np.ones(20), y), y)
    assert_equal(compiled(np.ones(20), y), y)
    assert aj.stats()["fallbacks"] == before + 2
    assert_equal(compiled(many, y), np.unique(many) * y)
    assert aj.stats()["fallbacks"] == before + 2


@pytest.mark.parametrize("length", [8, 64, 65, 200])
@pytest.mark.parametrize(
    "product", [lambda a, v: a @ v, lambda a, v: v @ a, lambda a, v: a @ a], ids=["av", "va", "aa"]
)
def test_a_product_alone_costs_little_more(length, product, monkeypatch, unchecked):
    """No plan is run in Python for it, however large the operands are."""
    rng = np.random.default_rng(3)
    a, v = rng.random((length, length)), rng.random(length)
    compiled, run, seen = aj.jit(product), BoundPlan.run, []
    monkeypatch.setattr(BoundPlan, "run", lambda *args: seen.append(None) or run(*args))
    for _ in range(3):
        compiled(a, v)
    seen.clear()
    np.testing.assert_allclose(compiled(a, v), product(a, v))
    with aj.threads(1):
        np.testing.assert_allclose(compiled(a, v), product(a, v))
    assert not seen
    assert compiled.hits_natively[0]
