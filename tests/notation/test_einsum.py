"""einsum on arrays of known shape: NumPy's specs, label notation, combinations and reductions."""

import numpy as np
import pytest

import axiomjit as aj
from tests.notation.naive import naive

A = np.arange(25).reshape(5, 5)
B = np.arange(5)
C = np.arange(6).reshape(2, 3)
TALL, WIDE = np.arange(6).reshape(3, 2), np.arange(12).reshape(4, 3)
CUBE, OTHER = np.arange(60.0).reshape(3, 4, 5), np.arange(24.0).reshape(4, 3, 2)

DOCUMENTED = [
    ("ii", A),
    (A, [0, 0]),
    ("ii->i", A),
    (A, [0, 0], [0]),
    ("ij->i", A),
    (A, [0, 1], [0]),
    ("...j->...", A),
    (A, [Ellipsis, 1], [Ellipsis]),
    ("ji", C),
    ("ij->ji", C),
    (C, [1, 0]),
    ("i,i", B, B),
    (B, [0], B, [0]),
    ("ij,j", A, B),
    (A, [0, 1], B, [1]),
    (A, [0, 1], B, [1], [0]),
    ("...j,j", A, B),
    ("..., ...", 3, C),
    (",ij", 3, C),
    (3, [Ellipsis], C, [Ellipsis]),
    ("i,j", np.arange(2) + 1, B),
    (np.arange(2) + 1, [0], B, [1]),
    ("i...->...", A),
    (A, [0, Ellipsis], [Ellipsis]),
    ("ijk,jil->kl", CUBE, OTHER),
    (CUBE, [0, 1, 2], OTHER, [1, 0, 3], [2, 3]),
    ("ki,jk->ij", TALL, WIDE),
    ("ki,...k->i...", TALL, WIDE),
    ("k...,jk", TALL, WIDE),
    (
        "ea,fb,abcd,gc,hd->efgh",
        *[np.eye(2)] * 2,
        np.arange(16.0).reshape([2] * 4),
        *[np.eye(2)] * 2,
    ),
]
"""The examples of numpy.einsum's documentation; `einsum('ii->i', a)[:] = 1` is left out: results
are fresh."""


@pytest.mark.parametrize("k", range(len(DOCUMENTED)))
def test_documented_examples(k):
    given = DOCUMENTED[k]
    want, got = np.einsum(*given), aj.einsum(*given)
    assert np.shape(got) == np.shape(want)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=1e-13)


def test_numpys_corner_cases():
    row, column = np.arange(3.0), np.ones((3, 1))
    for given in [
        ("ij,ij->ij", column, np.ones((3, 4))),  # a length of 1 stretches
        ("...i,...i", np.ones((2, 1, 3)), np.ones((4, 3))),
        (" i j , j ", column.T, row),
        ("Za", np.arange(6).reshape(2, 3)),  # the result is in alphabetic order
        ("i->", row[:0]),
        ("i,i->i", row > 1, row < 2),
        ("i->", row > 5),
        ("ij->", np.full((3, 50), 100, np.int8)),
        ("i,i", row.astype("f2"), np.full(3, 3000, "f2")),
        ("i,i->i", row.astype("f4"), np.arange(3)),
        ("i,i->", row * 1j, row + 2j),
    ]:
        want, got = np.einsum(*given), aj.einsum(*given)
        assert (np.shape(got), got.dtype) == (np.shape(want), want.dtype), given
        np.testing.assert_allclose(got, want)


def test_results_are_fresh():
    x = np.arange(9.0).reshape(3, 3)
    for spec in ("ii->i", "ij->ji", "ij=>ij", "ii=>i"):
        assert not np.shares_memory(aj.einsum(spec, x), x)
    aj.einsum("ii->i", x)[:] = 1
    assert x[1, 1] == 4.0


def numbers(*shape):
    return np.random.default_rng(sum(shape)).normal(size=shape)


