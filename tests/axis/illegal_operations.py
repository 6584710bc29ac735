"""Illegal elementwise operations and reductions."""

import numpy as np

import axiomjit as aj
from tests.axis.illegal import EMPTY, LATE_K, ONES, A, B, D, H, N, Row, W, X, ones, with_outer

ELEMENTWISE = [
    Row(
        "array without axes on the right",
        lambda: X + ONES,
        "add of f8[H=2, W=3] and ndarray | an array of shape (2, 3) | constant(value, axes)",
        lambda: X + aj.constant(ONES, [H, W]),
    ),
    Row(
        "array without axes on the left",
        lambda: np.ones(3) * X,
        "multiply of ndarray and f8[H=2, W=3] | an array of shape (3,) | constant(value, axes)",
        lambda: np.float32(3) * X,
    ),
    Row(
        "list as an operand",
        lambda: aj.maximum(X, [1, 2, 3]),
        "maximum of f8[H=2, W=3] and list | a list | constant(value, axes)",
        lambda: aj.maximum(X, np.array(2)),
    ),
    Row(
        "text as an operand",
        lambda: X - "1",
        "subtract of f8[H=2, W=3] and str | a str | constant(value, axes)",
        lambda: X - 1,
    ),
    Row(
        "two candidates of one class on the left",
        lambda: ones(A, B) + ones(D),
        "add of f8[A=2, B=2] and f8[D=2] | more than one pair could meet | cast_axes(x, axes)",
        lambda: ones(A, B) + aj.cast_axes(ones(D), [A]),
    ),
    Row(
        "two candidates of one class on the right",
        lambda: ones(D) * ones(A, B),
        "multiply of f8[D=2] and f8[A=2, B=2] | more than one pair could meet | cast_axes",
        lambda: ones(A) * ones(A, B),
    ),
    Row(
        "unknown length within a class",
        lambda: aj.placeholder([LATE_K]) + ones(A),
        "f8[late=?] and f8[A=2] | [late=?, A=2] of one class | say which axes meet with cast_axes",
        lambda: aj.cast_axes(aj.placeholder([LATE_K]), [A]) + ones(A),
    ),
    Row(
        "unknown length within a class, other side",
        lambda: ones(A) / aj.placeholder([LATE_K]),
        "divide of f8[A=2] and f8[late=?] | length of one is unknown | assign their lengths",
        lambda: ones(A) / ones(B),
    ),
    Row(
        "outer product where none is wanted",
        lambda: with_outer("error", lambda: ones(H) * ones(W)),
        "multiply of f8[H=2] and f8[W=3] | an outer product: [H=2] and [W=3] | broadcast(x, axes)",
        lambda: with_outer("error", lambda: ones(H) * aj.broadcast(ones(W), [H, W])),
    ),
    Row(
        "outer product by dot where none is wanted",
        lambda: with_outer("error", lambda: aj.dot(ones(H), ones(W))),
        "dot of f8[H=2] and f8[W=3] | no axis in common | cast_axes(x, axes)",
        lambda: with_outer("error", lambda: aj.dot(ones(H), ones(H, W))),
    ),
    Row(
        "policy that is none",
        lambda: with_outer("never", lambda: None),
        "config.outer = 'never' | no such policy | one of 'error', 'warn', 'allow'",
        lambda: with_outer("warn", lambda: None),
    ),
    Row(
        "bits of floats",
        lambda: X & X,
        "bitwise_and | not supported for the input types | convert the operands",
        lambda: (X > 0) & (X < 1),
    ),
    Row(
        "operands that do not go into a dtype",
        lambda: aj.add(X, 1j * X, dtype="f8"),
        "add of f8[H=2, W=3] and c16[H=2, W=3] with dtype f8 | an operand c16 | astype(x, dtype)",
        lambda: aj.add(X, X, dtype="f4"),
    ),
    Row(
        "choice by an array without axes",
        lambda: aj.where(np.array([True, False]), X, 0),
        "where of ndarray and f8[H=2, W=3] and 0 | an array of shape (2,) | constant(value, axes)",
        lambda: aj.where(aj.constant([True, False], [H]), X, 0),
    ),
    Row(
        "limit without axes",
        lambda: aj.clip(X, None, np.ones(3)),
        "clip of f8[H=2, W=3] and ndarray | an array of shape (3,) | constant(value, axes)",
        lambda: aj.clip(X, None, 0.5),
    ),
    Row(
        "integers to powers that are tensors",
        lambda: aj.constant([1, 2], [H]) ** aj.constant([1, 2], [H]),
        "power( | an array of integer exponents | or floats",
        lambda: aj.constant([1, 2], [H]) ** 2,
    ),
    Row(
        "ufunc with options",
        lambda: np.add(X, 1, where=True),
        "np.add of f8[H=2, W=3] and 1 | __call__ with where | call the ufunc itself",
        lambda: np.add(X, 1),
    ),
    Row(
        "ufunc beyond the table",
        lambda: np.nextafter(X, 2),
        "np.nextafter of f8[H=2, W=3] and 2 | outside the table | x.eval()",
        lambda: np.nextafter(X.eval(), 2),
    ),
]

