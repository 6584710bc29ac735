"""Rewrite loops and branches into calls of hooks; the bodies become functions with shared names.

| code | becomes |
|---|---|
| `for n in range(a, b):` | `def _aj_1(_aj_2):`, `nonlocal` names, `n = _aj_2` and the body, |
| | `_aj_repeat(_aj_1, "n", names, _aj_name("range"), a, b)` |
| `for n in v:` | the same, and `_aj_each(_aj_1, names, ("", v))`; of `zip(v, w)` |
| | `("zip", _aj_name("zip"), ("", v), ("", w))`, so of `enumerate(v, k)` |
| `while v:` | `def _aj_5():` that returns v, and `def _aj_6():` with the body, |
| | `_aj_loop(_aj_5, _aj_6, names)` |
| `if v:` inside such a loop | `def _aj_3():` and `def _aj_4():`, `nonlocal` names and a side, |
| | `_aj_branch(_aj_3, _aj_4, names, v)` |

`names` has three parts: the name of a truth value that ends the loop, or "" (`loop_jumps` has
removed `break`, `continue` and `return`); the names whose values are read in later trips or after
the loop; and those names of the second part that may have no value after a trip (`loop_bindings`).
In a body, `assert v` becomes `assert _aj_holds(v)`, and `raise v` becomes `if _aj_raises(): raise
v`: in a region, both are checks. A loop with `try`, `with`, `yield`, `global` or `nonlocal` stays a
loop.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from axiomjit.functions.expressions import DELETE, LOAD, STORE, constant, placed
from axiomjit.functions.liveness import reads, uses
from axiomjit.functions.loop_bindings import noted
from axiomjit.functions.loop_jumps import (
    assigned,
    has_break,
    has_jump,
    has_return,
    unless,
    without_jumps,
    without_returns,
)
from axiomjit.functions.scopes import bound_names

if TYPE_CHECKING:
    from axiomjit.functions.expressions import Expressions
    from axiomjit.functions.statements import Rewriter

LEAVING: Final = (
    *(ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With, ast.Match),
    *(ast.Global, ast.Nonlocal, ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef),
    *(ast.AsyncFor, ast.AsyncWith, ast.AsyncFunctionDef),
)
"""Statements and expressions that cannot move into a function of their own."""
_PLAIN_TARGETS: Final = (ast.Name, ast.Tuple, ast.List, ast.expr_context)
_ENDS: Final = 3
"""The largest number of arguments of `range`."""
_MOST: Final = {"zip": 2**31, "enumerate": 2}
"""The largest number of arguments of `zip` and `enumerate` that are taken apart."""


def counted_loop(rewriter: Rewriter, node: ast.For) -> list[ast.stmt] | None:
    """The statements for a loop over items; None if the loop stays a statement."""
    call: Any = node.iter
    is_range = _is_call_of(rewriter, call, ("range",)) and len(call.args) <= _ENDS
    is_counted = is_range and isinstance(node.target, ast.Name)
    bound = bound_names([node.target])
    if not (_stays_inside(node.body) and _may_be_inside(rewriter, node)):
        return None
    if is_counted and bound & bound_names(node.body):
        return None
    if any(not isinstance(part, _PLAIN_TARGETS) for part in ast.walk(node.target)):
        return None
    if not rewriter.depth and has_return(node.body):
        return _with_returns(rewriter, node)
    noting, behind = _noted(rewriter, node)
    before, left = _jumps_removed(rewriter, node)
    live = _live(rewriter, node)
    target: Any = node.target
    item = rewriter.local(node)
    read = placed(ast.Name(item, LOAD), target)
    first = placed(ast.Assign([target], read), target)
    names = bound_names([first, *node.body]) - {item}
    shown = {left} | (bound if not is_counted or left else set())
    carried = sorted(
        name
        for name in names & (live | uses([first, *node.body]).read)
        if name in shown or name not in bound
    )
    if is_counted:
        source = [rewriter.name(call.func), *map(rewriter.expression, call.args)]
        hook, given = "repeat", [constant(rewriter.mangle(target.id), node)]
    else:
        source, hook, given = [items_of(rewriter, call, ("enumerate", "zip"))], "each", []
    declared = _declared(rewriter, map(rewriter.mangle, sorted(names)), node)
    with rewriter.inside_loop(node):
        body = rewriter.block([first, *node.body])
    shared = [*map(rewriter.mangle, sorted(names))]
    name, made = _function(rewriter, shared, body, node, [item])
    own = _names(rewriter, left, carried, node)
    done = rewriter.hook(hook, node, name(LOAD), *given, own, *source)
    before = [*declared, *noting, *before, made, placed(ast.Expr(done), node)]
    return [*before, _forget(name, node), *behind, *_behind(rewriter, node, left)]


def conditional_loop(rewriter: Rewriter, node: ast.While) -> list[ast.stmt] | None:
    """The statements for a `while` loop; None if the loop stays a statement."""
    if not (_stays_inside(node.body, node.test) and _may_be_inside(rewriter, node)):
        return None
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return None
    if not rewriter.depth and has_return(node.body):
        return _with_returns(rewriter, node)
    noting, behind = _noted(rewriter, node)
    before, left = _jumps_removed(rewriter, node)
    names, asked = bound_names(node.body), reads(node.test)
    carried = sorted(names & (_live(rewriter, node) | asked | uses(node.body).read))
    shared = [*map(rewriter.mangle, sorted(names))]
    declared = _declared(rewriter, shared, node)
    with rewriter.inside_loop(node):
        answer = placed(ast.Return(rewriter.truth_value(node.test)), node.test)
        body = rewriter.block(node.body)
    sides = [
        _function(rewriter, [], [answer], node, []),
        _function(rewriter, shared, body, node, []),
    ]
    loads = [name(LOAD) for name, _ in sides]
    done = rewriter.hook("loop", node, *loads, _names(rewriter, left, carried, node))
    made = [*(one for _, one in sides), placed(ast.Expr(done), node)]
    made += [_forget(name, node) for name, _ in sides]
    return [*declared, *noting, *before, *made, *behind, *_behind(rewriter, node, left)]


def _is_call_of(rewriter: Expressions, call: Any, names: Sequence[str]) -> bool:
    return (
        isinstance(call, ast.Call)
        and may_be_call_of(rewriter, call.func, names)
        and not call.keywords
        and bool(call.args)
        and not any(isinstance(one, ast.Starred) for one in call.args)
    )


def may_be_call_of(rewriter: Expressions, function: ast.expr, names: Sequence[str]) -> bool:
    """True if a called expression is one of these names, and the name is no local variable."""
    is_name = isinstance(function, ast.Name) and function.id in names
    return is_name and rewriter.scope.kind(function.id) == "global"  # type: ignore[attr-defined]


def items_of(rewriter: Expressions, node: Any, names: Sequence[str]) -> ast.expr:
    """The items of a loop: `("zip", function, items, ...)`, or `("", value)` for other items.

    `names` are the functions whose arguments are taken apart: "zip", "enumerate" and "range".
    """
    if not _is_call_of(rewriter, node, names) or len(node.args) > _MOST.get(node.func.id, _ENDS):
        return placed(ast.Tuple([constant("", node), rewriter.expression(node)], LOAD), node)
    kind = node.func.id
    count = {"zip": len(node.args), "enumerate": 1}.get(kind, 0)
    parts: list[ast.expr] = [constant(kind, node), rewriter.name(node.func)]
    parts += [items_of(rewriter, one, ("enumerate", "zip")) for one in node.args[:count]]
    parts += [rewriter.expression(one) for one in node.args[count:]]
    return placed(ast.Tuple(parts, LOAD), node)


def _may_be_inside(rewriter: Rewriter, node: Any) -> bool:
    """True if all names that a loop binds are local to the function."""
    names = bound_names([node])
    return all(rewriter.scope.kind(rewriter.mangle(name)) == "local" for name in names)


def _with_returns(rewriter: Rewriter, node: Any) -> list[ast.stmt]:
    """The statements for a loop that may return from the function."""
    return rewriter.block(without_returns(rewriter, node))


def _jumps_removed(rewriter: Rewriter, node: Any) -> tuple[list[ast.stmt], str]:
    """Remove a loop's jumps; return statements before it, and the name that `break` sets or ""."""
    if not has_jump(node.body):
        return [], ""
    left = rewriter.local(node) if has_break(node.body) else ""
    node.body = without_jumps(rewriter, node.body, left) or [placed(ast.Pass(), node)]
    if not left:
        return [], left
    assert rewriter.liveness is not None
    rewriter.liveness.always.add(left)
    start = assigned(left, constant(False, node), node)
    return rewriter.block([start]), left


