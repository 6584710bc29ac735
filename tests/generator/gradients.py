"""Random functions and their gradients, against differences, each other and JAX.

`campaign --gradients N` runs N of them. The derivative along a direction is that of five-point
differences; a point where these do not settle is near a kink, and another one is drawn. Pullbacks
are adjoint to pushforwards, nothing is written into arguments, and JAX gives the same gradient
where it has the program. Of every fourth function the derivative of the gradient is compared, too.
"""

import linecache
import warnings
from collections import Counter
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
from scipy import special

import axiomjit as aj
from axiomjit.base.counters import stats
from axiomjit.base.errors import FallbackWarning, GradientError, NeedsValuesError
from axiomjit.passes import pipeline
from axiomjit.passes.ir.plan_ir import Plan
from tests.generator import array_loops, jax_twins
from tests.generator.array_loops import shorter
from tests.generator.gradient_programs import drawn

SHARES = Counter()
"""The numbers of functions by what was compared; of those refused, by the reason."""
STEPS = (1e-3, 2.5e-4)
POINTS = 4
"""Points that are drawn for a function before it is given up."""
LARGEST = 1e4
CLOSE, ADJOINT, LIKE_JAX = 1e-6, 1e-11, 1e-9
SECOND = 4
"""The second derivative is compared for each function whose number is a multiple of this."""
IN_JAX = 25
"""A function whose number is a multiple of this is compared with JAX, if JAX can run it."""


@aj.custom_grad
def twice(x):
    """Twice a value, with a derivative of its own."""
    return 2.0 * x, lambda g: 2.0 * g


NAMES = {
    "HYPOT": aj.Accumulator(0.1, np.hypot),
    "PRODUCT": aj.Accumulator(1.0, lambda a, b: a * b, pullback=lambda g, y, a, b: (g * b, g * a)),
    "AFFINE": aj.Accumulator(
        (1.0, 0.0),
        lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
        lift=lambda e: (np.cos(e), e),
        final=lambda s: s[1] + s[0],
    ),
    "TWICE": twice,
}


class Point(NamedTuple):
    """Arguments, a direction, and the weights of the results."""

    arrays: tuple
    along: tuple
    weights: tuple


def point_of(seed, attempt):
    """The point of a number, and the names that programs of its length read."""
    draw = np.random.default_rng((seed, attempt))
    n = 5 + seed % 2
    shapes = (n,), (n,), (n, n)
    point = Point(
        tuple(draw.uniform(-1.4, 1.4, shape) for shape in shapes),
        tuple(draw.normal(size=shape) for shape in shapes),
        tuple(draw.normal(size=shape) for shape in (*shapes, ())),
    )
    fixed = np.random.default_rng(n)
    names = {
        "k": np.array([2, 0, 2, 4, 1, 0][:n]),
        "p": np.array([3, 0, 2, 4, 1, 5][:n]),
        "MASK": fixed.random((n, n)) > 0.4,
        "W": fixed.uniform(0.5, 1.5, n),
        "EYE": np.eye(n) * 3,
        "DIAGONAL": np.diag(np.arange(1.0, n + 1)),
        "ONE": np.ones((1, 1)),
    }
    return point, names


def function_of(text, names, name="a program"):
    """The function of a text."""
    name = f"<gradients {name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    known = {"np": np, "aj": aj, "special": special, "__name__": "gradients", **NAMES, **names}
    exec(compile(text, name, "exec"), known)
    return known["program"]


def loss_of(weights):
    """The function of a program that returns the weighted sum of its results."""

    def loss(program):
        def total(x, y, m):
            u, v, a, s = program(x, y, m)
            p, q, r, w = weights
            return (p * u).sum() + (q * v).sum() + (r * a).sum() + w * s

        return total

    return loss


def along(total, point, step):
    """The five-point difference of a function along the direction of a point."""

    def at(t):
        return total(*(a + t * step * v for a, v in zip(point.arrays, point.along, strict=True)))

    a, b, c, d = map(at, (-2, -1, 1, 2))
    return (a - 8 * b + 8 * c - d) / (12 * step)


def norm(arrays):
    """The length of several arrays as one vector."""
    return float(np.sqrt(sum(np.sum(np.abs(one) ** 2) for one in arrays)))


def inner(one, other):
    """The inner product of several arrays."""
    return float(sum(np.sum(np.asarray(a) * b) for a, b in zip(one, other, strict=True)))


def _copies(arrays):
    return tuple(a.copy() for a in arrays)


def slope(total, point, scale=0.0):
    """The derivative along the direction, None if the differences do not settle."""
    coarse, fine = (along(total, point, step) for step in STEPS)
    size = max(norm([np.ravel(fine)]), scale)
    if not np.all(np.isfinite(fine)) or size > LARGEST * 10:
        return None
    return fine if norm([np.ravel(coarse - fine)]) <= CLOSE / 10 * size else None


def failure(text, seed, number=0, in_jax=False, name="a program"):
    """The fault of the gradient of a program, as text; None for a right gradient."""
    for attempt in range(POINTS):
        point, names = point_of(seed, attempt)
        program = function_of(text, names, name)
        try:
            values = program(*_copies(point.arrays))
        except Exception:  # not a program: a shortened text
            return None
        if all(np.all(np.isfinite(v)) and np.abs(v).max() < LARGEST for v in values):
            total = loss_of(point.weights)(program)
            wanted = slope(total, point)
            if wanted is not None:
                return _compared(text, names, program, point, wanted, number, in_jax)
    SHARES["not settled"] += 1
    return None


