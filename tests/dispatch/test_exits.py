"""Loops run as compiled code up to exits, the branches that only Python can run."""

import logging
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError
from axiomjit.dispatch import exits
from axiomjit.dispatch.fallbacks import EXITS, FallbackWarning

X = np.linspace(0.0, 1.0, 40) ** 2
LOG = logging.getLogger(__name__)
SEEN: list = []


def at_the_end(u, n):
    err = 0.0
    for k in range(n):
        new = u[1:-1] + 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        err = np.abs(new - u[1:-1]).max()
        u[1:-1] = new
        if k % 100 == 0:
            print(k, err)
    return u, err, k


def at_the_start(u, n):
    err = 1.0
    for k in range(3, n, 2):
        if k % 50 == 1:
            print(f"{k}: {err:.3e}")
        new = 0.5 * (u[:-2] + u[2:])
        err = np.abs(new - u[1:-1]).max()
        u[1:-1] = new
    return err


def in_the_middle(u, n):
    total = 0.0
    for k in range(n):
        step = 0.25 * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        change = np.abs(step).max()
        if change < 1e-3 and k % 64 == 3:
            SEEN.append((k, float(change), step.copy()))
        else:
            total += change
        u[1:-1] += step
    return total


def by_a_condition(u, n):
    err, k = 1.0, 0
    while err > 1e-4:
        new = 0.5 * (u[:-2] + u[2:])
        err = np.abs(new - u[1:-1]).max()
        u[1:-1] = new
        if k % 128 == 0:
            LOG.info("%d %s", k, err)
            SEEN.append(err)
        k += 1
        if k > n:
            break
    else:
        print("converged", k)
    return k


def several(u, n):
    best, at = 10.0, -1
    for k in range(n):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        norm = np.abs(u[1:-1] - u[:-2]).max()
        if k % 90 == 0:
            print("a", k)
            if norm > 0.5:
                continue
        if norm < best * 0.9:
            best = norm
            at = k
            if k % 7 == 0:
                print("b", k, best)
        elif norm < 1e-9:
            raise ValueError(k)
        if k == 950:
            return "left", at
    return best, at


def of_numbers(x, n):
    s, worst = 0, -1.0
    for k in range(n):
        v = x[k % 40] * (k % 11)
        if v > worst:
            worst = v
            print("worst", k, worst)
        s += k
    return s, worst


def with_outer(u, n):
    for t in range(3):
        for k in range(n):
            u[1:-1] = 0.5 * (u[:-2] + u[2:])
            if k % 200 == 10:
                print(t, k, u[3])
        print("outer", t)
    return u


def with_names(u, n):
    dt, kept = 0.25, {}
    for k in range(n):
        u[1:-1] += dt * (u[:-2] - 2.0 * u[1:-1] + u[2:])
        if k % 300 == 299:
            dt = dt * 0.5
            kept[k] = u.sum()
    return dt, kept


def swapped(u, n):
    v = u.copy()
    for k in range(n):
        v[1:-1] = 0.5 * (u[:-2] + u[2:])
        u, v = v, u
        if k % 77 == 5:
            print(k, u[5], v[5])
    return u, v


def calling(u, n, show):
    for k in range(n):
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        if k % 250 == 7:
            show(k, u)
    return u


def in_every_trip(x, n):
    s = 0.0
    for k in range(n):
        s = 0.5 * s + x[k % 40]
        if s >= 0.0:
            print(k, s)
    return s


def unbound(x, n):
    for k in range(n):
        if k > 2 * n:
            y = x[0]
        x[0] += 1.0
        if k % 300 == 5:
            print(k)
    return y


def divided(x, n):
    for k in range(n):
        x[1] += 1 // (700 - k)
        if k % 100 == 0:
            print(k)
    return x


class Model:
    def __init__(self, u):
        self.u, self.seen, self.rate = u, [], 0.5

    def run(self, n):
        u = self.u
        for k in range(n):
            u[1:-1] = self.rate * (u[:-2] + u[2:])
            if k % 200 == 100:
                self.seen.append((k, u[3]))
                self.rate *= 0.99
        return u


def asked(u, n, rng):
    while rng.random() < 0.999:
        u[1:-1] = 0.5 * (u[:-2] + u[2:])
        n += 1
        if n % 100 == 0:
            print(n, u[3])
    else:
        print("end")
    return n, rng.random()


