"""Compare the time of each elementary function with NumPy's and with a plain Numba loop's.

`python -m tools.elementary.speed [NAMES]` times ours and each other one, interleaved, on 10**6
numbers, into a given output, in one thread. It prints medians of the ratios round by round; the
bound is the upper end of the median's 95 % interval (order statistics). Time is the thread's.
Rounds against NumPy are limited by time, so fast functions have many; rounds against Numba are few.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np

from axiomjit.base.target import target
from axiomjit.passes.ir.plan_ir import Traits
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.kernel_cache import entry_of, load_kernel
from tools.elementary.accuracy_tables import PAGE, replace_rows
from tools.elementary.turns import LEAST, Function, interleaved

Array = np.ndarray[Any, Any]
SIZE = 10**6
SAMPLE = 250_000
"""The least numbers per sample: smaller arrays are computed several times."""
NUMPYS_S = 0.5
"""Seconds for the rounds against NumPy."""
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
"""The intervals of operands, by function; for other functions 0.01 to 1000."""
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
    """Return our loop over arrays, into a given output."""
    words = [Word(f"a{k}", "buffer", code) for k in range(arity + 1)]
    lines = ["def kernel(w, lo, hi):"]
    lines += [f"    a{k} = buffer(w, {k})" for k in range(arity + 1)]
    operands = ", ".join(f"load(a{k}, i)" for k in range(arity))
    lines += ["    for i in range(lo, hi):", f"        store(a{arity}, i, {name}({operands}))"]
    made = compile_source("\n".join(lines) + "\n", words, target(), Traits(functions=1))
    entry = load_kernel(entry_of(made), made.checked).entry

    def run(operands: list[Array], out: Array) -> None:
        block = np.array([a.ctypes.data for a in (*operands, out)], np.int64)
        entry(block.ctypes.data, 0, len(out))

    return run


def plain_numba(name: str, arity: int) -> Callable[[list[Array], Array], None]:
    """Return a loop over Numba's own scalar function."""
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


def repeated(run: Function, times: int) -> Function:
    """Return a function that calls another `times` times."""

    def several() -> None:
        for _ in range(times):
            run()

    return run if times == 1 else several


def compare(name: str, code: str, size: int, rounds: int) -> list[str]:
    """Return our nanoseconds per number, then our ratios to NumPy's and Numba's times."""
    arity, rng = ARITY.get(name, 1), np.random.default_rng(5)
    low, high = INTERVALS.get(name, (0.01, 1000))
    operands = [rng.uniform(low, high, size).astype(code) for _ in range(arity)]
    out, times = np.empty(size, code), max(1, SAMPLE // size)
    ours, numpys = kernel(name, code, arity), getattr(np, name, None)
    plain = plain_numba(name, arity)
    mine = repeated(lambda: ours(operands, out), times)
    peers = [
        (repeated(lambda: numpys(*operands, out=out), times), rounds, NUMPYS_S) if numpys else None,
        (repeated(lambda: plain(operands, out), times), LEAST, 0.0),
    ]
    cells, seconds = [], math.inf
    with np.errstate(all="ignore"):
        for peer in peers:
            if peer is None:
                cells += ["-", "-"]
                continue
            run, most, spend_s = peer
            found = interleaved(mine, run, most, spend_s=spend_s, clock=time.thread_time)
            cells += found.cells()
            seconds = min(seconds, found.seconds)
    return [f"{seconds / times / size * 1e9:.2f}", *cells]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="functions; all by default")
    parser.add_argument("--rounds", type=int, default=301, help="at most, with NumPy")
    parser.add_argument("--size", type=int, default=SIZE, help="how many numbers")
    parser.add_argument("--write", action="store_true", help="also into docs/accuracy.md")
    given = parser.parse_args()
    unknown = set(given.names) - set(NAMES)
    if unknown:
        parser.error(f"{', '.join(sorted(unknown))}: not among {', '.join(NAMES)}")
    print("| function | dtype | ns | / NumPy | at most | / Numba | at most |")
    print("|---|---|---|---|---|---|---|")
    rows: dict[str, list[str]] = {name: [] for name in given.names or NAMES}
    for name, row in rows.items():
        for code in ("f8", "f4"):
            cells = compare(name, code, given.size, given.rounds)
            print("| " + " | ".join([name, code, *cells]) + " |", flush=True)
            row += cells
    if given.write:
        replace_rows(PAGE, "speed", rows.items(), NAMES)


if __name__ == "__main__":
    main()