MEANT = [
    ("ij;jk=>ik", [(2, 3), (3, 4)], {}),
    ("ij;jk;kl=>li", [(2, 3), (3, 4), (4, 2)], {}),
    ("i=>ii", [(3,)], {}),
    ("ii=>i", [(4, 4)], {}),
    ("iij=>jji", [(3, 3, 2)], {}),
    ("i2=>i", [(4, 3)], {}),
    ("ij=>2", [(2, 3)], {}),
    ("ij=>j1i", [(2, 3)], {}),
    ("b|i->o;b|j->i=>b|j->o", [(2, 4, 3), (2, 3, 5)], {}),
    ("b|i->o=>b|o->i", [(2, 4, 3)], {}),
    ("i=>ij", [(3,)], {"j": 2}),
    ("o<+k;k=>o", [(7,), (3,)], {}),
    ("o=+k;k=>o", [(7,), (3,)], {}),
    ("o=+k;k=>o", [(7,), (4,)], {}),
    ("o=+2*k;k=>o", [(9,), (4,)], {}),
    ("2*o<+3*k;k=>o", [(12,), (4,)], {}),
    ("2*o=+1+k;k=>o", [(8,), (3,)], {}),
    ("2*o<+1+k;k=>o", [(9,), (3,)], {}),
    ("3*o+2=>o", [(9,)], {}),
    ("i=>3*i+2", [(3,)], {}),
    ("i,j=>2*i+1,j", [(3, 2)], {}),
    ("o;k=>o<+k", [(4,), (3,)], {}),
    ("o;k=>2*o<+k", [(4,), (3,)], {}),
    ("o;k=>o=+k", [(5,), (3,)], {}),
    ("x,o;k=>3*o=+2*k,x", [(2, 4), (3,)], {}),
    ("a=>3*b<+1+a,2", [(3,)], {"b": 1}),
    ("c<+2*b=>c,3*c=+3*a", [(1,)], {"b": 1, "a": 4}),
    ("a,b=>2*a<+1+3*b", [(4, 3)], {}),
    ("b,a;b,a=>b=+3*a", [(1, 4), (1, 4)], {}),
    ("1;2=>3*a<+2+2*c", [(2,), (3,)], {"a": 1, "c": 1}),
    ("b,b=>3*c=+d", [(2, 2)], {"c": 1, "d": 2}),
    ("a;b;b=>a,b,c", [(2,), (3,), (3,)], {"c": 2}),
    ("o;k=>o,o<+k", [(4,), (3,)], {}),  # a band
    ("o;k;l=>2*o<+k,o<+l", [(4,), (3,), (2,)], {}),
    ("o,k=>o,k,2*o=+3*k", [(4, 3)], {}),
    ("h=+p,w=+q,c;p,q,c->d=>h,w,d", [(5, 4, 2), (3, 2, 3, 2)], {}),
    ("2*h<+p,w=+2*q;p,q=>h,w", [(7, 6), (3, 3)], {}),
]


def sized(spec, arrays, sizes):
    """The size of each label, which the sizes that are captured say."""
    names = aj.notation.parse_einsum(spec).labels
    captured = [aj.Size(name) for name in names]
    aj.einsum(spec, *arrays, sizes=sizes, capture=captured)
    return {size.name: size.value for size in captured}


@pytest.mark.parametrize(("spec", "shapes", "sizes"), MEANT)
def test_label_notation_against_loops(spec, shapes, sizes):
    arrays = [numbers(*shape) for shape in shapes]
    got = aj.einsum(spec, *arrays, sizes=sizes)
    every = sized(spec, arrays, sizes)
    np.testing.assert_allclose(got, naive(spec, arrays, every, got.shape), rtol=1e-12, atol=1e-12)


FOLDED = [
    ("ij;jk=>ik", [(2, 3), (3, 4)], "add", "max"),
    ("ij;jk=>ki", [(2, 3), (3, 4)], "add", "logsumexp"),
    ("ij;j=>i", [(2, 3), (3,)], "sub", "min"),
    ("ij;j=>i", [(2, 3), (3,)], "div", "prod"),
    ("ij;j;i=>i", [(2, 3), (3,), (2,)], "sub", "mean"),
    ("ij;j;i=>i", [(2, 3), (3,), (2,)], "where", "sum"),
    ("i=>ii", [(3,)], "mul", "max"),
    ("i,j=>1,j", [(2, 3)], "mul", "mean"),
    ("o=+k;k=>o", [(6,), (3,)], "add", "max"),
    ("o=+k;k=>o", [(6,), (4,)], "sub", "mean"),
    ("o=+k;k=>o", [(6,), (3,)], "add", "logsumexp"),
    ("o;k=>o<+k", [(4,), (3,)], "add", "max"),
    ("o;k=>2*o<+k", [(4,), (3,)], "mul", "mean"),
    ("o;k=>3*o<+k", [(4,), (2,)], "add", "logsumexp"),
]


