"""Runs random programs in every way, and prints those that fail, made small, as tests.

`python -m tests.generator.campaign --programs N --compiled M --seed S --jobs J --guard`: N programs
in the evaluator and in plain Python, M of them compiled as well, with `--guard` with every buffer
against a protected page. The same seed gives the same programs; `--first K` starts at program K.
With `--sequences N`, N sequences of calls with other layouts take the place of the programs, M of
them compiled; with `--reads N`, N index expressions; with `--scatters N`, N writes at index
expressions; with `--counts N`, N sums and the like at many positions; with `--writes N`, N
functions that write into arrays, use what they write and draw random numbers, with `--aliasing N`,
N whose arguments are one array or overlap, with `--index-writes N`, N writes into arguments by an
index of any kind; with `--outside N`, N functions with state outside them, called in turn with
changes of it; with `--loops N`, N with loops, branches and jumps, with `--exits N`, N that also
print in some trips, with `--array-loops N`, N with nested loops over arrays that they write, with
`--list-loops N`, N whose loops make lists;
with `--drop-in N`, N sequences of steps with lazy arrays; with `--gradients N`, N functions whose
gradients are compared with differences, with each other and with JAX; with `--blocks N`, N with
Dask arrays. What NumPy runs of these is counted by reason. Whoever starts this looks at the exit
status: 1 if a program failed, negative if one killed the process.
"""

import argparse
import faulthandler
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

from axiomjit.base.counters import stats
from axiomjit.base.locks import lazy_import
from axiomjit.runtime.execution import plan_steps
from tests.drop_in import sequences as drop_in
from tests.generator import (
    array_loops,
    check,
    exit_loops,
    gradients,
    indices,
    list_loops,
    outside,
    scatters,
    sequences,
    source_loops,
    writes,
)
from tests.generator.draw import draw
from tests.generator.report import written
from tests.structure.sources import ROOT

SHORTER, LONGER = {5: 9, 6: 5, 7: 8}, {5: 33, 6: 70, 7: 19}
SERVES = 8
"""Of so many programs, one is run in plain Python with other lengths as well."""
INDEXED = {
    "reads": (indices.draw_read, indices.read_failure),
    "scatters": (scatters.draw_write, scatters.write_failure),
    "counts": (scatters.draw_count, scatters.write_failure),
}
REASONS = 12
"""Of so many reasons why NumPy ran programs, the number of programs is printed."""
FUNCTIONS = {
    "sequences": sequences.campaign,
    "writes": writes.campaign,
    "aliasing": partial(writes.campaign, drawing=writes.draw_aliasing),
    "index_writes": partial(writes.campaign, drawing=writes.draw_index_write),
    "outside": outside.campaign,
    "loops": source_loops.campaign,
    "array_loops": array_loops.campaign,
    "list_loops": list_loops.campaign,
    "exits": exit_loops.campaign,
    "drop_in": drop_in.campaign,
    "gradients": gradients.campaign,
    "blocks": lambda *given: lazy_import("tests.scale.programs").campaign(*given),
}
"""What draws and runs functions, by the option that asks for them."""


class Result(NamedTuple):
    """How many programs ran, compiled, with other lengths; and the failures as text."""

    programs: int
    compiled: int
    served: int
    failures: list


def campaign(seed, first, count, compiled=0, guard=False, log=None):
    """Run programs; of `count`, `compiled` are compiled too, spread evenly.

    Args:
        seed: the seed of all programs.
        first: the number of the first program.
        count: how many programs.
        compiled: how many of them are compiled.
        guard: whether these run against protected pages.
        log: is told each program that is compiled, before it runs.
    """
    result = Result(count, compiled, 0, [])
    served = 0
    for k in range(count):
        is_compiled = k * compiled // count != (k + 1) * compiled // count
        program = draw(seed, first + k)
        if log and is_compiled:
            log(f"program {first + k}\n{program.as_test(f'seed_{seed}_{first + k}')}")
        ways = [check.evaluate, check.interpret_small if k % 2 else check.interpret]
        ways += [check.compile_all] * is_compiled + [check.guard_all] * (is_compiled and guard)
        found = check.check(program, ways)
        if found:
            result.failures.append(written(seed, first + k, program, found, ways))
        elif is_compiled or k % SERVES == 0:
            other = served_by(program, is_compiled, guard)
            served += other is True
            if isinstance(other, check.Failure):
                text = f"seed {seed}, program {first + k}\n{other}\n{program.as_test('it')}"
                result.failures.append(text)
    return result._replace(served=served)


def served_by(program, compiled, guard):
    """Whether the plan of a program serves other lengths."""
    if not compiled:
        return check.other_lengths(program, SHORTER, check.run_interpreted)
    run = check.run_against_pages if guard else check.run_compiled
    return check.other_lengths(program, LONGER, run)


