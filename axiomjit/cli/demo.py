"""`axiomjit demo`: compile a NumPy function, show its loops, and compare the times of both."""

from __future__ import annotations

import inspect
import itertools
import statistics
import textwrap
import time
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit.base.commands import SPEC, package_version
from axiomjit.base.config import config
from axiomjit.base.dtypes import is_bool, is_real
from axiomjit.base.errors import DataFileError, GraphValueError, amount
from axiomjit.base.tree import flatten_tree
from axiomjit.debug.lowered import Lowered
from axiomjit.dispatch.jit import Jitted, jit
from axiomjit.runtime.execution.workers import available_threads

Array = np.ndarray
Function = Callable[..., Any]
Columns = dict[str, Array]
"""The columns of a file as float64, by name; missing values are NaN."""
ROWS: Final = 10_000_000
SOURCE_LINES: Final = 60
"""The largest number of source lines that are shown; kernels after these lines are left out."""
MOST_COLUMNS: Final = 64
"""The largest number of columns of a 2-D array; a wider array is flattened into one column."""
RUNS: Final = 15
LABEL_WIDTH, COLUMN_WIDTH = 28, 24
SOURCE: Final = "from source"


def l2(x: Array, y: Array) -> Any:
    """The squared distance of x and y, in plain NumPy."""
    t = x - y
    return np.dot(t.T, t)


def run_demo(path: Path | None, rows: int | None, function: Function | None) -> None:
    """Print a function, its compiled loops, and a comparison with NumPy.

    Raises:
        DataFileError: the data file cannot be read, or has too few columns or rows.
            GraphValueError, TraceError: the function fails, or cannot be compiled.
    """
    chosen = l2 if function is None else function
    names = parameters(chosen)
    _say(f"axiomjit demo: axiomjit {package_version('axiomjit', SOURCE)}, {_how_it_runs()}")
    if path is None:
        arrays = _generated(names, ROWS if rows is None else rows)
    else:
        arrays = _fitted_columns(read_columns(path, rows), names, path)
    with np.errstate(all="ignore"):
        jitted = chosen if isinstance(chosen, Jitted) else jit(chosen, strict=True)
        _show_function(jitted, inspect.unwrap(chosen), arrays)
    if path is None or function is None:
        _say(f"\non your own data and function: axiomjit demo FILE --function {SPEC}")


def parameters(function: Function) -> list[str]:
    """The names of the parameters without defaults, for which the demo makes arrays.

    Raises:
        GraphValueError: every parameter has a default, or a parameter without default is
            keyword-only.
    """
    every = inspect.signature(function).parameters.values()
    needed = [p for p in every if p.default is p.empty and p.kind is not p.VAR_KEYWORD]
    by_place = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    if not needed or any(p.kind not in by_place for p in needed):
        name = getattr(function, "__name__", "function")
        raise GraphValueError(
            f"a function of arrays, {name}{inspect.signature(function)}",
            "parameters that cannot be counted" if needed else "no parameter to fill",
            "name a function with positional parameters, such as def f(x, y)",
        )
    return [p.name for p in needed]


def evaluator_reason() -> str | None:
    """The reason why programs run in the NumPy evaluator; None if they are compiled."""
    if config.disable:
        return "AXIOMJIT_DISABLE is set"
    try:
        found = find_spec("numba")
    except (
        ImportError,
        ValueError,
    ) as error:  # an import hook or a broken module may raise anything
        return f"numba cannot be imported: {error}"
    return None if found else "numba is not installed"


def _say(text: str = "") -> None:
    print(text, flush=True)


def _how_it_runs() -> str:
    reason = evaluator_reason()
    if reason:
        return f"not compiled, {reason}"
    return f"{amount(available_threads(), 'thread')}, numpy {np.__version__}"


# The arrays


def _generated(names: Sequence[str], rows: int) -> list[Array]:
    rng = np.random.default_rng(0)
    _say(f"data: {rows:,} rows of random float64, columns {', '.join(names)}")
    return [rng.random(rows) for _ in names]


