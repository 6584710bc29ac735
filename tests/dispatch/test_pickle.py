"""Compiled functions are pickled as plain functions are: by name, or by value where that is so."""

import copy
import inspect
import multiprocessing
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxiomError, GraphValueError
from tests.structure.sources import ROOT

X = np.arange(6.0).reshape(2, 3)
MOST_BYTES = 4096


@aj.jit
def shifted(x):
    """Docs."""
    return x * 2 + 1


class Scaler:
    """Has compiled methods."""

    def __init__(self, by):
        self.by = by

    @aj.jit
    def times(self, x):
        return x * self.by

    class Inner:
        @staticmethod
        @aj.jit
        def halved(x):
            return x / 2


def plain(x, power):
    return x if power == 1 else x**power


powers = aj.jit(plain, static_argnames="power")
by_rows = aj.jit(lambda x: x.sum(axis=1), shapes="ij->i")
NAMED = {"function": shifted, "method": Scaler.times, "inner": Scaler.Inner.halved}


def compiles():
    return aj.stats()["compiles"], aj.stats()["disk_hits"]


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", NAMED)
def test_what_a_module_has_is_pickled_by_name(name, protocol):
    raw = pickle.dumps(NAMED[name], protocol)
    assert pickle.loads(raw) is NAMED[name]
    assert len(raw) < 100 + len(__name__)
    for copied in (copy.copy, copy.deepcopy):
        assert copied(NAMED[name]) is NAMED[name]


def test_bound_methods_take_their_instance_with_them():
    again = pickle.loads(pickle.dumps(Scaler(3.0).times))
    np.testing.assert_array_equal(again(X), X * 3)
    assert again.func is Scaler.times


def test_a_function_under_another_name_is_pickled_with_its_options():
    powers.note = "kept"
    before = compiles()
    again = pickle.loads(pickle.dumps(powers))
    assert compiles() == before
    assert again is not powers
    assert again.__wrapped__ is plain
    assert (again.note, again.__name__) == ("kept", "plain")
    assert inspect.signature(again) == inspect.signature(plain)
    np.testing.assert_array_equal(again(X, power=1), X)
    np.testing.assert_array_equal(again(X, power=2), X * X)
    with pytest.raises((pickle.PicklingError, AttributeError), match="lambda"):
        pickle.dumps(by_rows)


@pytest.fixture
def cloudpickle():
    return pytest.importorskip("cloudpickle")


def closed_over(scale):
    """A compiled closure that calls another one, has a default and refers to itself."""
    inner = aj.jit(lambda x: x - scale)

    @aj.jit
    def outer(x, y=scale):
        if x.ndim > 1:
            return outer(x.reshape(-1))
        return inner(x) * y

    return outer


def test_closures_are_pickled_by_value(cloudpickle):
    function = closed_over(np.float64(3.0))
    expected = (X.reshape(-1) - 3.0) * 3.0
    np.testing.assert_array_equal(function(X), expected)
    raw = cloudpickle.dumps(function)
    before = compiles()
    again = pickle.loads(raw)
    assert compiles() == before
    assert len(raw) < MOST_BYTES
    assert again.cache_info().traced == 0
    np.testing.assert_array_equal(again(X), expected)
    assert again.cache_info().traced > 0
    inside = again.__wrapped__
    cells = zip(inside.__code__.co_freevars, inside.__closure__, strict=True)
    assert dict(cells)["outer"].cell_contents is again
    np.testing.assert_array_equal(copy.deepcopy(function)(X), expected)


def test_what_cloudpickle_imports_goes_by_name(cloudpickle):
    for function in NAMED.values():
        assert cloudpickle.loads(cloudpickle.dumps(function)) is function


def test_modules_that_cloudpickle_takes_by_value(cloudpickle):
    module = sys.modules[__name__]
    cloudpickle.register_pickle_by_value(module)
    try:
        raw = cloudpickle.dumps(shifted)
    finally:
        cloudpickle.unregister_pickle_by_value(module)
    again = pickle.loads(raw)
    assert again is not shifted
    assert (again.__doc__, again.__qualname__) == ("Docs.", "shifted")
    assert len(raw) < MOST_BYTES
    np.testing.assert_array_equal(again(X), X * 2 + 1)


