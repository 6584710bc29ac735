"""Tensors and the functions of axes: the documents' own examples, then values and refusals."""

import operator
import re

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis import functions as af
from axiomjit.axis import tensors as t
from axiomjit.axis.axes import make_axes
from axiomjit.axis.axis import make_axis
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.graph import execution
from axiomjit.graph.nodes import Graph
from axiomjit.passes.ir.print_program import print_program
from axiomjit.transformers import make_transformer

LENGTHS = {"H": 2, "W": 3, "N": 4, "C": 5, "M": 3, "C1": 2, "C2": 2}
AXES = {name: make_axis(length, name) for name, length in LENGTHS.items()}
H, W, N, C, M, C1, C2 = AXES.values()
LETTERS = re.compile(r"\(((?:[A-Z]\d?,? ?)*)\)")


def value(*outputs):
    """Values of tensors without placeholders."""
    results = make_transformer().computation(outputs)()
    return results if len(outputs) > 1 else results[0]


def named(letters: str) -> list:
    """The axes of a list of letters."""
    return [AXES[name] for name in re.findall(r"[A-Z]\d?", letters)]


def filled(letters: str, seed: int = 0) -> t.Tensor:
    """A constant with these axes and random values."""
    axes = named(letters)
    array = np.random.default_rng(seed).normal(size=[axis.length for axis in axes])
    return t.constant(array, axes)


def result_axes(expression: str) -> list[str]:
    """Names of the axes of an expression as the documents write it."""
    code = LETTERS.sub(lambda found: f"filled('{found[1]}')", expression)
    code = code.replace("•", "@")
    namespace = {"filled": lambda letters: Dotted(filled(letters))}
    return [axis.name for axis in eval(code, namespace).tensor.axes]


class Dotted:
    """A tensor whose @ is dot, to read the documents' lines."""

    def __init__(self, tensor):
        self.tensor = tensor

    def __add__(self, other):
        return Dotted(self.tensor + other.tensor)

    def __mul__(self, other):
        return Dotted(self.tensor * other.tensor)

    def __matmul__(self, other):
        return Dotted(af.dot(self.tensor, other.tensor))


# Every arrow of "Element-wise binary ops" and "Dot operation" in ngraph
# axes, as they stand there.
EXAMPLES = """
(H,) + (H,) -> (H,)
(H, W) + (H, W) -> (H, W)
(H, W) + (H,) -> (H, W)
(H, W) + (W,) -> (H, W)
(H, W) + (W, N) -> (H, W, N)
(H, W) + (N, W) -> (H, W, N)
(C, H) + (W, H, N) -> (C, H, W, N)
(H, W, N) + (N, H) -> (H, W, N)
(H, W) + (N, H, W) -> (N, H, W)
(H, W) + (N, W, H) -> (N, W, H)
(C, H, W) + (N, W, H) -> (C, H, W, N)
(N, C, H, W) + (C, H, W, N) -> (N, C, H, W)
(H,) + (W,) -> (H, W)
(W,) + (H,) -> (W, H)
(C,) + (H, W) -> (C, H, W)
(H, W) + (C,) -> (H, W, C)
((H,) + (W,)) + (N,) -> (H, W) + (N,) -> (H, W, N)
(H,) + ((W,) + (N,)) -> (H,) + (W, N) -> (H, W, N)
(H,) * ((W,) + (N,)) = (H,) * (W, N) = (H, W, N)
(H,) * (W,) + (H,) * (N,) = (H, W) * (H, N) = (H, W, N)
(H, W) • (W, N) -> (H, N)
(M, C, H, W) • (C, H, W, N) -> (M, N)
(M, W, H, C) • (C, H, W, N) -> (M, N)
""".strip().splitlines()


@pytest.mark.parametrize("line", EXAMPLES)
def test_arrows_of_the_documents(line):
    steps = re.split(" -> | = ", line)
    assert len({tuple(result_axes(step)) for step in steps}) == 1
    assert result_axes(steps[-1]) == re.findall("[A-Z]", steps[-1])


