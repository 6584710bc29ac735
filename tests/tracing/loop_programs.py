"""Programs of loops and branches in plain style, written with `fori_loop` and its siblings.

Each is a function with a function of a length and a generator that makes its arguments. Outside of
a compiled function Python runs them, which gives their meaning.
"""

import numpy as np

import axiomjit as aj

PROGRAMS = {}


def registering(programs):
    """A decorator that adds a function to a table, with a function that makes its arguments."""

    def program(arguments):
        def registered(function):
            programs[function.__name__] = function, arguments
            return function

        return registered

    return program


program = registering(PROGRAMS)


def each(lower, upper, body):
    """Run `body(i)` for each index: a loop that only writes."""

    def trip(index, nothing):
        body(index)
        return nothing

    aj.fori_loop(lower, upper, trip, 0)


def downwards(count, body):
    """Run `body(i)` for the indices below a count, the last one first."""
    each(0, count, lambda i: body(count - 1 - i))


def positive(n, rng):
    """A matrix that is symmetric and positive definite."""
    a = rng.standard_normal((n, n))
    return a @ a.T + n * np.eye(n)


def vectors(count):
    """A function that makes vectors."""
    return lambda n, rng: [rng.random(n) + 0.5 for _ in range(count)]


@program(vectors(2))
def recurrence(x, y):
    def step(i):
        y[i] = y[i - 1] * 0.5 + x[i]  # at 0 the last one

    each(0, x.shape[0], step)


@program(lambda n, rng: [positive(n, rng)])
def cholesky(a):
    def column(j):
        def earlier(k):
            a[j:, j] -= a[j:, k] * a[j, k]

        each(0, j, earlier)
        a[j:, j] /= np.sqrt(a[j, j])

    each(0, a.shape[0], column)


@program(lambda n, rng: [positive(n, rng)])
def lu(a):
    n = a.shape[0]

    def pivot(k):
        def row(i):
            a[i, k] = a[i, k] / a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]

        each(k + 1, n, row)

    each(0, n, pivot)


@program(lambda n, rng: [rng.random((n, n))])
def lu_with_pivoting(a):
    n = a.shape[0]
    order = np.arange(n)

    def pivot(k):
        def largest(i, found):
            size = abs(a[i, k])
            return aj.cond(size > found[0], lambda: (size, i), lambda: found)

        _, at = aj.fori_loop(k + 1, n, largest, (abs(a[k, k]), k))

        def swap(j):
            kept = a[k, j] + 0.0
            a[k, j] = a[at, j]
            a[at, j] = kept

        each(0, n, swap)
        kept = order[k] + 0
        order[k] = order[at]
        order[at] = kept

        def row(i):
            a[i, k] = a[i, k] / a[k, k]
            a[i, k + 1 :] -= a[i, k] * a[k, k + 1 :]

        each(k + 1, n, row)

    each(0, n - 1, pivot)
    return order


@program(lambda n, rng: [np.tril(positive(n, rng)), rng.random(n)])
def triangular_solve(left, b):
    def row(i):
        b[i] = (b[i] - left[i, :i] @ b[:i]) / left[i, i]

    each(0, b.shape[0], row)


@program(lambda n, rng: [0.5 ** np.arange(1, n + 1), rng.random(n)])
def levinson_durbin(r, y):
    n = y.shape[0]
    x, a = np.zeros(n), np.zeros(n)
    x[0], a[0] = y[0], -r[0]

    def step(k, carried):
        beta, alpha = carried
        beta = (1 - alpha * alpha) * beta
        share = (y[k] - np.sum(r[:k] * x[:k][::-1])) / beta
        x[:k] += share * a[:k][::-1]
        x[k] = share
        alpha = -(r[k] + np.sum(r[:k] * a[:k][::-1])) / beta
        a[:k] += alpha * a[:k][::-1]
        a[k] = alpha
        return beta, alpha

    aj.fori_loop(1, n, step, (1.0, -r[0]))
    return x


@program(lambda n, rng: [rng.standard_normal((n, n + 2))])
def gauss_seidel(u):
    n, m = u.shape

    def row(i):
        def point(j):
            u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])

        each(1, m - 1, point)

    each(1, n - 1, row)


