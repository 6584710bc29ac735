"""Programs of specs that are refused: each message says what was asked, seen, and what to do."""

import re

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError, GraphValueError, UnsupportedError

H, W = aj.make_axes({"H": 2, "W": 3})
M, N, V = np.ones((2, 3)), np.ones((3, 4)), np.ones(3)
NAMED = aj.constant(M, [H, W])
LATER = aj.placeholder(aj.make_axis(name="later"))


def shaped(*shape):
    return aj.tensor(np.ones(shape), batch=(), input=(), output=shape)


def accumulators(**changes):
    return aj.Accumulator(None, np.maximum, commutative=True, **changes)


PAIR = aj.Accumulator((0.0, 0.0), lambda a, b: (a[0] + b[0], a[1] + b[1]), lambda e: (e, e))
REFUSED = [
    # text that is no spec: the caret stands below the place
    ("ij;jk->ik", (M, N), {}, aj.SpecError, r"';' there.*\n    ij;jk->ik\n      \^"),
    ("ij=>ij=>i", (M,), {}, aj.SpecError, r"'=>' there.*\^"),
    ("ij=>k;l", (M,), {}, aj.SpecError, "one result after it"),
    ("i j k=>", (M,), {}, aj.SpecError, r"operand 1 of shape \[2, 3\] for axes in memory order"),
    ("in,out=>out", (M,), {"sizes": {"i": 2}}, aj.ShapeError, "'i', which is no label"),
    ("a b,c=>a", (M,), {}, aj.SpecError, "separate axes by ','"),
    ("i*2=>i", (V,), {}, aj.SpecError, "write an integer before"),
    ("2*i<=>i", (V,), {}, aj.SpecError, "'<' without a kernel"),
    ("0*i=>i", (V,), {}, aj.SpecError, "a positive coefficient"),
    ("2*i+2=>i", (V,), {}, aj.SpecError, "an offset of 2 for a stride of 2"),
    ("i+1=>i", (V,), {}, aj.SpecError, "without a kernel"),
    ("o<+k+l=>o", (V,), {}, aj.SpecError, "nothing after the kernel"),
    ("a^b=>a", (V,), {}, aj.SpecError, r"call axiomjit\.concat"),
    ("..a..;a=>a", (V, V), {}, aj.SpecError, "both as a label and as a row variable"),
    ("......=>", (M,), {}, aj.SpecError, "a second row variable"),
    ("..i=>i", (V,), {}, aj.SpecError, r"after the name of a row variable"),
    ("i&j=>i", (M,), {}, aj.SpecError, "'&'"),
    ("i|j|k=>i", (M,), {}, aj.SpecError, "each mark at most once"),
    # operands that do not fit
    ("ij;jk=>ik", (M,), {}, aj.ShapeError, "1 operand for 2 slots"),
    ("ij=>i", (M, N), {}, aj.ShapeError, "2 operands for 1 slot"),
    ("ij;jk=>ik", (M, M), {}, aj.ShapeError, "sizes 3 and 2 of 'j'"),
    ("b|i->o=>o", (M,), {}, aj.SpecError, r"\[b, o, i\] \(batch, output, input\)"),
    ("i5=>i", (M,), {}, aj.ShapeError, "the index 5 in an axis of length 3"),
    ("ii=>i", (M,), {}, aj.ShapeError, "sizes 2 and 3"),
    ("2*o=>o", (V,), {}, aj.ShapeError, "parts of 2|do not tile|instead"),
    ("2*o<+k;k=>o", (np.ones(4), np.ones(3)), {}, aj.ShapeError, "do not tile"),
    ("o<+k;k=>o", (V, np.ones(5)), {}, aj.ShapeError, "longer than the axis"),
    ("..v..i;..v..=>i", (np.ones((4, 5, 2)), np.ones((4, 6))), {}, aj.ShapeError, "sizes 5 and 6"),
    ("..v..i;..v..=>i", (N, M[:, 0]), {"broadcast": True}, aj.ShapeError, "sizes 3 and 2"),
    ("i=>ij", (V,), {"sizes": {"j": -1}}, aj.ShapeError, "-1 as a size"),
    ("i=>ij", (V,), {"sizes": {"k": 2}}, aj.ShapeError, "'k', which is no label"),
    ("i=>i", (V,), {"capture": [aj.Size("k")]}, aj.ShapeError, "'k', which is no label"),
    ("i=>i", (V,), {"capture": ["i"]}, GraphTypeError, r"axiomjit\.Size"),
    # NumPy's specs
    ("ij,jk->ik", (M,), {}, aj.ShapeError, "1 operand for 2 before '->'"),
    ("ij->ik", (M,), {}, aj.SpecError, r"'k', which no operand has\n    ij->ik\n         \^"),
    ("ij->ii", (M,), {}, aj.SpecError, "'i' twice in the result"),
    ("i....->i", (M,), {}, aj.SpecError, r"'\.' there"),
    ("i...->i", (M,), {}, aj.SpecError, "write '...' in the result as well"),
    ("......", (M,), {}, aj.SpecError, "a second '...'"),
    ("i%j", (M,), {}, aj.SpecError, "or '=>' for label notation"),
    ("ijk", (M,), {}, aj.ShapeError, r"operand 0 of shape \[2, 3\] for 3 axes"),
    ("ij,jk", (M, M), {}, aj.ShapeError, r"lengths 3 and 2 \(operand 1\) of axis 'j'"),
    ("...,...", (np.ones(2), V), {}, aj.ShapeError, "of the ellipsis"),
    ("ij", (M,), {"sizes": {"i": 2}}, aj.ShapeError, "a spec of NumPy's, which has no '=>'"),
    (M, (), {}, aj.ShapeError, "one argument that is no spec"),
    (M, ([0, "x"],), {}, aj.ShapeError, "no operands, each with a list"),
    (M, ([0, 99],), {}, aj.ShapeError, "no operands, each with a list"),
    # combinations and reductions
    ("i=>i", (V,), {"combine": "pow"}, GraphValueError, "name one of mul, add, sub, div, where"),
    ("i;i=>i", (V, V), {"combine": "where"}, GraphValueError, "give three"),
    ("i=>", (V,), {"reduce": "median"}, GraphValueError, "or give an Accumulator"),
    ("i=>", (V,), {"reduce": max}, GraphTypeError, "give names, or an Accumulator"),
    ("i=>", (V,), {"reduce": PAIR}, GraphValueError, "which gives 2 results"),
    ("i=>", (V[:0],), {"reduce": "max"}, GraphValueError, "max of nothing has no value"),
    ("i=>ii", (V,), {"reduce": accumulators()}, GraphValueError, "without an initial value"),
    ("o=+k=>o", (V,), {"reduce": PAIR, "sizes": {"k": 3}}, UnsupportedError, "keep windows inside"),
    ("o;k=>o<+k", (V, V), {"reduce": PAIR}, GraphValueError, "2 results|several points"),
    # kinds of operands
    ("ij;jk=>ik", (NAMED, N), {}, GraphTypeError, r"constant\(value, axes\)"),
    ("ij;jk=>ik", (NAMED, shaped(3, 4)), {}, GraphTypeError, r"tensor\(values, batch=, input="),
    ("ij,jk", (shaped(2, 3), N), {}, aj.ShapeError, "write label notation"),
    ("i=>", (["a"],), {}, GraphTypeError, "elements of dtype"),
    (
        "o<+k=>o",
        (LATER,),
        {"sizes": {"k": 2}},
        aj.ShapeError,
        "assign axis.length",
    ),
]


def test_there_are_many():
    assert len(REFUSED) >= 40


@pytest.mark.parametrize("k", range(len(REFUSED)))
def test_what_does_not_fit_is_refused(k):
    spec, operands, options, kind, message = REFUSED[k]
    with pytest.raises(kind) as error:
        np.asarray(aj.einsum(spec, *operands, **options))
    text = str(error.value)
    assert re.search(message, text, re.DOTALL), text
    assert "test_refusals.py" in text
    assert "\n  seen: " in text
    assert "\n  instead: " in text


def test_axes_that_do_not_meet_name_their_lengths():
    with pytest.raises(aj.ShapeError, match="sizes 3 and 2 of 'j'"):
        aj.einsum("ij;jk=>ik", NAMED, NAMED)


def test_a_compiled_function_refuses_at_its_line():
    @aj.jit
    def f(x, y):
        return aj.einsum("ij;jk=>ik", x, y)

    with pytest.raises(aj.ShapeError, match=r"(?s)test_refusals.py.*sizes 3 and 2 of 'j'"):
        f(M, M)
