"""Accumulators of several kinds, each with its meaning in plain Python."""

import math
from collections.abc import Callable, Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

import axiomjit as aj


class Meant(NamedTuple):
    """An accumulator of so many operands, and what it makes of a list of elements."""

    acc: aj.Accumulator
    of: Callable[[Sequence[tuple]], object]
    operands: int = 1


def matrices(f, g):
    """The product of two matrices of two rows, row after row."""
    (a, b, c, d), (e, h, i, j) = f, g
    return a * e + b * i, a * h + b * j, c * e + d * i, c * h + d * j


def compose(f, g):
    """First f, then g, each t -> t * factor + summand."""
    return f[0] * g[0], f[1] * g[0] + g[1]


def last(a, b):
    return b


def seeded_sum(a, b):
    return a + b


def farther(a, b):
    """The one of larger size, the earlier one of two."""
    return np.where(np.absolute(b) > np.absolute(a), b, a)


def wrapped(value):
    """A whole number as int64 has it."""
    return (int(value) + 2**63) % 2**64 - 2**63


def _matrices(elements):
    state = (1, 2, 0, 1)
    for element in elements:
        state = tuple(map(wrapped, matrices(state, element)))
    return state


def _first_farthest(elements):
    return reduce(lambda a, b: b if abs(b) > abs(a) else a, [e for (e,) in elements], 0)


MEANT = {
    "matrices": Meant(aj.Accumulator((1, 2, 0, 1), matrices), _matrices, 4),
    "compose": Meant(
        aj.Accumulator((1, 7), compose, has_identity=False),
        lambda elements: tuple(
            map(wrapped, reduce(compose, [tuple(map(int, e)) for e in elements], (1, 7)))
        ),
        2,
    ),
    "last": Meant(aj.Accumulator(-5, last), lambda elements: ([-5] + [e for (e,) in elements])[-1]),
    "seeded": Meant(
        aj.Accumulator(100, seeded_sum, commutative=True),
        lambda elements: 100 + sum(int(e) for (e,) in elements),
    ),
    "neutral": Meant(
        aj.Accumulator(0, seeded_sum, commutative=True, has_identity=True),
        lambda elements: sum(int(e) for (e,) in elements),
    ),
    "farther": Meant(aj.Accumulator(0, farther), _first_farthest),
    "lifted": Meant(
        aj.Accumulator(
            (0, 0),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            lambda x, y: (x * y, x + 1),
            lambda s: s[0] * 1000 + s[1],
        ),
        lambda elements: sum(int(x * y) * 1000 + int(x) + 1 for x, y in elements),
        2,
    ),
    "spread": Meant(
        aj.Accumulator(
            None,
            lambda a, b: (np.maximum(a[0], b[0]), np.minimum(a[1], b[1])),
            lambda x: (x, x),
            lambda s: (s[0] - s[1], s[0]),
            commutative=True,
        ),
        lambda elements: (max(elements)[0] - min(elements)[0], max(elements)[0]),
    ),
}


def elements_of(operands, axes, place):
    """The elements of operands that are folded at a place of the kept axes, in order of `axes`."""
    shape = operands[0].shape
    kept = iter(place)
    index = {d: next(kept) for d in range(len(shape)) if d not in axes}
    found = []
    for folded in np.ndindex(*(shape[d] for d in axes)):
        whole = {**index, **dict(zip(axes, folded, strict=True))}
        at = tuple(whole[d] for d in range(len(shape)))
        found.append(tuple(operand[at].item() for operand in operands))
    return found


def folded_exactly(meant, operands, axes):
    """What the accumulator makes of operands of one shape along axes, a tuple of arrays."""
    shape = operands[0].shape
    kept = tuple(n for d, n in enumerate(shape) if d not in axes)
    results = [meant.of(elements_of(operands, axes, place)) for place in np.ndindex(*kept)]
    rows = [r if isinstance(r, tuple) else (r,) for r in results]
    if not rows:
        one = meant.of([(1,) * meant.operands])
        return (np.empty(kept, "i8"),) * (len(one) if isinstance(one, tuple) else 1)
    return tuple(np.array(column).reshape(kept) for column in zip(*rows, strict=True))


def whole_numbers(rng, shape, dtype="i8"):
    """Small whole numbers."""
    return rng.integers(-4 if np.dtype(dtype).kind != "u" else 0, 5, shape).astype(dtype)


def layouts(array):
    """An array of the same values in several layouts, by name."""
    wide = np.zeros(tuple(2 * n + 1 for n in array.shape), array.dtype)
    every_other = tuple(slice(1, 2 * n + 1, 2) for n in array.shape)
    wide[every_other] = array
    backward = tuple(slice(None, None, -1) for _ in array.shape)
    return {
        "C": np.ascontiguousarray(array),
        "F": np.asfortranarray(array),
        "strided": wide[every_other],
        "negative": np.ascontiguousarray(array[backward])[backward],
        "permuted": np.ascontiguousarray(np.moveaxis(array, 0, -1)).transpose(
            [array.ndim - 1, *range(array.ndim - 1)]
        ),
    }


def log_sum_exp(values):
    """log(sum(exp)) of a list of floats, exact to rounding."""
    top = max(values)
    if math.isinf(top):
        return top
    return top + math.log(math.fsum(math.exp(v - top) for v in values))
