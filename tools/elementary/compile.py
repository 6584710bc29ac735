"""The time that elementary functions add to compiling a kernel.

`python -m tools.elementary.compile` compiles, interleaved, a kernel that stores ten of
them and one that stores ten sums and products, and prints milliseconds of processor time, the
median of the ratios and the upper end of its 95 % interval. The first kernel of a process is
compiled before and not timed: called functions are compiled then, once per process.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from axiomjit.base.target import target
from axiomjit.passes.ir.plan_ir import Traits
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.elementary.functions import RECIPES
from tools.elementary.speed import Word
from tools.elementary.turns import upper

NAMES: Final = ("exp", "log", "sin", "cos", "tanh", "sqrt", "arctan", "exp2", "log1p", "cbrt")
FUNCTIONS: Final = tuple(f"{name}(x)" for name in NAMES)
PLAIN: Final = (
    *("x * x", "x + x", "x * x + x", "x - x * x", "x * x * x", "x + x * x + x", "x * x - x"),
    *("x / x", "(x + x) * x", "x * x * x * x"),
)


class Times(NamedTuple):
    """Milliseconds, medians over rounds, except for the first kernel."""

    plain: float
    functions: float
    ratio: float
    bound: float
    first: float
    """The time of the first kernel with the functions in this process."""


def compile_ms(expressions: Sequence[str], code: str) -> float:
    """Return the processor time of compiling a kernel that stores expressions of x."""
    words = [Word(f"a{k}", "buffer", code) for k in range(len(expressions) + 1)]
    lines = [
        "def kernel(w, lo, hi):",
        *(f"    {w.name} = buffer(w, {k})" for k, w in enumerate(words)),
    ]
    lines += ["    for i in range(lo, hi):", "        x = load(a0, i)"]
    lines += [f"        store(a{k}, i, {text})" for k, text in enumerate(expressions, 1)]
    start = time.process_time()
    functions = sum(text.partition("(")[0] in RECIPES for text in expressions)
    compile_source("\n".join(lines) + "\n", words, target(), Traits(functions))
    return (time.process_time() - start) * 1e3


def measure(code: str, rounds: int) -> Times:
    """Compile both kernels interleaved, and return the times."""
    compile_ms(PLAIN[:1], code)  # Numba's own start-up
    first = compile_ms(FUNCTIONS, code)
    pairs = [(compile_ms(PLAIN, code), compile_ms(FUNCTIONS, code)) for _ in range(rounds)]
    ratios = [functions / plain for plain, functions in pairs]
    plain, functions = np.median(pairs, axis=0).tolist()
    return Times(plain, functions, float(np.median(ratios)), upper(ratios), first)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    print("| dtype | plain ms | functions ms | ratio | at most | first ms |")
    print("|---|---|---|---|---|---|")
    for code in ("f8", "f4"):
        found = measure(code, rounds)
        times = f"{found.plain:.0f} | {found.functions:.0f} | {found.ratio:.2f} | {found.bound:.2f}"
        print(f"| {code} | {times} | {found.first:.0f} |", flush=True)


if __name__ == "__main__":
    main()
