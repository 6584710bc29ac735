"""Loops of the source become regions of the program; what cannot is followed pass by pass."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit
from axiomjit.functions import calls, loop_hooks
from tests.end_to_end import source_loops
from tests.generator.budget import FACTOR
from tests.generator.sequences import way
from tests.generator.source_loops import failure

X = np.random.default_rng(1).random(20)
PROGRAMS = source_loops.arguments(12)


def parts(value):
    return value if isinstance(value, tuple) else (value,)


def same(one, other):
    """True for equal values of equal types, bit by bit."""
    if len(parts(one)) != len(parts(other)):
        return False
    pairs = zip(parts(one), parts(other), strict=True)
    return all(type(a) is type(b) and np.array_equal(a, b) for a, b in pairs)


def outcome(function, *args):
    """The result, or the type of the error, and the arguments afterwards."""
    given = [one.copy() if isinstance(one, np.ndarray) else one for one in args]
    try:
        return parts(function(*given)), given
    except Exception as error:
        return (type(error).__name__,), given


def agrees(function, *args, strict=False):
    """The compiled function, after two calls that do what Python does."""
    compiled = axiomjit.jit(function, strict=strict)
    expected, after = outcome(function, *args)
    for _ in range(2):
        found, given = outcome(compiled, *args)
        assert same(found, expected)
        assert same(tuple(given), tuple(after))
    return compiled


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.__name__)
def test_programs_are_regions(program):
    compiled = agrees(program, *PROGRAMS[program], strict=True)
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated


def test_other_lengths_compile_nothing():
    compiled = axiomjit.jit(source_loops.prefix_sums, strict=True)
    for n in (20, 30, 9, 100):
        x = np.random.default_rng(n).random(n)
        assert same(compiled(x), source_loops.prefix_sums(x))
    assert compiled._wanted.has_regions


def appended(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2)
    return np.array(out)


class Held:
    """Holds a number."""


def attribute(x):
    held = Held()
    held.v = 0.0
    for i in range(20):
        held.v += x[i]
    return held.v


def make_counter():
    count = 0

    def counter():
        nonlocal count
        count += 1
        return count

    return counter


def counted(x):
    counter, y = make_counter(), np.zeros_like(x)
    for i in range(20):
        y[i] = x[i] * counter()
    return y


def as_key(x):
    found = {}
    for i in range(20):
        found[i] = x[i]
    return found[3] + found[7]


def taken(x):
    numbers, s = iter(range(100)), 0.0
    for i in range(20):
        s += next(numbers) * x[i]
    return s


def caught(x):
    kept = []

    def bad(value):
        try:
            kept.append(value)
        except Exception:
            return -1.0
        return value

    s = 0.0
    for i in range(20):
        s += bad(x[i])
    return s + len(kept)


def changed_list(x):
    found = [0.0, 1.0]
    for i in range(20):
        found += [x[i]]
    return found[-1] + len(found)


def beyond(x):
    y = x.copy()
    for i in range(20):
        y[i] = x[i + 1]
    return y


@pytest.mark.parametrize(
    "function",
    [attribute, counted, as_key, taken, caught, beyond],
    ids=lambda function: function.__name__,
)
def test_effects_on_python_objects_are_followed_pass_by_pass(function):
    assert agrees(function, X)._wanted.repeated


@pytest.mark.parametrize("function", [appended, changed_list], ids=lambda one: one.__name__)
def test_appended_lists_are_parts_of_regions(function):
    wanted = agrees(function, X)._wanted
    assert wanted.has_regions
    assert not wanted.repeated


def bound_by_both_loops(x):
    y = np.zeros_like(x)
    for i, v in enumerate(x):
        if i > 9:
            for j, v in enumerate(x):  # noqa: B007, B020, PLW2901
                y[i] += j
        y[i] += v
    return y


def last_index(x):
    for i in range(x.shape[0]):
        t = x[i]
    return t + i


def swapped(x):
    a, b = 0.0, 1.0
    for i in range(20):
        a, b = b, a + x[i]
    return a, b


def with_else(x):
    s = 0.0
    for i in range(20):
        s += x[i]
    else:
        s *= 2
    return s


def no_trips(x):
    s, i = 5.0, 7
    for i in range(x.shape[0] - 20):  # noqa: B007
        s += x[i]
    return s + i


def by_parts(x):
    s = 0.0
    for i in range(20):
        if 0.2 < x[i] < 0.9 and (x[i] > 0.5 or not x[i] > 0.3):
            s += x[i]
        elif x[i] > 0.95:
            s -= 1.0
    return s


def negative_positions(x):
    y = np.zeros_like(x)
    for i in range(20):
        y[i - 5] = x[-1 - i]
    return y


def bound_anew(x):
    u = x
    for _ in range(20):
        v = u * 1.0
        v[1:-1] = u[2:] + u[:-2]
        u = v
    return u


def early(x):
    for i in range(20):
        if x[i] > 0.9:
            return i
    return -1


def in_one_branch(x):
    for i in range(20):
        if x[i] > 0.9:
            v = x[i]
    return v


def with_jumps(x):
    s = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0.2:
            continue
        if x[i] < 0.4:
            s += 1.0
            if s > 3.0:
                break
        else:
            s += 0.5
        s *= 1.5
    else:
        s = -s
    return s, i


def out_of_two_loops(x):
    for i in range(x.shape[0]):
        for j in range(i):
            if x[i] + x[j] > 1.9:
                return i, j
    return -1, 0


def until_small(x):
    y, error, steps = x.copy(), 1.0, 0
    while error > 1e-3 and steps < 500:
        error = 0.0
        for i in range(1, y.shape[0] - 1):
            new = 0.5 * (y[i - 1] + y[i + 1])
            error += abs(new - y[i])
            y[i] = new
        steps += 1
    return y, steps


def halving(x):
    low, high = 0.0, x[0] + 4.0
    while True:
        middle = 0.5 * (low + high)
        if high - low < 1e-9:
            break
        if middle * middle > 2.0:
            high = middle
        else:
            low = middle
    return middle


def collatz(x):
    n, steps = 27 + int(x[0]), 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        steps += 1
    return steps


def items(x):
    s = t = 0.0
    for i, v in enumerate(x):
        s += i * v
    for k, (a, b) in enumerate(zip(x, x[::-1]), 2):  # noqa: B905
        s += k * a - b
    for v in x:
        t = v if v > t else t
    return s, t, k


def rows(x):
    m = np.outer(np.round(8 * x), np.arange(4.0))
    for row in m:
        row *= 2.0
        row[0] = row.sum()
    return m


def by_index(x):
    y = np.zeros_like(x)
    for i in range(x.shape[0]):
        if i == 0:
            y[i] = x[i]
        elif i % 3 == 0:
            y[i] = y[i - 1]
        else:
            y[i] = y[i - 1] + x[i]
    return y


def names_of_two_loops(x):
    s, t, y = 0.0, 1.0, x.copy()
    for _ in range(12):
        for j, (_, t) in enumerate(zip(x, y)):  # noqa: B007, B905
            y[j] += y[j] * 0.25
        j = 0
        while True:
            j += 1
            if j >= x.shape[0]:
                break
            s, t = t, s
    return s, t, y


def read_by_a_test(x):
    found = 0
    for i in range(x.shape[0]):
        least = 5.0
        for j in range(10):
            if x[j] + x[i] < least:
                least = x[j] + x[i]
                found += 1
    return found


def read_by_a_head(x):
    steps, found = 9, 0.0
    for i in range(x.shape[0]):
        for j in range(steps):
            steps = j % 9 + 3 + i % 2
            found += x[j]
    return found


def read_behind(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(10):
            v = x[j]
        else:
            s += v * i
    return s


def triangles(x):
    s, last = 0.0, 0.0
    for i in range(-1, x.shape[0] - 8):
        for j in range(i, -1, -1):
            for k in range(j):
                s += x[k + i] - x[j]
                last = x[j - i - 1]
    return s, last


def pyramid(x):
    s = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            for k in range(j):
                s += x[i] * x[j - k] - x[-k]
    return s


def asked_before_each_trip(x):
    i = 0
    while x[i] < 2.0:  # x[20] is not read
        i += 1
        if i >= x.shape[0]:
            break
    return i


def some_of_a_computed_number(x):
    best, n = -1.0, (x * 0.0 + 12.0).astype(np.int64)[0]
    for i in range(n):
        if x[i] > best:
            best = x[i]
            place = i
    return best, place


def from_known_values(x):
    u, w = np.array([1.0, 0.5]), np.zeros(2)
    v = u
    for i in range(20):
        if x[i] > 0.9:
            w = np.array([0.5, 0.25])
        u = np.array([u[1] * 0.5 + x[i], u[0]]) - 0.1 * w
    v[0] = 7.0
    return u, v, w


def halved(v):
    while v > 1.0:
        v *= 0.5
    return v


def in_called_functions(x):
    y = np.empty_like(x)
    for i in range(x.shape[0]):
        y[i] = halved(8.0 * x[i])
    return y


@pytest.mark.parametrize(
    "function",
    [
        *(last_index, swapped, with_else, no_trips, by_parts, negative_positions, bound_anew),
        *(early, in_one_branch, with_jumps, out_of_two_loops, until_small, halving, collatz),
        *(items, rows, by_index, in_called_functions, names_of_two_loops),
        *(asked_before_each_trip, some_of_a_computed_number, from_known_values),
        *(read_by_a_test, read_by_a_head, read_behind, pyramid, bound_by_both_loops),
    ],
    ids=lambda function: function.__name__,
)
def test_names_and_positions_are_those_of_python(function):
    compiled = agrees(function, X, strict=True)
    assert compiled._wanted.has_regions or function is no_trips
    assert not compiled._wanted.repeated


def test_items_are_read_when_their_turn_comes():
    def next_ones(x):
        for i, v in enumerate(x[:6], 1):
            x[i] = v + 1.0

    agrees(next_ones, np.arange(9.0), strict=True)


def test_a_loop_may_end_otherwise_in_the_next_call():
    compiled = axiomjit.jit(early, strict=True)
    for x in (X, X * 0.5, X, np.full(20, 0.95)):
        assert compiled(x) == early(x)


def test_a_condition_that_is_known_makes_no_region():
    def thrice(x):
        k = 0
        while k < 3:
            x = x * 2.0
            k += 1
        return x

    assert agrees(thrice, X, strict=True)._wanted.repeated


def weights(x):
    w = np.empty(20)
    for i in range(20):
        w[i] = 1.0 / (i + 1)
    return x * w


def powers(x):
    counts = np.zeros(20, dtype=np.int64)
    for i in range(20):
        counts[i] = i * 2
    return x[: counts[3]]


def test_loops_that_only_fill_arrays_of_floats_are_regions_though_their_values_are_known():
    assert agrees(weights, X, strict=True)._wanted.has_regions
    assert not agrees(weights, X, strict=True)._wanted.repeated
    assert agrees(powers, X, strict=True)._wanted.repeated


def unbound(x):
    for i in range(20):
        if x[i] > 2.0:
            v = x[i]
    return v


def unbound_in_two_loops(x):
    i, known = 0, 0
    for value in x:
        if known > 0 and value > 0.0:
            v = i
    while x[i] > 2.0:
        v = i
        i += 1
    return v


def known_numbers(x):
    v = 1
    for _ in range(70):
        v = v * 3
    return v + x[0]


def growing(x):
    v = 1
    for i in range(20):
        if x[i] > 0.0:
            v = v * 100000
    return v


def of_two_types(x):
    s, c = 0.0, 0
    while c < x.shape[0]:
        s = c if x[c] > 0.5 else 0.5
        c += 1
    return s


def growing_unless_numpys(x):
    v = 1
    for i in range(20):
        if x[i] > 0.99:
            v = np.int64(3)
        v = v * 100000 - i
    return v


def divided_unless_numpys(x):
    v, w = 0.0, 1.0
    for i in range(20):
        if x[i] > 0.99:
            v = x[i]
        w = w / v
    return w


def written_before_it_is_bound(x):
    m = x[:16].reshape(8, 2)
    column, row = m[:, 0], m[0]
    for i in range(8):
        column[i] = i + 5
        row = np.minimum(row, 3.0)
    return row


def read_only_list(x):
    w, s = [1.0, 2.0] * 10, 0.0
    for i in range(20):
        s += w[i] * x[i]
    return s


@pytest.mark.parametrize(
    "function",
    [
        *(unbound, unbound_in_two_loops, known_numbers, growing, read_only_list, of_two_types),
        *(growing_unless_numpys, divided_unless_numpys, triangles),
        written_before_it_is_bound,
    ],
    ids=lambda function: function.__name__,
)
@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_what_is_no_region_is_done_as_python_does_it(function):
    agrees(function, X)


FAULTS = {
    "effects in trips are not seen": (
        [(calls, "refuse_in_region")],
        (counted,),
    ),
}


@pytest.mark.parametrize("number", range(12 * FACTOR))
def test_random_loops_do_what_python_does(number):
    assert failure(0, number) is None


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def of_other_types(x):
    found, other, places = 1.5, 0, np.arange(20)
    for i in range(20):
        found = max(places[i], places[19 - i])
        other = x[i] if i > 3 else places[i]
    return found, other


def test_numbers_keep_the_types_of_numpy():
    agrees(of_other_types, X, strict=True)


def test_values_for_trips_that_are_not_done_are_not_computed():
    """At i = 0 there is no element -i from the end."""

    def triangle(x):
        s, m = 0.0, x.reshape(4, 4).T
        for i in range(m.shape[0]):
            for j in range(i, m.shape[0]):
                for _ in range(i):
                    s += m[i, -i] * j
        return s

    with way("interpreted"), patch.object(loop_hooks, "SHORT", 2):
        assert agrees(triangle, X[:16].copy(), strict=True)._wanted.has_regions


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    places, functions = FAULTS[fault]
    for module, name in places:
        monkeypatch.setattr(module, name, lambda *args: None)
    for function in functions:
        with pytest.raises(AssertionError):
            agrees(function, X)


def test_values_after_a_loop_are_put_back(monkeypatch):
    put = loop_hooks._Shared.put
    monkeypatch.setattr(
        loop_hooks._Shared, "put", lambda self, values, unbound: put(self, values[::-1], unbound)
    )
    with pytest.raises(AssertionError):
        agrees(swapped, X)


def smoothed(u):
    for _ in range(9):
        u[1:-1] += u[2:] - u[:-2]


def swept(u):
    for _ in range(9):
        for i in range(1, u.shape[0] - 1):
            u[i] += u[i - 1]


@pytest.mark.parametrize(("function", "size"), [(smoothed, 2**17), (smoothed, 50), (swept, 2**17)])
def test_few_trips_over_large_arrays_are_kernels_of_their_own(function, size):
    """Threads share large kernels, and Ctrl-C is heard between them."""
    graph = str(axiomjit.jit(function, strict=True).lower(np.ones(size)).graph)
    assert ("loop l" in graph) is (function is swept or size == 50)


def by_remainders(x, m, n):
    s, step = 0.0, x.shape[0] // 4
    for i in range(n):
        s += x[i % 20] * (i % 3) - x[-(i // 2) % step]
        x[(3 * i + 1) % 5] += x[i // 2]
        m[i % 4, i // 10] += s
        for j in range(i % 4, 4):
            m[j, (i + j) // 11] *= 0.5
        if i % 7 == 3 and i // 7 < 3:
            s *= 0.5
    return s


def test_positions_by_remainders_and_quotients_of_the_index_are_regions():
    compiled = agrees(by_remainders, X, np.ones((4, 5)), 39, strict=True)
    assert compiled._wanted.has_regions
    assert not compiled._wanted.repeated
    assert outcome(compiled, X, np.ones((4, 5)), 41)[0] == ("IndexError",)
