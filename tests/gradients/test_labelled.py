"""Gradients of functions of DataArrays and Datasets: by the data, labels are the argument's."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import GradientError

xr = pytest.importorskip("xarray")


@pytest.fixture(autouse=True)
def _evaluated(monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    with xr.set_options(use_flox=False, use_bottleneck=False, use_numbagg=False):
        yield


def given():
    return xr.DataArray(
        np.random.default_rng(11).random((4, 3)) + 0.5,
        dims=("t", "y"),
        coords={"t": [1, 2, 4, 7], "w": ("y", [1.0, 2.0, 3.0]), "g": ("t", [*"abab"])},
        name="a",
        attrs={"units": "K"},
    )


FUNCTIONS = [
    lambda a: (a**2 * a.w).sum(),
    lambda a: float(((a - a.mean("t")) / a.std("t")).max("y").sum()),
    lambda a: (np.log(a).where(a > 0.7, a * 3.0)).mean().item(),
    lambda a: (a.groupby("g").mean() ** 2).sum(),
    lambda a: (a.groupby("g").var() * a.w).sum(),
    lambda a: (a.groupby("g").max() + a.groupby("g").first()).sum(),
    lambda a: (a.shift(t=1).fillna(2.0) * a.rolling(t=2).mean().fillna(0.0)).sum(),
    lambda a: xr.dot(a, a.isel(y=[2, 1, 0]), dim="t").sum(),
    lambda a: a.interp(t=[1.5, 5.0]).prod(),
    lambda a: (aj.fold("logsumexp", a, axes="t") * aj.einsum("ty,y->y", a, a.w)).sum(),
    lambda a: (a.weighted(a.w).mean("y") ** 2).sum(),
]


@pytest.mark.parametrize("k", range(len(FUNCTIONS)))
def test_gradients_are_differences_with_the_labels_of_the_argument(k):
    function, a = FUNCTIONS[k], given()
    value, found = aj.value_and_grad(function)(a)
    np.testing.assert_allclose(value, function(a))
    xr.testing.assert_identical(xr.zeros_like(found), xr.zeros_like(a))
    np.testing.assert_array_equal(found.w, a.w)
    for place in np.ndindex(a.shape):
        step = np.zeros(a.shape)
        step[place] = 1e-6
        difference = float(function(a + step)) - float(function(a - step))
        np.testing.assert_allclose(found.values[place], difference / 2e-6, rtol=1e-5, atol=1e-7)


def test_several_arguments_and_datasets():
    a = given()
    found = aj.grad(lambda a, k, b: (a * b * k).sum(), argnums=(0, 1, 2))(a, 2.0, a.mean("t"))
    xr.testing.assert_allclose(found[0], xr.zeros_like(a) + a.mean("t") * 2.0)
    assert found[1] == pytest.approx(float((a * a.mean("t")).sum()))
    assert (found[2].dims, list(found[2].coords)) == (("y",), ["w"])
    data = xr.Dataset({"a": a, "b": a.y * a.w}, attrs={"title": "two"}).astype(float)
    made = aj.grad(lambda d: (d.a * d.b).sum())(data)
    xr.testing.assert_allclose(made.a, xr.zeros_like(a) + data.b)
    xr.testing.assert_allclose(made.b, data.b * 0.0 + a.sum("t"))
    assert (made.attrs, set(made.coords)) == (data.attrs, set(data.coords))


def test_a_step_along_the_gradient_goes_on_with_the_same_labels():
    f = aj.grad(lambda a: (a * a).sum())
    a = given()
    for _ in range(4):
        a = a - 0.25 * f(a)
    xr.testing.assert_allclose(a, given() / 16.0)


@pytest.mark.parametrize(
    ("call", "seen"),
    [
        (lambda a: aj.grad(lambda a: a * 1.0)(a), "float64.4, 3., not one float"),
        (lambda a: aj.grad(lambda a: (a * 1.0).sum())(a.astype(int)), "int64.4, 3."),
        (lambda a: aj.vjp(lambda a: a * 1.0, a), "a DataArray, whose labels only grad"),
        (lambda a: aj.jvp(lambda a: a * 1.0, (a,), (a,)), "a DataArray, whose labels only grad"),
        (lambda a: aj.jacobian(lambda a: a * 1.0)(a), "a DataArray, whose labels only grad"),
        (lambda a: aj.vmap(lambda a: a * 1.0)(a), "a DataArray, whose labels only grad"),
    ],
)
def test_refusals(call, seen):
    with pytest.raises(GradientError, match=seen):
        call(given())