@pytest.mark.parametrize("line", [x for x in EXAMPLES if len(LETTERS.findall(x)) == 3])
def test_values_of_the_arrows(line):
    left, right, out = ("".join(re.findall("[A-Z]", x)) for x in LETTERS.findall(line))
    x, y = filled(left, 1), filled(right, 2)
    a, b = value(x, y)
    if "•" in line:
        expected = np.einsum(f"{left},{right}->{out}", a, b)
        np.testing.assert_allclose(value(af.dot(x, y)), expected, rtol=1e-13)
        return
    ones = np.ones([LENGTHS[name] for name in out])
    a = np.einsum(f"{left},{out}->{out}", a, ones)
    b = np.einsum(f"{right},{out}->{out}", b, ones)
    np.testing.assert_array_equal(value(x + y), a + b)


@pytest.mark.parametrize(
    ("request_", "expected"),
    [
        ("", "CHW"),
        ("C", "HW"),
        ("CW", "H"),
        ("WC", "H"),
        ("CHW", ""),
    ],
)
def test_reductions_of_the_documents(request_, expected):
    x = t.placeholder([C, H, W])
    for function in (aj.sum, aj.max, aj.min, aj.mean):
        result = function(x, reduction_axes=named(request_))
        assert list(result.axes) == named(expected)
    assert len(aj.sum(x, reduction_axes=x.axes).axes) == 0


def test_casting_of_the_documents():
    hidden_1 = t.constant(np.ones((2, 4)), [C1, N])
    hidden_2 = t.constant(np.arange(8.0).reshape(2, 4), [C2, N])
    # The documents write [C1, C2, N] here; their rule 3 gives this order.
    assert list((hidden_1 + hidden_2).axes) == [C1, N, C2]
    cast = af.cast_axes(hidden_2, [C1, N])
    assert list((hidden_1 + cast).axes) == [C1, N]
    np.testing.assert_array_equal(value(hidden_1 + cast), 1 + np.arange(8.0).reshape(2, 4))


@pytest.mark.parametrize("target", ["CHW", "WHC", "CH", "HC"])
def test_broadcasting_of_the_documents(target):
    x = filled("CH")
    result = af.broadcast(x, named(target))
    assert list(result.axes) == named(target)
    ones = np.ones([LENGTHS[name] for name in target])
    expected = np.einsum(f"CH,{target}->{target}", value(x), ones)
    np.testing.assert_array_equal(value(result), expected)


def test_reordering_of_the_documents():
    x = filled("CHW")
    result = af.axes_with_order(x, [H, W, C])
    assert list(result.axes) == [H, W, C]
    np.testing.assert_array_equal(value(result), np.transpose(value(x), (1, 2, 0)))
    assert af.axes_with_order(x, [C, H, W]) is x
    assert af.broadcast(x, [C, H, W]) is x
    assert af.cast_axes(x, [C, H, W]) is x


def test_equal_axes_of_equal_length_are_not_paired():
    x, y = filled("C1", 1), filled("C2", 2)
    assert list((x * y).axes) == [C1, C2]
    np.testing.assert_array_equal(value(x * y), np.multiply.outer(*value(x, y)))


def test_an_axis_of_length_one_does_not_stretch():
    one, other = make_axis(1, "one"), make_axis(3, "other")
    x, y = t.constant([2.0], [one]), t.constant([1, 2, 3], [other])
    assert list((x + y).axes) == [one, other]
    np.testing.assert_array_equal(value(x + y), [[3, 4, 5]])
    np.testing.assert_array_equal(value(af.broadcast(x, [other, one]) * 2), [[4]] * 3)


A = np.array([[0.5, -2.0, 3.0], [4.0, 0.0, -1.5]])
B = np.array([[2.0, -2.0, 0.5], [1.0, 0.0, 7.0]])
OPERATORS = ["add", "sub", "mul", "truediv", "lt", "le", "gt", "ge"]


