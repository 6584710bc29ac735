"""The rules of `numpy.linalg`, of norms, and of products over any dimensions.

If NumPy refuses the shape of an operand, the trace raises an error with NumPy's message.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index
from numpy.linalg import LinAlgError
from numpy.linalg._linalg import EighResult, EigResult, QRResult, SlogdetResult, SVDResult

from axiomjit.base.dtypes import FLOAT, is_complex, is_inexact
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.external_calls import (
    ArrayCall,
    Options,
    as_named_tuple,
    cubic_cost,
    raise_numpy_error,
)
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import MAX, MIN, PRIMITIVES, SUM, UfuncFold
from axiomjit.graph.shape_ops import insert_dimensions, reshaped
from axiomjit.numpy_rules.elementwise import UFUNCS, axis_last, conjugates, matmul_node
from axiomjit.numpy_rules.neighbours import FUNCTIONS as NEIGHBOURS
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.numpy_rules.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.numpy_rules.shapes import FUNCTIONS as SHAPES
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import IndexMap, iterator

Shape = tuple[Dim, ...]


def _matrices(a: object, name: str) -> Node:
    """The node of an array that must be a stack of matrices."""
    node = array_node(a, name)
    if len(node.shape) < 2:
        raise _other_rank(node, "at least two-dimensional")
    return node


def _other_rank(node: Node, wanted: str) -> LinAlgError:
    return LinAlgError(f"{len(node.shape)}-dimensional array given. Array must be {wanted}")


def _squares(a: object, name: str) -> Node:
    """The node of an array that must be a stack of square matrices."""
    node = _matrices(a, name)
    if node.shape[-1] != node.shape[-2]:
        raise LinAlgError("Last 2 dimensions of the array must be square")
    return node


def _smaller(left: Dim, right: Dim) -> Dim:
    """The smaller of two lengths; the comparison records a guard."""
    return left if left <= right else right


def _call(
    function: Callable[..., Any], *operands: Node, may_raise: bool = True, **options: Any
) -> ArrayCall:
    name = f"linalg.{function.__name__}"
    given: Options = tuple(options.items())
    return ArrayCall(name, function, operands, given, additions=cubic_cost, may_raise=may_raise)


def _only_result(call: ArrayCall, shape: Shape) -> Node:
    """The node of the only result of a call."""
    (dtype,) = call.dtypes()
    return call.result(shape, dtype)


def _inv(a: object) -> Node:
    node = _squares(a, "inv")
    return _only_result(_call(np.linalg.inv, node), node.shape)


def _det(a: object) -> Node:
    node = _squares(a, "det")
    return _only_result(_call(np.linalg.det, node, may_raise=False), node.shape[:-2])


def _slogdet(a: object) -> tuple[Node, ...]:
    node = _squares(a, "slogdet")
    call = _call(np.linalg.slogdet, node, may_raise=False)
    return as_named_tuple(SlogdetResult, *call.results(node.shape[:-2], node.shape[:-2]))


def _cholesky(a: object, /, *, upper: bool = False) -> Node:
    node = _squares(a, "cholesky")
    return _only_result(_call(np.linalg.cholesky, node, upper=bool(upper)), node.shape)


def _uplo(UPLO: str) -> str:
    if UPLO.upper() not in ("L", "U"):
        raise ValueError("UPLO argument must be 'L' or 'U'")
    return UPLO.upper()


def _eigh(a: object, UPLO: str = "L") -> tuple[Node, ...]:
    uplo, node = _uplo(UPLO), _squares(a, "eigh")
    return as_named_tuple(
        EighResult, *_call(np.linalg.eigh, node, UPLO=uplo).results(node.shape[:-1], node.shape)
    )


def _eigvalsh(a: object, UPLO: str = "L") -> Node:
    uplo, node = _uplo(UPLO), _squares(a, "eigvalsh")
    return _only_result(_call(np.linalg.eigvalsh, node, UPLO=uplo), node.shape[:-1])


def _complex_call(function: Callable[..., Any], node: Node) -> tuple[ArrayCall, tuple[Any, ...]]:
    """A call of a function with complex results, and the dtypes of these results.

    NumPy returns real results if all imaginary parts are 0. Programs expect complex results; if a
    result is real, NumPy runs the call.
    """
    call = _call(function, node).replace(is_speculative=not is_complex(node.dtype))
    return call, tuple(np.result_type(one, np.complex64) for one in call.dtypes())


def _eig(a: object) -> tuple[Node, ...]:
    node = _squares(a, "eig")
    call, dtypes = _complex_call(np.linalg.eig, node)
    return as_named_tuple(
        EigResult, call.result(node.shape[:-1], dtypes[0], 0), call.result(node.shape, dtypes[1], 1)
    )


def _eigvals(a: object) -> Node:
    node = _squares(a, "eigvals")
    call, (dtype,) = _complex_call(np.linalg.eigvals, node)
    return call.result(node.shape[:-1], dtype)


def _svd(
    a: object, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Node | tuple[Node, ...]:
    node = _squares(a, "svd") if hermitian else _matrices(a, "svd")
    rows, columns = node.shape[-2:]
    least, stack = _smaller(rows, columns), node.shape[:-2]
    options = {"full_matrices": bool(full_matrices), "hermitian": bool(hermitian)}
    if not compute_uv:
        call = _call(np.linalg.svd, node, **options, compute_uv=False)
        return _only_result(call, (*stack, least))
    left = (*stack, rows, rows if full_matrices else least)
    right = (*stack, columns if full_matrices else least, columns)
    results = _call(np.linalg.svd, node, **options).results(left, (*stack, least), right)
    return as_named_tuple(SVDResult, *results)


def singular_values(node: Node) -> Node:
    """The singular values of a stack of matrices, in descending order."""
    return _only_result(
        _call(np.linalg.svdvals, node), (*node.shape[:-2], _smaller(*node.shape[-2:]))
    )


def _qr(a: object, mode: str = "reduced") -> Node | tuple[Node, ...]:
    if mode not in ("reduced", "complete", "r", "raw"):
        raise ValueError(f"Unrecognized mode '{mode}'")
    node = _matrices(a, "qr")
    rows, columns = node.shape[-2:]
    least, stack = _smaller(rows, columns), node.shape[:-2]
    call = _call(np.linalg.qr, node, mode=mode)
    if mode == "r":
        return _only_result(call, (*stack, least, columns))
    if mode == "raw":
        return call.results((*stack, columns, rows), (*stack, least))
    inner = rows if mode == "complete" else least
    return as_named_tuple(QRResult, *call.results((*stack, rows, inner), (*stack, inner, columns)))


def _solve(a: object, b: object) -> Node:
    node, right = _squares(a, "solve"), array_node(b, "solve")
    length, vector = node.shape[-1], len(right.shape) == 1
    if not right.shape or right.shape[-1 if vector else -2] != length:
        raise_numpy_error(np.linalg.solve, node, right)
    stacks = [node.shape[:-2], () if vector else right.shape[:-2]]
    stack = builder.broadcast_shapes(stacks, "solve", node, right)
    own = (length,) if vector else right.shape[-2:]
    return _only_result(_call(np.linalg.solve, node, right), (*stack, *own))


def _lstsq(a: object, b: object, rcond: Any = None) -> tuple[Node, ...]:
    node, right = array_node(a, "lstsq"), array_node(b, "lstsq")
    for one in (node, right if len(right.shape) != 1 else node):
        if len(one.shape) != 2:
            raise _other_rank(one, "two-dimensional")
    (rows, columns), more = node.shape, right.shape[1:]
    if rows != right.shape[0]:
        raise LinAlgError("Incompatible dimensions")
    call = _call(np.linalg.lstsq, node, right, rcond=rcond)
    # NumPy returns residuals only for matrices of full rank with more rows than columns
    tall = columns < rows
    residuals = (more or (dim(1),)) if tall else (dim(0),)
    shapes = (columns, *more), residuals, (), (_smaller(rows, columns),)
    return call.replace(is_speculative=tall).results(*shapes)


def _pinv(
    a: object, rcond: Any = None, hermitian: bool = False, *, rtol: Any = np._NoValue
) -> Node:
    node = _squares(a, "pinv") if hermitian else _matrices(a, "pinv")
    options = {"rcond": rcond, "hermitian": bool(hermitian)}
    if rtol is not np._NoValue:
        options["rtol"] = rtol
    *stack, rows, columns = node.shape
    return _only_result(_call(np.linalg.pinv, node, **options), (*stack, columns, rows))


def _matrix_rank(A: object, tol: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Node:
    if len(array_node(A, "matrix_rank").shape) < 2:
        raise refuse("matrix_rank", "A", A)
    node = _squares(A, "matrix_rank") if hermitian else _matrices(A, "matrix_rank")
    options = {"tol": tol, "hermitian": bool(hermitian), "rtol": rtol}
    return _only_result(_call(np.linalg.matrix_rank, node, **options), node.shape[:-2])


def _matrix_power(a: object, n: int) -> Node:
    node = _squares(a, "matrix_power")
    exponent = operator.index(n)
    if exponent == 1:
        return node
    return _only_result(_call(np.linalg.matrix_power, node, n=exponent), node.shape)


def _cond(x: object, p: Any = None) -> Node:
    node = (_matrices if p in (None, 2, -2) else _squares)(x, "cond")
    return _only_result(_call(np.linalg.cond, node, p=p), node.shape[:-2])


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
    return _only_result(
        _call(np.linalg.tensorinv, node, ind=at), (*node.shape[at:], *node.shape[:at])
    )


_MULTIPLY: Final = PRIMITIVES["multiply"]
_SQRT, _ABSOLUTE = (PRIMITIVES[name] for name in ("sqrt", "absolute"))


def _square_of(node: Node) -> Node:
    """The squares of the absolute values of elements."""
    if not is_complex(node.dtype):
        return builder.elementwise(_MULTIPLY, node, node)
    parts = builder.part(node, "real"), builder.part(node, "imag")
    squares = (builder.elementwise(_MULTIPLY, part, part) for part in parts)
    return builder.elementwise(PRIMITIVES["add"], *squares)


def _length_of(node: Node, axes: Sequence[int]) -> Node:
    return builder.elementwise(_SQRT, builder.fold(SUM, _square_of(node), tuple(axes)))


def _number(value: object) -> Node:
    return builder.as_node(value, "norm")


def _folded(fold: UfuncFold, sizes: Node, axis: int) -> Node:
    """Reduce nonnegative numbers along a dimension; the maximum of no elements is 0."""
    zero = Scalar(sizes.dtype, sizes.dtype.type(0), False)
    return builder.fold(fold, sizes, (axis,), zero if fold is MAX else None)


def _vector_norm(node: Node, order: Any, axis: int) -> Node:
    """The norms of the vectors along a dimension."""
    if order is None or order == 2:
        return _length_of(node, (axis,))
    if order == 0:
        nonzero = builder.elementwise(PRIMITIVES["not_equal"], node, _number(0))
        real = np.zeros(0, node.dtype).real.dtype
        return builder.fold(SUM, cast(nonzero, real), (axis,))
    sizes = builder.elementwise(_ABSOLUTE, node)
    if order in (np.inf, -np.inf):
        return _folded(MAX if order > 0 else MIN, sizes, axis)
    if order == 1:
        return builder.fold(SUM, sizes, (axis,))
    if isinstance(order, str):
        raise ValueError(f"Invalid norm order '{order}' for vectors")
    if isinstance(order, Node):
        raise refuse("norm", "ord", order)
    raised = builder.elementwise(PRIMITIVES["power"], sizes, _number(order))
    total = builder.fold(SUM, raised, (axis,))
    return builder.elementwise(PRIMITIVES["power"], total, _number(1.0 / order))


_NORM_FOLDS: Final[dict[Any, tuple[UfuncFold, int]]] = {
    1: (MAX, 0),
    -1: (MIN, 0),
    np.inf: (MAX, 1),
    -np.inf: (MIN, 1),
}
"""For each order of a matrix norm, the fold of the sums, and the axis that is summed.

