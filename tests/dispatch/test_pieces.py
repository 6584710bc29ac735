"""Functions that need values run in pieces with lazy arrays, and do as NumPy does.

Each case is run in NumPy and compiled, with equal arguments: results, what was printed, errors and
what was written into arguments must be alike, also where arrays, lists and views are one object.
"""

import contextlib
import copy
import io
import itertools
import math
import random
import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning, NeedsValuesError
from axiomjit.dispatch import pieces as whole_calls
from axiomjit.functions import harmless as known_functions
from axiomjit.functions.harmless import harmless
from axiomjit.functions.source_text import tell_text
from axiomjit.numpy import pieces, programs
from axiomjit.numpy.lazy_arrays import made as made_of
from tests.dispatch.piece_functions import draw
from tests.drop_in.worlds import fresh_paths
from tools.elementary.turns import interleaved

OFFSETS = np.arange(6.0)
SCALE = 3.0
LOG = []


def helper(x, k=2):
    return (x * k + SCALE).max().item() + k


def printed(x, y):
    z = x * 2 + y
    print("total", z.sum())
    z -= 1
    return z * z


def text(x, y):
    z = x + y
    name = f"{z.max():.2f} {z.mean()!r} {z[0]}"
    return name.split(), z * len(name), f"{y.min():.1f}"


def item(x, y):
    z = np.abs(x - y) + 1
    return z / z.max().item() * int(z.min()), z.sum().item()


def written(x, y):
    x += 1
    y[1:] = x[:-1] * 2
    print(y.sum(), x[2])
    x[::2] = y[::2]
    return x.sum()


def given_back(x, y):
    print(x.sum())
    return x, y[1:], x.T, {"x": x, 1: [y, y[::2]]}


def view_written(x, y):
    v = x[1:4]
    v *= 10
    print(f"{v.max()}")
    v[0] = -1
    y[:] = x + v[0]
    return v, y


def raises_late(x, y):
    x *= 2
    if x.sum().item() > 0:
        y[0] = 7
        raise ValueError("too large", x.max(), x)
    return x


def bad_shapes(x, y):
    y += x.min().item()
    return x[:3] + y[:4]


def caught(x, y):
    try:
        z = x[:2] + y[:3]
    except ValueError as error:
        z = x + len(str(error))
    finally:
        y += 1
    print(z)
    return z


def loops(x, y):
    count, error = 0, 10.0
    while error > 0.5 and count < 50:
        x = (x + y) / 2
        error = float(np.abs(x - y).max())
        count += 1
    for power in range(int(y.max()) % 4):
        x = x * power
    return x, count, error


def until(x, y):
    while float(np.abs(x - y).max()) > 1e-9:
        with np.errstate(over="ignore"):  # no region
            x = (x + y) / 2
    return x, x.sum()


def keys(x, y):
    found = {x.sum().item(): x + 1, "y": y - 1, float(y.max()): (x, y)}
    for name, value in found.items():
        print(name, value)
    return found, list(found), {k: v for k, v in found.items() if k != "y"}


def lists(x, y):
    rows = [x * k for k in range(3)]
    rows.append(y.tolist())
    print(len(rows), sum(rows[1]), max(rows[2]), rows[3])
    return rows, np.stack(rows[:3]), tuple(rows), {v + 1 for v in y.tolist()}


def helped(x, y):
    t = helper(x) + helper(y, k=3)
    return x * t, math.sqrt(abs(t)), [helper(v) for v in (x, y)]


def captured(x, y):
    z = x[: len(OFFSETS)] * OFFSETS
    print(z)
    OFFSETS[0] = z.max()
    return z, OFFSETS, OFFSETS[1:]


def made(x, y):
    z = np.zeros(len(x))
    z[:] = x
    w = np.arange(len(x)) + np.asarray(y)
    print(np.array([z.sum(), w.sum()]))
    return np.asarray(x), np.array(x), w, z, np.ones_like(y), np.linspace(0, 1, len(x))


