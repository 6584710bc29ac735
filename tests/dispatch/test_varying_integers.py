"""Integer arguments that differ in each call: one table answers all, as NumPy does."""

import random
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.runtime.native_call.words import Words

X = np.arange(12.0)
Y = np.arange(24.0).reshape(4, 6)
LONG = np.arange(70_000.0)


class Model:
    def __init__(self):
        self.k, self.w = 1, np.ones(12)

    def at(self, x):
        return x[self.k :] * 2


def write(x, k):
    x[k : k + 3] += 1.0


def into(x, k, n):
    x[k] = n


FUNCTIONS = {
    "item": (lambda x, k: x[k] * 2, X, (-14, 14)),
    "first": (lambda x, n: x[:n] * 2, X, (-14, 14)),
    "rest": (lambda x, n: x[n:] + 1, X, (-14, 14)),
    "view": (lambda x, n: x[n:], X, (-14, 14)),
    "part": (lambda x, k, n: x[k:n].sum(), X, (-14, 14)),
    "every": (lambda x, k: x[::k] * 3, X, (-5, 5)),
    "last": (lambda x, k: x[-k], X, (0, 12)),
    "zeros": (lambda x, n: np.zeros(n) + x[0], X, (-1, 40)),
    "arange": (lambda x, n: np.arange(n) * x[1], X, (-3, 40)),
    "grid": (lambda x, n, m: np.zeros((n, m)) + x[1], X, (0, 9)),
    "roll": (lambda x, k: np.roll(x, k), X, (-30, 30)),
    "reshape": (lambda x, n: x.reshape(n, -1) * 2, X, (1, 12)),
    "step": (lambda x, t: x * t + t, X, (-9, 9)),
    "share": (lambda x, t: x / (t + 1), X, (0, 20)),
    "float": (lambda x, t: x * float(t) + abs(t), X, (-9, 9)),
    "bound": (lambda x, n: x[: max(n, 2)].sum() + min(n, 3), X, (-3, 9)),
    "convolve": (lambda x, n: np.convolve(x[:n], np.ones(3)) * 2, X, (1, 12)),
    "sort": (lambda x, n: np.sort(x[n:][::-1])[:2], X, (0, 9)),
    "transform": (lambda x, n: np.fft.rfft(x, n).real, X, (1, 30)),
    "product": (lambda y, n: (y[:n] * 2) @ (y[:n].T + 1), Y, (1, 4)),
    "row": (lambda y, k: y[k] - y[k - 1], Y, (-4, 4)),
    "column": (lambda y, k: y[:, k], Y, (-6, 6)),
    "block": (lambda y, k, n: y[k : k + 2, n : n + 3] * 2, Y, (0, 5)),
    "difference": (lambda x, k: x[k:] - x[: x.size - k], X, (0, 12)),
    "half": (lambda x, n: x[: n // 2] + x[n // 2 : n // 2 * 2], X, (0, 12)),
    "eye": (lambda x, k: np.eye(4, k=k) * x[2], X, (-5, 5)),
    "repeat": (lambda x, n: np.broadcast_to(x[:3], (n, 3)).sum(0), X, (0, 30)),
    "branch": (lambda x, k: x * 2 if k % 3 == 0 else x + k, X, (-6, 6)),
    "write": (write, X, (-12, 12)),
    "into": (into, X, (-11, 11)),
    "stored": (lambda x, k: (x[k:], x.sum()), X, (-11, 11)),
    "number": (lambda x, k: (x * k, k + 1), X, (-11, 11)),
    "nested": (lambda x, p: x[p["n"] :] * p["m"][0], X, (-11, 11)),
    "large": (lambda x, n: x[:n] * 2, LONG, (0, 70_000)),
    "larger": (lambda x, n: np.zeros(n) + x[:n].max(initial=0.0), LONG, (1, 70_000)),
}


def called(function, name, array, integers):
    """The results of a call, the array afterwards, or the type of the error."""
    given = array.copy()
    if name == "nested":
        integers = ({"n": integers[0], "m": [integers[1]]},)
    try:
        found = function(given, *integers)
    except (IndexError, ValueError, TypeError, OverflowError, MemoryError) as error:
        return error
    return found, given


def same(found, want):
    if isinstance(want, tuple):
        found = found if type(found) is tuple else ()
        return len(found) == len(want) and all(map(same, found, want))
    if isinstance(want, np.ndarray | np.generic):
        return (
            type(found) is type(want) and found.dtype == want.dtype and np.array_equal(found, want)
        )
    return found == want and type(found) is type(want)


def agrees(name, seed, calls=60, extreme=True):
    """True if a sequence of calls agrees with NumPy, and the number of native calls.

    `extreme`: some integers are far beyond the array.
    """
    function, array, (low, high) = FUNCTIONS[name]
    count = 2 if name == "nested" else function.__code__.co_argcount - 1
    compiled, draw = axiomjit.jit(function), random.Random(f"{name} {seed}")
    for k in range(calls):
        integers = [draw.randint(low, high) for _ in range(count)]
        if extreme and k % 20 == 19:
            integers[0] = draw.choice([10**6, -(10**6), np.int64(2), 2**31])
        one = array[::-1] if k % 9 == 8 else array
        want, found = (called(one_of, name, one, integers) for one_of in (function, compiled))
        raised = isinstance(want, Exception) and isinstance(found, type(want))
        if not raised and not same(found, want):
            return False, (integers, found, want)
    return True, compiled.hits_natively[0]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.filterwarnings("ignore")
def test_integers_that_differ_are_answered_natively(name):
    if name in ("zeros", "arange", "grid", "larger", "repeat", "transform"):
        with patch.object(random.Random, "choice", lambda self, values: 3):
            good, hits = agrees(name, 1)
    else:
        good, hits = agrees(name, 1)
    assert good, hits
    if name != "number" and not config.check:  # its return value depends on the integer
        assert hits >= 10


@pytest.mark.parametrize("kind", [np.int64, np.int16])
@pytest.mark.parametrize("name", ["item", "first", "rest", "roll", "reshape", "row", "block"])
def test_integers_of_numpy_are_positions_and_lengths(name, kind):
    function, array, (low, high) = FUNCTIONS[name]
    compiled, draw = axiomjit.jit(function, strict=True), random.Random(name)
    for _ in range(40):
        integers = [kind(draw.randint(low, high)) for _ in range(function.__code__.co_argcount - 1)]
        want, found = (called(one, name, array, integers) for one in (function, compiled))
        assert type(found) is type(want) if isinstance(want, Exception) else same(found, want)
    assert config.check or compiled.hits_natively[0] >= 10


@pytest.mark.skipif(config.check, reason="checked kernels are not run natively")
@pytest.mark.parametrize("name", ["first", "part", "row", "block"])
@pytest.mark.filterwarnings("ignore")
def test_a_missing_limit_is_found(name):
    assert agrees(name, 2, extreme=False)[0]
    with patch.object(Words, "limit", lambda self, guard: None):
        assert not agrees(name, 2, extreme=False)[0]


def test_an_integer_of_an_instance():
    one, other = Model(), Model()
    compiled = axiomjit.jit(Model.at)
    for k in [*range(12), -3, -12, *range(12)]:
        one.k = other.k = k
        np.testing.assert_array_equal(compiled(one, X), other.at(X))
    assert config.check or compiled.hits_natively[0] >= 15


HUGE = {
    "scale": lambda x, k: x + float(k * 10**30),
    "comparison": lambda x, k: x * k if k * 10**20 < 10**25 else x,
    "bound": lambda x, k: x[: min(k, 10**40)],
    "sum": lambda x, k: x * (k + 2**70),
    "quotient": lambda x, k: x[: k // 10**30],
    "back": lambda x, k: x * (2**63 + k - 2**63),
}


@pytest.mark.parametrize("name", HUGE)
@pytest.mark.filterwarnings("ignore")
def test_numbers_that_no_word_holds(name):
    compiled = axiomjit.jit(HUGE[name])
    for k in (1, 2, 3, 4, 10**6, 3, 2):
        np.testing.assert_array_equal(compiled(X, k), HUGE[name](X, k))


def test_a_step_number_as_exponent():
    compiled = axiomjit.jit(lambda x, t: x / (1 - 0.9**t), strict=True)
    for t in range(1, 400):
        np.testing.assert_allclose(compiled(X, t), X / (1 - 0.9**t), rtol=4e-16)
    assert compiled.cache_info().traced == 1
    assert config.check or compiled.hits_natively[0] >= 390
    with pytest.raises(OverflowError):
        compiled(X, -8000)


def test_one_program_and_few_plans():
    compiled = axiomjit.jit(lambda x, k: x[k : k + 4].sum())
    for k in range(1, 501):
        assert compiled(LONG, k) == LONG[k : k + 4].sum()
    assert compiled.cache_info().traced == 1
    assert config.check or compiled.hits_natively[0] >= 490