@program(vectors(4))
def thomas(a, b, c, d):
    n = d.shape[0]
    b += 4

    def forward(i):
        w = a[i] / b[i - 1]
        b[i] -= w * c[i - 1]
        d[i] -= w * d[i - 1]

    each(1, n, forward)
    d[n - 1] /= b[n - 1]

    def back(i):
        d[i] = (d[i] - c[i] * d[i + 1]) / b[i]

    downwards(n - 1, back)


@program(lambda n, rng: [rng.random((n, n))])
def floyd_warshall(d):
    n = d.shape[0]

    def via(k):
        def row(i):
            d[i] = np.minimum(d[i], d[i, k] + d[k])

        each(0, n, row)

    each(0, n, via)


@program(lambda n, rng: [rng.integers(0, 3, n), rng.integers(0, 3, n + 1)])
def longest_common_subsequence(a, b):
    n, m = a.shape[0], b.shape[0]
    found = np.zeros((n + 1, m + 1), np.int64)

    def row(i):
        def cell(j):
            longer = np.maximum(found[i, j + 1], found[i + 1, j])
            found[i + 1, j + 1] = np.where(a[i] == b[j], found[i, j] + 1, longer)

        each(0, m, cell)

    each(0, n, row)
    return found


@program(lambda n, rng: [rng.integers(0, 256, n)])
def crc(data):
    def byte(i, check):
        def bit(k, c):
            return aj.cond((c & 1) == 1, lambda: (c >> 1) ^ 0xEDB88320, lambda: c >> 1)

        return aj.fori_loop(0, 8, bit, check ^ data[i])

    return aj.fori_loop(0, data.shape[0], byte, np.int64(0xFFFFFFFF))


@program(lambda n, rng: [rng.uniform(-2, 1, n) + 1j * rng.uniform(-1, 1, n)])
def mandelbrot(c):
    counts = np.zeros(c.shape[0], np.int64)

    def point(i):
        at = c[i]
        _, counts[i] = aj.while_loop(
            lambda zk: (abs(zk[0]) < 2.0) & (zk[1] < 40),
            lambda zk: (zk[0] * zk[0] + at, zk[1] + 1),
            (np.complex128(0), 0),
        )

    each(0, c.shape[0], point)
    return counts


def sparse(n, rng):
    """The data, columns and row ends of a sparse matrix, and a vector."""
    dense = rng.random((n, n)) * (rng.random((n, n)) < 0.3)
    ends = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))])
    return [dense[dense != 0], np.nonzero(dense)[1], ends, rng.random(n)]


@program(sparse)
def csr_times_vector(data, columns, ends, x):
    y = np.zeros(x.shape[0])

    def row(i):
        _, y[i] = aj.while_loop(
            lambda ks: ks[0] < ends[i + 1],
            lambda ks: (ks[0] + 1, ks[1] + data[ks[0]] * x[columns[ks[0]]]),
            (ends[i], 0.0),
        )

    each(0, x.shape[0], row)
    return y


@program(lambda n, rng: [float(n)])
def newton(a):
    return aj.while_loop(lambda x: abs(x * x - a) > 1e-12 * a, lambda x: 0.5 * (x + a / x), 1.0)


@program(lambda n, rng: [float(n)])
def bisection(a):
    def half(ends):
        low, high = ends
        middle = 0.5 * (low + high)
        return aj.cond(middle * middle > a, lambda: (low, middle), lambda: (middle, high))

    return aj.while_loop(lambda ends: ends[1] - ends[0] > 1e-9, half, (0.0, 100.0))


@program(vectors(1))
def heat(u):
    def step(t):
        u[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])

    each(0, 30, step)


@program(vectors(1))
def prefix_sums(x):
    y = np.zeros_like(x)

    def step(i, total):
        total = total + x[i]
        y[i] = total
        return total

    return aj.fori_loop(0, x.shape[0], step, 0.0), y


@program(lambda n, rng: [rng.random(n), rng.integers(-n, n, 2 * n)])
def histogram(h, places):
    def count(i):
        h[places[i]] += 1.0

    each(0, places.shape[0], count)


@program(lambda n, rng: [rng.random((n, n)) / n, rng.random(n)])
def bound_anew(a, x):
    return aj.fori_loop(0, 4, lambda i, v: a @ v, x)


@program(vectors(1))
def stacked(x):
    return aj.scan(lambda c, v: (0.5 * c + v, c - v), 0.0, x)


@program(vectors(1))
def of_the_index(x):
    def step(i):
        x[i] = 2 * i + 0.5

    each(2, x.shape[0] - 1, step)
