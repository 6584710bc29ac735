"""What several doors share: maps over strides, padding, sliding windows, reshaped nodes."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.graph.builder import as_node
from axiomjit.graph.evaluate_graph import evaluate_graph, read
from axiomjit.graph.nodes import Graph, Scalar
from axiomjit.graph.shape_ops import (
    MARGINS_BY_MODE,
    SlidingWindow,
    flip,
    padded,
    reshaped,
    sliced,
    slide,
    with_margins,
)
from axiomjit.symbolic.dims import dim, evaluate
from axiomjit.symbolic.index_maps import affine, strides_through


def values(node):
    return evaluate_graph(Graph((), (node,), ()), (), {})[0]


@pytest.mark.parametrize("seed", range(8))
def test_strides_through_a_map_find_the_elements_that_it_names(seed):
    rng = np.random.default_rng(seed)
    array = rng.permutation(np.arange(7 * 9 * 8)).reshape(7, 9, 8)[:, ::-1, ::2]
    extents = (3, 2, 2)
    factors = rng.integers(0, 2, (3, 3))
    starts = rng.integers(0, 2, 3)
    index = tuple(
        affine({k: dim(int(c)) for k, c in enumerate(row)}, int(start) if d else int(start) + 1)
        for d, (row, start) in enumerate(zip(factors, starts, strict=True))
    )
    if array.shape[2] <= factors[2] @ (np.array(extents) - 1) + starts[2]:
        index = (*index[:2], affine({}, int(starts[2])))
    expected = np.empty(extents, array.dtype)
    for place in np.ndindex(extents):
        at = [f.offset + sum((c * place[k] for k, c in f.terms), dim(0)) for f in index]
        expected[place] = array[tuple(position.constant for position in at)]
    np.testing.assert_array_equal(read(array, index, extents, {}), expected)
    steps = [step // array.itemsize for step in array.strides]
    numbers = strides_through(index, steps, 3, lambda length: evaluate(length, {}))
    symbols = strides_through(index, [dim(step) for step in steps], 3, dim)
    assert numbers == (symbols[0].constant, tuple(step.constant for step in symbols[1]))


X = np.arange(12.0).reshape(3, 4)


@pytest.mark.parametrize("mode", ["constant", *MARGINS_BY_MODE])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("widths", [(0, 0), (1, 0), (0, 2), (2, 1)])
def test_padding_is_numpys(mode, axis, widths):
    node, ends = as_node(X, "pad"), (dim(widths[0]), dim(widths[1]))
    if mode == "constant":
        numbers = [Scalar(X.dtype, X.dtype.type(v), False) for v in (5, 7)]
        found = padded(node, axis, ends, *numbers)
        options = {"constant_values": (5, 7)}
    else:
        found, options = with_margins(node, axis, MARGINS_BY_MODE[mode](node, axis, ends)), {}
    around = [widths if d == axis else (0, 0) for d in range(2)]
    np.testing.assert_array_equal(values(found), np.pad(X, around, mode, **options))


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("padding", [(0, 0), (2, 1)])
def test_windows_slide_as_numpys_do(stride, dilation, padding):
    window = SlidingWindow(dim(4), dim(2), dim(stride), dilation, padding)
    zero = Scalar(X.dtype, X.dtype.type(0), False)
    found = values(slide(as_node(X, "slide"), [1], [window], zero))
    whole = np.pad(X, [(0, 0), padding])
    expected = sliding_window_view(whole, dilation + 1, axis=1)[:, ::stride, ::dilation]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "part", [slice(1, 3), slice(None, None, -1), slice(-1, 0, -2), slice(9, 2)]
)
@pytest.mark.parametrize("axes", [(0,), (1,), (0, 1)])
def test_parts_of_dimensions_are_numpys(part, axes):
    node = as_node(X, "parts")
    key = tuple(part if d in axes else slice(None) for d in range(2))
    np.testing.assert_array_equal(values(sliced(node, axes, part)), X[key])
    np.testing.assert_array_equal(values(flip(node, axes)), np.flip(X, axes))


@pytest.mark.parametrize("shape", [(12,), (4, 3), (2, 2, 3), (3, 1, 4), (1, 12, 1)])
@pytest.mark.parametrize("given", [X, X.T, X[:, ::-1], X[:, :0]], ids=["C", "F", "back", "empty"])
def test_reshaped_nodes_are_numpys(shape, given):
    shape = shape if given.size else (*shape, 0)
    found = reshaped(as_node(given, "reshape"), tuple(map(dim, shape)))
    np.testing.assert_array_equal(values(found), given.reshape(shape))
