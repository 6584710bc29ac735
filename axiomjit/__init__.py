"""axiomjit: array code with named axes, or plain NumPy, as fused loops that touch memory once."""

# ruff: noqa: E402 - the links are checked before anything behind them is imported

from collections.abc import Mapping as _Mapping
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from axiomjit._links import check_links as _check_links

_check_links()

from axiomjit.base import errors as errors
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import ShapeError, SpecError
from axiomjit.base.locks import lazy_import as _lazy_import
from axiomjit.base.locks import uncollected as _uncollected

with _uncollected():
    from axiomjit.dispatch.jit import jit
    from axiomjit.dispatch.warm import spec

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from axiomjit import descriptions as descriptions
    from axiomjit import notation as notation
    from axiomjit import transformers as transformers
    from axiomjit.accumulators.accumulator import Accumulator
    from axiomjit.accumulators.elementwise import elementwise
    from axiomjit.accumulators.fold import fold
    from axiomjit.axis.axes import Axes, make_axes
    from axiomjit.axis.axis import Axis, make_axis
    from axiomjit.axis.convolution import convolution, pooling
    from axiomjit.axis.elementwise import TensorFunction as _Function
    from axiomjit.axis.elementwise import astype, clip, where
    from axiomjit.axis.functions import axes_with_order, broadcast, cast_axes, dot
    from axiomjit.axis.joins import concat_along_axis, one_hot, pad, stack
    from axiomjit.axis.labels import axes_with_role_order, cast_role, map_roles, rename
    from axiomjit.axis.library import argsort, cumprod, cumsum, sort, take
    from axiomjit.axis.named_arrays import NamedArray
    from axiomjit.axis.networks import (
        cross_entropy_binary,
        cross_entropy_binary_inner,
        cross_entropy_multi,
        relu,
        safelog,
        sigmoid,
        softmax,
    )
    from axiomjit.axis.printing import PrintOp
    from axiomjit.axis.random_tensors import normal, uniform
    from axiomjit.axis.reductions import (
        L1_norm,
        L2_norm,
        all,
        any,
        argmax,
        argmin,
        logsumexp,
        max,
        mean,
        min,
        prod,
        squared_L2,
        std,
        sum,
        tensor_size,
        var,
        variance,
    )
    from axiomjit.axis.state import (
        as_op,
        assign,
        doall,
        fill,
        materialize,
        persistent_tensor,
        sequential,
        set_item,
        temporary,
        value_of,
        variable,
    )
    from axiomjit.axis.tags import AxisClass, AxisRole, make_axis_class, make_axis_role
    from axiomjit.axis.tensors import Tensor, constant, placeholder
    from axiomjit.axis.views import (
        expand_dims,
        flatten,
        flatten_at,
        slice_along_axis,
        tensor_slice,
        unflatten,
    )
    from axiomjit.graph.powers import erf, erfc
    from axiomjit.notation.bitcast import bitcast
    from axiomjit.notation.constructors import tensor
    from axiomjit.notation.einsum import concat, einsum
    from axiomjit.notation.shapes import Shape
    from axiomjit.notation.sizes import Size
    from axiomjit.notation.symbols import symbol
    from axiomjit.notation.tensors import fma
    from axiomjit.runtime.execution.workers import threads
    from axiomjit.runtime.memory.allocation import trim

    __all__ = [
        "Accumulator",
        "fold",
        "logsumexp",
        "Axes",
        "Axis",
        "AxisClass",
        "AxisRole",
        "L1_norm",
        "L2_norm",
        "NamedArray",
        "PrintOp",
        "Shape",
        "ShapeError",
        "Size",
        "SpecError",
        "Tensor",
        "all",
        "any",
        "argmax",
        "argmin",
        "argsort",
        "as_op",
        "assign",
        "astype",
        "axes_with_order",
        "axes_with_role_order",
        "bitcast",
        "broadcast",
        "cast_axes",
        "cast_role",
        "clip",
        "concat",
        "concat_along_axis",
        "config",
        "constant",
        "convolution",
        "cross_entropy_binary",
        "cross_entropy_binary_inner",
        "cross_entropy_multi",
        "cumprod",
        "cumsum",
        "doall",
        "elementwise",
        "dot",
        "einsum",
        "erf",
        "erfc",
        "expand_dims",
        "fill",
        "fma",
        "flatten",
        "flatten_at",
        "jit",
        "make_axes",
        "make_axis",
        "make_axis_class",
        "make_axis_role",
        "map_roles",
        "materialize",
        "max",
        "mean",
        "min",
        "normal",
        "one_hot",
        "pad",
        "persistent_tensor",
        "placeholder",
        "pooling",
        "prod",
        "relu",
        "rename",
        "safelog",
        "sequential",
        "set_item",
        "sigmoid",
        "slice_along_axis",
        "softmax",
        "spec",
        "sort",
        "squared_L2",
        "stack",
        "stats",
        "std",
        "sum",
        "symbol",
        "take",
        "temporary",
        "tensor",
        "tensor_size",
        "tensor_slice",
        "threads",
        "trim",
        "unflatten",
        "uniform",
        "value_of",
        "var",
        "variable",
        "variance",
        "where",
    ]

