"""Functions of arrays of mixed rank against exact arithmetic: every two choices meet.

Modes, orders, ranks, accumulators, dtypes and layouts are drawn; integers are compared exactly,
sums with `math.fsum`, moments with fractions, exponentials with mpmath.
"""

import math
from fractions import Fraction
from itertools import combinations, product

import mpmath
import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

import axiomjit as aj
from tests.passes.folded import MEANT, layouts
from tests.passes.graphs import follow, lowered, run_plain_case, small_forms

USERS = ("last", "seeded", "neutral", "farther")
CHOICES = {
    "modes": tuple(product((True, False), repeat=2)),
    "order": ("c", "f"),
    "ranks": ((3, 1), (2, 1), (1, 2), (3, 2), (2, 2), (3, 0), (1, 0), (2, 3)),
    "accumulator": (
        *("sum", "prod", "max", "min", "any", "all", "argmax", "argmin", "mean", "variance"),
        *("std", "logsumexp", *USERS),
    ),
    "dtype": ("b1", "u1", "i4", "i8", "f4", "f8"),
    "layout": (
        *("C", "F", "strided", "negative", "permuted"),
        *("repeated", "windows", "overlapping", "empty"),
    ),
}
ROUNDING = {"f4": 3e-7, "f8": 4e-15}
SHAPE = (4, 3, 5)
DRAWN, PIECES = 840, 7


def fits(choice):
    """Whether a choice has a meaning: accumulators of users are compared for integers."""
    users = choice["accumulator"] in USERS
    return not users or choice["dtype"] in ("i4", "i8")


def draw(seed):
    """A choice of each, which fits."""
    rng = np.random.default_rng(seed)
    found = {name: items[rng.integers(len(items))] for name, items in CHOICES.items()}
    if not fits(found):
        found["dtype"] = ("i4", "i8")[rng.integers(2)]
    return found


def elements(rng, shape, dtype):
    """Small integers, or positive floats, whose sums cancel nothing."""
    if np.dtype(dtype).kind == "f":
        return rng.uniform(0.5, 2.0, shape).astype(dtype)
    return rng.integers(0 if dtype in ("b1", "u1") else -3, 4, shape).astype(dtype)


def laid(rng, shape, choice):
    """An array of a shape in the layout of a choice."""
    name, dtype = choice["layout"], choice["dtype"]
    if name == "empty":
        inner = shape[-1:] if choice["order"] == "c" else shape[:1]
        shape = tuple(0 if len(shape) > 1 and n in inner else n for n in shape)
    array = elements(rng, shape, dtype)
    if name == "repeated" and shape:
        return np.broadcast_to(array[..., :1], shape)
    if name == "windows" and shape:
        row = elements(rng, (sum(shape) + shape[0],), dtype)
        return as_strided(row, shape, (2 * row.itemsize, *[row.itemsize] * (len(shape) - 1)))
    return layouts(array)[name] if shape and name in layouts(array) else array


def operands(choice, seed):
    """Two arrays whose dimensions have equal lengths where they meet."""
    rng = np.random.default_rng(seed)
    shapes = [
        SHAPE[:r] if choice["order"] == "c" else SHAPE[len(SHAPE) - r :] for r in choice["ranks"]
    ]
    x, y = (laid(rng, shape, choice) for shape in shapes)
    if choice["layout"] == "overlapping" and x.ndim >= y.ndim:
        y = (
            x[(..., *[0] * (x.ndim - y.ndim))]
            if choice["order"] == "c"
            else x[(0,) * (x.ndim - y.ndim)]
        )
    rank = max(x.ndim, y.ndim)
    for array, other in ((x, y), (y, x)):  # an empty dimension is one of both
        if array.ndim == rank and other.ndim < rank:
            whole = (
                array.shape[: other.ndim]
                if choice["order"] == "c"
                else array.shape[rank - other.ndim :]
            )
            if whole != other.shape:
                other.resize(whole, refcheck=False)
    return x, y