def in_all_ways(options, kind, count, run):
    """The failures of sequences or functions: evaluated, in plain Python, compiled.

    Half of them run in plain Python in small forms, the others in those of compiled code.
    """
    half, first = count // 2, options.first
    shares = [("evaluated", first, count), ("compiled", first, options.compiled)]
    if kind not in ("outside", "drop_in", "gradients", "blocks"):  # these are not about kernels
        shares[1:1] = [("small", first, half), ("interpreted", first + half, count - half)]
    failures = []
    for way, begin, many in shares:
        start = time.perf_counter()
        writes.FALLBACKS.clear()
        outside.SHARES.clear()
        gradients.SHARES.clear()
        found = run(options.seed, begin, many, way)
        took = time.perf_counter() - start
        print(f"{many} {kind} {way}, {len(found)} failures, {took:.0f} s", flush=True)
        for reason, number in writes.FALLBACKS.most_common(REASONS):
            print(f"    {number} in NumPy: {reason}", flush=True)
        for (sort, left), number in sorted(outside.SHARES.items()):
            print(f"    {number} {sort}, {'in NumPy' if left else 'followed'}", flush=True)
        for what, number in sorted(gradients.SHARES.items(), key=str):
            print(f"    {number} {what}", flush=True)
        failures += found
    return failures


def reads(options, kind, count):
    """The failures of random index expressions, read or written, of which some are compiled."""
    start, failures = time.perf_counter(), []
    compiled = options.compiled
    for k in range(count):
        is_compiled = k * compiled // count != (k + 1) * compiled // count
        ways = [check.evaluate, check.interpret_small if k % 2 else check.interpret]
        ways += [check.compile_all] * is_compiled
        draw_one, failure_of = INDEXED[kind]
        drawn = draw_one(options.seed, options.first + k)
        found = failure_of(drawn, ways)
        if found:
            failures.append(f"seed {options.seed}, {kind} {options.first + k}: {drawn}\n{found}")
    took = time.perf_counter() - start
    print(
        f"{count} {kind}, {compiled} compiled, {len(failures)} failures, {took:.0f} s", flush=True
    )
    return failures


def in_processes(options):
    """The output of as many processes as jobs, each with its share of the programs."""

    def piece(k):
        first, end = (options.programs * (k + j) // options.jobs for j in (0, 1))
        start, stop = (options.compiled * (k + j) // options.jobs for j in (0, 1))
        command = [sys.executable, "-m", "tests.generator.campaign", "--programs", end - first]
        command += ["--compiled", stop - start, "--seed", options.seed]
        command += ["--first", options.first + first, *["--guard"] * options.guard]
        return subprocess.run(list(map(str, command)), cwd=ROOT, stdout=subprocess.PIPE, text=True)

    with ThreadPoolExecutor(options.jobs) as pool:
        return list(pool.map(piece, range(options.jobs)))


def parsed():
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="tests.generator.campaign", description=__doc__)
    for name, default in (
        *(("programs", 1000), ("sequences", 0), ("reads", 0), ("scatters", 0), ("counts", 0)),
        *(("writes", 0), ("aliasing", 0), ("index_writes", 0), ("outside", 0), ("loops", 0)),
        *(("exits", 0), ("array_loops", 0), ("list_loops", 0), ("drop_in", 0), ("gradients", 0)),
        *(("blocks", 0), ("compiled", 0), ("seed", 0), ("first", 0)),
    ):
        parser.add_argument(f"--{name.replace('_', '-')}", type=int, default=default)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--guard", action="store_true")
    return parser.parse_args()


def main():
    options = parsed()
    for kind in INDEXED:
        if count := getattr(options, kind):
            failures = reads(options, kind, count)
            print("\n".join(failures))
            return int(bool(failures))
    for kind, run in FUNCTIONS.items():
        if count := getattr(options, kind):
            failures = in_all_ways(options, kind, count, run)
            print("\n".join(failures))
            return int(bool(failures))
    if options.jobs > 1:
        done = in_processes(options)
        for process in done:
            last = process.stdout.splitlines()[-1:]
            print(process.stdout[-20000:] if process.returncode else last[0])
        return min(process.returncode for process in done) or max(p.returncode for p in done)
    faulthandler.enable()
    start = time.perf_counter()

    def log(text):
        print(text, flush=True)

    chunks = patch.object(plan_steps, "SERIAL_WORK", 0) if options.guard else nullcontext()
    with chunks:  # everything in several chunks
        result = campaign(
            *(options.seed, options.first, options.programs, options.compiled, options.guard), log
        )
    for text in result.failures:
        print(f"FAILED {text}")
    print(
        f"{result.programs} programs, {result.compiled} compiled, {stats()['compiles']} kernels, "
        f"{result.served} with other lengths, {len(result.failures)} failures, "
        f"{time.perf_counter() - start:.0f} s"
    )
    return int(bool(result.failures))


if __name__ == "__main__":
    sys.exit(main())
