"""NumPy functions without a row of their own: steps of the program that NumPy runs."""

import threading
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import (
    FallbackWarning,
    InterruptedWritesError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from axiomjit.numpy_rules.creation import FUNCTIONS as MADE
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS
from tests.numpy_rules.external_cases import ARRAYS, difference, functions

X = np.random.default_rng(1).uniform(0.5, 2, (6, 5))
EVERY = functions()
STEPPED = (
    *(np.median, np.histogram, np.interp, np.partition, np.convolve, np.gradient, np.percentile),
    *(np.kron, np.meshgrid, np.average, np.block, np.nanmean, np.delete, np.allclose, np.polyval),
    *(np.round, np.digitize, np.histogram_bin_edges, np.nanprod, np.nansum, np.emath.sqrt),
    *(np.trim_zeros, np.nan_to_num, np.insert),
)
EVALUATED = ("Fortran", "backward")
"""Arrays for which functions are evaluated: those of other kinds are compiled."""
STEPPED_METHODS = ("repeat", "argpartition", "partition", "byteswap")


@pytest.fixture
def without(monkeypatch):
    """Takes rows out of the tables for one test."""

    def remove(keys):
        for table in (FUNCTIONS, METHODS):
            left = {key: row for key, row in table.items() if key not in keys}
            monkeypatch.setattr(table, "_near", left)
            monkeypatch.setattr(table, "_whole", left)

    return remove


@pytest.fixture
def steps(without):
    """The functions of these tests are steps, whether they have rows or not."""
    without({*STEPPED, *STEPPED_METHODS})


pytestmark = pytest.mark.usefixtures("steps")


def outcome(function, array):
    """How a compiled function does what a NumPy function does, and what is wrong with it."""
    try:
        wanted, error = function(array.copy(order="K")), None
    except Exception as raised:
        wanted, error = None, raised
    f, before = axiomjit.jit(lambda x: function(x)), axiomjit.stats()
    try:
        found = [f(array) for _ in range(2)][-1]
    except Exception as raised:
        if error is None:
            return "refused", None if isinstance(raised, UnsupportedError) else repr(raised)
        # errors of ours are NumPy's types, or below a type that both share
        kin = isinstance(raised, (type(error), TypeError, ValueError))
        return "error", None if kin else f"{raised!r}, not {error!r}"
    if error is not None:
        return "error", f"no error, but {error!r} in NumPy"
    after = axiomjit.stats()
    done = {name: after[name] > before[name] for name in before}
    kind = "static"
    if done["fallbacks"]:
        kind = "NumPy"
    elif done["opaque_calls"]:
        kind = "step"
    elif done["kernels_run"] or done["library_calls"]:
        kind = "compiled"
    return kind, difference(found, wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("rows", [True, False])
@pytest.mark.parametrize("letter", "abcdefghijklmnopqrstuvwxyz")
def test_all_functions_of_one_array(letter, rows, without, monkeypatch):
    """Each gives NumPy's result or raises an error where NumPy does, or is refused."""
    wrong = []
    if not rows:
        without({*FUNCTIONS, *METHODS} - {*MADE})
    for name in (n for n in EVERY if n.rpartition(".")[2].startswith(letter)):
        for kind, array in ARRAYS.items():
            monkeypatch.setattr(config, "disable", kind in EVALUATED)
            fault = outcome(EVERY[name], array)[1]
            if fault is not None:
                wrong.append(f"{name} of {kind}: {fault}")
    assert wrong == []


STEPS = {
    "median": lambda x: np.median(x * 2, axis=0) - 1,
    "histogram": lambda x: np.histogram(x * 2, bins=4),
    "interp": lambda x: np.interp(x * 2, np.arange(5.0), np.arange(5.0) ** 2) + 1,
    "partition": lambda x: np.partition(x * 2, 2),
    "convolve": lambda x: np.convolve(x[0], x[1] * 2),
    "gradient": lambda x: np.gradient(x)[1] * 2,
    "percentile": lambda x: np.percentile(x, [10, 50], axis=1).sum(axis=0),
    "where option": lambda x: x.std(where=x > 1),
    "kron": lambda x: np.kron(x, np.eye(2)),
    "tuple": lambda x: np.meshgrid(x[0], x[1])[1] * 2,
    "list": lambda x: np.average(x, axis=0, weights=[1.0] * 6),
    "list of traced": lambda x: np.block([[x, x * 2], [x[:, :5], x]]),
    "keyword": lambda x: np.nanmean(a=x, axis=1, keepdims=True),
    "slice": lambda x: np.delete(x, slice(1, 3), axis=0),
    "scalar": lambda x: np.allclose(x, x.sum() * 0),
    "of a scalar": lambda x: np.polyval(x[0], x.sum()),
    "of a NumPy scalar": lambda x: np.round(x.sum(), 1),
    "reduce": lambda x: np.hypot.reduce(x, axis=1) + np.add.reduce(x, axis=1, where=x > 1),
    "accumulate": lambda x: np.hypot.accumulate(x),
    "reduceat": lambda x: np.subtract.reduceat(x, [0, 2], axis=0),
    "gufunc": lambda x: np.vecdot(x, x[::-1], keepdims=True),
    "integer power": lambda x: np.power((x * 4).astype(int), (x[0] * 2).astype(int)),
    "method": lambda x: x.repeat(2, axis=0) + 1,
    "method with an option": lambda x: x.argpartition(2, axis=1).sum(axis=1),
    "two of them": lambda x: np.interp(np.median(x, axis=1), x[0].cumsum(), x[1]),
    "repeated elements": lambda x: np.median(np.broadcast_to(x[:, :1], (6, 5)), axis=1),
    "diagonal": lambda x: np.nanprod(np.diagonal(x[:, :4])),
    "real parts": lambda x: np.nanprod((x + 1j).real, axis=0),
    "chosen": lambda x: np.nanprod(x[x > 1]),
}


@pytest.mark.parametrize("way", ["compiled", "evaluator"])
@pytest.mark.parametrize("name", STEPS)
def test_steps(name, way, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", way == "evaluator")
    f, before = axiomjit.jit(STEPS[name], strict=True), axiomjit.stats()
    for x in (X, X * 1.5, np.asfortranarray(X), np.repeat(X, 2, axis=1)[:, ::2]):
        assert difference(f(x), STEPS[name](x)) is None
    after = axiomjit.stats()
    assert after["fallbacks"] == before["fallbacks"]
    assert after["opaque_calls"] > before["opaque_calls"]


LENGTHS = ["median", "convolve", "gradient", "accumulate", "gufunc", "method", "keyword"]


@pytest.mark.parametrize("name", LENGTHS)
def test_one_program_for_other_lengths(name):
    f, before = axiomjit.jit(STEPS[name], strict=True), axiomjit.stats()["fallbacks"]
    for rows, columns in ((7, 9), (30, 12), (9, 7), (16, 8), (11, 100)):
        x = np.random.default_rng(2).uniform(0.5, 2, (rows, columns))
        assert difference(f(x), STEPS[name](x)) is None
    assert f.cache_info().traced == 1
    assert axiomjit.stats()["fallbacks"] == before


def test_what_stands_around_is_compiled(golden):
    f = axiomjit.jit(lambda x: np.sqrt(np.median(x * 2 + 1, axis=0)) - np.interp(x, x[0], x[1]))
    lowered = f.lower(X)
    assert "numpy.median" in str(f.explain(X))
    golden(f"{lowered.graph}\n{lowered.loops}\n{lowered.plan}")


def test_a_function_with_several_results_is_called_once():
    f = axiomjit.jit(lambda x: np.histogram(x * 2, bins=4), strict=True)
    f(X)
    before = axiomjit.stats()["opaque_calls"]
    f(X)
    assert axiomjit.stats()["opaque_calls"] == before + 1


def edges(x):
    """Their number depends on values."""
    return np.histogram_bin_edges(x, bins="auto")


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_results_of_other_shapes_are_numpys():
    before = axiomjit.stats()["fallbacks"]
    f = axiomjit.jit(lambda x: np.trim_zeros(x * 2, "b") + 1, strict=True)
    g = axiomjit.jit(lambda x: edges(x * 2) + 1)
    for x in (np.arange(40.0), np.append(np.arange(39.0), 1000), np.arange(40.0) * 2):
        np.testing.assert_array_equal(g(x), edges(x * 2) + 1)
    assert axiomjit.stats()["fallbacks"] > before
    with pytest.raises(UnsupportedError, match="a view of its argument"):
        f(np.array([1.0, 2, 3, 4, 5, 6]))


def test_lengths_that_depend_on_values_are_those_of_this_call():
    def f(x):
        return np.polymul(((x[0] != 0) * 3 + 1)[:4], [1, 2]) + x[:, :5]

    x = np.ones((3, 6))
    np.testing.assert_array_equal(axiomjit.jit(f)(x), f(x))


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_results_of_other_dtypes_are_numpys():
    f = axiomjit.jit(lambda x: np.emath.sqrt(x) * 2)
    for x in (X, X - 1, -X, X):
        assert difference(f(x), np.emath.sqrt(x) * 2) is None


def unordered(x):
    try:
        return np.digitize(x, x * 2) + x
    except ValueError:
        return x * 0


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_errors_that_depend_on_values():
    f = axiomjit.jit(unordered)
    good, bad = np.arange(6.0), np.array([1.0, 5, 2, 3, 9, 0])
    for x in (good, bad, good * 2, bad):
        np.testing.assert_array_equal(f(x), unordered(x))
    g = axiomjit.jit(unordered)
    np.testing.assert_array_equal(g(bad), bad * 0)
    h = axiomjit.jit(lambda x: np.digitize(x, [3, 1, 2]))
    with pytest.raises(ValueError, match="bins must be monotonically"):
        h(good)
    with pytest.raises(InterruptedWritesError, match="raises ValueError: bins must be monotonic"):
        h.lower(good)


ERRORS = {
    "axis": lambda x: np.median(x, axis=3),
    "shapes": lambda x: np.convolve(x, x),
    "option": lambda x: np.median(x, wrong=1),
    "value": lambda x: np.percentile(x, 200),
    "kind": lambda x: np.interp(x, [1, 2], [1, 2, 3]),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors_are_numpys(name):
    with pytest.raises(Exception) as wanted:  # noqa: PT011
        ERRORS[name](X)
    with pytest.raises(type(wanted.value)) as found:
        axiomjit.jit(ERRORS[name])(X)
    assert str(found.value) == str(wanted.value)


def test_writes_beside_steps():
    def function(x, y):
        y[0] = np.median(x, axis=0)
        x += 1
        y[1:] = np.digitize(x[1:], x[0])
        return x * 2

    before, f = axiomjit.stats()["fallbacks"], axiomjit.jit(function)
    for good in (True, False, True):
        x = np.arange(36.0).reshape(6, 6) if good else np.sin(np.arange(36.0)).reshape(6, 6)
        mine, theirs = [(x.copy(), np.zeros((6, 6))) for _ in range(2)]
        if not good:
            with pytest.raises(ValueError, match="monotonic"):
                function(*theirs)
            with pytest.raises(ValueError, match="monotonic"):
                f(*mine)
        else:
            np.testing.assert_array_equal(f(*mine), function(*theirs))
        np.testing.assert_array_equal(mine, theirs)
    assert axiomjit.stats()["fallbacks"] > before


def test_functions_that_write_into_arrays():
    def function(x):
        y = x * 2
        np.fill_diagonal(y, 3)
        np.put(y, [1, 2], 9)
        np.place(y, y > 8, [1, 2])
        np.putmask(x, x < 1, [5, 6])
        y[1:].partition(2)
        return y + 1

    f, mine, theirs = axiomjit.jit(function, strict=True), X.copy(), X.copy()
    for _ in range(3):
        np.testing.assert_array_equal(f(mine), function(theirs))
        np.testing.assert_array_equal(mine, theirs)
        mine[2:] = theirs[2:] = X[2:]


def test_out():
    def function(x, y):
        np.median(x, axis=0, out=y)
        return y * 2

    f, mine, theirs = axiomjit.jit(function, strict=True), np.zeros(5), np.zeros(5)
    np.testing.assert_array_equal(f(X, mine), function(X, theirs))
    np.testing.assert_array_equal(mine, theirs)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_draws_beside_steps():
    rng, other = np.random.default_rng(3), np.random.default_rng(3)
    f = axiomjit.jit(lambda x, rng: edges(x * rng.random(40) ** 9))
    for _ in range(6):
        x = np.arange(40.0)
        np.testing.assert_array_equal(f(x, rng), edges(x * other.random(40) ** 9))
    assert rng.bit_generator.state == other.bit_generator.state


REFUSED = {
    "function": (lambda x: np.pad(x, 1, lambda v, *ends: None), "the option mode of pad"),
    "view": (lambda x: np.trim_zeros(x[0]), "a view of its argument"),
    "text": (lambda x: np.array_repr(x), "not compiled"),
    "path": (lambda x: np.einsum_path("ij->j", x), "not compiled"),
    "memory": (lambda x: np.shares_memory(x, x), "not compiled"),
    "object": (lambda x: np.insert(x, 1, object()), "that is a object"),
    "extended": (lambda x: np.nansum(x, dtype="g"), "longdouble|float128"),
    "layout": (lambda x: np.nan_to_num(x * 2).flatten("K"), "order"),
    "flags": (lambda x: x.setflags(write=False), "setflags"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name, monkeypatch):
    function, text = REFUSED[name]
    with pytest.raises(UnsupportedError, match=text) as caught:
        axiomjit.jit(function, strict=True)(X)
    assert "test_external_calls.py:" in caught.value.where
    monkeypatch.setattr(axiomjit.config, "fallback", "step")
    with pytest.raises(UnsupportedError, match=text):
        axiomjit.jit(function)(X)
    monkeypatch.setattr(axiomjit.config, "fallback", "warn")
    if name not in ("object", "extended"):
        with pytest.warns(FallbackWarning):
            assert difference(axiomjit.jit(function)(X), function(X)) is None


def test_the_policy_rules(monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    with pytest.raises(UnsupportedError, match=r"numpy\.median, which is not compiled yet"):
        axiomjit.jit(lambda x: np.median(x))(X)
    with pytest.raises(UnsupportedAttributeError, match=r"array\.byteswap"):
        axiomjit.jit(lambda x: x.byteswap())(X)
    with pytest.raises(UnsupportedError, match=r"the option where of std"):
        axiomjit.jit(lambda x: x.std(where=x > 1))(X)


def test_constants_are_read_anew():
    table = np.arange(5.0)
    f = axiomjit.jit(lambda x: np.interp(x, np.arange(5.0), table), strict=True)
    for factor in (1, 2, 3):
        table *= factor
        np.testing.assert_array_equal(f(X), np.interp(X, np.arange(5.0), table))


def test_a_function_that_writes_its_operand_is_numpys():
    f = axiomjit.jit(lambda x: np.nan_to_num(x, copy=False) * 2)
    x = np.array([1.0, np.nan, 3, 4, 5])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        np.testing.assert_array_equal(f(x), [2, 0, 6, 8, 10])
    assert x[1] == 0


def test_threads():
    f, found = axiomjit.jit(lambda x: np.median(x * 2, axis=0) + 1), []
    arrays = [X + k for k in range(8)]
    threads = [
        threading.Thread(target=lambda x=x: found.extend([(x, f(x)) for _ in range(20)]))
        for x in arrays
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 160
    for x, y in found:
        np.testing.assert_array_equal(y, np.median(x * 2, axis=0) + 1)


def test_warm_needs_no_values():
    f = axiomjit.jit(lambda x: np.median(x * 2, axis=0) + 1)
    f.warm(axiomjit.spec((6, 5)))
    before = axiomjit.stats()["compiles"]
    assert difference(f(X), np.median(X * 2, axis=0) + 1) is None
    assert axiomjit.stats()["compiles"] == before


def test_results_that_depend_on_values_of_chosen_elements():
    def function(x):
        return np.polymul(x[x > 0][:2] * 2, [1.0, 2])

    f, x, before = axiomjit.jit(function), np.arange(-3.0, 5), axiomjit.stats()["fallbacks"]
    for y in (x, x[1:], -x):
        assert difference(f(y), function(y)) is None
    assert axiomjit.stats()["fallbacks"] == before