def whole_arrays(x, y):
    order = np.argsort(x)
    y.sort()
    print(order, y)
    np.maximum(x, y, out=x)
    return x[order], np.sort(x), np.dot(x, y), np.nonzero(x > 1), x[x > 2], y.reshape(-1, 1)


def kinds(x, y):
    s = x.sum()
    print(isinstance(s, float), isinstance(x, np.ndarray), x.dtype, x.shape, s.dtype, type_of(s))
    return s, s + 1, x.max() > 2, x.dtype == np.float64, round(float(s), 1), divmod(int(s), 3)


def type_of(value):
    return "float" if isinstance(value, np.floating) else "other"


def shaped(x, y):
    n = int(abs(x.min()).item()) + 2
    z = x[:n] * y[n:].sum()
    print(n, z)
    return np.concatenate([z, y]), z.reshape(1, -1)


def sorted_between(x, y):
    z = x + 1
    y.sort()
    return z, y


def written_last(x, y):
    print(x.max())
    x += 1
    y[:] = x * 2


def guarded(x, y):
    try:
        x += 1
    except ValueError:
        y -= 1
    print(y)
    return x + y


CASES = [
    *(sorted_between, written_last, guarded, until),
    *(printed, text, item, written, given_back, view_written, raises_late, bad_shapes, caught),
    *(loops, keys, lists, helped, captured, made, whole_arrays, kinds, shaped),
]


@pytest.fixture(params=["numpy", "compiled"])
def lazy(request, monkeypatch):
    if request.param == "compiled":
        for name in ("COMPILE_S", "STATEMENT_S", "LOWER_S"):
            monkeypatch.setattr(programs, name, 0.0)
        monkeypatch.setattr(
            programs.Program, "_compile_if_faster", lambda program, _: program.compile()
        )
    monkeypatch.setattr(whole_calls, "MIN_ELEMENTS", 2)
    monkeypatch.setattr(known_functions, "LEAST_OPERATIONS", 0)
    with fresh_paths(2, 200):
        yield request.param


