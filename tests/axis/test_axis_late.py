"""Every operation can be built before lengths are known, and then means the same."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError

pytestmark = pytest.mark.usefixtures("evaluator")
A = np.random.default_rng(5).uniform(0.1, 0.9, (3, 4))
REDUCTIONS = "sum prod max min any all mean variance argmax argmin squared_L2 L2_norm tensor_size"
UNARY = "square reciprocal conj exp log sqrt floor positive sigmoid safelog"


def reduction(name):
    function = getattr(aj, name)
    return lambda x, y, a, b: (function(x, [a]), function(x), function(x - y, [b, a]))


def unary(name):
    return lambda x, y, a, b: (getattr(aj, name)(x),)


PROGRAMS = {
    **{name: reduction(name) for name in REDUCTIONS.split()},
    **{name: unary(name) for name in UNARY.split()},
    "powers": lambda x, y, a, b: (x**2, 2**x, x**y, x**0.5, x**-1),
    "clip": lambda x, y, a, b: (aj.clip(x, 0.2, y), aj.clip(x, None, 0.5)),
    "where": lambda x, y, a, b: (aj.where(x > 0.5, y, 0),),
    "softmax": lambda x, y, a, b: (aj.softmax(x, [b]), aj.softmax(x)),
    "entropies": lambda x, y, a, b: (
        aj.cross_entropy_multi(x, y, out_axes=[a]),
        aj.cross_entropy_binary(x, y),
    ),
    "dot": lambda x, y, a, b: (aj.dot(x, y), aj.dot(x.T, x), aj.dot(x, aj.sum(y, [a]))),
    "labels": lambda x, y, a, b: (
        aj.broadcast(aj.sum(x, [a]), [b, a]),
        aj.axes_with_order(x, [b, a]),
        aj.rename(x, {a: "q"}),
        aj.sum(x, out_axes=[b]),
    ),
    "parts": lambda x, y, a, b: (x[1:], x[0], x[-1, ::2], x[::-1], x[{b: 3}]),
    "merged": lambda x, y, a, b: (
        aj.flatten(x),
        aj.unflatten(aj.flatten(x)) + y,
        aj.flatten_at(x, 1),
        aj.expand_dims(x, aj.make_axis(1), 0),
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_operations_built_without_lengths(name):
    program = PROGRAMS[name]
    a, b = aj.make_axis(name="a"), aj.make_axis(name="b")
    x, y = aj.placeholder([a, b]), aj.placeholder([b, a])
    comp = aj.transformers.make_transformer().computation(program(x, y, a, b), x, y)
    with pytest.raises(AxesError, match=r"no length for Axis\([ab]=\?\), Axis\([ab]"):
        comp(A, A.T)
    a.length, b.length = A.shape
    known = aj.make_axis(3), aj.make_axis(4)
    expected = program(aj.constant(A, known), aj.constant(A.T, known[::-1]), *known)
    for one, other in zip(comp(A, A.T), expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-13)


def test_no_operation_gives_an_axis_a_length():
    a, b = aj.make_axis(name="a"), aj.make_axis(3, name="b")
    x = aj.placeholder([a])
    aj.cast_axes(x, [b])
    aj.rename(x, {a: b})
    comp = aj.transformers.make_transformer().computation(x + 1, x)
    with pytest.raises(AxesError, match="no length for"):
        comp([1, 2, 3])
    assert a.length is None
