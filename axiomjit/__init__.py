"""axiomjit compiles array code, with named axes or in plain NumPy, to fused loops."""

# ruff: noqa: E402 - the links are checked before anything behind them is imported

from collections.abc import Mapping as _Mapping
from functools import cache as _cache
from typing import TYPE_CHECKING as _TYPE_CHECKING
from typing import Any as _Any

from axiomjit._links import check_links as _check_links

_check_links()

from axiomjit.base import errors as errors
from axiomjit.base.config import config as config
from axiomjit.base.counters import stats as stats
from axiomjit.base.errors import ShapeError as ShapeError
from axiomjit.base.errors import SpecError as SpecError
from axiomjit.base.locks import lazy_import as _lazy_import
from axiomjit.base.locks import uncollected as _uncollected

with _uncollected():
    from axiomjit.base.tree import INSTALLED as _INSTALLED
    from axiomjit.base.tree import LIBRARIES as _LIBRARIES
    from axiomjit.base.tree import Blocks as _Blocks
    from axiomjit.base.tree import Library as _Library
    from axiomjit.functions.libraries import replaced_in as _replaced_in

__version__ = "0.1.0"

if _TYPE_CHECKING:
    from axiomjit import descriptions as descriptions
    from axiomjit import notation as notation
    from axiomjit import numpy as numpy
    from axiomjit import transformers as transformers
    from axiomjit.accumulators.accumulator import Accumulator as Accumulator
    from axiomjit.accumulators.elementwise import elementwise as elementwise
    from axiomjit.accumulators.fold import fold as fold
    from axiomjit.axis.axes import Axes as Axes
    from axiomjit.axis.axes import make_axes as make_axes
    from axiomjit.axis.axis import Axis as Axis
    from axiomjit.axis.axis import AxisClass as AxisClass
    from axiomjit.axis.axis import AxisRole as AxisRole
    from axiomjit.axis.axis import make_axis as make_axis
    from axiomjit.axis.axis import make_axis_class as make_axis_class
    from axiomjit.axis.axis import make_axis_role as make_axis_role
    from axiomjit.axis.elementwise import TensorFunction as _Function
    from axiomjit.axis.elementwise import astype as astype
    from axiomjit.axis.elementwise import clip as clip
    from axiomjit.axis.elementwise import where as where
    from axiomjit.axis.functions import axes_with_order as axes_with_order
    from axiomjit.axis.functions import axes_with_role_order as axes_with_role_order
    from axiomjit.axis.functions import broadcast as broadcast
    from axiomjit.axis.functions import cast_axes as cast_axes
    from axiomjit.axis.functions import cast_role as cast_role
    from axiomjit.axis.functions import dot as dot
    from axiomjit.axis.functions import map_roles as map_roles
    from axiomjit.axis.functions import rename as rename
    from axiomjit.axis.named_arrays import NamedArray as NamedArray
    from axiomjit.axis.networks import convolution as convolution
    from axiomjit.axis.networks import cross_entropy_binary as cross_entropy_binary
    from axiomjit.axis.networks import cross_entropy_binary_inner as cross_entropy_binary_inner
    from axiomjit.axis.networks import cross_entropy_multi as cross_entropy_multi
    from axiomjit.axis.networks import pooling as pooling
    from axiomjit.axis.networks import relu as relu
    from axiomjit.axis.networks import safelog as safelog
    from axiomjit.axis.networks import sigmoid as sigmoid
    from axiomjit.axis.networks import softmax as softmax
    from axiomjit.axis.reductions import L1_norm as L1_norm
    from axiomjit.axis.reductions import L2_norm as L2_norm
    from axiomjit.axis.reductions import all as all
    from axiomjit.axis.reductions import any as any
    from axiomjit.axis.reductions import argmax as argmax
    from axiomjit.axis.reductions import argmin as argmin
    from axiomjit.axis.reductions import argsort as argsort
    from axiomjit.axis.reductions import cumprod as cumprod
    from axiomjit.axis.reductions import cumsum as cumsum
    from axiomjit.axis.reductions import logsumexp as logsumexp
    from axiomjit.axis.reductions import max as max
    from axiomjit.axis.reductions import mean as mean
    from axiomjit.axis.reductions import min as min
    from axiomjit.axis.reductions import prod as prod
    from axiomjit.axis.reductions import sort as sort
    from axiomjit.axis.reductions import squared_L2 as squared_L2
    from axiomjit.axis.reductions import std as std
    from axiomjit.axis.reductions import sum as sum
    from axiomjit.axis.reductions import take as take
    from axiomjit.axis.reductions import tensor_size as tensor_size
    from axiomjit.axis.reductions import var as var
    from axiomjit.axis.reductions import variance as variance
    from axiomjit.axis.state import PrintOp as PrintOp
    from axiomjit.axis.state import as_op as as_op
    from axiomjit.axis.state import assign as assign
    from axiomjit.axis.state import doall as doall
    from axiomjit.axis.state import fill as fill
    from axiomjit.axis.state import materialize as materialize
    from axiomjit.axis.state import normal as normal
    from axiomjit.axis.state import persistent_tensor as persistent_tensor
    from axiomjit.axis.state import sequential as sequential
    from axiomjit.axis.state import set_item as set_item
    from axiomjit.axis.state import temporary as temporary
    from axiomjit.axis.state import uniform as uniform
    from axiomjit.axis.state import value_of as value_of
    from axiomjit.axis.state import variable as variable
    from axiomjit.axis.tensors import Tensor as Tensor
    from axiomjit.axis.tensors import constant as constant
    from axiomjit.axis.tensors import placeholder as placeholder
    from axiomjit.axis.views import concat_along_axis as concat_along_axis
    from axiomjit.axis.views import expand_dims as expand_dims
    from axiomjit.axis.views import flatten as flatten
    from axiomjit.axis.views import flatten_at as flatten_at
    from axiomjit.axis.views import one_hot as one_hot
    from axiomjit.axis.views import pad as pad
    from axiomjit.axis.views import slice_along_axis as slice_along_axis
    from axiomjit.axis.views import stack as stack
    from axiomjit.axis.views import tensor_slice as tensor_slice
    from axiomjit.axis.views import unflatten as unflatten
    from axiomjit.dispatch.custom_gradients import check_grad as check_grad
    from axiomjit.dispatch.custom_gradients import checkpoint as checkpoint
    from axiomjit.dispatch.custom_gradients import custom_grad as custom_grad
    from axiomjit.dispatch.custom_gradients import stop_gradient as stop_gradient
    from axiomjit.dispatch.gradients import grad as grad
    from axiomjit.dispatch.gradients import value_and_grad as value_and_grad
    from axiomjit.dispatch.jit import jit as jit
    from axiomjit.dispatch.pullbacks import hessian as hessian
    from axiomjit.dispatch.pullbacks import jacobian as jacobian
    from axiomjit.dispatch.pullbacks import jvp as jvp
    from axiomjit.dispatch.pullbacks import vjp as vjp
    from axiomjit.dispatch.pullbacks import vmap as vmap
    from axiomjit.dispatch.tensor_gradients import deriv as deriv
    from axiomjit.dispatch.warm import spec as spec
    from axiomjit.functions.loop_functions import cond as cond
    from axiomjit.functions.loop_functions import fori_loop as fori_loop
    from axiomjit.functions.loop_functions import scan as scan
    from axiomjit.functions.loop_functions import while_loop as while_loop
    from axiomjit.graph.powers import erf as erf
    from axiomjit.graph.powers import erfc as erfc
    from axiomjit.interop.containers import filled as filled
    from axiomjit.notation.einsum import concat as concat
    from axiomjit.notation.einsum import einsum as einsum
    from axiomjit.notation.leaves import symbol as symbol
    from axiomjit.notation.shapes import Shape as Shape
    from axiomjit.notation.templates import Size as Size
    from axiomjit.notation.tensors import bitcast as bitcast
    from axiomjit.notation.tensors import fma as fma
    from axiomjit.notation.tensors import tensor as tensor
    from axiomjit.numpy.explaining import explain_last as explain_last
    from axiomjit.runtime.execution.workers import threads as threads
    from axiomjit.runtime.memory.allocation import trim as trim