def outcome(function, args, table=OFFSETS):
    """The result and output of a call, with the arguments and an array outside afterwards."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            result = function(*args)
        except Exception as error:
            result = type(error), error.args
    found = result, args, table, out.getvalue()
    return copy.deepcopy(found), shared_spots(found)


def parts(value):
    """All values in containers, in order."""
    yield value
    if isinstance(value, dict):
        value = [*value.items()]
    if isinstance(value, list | tuple | set):
        for one in value:
            yield from parts(one)


def shared_spots(value):
    """Which parts are one object, and which arrays share memory."""
    arrays = [one for one in parts(value) if isinstance(one, np.ndarray)]
    pairs = list(itertools.combinations(range(len(arrays)), 2))
    same = [(i, k) for i, k in pairs if arrays[i] is arrays[k]]
    return same, [(i, k) for i, k in pairs if np.shares_memory(arrays[i], arrays[k])]


def assert_alike(one, other):
    assert len(one) == len(other)
    for a, b in zip(one, other, strict=True):
        assert type(a) is type(b), (a, b)
        if isinstance(a, np.ndarray | np.generic):
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
        elif not isinstance(a, dict | list | tuple | set):
            assert a == b


def arguments(kind):
    x, y = np.array([3.0, -1.0, 4.0, 1.0, 5.0, 9.0]), np.array([2.0, 7.0, 1.0, 8.0, 2.0, 8.0])
    if kind == "same":
        return x, x
    if kind == "overlap":
        whole = np.concatenate([x, y])
        return whole[:6], whole[3:9]
    if kind == "strided":
        return np.repeat(x, 2)[::2], y[::-1]
    if kind == "read-only":
        x.flags.writeable = False
    if kind == "halves":
        whole = np.concatenate([x, y])
        return whole[:6], whole[6:]
    return (x.astype("f4"), y.astype("i8")) if kind == "types" else (x, y)


KINDS = ("plain", "same", "overlap", "strided", "read-only", "halves", "types")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("function", CASES, ids=lambda one: one.__name__)
def test_pieces_do_as_numpy(function, kind, lazy):
    jitted = axiomjit.jit(function)
    jitted._in_numpy = True  # some could be followed
    for _ in range(4):
        OFFSETS[:] = range(6)
        found, spots = outcome(jitted, arguments(kind))
        OFFSETS[:] = range(6)
        expected, expected_spots = outcome(function, arguments(kind))
        assert_alike(list(parts(found)), list(parts(expected)))
        assert spots == expected_spots
    if kind in ("plain", "strided", "halves", "types"):
        assert [one.cause for one in jitted.cache_info().in_numpy] == ["in pieces"]


# What is not known to be harmless


class Holder:
    kept = None


HOLDER = Holder()


def refused(text, **names):
    """Why a function of this text does not run in pieces; empty if it does."""
    source = f"def f(x, y=1):\n    {text}\n"
    space = {"np": np, "math": math, "HOLDER": HOLDER, "LOG": LOG, "OFFSETS": OFFSETS, **names}
    exec(compile(source, "<refused>", "exec"), space)
    tell_text(space["f"].__code__, source)
    found = harmless(space["f"])
    return found if isinstance(found, str) else ""


@pytest.mark.parametrize(
    "text",
    [
        "return type(x) is np.ndarray",
        "return x.flags, x.base",
        "return x.__array_interface__",
        "return memoryview(x)",
        "return bytes(x)",
        "HOLDER.kept = x",
        "LOG.append(x)",
        "global LOG; LOG = x",
        "return lambda: x",
        "return (v for v in x)",
        "return zip(x, x)",
        "return {1: x}.items()",
        "yield x",
        "import ctypes",
        "return x is y",
        "return np.random.normal(size=3) + x",
        "np.save('file', x)",
        "np.put(x, 0, 1)",
        "np.add.at(x, 0, 1)",
        "return np.vectorize(len)(x)",
        "return np.apply_along_axis(sum, 0, x)",
        "return np.sum(x, 0, None, x)",
        "return x.sum(0, None, x)",
        "return np.sum(*x)",
        "return y(x)",
        "return x.sum.__self__",
        "return [x[i] for i in range(3)]",
        "return [x[i:i + 2] for i in range(3)]",
        "for row in x: print(row)",
        "for k, row in enumerate(x): print(row)",
        "return [v for v in x.T]",
        "rows = [x]\n    rows = x\n    for row in rows: print(row)",
        "for i in range(3): x[i] += 1",
        "i = 0\n    while x[i] > 0: i += 1",
        "i = 0\n    while i < 3:\n        y += x[i]\n        i = i + 1",
        "for i in range(3):\n        j, k = divmod(i, 2)\n        x[j + 1:] = k",
        "return eval('x')",
        "return getattr(x, 'base')",
        "print(x, file=y)",
        "return x.tofile('name')",
        "return np.load('name')",
        "return '{0.flags}'.format(x)",
        "return x.format(y)",
        "x.shape = (2, 3)",
        "return x.view()",
        "with open('name') as f: return f, x",
        "class A: pass",
        "return f(*x, **y)",
        "return np",
        "return unknown(x)",
        "match x:\n        case [a, b]: return a",
    ],
)
def test_what_is_not_known_is_refused(text):
    assert refused(text)


@pytest.mark.parametrize(
    "text",
    [
        "return x + np.pi, math.inf, '{0:.2f} {}'.format(x.sum(), y)",
        "return np.zeros(3, dtype=float), float(x), np.float64(x.sum())",
        "return [v * 2 for v in (x, y)], {k: v for k, v in zip('ab', (x, y))}",
        "return sum(v for v in x.tolist())",
        "a, *b = x\n    return max(*b), a",
        "for k, row in enumerate([x, y]): print(k, row)",
        "rows = [x, x]\n    for a, b in zip(rows, rows): print(a, b)",
        "return [n + k for n in x.shape for k in range(2)]",
        "return np.linalg.norm(x), np.fft.fft(x), np.add.reduce(x)",
        "with np.errstate(divide='ignore'): return 1 / x",
        "raise np.linalg.LinAlgError(f'{x}')",
        "assert x.any(), 'none'\n    return np.finfo(x.dtype).eps",
        "return f(x) if y > 3 else ' '.join(map(str, x.tolist()))",
    ],
)
def test_what_is_known_runs_in_pieces(text):
    assert refused(text) == ""


def test_text_with_other_code_is_refused():
    def checked(x):
        assert x.sum().item() > 0  # pytest has rewritten it

    assert isinstance(harmless(checked), str)
    assert harmless(print) == "is no plain function"


def test_what_changes_outside_is_seen_in_each_call(lazy, monkeypatch):
    calls = axiomjit.jit(helped)
    calls._in_numpy = True
    calls(*arguments("plain"))
    monkeypatch.setitem(globals(), "helper", lambda x, k=2: float(type(x) is np.ndarray))
    np.testing.assert_array_equal(calls(*arguments("plain"))[0], arguments("plain")[0] * 2)
    assert [one.cause for one in calls.cache_info().in_numpy] == ["in pieces", "whole function"]


def test_a_compiled_helper_is_one_of_the_function(lazy):
    inner = axiomjit.jit(lambda x: x * 2 + x.sum())
    space = {"inner": inner}
    source = "def f(x):\n    y = inner(x)\n    print(y)\n    return y, y.max().item()\n"
    exec(compile(source, "<compiled helper>", "exec"), space)
    tell_text(space["f"].__code__, source)
    jitted = axiomjit.jit(space["f"])
    jitted._in_numpy = True
    found, most = jitted(np.arange(5.0))
    np.testing.assert_array_equal(found, np.arange(5.0) * 2 + 10)
    assert (type(found), most, inner.cache_info().hits) == (np.ndarray, 18.0, 0)
    assert jitted.cache_info().in_numpy[0].cause == "in pieces"


@pytest.mark.parametrize(
    "given",
    [
        (np.ma.masked_array([1.0, 2, 3]), 1),
        (np.arange(3.0), HOLDER),
        (np.array([1, None, "a"], dtype=object), 1),
        (np.arange(3.0), {"a": [HOLDER]}),
        (np.arange(3.0), iter([1])),
        (np.arange(3.0).view(type("Own", (np.ndarray,), {})), 2),
    ],
    ids=("masked", "object", "elements", "nested", "iterator", "subclass"),
)
def test_arguments_that_lead_further_are_numpys(given, lazy):
    jitted = axiomjit.jit(lambda x, y: str(x))
    jitted._in_numpy = True
    assert jitted(*given) == str(given[0])
    assert jitted.cache_info().in_numpy[0].cause == "whole function"


def test_containers_of_the_caller_get_numpys_arrays(lazy):
    def kept(x, found):
        found.append(x * 2)
        found[0]["y"] = (x[1:], x.sum())
        print(len(found))
        if len(found) > 2:
            raise KeyError(x)
        return found

    jitted = axiomjit.jit(kept)
    jitted._in_numpy = True
    x = np.arange(4.0)
    found = [{}]
    for _ in range(2):
        with contextlib.suppress(KeyError):
            assert jitted(x, found) is found
    assert [type(one) for one in found] == [dict, np.ndarray, np.ndarray]
    view, total = found[0]["y"]
    assert (view.base is x, type(total), total) == (True, np.float64, 6.0)
    assert jitted.cache_info().in_numpy[0].cause == "in pieces"


def test_errors_show_the_users_frames_and_hold_numpys_arrays(lazy):
    jitted = axiomjit.jit(raises_late)
    jitted._in_numpy = True
    for _ in range(3):
        x, y = arguments("plain")
        with pytest.raises(ValueError, match="too large") as caught:
            jitted(x, y)
        names = [entry.name for entry in caught.traceback]
        assert names[1:] == ["raises_late"]
        assert (type(caught.value.args[1]), caught.value.args[2] is x, y[0]) == (
            np.float64,
            True,
            7,
        )


@pytest.mark.parametrize("function", [item, text, until, keys, lists])
def test_reasons_to_leave_one_program(function, lazy):
    """From the first call on; the bits do not depend on how often the function ran."""
    jitted, rng = axiomjit.jit(function), np.random.default_rng(5)
    x, y = rng.normal(size=(2, 5000))
    with pytest.warns(FallbackWarning, match="large arrays in pieces, not as one program"):
        first = [*parts(jitted(x, y))]
    for _ in range(6):
        assert_alike([*parts(jitted(x, y))], first)
    (entry,) = jitted.cache_info().in_numpy
    assert (entry.cause, entry.calls) == ("in pieces", 7)
    assert entry.reason


def test_strict_and_settings_refuse_as_before(lazy, monkeypatch):
    with pytest.raises(NeedsValuesError):
        axiomjit.jit(item, strict=True)(*arguments("plain"))
    jitted = axiomjit.jit(item)
    with pytest.warns(FallbackWarning, match="item runs in NumPy, large arrays in pieces"):
        jitted(*arguments("plain"))
    assert repr(jitted).startswith("<jit item, 0 programs, 1 call in pieces: ")
    with np.errstate(all="raise"):
        jitted(*arguments("plain"))
    monkeypatch.setattr(config, "disable", True)
    jitted(*arguments("plain"))
    calls = {one.cause: one.calls for one in jitted.cache_info().in_numpy}
    assert calls == {"in pieces": 1, "whole function": 2}


def test_where_there_is_little_to_fuse_numpy_runs():
    many, few = axiomjit.jit(item), axiomjit.jit(lambda x, y: str(x + y))
    many._in_numpy = few._in_numpy = True
    large = np.ones(whole_calls.MIN_ELEMENTS)
    for args, cause in (((large[:-1], large[:-1]), "whole function"), ((large, 2), "in pieces")):
        many(*args)
        few(*args)
        assert many.cache_info().in_numpy[-1].cause == cause
    assert [one.cause for one in few.cache_info().in_numpy] == ["whole function"]


# Random functions


def failure(text, kind):
    """The difference of a random function in pieces from NumPy's; None if there is none."""
    worlds = []
    for way in (lambda function: function, axiomjit.jit):
        space = {"np": np}
        exec(compile(text, "<random>", "exec"), space)
        for code in (space["f"].__code__, space["helper"].__code__):
            tell_text(code, "\n".join(text.splitlines()[code.co_firstlineno - 1 :]))
        worlds.append((way(space["f"]), space["TABLE"]))
    (plain, its_table), (jitted, table) = worlds
    jitted._in_numpy = True
    for _ in range(3):
        expected, expected_spots = outcome(plain, arguments(kind), its_table)
        found, spots = outcome(jitted, arguments(kind), table)
        try:
            assert_alike(list(parts(found)), list(parts(expected)))
            assert spots == expected_spots
        except AssertionError as error:
            return f"{text}\n{kind}\n{error}"
    causes = [one.cause for one in jitted.cache_info().in_numpy]
    known = "whole function" if kind == "overlap" else "in pieces"
    return None if causes == [known] else f"{text}\n{kind}\n{causes} {harmless(plain)}"


