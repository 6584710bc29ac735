"""`cache_info()` says of every trace why it was made."""

import sys
import threading

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning, NeedsValuesError
from axiomjit.dispatch.retrace_reasons import MAX_REASONS, RetraceReasons

X = np.arange(8.0)
FIRST = (X, 2.0, "a")


class Scale:
    def __init__(self, by):
        self.by = by


def function(x, y, how):
    return x * y


CALLS = {
    "argument x: dtype float32, was float64": (X.astype("f4"), 2.0, "a"),
    "argument x: number of dimensions 2, was 1": (np.ones((8, 9)), 2.0, "a"),
    "argument x: shape class (3,), was (n0,)": (X[:3], 2.0, "a"),
    "argument x: layout class of strides (t1,), was (1,)": (np.ones(16)[::2], 2.0, "a"),
    "argument x: layout class of strides (-1,), was (1,)": (X[::-1], 2.0, "a"),
    "argument x: a NumPy scalar, was an array": (np.float64(2), 2.0, "a"),
    "argument x: a float, was an array": (2.5, 2.0, "a"),
    "argument y: an int, was a float": (X, 2, "a"),
    "argument y: a complex, was a float": (X, 2j, "a"),
    "argument y: an array, was a float": (X, X, "a"),
    "static argument how='b', was 'a'": (X, 2.0, "b"),
    "static argument how=None, was 'a'": (X, 2.0, None),
    "static argument how=an instance of Scale, was 'a'": (X, 2.0, Scale(1)),
    "argument x: dtype float32, was float64; static argument how='b', was 'a'": (
        *(X.astype("f4"), 2.0),
        "b",
    ),
}


@pytest.mark.parametrize("reason", CALLS)
def test_the_argument_that_differs(reason):
    jitted = aj.jit(function)
    jitted(*FIRST)
    jitted(X + 1, 3.0, "a")
    jitted(*CALLS[reason])
    jitted(*CALLS[reason])
    assert jitted.cache_info().reasons == ("first call", reason)
    assert jitted.cache_info().traced == 2


def test_the_known_call_that_is_most_alike():
    jitted = aj.jit(function)
    for args in (FIRST, (X.astype("f4"), 2.0, "a"), (X, 2, "b"), (X.astype("f4"), 2, "b")):
        jitted(*args)
    reasons = jitted.cache_info().reasons
    assert reasons[2] == "argument y: an int, was a float; static argument how='b', was 'a'"
    assert reasons[3] == "argument x: dtype float32, was float64"


def test_an_object_with_other_attributes():
    jitted = aj.jit(lambda x, scale: x * scale.by)
    one, other = Scale(2), Scale(3)
    for scale in (one, other):
        jitted(X, scale)
    one.by = 4
    jitted(X, one)
    assert jitted.cache_info().reasons[1:] == ("no longer scale.by == 2",)  # an argument now
    assert jitted.cache_info().traced == 2


def test_lengths_that_the_function_looks_at():
    jitted = aj.jit(lambda x: x.sum() if len(x) > 20 else x.max())
    jitted(X)
    jitted(np.arange(30.0))
    (reason,) = jitted.cache_info().reasons[1:]
    assert reason.startswith("lengths: n0")
    assert reason.endswith(("is True, was False", "is False, was True"))


def test_an_array_from_outside_that_lies_otherwise():
    captured = np.arange(8.0)
    jitted = aj.jit(lambda x: x + captured)
    jitted(X)
    captured.shape = (8, 1)
    jitted(X)
    assert jitted.cache_info().reasons[1].startswith("array from outside changed")


def test_entries_of_containers_and_arguments_left_out():
    jitted = aj.jit(lambda pair, z=1.0: pair[0] * pair[1] + z)
    jitted((X, X + 1))
    jitted((X, X.astype("f4")))
    jitted((X, X + 1), 2.0)
    assert jitted.cache_info().reasons[1:] == (
        "array from outside changed: dtype, lengths or layout of pair[0] or pair[1]",
        "argument z: given, was not before",
    )


