"""Rewrite loops and branches into calls of hooks, whose bodies are functions that share the names.

| code | becomes |
|---|---|
| `for n in range(a, b):` | `def _aj_1(_aj_2):`, `nonlocal` names, `n = _aj_2` and the body, |
| | `_aj_repeat(_aj_1, "n", carried, _aj_name("range"), a, b)` |
| `if v:` inside such a loop | `def _aj_3():` and `def _aj_4():`, `nonlocal` names and a side, |
| | `_aj_branch(_aj_3, _aj_4, carried, v)` |

`carried` are the names whose value a trip leaves for later ones or for what follows the loop. A
loop with a statement that leaves it, with `try`, `with` or a declaration stays a loop.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from axiomjit.functions.expressions import DELETE, LOAD, STORE, constant, placed
from axiomjit.functions.scopes import bound_names

if TYPE_CHECKING:
    from axiomjit.functions.statements import Rewriter

_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_LEAVING: Final = (
    *(ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With, ast.Match),
    *(ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef),
    *(ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef, ast.Raise, ast.Assert),
)
"""Statements and expressions that stay in the function itself."""
_JUMPS: Final = (ast.Break, ast.Continue)
_ENDS: Final = 3
"""The most arguments of `range`."""


def reads(node: ast.AST) -> Counter[str]:
    """The numbers of reads of each name in a tree; deletions and `+=` are reads, too.

    A read of a loop's target in the loop's own body is not counted: it reads what this loop binds.
    """
    found: Counter[str] = Counter()
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
        found[node.id] += 1
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found[node.target.id] += 1
    elif isinstance(node, ast.Global | ast.Nonlocal):
        found.update(node.names)
    own, body = "", list[Any]()
    if isinstance(node, ast.For) and isinstance(node.target, ast.Name):
        own, body = node.target.id, node.body
    for part in ast.iter_child_nodes(node):
        inside = reads(part)
        if part in body:
            del inside[own]
        found += inside
    return found


def counted_loop(rewriter: Rewriter, node: ast.For) -> list[ast.stmt] | None:
    """The statements for a loop over a range; None if it stays a loop."""
    call: Any = node.iter
    is_range = (
        isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id == "range"
        and rewriter.scope.kind("range") == "global"
        and not call.keywords
        and 1 <= len(call.args) <= _ENDS
        and not any(isinstance(one, ast.Starred) for one in call.args)
    )
    target: Any = node.target
    if not (is_range and isinstance(target, ast.Name) and _stays_inside(node.body)):
        return None
    names = bound_names(node.body)
    mine = rewriter.mangle(target.id)
    if target.id in names or any(rewriter.scope.kind(rewriter.mangle(n)) != "local" for n in names):
        return None
    if rewriter.scope.kind(mine) != "local":
        return None
    elsewhere = _elsewhere(rewriter, node)
    carried = [n for n in sorted(names) if elsewhere[n] or _first(node.body, n) == "read"]
    ends = [rewriter.expression(one) for one in call.args]
    item = rewriter.temporary(target)
    shared = [mine, *map(rewriter.mangle, sorted(names))]
    declared = _declared(rewriter, shared, node)
    rewriter.depth += 1
    body: list[ast.stmt] = [
        placed(ast.Assign([placed(ast.Name(mine, STORE), target)], item(LOAD)), target)
    ]
    body += rewriter.block(node.body)
    rewriter.depth -= 1
    name, made = _function(rewriter, shared, body, node, [item(STORE).id])
    function = rewriter.name(call.func)
    hook = rewriter.hook(
        "repeat",
        node,
        name(LOAD),
        constant(mine, node),
        _texts(map(rewriter.mangle, carried), node),
        function,
        *ends,
    )
    rest = rewriter.block(node.orelse)
    return [*declared, made, placed(ast.Expr(hook), node), _forget(name, node), *rest]


def branch_in_loop(rewriter: Rewriter, node: ast.If) -> list[ast.stmt] | None:
    """The statements for an `if` in the body of a rewritten loop; None if it stays one."""
    if not rewriter.depth or not _stays_inside([*node.body, *node.orelse], node.test):
        return None
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return None
    names = bound_names([*node.body, *node.orelse])
    if any(rewriter.scope.kind(rewriter.mangle(name)) != "local" for name in names):
        return None
    elsewhere = _elsewhere(rewriter, node)
    carried = [
        n
        for n in sorted(names)
        if elsewhere[n] or "read" in (_first(node.body, n), _first(node.orelse, n))
    ]
    shared = [*map(rewriter.mangle, sorted(names))]
    test = rewriter.truth_value(node.test)
    sides = []
    for statements in (node.body, node.orelse):
        made = rewriter.block(statements) or [placed(ast.Pass(), node)]
        sides.append(_function(rewriter, shared, made, node, []))
    names_of = _texts(map(rewriter.mangle, carried), node)
    loads = [name(LOAD) for name, _ in sides]
    hook = placed(ast.Expr(rewriter.hook("branch", node, *loads, names_of, test)), node)
    return [*(made for _, made in sides), hook, *(_forget(name, node) for name, _ in sides)]


def _function(
    rewriter: Rewriter, shared: Sequence[str], body: list[ast.stmt], at: Any, given: Sequence[str]
) -> tuple[Any, ast.stmt]:
    """The name and the definition of a function that shares names with the function around it."""
    name = rewriter.temporary(at)
    first: list[ast.stmt] = [placed(ast.Nonlocal([*shared]), at)] if shared else []
    parameters = [placed(ast.arg(one, None, None), at) for one in given]
    arguments = ast.arguments([], parameters, None, [], [], None, [])
    made: Any = ast.FunctionDef(name(STORE).id, arguments, [*first, *body], [], None, None)
    if "type_params" in made._fields:
        made.type_params = []
    return name, placed(made, at)


def _elsewhere(rewriter: Rewriter, node: ast.AST) -> Counter[str]:
    """The numbers of reads of each name outside a statement."""
    assert rewriter.reads is not None
    return rewriter.reads - reads(node)


def _declared(rewriter: Rewriter, names: Iterable[str], at: Any) -> list[ast.stmt]:
    """Annotations, which make names local to the function, without code."""
    if rewriter.depth:
        return []
    own = rewriter.scope.own
    return [
        placed(ast.AnnAssign(placed(ast.Name(n, STORE), at), constant(None, at), None, 1), at)
        for n in names
        if n in own
    ]


def _forget(name: Any, at: Any) -> ast.stmt:
    return placed(ast.Delete([name(DELETE)]), at)


def _texts(names: Iterable[str], at: Any) -> ast.expr:
    return placed(ast.Tuple([constant(one, at) for one in names], LOAD), at)


def _stays_inside(statements: Sequence[ast.stmt], *tests: ast.expr) -> bool:
    """True if nothing in a body leaves it, or belongs to the function itself."""
    return all(_is_inside(part, False) for part in (*statements, *tests))


def _is_inside(node: ast.AST, in_loop: bool) -> bool:
    if isinstance(node, _LEAVING) or (isinstance(node, _JUMPS) and not in_loop):
        return False
    if isinstance(node, ast.AnnAssign) and node.value is None:
        return False
    if isinstance(node, ast.Lambda):
        return True
    inner = in_loop or isinstance(node, ast.For | ast.While)
    return all(_is_inside(part, inner) for part in ast.iter_child_nodes(node))


def _first(statements: Sequence[ast.stmt], name: str) -> str:
    """The first use of a name in a block: "read", "bind" on every path, or "" for neither."""
    for node in statements:
        found = _first_in(node, name)
        if found:
            return found
    return ""


def _first_in(node: Any, name: str) -> str:
    if isinstance(node, ast.If | ast.While):
        if reads(node.test)[name]:
            return "read"
        sides = _first(node.body, name), _first(node.orelse, name)
        if "read" in sides:
            return "read"
        return "bind" if isinstance(node, ast.If) and sides == ("bind", "bind") else ""
    if isinstance(node, ast.For):
        if reads(node.iter)[name]:
            return "read"
        bound = any(isinstance(p, ast.Name) and p.id == name for p in ast.walk(node.target))
        inside = "bind" if bound else _first(node.body, name)
        return "read" if "read" in (inside, _first(node.orelse, name)) else ""
    if reads(node)[name]:
        return "read"
    plain = isinstance(node, ast.Assign) and name in set(_plain_names(node.targets))
    return "bind" if plain else ""


def _plain_names(targets: Iterable[Any]) -> Iterator[str]:
    for one in targets:
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Tuple | ast.List):
            yield from _plain_names(one.elts)
