"""Plans bound to lengths: allocation, windows, library products."""

import itertools
import typing

import numpy as np
import pytest

from axiomjit.graph.library_operations import MATRIX_PRODUCT
from axiomjit.passes.ir.plan_ir import Allocate, Buffer, Call, Plan, Release, Step, Window
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.runtime.execution import library_calls
from axiomjit.runtime.execution.execute import STEP_KINDS, BoundPlan
from axiomjit.runtime.execution.plan_steps import BoundStep
from axiomjit.runtime.native_call.instructions import INSTRUCTIONS, Instruction
from axiomjit.symbolic.dims import Symbol, dim, named_length

F8 = np.dtype("f8")
N, M = named_length("n"), named_length("m")


def window(name, shape, strides, offset=0):
    return Window(name, dim(offset), tuple(map(dim, shape)), tuple(map(dim, strides)), F8)


def argument(name, position, shape, strides):
    return Buffer(
        name, ArrayRole.ARGUMENT, F8, tuple(map(dim, shape)), tuple(map(dim, strides)), position
    )


def made(name, role, shape, strides):
    return Buffer(name, role, F8, tuple(map(dim, shape)), tuple(map(dim, strides)))


def test_whole_argument_is_returned_as_it_is():
    plan = Plan((argument("a", 0, (N,), (1,)),), (), (window("a", (N,), (1,)),))
    x = np.arange(7.0)
    assert BoundPlan(plan, {Symbol("n"): 7}).run([x])[0] is x


@pytest.mark.parametrize("writable", [True, False])
def test_windows_are_views_that_keep_the_array_alive(writable):
    buffers = (argument("a", 0, (N, 3), (3, 1)),)
    results = (
        window("a", (3, N), (1, 3)),
        window("a", (N,), (-3,), 3 * N - 1),
        window("a", (0, 3), (3, 1), 3 * N),
        window("a", (), (), 4),
    )
    plan = BoundPlan(Plan(buffers, (), results), {Symbol("n"): 5})
    x = np.arange(15.0).reshape(5, 3)
    x.flags.writeable = writable
    transposed, backwards, empty, one = plan.run([x])
    np.testing.assert_array_equal(transposed, x.T)
    np.testing.assert_array_equal(backwards, x[::-1, 2])
    assert empty.shape == (0, 3)
    assert one.shape == ()
    assert one[()] == 4
    assert np.shares_memory(transposed, x)
    assert transposed.flags.writeable is writable
    expected = x.T.copy()
    del x
    np.testing.assert_array_equal(transposed, expected)


def test_allocation_follows_the_strides_and_is_fresh():
    buffers = (made("o", ArrayRole.RESULT, (N, 2, M), (1, N, 2 * N)),)
    plan = Plan(buffers, (Allocate("o"),), (window("o", (N, 2, M), (1, N, 2 * N)),))
    run = BoundPlan(plan, {Symbol("n"): 5, Symbol("m"): 3}).run
    first, second = run([])[0], run([])[0]
    assert first.shape == (5, 2, 3)
    assert first.flags.f_contiguous
    assert first.base.flags.owndata  # what was allocated, not a view made of its address
    assert not np.shares_memory(first, second)


def test_more_bytes_than_addresses_are_refused_when_bound():
    buffers = (made("o", ArrayRole.RESULT, (N, N), (N, 1)),)
    plan = Plan(buffers, (Allocate("o"),), (window("o", (N, N), (N, 1)),))
    with pytest.raises(MemoryError, match="shape .* has no address"):
        BoundPlan(plan, {Symbol("n"): 2**31})


def product_plan(left, right, labels, target):
    """The plan of one library product into `target` = (shape, strides)."""
    shape, strides = target
    buffers = (
        argument("a", 0, *left),
        argument("b", 1, *right),
        made("t", ArrayRole.TEMPORARY, (1,), (1,)),
        made("o", ArrayRole.RESULT, shape, strides),
    )
    whole = window("o", shape, strides)
    step = Call(MATRIX_PRODUCT, (window("a", *left), window("b", *right)), labels, whole)
    steps = (Allocate("t"), Allocate("o"), step, Release("t"))
    return BoundPlan(Plan(buffers, steps, (whole,)), {})


@pytest.mark.parametrize(
    ("a", "b", "fortran"), list(itertools.product([0, 1], [0, 1], [False, True]))
)
def test_products_in_every_transposition(a, b, fortran):
    x = np.arange(6.0).reshape((2, 3) if a else (3, 2))
    y = np.arange(12.0).reshape((3, 4) if b == 0 else (4, 3))
    strides = (1, 2) if fortran else (4, 1)
    layouts = [(array.shape, (array.shape[1], 1)) for array in (x, y)]
    labels = ((0, 2) if a else (2, 0), (1, 2) if b else (2, 1))
    plan = product_plan(*layouts, labels, ((2, 4), strides))
    (result,) = plan.run([x, y])
    np.testing.assert_array_equal(result, (x if a else x.T) @ (y.T if b else y))
    assert result.strides == tuple(8 * s for s in strides)


def test_products_of_more_dimensions():
    x, y = np.arange(24.0).reshape(2, 3, 4), np.arange(60.0).reshape(4, 3, 5)
    layouts = [((2, 3, 4), (12, 4, 1)), ((4, 3, 5), (15, 5, 1))]
    plan = product_plan(*layouts, ((0, 2, 3), (3, 2, 1)), ((2, 5), (5, 1)))
    np.testing.assert_array_equal(plan.run([x, y])[0], np.tensordot(x, y, ((1, 2), (1, 0))))


def test_every_kind_of_step_has_a_row_and_two_back_ends():
    assert set(STEP_KINDS) == set(typing.get_args(Step))
    kinds = BoundStep.__subclasses__()
    assert library_calls.Calling in kinds
    for kind in kinds:
        assert "__call__" in vars(kind), kind
        assert "emit" in vars(kind), kind


def test_every_instruction_has_a_row():
    assert set(INSTRUCTIONS) == set(Instruction.__subclasses__())
