"""Numeric programs in plain Python, with their arguments, for `test_source_loops.py`."""

import numpy as np


def cholesky(a):
    n = a.shape[0]
    made = np.zeros((n, n))
    for j in range(n):
        s = a[j, j]
        for k in range(j):
            s -= made[j, k] * made[j, k]
        made[j, j] = np.sqrt(s)
        for i in range(j + 1, n):
            t = a[i, j]
            for k in range(j):
                t -= made[i, k] * made[j, k]
            made[i, j] = t / made[j, j]
    return made


def lu(a):
    a = a.copy()
    n = a.shape[0]
    for k in range(n):
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a


def lu_with_pivots(a):
    a = a.copy()
    n = a.shape[0]
    rows = np.arange(n)
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(a[i, k]) > abs(a[best, k]):
                best = i
        for j in range(n):
            held = a[k, j]
            a[k, j] = a[best, j]
            a[best, j] = held
        row = rows[k]
        rows[k] = rows[best]
        rows[best] = row
        for i in range(k + 1, n):
            a[i, k] /= a[k, k]
            for j in range(k + 1, n):
                a[i, j] -= a[i, k] * a[k, j]
    return a, rows


def triangular_solve(a, b):
    x = b.copy()
    n = b.shape[0]
    for i in range(n):
        s = x[i]
        for j in range(i):
            s -= a[i, j] * x[j]
        x[i] = s / a[i, i]
    return x


def levinson(r):
    n = r.shape[0]
    a = np.zeros(n)
    b = np.zeros(n)
    a[0] = 1.0
    error = r[0]
    for k in range(1, n):
        s = 0.0
        for j in range(k):
            s += a[j] * r[k - j]
        gain = -s / error
        for j in range(1, k):
            b[j] = a[j] + gain * a[k - j]
        for j in range(1, k):
            a[j] = b[j]
        a[k] = gain
        error *= 1.0 - gain * gain
    return a, error


def gram_schmidt(a):
    q = a.copy()
    m, n = q.shape
    for j in range(n):
        for k in range(j):
            s = 0.0
            for i in range(m):
                s += q[i, k] * q[i, j]
            for i in range(m):
                q[i, j] -= s * q[i, k]
        s = 0.0
        for i in range(m):
            s += q[i, j] * q[i, j]
        for i in range(m):
            q[i, j] /= np.sqrt(s)
    return q


def gauss_seidel(u, times):
    u = u.copy()
    n, m = u.shape
    for _ in range(times):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                u[i, j] = 0.25 * (u[i - 1, j] + u[i + 1, j] + u[i, j - 1] + u[i, j + 1])
    return u


def thomas(a, b, c, d):
    n = d.shape[0]
    over, right, x = np.zeros(n), np.zeros(n), np.zeros(n)
    over[0] = c[0] / b[0]
    right[0] = d[0] / b[0]
    for i in range(1, n):
        m = b[i] - a[i] * over[i - 1]
        over[i] = c[i] / m
        right[i] = (d[i] - a[i] * right[i - 1]) / m
    x[n - 1] = right[n - 1]
    for i in range(n - 2, -1, -1):
        x[i] = right[i] - over[i] * x[i + 1]
    return x


def floyd_warshall(d):
    d = d.copy()
    n = d.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                way = d[i, k] + d[k, j]
                if way < d[i, j]:
                    d[i, j] = way
    return d


def common_subsequence(a, b):
    n, m = a.shape[0], b.shape[0]
    best = np.zeros((n + 1, m + 1), dtype=np.int64)
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            if a[i - 1] == b[j - 1]:
                best[i, j] = best[i - 1, j - 1] + 1
            elif best[i - 1, j] > best[i, j - 1]:
                best[i, j] = best[i - 1, j]
            else:
                best[i, j] = best[i, j - 1]
    return best


def crc(data):
    rest = np.uint32(0xFFFFFFFF)
    for i in range(data.shape[0]):
        rest = rest ^ data[i]
        for _ in range(8):
            rest = (rest >> np.uint32(1)) ^ (np.uint32(0xEDB88320) * (rest & np.uint32(1)))
    return rest ^ np.uint32(0xFFFFFFFF)


def escape_times(c, times):
    counts = np.zeros(c.shape[0], dtype=np.int64)
    for p in range(c.shape[0]):
        re, im, count = 0.0, 0.0, 0
        for _ in range(times):
            if re * re + im * im <= 4.0:
                re, im = re * re - im * im + c[p].real, 2.0 * re * im + c[p].imag
                count += 1
        counts[p] = count
    return counts


def sparse_product(starts, columns, values, x):
    y = np.zeros(starts.shape[0] - 1)
    for i in range(y.shape[0]):
        s = 0.0
        for k in range(starts[i], starts[i + 1]):
            s += values[k] * x[columns[k]]
        y[i] = s
    return y


def newton(x, times):
    root = x.copy()
    for i in range(x.shape[0]):
        r = x[i]
        for _ in range(times):
            r = 0.5 * (r + x[i] / r)
        root[i] = r
    return root


def bisection(target):
    low, high = 0.0, 2.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        if middle * middle < target[0] and not middle < 0.0:
            low = middle
        else:
            high = middle
    return low, high


def heat(u, times):
    u = u.copy()
    n = u.shape[0]
    for _ in range(times):
        before = u[0]
        for i in range(1, n - 1):
            here = u[i]
            u[i] = here + 0.2 * (before - 2.0 * here + u[i + 1])
            before = here
    return u


def prefix_sums(x):
    made = np.zeros_like(x)
    s = 0.0
    for i in range(x.shape[0]):
        s += x[i]
        made[i] = s
    return made, s


def histogram(bins, count):
    made = np.zeros(count, dtype=np.int64)
    for i in range(bins.shape[0]):
        made[bins[i]] += 1
    return made


def positive(n, seed):
    a = np.random.default_rng(seed).random((n, n))
    return a @ a.T + n * np.eye(n)


def sparse(n, seed):
    draw = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(draw.integers(0, 5, n))])
    columns = draw.integers(0, n, starts[-1])
    return starts, columns, draw.random(starts[-1]), draw.random(n)


def arguments(n, seed=0):
    """Arguments for each program, of about n elements in each direction."""
    draw = np.random.default_rng(seed)
    x = draw.random(n)
    return {
        cholesky: (positive(n, seed),),
        lu: (positive(n, seed),),
        lu_with_pivots: (draw.random((n, n)),),
        triangular_solve: (positive(n, seed), x),
        levinson: (np.exp(-0.3 * np.arange(n)) + (np.arange(n) == 0),),
        gram_schmidt: (positive(n, seed)[:, : n - 2].copy(),),
        gauss_seidel: (draw.random((n, n + 1)), 9),
        thomas: (x, 4.0 + x, x[::-1].copy(), x),
        floyd_warshall: (draw.random((n, n)) * 10,),
        common_subsequence: (draw.integers(0, 4, n), draw.integers(0, 4, n + 3)),
        crc: (draw.integers(0, 256, n).astype(np.uint32),),
        escape_times: (draw.random(n) * 4 - 2 + 1j * (draw.random(n) * 4 - 2), 20),
        sparse_product: sparse(n, seed),
        newton: (x + 0.1, 12),
        bisection: (x,),
        heat: (x, 9),
        prefix_sums: (x,),
        histogram: (draw.integers(0, 7, n), 7),
    }
