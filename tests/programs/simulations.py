# ruff: noqa: PT018 - as users write
"""Simulations as their authors write them."""

import numpy as np


def lorenz(state, sigma=10.0, rho=28.0, beta=8 / 3):
    x, y, z = state
    return np.array([sigma * (y - x), x * (rho - z) - y, x * y - beta * z])


def rk4(y, dt, n_steps=3):
    """Classical Runge-Kutta for an ensemble: one trajectory in each column."""
    for _ in range(n_steps):
        k1 = lorenz(y)
        k2 = lorenz(y + 0.5 * dt * k1)
        k3 = lorenz(y + 0.5 * dt * k2)
        k4 = lorenz(y + dt * k3)
        y = y + dt / 6.0 * (k1 + 2 * k2 + 2 * k3 + k4)
    return y


def ensemble(seed, size):
    return np.random.default_rng(seed).standard_normal((3, size)), 0.01


def nbody_step(pos, vel, mass, dt, G=1.0, softening=0.1):
    """Kick and drift; positions and velocities are changed."""
    dx = pos[:, 0] - pos[:, 0][:, None]
    dy = pos[:, 1] - pos[:, 1][:, None]
    dz = pos[:, 2] - pos[:, 2][:, None]
    inv_r3 = (dx**2 + dy**2 + dz**2 + softening**2) ** -1.5
    ax = G * (dx * inv_r3) @ mass
    ay = G * (dy * inv_r3) @ mass
    az = G * (dz * inv_r3) @ mass
    vel += dt * np.stack((ax, ay, az), axis=1)
    pos += dt * vel
    return 0.5 * np.sum(mass * np.sum(vel**2, axis=1))


def bodies(seed, size):
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((size, 3)),
        0.1 * rng.standard_normal((size, 3)),
        rng.random(size) / size,
        0.01,
    )


class Gas:
    """Particles in a box with springs to the middle, by velocity Verlet."""

    def __init__(self, positions, velocities, box=2.0):
        self.x, self.v, self.box = positions, velocities, box
        self.a = self.force()
        self.bounces = 0
        self.history = []

    def force(self):
        r2 = (self.x**2).sum(axis=1, keepdims=True)
        return -self.x * (1.0 + 0.1 * r2)

    def advance(self, dt):
        self.x = self.x + self.v * dt + 0.5 * self.a * dt**2
        new_a = self.force()
        self.v = self.v + 0.5 * (self.a + new_a) * dt
        self.a = new_a
        out = np.abs(self.x) > self.box
        self.v[out] *= -1
        np.clip(self.x, -self.box, self.box, out=self.x)
        self.bounces += out.sum()
        self.history.append(0.5 * (self.v**2).sum())


def gas(seed, size):
    rng = np.random.default_rng(seed)
    return Gas(rng.uniform(-2, 2, (size, 2)), rng.standard_normal((size, 2))), 0.05


def random_walk(rng, n_walkers, n_steps=20):
    steps = rng.choice([-1, 1], size=(n_walkers, n_steps))
    paths = np.cumsum(steps, axis=1)
    crossed = (np.abs(paths) >= 4).any(axis=1)
    first = (np.abs(paths) >= 4).argmax(axis=1)
    return paths[:, -1].std(), crossed.mean(), first[crossed].mean()


def walkers(seed, size):
    return np.random.default_rng(seed), size


def ising_sweep(spins, beta, rng):
    """Metropolis on the two colours of a checkerboard, in place."""
    n, m = spins.shape
    i, j = np.indices((n, m))
    for colour in (0, 1):
        field = (np.roll(spins, 1, 0) + np.roll(spins, -1, 0) + np.roll(spins, 1, 1)) + np.roll(
            spins, -1, 1
        )
        flip = rng.random((n, m)) < np.exp(-2.0 * beta * spins * field)
        spins[flip & ((i + j) % 2 == colour)] *= -1
    return spins.mean()


def lattice(seed, size):
    rng = np.random.default_rng(seed)
    return rng.choice(np.array([-1, 1]), size=(size, size)), 0.44, rng


def sir(beta, gamma, days=8, dt=0.5):
    """An epidemic for many pairs of rates: the peak, its day, and what is left."""
    assert (beta >= 0).all() and (gamma >= 0).all()
    S = np.full(beta.shape, 0.99)
    I = np.full(beta.shape, 0.01)  # noqa: E741
    R = np.zeros(beta.shape)
    infected = [I]
    for _ in range(days):
        new = beta * S * I * dt
        healed = gamma * I * dt
        S, I, R = S - new, I + new - healed, R + healed  # noqa: E741
        infected.append(I)
    curve = np.array(infected)
    return curve.max(axis=0), curve.argmax(axis=0), S


def rates(seed, size):
    rng = np.random.default_rng(seed)
    return rng.uniform(0.2, 2.0, size), rng.uniform(0.05, 0.5, size)


def negative_rates(seed, size):
    beta, gamma = rates(seed, size)
    return -beta, gamma


def mandelbrot(c, max_iter=10):
    """The number of iterations before each point escapes."""
    z = np.zeros(c.shape, dtype=complex)
    count = np.zeros(c.shape, dtype=int)
    for _ in range(max_iter):
        alive = np.abs(z) <= 2
        z[alive] = z[alive] ** 2 + c[alive]
        count[alive] += 1
    return count


def plane(seed, size):
    x = np.linspace(-2, 1, size) + 0.01 * seed
    y = np.linspace(-1.5, 1.5, size)
    return (x + 1j * y[:, None],)
