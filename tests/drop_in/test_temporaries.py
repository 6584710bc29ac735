"""Operators that run at once use the memory of operands that die, and of no others."""

import functools
import operator
import tracemalloc
from unittest.mock import patch

import numpy
import pytest

import axiomjit.numpy as lazy_numpy
from axiomjit.numpy import programs, temporaries
from axiomjit.numpy.segments import look
from tests.drop_in.worlds import fresh_paths
from tests.programs.peak_memory import GOAL, PROGRAMS

N = 2**16
"""Doubles of an array whose memory NumPy uses again."""
BESIDE = 2**16
"""Bytes that are no arrays."""


def arrays(np):
    return np.linspace(0.0, 1.0, N), np.linspace(2.0, 3.0, N)


def chain(np, x, y):
    return (x * 2 + y) * 0.5 - x


def reflected(np, x, y):
    return 0.25 * (2.0 * x + y) * (x - y)


def called(np, x, y):
    return np.sqrt(x) * 3.0 + np.floor(y * 8.0) - x


def several_lines(np, x, y):
    return (
        (x - y) * 0.5
        + x
        - 1.0
    ) / 3.0  # fmt: skip


def taken_bytes(run, np, x, y):
    """The most bytes that a function's arrays take beside its arguments, and its result."""
    tracemalloc.start()
    try:
        found = run(np, x, y)
        return tracemalloc.get_traced_memory()[1], found
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("run", [chain, reflected, called, several_lines])
def test_operations_take_the_memory_that_they_take_in_numpy(run):
    most, expected = taken_bytes(run, numpy, *arrays(numpy))
    with fresh_paths(1, 200):
        x, y = arrays(lazy_numpy)
        taken, found = taken_bytes(run, lazy_numpy, x, y)
        assert (look(found) == expected).all()
        assert (look(x) == arrays(numpy)[0]).all()
    assert taken <= most + BESIDE


class Held:
    """An object with two methods for an operator that keeps its operand."""

    def __radd__(self, other):
        self.other = other
        return other


def in_objects(x, y):
    objects = numpy.empty(2, object)
    objects[0], objects[1] = x * 2, x * 3  # held by the container alone
    kept = objects + 1.0
    return [*objects, *kept]


def in_list(x, y):
    several = [x * 2, y * 2]
    return [functools.reduce(operator.add, several), sum(several), *several]


def by_name(x, y):
    t = x * 2
    return [t + y, (u := x * 3) + y, t, u, (t if len(t) else x * 2) + y]


def twice(x, y):
    return [(t := x * 2) - t, operator.add(x * 2, y), (lambda a: [a + y, a])(x * 4)[1]]


def behind_a_jump(x, y):
    t = x * 2
    return [((x * 3) if k else t) + y for k in range(2)] + [t]


def by_another_class(x, y):
    held = Held()
    result = x * 2 + held
    return [result + y, held.other]


@pytest.mark.parametrize(
    "run", [in_objects, in_list, by_name, twice, behind_a_jump, by_another_class]
)
def test_values_that_somebody_holds_stay(run):
    expected = run(*arrays(numpy))
    with fresh_paths(1, 200):
        found = run(*arrays(lazy_numpy))
        for one, plain in zip(found, expected, strict=True):
            assert (numpy.asarray(one) == plain).all()


def test_operands_of_callers_in_c_would_be_lost():
    with (
        patch.object(temporaries, "_is_made_by", lambda *_: True),
        pytest.raises(RuntimeError, match="broken off"),
    ):
        test_values_that_somebody_holds_stay(in_objects)


def test_errors_are_numpys():
    with fresh_paths(1, 200):
        x, y = arrays(lazy_numpy)
        with pytest.raises(ValueError, match="could not be broadcast"):
            (x * 2) + y[1:]
        assert (look((x * 2) + y) == arrays(numpy)[0] * 2 + arrays(numpy)[1]).all()


TEXT = """\
def segment(v0, v3):
    v6 = (((v0 * 2) + v3) * 0.5) - v0
    del v0, v3
    v6[1:-1] = ((v6[2:]) + (v6[:-2]))
    v10 = v6[::2]
    v10 *= 2.0
    v6[::2] = v10
    del v10
    return (v6,)
"""


def test_texts_for_numpy_nest_what_is_read_once():
    made = []
    function = programs._function

    def kept(text, functions):
        made.append(text)
        return function(text, functions)

    with fresh_paths(1, 200), patch.object(programs, "_function", kept):
        x, y = arrays(lazy_numpy)
        for _ in range(3):
            unused = x * 3.0
            del unused
            z = chain(lazy_numpy, x, y)
            z[1:-1] = z[2:] + z[:-2]
            z[::2] *= 2.0
            look(z)
    assert made[-1] == TEXT


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_take_the_memory_that_they_take_in_numpy(name):
    def run(np, x, y):
        for _ in range(3):
            PROGRAMS[name](np, N, 4)

    most, _ = taken_bytes(run, numpy, None, None)
    run(lazy_numpy, None, None)  # makes kernels of one operation
    with fresh_paths(1, 200):
        taken, _ = taken_bytes(run, lazy_numpy, None, None)
    assert taken <= GOAL * most + 16 * BESIDE


def test_functions_may_have_a_parameter_of_any_name():
    made = lazy_numpy.fromfunction(function=lambda i, j: i + j, shape=(80, 80))
    assert (numpy.asarray(made) == numpy.add.outer(numpy.arange(80), numpy.arange(80))).all()