def test_random_functions_do_as_numpy(lazy):
    for number in range(0, 120, 20 if lazy == "compiled" else 1):
        drawing = random.Random(number)
        text, kind = draw(drawing), drawing.choice(("plain", "plain", "same", *KINDS[1:-1]))
        assert (found := failure(text, kind)) is None, found


def test_what_an_interrupt_ends_is_not_run_again(lazy, monkeypatch):
    def interrupted(x):
        x += 1
        y = x * 2
        print(y)
        return y

    jitted = axiomjit.jit(interrupted)
    jitted._in_numpy = True
    jitted(np.arange(4.0))
    run = programs.Program.run
    calls = []

    def broken(program, given):
        calls.append(run(program, given))
        raise KeyboardInterrupt

    monkeypatch.setattr(programs.Program, "run", broken)
    x = np.arange(4.0)
    with pytest.raises(KeyboardInterrupt) as caught:
        jitted(x)
    np.testing.assert_array_equal(x, np.arange(4.0) + 1)
    assert len(calls) == 1
    (names,) = [one.frame.f_locals for one in caught.traceback if one.name == "interrupted"]
    with pytest.raises(RuntimeError, match="broken off"):
        repr(names["y"])
    np.testing.assert_array_equal(names["x"], x)
    monkeypatch.undo()
    np.testing.assert_array_equal(jitted(x), np.arange(4.0) * 2 + 4)


