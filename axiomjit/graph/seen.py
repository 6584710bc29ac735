"""Values as an error message shows them: NumPy's dtype names, and the lengths of this call."""

from __future__ import annotations

from axiomjit.algebra.chosen import chosen_in
from axiomjit.algebra.dims import Dim, current_scope
from axiomjit.base.dtypes import ELEMENT_TYPES
from axiomjit.base.errors import TraceError
from axiomjit.graph.nodes import Node


def at_hand(length: Dim) -> str:
    """A length as its value if that is known, without a guard; what masks choose by its name."""
    if chosen_in(length):
        return str(length)
    try:
        return str(current_scope().value(length))
    except (TraceError, KeyError):
        return str(length)


def seen_shape(shape: tuple[Dim, ...]) -> str:
    """A shape in known numbers, e.g. `[3, 100]`."""
    return "[" + ", ".join(map(at_hand, shape)) + "]"


def seen_type(value: object) -> str:
    """The type of a value, e.g. `float64[3, 100]`, `a Python float` or `a str`."""
    if not isinstance(value, Node):
        return f"a {type(value).__name__}"
    if value.weak:
        return f"a Python {ELEMENT_TYPES[value.dtype].python.__name__}"
    return f"{value.dtype}{seen_shape(value.shape)}{_of_masks(value)}"


def seen_call(name: str, *operands: object) -> str:
    """A call with the types of its operands, e.g. `add(float64[3], a str)`."""
    types = (seen_type(value).removesuffix(_of_masks(value)) for value in operands)
    return f"{name}({', '.join(types)}){_of_masks(*operands)}"


def _of_masks(*values: object) -> str:
    """What the names of lengths mean that only the running program knows; nothing without any."""
    shapes = (value.shape for value in values if isinstance(value, Node))
    names = sorted(s.name for s in chosen_in(*(length for shape in shapes for length in shape)))
    if not names:
        return ""
    numbers = "the number" if len(names) == 1 else "the numbers"
    masks = "a mask chooses" if len(names) == 1 else "masks choose"
    return f" ({', '.join(names)}: {numbers} of elements that {masks})"
