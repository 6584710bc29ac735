"""Shapes that operations infer, forwards and backwards, and what is captured of them."""

import pytest

import axiomjit as aj
from axiomjit import Shape, ShapeError, Size
from axiomjit.notation import parse_einsum
from axiomjit.notation.logic import Bitcast, Einsum
from axiomjit.notation.tensors import result_of


def no_node(nodes, solution):
    raise AssertionError("only shapes are asked for")


def einsum(spec, *operands, sizes=(), capture=(), use_padding=False):
    """The result_of of a spec on tensors; nothing computes it."""
    logic = Einsum(parse_einsum(spec, use_padding), tuple(dict(sizes).items()), tuple(capture))
    return result_of(logic, operands, no_node, no_node, f"einsum {spec!r}")


def leaf(spec=None, **rows):
    return aj.tensor(1.0, spec=spec, **rows)


def outputs(*sizes):
    return leaf(batch=(), input=(), output=sizes)


BACKWARDS = [
    # spec, the first operand's shape, the result's shape, what the second operand becomes
    ("ij;jk=>ik", "2,3", "2,5", "3,5"),
    ("...|i->o;i->...=>...|o", "7|3->5", "7|5", "3->"),
    ("i;...=>i...", "4", "4,2,3", "2,3"),
    ("b|i;b|->i=>b|", "7|3", "7|", "7|3"),
    ("...i;..v..i=>...|..v..", "2,3", "2|5,6", "5,6,3"),
    ("i;o=>i^o", "3", "7", "4"),
    ("o<+k;k=>o", "7", "5", "3"),
    ("2*o<+k;k=>o", "9", "4", "3"),
    ("2*o=+k;k=>o", "8", "4", "1"),
    ("o<+2*k;k=>o", "9", "5", "3"),
    ("i;3=>i", "2", "2", "4"),
    ("i;0=>i", "2", "2", "1"),
    ("i;_j=>ij", "2", "2,3", "1,3"),
]


@pytest.mark.parametrize(("spec", "first", "result", "wanted"), BACKWARDS)
def test_an_operand_follows_from_the_result(spec, first, result, wanted):
    unknown = leaf()
    found = einsum(spec, leaf(first), unknown)
    found.shape.equate(Shape.parse(result))
    unknown.shape.close()
    assert str(unknown.shape) == wanted
    assert str(found.shape) == result


def test_a_size_is_captured_before_and_after():
    k, v, o = Size("k"), Size("v"), Size("o")
    k.set(3)
    image = leaf("7,4,5")
    found = einsum("o<+k,..v..=>o", image, capture=[k, v, o])
    assert (k.value, v.value, o.value) == (3, 20, 5)
    assert tuple(found.shape.output) == (5,)


def test_captured_sizes_decide_shapes():
    n, m = Size("n"), Size("rest")
    x = leaf(batch=(), input=())
    found = einsum("n,..rest..=>..rest..,n", x, capture=[n, m])
    n.set(4)
    m.set(6)
    assert x.shape.dims == (4, 6)
    assert found.shape.dims == (6, 4)


def test_equal_rows_are_equal_axis_by_axis():
    a, b = Size("a"), Size("b")
    x, y = leaf("2,3"), leaf(batch=(), input=())
    einsum("..a..=>..a..", x, capture=[a])
    einsum("..b..=>..b..", y, capture=[b])
    a.equate(b)
    assert tuple(y.shape.output) == (2, 3)


def test_a_row_and_an_axis_are_equated_by_their_number_of_elements():
    a, n = Size("a"), Size("n")
    x, y = leaf("2,3"), leaf(batch=(), input=())
    einsum("..a..=>..a..", x, capture=[a])
    einsum("n,=>n,", y, capture=[n])
    n.equate(a)
    assert tuple(y.shape.output) == (6,)


def test_a_label_only_in_the_result_is_repeated_or_one():
    alone = einsum("=>i", outputs())
    assert alone.shape.dims == (1,)
    given = einsum("=>i", outputs(), sizes={"i": 3})
    assert given.shape.dims == (3,)
    late = einsum("=>i", outputs())
    late.shape.equate(Shape(output=(4,)))
    assert late.shape.dims == (4,)


def test_an_axis_that_is_used_only_at_index_0_has_length_1():
    first = einsum("i=>0", outputs(3))
    total = first + outputs(5)
    assert total.shape.dims == (5,)
    assert first.shape.dims == (1,)


def test_what_is_refused_names_the_operation_and_a_remedy_that_helps():
    with pytest.raises(ShapeError, match="equate of the shape of w and the shape of x, their out"):
        Shape(output=(3,), name="w").equate(Shape(output=(4,), name="x"))
    with pytest.raises(ShapeError, match="instead: give the tensor a batch axis"):
        outputs(3)[0]
    with pytest.raises(aj.errors.GraphTypeError, match="along the leading batch axis"):
        iter(outputs(3))


