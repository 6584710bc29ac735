"""Algebra of axes: laws up to the order of axes, against references that know nothing of them.

The references are NumPy's einsum and transpositions of plain arrays, aligned by letters.
"""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import axiomjit as aj

pytestmark = pytest.mark.usefixtures("evaluator")
LENGTHS = {"A": 2, "B": 3, "C": 1, "D": 4, "E": 2}
AXES = {name: aj.make_axis(length, name) for name, length in LENGTHS.items()}
LABELS = {axis: name for name, axis in AXES.items()}
letters = st.lists(st.sampled_from("ABCDE"), unique=True, max_size=4).map("".join)
short = st.lists(st.sampled_from("ABCDE"), unique=True, max_size=3).map("".join)
seeds = st.integers(0, 2**32 - 1)


def array_of(names, seed):
    """Small integers as floats, so that sums in any order are exact."""
    shape = [LENGTHS[name] for name in names]
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(float)


def tensor_of(names, seed):
    """The same array with the axes of the letters."""
    return aj.constant(array_of(names, seed), [AXES[name] for name in names])


def spread(names, array, order):
    """The array with dimensions in an order of letters, repeated along those it lacks."""
    kept = [name for name in order if name in names]
    turned = np.transpose(array, [names.index(name) for name in kept])
    shape = [LENGTHS[name] if name in names else 1 for name in order]
    return np.broadcast_to(turned.reshape(shape), [LENGTHS[name] for name in order])


def order_of(left, right):
    """The three rules of the documents, on letters."""
    if set(left) >= set(right):
        return left
    if set(right) >= set(left):
        return right
    return left + "".join(name for name in right if name not in left)


def names_of(tensor):
    return "".join(LABELS[axis] for axis in tensor.axes)


def same(one, other):
    """Equal values, up to the order of axes."""
    assert one.axes.is_equal_set(other.axes)
    np.testing.assert_array_equal(one.eval().values, aj.axes_with_order(other, one.axes).eval())


@settings(max_examples=60, deadline=None)
@given(letters, letters, seeds, st.sampled_from(["add", "subtract", "multiply", "maximum", "less"]))
def test_elementwise_against_aligned_arrays(left, right, seed, name):
    result = getattr(aj, name)(tensor_of(left, seed), tensor_of(right, seed + 1))
    order = order_of(left, right)
    assert names_of(result) == order
    a = spread(left, array_of(left, seed), order)
    b = spread(right, array_of(right, seed + 1), order)
    np.testing.assert_array_equal(result.eval().values, getattr(np, name)(a, b))


@settings(max_examples=60, deadline=None)
@given(letters, letters, letters, seeds)
def test_commutative_associative_distributive(first, second, third, seed):
    x, y, z = (tensor_of(names, seed + k) for k, names in enumerate((first, second, third)))
    same(x + y, y + x)
    same(x * y, y * x)
    same((x + y) + z, x + (y + z))
    same((x * y) * z, x * (y * z))
    same(x * (y + z), x * y + x * z)
    same((x + y) - y, aj.broadcast(x, x.axes | y.axes))


@settings(max_examples=60, deadline=None)
@given(letters, letters, seeds)
def test_dot_against_einsum(left, right, seed):
    result = aj.dot(tensor_of(left, seed), tensor_of(right, seed + 1))
    met = set(left) & set(right)
    out = "".join(name for name in left + right if name not in met)
    assert names_of(result) == out
    arrays = array_of(left, seed), array_of(right, seed + 1)
    np.testing.assert_array_equal(
        result.eval().values, np.einsum(f"{left},{right}->{out}", *arrays)
    )


def offset(names, offsets, seed):
    """A tensor whose axes are at offsets."""
    axes = [AXES[name] + k for name, k in zip(names, offsets, strict=False)]
    return aj.constant(array_of(names, seed), axes)


offsets = st.lists(st.integers(-2, 2), min_size=4, max_size=4)


@settings(max_examples=80, deadline=None)
@given(letters, letters, offsets, offsets, seeds)
def test_transposing(left, right, left_offsets, right_offsets, seed):
    x, y = offset(left, left_offsets, seed), offset(right, right_offsets, seed + 1)
    assert x.T.T.axes == x.axes
    assert x.T.node is x.node
    for axis, turned in zip(x.axes, x.T.axes, strict=True):
        assert turned.dual_offset == -1 - axis.dual_offset
        assert turned.primary is axis.primary
    same(aj.dot(x, y), aj.dot(y.T, x.T).T)
    same((x + y).T, x.T + y.T)
    same((x * y).T, y.T * x.T)


