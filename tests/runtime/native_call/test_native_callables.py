"""What is called, natively or in Python: functions, methods, computations, products."""

import copy
import functools
import inspect
import os
import pickle
import resource
import subprocess
import sys
import weakref

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.runtime.native_call.native_entry import refusal

WAYS = ("auto", "portable")
RNG = np.random.default_rng(7)
X, Y = RNG.random((4, 6)), RNG.random((4, 6))
WARM = 4
pytestmark = pytest.mark.skipif(refusal() != "", reason="this process has no native entry")
same = np.testing.assert_array_equal


@pytest.fixture(params=WAYS, autouse=True)
def way(request, monkeypatch):
    monkeypatch.setattr(config, "entry", request.param)
    return request.param


@aj.jit
def named_function(x, y):
    """Docs."""
    return x * y


class Scaler:
    def __init__(self, by):
        self.by = by

    @aj.jit
    def times(self, x):
        return x * self.by


def test_a_compiled_function_is_a_function():
    jitted = named_function
    for _ in range(WARM):
        same(jitted(X, Y), X * Y)
    assert jitted.__name__ == "named_function"
    assert jitted.__doc__ == "Docs."
    assert str(inspect.signature(jitted)) == "(x, y)"
    assert isinstance(jitted, type(aj.jit(lambda x: x)))
    assert repr(jitted) == "<jit named_function, 1 program>"
    assert pickle.loads(pickle.dumps(jitted)) is jitted
    assert weakref.ref(jitted)() is jitted
    same(copy.copy(jitted)(X, Y), X * Y)
    same(functools.partial(jitted, X)(Y), X * Y)
    same(aj.jit(jitted)(X, Y), X * Y)
    assert "kernel" in str(jitted.explain(X, Y))
    assert jitted.lower(X, Y).cost.temporary_bytes == 0
    outer = aj.jit(lambda x, y: jitted(x, y) + 1)
    for _ in range(WARM):
        same(outer(X, Y), X * Y + 1)


def test_methods():
    two, three = Scaler(2), Scaler(3)
    for _ in range(WARM):
        same(two.times(X), X * 2)
        same(three.times(X), X * 3)
        same(Scaler.times(two, X), X * 2)
    two.by = 5
    same(two.times(X), X * 5)


def test_a_function_that_falls_back_runs_in_numpy_from_then_on():
    @aj.jit
    def function(x):
        if x.ndim == 2 and x[0, 0].item() > 100:
            return x
        return x * 2

    for _ in range(WARM):
        same(function(X[0]), X[0] * 2)
    with pytest.warns(aj.errors.FallbackWarning, match=r"array\.item"):
        function(X)
    hits = function.hits_natively[0]
    for _ in range(WARM):
        same(function(X[0]), X[0] * 2)
    assert function.hits_natively[0] == hits


H, W = aj.make_axis(4, name="H"), aj.make_axis(6, name="W")


def computation(outputs, *given):
    return aj.transformers.make_transformer().computation(outputs, *given)


def placeholders():
    return aj.placeholder([H, W], dtype="f8"), aj.placeholder([H, W], dtype="f8")


def test_computations(way):
    a, b = placeholders()
    held = aj.constant(Y, [H, W])
    programs = {
        "one": (computation(a * b + 1, a, b), lambda x, y: x * y + 1),
        "list": (computation([a * b, a - b], a, b), lambda x, y: (x * y, x - y)),
        "constant": (computation(a * held - b, a, b), lambda x, y: x * Y - y),
        "sum": (computation(aj.sum(a * b), a, b), lambda x, y: np.asarray((x * y).sum())),
    }
    for run, want in programs.values():
        for x, y in [(X, Y)] * WARM + [(Y, X), (X[::-1], Y), (X.astype("f4"), Y), (X, Y)]:
            got, expected = run(x, y), want(x, y)
            np.testing.assert_allclose(got, expected, rtol=1e-12)
            assert type(got) is type(expected)
        assert (run.hits_natively[0] > 0) == (way == "auto")
        with pytest.raises(aj.errors.AxiomError, match="shape"):
            run(X[:2], Y)
        with pytest.raises(aj.errors.AxiomError, match="a call with 1 argument"):
            run(X)


def test_how_computations_are_called():
    a, b = placeholders()
    run = computation(a * b, a, b)
    for _ in range(WARM):
        run(X, Y)
        assert str(inspect.signature(run)).startswith("(*arguments: 'object', feed_dict")
    with pytest.raises(TypeError, match="feed"):
        run(X, Y, feed=1)


def test_computations_that_write_or_have_names_go_the_long_way():
    a, b = placeholders()
    run = aj.transformers.make_transformer().computation(a * b, a, b, named=True)
    for _ in range(WARM):
        np.testing.assert_array_equal(np.asarray(run(X, Y)), X * Y)
        assert isinstance(run(X, Y), aj.NamedArray)
    fed = computation({a * b}, a, b)
    for _ in range(WARM):
        (value,) = fed(feed_dict={a: X, b: Y}).values()
        np.testing.assert_array_equal(value, X * Y)
        (value,) = fed(X, Y).values()
        np.testing.assert_array_equal(value, X * Y)


@pytest.mark.parametrize("shape", [(3,), (3, 3)])
def test_products_of_small_matrices(shape, way):
    left, right = RNG.random((3, 3)), RNG.random(shape)
    jitted = aj.jit(lambda a, b: a @ b)
    for a, b in [(left, right)] * WARM + [(left.T, right), (left, right[::-1]), (left, right)]:
        np.testing.assert_allclose(jitted(a, b), a @ b, rtol=1e-13)
    assert (jitted.hits_natively[0] > 0) == (way == "auto")
    inner = aj.jit(lambda a, b: a @ b)
    for _ in range(WARM):
        got = inner(left[0], left[1])
        assert type(got) is np.float64
        np.testing.assert_allclose(got, left[0] @ left[1], rtol=1e-13)


def test_resident_memory_stays_flat():
    jitted = aj.jit(lambda x, by: (x * by, (x + by).max()))
    product = aj.jit(lambda a, b: a @ b)
    a, b = placeholders()
    run = computation([a * b, a + b], a, b)

    def calls(times):
        for _ in range(times):
            jitted(X, 2.0)
            jitted(X, by=3)
            product(X, Y.T)
            run(X, Y)

    calls(2000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    calls(10_000)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 1000  # kB


def test_the_environment_chooses_the_way(way):
    code = (
        "import numpy as np, axiomjit as aj\n"
        "f, x = aj.jit(lambda x: x + 1), np.ones(3)\n"
        "for _ in range(4): f(x)\n"
        "print(aj.config.entry, f.hits_natively[0], f.cache_info().hits)"
    )
    environment = {**os.environ, "AXIOMJIT_ENTRY": way}
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True
    )
    assert done.stdout.split() == [way, {"auto": "2", "portable": "0"}[way], "3"]
