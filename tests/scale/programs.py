"""Random programs of arrays in random blocks, compared with NumPy on the whole arrays."""

import itertools
import linecache
import random
import warnings
from contextlib import contextmanager
from typing import NamedTuple

import dask.array as da
import numpy as np

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError
from axiomjit.dispatch.jit import jit
from axiomjit.scale import tasks

TOLERANCE = 1e-9
NUMBERS = itertools.count()
STEPS = {
    "map": (
        "{a} * 2.0 + 1.0",
        "np.where({a} > 1.0, {a}, -{a})",
        "np.sqrt(np.abs({a}))",
        "{a} + {same}",
        "{a} * {same} - {a}",
        "np.maximum({a}, {same})",
        "{a}.astype('f4').astype('f8')",
        "np.clip({a}, -2.0, 3.0)",
    ),
    "reduce": (
        "{a} - {a}.mean({k}, keepdims=True)",
        "{a} + {a}.max({k}, keepdims=True)",
        "{a} * {a}.min({k}, keepdims=True)",
        "{a}.sum({k})",
        "{a}.std({k})",
        "{a}.var({k}, keepdims=True) + {a}",
        "{a}.argmax({k})",
        "{a} + {a}.argmin({k}, keepdims=True)",
        "({a} > 0).any({k})",
        "np.isfinite({a}).all({k}) * 1.0",
        "np.nanmax({a}, axis={k})",
        "{a}.sum() * {a}",
        "{a}.argmax() * 1.0 + {a}",
        "np.count_nonzero({a} > 0, axis={k}) * 1.0",
        "aj.fold(LAST, {a}, axes={k})",
        "aj.fold(FIRST, {a}, axes={k})",
        "aj.fold(SPREAD, {a}, axes={k})",
    ),
    "halo": (
        "np.diff({a}, axis={k})",
        "{a}[{lead}1:-1] * 2.0 - {a}[{lead}:-2] - {a}[{lead}2:]",
        "ends_kept({a}, {k})",
        "np.gradient({a}, axis={k})",
        "np.pad({a}, 1)[{lead}2:] + {a}[{lead}:]",
        "np.lib.stride_tricks.sliding_window_view({a}, 3, {k}).max(-1)",
        "{a}[:-1, :-1] * 2.0 - {a}[1:, 1:]",
    ),
    "write": ("written({a}, {k})", "smoothed({a}, {k})"),
    "scan": (
        "np.cumsum({a}, axis={k})",
        "np.maximum.accumulate({a}, axis={k})",
        "np.cumsum({a}, axis={k}) - {a}.sum({k}, keepdims=True)",
        "np.cumsum({a}, axis={k}).max({k}, keepdims=True) + {a}",
    ),
    "position": (
        "{a} + np.arange({a}.shape[{k}]).reshape({column})",
        "np.where(np.arange({a}.shape[{k}]).reshape({column}) % 3 == 1, {a}, 0.0)",
    ),
    "chosen": (
        "np.take({a}, [{at}, 0], axis={k})",
        "{a}[{lead}np.arange({at}, -1, -3)]",
        "np.take_along_axis({a}, {a}.argmax({k}, keepdims=True), axis={k})",
        "np.take_along_axis({a}, (np.abs({a}) % 3).astype('i8').max({k}, keepdims=True), axis={k})",
    ),
    "slice": (
        "{a}[{lead}::2]",
        "{a}[{lead}::-1]",
        "{a}[{lead}{at}]",
        "{a}[{lead}{at}:]",
        "{a}.T",
        "np.flip({a})",
    ),
    "join": (
        "np.concatenate([{a}, {a} * 2.0], axis={k})",
        "np.roll({a}, 1, {k})",
        "np.stack([{a}, -{a}])",
        "np.concatenate([{a}, np.ones_like({a})], axis={k})",
    ),
    "groups": tuple(
        f"aj.fold({acc}, {{a}}, axes={{k}}, by={labels}, groups=4)"
        for acc, labels in [
            ("'sum'", "labels({a}, {k})"),
            ("'max'", "labels({a}, {k})"),
            ("'argmin'", "labels({a}, {k})"),
            ("'std'", "LABELS[:{a}.shape[{k}]]"),
            ("'mean'", "LABELS[:{a}.shape[{k}]]"),
            ("LAST", "labels({a}, {k})"),
            ("SPREAD", "LABELS[:{a}.shape[{k}]]"),
        ]
    )
    + (
        "aj.fold('sum', {a}, axes={k}, by=own_labels({a}, {k}), groups=3)",
        "aj.fold(FIRST, {a}, axes={k}, by=own_labels({a}, {k}), groups=3)",
        "{a} - np.take(aj.fold('max', {a}, axes={k}, by=ROUND[:{a}.shape[{k}]], groups=4), "
        "ROUND[:{a}.shape[{k}]], axis={k})",
        "added({a}, LABELS[:{a}.shape[0]])",
        "aj.fold('sum', {a}, by=(np.abs({a}) % 3).astype('i8'), groups=3)",
    ),
    "contract": ("{a} @ {a}.T", "np.einsum('ij,ij->j', {a}, {a})", "{a}.T @ {a}", "{a} @ w"),
}
DOORS = (
    "aj.einsum('ij,ij->j', x, y)",
    "aj.einsum('ij,jk->ik', x, w)",
    "aj.einsum('ij,kj->ik', x, y)",
    "aj.einsum('ij;kj=>ik', x, y, combine='add', reduce='max')",
    "aj.einsum('ij;ij=>i', x, y, combine='sub', reduce='logsumexp')",
    "aj.fold('variance', x, axes=0)",
    "aj.fold(LAST, x, axes=1)",
    "aj.fold(SPREAD, x, axes=(0, 1))",
    "aj.fold('sum', x, axes=1, running=True)",
    "aj.fold('mean', x, axes=0, by=ROUND[: x.shape[0]], groups=5)",
    "aj.fold(FIRST, y, axes=1, by=ROUND[: x.shape[1]], groups=4)",
    "aj.elementwise(lambda a, b: a * b + 1.0, 'broadcast')(x, y)",
    "aj.elementwise(lambda a, b: a - b, ('accumulate', 'sum'))(x, y[:, 0])",
)
"""Calls outside of compiled functions."""
UNKNOWN_DOORS = DOORS[:2] + DOORS[5:6] + DOORS[11:12]
HELPERS = {
    "aj": aj,
    "LABELS": np.arange(60) * 7 % 5 - 1,
    "ROUND": np.arange(60) * 3 % 4,
    "FIRST": aj.Accumulator(None, lambda a, b: a + 0.0 * b),
    "LAST": aj.Accumulator(None, lambda a, b: 0.0 * a + b),
    "SPREAD": aj.Accumulator(
        (np.inf, -np.inf),
        lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])),
        lift=lambda x: (x, x),
        final=lambda a: a[1] - a[0],
        commutative=True,
    ),
}
exec(
    """
import numpy as np

def written(a, k):
    b = a.copy()
    b = np.moveaxis(b, k, 0).copy()
    b[1:] = b[1:] * 0.5
    return np.moveaxis(b, 0, k)

def labels(a, k):
    return np.arange(a.shape[k]) * 3 % 5 - 1

def own_labels(a, k):
    row = np.moveaxis(a, k, 0)[(slice(None), *(0,) * (a.ndim - 1))]
    return (np.abs(row) % 4).astype("i8") - 1

def added(a, places):
    found = np.full((4, *a.shape[1:]), 2.0)
    np.add.at(found, places, a)
    return found

def ends_kept(a, k):
    b = np.moveaxis(a, k, 0)
    return np.moveaxis(np.concatenate([b[:1], (b[:-2] + b[2:]) / 2, b[-1:]]), 0, k)

def smoothed(a, k):
    b = np.moveaxis(a, k, 0).copy()
    c = b.copy()
    c[1:-1] = (b[:-2] + b[2:]) / 2
    return np.moveaxis(c, 0, k)
""",
    HELPERS,
)


