"""Lazy arrays as data of DataArrays: operations are recorded, values and labels are xarray's."""

import numpy as np
import pytest

import axiomjit as aj
import axiomjit.numpy as anp
from axiomjit.base.counters import stats

xr = pytest.importorskip("xarray")

X = np.random.default_rng(5).random((100, 60))
LAZY = {
    "arithmetic": lambda a: (a * 2.0 - a.w) / (a + 1.0),
    "ufuncs": lambda a: np.sqrt(np.exp(a)),
    "where": lambda a: xr.where(a > 0.5, a, a.where(a > 0.2)),
    "clip": lambda a: abs(-a).clip(0.2, 0.8).astype("f4"),
    "fillna": lambda a: a.where(a > 0.1).fillna(0.5),
    "apply_ufunc": lambda a: xr.apply_ufunc(lambda v: v * v, a, keep_attrs=True),
    "mixed": lambda a: a + xr.DataArray(X[0], dims="y"),
    "Dataset": lambda a: (a.to_dataset() * 2.0).a,
    "isel": lambda a: a.isel(t=slice(3, 9)).T + 1.0,
}
OTHERS = {
    "mean": lambda a: (a - a.mean("t")) / a.std("t"),
    "max": lambda a: a.max("y") + a.sum("y"),
    "shift": lambda a: a.shift(t=1) + a.roll(t=2),
    "rolling": lambda a: a.rolling(t=3).mean(),
    "concat": lambda a: xr.concat([a, a * 2.0], "t"),
    "groupby": lambda a: a.groupby("g").mean(),
    "dot": lambda a: xr.dot(a, a, dim="y"),
    "stack": lambda a: a.stack(z=("t", "y")).sum("z"),
    "interp": lambda a: a.interp(t=[1.5, 2.5]),
    "sortby": lambda a: a.sortby("w", ascending=False).cumsum("t"),
    "quantile": lambda a: a.quantile(0.5, "t"),
}


@pytest.fixture(scope="module", autouse=True)
def _xarray_alone():
    with xr.set_options(use_flox=False, use_bottleneck=False, use_numbagg=False):
        yield


def given(data):
    coords = {"t": np.arange(100), "w": ("y", np.arange(60.0)), "g": ("t", np.arange(100) % 3)}
    return xr.DataArray(data, coords, ("t", "y"), "a", {"units": "K"})


def is_lazy(array):
    return isinstance(array.variable._data, anp.ndarray)


def assert_same(found, expected):
    xr.testing.assert_allclose(found, expected)
    xr.testing.assert_identical(xr.zeros_like(found), xr.zeros_like(expected))


@pytest.mark.parametrize("name", LAZY)
def test_elementwise_operations_stay_lazy(name):
    found = LAZY[name](given(anp.array(X)))
    assert is_lazy(found)
    assert_same(found, LAZY[name](given(X)))


@pytest.mark.parametrize("name", OTHERS)
def test_other_operations_give_the_same(name):
    assert_same(OTHERS[name](given(anp.array(X))), OTHERS[name](given(X)))


def test_a_chain_runs_when_it_is_looked_at():
    a = given(anp.array(X))
    for _ in range(3):  # paths are known after the first
        chain = np.exp(a) * 2.0 + a
        before = stats()["kernels_run"]
        chain.values  # noqa: B018 - a look
        ran = stats()["kernels_run"] - before
    assert ran == 1


def test_writes_change_only_their_array():
    a = given(anp.array(X))
    b, shown = a.copy(deep=True), given(X).copy(deep=True)
    for one in (b, shown):
        one[{"t": 0}] = 5.0
        one.loc[{"t": 3}] = one.loc[{"t": 4}] * 2.0
    assert is_lazy(b)
    assert_same(b, shown)
    assert_same(a, given(X))


def test_compiled_functions_take_them():
    a = given(anp.array(X))
    f = aj.jit(lambda a: a.mean("t") * 2.0, strict=True)
    for one in (a, a + 1.0, given(X)):
        for _ in range(3):
            assert_same(f(one), one.mean("t") * 2.0)
    assert f.cache_info().traced == 1
    assert_same(aj.fold("mean", a, axes="t"), given(X).mean("t"))
    assert type(aj.NamedArray.from_xarray(a).values) is np.ndarray
