"""DataArrays as named arrays: dimensions pair by name, labels stay as xarray keeps them."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError

xr = pytest.importorskip("xarray")
Y = [1, 2, 3]


def given():
    rng = np.random.default_rng(3)
    height = ("x", [1.0, 2.0, 3.0, 4.0])
    a = xr.DataArray(
        rng.random((2, 3, 4)),
        dims=("t", "y", "x"),
        coords={"y": Y, "height": height, "run": 7},
        name="a",
        attrs={"units": "K", "of": 1},
    )
    b = xr.DataArray(rng.random((4, 3)), dims=("x", "y"), coords={"y": Y}, attrs={"of": 1})
    return a, b


A, B = given()
PRODUCT = aj.elementwise(lambda p, q: p * q + 1.0, "broadcast")
SUMMED = aj.elementwise(lambda p, q: p - q, ("accumulate", "sum"))
BOTH = aj.elementwise(lambda p, q: (p * q, p + q), ["broadcast", ("accumulate", "sum")], order="f")
PAIR = aj.Accumulator(
    (0.0, 1.0),
    lambda a, b: (a[0] + b[0], a[1] * b[1]),
    lift=lambda v: (v, v),
    commutative=True,
)


def fold_pair(a):
    return aj.fold(PAIR, a, axes="y")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (lambda a, b: aj.fold("mean", a, axes="t"), lambda a, b: a.mean("t")),
        (lambda a, b: aj.fold("sum", a), lambda a, b: a.sum()),
        (lambda a, b: aj.fold("max", a, axes=["x", "y"]), lambda a, b: a.max(("x", "y"))),
        (lambda a, b: aj.fold("sum", b, axes="x", running=True), lambda a, b: b.cumsum("x")),
        (lambda a, b: fold_pair(a)[0], lambda a, b: a.sum("y")),
        (lambda a, b: fold_pair(a)[1], lambda a, b: a.prod("y")),
        (lambda a, b: aj.einsum("tyx,xy->ty", a, b), lambda a, b: xr.dot(a, b, dim="x")),
        (
            lambda a, b: aj.einsum("tyx=>yt", a, reduce="max"),
            lambda a, b: a.max("x").transpose("y", "t"),
        ),
        (lambda a, b: PRODUCT(a, b), lambda a, b: a * b + 1.0),
        (lambda a, b: PRODUCT(b, a), lambda a, b: b * a + 1.0),
        (lambda a, b: PRODUCT(b, 2.0), lambda a, b: b * 2.0 + 1.0),
        (lambda a, b: SUMMED(a, b[0]), lambda a, b: a.sum(("t", "x")) - b[0]),
        (lambda a, b: BOTH(a, b)[1], lambda a, b: (a.sum("t") + b).transpose("x", "y")),
        (lambda a, b: BOTH(a, b)[0], lambda a, b: (a * b).transpose("t", "x", "y")),
    ],
)
def test_results_are_xarrays(ours, theirs):
    expected = theirs(A, B)
    for function in (ours, aj.jit(ours, strict=True)):
        found = function(A, B)
        xr.testing.assert_allclose(found, expected)
        xr.testing.assert_identical(xr.zeros_like(found), xr.zeros_like(expected))


def test_groups_are_a_dimension():
    labels = xr.DataArray([0, 1, 0], dims="y", coords={"y": Y}, name="half")
    found = aj.fold("sum", A, axes="y", by=labels, groups=2)
    expected = A.groupby(labels).sum().transpose("t", "half", "x").drop_vars("half")
    xr.testing.assert_allclose(found, expected)
    assert found.dims == ("t", "half", "x")
    plain = aj.fold("sum", A, axes="y", by=np.array([0, 1, 0]), groups=2)
    assert plain.dims == ("t", "group", "x")
    np.testing.assert_allclose(plain, found)


def test_operands_of_a_fold_pair_by_name():
    dot = aj.Accumulator(
        0.0, lambda s, t: s + t, lift=lambda p, q: p * q, commutative=True, has_identity=True
    )
    xr.testing.assert_allclose(aj.fold(dot, A, B, axes=("x", "y")), (A * B).sum(("x", "y")))


REFUSALS = {
    "other length": lambda: aj.fold("sum", A, B.isel(x=[0])),
    "other length in a product": lambda: aj.einsum("tyx,xy->ty", A, B[:2]),
    "other index": lambda: PRODUCT(A, B.assign_coords(y=[1, 2, 4])),
    "no such dimension": lambda: aj.fold("sum", A, axes="z"),
    "dimension twice": lambda: aj.fold("sum", A, axes=("x", "x")),
    "number of a dimension": lambda: aj.fold("sum", A, axes=0),
    "result with a dimension twice": lambda: aj.einsum("ab,cb->ac", B, B),
    "two smallest operands": lambda: SUMMED(B[0], A[:, 0, 0]),
    "labels along another dimension": lambda: aj.fold("sum", A, by=A.y, groups=9),
    "labels without a number": lambda: aj.fold("sum", A, axes="y", by=A.y),
    "array without names": lambda: PRODUCT(A, np.ones(4)),
    "dataset": lambda: aj.fold("sum", A.to_dataset(name="q")),
    "dataset in a product": lambda: aj.einsum("xy,xy->x", B, B.to_dataset(name="q")),
    "named array of an array": lambda: aj.NamedArray.from_xarray(np.ones(3)),
    "named array of a dataset": lambda: aj.NamedArray.from_xarray(A.to_dataset(name="q")),
    "dimension without a text": lambda: aj.NamedArray.from_xarray(A.rename(x=1)),
    "too few axes": lambda: aj.NamedArray.from_xarray(A, aj.make_axes({"t": 2})),
    "two axes of one name": lambda: aj.NamedArray(
        np.ones((2, 2)), aj.make_axes([aj.make_axis(2, "t"), aj.make_axis(2, "t")])
    ).to_xarray(),
    "argument without a dimension": lambda: placed()(B[:, 0]),
    "argument of another length": lambda: placed()(B[:2]),
}
"""Calls that are refused, by their reason."""


def placed():
    place = aj.placeholder(aj.make_axes({"y": 3, "x": 4}))
    return aj.transformers.make_transformer().computation(place * 2.0, place)


def test_refusals(golden):
    texts = []
    for name, call in REFUSALS.items():
        with pytest.raises((AxesError, GraphTypeError, GraphValueError)) as caught:
            call()
        error = caught.value
        texts.append(f"{name}: {error.asked}\n  seen: {error.seen}\n  instead: {error.remedy}")
    golden("\n".join(texts) + "\n")


def test_named_arrays_and_back():
    named = aj.NamedArray.from_xarray(A)
    assert named.dims == A.dims
    assert np.shares_memory(named.values, A.values)
    back = named.to_xarray(A.coords, A.name, A.attrs)
    xr.testing.assert_identical(back, A)
    part = np.mean(named, axis="t").to_xarray(A.coords)
    xr.testing.assert_allclose(part, A.mean("t").drop_attrs())
    other = aj.NamedArray.from_xarray(B)
    assert (named * other).axes == named.axes  # equal names and lengths are one axis
    T, Y_, X = aj.make_axes({"t": 2, "y": 3, "x": 4})
    assert aj.NamedArray.from_xarray(A, [T, Y_, X]).axes == aj.make_axes([T, Y_, X])
    with pytest.raises(AxesError):
        aj.NamedArray.from_xarray(A, [T])
    twice = aj.NamedArray(np.ones((2, 2)), aj.make_axes([aj.make_axis(2, "t"), T]))
    with pytest.raises(GraphValueError, match="two dimensions 't'"):
        twice.to_xarray()


def test_xarray_converts_named_arrays():
    named = aj.NamedArray.from_xarray(A)
    made = xr.DataArray(named)
    assert type(made.variable._data) is np.ndarray
    assert made.dims == A.dims
    assert type(xr.Variable(("t", "y", "x"), named)._data) is np.ndarray
    xr.testing.assert_allclose(A.copy(data=named) + 1, A + 1)
    assert np.mean(named, axis="t").dims == ("y", "x")  # NumPy still finds its protocol


def test_the_axis_graph_takes_data_arrays():
    found = (aj.exp(B) + A).eval()
    np.testing.assert_allclose(found.to_xarray(), (np.exp(B) + A).transpose(*found.dims))
    assert aj.constant(B).axes.names == ("x", "y")
    y, x = aj.make_axis(3, "y"), aj.make_axis(4, "x")
    place = aj.placeholder([y, x])
    total = aj.transformers.make_transformer().computation(place.sum(y), place)
    np.testing.assert_allclose(total(B), B.sum("y"))
    with pytest.raises(GraphValueError, match="dimensions .'x',., for axes"):
        total(B[:, 0])
