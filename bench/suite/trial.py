"""Runs with a progress bar, reruns for `compare`, and a test that `compare` works."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.cases import find
from axiomjit.bench.suite.compare import Again, Verdict, compare
from axiomjit.bench.suite.peers import ALWAYS
from axiomjit.bench.suite.progress import Progress
from axiomjit.bench.suite.records import Result
from axiomjit.bench.suite.run import run
from axiomjit.bench.suite.workload import Workload


def with_progress(workloads: Sequence[Workload], peers: Sequence[str], **how: Any) -> Result:
    """Call `run` and show its progress."""
    with Progress(len(workloads)) as progress:
        return run(
            workloads,
            peers,
            tell=progress.tell,
            done=lambda case: progress.step(case.name),
            **how,
        )


def measure_again(after: Result, planted: str = "") -> Again:
    """Return a function that measures cases again for `compare`: against NumPy, in a full run."""

    def again(names: Sequence[str]) -> Result:
        how = {"quick": False, "seed": after.seed, "planted": planted}
        return with_progress(find(names), ALWAYS, **how)

    return again


def try_out(
    planted: str,
    tries: int,
    names: Sequence[str] = (),
    quick: bool = False,
    say: Callable[[str], Any] = print,
) -> bool:
    """Return whether `compare` reports a case whose calls are made twice, and nothing else.

    Runs of this tree are compared with a first one: `tries` unchanged ones, then as many in which
    each of our calls of the case `planted` is made twice.

    Args:
        planted: the case.
        tries: the number of runs of each kind.
        names: cases to run; empty: all.
        quick: measure all threads only, in fewer rounds.
        say: called with each line of the findings.

    Returns:
        whether every run had the expected verdict.
    """
    if [workload.name for workload in find([planted])] != [planted]:
        raise BenchError(f"make the calls of {planted} twice", "a group", "name one case of it")
    workloads = find([*names, planted] if names else ())
    before = with_progress(workloads, ALWAYS, quick=quick)
    good = True
    for slow, wanted in (("", []), (planted, [planted])):
        right = 0
        for number in range(tries):
            after = with_progress(workloads, ALWAYS, quick=quick, planted=slow)
            verdict = compare(before, after, measure_again(after, slow))
            found = _named(verdict)
            right += found == wanted
            kind = f"{slow} made twice" if slow else "unchanged"
            say(
                f"{kind}, try {number + 1}: slower: {', '.join(found) or 'none'}; not confirmed: "
                f"{', '.join(dict.fromkeys(c.case for c in verdict.unsure)) or 'none'}"
            )
        say(f"{'planted' if slow else 'unchanged'}: right in {right} of {tries}")
        good = good and right == tries
    return good


def _named(verdict: Verdict) -> list[str]:
    return list(dict.fromkeys(change.case for change in verdict.slower))
