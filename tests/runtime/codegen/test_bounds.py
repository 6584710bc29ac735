"""Checked kernels refuse what lies outside, fresh memory is poisoned, views stay inside buffers."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import BoundsError
from axiomjit.base.target import chosen_target
from axiomjit.passes.ir.plan_ir import Allocate, Buffer, Kernel, Plan, Window
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.runtime.codegen.kernel_cache import KERNELS
from axiomjit.runtime.codegen.plain_builtins import DTYPES, run_plain
from axiomjit.runtime.execution import plan_steps
from axiomjit.runtime.execution.execute import BoundPlan
from axiomjit.runtime.memory import allocation
from axiomjit.runtime.memory.allocation import element_bounds, poison
from axiomjit.symbolic.dims import dim
from tests.passes.graphs import run_plan_plain
from tests.runtime.memory.planted import COPY, copying, planted

pytestmark = pytest.mark.usefixtures("bounds_checked")
X = np.arange(9.0)


@pytest.mark.parametrize(
    ("to", "source", "message"),
    [
        ("i0", "i0 + 1", r"load element 9 of buffer a0 in a compiled kernel\n.*\[0, 9\)"),
        ("i0", "i0 - 1", r"load element -1 of buffer a0"),
        (
            "i0 + 1",
            "i0",
            r"(?s)store element 9 of buffer o0.*please report.*def kernel\(w, lo, hi\)",
        ),
        ("i0 - 1", "i0", r"store element -1 of buffer o0"),
        ("i0", "9223372036854775807 - i0", "load element 9223372036854775807 of buffer a0"),
    ],
)
def test_access_outside_is_refused(to, source, message):
    plan = copying(9, to, source)
    with pytest.raises(BoundsError, match=message):
        BoundPlan(plan, {}).run([X])
    with pytest.raises(IndexError, match="outside"):
        run_plan_plain(plan, [X], {})


@pytest.mark.parametrize("dtype", DTYPES)
def test_access_outside_gives_poison_and_touches_nothing(dtype, monkeypatch):
    """Without the report one sees what the kernel did."""
    monkeypatch.setattr(plan_steps, "refuse_report", lambda kernel, block: None)
    x = np.ones(9, dtype)
    (result,) = BoundPlan(copying(9, source="i0 + 1", dtype=dtype), {}).run([x[:8:-1]])
    want = np.full(9, poison(DTYPES[dtype]), dtype)
    np.testing.assert_array_equal(result, want, strict=True)
    around = np.zeros(9, dtype)
    plan = BoundPlan(planted(COPY.format(to="i0 + 1", source="i0"), 1, dtype, grid=3), {})
    monkeypatch.setattr(allocation, "empty", lambda shape, dtype: around[:1])
    plan.run([x[:1]])
    assert not around[1:].any()


def test_bounds_are_those_of_the_array():
    base = np.arange(60.0).reshape(3, 4, 5)
    backward = base[::-1, ::2, ::-1]
    assert element_bounds(base) == (0, 60)
    assert element_bounds(backward) == (-44, 11)
    assert element_bounds(np.broadcast_to(base[0, 0], (7, 5))) == (0, 5)
    assert element_bounds(base[:0]) == (0, 0)
    f = axiomjit.jit(lambda x, y: x * 2 + y)
    np.testing.assert_array_equal(f(backward, base[0, 0, 0]), backward * 2)


def test_first_report_is_kept_though_many_threads_reach_outside(monkeypatch):
    monkeypatch.setattr(plan_steps, "SERIAL_WORK", 0)
    plan = BoundPlan(planted(COPY.format(to="i0", source="i0 * 100000"), 4000, grid=4000), {})
    with pytest.raises(BoundsError, match=r"load element \d+00000 of buffer a0"):
        plan.run([np.ones(4000)])


TILES = """
def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    o0 = buffer(w, 1)
    s0 = tile(4, f8)
    t0 = tile(8, f8)
    q0 = 0
    for i0 in range(lo, hi):
        {}
