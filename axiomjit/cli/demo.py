"""`axiomjit demo`: a NumPy function, the loop it becomes, and both of them at work."""

from __future__ import annotations

import inspect
import itertools
import os
import textwrap
import time
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from typing import Any, Final

import numpy as np

from axiomjit.base.commands import SPEC, package_version
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import DataFileError, GraphValueError
from axiomjit.base.tree import flatten_tree
from axiomjit.cli.datafile import Column, DataFile
from axiomjit.cli.measure import (
    QUIET,
    RUNS,
    Comparison,
    OtherPrograms,
    compare_functions,
    difference,
    exact_l2,
)
from axiomjit.driver.jit import Jitted, jit
from axiomjit.runtime.compiling.kernel_cache import KERNELS
from axiomjit.runtime.launching.schedule import available_threads
from axiomjit.show.lowered import Lowered

Array = np.ndarray
Function = Callable[..., Any]
ROWS: Final = 10_000_000
SEED: Final = 0
SOURCE_LINES: Final = 60
"""The most lines shown; of longer sources only the first kernels are shown."""
SHOWN_NOTES, SHOWN_COLUMNS, FEW_ROWS = 8, 20, 100_000
WIDTH, NAME, COLUMN = 24, 28, 21
SOURCE: Final = "from source"


def l2(x: Array, y: Array) -> Any:
    """The squared distance of x and y, as one writes it in NumPy."""
    t = x - y
    return np.dot(t.T, t)


def summary(x: Array) -> Any:
    """Mean, least and greatest value, and standard deviation of a column."""
    mean = np.mean(x)
    return mean, np.min(x), np.max(x), np.sqrt(np.mean((x - mean) ** 2))


def run_demo(data: DataFile | None, rows: int | None, function: Function | None) -> None:
    """Print the demo.

    Args:
        data: the columns to work on; without them numbers are generated.
        rows: how many rows to generate.
        function: what to compile instead of `l2`, a function of as many arrays as it has
            parameters.

    Raises:
        DataFileError: too few columns or rows for the function.
        GraphValueError, TraceError: the function does not run, or cannot be compiled.
    """
    chosen = l2 if function is None else function
    names = parameters(chosen)
    others = OtherPrograms()
    _say(f"axiomjit demo: axiomjit {package_version('axiomjit', SOURCE)}, {_how()}")
    if data is None:
        arrays = _generated(names, ROWS if rows is None else rows)
    else:
        arrays = _from_file(data, names)
    with np.errstate(all="ignore"):
        jitted = chosen if isinstance(chosen, Jitted) else jit(chosen, strict=True)
        plain = inspect.unwrap(chosen)
        _show_function(jitted, plain, arrays, others, exact=function is None)
        if data is not None:
            _show_summary(data, others)
    if _busy(others):
        used = f"{others.cores():.1f} of {os.cpu_count()} cores"
        _say(f"\nother programs used {used} meanwhile: times are unreliable,")
        _say("those of NumPy's threaded products most of all")
    if data is None or function is None:
        _say(f"\non your own data and function: axiomjit demo FILE --function {SPEC}")


