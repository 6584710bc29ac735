"""Random functions of DataArrays and Datasets, called in turn with other values, lengths, labels.

Each call is compared with xarray's own: values, dimensions, coordinates, attributes, names, dtypes,
errors, and what became of the arguments. A program is its text; statements that xarray refuses for
the first arguments are drawn again.

`python -m tests.interop.programs --programs N --seed S` prints the failures.
"""

import argparse
import itertools
import linecache
import random
import traceback
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd
import xarray as xr

from axiomjit.base.errors import FallbackWarning
from axiomjit.dispatch.jit import jit

OPTIONS = {"use_flox": False, "use_bottleneck": False, "use_numbagg": False}
_files = itertools.count()
STATEMENTS = (
    *("{n} = {a} + {b}", "{n} = {a} - 2.0 * {b}", "{n} = {a} * {b}", "{n} = {a} / ({b} + 9.5)"),
    *("{n} = {a} * {a}.{coord}", "{n} = {a} - {a}.{coord}.mean()", "{n} = -{a} ** 2"),
    *("{n} = {a}.isel({dim}=slice(1, None)) + {b}", "{n} = {b} - {a}.isel({dim}=slice(0, -1))"),
    *("{n} = {a}.isel({dim}=slice(None, None, -1)) * {b}", "{n} = {a} + {a}.{red}({dims})"),
    *("{n} = np.exp({a} * 0.1)", "{n} = np.sqrt(abs({a}))", "{n} = {a}.astype('f4') + {b}"),
    *("{n} = {a}.where({a} > 0.4)", "{n} = {a}.where({b} < 0.6, -1.0)", "{n} = {a}.fillna(0.5)"),
    *("{n} = xr.where({a} > {b}, {a}, 0.0)", "{n} = {a}.clip(0.2, 0.7)"),
    *("{n} = {a}.isnull() | False", "{n} = {a}.{red}({dims})", "{n} = {a}.{red}()"),
    *("{n} = {a}.{skip}({dims}, skipna=False)", "{n} = {a}.quantile(0.25, {dims})"),
    *("{n} = {a}.median({dims})", "{n} = {a}.var({dims}, ddof=1)", "{n} = {a}.shift({dim}={k})"),
    *("{n} = {a}.roll({dim}={k}, roll_coords={flag})", "{n} = {a}.diff({dims})"),
    *("{n} = {a}.cumsum({dims})", "{n} = {a}.pad({dim}=1)"),
    *("{n} = {a}.rolling({dim}=2).{skip}()", "{n} = {a}.rolling({dim}=3, min_periods=1).mean()"),
    *("{n} = {a}.coarsen({dim}=2, boundary='trim').{skip}()", "{n} = {a}.differentiate({dims})"),
    *("{n} = {a}.groupby('kind').{group}()", "{n} = {a}.groupby('t.month').{group}()"),
    "{n} = {a}.groupby('kind') - {a}.groupby('kind').mean()",
    *("{n} = {a}.groupby('kind').sum()", "{n} = {a}.resample(t='2MS').{group}()"),
    *("{n} = {a}.groupby_bins('y', [-1, 1.5, 9]).{group}()", "{n} = {a}.isel({dim}={k})"),
    *("{n} = {a}.isel({dim}=[0, -1])", "{n} = {a}.transpose(..., {dims})"),
    *("{n} = {a}.sel(y={a}.y[1:])", "{n} = {a}.reindex(y=[0, 1, 7])", "{n} = {a}.sortby('y')"),
    *("{n} = {a}.sortby('{dim}', ascending=False)", "{n} = {a}.T + {b}"),
    *("{n} = {a}.interp(y=[0.5, 1.25])", "{n} = xr.concat([{a}, {a} * 2.0], '{dim}')"),
    *("{n} = xr.concat([{a}, {b}], 'new')", "{n} = xr.dot({a}, {b}, dim={dims})"),
    "{n} = {a}.weighted(abs({b}).fillna(1.0)).mean({dims})",
    *("{n} = {a}.expand_dims('e').squeeze('e')", "{n} = {a}.rename({dim}='q').mean('q')"),
    *("{n} = {a}.assign_coords(extra={a}.{coord} * 2.0)", "{n} = {a}.rename('other')"),
    *("{n} = {a}.stack(z=('t', 'y')).unstack('z')", "{n} = {a}.argmax({dims})"),
    *("{n} = {a}.idxmax({dims})", "{n} = {a}.copy()\n{n}[{{'{dim}': 0}}] = 1.5"),
    "{n} = {a}.copy()\n{n}[{{'{dim}': 1}}] += {n}.max()",
    "{n} = {a}.copy()\n{n}.loc[{{'y': {a}.y[0]}}] = -2.0",
    "{n} = {a} + 0.5\n{n}[..., 0] = 3.0",
    "{n} = xr.Dataset({{'p': {a}, 'q': {b}}}).mean({dims}).p",
    "{n} = (xr.Dataset({{'p': {a}, 'q': {b}}}) * 2.0 + {a}).q",
    "{n} = xr.Dataset({{'p': {a}, 'q': {a} * 3.0}}).groupby('kind').{group}().q",
    "{n} = xr.Dataset({{'p': {a}}}).assign(r=lambda d: d.p * 2.0).map(lambda v: v + 1.0).r",
)
CHOICES = {
    "red": ("sum", "mean", "max", "min", "std", "count", "prod"),
    "skip": ("sum", "mean", "max", "min", "std"),
    "group": ("mean", "sum", "max", "min", "std", "var", "count", "first", "last", "prod"),
    "coord": ("w", "depth", "y"),
    "k": (1, -1, 0),
    "flag": (True, False),
}


