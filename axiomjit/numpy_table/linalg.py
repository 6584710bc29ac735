"""The part of the NumPy table that factors and solves matrices: calls of NumPy's `linalg`.

What NumPy refuses for its shape is refused while a function is followed, with NumPy's message.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult

from axiomjit.base.dtypes import is_complex
from axiomjit.graph import builder
from axiomjit.graph.external_calls import ArrayCall, Options, cubic, in_tuple, refused_by
from axiomjit.graph.nodes import Node
from axiomjit.numpy_table.options import Row, refuse
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.dims import Dim, dim

Shape = tuple[Dim, ...]


def _matrices(a: object, name: str) -> Node:
    """The node of a stack of matrices."""
    node = array_node(a, name)
    if len(node.shape) < 2:
        raise _other_rank(node, "at least two-dimensional")
    return node


def _other_rank(node: Node, wanted: str) -> LinAlgError:
    """NumPy's error for an array with other dimensions than are wanted."""
    return LinAlgError(f"{len(node.shape)}-dimensional array given. Array must be {wanted}")


def _squares(a: object, name: str) -> Node:
    """The node of a stack of square matrices."""
    node = _matrices(a, name)
    if node.shape[-1] != node.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return node


def _least(left: Dim, right: Dim) -> Dim:
    """The smaller of two lengths at hand, which leaves a guard."""
    return left if left <= right else right


def _call(
    function: Callable[..., Any], *operands: Node, fails: bool = True, **options: Any
) -> ArrayCall:
    name = f"linalg.{function.__name__}"
    given: Options = tuple(options.items())
    return ArrayCall(name, function, operands, given, additions=cubic, fails=fails)


def _one(call: ArrayCall, shape: Shape) -> Node:
    """The node of the only result of a call."""
    (dtype,) = call.dtypes()
    return call.result(shape, dtype)


def _inv(a: object) -> Node:
    node = _squares(a, "inv")
    return _one(_call(np.linalg.inv, node), node.shape)


def _det(a: object) -> Node:
    node = _squares(a, "det")
    return _one(_call(np.linalg.det, node, fails=False), node.shape[:-2])


def _slogdet(a: object) -> tuple[Node, ...]:
    node = _squares(a, "slogdet")
    call = _call(np.linalg.slogdet, node, fails=False)
    return in_tuple(SlogdetResult, *call.results(node.shape[:-2], node.shape[:-2]))


def _cholesky(a: object, /, *, upper: bool = False) -> Node:
    node = _squares(a, "cholesky")
    return _one(_call(np.linalg.cholesky, node, upper=bool(upper)), node.shape)


