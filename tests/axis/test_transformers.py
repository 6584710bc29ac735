"""Computations: the form of results, lengths given late, refusals."""

import gc

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis import functions as af
from axiomjit.axis import tensors as t
from axiomjit.axis.axis import make_axis
from axiomjit.base.errors import AxesError, GraphTypeError, GraphValueError
from axiomjit.dispatch import programs
from axiomjit.graph import execution
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.pipeline import run_pipeline as pipeline
from axiomjit.transformers import make_transformer

H, W = make_axis(2, "H"), make_axis(3, "W")


def run(outputs, *placeholders):
    """The computation of a new transformer."""
    return make_transformer().computation(outputs, *placeholders)


def test_lengths_can_be_given_after_the_graph_is_made():
    height, width = make_axis(name="height"), make_axis(name="width")
    image = t.placeholder([height, width])
    comp = run(aj.mean(image * 2, [width]), image)
    value = np.arange(12.0).reshape(3, 4)
    message = r"no length for Axis\(height=\?\), Axis\(width=\?\)\n  instead: assign axis.length"
    with pytest.raises(AxesError, match=message):
        comp(value)
    height.length = 3
    with pytest.raises(AxesError, match=r"no length for Axis\(width=\?\)"):
        comp(value)
    width.length = 4
    np.testing.assert_array_equal(comp(value), (value * 2).mean(1))
    with pytest.raises(AxesError, match=r"length 5 for axis height=3"):
        height.length = 5


def test_the_form_of_results_follows_the_request():
    x, y = t.constant([1.0, 2.0], [H]), t.constant(3.0)
    assert run(None)() is None
    single = run(x)()
    assert isinstance(single, np.ndarray)
    assert isinstance(run(y)(), np.ndarray)
    for form in ([x, y], (x, y)):
        results = run(form)()
        assert type(results) is tuple
        np.testing.assert_array_equal(results[0], [1, 2])
        assert results[1] == 3
    results = run({x, y})()
    assert set(results) == {x, y}
    np.testing.assert_array_equal(results[x], [1, 2])
    assert results[y] == 3
    assert run([])() == ()
    assert run(set())() == {}


def test_outputs_of_a_set_stand_in_the_order_in_which_they_were_made():
    tensors = [t.constant(float(k), [H]) for k in range(20)]
    graph = run(set(tensors)).graph
    assert graph.outputs == tuple(tensor.node for tensor in tensors)


def test_arguments_are_paired_with_placeholders_in_order():
    x, y, unused = t.placeholder([H]), t.placeholder([H]), t.placeholder([])
    for first, second, sign in ((x, y, 1), (y, x, -1)):
        comp = run(x - y, first, unused, second)
        np.testing.assert_array_equal(comp([5, 7], 0, [1, 1]), [sign * 4, sign * 6])


def test_inputs_are_numbered_by_the_computation():
    x, y = t.placeholder([H]), t.placeholder([W])
    text = print_program(run(x * y, y, x).graph)
    h, w = H.symbol.name, W.symbol.name
    assert (
        text
        == f"""\
graph
  %0 = input 0: f8[{w}]
  %1 = input 1: f8[{h}]
  %2 = multiply(%1[i0], %0[i1]): f8[{h}, {w}]
  return %2
"""
    )
    other, another = t.placeholder([H]), t.placeholder([W])
    assert run(other * another, another, other).graph == run(x * y, y, x).graph


def test_arguments_are_cast_as_numpy_casts_the_same_kind():
    x = t.placeholder([H], np.float32)
    comp = run(x, x)
    for value in ([1, 2], np.array([1.0, 2.0]), np.array([1, 2], ">f8"), np.array([1, 2], "i1")):
        result = comp(value)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, [1, 2])


def test_arguments_of_any_layout():
    x = t.placeholder([H, W])
    comp = run(x + 1, x)
    base = np.arange(24.0).reshape(4, 6)
    odd = np.frombuffer(b"\0" + base.tobytes(), np.uint8)[1:].view(np.float64).reshape(4, 6)
    assert not odd.flags.aligned
    for value in (base[::2, ::2], base[1::-1, :3], base[:3, :2].T, odd[:2, :3]):
        np.testing.assert_array_equal(comp(value), value + 1)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            np.ones((3, 2)),
            r"an array of shape \(3, 2\)\n  instead: pass an array of shape \(2, 3\)",
        ),
        (np.ones((1, 3)), r"argument 0 for the placeholder f8\[H=2, W=3\]"),
        (np.ones(3), r"an array of shape \(3,\)"),
        (1.0, r"an array of shape \(\)"),
    ],
)
def test_arguments_have_exactly_the_shape(wrong, message):
    x = t.placeholder([H, W])
    with pytest.raises(GraphValueError, match=message):
        run(x + 1, x)(wrong)


