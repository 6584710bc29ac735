"""Calls begin natively or in Python: both give the same, whatever the arguments are."""

import gc
import pickle
import sys
import threading
import weakref

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning, GraphValueError
from axiomjit.runtime.native_call.instructions import Run
from axiomjit.runtime.native_call.native_entry import refusal

WAYS = ("auto", "portable")
RNG = np.random.default_rng(7)
X, Y = RNG.random((4, 6)), RNG.random((4, 6))
WARM = 4
pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")


@pytest.fixture(params=WAYS, autouse=True)
def way(request, monkeypatch):
    monkeypatch.setattr(config, "entry", request.param)
    return request.param


@pytest.fixture
def native(way):
    """Whether calls are answered natively; what looks at that is skipped elsewhere."""
    if way == "portable":
        pytest.skip("looks at native calls")


def reference(x, y):
    return (x - y) * (x - y) * 3 + x * y


def same(got, want):
    """Equal in type, dtype, shape and bits, also inside tuples."""
    if isinstance(want, tuple):
        assert type(got) is tuple
        assert len(got) == len(want)
        for one, other in zip(got, want, strict=True):
            same(one, other)
        return
    assert type(got) is type(want)
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    assert np.asarray(got).tobytes() == np.asarray(want).tobytes()


def warmed(function, *args, **kwargs):
    """A compiled function that has answered a call several times."""
    jitted = aj.jit(function)
    for _ in range(WARM):
        same(jitted(*args, **kwargs), function(*args, **kwargs))
    return jitted


def misaligned(array):
    """The values at an odd address."""
    memory = np.empty(array.nbytes + 1, np.uint8)
    made = memory[1:].view(array.dtype).reshape(array.shape)
    made[...] = array
    return made


def frozen(array):
    made = array.copy()
    made.flags.writeable = False
    return made


