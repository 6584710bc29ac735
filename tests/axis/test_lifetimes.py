"""What a user drops is freed, by reference counts alone where no cycle is the user's own."""

import copy
import pickle

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxiomError
from axiomjit.dispatch import programs
from axiomjit.graph.nodes import Constant, Input, Token, post_order
from axiomjit.transformers import make_transformer
from axiomjit.views.descriptions import Layout
from tests.axis.running import evaluated
from tests.dispatch.lifetimes import bytes_left_by, left_by

LENGTH = 100_000
BYTES = 8 * LENGTH
H = aj.make_axis(LENGTH, "H")
R = aj.make_axis(2, "R")
KEPT = make_transformer()


def ones():
    return np.ones(LENGTH)


def grid(**options):
    return aj.variable([H], initial_value=ones(), **options)


def run(outputs, *placeholders):
    return make_transformer().computation(outputs, *placeholders)


def unused(watch):
    watch(grid())


def laid_out(watch):
    watch(run(watch(grid(layout=Layout((2,))) + 1))())


def filled_by_a_function(watch):
    values = watch(ones())
    run(watch(aj.variable([H], initial_value=lambda axes: values)))()


def evaluated_at_once(watch):
    watch(watch(watch(grid()) * 2).eval().values)


def outlived_by_what_reads_it(watch):
    doubled = watch(grid()) * 2
    assert doubled.eval().values[0] == 2


def written_by_a_statement(watch):
    x, more = watch(grid()), watch(aj.constant(ones(), [H]))
    watch(more.node.array)
    x[...] = x + more
    assert run(x)()[0] == 2


def written_in_part(watch):
    x, more = watch(grid()), watch(aj.constant(ones(), [H]))
    x[1:] = more[:-1] * x[:-1]
    x[0] = 3
    x[::2] = watch(x[::-2])
    x.eval()


def written_through_a_view(watch):
    x = watch(aj.variable([R, H], initial_value=np.ones((2, LENGTH))))
    row = watch(x[1])
    x[...] = 2
    row[...] = row * watch(grid())
    del x
    assert row.eval().values[0] == 2


def exchanged(watch):
    x, y = watch(grid()), watch(grid())
    old = aj.value_of(x)
    x[...] = y * 2
    y[...] = old + x
    x[...] = x + y
    run([x, y])()


def written_many_times(watch):
    x, y = watch(grid()), watch(grid())
    for _ in range(20):
        x[...] = x * y
        y[0] = x[1]


def assigned_to_when_it_runs(watch):
    x, y = watch(grid()), watch(grid())
    step = watch(run(aj.sequential([aj.assign(x, x + y), aj.set_item(y, 0, 2), aj.fill(x, 1), y])))
    watch(step())
    watch(step())


def materialized(watch):
    p = watch(aj.placeholder([H]))
    made = watch(aj.materialize(p * 2))
    made[0] = p[1]
    watch(run(made, p)(watch(ones())))


def temporary(watch):
    t = watch(aj.temporary([H]))
    t[...] = watch(grid()) + t
    run(aj.sequential([aj.assign(t, t + 1), watch(aj.value_of(t))]))()


def constant(watch):
    value = watch(aj.constant(watch(ones()), [H]))
    watch(value.node.array)
    watch(watch(run(value * 2))())


def named_array(watch):
    named = aj.NamedArray(watch(ones()), [H])
    watch((named + named.T.T).eval().values)
    watch(np.exp(named).values)


def placeholder(watch):
    p = watch(aj.placeholder([H]))
    step = watch(watch(make_transformer()).computation({p + 1, p * 2}, "all"))
    step(watch(ones()))
    step(feed_dict={p: watch(ones())})
    step.lower(watch(ones()))


def placeholder_that_is_written(watch):
    p, layout = watch(aj.placeholder([H], "f4", Layout((2,)))), np.ones(LENGTH, "f4")
    watch(run(aj.assign(p, p + 1), p)(watch(layout)))
    p[...] = 0
    watch(run(p, p)(layout))


def placeholder_that_is_described(watch):
    p = watch(aj.placeholder([H]))
    p[...] = 1
    assert not p[2:].tensor_description.read_only