"""
BEYOND = [
    ("store(s0, i0, load(a0, i0))", 5, "store element 4 of a tile"),
    ("store(o0, i0, load(s0, i0 - 1))", 1, "load element -1 of a tile"),
    ("q0 = push(t0, q0, load(a0, 0))", 256, "store element 8 of a tile"),
    ("store(o0, 0, drain(t0, 256))", 1, "store element 8 of a tile"),
    ("q0 = push_lanes_mul(t0, q0, s0, 4)", 4, "store element 11 of a tile"),
    ("q0 = push_lanes(t0, q0, s0, 5)", 1, "store element 4 of a tile"),
    ("drain_lanes(t0, 4, s0, 4)", 1, "store element 11 of a tile"),
]


@pytest.mark.parametrize(("line", "grid", "message"), BEYOND)
def test_tiles_and_trees_are_checked(line, grid, message):
    x = np.ones(600)
    if grid > 1:
        BoundPlan(planted(TILES.format(line), 600, grid=grid - 1), {}).run([x])
    with pytest.raises(BoundsError, match=message):
        BoundPlan(planted(TILES.format(line), 600, grid=grid), {}).run([x])


def test_tiles_are_poisoned():
    source = TILES.format("store(o0, i0, load(s0, i0))")
    assert np.isnan(BoundPlan(planted(source, 4), {}).run([X[:4]])[0]).all()


@pytest.mark.parametrize("dtype", DTYPES)
def test_forgotten_element_shows(dtype):
    plan = planted(COPY.format(to="i0", source="i0"), 9, dtype, grid=8)
    (result,) = BoundPlan(plan, {}).run([np.zeros(9, dtype)])
    assert not result[:8].any()
    np.testing.assert_array_equal(result[8], poison(DTYPES[dtype]))
    (plain,) = run_plan_plain(plan, [np.zeros(9, dtype)], {})
    np.testing.assert_array_equal(plain, result)


def test_memory_is_left_alone_unchecked(monkeypatch):
    monkeypatch.setattr(config, "check", False)
    monkeypatch.setattr(allocation, "empty", lambda shape, dtype: np.zeros(shape, dtype))
    plan = planted(COPY.format(to="i0", source="i0"), 9, grid=8)
    assert BoundPlan(plan, {}).run([X])[0][8] == 0


def test_a_kernel_and_its_checked_form_are_two(monkeypatch, memory_only):
    kernel = Kernel(
        "def kernel(w, lo, hi):\n    pass\n", (), "planted: nothing", False, chosen_target()
    )
    before = stats()["compiles"]
    checked = KERNELS.get(kernel)
    monkeypatch.setattr(config, "bounds", False)
    plain = KERNELS.get(kernel)
    assert (checked.checked, plain.checked) == (True, False)
    assert stats()["compiles"] - before == 2
    assert KERNELS.get(kernel) is plain


def test_setting_holds_for_the_next_call(monkeypatch, memory_only):
    f = axiomjit.jit(lambda x: x * 4.0 - 1.0)
    f(X)
    before = stats()["compiles"]
    monkeypatch.setattr(config, "bounds", False)
    np.testing.assert_array_equal(f(X), X * 4.0 - 1.0)
    f(X), f(x=X)
    assert stats()["compiles"] - before == 1


@pytest.mark.parametrize(
    ("offset", "shape", "strides", "fits"),
    [
        *((0, (9,), (1,), True), (8, (9,), (-1,), True), (4, (5, 5), (1, -1), True)),
        *((0, (10,), (1,), False), (1, (9,), (1,), False), (7, (9,), (-1,), False)),
        *((99, (0, 3), (3, 1), True), (8, (9, 9), (0, 0), True), (9, (), (), False)),
    ],
)
def test_windows_stay_within_their_buffer(offset, shape, strides, fits):
    whole = (dim(9),), (dim(1),)
    buffer = Buffer("o", ArrayRole.RESULT, np.dtype("f8"), *whole)
    steps = tuple(map(dim, strides))
    window = Window("o", dim(offset), tuple(map(dim, shape)), steps, np.dtype("f8"))
    plan = BoundPlan(Plan((buffer,), (Allocate("o"),), (window,)), {})
    if fits:
        assert plan.run([])[0].shape == shape
    else:
        with pytest.raises(BoundsError, match="view of the bytes .* of buffer o"):
            plan.run([])


def test_checked_source_is_the_same_source():
    f = axiomjit.jit(lambda x: x * 2.0)
    lowered = f.lower(X)
    result = np.zeros(9)
    (kernel,) = lowered.kernels
    words = [X, result, 2.0][: len(kernel.parameters)]
    run_plain(lowered.source, kernel.parameters, words, 0, 9)
    np.testing.assert_array_equal(f(X), result)
    assert "axiomjit_report" in lowered.llvm
