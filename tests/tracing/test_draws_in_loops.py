"""Random draws in loops and branches: in Python's order, with NumPy's bits."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.graph.regions import Region


def several(rng, n):
    """Draws of numbers and arrays in each trip; one of them is not used."""
    made = np.zeros(n)

    def step(i, total):
        u = rng.random()
        three = rng.random(3)
        rng.standard_normal()
        made[i] = total + three.sum()
        return total + u * 2.5

    return aj.fori_loop(0, n, step, 0.0), made, rng.random()


def unused(rng, n):
    first = rng.random()

    def step(i, total):
        rng.random(2)
        return total + 1.0

    return aj.fori_loop(0, n, step, first)


def on_one_side(rng, n):
    def step(i, total):
        return aj.cond(
            total > 0.5, lambda: total - rng.random(), lambda: total + rng.standard_normal(2)[1]
        )

    return aj.fori_loop(0, n, step, 0.7)


def in_both_loops(rng, n):
    def step(i, total):
        inner = aj.fori_loop(0, i, lambda j, t: t + rng.random(), total)
        return inner + rng.random()

    return aj.fori_loop(0, n, step, 0.0)


def until_large(rng, n):
    def step(carried):
        return carried[0] + rng.exponential(), carried[1] + 1

    return aj.while_loop(lambda carried: carried[0] < n, step, (rng.random(), 0))


def markov_chain(rng, n):
    """A chain of states, from the source of a loop."""
    chances = np.array([[0.2, 0.7, 1.0], [0.5, 0.6, 1.0], [0.1, 0.4, 1.0]])
    counts, state = np.zeros(3), 0
    for _ in range(n):
        state = np.searchsorted(chances[state], rng.random() * 0.99)
        counts[state] += 1.0
    return counts


def random_walk(rng, n):
    x = np.zeros(n)
    for i in range(1, n):
        if rng.random() < 0.5:
            x[i] = x[i - 1] + rng.standard_normal()
        else:
            x[i] = x[i - 1] - 1.0
    return x


def shuffled(rng, n):
    x = rng.random(6)
    for _ in range(n):
        rng.shuffle(x)
        x[0] += rng.permutation(x)[1]
    return x


PROGRAMS = (several, unused, on_one_side, in_both_loops, until_large)
PROGRAMS += (markov_chain, random_walk, shuffled)


def same(found, wanted):
    pairs = [v if isinstance(v, tuple) else (v,) for v in (found, wanted)]
    return all(np.array_equal(a, b) for a, b in zip(*pairs, strict=True))


@pytest.mark.parametrize("function", PROGRAMS)
def test_draws_are_numpys_in_order(function):
    compiled = aj.jit(strict=True)(function)
    mine, plain = np.random.default_rng(4), np.random.default_rng(4)
    for n in (12, 12, 12, 15):
        assert same(compiled(mine, n), function(plain, n))
        assert mine.random() == plain.random()
    ops = compiled.lower(mine, 12)._stages.graph.ops
    assert any(isinstance(op.primitive, Region) for op in ops)


def test_draws_that_nothing_orders_are_found(monkeypatch):
    """Without the number that a trip writes once its draws are done, they are lost."""
    from axiomjit.tracing.region_bodies import Pass

    monkeypatch.setattr(Pass, "unread", ())
    mine, plain = np.random.default_rng(4), np.random.default_rng(4)
    aj.jit(unused)(mine, 12)
    unused(plain, 12)
    assert mine.random() != plain.random()


def stopped(rng, a):
    """Draws before a step that raises an error in the third trip."""
    b = np.ones(3)
    for i in range(8):
        b = np.linalg.solve(a - i * np.eye(3), b) + rng.random(3)
    return b


def test_an_error_leaves_the_generator_as_in_numpy():
    mine, plain = np.random.default_rng(4), np.random.default_rng(4)
    a = np.diag([5.0, 2.0, 7.0])
    for function, rng in ((aj.jit(stopped), mine), (stopped, plain)):
        with pytest.raises(np.linalg.LinAlgError):
            function(rng, a)
    assert mine.random() == plain.random()


def drawn_in_the_condition(n, rng):
    while rng.random() < 0.98:
        n += 1
    return n, rng.random()


def test_a_condition_that_draws_draws_once_in_each_trip():
    jitted = aj.jit(drawn_in_the_condition)
    with pytest.warns(aj.errors.FallbackWarning):
        found = jitted(0, np.random.default_rng(3))
    assert found == drawn_in_the_condition(0, np.random.default_rng(3))


def made_inside(n, seed):
    """The first draw is known in the trace; those of the loop and behind it are steps."""
    rng = np.random.default_rng(seed)
    x = np.full(n, rng.integers(5), dtype=float)
    for i in range(1, n):
        x[i] = x[i - 1] + rng.standard_normal()
        if rng.random() < 0.3:
            x[i] -= rng.random(2).sum()
    return x, rng.random()


def two_made(n, seed):
    """Draws of two generators; the second one is only drawn from in the inner loop."""
    first, second = np.random.default_rng(seed), np.random.RandomState(seed)
    s = first.random()
    for i in range(n):
        for _ in range(i):
            s = 0.5 * s + second.rand() - first.random()
    return s, second.randn(), first.normal()


def made_in_each_trip(n, seed):
    s = 0.0
    for i in range(n):
        rng = np.random.default_rng(seed)
        s += rng.random() * i
    return s


class Walker:
    """A random walk."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def step(self, x):
        return x + self.rng.normal()


def by_a_method(n, seed):
    walker, x = Walker(seed), 0.0
    for _ in range(n):
        x = walker.step(x)
    return x


def chosen_rows(n, seed):
    """Draws with an array, outside a loop."""
    rng = np.random.default_rng(seed)
    x = np.sqrt(np.arange(float(n)))
    return rng.permutation(x), rng.random()


MADE = (made_inside, two_made, by_a_method, chosen_rows, made_in_each_trip)


@pytest.mark.parametrize("function", MADE)
def test_draws_of_a_generator_that_the_function_makes(function):
    compiled = aj.jit(strict=True)(function)
    for n, seed in ((12, 4), (12, 4), (15, 4), (12, 5), (15, 4)):
        assert same(compiled(n, seed), function(n, seed))
    if function in (made_inside, two_made, by_a_method):
        ops = compiled.lower(12, 4)._stages.graph.ops
        assert any(isinstance(op.primitive, Region) for op in ops)


def test_calls_in_threads_draw_from_generators_of_their_own():
    compiled = aj.jit(made_inside)
    wanted = made_inside(300, 2)
    assert same(compiled(300, 2), wanted)
    with ThreadPoolExecutor(4) as pool:
        found = [*pool.map(lambda _: compiled(300, 2), range(16))]
    assert all(same(one, wanted) for one in found)


def test_a_generator_that_the_function_returns_is_numpys():
    def first(seed):
        rng = np.random.default_rng(seed)
        return rng, rng.random()

    compiled = aj.jit(first)
    for _ in range(2):
        (rng, _), (plain, _) = compiled(3), first(3)
        assert type(rng) is np.random.Generator
        assert rng.random() == plain.random()


def test_the_state_of_a_made_generator_is_answered_by_numpy():
    def state(n):
        rng = np.random.default_rng(1)
        for _ in range(n):
            rng.random()
        return rng.bit_generator.state["state"]["state"]

    with pytest.warns(aj.errors.FallbackWarning):
        assert aj.jit(state)(20) == state(20)
