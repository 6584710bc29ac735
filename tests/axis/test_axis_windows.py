"""Convolution and pooling by axes, against sliding windows and einsum."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.graph import execution
from tests.axis.test_axis_joins import lowered
from tests.axis.test_axis_slices import in_numpy, run

assert in_numpy
TALL, WIDE = aj.make_axis_role("tall"), aj.make_axis_role("wide")
DEEP = aj.make_axis_class("deep")
N, C, K = aj.make_axis(2, "N"), aj.make_axis(3, "C"), aj.make_axis(4, "K")
H, W = aj.make_axis(7, "H", roles=TALL), aj.make_axis(9, "W", roles=WIDE)
R, S = aj.make_axis(3, "R", roles=TALL), aj.make_axis(2, "S", roles=WIDE)
RNG = np.random.default_rng(0)
A, F = RNG.integers(-4, 5, (2, 3, 7, 9)) * 1.0, RNG.integers(-4, 5, (3, 3, 2, 4)) * 1.0
X, FILTER = aj.constant(A, [N, C, H, W]), aj.constant(F, [C, R, S, K])
FULL = ((0, 0), (0, 0))


def windows(a, lengths, strides=(1, 1), pads=FULL, dilation=(1, 1), fill=0.0):
    """The windows of the last two dimensions."""
    a = np.pad(a, [(0, 0)] * (a.ndim - 2) + list(pads), constant_values=fill)
    spans = [(n - 1) * d + 1 for n, d in zip(lengths, dilation, strict=True)]
    seen = sliding_window_view(a, spans, axis=(-2, -1))
    at = [slice(None, None, step) for step in (*strides, *dilation)]
    return seen[(..., *at)]


def convolved(a, f, **settings):
    """The convolution of N C H W with C R S K."""
    return np.einsum("nchwrs,crsk->nkhw", windows(a, f.shape[1:3], **settings), f)


def test_convolution_by_roles():
    result = aj.convolution(X, FILTER)
    assert result.axes.lengths == (2, 4, 5, 8)
    assert list(result.axes[:2]) == [N, K]
    for new, old in zip(result.axes[2:], (H, W), strict=True):
        assert (new.axis_class, new.roles, new.name) == (old.axis_class, old.roles, old.name)
        assert new is not old
    np.testing.assert_array_equal(run(result), convolved(A, F))


def test_outputs_stand_where_the_contracted_axis_stood():
    last = aj.axes_with_order(X, [N, H, W, C])
    assert aj.convolution(last, FILTER).axes.lengths == (2, 5, 8, 4)
    first = aj.axes_with_order(X, [C, H, W, N])
    result = aj.convolution(first, aj.axes_with_order(FILTER, [K, S, C, R]))
    assert result.axes.lengths == (4, 5, 8, 2)
    np.testing.assert_array_equal(run(result), convolved(A, F).transpose(1, 2, 3, 0))
    plain = aj.convolution(X, FILTER[{C: 0}])  # nothing is contracted
    assert plain.axes.lengths == (2, 3, 5, 8, 4)
    want = np.einsum("nchwrs,rsk->nchwk", windows(A, (3, 2)), F[0])
    np.testing.assert_array_equal(run(plain), want)


def test_strides_padding_and_dilation():
    settings = {"strides": {H: 2, S: 3}, "padding": {H: (1, 2), W: 1}, "dilation": {S: 4}}
    want = convolved(A, F, strides=(2, 3), pads=((1, 2), (1, 1)), dilation=(1, 4))
    np.testing.assert_array_equal(run(aj.convolution(X, FILTER, **settings)), want)
    want = convolved(A, F, strides=(2, 2), pads=((1, 0), (1, 0)), dilation=(2, 2))
    result = aj.convolution(X, FILTER, 2, (1, 0), 2)
    np.testing.assert_array_equal(run(result), want)


def test_axes_name_the_result():
    p, q = aj.make_axis(5, "P", roles=TALL), aj.make_axis(8, "Q", roles=WIDE)
    plain = aj.make_axis(name="plain")
    result = aj.convolution(X, FILTER, axes=[K, q, N, p])
    assert list(result.axes) == [K, q, N, p]
    np.testing.assert_array_equal(run(result), convolved(A, F).transpose(1, 3, 0, 2))
    late = aj.convolution(X, FILTER, axes=[N, K, plain, q])
    assert late.axes[2] is plain
    plain.length = 5
    np.testing.assert_array_equal(run(late), convolved(A, F))
    assert (H.length, W.length) == (7, 9)


def test_classes_contract_or_slide_by_length():
    channels, short = aj.make_axis(3, axis_class=DEEP), aj.make_axis(2, axis_class=DEEP)
    x = aj.constant(A[0, :, :, 0], [aj.make_axis(3, axis_class=DEEP), H])
    sliding = aj.constant([[1.0], [2], [3]], [channels, aj.make_axis(1, roles=TALL)])
    contracted = run(aj.convolution(x, sliding))
    np.testing.assert_array_equal(contracted, [1, 2, 3] @ A[0, :, :, 0])
    slid = aj.convolution(x, aj.constant([1.0, 2], [short]))
    assert slid.axes[0].axis_class is DEEP
    np.testing.assert_array_equal(run(slid), A[0, :-1, :, 0] + 2 * A[0, 1:, :, 0])
    padded = aj.convolution(x, aj.constant([1.0, 2, 3], [channels]), padding={channels: 1})
    column = np.pad(A[0, :, :, 0], ((1, 1), (0, 0)))
    want = column[:-2] + 2 * column[1:-1] + 3 * column[2:]
    np.testing.assert_array_equal(run(padded), want)


def test_lengths_may_come_later(in_numpy):
    h, r = aj.make_axis(name="h", roles=TALL), aj.make_axis(name="r", roles=TALL)
    x, f = aj.placeholder([h]), aj.placeholder([r])
    outputs = [
        aj.convolution(x, f),
        aj.convolution(x, f, 2, 1, 2),
        aj.pooling(x, {h: r}),
        aj.pooling(x, {h: r}, "mean", 1, 1),
    ]
    assert outputs[0].axes.lengths == (None,)
    h.length, r.length = 8, 3
    a, b = np.arange(8.0) ** 2, np.array([1.0, -2, 1])
    padded = np.pad(a, 1)
    want = [
        np.convolve(a, b, "valid"),
        sliding_window_view(padded, 5)[::2, ::2] @ b,
        sliding_window_view(a, 3)[::3].max(1),
        sliding_window_view(padded, 3).sum(1) / [2, 3, 3, 3, 3, 3, 3, 2],
    ]
    for got, expected in zip(run(outputs, (x, a), (f, b)), want, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-15)


def test_pooling():
    seen = windows(A, (2, 3), (2, 3))
    for op in ("max", "min", "sum", "mean"):
        result = aj.pooling(X, {H: 2, W: 3}, op)
        assert result.axes.lengths == (2, 3, 3, 3)
        assert result.axes[2].roles == H.roles
        want = getattr(seen, op)(axis=(-2, -1))
        np.testing.assert_allclose(run(result), want, rtol=1e-14)
    one = aj.pooling(X, {W: S}, strides={W: 1}, axes=[N, C, H, aj.make_axis(8, "Q")])
    assert [axis.name for axis in one.axes] == ["N", "C", "H", "Q"]
    np.testing.assert_array_equal(run(one), np.maximum(A[..., 1:], A[..., :-1]))
    counted = aj.pooling(aj.constant(A.astype(np.int8), [N, C, H, W]), {H: 2, W: 2}, "mean")
    assert counted.dtype == np.float64


def test_what_is_padded_is_no_element():
    pads = ((1, 1), (0, 2))
    real = windows(np.ones_like(A), (3, 3), (2, 2), pads).sum((-2, -1))
    for op, fill in (("max", -np.inf), ("min", np.inf), ("mean", 0.0)):
        got = run(aj.pooling(X, {H: 3, W: 3}, op, 2, {H: 1, W: (0, 2)}))
        seen = windows(A, (3, 3), (2, 2), pads, fill=fill)
        want = seen.sum((-2, -1)) / real if op == "mean" else getattr(seen, op)((-2, -1))
        np.testing.assert_allclose(got, want, rtol=1e-14)
    halves = aj.constant(A.astype(np.float16), [N, C, H, W])
    assert aj.pooling(halves, {H: 3}, "mean", padding={H: 1}).dtype == np.float16


def test_windows_are_never_stored(unchecked):
    x, f = aj.placeholder([N, C, H, W]), aj.placeholder([C, R, S, K])
    result = aj.maximum(aj.convolution(x, f) + 1, 0)
    stages = lowered(result, (x, A), (f, F))
    assert (stages.cost.kernels, stages.cost.temporary_bytes) == (1, 0)
    pooled = lowered(aj.pooling(x, {H: 2, W: 2}), (x, A))
    assert (pooled.cost.kernels, pooled.cost.temporary_bytes) == (1, 0)
    np.testing.assert_array_equal(run(result, (x, A), (f, F)), np.maximum(convolved(A, F) + 1, 0))


def test_rows_of_a_convolution_are_vector_code(unchecked):
    wide, s = aj.make_axis(2000, roles=WIDE), aj.make_axis(5, roles=WIDE)
    x, f = aj.placeholder([wide]), aj.placeholder([s])
    stages = lowered(aj.convolution(x, f), (x, np.ones(2000)), (f, np.ones(5)))
    assert re.search(r"fmul <\d+ x double>", stages.llvm)


BOTH = aj.make_axis(3, roles=[TALL, WIDE])


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: aj.convolution(X, aj.constant([1.0] * 3, [BOTH])), AxesError, "in common with"),
        (
            lambda: aj.convolution(
                X, aj.broadcast(aj.constant(1.0), [R, aj.make_axis(2, roles=TALL)])
            ),
            AxesError,
            "paired already\n  instead: give roles that pair",
        ),
        (
            lambda: aj.convolution(X, aj.placeholder([aj.make_axis(axis_class=H.axis_class)])),
            AxesError,
            "of one class, of which the length of one is unknown\n  instead: give them a role",
        ),
        (
            lambda: aj.convolution(X[{H: slice(2)}], FILTER),
            AxesError,
            "a window along R=3 over H=2\n  instead: give a window that fits",
        ),
        (lambda: aj.convolution(X, FILTER, dilation=5), AxesError, "R=3, 5 apart, over H=7"),
        (lambda: aj.convolution(X, FILTER, strides=0), AxesError, "the stride 0\n  instead: .* 1"),
        (lambda: aj.convolution(X, FILTER, strides={N: 2}), AxesError, "a stride for N=2; windows"),
        (
            lambda: aj.convolution(X, FILTER, strides=1.5),
            GraphTypeError,
            "float\n  instead: give int",
        ),
        (lambda: aj.convolution(X, FILTER, padding=-1), AxesError, "the padding -1"),
        (lambda: aj.convolution(X, FILTER, dilation={S: 0}), AxesError, "the dilation 0"),
        (
            lambda: aj.convolution(X, FILTER, axes=[N, K, H, W]),
            AxesError,
            r"seen: axes \[N=2, K=4, H=5",
        ),
        (lambda: aj.convolution(X, FILTER, axes=[N, K]), AxesError, r"to \[N=2, K=4\]"),
        (lambda: aj.convolution(X, F), GraphTypeError, "constant"),
        (
            lambda: aj.convolution(X, aj.constant(1.0, [C, K])),
            AxesError,
            r"slides over the input, \[C=3\] are contracted, \[K=4\] share no .* write dot\(x, fi",
        ),
        (
            lambda: aj.convolution(X, aj.constant(1.0, [C])),
            AxesError,
            r"slides over the input, \[C=3\] are contracted\n",
        ),
        (lambda: aj.convolution(X, 2.0), AxesError, "slides over the input\n"),
        (lambda: aj.pooling(X, {K: 2}), AxesError, "none of which is K=4"),
        (lambda: aj.pooling(X, {H: 2}, "median"), AxesError, "'median'\n  instead: .* max, min"),
        (lambda: aj.pooling(X, 2), GraphTypeError, "type int\n  instead: give a dictionary"),
        (lambda: aj.pooling(X, {H: 8}), AxesError, "a window of 8 over H=7"),
        (lambda: aj.pooling(X, {H: 0}), AxesError, "a window of 0 over H=7"),
        (
            lambda: aj.pooling(X, {H: 2}, padding=2),
            AxesError,
            "instead: pad by less than the window",
        ),
        (lambda: aj.pooling(X, {H: 2.0}), GraphTypeError, "give windows as integers or axes"),
        (lambda: aj.pooling(X, {H: 2}, strides={W: 1}), AxesError, "a stride for W=9; windows"),
    ],
)
def test_refused(make, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        make()


def test_late_lengths_may_not_fit(in_numpy):
    h, r = aj.make_axis(name="h", roles=TALL), aj.make_axis(name="r", roles=TALL)
    x, f = aj.placeholder([h]), aj.placeholder([r])
    result = aj.convolution(x, f)
    h.length, r.length = 2, 3
    with pytest.raises(AxesError, match="a window along r=3 over h=2"):
        run(result, (x, np.ones(2)), (f, np.ones(3)))


SMALL = st.integers(1, 3)
PAIR = st.tuples(SMALL, SMALL)
PADS = st.tuples(st.integers(0, 2), st.integers(0, 2))


@settings(max_examples=80, deadline=None)
@given(
    SMALL, SMALL, st.tuples(SMALL, SMALL), st.tuples(PADS, PADS), st.tuples(SMALL, SMALL), st.data()
)
def test_any_convolution(tall, wide, strides, pads, dilation, data):
    before = execution.install(run=None)
    try:
        r, s = aj.make_axis(tall, roles=TALL), aj.make_axis(wide, roles=WIDE)
        f = RNG.integers(-4, 5, (3, tall, wide, 4)) * 1.0
        order = data.draw(st.permutations([C, r, s, K]))
        filters = aj.axes_with_order(aj.constant(f, [C, r, s, K]), order)
        inputs = aj.axes_with_order(X, data.draw(st.permutations([N, C, H, W])))
        named = dict(zip((H, W), strides, strict=True))
        padded, apart = {H: pads[0], W: pads[1]}, {r: dilation[0], W: dilation[1]}
        result = aj.convolution(inputs, filters, named, padded, apart)
        p, q = (a for role in (TALL, WIDE) for a in result.axes.role_axes(role))
        want = convolved(A, f, strides=strides, pads=pads, dilation=dilation)
        np.testing.assert_array_equal(run(aj.axes_with_order(result, [N, K, p, q])), want)
    finally:
        execution.install(**before)


def test_padding_contributes_nothing_to_any_filter():
    """Nothing is multiplied by an infinite or absent weight outside."""
    x, f = np.arange(1.0, 6), np.array([np.inf, 1.0, np.nan])
    h, r = aj.make_axis(5, roles=TALL), aj.make_axis(3, roles=TALL)
    left = aj.convolution(aj.constant(x, [h]), aj.constant(f[:2], [aj.make_axis(2, roles=TALL)]))
    assert np.isinf(run(left)).all()
    both = aj.convolution(aj.constant(x, [h]), aj.constant(f, [r]), padding=2)
    np.testing.assert_array_equal(run(both)[[0, 1, -1]], [np.nan, np.nan, np.inf])
    alone = aj.constant(f[:2], [aj.make_axis(2, roles=TALL)])
    padded = aj.convolution(aj.constant(x, [h]), alone, padding=(1, 0))
    np.testing.assert_array_equal(run(padded), [1, *[np.inf] * 4])


@pytest.mark.parametrize(
    "kinds", [("f2", "f2"), ("f4", "f8"), ("i2", "f4"), ("b1", "b1"), ("i1", "i4")]
)
def test_operands_of_other_dtypes_are_cast_before_they_slide(kinds):
    """With many outputs, so that the sum could be taken for a product of matrices."""
    few, many = aj.make_axis(3), aj.make_axis(9)
    a, f = (np.random.default_rng(0).integers(-3, 4, n) for n in ((7, 9, 3), (3, 2, 3, 9)))
    a, f = a.astype(kinds[0]), f.astype(kinds[1])
    x, kernel = aj.constant(a, [H, W, few]), aj.constant(f, [R, S, few, many])
    result = aj.convolution(x, kernel, padding={H: 1, W: (1, 0)})
    seen = np.pad(a, ((1, 1), (1, 0), (0, 0)))
    want = np.einsum("hwcrs,rsck->hwk", sliding_window_view(seen, (3, 2), axis=(0, 1)), f)
    assert result.dtype == want.dtype
    np.testing.assert_array_equal(run(result), want)
    stages = lowered(result)
    every_window = 7 * 9 * (3 * 2 * 3) * 4
    assert stages.cost.temporary_bytes < every_window