LAYOUTS = {
    "other values": Y[::1] + 1,
    "other shape": RNG.random((6, 4)),
    "more dimensions": RNG.random((2, 4, 6)),
    "fewer dimensions": RNG.random(6),
    "no dimensions": np.array(2.5),
    "empty": RNG.random((0, 6)),
    "one row": RNG.random((1, 6)),
    "columns": np.asfortranarray(X),
    "transposed": RNG.random((6, 4)).T,
    "steps": RNG.random((8, 12))[::2, ::2],
    "backwards": RNG.random((4, 6))[::-1, ::-1],
    "repeated": np.broadcast_to(RNG.random(6), (4, 6)),
    "misaligned": misaligned(X),
    "read-only": frozen(X),
    "unpickled": pickle.loads(pickle.dumps(X)),
    "float32": X.astype("f4"),
    "float16": X.astype("f2"),
    "int8": (X * 10).astype("i1"),
    "long": (X * 10).astype("l"),
    "long long": (X * 10).astype("q"),
    "bool": X > 0.5,
    "complex": X + 1j * Y,
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_call_of_another_layout_is_not_taken_for_the_known_one(layout, way):
    array = LAYOUTS[layout]
    jitted = warmed(lambda x: x * x + x, X)
    function = jitted.__wrapped__
    for given in (array, X, array, array, X, array):
        same(jitted(given), function(given))
    assert (jitted.hits_natively[0] > 0) == (way == "auto")
    info = jitted.cache_info()
    assert info.hits + info.bound == WARM + 6


@pytest.mark.parametrize(
    "layout", sorted({n for n in LAYOUTS if LAYOUTS[n].shape == X.shape} - {"bool"})
)
def test_each_argument_is_guarded(layout):
    array = LAYOUTS[layout]
    jitted = warmed(reference, X, Y)
    for args in ((array, Y), (X, array), (array, array), (X, Y)):
        for _ in range(3):
            same(jitted(*args), reference(*args))


def test_subclasses_are_numpys_and_lists_are_arrays_as_ever():
    jitted = warmed(reference, X, Y)
    masked = np.ma.array(X)
    for function in (jitted, aj.jit(reference)):
        with pytest.warns(FallbackWarning, match="numpy.ndarray"):
            assert type(function(masked, Y)) is type(reference(masked, Y))
        same(function(X.tolist(), Y), reference(X.tolist(), Y))


def test_many_layouts_in_turn():
    jitted = aj.jit(reference)
    shapes = [(n, m) for n in range(1, 6) for m in range(1, 6)]
    pairs = [(RNG.random(shape), RNG.random(shape)) for shape in shapes]
    order = [pairs[k] for k in RNG.integers(0, len(pairs), 400)]
    for x, y in order:
        same(jitted(x, y), reference(x, y))
    info = jitted.cache_info()
    assert info.hits + info.bound == len(order)


def test_arguments_by_name_in_any_order(way):
    def function(x, y, *, scale):
        return (x - y) * scale

    jitted = warmed(function, X, Y, scale=2.0)
    z = np.full_like(X, 3)
    for _ in range(WARM):
        same(jitted(y=X, x=Y, scale=2.0), function(Y, X, scale=2.0))
        same(jitted(x=X, y=Y, scale=z), function(X, Y, scale=z))
        same(jitted(X, scale=3.0, y=Y), function(X, Y, scale=3.0))
    assert (jitted.hits_natively[0] >= 3 * (WARM - 2)) == (way == "auto")
    for wrong in ({"x": X}, {"x": X, "y": Y}, {"x": X, "y": Y, "scale": 1.0, "z": 1}):
        with pytest.raises(TypeError):
            jitted(**wrong)


NUMBERS = [
    *(0, 1, -1, 7, 2**31, 2**40, -(2**62), 2.0, -0.0, float("nan"), float("inf"), 2 + 1j, -0j),
    *(True, False, np.float32(3), np.float64(4), np.int8(3), np.bool_(True), np.complex64(1j)),
]


@pytest.mark.parametrize("first", NUMBERS, ids=repr)
def test_numbers_are_told_apart(first):
    def function(x, by):
        return x * by + by, (x + by).sum()

    x = RNG.random(5)
    jitted = aj.jit(function)
    with np.errstate(all="ignore"):
        for other in NUMBERS:
            for number in (first, other, first):
                for _ in range(2):
                    same(jitted(x, number)[0], function(x, number)[0])


def test_the_value_of_a_float_goes_to_the_kernel(native):
    jitted = warmed(lambda x, by: x * by, X, 2.0)
    before = jitted.cache_info()
    for number in (3.0, -1.5, 1e300):
        same(jitted(X, number), X * number)
    assert jitted.cache_info().bound == before.bound
    assert jitted.hits_natively[0] >= 3


@pytest.mark.parametrize("values", [(2, 3), ("a", "b"), (None, "c"), (True, 1), ((1, 2), (1, 3))])
def test_static_arguments(values):
    @aj.jit(static_argnames="how")
    def function(x, how):
        return x * len(repr(how)) + (0 if how is None else hash(how) % 7)

    for _ in range(WARM):
        for how in values:
            same(function(X, how), function.__wrapped__(X, how))
            same(function(X, how=how), function.__wrapped__(X, how))


def test_containers_take_the_long_way():
    jitted = aj.jit(lambda pair, more: pair[0] * pair[1] + more["z"])
    for _ in range(WARM):
        same(jitted((X, Y), {"z": X}), X * Y + X)
        same(jitted([X, Y], {"z": Y}), X * Y + Y)


def test_captured_arrays_are_read_where_they_lie_and_guarded(way):
    captured = np.arange(6.0)
    jitted = aj.jit(lambda x: x * captured)
    for _ in range(WARM):
        same(jitted(X), X * captured)
    captured[...] = 7
    same(jitted(X), X * captured)
    hits = jitted.hits_natively[0]
    assert (hits > 0) == (way == "auto")
    captured.shape = (1, 6)
    same(jitted(X), X * captured)
    captured.shape = (6,)
    for _ in range(WARM):
        same(jitted(X), X * captured)
    captured.dtype = np.int64
    same(jitted(X), X * captured)


def test_a_captured_view_whose_owner_moves():
    owner = np.arange(12.0)
    held = {"view": owner[6:]}
    jitted = aj.jit(lambda x: x + owner[:6])
    for _ in range(WARM):
        same(jitted(X), X + owner[:6])
    del held
    owner.resize(200_000, refcheck=False)
    owner[:6] = 5
    for _ in range(WARM):
        same(jitted(X), X + owner[:6])


@pytest.mark.parametrize("mode", ["ignore", "warn"])
def test_error_states_that_change_nothing(mode, way):
    jitted = warmed(lambda x: x / (x + 1), X)
    hits = jitted.hits_natively[0]
    with np.errstate(all=mode):
        jitted(X)
    assert (jitted.hits_natively[0] == hits + 1) == (way == "auto")


@pytest.mark.parametrize("kind", ["divide", "over", "under", "invalid"])
def test_error_states_that_raise(kind):
    trigger = {
        "divide": lambda x: x / (x - x),
        "over": lambda x: x * 1e300 * 1e300,
        "under": lambda x: x * 1e-300 * 1e-300,
        "invalid": lambda x: (x - x) / (x - x),
    }[kind]
    jitted = aj.jit(trigger)
    for _ in range(WARM):
        jitted(X + 1)
    with np.errstate(**{kind: "raise"}), pytest.raises(FloatingPointError):
        jitted(X + 1)
    jitted(X + 1)
    seen = []
    with np.errstate(**{kind: "call"}, call=lambda *what: seen.append(what)):
        jitted(X + 1)
    assert seen


@pytest.mark.parametrize("setting", ["disable", "check", "bounds"])
def test_a_setting_holds_for_the_next_call(setting, monkeypatch):
    jitted = warmed(reference, X, Y)
    for value in (True, False, True):
        monkeypatch.setattr(config, setting, value)
        hits = jitted.hits_natively[0]
        same(jitted(X, Y), reference(X, Y))
        if setting == "disable" and value:
            assert jitted.hits_natively[0] == hits


def test_the_way_is_a_setting(monkeypatch):
    jitted = warmed(reference, X, Y)
    monkeypatch.setattr(config, "entry", "portable")
    hits = jitted.hits_natively[0]
    same(jitted(X, Y), reference(X, Y))
    assert jitted.hits_natively[0] == hits
    with pytest.raises(GraphValueError, match="config.entry = 'other'"):
        config.entry = "other"


FUNCTIONS = {
    "one": lambda x, y: x * y + 1,
    "scalar": lambda x, y: (x * y).sum(),
    "rows": lambda x, y: (x - y).max(axis=1),
    "tuple": lambda x, y: (x * y, x - y, (x + y).sum()),
    "list": lambda x, y: [x * y, x - y],
    "dict": lambda x, y: {"a": x * y},
    "with a number": lambda x, y: (x * y, 3),
    "twice": lambda x, y: (lambda z: (z, z))(x * y),
    "columns": lambda x, y: (x.T * y.T).T,
    "view": lambda x, y: x[1:],
    "argument": lambda x, y: (x, x * y),
    "product": lambda x, y: x @ y.T,
    "product and more": lambda x, y: np.exp(x @ y.T) + 1,
    "scan": lambda x, y: np.cumsum(x * y, axis=1),
    "positions": lambda x, y: (x * y).argmax(axis=1),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("columns", [False, True])
def test_results_are_put_together(name, columns):
    function = FUNCTIONS[name]
    x, y = (np.asfortranarray(X), np.asfortranarray(Y)) if columns else (X, Y)
    jitted = aj.jit(function)
    first = jitted(x, y)
    for _ in range(WARM):
        again = jitted(x, y)
        assert type(again) is type(first)
        leaves = zip(_leaves(again), _leaves(first), strict=True)
        for one, other in leaves:
            assert type(one) is type(other)
            np.testing.assert_array_equal(one, other)
            if isinstance(one, np.ndarray):
                assert (one.dtype, one.strides) == (other.dtype, other.strides)


def _leaves(value):
    if isinstance(value, dict):
        return list(value.values())
    return list(value) if isinstance(value, tuple | list) else [value]


def test_results_own_their_memory(native, unchecked):
    for x in (X, np.asfortranarray(X), X[:0]):
        jitted = aj.jit(lambda x: x * 2 + 1)
        results = [jitted(x) for _ in range(WARM)]
        assert results[-1].base is None
        assert results[-1].flags.owndata
        assert results[-1].flags.writeable
        assert not any(np.may_share_memory(r, results[-1]) for r in results[:-1])
    assert jitted.hits_natively[0]


def test_references_are_given_back(native):
    jitted = warmed(lambda x, y, by: (x * y * by, (x + y).max()), X, Y, 2.0)
    pair = warmed(lambda x, y: x @ y.T, X, Y)
    watched = (X, Y, X.dtype, np.ndarray, jitted, jitted.func, config, pair)
    before = [sys.getrefcount(value) for value in watched]
    for _ in range(2000):
        jitted(X, Y, 2.0)
        jitted(X, Y, by=2.0)
        pair(X, Y)
        with pytest.raises(TypeError):
            jitted(X)
    assert [sys.getrefcount(value) for value in watched] == pytest.approx(before, abs=50)


def test_a_function_goes_when_nobody_has_it():
    jitted = warmed(reference, X, Y)
    gone = weakref.ref(jitted)
    del jitted
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("units", [10, 200_000, 5_000_000])
def test_who_holds_the_global_lock(units, native, unchecked):
    """Short work runs natively with it, longer work without it, the longest on threads."""
    jitted = warmed(lambda x: (x * 2 + 1).max(), np.zeros(units, "f4"))
    ((compiled,),) = jitted._plans.values()
    plan = compiled.runnable.native_plan(1, 0)
    expected = {10: False, 200_000: True, 5_000_000: None}[units]
    runs = [step for step in ([] if plan is None else plan.steps) if isinstance(step, Run)]
    assert [run.releases for run in runs] == ([] if expected is None else [expected])


def test_threads_that_replace_tables():
    jitted = aj.jit(reference)
    shapes = [(n, n + 1) for n in range(1, 14)]
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(300):
            shape = shapes[rng.integers(len(shapes))]
            x, y = rng.random(shape), rng.random(shape)
            if not np.array_equal(jitted(x, y), reference(x, y)):
                wrong.append(shape)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
