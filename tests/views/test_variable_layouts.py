"""Variables lie in the layout that is asked for, or that their first computation reads fastest."""

import numpy as np

import axiomjit as aj
from axiomjit.descriptions import Layout
from axiomjit.transformers import make_transformer

H, W = aj.make_axis(3, "H"), aj.make_axis(5, "W")
START = np.arange(15.0).reshape(3, 5)


def grid(**options):
    """A variable over H and W."""
    return aj.variable([H, W], initial_value=START, **options)


def variables_of(transformer, *tensors):
    """The memory of variables that were used before."""
    return transformer._variables.arrays([tensor.storage.root for tensor in tensors], dict)


def test_layout_of_a_variable_is_that_of_its_first_computation():
    planes = aj.make_axis(7, "planes")
    w, p = aj.variable([H, W], initial_value=START), aj.placeholder([planes, W, H])
    given = np.random.default_rng(0).integers(-3, 9, (7, 5, 3)).astype("f8")
    transformer = make_transformer()
    across = transformer.computation(aj.sum(aj.absolute(p - w), [W, H]), p)
    want = np.abs(given - START.T).sum(axis=(1, 2))
    np.testing.assert_array_equal(across(given), want)
    (memory,) = variables_of(transformer, w)
    assert memory.strides == (8, 24)
    np.testing.assert_array_equal(memory, START)
    along = transformer.computation([w * 2.0, aj.assign(w, w + 1.0)])
    np.testing.assert_array_equal(along()[0], START * 2.0)
    assert variables_of(transformer, w)[0] is memory
    np.testing.assert_array_equal(across(given), np.abs(given - START.T - 1.0).sum(axis=(1, 2)))


def test_layouts_of_variables_that_are_given_or_written_stay():
    planes = aj.make_axis(7, "planes")
    given = np.ones((7, 5, 3))
    for layout, strides in (("C", (40, 8)), ("F", (8, 24)), (Layout((1, 4), 2), (8, 32))):
        w, p = grid(layout=layout), aj.placeholder([planes, W, H])
        transformer = make_transformer()
        transformer.computation(aj.sum(aj.absolute(p - w), [W, H]), p)(given)
        assert variables_of(transformer, w)[0].strides == strides
    w = grid()
    transformer = make_transformer()
    transformer.computation([aj.assign(w, w + 1.0), aj.sum(p - w, [W, H])], p)(given)
    assert variables_of(transformer, w)[0].strides == (40, 8)
