"""Programs of loops whose trips call libraries, draw random numbers or join arrays."""

import numpy as np

import axiomjit as aj
from tests.tracing.loop_programs import each, positive, registering, vectors

PROGRAMS = {}


program = registering(PROGRAMS)


@program(lambda n, rng: [positive(n, rng), rng.random((n, 2)), 6])
def subspace_iteration(a, x, trips):
    def step(i, carried):
        x, _ = carried
        y = np.linalg.solve(a, x)
        size = np.linalg.norm(y)
        return y / size, size

    return aj.fori_loop(0, trips, step, (x, 0.0))


@program(lambda n, rng: [rng.random(n) + 1.0])
def newton(b):
    """The root of x + 0.1 sum(x) x - b, by systems of equations."""

    def far(carried):
        return carried[1] > 1e-10

    def step(carried):
        x, _ = carried
        jacobian = np.eye(b.shape[0]) * (1.0 + 0.1 * x.sum()) + 0.1 * x[:, None]
        change = np.linalg.solve(jacobian, x + 0.1 * x.sum() * x - b)
        return x - change, abs(change).max()

    return aj.while_loop(far, step, (b, 1.0))


@program(lambda n, rng: [rng.random((4 * n, 2)), 3])
def k_means(points, k):
    """The means of points until no point changes its group."""
    groups = np.arange(k)

    def changed(carried):
        return carried[2] > 0

    def step(carried):
        means, before, _ = carried
        distances = ((points[:, None] - means) ** 2).sum(axis=2)
        nearest = np.argmin(distances, axis=1)
        chosen = nearest == groups[:, None]
        counts = np.maximum(chosen.sum(axis=1), 1)
        means = (chosen[:, :, None] * points).sum(axis=1) / counts[:, None]
        ordered = means[np.argsort(means[:, 0])]
        return ordered, nearest, (nearest != before).sum()

    start = points[:k] * 1.0, np.zeros(points.shape[0], int), np.int64(1)
    return aj.while_loop(changed, step, start)


@program(lambda n, rng: [rng.random((n, n))])
def gram_schmidt(q):
    """Blocks of two columns at once, against all columns before them."""

    def block(k):
        j = 2 * k
        q[:, j : j + 2] -= q[:, :j] @ (q[:, :j].T @ q[:, j : j + 2])
        q[:, j : j + 2] = np.linalg.qr(q[:, j : j + 2])[0]

    each(0, q.shape[1] // 2, block)


@program(vectors(1))
def shrinking(x):
    """The rest of a vector is sorted in each trip, and one number of it is kept."""

    def step(i, total):
        x[i:] = np.sort(x[i:]) * 0.75
        return total + x[-1 - i]

    return aj.fori_loop(0, x.shape[0], step, 0.0)


@program(vectors(2))
def running_sums(x, y):
    def step(i):
        y[...] = np.cumsum(y) * x[i] - y.mean()

    each(0, x.shape[0], step)


@program(vectors(1))
def turned(x):
    """Arrays that are joined and padded in each trip."""

    def step(i, x):
        y = np.concatenate([x[1:], x[:1]]) + 0.5
        return y - 0.25 * np.pad(x[1:-1], 1)

    return aj.fori_loop(0, x.shape[0], step, x)


@program(vectors(1))
def either_side(x):
    """A branch of which one side calls a library."""

    def step(i):
        def large():
            x[i:] = np.sort(x[i:]) * 0.9
            return 1.0

        def small():
            x[i] = x.sum() * 0.1
            return 0.0

        x[i] += 0.25 * aj.cond(x[i] > 1.0, large, small)

    each(0, x.shape[0], step)


@program(vectors(1))
def inner_and_outer(x):
    """A loop of a kernel and a loop of calls in a loop of calls."""

    def step(i):
        def add(j, s):
            return s + x[j] * 0.5

        def again(j, s):
            return s + np.sort(x[j:])[0]

        total = aj.fori_loop(0, i, add, 0.0)
        x[i] = total + aj.fori_loop(i, x.shape[0], again, 0.0)
        x[...] = np.sort(x)[::-1] * 0.1

    each(0, x.shape[0], step)
