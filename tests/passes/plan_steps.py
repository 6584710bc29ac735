"""Which steps of a plan are run: those that threads run, or those of one thread."""

from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.symbolic.dims import evaluate


def steps_run(steps, lengths, *, alone: bool):
    """The steps without launches that one thread does not run, or that threads do not."""
    instead = False
    for step in steps:
        if not isinstance(step, Launch):
            yield step
        elif step.parallel_variant is not None:
            instead = not alone and evaluate(step.parallel_variant, lengths) >= 0
            if instead:
                yield step
        elif not instead and not (alone and step.prepass):
            yield step
        else:
            instead = False
