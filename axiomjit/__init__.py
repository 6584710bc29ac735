"""axiomjit: array code with named axes, or plain NumPy, as fused loops that touch memory once."""

# ruff: noqa: E402 - the links are checked before anything behind them is imported

from axiomjit._links import check_links as _check_links

_check_links()

from axiomjit import transformers as transformers
from axiomjit.axes import Axes, make_axes
from axiomjit.axis import Axis, make_axis
from axiomjit.axis_functions import (
    axes_with_order,
    broadcast,
    cast_axes,
    dot,
    max,
    mean,
    min,
    sum,
)
from axiomjit.axis_tags import AxisClass, AxisRole, make_axis_class, make_axis_role
from axiomjit.config import config
from axiomjit.counters import stats
from axiomjit.jit import jit
from axiomjit.tensors import (
    Tensor,
    absolute,
    add,
    constant,
    divide,
    equal,
    greater,
    greater_equal,
    less,
    less_equal,
    maximum,
    minimum,
    multiply,
    negative,
    not_equal,
    placeholder,
    power,
    sqrt,
    subtract,
    where,
)

__all__ = [
    "Axes",
    "Axis",
    "AxisClass",
    "AxisRole",
    "Tensor",
    "absolute",
    "add",
    "axes_with_order",
    "broadcast",
    "cast_axes",
    "config",
    "constant",
    "divide",
    "dot",
    "equal",
    "greater",
    "greater_equal",
    "jit",
    "less",
    "less_equal",
    "make_axes",
    "make_axis",
    "make_axis_class",
    "make_axis_role",
    "max",
    "maximum",
    "mean",
    "min",
    "minimum",
    "multiply",
    "negative",
    "not_equal",
    "placeholder",
    "power",
    "sqrt",
    "stats",
    "subtract",
    "sum",
    "where",
]
