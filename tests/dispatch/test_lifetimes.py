"""Compiled functions keep no argument and no result; what they captured lives as long as they."""

import functools
import gc
import pickle
import warnings
import weakref

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxiomError, FallbackWarning
from tests.dispatch.lifetimes import bytes_left_by, left_by

LENGTH = 100_000
BYTES = 8 * LENGTH
H = aj.make_axis(LENGTH, "H")


def ones():
    return np.ones(LENGTH)


@aj.jit
def double(x):
    return x * 2


@aj.jit
def parts(x):
    return {"all": x, "some": (x[::2], x + 1)}


@aj.jit
def scaled(x, by):
    return x * by.scale


@aj.jit
def applied(function, other, x):
    return function(x) + other.scale


@functools.partial(aj.jit, static_argnames="by")
def named_static(x, by=None):
    return x if by is None else x + by.scale


class Scale:
    """A static argument, told apart by identity."""

    def __init__(self, size=LENGTH):
        self.scale = np.full(size, 3.0)

    @aj.jit
    def times(self, x):
        return self.scale * x

    @aj.jit
    def itself(self, x):
        return self, x


def arguments(watch):
    watch(double(watch(ones())))
    watch(double(watch(np.ones(2 * LENGTH))[::-2]))
    watch(double(watch(np.zeros(8 * LENGTH + 1, np.uint8)[1:].view(np.float64))))
    watch(double(x=watch(ones())))


def views_of_arguments(watch):
    result = parts(watch(ones()))
    watch(result["all"])
    watch(result["some"][0])


def captured(watch):
    kept = watch(ones())
    held = [watch(ones())]
    bound = watch(ones())
    function = watch(aj.jit(lambda x, more=bound: x + kept + held[0] + more[0]))
    watch(function(watch(ones())))


def looked_at(watch):
    kept = watch(ones())
    function = watch(aj.jit(lambda x: np.sum(x * kept)))
    lowered = watch(function.lower(ones()))
    assert lowered.source
    assert lowered.cost.flops
    assert str(watch(function.explain(ones())))


def nested(watch):
    kept = watch(ones())
    inner = watch(aj.jit(lambda x: x + kept))
    outer = watch(aj.jit(lambda x: inner(x) * 2))
    watch(outer(watch(ones())))


def refused(watch):
    kept = watch(ones())
    function = watch(aj.jit(lambda x: x + kept, strict=True))
    for wrong in (np.ones(7), np.array(["a"] * LENGTH), np.ma.ones(LENGTH)):
        with pytest.raises((AxiomError, TypeError)) as caught:
            function(watch(wrong))
        del caught


def refused_strictly(watch):
    function = watch(aj.jit(lambda x: x * x.sum().item(), strict=True))
    with pytest.raises(AxiomError) as caught:
        function(watch(ones()))
    del caught


def run_in_numpy(watch):
    kept = watch(ones())
    function = watch(aj.jit(lambda x: x + kept if x[0] > 0 else kept))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        watch(function(watch(ones())))
    watch(function(watch(ones())))


def trapped(watch):
    with np.errstate(all="raise"):
        watch(double(watch(ones())))


def with_axes(watch):
    named = aj.NamedArray(watch(ones()), [H])
    watch(double(named).values)
    kept = watch(aj.variable([H], initial_value=ones()))
    function = watch(aj.jit(lambda x: x + kept))
    watch(function(named).values)


def method(watch):
    owner = watch(Scale())
    watch(owner.scale)
    watch(owner.times(watch(ones())))
    assert owner.times.lower(ones()).source


def static_argument(watch):
    by = watch(Scale())
    watch(by.scale)
    watch(scaled(watch(ones()), by))
    watch(named_static(ones(), by=by))


def several_static_arguments(watch):
    kept = watch(ones())
    other = watch(Scale())
    watch(applied(watch(lambda x: x * kept), other, ones()))
    watch(applied(watch(lambda x: x * kept[0]), other, ones()))