@pytest.mark.parametrize("name", OPERATORS)
def test_operators_compute_what_numpy_computes(name):
    function = getattr(operator, name)
    x, y = t.constant(A, [H, W]), t.constant(B, [H, W])
    with np.errstate(all="ignore"):
        for left, right in ((A, B), (A, 2), (2.5, A), (np.float32(3), A)):
            one = x if left is A else left
            other = {id(A): x, id(B): y}.get(id(right), right)
            result = function(one, other)
            expected = function(left, right)
            assert result.dtype == expected.dtype
            np.testing.assert_array_equal(value(result), expected)


def test_powers_and_unary_operators():
    x = t.constant(np.abs(A), [H, W])
    with np.errstate(all="ignore"):
        for exponent in (2, 1, 0.5, -1, 3, 1.5):
            np.testing.assert_allclose(value(x**exponent), np.abs(A) ** exponent, rtol=4e-16)
    np.testing.assert_allclose(value(2**x), 2 ** np.abs(A), rtol=4e-16)
    powers = value(aj.power(x, t.constant(B, [H, W])))
    np.testing.assert_allclose(powers, np.abs(A) ** B, rtol=4e-16)
    y = t.constant(A, [H, W])
    np.testing.assert_array_equal(value(-y), -A)
    np.testing.assert_array_equal(value(abs(y)), abs(A))
    np.testing.assert_array_equal(value(aj.sqrt(x)), np.sqrt(np.abs(A)))


