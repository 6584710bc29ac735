"""A plugin of pytest: test files of NumPy whose `numpy` is `axiomjit.numpy`, with all arrays lazy.

`AXIOMJIT_SUITE_LAZY_FROM` sets another size from which on arrays are lazy.

Each test runs several times in a row: operations run at once the first time, as pending
operations the second time, and, under `AXIOMJIT_SUITE_COMPILE=1`, in kernels from the third.
Kernels then also compute what nobody looks at, as many tests only ask for errors and warnings.
What happens is written to the file `AXIOMJIT_SUITE_LOG`, a JSON object for each test.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections import Counter
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path

import numpy
import pytest
from _pytest.runner import runtestprotocol

NUMPY = Path(numpy.__file__).parent
ROUNDS = int(os.environ.get("AXIOMJIT_SUITE_ROUNDS", "1"))
IS_REBOUND = os.environ.get("AXIOMJIT_SUITE_REBOUND") == "1"
MOST_SECONDS = 100
"""A test that takes more of the processor's time ends the process."""
COUNTED = ("lazy", "learned", "at_once", "kernels")


def results_in(log):
    """The outcome of each test in a log, by id, and the test that has not ended, or None."""
    found, begun = {}, None
    for text in log.read_text().splitlines():
        row = json.loads(text)
        begun = row.get("begun")
        if begun is None:
            found[row["id"]] = row
    return found, begun


class Counts:
    """Operations that segments ran, that ran while a path learned, and that no segment records."""

    def __init__(self):
        self.lazy = self.learned = 0

    def now(self):
        """The counters of this process, in the order of `COUNTED`."""
        if not IS_REBOUND:
            return [0] * len(COUNTED)
        import axiomjit

        found = axiomjit.stats()
        return [self.lazy, self.learned, found["at_once"], found["kernels_run"]]


COUNTS = Counts()


def reasons_at_once():
    """The number of operations that NumPy ran at once, by name and reason."""
    if not IS_REBOUND:
        return Counter()
    from axiomjit.numpy import ran_at_once

    return ran_at_once()


def count_operations():
    """Count the operations and kernels of segments from now on."""
    from axiomjit.numpy.segments import Segment

    run, learn = Segment._run, Segment._learn

    def counted_run(self, at):
        COUNTS.lazy += sum(bool(state.statement) for state in at.path())
        return run(self, at)

    def counted_learn(self, call, following):
        found = learn(self, call, following)
        COUNTS.learned += 1
        return found

    Segment._run, Segment._learn = counted_run, counted_learn


def finish():
    """End the segment of this thread, so that each test begins a path."""
    if IS_REBOUND:
        from axiomjit.numpy.segments import CURRENT

        CURRENT.segment.finish()


class Loader(SourceFileLoader):
    """Loads a test file whose imports of NumPy are those of `axiomjit.numpy`."""

    def get_code(self, fullname):
        """The code, never from `__pycache__`."""
        from axiomjit.cli.run import rebound_code

        return rebound_code(self.get_data(self.path), self.path)


class Finder:
    """Finds test files as the finders behind it do, and gives them `Loader`."""

    def find_spec(self, name: str, path=None, target=None) -> ModuleSpec | None:
        """The spec of a test file of NumPy's; None for all other modules."""
        if not name.rpartition(".")[2].startswith("test_"):
            return None
        for finder in sys.meta_path[sys.meta_path.index(self) + 1 :]:
            spec = finder.find_spec(name, path, target)
            if spec is not None:
                if NUMPY in Path(spec.origin or "").parents:
                    spec.loader = Loader(name, spec.origin)
                return spec
        return None


def pytest_configure(config):
    if not IS_REBOUND:
        return
    import axiomjit.numpy  # noqa: F401
    from axiomjit.base.config import config as options
    from axiomjit.numpy import programs, segments

    options.lazy_from = int(os.environ.get("AXIOMJIT_SUITE_LAZY_FROM", "0"))
    if os.environ.get("AXIOMJIT_SUITE_COMPILE") == "1":
        programs.COMPILE_S = programs.STATEMENT_S = programs.LOWER_S = 0.0
        segments._held = lambda summary, values, numbers: tuple(numbers)
    count_operations()
    sys.meta_path.insert(0, Finder())


def pytest_collection_modifyitems(items):
    skipped = os.environ.get("AXIOMJIT_SUITE_DONE", "")
    done = set(Path(skipped).read_text().splitlines()) if skipped else ()
    every = int(os.environ.get("AXIOMJIT_SUITE_EVERY", "1"))
    items[:] = [item for item in items[::every] if item.nodeid not in done]


def error_of(report):
    """The last line of an error, to group failures by."""
    crash = getattr(report.longrepr, "reprcrash", None)
    text = crash.message if crash is not None else str(report.longrepr)
    lines = [line for line in text.splitlines() if line.strip()] or [""]
    where = f" [{Path(crash.path).name}:{crash.lineno}]" if crash is not None else ""
    return " | ".join(lines[:4])[:300] + where


def run_once(item):
    """The first report of a run that is not "passed"; None if all passed."""
    finish()
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    found = None
    for report in runtestprotocol(item, log=False, nextitem=item.parent):
        item.ihook.pytest_runtest_logreport(report=report)
        if report.outcome != "passed" and found is None:
            found = report
    return found


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item, nextitem):
    with open(os.environ["AXIOMJIT_SUITE_LOG"], "a") as log:
        print(json.dumps({"begun": item.nodeid}), file=log, flush=True)
        before, turn, report = COUNTS.now(), 0, None
        reasons = reasons_at_once()
        while turn < ROUNDS and report is None:
            report, turn = run_once(item), turn + 1
        item.session._setupstate.teardown_exact(nextitem)
        signal.setitimer(signal.ITIMER_PROF, 0)
        counts = [b - a for a, b in zip(before, COUNTS.now(), strict=True)]
        outcome = "passed" if report is None else report.outcome
        error = f"[{turn}] {error_of(report)}" if outcome == "failed" else ""
        found = {"id": item.nodeid, "outcome": outcome, "error": error}
        found["reasons"] = [[*key, n] for key, n in (reasons_at_once() - reasons).most_common()]
        print(json.dumps(found | dict(zip(COUNTED, counts, strict=True))), file=log, flush=True)
    return True