def parameters(function: Function) -> list[str]:
    """The parameters that the demo fills with arrays: those without defaults.

    Raises:
        GraphValueError: there is none, or one of them is by keyword only.
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


def _say(text: str = "") -> None:
    print(text, flush=True)


def evaluator_reason() -> str | None:
    """Why programs run in the NumPy evaluator; None where they are compiled."""
    if config.disable:
        return "AXIOMJIT_DISABLE is set"
    try:
        found = find_spec("numba")
    except (ImportError, ValueError) as error:  # something keeps it from being imported
        return f"numba cannot be imported: {error}"
    return None if found else "numba is not installed"


def _how() -> str:
    reason = evaluator_reason()
    if reason:
        return f"not compiled, {reason}"
    threads = available_threads()
    return f"{threads} thread{'s' * (threads > 1)}, numpy {np.__version__}"


# Where the arrays come from


def _generated(names: Sequence[str], rows: int) -> list[Array]:
    rng = np.random.default_rng(SEED)
    arrays = [rng.random(rows) for _ in names]
    size = sum(a.nbytes for a in arrays)
    columns = "column" if len(names) == 1 else "columns"
    _say(f"data: {rows:,} rows, {columns} {', '.join(names)}, random float64, {size:,} bytes")
    return arrays


def _from_file(data: DataFile, names: Sequence[str]) -> list[Array]:
    """Columns for the parameters; rows with a missing value in one of them are dropped."""
    count, columns = len(names), data.columns
    _say(f"data: {data.path} ({data.kind})")
    has = f"{len(columns)} numeric column{'s' * (len(columns) > 1)}"
    _say(f"      {data.rows:,} rows, {has}")
    for note in data.notes[:SHOWN_NOTES]:
        _say(f"      {note}")
    if len(data.notes) > SHOWN_NOTES:
        _say(f"      and {len(data.notes) - SHOWN_NOTES} more such notes")
    shifted = count == 2 and len(columns) == 1
    if len(columns) < count and not shifted:
        _too_little(data, f"a function of {count} arrays", has, "name a file with more columns")
    used = columns[: 1 if shifted else count]
    present = ~np.isnan([c.values for c in used]).any(axis=0)
    dropped = data.rows - int(present.sum())
    if dropped:
        _say(f"      dropped {dropped:,} rows with a missing value in a column used here")
    kept = [c.values[present] if dropped else c.values for c in used]
    if len(kept[0]) < 1 + shifted:
        has = f"{len(kept[0])} without a missing value"
        _too_little(data, f"rows of {', '.join(c.name for c in used)}", has, "name another file")
    if shifted:
        only = used[0].name
        _say(f"      {names[0]} = {only} from its second row on, {names[1]} = one row before")
        return [kept[0][1:], kept[0][:-1]]
    pairs = (f"{n} = {c.name}" for n, c in zip(names, used, strict=True))
    _say(f"      {', '.join(pairs)}")
    return kept


def _too_little(data: DataFile, asked: str, seen: str, remedy: str) -> None:
    raise DataFileError(f"{asked}, from {data.path}", seen, remedy)


# The function, its loop, its times


def _show_function(
    jitted: Function, plain: Function, arrays: list[Array], others: OtherPrograms, exact: bool
) -> None:
    _say("\nthe function:\n")
    _say(_margin(_source_of(plain)))
    expected = _try_numpy(plain, arrays)
    started = time.perf_counter()
    lowered: Lowered = jitted.lower(*arrays)  # type: ignore[attr-defined]
    lowering = time.perf_counter() - started
    _show_kernels(lowered)
    first = _first_call(lowered, jitted, arrays, lowering)
    result = jitted(*arrays)
    seen = compare_functions(plain, jitted, arrays)
    _say(f"\n{'':{NAME}}{'numpy':>{WIDTH}}{'axiomjit':>{WIDTH}}")
    _show_times("time of a call", seen, others)
    planned = f"{lowered.cost.temporary_bytes:,} bytes"
    _row("temporaries, planned", "", "not compiled" if evaluator_reason() else planned)
    _row("temporaries, measured", f"{seen.numpy_bytes:,} bytes", f"{seen.ours_bytes:,} bytes")
    _show_results(expected, result)
    if exact:
        true = exact_l2(*arrays)
        off = (f"{difference(value, true):.1e}" for value in (expected, result))
        _row("off math.fsum, relative", *off)
    _say(f"{'axiomjit off numpy, relative':{NAME}}{difference(result, expected):{2 * WIDTH}.1e}")
    _say(f"\n{first}")
    _say(f"times are medians and quartiles of {RUNS} interleaved runs; measured temporaries are")
    _say("what tracemalloc saw at the peak, results apart, small Python objects of the call too")
    if len(arrays[0]) < FEW_ROWS:
        _say(f"{len(arrays[0]):,} rows are few: this is the price of a call more than of a loop")


def _row(label: str, left: str, right: str) -> None:
    _say(f"{label:{NAME}}{left:>{WIDTH}}{right:>{WIDTH}}")


def _margin(source: str) -> str:
    """Source with a margin."""
    return "\n".join(f"  | {line}" for line in source.rstrip().splitlines())


def _source_of(function: Function) -> str:
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"{getattr(function, '__name__', function)}: its source is not at hand"


def _try_numpy(function: Function, arrays: list[Array]) -> Any:
    """The result of NumPy itself; what the user's function raises becomes one clear error."""
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
    """How many of these kernels fill SOURCE_LINES lines, at least one; a kernel is shown whole."""
    lengths = itertools.accumulate(len(source.splitlines()) for source in sources)
    return max(1, sum(length <= SOURCE_LINES for length in lengths))


def _show_kernels(lowered: Lowered) -> None:
    sources = [kernel.source for kernel in lowered.kernels]
    cost, count = lowered.cost, shown_kernels(sources)
    kernels = f"{cost.kernels} kernel{'s' * (cost.kernels != 1)}"
    if cost.library_calls:
        kernels += f" and {cost.library_calls} matrix products by NumPy's BLAS"
    part = f", of which the first {count}" if count < len(sources) else ""
    _say(f"\ncompiled from this source, {kernels}{part}:\n")
    _say(_margin("\n".join(sources[:count])))