def axes(watch):
    n = watch(aj.make_axis(name="n"))
    x = watch(aj.variable([n], initial_value=1))
    parts = watch(aj.pad(x, [(1, 1)])[1:-1] + aj.cast_axes(x, [watch(aj.make_axis(name="m"))])[0])
    merged = watch(aj.flatten(aj.broadcast(parts, [*parts.axes, R])))
    n.length = 5
    x[2] = 7
    x[...] = x + watch(aj.sum(aj.variable([n, H], initial_value=2), [H]))
    run([aj.unflatten(merged)[:3], x])


def refused(watch):
    x, p = watch(grid()), watch(aj.placeholder([H]))
    for wrong in (
        lambda: aj.assign(x + 1, p),
        lambda: run(x + p),
        lambda: run(p, p)(watch(np.ones(3))),
        lambda: run(aj.assign(p, x), p)([1.0] * LENGTH),
        lambda: x.__setitem__(0, watch(ones())),
        lambda: run(aj.variable([H], initial_value=watch(np.ones(3))))(),
    ):
        with pytest.raises(AxiomError) as caught:
            wrong()
        del caught


def drawn(watch):
    x = watch(grid())
    run([aj.uniform(x, aj.min(x), 2), watch(aj.normal(x))])()


def copied(watch):
    own = watch(aj.make_axis(LENGTH, "own"))
    x = watch(aj.variable([own], initial_value=ones()))
    x[...] = x + aj.constant(ones(), [own])
    for same in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        watch(same)[0] = 5
        same.eval()


def kept_by_a_transformer(watch):
    x = watch(grid())
    watch(KEPT.computation(aj.assign(x, x + 1)))()
    watch(*KEPT._variables.arrays([x.storage.root], dict))


PROGRAMS = [
    unused,
    laid_out,
    filled_by_a_function,
    evaluated_at_once,
    outlived_by_what_reads_it,
    written_by_a_statement,
    written_in_part,
    written_through_a_view,
    exchanged,
    written_many_times,
    assigned_to_when_it_runs,
    materialized,
    temporary,
    constant,
    named_array,
    placeholder,
    placeholder_that_is_written,
    placeholder_that_is_described,
    axes,
    refused,
    drawn,
    copied,
    kept_by_a_transformer,
]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda p: p.__name__)
def test_all_that_a_program_makes_is_freed(program):
    assert left_by(program) == ([], {})
    assert bytes_left_by(program) < BYTES / 2


def test_a_variable_whose_first_values_are_made_by_its_owner_is_a_cycle_for_the_collector():
    class Layer:
        def __init__(self):
            self.weights = aj.variable([H], initial_value=self.first)
            self.seen = ones()

        def first(self, axes):
            return self.seen

    def program(watch):
        layer = watch(Layer())
        watch(layer.seen)
        watch(layer.weights).eval()

    with evaluated():
        assert len(left_by(program)[0]) == 3
        assert left_by(program, cyclic=True) == ([], {})


@pytest.mark.parametrize("program", [unused, written_by_a_statement, assigned_to_when_it_runs])
def test_memory_does_not_grow_with_the_number_of_variables(program):
    assert bytes_left_by(program, times=50) < 5 * BYTES


def test_programs_in_tables_hold_no_data():
    for program in (written_by_a_statement, constant, drawn):
        program(lambda thing: thing)
    known = programs._programs
    lowered = [program for found in known.values() for program in found]
    graphs = [key[0] for key in known] + [program.stages.graph for program in lowered]
    for node in post_order(tuple(node for graph in graphs for node in graph.outputs)):
        assert not isinstance(node, Constant)
        assert not isinstance(node, Input) or node.storage is None
    assert lowered
    assert not [b for p in lowered for b in p.stages.plan.buffers if b.array is not None]


def test_nodes_hold_no_data():
    x = grid()
    x[...] = x + aj.materialize(x * 2)
    for node in post_order((x.node,)):
        if isinstance(node, Input):
            assert isinstance(node.storage, Token)
            assert not hasattr(node.storage, "__dict__")
        fields = [getattr(node, field) for field in type(node)._fields]
        assert not any(isinstance(value, np.ndarray) for value in fields)
