"""Illegal relabelling, and computations."""

import numpy as np

import axiomjit as aj
from tests.axis.illegal import (
    HEIGHT,
    ONES,
    TALL,
    TALLER,
    WIDTH,
    A,
    B,
    H,
    L,
    N,
    P,
    Q,
    Row,
    W,
    X,
    compute,
    ones,
)

LABELS = [
    Row(
        "cast to fewer axes",
        lambda: aj.cast_axes(X, [H]),
        "cast_axes of f8[H=2, W=3] to [H=2] | 1 axis for axes [H=2, W=3] | one axis of the same",
        lambda: aj.cast_axes(X, [A, W]),
    ),
    Row(
        "cast to another length",
        lambda: aj.cast_axes(X, [W, H]),
        "cast_axes of f8[H=2, W=3] to [W=3, H=2] | W=3 for H=2, H=2 for W=3 | one axis of the same",
        lambda: aj.cast_axes(X, [A, aj.make_axis(3)]),
    ),
    Row(
        "cast of a number to axes",
        lambda: aj.cast_axes(aj.constant(1.0), [H]),
        "cast_axes of f8[] to [H=2] | 1 axis for axes [] | one axis of the same",
        lambda: aj.broadcast(aj.constant(1.0), [H]),
    ),
    Row(
        "cast to one axis twice",
        lambda: aj.cast_axes(ones(A, B), [H, H]),
        "axes [H=2, H=2] | H=2 more than once | use each axis once",
        lambda: aj.cast_axes(ones(A, B), [B, A]),
    ),
    Row(
        "broadcast without an axis",
        lambda: aj.broadcast(X, [H, N]),
        "broadcast of f8[H=2, W=3] to [H=2, N=4] | axes [H=2, W=3] | list every axis of it",
        lambda: aj.broadcast(X, [W, N, H]),
    ),
    Row(
        "order without an axis",
        lambda: aj.axes_with_order(X, [H]),
        "axes_with_order of f8[H=2, W=3] to [H=2] | W=3 would be lost | list each of its axes",
        lambda: aj.axes_with_order(X, [W, H]),
    ),
    Row(
        "order with a foreign axis",
        lambda: aj.axes_with_order(X, [N, H, W]),
        "axes_with_order of f8[H=2, W=3] | axes [H=2, W=3], none of which is N=4 | name one of its",
        lambda: aj.broadcast(X, [N, H, W]),
    ),
    Row(
        "two axes renamed to one",
        lambda: aj.rename(ones(A, B), {A: H, B: H}),
        "rename of f8[A=2, B=2] | [H=2] for two axes | give each axis a label of its own",
        lambda: aj.rename(ones(A, B), {A: H}),
    ),
    Row(
        "renaming onto a present axis",
        lambda: aj.rename(ones(A, B), {A: B}),
        "rename of f8[A=2, B=2] | [B=2] for two axes | give each axis a label of its own",
        lambda: aj.rename(ones(A, B), {A: B, B: A}),
    ),
    Row(
        "renaming of a foreign axis",
        lambda: aj.rename(X, {N: "n"}),
        "rename of f8[H=2, W=3] | axes [H=2, W=3], none of which is N=4 | name one of its axes",
        lambda: aj.rename(X, {H: "h", "W": "w"}),
    ),
    Row(
        "renaming of a name that is not there",
        lambda: aj.rename(X, {"height": "h"}),
        "rename of f8[H=2, W=3] | none of which is called 'height' | name one of its axes: 'H'",
        lambda: aj.rename(X, {"H": "h"}),
    ),
    Row(
        "renaming to a length",
        lambda: aj.rename(X, {H: 3}),
        "rename of f8[H=2, W=3] | 3 of type int for H=2 | map axes, or their names",
        lambda: aj.rename(X, {H: A}),
    ),
    Row(
        "renaming to an axis of another length",
        lambda: aj.rename(X, {H: N}),
        "rename of f8[H=2, W=3] to [N=4, W=3] | N=4 for H=2 | one axis of the same",
        lambda: aj.rename(X, {H: H - 1}),
    ),
    Row(
        "roles of fewer axes",
        lambda: aj.cast_role(X, [TALL]),
        "cast_role of f8[H=2, W=3] to [tall=2] | axes [H=2, W=3] | one axis for each axis",
        lambda: aj.cast_role(X, [TALL, N]),
    ),
    Row(
        "two axes mapped to one role",
        lambda: aj.map_roles(ones(TALL, aj.make_axis(2, "wide", WIDTH)), {HEIGHT: WIDTH}),
        "map_roles of f8[tall=2, wide=2] | [tall=2, wide=2] would all have | one of its own",
        lambda: aj.map_roles(ones(TALL, aj.make_axis(2)), {HEIGHT: WIDTH}),
    ),
    Row(
        "names mapped as roles",
        lambda: aj.map_roles(ones(TALL), {"Height": WIDTH}),
        "map_roles of f8[tall=2] | a str | map roles that make_axis_role(...) made",
        lambda: aj.map_roles(ones(TALL), {HEIGHT: WIDTH}),
    ),
    Row(
        "two axes of one role in order",
        lambda: aj.axes_with_role_order(ones(TALL, TALLER), [HEIGHT]),
        "axes_with_role_order of f8[tall=2, taller=2] | have one role | merge or relabel",
        lambda: aj.axes_with_role_order(ones(TALL), [WIDTH, HEIGHT]),
    ),
    Row(
        "axis without a listed role in order",
        lambda: aj.axes_with_role_order(ones(TALL, H), [HEIGHT]),
        "axes_with_role_order of f8[tall=2, H=2] | [H=2] without a listed role | list a role",
        lambda: aj.axes_with_role_order(ones(TALL), [HEIGHT]),
    ),
]