_IMPORTED = ("ShapeError", "SpecError", "config", "stats")
_MODULES = {
    "axiomjit.accumulators.accumulator": "Accumulator",
    "axiomjit.accumulators.elementwise": "elementwise",
    "axiomjit.accumulators.fold": "fold",
    "axiomjit.axis.axes": "Axes make_axes",
    "axiomjit.axis.axis": "Axis AxisClass AxisRole make_axis make_axis_class make_axis_role",
    "axiomjit.axis.networks": "convolution cross_entropy_binary cross_entropy_binary_inner "
    "cross_entropy_multi pooling relu safelog sigmoid softmax",
    "axiomjit.axis.elementwise": "astype clip where",
    "axiomjit.axis.functions": "axes_with_order axes_with_role_order broadcast cast_axes "
    "cast_role dot map_roles rename",
    "axiomjit.axis.views": "concat_along_axis expand_dims flatten flatten_at one_hot pad "
    "slice_along_axis stack tensor_slice unflatten",
    "axiomjit.axis.reductions": "all any argmax argmin argsort cumprod cumsum L1_norm L2_norm "
    "logsumexp max mean min prod sort squared_L2 std sum take tensor_size var variance",
    "axiomjit.axis.named_arrays": "NamedArray",
    "axiomjit.axis.state": "as_op assign doall fill materialize normal persistent_tensor PrintOp "
    "sequential set_item temporary uniform value_of variable",
    "axiomjit.axis.tensors": "constant placeholder Tensor",
    "axiomjit.descriptions": "descriptions",
    "axiomjit.dispatch.custom_gradients": "check_grad checkpoint custom_grad stop_gradient",
    "axiomjit.dispatch.gradients": "grad value_and_grad",
    "axiomjit.dispatch.jit": "jit",
    "axiomjit.dispatch.pullbacks": "hessian jacobian jvp vjp vmap",
    "axiomjit.dispatch.tensor_gradients": "deriv",
    "axiomjit.dispatch.warm": "spec",
    "axiomjit.graph.powers": "erf erfc",
    "axiomjit.interop.containers": "filled",
    "axiomjit.nn": "nn",
    "axiomjit.notation": "notation",
    "axiomjit.notation.tensors": "bitcast fma tensor",
    "axiomjit.notation.einsum": "concat einsum",
    "axiomjit.notation.shapes": "Shape",
    "axiomjit.notation.templates": "Size",
    "axiomjit.notation.leaves": "symbol",
    "axiomjit.numpy": "numpy",
    "axiomjit.numpy.explaining": "explain_last",
    "axiomjit.runtime.execution.workers": "threads",
    "axiomjit.runtime.memory.allocation": "trim",
    "axiomjit.functions.loop_functions": "cond fori_loop scan while_loop",
    "axiomjit.transformers": "transformers",
}
_COMPILED = ("run", "lower", "chosen_orders", "add_native_entry", "in_block")
_LATE = {name: module for module, names in _MODULES.items() for name in names.split()}
# The modules of public names that are imported at the first use: not every program needs them.
_SHOWN = ("descriptions", "errors", "notation", "numpy", "transformers")