def _compared(text, names, program, point, wanted, number, in_jax):
    try:
        found = _wrong(program, point, wanted, number)
        if found is None and in_jax and jax_twins.jax:
            found = _unlike_jax(text, names, point, program)
        return found
    except (GradientError, NeedsValuesError) as error:
        SHARES["refused: " + str(error).split("seen:")[-1].strip().split("\n")[0]] += 1
        return None
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def _wrong(program, point, wanted, number):
    total = loss_of(point.weights)(program)
    before = stats()["fallbacks"]
    given = _copies(point.arrays)
    value, gradient = aj.value_and_grad(total, argnums=(0, 1, 2))(*given)
    SHARES["followed for each call" if stats()["fallbacks"] > before else "compiled once"] += 1
    plain = total(*_copies(point.arrays))
    if not abs(value - plain) <= 1e-9 * max(1.0, abs(plain)):
        return f"a value of {value}, not {plain}"
    if any(not np.array_equal(a, b) for a, b in zip(given, point.arrays, strict=True)):
        return "an argument was changed"
    found, size = inner(gradient, point.along), norm(gradient) * norm(point.along)
    if not abs(found - wanted) <= CLOSE * max(size, 1e-3 * abs(plain)):
        return f"a slope of {found}, where differences give {wanted}; |g||v| is {size}"
    return _not_adjoint(program, point, gradient if number % SECOND else None) or (
        _wrong_second(total, point) if number % SECOND == 0 else None
    )


def _not_adjoint(program, point, pulled):
    """The difference between the inner products of a pullback and a pushforward."""
    _, pushed = aj.jvp(program, _copies(point.arrays), point.along)
    if pulled is None:
        _, pullback = aj.vjp(program, *_copies(point.arrays))
        pulled = pullback(point.weights)
    left, right = inner(point.weights, pushed), inner(pulled, point.along)
    size = max(
        norm(point.weights) * norm(map(np.asarray, pushed)), norm(pulled) * norm(point.along)
    )
    if not abs(left - right) <= ADJOINT * max(size, 1.0):
        return f"<u, Jv> is {left}, <J'u, v> {right}"
    return None


def _wrong_second(total, point):
    """The difference between a derivative of the gradient and differences of the gradient."""
    gradient = aj.grad(total, argnums=(0, 1, 2))

    def flat(*arrays):
        return np.concatenate([np.ravel(one) for one in gradient(*_copies(arrays))])

    _, found = aj.jvp(gradient, _copies(point.arrays), point.along)
    wanted = slope(flat, point, 1e-3 * norm([flat(*point.arrays)]))
    if wanted is None:
        SHARES["second, not settled"] += 1
        return None
    SHARES["second derivatives"] += 1
    made = np.concatenate([np.ravel(one) for one in found])
    size = max(norm([wanted]), 1e-3 * norm([flat(*point.arrays)]))
    if not norm([made - wanted]) <= CLOSE * size:
        return f"a derivative of the gradient of {made}, where differences give {wanted}"
    return None


def _unlike_jax(text, names, point, program):
    """The difference to JAX's gradient."""
    loss = loss_of(point.weights)
    wanted = jax_twins.gradients(text, names, point.arrays, loss)
    SHARES["not in JAX" if wanted is None else "compared with JAX"] += 1
    if wanted is None:
        return None
    found = aj.grad(loss(program), argnums=(0, 1, 2))(*_copies(point.arrays))
    if not np.isfinite(norm(wanted)):  # where an element that is not chosen has no derivative
        SHARES["NaN in JAX"] += 1
        return None
    apart = norm([a - b for a, b in zip(found, wanted, strict=True)])
    if not apart <= LIKE_JAX * max(1.0, norm(wanted)):
        return f"a gradient of\n{found}\nwhere JAX gives\n{wanted}"
    return None


def run(case, number, name="a program"):
    """The shortest text of a failing program, with its fault; None if the program is right."""
    in_jax = case.in_jax and number % IN_JAX == 0

    def fails(text, seed):
        return failure(text, seed, number, in_jax, name)

    if not fails(case.text, case.seed):
        return None
    text = shorter(case.text, case.seed, fails)
    return f"{text}\npoint {case.seed}: {fails(text, case.seed)}"


def campaign(seed, first, count, name):
    """The failures, as text, of functions run in one way."""
    failures = []
    with in_way(name):
        for number in range(first, first + count):
            found = run(drawn(seed, number), number, f"{seed}.{number}")
            if found:
                failures.append(f"{name}, seed {seed}, function {number}:\n{found}")
    return failures


def in_way(name):
    """The context of `array_loops`, without warnings; evaluated functions are not lowered."""
    stack = array_loops.in_way(name)
    warnings.simplefilter("ignore", FallbackWarning)  # until the filters of `quiet` are put back
    if name == "evaluated":
        stack.enter_context(patch.object(pipeline, "run_pipeline", _only_the_graph))
    return stack


def _only_the_graph(graph, context, watch=None):
    """The stages of a graph that is evaluated, in calls of one shape: it is not lowered."""
    return pipeline.Stages(context, graph, graph, None, None, Plan((), (), ()))