def scalar():
    return leaf(batch=(), input=(), output=())


UNRELATED = {
    "with itself": lambda x: x * x,
    "thrice itself": lambda x: aj.where(x, x, x),
    "alone": lambda x: -x,
    "beside a number": lambda x: x * 2.0,
    "beside a tensor without axes": lambda x: x + scalar(),
    "beside an open leaf": lambda x: leaf() - x,
    "beside what is computed of it": lambda x: (x * x) / x.T.T,
    "read at index 0": lambda x: einsum("...|...0=>...|...", x),
}


@pytest.mark.parametrize("before", [False, True])
@pytest.mark.parametrize("use", UNRELATED)
def test_an_unrelated_use_leaves_a_leaf_as_long_as_its_uses(use, before):
    x = leaf(input=())
    unrelated = [UNRELATED[use](x)] if before else []
    total = x + leaf(batch=(2,), input=(), output=(4, 3))
    unrelated += [UNRELATED[use](x)]
    assert (total.shape.dims, x.shape.dims) == ((2, 4, 3), (2, 4, 3))


@pytest.mark.parametrize("use", [use for use in UNRELATED if use != "read at index 0"])
def test_a_parameter_keeps_what_its_uses_say_beside_unrelated_ones(use):
    w = aj.tensor(1.0, param=True, batch=(), name="w")
    UNRELATED[use](w)
    y = w @ outputs(3) + outputs(2)
    assert (y.shape.dims, w.shape.dims, str(w.shape)) == ((2,), (2, 3), "3->2")


@pytest.mark.parametrize("use", [lambda w: w * w, lambda w: -w + w * 2, lambda w: w - leaf()])
def test_pointwise_uses_alone_do_not_say_what_a_parameter_is(use):
    w = aj.tensor(1.0, param=True, batch=(), input=(), name="w")
    with pytest.raises(ShapeError, match="no use of the parameter"):
        use(w).shape.close()


def test_an_index_into_a_result_asks_for_an_operand_as_long():
    x = leaf(batch=(), input=())
    einsum("2=>", x * x)
    assert x.shape.dims == (3,)


def test_conflicting_demands_make_an_axis_of_a_leaf_1():
    x = leaf(batch=(), input=())
    one, other = x + outputs(3), x + outputs(5)
    assert (one.shape.dims, other.shape.dims, x.shape.dims) == ((3,), (5,), (1,))


def test_a_leaf_may_be_smaller_than_the_input_that_it_meets():
    w, x = leaf("2,3->4"), leaf("3")
    assert str((w @ x).shape) == "4"
    with pytest.raises(ShapeError, match="too many axes in an operand"):
        leaf("3->4") @ leaf("2,3")


def test_input_equals_output_is_deduced():
    w = aj.tensor(1.0, batch=(), deduced="input_equals_output")
    assert (w @ leaf("3")).shape.dims == (3,)
    assert str(w.shape) == "3->3"


def test_labels_are_dimension_labels():
    x = leaf("rgb=3,5")
    y = einsum("ij=>ji", x)
    assert y.shape.labels == (None, "rgb")
    z = y + leaf("5,3")
    assert z.shape.labels == (None, "rgb")
    with pytest.raises(ShapeError, match="labelled 'rgb' and 'hsv'"):
        y + leaf("5,hsv=3")


def test_words_become_elements():
    words = leaf()
    for count, size in ((4, 24), (2, 12), (16, 96)):
        found = result_of(Bitcast(count), [leaf("6,4")], no_node, no_node, "bitcast")
        assert found.shape.dims == (size,)
    found = result_of(Bitcast(4), [words], no_node, no_node, "bitcast")
    found.shape.equate(Shape.parse("3,8"))
    assert words.shape.dims == (6, 4)
    with pytest.raises(ShapeError, match="a multiple of 4"):
        result_of(Bitcast(4), [leaf()], no_node, no_node, "bitcast").shape.equate(
            Shape.parse("3,5")
        )


PADS = [
    ("o=+k;k=>o", "9", 3, ((1, 1),)),
    ("o=+k;k=>o", "9", 4, ((1, 2),)),
    ("o=+2*k;k=>o", "9", 3, ((2, 2),)),
    ("2*o=+k,c;k=>o,c", "8,3", 5, ((2, 2), (0, 0))),
    ("...|o=+k;k=>...|o", "6|9", 2, ((0, 0), (0, 1))),
    ("o<+k;k=>o", "9", 3, None),
]


@pytest.mark.parametrize(("spec", "shape", "window", "pads"), PADS)
def test_padded_windows_are_noted(spec, shape, window, pads):
    image = leaf(shape)
    assert image.shape.padding is None
    einsum(spec, image, outputs(window))
    assert image.shape.padding == pads
    assert image.shape.output.padding == (
        None if pads is None else pads[-len(image.shape.output) :]
    )


