"""Programs of several launches and library calls on small operands: one native call each."""

import gc
import signal
import threading
import weakref

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.runtime.codegen.kernel_cache import LoadedKernel
from axiomjit.runtime.execution import plan_steps
from axiomjit.runtime.execution.plan_steps import Launching
from axiomjit.runtime.native_call.native_entry import refusal
from tests.dispatch.lifetimes import CALLS, blocks_left
from tests.runtime.codegen.kernels import same_bits
from tools.elementary.turns import interleaved

pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")
X = np.random.default_rng(3).random(8)
A = np.random.default_rng(4).random((3, 3))

PROGRAMS = {
    "sort": (lambda x: np.sort(x * 2) + 1, (X,)),
    "solve": (lambda a: np.linalg.solve(a * 2, a[0]) + 1, (A,)),
    "products": (lambda a, b: np.maximum(a @ b.T, 0) @ b, (A, A[::-1])),
    "columns": (lambda a: np.linalg.solve(a * 2, a[:, 1]) * a[1], (A,)),
    "several results": (lambda a: np.linalg.eigh(a @ a.T * 0.5)[1] * 2, (A,)),
    "two results": (lambda x: (np.sort(x * 2), np.argsort(x) + 1), (X,)),
    "moments": (lambda x: (x - x.mean()) / x.std(), (X,)),
    "taken": (lambda x: x[np.argsort(x * 2)] - 1, (X,)),
    "numbers": (lambda x, by, z: np.sort(x * by) * z + by, (X, 2.5, 1 + 2j)),
    "a scalar": (lambda x, by: np.sort(x * by) * by, (X, np.float32(2.5))),
    "chosen": (lambda x: x[x > 0.5] * 2, (X,)),
    "chosen beside a number": (lambda x, by: (x[x > by] * by, by + x), (X, 0.25)),
    "chosen beside a scalar": (lambda x, by: (x[x > by] * by, by + x), (X, np.float64(0.25))),
    "views of a result": (lambda x: ((x * 2)[::2], (x + 1j * x).real[::-1]), (X,)),
    "views of what steps make": (lambda x: (np.sort(x * 2)[1:], x.mean()), (X,)),
    "one array twice": (lambda x: (lambda y: (y, y[1:], y))(np.sort(x * 2)), (X,)),
    "views of an argument": (lambda x: (x[::2], np.sort(x * 2)), (X,)),
    "the part of a step": (lambda x: np.fft.ifft(np.fft.fft(x * 2) * 3).real, (X,)),
    "unique": (lambda x: np.unique(np.round(x * 4)) + 1, (X,)),
    "unique as it is": (lambda x: np.unique(np.round(x * 4), return_counts=True)[::-1], (X,)),
    "chosen twice": (lambda x: (x[x > 0.5] * 2, np.unique(x[x > 0.25] * 2)), (X,)),
    "chosen where chosen": (lambda x: np.unique(np.round(x[x > 0.2] * 4)) + 1, (X,)),
    "nothing": (lambda x: np.sort(x * 2) + 1, (X[:0],)),
}


@pytest.fixture(autouse=True)
def native(monkeypatch):
    monkeypatch.setattr(config, "entry", "auto")


def warmed(function, *arguments):
    jitted = aj.jit(function)
    for _ in range(3):
        jitted(*arguments)
    return jitted


