"""Axis and Axes: identity, lengths known later, list and set operators (seeds 000 and 001)."""

import gc
import subprocess
import sys

import numpy as np
import pytest

from axiomjit.axes import Axes, Axis, make_axes, make_axis
from axiomjit.dims import evaluate
from axiomjit.errors import AxesError, GraphTypeError
from tests.structure.sources import ROOT

H, W, N = make_axis(3, "H"), make_axis(4, "W"), make_axis(name="N")
C = make_axis(3)


def test_an_axis_keeps_what_it_was_made_with():
    axis = make_axis(2, "width", roles=["r"], docstring="input width", axis_class="k")
    kept = axis.length, axis.name, axis.roles, axis.docstring, axis.axis_class
    assert kept == (2, "width", ("r",), "input width", "k")
    axis = make_axis()
    kept = axis.length, axis.name, axis.roles, axis.docstring, axis.axis_class
    assert kept == (None, None, (), None, None)


def test_only_the_object_itself_is_equal():
    one, other = make_axis(3, "H"), make_axis(3, "H")
    assert one == one  # noqa: PLR0124
    assert one != other
    assert len({one, other, H}) == 3


def test_a_length_can_be_assigned_once():
    axis = make_axis(name="H")
    axis.length = None
    axis.length = np.int32(3)
    axis.length = 3
    assert axis.length == 3
    assert type(axis.length) is int
    with pytest.raises(AxesError, match=r"length 4 for axis H=3\n  seen: its length is 3"):
        axis.length = 4
    with pytest.raises(AxesError, match="length None for axis H=3"):
        axis.length = None
    assert axis.length == 3


@pytest.mark.parametrize("value", [2.0, 2.5, "3", True, [3]])
def test_a_length_is_an_integer(value):
    with pytest.raises(GraphTypeError, match=r"length .* for axis H\n  seen: a \w+"):
        make_axis(value, "H")


def test_a_length_is_not_negative():
    assert make_axis(0).length == 0
    with pytest.raises(AxesError, match="length -1 for an axis\n  seen: a negative number"):
        make_axis(-1)


def test_each_axis_has_its_own_symbolic_length():
    assert H.dim is not C.dim
    assert evaluate(H.dim, {H.symbol: 3}) == 3


def test_symbols_are_the_same_in_every_process():
    code = (
        "from axiomjit.axes import make_axis\nprint([make_axis(9).symbol.name for _ in range(3)])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("['x0', 'x1', 'x2']\n", "")


def test_representations():
    assert [repr(axis) for axis in (H, N, C)] == ["Axis(H=3)", "Axis(N=?)", "Axis(length 3)"]
    assert repr(make_axis()) == "Axis(length ?)"
    assert repr(make_axes([H, C, N])) == "Axes[H=3, length 3, N=?]"


def test_make_axes_accepts_one_several_or_none():
    axes = make_axes([H, W])
    assert make_axes(axes) is axes
    for same in ((H, W), (axis for axis in (H, W)), {H: 1, W: 2}):
        assert make_axes(same) == axes
    assert list(make_axes(H)) == [H]
    assert len(make_axes()) == len(make_axes(None)) == len(make_axes([])) == 0


@pytest.mark.parametrize("wrong", ["HW", 3, ["H"], [H, [W]], np.ones(2)])
def test_make_axes_refuses_what_is_no_axis(wrong):
    with pytest.raises(
        GraphTypeError, match=r"axes from (?s:.*)instead: list objects that make_axis"
    ):
        make_axes(wrong)


def test_an_axis_occurs_at_most_once():
    with pytest.raises(AxesError, match=r"axes \[H=3, W=4, H=3\]\n  seen: H=3 more than once"):
        make_axes([H, W, H])


def test_list_side():
    axes = make_axes([H, W, N])
    assert len(axes) == 3
    assert list(axes) == [H, W, N]
    assert axes[0] is H
    assert axes[-1] is N
    assert axes[1:] == make_axes([W, N])
    assert axes[::-1] == make_axes([N, W, H])
    assert axes.index(W) == 1
    assert W in axes
    assert C not in axes
    assert "W" not in axes
    assert axes
    assert not make_axes()


def test_index_of_an_absent_axis():
    with pytest.raises(AxesError, match=r"the position of Axis\(length 3\)\n  seen: axes \[H=3\]"):
        make_axes([H]).index(C)


def test_plus_concatenates():
    assert make_axes([H]) + make_axes([W, N]) == make_axes([H, W, N])
    assert make_axes([H]) + [W] == make_axes([H]) + W == [H] + make_axes([W]) == make_axes([H, W])
    with pytest.raises(AxesError, match=r"\[H=3, W=4\] \+ \[W=4\]\n  seen: W=4 on both sides"):
        make_axes([H, W]) + make_axes([W])


def test_ordered_set_operators():
    left, right = make_axes([H, W, N]), make_axes([N, C, H])
    assert left - right == make_axes([W])
    assert right - left == make_axes([C])
    assert left | right == make_axes([H, W, N, C])
    assert left & right == make_axes([H, N])
    assert right & left == make_axes([N, H])
    assert left - [W] == left - W - None == make_axes([H, N])


def test_equality_looks_at_the_order():
    assert make_axes([H, W]) == make_axes((H, W))
    assert make_axes([H, W]) != make_axes([W, H])
    assert make_axes([H, W]) != [H, W]
    assert make_axes([]) != ()
    assert make_axes([H]) != H
    assert hash(make_axes([H, W])) == hash(make_axes([H, W]))


@pytest.mark.parametrize(
    ("left", "right", "below", "above"),
    [
        ([H, W], [W, H], True, True),
        ([H], [W, H], True, False),
        ([H, W], [W], False, True),
        ([H, C], [H, W], False, False),
        ([], [H], True, False),
        ([], [], True, True),
    ],
)
def test_set_relations_are_not_strict(left, right, below, above):
    axes = make_axes(left)
    assert axes.is_sub_set(right) is below
    assert axes.is_super_set(make_axes(right)) is above
    assert axes.is_equal_set(right) is (below and above)
    assert axes.is_not_equal_set(right) is not (below and above)


def test_nothing_keeps_axes_alive():
    before = sum(isinstance(x, Axis | Axes) for x in gc.get_objects())
    for _ in range(10):
        make_axes([make_axis(1), make_axis(2)])
    assert sum(isinstance(x, Axis | Axes) for x in gc.get_objects()) <= before
