"""Random programs mean what they mean in NumPy; and what is wrong is found and made small."""

import operator
from collections import Counter
from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.graph.primitives import PRIMITIVES, Primitive
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS
from tests.generator import check, composed, exact, external, steps
from tests.generator.budget import budget
from tests.generator.campaign import campaign
from tests.generator.draw import draw, values_of
from tests.generator.folds import ACCUMULATORS
from tests.generator.layouts import LAYOUTS
from tests.generator.operations import CODES
from tests.generator.programs import NAMESPACE, Array, At, Program, Step
from tests.generator.report import smallest
from tests.passes.graphs import in_numpy
from tests.runtime.codegen.kernels import same_bits

PROGRAMS = budget(1000)
PIECES = 10
SAMPLE = 1500


@pytest.mark.parametrize("piece", range(PIECES))
def test_programs_mean_what_numpy_does(piece):
    count = PROGRAMS // PIECES
    result = campaign(0, piece * count, count)
    assert not result.failures, "\n\n".join(result.failures[:3])
    assert result.served > count / 50


@pytest.fixture(scope="module")
def sample():
    return [draw(0, index) for index in range(SAMPLE)]


def test_programs_use_the_whole_table(sample):
    names = Counter(step.name for program in sample for step in program.steps)
    texts = "\n".join(program.source() for program in sample)
    table = {f.__name__ for f in (*FUNCTIONS, *UFUNCS)} | set(METHODS) | {"index", "astype"}
    missing = {name for name in table if names[name] < 2 and f".{name}(" not in texts}
    assert not missing
    assert {row.name for row in PRIMITIVES.values() if row.ufunc} <= set(names)
    for row in PRIMITIVES.values():
        if row.sign and row.arity == 2:
            assert f" {row.sign} " in texts, row.sign


def test_programs_call_functions_without_rows(sample):
    drawn = {step.form for program in sample for step in program.steps}
    forms = {form for _, form in external.FORMS}
    for form in forms:
        module, _, rest = form.partition("(")[0].partition(".")
        function = operator.attrgetter(rest)(NAMESPACE[module])
        assert function not in FUNCTIONS, form
        assert function not in UFUNCS, form
    assert len(drawn & forms) > len(forms) * 0.9


def test_programs_use_every_dtype_and_layout(sample):
    arrays = [a for program in sample for a in program.arguments if isinstance(a, Array)]
    assert {a.values.dtype.str[1:] for a in arrays} == set(CODES)
    assert {a.layout for a in arrays} == set(LAYOUTS)
    assert any(a.values.size == 0 for a in arrays)
    assert any(a.values.ndim == 0 for a in arrays)
    computed = Counter(np.asarray(v).dtype.str[1:] for p in sample[:500] for v in values_of(p))
    assert min(computed[code] for code in CODES) > 10
    assert np.mean([len(program.steps) for program in sample]) > 4


def test_programs_depend_on_seed_and_index_alone(sample):
    assert draw(0, 7).source() == sample[7].source()
    assert draw(0, 7).source() != draw(1, 7).source()
    for one, other in zip(draw(0, 7).build(), sample[7].build(), strict=True):
        assert same_bits(np.array(one), np.array(other))


@pytest.mark.parametrize("name", exact.SETS)
def test_sets_of_byteswapped_complex_elements_are_not_drawn(name):
    form = dict(steps.FORMS)[f"step {name}"]
    array = Array(np.array([1, 2j, np.finfo("f8").max]))
    step = Step(f"step {name}", f"np.{form}", (At(0),))
    for layout, is_drawn in (("dense", True), ("swapped", False), ("swapped_backward", False)):
        program = Program((array._replace(layout=layout),), (step,), (At(1),))
        assert (values_of(program) is not None) == is_drawn
    real = array._replace(values=array.values.real, layout="swapped")
    assert values_of(Program((real,), (step,), (At(1),))) is not None


def test_bits_of_byteswapped_elements_are_not_drawn():
    name, form = next(one for one in composed.FORMS if "view(" in one[1])
    for layout, is_drawn in (("dense", True), ("swapped", False), ("swapped_backward", False)):
        program = Program((Array(np.arange(3.0), layout),), (Step(name, form, (At(0),)),), (At(1),))
        assert (values_of(program) is not None) == is_drawn