COMPUTATIONS = [
    Row(
        "missing placeholder",
        lambda: compute(P * Q, P),
        "a computation with 1 placeholder | depend on f8[W=3], made at | list every placeholder",
        lambda: compute(P * Q, P, Q)(ONES, [1, 2, 3]),
    ),
    Row(
        "placeholder listed twice",
        lambda: compute(P, P, P),
        "f8[H=2, W=3] as a placeholder | listed twice | each once",
        lambda: compute([P, P], P)(ONES),
    ),
    Row(
        "constant as a placeholder",
        lambda: compute(P, P, X),
        "f8[H=2, W=3] as a placeholder | a Tensor made otherwise | placeholder(axes) made",
        lambda: compute(P + X, P)(ONES),
    ),
    Row(
        "output that is an array",
        lambda: compute(ONES),
        "a computation | outputs of type ndarray | constant(value, axes)",
        lambda: compute(X)(),
    ),
    Row(
        "too few arguments",
        lambda: compute(P * Q, P, Q)(ONES),
        "a call with 1 argument | placeholders f8[H=2, W=3], f8[W=3] | one array per placeholder",
        lambda: compute(P * Q, Q, P)([1, 2, 3], ONES),
    ),
    Row(
        "argument that would stretch",
        lambda: compute(P, P)(np.ones((1, 3))),
        "argument 0 for the placeholder f8[H=2, W=3] | shape (1, 3) | an array of shape (2, 3)",
        lambda: compute(P, P)(np.broadcast_to(np.ones((1, 3)), (2, 3))),
    ),
    Row(
        "argument in another order",
        lambda: compute(P, P)(ONES.T),
        "argument 0 for the placeholder f8[H=2, W=3] | shape (3, 2) | one dimension per axis",
        lambda: compute(P, P)(aj.NamedArray(ONES.T, [W, H])),
    ),
    Row(
        "argument with other axes",
        lambda: compute(P, P)(aj.NamedArray(ONES, [A, W])),
        "placeholder f8[H=2, W=3] | the named array f8[A=2, W=3] | the axes of the placeholder",
        lambda: compute(P, P)(np.asarray(aj.NamedArray(ONES, [A, W]))),
    ),
    Row(
        "argument of another kind",
        lambda: compute(P, P)(ONES * 1j),
        "argument 0 for the placeholder f8[H=2, W=3] | dtype complex128 | .astype(np.float64)",
        lambda: compute(P, P)(ONES.astype(int)),
    ),
    Row(
        "ragged argument",
        lambda: compute(P, P)([[1, 2, 3], [4, 5]]),
        "argument 0 for the placeholder f8[H=2, W=3] | inhomogeneous | pass an array",
        lambda: compute(P, P)([[1, 2, 3], [4, 5, 6]]),
    ),
    Row(
        "placeholder as an argument",
        lambda: compute(P, P)(P),
        "the values of f8[H=2, W=3] | depends on the placeholders f8[H=2, W=3] | computation",
        lambda: compute(P, P)(X),
    ),
    Row(
        "argument for an axis without a length",
        lambda: compute(L + 1, L)([1.0, 2.0]),
        "values of f8[later=?] | no length for Axis(later=?) | assign axis.length before the call",
        lambda: compute(P + 1, P)(ONES),
    ),
    Row(
        "array beside named arrays under jit",
        lambda: aj.jit(lambda x, y: x + y)(aj.NamedArray(ONES, [H, W]), ONES),
        "argument y beside named arrays | an array of shape (2, 3) | NamedArray(value, axes)",
        lambda: aj.jit(lambda x, y: x + y)(aj.NamedArray(ONES, [H, W]), 2),
    ),
    Row(
        "array of a compiled function beside a tensor",
        lambda: aj.jit(lambda x: x + X)(ONES),
        "add of ndarray and f8[H=2, W=3] | an array that the compiled function | NamedArray(value",
        lambda: aj.jit(lambda x: x + X)(aj.NamedArray(ONES, [H, W])),
    ),
]
