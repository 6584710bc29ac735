"""Tensors that own a shape: values against NumPy, shapes that come from uses, refusals."""

import itertools
import random
import time

import numpy as np
import pytest

import axiomjit as aj
from axiomjit import ShapeError, Size
from axiomjit.notation import arange_like
from axiomjit.notation.tensors import ShapedTensor

KINDS = ("batch", "output", "input")


class Plain:
    """A NumPy array with the number of its batch, output and input dimensions."""

    def __init__(self, array, counts):
        self.array, self.counts = array, counts

    def rows(self):
        cuts = itertools.accumulate((0, *self.counts))
        return [self.array.shape[a:b] for a, b in itertools.pairwise(cuts)]

    def widened(self, counts):
        """The array with ones in front of each row, so that NumPy's broadcasting does the rest."""
        pairs = zip(self.rows(), counts, strict=True)
        return self.array.reshape([n for row, c in pairs for n in (1,) * (c - len(row)) + row])

    def tensor(self):
        batch, output, inner = self.rows()
        return aj.tensor(self.array, batch=batch, output=output, input=inner)


def pointwise(function, *values):
    counts = [max(v.counts[k] for v in values) for k in range(3)]
    return Plain(function(*(v.widened(counts) for v in values)), counts)


def composed(left, right):
    """The contraction with explicit dimensions."""
    batches = max(left.counts[0], right.counts[0])
    met, free = left.counts[2], left.counts[1]
    a = left.widened([batches, free, met])
    b = right.widened([batches, met, right.counts[2]])
    a = a.reshape(a.shape + (1,) * right.counts[2])
    b = b.reshape(b.shape[:batches] + (1,) * free + b.shape[batches:])
    total = (a * b).sum(axis=tuple(range(batches + free, batches + free + met)))
    return Plain(total, [batches, free, right.counts[2]])


def transposed(value):
    batch, output, inner = value.counts
    order = [*range(batch), *range(batch + output, batch + output + inner)]
    order += range(batch, batch + output)
    return Plain(value.array.transpose(order), [batch, inner, output])


def random_leaf(rng, seed):
    sizes = [[rng.choice([2, 2, 1]) for _ in range(rng.randint(0, 2))] for _ in range(3)]
    numbers = np.random.default_rng(seed).uniform(0.5, 1.5, [n for row in sizes for n in row])
    return Plain(numbers, [len(row) for row in sizes])


def random_step(rng, values, tensors):
    """An operation on two earlier values: the reference and the tensor."""
    k, m = rng.randrange(len(values)), rng.randrange(len(values))
    a, b, x, y = values[k], values[m], tensors[k], tensors[m]
    match rng.randrange(6):
        case 0:
            return pointwise(np.add, a, b), x + y
        case 1:
            return pointwise(np.multiply, a, b), x * y
        case 2 if a.counts[2] >= b.counts[1]:
            left, right = a.rows()[2][a.counts[2] - b.counts[1] :], b.rows()[1]
            if all(n in (m, 1) for m, n in zip(left, right, strict=True)):
                return composed(a, b), x @ y
        case 3:
            return transposed(a), x.T
        case 4:
            return pointwise(np.sqrt, a), np.sqrt(x)
        case 5 if a.counts[0]:
            counts = [a.counts[0] - 1, *a.counts[1:]]
            return Plain(a.array[-1], counts), x[-1]
    return pointwise(lambda p, q: np.where(p > q, p, q), a, b), aj.where(x > y, x, y)


@pytest.mark.parametrize("seed", range(40))
def test_values_are_those_of_numpy(seed):
    rng = random.Random(seed)
    values = [random_leaf(rng, seed + k) for k in range(3)]
    tensors = [value.tensor() for value in values]
    for _ in range(5):
        value, tensor = random_step(rng, values, tensors)
        values.append(value)
        tensors.append(tensor)
        assert [tuple(getattr(tensor.shape, kind)) for kind in KINDS] == value.rows()
    for value, tensor in zip(values[3:], tensors[3:], strict=True):
        np.testing.assert_allclose(np.asarray(tensor), value.array, rtol=1e-12)