def exactly(name, values, dtype):
    """What an accumulator makes of a list of numbers; None of nothing where that is refused."""
    if name in USERS:
        return MEANT[name].of([(v,) for v in values])
    if not values and name in ("max", "min", "argmax", "argmin"):
        return None
    whole = dtype.kind in "biu"
    numbers = [Fraction(v) for v in values]
    count = len(values)
    match name:
        case "sum":
            return sum(map(int, values)) if whole else math.fsum(values)
        case "prod":
            return math.prod(map(int, values)) if whole else float(math.prod(numbers))
        case "max" | "min" | "any" | "all":
            return {"max": max, "min": min, "any": any, "all": all}[name](values)
        case "argmax":
            return values.index(max(values))
        case "argmin":
            return values.index(min(values))
        case "logsumexp":
            with mpmath.workdps(30):
                return float(mpmath.log(sum(map(mpmath.exp, values)))) if values else -math.inf
    if not count:
        return math.nan
    mean = sum(numbers) / count
    if name == "mean":
        return float(mean)
    variance = sum((v - mean) ** 2 for v in numbers) / count
    return float(variance) if name == "variance" else math.sqrt(variance)


def result_dtype(name, dtype):
    """NumPy's dtype of a result."""
    if name in ("sum", "prod"):
        return np.sum(np.empty(1, dtype)).dtype
    if name in ("argmax", "argmin"):
        return np.dtype("i8")
    if name in ("any", "all"):
        return np.dtype(bool)
    averaged = name in ("mean", "variance", "std", "logsumexp")
    return np.dtype("f8") if averaged and dtype.kind in "biu" else dtype


def wanted(array, other, broadcast, choice):
    """One result: the array repeated to the larger rank, or folded to the smaller one."""
    front = choice["order"] == "c"
    if broadcast:
        rank = max(array.ndim, other.ndim)
        whole = array.shape if array.ndim == rank else other.shape
        missing = (1,) * (rank - array.ndim)
        shape = (*array.shape, *missing) if front else (*missing, *array.shape)
        return np.broadcast_to(array.reshape(shape), whole)
    least, name = min(array.ndim, other.ndim), choice["accumulator"]
    if array.ndim == least:
        return array
    kept = array.shape[:least] if front else array.shape[array.ndim - least :]
    rows = array.reshape(*kept, -1) if front else np.moveaxis(array.reshape(-1, *kept), 0, -1)
    if not array.size and math.prod(kept):
        rows = np.empty((*kept, 0), array.dtype)
    found = [exactly(name, rows[k].tolist(), array.dtype) for k in np.ndindex(kept)]
    if None in found:
        return None
    return np.array(found, result_dtype(name, array.dtype)).reshape(kept)


def check(choice, seed):
    """The door gives what exact arithmetic gives, or refuses to fold nothing."""
    x, y = operands(choice, seed)
    acc = choice["accumulator"]
    acc = MEANT[acc].acc if acc in USERS else acc
    modes = ["broadcast" if broadcast else ("accumulate", acc) for broadcast in choice["modes"]]
    door = aj.elementwise(lambda x, y: (x, y), modes, choice["order"])
    want = [
        wanted(*pair, b, choice) for pair, b in zip(((x, y), (y, x)), choice["modes"], strict=True)
    ]
    before = [array.copy() for array in (x, y)]
    folded = (
        [] if all(choice["modes"]) else [wanted(x, y, False, choice), wanted(y, x, False, choice)]
    )
    if any(one is None for one in folded):
        with pytest.raises(ValueError, match="of nothing|a length of 0"):
            follow(lambda *xs: tuple(door(*xs)), x, y)
        return
    case = follow(lambda *xs: tuple(door(*xs)), x, y)
    with small_forms():
        found = run_plain_case(case, lowered(case).plan, 2)
    for one, other in zip(found, want, strict=True):
        assert one.dtype == other.dtype
        assert one.shape == other.shape
        exact = choice["dtype"] not in ROUNDING and acc not in (
            "std",
            "variance",
            "logsumexp",
            "mean",
        )
        rounding = 0.0 if exact else ROUNDING.get(choice["dtype"], ROUNDING["f8"])
        np.testing.assert_allclose(one, other, rtol=rounding, atol=rounding)
    for one, other in zip((x, y), before, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("piece", range(PIECES))
def test_every_choice_means_what_exact_arithmetic_gives(piece):
    for seed in range(piece * DRAWN // PIECES, (piece + 1) * DRAWN // PIECES):
        choice = draw(seed)
        try:
            check(choice, seed)
        except Exception as error:
            error.add_note(f"seed {seed}: {choice}")
            raise


def test_every_two_choices_meet():
    drawn = [draw(seed) for seed in range(DRAWN)]
    missing = [
        (one, first, other, second)
        for one, other in combinations(CHOICES, 2)
        for first, second in product(CHOICES[one], CHOICES[other])
        if ({one, other} != {"accumulator", "dtype"} or fits({one: first, other: second}))
        and not any(c[one] == first and c[other] == second for c in drawn)
    ]
    assert missing == []
