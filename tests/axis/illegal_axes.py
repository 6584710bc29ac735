"""Illegal uses of axes and of what has values."""

import numpy as np

import axiomjit as aj
from tests.axis.illegal import HEIGHT, LATER, ONES, H, K, N, P, Row, W, X

AXES = [
    Row(
        "negative length",
        lambda: aj.make_axis(-1, "H"),
        "length -1 for axis H | a negative number | give 0 or more",
        lambda: aj.make_axis(0, "H"),
    ),
    Row(
        "length that is no integer",
        lambda: aj.make_axis(2.5),
        "length 2.5 for an axis | a float | give an integer",
        lambda: aj.make_axis(np.int8(2)),
    ),
    Row(
        "name where the length stands",
        lambda: aj.make_axis("H"),
        "length 'H' for an axis | a str | give an integer",
        lambda: aj.make_axis(name="H"),
    ),
    Row(
        "name that is no text",
        lambda: aj.make_axis(3, 4),
        "an axis with the name 4 | a int | write make_axis(length, name)",
        lambda: aj.make_axis(3, "4"),
    ),
    Row(
        "role that is a text",
        lambda: aj.make_axis(3, roles=["Height"]),
        "the AxisRole 'Height' | a str | make_axis_role(name)",
        lambda: aj.make_axis(3, roles=[HEIGHT]),
    ),
    Row(
        "class that is a role",
        lambda: aj.make_axis(3, axis_class=HEIGHT),
        "the AxisClass AxisRole(Height) | a AxisRole | make_axis_class(name)",
        lambda: aj.make_axis(3, axis_class=K),
    ),
    Row(
        "length changed",
        lambda: setattr(H, "length", 5),
        "length 5 for axis H=2 | its length is 2 | make another axis",
        lambda: setattr(H, "length", 2),
    ),
    Row(
        "length taken back",
        lambda: setattr(H, "length", None),
        "length None for axis H=2 | its length is 2 | make another axis",
        lambda: setattr(aj.make_axis(), "length", None),
    ),
    Row(
        "length of an offset axis that its primary lacks",
        lambda: setattr(LATER - 1, "length", 3),
        "length 3 for axis later-1=? | follows from later=? | assign the lengths of those axes",
        lambda: setattr(H - 1, "length", 2),
    ),
    Row(
        "offset that is no integer",
        lambda: H + 0.5,
        "an offset of Axis(H=2) | 0.5 of type float | add an integer",
        lambda: H + 1,
    ),
    Row(
        "sum of two axes",
        lambda: H + W,
        "an offset of Axis(H=2) | Axis(W=3) of type Axis | list axes with make_axes([...])",
        lambda: aj.make_axes([H]) + W,
    ),
    Row(
        "axis listed twice",
        lambda: aj.make_axes([H, W, H]),
        "axes [H=2, W=3, H=2] | H=2 more than once | use each axis once",
        lambda: aj.make_axes([H, W]),
    ),
    Row(
        "offset axis listed twice",
        lambda: aj.make_axes([H - 1, H - 1]),
        "axes [H-1=2, H-1=2] | H-1=2 more than once | use each axis once",
        lambda: aj.make_axes([H, H - 1]),
    ),
    Row(
        "axes from a text",
        lambda: aj.make_axes("HW"),
        "axes from 'HW' | a str | list objects that make_axis(length, name) made",
        lambda: aj.make_axes({"H": 2, "W": 3}),
    ),
    Row(
        "axes from lengths",
        lambda: aj.placeholder([2, 3]),
        "axes from (2, 3) | 2 of type int | list objects that make_axis(length, name) made",
        lambda: aj.placeholder([H, W]),
    ),
    Row(
        "concatenation with a common axis",
        lambda: aj.make_axes([H, W]) + [W, N],
        "[H=2, W=3] + [W=3, N=4] | W=3 on both sides | use | for the union",
        lambda: aj.make_axes([H, W]) | [W, N],
    ),
    Row(
        "place of an axis that is not there",
        lambda: aj.make_axes([H]).index(W),
        "the position of Axis(W=3) | axes [H=2], none of which is W=3 | name one of its axes: 'H'",
        lambda: aj.make_axes([H]).index(H),
    ),
    Row(
        "name that several axes have",
        lambda: aj.make_axes([H, aj.make_axis(2, "H")]).get_by_names("H"),
        "called 'H' of [H=2, H=2] | 2 have the name 'H': H=2 (made at | pass the Axis itself",
        lambda: aj.make_axes([H, W]).get_by_names("W"),
    ),
    Row(
        "shape of another rank",
        lambda: aj.make_axes([H, W]).set_shape([2]),
        "shape (2,) for axes [H=2, W=3] | 1 length for 2 axes | give one length per axis",
        lambda: aj.make_axes([H, W]).set_shape([2, 3]),
    ),
]

