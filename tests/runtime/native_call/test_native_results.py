"""Results that Python puts together, after steps that one native call runs."""

from typing import NamedTuple

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.runtime.execution.plan_steps import Launching
from axiomjit.runtime.native_call.native_entry import refusal
from tests.dispatch.lifetimes import CALLS, blocks_left

pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")
X = np.random.default_rng(3).integers(1, 16, 8) / 16
"""Numbers of which sums are exact."""


class Found(NamedTuple):
    """A result and how it was found."""

    value: np.ndarray
    steps: int


def solved(x):
    """A loop that ends where a computed number is small."""
    for k in range(5):
        x = x * 0.5
        if np.sqrt(x @ x) < 0.5:
            return x, k + 1
    return x, 5


PROGRAMS = {
    "a float": lambda x: float((np.sort(x) * 2).sum()),
    "an int": lambda x: int((x * 4).sum()),
    "a bool": lambda x: bool((x * 4).sum() > 3),
    "a number of passes": solved,
    "a float beside an array": lambda x: (float(x.sum()), x / x.sum()),
    "a dict": lambda x: {"double": x * 2, "total": x.sum(), "name": "x"},
    "a list": lambda x: [x * 2, [x + 1, None]],
    "a named tuple": lambda x: Found(x * 2, 3),
    "one array twice": lambda x: (lambda y: [y, y, 2.5])(x * 2),
    "views": lambda x: [(x * 2)[1:], x[::2], x],
    "a least of some": lambda x: {"least": x[x > 0.5].min()},
}


@pytest.fixture
def ran(monkeypatch):
    """The kernels that Python has run."""
    monkeypatch.setattr(config, "entry", "auto")
    found = []
    run = Launching.run

    def counted(self, *given):
        found.append(self)
        return run(self, *given)

    monkeypatch.setattr(Launching, "run", counted)
    return found


def same(one, other):
    """True if two results have the same types, shapes and bits, and the same objects twice."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[k], other[k]) for k in one)
    if isinstance(one, list | tuple):
        kept = [[a is b for a in each] for each in (one, other) for b in each]
        twice = kept[: len(one)] == kept[len(one) :]
        return len(one) == len(other) and twice and all(map(same, one, other))
    if isinstance(one, np.ndarray):
        flags = one.flags.writeable == other.flags.writeable
        return flags and (one.base is None) == (other.base is None) and np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_python(name, ran):
    function = PROGRAMS[name]
    jitted = aj.jit(function)
    for size in (8, 8, 8, 8, 7, 7, 7):
        x = X[:size].copy()
        assert same(jitted(x), function(x))
    ran.clear()
    assert same(jitted(x), function(x))
    assert config.check or config.bounds or not ran


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_leave_nothing_in_memory(name, ran):
    jitted = aj.jit(PROGRAMS[name])
    for _ in range(4):
        jitted(X)
    assert blocks_left(lambda: jitted(X)) < CALLS * 0.9


def test_a_number_that_has_no_int_is_refused_as_in_numpy(ran):
    jitted = aj.jit(lambda x: int((x * 4).sum()))
    for _ in range(4):
        jitted(X)
    with pytest.raises(ValueError, match="cannot convert float NaN to integer"):
        jitted(X * np.nan)
    assert jitted(X) == int((X * 4).sum())
