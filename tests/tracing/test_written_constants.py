"""Arrays of known values that a function makes, and then writes traced values into."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError

X = np.linspace(1.0, 2.0, 5)
OUTSIDE = np.arange(5.0)


def written(made, x):
    made[1:3] = x[1:3]
    return made


def viewed(x):
    made = np.arange(12.0).reshape(3, 4)
    row, column = made[1], made.T[2]
    row += x[:4]
    column[0] = x[0] * 2
    return made, row * 1, column + made[0, 0]


def by_functions(x):
    made, other, third = np.arange(5.0), np.eye(3), np.linspace(0, 1, 4)
    np.add.at(made, [0, 0, 2], x[:3])
    np.copyto(other[1], x[:3])
    np.put(other, [0, 4], x[:2])
    np.maximum(third, x[:4], out=third)
    fourth = np.arange(3.0)
    fourth.fill(x[0])
    fifth = np.array([[1.0, 2.0], [3.0, 4.0]])
    np.fill_diagonal(fifth, x[:2])
    return made, other, third, fourth, fifth


def looped(x):
    made = np.eye(4)
    for i in range(3):
        made[i + 1 :, i] = made[i, i + 1 :] = x[i] * x[i + 1 : 4].sum()
    return made


def several(x):
    first, second = np.arange(5), np.tile([1.0, 2.0], 3)
    first[2:4] = x[2:4] * 10
    second[first[:2]] = x[:2]
    return first + second[:5], second


def twice(x):
    def made():
        return np.array([1.0, 2.0, 3.0])

    one, other = made(), made()
    one *= x[0]
    other[:2] -= x[:2]
    return one, other, made()


def chosen(x):
    made = np.arange(5.0)
    made[x > 1.4] = 7
    made[[0, 1]] = x[:2]
    made[np.argmax(x)] = 0.5
    return made


PROGRAMS = {
    "array": lambda x: written(np.array([1.0, 2, 3, 4]), x),
    "a list": lambda x: written(np.asarray([1.0, 2, 3]), x),
    "arange": lambda x: written(np.arange(5.0), x),
    "integers": lambda x: written(np.arange(5), x),
    "linspace": lambda x: written(np.linspace(0, 1, 5), x),
    "eye": lambda x: written(np.eye(5), x[:, None]),
    "computed": lambda x: written(np.arange(5.0) * 2 + 1, x),
    "a copy": lambda x: written(np.arange(5.0).copy(), x),
    "a method": lambda x: written(np.arange(6).astype("f4").reshape(6), x),
    "one of several": lambda x: written(np.meshgrid(OUTSIDE, OUTSIDE)[1], x[:, None]),
    "bytes": lambda x: written(np.frombuffer(bytes(40)).copy(), x),
    "from outside": lambda x: written(OUTSIDE * 2, x),
    "returned as it is": lambda x: (np.arange(3.0), written(np.ones(5) * 2, x)),
    "used as an index": lambda x: (x[np.arange(3)], written(np.arange(5.0), x)),
    "viewed": viewed,
    "by functions": by_functions,
    "looped": looped,
    "several": several,
    "twice": twice,
    "chosen": chosen,
}


def leaves(value):
    return value if isinstance(value, tuple) else (value,)


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_are_compiled(name):
    function = PROGRAMS[name]
    f, before = axiomjit.jit(function, strict=True), OUTSIDE.copy()
    for x in (X, X * 2, X[::-1].copy()):
        for one, other in zip(leaves(f(x)), leaves(function(x)), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_allclose(one, other, rtol=1e-14)
    assert f.cache_info().traced == 1
    np.testing.assert_array_equal(OUTSIDE, before)


def test_results_are_new_in_each_call():
    f = axiomjit.jit(lambda x: written(np.arange(5.0), x))
    first = f(X)
    first[:] = 0
    np.testing.assert_array_equal(f(X), [0, X[1], X[2], 3, 4])


def decides(x):
    made = np.arange(5.0)
    made[0] = x[0]
    return made * 2 if made[0].item() > 1 else made


def outside(x):
    OUTSIDE[1:3] = x[1:3]
    return OUTSIDE * 2


class Holder:
    """Has an array where nothing looks for it."""

    __slots__ = ("array",)


HOLDER = Holder()
HOLDER.array = OUTSIDE


def outside_as_it_is(x):
    same = np.asarray(HOLDER.array)
    same[1:3] = x[1:3]
    return same * 2


def outside_in_a_list(x):
    same, _ = np.atleast_1d(HOLDER.array, np.arange(3.0))
    same += x
    return same * 2


def outside_as_out(x):
    same = np.add(HOLDER.array, 1, out=HOLDER.array)
    same[0] = x[0]
    return same * 2


def test_what_cannot_be_compiled_runs_in_numpy():
    with pytest.raises(NeedsValuesError):
        axiomjit.jit(decides, strict=True)(X)
    with pytest.warns(FallbackWarning):
        np.testing.assert_array_equal(axiomjit.jit(decides)(X * 2), decides(X * 2))


@pytest.mark.parametrize("function", [outside, outside_as_it_is, outside_in_a_list, outside_as_out])
def test_arrays_from_outside_are_written_in_each_call(function):
    before, f = OUTSIDE.copy(), axiomjit.jit(function, strict=True)
    try:
        for x in (X * 2, X, X + 3):
            start = OUTSIDE.copy()
            found = np.array(f(x))
            changed = OUTSIDE.copy()
            OUTSIDE[:] = start
            np.testing.assert_array_equal(found, function(x))
            np.testing.assert_array_equal(changed, OUTSIDE)
    finally:
        OUTSIDE[:] = before
