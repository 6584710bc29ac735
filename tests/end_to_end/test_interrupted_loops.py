"""Ctrl-C is heard between trips of regions; arguments hold what earlier trips have written."""

import signal
import time
from contextlib import contextmanager

import numpy as np
import pytest

import axiomjit
from axiomjit import while_loop

SOON_S, LATEST_S = 0.05, 2.0


def recurrence(x):
    for i in range(1, x.shape[0]):
        x[i] = np.sin(x[i - 1]) + 1.0


def repeated(x, count):
    for _ in range(count):
        for i in range(1, x.shape[0]):
            x[i] = x[i - 1] * 0.5 + x[i]


def endless(x):
    def smooth(trips):
        x[1:-1] = 0.5 * (x[:-2] + x[2:])
        return trips + 1.0

    return while_loop(lambda trips: trips > -1.0, smooth, 0.0)


@contextmanager
def alarm(seconds):
    """An interrupt after some seconds, as Ctrl-C sends it."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def interrupted(compiled, *arguments):
    """Seconds until the interrupt of a call is raised."""
    start = time.perf_counter()
    with alarm(SOON_S), pytest.raises(KeyboardInterrupt):
        compiled(*arguments)
    return time.perf_counter() - start


def test_a_loop_that_writes_an_argument_ends_between_two_trips():
    compiled = axiomjit.jit(recurrence, strict=True)
    small = np.zeros(1000)
    compiled(small)
    x = np.full(3 * 10**7, -7.0)
    x[0] = 0.0
    assert interrupted(compiled, x) < LATEST_S
    written = int(np.argmax(x == -7.0))
    assert 1 < written < x.size
    assert (x[written:] == -7.0).all()
    np.testing.assert_array_equal(x[:1000], small)
    again = x[:written].copy()
    compiled(again)
    np.testing.assert_array_equal(x[:written], again)


def test_inner_loops_of_a_few_long_trips_are_left():
    compiled = axiomjit.jit(repeated, strict=True)
    x = np.zeros(10**6)
    compiled(x, 9)
    assert interrupted(compiled, x, 10**5) < LATEST_S
    compiled(x, 9)


def test_a_loop_without_an_end_is_left():
    compiled = axiomjit.jit(endless, strict=True)
    x = np.random.default_rng(0).random(2 * 10**5)
    ends = x[0], x[-1]
    assert interrupted(compiled, x) < LATEST_S
    assert (x[0], x[-1]) == ends
    assert np.isfinite(x).all()