def test_a_tensor_of_values_is_brought_into_the_shape_of_its_use():
    data = aj.tensor(np.arange(6))
    total = data + np.ones((2, 3))
    assert data.shape.dims == (2, 3)
    assert np.array_equal(np.asarray(total), np.arange(6).reshape(2, 3) + 1.0)
    assert np.asarray(aj.tensor(np.arange(6).reshape(2, 3))).shape == (6,)
    assert np.asarray(aj.tensor(np.arange(6).reshape(2, 3), exact=True)).shape == (2, 3)
    assert np.asarray(aj.tensor([5.0])).shape == (1,)
    assert np.asarray(aj.tensor(np.arange(6), output=(3, 2))).tolist() == [[0, 1], [2, 3], [4, 5]]
    assert np.asarray(aj.tensor(np.arange(6), batch=2, input=())).tolist() == [[0, 1, 2], [3, 4, 5]]


NUMBERED = [
    # the number of values, the rows of another operand, the shapes of tensor and sum
    (3, {}, "3", "3"),
    (3, {"output": 3}, "3", "3"),
    (3, {"output": (2, 3)}, "1,3", "2,3"),
    (2, {"output": (2, 3)}, "2,1", "2,3"),
    (6, {"output": (2, 3)}, "2,3", "2,3"),
    (3, {"batch": 3}, "3|", "3|"),
    (3, {"batch": 2}, "1|3", "2|3"),
    (3, {"batch": 2, "output": 3}, "1|3", "2|3"),
    (2, {"batch": 2, "output": 3}, "2|1", "2|3"),
    (6, {"batch": 2, "output": 3}, "2|3", "2|3"),
    (3, {"input": 2}, "1->3", "2->3"),
    (4, {"output": (2, 2, 2)}, "1,2,2", "2,2,2"),
]


@pytest.mark.parametrize(("count", "rows", "own", "total"), NUMBERED)
def test_the_number_of_values_decides_which_axes_stretch(count, rows, own, total):
    x = aj.tensor(np.arange(count))
    y = x + aj.tensor(1, **{**dict.fromkeys(KINDS, ()), **rows})
    assert np.asarray(y).shape == y.shape.dims
    assert (str(y.shape), str(x.shape)) == (total, own)


@pytest.mark.parametrize("use", [lambda x: x + x, lambda x: x * 2 + x, lambda x: x - x.T.T])
def test_values_that_meet_only_themselves_keep_their_number(use):
    assert use(aj.tensor([1.0, 2, 3])).shape.dims == (3,)


def test_arrays_meet_the_rows_that_they_fit():
    x = aj.tensor(np.arange(6.0), batch=2, input=(), output=3)
    assert np.asarray(x + np.array([10, 20, 30])).tolist() == [[10, 21, 32], [13, 24, 35]]
    assert np.asarray(x * np.ones((2, 1))).tolist() == np.asarray(x).tolist()
    w = aj.tensor(np.arange(6.0), batch=(), input=2, output=3)
    assert (w + np.ones((3, 2))).shape.dims == (3, 2)


def test_a_number_fills_the_shape_of_its_use():
    fill = aj.tensor(2.0)
    assert np.array_equal(np.asarray(fill * np.ones((2, 3))), np.full((2, 3), 2.0))
    assert fill.shape.dims == (2, 3)
    assert np.asarray(aj.tensor(2)).shape == ()
    counted = aj.tensor(arange_like)
    assert np.asarray(counted * np.ones((2, 2))).tolist() == [[0, 1], [2, 3]]


def test_a_parameter_has_the_shape_of_its_uses():
    w = aj.tensor(0.5, param=True, batch=(), name="w")
    b = aj.tensor(1.0, param=True, batch=(), name="b")
    x = aj.tensor(np.ones((4, 3)), batch=4, input=(), output=3)
    y = w @ x + b
    y.shape.equate(aj.Shape(output=(2,)))
    assert np.asarray(y).tolist() == [[2.5, 2.5]] * 4
    assert (str(w.shape), str(b.shape), str(y.shape)) == ("3->2", "2", "4|2")


def test_a_leaf_takes_the_batch_of_its_use():
    w = aj.tensor(1.0, output=(2,), input=(3,))
    y = w @ aj.tensor(np.ones((4, 3)), batch=4, input=(), output=3)
    assert np.asarray(y).shape == (4, 2)
    assert str(w.shape) == "4|3->2"


