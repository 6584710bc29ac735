"""Names that a loop binds only in some of its trips, and that are read after the loop.

Each name that only some trips bind gets a truth value, which becomes True in a trip that binds the
name. If no trip has bound the name, it has no value. The program then ends with a status, and
Python runs the call.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from axiomjit.functions.expressions import LOAD, STORE, constant, placed
from axiomjit.functions.loop_jumps import assigned
from axiomjit.functions.scopes import bound_names

if TYPE_CHECKING:
    from axiomjit.functions.statements import Rewriter


def noted(rewriter: Rewriter, node: Any, names: Sequence[str]) -> tuple[list[ast.stmt], ...]:
    """Add truth values to a loop for names that it binds; return statements around the loop."""
    rewriter.noted = set(names)
    truths = {name: rewriter.local(node) for name in names}
    node.body = _noting(node.body, truths)
    before: list[ast.stmt] = []
    behind: list[ast.stmt] = []
    empty = ast.arguments([], [], None, [], [], None, [])
    for name, truth in truths.items():
        read = placed(ast.Lambda(empty, placed(ast.Name(rewriter.mangle(name), LOAD), node)), node)
        target = placed(ast.Name(truth, STORE), node)
        before.append(placed(ast.Assign([target], rewriter.hook("bound", node, read)), node))
        asked = rewriter.hook("required", node, placed(ast.Name(truth, LOAD), node))
        behind.append(placed(ast.Expr(asked), node))
        assert rewriter.liveness is not None
        rewriter.liveness.always.add(truth)
    return before, behind


def _noting(statements: Sequence[Any], truths: Mapping[str, str]) -> list[ast.stmt]:
    made: list[ast.stmt] = []
    for node in statements:
        made.append(node)
        if isinstance(node, ast.If | ast.For | ast.While):
            node.body, node.orelse = _noting(node.body, truths), _noting(node.orelse, truths)
            targets = bound_names([node.target]) if isinstance(node, ast.For) else set[str]()
            node.body = [*_mark_bound(truths, targets, node), *node.body]
        else:
            made += _mark_bound(truths, bound_names([node]), node)
    return made


def _mark_bound(truths: Mapping[str, str], names: set[str], at: Any) -> list[ast.stmt]:
    found = [truth for name, truth in truths.items() if name in names]
    return [assigned(truth, constant(True, at), at) for truth in found]