def test_integers_that_round_beyond_their_range_are_not_drawn():
    step = Step("step around", "np.around({0}, decimals=-1)", (At(0),))
    for value, is_drawn in ((2**32 - 1, False), (2**31, True)):
        program = Program((Array(np.full(4, value, "u4")),), (step,), (At(1),))
        assert (values_of(program) is not None) == is_drawn


def test_what_is_printed_is_what_is_run(sample):
    for program in sample[:300]:
        given = []
        space = {"assert_agrees": lambda *call, given=given: given.extend(call)}
        space |= NAMESPACE
        exec(program.as_test("it"), space)
        space["test_it"]()
        function, *arguments = given
        built = program.build()
        for one, other in zip(arguments, built, strict=True):
            assert np.asarray(one).dtype == np.asarray(other).dtype
            assert np.shape(one) == np.shape(other)
            if np.size(one):
                assert getattr(one, "strides", ()) == getattr(other, "strides", ())
            assert np.array(one).tobytes() == np.array(other).tobytes()
        want = in_numpy(program.function(), built)
        for one, other in zip(in_numpy(function, arguments), want, strict=True):
            assert same_bits(one, other)


WRONG = {
    "subtract": "{1} - {0}",
    "floor": "ceil({0})",
    "left_shift": "right_shift({0}, {1})",
    "logical_and": "b1({0}) | b1({1})",
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_rule_is_found_and_made_small(name):
    rule = Primitive.written

    def written(self, *arguments):
        row = self.replace(source=WRONG[name], bools=None) if self.name == name else self
        return rule(row, *arguments)

    ways = (check.interpret,)
    with patch.object(Primitive, "written", written):
        drawn = (draw(0, index) for index in range(2000))
        tried = (
            p for p in drawn if any(step.name == name for step in p.steps)
        )  # others cannot show it
        program, found = next((p, f) for p in tried if (f := check.check(p, ways)))
        small, how = smallest(program, found, ways)
    assert how.way == "plan"
    assert len(small.steps) <= 2
    assert sum(np.size(value) for value in small.build()) <= 12
    assert check.check(small) is None


def test_a_wrong_pass_is_found_and_made_small():
    def exchanged(graph, context):
        """Exchanges the first two outputs."""
        outputs = graph.outputs
        return graph.replace(outputs=(*outputs[1:2], *outputs[:1], *outputs[2:]))

    with patch.object(check, "GRAPH_PASSES", (exchanged,)):
        ways = (check.evaluate,)
        drawn = (draw(0, index) for index in range(90))
        # lengths that steps find, and steps that may fail, are outputs too
        tried = (p for p in drawn if not any(s.name.startswith("step ") for s in p.steps))
        program, found = next((p, f) for p in tried if (f := check.check(p, ways)))
        small, how = smallest(program, found, ways)
    assert how.way == "exchanged"
    assert len(small.outputs) == 2
    assert len(small.steps) <= 2


@pytest.mark.parametrize("wrong", [0.0, np.nextafter(1.0, 2.0), np.nan])
def test_comparison_sees_one_wrong_element(wrong):
    right = (np.array([1.0, 2.0]),)
    assert check.difference(right, right, (), "graph") is None
    assert check.difference((np.array([wrong, 2.0]),), right, (), "graph")[0] == "bits"


def test_comparison_sees_dtype_shape_and_memory():
    x = np.arange(6.0)
    for got, want, kind in [
        (x, x.astype("f4"), "dtype"),
        (x, x.reshape(2, 3), "shape"),
        (x.copy(), x, "shared"),
        (x, x.copy(), "shared"),
        (x[1:3], x[1:3].copy(), "shared"),
        (np.broadcast_to(x[:1], 3)[:2], np.full(2, 0.0), "shared"),
    ]:
        assert check.difference((got,), (want,), (x,), "plan")[0] == kind
    assert check.difference((x[::2],), (x[::2],), (x,), "plan") is None


def test_programs_use_every_accumulator(sample):
    steps = [step for program in sample for step in program.steps if step.name == "fold"]
    options = [dict(step.options) for step in steps]
    assert {o["acc"] for o in options} == set(ACCUMULATORS)
    assert len({o["acc"] for o in options if "running" in o}) > 6
    assert any(o["axes"] == (1, 0) for o in options)
