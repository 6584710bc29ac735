"""Compiled functions of DataArrays and Datasets give what xarray gives: values and labels."""

import time

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.dispatch.jit import jit

xr = pytest.importorskip("xarray")
pd = pytest.importorskip("pandas")

from axiomjit.interop import labelled  # noqa: E402 - it imports xarray
from tests.interop import operations  # noqa: E402 - the same


@pytest.fixture(scope="module")
def given():
    return operations.data()


@pytest.fixture(scope="module", autouse=True)
def _xarray_alone():
    """Keep libraries away that xarray calls where they are installed."""
    with xr.set_options(use_flox=False, use_bottleneck=False, use_numbagg=False):
        yield


def assert_same(found, expected, rtol=1e-9):
    """Equal values, dimensions, coordinates, attributes and names."""
    assert type(found) is type(expected)
    if isinstance(expected, xr.DataArray | xr.Dataset):
        xr.testing.assert_allclose(found, expected, rtol=rtol)
        xr.testing.assert_identical(zeros(found), zeros(expected))
        for name in expected.coords:
            assert type(found.coords[name].variable) is type(expected.coords[name].variable)
    else:
        np.testing.assert_allclose(found, expected, rtol=rtol)


def zeros(value):
    plain = value.copy(deep=True)
    for one in [plain] if isinstance(plain, xr.DataArray) else plain.data_vars.values():
        if one.dtype.kind in "uifcb":
            one.values[...] = 0
    for name, one in plain.coords.items():
        if name not in plain.indexes and one.dtype.kind == "f":
            one.values[...] = 0
    return plain


@pytest.mark.parametrize("name", sorted(set(operations.OPERATIONS) - operations.REFUSED))
def test_operations_equal_xarrays(name, given, monkeypatch):
    monkeypatch.setattr(config, "disable", True)  # what is traced counts, not what is compiled
    function = operations.OPERATIONS[name]
    args = operations.arguments(function, given)
    before = [one.copy(deep=True) for one in args]
    assert_same(jit(function, strict=True)(*args), function(*args), 1e-6)
    for one, old in zip(args, before, strict=True):
        xr.testing.assert_identical(one, old)


@pytest.mark.parametrize("name", sorted(operations.REFUSED))
def test_refused_operations_are_xarrays(name, given):
    function = operations.OPERATIONS[name]
    args = operations.arguments(function, given)
    with pytest.warns(FallbackWarning):
        found = jit(function)(*args)
    xr.testing.assert_identical(found, function(*args))


def test_the_table_of_the_page_is_the_generated_one(given):
    text = operations.PAGE.read_text("utf-8")
    rows = operations.table(given)
    assert text == operations.page(text, rows), "python -m tests.interop.operations writes it"
    assert len(operations.REFUSED) <= 3
    assert len(operations.OPERATIONS) >= 60


def test_a_compiled_call_gives_the_same_natively(given):
    f = jit(operations.zscore, strict=True)
    a = given["a"]
    expected = operations.zscore(a)
    for _ in range(4):
        assert_same(f(a), expected)
    info = f.cache_info()
    assert (info.traced, info.hits, info.in_numpy) == (1, 3, ())
    assert f._labelled.hits >= 1
    assert_same(f(a * 2.0), operations.zscore(a * 2.0))
    assert f.cache_info().traced == 1


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_labels_are_static():
    f = jit(lambda x: x + 1, strict=True)
    x = xr.DataArray(np.arange(3.0), dims="t", coords={"t": [1, 2, 3]}, name="x", attrs={"a": 1})
    equal = xr.DataArray(
        np.arange(3.0), dims="t", coords={"t": [1, 2, 3]}, name="x", attrs={"a": 1}
    )
    f(x), f(x), f(equal)
    assert f.cache_info().traced == 1
    for other in (
        x.rename("y"),
        x.rename(t="u"),
        x.assign_coords(t=[1, 2, 4]),
        x.assign_coords(t=[1.0, 2.0, 3.0]),
        x.assign_coords(t=("t", [1, 2, 3], {"units": "d"})),
        x.assign_coords(c=("t", [*"abc"])),
        x.assign_coords(c=("t", [*"abd"])),
        x.assign_attrs(a=1.0),
        x.assign_attrs(a=True),
        x.drop_vars("t"),
    ):
        for _ in range(3):
            assert_same(f(other), other + 1)
    info = f.cache_info()
    assert info.traced == 11
    assert info.reasons[1].startswith("labels of arguments")


def test_attributes_that_are_changed_in_place_are_seen():
    f = jit(lambda x: x.assign_attrs(b=2), strict=True)
    x = xr.DataArray(np.arange(3.0), dims="t", coords={"t": [1, 2, 3]}, attrs={"a": 1})
    assert f(x).attrs == {"a": 1, "b": 2}
    x.attrs["a"] = 3
    x.t.attrs["units"] = "d"
    for _ in range(3):
        found = f(x)
        assert (found.attrs, found.t.attrs) == ({"a": 3, "b": 2}, {"units": "d"})
        found.attrs["a"] = found.t.attrs["units"] = None  # results share nothing