def test_padding_is_the_largest_of_all_operations():
    image = leaf("9")
    for window in (3, 6, 2):
        einsum("o+k;k=>o", image, outputs(window), use_padding=True)
    assert image.shape.padding == ((2, 3),)


def test_no_operand_is_stretched_by_a_spec():
    with pytest.raises(ShapeError, match="sizes 3 and 1 of 'i'"):
        einsum("i;i=>i", outputs(1), outputs(3))
    with pytest.raises(ShapeError, match="2 axes where 1 axis fits|1 axis where 2 axes fit"):
        einsum("...;...=>...", outputs(2, 3), outputs(3))


ERRORS = [
    (lambda: einsum("ij=>i", outputs(2)), "2 axes where 1 axis fits", "operand 1"),
    (lambda: einsum("ij=>i", leaf("2|3,4")), "1 axis where 0 axes fit", "batch axes [] of"),
    (lambda: einsum("i;j=>i", outputs(2)), "1 operand for 2 slots", "einsum"),
    (lambda: einsum("i=>i", outputs(2), outputs(2)), "2 operands for 1 slot", "einsum"),
    (lambda: einsum("i=>i", outputs(2), capture=[Size("j")]), "'j', which is no label", "capture="),
    (lambda: einsum("i=>i", outputs(2), sizes={"j": 2}), "'j', which is no label", "sizes="),
    (lambda: einsum("i=>i", outputs(2), sizes={"i": 3}), "sizes 2 and 3", "'i'"),
    (lambda: einsum("i5=>i", outputs(2, 5)), "the index 5 in an axis of length 5", "operand 1"),
    (lambda: einsum("ii=>i", outputs(2, 3)), "sizes 3 and 2 of 'i'", "operand 1"),
    (lambda: einsum("ij;jk=>ik", outputs(2, 3), outputs(4, 5)), "sizes 4 and 3", "operand 2"),
    (lambda: einsum("a^b;b=>a", outputs(3), outputs(4)), "parts of 4", "operand 1"),
    (lambda: einsum("2*o<+k;k=>o", outputs(8), outputs(3)), "do not tile", "operand 1"),
    (lambda: einsum("o<+k;k=>o", outputs(2), outputs(3)), "longer than the axis", "operand 1"),
    (lambda: einsum("2*o=+k;k=>o", outputs(7), outputs(3)), "do not tile an axis of 7", "operand"),
    (lambda: einsum("i=>i", outputs(2)).shape.equate(Shape(output=3)), "sizes 2 and 3", "a shape"),
    (lambda: aj.tensor([1.0] * 6, batch=(), input=()) @ outputs(2), "too many axes", "@"),
    (lambda: captured_twice(), "sizes 2 and 3", "capture"),
    (lambda: einsum("...=>...i", leaf()).shape.equate(Shape(output=())), "1 axis where 0", "shape"),
]


def captured_twice():
    n = Size("i")
    einsum("i=>i", outputs(2), capture=[n])
    einsum("i=>i", outputs(3), capture=[n])


@pytest.mark.parametrize(("call", "seen", "asked"), ERRORS)
def test_programs_that_do_not_fit_are_refused(call, seen, asked):
    with pytest.raises(ShapeError, match="instead: ") as caught:
        call()
    error = caught.value
    assert seen in error.seen
    assert asked in error.asked
    assert error.where.rpartition(":")[0] == __file__


def test_a_clash_names_the_operations_that_led_to_it():
    x = aj.tensor(1.0, batch=(), input=(), name="x")
    einsum("ij=>ji", x, sizes={"i": 2})
    einsum("ab=>", x, sizes={"b": 3})
    with pytest.raises(ShapeError, match="sizes") as caught:
        einsum("kk=>", x)
    trace = "\n".join(caught.value.trace)
    assert "einsum 'ij=>ji': the size of 'i'" in trace
    assert "einsum 'ab=>': the size of 'b'" in trace
    assert __file__ in trace
    assert len(caught.value.trace) <= 20


def test_what_is_refused_leaves_the_shapes_as_they_were():
    x, n = leaf(batch=(), input=()), Size("i")
    before = str(x.shape)
    with pytest.raises(ShapeError, match="'j', which is no label"):
        einsum("ii=>i", x, capture=[n, Size("j")])
    with pytest.raises(ShapeError, match="1 axis where 0 axes fit"):
        einsum("ij=>", x, sizes={"i": 2}).shape.equate(Shape(output=(2,)))
    assert n.value is None
    assert before == "..."
    y = einsum("ab=>a", x)
    y.shape.equate(Shape(output=(2,)))
    assert x.shape.dims == (2, 1)
