"""Reductions of groups in compiled functions: xarray's values and labels, from one loop each."""

import sys
from types import ModuleType

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.dispatch.jit import jit

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

from axiomjit.interop import xarray_groups  # noqa: E402 - it imports xarray

METHODS = (
    *("count", "sum", "prod", "mean", "max", "min", "var", "std"),
    *("any", "all", "first", "last", "median"),
)
PLACES = xr.DataArray([[0, 1], [1, 2], [0, 0]], dims=("y", "x"), name="g")
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


@pytest.fixture(scope="module", autouse=True)
def _xarray_alone():
    with xr.set_options(use_flox=False, use_bottleneck=False, use_numbagg=False):
        yield


@pytest.fixture
def folds(monkeypatch):
    """The number of reductions that were folded, in a list."""
    found = []
    fold = xarray_groups.GroupReduction.result

    def counted(self, *args):
        made = fold(self, *args)
        found.append(made is not None)
        return made

    monkeypatch.setattr(xarray_groups.GroupReduction, "result", counted)
    monkeypatch.setattr(config, "disable", True)
    return found


def given(dtype="f8"):
    rng = np.random.default_rng(7)
    values = rng.integers(-3, 4, (3, 14, 2)).astype(dtype)
    if values.dtype.kind == "f":
        values += rng.random(values.shape).astype(dtype)
        values[rng.random(values.shape) < 0.3] = np.nan
        values[1, :5] = np.nan
        values[2, 3:9] = np.inf
    days = pd.to_datetime(["2000-01-03", "2000-02-29", "2000-07-01", "2001-02-01"] * 4)[:14]
    return xr.DataArray(
        values,
        dims=("y", "time", "x"),
        coords={
            "time": days + pd.to_timedelta(range(14), "D"),
            "x": [1.5, 2.5],
            "height": ("x", [10.0, 20.0]),
            "depth": ("time", np.arange(14.0)),
            "kind": ("time", [*"abcabcdabdabca"]),
        },
        name="t",
        attrs={"units": "K"},
    )


def assert_same(found, expected):
    xr.testing.assert_allclose(found, expected, rtol=1e-5)
    xr.testing.assert_identical(xr.zeros_like(found), xr.zeros_like(expected))
    for name, one in expected.coords.items():
        np.testing.assert_array_equal(found.coords[name], one)


def check(function, *args):
    expected = function(*args)
    assert_same(jit(function, strict=True)(*args), expected)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "u1", "?"])
@pytest.mark.parametrize("name", METHODS)
def test_methods(name, dtype, folds):
    check(lambda a: getattr(a.groupby("time.month"), name)(), given(dtype))
    check(lambda a: getattr(a.groupby("kind"), name)(), given(dtype))
    assert folds == ([] if name == "median" else [True, True])


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.groupby("time.month").mean("time", skipna=False),
        lambda a: a.groupby("time.month").var(ddof=1),
        lambda a: a.groupby("kind").std(ddof=1, skipna=False),
        lambda a: a.groupby("time.season").sum(keep_attrs=False),
        lambda a: a.groupby("time.season").min(skipna=False),
        lambda a: a.groupby("kind").last(skipna=False),
        lambda a: a.groupby_bins("depth", [1.5, 4, 6, 6.5, 30]).mean(),
        lambda a: a.groupby_bins("x", [0, 2, 3]).sum(),
        lambda a: a.sortby("time").resample(time="QS").mean(),
        lambda a: a.sortby("time").resample(time="MS").count(),
        lambda a: a.sortby("time").resample(time="YS").first(),
        lambda a: a.transpose("x", "y", "time").groupby("kind").mean(),
        lambda a: a.isel(y=0, x=0, drop=True).groupby("kind").max(),
        lambda a: a.groupby(["kind", "time.month"]).sum(),
        lambda a: a.groupby(
            xr.DataArray([[0, 1], [1, 2], [0, 0]], dims=("y", "x"), name="g")
        ).mean(),
        lambda a: a.to_dataset().assign(n=a.notnull().sum("x")).groupby("kind").mean(),
        lambda a: a.to_dataset().sortby("time").resample(time="YS").max(),
    ],
)
def test_kinds_of_groups(function, folds):
    values = given()
    if "depth" in function.__code__.co_consts:
        values = values.assign_coords(depth=("time", np.arange(14)))
        values = values.set_xindex("depth")
    check(function, values)
    assert folds
    assert all(folds)


@pytest.mark.parametrize(
    "function",
    [
        lambda a: a.groupby("kind").sum(min_count=2),
        lambda a: a.groupby("kind").mean(...),
        lambda a: a.groupby("kind").mean(("time", "x")),
        lambda a: a.groupby("kind").mean("x"),
        lambda a: a.groupby("kind").reduce(np.sum),
        lambda a: a.groupby("kind").map(lambda g: g.mean("time")),
        lambda a: a.to_dataset().assign(n=a.x * 2).groupby("kind").mean(),
    ],
)
def test_other_reductions_are_left_to_xarray(function, folds):
    check(function, given())
    assert not any(folds)


@pytest.mark.parametrize("name", ["mean", "any", "first"])
def test_what_flox_would_do_is_folded(name, folds, monkeypatch):
    expected = getattr(given().groupby("kind"), name)()
    for module in (xr.core._aggregations, xr.core.groupby):
        monkeypatch.setattr(module, "flox_available", True, raising=False)
        monkeypatch.setattr(module, "module_available", lambda *_, **__: True, raising=False)
        monkeypatch.setattr(module, "contains_only_chunked_or_numpy", lambda obj: True)
    flox, dtypes = ModuleType("flox"), ModuleType("flox.xrdtypes")
    flox.xrdtypes, dtypes.NA = dtypes, np.nan
    monkeypatch.setitem(sys.modules, "flox", flox)
    monkeypatch.setitem(sys.modules, "flox.xrdtypes", dtypes)
    with xr.set_options(use_flox=True):
        found = jit(lambda a: getattr(a.groupby("kind"), name)(), strict=True)(given())
    assert_same(found, expected)
    assert folds == [True]


def test_one_loop_per_reduction():
    lowered = aj.jit(lambda a: a.groupby("time.month").mean(), strict=True).lower(given())
    assert lowered.cost.kernels == 3  # the start, one loop over all elements, the quotient
    assert lowered.source.count("isnan") == 1
    assert "labels" not in lowered.loops


def test_other_values_and_lengths_are_other_calls():
    f = jit(lambda a: a.groupby("kind").sum(), strict=True)
    a = given()
    for one in (a, a * 2, a.isel(time=slice(3, 12)), a.isel(time=slice(0, 9)), a):
        for _ in range(3):
            assert_same(f(one), one.groupby("kind").sum())
    assert f.cache_info().traced == 3
