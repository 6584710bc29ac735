"""Loop programs are read back from their full text; what cannot be read is named with its place."""

import numpy as np
import pytest

from axiomjit.base.errors import GraphValueError, UnsupportedError
from axiomjit.graph.library_operations import MATRIX_PRODUCT
from axiomjit.graph.nodes import Scalar
from axiomjit.passes.ir.loop_ir import (
    For,
    Let,
    LibraryCall,
    Load,
    LoopProgram,
    map_nests,
)
from axiomjit.passes.ir.parse_loops import BoundProgram, parse_loops, print_loops
from axiomjit.passes.ir.view_ir import POSITIONS, Number
from axiomjit.passes.pipeline import LOOP_PASSES, run_pipeline
from axiomjit.symbolic.data_dependent import DATA_DEPENDENT
from axiomjit.symbolic.dims import Symbol, dim, larger, smaller
from tests.passes.examples import NAMES, example, numbers
from tests.passes.graphs import follow, lower_until, read_back

EMPTY = LoopProgram((), (), (), ())


def running(x):
    return np.cumsum(x, axis=1), x.std(axis=0), np.argmax(x, axis=1)


def chosen(x):
    return x[x > 0] * 2.0, np.flatnonzero(x.sum(axis=1)).sum()


def scattered(x, k):
    x = x.copy()
    np.add.at(x, k, 2.0)
    x[k] = np.array([1.5, np.nan, -0.0, 1.0])[:, None]
    return x


CASES = {
    **{name: lambda name=name: example(name) for name in NAMES},
    "running": lambda: follow(running, numbers(40, 3000)),
    "chosen": lambda: follow(chosen, numbers(6, 7)),
    "scattered": lambda: follow(scattered, numbers(9, 7), np.arange(4) * 2),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_are_read_back_after_each_pass(name):
    case, seen = CASES[name](), []
    run_pipeline(case.graph, case.context, lambda *told: seen.append(told[2]))
    loops = [program for program in seen if isinstance(program, LoopProgram)]
    assert len(loops) == len(LOOP_PASSES) + 1
    for program in loops:
        read_back(program, case)


def text_of(name="l2", step="fuse_loops"):
    case = example(name)
    return print_loops(BoundProgram(lower_until(step, case), tuple(case.values.items())))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Index(0, ((i0, 1),))", "Index(0, ((i0, 2),))"),
        ("Index(0, ((i0, 1),))", "Index(1, ((i0, 1),))"),
        ("For(i0, n0, fold", "For(i0, n0 - 1, fold"),
        ("subtract, (v0, v1)", "subtract, (v1, v0)"),
        ("Storage(a1, argument, f8, (n0,), (1,)", "Storage(a1, argument, f8, (n0,), (2,)"),
        ("State(s0, sum, f8)", "State(s0, sum(running=True), f8)"),
    ],
)
def test_a_planted_change_is_seen(old, new):
    text = text_of()
    assert old in text
    changed = parse_loops(text.replace(old, new, 1))
    assert changed != parse_loops(text)
    assert parse_loops(print_loops(changed)) == changed


n, m = (Symbol("n0"), Symbol("m0", DATA_DEPENDENT))


