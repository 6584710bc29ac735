"""The pullbacks of NumPy's Fourier transforms.

The adjoint of a transform with all frequencies is the inverse transform without its factor: the
transform of the other direction, with the other norm. A half spectrum omits each frequency whose
value is the conjugate of the value at another frequency. Values with an omitted conjugate are
multiplied by 2 in the adjoint of `irfft`, and by 0.5 in the adjoint of `rfft`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.gradients.values import NodeArray
from axiomjit.graph import builder
from axiomjit.graph.builder import as_node
from axiomjit.graph.external_calls import Extent
from axiomjit.graph.nodes import Scalar, size
from axiomjit.graph.primitives import PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import padded, sliced
from axiomjit.symbolic.dims import Dim, dim

OTHER_NORM: Final = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": None}
Norm = str | None


def _resized(a: Any, axis: int, length: Dim) -> Any:
    """The array, shortened or padded with zeros to a length along an axis."""
    own = a.shape[axis]
    if own is length:
        return a
    if own > length:
        return NodeArray(sliced(a.node, [axis], slice(None, length)))
    zero = Scalar(a.dtype, a.dtype.type(0), False)
    return NodeArray(padded(a.node, axis, (dim(0), length - own), zero))


def _interior(a: Any, axis: int, points: Dim, factor: float) -> Any:
    """A half spectrum, multiplied by a factor at frequencies whose conjugates are omitted.

    Frequency 0, and the last frequency of an even number of points, have no factor.
    """
    place = positions_along(a.shape, (axis,))
    doubled = builder.elementwise(PRIMITIVES["multiply"], place, as_node(2, "fft"))
    first = builder.elementwise(PRIMITIVES["equal"], place, as_node(0, "fft"))
    last = builder.elementwise(PRIMITIVES["equal"], doubled, size(points))
    end = builder.elementwise(PRIMITIVES["logical_or"], first, last)
    scaled = builder.elementwise(PRIMITIVES["multiply"], a.node, as_node(factor, "fft"))
    return NodeArray(builder.elementwise(WHERE, end, a.node, scaled))


def _all(name: str) -> Callable[..., Any]:
    """The adjoint of `fft` or `ifft` along an axis."""
    other = np.fft.ifft if name == "fft" else np.fft.fft

    def turned(g: Any, shape: Sequence[Dim], axis: int, norm: Norm) -> Any:
        return _resized(other(g, axis=axis, norm=OTHER_NORM[norm]), axis, shape[axis])

    return turned


def _half(g: Any, shape: Sequence[Dim], axis: int, norm: Norm, points: Dim) -> Any:
    """The adjoint of `rfft` along an axis, for this number of points."""
    weighted = _interior(g, axis, points, 0.5)
    length: Any = points
    found = np.fft.irfft(weighted, n=length, axis=axis, norm=OTHER_NORM[norm])
    return _resized(found, axis, shape[axis])


def _from_half(g: Any, shape: Sequence[Dim], axis: int, norm: Norm) -> Any:
    """The adjoint of `irfft` along an axis."""
    found = np.fft.rfft(g, axis=axis, norm=OTHER_NORM[norm])
    return _resized(_interior(found, axis, g.shape[axis], 2.0), axis, shape[axis])


def _points(x: Any, n: Any, axis: int, g: Any) -> Dim:
    """The number of points of a transform."""
    if n is None:
        return x.shape[axis]  # type: ignore[no-any-return]
    return g.shape[n.dimension] if isinstance(n, Extent) else dim(n)


def _conj(a: Any) -> Any:
    return np.conj(a)


def _along(name: str) -> Callable[..., tuple[Any, ...]]:
    """The pullback of a transform along one axis."""

    def rule(
        g: Any, y: Any, x: Any, axis: int = -1, norm: Norm = None, n: Any = None
    ) -> tuple[Any, ...]:
        if name in ("fft", "ifft"):
            return (_all(name)(g, x.shape, axis, norm),)
        if name == "rfft":
            return (_half(g, x.shape, axis, norm, _points(x, n, axis, g)),)
        if name == "irfft":
            return (_from_half(g, x.shape, axis, norm),)
        if name == "hfft":  # irfft of the conjugates, with the other norm
            return (_conj(_from_half(g, x.shape, axis, OTHER_NORM[norm])),)
        points = _points(x, n, axis, g)
        return (_half(_conj(g), x.shape, axis, OTHER_NORM[norm], points),)

    return rule


def _several(name: str) -> Callable[..., tuple[Any, ...]]:
    """The pullback of a transform along several axes, as a chain of pullbacks along one axis."""
    kind = name.rstrip("2n")
    inner = "ifft" if kind.startswith("i") else "fft"

    def rule(
        g: Any, y: Any, x: Any, axes: Sequence[int] = (), norm: Norm = None, s: Any = None
    ) -> tuple[Any, ...]:
        *others, last = axes
        if kind == "irfft":
            g = _from_half(g, _with(g.shape, last, x.shape[last]), last, norm)
        for axis in others:
            g = _all(inner)(g, _with(g.shape, axis, x.shape[axis]), axis, norm)
        if kind == "rfft":
            points = x.shape[last] if s is None else dim(s[-1])
            g = _half(g, x.shape, last, norm, points)
        elif kind in ("fft", "ifft"):
            g = _all(inner)(g, _with(g.shape, last, x.shape[last]), last, norm)
        return (g,)

    return rule


def _with(shape: Sequence[Dim], axis: int, length: Dim) -> tuple[Dim, ...]:
    return (*shape[:axis], length, *shape[axis + 1 :])


FFT: Final[Mapping[Callable[..., Any], Any]] = {
    **{
        getattr(np.fft, name): _along(name)
        for name in ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
    },
    **{
        getattr(np.fft, name): _several(name)
        for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn")
    },
}
"""The pullback of each Fourier transform of NumPy."""