def _uplo(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper()


def _eigh(a: object, UPLO: str = "L") -> tuple[Node, ...]:
    uplo, node = _uplo(UPLO), _squares(a, "eigh")
    return in_tuple(
        EighResult, *_call(np.linalg.eigh, node, UPLO=uplo).results(node.shape[:-1], node.shape)
    )


def _eigvalsh(a: object, UPLO: str = "L") -> Node:
    uplo, node = _uplo(UPLO), _squares(a, "eigvalsh")
    return _one(_call(np.linalg.eigvalsh, node, UPLO=uplo), node.shape[:-1])


def _general(function: Callable[..., Any], node: Node) -> tuple[ArrayCall, tuple[Any, ...]]:
    """A call whose results are complex, or real where all imaginary parts are 0, and its dtypes.

    They are taken to be complex, which they seldom are not.
    """
    call = _call(function, node).replace(guesses=not is_complex(node.dtype))
    return call, tuple(np.result_type(one, np.complex64) for one in call.dtypes())


def _eig(a: object) -> tuple[Node, ...]:
    node = _squares(a, "eig")
    call, dtypes = _general(np.linalg.eig, node)
    return in_tuple(
        EigResult, call.result(node.shape[:-1], dtypes[0], 0), call.result(node.shape, dtypes[1], 1)
    )


def _eigvals(a: object) -> Node:
    node = _squares(a, "eigvals")
    call, (dtype,) = _general(np.linalg.eigvals, node)
    return call.result(node.shape[:-1], dtype)


def _svd(
    a: object, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Node | tuple[Node, ...]:
    node = _squares(a, "svd") if hermitian else _matrices(a, "svd")
    rows, columns = node.shape[-2:]
    least, stack = _least(rows, columns), node.shape[:-2]
    options = {"full_matrices": bool(full_matrices), "hermitian": bool(hermitian)}
    if not compute_uv:
        call = _call(np.linalg.svd, node, **options, compute_uv=False)
        return _one(call, (*stack, least))
    left = (*stack, rows, rows if full_matrices else least)
    right = (*stack, columns if full_matrices else least, columns)
    results = _call(np.linalg.svd, node, **options).results(left, (*stack, least), right)
    return in_tuple(SVDResult, *results)


def singular_values(node: Node) -> Node:
    """The singular values of a stack of matrices, in falling order."""
    return _one(_call(np.linalg.svdvals, node), (*node.shape[:-2], _least(*node.shape[-2:])))


def _qr(a: object, mode: str = "reduced") -> Node | tuple[Node, ...]:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    node = _matrices(a, "qr")
    rows, columns = node.shape[-2:]
    least, stack = _least(rows, columns), node.shape[:-2]
    call = _call(np.linalg.qr, node, mode=mode)
    if mode == "r":
        return _one(call, (*stack, least, columns))
    if mode == "raw":
        return call.results((*stack, columns, rows), (*stack, least))
    inner = rows if mode == "complete" else least
    return in_tuple(QRResult, *call.results((*stack, rows, inner), (*stack, inner, columns)))


def _solve(a: object, b: object) -> Node:
    node, right = _squares(a, "solve"), array_node(b, "solve")
    length, vector = node.shape[-1], len(right.shape) == 1
    if not right.shape or right.shape[-1 if vector else -2] != length:
        refused_by(np.linalg.solve, node, right)
    stacks = [node.shape[:-2], () if vector else right.shape[:-2]]
    stack = builder.broadcast_shapes(stacks, "solve", node, right)
    own = (length,) if vector else right.shape[-2:]
    return _one(_call(np.linalg.solve, node, right), (*stack, *own))


def _lstsq(a: object, b: object, rcond: Any = None) -> tuple[Node, ...]:
    node, right = array_node(a, "lstsq"), array_node(b, "lstsq")
    for one in (node, right if len(right.shape) != 1 else node):
        if len(one.shape) != 2:
            raise _other_rank(one, "two-dimensional")
    (rows, columns), more = node.shape, right.shape[1:]
    if rows != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    call = _call(np.linalg.lstsq, node, right, rcond=rcond)
    # residuals are given where there are more rows than columns, all of them independent
    tall = columns < rows
    residuals = (more or (dim(1),)) if tall else (dim(0),)
    shapes = (columns, *more), residuals, (), (_least(rows, columns),)
    return call.replace(guesses=tall).results(*shapes)


def _pinv(
    a: object, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue
) -> Node:
    node = _squares(a, "pinv") if hermitian else _matrices(a, "pinv")
    options = {"rcond": rcond, "hermitian": bool(hermitian)}
    if rtol is not np._NoValue:
        options["rtol"] = rtol
    *stack, rows, columns = node.shape
    return _one(_call(np.linalg.pinv, node, **options), (*stack, columns, rows))


def _matrix_rank(A: object, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Node:
    if len(array_node(A, "matrix_rank").shape) < 2:
        raise refuse("matrix_rank", "A", A)
    node = _squares(A, "matrix_rank") if hermitian else _matrices(A, "matrix_rank")
    options = {"tol": tol, "hermitian": bool(hermitian), "rtol": rtol}
    return _one(_call(np.linalg.matrix_rank, node, **options), node.shape[:-2])


def _matrix_power(a: object, n: int) -> Node:
    node = _squares(a, "matrix_power")
    exponent = operator.index(n)
    if exponent == 1:
        return node
    return _one(_call(np.linalg.matrix_power, node, n=exponent), node.shape)


def _cond(x: object, p: Any = None) -> Node:
    node = (_matrices if p in (None, 2, -2) else _squares)(x, "cond")
    return _one(_call(np.linalg.cond, node, p=p), node.shape[:-2])


def _multi_dot(arrays: Any, *, out: Any = None) -> Node:
    nodes = [array_node(a, "multi_dot") for a in arrays]
    if len(nodes) < 2:
        raise ValueError("Expecting at least two arrays.")
    for k, node in enumerate(nodes):
        end = k in (0, len(nodes) - 1)
        if not (len(node.shape) == 2 or (end and len(node.shape) == 1)):
            raise _other_rank(node, "two-dimensional")
    found = nodes[0]
    for node in nodes[1:]:
        found = builder.dot(found, node)
    return found


def _tensorinv(a: object, ind: int = 2) -> Node:
    node, at = array_node(a, "tensorinv"), operator.index(ind)
    if at <= 0:
        raise ValueError("Invalid ind argument.")
    return _one(_call(np.linalg.tensorinv, node, ind=at), (*node.shape[at:], *node.shape[:at]))


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {
    np.linalg.inv: _inv,
    np.linalg.det: _det,
    np.linalg.slogdet: _slogdet,
    np.linalg.cholesky: _cholesky,
    np.linalg.eigh: _eigh,
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.eig: _eig,
    np.linalg.eigvals: _eigvals,
    np.linalg.svd: _svd,
    np.linalg.svdvals: lambda x, /: singular_values(_matrices(x, "svdvals")),
    np.linalg.qr: _qr,
    np.linalg.solve: _solve,
    np.linalg.lstsq: _lstsq,
    np.linalg.pinv: _pinv,
    np.linalg.matrix_rank: _matrix_rank,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.cond: _cond,
    np.linalg.multi_dot: _multi_dot,
    np.linalg.tensorinv: _tensorinv,
}