class Program(NamedTuple):
    """The text of a function of three arguments, and the seed of its arguments."""

    text: str
    seed: int


def arguments(seed, lengths=(5, 4, 3), move=0.0, scale=1.0):
    """Two DataArrays and a Dataset; `move` changes the index of y, `scale` all values."""
    draw, rng = random.Random(seed), np.random.default_rng(seed)
    t, y, x = lengths
    dates = draw.random() < 0.7
    coords = {
        "t": pd.date_range("2000-01-01", periods=t, freq="MS") if dates else np.arange(t) * 2,
        "y": np.arange(y) + move,
        "kind": ("t", [draw.choice("abc") for _ in range(t)]),
        "w": ("y", rng.random(y)),
        "depth": (("y", "x"), rng.random((y, x))),
    }
    if draw.random() < 0.5:
        coords["x"] = np.arange(x) * 0.5
    values = rng.random((t, y, x)) * scale
    if draw.random() < 0.5:
        values[rng.random(values.shape) < 0.2] = np.nan
    a = xr.DataArray(values, coords, ("t", "y", "x"), "a", {"units": "K", "of": 1})
    b = xr.DataArray(rng.random((y, t)) * scale, dims=("y", "t"), attrs={"of": 1, "by": "b"})
    b = b.assign_coords({name: a.coords[name] for name in ("t", "y", "w") if draw.random() < 0.8})
    if draw.random() < 0.3:
        b = b.isel(y=slice(1, None))
    d = xr.Dataset({"p": a * 2.0, "n": ("y", rng.integers(-5, 9, y))}, attrs={"title": "d"})
    return [a, b, d]


def draw_program(seed, index):
    """The program of a number."""
    draw = random.Random(f"{seed} {index}")
    own = draw.randrange(10**6)
    args = arguments(own)
    space = {"np": np, "xr": xr, "a": args[0], "b": args[1], "d": args[2]}
    lines = ["c = d.p - d.n"]
    _run(lines[0], space)
    names = ["a", "b", "c"]
    for k in range(draw.randint(2, 5)):
        for _ in range(30):
            name, line = f"v{k}", draw.choice(STATEMENTS)
            left = draw.choice(names[-2:] if draw.random() < 0.7 else names)
            dims = [str(one) for one in space[left].dims] or ["t"]
            filled = {key: draw.choice(given) for key, given in CHOICES.items()}
            dim = draw.choice(dims)
            line = line.format(
                n=name, a=left, b=draw.choice(names), dim=dim, dims=repr(dim), **filled
            )
            if _run(line, space) and isinstance(space[name], xr.DataArray):
                lines += line.split("\n")
                names.append(name)
                break
    returned = ", ".join(dict.fromkeys((names[-1], draw.choice(names[2:]), "c")))
    body = "\n".join(f"    {line}" for line in (*lines, f"return {returned}"))
    return Program(f"def f(a, b, d):\n{body}\n", own)


