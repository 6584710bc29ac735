"""The outcomes of the loops in a function's source, in the words of `explain`."""

from __future__ import annotations

from typing import Final

REGION: Final = "a region"
"""The outcome of a loop that becomes a loop of the program; lowering decides how the loop runs."""
INSIDE: Final = "in the loop around it"
SHORT: Final = "it has few trips"
NOT_TRIED: Final = "the function was not followed with its loops as regions"
KNOWN: Final = "all its values are known"
NO_ARRAYS: Final = "it iterates over objects of Python"
STATEMENTS: Final = (
    "its body has `try`, `with`, `match`, `yield`, a definition or declaration, or a name that is "
    "not local"
)
