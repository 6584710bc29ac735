"""Prints the times of gradients, divided by those of gradients written by hand and of JAX.

`python -m tests.programs.gradient_timing [NAME ...]`: milliseconds of a value and its gradient, of
both written by hand under `jit`, and by JAX in float64, and both ratios; first on one thread, then
on all. For each number of threads a process of its own has that many CPUs and BLAS threads, where
the system can restrict it, and in it the three take turns. A time is the least of the rounds.
`--seconds S` is spent on each program.
"""

import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import axiomjit
from tests.programs.loop_timing import mean
from tests.programs.timing import LEAST_MS, LEAST_ROUNDS, chosen, milliseconds

OF_HAND, OF_JAX, WORST_OF_JAX = 1.15, 0.5, 1.1
"""The goals for our time: of that by hand and of JAX's in any program, and of JAX's in the mean."""
THREADS = "AXIOMJIT_GRADIENT_THREADS"
"""The variable that holds the number of threads in a process that measures."""


class Program(NamedTuple):
    """A loss of NumPy or jax.numpy, `loss(xp)`, with its value and gradient written by hand.

    The gradient is by the arguments at `wanted`; `arguments` makes them for a size.
    """

    loss: Callable
    by_hand: Callable
    arguments: Callable
    wanted: tuple
    size: int


def distance(xp):
    return lambda x, y: xp.sqrt(((x - y) ** 2).sum())


def distance_by_hand(x, y):
    apart = x - y
    value = np.sqrt((apart * apart).sum())
    return value, (apart / value,)


def logistic(xp):
    def loss(w, b, x, y):
        z = x @ w + b
        return (xp.logaddexp(0.0, z) - y * z).mean()

    return loss


def logistic_by_hand(w, b, x, y):
    z = x @ w + b
    rest = (1.0 / (1.0 + np.exp(-z)) - y) / len(y)
    return (np.logaddexp(0.0, z) - y * z).mean(), (rest @ x, rest.sum())


def network(xp):
    def loss(w1, b1, w2, b2, x, y):
        scores = xp.tanh(x @ w1 + b1) @ w2 + b2
        top = scores.max(axis=1)
        total = xp.log(xp.exp(scores - top[:, None]).sum(axis=1)) + top
        return (total - (scores * y).sum(axis=1)).mean()

    return loss


def network_by_hand(w1, b1, w2, b2, x, y):
    hidden = np.tanh(x @ w1 + b1)
    scores = hidden @ w2 + b2
    top = scores.max(axis=1)
    powers = np.exp(scores - top[:, None])
    total = powers.sum(axis=1)
    value = (np.log(total) + top - (scores * y).sum(axis=1)).mean()
    of_scores = (powers / total[:, None] - y) / len(y)
    of_hidden = (of_scores @ w2.T) * (1.0 - hidden * hidden)
    parts = x.T @ of_hidden, of_hidden.sum(axis=0), hidden.T @ of_scores, of_scores.sum(axis=0)
    return value, parts


def kernels(xp):
    def loss(w, width, x, y):
        apart = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1)
        return ((xp.exp(-width * apart) @ w - y) ** 2).sum()

    return loss


def kernels_by_hand(w, width, x, y):
    apart = ((x[:, None, :] - x[None, :, :]) ** 2).sum(axis=-1)
    near = np.exp(-width * apart)
    rest = near @ w - y
    twice = 2.0 * rest
    by_width = -(twice[:, None] * w * near * apart).sum()
    return (rest * rest).sum(), (twice @ near, by_width)


def bodies(xp):
    def energy(places, masses):
        apart = places[:, None, :] - places[None, :, :]
        squares = (apart * apart).sum(axis=-1) + 1e-3
        return -0.5 * (masses[:, None] * masses[None, :] / xp.sqrt(squares)).sum()

    return energy


def bodies_by_hand(places, masses):
    apart = places[:, None, :] - places[None, :, :]
    squares = (apart * apart).sum(axis=-1) + 1e-3
    near = masses[:, None] * masses[None, :] / np.sqrt(squares)
    pulls = (near / squares)[:, :, None] * apart
    return -0.5 * near.sum(), (pulls.sum(axis=1),)


def drawn(*shapes):
    """Arrays of normal numbers, the same in each call."""
    draw = np.random.default_rng(0)
    return [draw.normal(size=shape) for shape in shapes]


def of_logistic(n):
    w, x, y = drawn(100, (n, 100), n)
    return w * 0.1, 0.1, x, (y > 0) * 1.0


def of_network(n):
    w1, w2, x, y = drawn((64, 100), (100, 10), (n, 64), (n, 10))
    return w1 * 0.1, np.zeros(100), w2 * 0.1, np.zeros(10), x, (y == y.max(1, keepdims=True)) * 1.0


def of_kernels(n):
    w, x, y = drawn(n, (n, 5), n)
    return w, 0.1, x, y


