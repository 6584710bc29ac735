"""A program run in every way, and compared with NumPy: bits, dtypes, shapes, strides, memory."""

import warnings
from contextlib import nullcontext
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.dtypes import walkable
from axiomjit.base.errors import InterruptedWritesError, NeedsValuesError, UnsupportedError
from axiomjit.passes.pipeline import run_pipeline
from axiomjit.runtime.execution.execute import BoundPlan
from axiomjit.symbolic.data_dependent import OtherLengthError, data_dependent_in
from tests.generator.draw import distances, values_of
from tests.generator.programs import Array, Program
from tests.passes.graphs import (
    GRAPH_PASSES,
    apply_pass,
    evaluated,
    follow,
    in_numpy,
    lowered,
    quiet,
    run_plain_case,
    run_plan_plain,
    signature_of,
    small_forms,
)
from tests.runtime.codegen.kernels import near, same_bits
from tests.runtime.memory.guards import SIDES, run_guarded

LEFT_TO_NUMPY = (
    "that a mask chooses as a Python number",
    "a number of elements that only the running program knows",
)
"""Texts of errors for lengths that no program has: NumPy runs such functions."""
SHORTER, LONGER = {5: 9, 6: 5, 7: 8}, {5: 33, 6: 70, 7: 19}


class Failure(NamedTuple):
    """In which way a program is wrong and how it shows; a smaller one has the same `kind`."""

    way: str
    kind: str
    detail: str

    def __str__(self):
        return f"{self.way}: {self.detail}"


def evaluate(case):
    """The graph in the evaluator, before and after each pass over it."""
    graph = case.graph
    yield "graph", evaluated(graph, case)
    for graph_pass in GRAPH_PASSES:
        graph = apply_pass(graph_pass, graph, case)
        yield graph_pass.__name__, evaluated(graph, case)


def interpret(case):
    """The plan in plain Python; what verifies passes are the plans of small blocks."""
    with patch.object(config, "check", False):
        plan = run_pipeline(case.graph, case.context).plan
    yield "plan", run_plain_case(case, plan, chunks=2)


def interpret_small(case):
    """The plan of small blocks in plain Python, verified after each pass."""
    with small_forms():
        plan = lowered(case).plan
    yield "small", run_plain_case(case, plan, chunks=3)


def compile_all(case):
    """The compiled kernels."""
    plan = BoundPlan(run_pipeline(case.graph, case.context).plan, case.values)
    yield "compiled", case.returned(plan.run(case.arguments))


def guard_all(case):
    """The compiled kernels with every buffer against a protected page."""
    plan = BoundPlan(run_pipeline(case.graph, case.context).plan, case.values)
    for side in SIDES:
        yield f"guarded {side}", case.returned(run_guarded(plan, case.arguments, side))


PLAIN = (evaluate, interpret, interpret_small)


def failure(function, arguments, ways=PLAIN, ulps=()):
    """How a function of these arguments differs from NumPy, None where it does not.

    `ulps` has for each output how far it may lie from NumPy's; 0 where it is left out.
    """
    before = [np.array(a) for a in arguments]
    want = in_numpy(function, arguments)
    way = "follow"
    try:
        case = follow(function, *arguments)
        with quiet():
            for run in ways:
                way = run.__name__
                for way, got in run(case):  # noqa: B020, PLW2901 - kept for the error
                    found = difference(got, want, arguments, way, ulps)
                    if found:
                        return Failure(way, found[0], found[1])
    except OtherLengthError:
        return None  # NumPy runs such a call
    except InterruptedWritesError:
        return _call_difference(function, arguments, want, ulps)
    except Exception as error:
        if any(text in str(error) for text in LEFT_TO_NUMPY):
            return None
        text = str(error).strip().splitlines() or [""]
        return Failure(way, type(error).__name__, f"{type(error).__name__}: {' | '.join(text)}")
    for old, new in zip(before, arguments, strict=True):
        if not same_bits(old, np.array(new)):
            return Failure(way, "argument", "an argument was changed")
    return None