# Planted faults


def is_red(function, *kinds):
    """True if a case differs from NumPy."""
    jitted = axiomjit.jit(function)
    jitted._in_numpy = True
    for kind in kinds * 3:
        OFFSETS[:] = range(6)
        found, spots = outcome(jitted, arguments(kind))
        OFFSETS[:] = range(6)
        expected, expected_spots = outcome(function, arguments(kind))
        try:
            assert_alike(list(parts(found)), list(parts(expected)))
        except AssertionError:
            return True
        if spots != expected_spots:
            return True
    return False


FAULTS = {
    "overlaps": (pieces.Loan, "check", lambda loan: None, sorted_between, "overlap"),
    "pending writes": (pieces.Loan, "settle", lambda loan, memo: None, written_last, "plain"),
    "one array given twice": (pieces, "id", lambda value: object(), written, "same"),
    "containers of results": (pieces, "_differ", lambda new, old: False, lists, "plain"),
    "errors": (pieces, "_clear", lambda error, memo: None, raises_late, "plain"),
    "read-only arrays": (
        pieces.Loan,
        "_is_lendable",
        lambda loan, x: True,
        guarded,
        "plain",
        "read-only",
    ),
    "whose memory": (pieces, "made", lambda array, link: made_of(array.copy(), None), written, ""),
}


