"""Shapes and sizes: what is given, what is inferred, and how they are written."""

import pytest

import axiomjit as aj
from axiomjit import Shape, ShapeError, Size

WRITTEN = [
    (Shape(batch=(2,), input=(3,), output=(4,)), "2|3->4", (2, 4, 3)),
    (Shape(batch=(), input=(), output=(3, 4)), "3,4", (3, 4)),
    (Shape(batch=(2,), input=(), output=()), "2|", (2,)),
    (Shape(batch=(), input=(3,), output=()), "3->", (3,)),
    (Shape(batch=(), input=(), output=()), "", ()),
    (Shape((), (), [("rgb", 3), 4]), "rgb=3,4", (3, 4)),
    (Shape((), (), output_labels=[("rgb", 3), ("x", 4)]), "rgb=3,x=4", (3, 4)),
    (Shape((), (), output_labels={"rgb": 3}), "rgb=3", (3,)),
    (Shape(5, (), 3), "5|3", (5, 3)),
    (Shape(input=(2,), batch=(), deduced="input_equals_output"), "2->2", (2, 2)),
    (Shape.parse("b=2|3->n=4"), "b=2|3->n=4", (2, 4, 3)),
]


@pytest.mark.parametrize(("shape", "text", "dims"), WRITTEN)
def test_a_known_shape_is_written_and_read(shape, text, dims):
    assert str(shape) == text
    assert shape.dims == dims
    assert shape.is_closed
    assert Shape.parse(text) == shape
    assert repr(shape) == f"<Shape {text}>"


def test_rows_are_sequences_of_sizes():
    shape = Shape(batch=(5,), input=[("a", 2), 3], output=())
    assert tuple(shape.input) == (2, 3)
    assert shape.input == (2, 3)
    assert shape.input != shape.batch
    assert shape.input.labels == ("a", None)
    assert (len(shape.output), shape.batch[0]) == (0, 5)
    assert shape.labels == (None, "a", None)


def test_what_is_not_known_is_seen():
    shape = Shape.parse("b|...->n,n,_", name="w")
    assert str(shape) == "$1:b|...->$2:n,$2:n,$3"
    assert repr(shape) == "<Shape w $1:b|...->$2:n,$2:n,$3>"
    assert tuple(shape.input) == (...,)
    assert tuple(shape.output) == (None, None, None)
    assert not shape.is_closed
    shape.equate(Shape(batch=(5,), output=(7, 7, 2)))
    assert str(shape) == "5|...->7,7,2"
    assert shape.dims == (5, 7, 7, 2)


def test_rows_of_one_variable_are_the_same_axes():
    shape = Shape.parse("..v..|..v..->")
    shape.equate(Shape(batch=(2, 3)))
    assert tuple(shape.input) == (2, 3)


@pytest.mark.parametrize("order", [0, 1, 2])
def test_a_size_is_known_wherever_it_is_used(order):
    n = Size("n")
    assert n.value is None
    if order == 0:
        n.set(4)
    shape = Shape((), (), output=(n, ("side", n)))
    if order == 1:
        n.set(4)
    if order == 2:
        shape.equate(Shape(output=(4, 4)))
    assert n.value == 4
    assert str(shape) == "side=4,side=4"
    n.set(4)


def test_sizes_are_equated():
    a, b = Size("a"), Size("b")
    a.set(3)
    b.equate(a)
    assert (a.value, b.value) == (3, 3)
    assert repr(a) == "Size('a')"


def twice():
    n = Size("n")
    n.set(3)
    n.set(4)


def known_twice():
    a, b = Size("a"), Size("b")
    a.set(3)
    b.set(4)
    a.equate(b)


ERRORS = [
    (lambda: Shape(batch=(2,), batch_labels=[("a", 2)]), "both batch= and batch_labels="),
    (lambda: Shape(output=(-1,)), "-1 as a size of output="),
    (lambda: Shape(input=(2.5,)), "2.5 as a size of input="),
    (lambda: Shape(input="ab"), "'ab' as a size of input="),
    (lambda: Shape(output=("a", 2)), "'a' as a size of output="),
    (lambda: Shape(output=(True,)), "True as a size of output="),
    (lambda: Shape(output=None, deduced="square"), "deduced='square'"),
    (lambda: Shape(input=2, output=3, deduced="input_equals_output"), "sizes 2 and 3"),
    (lambda: Shape(input=(), output=3, deduced="input_equals_output"), "1 axis where 0 axes fit"),
    (lambda: Shape(output=(2, 3)).equate(Shape(output=(2,))), "2 axes where 1 axis fits"),
    (lambda: Shape(output=(2, 3)).equate(Shape(output=(2, 4))), "sizes 3 and 4"),
    (lambda: Shape(output=[("a", 2)]).equate(Shape(output=[("b", 2)])), "labelled 'a' and 'b'"),
    (lambda: Shape().equate((2, 3)), "a tuple"),
    (lambda: Shape.parse("a^b"), "'^' there"),
    (lambda: Shape.parse("2*a"), "'*' there"),
    (lambda: Shape.parse("a=b"), "'b' there"),
    (lambda: Shape.parse("a;b"), "';' there"),
    (lambda: Size(3), "the name 3"),
    (lambda: Size("n").set(-1), "-1 as a size"),
    (lambda: Size("n").set("n"), "'n' as a size"),
    (twice, "sizes 3 and 4 of 'n'"),
    (known_twice, "sizes 3 and 4"),
    (lambda: Size("a").equate(Size("b")), "Size('a'), which no spec has captured"),
    (lambda: Size("a").equate(3), "a int"),
]


@pytest.mark.parametrize(("call", "seen"), ERRORS)
def test_what_does_not_fit_is_refused(call, seen):
    with pytest.raises(ShapeError, match="instead: ") as caught:
        call()
    assert seen in str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert caught.value.where.rpartition(":")[0] == __file__


def test_nothing_changes_where_a_demand_is_refused():
    shape, other = Shape.parse("a->b"), Shape(input=(2,), output=(3, 4))
    before = str(shape)
    with pytest.raises(ShapeError, match="2 axes where 1 axis fits"):
        shape.equate(other)
    assert str(shape) == before
    shape.equate(Shape(batch=(), input=(5,), output=(6,)))
    assert shape.dims == (6, 5)


def test_the_trace_lists_the_demands_that_clash():
    n = Size("n")
    shape = Shape(batch=(), input=(), output=(n,), name="w")
    n.set(3)
    with pytest.raises(ShapeError, match=r"the shape of w.*\n.*sizes 3 and 4") as caught:
        shape.equate(Shape(output=(4,), name="x"))
    assert len(caught.value.trace) >= 1
    assert any("Size('n'): set to 3" in line for line in caught.value.trace)
    assert aj.errors.ShapeError is ShapeError
