"""Random programs of smooth steps, writes, masks, folds and loops, each from (3, 4) to (3, 4)."""

import numpy as np

import axiomjit as aj

K = np.array([2, 0, 2])
M = np.random.default_rng(0).normal(size=(4, 4)) * 0.5


def smooth(x):
    return np.tanh(x) + 0.3 * np.sin(2 * x)


def quotient(x):
    return x / (1 + x * x)


def powers(x):
    return np.exp(0.3 * x) - np.log1p(x * x) + np.sqrt(1 + x * x)


def product(x):
    return x @ M


def turned(x):
    return np.reshape(np.transpose(x) * x.sum(), (3, 4)) * 0.2


def chosen(x):
    return np.where(x > 0.1, x * x, -0.5 * x)


def clipped(x):
    return np.clip(x, -0.8, 0.9) + 0.1 * np.maximum(x, x[:, ::-1])


def shifted(x):
    return np.roll(x, 1, axis=1) * 0.5 + np.pad(x, ((0, 0), (1, 1)), mode="edge")[:, 2:]


def written(x):
    y = x * 1.0
    y[1:] += 0.3 * x[:-1] * x[1:]
    y[:, ::2] *= 0.8
    y[0, 1] = y[2, 2] * 2
    return y


def masked(x):
    y = np.zeros((3, 4))
    y[x > 0] = x[x > 0] ** 2
    y[x <= 0] -= 0.2
    return y + 0.3 * x


def scattered(x):
    y = 0.1 * x
    np.add.at(y, K, x * x)
    y[K, :] -= 0.5 * x
    return y


def gathered(x):
    return x[K] * x[:, np.array([3, 1, 1, 0])]


def running(x):
    return np.cumsum(x, axis=1) * 0.3 + np.cumprod(1 + 0.1 * x, axis=0)


def normalised(x):
    return (x - x.mean(1)[:, None]) / (0.5 + x.std(1)[:, None])


def softmax(x):
    e = np.exp(x - x.max(1)[:, None])
    return e / e.sum(1)[:, None]


def extremes(x):
    return x - 0.5 * x.max(0) + 0.2 * np.prod(1 + 0.1 * x, axis=1)[:, None] * x.min()


def ordered(x):
    return np.sort(x, axis=1) * 0.5 + x[:, :1] * np.median(x)


def joined(x):
    both = np.concatenate([x[:1] * 2, x * x, x[1:2]], axis=0)
    return both[1:4] * 0.5 + both[::2][:3]


def windows(x):
    seen = np.lib.stride_tricks.sliding_window_view(np.pad(x, ((0, 0), (1, 1))), 3, axis=1)
    return (seen * np.array([0.2, 0.5, -0.4])).sum(-1)


def loop(x):
    y = x * 0.5
    for row in range(3):
        y = np.tanh(y + x[row]) * 0.9
        y[row] = x[row] * y[(row + 1) % 3]
    return y


def stepped(x):
    y = x * 1.0

    def step(k, s):
        y[1:, 0] += 0.2 * y[:-1, 1] * s
        y[:, 1:] *= np.cos(0.3 * s + 0.1 * k)
        return 0.5 * s + y[2, 0]

    return y * aj.fori_loop(0, 9, step, 0.3)


def rows_in_order(x):
    y = x * 1.0
    for k in range(8):
        for row in range(1, 3):
            if y[row, 1] > 0:
                y[row] = np.sin(y[row] + 0.1 * k) + y[row - 1]
            else:
                y[row] -= 0.3 * y[row - 1] * x[row]
    return np.tanh(y)


def carried_rows(x):
    last, rows = aj.scan(lambda c, row: (np.tanh(c + row), c * row), x[0], x)
    return rows + last * 0.3


def halved(x):
    return x * aj.while_loop(lambda s: s > 0.5, lambda s: s * s * 0.6, 1.2 + x[0, 0] ** 2 * 0.1)


def solved(x):
    return np.linalg.solve(np.eye(3) * 3 + 0.2 * x @ x.T, x)


def spectrum(x):
    made = np.fft.rfft(x, axis=1)
    return np.fft.irfft(made * np.conj(made), n=4, axis=1) * 0.3


def parts(x):
    z = x + 1j * x[::-1]
    return (z * np.exp(0.2j * z)).real + abs(z + 0.3)


STEPS = (
    *(smooth, quotient, powers, product, turned, chosen, clipped, shifted, written, masked),
    *(scattered, gathered, running, normalised, softmax, extremes, ordered, joined, windows),
    *(loop, stepped, rows_in_order, carried_rows, halved, solved, spectrum, parts),
)


def drawn(seed, length=4):
    """The steps of a random program, and a point."""
    generator = np.random.default_rng(seed)
    steps = tuple(STEPS[k] for k in generator.integers(len(STEPS), size=length))
    return steps, generator.uniform(-1.5, 1.5, (3, 4)), generator


def program(steps, weights):
    """The function that runs the steps, and sums the result times weights."""

    def run(x):
        for step in steps:
            x = step(x)
        return (x * weights).sum()

    return run


def directional(function, x, v, step):
    """The five-point difference along a direction."""
    a, b, c, d = (function(x + k * step * v) for k in (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * step)