@pytest.mark.parametrize("name", FAULTS)
def test_faults_are_found(name, lazy, monkeypatch):
    owner, attribute, other, function, *kinds = FAULTS[name]
    assert not is_red(function, *kinds)
    monkeypatch.setattr(owner, attribute, other, raising=False)
    assert is_red(function, *kinds)


def timed_text(x):
    y = x * 2.0 + 1.0
    y = y * y - x
    name = f"{y.sum():.3f}".strip()
    z = (np.abs(y) + x) * 3 - 2.0
    return z * z + y / len(name)


def timed_item(x):
    y = x * 2.0 + 1.0
    y = y * y - x
    total = y.sum().item()
    z = (np.abs(y) + x) * 3 - 2.0
    return z * z + y / len(str(total))


def timed_print(x):
    y = x * 2.0 + 1.0
    y = y * y - x
    print(y.sum())
    z = (np.abs(y) + x) * 3 - 2.0
    return z * z + y / 2


@pytest.mark.alone
@pytest.mark.parametrize("function", [timed_text, timed_item, timed_print])
def test_looks_in_the_middle_take_half_of_numpys_time(function):
    jitted, x = axiomjit.jit(function), np.random.default_rng(1).normal(size=10**6)
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(20):
            jitted(x)
        times = interleaved(lambda: jitted(x), lambda: function(x), 21)
    assert times.ratio < 1 / 2
