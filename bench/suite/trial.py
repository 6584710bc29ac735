"""Runs with a progress bar, runs made again, and whether `compare` notices what it should."""

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
    """`run`, its progress shown."""
    with Progress(len(workloads)) as progress:
        return run(
            workloads,
            peers,
            tell=progress.tell,
            done=lambda case: progress.step(case.name),
            **how,
        )


def measure_again(after: Result, planted: str = "") -> Again:
    """How `compare` measures cases once more: against NumPy alone, in a full run."""

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
    """Whether `compare` reports a case whose calls are made twice, and nothing else.

    Runs of this tree are compared with a first one: `tries` unchanged, then as many with each of
    our calls of the case `planted` made twice.

    Args:
        planted: the case.
        tries: how many runs of each kind.
        names: cases to run, all without.
        quick: measure all threads only, in fewer rounds.
        say: told what is found, a line each.

    Returns:
        whether all is as it should be.
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
