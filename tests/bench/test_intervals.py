"""Bootstrap intervals on data whose answer is known."""

import numpy as np
import pytest

from axiomjit.bench.suite.results import median_interval, ratio_interval


def test_equal_samples_have_no_spread():
    found = median_interval([[2.0] * 9])
    assert (found.median, found.low, found.high) == (2.0, 2.0, 2.0)


def test_the_interval_covers_the_median_as_often_as_it_says():
    rng = np.random.default_rng(0)
    inside = 0
    for seed in range(200):
        found = median_interval([np.exp(rng.normal(0.0, 0.1, 25))], seed)
        inside += found.low <= 1.0 <= found.high
    assert 175 <= inside <= 200


def test_drift_that_both_share_leaves_the_ratio_narrow():
    rng = np.random.default_rng(1)
    drift = np.exp(rng.normal(0.0, 0.5, 30))  # the machine gets slower and faster
    ours, theirs = 3.0 * drift, 2.0 * drift
    found = ratio_interval([ours], [theirs])
    assert found.median == pytest.approx(1.5)
    assert found.high - found.low < 1e-12
    alone = median_interval([ours])
    assert alone.high - alone.low > 0.5


def test_an_outlier_hardly_moves_it():
    found = ratio_interval([[1.0] * 20 + [50.0]], [[1.0] * 21])
    assert (found.median, found.low, found.high) == (1.0, 1.0, 1.0)


def test_the_same_seed_gives_the_same_interval():
    samples = np.random.default_rng(2).random((3, 15))
    assert median_interval(samples, 5) == median_interval(samples, 5)


def test_processes_that_differ_are_in_the_interval():
    steady = [[speed] * 7 for speed in (1.0, 1.1, 0.5, 2.0, 1.2)]
    found = median_interval(steady)
    assert found.median == 1.1  # of the processes
    assert found.low < 0.99 < 1.2 <= found.high
    slow_phases = ratio_interval([[3.0 * s for s in p] for p in steady], steady)
    assert (slow_phases.low, slow_phases.high) == pytest.approx((3.0, 3.0))


def test_the_interval_covers_the_median_of_all_processes():
    rng = np.random.default_rng(3)
    inside = alone = 0
    for seed in range(200):
        speeds = np.exp(rng.normal(0.0, 0.3, 5))
        runs = [speed * np.exp(rng.normal(0.0, 0.05, 5 + k)) for k, speed in enumerate(speeds)]
        found, first = median_interval(runs, seed), median_interval(runs[:1], seed)
        inside += found.low <= 1.0 <= found.high
        alone += first.low <= 1.0 <= first.high
    assert inside >= 175
    assert alone < 60  # one process knows nothing of the others
