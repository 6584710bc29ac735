"""Differences, areas, products of neighbours, choices and norms in compiled functions."""

import numpy as np
import pytest

import axiomjit as aj
from tests.numpy_rules.library_cases import assert_as_numpy, assert_in_layouts, outcome

RNG = np.random.default_rng(10)
CODES = ["f8", "f4", "i8", "u1", "c16"]


def values(code, *shape):
    a = RNG.integers(1, 9, shape) * 1.5
    return (a + 1j * a[::-1]).astype(code) if code[0] == "c" else a.astype(code)


ROWS = {
    "diff": np.diff,
    "diff twice": lambda a: np.diff(a, 2, axis=0),
    "diff ends": lambda a: np.diff(a, prepend=0, append=a[:, :2]),
    "diff none": lambda a: np.diff(a, 0),
    "ediff1d": np.ediff1d,
    "ediff1d ends": lambda a: np.ediff1d(a, to_begin=a[0], to_end=[1, 2]),
    "trapezoid": np.trapezoid,
    "trapezoid steps": lambda a: np.trapezoid(a, dx=0.5, axis=0),
    "trapezoid points": lambda a: np.trapezoid(a, x=a[0]),
    "trapezoid columns": lambda a: np.trapezoid(a, x=a[:, 0], axis=0),
    "trapezoid points of stacks": lambda a: np.trapezoid(np.stack([a, -a]), x=a),
    "trapezoid all points": lambda a: np.trapezoid(a, x=a * 2, axis=0),
    "kron": lambda a: np.kron(a, a[:2, :3]),
    "kron ranks": lambda a: np.kron(a[0], a),
    "cross": lambda a: np.cross(a[:, :3], a[:, 3:]),
    "cross axes": lambda a: np.cross(a[:3], a[0, :3], axisa=0, axisc=0),
    "linalg cross": lambda a: np.linalg.cross(a[:3], a[1:], axis=0),
    "convolve": lambda a: np.convolve(a[0], a[1, :3]),
    "convolve same": lambda a: np.convolve(a[0, :3], a[1], mode="same"),
    "convolve valid": lambda a: np.convolve(a[0], a[1, :3], "valid"),
    "convolve number": lambda a: np.convolve(a[0], 2),
    "correlate": lambda a: np.correlate(a[0], a[1, :3]),
    "correlate full": lambda a: np.correlate(a[0, :2], a[1], mode="full"),
    "choose": lambda a: np.choose(a.real.astype(int) % 3, [a, a[0] * 2, 7]),
    "choose array": lambda a: np.choose((a[0] * 0).real.astype(int) + 1, a),
    "choose wrap": lambda a: np.choose(a.real.astype(int), (a, -1), mode="wrap"),
    "method choose": lambda a: (a.real.astype(int) % 2).choose([a, a * 3], mode="clip"),
    "select": lambda a: np.select([a.real > 6, a.real > 3], [a * 2, 1], 0),
    "select rows": lambda a: np.select(
        [a.real > 6, a[0].real > 3], [a[0], a + 1], default=a[:, :1]
    ),
}
NORMS = {
    "norm": np.linalg.norm,
    "norm keeps": lambda a: np.linalg.norm(a, keepdims=True),
    "norm axis": lambda a: np.linalg.norm(a, axis=0),
    "norm 1": lambda a: np.linalg.norm(a, 1, axis=1, keepdims=True),
    "norm 0": lambda a: np.linalg.norm(a, 0, axis=1),
    "norm 3": lambda a: np.linalg.norm(a, 3, axis=0),
    "norm inf": lambda a: np.linalg.norm(a[0], np.inf),
    "norm -inf": lambda a: np.linalg.norm(a, -np.inf, axis=-1),
    "norm inf of nothing": lambda a: np.linalg.norm(a[:0], np.inf, axis=0),
    "matrix 1 of nothing": lambda a: np.linalg.norm(a[:, :0], 1),
    "matrix 2 of nothing": lambda a: np.linalg.norm(a[:0], 2),
    "vector 2": lambda a: np.linalg.norm(a[0], 2),
    "matrix fro": lambda a: np.linalg.norm(a, "fro"),
    "matrix 1": lambda a: np.linalg.norm(a, 1),
    "matrix -1": lambda a: np.linalg.norm(a, -1, axis=(1, 0)),
    "matrix inf": lambda a: np.linalg.norm(a, np.inf, keepdims=True),
    "matrix 2": lambda a: np.linalg.norm(a, 2),
    "matrix -2": lambda a: np.linalg.norm(a, -2, axis=(1, 0)),
    "matrix nuc": lambda a: np.linalg.norm(a, "nuc"),
    "matrix_norm": lambda a: np.linalg.matrix_norm(a, keepdims=True),
    "matmul": lambda a: np.linalg.matmul(a, a.T),
    "matrix_transpose": np.linalg.matrix_transpose,
    "diagonal": lambda a: np.linalg.diagonal(a, offset=1) * 2,
    "trace": np.linalg.trace,
    "vector_norm": lambda a: np.linalg.vector_norm(a, keepdims=True),
    "vector_norm axis": lambda a: np.linalg.vector_norm(a, axis=1, ord=1),
    "outer": lambda a: np.outer(a, a[0]),
    "linalg outer": lambda a: np.linalg.outer(a[0], a[1]),
    "inner": lambda a: np.inner(a, a[:2]),
    "inner number": lambda a: np.inner(a, 2),
    "vdot": lambda a: np.vdot(a, a[::-1]),
    "vecdot": lambda a: np.linalg.vecdot(a, a[0]),
    "vecdot axis": lambda a: np.linalg.vecdot(a, a, axis=0),
    "tensordot": lambda a: np.tensordot(a, a.T, 1),
    "tensordot all": lambda a: np.tensordot(a, a) + 0,
    "tensordot axes": lambda a: np.tensordot(a[None], a, axes=([2, 1], [1, 0])),
    "tensordot none": lambda a: np.linalg.tensordot(a[0], a, axes=0),
    "tensorsolve": lambda a: np.linalg.tensorsolve(
        a[:2, :4].reshape(4, 2)[:, None, :] * np.eye(4)[:, :2, None] + np.eye(4).reshape(4, 2, 2),
        a[0, :4],
    ),
}


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ROWS)
def test_rows(name, code):
    assert_in_layouts(ROWS[name], values(code, 4, 6), rtol=1e-5 if code == "f4" else 1e-13)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", NORMS)
