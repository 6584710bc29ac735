"""Runs random functions of float16, complex numbers and integers, compiled for each target.

`python -m tests.generator.target_runs --programs N --seed S --targets x86-64-v3,x86-64-v4`: for
each target a process of its own runs N functions and compares them with NumPy, as `campaign` does.
Without `--targets` these are the levels that this CPU can run, and "native". Before them come
functions of rounded means. Whoever starts this looks at the exit status: 1 where a function is
wrong or a process died; what it ran last is then printed.
"""

import argparse
import faulthandler
import os
import subprocess
import sys
from itertools import count, islice, product

import numpy as np

from axiomjit.base.counters import stats
from axiomjit.base.errors import GraphValueError
from axiomjit.base.target import LEVELS, NATIVE, find_target
from tests.generator import check
from tests.generator.draw import draw
from tests.generator.programs import Array, Number
from tests.generator.report import written
from tests.structure.sources import ROOT

KINDS = "fiuc"
FUNCTIONS = (
    *("arcsin", "arcsinh", "arctan", "arctanh", "cbrt", "expm1", "log1p", "sin", "sinh", "tan"),
    *("exp", "log2", "sqrt", "floor", "rint", "sign", "absolute", "negative", "positive"),
)
ROUNDED = {
    "mean": np.mean,
    "sum": lambda x: x.sum() / np.float16(8),
    "product": lambda x: (x @ x) / np.float16(8),
    "sums": lambda x: x.reshape(2, -1).mean(axis=0),
}
MANY = 100
"""Of so many programs on, each function of each rounded mean; else one of each."""
NEAR = 1
"""Units in the last place, of functions of single float16."""


def of_rounded(function, fold):
    """A function of float16 that were just rounded."""
    return lambda x: (getattr(np, function)(ROUNDED[fold](x)),)


def is_wanted(program):
    """Whether the arguments are of the kinds that are computed in different ways."""
    codes = {
        np.asarray(argument.value if isinstance(argument, Number) else argument.values).dtype
        for argument in program.arguments
        if isinstance(argument, Array | Number)
    }
    return all(dtype.kind in KINDS and dtype.str[1:] not in ("f4", "f8") for dtype in codes)


def wanted(seed, programs):
    """The numbers of so many such programs, and them."""
    drawn = ((k, draw(seed, k)) for k in count())
    return islice((pair for pair in drawn if is_wanted(pair[1])), programs)


def run(seed, programs):
    """Run everything for the target of this process; how much failed."""
    failures = 0
    x = np.array([0.25, -0.125, 0.5, 0.75, 0.375, 0.0625], "f2")
    for k, (function, fold) in enumerate(product(FUNCTIONS, ROUNDED)):
        if programs < MANY and (k // len(ROUNDED) + k) % len(ROUNDED):
            continue
        print(f"{function} of a {fold}", flush=True)
        found = check.failure(of_rounded(function, fold), (x,), [check.compile_all], (NEAR,))
        failures += found is not None
        if found:
            print(f"FAILED {found}", flush=True)
    for k, program in wanted(seed, programs):
        print(f"program {k}\n{program.as_test(f'seed_{seed}_{k}')}", flush=True)
        found = check.check(program, [check.compile_all])
        if found:
            failures += 1
            print(f"FAILED {written(seed, k, program, found, [check.compile_all])}", flush=True)
    kernels = stats()["compiles"] + stats()["disk_hits"]
    print(f"{programs} programs, {kernels} kernels, {failures} failures")
    return failures


def runnable():
    """The targets that this CPU can run."""
    found = [NATIVE]
    for level in LEVELS[1:]:
        try:
            find_target(level)
        except GraphValueError:
            continue
        found.append(level)
    return found


def in_process(target, seed, programs, check, first=""):
    """What a process for one target prints, and its exit status; it begins with a script."""
    begin = (
        f"{first}\nfrom tests.generator import target_runs\nraise SystemExit(target_runs.main())"
    )
    command = [sys.executable, "-c", begin, "--here"]
    command += ["--seed", str(seed), "--programs", str(programs)]
    environment = {**os.environ, "AXIOMJIT_TARGET": target, "AXIOMJIT_CHECK": check}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


def reported(target, done):
    """One line on a process, after what it says is wrong."""
    failed = done.stdout.split("\nFAILED ")[1:]
    ended = f"ended with {done.returncode}, after\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
    last = done.stdout.splitlines()[-1] if done.returncode in (0, 1) else ended
    return "".join(f"{target}: {text[:3000]}\n" for text in failed) + f"{target}: {last}"


def parsed():
    """The options of the command line."""
    parser = argparse.ArgumentParser(prog="tests.generator.target_runs", description=__doc__)
    parser.add_argument("--programs", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--targets", default="")
    parser.add_argument("--list", action="store_true", help="print the levels that can be run")
    parser.add_argument("--here", action="store_true", help="in this process, for its target")
    return parser.parse_args()


def main():
    options = parsed()
    if options.list:
        print(*(name for name in runnable() if name in LEVELS))
        return 0
    if options.here:
        faulthandler.enable()
        return int(run(options.seed, options.programs) > 0)
    bad = 0
    for target in options.targets.split(",") if options.targets else runnable():
        checked = os.environ.get("AXIOMJIT_CHECK", "0")
        done = in_process(target, options.seed, options.programs, checked)
        print(reported(target, done), flush=True)
        bad += done.returncode != 0
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
