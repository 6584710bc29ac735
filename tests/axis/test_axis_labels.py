"""Other labels for the same values: by axis, by name, by role."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxesError

HEIGHT, WIDTH, DEPTH = (aj.make_axis_role(name) for name in ("height", "width", "depth"))
K = aj.make_axis_class("K")
H = aj.make_axis(2, "H", [HEIGHT], axis_class=K)
W = aj.make_axis(3, "W", [WIDTH])
N = aj.make_axis(name="N")
A = np.arange(6.0).reshape(2, 3)
X = aj.constant(A, [H, W])


def test_rename():
    new = aj.make_axis(2, "new")
    renamed = aj.rename(X, {H: new, "W": "columns"})
    first, second = renamed.axes
    assert first is new
    assert (second.name, second.length, second.roles) == ("columns", 3, (WIDTH,))
    assert second is not W
    np.testing.assert_array_equal(renamed, A)
    swapped = aj.rename(aj.constant(np.eye(2), [H, new]), {H: new, new: H})
    assert list(swapped.axes) == [new, H]
    assert aj.rename(X, {}) is X
    assert aj.rename(X, {H: H}) is X


def test_renaming_keeps_class_and_unknown_lengths():
    x = aj.placeholder([N, H])
    renamed = aj.rename(x, {"N": "rows", H: "h"})
    rows, h = renamed.axes
    assert rows.length is None
    assert h.axis_class is K
    # of one class and one length: they meet again
    assert list((X + aj.rename(X, {"H": "h"})).axes) == [H, W]
    N.length = 4
    assert rows.length == 4
    comp = aj.transformers.make_transformer().computation(renamed + 1, x)
    np.testing.assert_array_equal(comp(np.ones((4, 2))), np.full((4, 2), 2))


def test_cast_role():
    like = aj.make_axis(9, "like", [DEPTH]), aj.make_axis(9, "other", [WIDTH])
    cast = aj.cast_role(X, like)
    first, second = cast.axes
    assert (first.roles, first.name, first.length) == ((DEPTH,), "like", 2)
    assert first.axis_class is K
    assert second is W
    np.testing.assert_array_equal(cast, A)


def test_map_roles():
    mapped = aj.map_roles(X, {HEIGHT: DEPTH})
    first, second = mapped.axes
    assert (first.roles, first.name, first.axis_class) == ((DEPTH,), "H", K)
    assert second is W
    swapped = aj.map_roles(X, {HEIGHT: WIDTH, WIDTH: HEIGHT})
    assert [axis.roles for axis in swapped.axes] == [(WIDTH,), (HEIGHT,)]
    assert aj.map_roles(X, {DEPTH: HEIGHT}) is X


def test_axes_with_role_order():
    ordered = aj.axes_with_role_order(X, [WIDTH, DEPTH, HEIGHT])
    first, second, third = ordered.axes
    assert (first, third) == (W, H)
    assert (second.length, second.roles) == (1, (DEPTH,))
    np.testing.assert_array_equal(ordered, A.T[:, None, :])
    both = aj.make_axis(2, "both", [HEIGHT, WIDTH])
    with pytest.raises(AxesError, match=r"seen: \[both=2\] for two axes"):
        aj.axes_with_role_order(aj.constant([1, 2], [both]), [HEIGHT, WIDTH])
