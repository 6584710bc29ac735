"""Random programs of loops give what Python gives, element by element."""

import linecache

import numpy as np
import pytest

import axiomjit as aj
from tests.generator.budget import FACTOR

SEEDS = 8
TERMS = (
    "x[{i}]",
    "y[{i}]",
    "s",
    "0.5 * y[{i}]",
    "np.sqrt(abs(x[{i}]))",
    "np.where(y[{i}] > s, x[{i}], s)",
    "y[{i}:].sum()",
    "{i} * 0.25",
)
STATEMENTS = (
    "y[{i}] = {a} - {b} * 0.3",
    "s = 0.5 * s + {a}",
    "y[{i}] += {a} * 0.1",
    "y[{i}:] *= 0.9",
    "y[:{i}] += 0.1 * x[{i}]",
    "y[{i}:n - 1] = x[{i} + 1:] - 0.5 * y[{i}:n - 1]",
    "s = aj.cond({a} > {b}, lambda: s + 0.25, lambda: s * 0.5)",
    "y[p[{i}]] += 0.5 * s",
)


def drawn(rng, index):
    """One term, or a statement of two."""

    def place():
        shift = int(rng.integers(-2, 3))
        return f"{index} + {shift}" if shift >= 0 else f"{index} - {-shift}"

    def term():
        return str(rng.choice(TERMS)).format(i=place())

    return str(rng.choice(STATEMENTS)).format(i=place(), a=term(), b=term())


def text(seed):
    """A program with one loop or two nested ones."""
    rng = np.random.default_rng(seed)
    lines = ["def program(x, y, p):", "    n = x.shape[0]", "    def step(i, s):"]
    lines += [f"        {drawn(rng, 'i')}" for _ in range(rng.integers(1, 4))]
    if rng.integers(2):
        first, last = ("2", "i") if rng.integers(2) else ("i", "n - 2")
        lines += ["        def inner(j, s):"]
        lines += [f"            {drawn(rng, 'j')}" for _ in range(rng.integers(1, 3))]
        lines += ["            return s", f"        s = aj.fori_loop({first}, {last}, inner, s)"]
    lines += ["        return s", "    return aj.fori_loop(2, n - 2, step, np.float64(0.0))"]
    return "\n".join(lines) + "\n"


def check(seed):
    """Compare a program with Python, for two lengths."""
    source, name = text(seed), f"<loops {seed}>"
    linecache.cache[name] = len(source), None, source.splitlines(True), name
    space = {"np": np, "aj": aj}
    exec(compile(source, name, "exec"), space)  # the text of this file's own generator
    compiled = aj.jit(strict=True)(space["program"])
    for n in (8, 11):
        rng = np.random.default_rng(n)
        arguments = [rng.random(n), rng.random(n), rng.integers(-n, n, n)]
        mine, plain = ([a.copy() for a in arguments] for _ in range(2))
        found, wanted = compiled(*mine), space["program"](*plain)
        np.testing.assert_allclose(found, wanted, rtol=1e-9, err_msg=source)
        for one, other in zip(mine, plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-9, err_msg=source)


@pytest.mark.parametrize("seed", range(SEEDS * FACTOR))
def test_random_loops_equal_python(seed):
    check(seed)
