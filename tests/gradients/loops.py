"""Functions with loops and branches that are regions, of an array of nine or more numbers."""

import numpy as np

import axiomjit as aj

K = np.array([2, 0, 1, 3, 3, 2, 1, 0, 5, 4, 7])


def carried(x):
    return aj.fori_loop(0, 3, lambda k, y: np.tanh(y) * 2, x).sum()


def captured(x):
    return aj.fori_loop(0, 3, lambda k, y: y + x.sum() * (k + 1), np.zeros(2)).sum()


def pairs(x):
    a, b = aj.fori_loop(0, 9, lambda i, v: (v[0] * np.cos(v[1]), v[0][i] + v[1] * x[1]), (x, x[1]))
    return a.sum() * b


def scanned(x):
    def trip(c, e):
        c = np.tanh(c + e)
        return c, c * e

    c, ys = aj.scan(trip, x[0] * 0.5, x)
    return c + (ys**2).sum()


def newton(x):
    a = x[0] * x[0] + 1
    first = 1 + x[1] ** 2
    return aj.while_loop(lambda y: abs(y * y - a) > 1e-13, lambda y: 0.5 * (y + a / y), first)


def halved(x):
    return aj.while_loop(lambda y: abs(y) > 0.1, lambda y: y * 0.5, x[0] * 8) * x[1]


def sides(x):
    return aj.cond(x[0] > 0, lambda y: np.sin(y) * y[0], lambda y: y * y, x).sum()


def recurrence(x):
    y = np.zeros(x.shape[0])
    y[0] = x[0]
    for i in range(1, x.shape[0]):
        y[i] = 0.5 * y[i - 1] * y[i - 1] + x[i]
    return (y * y).sum()


def stencil(x):
    u = x.copy()
    for _ in range(12):
        u[1:-1] = u[1:-1] + 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2]) - 0.1 * u[1:-1] ** 3
    return (u * u).sum()


def elimination(x):
    a = np.outer(x, x) + 4 * np.eye(x.shape[0])
    for k in range(x.shape[0]):
        for i in range(k + 1, x.shape[0]):
            a[i, k] = a[i, k] / a[k, k]
            for j in range(k + 1, x.shape[0]):
                a[i, j] -= a[i, k] * a[k, j]
    return (a**2).sum()


def paths(x):
    n = x.shape[0]
    d = np.abs(np.subtract.outer(x, 2 * x)) + 0.1
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way = d[i, k] + d[k, j]
                if way < d[i, j]:
                    d[i, j] = way
    return (d * d).sum()


def branches(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] > 0:
            s = s * x[i] + np.sin(x[i])
        else:
            s = s - x[i] * s
            s += x[i] ** 2
    return s


def positions(x):
    h = np.zeros(x.shape[0] + 6)
    for i in range(x.shape[0]):
        h[K[i]] += x[i] * h[K[i - 1]] + x[i]
    return (h**3).sum()


def argument(x):
    for i in range(2, x.shape[0]):
        x[i] = x[i - 1] * x[i - 2] + x[i]
    return x.sum()


def swapped(x):
    a, b = x[0], x[1]
    for i in range(x.shape[0]):
        a, b = b, a * b + x[i]
    return a * b


def triangle(x):
    s = 0.0
    for i in range(x.shape[0]):
        t = np.exp(-(x[i:] ** 2)).sum()
        s = s + t * t
    return s


def two_arrays(x):
    a, b = x.copy(), np.zeros(x.shape[0])
    for _ in range(8):
        for j in range(x.shape[0]):
            b[j] = a[j] * a[j - 1]
        for j in range(x.shape[0]):
            a[j] = b[j] * 0.7 + x[j]
    return (a * b).sum()


def descent(x):
    def step(k, y):
        return y - 0.1 * aj.grad(lambda z: (z[1:] ** 3).sum())(y)

    return aj.fori_loop(0, 3, step, x).sum()


LOOPS = (
    *(
        carried,
        captured,
        pairs,
        scanned,
        newton,
        halved,
        sides,
        recurrence,
        stencil,
        elimination,
        paths,
    ),
    *(branches, positions, argument, swapped, triangle, two_arrays, descent),
)
