"""Variables, writes, and operations in an order: what they mean, and what is refused."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError, PositionError
from axiomjit.descriptions import (
    ComplexTensorViewDescription,
    Layout,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    row_major_strides,
)
from axiomjit.transformers import make_transformer

H, W = aj.make_axis(3, "H"), aj.make_axis(5, "W")
START = np.arange(15.0).reshape(3, 5)


def grid(**options):
    """A variable over H and W."""
    return aj.variable([H, W], initial_value=START, **options)


def run(outputs, *placeholders):
    """A computation of a new transformer."""
    return make_transformer().computation(outputs, *placeholders)


def test_variables_keep_values_between_calls_and_computations_of_a_transformer():
    x = grid()
    transformer = make_transformer()
    read, step = transformer.computation(x), transformer.computation(aj.assign(x, x + 1))
    np.testing.assert_array_equal(read(), START)
    np.testing.assert_array_equal(step(), START + 1)
    np.testing.assert_array_equal(step(), START + 2)
    np.testing.assert_array_equal(read(), START + 2)
    np.testing.assert_array_equal(run(x)(), START)  # another transformer has memory of its own
    np.testing.assert_array_equal(x.eval().values, START)


def test_results_do_not_show_later_writes():
    x = grid()
    step = run([x, aj.assign(x, x * 2), x])
    before, written, after = step()
    step()
    np.testing.assert_array_equal(before, START)
    np.testing.assert_array_equal(written, START * 2)
    np.testing.assert_array_equal(after, START * 2)
    after[...] = 0
    np.testing.assert_array_equal(step()[0], START * 4)


@pytest.mark.parametrize(
    ("initial", "want"),
    [(2, 2.0), (START, START), (lambda axes: np.full(axes.lengths, 7), 7.0), ([[1] * 5] * 3, 1.0)],
)
def test_initial_values(initial, want):
    x = aj.variable([H, W], initial_value=initial)
    np.testing.assert_array_equal(run(x)(), np.broadcast_to(want, (3, 5)))


def test_an_initial_value_is_copied():
    mine = START.copy()
    x = aj.variable([H, W], initial_value=mine)
    mine[...] = -1
    np.testing.assert_array_equal(run(x)(), START)


def test_writes_into_parts():
    x = grid()
    writes = [
        aj.assign(x[0], 5),
        aj.assign(x[1:, ::2], x[1:, ::-2]),
        aj.set_item(x, {W: -1}, aj.constant([1.0, 2.0, 3.0], [H])),
        aj.assign(x.T, (x * 2).T),
        x,
    ]
    want = START.copy()
    want[0] = 5
    want[1:, ::2] = want[1:, ::-2].copy()
    want[:, -1] = [1, 2, 3]
    want *= 2
    np.testing.assert_array_equal(run(aj.sequential(writes))(), want)


def test_a_value_is_broadcast_to_the_axes_of_what_is_assigned_to():
    x = grid()
    row = aj.constant(np.arange(5.0), [W])
    np.testing.assert_array_equal(run(aj.assign(x, row))(), np.tile(np.arange(5.0), (3, 1)))
    other = aj.make_axis(2, "other")
    wide = aj.placeholder([W, other])
    with pytest.raises(
        AxesError, match=r"seen: axes \[H=3, W=5\], and \[other=2\] only in the value"
    ):
        aj.assign(x, wide)


def test_set_item_in_a_graph_is_read_by_what_is_built_afterwards():
    x, p = grid(), aj.placeholder([W])
    before = x + 0
    x[...] = x * p
    middle = x + 0
    x[1] = 0
    step = run([before, middle, x], p)
    first, second, third = step(np.full(5, 2.0))
    np.testing.assert_array_equal(first, START)
    np.testing.assert_array_equal(second, START * 2)
    want = START * 2
    want[1] = 0
    np.testing.assert_array_equal(third, want)
    np.testing.assert_array_equal(step(np.full(5, 3.0))[2], want * 3)


def test_a_view_made_before_a_write_sees_it():
    x = grid()
    row = x[1]
    x[...] = 1
    assert run(row)().tolist() == [1] * 5


def test_a_thousand_writes_are_followed_without_recursion():
    x = aj.variable([], initial_value=0)
    for _ in range(1100):
        x[...] = x + 1
    from axiomjit.base.config import config

    config.disable, before = True, config.disable
    try:
        assert run(x)() == 1100
    finally:
        config.disable = before


def test_temporaries_are_made_anew_and_values_are_captured():
    x, t = grid(), aj.temporary([W], "i8", 3)
    row = aj.sequential([aj.assign(t[0], 7), aj.assign(t, t + 1), t])
    step = run(row)
    for _ in range(2):
        assert step().tolist() == [8, 4, 4, 4, 4]
    assert t.dtype == np.dtype("i8")
    captured = aj.value_of(x)
    old = run(aj.sequential([captured, aj.assign(x, 0), captured + x]))
    np.testing.assert_array_equal(old(), START)
    np.testing.assert_array_equal(old(), 0 * START)
    kept = aj.persistent_tensor([W], initial_value=2)
    assert run(aj.assign(kept, kept * 2))().tolist() == [4] * 5
    assert aj.as_op(x) is x
    assert aj.as_op(2).axes == aj.make_axes()
    with pytest.raises(GraphTypeError, match="whose dimensions have no axes"):
        aj.as_op(START)


def test_sequential_has_the_axes_and_value_of_its_last_operation():
    x, y = grid(), grid()
    double = x * 2
    last = aj.sequential([aj.assign(x, 1), aj.assign(y, double), (x + y).T])
    assert last.axes == (x + y).T.axes
    np.testing.assert_array_equal(run(last)(), np.full((3, 5), 3))
    np.testing.assert_array_equal(run(aj.doall([aj.fill(x, 4), double]))(), np.full((3, 5), 8))


def test_an_operation_runs_once_in_a_computation():
    x = grid()
    step = aj.assign(x, x + 1)
    results = run([step, aj.sequential([step, x]), step + x])()
    for result, want in zip(results, (START + 1, START + 1, 2 * START + 2), strict=True):
        np.testing.assert_array_equal(result, want)
    twice = run(aj.sequential([aj.assign(x, x + 1), aj.assign(x, x + 1), x]))
    np.testing.assert_array_equal(twice(), START + 2)


def test_what_prints_within_a_sequence_prints_in_its_order(capsys):
    x = grid()
    steps = [aj.PrintOp(x[0, 0], "first"), aj.assign(x, x + 1), aj.PrintOp(x[0, 0], "second"), x]
    np.testing.assert_array_equal(run(aj.sequential(steps))(), START + 1)
    assert capsys.readouterr().out.split() == ["first:", "f8[]", "0.0", "second:", "f8[]", "1.0"]


def test_without_a_compiler_writes_mean_the_same(monkeypatch):
    x, y = grid(), grid()
    x[...] = x[::-1] * 2
    step = run(aj.sequential([aj.assign(y, x), y + x]))
    want = step()
    monkeypatch.setattr(aj.config, "disable", True)
    x, y = grid(), grid()
    x[...] = x[::-1] * 2
    step = run(aj.sequential([aj.assign(y, x), y + x]))
    np.testing.assert_array_equal(step(), want)
    np.testing.assert_array_equal(step(), START * 8)


def test_nothing_is_written_where_the_user_traps_an_error():
    x = grid()
    transformer = make_transformer()
    step = transformer.computation(aj.sequential([aj.assign(x, 5), aj.assign(x, 1 / (x - x))]))
    with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
        step()
    np.testing.assert_array_equal(transformer.computation(x)(), START)


def test_a_placeholder_that_is_assigned_to_changes_the_argument():
    p, q = aj.placeholder([H, W]), aj.placeholder([H, W])
    step = run(aj.assign(p, p + q), p, q)
    given = START.copy()
    np.testing.assert_array_equal(step(given, START), START * 2)
    np.testing.assert_array_equal(given, START * 2)
    step(given, given)  # what is read is what was given
    np.testing.assert_array_equal(given, START * 4)
    turned = np.asfortranarray(START)
    step(turned, START)
    np.testing.assert_array_equal(turned, START * 2)
    step(*[START.copy() for _ in "pq"])


def test_an_argument_that_the_caller_would_not_see_changed_is_refused():
    p, q = aj.placeholder([W]), aj.placeholder([W])
    step = run(aj.assign(p, p + 1), p)
    frozen = np.zeros(5)
    frozen.flags.writeable = False
    for wrong, seen in (
        ([0.0] * 5, "a list"),
        (np.zeros(5, "f4"), "dtype float32"),
        (frozen, "a read-only array"),
    ):
        with pytest.raises(GraphTypeError, match=seen):
            step(wrong)
    both = run([aj.assign(p, 1), aj.assign(q, 2)], p, q)
    memory = np.zeros(8)
    with pytest.raises(GraphValueError, match="arrays that share memory"):
        both(memory[:5], memory[3:])
    both(memory[:5], np.zeros(5))


REFUSED = [
    (lambda x, p: aj.assign(x + 1, p), GraphTypeError, "is an r-tensor"),
    (lambda x, p: aj.assign(aj.constant(START, [H, W]), p), GraphTypeError, "is an r-tensor"),
    (lambda x, p: aj.assign(aj.constant(1.0, [W]), p), GraphTypeError, "is an r-tensor"),
    (lambda x, p: aj.assign(aj.broadcast(p, [H, W]), x), GraphTypeError, "is an r-tensor"),
    (lambda x, p: (x + 1).__setitem__(0, p), GraphTypeError, "is an r-tensor"),
    (lambda x, p: aj.assign(x.real + 0, p), GraphTypeError, "is an r-tensor"),
    (lambda x, p: aj.assign(x, np.zeros(5)), GraphTypeError, "constant\\(value, axes\\)"),
    (lambda x, p: aj.assign(p, x), AxesError, "axes \\[W=5\\], and \\[H=3\\] only in"),
    (lambda x, p: aj.assign(x, p * 1j), GraphTypeError, "elements of dtype complex128"),
    (lambda x, p: aj.assign(aj.variable([W], "i8"), p), GraphTypeError, "dtype float64"),
    (lambda x, p: aj.sequential([]), GraphValueError, "an empty list"),
    (lambda x, p: aj.sequential([x, np.zeros(3)]), GraphTypeError, "whose dimensions have no"),
    (lambda x, p: x.__setitem__(7, p), AxesError, "position 7 along H=3"),
    (lambda x, p: x.__setitem__((0, 0, 0), 1), AxesError, "3 items for axes"),
    (lambda x, p: run(x, x), GraphValueError, "made otherwise"),
    (lambda x, p: run(p + x), GraphValueError, "list every placeholder"),
    (lambda x, p: run(aj.assign(p, 1)), GraphValueError, "list every placeholder"),
    (lambda x, p: aj.variable([W], "i4", 1.5), GraphTypeError, "elements of dtype float64"),
    (lambda x, p: aj.variable([W], "U3"), GraphTypeError, "a variable of dtype U3"),
    (lambda x, p: run(aj.variable([W], None, [1.0]))(), GraphValueError, r"shape \(1,\)"),
    (lambda x, p: aj.placeholder([W], layout="K"), GraphTypeError, 'give "C", "F" or a Layout'),
    (lambda x, p: aj.variable([W], layout=Layout((1, 1))), GraphValueError, "strides"),
    (lambda x, p: aj.variable([W], layout=Layout((1,), 0, (4,))), GraphValueError, "sizes"),
    (lambda x, p: aj.variable([W], layout=Layout((0,))), GraphValueError, "share places"),
    (lambda x, p: aj.variable([H, W], layout=Layout((2, 1))), GraphValueError, "share places"),
    (lambda x, p: aj.variable([W], layout=Layout((-1,))), GraphValueError, "at place -4"),
]


@pytest.mark.parametrize(("make", "error", "seen"), REFUSED)
def test_what_is_refused(make, error, seen):
    with pytest.raises(error, match=seen):
        make(grid(), aj.placeholder([W]))


def test_legal_neighbours_of_what_is_refused():
    x, p = grid(), aj.placeholder([W])
    whole = aj.variable([W], "i8")
    steps = [
        aj.assign(x, p),
        aj.assign(x[0], p),
        aj.assign(whole, aj.constant([1, 2, 3, 4, 5], [W], "i4")),
        aj.assign(aj.variable([W], layout=Layout((-1,), 4)), p),
        aj.assign(aj.materialize(x + 1), p),
        x[2] + whole,
    ]
    assert run(aj.sequential(steps), p)(np.ones(5)).tolist() == [2, 3, 4, 5, 6]


def test_an_unknown_length_is_checked_before_anything_is_written():
    n = aj.make_axis(name="n")
    x = aj.variable([n], initial_value=0)
    step = run(aj.assign(x[5], 1))
    n.length = 3
    with pytest.raises(AxesError, match="position 5 along n=3"):
        step()
    with pytest.raises(IndexError):
        raise PositionError("a", "b", "c")


def test_every_tensor_has_a_description():
    x, p = grid(layout="F"), aj.placeholder([W], "f4")
    described = x.tensor_description
    assert (described.shape, described.dtype, described.axes) == ((3, 5), np.dtype("f8"), x.axes)
    assert not described.read_only
    assert described.layout.strides == (1, 3)
    assert not p.tensor_description.read_only
    assert p.tensor_description.layout is None
    for made in (x + p, aj.constant(1.0, [W]), aj.constant(START, [H, W]), aj.sum(x, [H])):
        assert made.tensor_description.read_only
    assert not aj.materialize(x + p).tensor_description.read_only
    turned = aj.axes_with_order(x, [W, H]).tensor_description
    assert isinstance(turned.view, PermuteTensorDescription)
    assert (turned.layout.strides, turned.read_only) == ((3, 1), False)
    part = x[1:, ::2].tensor_description
    assert isinstance(part.view, SimpleTensorViewDescription)
    assert (part.shape, part.layout) == ((2, 3), Layout((1, 6), 1))
    assert part.base_tensor.shape == (3, 5)
    assert aj.broadcast(p, [H, W]).tensor_description.read_only
    padded = aj.pad(x, [(1, 0), (0, 2)]).tensor_description
    assert isinstance(padded.view, ComplexTensorViewDescription)
    assert padded.shape == (4, 7)
    zeros, whole = padded.view.select((1, 6)), padded.view.select((1, 4))
    assert zeros[0] != whole[0]
    later = aj.make_axis(name="later")
    assert aj.placeholder([later]).tensor_description.shape == (later.dim,)


def test_materialize_is_seen_in_views_and_cost():
    x, p = grid(), aj.placeholder([W])
    plain = run((x + p) * (x + p), p).lower(np.ones(5))
    kept = aj.materialize(x + p)
    stored = run(kept * kept, p).lower(np.ones(5))
    assert "l-tensor t" not in plain.views
    assert "materialized t" in stored.views
    assert (plain.cost.temporary_bytes, stored.cost.temporary_bytes) == (0, 120)
    kept[0] = 9
    np.testing.assert_array_equal(run(kept, p)(np.ones(5))[0], [9] * 5)
    np.testing.assert_array_equal(run(kept, p)(np.ones(5))[1], START[1] + 1)


def test_a_constant_scalar_with_axes_has_no_buffer():
    x = grid()
    lowered = run(x + aj.constant(3.0, [H, W])).lower()
    assert "held" not in lowered.views
    assert lowered.cost.bytes_read == START.nbytes


PADDED = Layout(row_major_strides((4, 8)), 2, (4, 8))


@pytest.mark.parametrize(
    "layout", [PADDED, "C", "F", Layout((-8, 1), 16), Layout((1, 4), 0, (4, 5))]
)
def test_layouts_of_variables_and_placeholders(layout):
    x, p = grid(layout=layout), aj.placeholder([H, W], layout=layout)
    step = run([aj.assign(x, x * p + aj.sum(x, [W])), aj.max(x)], p)
    want = START * 2 + START.sum(1, keepdims=True)
    for argument in (np.full((3, 5), 2.0), np.full((5, 3), 2.0).T, [[2] * 5] * 3):
        np.testing.assert_array_equal(
            run([aj.assign(x, x * p + aj.sum(x, [W]))], p)(argument)[0], want
        )
    got, largest = step(np.full((3, 5), 2.0))
    np.testing.assert_array_equal(got, want)
    assert largest == want.max()
    assert want.flags.c_contiguous


OVERLAPS = {
    "windows": ((3, 5), (1, 1), True),
    "steps of windows": ((3, 5), (4, 1), True),
    "rows": ((3, 5), (5, 1), False),
    "spread rows": ((3, 5), (12, 2), False),
    "columns": ((3, 5), (1, 3), False),
    "backward": ((3, 5), (-5, -1), False),
    "windows backward": ((3, 5), (-1, 1), True),
    "one row repeated": ((3, 5), (0, 1), True),
    "woven": ((3, 5), (2, 7), False),
    "nearly woven": ((3, 5), (4, 2), True),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_arrays_that_overlap_themselves_are_not_written(name):
    shape, strides, overlaps = OVERLAPS[name]
    x = aj.placeholder([H, W])
    double = run(aj.assign(x, x * 2.0), x)
    buffer = np.arange(100.0)
    given = np.ndarray(shape, "f8", buffer, 8 * 40, [8 * step for step in strides])
    want = given * 2
    if overlaps:
        with pytest.raises(GraphTypeError, match="whose elements share memory"):
            double(given)
        np.testing.assert_array_equal(buffer, np.arange(100.0))
    else:
        double(given)
        np.testing.assert_array_equal(given, want)
        assert buffer.sum() == np.arange(100.0).sum() + want.sum() / 2
