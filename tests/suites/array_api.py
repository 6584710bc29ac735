"""Run array-api-tests with the namespace of lazy arrays, and judge the failures.

    git clone --recursive https://github.com/data-apis/array-api-tests
    pip install -r array-api-tests/requirements.txt
    python -m tests.suites.array_api array-api-tests --max-examples 100

All arrays are lazy, or with `--default-threshold` large ones. The command fails if the failures are
not those that `array_api_failures.txt` lists with their reasons.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

from axiomjit.base.config import config
from tests.suites.failures import judge, update
from tests.suites.processes import run_tests

LISTED = Path(__file__).with_name("array_api_failures.txt")


def main():
    """Run the tests, print how many passed, and judge the failures."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", help="a folder with array-api-tests")
    parser.add_argument("--max-examples", type=int, default=100, help="for each test")
    parser.add_argument("--files", nargs="+", default=["array_api_tests"], help="in the folder")
    parser.add_argument("--default-threshold", action="store_true", help="as for users")
    parser.add_argument("--compile", action="store_true", help="compile each segment at once")
    parser.add_argument("--update", action="store_true", help="list new failures for a review")
    given = parser.parse_args()
    environment = {
        "ARRAY_API_TESTS_MODULE": "axiomjit.numpy.array_api",
        "ARRAY_API_TESTS_VERSION": "2025.12",
        "AXIOMJIT_SUITE_REBOUND": "1",
        "AXIOMJIT_SUITE_COMPILE": str(int(given.compile)),
        "AXIOMJIT_SUITE_LAZY_FROM": str(config.lazy_from if given.default_threshold else 0),
    }
    words = ["--disable-deadline", "--derandomize", f"--max-examples={given.max_examples}"]
    words += given.files
    with tempfile.TemporaryDirectory() as folder:
        found = run_tests(words, folder, environment, at=given.checkout)
    outcomes = Counter(one["outcome"] for one in found.values())
    counts = Counter()
    for one in found.values():
        counts += Counter({key: one[key] for key in ("lazy", "learned", "at_once", "kernels")})
    print(", ".join(f"{count} {name}" for name, count in outcomes.items()))
    print(
        f"operations: {counts['lazy']} lazy, {counts['learned'] + counts['at_once']} at once; "
        f"{counts['kernels']} kernels ran"
    )
    failed = {key: one["error"] for key, one in found.items() if one["outcome"] == "failed"}
    if given.update:
        update(LISTED, failed, found)
    faults = judge(LISTED, failed, found)
    print("\n".join(faults))
    sys.exit(bool(faults))


if __name__ == "__main__":
    main()