class Program(NamedTuple):
    """A function as text, its arguments, and the lengths of their blocks."""

    text: str
    arrays: dict
    chunks: dict
    unknown: bool
    is_outside: bool
    """True if Dask arrays are given to the function itself, which is not compiled."""
    strip: int
    """The bytes of a strip, which decide into how many strips a task cuts its block."""

    def __repr__(self):
        shape = self.arrays["x"].shape
        rest = f"unknown {self.unknown}, strips of {self.strip} bytes"
        return f"{self.text}\n{shape} in {self.chunks['x']}, {rest}"


def cut(rng, n):
    """Random lengths of blocks: one block, equal ones, blocks of 1, or any."""
    kind = rng.randrange(5)
    if kind == 0:
        return (n,)
    if kind == 1:
        size = rng.randint(2, max(2, n // 2))
        return tuple(min(size, n - k) for k in range(0, n, size))
    ends = sorted({0, n, *(rng.randrange(1, n) for _ in range(rng.randint(1, 4)))})
    if kind == 2:
        ends = sorted({*ends, 1, n - 1})
    return tuple(b - a for a, b in zip(ends, ends[1:], strict=False))


def draw_program(seed, number):
    """A program, by seed and number alone."""
    rng = random.Random(f"{seed} {number}")
    values = np.random.default_rng([seed, number])
    shape = rng.randint(5, 14), rng.randint(5, 14)
    arrays = {name: values.integers(-4, 5, shape).astype("f8") for name in "xy"}
    chunks = tuple(cut(rng, n) for n in shape)
    unknown, strip = rng.random() < 0.15, rng.choice([16, 200, 2**19])
    rows = ["def program(x, y):"]
    known = {**arrays, "w": values.integers(-2, 3, (shape[1], 3)).astype("f8")}
    space = {"np": np, **HELPERS, **known}
    if unknown:
        taken = mask(shape[0], chunks[0])
        space |= {name: array[taken] for name, array in arrays.items()}
    names = ["x", "y"]
    if rng.random() < 0.12:
        door = rng.choice(UNKNOWN_DOORS if unknown else DOORS)
        return Program(
            f"{rows[0]}\n    return {door}",
            known,
            dict.fromkeys("xy", chunks),
            unknown,
            True,
            strip,
        )
    for step in range(rng.randint(1, 5)):
        made = _drawn_step(rng, names, space, unknown)
        if made is None:
            continue
        name = f"v{step}"
        rows.append(f"    {name} = {made[0]}")
        space[name] = made[1]
        names.append(name)
    results = names[-2:] if rng.random() < 0.4 else names[-1:]
    rows.append(f"    return {', '.join(results)}")
    return Program("\n".join(rows), known, dict.fromkeys("xy", chunks), unknown, False, strip)


def mask(n, chunks):
    """The rows that are taken where lengths are unknown: none of the first block of several."""
    rows = np.arange(n) % 3 != 1
    rows[: chunks[0]] = chunks[0] == n
    return rows


def _drawn_step(rng, names, space, unknown):
    """An expression of known values, and its value; None if it does not fit them."""
    name = rng.choice(names[-3:])
    a = space[name]
    kinds = ("map", "reduce", "contract") if unknown else tuple(STEPS)
    kind = rng.choice(kinds)
    pattern = rng.choice(STEPS[kind])
    if a.ndim == 0 or (kind == "contract" and a.ndim != 2) or a.size > 4000:
        return None
    k = rng.randrange(a.ndim)
    if min(a.shape) < 3:
        return None
    alike = [n for n in names if space[n].shape == a.shape]
    column = tuple(-1 if d == k else 1 for d in range(a.ndim))
    text = pattern.format(
        *(), a=name, k=k, lead=":, " * k, same=rng.choice(alike), column=column,
        at=rng.randrange(a.shape[k] - 1),
    )  # fmt: skip
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            made = eval(text, dict(space))
    except (ValueError, IndexError, TypeError):
        return None
    made = np.asarray(made)
    if made.ndim > 3 or np.abs(made).max(initial=0) > 1e9:
        return None
    return text, made


def run(program):
    """The results in blocks and in NumPy, as lists; None if the call was refused."""
    space = {"np": np, **HELPERS, "w": program.arrays["w"]}
    name = f"<program {next(NUMBERS)}>"
    linecache.cache[name] = len(program.text), None, program.text.splitlines(True), name
    exec(compile(program.text, name, "exec"), space)
    function, given, blocks = space["program"], {}, {}
    for name in "xy":
        given[name] = program.arrays[name]
        blocks[name] = da.from_array(given[name], chunks=program.chunks[name])
    if program.unknown:
        chunks = program.chunks["x"][:1]
        rows = mask(given["x"].shape[0], chunks[0])
        given = {name: value[rows] for name, value in given.items()}
        blocks = {name: value[da.from_array(rows, chunks)] for name, value in blocks.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"), in_strips(program.strip):
        warnings.simplefilter("ignore")
        want = function(**given)
        try:
            got = (function if program.is_outside else jit(function))(**blocks)
        except GraphValueError as error:
            return str(error)
        want, got = (v if isinstance(v, tuple) else (v,) for v in (want, got))
        found = [one.compute(scheduler="synchronous") for one in got]
    return want, got, found


def failure(program):
    """The difference from NumPy, as text; None without one; the text of a refusal in a list."""
    try:
        made = run(program)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    if isinstance(made, str):
        return [made]
    for want, got, found in zip(*made, strict=True):
        want = np.asarray(want)
        if found.shape != want.shape or (not program.unknown and got.shape != want.shape):
            return f"shapes {found.shape}, {got.shape}, in NumPy {want.shape}"
        if found.dtype != want.dtype or got.dtype != want.dtype:
            return f"dtypes {found.dtype}, {got.dtype}, in NumPy {want.dtype}"
        size = max(1.0, np.abs(want).max(initial=0.0)) if want.dtype.kind == "f" else 1.0
        if not np.allclose(found, want, rtol=TOLERANCE, atol=TOLERANCE * size, equal_nan=True):
            return f"values\n{found}\nin NumPy\n{want}"
    return None


@contextmanager
def in_strips(size):
    """A context in which tasks cut their blocks into strips of this many bytes, also short ones."""
    before = tasks.STRIP_BYTES, tasks.HALOS_PER_STRIP
    tasks.STRIP_BYTES, tasks.HALOS_PER_STRIP = size, 1
    try:
        yield
    finally:
        tasks.STRIP_BYTES, tasks.HALOS_PER_STRIP = before


@contextmanager
def in_way(name):
    """A context in which programs are evaluated, or compiled."""
    before = config.disable
    config.disable = name != "compiled"
    try:
        yield
    finally:
        config.disable = before


def campaign(seed, first, count, name):
    """The failures, as text, of programs run in one way."""
    return results(seed, first, count, name)[0]


def results(seed, first, count, name):
    """The failures, and the refusals, of programs run in one way."""
    failures, refusals = [], []
    with in_way(name):
        for number in range(first, first + count):
            program = draw_program(seed, number)
            found = failure(program)
            if isinstance(found, list):
                refusals += found
            elif found is not None:
                failures.append(f"{name}, seed {seed}, program {number}:\n{program}\n{found}")
    return failures, refusals
