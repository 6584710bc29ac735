"""Syntax trees made from short texts, at the line of a node."""

from __future__ import annotations

import ast
from typing import Any


def parsed(text: str, at: Any) -> list[Any]:
    """The statements of a text, at the line of a node."""
    made = ast.parse(text).body
    for one in made:
        for part in ast.walk(one):
            if "lineno" in part._attributes:
                placed_at(part, at)
    return made


def placed_at(new: Any, at: Any) -> Any:
    """Return a new node with the first line of the node `at`."""
    new.lineno = new.end_lineno = at.lineno
    new.col_offset = new.end_col_offset = at.col_offset
    return new
