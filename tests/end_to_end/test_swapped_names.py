"""Names of arrays that loops with a condition swap have the arrays that they have in Python."""

import numpy as np
import pytest

import axiomjit
from axiomjit.tracing import control_flow
from tests.generator.sequences import way

U = np.sin(np.arange(12.0))


def relaxed(u, tolerance):
    v, error, steps = u.copy(), 1.0, 0
    while error > tolerance:
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        error = np.abs(v - u).max()
        u, v = v, u
        steps += 1
    return u, v, steps


def relaxed_at_most(u, tolerance):
    v = u.copy()
    for t in range(u.shape[0] * 3):  # noqa: B007
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        error = np.abs(v - u).max()
        u, v = v, u
        if error < tolerance:
            break
    u[0] = 7.0
    return u, v, t


def wave(u, limit):
    before, now, after, s = u.copy(), u, np.zeros_like(u), 0.0
    while s < limit:
        for i in range(1, u.shape[0] - 1):
            after[i] = 1.5 * now[i] - before[i] + 0.1 * (now[i + 1] + now[i - 1])
        before, now, after = now, after, before
        s += abs(now[3]) + 0.2
    now[1] = 9.0
    return before, now, after, s


def two_pairs(u, limit):
    v, w, s = u + 1.0, u * 2.0, 0.0
    while s < limit:
        u, v = v, u
        u[0] += w[1]
        s += 0.5 if u[0] < v[0] else 1.0
    return u, v, w, s


def in_another_loop(u, tolerance):
    v = u.copy()
    for _ in range(9):
        error = 1.0
        while error > tolerance:
            v[1:-1] = 0.5 * (u[:-2] + u[2:])
            error = np.abs(v - u).max()
            u, v = v, u
    return u


def same(compiled, function, *args):
    """True if values are equal, and if a result is an argument where it is one in Python."""
    outcomes = []
    for one in (compiled, function):
        given = [a.copy() if isinstance(a, np.ndarray) else a for a in args]
        found = one(*given)
        owners = [next((k for k, a in enumerate(given) if a is part), -1) for part in found]
        outcomes.append((found, given, owners))
    (found, given, owners), (wanted, others, expected) = outcomes
    pairs = zip((*found, *given), (*wanted, *others), strict=True)
    return owners == expected and all(np.array_equal(a, b) for a, b in pairs)


@pytest.mark.parametrize("function", [relaxed, relaxed_at_most, wave, two_pairs])
def test_names_have_the_arrays_of_python(function):
    compiled = axiomjit.jit(function, strict=True)
    with way("interpreted"):
        for limit in (0.5, 0.05, 2.0, 2.5, 3.0, 1.5, 0.5):
            assert same(compiled, function, U, limit)
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated
    assert compiled._traced <= 3


def counted(u, n):
    v, s = u.copy(), 0.0
    for k in range(n):
        v[0] += u[k] * n
        u, v = v, u
        s += v[0] + n
        if s > 1e9:
            break
    return u, v, k, s


def test_lengths_in_bodies_have_the_values_of_the_call():
    """The truth that tells the arrays is computed while the function is traced."""
    compiled = axiomjit.jit(counted)
    with way("evaluated"):
        assert all(same(compiled, counted, U, n) for n in (9, 10, 11))
    assert compiled._wanted.has_regions


def test_a_kernel_runs_the_loop():
    compiled = axiomjit.jit(relaxed, strict=True)
    assert all(same(compiled, relaxed, U, limit) for limit in (1e-3, 1e-4))


def test_a_loop_inside_another_one_is_left_to_python():
    with pytest.warns(axiomjit.base.errors.FallbackWarning):
        assert np.array_equal(
            axiomjit.jit(in_another_loop)(U.copy(), 0.1), in_another_loop(U.copy(), 0.1)
        )


def test_arrays_of_other_names_are_found(monkeypatch):
    in_turns = control_flow.trace_while_in_turns

    def never_turned(found, body, carried, tests, trace, branch):
        def forgets(*given, **named):
            return *trace(*given, **named)[:-1], 0

        return in_turns(found, body, carried, tests, forgets, branch)

    monkeypatch.setattr(control_flow, "trace_while_in_turns", never_turned)
    with way("evaluated"):
        compiled = axiomjit.jit(relaxed)
        assert not all(same(compiled, relaxed, U, limit) for limit in (2.0, 0.5, 0.2, 0.1))
