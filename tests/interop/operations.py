"""Operations of xarray, and what becomes of each in a compiled function.

`python -m tests.interop.operations` writes the table of `docs/scale.md`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from axiomjit.base.errors import NeedsValuesError
from axiomjit.dispatch.jit import jit
from axiomjit.passes.ir.plan_ir import Call

PAGE = Path(__file__).parents[2] / "docs" / "scale.md"
BEGIN, END = "<!-- python -m tests.interop.operations -->\n", "<!-- end -->"
rng = np.random.default_rng(31)
LAT = [-30.0, 0.0, 10.0, 40.0]


def data():
    """The arguments of the operations, by the names of their parameters."""
    months = pd.date_range("2000-01-01", periods=24, freq="MS")
    area = (("lat", "lon"), rng.random((4, 5)) + 0.1)
    a = xr.DataArray(
        rng.random((24, 4, 5)),
        dims=("time", "lat", "lon"),
        coords={
            "time": months,
            "lat": LAT,
            "lon": range(1, 6),
            "area": area,
            "kind": ("lat", [*"xyxz"]),
        },
        name="tas",
        attrs={"units": "K"},
    )
    b = xr.DataArray(
        rng.random((5, 4)), dims=("lon", "lat"), coords={"lat": LAT, "lon": range(1, 6)}
    )
    c = b.isel(lon=slice(2, 5)).rename("c") * 3.0
    s = xr.DataArray(rng.random((6, 7)), dims=("y", "x"), attrs={"long_name": "no coordinates"})
    d = xr.Dataset({"t": a, "b": b, "n": ("lat", [1, 2, 3, 4])}, attrs={"title": "all"})
    return {"a": a, "b": b, "c": c, "n": a.where(a > 0.2), "s": s, "d": d}


def write_items(s):
    s = s.copy()
    s[{"x": slice(0, 2)}] = -1.0
    s[2:4, 3] += s[0, 0]
    return s


def write_labels(b):
    b = b.copy()
    b.loc[{"lat": 0.0}] = 5.0
    return b


def zscore(a):
    return (a - a.mean("time")) / a.std("time")


def anomaly(a):
    months = a.groupby("time.month")
    return months - months.mean()


def assigned(d):
    return d.assign(z=d.t * 2.0, y=lambda x: x.b + x.n)


OPERATIONS = {
    "arithmetic": lambda a: 2.0 * a - a**2 / 3.0,
    "alignment": lambda b, c: b * 2 - c,
    "broadcasting": lambda a, b: a + b,
    "comparison": lambda a, b: (a > b) & (a < 0.8),
    "ufunc": lambda a: np.sqrt(np.exp(a)),
    "apply_ufunc": lambda a: xr.apply_ufunc(lambda v: v**2 + 1, a, keep_attrs=True),
    "apply_ufunc, core dimension": lambda a: xr.apply_ufunc(
        lambda v: v.mean(-1), a, input_core_dims=[["lon"]]
    ),
    "where": lambda a: a.where(a > 0.5, -1.0),
    "xr.where": lambda a, b: xr.where(a > 0.5, a, b),
    "clip": lambda a: a.clip(0.2, 0.8),
    "round": lambda a: a.round(1),
    "astype": lambda a: a.astype("f4") * 2,
    "isnull": lambda n: n.isnull(),
    "fillna": lambda n: n.fillna(0.0),
    "coordinate in arithmetic": lambda a: a * np.cos(np.deg2rad(a.lat)),
    "coordinate without index": lambda a: a / a.area,
    "dt accessor": lambda a: a * a.time.dt.month,
    "sum": lambda a: a.sum(),
    "sum, dimensions": lambda a: a.sum(("lat", "lon"), skipna=False),
    "mean, missing values": lambda n: n.mean("time"),
    "max, min": lambda n: n.max("lon") - n.min("lon"),
    "prod": lambda a: a.prod("lat"),
    "var, std": lambda a: a.var("time", ddof=1) + a.std("time"),
    "any, all": lambda a: (a > 0.9).any("time") | (a > 0.01).all("time"),
    "count": lambda n: n.count("time"),
    "median": lambda a: a.median("time"),
    "quantile": lambda a: a.quantile([0.1, 0.5], "time"),
    "argmax": lambda a: a.argmax("lat"),
    "idxmax": lambda a: a.idxmax("lat"),
    "idxmin, missing values": lambda n: n.idxmin("lon"),
    "float()": lambda a: a / float(a.max()),
    "item": lambda a: a.mean().item() + 1.0,
    "values": lambda a: a.values * 2.0,
    "cumsum": lambda a: a.cumsum("time"),
    "diff": lambda a: a.diff("time"),
    "shift": lambda a: a.shift(time=1),
    "roll": lambda a: a.roll(lon=2, roll_coords=True),
    "stencil": lambda s: s.shift(x=1) + s.shift(x=-1) - 2 * s,
    "pad": lambda b: b.pad(lat=(1, 2), constant_values=0.0),
    "pad, edge": lambda b: b.pad(lon=1, mode="edge"),
    "rolling mean": lambda a: a.rolling(time=3).mean(),
    "rolling sum": lambda a: a.rolling(time=3, center=True, min_periods=1).sum(),
    "rolling construct": lambda a: a.rolling(time=4).construct("w").mean("w"),
    "coarsen": lambda a: a.coarsen(time=4).mean(),
    "groupby": lambda a: a.groupby("time.month").mean(),
    "groupby, arithmetic": anomaly,
    "groupby, texts": lambda a: a.groupby("kind").sum(),
    "groupby_bins": lambda a: a.groupby_bins("lat", [-40, 5, 50]).mean(),
    "resample": lambda a: a.resample(time="YS").mean(),
    "weighted": lambda a: a.weighted(a.area).mean(("lat", "lon")),
    "standardise": zscore,
    "dot": lambda a, b: xr.dot(a, b, dim="lat"),
    "cov": lambda a, b: xr.cov(a, b, dim="lat"),
    "corr": lambda a, b: xr.corr(a, b, dim=("lat", "lon")),
    "isel": lambda a: a.isel(time=slice(2, 9, 2), lat=1),
    "sel": lambda a: a.sel(lat=10.0, lon=[2, 4]),
    "sel, dates": lambda a: a.sel(time="2001"),
    "reindex": lambda b: b.reindex(lon=[0, 1, 2, 9]),
    "interp": lambda a: a.interp(lat=[-5.0, 5.0, 50.0]),
    "interp, nearest": lambda a: a.interp(lon=[1.2, 3.9], method="nearest"),
    "interp_like": lambda a, c: a.interp_like(c),
    "interpolate_na": lambda n: n.interpolate_na("lat"),
    "polyfit": lambda a: a.polyfit("lat", 1),
    "polyval": lambda a: xr.polyval(a.lat, a.polyfit("lat", 2).polyfit_coefficients),
    "differentiate": lambda a: a.differentiate("lat"),
    "integrate": lambda a: a.integrate("lat"),
    "concat": lambda a: xr.concat([a[:3], a[5:9]], "time"),
    "stack, unstack": lambda b: b.stack(z=("lat", "lon")).unstack("z") + 1,
    "transpose": lambda a: a.transpose("lon", ...) + 1,
    "expand_dims, squeeze": lambda b: b.expand_dims("e").squeeze("e", drop=True) * 2,
    "broadcast_like": lambda a, b: b.broadcast_like(a),
    "sortby": lambda a: a.sortby("lat", ascending=False),
    "rename, drop_vars": lambda a: a.rename("new").rename(lat="phi").drop_vars("area"),
    "assign_coords": lambda a: a.assign_coords(lon=a.lon + 180, twice=a.lat * 2),
    "item writes": write_items,
    "loc writes": write_labels,
    "Dataset arithmetic": lambda d: d * 2 + d.b,
    "Dataset mean": lambda d: d.mean("lat"),
    "Dataset assign": assigned,
    "Dataset isel": lambda d: d.isel(lat=slice(1, 3)),
    "Dataset map": lambda d: d.map(lambda v: v * 2),
    "Dataset groupby": lambda d: d[["t"]].groupby("time.season").mean(),
    "Dataset to_array": lambda d: d[["t"]].to_array().sum("variable"),
    "merge": lambda d, c: xr.merge([d, c.reindex(lon=d.lon).rename("q")]),
}
REFUSED = {"interpolate_na"}


def arguments(function, given):
    """The arguments of an operation, by the names of its parameters."""
    return [given[name] for name in function.__code__.co_varnames[: function.__code__.co_argcount]]


def kind_of(function, given):
    """The way in which an operation is compiled: "fused", "step" or "refused"."""
    try:
        lowered = jit(function, strict=True).lower(*arguments(function, given))
    except NeedsValuesError:
        return "refused"
    return "step" if any(isinstance(s, Call) for s in lowered._stages.plan.steps) else "fused"


def table(given):
    """The rows of the page: operations by what becomes of them."""
    kinds = {name: kind_of(function, given) for name, function in OPERATIONS.items()}
    rows = ["| what becomes of it | operations |", "|---|---|"]
    for kind, shown in (
        ("fused", "fused loops"),
        ("step", "loops around steps that a library runs"),
        ("refused", "refused: xarray runs the function, with a warning"),
    ):
        found = [name for name, one in kinds.items() if one == kind]
        rows.append(f"| {shown} ({len(found)}) | {'; '.join(found)} |")
    return "\n".join(rows) + "\n"


def page(text, rows):
    """The text of the page with these rows."""
    before, rest = text.split(BEGIN)
    return before + BEGIN + rows + END + rest.split(END, 1)[1]


if __name__ == "__main__":
    xr.set_options(use_flox=False, use_bottleneck=False, use_numbagg=False)
    PAGE.write_text(page(PAGE.read_text("utf-8"), table(data())), encoding="utf-8")