@pytest.mark.parametrize(("spec", "shapes", "combine", "reduce"), FOLDED)
def test_combinations_and_reductions(spec, shapes, combine, reduce):
    arrays = [numbers(*shape) for shape in shapes]
    if combine == "where":
        arrays[0] = arrays[0] > 0
    got = aj.einsum(spec, *arrays, combine=combine, reduce=reduce)
    every = sized(spec, arrays, {})
    want = naive(spec, arrays, every, got.shape, combine, reduce)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("reduce", ["max", "min", "sum", "mean", "logsumexp"])
def test_pooling_leaves_out_what_is_outside(reduce):
    x = numbers(7, 3)
    got = aj.einsum("2*o=+k,c=>o,c", x[:6], reduce=reduce, sizes={"k": 3})
    want = naive("2*o=+k,c=>o,c", [x[:6]], {"o": 3, "k": 3, "c": 3}, (3, 3), reduce=reduce)
    np.testing.assert_allclose(got, want, rtol=1e-12)


def test_row_variables():
    x, y = numbers(2, 5, 6, 3), numbers(3, 5, 6, 4)
    want = np.einsum("aijb,bijc->aijc", x, y)
    np.testing.assert_allclose(aj.einsum("a...b;b...c=>a...c", x, y), want)
    np.testing.assert_allclose(aj.einsum("..v..i=>i..v..", x), np.moveaxis(x, -1, 0))
    q, k = numbers(9, 4, 2, 8), numbers(9, 5, 2, 8)
    scores = aj.einsum("...s|hd;...t|hd=>...s|t->h", q, k)
    np.testing.assert_allclose(scores, np.einsum("bshd,bthd->bsht", q, k))


def test_row_variables_stretch_where_asked():
    x, y = numbers(4, 1, 3), numbers(5, 3)
    got = aj.einsum("..v..i;..v..i=>..v..", x, y, broadcast=True)
    np.testing.assert_allclose(got, np.einsum("...i,...i", x, y))
    with pytest.raises(aj.ShapeError):
        aj.einsum("..v..i;..v..i=>..v..", x, y)
    with pytest.raises(aj.ShapeError):  # labels never stretch
        aj.einsum("..v..i;..v..i=>..v..", x, y[:, :1], broadcast=True)


@pytest.mark.parametrize("reduce", ["max", "min", "prod", "logsumexp", "mean"])
def test_combinations_are_reduced_in_one_kernel_and_not_stored(reduce):
    @aj.jit
    def f(x, y):
        return aj.einsum("ij;jk=>ik", x, y, combine="add", reduce=reduce)

    x, y = numbers(40, 30), numbers(30, 50)
    cost = f.lower(x, y).cost
    assert (cost.kernels, cost.library_calls, cost.temporary_bytes) == (1, 0, 0)
    whole = x[:, :, None] + y
    want = aj.fold(reduce, whole, axes=1)
    np.testing.assert_allclose(f(x, y), want, rtol=1e-12)


@pytest.mark.parametrize("code", ["b1", "i2", "f2", "f4", "c8"])
@pytest.mark.parametrize("reduce", ["sum", "max", "prod", "mean", "logsumexp"])
def test_dtypes_of_results(code, reduce):
    x = np.ones(4, code)
    pooled = aj.einsum("o=+k=>o", x, reduce=reduce, sizes={"k": 3})
    product = aj.einsum("i;i=>", x, x, reduce=reduce)
    wanted = "f8" if reduce in ("mean", "logsumexp") and code in ("b1", "i2") else code
    assert (pooled.dtype, product.dtype) == (np.dtype(wanted),) * 2
    count = {"sum": 4, "logsumexp": 1 + np.log(4)}.get(reduce, 1)
    np.testing.assert_allclose(product, np.asarray(count).astype(wanted), rtol=2e-3)