def of_long_integers(x, n):
    s = 1
    for k in range(n):
        s = s * 3 + k
        x[k % 5] += 1.0
        if k % 100 == 10:
            print(k, s % 1000007)
    return s


EVERY = [
    *(at_the_end, at_the_start, in_the_middle, by_a_condition, several, of_numbers, with_outer),
    *(with_names, swapped, of_long_integers),
]


def told(function, *args):
    """The result or the error of a call, what it has printed and stored, and its arguments."""
    SEEN.clear()
    given = [one.copy() if isinstance(one, np.ndarray) else one for one in args]
    try:
        made = function(*given)
    except ValueError as error:
        made = "error", error.args
    return made, list(SEEN), given


def same(one, other):
    if isinstance(one, (list, tuple)):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(same(one[k], other[k]) for k in one)
    if isinstance(one, (np.ndarray, float)):
        return np.allclose(one, other, rtol=1e-12, atol=0)
    return type(one) is type(other) and one == other


def quietly(function, *args):
    """A call without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        return function(*args)


def check(function, capsys, *args, calls=2):
    wanted = told(function, *args)
    text = capsys.readouterr().out
    jitted = axiomjit.jit(function)
    for _ in range(calls):
        found = quietly(told, jitted, *args)
        assert capsys.readouterr().out == text
        assert same(found, wanted)
    return jitted


def regions(jitted):
    return jitted._whole._exits._regions


@pytest.mark.parametrize("function", EVERY)
def test_prints_values_and_arguments_are_pythons(function, capsys):
    jitted = check(function, capsys, X, 1000)
    assert jitted.cache_info().in_numpy[0].cause == EXITS
    assert any(one.calls for one in regions(jitted))


@pytest.mark.parametrize("n", [0, 1, 2, 7, 8, 9, 10, 100, 101, 102])
def test_any_number_of_trips(n, capsys):
    jitted = axiomjit.jit(at_the_start)
    quietly(told, jitted, X, 2000)
    capsys.readouterr()
    wanted = told(at_the_start, X, n)
    text = capsys.readouterr().out
    assert same(told(jitted, X, n), wanted)
    assert capsys.readouterr().out == text


def test_an_error_in_a_branch_has_its_line_and_leaves_what_was_written(capsys):
    def stop(k, u):
        if k > 600:
            raise KeyError(k)

    jitted, wanted = axiomjit.jit(calling), X.copy()
    with pytest.raises(KeyError):
        calling(wanted, 1000, stop)
    for _ in range(2):
        u = X.copy()
        with pytest.raises(KeyError, match="757") as found:
            quietly(jitted, u, 1000, stop)
        assert np.array_equal(u, wanted)
        lines = [one.lineno - calling.__code__.co_firstlineno for one in found.traceback]
        assert 3 in lines  # counted from 0
    assert regions(jitted)[0].calls > 2


def test_an_error_in_compiled_trips_is_pythons(capsys):
    jitted, wanted = axiomjit.jit(divided), X.copy()
    with pytest.raises(ZeroDivisionError):
        divided(wanted, 1000)
    text, u = capsys.readouterr().out, X.copy()
    with pytest.raises(ZeroDivisionError):
        quietly(jitted, u, 1000)
    assert np.array_equal(u, wanted)
    assert capsys.readouterr().out == text


def test_a_condition_is_asked_once_for_each_trip(capsys):
    wanted = asked(X.copy(), 0, np.random.default_rng(3))
    text = capsys.readouterr().out
    with pytest.warns(FallbackWarning):
        assert axiomjit.jit(asked)(X.copy(), 0, np.random.default_rng(3)) == wanted
    assert capsys.readouterr().out == text


def test_a_name_without_a_value_raises(capsys):
    jitted = axiomjit.jit(unbound)
    for _ in range(2):
        with pytest.raises(UnboundLocalError):
            quietly(jitted, X.copy(), 1000)


def test_a_branch_sees_the_array_itself_and_may_change_it():
    found = []

    def change(k, u):
        found.append(u)
        u[7] = k

    jitted, u, wanted = axiomjit.jit(calling), X.copy(), X.copy()
    calling(wanted, 600, lambda k, u: u.__setitem__(7, k))
    with pytest.warns(FallbackWarning, match="only its loops compiled, up to exits"):
        assert jitted(u, 600, change) is u
    assert all(one is u for one in found)
    assert len(found) == 3
    assert np.array_equal(u, wanted)


def test_a_method_that_changes_its_object():
    wanted, found = Model(X.copy()), Model(X.copy())
    Model.run(wanted, 1000)
    with pytest.warns(FallbackWarning):
        axiomjit.jit(Model.run)(found, 1000)
    assert found.seen == wanted.seen
    assert (found.rate, np.array_equal(found.u, wanted.u)) == (wanted.rate, True)


def test_exits_in_every_trip_are_given_up(capsys):
    jitted = check(in_every_trip, capsys, X, 2000, calls=1)
    assert 0 < regions(jitted)[0].calls <= 2 * exits.FEW


def test_strict_functions_have_no_exits():
    jitted, seen = axiomjit.jit(by_a_condition, strict=True), len(SEEN)
    with pytest.raises(NeedsValuesError):
        jitted(X.copy(), 1000)
    assert len(SEEN) == seen


def test_explain_names_the_branches():
    text = str(axiomjit.jit(at_the_end).explain(X.copy(), 1000))
    first = at_the_end.__code__.co_firstlineno
    assert f":{first + 2}: compiled trips, and Python where it gets to line {first + 7}\n" in text
    assert "between exits" in text


@pytest.mark.parametrize("fault", ["no_exit", "values_of_the_trip_before"])
def test_wrong_exits_are_found(fault, monkeypatch, capsys):
    right, before = exits.Trips.run, [None]

    def wrong(self, names):
        if not right(self, names):
            return False
        if fault == "no_exit":
            self.at = 0
        else:
            self.values, before[0] = before[0] or self.values, self.values
        return True

    monkeypatch.setattr(exits.Trips, "run", wrong)
    with pytest.raises(AssertionError):
        check(at_the_end, capsys, X, 1000)


ITEMS = np.random.default_rng(3).random(700)
ROWS = np.random.default_rng(4).random((500, 5))


def over_items(x, y):
    s = 0.0
    for v in x:
        s = s * 0.5 + v
        if v > 0.99:
            print(v, s)
    return s, v


def over_numbered_items(x, y):
    s = 0.0
    for i, v in enumerate(x, 5):
        s += v * i
        if i % 300 == 0:
            print(i, s)
    return s, i


def over_pairs(x, y):
    s = 0.0
    for a, b in zip(x, y):  # noqa: B905 - `zip` with keywords has no exits
        s += a * b
        if a * b > 0.97:
            print(a, b)
    else:
        print("end", s)
    return s


def over_rows(x, y):
    s = 0.0
    for row in y:
        s += row.sum()
        row *= 0.5
        if s % 50 < 1:
            print(s)
    return s, y


def until_an_item(x, y):
    s = 0.0
    for k, v in enumerate(x):
        s += v
        if s > 300:
            print("large", k)
            break
        if v > 0.995:
            print(v)
    return s, k


def over_an_array_bound_anew(x, y):
    s = 0.0
    for v in x:
        x = x * 1.0
        x[0] = v
        s += x[0]
        if v > 0.99:
            print(v, s)
    return s, x


@pytest.mark.parametrize(
    "function",
    [over_items, over_numbered_items, over_pairs, over_rows, until_an_item]
    + [over_an_array_bound_anew],
    ids=lambda function: function.__name__,
)
def test_loops_over_items_have_exits(function, capsys):
    second = ROWS if function is over_rows else ITEMS[::-1].copy()
    jitted = check(function, capsys, ITEMS, second)
    assert any(one.calls for one in regions(jitted))


def over_items_of_any(x, items):
    s = 0.0
    for v in x:
        s += v
        if v > 0.99:
            print(v)
    for v in items:
        s += v
        if v > 0.99:
            print(v)
    return s


@pytest.mark.parametrize(
    "items",
    [list(ITEMS[:400]), iter(()), {3.0: 1}, ITEMS[:0], ITEMS[:1]],
    ids=["list", "iterator", "dict", "empty", "one"],
)
def test_other_items_are_left_to_python(items, capsys):
    check(over_items_of_any, capsys, ITEMS, items)