def test_named_arrays():
    h, w = aj.make_axis(8, name="H"), aj.make_axis(8, name="W")
    jitted = aj.jit(lambda x, by: x * by)
    jitted(aj.NamedArray(X, [h]), 2)
    jitted(aj.NamedArray(X, [h]), 3)
    jitted(aj.NamedArray(X, [w]), 3)
    first, second, third = jitted.cache_info().reasons
    assert (first, second) == ("first call", "argument by=3, was 2")
    assert third.startswith("argument x: axes ")


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_reasons_are_bounded(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    jitted = aj.jit(lambda x, n: x + len(n))
    for n in range(MAX_REASONS + 10):
        jitted(X, "-" * (n + 1))
    assert len(jitted.cache_info().reasons) == MAX_REASONS
    assert jitted.cache_info().traced == MAX_REASONS + 10


class Slow(str):
    """A text that takes its time to be compared."""

    def __eq__(self, other):
        return all(str.__eq__(self, other) for _ in range(20))

    __hash__ = str.__hash__


def test_threads_may_add_reasons_while_others_compare_them():
    reasons, failed, interval = RetraceReasons(), [], sys.getswitchinterval()

    def work(k):
        try:
            for number in range(300):
                reasons.add({f"argument {k}": ((": ", Slow(number), f"{k}.{number}"),)})
        except RuntimeError as error:  # shown by the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    sys.setswitchinterval(1e-5)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert not failed
    assert len(reasons.texts) == MAX_REASONS


def by_cause(function):
    """The calls of a function that NumPy ran, and why, by cause."""
    return {one.cause: (one.calls, one.reason) for one in function.cache_info().in_numpy}


def in_part(x, y):
    x[1:] += y[:-1]


def asking(x):
    return x * x.sum().item()


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_calls_in_numpy_are_counted_by_cause():
    before, x = aj.stats()["fallbacks"], np.ones(5)
    whole = aj.jit(asking)
    for _ in range(3):
        whole(x)
    ((calls, reason),) = by_cause(whole).values()
    assert calls == 3
    assert "values by array.item" in reason
    assert repr(whole).startswith("<jit asking, 0 programs, 3 calls in NumPy: an array's values by")
    assert aj.stats()["fallbacks"] == before + 3

    written = aj.jit(in_part)
    for _ in range(4):
        written(x.copy(), x)
    written(x, x[::-1])
    with np.errstate(over="raise"):
        written(x.copy(), x)
    found = by_cause(written)
    assert {cause: calls for cause, (calls, _) in found.items()} == {
        "written arguments": 1,
        "error states": 1,
    }
    assert "overlaps another one" in found["written arguments"][1]
    assert repr(written) == (
        f"<jit in_part, {written.cache_info().traced} programs, 2 calls in NumPy: "
        "np.errstate or np.seterr traps errors around the call>"
    )
    assert aj.stats()["fallbacks"] == before + 5


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_calls_of_other_lengths_are_counted():
    chosen, before = aj.jit(lambda x, y: x[x > 0] * y), aj.stats()["fallbacks"]
    for given in (np.ones(3), np.array([1.0, 0.0, 0.0]), np.ones(3), np.array([0.0, 1.0, 0.0])):
        chosen(given, np.ones(3))
    (found,) = chosen.cache_info().in_numpy
    assert (found.cause, found.calls) == ("lengths", 2)
    assert "m0 = 1" in found.reason
    assert aj.stats()["fallbacks"] == before + 2
    with pytest.raises(ValueError, match="broadcast"):
        chosen(np.ones(4), np.ones(3))
    assert by_cause(chosen).keys() == {"lengths", "errors"} or by_cause(chosen)["lengths"][0] == 3


def test_functions_in_numpy_have_no_program_to_show():
    for function, said in (
        (asking, "values by array.item"),
        (lambda x: x[x > 0].reshape(2, 2, -1)[:, 5], "every number of elements that a mask"),
    ):
        jitted = aj.jit(function)
        with pytest.raises(NeedsValuesError, match=rf"test_reasons.py:\d+: .*{said}"):
            jitted.lower(np.ones(4))
        assert said in str(jitted.explain(np.ones(4)))
        assert jitted.cache_info().in_numpy == ()


def test_disabled_calls_are_counted_apart(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    before, doubled = aj.stats()["fallbacks"], aj.jit(lambda x: x * 2)
    doubled(np.ones(3))
    doubled(np.ones(3))
    assert by_cause(doubled) == {"disabled": (2, "config.disable is set")}
    assert aj.stats()["fallbacks"] == before


def test_methods_of_instances_have_counts():
    class Layer:
        @aj.jit
        def scaled(self, x):
            return x * 2

        @aj.jit
        def text(self, x):
            return x.tobytes()

    one, other = Layer(), Layer()
    one.scaled(np.ones(3))
    other.scaled(np.ones(3))
    assert one.scaled.cache_info() == Layer.scaled.cache_info()
    with pytest.warns(FallbackWarning):
        one.text(np.ones(3))
    other.text(np.ones(3))
    assert [(c.cause, c.calls) for c in one.text.cache_info().in_numpy] == [("whole function", 2)]
    assert "2 calls in NumPy" in repr(one.text)