def test_accumulators():
    x = numbers(4, 5)
    last = aj.Accumulator(0.0, lambda a, b: b)
    np.testing.assert_array_equal(aj.einsum("ij=>i", x, reduce=last), x[:, -1])
    np.testing.assert_array_equal(aj.einsum("ij=>j", x, reduce=last), x[-1])
    norm = aj.Accumulator(0.0, np.add, lambda e: e * e, np.sqrt, True, True)
    got = aj.einsum("ij;j=>ii", x, x[0], combine="sub", reduce=norm)
    np.testing.assert_allclose(got, np.diag(np.linalg.norm(x - x[0], axis=1)))


def test_in_a_compiled_function():
    @aj.jit
    def f(x, y):
        return aj.einsum("ij;jk=>ki", x, y) + np.einsum("ij,jk->ki", x, y, optimize=True)

    for n in (6, 7, 8):
        before = aj.stats()["compiles"]
        x, y = numbers(n, 5), numbers(5, n + 4)
        np.testing.assert_allclose(f(x, y), 2 * (x @ y).T)
    assert aj.stats()["compiles"] == before

    @aj.jit
    def smooth(x):
        k = aj.Size("k")
        found = aj.einsum("o<+k=>o", x, reduce="mean", sizes={"k": 3}, capture=[k])
        return found * k.value

    x = numbers(30)
    np.testing.assert_allclose(smooth(x), np.convolve(x, np.ones(3), "valid"))


def test_axes_survive():
    H, W, K = aj.make_axes({"H": 2, "W": 3, "K": 4})
    x, y = aj.constant(numbers(2, 3), [H, W]), aj.constant(numbers(3, 4), [W, K])
    product = aj.einsum("ij;jk=>ki", x, y)
    assert tuple(product.axes) == (K, H)
    np.testing.assert_allclose(product.eval().values, (numbers(2, 3) @ numbers(3, 4)).T)
    assert tuple(aj.einsum("ij,jk", x, y).axes) == (H, K)
    diagonal = aj.einsum("ij=>iij", x).axes
    assert diagonal[0] is H
    assert diagonal[1] is not H
    assert diagonal[2] is W
    assert diagonal.lengths == (2, 2, 3)
    windows = aj.einsum("i,o<+k=>i,o", x, sizes={"k": 2})
    assert windows.axes[0] is H
    assert windows.axes.lengths == (2, 2)
    one = aj.make_axis(1, "one")
    assert aj.einsum("ij=>ji", aj.constant([[1.0], [2.0]], [H, one])).axes[0] is one


def test_named_arrays_are_computed_at_once():
    H, W, K = aj.make_axes({"H": 2, "W": 3, "K": 4})
    x, y = aj.NamedArray(numbers(2, 3), [H, W]), aj.NamedArray(numbers(3, 4), [W, K])
    for _ in range(2):
        found = aj.einsum("ij;jk=>ki", x, y)
        assert isinstance(found, aj.NamedArray)
        assert tuple(found.axes) == (K, H)
        np.testing.assert_allclose(found.values, (numbers(2, 3) @ numbers(3, 4)).T)


def test_lengths_of_axes_may_come_later():
    N, W = aj.make_axis(name="N"), aj.make_axis(3, "W")
    x = aj.placeholder([N, W])
    gram = aj.einsum("ni;nj=>ij", x, x)
    N.length = 5
    computation = aj.transformers.make_transformer().computation(gram, x)
    np.testing.assert_allclose(computation(numbers(5, 3)), numbers(5, 3).T @ numbers(5, 3))


def test_of_tensors_with_a_shape():
    x = aj.tensor(numbers(2, 3), batch=(), input=(), output=(2, 3))
    w = aj.tensor(2.0, param=True, name="w")
    y = aj.einsum("ij;j->k=>ik", x, w, sizes={"k": 4})
    assert str(w.shape) == "3->4"
    assert y.spec == "ij;j->k=>ik"
    np.testing.assert_allclose(np.asarray(y), np.repeat(2 * numbers(2, 3).sum(1), 4).reshape(2, 4))
    padded = aj.einsum("o=+k,c=>o,c", x, sizes={"k": 3}, reduce="max")
    np.testing.assert_allclose(np.asarray(padded), np.broadcast_to(numbers(2, 3).max(0), (2, 3)))
    assert x.shape.padding == ((1, 1), (0, 0))


def test_captured_sizes():
    n, rest = aj.Size("n"), aj.Size("r")
    aj.einsum("n..r..=>n", numbers(4, 2, 3), capture=[n, rest])
    assert (n.value, rest.value) == (4, 6)