The absolute values are summed along axis 0, which gives sums of columns, or along axis 1.
"""


def _matrix_norm(node: Node, order: Any, axes: tuple[int, int]) -> Node:
    """The norms of the matrices that two dimensions form."""
    if order in (None, "fro", "f"):
        return _length_of(node, sorted(axes))
    if order in _NORM_FOLDS:
        fold, summed = _NORM_FOLDS[order]
        sizes = builder.elementwise(_ABSOLUTE, node)
        along, other = axes[summed], axes[1 - summed]
        sums = builder.fold(SUM, sizes, (along,))
        return _folded(fold, sums, other - (other > along))
    if order not in (2, -2, "nuc"):
        raise ValueError("Invalid norm order for matrices.")
    rest = [d for d in range(len(node.shape)) if d not in axes]
    values = singular_values(builder.transpose(node, [*rest, *axes]))
    accumulator = SUM if order == "nuc" else MAX if order == 2 else MIN
    return _folded(accumulator, values, len(rest))


def _norm(x: object, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Node:
    node = array_node(x, "norm")
    if not is_inexact(node.dtype):
        node = cast(node, FLOAT)
    rank = len(node.shape)
    if axis is None:
        plain = ord is None or (ord in ("f", "fro") and rank == 2) or (ord == 2 and rank == 1)
        if plain:
            flat = _length_of(reshaped(node, (product(node.shape),)), (0,))
            return insert_dimensions(flat, tuple(range(rank))) if keepdims else flat
        axes = tuple(range(rank))
    else:
        given = axis if isinstance(axis, tuple) else (axis,)
        axes = tuple(normalize_axis_index(one, rank) for one in given)
    if len(axes) == 1:
        found = _vector_norm(node, ord, axes[0])
    elif len(axes) == 2:
        if axes[0] == axes[1]:
            raise ValueError("Duplicate axes given.")
        found = _matrix_norm(node, ord, (axes[0], axes[1]))
    else:
        raise ValueError("Improper number of dimensions to norm.")
    return insert_dimensions(found, tuple(sorted(axes))) if keepdims else found


def _vector_norms(x: object, /, *, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Node:
    if axis is not None:
        if isinstance(axis, tuple):
            raise refuse("vector_norm", "axis", axis)
        return _norm(x, ord, axis, keepdims)
    node = array_node(x, "vector_norm")
    found = _norm(reshaped(node, (product(node.shape),)), ord, 0)
    return insert_dimensions(found, tuple(range(len(node.shape)))) if keepdims else found


def _matrix_norms(x: object, /, *, keepdims: Any = False, ord: Any = "fro") -> Node:
    return _norm(x, ord, (-2, -1), keepdims)


def _diagonal(x: object, /, *, offset: int = 0) -> Node:
    found: Node = SHAPES[np.diagonal](x, offset, -2, -1)
    return found


def _trace(x: object, /, *, offset: int = 0, dtype: Any = None) -> Node:
    found: Node = REDUCTIONS[np.trace](x, offset, -2, -1, dtype)
    return found


def _cross(x1: object, x2: object, /, *, axis: int = -1) -> Node:
    left, right = array_node(x1, "cross"), array_node(x2, "cross")
    if left.shape[axis] != 3 or right.shape[axis] != 3:
        raise ValueError(
            "Both input arrays must be (arrays of) 3-dimensional vectors, but they are "
            f"{int(left.shape[axis])} and {int(right.shape[axis])} dimensional instead."
        )
    found: Node = NEIGHBOURS[np.cross](left, right, axis=axis)
    return found


def _flat(node: Node) -> Node:
    return reshaped(node, (product(node.shape),))


def _outer(a: object, b: object, out: object = None) -> Node:
    only_defaults("outer", out=out)
    left, right = _flat(array_node(a, "outer")), _flat(array_node(b, "outer"))
    return builder.elementwise(_MULTIPLY, insert_dimensions(left, (1,)), right)


def _outer_of_vectors(x1: object, x2: object, /) -> Node:
    left, right = array_node(x1, "outer"), array_node(x2, "outer")
    if len(left.shape) != 1 or len(right.shape) != 1:
        ranks = f"x1.ndim={len(left.shape)} and x2.ndim={len(right.shape)}"
        raise ValueError(f"Input arrays must be one-dimensional, but they are {ranks}.")
    return _outer(left, right)


def contracted(left: Node, right: Node, first: Sequence[int], second: Sequence[int]) -> Node:
    """The sums of products of two arrays over pairs of dimensions.

    Raises:
        ValueError: two contracted lengths differ.
    """
    pairs = list(zip(first, second, strict=True))
    if not all(assumed_equal(left.shape[d], right.shape[e]) for d, e in pairs):
        raise ValueError("shape-mismatch for sum")
    rows = [d for d in range(len(left.shape)) if d not in first]
    columns = [d for d in range(len(right.shape)) if d not in second]
    rank = len(rows) + len(columns)

    def index(node: Node, kept: list[int], met: Sequence[int], start: int) -> IndexMap:
        places = {d: start + k for k, d in enumerate(kept)}
        places |= {d: rank + k for k, d in enumerate(met)}
        return tuple(iterator(places[d]) for d in range(len(node.shape)))

    maps = index(left, rows, first, 0), index(right, columns, second, len(rows))
    kept = (*(left.shape[d] for d in rows), *(right.shape[d] for d in columns))
    extents = (*kept, *(left.shape[d] for d in first))
    return builder.contract(left, right, maps, extents, rank)


def _tensordot(a: object, b: object, axes: Any = 2) -> Node:
    left, right = array_node(a, "tensordot"), array_node(b, "tensordot")
    ranks = len(left.shape), len(right.shape)
    if isinstance(axes, Sequence):
        sides = [list(one) if isinstance(one, Sequence) else [one] for one in axes]
        if len(sides[0]) != len(sides[1]):
            raise ValueError("shape-mismatch for sum")
    else:
        count = operator.index(axes)
        if count > min(ranks):
            raise ValueError("shape-mismatch for sum")
        sides = [list(range(-count, 0)), list(range(count))]
    first, second = (
        [normalize_axis_index(operator.index(one), rank) for one in side]
        for side, rank in zip(sides, ranks, strict=True)
    )
    return contracted(left, right, first, second)


def _inner(a: object, b: object, /) -> Node:
    left, right = array_node(a, "inner"), array_node(b, "inner")
    if not left.shape or not right.shape:
        return builder.elementwise(_MULTIPLY, left, right)
    return contracted(left, right, [len(left.shape) - 1], [len(right.shape) - 1])


def _vdot(a: object, b: object, /) -> Node:
    left, right = _flat(array_node(a, "vdot")), _flat(array_node(b, "vdot"))
    return contracted(conjugates(left), right, [0], [0])


def _vecdot(x1: object, x2: object, /, *, axis: int = -1) -> Node:
    found = UFUNCS[np.vecdot](*(axis_last(array_node(x, "vecdot"), axis) for x in (x1, x2)))
    assert isinstance(found, Node)
    return found


def _tensorsolve(a: object, b: object, axes: Any = None) -> Node:
    node, right = array_node(a, "tensorsolve"), array_node(b, "tensorsolve")
    rank = len(node.shape)
    if axes is not None:
        moved = [axis % rank for axis in axes]
        node = builder.transpose(node, [*(d for d in range(rank) if d not in moved), *moved])
    shape = node.shape[len(right.shape) - rank :] if rank > len(right.shape) else ()
    length = product(shape)
    if not assumed_equal(product(node.shape), length * length):
        raise np.linalg.LinAlgError(
            "Input arrays must satisfy the requirement             "
            "prod(a.shape[b.ndim:]) == prod(a.shape[:b.ndim])"
        )
    solved = FUNCTIONS[np.linalg.solve](reshaped(node, (length, length)), _flat(right))
    return reshaped(solved, shape)


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
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
    np.linalg.norm: _norm,
    np.linalg.matrix_norm: _matrix_norms,
    np.linalg.vector_norm: _vector_norms,
    np.linalg.matmul: lambda x1, x2, /: matmul_node(x1, x2),
    np.linalg.matrix_transpose: SHAPES[np.matrix_transpose],
    np.linalg.diagonal: _diagonal,
    np.linalg.trace: _trace,
    np.linalg.cross: _cross,
    np.outer: _outer,
    np.inner: _inner,
    np.vdot: _vdot,
    np.tensordot: _tensordot,
    np.linalg.outer: _outer_of_vectors,
    np.linalg.tensordot: lambda x1, x2, /, *, axes=2: _tensordot(x1, x2, axes),
    np.linalg.vecdot: _vecdot,
    np.linalg.tensorsolve: _tensorsolve,
}