_IMPORTED = ("ShapeError", "SpecError", "config", "jit", "spec", "stats")
_MODULES = {
    "axiomjit.accumulators.accumulator": "Accumulator",
    "axiomjit.accumulators.elementwise": "elementwise",
    "axiomjit.accumulators.fold": "fold",
    "axiomjit.axis.axes": "Axes make_axes",
    "axiomjit.axis.axis": "Axis make_axis",
    "axiomjit.axis.convolution": "convolution pooling",
    "axiomjit.axis.elementwise": "astype clip where",
    "axiomjit.axis.functions": "axes_with_order broadcast cast_axes dot",
    "axiomjit.axis.joins": "concat_along_axis one_hot pad stack",
    "axiomjit.axis.labels": "axes_with_role_order cast_role map_roles rename",
    "axiomjit.axis.library": "argsort cumprod cumsum sort take",
    "axiomjit.axis.named_arrays": "NamedArray",
    "axiomjit.axis.networks": "cross_entropy_binary cross_entropy_binary_inner "
    "cross_entropy_multi relu safelog sigmoid softmax",
    "axiomjit.axis.printing": "PrintOp",
    "axiomjit.axis.random_tensors": "normal uniform",
    "axiomjit.axis.reductions": "L1_norm L2_norm all any argmax argmin logsumexp max mean min "
    "prod squared_L2 std sum tensor_size var variance",
    "axiomjit.axis.state": "as_op assign doall fill materialize persistent_tensor sequential "
    "set_item temporary value_of variable",
    "axiomjit.axis.tags": "AxisClass AxisRole make_axis_class make_axis_role",
    "axiomjit.axis.tensors": "Tensor constant placeholder",
    "axiomjit.axis.views": "expand_dims flatten flatten_at slice_along_axis tensor_slice unflatten",
    "axiomjit.descriptions": "descriptions",
    "axiomjit.graph.powers": "erf erfc",
    "axiomjit.nn": "nn",
    "axiomjit.notation": "notation",
    "axiomjit.notation.bitcast": "bitcast",
    "axiomjit.notation.constructors": "tensor",
    "axiomjit.notation.einsum": "concat einsum",
    "axiomjit.notation.shapes": "Shape",
    "axiomjit.notation.sizes": "Size",
    "axiomjit.notation.symbols": "symbol",
    "axiomjit.notation.tensors": "fma",
    "axiomjit.runtime.execution.workers": "threads",
    "axiomjit.runtime.memory.allocation": "trim",
    "axiomjit.transformers": "transformers",
}
_LATE = {name: module for module, names in _MODULES.items() for name in names.split()}
# The modules of public names that are imported at the first use: not every program needs them.
_SHOWN = ("descriptions", "errors", "notation", "transformers")


def _rows() -> "_Mapping[str, _Function]":
    """A function for each row of the table of primitives: a new row needs no line here."""
    rows: _Mapping[str, _Function] = _lazy_import("axiomjit.axis.elementwise").FUNCTIONS
    return rows


def _public() -> list[str]:
    return sorted({*_IMPORTED, *_rows(), *_LATE}.difference(_SHOWN, ("nn",)))


def __dir__() -> list[str]:
    """The public names, and the modules that users import; not the modules behind them."""
    return [*_public(), "__version__", *_SHOWN]


def __getattr__(name: str) -> "_Function":
    found: _Any = None
    if name in _LATE:
        module = _lazy_import(_LATE[name])
        found = vars(module).get(name, module)  # `notation` is a module itself
    elif name == "__all__" or not name.startswith("_"):
        found = _public() if name == "__all__" else _rows().get(name)
    if found is None:
        raise AttributeError(f"module 'axiomjit' has no attribute {name!r}")
    globals()[name] = found
    given: _Function = found
    return given
