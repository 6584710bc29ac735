"""Runs compiled programs with guard pages on either side, saying which before each.

`python -m tests.guard_runs COUNT` runs the examples of the passes and COUNT random programs, each
at the lengths it was drawn with and at longer ones of the same class, so that the kernels, compiled
once, run their vector code. `python -m tests.guard_runs planted TO SOURCE SIDE` runs a kernel that
copies o0[TO] = a0[SOURCE]. Whoever starts this looks at the exit status.
"""

import faulthandler
import sys
from unittest.mock import patch

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings

from axiomjit.counters import stats
from axiomjit.passes.pipeline import run_pipeline
from axiomjit.runtime import execute
from axiomjit.runtime.execute import BoundPlan
from axiomjit.runtime.memory import span
from tests.graphs import follow, signature_of
from tests.guards import SIDES, run_guarded
from tests.passes.examples import NAMES, example
from tests.passes.programs import programs
from tests.planted import copying
from tests.runtime.kernels import same_bits

LONGER = {5: 33, 6: 70, 7: 19}


def longer(argument, rng):
    """An argument of the same dtype and kind of layout that is longer."""
    if not isinstance(argument, np.ndarray):
        return argument
    strides = argument.strides
    shape = [LONGER.get(n, n) for n in argument.shape]
    spread = [0 if step == 0 and n > 1 else 1 for step, n in zip(strides, shape, strict=True)]
    low, high = span(argument.shape, strides, argument.itemsize)
    gap = 1 if high - low == argument.size * argument.itemsize or 0 in spread else 2
    order = sorted(range(len(shape)), key=lambda d: (-abs(strides[d]), d))
    values = rng.integers(-3, 4, [gap * shape[d] if spread[d] else 1 for d in order])
    steps = [(-1 if strides[d] < 0 else 1) * (gap if spread[d] else 1) for d in order]
    seen = values.astype(argument.dtype)[tuple(slice(None, None, step) for step in steps)]
    return np.broadcast_to(seen.transpose(np.argsort(order)), shape)


def run_both_sides(plan, arguments):
    """Run a bound plan against either page; the results must have the same bits."""
    want = plan.run(arguments)
    for side in SIDES:
        print(" ", side, flush=True)
        got = run_guarded(plan, arguments, side)
        for one, other in zip(got, want, strict=True):
            assert same_bits(np.ascontiguousarray(one), np.ascontiguousarray(other)), side


def run_case(case, others):
    """Run the program of a case, and with other arguments; whether those are of its class."""
    plan = run_pipeline(case.graph, case.layouts, case.scope).plan
    run_both_sides(BoundPlan(plan, case.values), case.arguments)
    signature, arguments = others
    guards = case.scope.guards
    fits = signature.key == case.key and all(g.holds(signature.values) for g in guards)
    if fits:
        print("  longer", flush=True)
        run_both_sides(BoundPlan(plan, signature.values), arguments)
    return fits


def run_programs(count):
    """Run the examples and `count` random programs; how many also ran longer."""
    rng, ran = np.random.default_rng(5), []

    @settings(
        max_examples=count,
        deadline=None,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(programs())
    def run(program):
        print("program", len(ran), program, flush=True)
        case = follow(program.function(), *program.arguments)
        others = tuple(longer(argument, rng) for argument in program.arguments)
        ran.append(run_case(case, signature_of(program.function(), others)))

    for name in NAMES:
        print("example", name, flush=True)
        case = example(name)
        run_both_sides(BoundPlan(run_pipeline(*case[:3]).plan, case.values), case.arguments)
    run()
    return len(ran), sum(ran)


def main(arguments):
    faulthandler.enable()
    if arguments[0] == "planted":
        to, source, side = arguments[1:]
        plan = BoundPlan(copying(9, to, source), {})
        print(run_guarded(plan, [np.arange(9.0)], side))
        return
    with patch.object(execute, "SERIAL_WORK", 0):  # everything in several chunks
        ran, longer_too = run_programs(int(arguments[0]))
    print(f"{ran} programs, {longer_too} also longer, {stats()['compiles']} kernels")


if __name__ == "__main__":
    main(sys.argv[1:])
