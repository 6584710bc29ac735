"""Prints the time of each program compiled, divided by its time in NumPy, the worst first.

`python -m tests.programs.timing [NAME ...]`: milliseconds of a call in NumPy and of a warm call,
their ratio, milliseconds of the first call, and of all calls those that NumPy ran; where the ratio
is above 1.1, its reason. A time is the least of the rounds, in which both take turns. `--seconds S`
is spent on each program.
"""

import argparse
import math
import time
import warnings
from typing import NamedTuple

import axiomjit
from axiomjit.base.errors import FallbackWarning
from tests.programs.table import PROGRAMS

SEED, LEAST_ROUNDS, LEAST_MS = 1, 5, 2.0
SLOW = 1.1
"""The ratio above which a program needs a reason."""


class Timing(NamedTuple):
    """Milliseconds of a program, and the number of calls that NumPy ran of all."""

    name: str
    numpy: float
    warm: float
    first: float
    in_numpy: int
    calls: int

    @property
    def ratio(self):
        return self.warm / self.numpy


def milliseconds(function, arguments, times=1):
    """The time of one of several calls."""
    start = time.perf_counter()
    for _ in range(times):
        function(*arguments)
    return (time.perf_counter() - start) / times * 1e3


def timed(program, seconds=1.0):
    """The times of a program for its large size."""
    ours, plain = (program.arguments(SEED, program.large) for _ in range(2))
    compiled = axiomjit.jit(program.function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        first = milliseconds(compiled, ours)
        compiled(*ours)
        expected = milliseconds(program.function, plain)
        times = max(1, math.ceil(LEAST_MS / expected))
        rounds, end = [], time.perf_counter() + seconds
        while len(rounds) < LEAST_ROUNDS or time.perf_counter() < end:
            plainly = milliseconds(program.function, plain, times)
            rounds.append((plainly, milliseconds(compiled, ours, times)))
    numpy, warm = (min(column) for column in zip(*rounds, strict=True))
    in_numpy = sum(cause.calls for cause in compiled.cache_info().in_numpy)
    return Timing(program.name, numpy, warm, first, in_numpy, 2 + times * len(rounds))


def table(timings):
    """The lines of the table: the worst ratio first, the geometric mean last."""
    reasons = {program.name: program.reason for program in PROGRAMS}
    lines = [f"{'program':20}{'numpy ms':>10}{'warm ms':>10}{'ratio':>8}{'first ms':>10}  in NumPy"]
    for t in sorted(timings, key=lambda t: -t.ratio):
        left = f"{t.in_numpy} of {t.calls}" if t.in_numpy else ""
        if t.ratio > SLOW:
            left = f"{left}  {reasons.get(t.name) or 'no reason is named'}".lstrip()
        times = f"{t.numpy:10.3f}{t.warm:10.3f}{t.ratio:8.2f}{t.first:10.0f}"
        lines.append(f"{t.name:20}{times}  {left}".rstrip())
    mean = math.exp(sum(math.log(t.ratio) for t in timings) / len(timings))
    return [*lines, f"geometric mean of {len(timings)} ratios: {mean:.3f}"]


def chosen(about, known):
    """The options of a command that times programs: names of some that are known, and seconds."""
    parser = argparse.ArgumentParser(description=about.partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="programs; without one, all")
    parser.add_argument("--seconds", type=float, default=1.0, help="for each program")
    given = parser.parse_args()
    if unknown := set(given.names) - set(known):
        parser.error(f"no program {', '.join(sorted(unknown))}; there are {', '.join(known)}")
    return given.names or [*known], given.seconds


def main():
    """Time the chosen programs and print the table."""
    names, seconds = chosen(__doc__, [program.name for program in PROGRAMS])
    found = [timed(program, seconds) for program in PROGRAMS if program.name in names]
    print("\n".join(table(found)))


if __name__ == "__main__":
    main()