def _lend(*call: _Any) -> _Any:
    """The result of `axiomjit.numpy.pieces.lend`; the first call imports this module."""
    return _lazy_import("axiomjit.numpy.pieces").lend(*call)


@_cache
def _interop(module: str) -> _Any:
    """The named module of `interop`, imported only by programs with objects of other libraries."""
    return _lazy_import(f"axiomjit.interop.{module}")


def _of_xarray(kind: type) -> _Any:
    """The `ContainerForm` that splits objects of a class of xarray; None for other classes."""
    return _interop("labelled").form_of(kind)


def _arrays_of(values: _Any) -> _Any:
    """The values of a call, with arrays in place of containers of other libraries."""
    return _interop("containers").arrays_of(values)


def _by_names(name: str, *given: _Any) -> _Any:
    """The result of the named function of `interop.named_dimensions` for these arguments."""
    return vars(_interop("named_dimensions"))[name](*given)


def _compiled(name: str) -> _Any:
    """A function that imports `dispatch.programs`, then calls the function installed as `name`."""

    def call(*given: _Any) -> _Any:
        _lazy_import("axiomjit.dispatch.programs")
        return _INSTALLED[name](*given)

    return call


_INSTALLED.update(lend=_lend, by_names=_by_names)
_INSTALLED.update({name: _compiled(name) for name in _COMPILED})
_LIBRARIES["xarray"] = _Library(form=_of_xarray)
_LIBRARIES["dask"] = _Library(
    blocks=_Blocks(
        holds=lambda kind: _interop("dask_plans").is_array(kind),
        stand_ins=lambda *given: _interop("dask_calls").stand_ins(*given),
        explained=lambda *given: _interop("dask_calls").explained(*given),
        answer=lambda trace: _interop("dask_calls").answer(trace),
        report=lambda trace: _interop("dask_calls").report(trace),
        described=lambda given: _interop("dask_calls").described(given),
        apply=lambda *given: _interop("dask_calls").apply_function(*given),
    )
)
for _name in ("jax", "jaxlib", "pandas", "polars", "pyarrow", "torch"):
    _LIBRARIES[_name] = _Library(arrays=_arrays_of)
_replaced_in["xarray"] = lambda: _lazy_import("axiomjit.interop.xarray_calls").traced_forms()


def _rows() -> "_Mapping[str, _Function]":
    """The elementwise functions by name: one for each row of the table of primitives."""
    rows: _Mapping[str, _Function] = _lazy_import("axiomjit.axis.elementwise").FUNCTIONS
    return rows


def _public() -> list[str]:
    return sorted({*_IMPORTED, *_rows(), *_LATE}.difference(_SHOWN, ("nn",)))


def __dir__() -> list[str]:
    """The public names, and the modules that users import; internal modules are left out."""
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