def test_labels_of_axes_are_inferred_and_permuted():
    x = aj.tensor(np.ones((2, 3)), batch=(), input=[("in", 3)], output=[("out", 2)])
    assert x.T.shape.output.labels == ("in",)
    y = x + np.ones((2, 1))
    assert y.shape.labels == ("out", "in") or y.shape.output.labels[-1] is None


def test_parts_along_the_leading_batch_axis():
    values = np.random.default_rng(0).normal(size=(5, 4, 2))
    x = aj.tensor(values, batch=(5, 4), input=(), output=2, name="x")
    i = aj.symbol("i", 5)
    part = np.exp(x[i][1]) + x[0][2]
    for k in range(5):
        i.bind(k)
        np.testing.assert_allclose(np.asarray(part), np.exp(values[k, 1]) + values[0, 2])
    assert x[i].spec == "@|"
    assert (x @ 1.0).spec, (x.T.spec, (x + x).spec) == ("@", "T", ".")


def test_many_operations_on_an_open_shape_take_little_time():
    x = aj.tensor(1.0, name="x")
    y = x
    start = time.thread_time()
    for _ in range(150):
        y = y + aj.tensor(1.0)
    z = y + np.ones(3)
    assert np.asarray(z).tolist() == [152.0] * 3
    assert x.shape.dims == (3,)
    assert time.thread_time() - start < 30


def circle(count):
    """Rows that demand each other to grow."""
    leaves = [aj.tensor(1.0, batch=(), input=()) for _ in range(count)]
    for one, other in zip(leaves, leaves[1:] + leaves[:1], strict=True):
        (one + stacked(other)).shape.equate(one.shape)
    leaves[0].shape.close()


def too_many_axes():
    stacked(aj.tensor(1.0, batch=(), input=(), output=(1,) * 64)).shape.close()


def grown_into_itself():
    x = aj.tensor(1.0, batch=(), input=(), name="x")
    stacked(x).shape.equate(x.shape)


HOPELESS = [
    (grown_into_itself, "contains itself"),
    (lambda: circle(1), "too many axes in an operand"),
    (lambda: circle(2), "more than 64 axes"),
    (lambda: circle(7), "more than 64 axes"),
    (too_many_axes, "more than 64 axes"),
]


@pytest.mark.parametrize(("call", "message"), HOPELESS)
def test_a_program_that_cannot_be_solved_is_refused_within_a_second(call, message):
    start = time.thread_time()
    with pytest.raises(ShapeError, match=message):
        call()
    assert time.thread_time() - start < 1


def stacked(x):
    """The tensor with one more output axis."""
    return aj.einsum("...=>...i", x)


A = np.ones((2, 3))
AXES = aj.make_axes({"H": 2, "W": 3})
OTHER = "tensor of another kind"


def named(name, **rows):
    return aj.tensor(1.0, name=name, **rows)


def two_axes(name="a"):
    return named(name, batch=(), input=(), output=(2, 3))


ERRORS = [
    (lambda: np.asarray(two_axes() + np.ones(2)), "sizes 3 and 2", "array of shape (2,)"),
    (lambda: two_axes() + two_axes("b")[0], "1 axis where 0 axes fit", "b[0]"),
    (lambda: two_axes() @ two_axes(), "too many axes in an operand", "a @ a"),
    (lambda: 2.0 @ two_axes() @ two_axes(), "too many axes", "@ a"),
    (lambda: named("w", input=(3,)) @ named("x", output=(4,)), "sizes 3 and 4", "w @ x"),
    (lambda: named("w", input=(3,)) @ named("x", output=(3, 3)), "too many axes", "w @ x"),
    (lambda: named("x", batch=(2,))[5], "the index 5 in an axis of length 2", "x[5]"),
    (lambda: named("x", batch=(2,))[-3], "the index 2 in an axis of length 2", "x[-3]"),
    (lambda: named("x", batch=(2,))[aj.symbol("i", 3)], "sizes 3 and 2", "x[symbol('i', 3)]"),
    (lambda: named("x", batch=())[0], "1 axis where 0 axes fit", "x[0]"),
    (lambda: aj.tensor(A, output=(4,), name="x"), "6 elements for a shape", "the tensor x"),
    (lambda: aj.tensor(A, spec="|->2,2"), "6 elements for a shape [] [2,2]", "a tensor"),
    (lambda: aj.tensor(A, exact=True, spec="|->2,2"), "sizes", "a tensor"),
    (lambda: aj.tensor(A, exact=True, spec="|->2"), "2 dimensions (2, 3)", "a tensor"),
    (lambda: aj.tensor(A, spec="a", output=2), "both spec= and batch=", "a tensor"),
    (lambda: aj.tensor(spec="a..", name="x"), "'..name..'", "the spec 'a..'"),
    (lambda: np.asarray(aj.tensor(1.0, param=True, name="p") + 1), "no use of", "the tensor p"),
    (lambda: aj.tensor(1.0, param=True, batch=(), name="p", output=(None,)), "None as", "p"),
    (lambda: named("x", output=[("a", 2)]) + named("y", output=[("b", 2)]), "labelled", "x and y"),
    (lambda: two_axes().shape.equate(aj.Shape(output=(3,))), "2 axes where 1 axis", "shape of a"),
    (lambda: (two_axes() + 1).shape.equate(aj.Shape(output=(9, 2, 3))), "3 axes where", "a shape"),
    (lambda: Size("n").set(2.5), "2.5 as a size", "Size('n')"),
]


