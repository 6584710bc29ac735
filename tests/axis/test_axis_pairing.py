"""Which axes meet: by identity, by class, by offset; outer products by policy."""

import warnings

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis import functions as af
from axiomjit.axis import tensors as t
from axiomjit.axis.axes import make_axes
from axiomjit.axis.axis import make_axis, make_axis_class
from axiomjit.base.config import config
from axiomjit.base.errors import AxesError, GraphValueError, OuterProductWarning
from axiomjit.transformers import make_transformer
from tests.axis.test_tensors import H, N, W, filled, value

K = make_axis_class("channels")
A, B, D = (make_axis(2, name, axis_class=K) for name in "ABD")
LONG = make_axis(3, "long", axis_class=K)
UNKNOWN = make_axis(name="unknown", axis_class=K)


def test_axes_of_one_class_and_length_meet():
    x, y = t.constant([[1.0, 2], [3, 4], [5, 6], [7, 8]], [N, A]), t.constant([10.0, 20], [B])
    for one, other, label in ((x, y, A), (y, x, B)):
        result = one + other
        assert result.axes.is_equal_set([N, label])
        np.testing.assert_array_equal(
            value(af.axes_with_order(result, [N, label])), value(x) + [10, 20]
        )
    assert list((x + af.broadcast(y, [N, B])).axes) == [N, A]
    assert list(aj.where(x > 1, y, t.constant([0.0, 0], [D])).axes) == [N, A]


def test_identity_comes_before_class():
    x, y = t.constant(np.arange(4.0).reshape(2, 2), [A, B]), t.constant([1.0, 2], [B])
    np.testing.assert_array_equal(value(x + y), value(x) + [1, 2])
    z = t.constant(np.ones((2, 2)), [B, D])
    result = x + z  # B is itself, so that A and D are left
    assert list(result.axes) == [A, B]


def test_lengths_and_offsets_must_agree():
    x = t.constant([1.0, 2], [A])
    assert list((x + t.constant([1.0, 2, 3], [LONG])).axes) == [A, LONG]
    assert list((x + t.constant([1.0, 2], [B - 1])).axes) == [A, B - 1]
    turned = t.constant([1.0, 2], [A - 1]) + t.constant([3.0, 4], [B - 1])
    assert list(turned.axes) == [A - 1]
    np.testing.assert_array_equal(value(turned), [4, 6])


@pytest.mark.parametrize(("left", "right"), [([A, B], [D]), ([D], [A, B]), ([A, B], [D, H])])
def test_two_candidates_are_refused(left, right):
    message = r"add of f8(?s:.*)axes \[.*=2\] of one class, of which more than one pair could meet"
    with pytest.raises(AxesError, match=message):
        t.placeholder(left) + t.placeholder(right)


def test_an_unknown_length_is_refused_where_the_class_is_one():
    message = (
        r"seen: axes \[unknown=\?, A=2\] of one class, of which the length of one is unknown\n"
        r"  instead: say which axes meet with cast_axes\(x, axes\)"
    )
    x, y = t.placeholder([UNKNOWN]), t.placeholder([A])
    with pytest.raises(AxesError, match=message):
        x + y
    assert list((af.cast_axes(x, [A]) + y).axes) == [A]
    assert list((x + x * 2).axes) == [UNKNOWN]


def test_products_pair_identity_only():
    assert list(af.dot(t.placeholder([A]), t.placeholder([B])).axes) == [A, B]


@pytest.mark.parametrize(
    ("left", "right", "result", "spec"),
    [
        ([H, W], [W, N], [H, N], "hw,wn->hn"),
        ([H, W - 1], [W, N], [H, N], "hw,wn->hn"),
        ([H, W], [W + 1, N], [H, N], "hw,wn->hn"),
        ([W], [W - 1], [W, W - 1], "a,b->ab"),
        ([H], [H + 1, H], [H], "a,ab->b"),
        ([H - 1, H], [H], [H], "ab,a->b"),
        ([H, H + 1], [H + 1, H + 2], [], "ab,ab->"),
        ([W, H], [H, W], [], "wh,hw->"),
    ],
)
def test_products_pair_the_next_offset_first(left, right, result, spec):
    x, y = (
        t.constant(np.random.default_rng(k).normal(size=make_axes(axes).lengths), axes)
        for k, axes in enumerate((left, right))
    )
    product = af.dot(x, y)
    assert list(product.axes) == result
    np.testing.assert_allclose(value(product), np.einsum(spec, *value(x, y)), rtol=1e-13)


def test_transposed_tensors_are_views():
    x = t.placeholder([H, W + 1])
    assert x.T.axes == make_axes([H - 1, W - 2])
    assert x.T.node is x.T.T.node is x.node
    y = filled("HW")
    norm = af.dot(y.T, y)
    assert len(norm.axes) == 0
    np.testing.assert_allclose(value(norm), (value(y) ** 2).sum(), rtol=1e-13)
    z = filled("WN")
    turned = af.dot(z.T, y.T).T
    assert list(turned.axes) == [N, H]
    np.testing.assert_allclose(value(turned), value(af.dot(y, z)).T, rtol=1e-13)


@pytest.fixture
def outer():
    """Sets `config.outer` for a test."""
    before = config.outer
    yield lambda policy: setattr(config, "outer", policy)
    config.outer = before


def test_outer_products_by_policy(outer):
    x, y, z = filled("H"), filled("W"), filled("HW")
    for combine in (aj.add, af.dot):
        outer("allow")
        assert list(combine(x, y).axes) == [H, W]
        outer("warn")
        with pytest.warns(OuterProductWarning, match=r"\[H=2\] and \[W=3\] have no axis in common"):
            combine(x, y)
        outer("error")
        with pytest.raises(
            AxesError, match=r"an outer product(?s:.*)instead: broadcast\(x, axes\)"
        ):
            combine(x, y)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            combine(x, z), combine(z, y), combine(2, y), combine(x, t.constant(1.0))
    assert list((af.broadcast(x, make_axes([H, W])) * y).axes) == [H, W]
    with pytest.raises(GraphValueError, match=r"config.outer = 'never'\n  seen: no such policy"):
        outer("never")


def test_lengths_given_late_are_checked_at_the_call():
    one, other = make_axis(name="one"), make_axis(name="other")
    x = t.placeholder([one])
    comp = make_transformer().computation([af.cast_axes(x, [other]), aj.max(x)], x)
    one.length, other.length = 0, 1
    with pytest.raises(AxesError, match=r"cast_axes of .* to \[other=1\]\n  seen: axes \[one=0\]"):
        comp([])
    with pytest.raises(AxesError, match=r"max over \[one=0\]\n  seen: a length of 0"):
        aj.max(x)
    late = make_axis(name="late")
    y = t.placeholder([late])
    comp = make_transformer().computation(aj.max(y + 1), y)
    late.length = 0
    with pytest.raises(AxesError, match=r"max over \[late=0\]\n  seen: a length of 0"):
        comp([])
