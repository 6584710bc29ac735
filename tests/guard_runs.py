"""Runs compiled examples with guard pages on either side, saying which before each.

`python -m tests.guard_runs examples` runs the examples of the passes; `tests.campaign --guard` runs
random programs. `python -m tests.guard_runs planted TO SOURCE SIDE` runs a kernel that copies
o0[TO] = a0[SOURCE]. Whoever starts this looks at the exit status.
"""

import faulthandler
import sys
from unittest.mock import patch

import numpy as np

from axiomjit.passes.pipeline import run_pipeline
from axiomjit.runtime import execute
from axiomjit.runtime.execute import BoundPlan
from tests.guards import SIDES, run_guarded
from tests.passes.examples import NAMES, example
from tests.planted import copying
from tests.runtime.kernels import same_bits


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
        run_both_sides(BoundPlan(run_pipeline(*case[:3]).plan, case.values), case.arguments)


def main(arguments):
    faulthandler.enable()
    if arguments[0] == "planted":
        to, source, side = arguments[1:]
        plan = BoundPlan(copying(9, to, source), {})
        print(run_guarded(plan, [np.arange(9.0)], side))
        return
    with patch.object(execute, "SERIAL_WORK", 0):  # everything in several chunks
        run_examples()


if __name__ == "__main__":
    main(sys.argv[1:])