def static_argument_of_a_named_call(watch):
    by = watch(Keeper(watch(aj.constant(ones(), [H]))))
    watch(by.scale.node.array)
    watch(scaled(aj.NamedArray(ones(), [H]), by).values)


class Keeper:
    """Keeps a tensor to scale by."""

    def __init__(self, scale):
        self.scale = scale


def pickled(watch):
    watch(pickle.loads(pickle.dumps(double))(watch(ones())))


PROGRAMS = [
    arguments,
    views_of_arguments,
    captured,
    looked_at,
    nested,
    refused,
    refused_strictly,
    run_in_numpy,
    trapped,
    with_axes,
    method,
    static_argument,
    several_static_arguments,
    static_argument_of_a_named_call,
    pickled,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_all_that_a_program_makes_is_freed(program):
    assert left_by(program) == ([], {})
    assert bytes_left_by(program) < BYTES / 2


def test_without_a_compiler_nothing_is_kept_either(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    for program in (arguments, captured, method, with_axes):
        assert left_by(program) == ([], {})


def test_a_method_that_returns_its_instance_does_not_keep_it():
    owner = Scale()
    seen = weakref.ref(owner)
    assert owner.itself(np.ones(3))[0] is owner
    del owner
    gc.collect()
    assert seen() is None


class Labelled:
    """Two of them look alike."""

    def __init__(self, number):
        self.number = number

    def __repr__(self):
        return "Labelled"


class Equal(Labelled):
    """Told apart by value: a new one of an old number is the old one."""

    def __eq__(self, other):
        return isinstance(other, Equal) and other.number == self.number

    def __hash__(self):
        return hash(self.number)


class Unhashable(Labelled):
    """Equal to everything, and without a hash."""

    def __eq__(self, other):
        return True


AXIS = aj.make_axis(5, "axis")
CALLS = {"arrays": lambda: np.ones(5), "named": lambda: aj.NamedArray(np.ones(5), [AXIS])}


@pytest.mark.parametrize("kind", CALLS)
def test_static_arguments_are_told_apart_by_what_they_are(kind):
    function = aj.jit(lambda x, by: x * by.number)
    values = CALLS[kind]()
    for number in (1, 2, 1):
        assert np.asarray(function(values, Labelled(number))).tolist() == [number] * 5
        assert np.asarray(function(values, Equal(number))).tolist() == [number] * 5
        assert np.asarray(function(values, Unhashable(number))).tolist() == [number] * 5
    one, method = Labelled(3), Labelled(4)
    scale = aj.jit(lambda x, get: x * len(get()))
    assert np.asarray(scale(values, one.__repr__)).tolist() == [8] * 5
    assert np.asarray(scale(values, method.__repr__)).tolist() == [8] * 5


def test_numbers_beside_named_arrays_are_told_apart_by_all_their_digits():
    function = aj.jit(lambda x, by: x * by)
    for number in (0.1234567890123, 0.1234567890124):
        for kind in (float, np.float64, np.array):
            assert np.asarray(function(CALLS["named"](), kind(number)))[0] == number


@pytest.mark.parametrize("kind", CALLS)
def test_programs_of_static_arguments_that_are_gone_are_dropped(kind):
    function = aj.jit(lambda x, by: x * by.number)
    values, alive = CALLS[kind](), Labelled(0)
    for number in range(5):
        function(values, Labelled(number))
        function(values, alive)
        function(values, alive.__repr__.__self__)
    assert len(function._plans) == len(function._programs) == 1
    died = weakref.ref(alive)
    del alive
    assert died() is None
    assert kind == "arrays" or not (function._plans or function._programs)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_threads_may_drop_static_arguments_while_others_call():
    import threading

    function = aj.jit(lambda x, by: x * by.number)
    failed = []

    def work(k):
        try:
            for number in range(k, k + 15):
                assert function(np.ones(3), Labelled(number)).tolist() == [number] * 3
        except Exception as error:  # shown by the test
            failed.append(error)

    workers = [threading.Thread(target=work, args=(100 * k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failed
    assert function._programs.count() <= 2
