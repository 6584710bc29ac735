"""Run NumPy's own test files with `numpy` rebound to `axiomjit.numpy`, and print the counts.

    python -m tests.suites.numpy_tests --files lib/tests/test_twodim_base.py
    python -m tests.suites.numpy_tests --compile --every 20

Each file runs in a process of its own, first with NumPy; tests that fail there do not count. All
arrays are lazy, and each test runs twice: operations run at once the first time, and are pending
the second time. With `--compile` it runs a third time, in kernels. The command fails if the
failures are not those that `numpy_failures.txt` lists with their reasons.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tests.suites.failures import judge, update
from tests.suites.processes import run_tests
from tests.suites.rebound import NUMPY

LISTED = Path(__file__).with_name("numpy_failures.txt")
WORDS = {
    "_core": """multiarray umath ufunc numeric indexing shape_base einsum item_selection
        scalar_methods umath_complex function_base regression mem_overlap errstate""",
    "lib": """function_base shape_base index_tricks nanfunctions twodim_base arraysetops arraypad
        histograms stride_tricks type_check ufunclike polynomial mixins packbits regression""",
    "linalg": "linalg",
    "fft": "pocketfft helper",
    "ma": "extras",
    "polynomial": "polynomial classes",
}
FILES = [f"{part}/tests/test_{one}.py" for part, names in WORDS.items() for one in names.split()]
"""The files that run without `--files`, below NumPy's folder."""


def run_file(name, folder, environment):
    """The outcome of each test of a file, by its id."""
    words = ["--rootdir", str(NUMPY), "-c", os.devnull, "--assert=plain", str(NUMPY / name)]
    environment = {"NPY_AVAILABLE_MEM": "1 MB", **environment}  # tests of gigabytes are skipped
    return run_tests(words, folder, environment)


def compared(name, given):
    """The outcomes of a file's tests with NumPy and with `axiomjit.numpy`, by test."""
    options = {"AXIOMJIT_SUITE_ROUNDS": str(3 if given.compile else 2)}
    options["AXIOMJIT_SUITE_EVERY"] = str(given.every)
    rebound = {"AXIOMJIT_SUITE_REBOUND": "1", "AXIOMJIT_SUITE_COMPILE": str(int(given.compile))}
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        plain = run_file(name, first, options | {"AXIOMJIT_SUITE_REBOUND": "0"})
        return plain, run_file(name, second, options | rebound)


HEAD = f"{'file':40}{'tests':>7}{'passed':>8}{'failed':>8}{'skipped':>9}{'lazy':>9}{'at once':>9}"
HEAD += f"{'kernels':>9}{'with kernels':>14}"


def line(name, counts):
    """A line of the table."""
    columns = [(7, "tests"), (8, "passed"), (8, "failed"), (9, "skipped"), (9, "lazy")]
    columns += [(9, "at_once"), (9, "kernels"), (14, "with_kernels")]
    return f"{name:40}" + "".join(f"{counts[key]:{width}}" for width, key in columns)


def counts_of(plain, ours):
    """The counts of a file, and the errors of the tests that fail, by id."""
    passed = {key for key, one in plain.items() if one["outcome"] == "passed"}
    counted = {k: v for k, v in ours.items() if k.replace("LazyArray", "ndarray") in passed}
    outcomes = Counter(one["outcome"] for one in counted.values())
    counts = Counter({"tests": len(counted), **outcomes})
    for one in counted.values():
        counts["lazy"] += one["lazy"]
        counts["at_once"] += one["learned"] + one["at_once"]
        counts["kernels"] += one["kernels"]
        counts["with_kernels"] += one["kernels"] > 0
    return counts, {k: v["error"] for k, v in counted.items() if v["outcome"] == "failed"}


def without_kernels(ours):
    """For each test that ran no kernel, what it recorded and what ran at once, as text."""
    for test, one in ours.items():
        if not one["kernels"]:
            reasons = ", ".join(f"{n} {name} ({why})" for name, why, n in one["reasons"][:4])
            yield f"{test.partition('::')[2]}: {one['lazy']} recorded; at once: {reasons or 'none'}"


def main():
    """Run the files, print the table, and judge the failures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--files", nargs="+", default=FILES, help="below NumPy's folder")
    parser.add_argument("--every", type=int, default=1, help="run each test of this number only")
    parser.add_argument("--compile", action="store_true", help="run each test in kernels, too")
    parser.add_argument("--update", action="store_true", help="list new failures for a review")
    parser.add_argument(
        "--reasons", action="store_true", help="print what tests without kernels do at once"
    )
    parser.add_argument("--errors", action="store_true", help="print the errors of all failures")
    given = parser.parse_args()
    total, failed, ran = Counter(), {}, set()
    print(HEAD)
    for name in given.files:
        plain, ours = compared(name, given)
        counts, errors = counts_of(plain, ours)
        total += counts
        ran.update(ours)
        failed.update(errors)
        print(line(name, counts), flush=True)
        for test, error in errors.items() if given.errors else ():
            print(f"    {test}: {error}", flush=True)
        for text in without_kernels(ours) if given.reasons else ():
            print(f"    {text}", flush=True)
    print(line("all", total))
    if given.update:
        update(LISTED, failed, ran)
    faults = judge(LISTED, failed, ran)
    print("\n".join(faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