def _first_call(lowered: Lowered, jitted: Function, arrays: list[Array], lowering: float) -> str:
    """Make the first call; what each part of it took."""
    if evaluator_reason():
        jitted(*arrays)
        return f"before the first result: {lowering * 1e3:,.1f} ms of passes; nothing is compiled"
    before, started = stats()["compiles"], time.perf_counter()
    for kernel in lowered.kernels:
        KERNELS.get(kernel)
    took = (time.perf_counter() - started) * 1e3
    how = "to import Numba and compile"
    if stats()["compiles"] == before:
        how = "to load kernels from disk"
    jitted(*arrays)
    passes = f"{lowering * 1e3:,.1f} ms of passes"
    return f"once, before the first result: {passes}, {took:,.1f} ms {how}"


def _busy(others: OtherPrograms) -> bool:
    return others.cores() > QUIET * (os.cpu_count() or 1)


def _show_times(label: str, seen: Comparison, others: OtherPrograms) -> None:
    """Medians and quartiles, in the unit of the shorter ones; the ratio if it is certain."""
    shorter = min(seen.numpy.median, seen.ours.median)
    unit, factor = ("ms", 1e3) if shorter >= 1e-4 else ("us", 1e6)
    both = (seen.numpy, seen.ours)
    _row(label, *(f"{times.median * factor:,.3f} {unit}" for times in both))
    ranges = ((times.low * factor, times.high * factor) for times in both)
    _row("quartiles", *(f"{low:,.3f} to {high:,.3f}" for low, high in ranges))
    ratio = seen.ratio
    if ratio is None or _busy(others):
        reason = "quartiles overlap" if ratio is None else "busy cores"
        _row("ratio of times", "", f"none: {reason}")
        return
    _row("ratio of times", "1.00 x", f"{ratio.median:.2f} x as fast")
    _row("as the quartiles allow", "", f"{ratio.low:.2f} to {ratio.high:.2f}")


# Results


def _show_results(expected: object, result: object) -> None:
    pairs = list(zip(flatten_tree(expected)[0], flatten_tree(result)[0], strict=True))
    for k, (left, right) in enumerate(pairs[:4]):
        label = "result" if len(pairs) == 1 else f"result {k + 1}"
        _row(label, _shown(left), _shown(right))


def _shown(value: object) -> str:
    if isinstance(value, Array) and value.ndim:
        return f"{value.dtype}{list(value.shape)}"
    return repr(float(value)) if isinstance(value, float) else str(value)[:WIDTH]


def _show_summary(data: DataFile, others: OtherPrograms) -> None:
    """Fused statistics of each column, in a table, against NumPy."""
    jitted = jit(summary, strict=True)
    columns = data.columns[:SHOWN_COLUMNS]
    clean = [c.values[~np.isnan(c.values)] for c in columns]
    kernels = jitted.lower(clean[0]).cost.kernels
    _say("\nthe columns, each by this function:\n")
    _say(_margin(_source_of(summary)))
    heads = "".join(f"{h:>17}" for h in ("mean", "min", "max", "std"))
    _say(f"\n{'column':{COLUMN}}{'rows':>11}{heads}")
    worst = 0.0
    for column, values in zip(columns, clean, strict=True):
        results = jitted(values)
        _say(_line(column, values, results))
        worst = max(worst, *map(difference, results, summary(values)))
    if any(len(values) < data.rows for values in clean):
        _say("* rows with a value; the others are missing and left out")
    if len(data.columns) > len(columns):
        _say(f"and {len(data.columns) - len(columns)} more columns")
    seen = compare_functions(_each(summary), _each(jitted), clean)
    _say(f"\n{'':{NAME}}{'numpy':>{WIDTH}}{'axiomjit':>{WIDTH}}")
    _show_times("time of all columns", seen, others)
    _row("temporaries, measured", f"{seen.numpy_bytes:,} bytes", f"{seen.ours_bytes:,} bytes")
    _row("passes over a column", "", f"{kernels} loops")
    _say(f"{'axiomjit off numpy, relative':{NAME}}{worst:{2 * WIDTH}.1e}")


def _each(function: Function) -> Function:
    """A function of columns that calls another one with each of them."""
    return lambda *columns: [function(values) for values in columns]


def _line(column: Column, values: Array, results: Sequence[float]) -> str:
    missing = len(column.values) - len(values)
    rows = f"{len(values):,}" + ("*" if missing else " ")
    numbers = "".join(f"{value:17.9g}" for value in results)
    return f"{column.name[:COLUMN]:{COLUMN}}{rows:>11}{numbers}"
