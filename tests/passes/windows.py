"""Folds over windows of padded operands, as cases for the passes."""

import axiomjit as aj
from axiomjit.axis.axes import Axes
from axiomjit.axis.tensors import Tensor
from axiomjit.graph import builder
from axiomjit.graph.builder import MULTIPLY
from axiomjit.graph.nodes import Scalar
from axiomjit.graph.primitives import ACCUMULATORS, PRIMITIVES
from axiomjit.graph.shape_ops import SlidingWindow, kept, slide
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import iterator, permutation, through
from tests.passes.examples import numbers
from tests.passes.graphs import Case, stored

TALL, WIDE = aj.make_axis_role("tall"), aj.make_axis_role("wide")


def pooled(op="max", window=(3, 2), strides=(2, 1), padding=(1, 1), dtype="f8") -> Case:
    """A pooling of a matrix, padded on all sides."""
    h, w = aj.make_axis(6), aj.make_axis(9)
    x = aj.constant(numbers(6, 9, dtype=dtype), [h, w])
    lengths, steps = {h: window[0], w: window[1]}, {h: strides[0], w: strides[1]}
    return stored([aj.pooling(x, lengths, op, steps, {h: padding, w: 1})])


def convolved(channels=2, outputs=3, window=(3, 2), dtype="f8", **settings) -> Case:
    """A convolution of two images of 6 x 7 elements."""
    n, c, k = aj.make_axis(2), aj.make_axis(channels), aj.make_axis(outputs)
    h, w = aj.make_axis(6, roles=TALL), aj.make_axis(7, roles=WIDE)
    r, s = aj.make_axis(window[0], roles=TALL), aj.make_axis(window[1], roles=WIDE)
    x = aj.constant(numbers(2, channels, 6, 7, dtype=dtype), [n, c, h, w])
    f = aj.constant(numbers(outputs, channels, *window, dtype=dtype), [k, c, r, s])
    return stored([aj.convolution(x, f, **({"padding": 1} | settings))])


def of_products(combine="add", reduce="max", before=3, after=1, stride=2, dilation=2) -> Case:
    """A fold over an operation on windows of a row, doubled, and on weights of their elements."""
    x, f = builder.as_node(numbers(9), "x"), builder.as_node(numbers(4) * 0.5, "f")
    window = SlidingWindow(dim(9), dim(4), dim(stride), dilation, (before, after))
    seen = slide(x, [0], [window], Scalar(x.dtype, x.dtype.type(0), False))
    doubled = builder.elementwise(PRIMITIVES["add"], seen, seen)
    maps = permutation([0, 1]), (iterator(1),)
    products = builder.map_op(PRIMITIVES[combine], (doubled, f), maps, seen.shape)
    within = kept([0], [window], 1)
    node = builder.fold(ACCUMULATORS[reduce], products, [1], conditions=within)
    return stored([Tensor(node, Axes([aj.make_axis(node.shape[0].constant)]))])


def of_casts() -> Case:
    """Sums of products of windows, doubled one by one, and a filter of many outputs."""
    x = builder.as_node(numbers(9, 3), "x")
    f = builder.as_node(numbers(4, 3, 9), "f")
    window = SlidingWindow(dim(9), dim(4), dim(1), 1, (1, 2))
    seen = slide(x, [0], [window], Scalar(x.dtype, x.dtype.type(0), False))
    doubled = builder.elementwise(PRIMITIVES["sqrt"], builder.elementwise(MULTIPLY, seen, seen))
    # Iterators: places, outputs, then channels and elements of the window.
    maps = permutation([0, 2, 3]), permutation([3, 2, 1])
    within = through(kept([0], [window], 2), maps[0])
    node = builder.contract(doubled, f, maps, (dim(9), dim(9), dim(3), dim(4)), 2, within)
    return stored([Tensor(node, Axes([aj.make_axis(9), aj.make_axis(9)]))])


CASES = {
    "pooled": pooled,
    "convolved": convolved,
    "of_products": of_products,
    "of_casts": of_casts,
}