@pytest.mark.parametrize(("call", "seen", "asked"), ERRORS)
def test_shapes_that_do_not_fit_are_refused(call, seen, asked):
    with pytest.raises(ShapeError, match="instead: ") as caught:
        call()
    error = caught.value
    assert seen in str(error)
    assert asked in str(error)
    assert error.where.rpartition(":")[0] == __file__


OTHERS = [
    (
        lambda: two_axes() + aj.constant(A, AXES),
        TypeError,
        "tensor of another kind",
    ),
    (
        lambda: aj.constant(A, AXES) + two_axes(),
        TypeError,
        "tensor of another kind",
    ),
    (lambda: two_axes() + aj.NamedArray(A, AXES), TypeError, OTHER),
    (lambda: aj.tensor(aj.constant(A, AXES)), TypeError, OTHER),
    (lambda: two_axes() + "x", TypeError, "elements of dtype"),
    (lambda: aj.tensor("x"), TypeError, "elements of dtype"),
    (lambda: aj.tensor([[1], [2, 3]]), TypeError, "numbers of one kind"),
    (lambda: two_axes()["a"], TypeError, "an index of type str"),
    (lambda: named("x", batch=2)[0:1], TypeError, "an index of type slice"),
    (lambda: bool(two_axes()), TypeError, "values only when it is evaluated"),
    (lambda: list(two_axes()), TypeError, "a tensor whose shape may be open"),
    (lambda: np.add.reduce(two_axes()), TypeError, "reduce"),
    (lambda: np.add(two_axes(), 1, where=False), TypeError, "where"),
    (lambda: np.modf(two_axes()), TypeError, "outside the table"),
    (lambda: np.asarray(aj.tensor(output=3, name="x")), ValueError, "made without values"),
    (lambda: np.asarray(named("x", batch=3)[aj.symbol("i")]), ValueError, "which has no value"),
    (lambda: aj.symbol("i", 3).bind(3), IndexError, "an index from 0 to 2"),
    (lambda: aj.symbol("i").bind(-1), IndexError, "an index 0 or more"),
    (lambda: aj.symbol("i").bind("a"), TypeError, "give an integer"),
    (
        lambda: np.asarray(named("x", batch=3)[aj.symbol("i").bind(3)]),
        IndexError,
        "below the length",
    ),
    (lambda: aj.symbol(3), TypeError, "give a name as text"),
]


@pytest.mark.parametrize(("call", "kind", "text"), OTHERS)
def test_other_mistakes_are_refused(call, kind, text):
    with pytest.raises(kind, match=text) as caught:
        call()
    assert isinstance(caught.value, aj.errors.AxiomError)


def test_tensors_are_keys_and_show_their_shape():
    x = two_axes("x")
    assert len({x, x, x + 1}) == 2
    assert x == x  # noqa: PLR0124 - identity
    assert repr(x) == "<tensor x 2,3>"
    assert isinstance(aj.exp(x), ShapedTensor)
    assert isinstance(aj.erf(x), ShapedTensor)
    assert (aj.fma(x.T, x, 1.0)).dtype == np.float64
