"""Loops with planted dependences, and loops without any, for the tests of passes that look at them.

A row of `PLANTED` has the function, a function of a length that makes its arguments, True if its
trips are independent, and True if a load is moved before a loop.
"""

import numpy as np

SERIAL, SHARED, MOVED = (False, False), (True, False), (False, True)


def forward(x):
    for i in range(x.shape[0] - 1):
        x[i + 1] = x[i] * 2.0 + 1.0


def backward(x):
    for i in range(x.shape[0] - 1):
        x[i] = x[i + 1] * 2.0 + 1.0


def in_place(x):
    for i in range(x.shape[0]):
        if x[i] > 0.5:
            x[i] = x[i] * 2.0 + 1.0


def downwards(x):
    for i in range(x.shape[0] - 1, 0, -1):
        x[i] = x[i - 1] + x[i]


def downwards_in_place(x):
    for i in range(x.shape[0] - 1, -1, -1):
        if x[i] > 0.5:
            x[i] = x[i] + i


def even_from_odd(x):
    for i in range(0, x.shape[0] - 1, 2):
        x[i] = x[i + 1] * 2.0


def even_from_even(x):
    for i in range(0, x.shape[0] - 2, 2):
        x[i] = x[i + 2] * 2.0


def across(x, y):
    for i in range(x.shape[0] - 1):
        y[i] = x[i + 1] * 2.0
        y[i] += x[i]


def across_and_back(x, y):
    for i in range(x.shape[0] - 1):
        y[i] = x[i] * 2.0
        x[i + 1] = y[i] + 1.0


def turned_view(x):
    v = x[::-1]
    for i in range(x.shape[0]):
        v[i] = x[i] * 2.0 + 1.0


def halves(x):
    v = x[x.shape[0] // 2 :]
    for i in range(x.shape[0] // 2):
        v[i] = x[i] * 2.0 + v[i]


def shifted(x, k):
    for i in range(x.shape[0] - k):
        x[i + k] = x[i] * 2.0 + 1.0


def rows(m):
    for i in range(m.shape[0]):
        s = 0.0
        for j in range(m.shape[1]):
            s += m[i, j]
        for j in range(m.shape[1]):
            m[i, j] -= s


def columns(m):
    for j in range(m.shape[1]):
        for i in range(1, m.shape[0]):
            m[i, j] += m[i - 1, j]


def row_above(m):
    for i in range(1, m.shape[0]):
        for j in range(m.shape[1]):
            m[i, j] += m[i - 1, j]


def transposed(m):
    t = m.T
    for i in range(m.shape[0]):
        for j in range(m.shape[0]):
            t[i, j] = m[i, j] * 2.0


def lengths_of_rows(m, x):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(1, m.shape[1]):
            s += x[i] * np.sqrt((m[j] * m[j]).max())
            m[j] += s
    return s


def lower_triangle(m):
    for i in range(m.shape[0]):
        for j in range(i):
            m[i, j] = m[j, i] * 2.0


def pivot(x):
    s = 0.0
    for i in range(4, x.shape[0]):
        s += x[3]
        x[i] -= x[3] * s
    return s


def pivot_written(x):
    s = 0.0
    for i in range(3, x.shape[0]):
        s += x[3]
        x[i] += x[3] + s
    return s


def pivot_downwards(x):
    s = 0.0
    for i in range(x.shape[0] - 1, 3, -1):
        s += x[3]
        x[i] -= x[3] * s
    return s


def pivot_between(x):
    s = 0.0
    for i in range(0, x.shape[0], 2):
        s += x[3]
        x[i] += x[3] * s
    return s


def pivot_in_view(x):
    v, s = x[2:], 0.0
    for i in range(4, x.shape[0]):
        s += v[1]
        x[i] -= v[1] * s
    return s


def pivot_in_view_written(x):
    v, s = x[2:], 0.0
    for i in range(3, x.shape[0]):
        s += v[1]
        x[i] += v[1] + s
    return s


def pivot_column(m):
    for k in range(m.shape[0]):
        for i in range(k + 1, m.shape[0]):
            m[i, k] /= m[k, k] + 2.0
            for j in range(k + 1, m.shape[0]):
                m[i, j] -= m[i, k] * m[k, j]


def next_of_none(m, x):
    s = 0.0
    for i in range(m.shape[0]):
        for j in range(i + 1, m.shape[0]):
            s += x[i + 1] * m[i, j]
            x[0] = s
    return s


def histogram(k, x):
    for i in range(k.shape[0]):
        x[k[i]] += 1.0


def gathered(k, x, y):
    for i in range(k.shape[0]):
        y[i] = x[k[i]] * 2.0


def two_positions(k, x, y):
    for i in range(k.shape[0] - 1):
        y[k[i]] += x[k[k[i + 1]]]


def running(x, y):
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        y[i] = s
    return s


def vector(n):
    return (np.linspace(0.0, 1.0, n),)


def matrix(n):
    return (np.linspace(0.0, 1.0, n * n).reshape(n, n),)


def positions(n):
    k = np.arange(n) * 5 % n
    k[n // 2] = 0
    return k


PLANTED = {
    function.__name__: (function, make, *given)
    for function, make, given in (
        *((forward, vector, SERIAL), (backward, vector, SERIAL), (in_place, vector, SHARED)),
        *((downwards, vector, SERIAL), (downwards_in_place, vector, SHARED)),
        *((even_from_odd, vector, SHARED), (even_from_even, vector, SERIAL)),
        (across, lambda n: (*vector(n), np.ones(n)), SHARED),
        (across_and_back, lambda n: (*vector(n), np.ones(n)), SERIAL),
        *((turned_view, vector, SERIAL), (halves, vector, SHARED)),
        (shifted, lambda n: (*vector(n), n // 2), SHARED),
        *((rows, matrix, (True, True)), (columns, matrix, SHARED), (row_above, matrix, SERIAL)),
        *((transposed, matrix, SERIAL), (lower_triangle, matrix, SHARED)),
        (lengths_of_rows, lambda n: (*matrix(n), *vector(n)), MOVED),
        *((pivot, vector, MOVED), (pivot_written, vector, SERIAL)),
        *((pivot_downwards, vector, MOVED), (pivot_between, vector, MOVED)),
        *((pivot_in_view, vector, MOVED), (pivot_in_view_written, vector, SERIAL)),
        *(
            (pivot_column, matrix, MOVED),
            (next_of_none, lambda n: (*matrix(n), *vector(n)), SERIAL),
        ),
        (histogram, lambda n: (positions(n), *vector(n)), SERIAL),
        (gathered, lambda n: (positions(n), *vector(n), np.ones(n)), SHARED),
        (two_positions, lambda n: (positions(n), *vector(n), np.ones(n)), SERIAL),
        (running, lambda n: (*vector(n), np.ones(n)), SERIAL),
    )
}