def read_columns(path: Path, rows: int | None = None) -> Columns:
    """Read the columns of a `.npy`, `.npz` or `.csv` file by `numpy.load` and `genfromtxt`.

    Columns without any number are dropped. If the lengths of columns differ, only columns of the
    most frequent length are kept.

    Raises:
        DataFileError: the file is missing or damaged, or has no numeric column.
    """
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise _refused(path, f"a name that ends in {path.suffix!r}", f"a {', '.join(READERS)} file")
    try:
        found = reader(path, rows)
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        text = " ".join((getattr(error, "strerror", None) or str(error)).split())
        seen = textwrap.shorten(text or type(error).__name__, 120)
        raise _refused(path, seen, "a file that can be read") from error
    taken = {name: np.array(values[:rows], np.float64) for name, values in found.items()}
    kept = {name: values for name, values in taken.items() if not np.isnan(values).all()}
    if not kept:
        raise _refused(path, "no numeric column", "a file with numbers in it")
    length = statistics.mode(map(len, kept.values()))
    return {name: values for name, values in kept.items() if len(values) == length}


def _refused(path: Path, seen: str, instead: str) -> DataFileError:
    return DataFileError(f"read the columns of {path}", seen, f"name {instead}")


def _read_text(path: Path, rows: int | None) -> Columns:
    """The columns of a comma-separated file, named by its first row unless that row is numeric."""
    with path.open(encoding="utf-8-sig") as lines:
        first = next(lines, "").split(",")
    if first == [""]:
        raise ValueError("an empty file")
    try:
        named = bool(np.isnan(list(map(float, first))).any())
    except ValueError:
        named = True
    table = np.genfromtxt(
        path,
        delimiter=",",
        names=True if named else [f"column {k + 1}" for k in range(len(first))],
        deletechars="",
        replace_space=" ",
        encoding="utf-8-sig",
        max_rows=rows,
        ndmin=1,
    )
    return {name: table[name] for name in table.dtype.names or ()}


def _read_arrays(path: Path, rows: int | None) -> Columns:
    with path.open("rb") as file:
        loaded = np.load(file, allow_pickle=False)
        arrays = {path.stem: loaded} if isinstance(loaded, Array) else dict(loaded)
    found: Columns = {}
    for name, array in arrays.items():
        if not (is_bool(array.dtype) or is_real(array.dtype)) or not array.size or not array.ndim:
            continue
        if array.ndim == 2 and array.shape[1] <= MOST_COLUMNS:
            found |= {f"{name}[:, {k}]": array[:, k] for k in range(array.shape[1])}
        else:
            found[name] = array.reshape(-1)
    return found


READERS: Final = {".npy": _read_arrays, ".npz": _read_arrays, ".csv": _read_text}


def _fitted_columns(columns: Columns, names: Sequence[str], path: Path) -> list[Array]:
    """A column for each parameter, without rows that have a missing value in one of these columns.

    If there are two parameters and a single column, the column is used twice: without its first
    row, and without its last row.
    """
    rows, count = len(next(iter(columns.values()))), len(names)
    has = amount(len(columns), "numeric column")
    _say(f"data: {path}\n      {rows:,} rows, {has}")
    shifted = count == 2 and len(columns) == 1
    if len(columns) < count and not shifted:
        asked = f"a function of {count} arrays, from {path}"
        raise DataFileError(asked, has, "name a file with more columns")
    used = list(columns)[: 1 if shifted else count]
    present = ~np.isnan([columns[name] for name in used]).any(axis=0)
    kept = [columns[name][present] for name in used]
    if not present.all():
        _say(f"      dropped {rows - len(kept[0]):,} rows with a missing value in a column used")
    if len(kept[0]) < 1 + shifted:
        seen = f"{len(kept[0])} without a missing value"
        raise DataFileError(f"rows of {', '.join(used)}, from {path}", seen, "name another file")
    if shifted:
        _say(f"      {names[0]} = {used[0]} from its second row on, {names[1]} = one row before")
        return [kept[0][1:], kept[0][:-1]]
    _say("      " + ", ".join(f"{n} = {c}" for n, c in zip(names, used, strict=True)))
    return kept


# The function, its loop, its times


def _show_function(jitted: Function, plain: Function, arrays: list[Array]) -> None:
    _say(f"\nthe function:\n\n{_margin(_source_of(plain))}")
    expected = _try_numpy(plain, arrays)
    lowered: Lowered = jitted.lower(*arrays)  # type: ignore[attr-defined]
    _show_kernels(lowered)
    started = time.perf_counter()
    result = jitted(*arrays)
    first = time.perf_counter() - started
    _compare(plain, jitted, arrays)
    planned = f"{lowered.cost.temporary_bytes:,} bytes"
    _row("temporaries, planned", "", "not compiled" if evaluator_reason() else planned)
    values = zip(flatten_tree(expected)[0], flatten_tree(result)[0], strict=True)
    for number, (left, right) in enumerate(itertools.islice(values, 4), 1):
        _row(f"result {number}", _shown(left), _shown(right))
    _row("largest relative difference", "", f"{difference(result, expected):.1e}")
    _say(f"\nthe first call took {first * 1e3:,.1f} ms; times are medians of {RUNS} runs in turn")


