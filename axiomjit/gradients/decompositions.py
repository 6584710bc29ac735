"""The pullbacks of `numpy.linalg`; operands may be stacks of matrices.

Adjoints are those of the inner product Re(conj(a) b). The formulas are those of Giles ("An extended
collection of matrix derivative results", 2008) with conjugates, and, for the pseudoinverse, those
of Golub and Pereyra (1973). If a function reads only one triangle of its operand, the gradient is
zero outside that triangle.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex
from axiomjit.gradients.rules import NO_PATH, Refused
from axiomjit.gradients.values import NodeArray
from axiomjit.graph import builder
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.reductions import positions_along

Pulled = tuple[Any, ...]


def _adjoint(a: Any) -> Any:
    """The conjugate transposes of matrices."""
    return _conj(a).mT


def _conj(a: Any) -> Any:
    return np.conj(a) if is_complex(a.dtype) else a


def _column(v: Any) -> Any:
    return v[..., :, None]


def _row(v: Any) -> Any:
    return v[..., None, :]


def _on_diagonal(like: Any) -> Any:
    """A mask that is True on the diagonals of matrices."""
    return _compared("equal", like)


def _below(like: Any) -> Any:
    """A mask that is True below the diagonals of matrices."""
    return _compared("greater", like)


def _compared(name: str, like: Any) -> Any:
    shape = like.shape[-2:]
    rows, columns = (positions_along(shape, (d,)) for d in (0, 1))
    return NodeArray(builder.elementwise(PRIMITIVES[name], rows, columns))


def _lower(m: Any) -> Any:
    """The lower triangles of matrices, with the diagonals halved."""
    return np.where(_below(m), m, np.where(_on_diagonal(m), m * 0.5, 0))


def _hermitian(m: Any) -> Any:
    return (m + _adjoint(m)) * 0.5


def _triangle(s: Any, lower: bool) -> Any:
    """The gradient of the triangle that a function reads, given the gradient of all entries."""
    inside = _below(s) if lower else _below(s.mT).mT
    return np.where(inside, s * 2, np.where(_on_diagonal(s), s, 0))


def folded(g: Any, like: Any) -> Any:
    """A cotangent summed over the dimensions along which its operand was broadcast."""
    more = g.ndim - like.ndim
    if more:
        g = np.sum(g, axis=tuple(range(more)))
    axes = tuple(
        d for d, (n, m) in enumerate(zip(g.shape, like.shape, strict=True)) if n is not m and m == 1
    )
    return np.sum(g, axis=axes, keepdims=True) if axes else g


def _inv(g: Any, y: Any, a: Any) -> Pulled:
    turned = _adjoint(y)
    return (-(turned @ g @ turned),)


def _det(g: Any, y: Any, a: Any) -> Pulled:
    scale = g * _conj(y)
    return (scale[..., None, None] * _adjoint(np.linalg.inv(a)),)


def _slogdet(g: Any, y: Any, a: Any, part: int) -> Pulled:
    if part == 0:
        if not is_complex(a.dtype):
            return (None,)
        turn = (1j * np.conj(g) * y).real
        return ((1j * turn)[..., None, None] * _adjoint(np.linalg.inv(a)),)
    return (g[..., None, None] * _adjoint(np.linalg.inv(a)),)


def _solve(g: Any, x: Any, a: Any, b: Any) -> Pulled:
    by_b = np.linalg.solve(_adjoint(a), g)
    if b.ndim == 1:
        by_a = -_column(by_b) * _row(_conj(x))
        return folded(by_a, a), folded(by_b, b)
    return folded(-(by_b @ _adjoint(x)), a), folded(by_b, b)


def _cholesky(g: Any, y: Any, a: Any, upper: bool = False) -> Pulled:
    factor, own = (_adjoint(y), _adjoint(g)) if upper else (y, g)
    inverse = np.linalg.inv(factor)
    middle = _adjoint(inverse) @ _lower(_adjoint(factor) @ own) @ inverse
    return (_triangle(_hermitian(middle), not upper),)


def _gaps(w: Any, middle: Any) -> Any:
    """Entries of `middle` divided by differences of eigenvalues; 0 / 0 and the diagonal give 0."""
    apart = _row(w) - _column(w)
    zero = ((middle == 0) & (apart == 0)) | _on_diagonal(middle)
    return np.where(zero, 0, middle / np.where(zero, 1, apart))


def _eigh(g: Any, y: Any, a: Any, UPLO: str = "L", part: int = 0) -> Pulled:
    w, v = np.linalg.eigh(a, UPLO=UPLO)  # type: ignore[call-overload]
    middle = v * _row(g) if part == 0 else v @ _gaps(w, _adjoint(v) @ g)
    return (_triangle(_hermitian(middle @ _adjoint(v)), UPLO == "L"),)


def _eigvalsh(g: Any, y: Any, a: Any, UPLO: str = "L") -> Pulled:
    return _eigh(g, y, a, UPLO)


def _eig(g: Any, y: Any, a: Any, part: int = 0) -> Pulled:
    w, v = np.linalg.eig(a)
    turned = _adjoint(v)
    if part == 0:
        middle = np.where(_on_diagonal(v), _row(g), 0)
    else:
        raw = turned @ g
        own = np.where(_on_diagonal(raw), raw, 0).real
        middle = _conj(_gaps(w, _conj(raw - (turned @ v) @ own)))
    return (np.linalg.solve(turned, middle @ turned),)


def _eigvals(g: Any, y: Any, a: Any) -> Pulled:
    return _eig(g, y, a)


def _svdvals(g: Any, y: Any, a: Any) -> Pulled:
    u, _, vh = np.linalg.svd(a, full_matrices=False)
    return ((u * _row(g)) @ vh,)


def _svd(
    g: Any,
    y: Any,
    a: Any,
    full_matrices: bool = True,
    hermitian: bool = False,
    compute_uv: bool = True,
    part: int = 1,
) -> Pulled | Refused:
    if part == 1:
        return _svdvals(g, y, a)
    rows, columns = a.shape[-2:]
    if full_matrices and rows != columns:
        return Refused("svd with full_matrices=True, whose additional vectors have no derivative")
    if is_complex(a.dtype):
        return Refused("svd of complex matrices, whose vectors have any phase")
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    own, others = (u, vh.mT) if part == 0 else (vh.mT, u)
    cotangent = g if part == 0 else g.mT
    middle = own.mT @ cotangent
    gaps = _gaps(s * s, middle - middle.mT)
    inner = gaps * _row(s)
    outside = cotangent - own @ middle
    made = (own @ inner + outside / _row(s)) @ others.mT
    return (made if part == 0 else made.mT,)


def _qr(g: Any, y: Any, a: Any, mode: str = "reduced", part: int = 1) -> Pulled | Refused:
    rows, columns = a.shape[-2:]
    if mode not in ("reduced", "r") or rows < columns:
        return Refused(f"qr with mode={mode!r} of a matrix with more columns than rows")
    q, r = np.linalg.qr(a)
    if part == 0:
        middle, first = -(_adjoint(g) @ q), g
    else:
        middle, first = r @ _adjoint(g), 0
    below = np.where(_below(middle), middle, 0)
    copied = below + _adjoint(below) + np.where(_on_diagonal(middle), middle, 0)
    return (_adjoint(np.linalg.solve(r, _adjoint(first + q @ copied))),)


def _pinv(g: Any, p: Any, a: Any, **options: Any) -> Pulled:
    turned, back = _adjoint(p), _adjoint(g)
    inner = -(turned @ g @ turned)
    left = back @ p @ turned
    right = turned @ p @ back
    return (inner + left - a @ (p @ left) + right - (right @ p) @ a,)


def _lstsq(g: Any, y: Any, a: Any, b: Any, rcond: Any = None, part: int = 0) -> Pulled:
    p = np.linalg.pinv(a)
    right = _column(b) if b.ndim == 1 else b
    x = p @ right
    if part == 1:
        own = 2 * (right - a @ x) * g
        by_a, by_b = -(own @ _adjoint(x)), own
    elif part == 0:
        cotangent = _column(g) if b.ndim == 1 else g
        (by_a,) = _pinv(cotangent @ _adjoint(right), p, a)
        by_b = _adjoint(p) @ cotangent
    else:
        return (None, None)
    return by_a, by_b[..., 0] if b.ndim == 1 else by_b


def _matrix_power(g: Any, y: Any, a: Any, n: int) -> Pulled:
    base, count = (a, n) if n >= 0 else (np.linalg.inv(a), -n)
    turned, found = _adjoint(base), None
    for k in range(count):
        term = g
        for times, left in ((k, True), (count - 1 - k, False)):
            if times:
                factor = np.linalg.matrix_power(turned, times)
                term = factor @ term if left else term @ factor
        found = term if found is None else found + term
    if found is not None and n < 0:
        found = -(turned @ found @ turned)
    return (found,)


LINALG: Final[Mapping[Callable[..., Any], Any]] = {
    np.linalg.inv: _inv,
    np.linalg.det: _det,
    np.linalg.slogdet: _slogdet,
    np.linalg.solve: _solve,
    np.linalg.cholesky: _cholesky,
    np.linalg.eigh: _eigh,
    np.linalg.eigvalsh: _eigvalsh,
    np.linalg.eig: _eig,
    np.linalg.eigvals: _eigvals,
    np.linalg.svd: _svd,
    np.linalg.svdvals: _svdvals,
    np.linalg.qr: _qr,
    np.linalg.pinv: _pinv,
    np.linalg.lstsq: _lstsq,
    np.linalg.matrix_power: _matrix_power,
    np.linalg.matrix_rank: NO_PATH,
    np.linalg.cond: Refused("linalg.cond; write it as norms of a and of its inverse"),
    np.linalg.tensorsolve: Refused("linalg.tensorsolve; reshape and use linalg.solve"),
    np.linalg.tensorinv: Refused("linalg.tensorinv; reshape to matrices and use linalg.inv"),
}
"""The pullback of each NumPy function."""