def test_declared_shapes_and_strictness_are_kept(cloudpickle):
    again = pickle.loads(cloudpickle.dumps(by_rows))
    np.testing.assert_array_equal(again(X), X.sum(axis=1))
    with pytest.raises(GraphValueError, match="declared ij"):
        again(X[0])
    strict = aj.jit(lambda x: x * x.sum().item(), strict=True)
    with pytest.raises(AxiomError, match="array.item"):
        pickle.loads(cloudpickle.dumps(strict))(X)


def test_a_plain_function_that_calls_its_compiled_form(cloudpickle):
    """The compiled form is unpickled before the function has its defaults."""
    namespace = {"aj": aj, "__name__": "nowhere"}
    source = "def f(x, by=2.0):\n    return fast(x[0]) if x.ndim > 1 else x * by\nfast = aj.jit(f)"
    exec(source, namespace)
    again = pickle.loads(cloudpickle.dumps(namespace["f"]))
    fast = again.__globals__["fast"]
    assert str(inspect.signature(fast)) == "(x, by=2.0)"
    np.testing.assert_array_equal(fast(X), X[0] * 2)


def test_a_spawned_worker_runs_functions_of_a_module():
    calls = [(shifted, X), (Scaler(3.0).times, X), (Scaler.Inner.halved, X + 1)]
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        found = pool.starmap(in_worker, calls)
    for (function, x), (numbers, worker) in zip(calls, found, strict=True):
        np.testing.assert_array_equal(numbers, function(x))
        assert worker != os.getpid()


def in_worker(function, x):
    return function(x), os.getpid()


SENDER = """
import sys
import multiprocessing
import numpy as np
import axiomjit as aj

OFFSET = 5.0

@aj.jit
def shifted(x):
    return x + OFFSET

class Scaler:
    def __init__(self, by):
        self.by = by

    @aj.jit
    def times(self, x):
        return shifted(x) * self.by

    @aj.jit
    def again(self, x):
        return self.again(x[0]) if x.ndim > 1 else x * 2

if __name__ == "__main__":
    import cloudpickle

    x = np.ones((2, 3))
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        assert pool.map(shifted, [x])[0].tolist() == shifted(x).tolist() == (x + 5).tolist()
        assert pool.map(Scaler(3.0).times, [x])[0].tolist() == (x * 18).tolist()
    scaler = Scaler(2.0)
    sent = shifted, aj.jit(lambda x: shifted(x) - 1), scaler.times, scaler.again
    for function in sent:
        function(x)
    sizes = [len(cloudpickle.dumps(f)) for f in sent]
    assert max(sizes) < 4096, sizes
    sys.stdout.write(cloudpickle.dumps(sent).hex())
"""
RECEIVER = """
import pickle, sys
import numpy as np
functions = pickle.loads(bytes.fromhex(sys.stdin.read()))
import axiomjit
assert axiomjit.stats()["compiles"] == axiomjit.stats()["disk_hits"] == 0
assert "numba" not in sys.modules and "axiomjit.passes" not in sys.modules
x = np.ones((2, 3))
expected = x + 5, x + 4, x * 12, x[0] * 2
for function, wanted in zip(functions, expected, strict=True):
    assert function(x).tolist() == wanted.tolist()
assert functions[0] is functions[1].__wrapped__.__globals__["shifted"]
"""


def test_functions_of_a_program_go_to_workers_and_to_processes_that_do_not_have_them(
    cloudpickle, tmp_path
):
    script = tmp_path / "sender.py"
    script.write_text(SENDER)
    environment = os.environ | {"PYTHONPATH": str(ROOT)}

    def run(*command, text=""):
        done = subprocess.run(
            [sys.executable, *command],
            input=text,
            env=environment,
            capture_output=True,
            text=True,
            timeout=120,
            cwd=tmp_path,
        )
        assert (done.returncode, done.stderr) == (0, "")
        return done.stdout

    run("-c", RECEIVER, text=run(str(script)))