def leaves(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("check", [False, True])
def test_later_calls_give_what_the_first_gave(name, check, monkeypatch):
    function, arguments = PROGRAMS[name]
    monkeypatch.setattr(config, "check", check)
    monkeypatch.setattr(config, "entry", "portable")
    jitted = aj.jit(function)
    first = jitted(*arguments)
    monkeypatch.setattr(config, "entry", "auto")
    for _ in range(3):
        again = jitted(*arguments)
        for one, other in zip(leaves(again), leaves(first), strict=True):
            assert same_bits(one, other)
            assert type(one) is type(other)
            assert ((one.base is None), one.strides) == ((other.base is None), other.strides)
            assert one.flags.writeable == other.flags.writeable
    assert jitted.hits_natively[0]
    ((compiled,),) = jitted._plans.values()
    assert config.bounds or compiled.runnable.native_plan(1, 0) is not None


@pytest.mark.parametrize("name", PROGRAMS)
def test_calls_leave_nothing_in_memory(name):
    function, arguments = PROGRAMS[name]
    jitted = warmed(function, *arguments)
    assert blocks_left(lambda: jitted(*arguments)) < CALLS * 0.9


@pytest.mark.parametrize(
    "function",
    [
        lambda x: x[x > 0.5].size,
        lambda x: np.unique(x).size,
        lambda x: np.nonzero(x > 0.5)[0].shape[0],
        lambda x: ((x * 2)[x > 0.5].sum(), x[x > 0.5].size),
        lambda x: [x[x > 0.5].shape],
    ],
)
def test_a_length_is_an_int_in_every_call(function):
    jitted = aj.jit(function)
    for _ in range(5):
        assert repr(jitted(X)) == repr(function(X))
    assert jitted.hits_natively[0]


def test_every_count_of_chosen_elements():
    def chosen(x):
        positive = x[x > 0]
        return positive * 2, np.sort(positive) - 1

    jitted, rng = warmed(chosen, X), np.random.default_rng(1)
    for _ in range(100):
        x = rng.random(8) - rng.random()
        for one, other in zip(jitted(x), chosen(x), strict=True):
            assert same_bits(one, other)
            assert one.base is None
    assert jitted.hits_natively[0] > 100


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_a_count_that_does_not_fit_is_left_to_numpy():
    def added(x):
        return x[x > 0] + x

    jitted = warmed(added, X)
    before = jitted.hits_natively[0]
    one = np.array([1.0, *[-1.0] * 7])
    for _ in range(3):
        assert same_bits(jitted(X), added(X))
        assert same_bits(jitted(one), added(one))
        with pytest.raises(ValueError, match="broadcast"):
            jitted(X - X.mean())
    assert jitted.hits_natively[0] > before


def test_an_error_of_a_step_names_the_line_and_later_calls_are_right():
    def solved(a):
        return np.linalg.solve(a * 2, a[0]) + 1

    jitted = warmed(solved, A)
    for _ in range(3):
        with pytest.raises(np.linalg.LinAlgError, match="Singular") as raised:
            jitted(np.zeros((3, 3)))
        assert any("test_native_plans.py" in note for note in raised.value.__notes__)
        assert same_bits(jitted(A), solved(A))


def test_arguments_are_neither_changed_nor_kept():
    jitted = warmed(PROGRAMS["solve"][0], A)
    frozen = A.copy()
    frozen.flags.writeable = False
    assert same_bits(jitted(frozen), jitted(A))
    results = [jitted(A) for _ in range(4)]
    assert len({one.ctypes.data for one in results}) == 4


def test_many_threads():
    jitted, wrong = warmed(PROGRAMS["sort"][0], X), []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(2000):
            x = rng.random(8)
            if jitted(x).tolist() != (np.sort(x * 2) + 1).tolist():
                wrong.append(x)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_a_limit_of_threads_holds_for_its_library_calls():
    jitted = warmed(PROGRAMS["products"][0], A, A)
    expected = jitted(A, A)
    with aj.threads(1):
        assert same_bits(jitted(A, A), expected)


def test_kernels_that_are_dropped_come_back(unchecked):
    jitted = warmed(PROGRAMS["sort"][0], X)
    ((compiled,),) = jitted._plans.values()
    for handle in compiled.runnable.handles:
        handle.drop()
    before = jitted.hits_natively[0]
    assert jitted(X).tolist() == (np.sort(X * 2) + 1).tolist()
    assert jitted.hits_natively[0] == before  # its table has gone with the kernels
    assert all(jitted(X).tolist() for _ in range(3))
    assert jitted.hits_natively[0] > before


def test_dropped_kernels_that_are_still_referenced_are_taken_up_again(unchecked):
    jitted = warmed(PROGRAMS["sort"][0], X)
    ((compiled,),) = jitted._plans.values()
    plan = compiled.runnable.native_plan(1, 0)
    loaded = [handle.loaded for handle in compiled.runnable.handles]
    for handle in compiled.runnable.handles:
        handle.drop()
    another = warmed(PROGRAMS["sort"][0], X)
    assert another.hits_natively[0] > 0
    assert [handle.loaded for handle in compiled.runnable.handles] == loaded
    assert [owner for _, owner in plan.kernels] == loaded


def test_kernels_that_are_dropped_while_a_plan_is_written_stay_with_it(monkeypatch, unchecked):
    jitted = warmed(PROGRAMS["sort"][0], X)
    ((compiled,),) = jitted._plans.values()
    words = Launching.words

    def dropping(launch):
        launch.handle.drop()
        return words(launch)

    monkeypatch.setattr(Launching, "words", dropping)
    plan = compiled.runnable.native_plan(1, 0)
    assert plan.kernels
    assert all(isinstance(owner, LoadedKernel) for _, owner in plan.kernels)


def stencil(steps, first=1, last=-1):
    """A function of that many steps, each of which is a kernel."""

    def stepped(u):
        u = u.copy()
        for _ in [*range(steps)]:  # a loop over a range would be one kernel
            u[first:last] += 0.1 * (u[first + 1 :][: u[first:last].size] - u[first:last])
        return u

    return stepped


@pytest.fixture
def in_python(monkeypatch):
    """The work of the kernels that Python has run."""
    run, seen = Launching.run, []

    def noted(launch, *args):
        seen.append(launch.work)
        run(launch, *args)

    monkeypatch.setattr(Launching, "run", noted)
    return seen


def runs_natively(function, in_python, *arguments):
    """Whether Python runs no kernel in a later call; its result is that of the first calls."""
    jitted = warmed(function, *arguments)
    first = function(*arguments)
    in_python.clear()
    assert same_bits(jitted(*arguments), first)
    assert jitted.hits_natively[0]
    return not in_python


@pytest.mark.parametrize("steps", [20, 62, 63, 64, 130])
def test_a_native_call_has_any_number_of_steps(steps, in_python, unchecked):
    assert runs_natively(stencil(steps), in_python, np.arange(30.0) ** 2)


@pytest.mark.parametrize("count", [60, 70, 500])
def test_a_native_call_has_any_number_of_objects(count, in_python, unchecked):
    """Arguments, arrays from outside, results, and operands of a step."""
    arrays = list(np.random.default_rng(2).random((count, 2)))

    def held(x):
        return sum((a[:, None] * a for a in arrays[:300]), start=x[:1] * x[:, None])

    assert runs_natively(held, in_python, X[:2])

    def joined(*xs):
        return np.sort(np.concatenate(xs)) + 1

    assert runs_natively(joined, in_python, *arrays)

    def several(*xs):
        return tuple(np.sort(x * 2) + 1 for x in xs[:80])

    jitted = warmed(several, *arrays)
    in_python.clear()
    pairs = zip(jitted(*arrays), several(*arrays), strict=True)
    assert all(same_bits(one, other) for one, other in pairs)
    assert not in_python


@pytest.mark.parametrize("size", [16_000, 17_000, 40_000])
def test_large_arrays_are_made_between_native_steps(size, in_python, unchecked):
    """From 2**17 bytes on their memory is recycled."""
    assert runs_natively(stencil(10, 5, 20), in_python, np.arange(float(size)))

    def views(x):
        y = x * 2
        return np.sort(y[::-1]).reshape(2, -1).T + 1

    assert runs_natively(views, in_python, np.arange(float(size)))


def test_the_work_of_all_steps_has_no_limit(in_python, unchecked, monkeypatch):
    jitted = warmed(stencil(6), X)
    ((compiled,),) = jitted._plans.values()
    most = max(launch.work for launch in compiled.runnable.launches)
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", most + 1)
    assert runs_natively(stencil(60), in_python, X)


@pytest.mark.parametrize("by", [2.5, 1 + 2j, np.float32(2.5)])
def test_kernels_that_threads_share_run_between_native_steps(by, in_python, unchecked, monkeypatch):
    """Those of little work are native."""

    def mixed(x, by, small):
        return np.cumsum(np.sort(x) * by) + np.sort(small * by)[0]

    x = np.random.default_rng(5).random(3000)
    jitted = warmed(mixed, x, by, X)
    first = jitted(x, by, X)
    ((compiled,),) = jitted._plans.values()
    works = sorted(launch.work for launch in compiled.runnable.launches)
    assert works[0] < works[1]
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", works[0] + 1)
    jitted = warmed(mixed, x, by, X)
    in_python.clear()
    assert same_bits(jitted(x, by, X), first)
    assert sorted(in_python) == works[1:]


def test_a_plan_of_kernels_that_threads_share_is_left_to_python(unchecked, monkeypatch):
    jitted = warmed(PROGRAMS["sort"][0], X)
    ((compiled,),) = jitted._plans.values()
    assert compiled.runnable.native_plan(1, 0) is not None
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", 0)
    assert compiled.runnable.native_plan(1, 0) is None


class StoppedError(Exception):
    """What a handler of a signal raises."""


def test_a_native_call_hears_signals(in_python, unchecked, monkeypatch):
    """A timer that counts the time of this process ends a call of a second."""
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", 10**12)

    def stepped(u):
        for _ in range(40):
            u[1:-1] += u[2:] + u[:-2] + 1

    u = np.zeros(3_000_000, "f4")
    jitted = warmed(stepped, u)
    in_python.clear()
    jitted(u)
    assert not in_python

    def stop(*_):
        raise StoppedError

    u[...], before = 0, signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, 0.02)
    try:
        with pytest.raises(StoppedError):
            jitted(u)
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
    right, done = np.zeros(100, "f4"), []
    for _ in range(40):
        stepped_once = right.copy()
        stepped_once[1:-1] += right[2:] + right[:-2] + 1
        right = stepped_once
        done.append(right[50])
    assert u[1_500_000] in (0, *done[:-1])


@pytest.mark.parametrize("name", ["sort", "solve", "moments"])
def test_small_operands_take_no_longer_than_twice_as_in_numpy(name, monkeypatch, unchecked):
    """Both are measured in turn: what other processes take of the cores, both lose."""
    monkeypatch.setattr(config, "check", False)
    function, arguments = PROGRAMS[name]
    jitted = warmed(function, *arguments)

    def five(call):
        return lambda: [call(*arguments) for _ in range(5)]

    assert interleaved(five(jitted), five(function), 400).ratio <= 2


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_function_goes_when_nobody_has_it(name):
    function, arguments = PROGRAMS[name]
    gc.collect()
    gc.disable()
    try:
        jitted = warmed(function, *arguments)
        ((compiled,),) = jitted._plans.values()
        gone = weakref.ref(jitted), weakref.ref(compiled.runnable.form)
        del jitted, compiled
        assert [one() for one in gone] == [None, None]
    finally:
        gc.enable()