def of_bodies(n):
    places, masses = drawn((n, 3), n)
    return places, abs(masses)


PROGRAMS = {
    "l2": Program(distance, distance_by_hand, lambda n: drawn((n, n), n), (0,), 1000),
    "logistic": Program(logistic, logistic_by_hand, of_logistic, (0, 1), 20_000),
    "network": Program(network, network_by_hand, of_network, (0, 1, 2, 3), 2000),
    "rbf": Program(kernels, kernels_by_hand, of_kernels, (0, 1), 1500),
    "bodies": Program(bodies, bodies_by_hand, of_bodies, (0,), 1000),
}
"""The programs by name."""


class Timing(NamedTuple):
    """Milliseconds of a gradient by us, by hand and by JAX."""

    name: str
    threads: int
    ours: float
    by_hand: float
    jax: float


def ways(program):
    """The functions that compute the value and the gradient: ours, by hand, by JAX."""
    import jax

    jax.config.update("jax_enable_x64", True)
    ours = axiomjit.value_and_grad(program.loss(np), argnums=program.wanted)
    theirs = jax.jit(jax.value_and_grad(program.loss(jax.numpy), argnums=program.wanted))
    return ours, axiomjit.jit(program.by_hand), lambda *x: jax.block_until_ready(theirs(*x))


def timed(name, threads, seconds=1.0):
    """The times of a program in this process."""
    import jax

    program = PROGRAMS[name]
    functions = ways(program)
    given = program.arguments(program.size)
    arguments = [given, given, [*map(jax.numpy.asarray, given)]]
    with axiomjit.threads(threads):
        for function, own in zip(functions, arguments, strict=True):
            milliseconds(function, own, 3)
        pairs = [*zip(functions, arguments, strict=True)]
        times = [max(1, math.ceil(LEAST_MS / milliseconds(*pair))) for pair in pairs]
        rounds, end = [], time.perf_counter() + seconds
        while len(rounds) < LEAST_ROUNDS or time.perf_counter() < end:
            found = {}
            for k in range(len(pairs)):  # each of them is first in a third of the rounds
                place = (k + len(rounds)) % len(pairs)
                found[place] = milliseconds(*pairs[place], times[place])
            rounds.append([found[place] for place in range(len(pairs))])
    return Timing(name, threads, *map(min, zip(*rounds, strict=True)))


def table(timings):
    """The lines of the table: the worst ratio to JAX first, then means, then missed goals."""
    head = f"{'program':12}{'threads':>8}{'ours ms':>10}{'by hand ms':>12}{'jax ms':>10}"
    lines, missed = [f"{head}{'of hand':>9}{'of jax':>8}"], []
    for t in sorted(timings, key=lambda t: -t.ours / t.jax):
        times = f"{t.ours:10.3f}{t.by_hand:12.3f}{t.jax:10.3f}"
        ratios = f"{t.ours / t.by_hand:9.2f}{t.ours / t.jax:8.2f}"
        lines.append(f"{t.name:12}{t.threads:8}{times}{ratios}")
        if t.ours > OF_HAND * t.by_hand:
            missed.append(f"{t.name} takes {t.ours / t.by_hand:.2f} of the time by hand")
        if t.ours > WORST_OF_JAX * t.jax:
            missed.append(f"{t.name} takes {t.ours / t.jax:.2f} of JAX's time")
    for threads in sorted({t.threads for t in timings}):
        of_jax = mean([t.ours / t.jax for t in timings if t.threads == threads])
        lines.append(f"of jax, threads {threads}: {of_jax:.2f} in the mean, goal {OF_JAX}")
        missed += [f"JAX is too fast on {threads} threads"] if of_jax > OF_JAX else []
    return [*lines, *(f"missed: {one}" for one in missed)]


def measured_apart(names, threads, seconds):
    """The timings of a process that has a number of CPUs and of threads of BLAS."""
    numbers = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", THREADS)
    command = [sys.executable, "-m", "tests.programs.gradient_timing", *names]
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    try:
        if own is not None:  # the other process inherits it; JAX has no number of threads
            os.sched_setaffinity(0, sorted(own)[:threads])
        found = subprocess.run(
            [*command, "--seconds", str(seconds)],
            env={**os.environ, **dict.fromkeys(numbers, str(threads))},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
    finally:
        if own is not None:
            os.sched_setaffinity(0, own)
    return [Timing(*one) for one in json.loads(found.stdout)]


def main():
    """Time the chosen programs and print the table; in a process that measures, the timings."""
    names, seconds = chosen(__doc__, PROGRAMS)
    if THREADS in os.environ:
        print(json.dumps([timed(name, int(os.environ[THREADS]), seconds) for name in names]))
        return
    own = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count())
    counts = sorted({1, len(own)})
    timings = [one for count in counts for one in measured_apart(names, count, seconds)]
    print("\n".join(table(timings)))


if __name__ == "__main__":
    main()