@pytest.mark.parametrize(
    "length",
    [
        dim(-3),
        dim(n) * -2 + 1,
        1 - dim(n) * dim(n) * dim(m) - dim(m) * 7,
        (dim(n) - 1) // 4 * 4 * dim(m),
        dim(n) // (dim(m) * 2) // (dim(m) + 1),
        (dim(n) * dim(m)) // (dim(m) * dim(m)),
        larger(smaller(dim(n), dim(m) - 1) * 2, dim(n) // 3 - dim(m) // 5),
        (larger(dim(n), 7) + 1) // 2,
    ],
    ids=str,
)
def test_lengths_are_read_back(length):
    loop = For("i0", length, "map", ())
    program = map_nests(example_program(), lambda nest: nest.replace(body=(loop,)))
    found = parse_loops(print_loops(BoundProgram(program, ((n, 9), (m, 4))))).program
    assert found.steps[0].body[0].extent is length


def example_program():
    return lower_until("fuse_loops", example("l2"))


@pytest.mark.parametrize(
    "value",
    [
        np.float64(0.1),
        np.float64(-0.0),
        np.float32(-np.inf),
        np.float16(0.1),
        np.complex128(complex(np.nan, -0.0)),
        np.bool_(True),
        np.uint64(2**64 - 1),
        np.array(0x7FF8_0000_0000_0123).view("f8")[()],  # a NaN with bits of its own
        np.array(-1, "i8").view("f8")[()],
    ],
    ids=repr,
)
def test_scalars_are_read_back_to_the_bit(value):
    number = Number("c0", value.dtype, Scalar(value.dtype, value, False))
    bound = BoundProgram(EMPTY.replace(numbers=(number,)), ())
    (found,) = parse_loops(print_loops(bound)).program.numbers
    assert found == number
    assert found.origin.value.tobytes() == value.tobytes()


def test_a_new_statement_needs_no_code():
    class Noted(Let):  # the reader sees the subclasses that there are
        remarks: tuple[str, ...] = ()
        exact: bool = False

    statement = Noted("v0", np.dtype("f4"), MATRIX_PRODUCT, (), ("as told", "i0"), exact=True)
    program = map_nests(example_program(), lambda nest: nest.replace(body=(statement,)))
    bound = BoundProgram(program, ((n, 3000),))
    text = print_loops(bound)
    assert "Noted(v0, f4, tensordot, (), ('as told', i0), True)" in text
    assert parse_loops(text) == bound


def test_what_is_compared_by_identity_is_the_same_object():
    case = CASES["chosen"]()
    found = read_back(lower_until("make_plan", case), case)
    assert any(symbol.kind is DATA_DEPENDENT for symbol, _ in found.lengths)
    case = CASES["running"]()
    program = read_back(lower_until("fuse_loops", case), case).program
    loads = [s for nest in program.steps for s in nest.statements if isinstance(s, Load)]
    assert any(load.buffer is POSITIONS for load in loads)


def test_operations_of_one_process_are_refused():
    operation = MATRIX_PRODUCT.replace(name="mine")
    program = lower_until("fuse_loops", example("product"))
    steps = [s.replace(operation=operation) for s in program.steps if isinstance(s, LibraryCall)]
    with pytest.raises(UnsupportedError, match="function"):
        print_loops(BoundProgram(program.replace(steps=tuple(steps)), ()))


REFUSED = {
    "a number for a name": ("Storage(a1,", "Storage(1,", "1", "a name, or text in quotes"),
    "a word for a length": ("For(i0, n0,", "For(i0, n9,", "n9", "a length: an integer, or a sum"),
    "no such dtype": ("sum, f8)", "sum, f9)", "f9", "one of b1, i1"),
    "no such fold": ("s0, sum,", "s0, total,", "total", "one of all, any, max, min, prod, sum"),
    "no such role": ("a0, argument", "a0, parameter", "parameter", "one of argument, held, result"),
    "no such field": ("sum, f8)", "sum, f8, lane=i0)", "lane", "once each of name, accumulator"),
    "a field twice": ("sum, f8)", "sum, f8, name=i0)", "name", "once each of name, accumulator"),
    "too many": ("sum, f8)", "sum, f8, i0, 1, True, 9)", "9", "no more than name, accumulator"),
    "too few": ("State(s0, sum, f8)", "State(s0, sum)", "State", "State(name, accumulator, dtype,"),
    "a boolean": ("sum, f8)", "sum, f8, signs=1)", "1", "True or False"),
    "division by nothing": ("For(i0, n0,", "For(i0, n0 // 0,", "n0 // 0", "a length"),
    "an open bracket": ("n0 = Symbol(n0)", "n0 = Symbol(n0", "(", "calls, tuples"),
    "no statement": (
        "Load(v0,",
        "Read(v0,",
        "Read",
        "one of Alloc, Drain, Fold, For, If, Leave, Let",
    ),
    "no tuple": ("(v0, v1)", "v0", "v0", "a tuple: (), (x,) or (x, y)"),
    "no label": ("n0 = Symbol(n0)", "Symbol(n0)", "Symbol", "a line such as `a0 = Storage(...)`"),
    "wrong strides": (
        "(1,), Input(f8, 1",
        "(1, 1), Input(f8, 1",
        None,
        "Storage(name, role, dtype",
    ),
    "no value": ("lengths=((n0, 3000),)", "lengths=()", None, "(n0, 1000) in lengths"),
    "a part of a pair": ("lengths=((n0, 3000),)", "lengths=((n0,),)", "(n0,)", "a tuple of 2"),
    "an attribute": ("sum, f8)", "sum, f8.base)", "f8.base", "one of b1"),
    "a negative text": ("sum, f8)", "sum, f8, cells=-'x')", "'x'", "an integer"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_errors_name_line_column_and_what_was_expected(case):
    old, new, pointed, expected = REFUSED[case]
    before, _, after = text_of().partition(old)
    assert after
    with pytest.raises(GraphValueError) as caught:
        parse_loops(before + new + after, "loops.txt")
    assert caught.value.asked == "the text of a loop program"
    assert expected in caught.value.remedy
    if pointed is not None:
        lines = (before + new[: new.index(pointed)]).split("\n")
        place = f"line {len(lines)}, column {len(lines[-1]) + 1}"
        assert caught.value.where == f"loops.txt, {place}"


@pytest.mark.parametrize(
    "text", ["", "n0 = Symbol(n0)\n", "\0", "(" * 1000, "3", "f(**{})", "x[0]"]
)
def test_no_text_is_a_crash(text):
    with pytest.raises(GraphValueError, match="the text of a loop program"):
        parse_loops(text)


@pytest.mark.parametrize("word", ["f8('xyz')", "f8(1, 2, 3)", "i8(2**64)", "u1('00ff')", "f8(x)"])
def test_scalars_that_do_not_fit_are_refused(word):
    number = Number("c0", np.dtype("f8"), Scalar(np.dtype("f8"), np.float64(1.5), False))
    text = print_loops(BoundProgram(EMPTY.replace(numbers=(number,)), ()))
    with pytest.raises(GraphValueError, match="the text of a loop program"):
        parse_loops(text.replace("f8(1.5)", word))