def _noted(rewriter: Rewriter, node: Any) -> tuple[list[ast.stmt], ...]:
    """The statements around an outermost loop, for names that only some of its trips bind."""
    if rewriter.depth:
        return [], []
    inside = reads(*node.body, getattr(node, "test", ast.Pass()))
    surely = uses(node.body)
    names = set() if surely.ends else bound_names(node.body) - inside - surely.bound
    rewriter.noted = set()  # Names of earlier loops are dropped.
    return noted(rewriter, node, sorted(names & _live(rewriter, node) - rewriter.loose))


def _behind(rewriter: Rewriter, node: Any, left: str) -> list[ast.stmt]:
    """The rewritten statements of the `else` of a loop, which run if `left` is false."""
    if left and node.orelse:
        return rewriter.block([unless(left, node.orelse, node)])
    return rewriter.block(node.orelse)


def branch_in_loop(rewriter: Rewriter, node: ast.If) -> list[ast.stmt] | None:
    """The statements for an `if` in the body of a rewritten loop; None if it stays an `if`."""
    sides = [*node.body, *node.orelse]
    if not rewriter.depth or has_jump(sides) or has_return(sides):
        return None
    if not _stays_inside(sides, node.test):
        return None
    if any(isinstance(part, ast.NamedExpr) for part in ast.walk(node.test)):
        return None
    names = bound_names([*node.body, *node.orelse])
    if any(rewriter.scope.kind(rewriter.mangle(name)) != "local" for name in names):
        return None
    read = uses(node.body).read | uses(node.orelse).read
    carried = sorted(names & (_live(rewriter, node) | read))
    shared = [*map(rewriter.mangle, sorted(names))]
    test = rewriter.truth_value(node.test)
    functions = []
    for statements in (node.body, node.orelse):
        made = rewriter.block(statements) or [placed(ast.Pass(), node)]
        functions.append(_function(rewriter, shared, made, node, []))
    loads, own = [name(LOAD) for name, _ in functions], _names(rewriter, "", carried, node)
    hook = placed(ast.Expr(rewriter.hook("branch", node, *loads, own, test)), node)
    forgotten = [_forget(name, node) for name, _ in functions]
    return [*(made for _, made in functions), hook, *forgotten]


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


