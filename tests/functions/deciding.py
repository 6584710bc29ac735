"""Functions whose computed values decide what they do next, for tests."""

import cmath
import math

import numpy as np


def branch(x):
    if x.sum() > 0:
        return x * 2
    return -x


def nested(x):
    if (x > 0).all():
        return x + 1 if x[0] > 2 else x + 2
    return x - 1


def write(x):
    if x[0] > 1:
        x[0] = 0
    else:
        x -= x.mean()
    return x.sum()


def write_first(x):
    x *= 2
    if x.max() > 5:
        x[:] = 1
    return x


def asserting(x):
    assert (x >= -1.5).all(), "too small"
    return np.sqrt(x + 2)


def raising(x):
    if np.isnan(x).any():
        raise ValueError("nan")
    if x.mean() > 1.5:
        raise RuntimeError(f"mean of {len(x)}")
    return x / x.size


def raising_late(x):
    x += 1
    if x.max() > 4.5:
        raise ValueError("large")
    return x * 2


def caught(x):
    try:
        if x[0] < 0:
            raise KeyError("negative")
        return x + 1
    except KeyError:
        return -x


def after_a_write(x):
    x[0] = 0
    return x[: x.argmax() + 1]


def doubled(x):
    """Double it until it is large."""
    while x.max() < 5:
        x = x * 2
    return x


class State:
    """An instance with counters of small and large arrays."""

    def __init__(self):
        self.small = self.large = 0

    def step(self, x):
        """Count an array."""
        if x.sum() > 4:
            self.large += 1
            return x * self.large
        self.small += 1
        return -x


PATHS = {
    "branch": branch,
    "nested": nested,
    "write": write,
    "write first": write_first,
    "caught": caught,
    "and": lambda x: x if x[0] > 0 and x[1] > 0 else -x,
    "not": lambda x: x if not x[0] > 0 else -x,
    "chain": lambda x: x if 0 < x.mean() < 1 else -x,
    "any of": lambda x: any(one > 2 for one in x[:2]) and x * 2,
    "bool": lambda x: bool(x[0] > 0),
    "size": lambda x: x if len(x[x > 1]) > 2 else -x,
    "unique": lambda x: x if len(np.unique(np.round(x[:3]))) > 2 else -x,
    "element": lambda x: -x if x[:1] > 0 else x,
    "nonzero": lambda x: 1.0 if np.floor(x[0]) else x,
    "max of kinds": lambda x: x / max(abs(x[0]), 1.25),
}
"""Functions with a few paths."""
NUMBERS = {
    "axis": lambda x: np.stack([x, -x]).sum(axis=(x > 2).sum() % 2),
    "shape": lambda x: x.repeat(2).reshape((x > x.max()).sum() + 7, -1),
    "shift": lambda x: np.roll(x, (x > 1).sum()),
    "float": lambda x: x * float(x.sum()),
    "float itself": lambda x: float(x.max()),
    "complex": lambda x: complex(x[1]) * 1j,
    "round": lambda x: round(x.mean() * 0.1),
    "two digits": lambda x: round(x.mean(), 2),
    "floor": lambda x: (math.floor(x.mean() + 9.5), math.ceil(x[1] * 0 + 2.5)),
    "max": lambda x: x / max(x.max(), x.min(), x[2]),
    "min": lambda x: min(x[0], x[1], x[2]),
    "exp": lambda x: math.exp(-x.mean()) * x,
    "sqrt": lambda x: x / math.sqrt((x * x).sum()),
    "pow": lambda x: math.pow(abs(x[1]), 2.5),
    "atan2": lambda x: math.atan2(x[1], x[2]),
    "cexp": lambda x: cmath.exp(1j * x[1]),
    "isnan": lambda x: 0 if math.isnan(x[1]) else x,
    "divmod": lambda x: divmod(x[1], 0.3),
    "abs": lambda x: abs(x[1]),
    "list": lambda x: np.array([float(x[0]), 1.0]),
    "to the largest": lambda x: x[: x.argmax() + 1],
    "from the least": lambda x: x[x.argmin() :],
    "after a write": after_a_write,
    "number of values": lambda x: len(np.unique(x)),
    "length": lambda x: np.zeros(int(abs(x[2]) + 1)),
}
"""Functions of computed numbers."""
RAISING = {
    "assert": asserting,
    "raise": raising,
    "raise after a write": raising_late,
    "loop": doubled,
}
"""Functions that raise on some of their paths."""
