"""The loops in a function's source, by the user's line."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from types import FunctionType
from typing import Final

from axiomjit.functions.source_text import FAULTS, find_definition

_OWN: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def loops_of(function: object) -> list[tuple[str, range]]:
    """The line of each loop in a function's source, as `file:line`, and the lines of its text.

    Loops of functions inside are left out. The list is empty if the function has no source text.
    """
    if type(function) is not FunctionType:
        return []
    code = function.__code__
    try:
        found = find_definition(code, function.__globals__)
    except FAULTS:
        return []
    if found is None:
        return []
    body = found.node.body if isinstance(found.node.body, list) else []
    lines = [range(n.lineno, (n.end_lineno or n.lineno) + 1) for one in body for n in _loops(one)]
    moved = [range(one.start + found.shift, one.stop + found.shift) for one in lines]
    return [(f"{code.co_filename}:{one.start}", one) for one in moved]


def _loops(node: ast.AST) -> Iterator[ast.For | ast.While]:
    if isinstance(node, _OWN):
        return
    if isinstance(node, ast.For | ast.While):
        yield node
    for part in ast.iter_child_nodes(node):
        yield from _loops(part)