def _live(rewriter: Rewriter, node: Any) -> set[str]:
    """The names that are read behind the body of a loop, or behind the sides of a branch."""
    assert rewriter.liveness is not None
    live: set[str] = rewriter.liveness.names()
    return live if isinstance(node, ast.If) else live | uses(node.orelse).read


def _declared(rewriter: Rewriter, names: Iterable[str], at: Any) -> list[ast.stmt]:
    """Annotations, which make names local to the function and run no code."""
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


def _names(rewriter: Rewriter, left: str, carried: Sequence[str], at: Any) -> ast.expr:
    """An expression with the names of a body, for the body's hook."""
    loose = [name for name in carried if name in rewriter.loose]
    parts = [
        placed(ast.Tuple([constant(rewriter.mangle(one), at) for one in part], LOAD), at)
        for part in (carried, loose)
    ]
    return placed(ast.Tuple([constant(left, at), *parts], LOAD), at)


def _stays_inside(statements: Sequence[ast.stmt], *tests: ast.expr) -> bool:
    """True if all statements of a body, apart from jumps, can move into a function of their own."""
    return all(map(is_inside, (*statements, *tests)))


def is_inside(node: ast.AST) -> bool:
    """True if a statement, apart from its jumps, can move into a function of its own."""
    if isinstance(node, LEAVING) or (isinstance(node, ast.AnnAssign) and node.value is None):
        return False
    if isinstance(node, ast.For | ast.While) and (has_jump(node.orelse) or has_return(node.orelse)):
        return False
    return isinstance(node, ast.Lambda) or all(map(is_inside, ast.iter_child_nodes(node)))