@pytest.mark.parametrize(
    "name",
    [
        *("add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "not_equal"),
        *("less", "less_equal", "greater", "greater_equal"),
    ],
)
def test_functions_have_numpys_names_and_values(name):
    function = getattr(aj, name)
    assert function.__name__ == name
    assert "(ngraph axes, " in function.__doc__
    with np.errstate(all="ignore"):
        result = value(function(t.constant(A, [H, W]), t.constant(B, [H, W])))
        np.testing.assert_array_equal(result, getattr(np, name)(A, B))


def test_where_combines_three_orders():
    condition, x, y = t.constant([True, False], [H]), filled("W", 1), filled("NW", 2)
    result = aj.where(condition, x, y)
    assert list(result.axes) == [H, W, N]
    choose, a, b = value(condition, x, y)
    expected = np.where(choose[:, None, None], a[None, :, None], b.T[None])
    np.testing.assert_array_equal(value(result), expected)


def test_complex_tensors():
    array = np.array([[1 + 2j, -3j, 2], [0, 1 - 1j, 5 + 0.5j]])
    x, y = t.constant(array, [H, W]), filled("W")
    want = array.real, array.imag, array.conj(), abs(array), (array * 2j + value(y)).sum(axis=1)
    made = value(x.real, x.imag, x.conj(), abs(x), aj.sum(x * 2j + y, out_axes=[H]))
    for one, other in zip(made, want, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_allclose(one, other, rtol=1e-15)
    for one, other in zip(value(y.real, y.imag, y.conj()), (1, 0, 1), strict=True):
        np.testing.assert_array_equal(one, value(y) * other)


def test_equality_operator_is_identity():
    x, y = filled("H"), filled("H")
    assert operator.eq(x, x) is True
    assert operator.eq(x, y) is False
    assert len({x: 1, y: 2}) == 2


def test_a_constant_is_a_frozen_copy():
    array = np.ones(2)
    x = t.constant(array, [H])
    array[0] = 7
    np.testing.assert_array_equal(value(x), [1, 1])


def test_a_number_fills_its_axes():
    later = make_axis(name="later")
    x = t.constant(2, [H, later])
    assert repr(x) == "i8[H=2, later=?]"
    later.length = 3
    np.testing.assert_array_equal(value(x), np.full((2, 3), 2))
    assert value(t.constant(2.5)).shape == ()


def test_constants_take_a_dtype():
    assert t.constant([1, 2], [H], dtype="f4").dtype == np.float32
    assert t.constant(np.ones(2, ">f8"), [H]).dtype == np.float64
    assert t.constant(True).dtype == np.bool_


@pytest.mark.parametrize(
    ("array", "axes", "message"),
    [
        (np.ones((2, 2)), [H, H], r"axes \[H=2, H=2\]\n  seen: H=2 more than once"),
        (np.ones((3, 2)), [H, W], r"with axes \[H=2, W=3\]\n  seen: an array of shape \(3, 2\)"),
        (np.ones(2), None, r"a constant with axes \[\]"),
        (np.ones(2), make_axis(name="later"), r"a constant with axes \[later=\?\]"),
        (np.ones((1, 3)), [H, W], r"an array of shape \(1, 3\)"),
    ],
)
def test_constants_refuse_axes_that_do_not_fit(array, axes, message):
    with pytest.raises(AxesError, match=message):
        t.constant(array, axes)


@pytest.mark.parametrize(
    ("bad", "dtype"),
    [("text", None), ([[1], [2, 3]], None), ([None], None), (1, "nonsense"), (1, "g")],
)
def test_constants_refuse_what_is_no_number(bad, dtype):
    with pytest.raises(GraphTypeError, match="a constant\n  seen: "):
        t.constant(bad, dtype=dtype)


def test_placeholders_have_a_dtype():
    assert t.placeholder([H]).dtype == np.float64
    assert t.placeholder([H], dtype=np.float32).dtype == np.float32
    assert t.placeholder([H]).node is not t.placeholder([H]).node
    with pytest.raises(GraphTypeError, match="a placeholder of dtype g"):
        t.placeholder([H], "g")
    with pytest.raises(GraphTypeError, match="a placeholder of dtype nonsense"):
        t.placeholder([H], "nonsense")
    with pytest.raises(AxesError, match="more than once"):
        t.placeholder([H, H])


@pytest.mark.parametrize("combine", [operator.add, lambda x, y: y + x, aj.maximum, af.dot])
def test_arrays_without_axes_are_refused(combine):
    message = r"an array of shape \(2,\)(?s:.*)instead: say which axes .* constant\(value, axes\)"
    with pytest.raises(GraphTypeError, match=message):
        combine(filled("H"), np.ones(2))
    with pytest.raises(GraphTypeError, match=r"f8\[H=2\] and list\n  seen: a list"):
        aj.add(filled("H"), [1, 2])


def test_arrays_of_rank_zero_are_numbers():
    x = t.constant(np.ones(2, np.float32), [H])
    assert (x + np.array(1.0)).dtype == np.float64
    assert (x + 1.0).dtype == np.float32
    assert (np.float32(2) * x).dtype == np.float32


def test_a_tensor_has_no_truth():
    with pytest.raises(GraphTypeError, match=r"the truth of b1\[H=2\]"):
        bool(filled("H") < 1)


def test_representation():
    assert repr(t.placeholder([H, W])) == "f8[H=2, W=3]"
    assert repr(t.placeholder([], bool)) == "b1[]"
    assert t.placeholder([H, W]).axes == make_axes([H, W])


def test_graph_of_an_axis_expression():
    axes = make_axis(2, "a"), make_axis(3, "b")
    x, y = t.placeholder(axes), t.placeholder(axes[1])
    result = aj.sum((x - y) * 2, [axes[1]])
    text = print_program(Graph((x.node, y.node), (result.node,)))
    a, b = (axis.symbol.name for axis in axes)
    first, second = x.node.position, y.node.position
    assert (
        text
        == f"""\
graph
  %0 = input {first}: f8[{a}, {b}]
  %1 = input {second}: f8[{b}]
  %2 = subtract(%0[i0, i1], %1[i1]): f8[{a}, {b}]
  %3 = scalar 2.0: ~f8[]
  %4 = multiply(%2[i0, i1], %3[]): f8[{a}, {b}]
  %5 = sum view(%4[i0, i1]) over i1 < {b}: f8[{a}]
  return %5
"""
    )


def test_equal_expressions_are_one_node():
    x, y = t.placeholder([H, W]), t.placeholder([W])
    assert (x + y).node is (x + y).node
    assert af.dot(x, y).node is af.dot(x, y).node


def test_long_chains_do_not_recurse():
    x = total = t.placeholder([H])
    for _ in range(5000):
        total = total + x
    before = execution.install(run=None)
    try:
        result = make_transformer().computation(total, x)([1, 2])
    finally:
        execution.install(**before)
    np.testing.assert_array_equal(result, [5001, 10002])
