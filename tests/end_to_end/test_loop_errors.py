"""`raise` and `assert` in bodies of loops: regions; Python answers the calls that get there."""

import traceback

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError
from axiomjit.tracing import region_bodies
from tests.end_to_end.test_interrupted_loops import alarm
from tests.end_to_end.test_source_loops import outcome, same
from tests.generator.sequences import way

X = np.random.default_rng(1).random(20)
BAD, LARGE, NONE = X.copy(), X.copy(), X[:0]
BAD[11], LARGE[5] = -1.0, 2.0**70
LATEST_S = 60.0
"""Seconds until a loop without an end is interrupted."""
CALLS = (X, BAD, X, LARGE, BAD[8:], NONE, X)


def checked_first(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise ValueError(f"negative at {i}")
        s += np.sqrt(x[i])
        x[i] = s
        assert s < 1e9, "too large"
    return s


def on_one_side(x):
    s = 0.0
    for v in x:
        if v < 0:
            bad = v
            raise KeyError(bad)
        elif v > 0.5:  # noqa: RET506
            part, kind = 1.0, 1
        else:
            part, kind = 2.0, 0
        s += part * v
    return s, kind


def in_both_loops(x):
    for i in range(x.shape[0]):
        for j in range(i):
            if x[j] < 0:
                x[i] = 7.0
                raise IndexError
            x[i] += x[j] * 0.1
        if i > 3 and x[i] > 1e9:
            raise OverflowError("beyond")
    return x


def with_jumps(x):
    found = -1
    for i, v in enumerate(x):
        if v < 0:
            raise ValueError
        if v > 0.9:
            if v > 1e9:
                raise OverflowError
            found = i
            break
        x[i] = 0.0
    else:
        found = 99
    return found


def until_close(x):
    a, s, steps = x[:1].sum(), 1.0, 0
    while abs(s * s - a) > 1e-12:
        s = 0.5 * (s + a / s)
        steps += 1
        if steps > 90:
            raise ArithmeticError("no convergence")
        assert a >= 0
    return s, steps


def either_way(x):
    for i in range(x.shape[0]):
        if x[i] > 1e9:
            if x[i] > 1e18:
                raise OverflowError
            else:  # noqa: RET506
                raise ValueError
        x[i] += 1.0
    return x


def endless_behind_a_check(x):
    """Where the check fails, the inner loop would have no end."""
    steps = 0
    for i in range(x.shape[0]):
        assert x[i] >= 0.0
        rest = x[i]
        while rest > 0.1 or rest < 0.0:
            rest = rest * 0.5 if rest > 0.0 else rest - 1.0
            steps += 1
    return steps


def known_to_fail(x):
    for i in range(20):
        x[i] += 1.0
        assert x.ndim == 2
    return x


def in_short_loops(x):
    s = 0.0
    for i in range(3):
        if i > 7:
            raise ValueError
        assert i < 5
        s += x[i]
    return s


PROGRAMS = (
    *(checked_first, on_one_side, in_both_loops, with_jumps, until_close, either_way),
    endless_behind_a_check,
)


def agrees(function, calls, **options):
    compiled = axiomjit.jit(function, **options)
    for x in calls:
        expected, after = outcome(function, x)
        found, given = outcome(compiled, x)
        assert same(found, expected)
        assert same(tuple(given), tuple(after))
    return compiled


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
def test_errors_are_those_of_python(function):
    with way("evaluated"), alarm(LATEST_S):
        compiled = agrees(function, CALLS, strict=True)
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


@pytest.mark.parametrize("function", [checked_first, endless_behind_a_check])
def test_kernels_end_where_python_raises(function):
    compiled = agrees(function, CALLS, strict=True)
    assert "loop l" in str(compiled.lower(X.copy()).graph)


@pytest.mark.parametrize("function", [known_to_fail, in_short_loops])
def test_errors_that_are_known(function):
    with way("evaluated"):
        agrees(function, (X, X))


def test_the_error_is_at_the_line_of_the_user():
    with way("evaluated"), pytest.raises(ValueError, match="negative at 11") as caught:
        axiomjit.jit(checked_first, strict=True)(BAD.copy())
    last = traceback.extract_tb(caught.value.__traceback__)[-1]
    assert last.filename == __file__
    assert "raise ValueError" in last.line


def powers(x, n):
    for i in range(x.shape[0]):
        n = n * 30
        x[i] += 1.0
    return n


def test_strictly_python_answers_no_call_without_an_error():
    """The integer grows beyond 64 bits, which is no error of Python's."""
    with way("evaluated"):
        compiled = axiomjit.jit(powers, strict=True)
        with pytest.raises(NeedsValuesError, match="a check of the loop"):
            compiled(X.copy(), 3)


def test_a_failed_check_traces_nothing_again():
    with way("evaluated"):
        compiled = agrees(checked_first, (X, BAD, BAD, X), strict=True)
    assert compiled._traced == 1


def test_planted_faults_are_found(monkeypatch):
    body = region_bodies.RegionBody
    monkeypatch.setattr(body, "end_call", lambda self: None)
    with way("evaluated"), pytest.raises(AssertionError):
        agrees(on_one_side, (BAD,))
    monkeypatch.undo()
    monkeypatch.setattr(body, "check", lambda self, truth: None)
    with way("evaluated"), pytest.raises(AssertionError):
        agrees(checked_first, (LARGE,))
