"""Python's operators: the method name, NumPy function and symbol of each operator."""

from __future__ import annotations

from typing import Final

INFIX: Final = {
    "add": ("add", "+"),
    "sub": ("subtract", "-"),
    "mul": ("multiply", "*"),
    "truediv": ("divide", "/"),
    "floordiv": ("floor_divide", "//"),
    "mod": ("remainder", "%"),
    "pow": ("power", "**"),
    "and": ("bitwise_and", "&"),
    "or": ("bitwise_or", "|"),
    "xor": ("bitwise_xor", "^"),
    "lshift": ("left_shift", "<<"),
    "rshift": ("right_shift", ">>"),
}
"""Operators with a mirrored method, such as `__radd__`, by method name without underscores."""
COMPARISONS: Final = {
    "eq": ("equal", "=="),
    "ne": ("not_equal", "!="),
    "lt": ("less", "<"),
    "le": ("less_equal", "<="),
    "gt": ("greater", ">"),
    "ge": ("greater_equal", ">="),
}
PREFIX: Final = {
    "neg": ("negative", "-"),
    "pos": ("positive", "+"),
    "invert": ("invert", "~"),
    "abs": ("absolute", None),
}
OPERATORS: Final = {
    stem: name for table in (INFIX, COMPARISONS, PREFIX) for stem, (name, _) in table.items()
}
"""NumPy's function for each method."""
SIGNS: Final = {
    name: sign
    for table in (INFIX, COMPARISONS, PREFIX)
    for name, sign in table.values()
    if sign is not None
}
"""The operator symbol for each NumPy function."""