VALUES = [
    Row(
        "constant of another shape",
        lambda: aj.constant(np.ones((3, 2)), [H, W]),
        "a constant with axes [H=2, W=3] | an array of shape (3, 2) | one axis per dimension",
        lambda: aj.constant(np.ones((3, 2)), [W, H]),
    ),
    Row(
        "constant that would stretch",
        lambda: aj.constant(np.ones((1, 3)), [H, W]),
        "a constant with axes [H=2, W=3] | an array of shape (1, 3) | one axis per dimension",
        lambda: aj.constant(1.0, [H, W]),
    ),
    Row(
        "constant without axes for its dimensions",
        lambda: aj.constant([1.0, 2.0]),
        "a constant with axes [] | an array of shape (2,) | one axis per dimension",
        lambda: aj.constant([1.0, 2.0], H),
    ),
    Row(
        "constant that would give an axis its length",
        lambda: aj.constant([1.0, 2.0], [LATER]),
        "a constant with axes [later=?] | an array of shape (2,) | with the length of its",
        lambda: aj.constant(1.0, [LATER]),
    ),
    Row(
        "constant with one axis twice",
        lambda: aj.constant(np.ones((2, 2)), [H, H]),
        "axes [H=2, H=2] | H=2 more than once | make another axis of the same length",
        lambda: aj.constant(np.ones((2, 2)), [H, aj.make_axis(2)]),
    ),
    Row(
        "constant of text",
        lambda: aj.constant(["a", "b"], [H]),
        "a constant | elements of dtype <U1 | pass numbers",
        lambda: aj.constant([1, 2], [H]),
    ),
    Row(
        "constant of ragged rows",
        lambda: aj.constant([[1], [2, 3]], [H, W]),
        "a constant | inhomogeneous | rows of equal length",
        lambda: aj.constant([[1, 2, 3], [4, 5, 6]], [H, W]),
    ),
    Row(
        "placeholder of an unknown dtype",
        lambda: aj.placeholder([H], "number"),
        "a placeholder of dtype number | data type 'number' not understood | name a dtype",
        lambda: aj.placeholder([H], "i4"),
    ),
    Row(
        "placeholder of objects",
        lambda: aj.placeholder([H], object),
        "a placeholder of dtype | elements of dtype object | supported: bool",
        lambda: aj.placeholder([H], bool),
    ),
    Row(
        "named array of another shape",
        lambda: aj.NamedArray(ONES, [W, H]),
        "a named array with axes [W=3, H=2] | an array of shape (2, 3) | one axis per dimension",
        lambda: aj.NamedArray(ONES, [H, W]),
    ),
    Row(
        "values of a placeholder",
        lambda: (P + 1).eval(),
        "values of f8[H=2, W=3] | the placeholders f8[H=2, W=3] | make_transformer().computation",
        lambda: (X + 1).eval(),
    ),
    Row(
        "values without a length",
        lambda: aj.constant(1.0, [LATER, H]).eval(),
        "values of f8[later=?, H=2] | no length for Axis(later=?) | assign axis.length",
        lambda: aj.constant(1.0, [H]).eval(),
    ),
    Row(
        "truth of a tensor",
        lambda: bool(X < 2),
        "the truth of b1[H=2, W=3] | only when it is evaluated | where(condition, x, y)",
        lambda: bool(aj.all(X < 2).eval()),
    ),
    Row(
        "conversion to an unknown dtype",
        lambda: aj.astype(X, "many"),
        "f8[H=2, W=3] as many | data type 'many' not understood | name a dtype",
        lambda: aj.astype(X, "f4"),
    ),
]
