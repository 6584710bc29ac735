"""Random programs of reads, writes and parts mean what NumPy statements in their order do."""

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from axiomjit.axis.axes import make_axis
from axiomjit.axis.functions import axes_with_order, cast_axes
from axiomjit.axis.reductions import sum as total
from axiomjit.axis.state import assign, materialize, sequential, variable
from axiomjit.axis.tensors import constant
from axiomjit.views.descriptions import Layout, row_major_strides
from tests.generator.budget import FACTOR, budget
from tests.passes.examples import numbers
from tests.passes.graphs import evaluated, lowered, run_plain_case, small_forms, stored
from tests.passes.stored import assert_same

MANY = settings(
    max_examples=budget(100),
    deadline=None,
    derandomize=FACTOR == 1,
    database=None,
    suppress_health_check=list(HealthCheck),
)
SIZE = 5
SPANS = [slice(None), slice(1, None), slice(None, -1), slice(None, None, -1), slice(None, None, 2)]
PARTS = st.tuples(st.sampled_from([*SPANS, 0, 3]), st.sampled_from([*SPANS, 1, -1]))
NAMES = st.sampled_from([0, 1, 2])
READS = st.tuples(NAMES, PARTS, st.booleans())
VALUES = st.one_of(
    st.tuples(st.just("number"), st.sampled_from([0.0, 2.0, -3.0])),
    st.tuples(st.just("read"), READS),
    st.tuples(st.just("product"), st.tuples(READS, READS)),
    st.tuples(st.just("sum"), NAMES),
    st.tuples(st.just("held"), READS),
)
STATEMENTS = st.lists(
    st.tuples(st.sampled_from(["write", "keep"]), NAMES, PARTS, VALUES), max_size=7
)
WAYS = st.sampled_from(["statements", "in order"])


def _fit(value, shape):
    """The first elements of a value in a shape, so that any part fits any other."""
    for axis, length in enumerate(shape):
        value = value[(slice(None),) * axis + (slice(0, length),)]
    return value


def in_order(statements):
    """What NumPy makes of the statements: the kept values, then the arrays."""
    arrays = [numbers(SIZE, SIZE) + 2.0 * k for k in range(3)]
    kept = []

    def read(what):
        name, part, turned = what
        value = arrays[name][(*part, ...)].copy()
        return value.T if turned and value.ndim == 2 else value

    def value_of(kind, what):
        if kind == "number":
            return np.array(what)
        if kind == "sum":
            return np.array(arrays[what].sum())
        if kind == "product":
            left, right = map(read, what)
            shape = [min(a, b) for a, b in zip(left.shape, right.shape, strict=True)]
            return _fit(left, shape) * _fit(right, shape)
        return read(what)

    for action, name, part, (kind, what) in statements:
        if not fits(part, kind, what):
            continue
        value = value_of(kind, what)
        if action == "keep":
            kept.append(value)
            continue
        target = arrays[name][(*part, ...)]
        shape = [min(a, b) for a, b in zip(target.shape, value.shape, strict=False)]
        target[tuple(slice(0, n) for n in shape)] = _fit(value, shape)
    return (*kept, *arrays)


def rank(part):
    """How many dimensions a part has."""
    return sum(isinstance(item, slice) for item in part)


def fits(part, kind, what):
    """Whether a value of this kind has the rank of the part, or none."""
    if kind in ("number", "sum"):
        return True
    parts = [read[1] for read in what] if kind == "product" else [what[1]]
    return all(rank(other) == rank(part) for other in parts)


class Axial:
    """The same statements on variables with axes; axes of a part are labelled anew."""

    def __init__(self, as_statements, layout):
        self.as_statements = as_statements
        axes = [make_axis(SIZE, "H"), make_axis(SIZE, "W")]
        start = [numbers(SIZE, SIZE) + 2.0 * k for k in range(3)]
        self.storages = [variable(axes, None, values, layout) for values in start]
        self.outputs = []
        self.steps = []

    def read(self, what):
        name, part, turned = what
        value = self.storages[name][part]
        return axes_with_order(value, value.axes[::-1]) if turned else value

    def fitted(self, value, lengths):
        return value[tuple(slice(0, n) for n in lengths)] if lengths else value

    def value_of(self, kind, what):
        if kind == "number":
            return constant(what)
        if kind == "sum":
            return total(self.storages[what])
        if kind == "product":
            left, right = map(self.read, what)
            shape = [min(a, b) for a, b in zip(left.axes.lengths, right.axes.lengths, strict=True)]
            left, right = self.fitted(left, shape), self.fitted(right, shape)
            return left * cast_axes(right, left.axes)
        value = self.read(what)
        return materialize(value) if kind == "held" else value

    def run(self, statements):
        for action, name, part, (kind, what) in statements:
            if not fits(part, kind, what):
                continue
            value = self.value_of(kind, what)
            if action == "keep":
                self.add(value * 1.0)
                continue
            target = self.storages[name][part]
            pairs = zip(target.axes.lengths, value.axes.lengths, strict=False)
            shape = [min(a, b) for a, b in pairs]
            if value.axes:
                target = self.fitted(target, shape)
                value = cast_axes(self.fitted(value, shape), target.axes)
            if self.as_statements:
                target[...] = value
            else:
                self.add(assign(target, value), keep=False)
        return [*self.outputs, *self.storages]

    def add(self, tensor, keep=True):
        """An output, or something that happens between outputs."""
        if self.as_statements:
            self.outputs += [tensor] if keep else []
        elif keep:
            self.outputs.append(sequential([*self.steps, tensor]))
            self.steps = []
        else:
            self.steps.append(tensor)


@MANY
@given(STATEMENTS, WAYS, st.sampled_from([None, Layout(row_major_strides((6, 8)), 0, (6, 8)), "F"]))
def test_statements_mean_what_numpy_does(statements, way, layout):
    program = Axial(way == "statements", layout)
    outputs = program.run(statements)
    if program.steps:
        outputs[len(program.outputs)] = sequential([*program.steps, program.storages[0]])
    want = in_order(statements)
    case = stored(outputs)
    count = len(want)
    assert_same(evaluated(case.graph, case)[:count], want, "the graph")
    assert_same(run_plain_case(case, lowered(case).plan)[:count], want, "the plan")


@MANY
@given(STATEMENTS)
def test_statements_in_small_blocks_mean_what_numpy_does(statements):
    outputs = Axial(True, None).run(statements)
    case = stored(outputs)
    with small_forms():
        plan = lowered(case).plan
    want = in_order(statements)
    assert_same(run_plain_case(case, plan, chunks=3)[: len(want)], want, "the plan")
