"""What answers for the values of tensors: the evaluator, or plans with kernels in plain Python."""

from contextlib import contextmanager

from axiomjit.dispatch import programs
from axiomjit.dispatch.arguments import plain_arguments
from axiomjit.graph import execution
from tests.passes.graphs import checked, run_plan_plain


@contextmanager
def evaluated():
    """Graphs are evaluated in NumPy: no pass runs."""
    before = execution.install(run=None)
    try:
        yield
    finally:
        execution.install(**before)


@contextmanager
def planned():
    """Graphs go through all passes, verified, and kernels run in plain Python: none is compiled."""
    before = execution.install(run=_run_plan)
    try:
        yield
    finally:
        execution.install(**before)


def _run_plan(graph, arguments, lengths):
    with checked():
        program, values, arrays = programs.lowered_for(graph, plain_arguments(arguments), lengths)
    return run_plan_plain(program.stages.plan, arrays, values)
