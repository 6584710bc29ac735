"""Counters outside a function: integers that are computed and stored in each native call."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from tests.functions.deciding import State

X = np.arange(5.0)


class Average:
    """A moving average with a step number, which corrects its start."""

    def __init__(self):
        self.mean, self.step, self.seen = np.zeros(5), 0, [0, 7]

    def update(self, x):
        """Take an array in."""
        if np.isnan(x).any():
            raise ValueError("nan")
        self.step += 1
        self.seen[0] += 2 * self.step
        self.mean = 0.9 * self.mean + x
        return self.mean / (1 - 0.9**self.step)


def fields(average):
    """All that an average keeps, for comparisons."""
    return average.step, average.seen, average.mean.tolist()


def test_counters_are_stored_natively():
    ours, plain = Average(), Average()
    update = aj.jit(Average.update, strict=True)
    for k in range(12):
        np.testing.assert_allclose(update(ours, X + k), plain.update(X + k), rtol=1e-14)
        assert (ours.step, ours.seen) == (plain.step, plain.seen)
        assert type(ours.step) is int
        np.testing.assert_allclose(ours.mean, plain.mean, rtol=1e-14)
    assert config.check or update.hits_natively[0] > 5
    before = fields(ours)
    with pytest.raises(ValueError, match="nan"):
        update(ours, X * np.nan)
    assert fields(ours) == before
    ours.step = 2**62
    plain.step = 2**62
    for _ in range(3):
        np.testing.assert_allclose(update(ours, X), plain.update(X), rtol=1e-12)
        assert (ours.step, ours.seen) == (plain.step, plain.seen)


def test_counters_of_two_paths_are_stored_natively():
    ours, plain = State(), State()
    step = aj.jit(State.step, strict=True)
    for k in range(16):
        x = X if k % 3 else -X
        np.testing.assert_array_equal(step(ours, x), plain.step(x))
        assert (ours.small, ours.large) == (plain.small, plain.large)
    assert config.check or step.hits_natively[0] > 6