@pytest.mark.parametrize("wrong", [np.ones(2), np.ones(2, complex), ["a", "b"], [None, 1]])
def test_arguments_of_another_kind_are_refused(wrong):
    x = t.placeholder([H], int)
    with pytest.raises(GraphTypeError, match=r"placeholder i8\[H=2\]\n  seen: elements of dtype"):
        run(x, x)(wrong)


def test_ragged_arguments_are_refused():
    x = t.placeholder([H, W])
    with pytest.raises(GraphTypeError, match=r"argument 0 .*\n  seen: setting an array element"):
        run(x, x)([[1, 2], [1, 2, 3]])


def test_a_placeholder_as_argument_is_refused():
    x = t.placeholder([H])
    with pytest.raises(GraphValueError, match=r"the values of f8\[H=2\]\n  seen: it depends on"):
        run(x, x)(x)


def test_the_number_of_arguments_is_checked():
    x, y = t.placeholder([H]), t.placeholder([W])
    comp = run(x + y, x, y)
    with pytest.raises(
        GraphValueError, match=r"1 argument\n  seen: placeholders f8\[H=2\], f8\[W=3"
    ):
        comp([1, 2])
    with pytest.raises(GraphValueError, match=r"a call with 1 argument\n  seen: placeholders none"):
        run(t.constant(1))(1)


def test_a_missing_placeholder_is_found_when_the_computation_is_made():
    x, y = t.placeholder([H]), t.placeholder([W])
    with pytest.raises(GraphValueError, match=r"also depend on f8\[W=3\], made at .*py:\d+"):
        run([x, x * y], x)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda x: (x, x), "a Tensor listed twice"),
        (lambda x: (x, x + 1), r"with f8\[H=2\] as a placeholder\n  seen: a Tensor made otherwise"),
        (lambda x: ([x],), "a list made otherwise"),
    ],
)
def test_what_is_no_placeholder_is_refused(wrong, message):
    x = t.placeholder([H])
    with pytest.raises(GraphValueError, match=message):
        run(x, *wrong(x))


@pytest.mark.parametrize("wrong", [3, [3], np.ones(2), {"a": 1}])
def test_outputs_are_tensors(wrong):
    with pytest.raises(GraphTypeError, match="outputs of type (int|ndarray|dict)"):
        run(wrong)


def test_a_cast_of_unknown_lengths_is_checked_at_the_call():
    one, other = make_axis(name="one"), make_axis(name="other")
    x = t.placeholder([one])
    comp = run(af.cast_axes(x, [other]) + 1, x)
    one.length, other.length = 2, 3
    with pytest.raises(AxesError, match=r"cast_axes of .* to \[other=3\]\n  seen: axes \[one=2\]"):
        comp([1, 2])


def test_a_cast_of_equal_lengths_given_late():
    one, other = make_axis(name="one"), make_axis(name="other")
    x, y = t.placeholder([one]), t.placeholder([other])
    comp = run(af.cast_axes(x, [other]) + y, x, y)
    one.length = other.length = 2
    np.testing.assert_array_equal(comp([1, 2], [10, 20]), [11, 22])


@pytest.mark.parametrize("function", [aj.max, aj.min])
def test_the_extreme_of_nothing_is_refused(function):
    empty = make_axis(0, "empty")
    x = t.placeholder([H, empty])
    name = function.__name__
    with pytest.raises(AxesError, match=rf"{name} over \[empty=0\]\n  seen: a length of 0"):
        run(function(x, [empty]), x)(np.ones((2, 0)))
    assert run(function(x, [H]), x)(np.ones((2, 0))).shape == (0,)
    np.testing.assert_array_equal(run(aj.sum(x, [empty]), x)(np.ones((2, 0))), [0, 0])