def test_norms(name, code):
    assert_in_layouts(NORMS[name], values(code, 4, 6), rtol=1e-4 if code == "f4" else 1e-12)


def test_bools_differ():
    a = RNG.integers(0, 2, (4, 6)).astype(bool)
    assert_as_numpy(np.diff, a)
    assert_as_numpy(lambda a: np.select([a, ~a], [1.5, 2]), a)


def test_differences_are_compiled():
    lowered = aj.jit(lambda x: (np.diff(x) ** 2).sum()).lower(np.arange(900.0))
    assert lowered.cost.kernels == 1
    assert lowered.cost.temporary_bytes == 0


REFUSED = {
    "order": (lambda a: np.diff(a, -1), np.ones(3)),
    "no dimensions": (lambda a: np.diff(a[0]), np.ones(3)),
    "vectors": (lambda a: np.cross(a, a), np.ones(4)),
    "three": (lambda a: np.linalg.cross(a, a), np.ones(4)),
    "empty": (lambda a: np.convolve(a[:0], a), np.ones(4)),
    "empty second": (lambda a: np.correlate(a, a[:0]), np.ones(4)),
    "choices": (lambda a: np.choose(a.astype(int) + 9, [a, a]), np.ones(4)),
    "conditions": (lambda a: np.select([a], [a]), np.ones(4)),
    "as many": (lambda a: np.select([a > 1], [a, a]), np.ones(4)),
    "no conditions": (lambda a: np.select([], []) + a, np.ones(4)),
    "lengths": (lambda a: np.tensordot(a, a[1:], 1), np.ones(4)),
    "outer of matrices": (lambda a: np.linalg.outer(a, a), np.ones((4, 4))),
    "norm of vectors": (lambda a: np.linalg.norm(a, "fro"), np.ones(4)),
    "norm of matrices": (lambda a: np.linalg.norm(a, 3), np.ones((4, 4))),
    "norm of more": (lambda a: np.linalg.norm(a, 2), np.ones((4, 4, 1))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name):
    function, a = REFUSED[name]
    want, found = outcome(function, (a,)), outcome(aj.jit(lambda a: function(a)), (a,))
    assert found == want
