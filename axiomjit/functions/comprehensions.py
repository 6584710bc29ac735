"""Rewrite comprehensions into calls of hooks, which trace them as loops that append to a list.

| code | becomes |
|---|---|
| `[w for n in v]` | `_aj_listed(lambda n: _aj_put(w), ("", v))`, with the items |
| | as in `loop_statements` |
| `... if u` | `_aj_when(u, lambda: _aj_put(w))` in place of `_aj_put(w)` |
| `... for n in v for k in u` | `_aj_inner(lambda k: _aj_put(w), ("", u))` in its place |
| `sum(w for n in v)` | `_aj_consumed(sum, lambda n: _aj_put(w), ("", v))`, as other functions in |
| | `CONSUMERS` |

A target that is no name is unpacked by a comprehension of one item in the lambda. A comprehension
is not rewritten if it has `:=`, `lambda`, or a generator that no consumer uses up.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from axiomjit.functions.expressions import LOAD, STORE, placed
from axiomjit.functions.liveness import CONSUMERS
from axiomjit.functions.loop_statements import items_of, may_be_call_of
from axiomjit.functions.scopes import comprehension_scope

if TYPE_CHECKING:
    from axiomjit.functions.expressions import Expressions

WHOLE: Final = ("sum", "min", "max", "list")
"""The consumers that read every item, so that inner loops may run to their ends at once."""
_STAYING: Final = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda)
_PLAIN_TARGETS: Final = (ast.Name, ast.Tuple, ast.List, ast.expr_context)


def listed(rewriter: Expressions, node: ast.ListComp) -> ast.expr | None:
    """The expression that replaces a list comprehension; None if it stays a comprehension."""
    if not _may_be_loop(rewriter, node):
        return None
    body, source = _loop(rewriter, node, node.generators)
    return rewriter.hook("listed", node, body, source)


def consumed(rewriter: Expressions, node: ast.Call) -> ast.expr | None:
    """The expression that replaces a call of a consumer with a generator; None for other calls."""
    given: Any = node.args[0] if node.args else None
    if not isinstance(given, ast.GeneratorExp):
        return None
    starred = any(isinstance(one, ast.Starred) for one in node.args)
    if starred or not all(one.arg for one in node.keywords):
        return None
    names = CONSUMERS if len(given.generators) == 1 else WHOLE
    if not (may_be_call_of(rewriter, node.func, names) and _may_be_loop(rewriter, given)):
        return None
    function = rewriter.expression(node.func)
    body, source = _loop(rewriter, given, given.generators)
    rest = rewriter.expressions(node.args[1:], node)
    keywords = [
        ast.keyword(one.arg, rewriter.expression(one.value), **_place(one)) for one in node.keywords
    ]
    return rewriter.hook("consumed", node, function, body, source, *rest, keywords=keywords)


def _place(node: Any) -> dict[str, Any]:
    return {"lineno": node.lineno, "col_offset": node.col_offset}


def _may_be_loop(rewriter: Expressions, node: Any) -> bool:
    """True if no part of a comprehension binds names outside it or is used after its trip."""
    if any(one.is_async for one in node.generators):
        return False
    targets = [part for one in node.generators for part in ast.walk(one.target)]
    if not all(isinstance(part, _PLAIN_TARGETS) for part in targets):
        return False
    kept = _generators_that_stay(rewriter, node)
    parts = [part for part in ast.walk(node) if part is not node]
    return not any(
        isinstance(part, _STAYING)
        or (isinstance(part, ast.GeneratorExp) and part in kept)
        or (isinstance(part, ast.Name) and part.id == "super")
        for part in parts
    )


def _generators_that_stay(rewriter: Expressions, node: ast.AST) -> list[ast.GeneratorExp]:
    """The generators in a tree that no consumer uses up."""
    calls = [one for one in ast.walk(node) if isinstance(one, ast.Call)]
    used = [
        one.args[0] for one in calls if one.args and may_be_call_of(rewriter, one.func, CONSUMERS)
    ]
    every = (one for one in ast.walk(node) if isinstance(one, ast.GeneratorExp))
    return [one for one in every if all(one is not other for other in used)]


def _loop(
    rewriter: Expressions, node: Any, generators: Sequence[ast.comprehension]
) -> tuple[ast.expr, ast.expr]:
    """The body of the first loop of a comprehension, as a lambda, and the items of the loop."""
    first, *rest = generators
    source = items_of(rewriter, first.iter, ("range", "enumerate", "zip"))
    target: Any = first.target
    is_name = isinstance(target, ast.Name)
    name: str = target.id if is_name else rewriter.temporary(node)(STORE).id
    parameter = placed(ast.arg(name, None, None), node)
    arguments = ast.arguments([], [parameter], None, [], [], None, [])
    made = placed(ast.Lambda(arguments, node), node)
    rewriter.depth += 1
    with rewriter.inside(comprehension_scope([first], rewriter.scope, rewriter.owner)):
        parameter.arg = rewriter.mangle(name) if is_name else name
        made.body = _unpacked(rewriter, node, first, rest, "" if is_name else name)
    rewriter.depth -= 1
    return made, source


def _unpacked(
    rewriter: Expressions,
    node: Any,
    first: ast.comprehension,
    rest: Sequence[ast.comprehension],
    item: str,
) -> ast.expr:
    """The body of a loop; if `item` names the item, the target is unpacked from it first."""
    if not item:
        return _body(rewriter, node, first.ifs, rest)
    given = placed(ast.List([placed(ast.Name(item, LOAD), node)], LOAD), node)
    parts = rewriter.unpacking(ast.comprehension(first.target, given, [], 0))
    return placed(ast.ListComp(_body(rewriter, node, first.ifs, rest), parts), node)


def _body(
    rewriter: Expressions,
    node: Any,
    tests: Sequence[ast.expr],
    rest: Sequence[ast.comprehension],
) -> ast.expr:
    """The call that puts a trip's value into the list, inside tests and inner loops."""
    if tests:
        test = rewriter.truth_value(tests[0])
        empty = ast.arguments([], [], None, [], [], None, [])
        inside = placed(ast.Lambda(empty, _body(rewriter, node, tests[1:], rest)), node)
        return rewriter.hook("when", node, test, inside)
    if rest:
        return rewriter.hook("inner", node, *_loop(rewriter, node, rest))
    return rewriter.hook("put", node.elt, rewriter.expression(node.elt))
