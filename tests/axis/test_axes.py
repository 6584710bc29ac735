"""Axis and Axes: identity, lengths known later, list and set operators (ngraph axes)."""

import gc
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from axiomjit.axis.axes import Axes, make_axes
from axiomjit.axis.axis import (
    Axis,
    derived_axis,
    make_axis,
    make_axis_class,
    make_axis_role,
    merged_axis,
)
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.symbolic.dims import evaluate
from tests.structure.sources import ROOT

H, W, N = make_axis(3, "H"), make_axis(4, "W"), make_axis(name="N")
C = make_axis(3)


def test_an_axis_keeps_what_it_was_made_with():
    role, kind = make_axis_role("width"), make_axis_class()
    axis = make_axis(2, "width", roles=[role, role], docstring="input width", axis_class=kind)
    kept = axis.length, axis.name, axis.roles, axis.docstring, axis.axis_class, axis.dual_offset
    assert kept == (2, "width", (role,), "input width", kind, 0)
    axis = make_axis()
    assert (axis.length, axis.name, axis.roles, axis.docstring) == (None, None, (), None)
    assert axis.axis_class is not make_axis().axis_class


def test_tags_are_told_apart_by_identity():
    role, unnamed = make_axis_role("r"), make_axis_role()
    assert role != make_axis_role("r")
    assert unnamed != make_axis_role()
    assert make_axis_class("c") != make_axis_class("c")
    shown = repr(role), repr(unnamed), repr(make_axis_class("c"))
    assert shown == ("AxisRole(r)", "AxisRole()", "AxisClass(c)")
    axis = make_axis(roles=role)
    assert axis.has_role(role)
    assert not axis.has_role(unnamed)
    assert axis.add_role(unnamed) is axis
    assert axis.add_role(role).roles == (role, unnamed)
    assert list(make_axes([H, axis, W]).role_axes(role)) == [axis]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"roles": ["r"]}, "AxisRole 'r'\n  seen: a str\n  instead: make one with make_axis_role"),
        ({"roles": "r"}, "AxisRole 'r'"),
        ({"roles": 3}, "AxisRole 3"),
        ({"roles": [None]}, "AxisRole None"),
        ({"axis_class": "k"}, "AxisClass 'k'(?s:.*)make_axis_class"),
        ({"axis_class": make_axis_role()}, r"AxisClass AxisRole\(\)\n  seen: a AxisRole"),
        ({"name": 3}, r"the name 3\n  seen: a int\n  instead: write make_axis\(length, name\)"),
    ],
)
def test_what_is_no_tag_or_name_is_refused(wrong, message):
    with pytest.raises(GraphTypeError, match=message):
        make_axis(3, **wrong)
    with pytest.raises(GraphTypeError, match="AxisRole 'r'"):
        H.add_role("r")


def test_offset_axes():
    kind, role = make_axis_class(), make_axis_role()
    axis = make_axis(None, "A", [role], "doc", kind)
    before, after = axis - 1, axis + np.int64(2)
    assert (before.dual_offset, after.dual_offset, axis.dual_offset) == (-1, 2, 0)
    assert before + 1 is axis
    assert after - 3 is before
    assert before.get_dual(3) is axis.get_dual(2) is after
    assert axis + 0 is axis
    assert before is not axis
    kept = before.name, before.roles, before.docstring, before.axis_class
    assert kept == ("A-1", (role,), "doc", kind)
    assert before.length is None
    axis.length = 3
    assert (before.length, repr(before), repr(after)) == (3, "Axis(A-1=3)", "Axis(A+2=3)")
    assert repr(make_axis(3) - 1) == "Axis(length 3 (-1))"
    assert len(make_axes([axis, before])) == 2
    with pytest.raises(AxesError, match="A-1=3 more than once"):
        make_axes([axis - 1, axis - 1])


def test_the_length_of_an_offset_axis_is_that_of_its_primary():
    axis = make_axis(name="A")
    with pytest.raises(AxesError, match=r"length 3 for axis A-1=\?\n  seen: .* follows from A=\?"):
        (axis - 1).length = 3
    axis.length = 3
    (axis - 1).length = 3
    with pytest.raises(AxesError, match="length 4 for axis A-1=3"):
        (axis - 1).length = 4


def test_transposed_axes():
    for axis in (H, H - 1, H + 3):
        assert axis.T.dual_offset == -1 - axis.dual_offset
        assert axis.T.T is axis
    axes = make_axes([H, W + 1, N - 1])
    assert make_axes([H - 1, W - 2, N]) == axes.T
    assert axes == axes.T.T
    assert axes.get_dual(2) == make_axes([H + 2, W + 3, N + 1])


