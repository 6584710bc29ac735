"""Differences on grids as their authors write them."""

import numpy as np


def heat(u, alpha, dt, dx, steps=3):
    """Explicit diffusion of a plate with fixed edges, in place."""
    k = alpha * dt / dx**2
    for _ in range(steps):
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + k * (
            un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]
        )
        u[0, :] = 100.0
        u[-1, :] = 0.0


def plate(seed, size):
    return np.random.default_rng(seed).random((size, size)) * 50, 0.1, 0.001, 0.05


def wave(prev, curr, c, dt, dx):
    """One leapfrog step of a string; the ends are held."""
    r2 = (c * dt / dx) ** 2
    nxt = np.zeros_like(curr)
    nxt[1:-1] = 2 * curr[1:-1] - prev[1:-1] + r2 * (curr[2:] - 2 * curr[1:-1] + curr[:-2])
    energy = 0.5 * np.sum(((nxt - curr) / dt) ** 2) * dx
    return curr, nxt, energy


def string(seed, size):
    rng = np.random.default_rng(seed)
    x = np.linspace(0, 1, size)
    start = np.sin(np.pi * x) * rng.random()
    return start, start + 0.01 * rng.random(size), 1.0, 0.5 / size, 1.0 / size


def life(grid, generations=2):
    for _ in range(generations):
        neighbours = sum(
            np.roll(np.roll(grid, dy, axis=0), dx, axis=1)
            for dy in (-1, 0, 1)
            for dx in (-1, 0, 1)
            if (dy, dx) != (0, 0)
        )
        born = (neighbours == 3) & (grid == 0)
        stays = ((neighbours == 2) | (neighbours == 3)) & (grid == 1)
        grid = (born | stays).astype(grid.dtype)
    return grid, int(grid.sum())


def cells(seed, size):
    return ((np.random.default_rng(seed).random((size, size)) < 0.3).astype(np.int8),)


class ShallowWater:
    """Linear shallow water on a staggered grid, periodic in x."""

    def __init__(self, h, gravity=9.81, depth=10.0, dx=1.0):
        self.h = h
        self.u = np.zeros_like(h)
        self.v = np.zeros_like(h)
        self.g, self.depth, self.dx = gravity, depth, dx
        self.time = 0.0
        self.n_steps = 0

    def step(self, dt):
        self.u -= self.g * dt / self.dx * (np.roll(self.h, -1, axis=1) - self.h)
        self.v[:-1] -= self.g * dt / self.dx * (self.h[1:] - self.h[:-1])
        self.v[-1] = 0
        div = self.u - np.roll(self.u, 1, axis=1) + self.v
        div[1:] -= self.v[:-1]
        self.h = self.h - self.depth * dt / self.dx * div
        self.time += dt
        self.n_steps += 1
        return self.h.mean()


def basin(seed, size):
    rng = np.random.default_rng(seed)
    return ShallowWater(rng.random((size, size))), 0.01 * (1 + rng.random())


def ocean_mixing(temp, kappa, dz, dt, surface_flux):
    """Implicit vertical mixing: one tridiagonal system for each column of water (z is last)."""
    nz = temp.shape[2]
    flow = dt * kappa[:, :, :-1] / dz**2
    a = np.zeros(temp.shape)
    b = np.ones(temp.shape)
    c = np.zeros(temp.shape)
    a[:, :, 1:] = -flow
    c[:, :, :-1] = -flow
    b[:, :, 1:] += flow
    b[:, :, :-1] += flow
    rhs = temp.copy()
    rhs[:, :, -1] += dt * surface_flux / dz
    cp = np.zeros(temp.shape)
    cp[:, :, 0] = c[:, :, 0] / b[:, :, 0]
    rhs[:, :, 0] /= b[:, :, 0]
    for k in range(1, nz):
        norm = 1.0 / (b[:, :, k] - a[:, :, k] * cp[:, :, k - 1])
        cp[:, :, k] = c[:, :, k] * norm
        rhs[:, :, k] = (rhs[:, :, k] - a[:, :, k] * rhs[:, :, k - 1]) * norm
    for k in range(nz - 2, -1, -1):
        rhs[:, :, k] -= cp[:, :, k] * rhs[:, :, k + 1]
    return rhs


def water(seed, size):
    rng = np.random.default_rng(seed)
    shape = (size, size, 6)
    return 10 * rng.random(shape), rng.random(shape), 5.0, 3600.0, rng.standard_normal(shape[:2])


def advect(q, velocity, dt, dx):
    """Upwind transport on a ring; refuses steps that are too long."""
    courant = velocity * dt / dx
    if np.max(np.abs(courant)) > 1:
        raise ValueError("the time step breaks the CFL condition")
    left = q - np.roll(q, 1)
    right = np.roll(q, -1) - q
    return q - np.where(velocity > 0, courant * left, courant * right)


def ring(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random(size), rng.uniform(-1, 1, size), 0.5 / size, 1.0 / size


def too_fast(seed, size):
    q, velocity, dt, dx = ring(seed, size)
    return q, 10 * velocity, dt, dx


def gray_scott(U, V, Du=0.16, Dv=0.08, F=0.035, k=0.065):
    """One step of a reaction with diffusion; edges are ghost cells."""
    u, v = U[1:-1, 1:-1], V[1:-1, 1:-1]
    Lu = U[:-2, 1:-1] + U[1:-1, :-2] - 4 * u + U[1:-1, 2:] + U[2:, 1:-1]
    Lv = V[:-2, 1:-1] + V[1:-1, :-2] - 4 * v + V[1:-1, 2:] + V[2:, 1:-1]
    uvv = u * v * v
    u += Du * Lu - uvv + F * (1 - u)
    v += Dv * Lv + uvv - (F + k) * v
    for Z in (U, V):
        Z[0, :], Z[-1, :] = Z[-2, :], Z[1, :]
        Z[:, 0], Z[:, -1] = Z[:, -2], Z[:, 1]


def chemicals(seed, size):
    rng = np.random.default_rng(seed)
    return rng.random((size, size)), 0.3 * rng.random((size, size))