def test_coordinates_without_index_are_arguments():
    f = jit(lambda x: x * x.w, strict=True)
    x = xr.DataArray(np.ones(3), dims="t", coords={"w": ("t", [1.0, 2.0, 3.0])})
    for factor in (1.0, 2.0, 3.0):
        other = x.assign_coords(w=x.w * factor)
        assert_same(f(other), other * other.w)
    assert f.cache_info().traced == 1


def test_labels_of_extremes_keep_coordinates_that_are_arguments():
    x = xr.DataArray(
        [[1.0, 5.0], [2.0, 3.0]],
        dims=("i", "j"),
        coords={"i": [4, 5], "w": ("j", [7.0, 8.0])},
    )
    for name in ("idxmax", "idxmin"):
        f = jit(lambda x, name=name: getattr(x, name)("i"), strict=True)
        xr.testing.assert_identical(f(x), getattr(x, name)("i"))


def test_numbers_and_arrays_beside_labels():
    f = jit(lambda x, k, v, *, p=1: {"a": (x * k + v.sum()) ** p, "b": [x.mean()]}, strict=True)
    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("i", "j"))
    for k in (2.0, 3.0):
        for p in (1, 2):
            found = f(x, k, np.ones(4), p=p)
            assert_same(found["a"], (x * k + 4.0) ** p)
            assert_same(found["b"][0], x.mean())
    other = f(x, 2.0, np.ones(4))
    assert_same(other["a"], x * 2.0 + 4.0)


def test_writes_into_an_argument_reach_the_caller():
    def f(x):
        x[{"i": 0}] = 5.0
        return x.sum()

    x = xr.DataArray(np.arange(6.0).reshape(2, 3), dims=("i", "j"))
    y = x.copy(deep=True)
    for _ in range(3):
        assert_same(jit(f, strict=True)(x), f(y))
        xr.testing.assert_identical(x, y)


def relabels(x):
    x.attrs["seen"] = True
    x.name = "other"
    return x + 1


def adds(x):
    x["new"] = ("i", [1.0, 2.0])
    return x + 1


@pytest.mark.parametrize("change", [relabels, adds])
def test_labels_of_an_argument_change_as_in_xarray(change):
    x = xr.DataArray(np.arange(2.0), dims="i", name="x")
    x = x if change is relabels else x.to_dataset()
    y = x.copy(deep=True)
    f = jit(change)
    with pytest.warns(FallbackWarning, match="labels of an argument"):
        found = f(x)
    xr.testing.assert_identical(found, change(y))
    xr.testing.assert_identical(x, y)


def test_files_are_not_written_while_tracing(tmp_path):
    def f(x):
        x.t.to_netcdf(tmp_path / "a.nc")
        return x

    x = xr.DataArray(np.arange(3.0), dims="t", coords={"t": [1, 2, 3]})
    with pytest.raises(axiomjit.errors.NeedsValuesError, match="to_netcdf, which is not known"):
        jit(f, strict=True)(x)
    assert list(tmp_path.iterdir()) == []


def test_subclasses_and_dates_are_left_to_xarray():
    class Own(xr.DataArray):
        __slots__ = ()

    f = jit(lambda x: x + x)
    x = Own(np.arange(3.0), dims="t")
    with pytest.warns(FallbackWarning):
        assert type(f(x)) is Own
    days = xr.DataArray(pd.date_range("2000", periods=3), dims="t")
    g = jit(lambda x: x - x[0])
    with pytest.warns(FallbackWarning):
        xr.testing.assert_identical(g(days), days - days[0])


def test_errors_are_xarrays():
    x = xr.DataArray(np.arange(3.0), dims="t")
    with pytest.raises(ValueError, match="do not exist"):
        jit(lambda x: x.transpose("u"))(x)
    with pytest.raises(KeyError):
        jit(lambda x: x.sel(t=5, method=None).isel(u=1) if False else x["nowhere"])(x)


def test_a_warm_call_takes_at_most_100_microseconds():
    f = jit(lambda x: (x - x.mean("t")) * 2.0, strict=True)
    x = xr.DataArray(
        np.ones((3, 4)), dims=("t", "y"), coords={"t": [1, 2, 3], "c": ("y", [1.0, 2, 3, 4])}
    )
    times = []
    for _ in range(300):
        start = time.perf_counter()
        f(x)
        times.append(time.perf_counter() - start)
    assert min(times) < 100e-6


def test_quickly_made_variables_are_what_xarray_makes():
    x = xr.DataArray(
        np.arange(3.0),
        dims="t",
        coords={"t": ("t", [1, 2, 3], {"of": "day"}), "w": ("t", [1.0, 2.0, 3.0])},
        attrs={"units": "K"},
    )
    x.encoding["scale"] = 2
    assert labelled._HAS_KNOWN_SLOTS
    leaves, structure = flatten_tree(x)
    made = unflatten_tree(structure, iter(leaves))
    xr.testing.assert_identical(made, x)
    assert made.encoding == {"scale": 2}
    made.attrs["units"] = made.t.attrs["of"] = made.encoding["scale"] = None
    assert (x.attrs, x.t.attrs, x.encoding) == ({"units": "K"}, {"of": "day"}, {"scale": 2})
    xr.testing.assert_identical(made.copy(deep=True) + made, made * 2)