@settings(max_examples=80, deadline=None)
@given(letters, letters, offsets, offsets, seeds)
def test_dot_by_offsets_against_einsum(left, right, left_offsets, right_offsets, seed):
    x, y = offset(left, left_offsets, seed), offset(right, right_offsets, seed + 1)
    mine = dict(zip(left, left_offsets, strict=False))
    theirs = dict(zip(right, right_offsets, strict=False))
    met = [n for n in left if n in theirs and theirs[n] - mine[n] in (0, 1)]
    spec_left = "".join(left)
    # An axis of the right operand that does not meet has a letter of its own.
    spec_right = "".join(n if n in met or n not in mine else n.lower() for n in right)
    out = "".join(n for n in spec_left if n not in met)
    out += "".join(n for n in spec_right if n.upper() not in met or n.islower())
    arrays = array_of(left, seed), array_of(right, seed + 1)
    expected = np.einsum(f"{spec_left},{spec_right}->{out}", *arrays)
    result = aj.dot(x, y)
    np.testing.assert_array_equal(result.eval().values, expected)


@settings(max_examples=40, deadline=None)
@given(letters, seeds)
def test_squared_norm(names, seed):
    x = tensor_of(names, seed)
    norm = aj.dot(x.T, x)
    assert norm.axes == aj.make_axes()
    assert norm.eval().item() == np.sum(array_of(names, seed) ** 2)
    assert aj.dot(x, x).eval().item() == aj.squared_L2(x).eval().item() == norm.eval().item()


@settings(max_examples=60, deadline=None)
@given(letters, st.data(), seeds)
def test_reductions_against_numpy(names, data, seed):
    over = data.draw(st.lists(st.sampled_from(names), unique=True)) if names else []
    x, array = tensor_of(names, seed), array_of(names, seed)
    axes = [AXES[name] for name in over]
    kept = "".join(name for name in names if name not in over)
    positions = tuple(names.index(name) for name in over)
    for name in ("sum", "prod", "max", "min", "any", "all"):
        result = getattr(aj, name)(x, axes)
        assert names_of(result) == kept
        np.testing.assert_array_equal(result.eval().values, getattr(np, name)(array, positions))
    same(aj.sum(x, axes), aj.dot(x, aj.constant(1.0, axes)))
    out = data.draw(st.permutations(kept))
    turned = aj.sum(x, axes, [AXES[name] for name in out])
    assert names_of(turned) == "".join(out)
    same(turned, aj.sum(x, axes))
    if over:
        flat = np.transpose(array, [names.index(name) for name in [*kept, *over]])
        flat = flat.reshape(*(LENGTHS[name] for name in kept), -1)
        np.testing.assert_array_equal(aj.argmax(x, axes).eval().values, flat.argmax(-1))


@settings(max_examples=60, deadline=None)
@given(letters, st.data(), seeds)
def test_labels_against_transposition(names, data, seed):
    x, array = tensor_of(names, seed), array_of(names, seed)
    order = "".join(data.draw(st.permutations(names)))
    turned = aj.axes_with_order(x, [AXES[name] for name in order])
    np.testing.assert_array_equal(turned.eval().values, spread(names, array, order))
    same(turned, x)
    every = "".join(data.draw(st.permutations("ABCDE")))
    wide = aj.broadcast(x, [AXES[name] for name in every])
    np.testing.assert_array_equal(wide.eval().values, spread(names, array, every))
    fresh = [aj.make_axis(LENGTHS[name]) for name in names]
    cast = aj.cast_axes(x, fresh)
    assert cast.axes == aj.make_axes(fresh)
    same(aj.rename(cast, dict(zip(fresh, x.axes, strict=True))), x)


@settings(max_examples=40, deadline=None)
@given(short, short, seeds)
def test_lengths_given_late_change_nothing(left, right, seed):
    late = {name: aj.make_axis(name=name) for name in "ABCDE"}
    x, y = (aj.placeholder([late[name] for name in names]) for names in (left, right))
    outputs = [x - y, aj.dot(x, y), aj.sum(x + y), (x * y).T]
    comp = aj.transformers.make_transformer().computation(outputs, x, y)
    for name, axis in late.items():
        axis.length = LENGTHS[name]
    arrays = array_of(left, seed), array_of(right, seed + 1)
    known = [tensor_of(left, seed), tensor_of(right, seed + 1)]
    a, b = known
    expected = [a - b, aj.dot(a, b), aj.sum(a + b), (a * b).T]
    for result, tensor in zip(comp(*arrays), expected, strict=True):
        np.testing.assert_array_equal(result, tensor.eval().values)