@pytest.mark.parametrize("wrong", [1.5, "1", None, True, W])
def test_an_offset_is_an_integer(wrong):
    message = r"an offset of Axis\(H=3\)\n  seen: .*\n  instead: add an integer"
    for make in (H.get_dual, lambda k: H + k, lambda k: H - k):
        with pytest.raises(GraphTypeError, match=message):
            make(wrong)


def test_a_derived_axis_keeps_tags_and_follows_lengths():
    role = make_axis_role()
    axis, other = make_axis(None, "A", [role]), make_axis(2, "B")
    part = derived_axis(axis, axis.dim * 2 + other.dim, [other])
    assert part is not axis
    assert (part.axis_class, part.roles, part.name) == (axis.axis_class, (role,), "A")
    assert part.length is None
    axis.length = 5
    assert part.length == 12
    assert set(part.roots) == {axis, other}
    known = derived_axis(axis - 1, 4, name="C")
    assert (known.dual_offset, known.length, repr(known)) == (-1, 4, "Axis(C-1=4)")
    assert known.T.axis_class is axis.axis_class
    assert known.roots == ()


def test_merged_axes():
    flat = merged_axis([H, W])
    assert (flat.length, flat.name, flat.roles, flat.parts) == (12, "H*W", (), (H, W))
    assert merged_axis([H, W]) is flat
    assert make_axes([H, W]).flatten() is flat
    assert merged_axis([W, H]) is not flat
    assert merged_axis([H]) is H
    assert merged_axis([H, N]).length is None
    assert merged_axis([]).length == 1
    assert list(make_axes([N, [H, W], [C]])) == [N, flat, C]
    assert make_axes([N, [H, W]]).full_lengths == (None, (3, 4))
    assert flat.T.parts == (H.T, W.T)
    again = merged_axis([flat, C])
    assert make_axes(again).full_lengths == (((3, 4), 3),)
    assert set(again.roots) == {H, W, C}


def test_what_axes_know_together():
    axes = make_axes([H, W, C])
    assert axes.lengths == (3, 4, 3)
    assert axes.names == ("H", "W", None)
    assert axes.size == 36
    assert make_axes([H, N]).size is None
    assert make_axes().size == 1
    assert axes.find_by_name("W") == make_axes(W)
    assert axes.get_by_names("W", "H") == make_axes([W, H])
    twin = make_axes([H, make_axis(3, "H")])
    for name, seen in (("H", "of which 2 have the name 'H'"), ("X", "none of which is called 'X'")):
        with pytest.raises(AxesError, match=rf"axis called '{name}' of .*\n  seen: axes .*{seen}"):
            twin.get_by_names(name)


def test_lengths_assigned_together():
    a, b = make_axes({"a": None, "b": 3})
    assert (a.name, b.name, b.length) == ("a", "b", 3)
    make_axes([a, b]).set_shape((2, 3))
    assert a.length == 2
    with pytest.raises(AxesError, match=r"shape \(2,\) for axes \[a=2, b=3\]\n  seen: 1 length"):
        make_axes([a, b]).set_shape([2])
    with pytest.raises(AxesError, match="length 4 for axis a=2"):
        make_axes([a, b]).set_shape([4, 3])


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
    code = "from axiomjit.axis.axis import make_axis\n"
    code += "print([make_axis(9).symbol.name for _ in range(3)])"
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


@pytest.mark.parametrize("wrong", ["HW", 3, ["H"], [H, ["W"]], np.ones(2)])
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
    assert ("W" in axes, "w" in axes) == (True, False)
    assert axes["W"] is W
    assert axes.index("W") == 1
    assert axes - "W" == axes - W == make_axes([H, N])
    assert axes & ["W", C] == make_axes(W)
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


def living_axes():
    """How many there are; a weak reference may stand for an object that is gone."""
    return sum(issubclass(type(x), Axis | Axes) for x in gc.get_objects())


def test_nothing_keeps_axes_alive():
    before = living_axes()
    for _ in range(10):
        make_axes([make_axis(1), make_axis(2)])
    assert living_axes() <= before


def test_threads_get_the_same_axes():
    axis, other = make_axis(3), make_axis(4)
    with ThreadPoolExecutor(8) as pool:
        duals = list(pool.map(lambda _: axis + 1, range(64)))
        merged = list(pool.map(lambda _: merged_axis([axis, other]), range(64)))
    assert len({*duals}) == len({*merged}) == 1
