"""What gives something else at each call is not asked once for all calls: NumPy runs it."""

import datetime
import os
import secrets
import time
import uuid
from datetime import datetime as Moment
from time import perf_counter as clock

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, ImpureError, NeedsValuesError

X = np.arange(5.0)
started = time.time


def reads(x):
    with open(__file__, encoding="utf-8") as file:
        return x + len(file.readline())


def helper():
    return time.monotonic()


def closure():
    ask = time.process_time
    return lambda x: x * 0 + ask()


def default(x, ask=time.perf_counter_ns):
    return x + ask()


ASKED = {
    "time.time": lambda x: x + time.time(),
    "time.perf_counter": lambda x: x + clock(),
    "time.monotonic": lambda x: x + helper(),
    "time.process_time": closure(),
    "time.perf_counter_ns": default,
    "time.sleep": lambda x: (time.sleep(0), x)[1],
    "datetime.now": lambda x: x + Moment.now().microsecond,
    "datetime.utcnow": lambda x: x + datetime.datetime.utcnow().microsecond,
    "date.today": lambda x: x + datetime.date.today().year,
    "open": reads,
    "os.urandom": lambda x: x + os.urandom(1)[0],
    "uuid.uuid4": lambda x: x + uuid.uuid4().int % 7,
    "secrets.randbelow": lambda x: x + secrets.randbelow(9),
    "numpy.loadtxt": lambda x: x + np.loadtxt(["1"]),
    "numpy.random.RandomState": lambda x: x + np.random.RandomState().rand(),
    "numpy.random.PCG64": lambda x: x + np.random.Generator(np.random.PCG64()).random(),
    "numpy.random.SeedSequence": lambda x: x + np.random.SeedSequence(None).entropy % 7,
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", ASKED)
def test_it_is_refused_with_the_line(name):
    with pytest.raises(ImpureError, match="followed once for all calls") as caught:
        axiomjit.jit(ASKED[name], strict=True)(X)
    assert caught.value.asked.startswith(name)
    assert "test_impure.py:" in caught.value.where
    assert isinstance(caught.value, NeedsValuesError)


def test_numpy_runs_it_at_each_call():
    f = axiomjit.jit(lambda x: x + time.perf_counter())
    before = axiomjit.stats()["fallbacks"]
    with pytest.warns(FallbackWarning, match=r"time\.perf_counter in a function"):
        first = f(X)
    assert (f(X) > first).all()
    assert axiomjit.stats()["fallbacks"] == before + 2
    assert "in NumPy" in repr(f)


def test_what_a_function_catches_is_refused_too():
    def function(x):
        try:
            return x + time.time()
        except NeedsValuesError:
            return x

    with pytest.raises(ImpureError, match=r"time\.time"):
        axiomjit.jit(function, strict=True)(X)


PURE = {
    "a moment": lambda x: x + Moment(2020, 5, 1).year + isinstance(Moment(2020, 1, 1), Moment),
    "its class": lambda x: x + issubclass(Moment, datetime.date) + (Moment.min.year == Moment.now),
    "another clock": lambda x: x + len(time.strftime("%Y", (2020,) + (1,) * 8)),
    "names of files": lambda x: x + len(os.path.join("a", "b")),
    "seeds": lambda x: x + np.random.RandomState(3).rand() + np.random.PCG64(4).random_raw() % 9,
    "a name": lambda x: x + len(("open", "time")),
}


@pytest.mark.parametrize("name", PURE)
def test_what_is_the_same_at_each_call_is_compiled(name):
    f = axiomjit.jit(PURE[name], strict=True)
    np.testing.assert_allclose(f(X), PURE[name](X), rtol=1e-15)
    assert f.cache_info().traced == 1


def test_names_of_the_module_stay_as_they_are():
    kept = time.time, Moment, open
    f = axiomjit.jit(ASKED["open"])
    with pytest.warns(FallbackWarning, match="open in a function"):
        np.testing.assert_array_equal(f(X), reads(X))
    assert (time.time, Moment, open) == kept
    assert "open" not in globals()
    assert isinstance(time.time(), float)
    assert started is time.time