def _call_difference(function, arguments, want, ulps):
    """How a call differs from NumPy where the function cannot be followed with these values."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        got = in_numpy(axiomjit.jit(function), arguments)
    found = difference(got, want, arguments, "call", ulps)
    return found and Failure("call", *found)


def difference(got, want, arguments, way, ulps=()):
    """What kind of difference there is, and where; None where there is none."""
    if len(got) != len(want):
        return "outputs", f"{len(got)} outputs, not {len(want)}"
    allowed = [*ulps, *[0] * (len(want) - len(ulps))]
    for k, (one, other, far) in enumerate(zip(got, want, allowed, strict=True)):
        if one.dtype not in (other.dtype, other.dtype.newbyteorder("=")):
            return "dtype", f"output {k} of dtype {one.dtype}, not {other.dtype}"
        if one.shape != other.shape:
            return "shape", f"output {k} of shape {one.shape}, not {other.shape}"
        if not near(np.array(one, order="C"), np.array(other, one.dtype, order="C"), far):
            return "bits", f"output {k} is\n{one!r}\nnot\n{other!r}"
        if way in ("plan", "small", "compiled"):
            found = memory_difference(one, other, arguments)
            if found:
                return found[0], f"output {k} {found[1]}"
    return None


def memory_difference(one, other, arguments):
    """Whether a result lies elsewhere than NumPy's: views of arguments lie in them."""
    if not other.size or not other.ndim:  # results without dimensions become numbers
        return None
    arrays = [a for a in arguments if isinstance(a, np.ndarray)]
    owners = [a for a in arrays if np.may_share_memory(other, a)]
    if not owners:
        if any(np.may_share_memory(one, a) for a in arrays):
            return "shared", "is a view of an argument, NumPy's is not"
        return None
    if not all(map(walkable, owners)):  # row "views of byteswapped or misaligned arguments"
        return None
    if one.__array_interface__["data"][0] != other.__array_interface__["data"][0]:
        return "shared", "is no view of an argument, or of another part than NumPy's"
    long = [d for d, n in enumerate(other.shape) if n > 1]
    if [one.strides[d] for d in long] != [other.strides[d] for d in long]:
        return "strides", f"has strides {one.strides}, not {other.strides}"
    with warnings.catch_warnings():  # row "arrays stretched by broadcast_arrays"
        warnings.simplefilter("error", FutureWarning)
        try:
            writeable = other.flags.writeable
        except FutureWarning:
            return None
    if one.flags.writeable != writeable:
        return "writeable", f"is writeable: {one.flags.writeable}, not {writeable}"
    return None


def resized(program, lengths):
    """The program with arguments of other lengths, their elements repeated."""

    def longer(values):
        for axis, n in enumerate(values.shape):
            values = values.take(np.arange(lengths.get(n, n)) % max(n, 1), axis)
        return values

    arguments = tuple(
        a._replace(values=longer(a.values)) if isinstance(a, Array) else a
        for a in program.arguments
    )
    return Program(arguments, program.steps, program.outputs)


def run_interpreted(plan, arguments, lengths):
    """A plan for other lengths, in plain Python."""
    yield run_plan_plain(plan, arguments, lengths)


def run_compiled(plan, arguments, lengths):
    """A plan for other lengths, compiled."""
    yield BoundPlan(plan, lengths).run(arguments)


def run_against_pages(plan, arguments, lengths):
    """A plan for other lengths, compiled, against protected pages."""
    for side in SIDES:
        yield run_guarded(BoundPlan(plan, lengths), arguments, side)


def other_lengths(program, lengths, run):
    """Whether the plan of a program serves arguments of other lengths: a Failure where it does not.

    True where it ran for others, False where the program is followed anew for them. Results are
    compared where they are determined.
    """
    function, other = program.function(), resized(program, lengths)
    try:
        case, arguments = follow(function, *program.build()), other.build()
    except (OtherLengthError, NeedsValuesError, UnsupportedError):
        return False  # NumPy runs it, or `failure` has said that it cannot be followed
    signature, plain = signature_of(function, arguments)
    if signature.key != case.key or signature.values == case.values:
        return False
    with small_forms() if run is run_interpreted else nullcontext():
        plan = run_pipeline(case.graph, case.context).plan
    guards = [g for g in case.scope.guards if not data_dependent_in(g.left, g.right)]
    if not all(guard.holds(signature.values) for guard in guards):
        return False
    try:
        with quiet():
            results = list(run(plan, plain, signature.values))
    except OtherLengthError:
        return True  # NumPy runs this call
    except Exception as error:
        if isinstance(error, refusal_of(function, arguments)):
            return True
        return Failure("lengths", type(error).__name__, repr(error))
    if values_of(other) is None:
        return True
    want = in_numpy(function, arguments)
    for result in results:
        found = difference(
            case.returned(result, signature.values), want, arguments, "lengths", distances(program)
        )
        if found:
            return Failure("lengths", *found)
    return True


def refusal_of(function, arguments):
    """The types of error with which NumPy refuses arguments; none where it does not."""
    try:
        in_numpy(function, arguments)
    except Exception as error:
        return (type(error),)
    return ()


def check(program, ways=PLAIN):
    """How a program fails, None where it does not."""
    return failure(program.function(), program.build(), ways, distances(program))


def assert_agrees(function, *arguments, compiled=True):
    """Every way gives what NumPy gives."""
    found = failure(function, arguments, (*PLAIN, compile_all) if compiled else PLAIN)
    assert found is None, found
