"""Each rule of the verifier of plans finds the plan that breaks it."""

import numpy as np
import pytest

from axiomjit.base.dtypes import FLOAT
from axiomjit.base.errors import VerifyError
from axiomjit.base.target import chosen_target
from axiomjit.graph.external_calls import ArrayFunction
from axiomjit.graph.library_operations import SORT
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Buffer,
    Call,
    Kernel,
    Launch,
    NumberSource,
    Parameter,
    Plan,
    Release,
    Reuse,
    Window,
    WriteBack,
)
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.dims import dim
from tests.passes.examples import example
from tests.passes.graphs import lowered

SIX = (dim(6),)
UNIT = (dim(1),)
WORDS = (Parameter("a0", "buffer", "f8"), Parameter("a1", "buffer", "f8"))
KERNEL = Kernel("def kernel(w, lo, hi):\n    pass\n", WORDS, "key", False, chosen_target())
LAUNCH = Launch(KERNEL, ("a0", "o0"), (), (), dim(6), dim(12))
RESULT = Window("o0", dim(0), SIX, UNIT, FLOAT)
GIVEN = Window("a0", dim(0), SIX, UNIT, FLOAT)
BUFFERS = (
    Buffer("a0", ArrayRole.ARGUMENT, FLOAT, SIX, UNIT, 0),
    Buffer("o0", ArrayRole.RESULT, FLOAT, SIX, UNIT),
    Buffer("t0", ArrayRole.TEMPORARY, FLOAT, SIX, UNIT),
    Buffer("t1", ArrayRole.TEMPORARY, FLOAT, SIX, UNIT),
    Buffer("t2", ArrayRole.TEMPORARY, FLOAT, (dim(7),), UNIT),
)
FIRST, SECOND = (
    SORT.replace(name=f"modf[{k}]", evaluate=ArrayFunction("modf", np.modf, (), k)) for k in (0, 1)
)
CALL = Call(SORT, (GIVEN,), ((0,),), RESULT)


def plan(*steps, results=(RESULT,), buffers=BUFFERS):
    return Plan(buffers, steps, results)


AHEAD, CHAINED = LAUNCH.replace(prepass=True), LAUNCH.replace(chunk_chain=dim(3))
LEGAL = (
    *(Allocate("o0"), Allocate("t0"), LAUNCH, Call(SORT, (GIVEN,), ((0,),), RESULT)),
    *(Reuse("t1", "t0"), Release("t1"), WriteBack("a0", 0)),
)


def test_legal_plans_pass():
    verify_program(plan(*LEGAL))
    verify_program(plan(Allocate("o0"), AHEAD, CHAINED, LAUNCH))
    for name in ("l2", "sums_and_map", "centred", "product"):
        verify_program(lowered(example(name)).plan)


@pytest.mark.parametrize(
    ("broken", "fault"),
    [
        (plan(LAUNCH, results=()), "a launch uses o0, which has no memory"),
        (plan(Allocate("o0"), Allocate("o0")), "o0 is allocated, which is no buffer or has memory"),
        (plan(Allocate("o0"), Allocate("x")), "x is allocated, which is no buffer"),
        (plan(Allocate("o0"), LAUNCH, Allocate("t0")), "t0 is allocated after something was writ"),
        (plan(Allocate("o0"), Release("t0")), "t0 is released, which was not allocated"),
        (plan(Allocate("o0"), Release("a0")), "a0 is released, which was not allocated"),
        (plan(Allocate("o0"), Release("o0")), "a result uses o0, which has no memory"),
        (plan(Allocate("o0"), Reuse("t1", "t0")), "t1 takes the memory of t0, which has none"),
        (plan(Allocate("o0"), Reuse("t1", "a0")), "t1 takes the memory of a0, which has none"),
        (plan(Allocate("t0"), Reuse("a0", "t0")), "a0 takes memory, which is no buffer or has"),
        (plan(Allocate("t0"), Reuse("t2", "t0")), "t2 of 56 bytes takes 48 of t0"),
        (plan(Allocate("t0"), Reuse("t1", "t0"), Release("t0")), "t0 is released, which was not"),
        (plan(Allocate("o0"), WriteBack("a0", 1)), "a0 is written back to argument 1"),
        (plan(Allocate("o0"), Call(SORT, (GIVEN,), (), RESULT)), "sort has labels for 0 oper"),
        (
            plan(Allocate("o0"), Call(SORT, (GIVEN,), ((0,),), RESULT.replace(buffer="t0"))),
            "sort uses t0, which has no memory",
        ),
        (
            plan(
                Allocate("o0"), CALL.replace(other_results=((SORT, RESULT.replace(buffer="t0")),))
            ),
            "sort uses t0, which has no memory",
        ),
        (
            plan(
                *(Allocate("o0"), Allocate("t0")),
                CALL.replace(other_results=((SORT, RESULT.replace(buffer="t0")),)),
            ),
            "one call for sort, sort",
        ),
        (
            plan(Allocate("o0"), CALL.replace(operation=FIRST, other_results=((SECOND, RESULT),))),
            "two results of modf[0] in one",
        ),
        (plan(Allocate("o0"), results=(RESULT.replace(strides=()),)), "of 1 lengths, 0 steps"),
        (plan(Allocate("o0"), LAUNCH.replace(buffers=("a0",))), "a kernel of words"),
        (
            plan(Allocate("o0"), LAUNCH.replace(numbers=(NumberSource("f8", 1),))),
            "is launched with ['buffer', 'buffer', 'scalar']",
        ),
        (plan(Allocate("o0"), buffers=(*BUFFERS, BUFFERS[0])), "two buffers of one name"),
        (plan(Allocate("o0"), AHEAD), "a launch ahead of one without a chain"),
        (plan(Allocate("o0"), CHAINED), "a launch ahead of one without a chain, or the reverse"),
        (plan(Allocate("o0"), AHEAD, LAUNCH, CHAINED), "ahead of one without a chain"),
    ],
)
def test_illegal_plans_are_found(broken, fault):
    with pytest.raises(VerifyError, match="a legal plan") as caught:
        verify_program(broken)
    assert fault in str(caught.value)