def test_axes_live_as_long_as_what_depends_on_them():
    def expression():
        inner = make_axis(3, "inner")
        return aj.sum(t.constant([1, 2, 3], [inner]))

    result = expression()
    gc.collect()
    assert run(result * 2)() == 12


@pytest.fixture(params=["installed", "evaluator"])
def runner(request):
    """The runner that `dispatch` installed, then the evaluator."""
    before = execution.install(run=None)
    execution.install(**before if request.param == "installed" else {"run": None})
    yield
    execution.install(**before)


@pytest.mark.usefixtures("runner")
def test_results_alias_nothing():
    x = t.placeholder([H])
    constant, number = t.constant([5.0, 6.0], [H]), t.constant(1.0, [H])
    view = af.axes_with_order(t.constant(np.ones((2, 3)), [H, W]), [W, H])
    argument = np.array([1.0, 2.0])
    both = x + t.constant(np.zeros((3, 2)), [W, H])
    turned = af.axes_with_order(both, [H, W])
    outputs = [x, x, x * 1, x * 1, constant, constant + 0, number, view, view, both, turned]
    comp = run(outputs, x)
    first, second = comp(argument), comp(argument)
    for k, result in enumerate((*first, *second)):
        assert result.flags.writeable
        result[...] = -k
    assert [float(result.flat[0]) for result in (*first, *second)] == [-k for k in range(22)]
    assert argument.tolist() == [1, 2]
    third = comp(argument)
    assert third[4].tolist() == [5, 6]
    assert third[9].tolist() == [[1, 2]] * 3
    np.testing.assert_array_equal(third[7], np.ones((3, 2)))


def test_an_installed_runner_answers():
    seen = []

    def runner(graph, arguments, lengths):
        seen.append((len(arguments), lengths))
        return tuple(np.full(2, 9.0) for _ in graph.outputs)

    x = t.placeholder([H])
    before = execution.install(run=runner)
    try:
        assert run(x + 1, x)([1, 2]).tolist() == [9, 9]
    finally:
        assert execution.install(**before) == {"run": runner}
    assert seen == [(1, {H.symbol: 2})]


def test_other_constants_need_no_other_program(monkeypatch):
    made = []
    path = "axiomjit.passes.pipeline.run_pipeline"
    monkeypatch.setattr(path, lambda *given: made.append(1) or pipeline(*given))
    axis = make_axis(7, "seven")
    for k in range(3):
        x = t.constant(np.full(7, float(k)), [axis])
        np.testing.assert_array_equal(run(x * 3 + 1)(), np.full(7, k * 3 + 1))
    assert len(made) <= 1


def test_ready_plans_go_with_their_graph():
    x = t.placeholder([H])
    comp = run(x + 1, x)
    before = len(programs._plans)
    for value in (np.ones(2), np.ones(4)[::2], np.ones(2)):
        np.testing.assert_array_equal(comp(value), [2, 2])
    assert len(programs._plans[comp.graph]) == 2
    del comp
    gc.collect()
    assert len(programs._plans) <= before


def test_all_placeholders_in_the_order_in_which_they_were_made():
    x, y = t.placeholder([H]), t.placeholder([H])
    comp = run([y - x, y], "all")
    np.testing.assert_array_equal(comp([1, 2], [10, 20])[0], [9, 18])
    assert run(t.constant(3.0), "all")() == 3
    with pytest.raises(GraphValueError, match="a str made otherwise"):
        run(x, "every")


def test_arguments_by_placeholder():
    x, y = t.placeholder([H]), t.placeholder([H])
    comp = run(x - y, x, y)
    np.testing.assert_array_equal(comp(feed_dict={y: [1, 2], x: [10, 20]}), [9, 18])
    with pytest.raises(GraphValueError, match=r"values for f8\[H=2\]\n  seen: placeholders f8"):
        comp(feed_dict={x: [1, 2]})
    with pytest.raises(GraphValueError, match="a call with 1 argument and values for none"):
        comp([1, 2], feed_dict={})


def test_a_closed_transformer_starts_again():
    count = aj.variable([H], initial_value=1)
    with make_transformer() as transformer:
        comp = transformer.computation(aj.assign(count, count + 1))
        comp()
        np.testing.assert_array_equal(comp(), [3, 3])
    np.testing.assert_array_equal(comp(), [2, 2])