def _run(line, space):
    before = {key: one.copy(deep=True) for key, one in space.items() if hasattr(one, "dims")}
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"), xr.set_options(**OPTIONS):
            warnings.simplefilter("ignore")
            exec(line, space)
    except Exception:  # xarray refuses the statement in many ways
        return False
    return all(space[key].identical(one) for key, one in before.items())


def function_of(text):
    """The function of a text, which its code is traced from."""
    name = f"<xarray program {next(_files)}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    space = {"np": np, "xr": xr, "__name__": "xarray_program"}
    exec(compile(text, name, "exec"), space)
    return space["f"]


def calls(seed):
    """The arguments of the calls of a program, by the way in which they are other ones."""
    first = arguments(seed)
    moved = [first[0], *arguments(seed, move=1.0)[1:]]
    yield "first", first
    yield "values", arguments(seed, scale=1.5)
    yield "index of y moved", arguments(seed, move=1.0)
    yield "index of y moved in some", moved
    yield "lengths", arguments(seed, (7, 5, 2))
    yield "lengths equal", arguments(seed, (4, 4, 4))
    yield "order of dimensions", [first[0].transpose("x", "t", "y"), *first[1:]]
    a, b, d = first
    kinds = {"kind": ("t", [*"ccabbaacb"][: len(a.t)])}
    yield "attributes", [a.assign_attrs(units="m"), b, d.assign(p=d.p.assign_attrs(units="m"))]
    yield "coordinates", [a.assign_coords(w=a.w + 1.0), b, d]
    yield "kinds", [a.assign_coords(kinds), b, d.assign_coords(kinds)]
    yield "first again", arguments(seed)


def failure(program):
    """The first difference of a program, as text; None without one. Also if NumPy ran a call."""
    plain, compiled = function_of(program.text), jit(function_of(program.text))
    left = False
    for way, args in calls(program.seed):
        mine = [one.copy(deep=True) for one in args]
        with warnings.catch_warnings(record=True) as seen, np.errstate(all="ignore"):
            warnings.simplefilter("always")
            with xr.set_options(**OPTIONS):
                wanted, found = _result(plain, args), _result(compiled, mine)
        left |= any(issubclass(one.category, FallbackWarning) for one in seen)
        difference = _difference(found, wanted) or _difference(mine, args)
        if difference:
            return f"{way}: {difference}\n{program.text}seed {program.seed}", left
    return None, left


def _result(function, args):
    try:
        found = function(*args)
    except Exception as error:  # compared with that of the other function
        return error
    return list(found) if isinstance(found, tuple) else [found]


def _difference(found, wanted):
    """The difference of two results; "" without one."""
    if isinstance(wanted, Exception):
        # which of xarray's exceptions a refusal is may depend on how far the data is known
        return "" if isinstance(found, Exception) else f"no error, but {wanted!r}"
    if isinstance(found, Exception):
        return "".join(traceback.format_exception(found)[-3:])
    try:
        for one, other in zip(found, wanted, strict=True):
            _same(one, other)
    except AssertionError as error:
        return str(error)
    return ""


def _same(found, wanted):
    assert type(found) is type(wanted)
    xr.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
    xr.testing.assert_identical(_blank(found), _blank(wanted))
    assert _dtypes(found) == _dtypes(wanted), (_dtypes(found), _dtypes(wanted))


def _blank(value):
    """The labels: zeros in place of data and of coordinates without index, which are floats."""
    blank = xr.zeros_like(value)
    floats = [k for k, v in value.coords.items() if k not in value.indexes and v.dtype.kind == "f"]
    return blank.assign_coords({name: xr.zeros_like(value.coords[name]) for name in floats})


def _dtypes(value):
    if isinstance(value, xr.Dataset):
        return {name: one.dtype for name, one in value.variables.items()}
    return {None: value.dtype} | {name: one.dtype for name, one in value.coords.items()}


def campaign(seed, first, count):
    """The failures of some programs, and how many of them NumPy ran at least once."""
    found, left = [], 0
    for index in range(first, first + count):
        text, ran = failure(draw_program(seed, index))
        left += ran
        if text is not None:
            found.append(f"program {index} of seed {seed}, {text}")
    return found, left


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--programs", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    failures, ran = campaign(given.seed, given.first, given.programs)
    print("\n\n".join(failures))
    print(f"{len(failures)} failures of {given.programs} programs; NumPy ran {ran}")
