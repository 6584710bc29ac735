"""Lists to which loops append, and comprehensions, are arrays of regions and lists behind them."""

import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning
from axiomjit.functions import appended_lists, loop_hooks
from axiomjit.graph import evaluate_graph
from axiomjit.graph.regions import Region
from axiomjit.tracing.list_items import ListItems
from tests.generator.list_loops import same
from tests.passes.graphs import quiet

X = np.random.default_rng(5).random(12)


@pytest.fixture(autouse=True)
def evaluated(monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    monkeypatch.setattr(config, "_fallback", "warn")
    with quiet(), warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        yield


@pytest.fixture
def made(monkeypatch):
    """The items of lists that regions have made."""
    found = []
    start = ListItems.__init__

    def noted(self, *given, **named):
        start(self, *given, **named)
        found.append(self)

    monkeypatch.setattr(ListItems, "__init__", noted)
    return found


def numbers(x):
    out = []
    for i in range(x.shape[0]):
        out.append(x[i] * 2.0)
    return out


def python_numbers(x):
    out = [0.5]
    for i, v in enumerate(x):
        out.append(i * 0.5)
        if v > 0.5:
            out.append(2.5)
        else:
            out.append(-0.5)
    out.append(1.5)
    return out, len(out), out[-1], out[0]


def chosen(x):
    out = []
    for v in x:
        if v > 0.5:
            out.append(v)
    return out, np.array(out), sum(out), len(out)


def until(x):
    out = []
    for v in x:
        out.append(v)
        if v > 0.9:
            break
    return out


def mixed(x):
    out = []
    for v in x:
        out.append(v if v > 0.5 else v * 2)
        out.append(0.0)
    return out, np.array(out), out[2:5]


def triangle(x):
    out = []
    for i in range(x.shape[0]):
        for j in range(i):
            out.append(x[i] - x[j])
        out.append(x[i])
    return out


def arrays(x):
    out, u = [], x * 1.0
    for _ in range(9):
        u = u * 0.5 + 1.0
        out.append(u)
    return out, np.stack(out), u


def rows(x):
    out = []
    for v in x:
        row = []
        for u in x:
            row.append(u - v)
        out.append(row)
    return out, np.array(out)


def pairs(x):
    out = []
    for i, v in enumerate(x):
        out.append((v, x[-i]))
    return out, np.array(out), out[3]


def added(x):
    out = []
    for v in x:
        out += [v, 2.0 * v]
        out.extend((v, v))
    return out


def two(x):
    one, other = [], [x[0]]
    for v in x:
        one.append(v)
        other.append(v + 1)
    return [v * i for i, v in enumerate(one)], one + other, max(one), min(other)


def comprehensions(x):
    n = x.shape[0]
    first = [v * 2 for v in x]
    return (
        first,
        [v for v in first if v > 1.0],
        np.array([[x[i] - x[j] for j in range(n)] for i in range(n)]),
        [(i, v) for i, v in enumerate(x) if i % 2],
        sum(x[i] * x[i] for i in range(n)),
        max(v - 1 for v in x),
        any(v > 2.0 for v in x),
        all(v > 0 for v in x),
        x[[n - i for i in range(1, n)]],
    )


def in_loops(x):
    s = 0.0
    for i in range(x.shape[0]):
        s += sum(v * x[i] for v in x if v < x[i])
        s += len([v for v in x if v > x[i]])
    return s


def chosen_again(x):
    first = [v for v in x if v > 0.3]
    s, last = 0.0, -1.0
    for v in first:
        s += v
        last = v
    second = [v * 2 for v in first if v < 0.9]
    for w in second:
        last -= w
        if w > 1.0:
            break
    return first, second, s, last, list(second)


MADE = (numbers, chosen, until, mixed, triangle, arrays, rows, pairs, added, two)
MADE += (chosen_again, python_numbers, comprehensions, in_loops)


@pytest.mark.parametrize("function", MADE, ids=lambda one: one.__name__)
def test_lists_of_regions_are_those_of_python(function, made):
    compiled = axiomjit.jit(function, strict=True)
    for x in (X, X, X[:9]):
        assert same(compiled(x), function(x))
    assert made


def test_lists_become_kernels_and_not_one_step_for_each_item(monkeypatch):
    monkeypatch.setattr(config, "disable", False)

    def program(x):
        out = []
        for v in x:
            out.append(v * 7.0625)  # no other test has this loop: equal nodes are one
        return out

    compiled = axiomjit.jit(program, strict=True)
    assert same(compiled(X), program(X))
    assert "one kernel" in compiled.lower(X).source_loops
    assert compiled.lower(X).cost.kernels <= 2


def kept_in_python(x):
    out = []
    for v in x:
        out.append(str(v > 0))
    return len(out)


def read_inside(x):
    out = [1.0]
    for v in x:
        out.append(out[-1] * v)
    return out


def arguments(x):
    out = []
    for _ in range(9):
        out.append(x)
    return [one is x for one in out]


def several_types(x):
    out = []
    for i, v in enumerate(x):
        out.append(v)
        out.append(i)
    return out


def known(x):
    odd = [k for k in range(20) if k % 2]
    return [k * k for k in range(20)], [2**k for k in range(9)][x.shape[0] - 5], x[odd[1]]


def views(x):
    out = [row[:] for row in x.reshape(-1, 1)]
    out[0][:] = 1.0
    return x


def looked_for(x):
    out = [v for v in x if v > 0.5]
    return 2.0 in out, sorted(out)


def lazily(x):
    return any(1.0 / k for k in (1.0, 0.0)), all(x[k] > 2.0 for k in range(50))


@pytest.mark.parametrize(
    "function",
    [kept_in_python, read_inside, arguments, several_types, known, views, looked_for, lazily],
    ids=lambda one: one.__name__,
)
def test_what_is_no_region_is_as_in_python(function):
    compiled = axiomjit.jit(function)
    for _ in range(2):
        assert same(compiled(X.copy()), function(X.copy()))


def written_later(x):
    out = []
    for v in x:
        u = x * v
        out.append(u)
        u[0] = 9.0
    return out


def written_behind(x):
    out, u = [], x * 1.0
    for _ in range(9):
        u = u * 0.5
        out.append(u)
    u[0] = 9.0
    return out


def written_in_a_branch(x):
    out = []
    for v in x:
        u = x * v
        if v > 0.5:
            u = u + 1.0
            out.append(u)
        u[0] = 9.0
    return out


def item_written(x):
    out = []
    for v in x:
        out.append(x * v)
    out[0][0] = 9.0
    last = out[-1]
    last += 1.0
    return out, last


def changed_behind(x):
    out = [v * 2 for v in x]
    out[0] = 5.0
    out.pop()
    out.reverse()
    out += [1.0]
    return out


def same_list(x):
    out = []
    other = out
    for v in x:
        out.append(v)
    other.append(0.0)
    return out, other, out is other, list(out), out + other, out[1:]


@pytest.mark.parametrize(
    "function",
    [
        written_later,
        written_behind,
        written_in_a_branch,
        item_written,
        changed_behind,
        same_list,
    ],
    ids=lambda one: one.__name__,
)
def test_later_changes_of_items_and_lists(function):
    assert same(axiomjit.jit(function)(X), function(X))


def test_returned_lists_are_new_lists_of_python():
    def twice(x):
        out = [v * 2 for v in x]
        return out, out

    one, other = axiomjit.jit(twice)(X)
    assert type(one) is list
    assert one is other
    assert one is not axiomjit.jit(twice)(X)[0]


def test_items_of_returned_lists_share_no_memory():
    found = axiomjit.jit(arrays)(X)[0]
    found[0][:] = 7.0
    assert not np.shares_memory(found[0], found[1])
    assert found[1][0] != 7.0


def test_lists_that_live_on_outside_are_changed_there():
    kept = []

    def grows(x):
        for v in x:
            kept.append(v)
        return len(kept)

    compiled = axiomjit.jit(grows)
    assert [compiled(X), compiled(X)] == [12, 24]
    assert kept == [*X, *X]


def test_gradients_go_through_lists():
    def loss(x):
        out = []
        for v in x:
            if v > 0.5:
                out.append(v * v)
        return sum(out) + np.array([u * 3.0 for u in x]).sum()

    wanted = np.where(X > 0.5, 2 * X, 0.0) + 3.0
    assert np.allclose(axiomjit.grad(loss)(X), wanted)


def test_short_loops_make_no_region(made):
    compiled = axiomjit.jit(numbers)
    x = X[: loop_hooks.SHORT - 1]
    assert same(compiled(x), numbers(x))
    assert not made


def generations(b, times):
    for _ in range(times):
        sides = (-1, 0, 1)
        n = sum(np.roll(b, (i, j), (0, 1)) for i in sides for j in sides if i or j)
        least = min(k * m for k in sides for m in (1, 2))
        b = (n == 3) | (b & (n == 2 - least - 2))
    return b


def sums_of_known_items(b, times):
    for _ in range(times):
        b = sum(np.roll(b, i) for i in (-1, 0, 1)) * 0.3 + max([v * 0.5 for v in (0.5, 0.25)])
    return b


@pytest.mark.parametrize(
    ("function", "given"),
    [(generations, np.arange(99).reshape(9, 11) % 3 == 1), (sums_of_known_items, X)],
)
def test_comprehensions_over_few_known_items_leave_the_loop_around_them_a_region(function, given):
    compiled = axiomjit.jit(function, strict=True)
    for times in (20, 9, 1):
        assert same(compiled(given, times), function(given, times))
    ops = compiled.lower(given, 20)._stages.graph.ops
    assert any(isinstance(op.primitive, Region) for op in ops)


def test_generators_that_may_end_early_are_read_one_by_one():
    def found(x):
        return any(x.shape[0] // k > j for j in (3, 1) for k in (1, 0))

    assert axiomjit.jit(found)(X) is found(X)


def test_a_while_loop_appends_in_python():
    def grows(x, n):
        out = []
        while len(out) < n:
            out.append(x[len(out)])
        return out

    assert same(axiomjit.jit(grows)(X, 10), grows(X, 10))


FAULTS = {
    "arrays are not sealed": ("_seal", lambda value: None, written_later),
    "sealed arrays are forgotten behind loops": ("seal_alike", lambda *given: None, written_behind),
    "arrays are taken for new ones": ("is_fresh", lambda value, region: True, views),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_seen(fault, monkeypatch):
    name, wrong, function = FAULTS[fault]
    monkeypatch.setattr(appended_lists, name, wrong)
    if name == "seal_alike":
        monkeypatch.setattr(loop_hooks, name, wrong)
    assert not same(axiomjit.jit(function)(X.copy()), function(X.copy()))


def test_few_trips_over_arrays_are_fused_with_what_reads_their_items():
    summed = axiomjit.jit(lambda x: sum(c * x for c in range(12)), strict=True)
    stacked = axiomjit.jit(lambda x: np.stack([x * k + 1.0 for k in range(10)]), strict=True)
    x = np.linspace(0.0, 1.0, 80)
    for compiled in (summed, stacked):
        assert np.allclose(compiled(x), compiled.__wrapped__(x))
        cost = compiled.lower(x).cost
        assert (cost.kernels, cost.temporary_bytes) == (1, 0)


def run_lengths(x):
    values, counts, present, count = [], [], x[0], 1
    for v in x[1:]:
        if v == present:
            count += 1
        else:
            values.append(present)
            counts.append(count)
            present, count = v, 1
    values.append(present)
    counts.append(count)
    return np.array(values), np.array(counts)


def test_the_number_of_items_is_not_computed_by_the_evaluator(monkeypatch):
    monkeypatch.setattr(config, "disable", False)
    compiled = axiomjit.jit(run_lengths, strict=True)
    monkeypatch.setattr(evaluate_graph, "_run_region", None)
    for seed in (1, 2):
        x = np.random.default_rng(seed).integers(0, 3, 200)
        assert all(map(np.array_equal, compiled(x), run_lengths(x)))
