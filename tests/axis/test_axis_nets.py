"""What networks are made of, and random tensors: values, axes, refusals."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import AxesError, GraphValueError

H, W, N = aj.make_axis(4, "H"), aj.make_axis(3, "W"), aj.make_axis(2, "N")
A = np.random.default_rng(0).normal(size=(4, 3))
X = aj.constant(A, [H, W])
TARGETS = np.eye(3)[[0, 2, 1, 1]]
T = aj.constant(TARGETS.T, [W, H])


def soft(a, axis):
    powers = np.exp(a - a.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def test_sigmoid_and_safelog():
    np.testing.assert_allclose(aj.sigmoid(X), 1 / (1 + np.exp(-A)), rtol=1e-14)
    far = aj.constant([-1e4, 0.0, 1e4], [W])
    np.testing.assert_array_equal(aj.sigmoid(far), [0, 0.5, 1])
    assert aj.sigmoid(aj.astype(X, "f4")).dtype == np.float32
    np.testing.assert_allclose(aj.safelog(aj.constant([0.0, -1, 2], [W])), [-50, -50, np.log(2)])
    assert aj.safelog(aj.constant(0.0), limit=-3).eval().item() == pytest.approx(-3)


def test_softmax():
    np.testing.assert_allclose(aj.softmax(X, [W]), soft(A, 1), rtol=1e-14)
    np.testing.assert_allclose(aj.softmax(X, W), soft(A, 1), rtol=1e-14)
    np.testing.assert_allclose(aj.softmax(X), soft(A, (0, 1)), rtol=1e-14)
    np.testing.assert_allclose(aj.softmax(X * 1000, [H]).eval().values.sum(0), 1)
    assert list(aj.softmax(X, [H]).axes) == [H, W]
    with pytest.raises(AxesError, match=r"softmax of f8\[H=4, W=3\]\n  seen: .* is N=2"):
        aj.softmax(X, [N])


def test_cross_entropies():
    p = soft(A, 1)
    y = aj.softmax(X, [W])
    expected = -(TARGETS * np.log(p)).sum(1)
    np.testing.assert_allclose(aj.cross_entropy_multi(y, T, out_axes=[H]), expected, rtol=1e-13)
    np.testing.assert_allclose(aj.cross_entropy_multi(y, T), expected.sum(), rtol=1e-13)
    bits = aj.cross_entropy_multi(y, T, usebits=True, out_axes=[H])
    np.testing.assert_allclose(bits, expected / np.log(2), rtol=1e-13)
    inner = -(TARGETS * np.log(p) + (1 - TARGETS) * np.log(1 - p))
    np.testing.assert_allclose(aj.cross_entropy_binary_inner(y, T), inner, rtol=1e-13)
    total = aj.cross_entropy_binary(y, T, [W])
    np.testing.assert_allclose(total, inner.sum(0), rtol=1e-13)
    # What is certain and wrong costs 50, not infinity.
    sure = aj.cross_entropy_binary(aj.constant([0.0, 1.0], [N]), aj.constant([1.0, 0.0], [N]))
    np.testing.assert_allclose(sure, 100)


@pytest.mark.parametrize(
    "function", [aj.cross_entropy_multi, aj.cross_entropy_binary, aj.cross_entropy_binary_inner]
)
def test_one_operand_has_all_axes(function):
    message = r"axes \[H=4, W=3\] and \[N=2, W=3\], neither of which has all"
    with pytest.raises(AxesError, match=message):
        function(X, aj.constant(np.ones((2, 3)), [N, W]))
    assert function(X, aj.constant(np.ones(3), [W])).axes.is_sub_set([H, W])


@pytest.fixture(name="seeded")
def start_at_a_seed():
    yield lambda seed: setattr(config, "seed", seed)
    config.seed = None


def run(*outputs):
    return aj.transformers.make_transformer().computation(outputs)


@pytest.mark.parametrize("where", ["kernels", "evaluator"])
def test_random_tensors(where, request, seeded):
    if where == "evaluator":
        request.getfixturevalue("evaluator")
    wide = aj.make_axis(10_000, "wide")
    like = aj.constant(0.0, [wide, N])
    flat = aj.uniform(like, -1, aj.constant([1.0, 3.0], [N]))
    bell = aj.normal(aj.astype(like, "f4"), 5, 2)
    comp = run(flat, bell, flat - flat, aj.uniform(like) - aj.uniform(like))
    seeded(3)
    first = comp()
    second = comp()
    seeded(3)
    again = comp()
    for one, same in zip(first, again, strict=True):
        np.testing.assert_array_equal(one, same)
    assert not np.array_equal(first[0], second[0])
    uniform, normal, zero, apart = first
    assert uniform.shape == (10_000, 2)
    assert (uniform >= -1).all()
    assert (uniform < [1, 3]).all()
    np.testing.assert_allclose(uniform.mean(0), [0, 1], atol=0.05)
    assert normal.dtype == np.float32
    assert normal.mean() == pytest.approx(5, abs=0.1)
    assert normal.std() == pytest.approx(2, abs=0.1)
    assert not zero.any()
    assert apart.any()


def test_random_tensors_take_lengths_late(seeded):
    late = aj.make_axis(name="late")
    drawn = aj.uniform(aj.constant(1, [late]))
    assert drawn.dtype == np.float64
    late.length = 7
    seeded(0)
    assert drawn.eval().values.shape == (7,)


@pytest.mark.parametrize("seed", [-1, 1.5, "1"])
def test_a_seed_is_a_number(seed, seeded):
    with pytest.raises(GraphValueError, match=r"config.seed = .*\n  seen: no such start"):
        seeded(seed)


@pytest.mark.parametrize("where", ["kernels", "evaluator"])
def test_printed_values(where, request, capsys):
    if where == "evaluator":
        request.getfixturevalue("evaluator")
    p = aj.placeholder([W])
    seen = aj.PrintOp(aj.broadcast(p, [N, W]) * 2, "twice")
    comp = aj.transformers.make_transformer().computation([seen + 1, seen], p)
    total, same = comp([1, 2, 3])
    text = "twice: f8[N=2, W=3]\n[[2. 4. 6.]\n [2. 4. 6.]]\n"
    assert capsys.readouterr().out == text
    np.testing.assert_array_equal(total, [[3, 5, 7]] * 2)
    np.testing.assert_array_equal(same, [[2, 4, 6]] * 2)
    comp([0, 0, 0])
    assert capsys.readouterr().out.startswith("twice: f8[N=2, W=3]\n[[0. 0. 0.]")
    wide = aj.PrintOp(aj.broadcast(aj.constant([1, 2, 3], [W]), [N, W]))
    np.testing.assert_array_equal(wide, [[1, 2, 3]] * 2)
    assert capsys.readouterr().out == "i8[N=2, W=3]\n[[1 2 3]\n [1 2 3]]\n"
    assert aj.PrintOp(3.5).eval().item() == 3.5
    assert capsys.readouterr().out == "f8[]\n3.5\n"
