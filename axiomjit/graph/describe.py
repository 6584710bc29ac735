"""Texts for error messages: types with NumPy's dtype names, and lengths of the current call."""

from __future__ import annotations

from axiomjit.base.dtypes import ELEMENT_TYPES
from axiomjit.base.errors import TraceError
from axiomjit.graph.nodes import Node
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, current_scope


def describe_length(length: Dim) -> str:
    """The text of a length: its value in this call, or its name if the value is not known."""
    if data_dependent_in(length):
        return str(length)
    try:
        return str(current_scope().value(length))
    except (TraceError, KeyError):
        return str(length)


def describe_shape(shape: tuple[Dim, ...]) -> str:
    """The text of a shape with its known lengths, such as `[3, 100]`."""
    return "[" + ", ".join(map(describe_length, shape)) + "]"


def describe_type(value: object) -> str:
    """The text of a value's type, such as `float64[3, 100]`, `a Python float` or `a str`."""
    if not isinstance(value, Node):
        return f"a {type(value).__name__}"
    if value.weak:
        return f"a Python {ELEMENT_TYPES[value.dtype].python.__name__}"
    return f"{value.dtype}{describe_shape(value.shape)}{_explain_masks(value)}"


def describe_call(name: str, *operands: object) -> str:
    """The text of a call with the types of its operands, such as `add(float64[3], a str)`."""
    types = (describe_type(value).removesuffix(_explain_masks(value)) for value in operands)
    return f"{name}({', '.join(types)}){_explain_masks(*operands)}"


def _explain_masks(*values: object) -> str:
    """An explanation of the data-dependent lengths of values; an empty text if there are none."""
    lengths = (length for v in values if isinstance(v, Node) for length in v.shape)
    names = sorted(symbol.name for symbol in data_dependent_in(*lengths))
    if not names:
        return ""
    numbers = "the number" if len(names) == 1 else "the numbers"
    masks = "a mask chooses" if len(names) == 1 else "masks choose"
    return f" ({', '.join(names)}: {numbers} of elements that {masks})"
