"""Solvers as their authors write them: linear systems, eigenvalues, roots."""

import numpy as np


def jacobi(A, b, x0, iterations=8, tol=1e-12):
    """Solve A x = b by Jacobi iteration."""
    D = np.diag(A)
    R = A - np.diagflat(D)
    x = x0
    for _ in range(iterations):
        x_new = (b - R @ x) / D
        if np.linalg.norm(x_new - x) < tol:
            break
        x = x_new
    return x


def system(seed, size):
    rng = np.random.default_rng(seed)
    A = rng.random((size, size)) + size * np.eye(size)
    return A, rng.random(size), np.zeros(size)


def red_black(u, f, h, sweeps=2):
    """Gauss-Seidel for the Poisson equation, red points first, in place."""
    hh = h * h
    for _ in range(sweeps):
        for first, second in ((1, 1), (2, 2), (1, 2), (2, 1)):
            rows, cols = slice(first, -1, 2), slice(second, -1, 2)
            up, down = slice(first - 1, -2, 2), slice(first + 1, None, 2)
            left, right = slice(second - 1, -2, 2), slice(second + 1, None, 2)
            u[rows, cols] = 0.25 * (
                u[up, cols] + u[down, cols] + u[rows, left] + u[rows, right] - hh * f[rows, cols]
            )
    residual = (
        u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
    ) / hh - f[1:-1, 1:-1]
    return np.abs(residual).max()


def poisson(seed, size):
    rng = np.random.default_rng(seed)
    return np.zeros((size, size)), rng.standard_normal((size, size)), 1.0 / (size - 1)


def conjugate_gradient(A, b, maxiter=6, tol=1e-10):
    if A.ndim != 2 or A.shape[0] != A.shape[1]:
        raise ValueError("A must be square")
    x = np.zeros_like(b)
    r = b - A.dot(x)
    p = r.copy()
    rs = r.dot(r)
    for k in range(maxiter):
        Ap = A.dot(p)
        alpha = rs / p.dot(Ap)
        x += alpha * p
        r -= alpha * Ap
        rs_next = r.dot(r)
        if np.sqrt(rs_next) < tol:
            return x, k + 1
        p = r + (rs_next / rs) * p
        rs = rs_next
    return x, maxiter


def positive_system(seed, size):
    rng = np.random.default_rng(seed)
    M = rng.random((size, size))
    return M @ M.T + size * np.eye(size), rng.random(size)


def not_square(seed, size):
    return np.ones((size, size + 1)), np.ones(size)


def power_iteration(matrix, vector, num_steps=6):
    for _ in range(num_steps):
        product = np.dot(matrix, vector)
        vector = product / np.linalg.norm(product)
    eigenvalue = vector @ matrix @ vector / (vector @ vector)
    return float(eigenvalue), vector


def kepler(mean_anomaly, eccentricity, newton_steps=5):
    """Eccentric anomaly by Newton's method, all planets at once."""
    M = np.mod(mean_anomaly, 2 * np.pi)
    E = np.where(eccentricity > 0.8, np.pi, M)
    for _ in range(newton_steps):
        delta = (E - eccentricity * np.sin(E) - M) / (1 - eccentricity * np.cos(E))
        E = E - delta
    x = np.cos(E) - eccentricity
    y = np.sqrt(1 - eccentricity**2) * np.sin(E)
    return np.arctan2(y, x), np.abs(delta).max()


def orbits(seed, size):
    rng = np.random.default_rng(seed)
    return rng.uniform(0, 20, size), rng.uniform(0, 0.9, size)


def newton_schulz(A, steps=4):
    """An inverse without a factorisation."""
    n = len(A)
    X = A.T / (np.abs(A).sum(axis=0).max() * np.abs(A).sum(axis=1).max())
    two = 2.0 * np.identity(n)
    for _ in range(steps):
        X = X @ (two - A @ X)
    return X, np.sqrt(((np.eye(n) - A @ X) ** 2).sum())


def bisect_all(lo, hi, target, rounds=12):
    """Roots of a monotone function, elementwise."""

    def g(v):
        return v**3 + 2 * v

    lo, hi = lo.copy(), hi.copy()
    for _ in range(rounds):
        mid = 0.5 * (lo + hi)
        below = g(mid) < target
        lo[below] = mid[below]
        hi[~below] = mid[~below]
    return (lo + hi) / 2


def brackets(seed, size):
    rng = np.random.default_rng(seed)
    return np.zeros(size), np.full(size, 4.0), rng.uniform(0, 60, size)


def thomas(lower, diag, upper, rhs):
    """Tridiagonal solve, many systems side by side (one in each column)."""
    n = diag.shape[0]
    c = np.empty_like(rhs)
    d = np.empty_like(rhs)
    c[0] = upper[0] / diag[0]
    d[0] = rhs[0] / diag[0]
    for i in range(1, n):
        w = diag[i] - lower[i] * c[i - 1]
        c[i] = upper[i] / w
        d[i] = (rhs[i] - lower[i] * d[i - 1]) / w
    for i in range(n - 2, -1, -1):
        d[i] -= c[i] * d[i + 1]
    return d


def bands(seed, size):
    rng = np.random.default_rng(seed)
    shape = (8, size)
    return rng.random(shape), 3 + rng.random(shape), rng.random(shape), rng.random(shape)
