"""Time of each elementary function by NumPy's and by a plain Numba loop's, in one thread.

`python -m bench.elementary_speed [NAMES]` runs the three in turn over 10**6 numbers that lie in
given outputs, and prints medians of the ratios round by round; the bound is the upper end of the
median's 95 % interval (order statistics).
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from axiomjit.runtime.compile_source import compile_source

Array = np.ndarray[Any, Any]
SIZE = 10**6
INTERVALS: dict[str, tuple[float, float]] = {
    "exp": (-80, 80),
    "exp2": (-120, 120),
    "expm1": (-10, 80),
    "cbrt": (-1000, 1000),
    "log1p": (-0.9, 100),
    "power": (0.01, 10),
    "erf": (-3, 3),
    "erfc": (-3, 10),
    **dict.fromkeys(("sin", "cos", "tan"), (-10, 10)),
    **dict.fromkeys(("arcsin", "arccos", "arctanh"), (-1, 1)),
    **dict.fromkeys(("arctan", "arctan2", "sinh", "cosh", "arcsinh", "hypot"), (-10, 10)),
    "tanh": (-5, 5),
    "arccosh": (1, 100),
}
"""Where operands lie; elsewhere from 0.01 to 1000."""
ARITY = {"power": 2, "logaddexp": 2, "logaddexp2": 2, "arctan2": 2, "hypot": 2}
NAMES = (
    *("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "cbrt", "power", "erf", "erfc"),
    *("logaddexp", "logaddexp2", "sin", "cos", "tan", "arcsin", "arccos", "arctan", "arctan2"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "hypot"),
)


class Word(NamedTuple):
    """A parameter of a kernel."""

    name: str
    kind: str
    dtype: str


def kernel(name: str, code: str, arity: int) -> Callable[[list[Array], Array], None]:
    """Our loop over arrays, into a given output."""
    words = [Word(f"a{k}", "buffer", code) for k in range(arity + 1)]
    lines = ["def kernel(w, lo, hi):"]
    lines += [f"    a{k} = buffer(w, {k})" for k in range(arity + 1)]
    operands = ", ".join(f"load(a{k}, i)" for k in range(arity))
    lines += ["    for i in range(lo, hi):", f"        store(a{arity}, i, {name}({operands}))"]
    entry = compile_source("\n".join(lines) + "\n", words).entry

    def run(operands: list[Array], out: Array) -> None:
        block = np.array([a.ctypes.data for a in (*operands, out)], np.int64)
        entry(block.ctypes.data, 0, len(out))

    return run


def plain_numba(name: str, arity: int) -> Callable[[list[Array], Array], None]:
    """A loop over Numba's own scalar function."""
    scalar = getattr(np, name, None) or getattr(math, name)
    if arity == 1:
        loop: Any = numba.njit(_unary(scalar))
    else:
        loop = numba.njit(_binary(scalar))
    return lambda operands, out: loop(*operands, out)


def _unary(scalar: Any) -> Callable[..., None]:
    def loop(x: Any, out: Any) -> None:
        for i in range(len(out)):
            out[i] = scalar(x[i])

    return loop


def _binary(scalar: Any) -> Callable[..., None]:
    def loop(x: Any, y: Any, out: Any) -> None:
        for i in range(len(out)):
            out[i] = scalar(x[i], y[i])

    return loop


def upper(ratios: list[float]) -> float:
    """The upper end of the 95 % interval of a median."""
    count = len(ratios)
    return sorted(ratios)[min(count - 1, math.ceil(count / 2 + 0.98 * math.sqrt(count)))]


def seconds(run: Callable[[], object]) -> float:
    """The thread's own time of one call, which others on the machine take no part of."""
    start = time.thread_time()
    run()
    return time.thread_time() - start


def compare(name: str, code: str, rounds: int) -> str:
    """The line of one function and dtype."""
    arity, rng = ARITY.get(name, 1), np.random.default_rng(5)
    low, high = INTERVALS.get(name, (0.01, 1000))
    operands = [rng.uniform(low, high, SIZE).astype(code) for _ in range(arity)]
    out = np.empty(SIZE, code)
    ours, numpys = kernel(name, code, arity), getattr(np, name, None)
    plain = plain_numba(name, arity)
    runs: dict[str, Callable[[], object]] = {"ours": lambda: ours(operands, out)}
    if numpys is not None:
        runs["numpy"] = lambda: numpys(*operands, out=out)
    runs["numba"] = lambda: plain(operands, out)
    times: dict[str, list[float]] = {key: [] for key in runs}
    with np.errstate(all="ignore"):
        for _ in range(rounds):
            for key, run in runs.items():
                run()
                times[key].append(seconds(run))
    cells = [name, code, f"{np.median(times['ours']) * 1e3:.2f}"]
    for key in ("numpy", "numba"):
        pairs = zip(times["ours"], times.get(key, []), strict=False)
        ratios = [mine / theirs for mine, theirs in pairs]
        shown = f"{np.median(ratios):.2f} (<= {upper(ratios):.2f})" if ratios else "-"
        cells.append(shown)
    return "| " + " | ".join(cells) + " |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all by default")
    parser.add_argument("--rounds", type=int, default=21)
    given = parser.parse_args()
    print("| function | dtype | ms | / NumPy | / Numba |\n|---|---|---|---|---|")
    for name in given.names or NAMES:
        for code in ("f8", "f4"):
            print(compare(name, code, given.rounds), flush=True)


if __name__ == "__main__":
    main()