OVER_AXES = [
    Row(
        "sum over a foreign axis",
        lambda: aj.sum(X, [N]),
        "sum of f8[H=2, W=3] | axes [H=2, W=3], none of which is N=4 | one of its axes: 'H'",
        lambda: aj.sum(X, [W]),
    ),
    Row(
        "sum over an offset axis that is not there",
        lambda: aj.sum(X, [H - 1]),
        "sum of f8[H=2, W=3] | axes [H=2, W=3], none of which is H-1=2 | name one of its axes",
        lambda: aj.sum(X.T, [H - 1]),
    ),
    Row(
        "sum over an axis twice",
        lambda: aj.sum(X, [H, H]),
        "axes [H=2, H=2] | H=2 more than once | use each axis once",
        lambda: aj.sum(X, [H]),
    ),
    Row(
        "axis both reduced and left",
        lambda: aj.max(X, [H], [H, W]),
        "max of f8[H=2, W=3] over [H=2], leaving [H=2, W=3] | H=2 both reduced and left | give",
        lambda: aj.max(X, [H], [W]),
    ),
    Row(
        "axis neither reduced nor left",
        lambda: aj.mean(X, [H], []),
        "mean of f8[H=2, W=3] over [H=2], leaving [] | W=3 neither reduced nor left | give only",
        lambda: aj.mean(X, [H, W], []),
    ),
    Row(
        "foreign axis left",
        lambda: aj.prod(X, out_axes=[N]),
        "prod of f8[H=2, W=3] | axes [H=2, W=3], none of which is N=4 | name one of its axes",
        lambda: aj.prod(X, out_axes=[W]),
    ),
    Row(
        "largest element of nothing",
        lambda: aj.max(ones(H, EMPTY), [EMPTY]),
        "max over [empty=0] | max of nothing has no value | reduce axes that have a position",
        lambda: aj.max(ones(H, EMPTY), [H]),
    ),
    Row(
        "place of the largest element of nothing",
        lambda: aj.argmax(ones(EMPTY)),
        "argmax over [empty=0] | argmax of nothing has no value | reduce axes that have a position",
        lambda: aj.argmax(ones(H)),
    ),
    Row(
        "sum over positions",
        lambda: aj.sum(X, 0),
        "sum of f8[H=2, W=3] | 0 of type int as an axis | name one of its axes: 'H'",
        lambda: aj.sum(X, X.axes[0]),
    ),
    Row(
        "variance of an array without axes",
        lambda: aj.variance(ONES),
        "variance of ndarray | an array of shape (2, 3) | constant(value, axes)",
        lambda: aj.variance(aj.NamedArray(ONES, [H, W])),
    ),
    Row(
        "squares over a foreign axis",
        lambda: aj.squared_L2(X, [N]),
        "squared_L2 of f8[H=2, W=3] | none of which is N=4 | name one of its axes",
        lambda: aj.squared_L2(X, [H]),
    ),
    Row(
        "size along a foreign axis",
        lambda: aj.tensor_size(X, [N]),
        "tensor_size of f8[H=2, W=3] | none of which is N=4 | name one of its axes",
        lambda: aj.tensor_size(X, [H]),
    ),
    Row(
        "product with an array without axes",
        lambda: aj.dot(X, np.ones(3)),
        "dot of f8[H=2, W=3] and ndarray | an array of shape (3,) | constant(value, axes)",
        lambda: aj.dot(X, aj.constant(np.ones(3), [W])),
    ),
    Row(
        "product with a text",
        lambda: aj.dot(X, "W"),
        "dot of f8[H=2, W=3] and str | a str | constant(value, axes)",
        lambda: aj.dot(X, 2),
    ),
    Row(
        "reduction of NumPy with options",
        lambda: np.sum(X, keepdims=True),
        "np.sum of f8[H=2, W=3] | called with keepdims | leave keepdims out",
        lambda: np.sum(X, axis=W),
    ),
    Row(
        "product of NumPy",
        lambda: np.dot(X, X),
        "np.dot of f8[H=2, W=3] | it has no form for named axes | np.asarray(x)",
        lambda: np.dot(np.asarray(X), ONES.T),
    ),
]
