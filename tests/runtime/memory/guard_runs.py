"""Runs compiled examples with guard pages on either side, saying which before each.

`python -m tests.runtime.memory.guard_runs examples` runs the examples of the passes;
`tests.generator.campaign --guard` runs random programs. Instead of `examples`, `padded` runs
programs that write into padded storage, `quotients` loops that divide one vector ahead, and
`planted TO SOURCE SIDE` a kernel that copies o0[TO] = a0[SOURCE]. Whoever starts this looks at the
exit status.
"""

import faulthandler
import sys
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.passes.pipeline import run_pipeline
from axiomjit.runtime.execution import plan_steps
from axiomjit.runtime.execution.execute import BoundPlan
from tests.passes.examples import NAMES, example
from tests.passes.graphs import evaluated
from tests.passes.stored import MAKERS
from tests.runtime.codegen.kernels import same_bits
from tests.runtime.memory.guards import SIDES, around, guard_pages, guarded, run_guarded
from tests.runtime.memory.planted import copying


def run_both_sides(plan, arguments):
    """Run a bound plan against either page; the results must have the same bits."""
    want = plan.run(arguments)
    for side in SIDES:
        print(" ", side, flush=True)
        got = run_guarded(plan, arguments, side)
        for one, other in zip(got, want, strict=True):
            assert same_bits(np.ascontiguousarray(one), np.ascontiguousarray(other)), side


def run_examples():
    """Run the examples of the passes."""
    for name in NAMES:
        print("example", name, flush=True)
        case = example(name)
        run_both_sides(
            BoundPlan(run_pipeline(case.graph, case.context).plan, case.values), case.arguments
        )


def run_padded():
    """Run programs that write into storage with padding; the padding must stay as it was."""
    for name in ("in_place", "parts"):
        for side in SIDES:
            case = MAKERS[name]()
            plan = BoundPlan(run_pipeline(case.graph, case.context).plan, case.values)
            placed = [guarded(array, side) for array in case.arguments]
            print("padded" if side == "before" else "  and after", name, flush=True)
            with guard_pages(side):
                got = plan.run(placed)
            for one, other in zip(got, evaluated(case.graph, case), strict=True):
                np.testing.assert_allclose(one, other)
            for array in placed:
                assert np.isnan(around(array)).sum() == around(array).size - array.size


def run_quotients():
    """Run loops that divide one vector ahead, whole vectors and others."""
    logarithm = axiomjit.jit(lambda x, y: np.log(x / y))
    for code in ("f4", "f8"):
        for length in (1, 8, 16, 17, 32, 48, 512, 1000):
            print("quotients of", code, length, flush=True)
            x, y = np.random.default_rng(length).uniform(0.5, 2, (2, length)).astype(code)
            for side in SIDES:
                placed = [guarded(array, side) for array in (x, y)]
                with guard_pages(side):
                    got = logarithm(*placed)
                np.testing.assert_allclose(got, np.log(x / y), rtol=1e-6, atol=1e-6)


def main(arguments):
    faulthandler.enable()
    if arguments[0] == "quotients":
        run_quotients()
        return
    if arguments[0] == "padded":
        run_padded()
        return
    if arguments[0] == "planted":
        to, source, side = arguments[1:]
        plan = BoundPlan(copying(9, to, source), {})
        print(run_guarded(plan, [np.arange(9.0)], side))
        return
    with patch.object(plan_steps, "SERIAL_WORK", 0):  # everything in several chunks
        run_examples()


if __name__ == "__main__":
    main(sys.argv[1:])