def _margin(source: str) -> str:
    return "\n".join(f"  | {line}" for line in source.rstrip().splitlines())


def _source_of(function: Function) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"{getattr(function, '__name__', function)}: its source is not at hand"


def _try_numpy(function: Function, arrays: list[Array]) -> Any:
    """The function's result in NumPy; any error of the function becomes a GraphValueError."""
    try:
        return function(*arrays)
    except Exception as error:
        name = getattr(function, "__name__", "the function")
        shapes = ", ".join(f"float64{list(a.shape)}" for a in arrays)
        raise GraphValueError(
            f"run {name} in NumPy on {shapes}",
            f"{type(error).__name__}: {error}",
            "name a function of one-dimensional arrays of equal length",
        ) from error


def shown_kernels(sources: Sequence[str]) -> int:
    """The number of kernels whose sources fit in SOURCE_LINES lines, at least one."""
    lengths = itertools.accumulate(len(source.splitlines()) for source in sources)
    return max(1, sum(length <= SOURCE_LINES for length in lengths))


def _show_kernels(lowered: Lowered) -> None:
    sources = [kernel.source for kernel in lowered.kernels]
    cost, count = lowered.cost, shown_kernels(sources)
    kernels = amount(cost.kernels, "kernel")
    if cost.library_calls:
        kernels += f" and {cost.library_calls} matrix products by NumPy's BLAS"
    part = f", of which the first {count}" if count < len(sources) else ""
    _say(f"\ncompiled from this source, {kernels}{part}:\n")
    _say(_margin("\n".join(sources[:count])))


def _compare(plain: Function, jitted: Function, arrays: Sequence[Array]) -> None:
    """Print the times of both functions, measured alternately, and their peak memory."""
    taken: tuple[list[float], list[float]] = ([], [])
    for _ in range(RUNS):
        for function, times in zip((plain, jitted), taken, strict=True):
            started = time.perf_counter()
            function(*arrays)
            times.append(time.perf_counter() - started)
    numpy, ours = map(statistics.median, taken)
    _say(f"\n{'':{LABEL_WIDTH}}{'numpy':>{COLUMN_WIDTH}}{'axiomjit':>{COLUMN_WIDTH}}")
    _row("time of a call", f"{numpy * 1e3:,.3f} ms", f"{ours * 1e3:,.3f} ms")
    _row("as fast as numpy", "1.00 x", f"{numpy / ours:.2f} x")
    peaks = (f"{_traced_bytes(function, arrays):,} bytes" for function in (plain, jitted))
    _row("temporaries, measured", *peaks)


def _row(label: str, left: str, right: str) -> None:
    _say(f"{label:{LABEL_WIDTH}}{left:>{COLUMN_WIDTH}}{right:>{COLUMN_WIDTH}}")


def _traced_bytes(function: Function, arrays: Sequence[Array]) -> int:
    """The peak memory of a call, without its arguments and results."""
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        result = function(*arrays)
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    owned = (leaf for leaf in flatten_tree(result)[0] if isinstance(leaf, Array))
    return max(0, peak - sum(a.nbytes for a in owned if a.base is None))


def _shown(value: object) -> str:
    if isinstance(value, Array) and value.ndim:
        return f"{value.dtype}{list(value.shape)}"
    return repr(float(value)) if isinstance(value, float) else str(value)[:COLUMN_WIDTH]


def difference(value: object, reference: object) -> float:
    """The largest difference between the numbers of two results, relative to the largest number."""
    worst = 0.0
    for left, right in zip(flatten_tree(value)[0], flatten_tree(reference)[0], strict=True):
        if isinstance(right, Array | np.generic | int | float):
            a, b = np.asarray(left, np.float64), np.asarray(right, np.float64)
            differ = (a != b) & ~(np.isnan(a) & np.isnan(b))
            scale = float(np.abs(b[np.isfinite(b)]).max(initial=0.0)) or 1.0
            gaps = np.abs(a[differ] - b[differ]) / scale
            worst = max(worst, float(np.where(np.isnan(gaps), np.inf, gaps).max(initial=0.0)))
        elif left != right:
            worst = np.inf
    return worst
