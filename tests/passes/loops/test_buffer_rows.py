"""An array that is read at shifted places while it is written needs a few rows, and no copy."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.loops import buffer_rows as module
from axiomjit.passes.loops.buffer_rows import buffer_rows
from axiomjit.passes.plan.render_source import render_source
from tests.passes.examples import example
from tests.passes.graphs import (
    before_and_after,
    follow,
    kept,
    lower_until,
    lowered,
    run_plan_plain,
    small_forms,
)
from tests.passes.stored import MAKERS
from tests.passes.test_packed import compiled, vector_loops

RNG = np.random.default_rng(5)
LINE, PLANE, SPACE = RNG.random(1500), RNG.random((60, 700)), RNG.random((7, 20, 30))
SMALL = PLANE[:30, :70]
"""Rows and elements of several blocks each, in small forms."""


def line(a):
    a[1:-1] = (a[:-2] + a[2:]) / 2


def plane(a):
    a[1:-1, 1:-1] = 0.25 * (a[:-2, 1:-1] + a[2:, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:])


def space(a):
    a[1:-1, 1:-1, 1:-1] = (a[:-2, 1:-1, 1:-1] + a[1:-1, 2:, 1:-1] - a[1:-1, 1:-1, :-2]) / 6


def far_behind(a):
    a[5:] = a[:-5] - a[2:-3]


def far_ahead(a):
    a[:-4] += a[4:] * a[2:-2]


def in_steps(a):
    a[2:-1:3] = a[:-3:3] + a[3::3]


def between(a):
    a[1:-1:2] = a[:-2:2] + a[2::2]


def within_rows(a):
    a[:, 1:] += a[:, :-1]


def turned_rows(a):
    a[1:] = a[:-1, ::-1] * 2


def first_row(a):
    a[1:] -= a[:1] * 2


def each_plane(a):
    a[:, 1:-1] = a[:, :-2] - a[:, 2:]


def each_line(a):
    a[..., 1:-1] = a[..., :-2] * 2 - a[..., 2:]


def two_writes(a):
    a[1:-1] = a[:-2] + a[2:]
    a[:-2] -= a[2:]


def local(a):
    b = a * 2
    b[1:] = b[:-1] + a[1:]
    return b


def with_folds(a):
    before = a.max()
    a[1:] = a[:-1] * 2
    return before, a.min()


def narrowed(a):
    a[1:-1] = a[:-2].astype("f8") / 3 + a[2:]


def in_turn(a):
    a[:-1] = a[1:]


FUNCTIONS = {
    f.__name__: f
    for f in (
        *(line, plane, space, far_behind, far_ahead, in_steps, between, within_rows),
        *(
            each_plane,
            each_line,
            turned_rows,
            first_row,
            two_writes,
            local,
            with_folds,
            narrowed,
            in_turn,
        ),
    )
}
ALONE = {
    "reversed": lambda a: a.__setitem__(slice(None), a[::-1] * 2),
    "turned": lambda a: a.__setitem__(slice(None), a.T * 2),
    "far": lambda a: a.__setitem__(slice(20, None), a[:-20] * 2),
    "gathered": lambda a: a.__setitem__(slice(1, None), a[np.array([2] * 59)] * 2),
    "in place": lambda a: a.__imul__(2),
}
ARRAYS = {
    "line": lambda: LINE[:300].copy(),
    "plane": lambda: SMALL.copy(),
    "narrow": lambda: SMALL[:, :9].copy(),
    "columns": lambda: np.asfortranarray(SMALL),
    "backward": lambda: SMALL[::-1, ::-1].copy()[::-1, ::-1],
    "upside down": lambda: SMALL.copy()[::-1],
    "every other": lambda: np.repeat(SMALL, 2, 1)[:, ::2],
    "space": lambda: SPACE.copy(),
    "single": lambda: SMALL.astype("f4"),
    "whole": lambda: (SMALL * 1000).astype("i8"),
    "planes": lambda: SMALL[:, :24].reshape(3, 30, 8).copy(),
    "short": lambda: SMALL[:2].copy(),
    "empty": lambda: SMALL[:0].copy(),
}


def joined(function, *arguments):
    """The nests that the pass makes for a function."""
    case = follow(function, *arguments)
    program = lower_until("buffer_rows", case)
    after = buffer_rows(program, case.context)
    return [step for step in after.steps if step not in program.steps]


def outcome(function, array):
    """What NumPy returns, or its error, and what the array holds then."""
    with np.errstate(all="ignore"):
        try:
            got = function(array)
        except (ValueError, TypeError, IndexError) as error:
            return type(error), array
    return got, array


@pytest.mark.parametrize("name", ["line", "plane", "within_rows"])
def test_buffer_rows_golden(golden, name):
    array = {"line": LINE, "plane": PLANE, "within_rows": PLANE}[name]
    case = follow(FUNCTIONS[name], array)
    text = before_and_after("buffer_rows", case)
    program = buffer_rows(lower_until("buffer_rows", case), case.context)
    (nest,) = program.steps
    golden(f"{text}\n{render_source(nest, program.numbers, case.context.target).kernel.source}")


UNREAD = MAKERS.keys() - {"swapped_rows"}
"""Writes whose old elements no other row reads, one apart: its row needs no copy."""


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "product", *ALONE, *sorted(UNREAD)])
def test_buffer_rows_leaves_alone(name):
    square = PLANE[:60, :60].copy()
    case = follow(ALONE[name], square) if name in ALONE else None
    case = case or (MAKERS[name]() if name in MAKERS else example(name))
    program = lower_until("buffer_rows", case)
    assert buffer_rows(program, case.context) is program


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("laid", ARRAYS)
def test_rows_mean_what_numpy_does(name, laid):
    want, after = outcome(FUNCTIONS[name], ARRAYS[laid]())
    if isinstance(want, type):
        return
    case = follow(FUNCTIONS[name], ARRAYS[laid]())
    with small_forms():
        stages = lowered(case)
    for chunks in (1, 3):
        given = kept(case.arguments[0])
        run_plan_plain(stages.plan, (given,), case.values, chunks, in_place=True)
        np.testing.assert_array_equal(given, after)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_nothing_else_is_kept(name):
    array = {"line": LINE, "space": SPACE}.get(name, np.ones((200, 700)))
    never_meet = dict.fromkeys(("first_row", "between", "in_steps"), 0)
    others = {"two_writes": 2, **never_meet}
    assert len(joined(FUNCTIONS[name], array)) == others.get(name, 1)
    case = follow(FUNCTIONS[name], array)
    assert lowered(case).cost.temporary_bytes.constant == 0


BUFFERS = {
    "rows": (plane, (1000, 900), 3 * 21 * 898),
    "few rows": (plane, (80, 900), 3 * 6 * 898),
    "narrow": (plane, (10_000, 9), 3 * 14 * 16 * 7),
    "a line": (line, (100_000,), 3 * 10 * 512),
    "planes": (each_plane, (3, 900, 800), 3 * 19 * 3 * 800),
    "lines": (each_line, (3, 100_000), 3 * 10 * 3 * 512),
    "in the row": (within_rows, (1000, 900), 63 * 899),
    "other elements": (first_row, (1000, 900), 0),
    "elements between": (between, (1000, 900), 0),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_how_many_elements_are_kept(name):
    function, shape, wanted = BUFFERS[name]
    cost = axiomjit.jit(function).lower(np.zeros(shape)).cost
    assert (cost.kernels, cost.temporary_bytes) == (1, 0)
    assert cost.scratch_bytes == wanted * 8


def test_a_nest_of_rows_far_apart_is_no_copy():
    """Without the pass there are two kernels, and memory for all new values."""
    with patch.object(module, "_rows", lambda *given: None):
        cost = lowered(follow(plane, PLANE)).cost
    assert (cost.kernels, str(cost.temporary_bytes)) == (2, "8*n0*n1 - 16*n0 - 16*n1 + 32")
    assert lowered(follow(plane, PLANE)).cost.kernels == 1


def test_all_loops_over_rows_are_vector_code():
    (kernel,) = compiled(follow(plane, np.ones((500, 3000))))
    assert vector_loops(kernel) >= 2
    (kernel,) = compiled(follow(line, np.ones(50_000)))
    assert vector_loops(kernel) >= 2


@pytest.mark.parametrize("name", ["line", "plane", "space"])
def test_threads_change_nothing(name):
    shape = {"line": (3_000_000,), "plane": (1200, 1100), "space": (90, 110, 120)}[name]
    array = RNG.random(shape)
    want = array.copy()
    FUNCTIONS[name](want)
    function = axiomjit.jit(FUNCTIONS[name])
    for threads in (1, 2, 7):
        given = array.copy()
        with axiomjit.threads(threads):
            function(given)
        np.testing.assert_array_equal(given, want)


def test_other_lengths_need_no_other_kernel():
    function = axiomjit.jit(plane)
    for shape in ((60, 700), (61, 900), (700, 1001), (12, 600), (50, 40), (1000, 513), (90, 9)):
        array = RNG.random(shape)
        want = array.copy()
        plane(want)
        function(array)
        np.testing.assert_array_equal(array, want)
    assert function.cache_info().traced == 2  # for long rows, for short ones


SPOILT = {
    "a row too early": lambda rows: rows.replace(behind=rows.behind - 1),
    "the next block's row": lambda rows: rows.replace(ahead=rows.ahead - 1),
}


@pytest.mark.parametrize("name", SPOILT)
def test_fewer_rows_would_be_wrong(name, monkeypatch):
    right = module._rows
    monkeypatch.setattr(module, "_rows", lambda *given: SPOILT[name](right(*given)))
    with pytest.raises(AssertionError):
        test_rows_mean_what_numpy_does("line", "line")


def test_verified_text_names_the_buffer():
    stages = lowered(follow(plane, PLANE))
    assert "partials p0" in print_program(stages.loops)
    (launch,) = [step for step in stages.plan.steps if isinstance(step, Launch)]
    assert launch.kernel.combines
