"""Rewrite loops so that truth values and branches replace `break`, `continue` and `return`.

| code | becomes |
|---|---|
| `break` | a truth that ends the loop; the rest of the trip does not run |
| `if v:` with a jump, then `rest` | `rest` on the side that does not jump, |
| | or `if not t:` with it, where both sides may go on |
| `return v` in a loop | a value, a truth and `break`; `if` behind the loops returns it |

The names of these truth values are temporaries of the rewriter. The rewriter rewrites the new
statements like all other statements.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

from axiomjit.functions.expressions import LOAD, STORE, constant, placed

if TYPE_CHECKING:
    from axiomjit.functions.statements import Rewriter

_LOOPS: Final = (ast.For, ast.While)
_JUMPS: Final = (ast.Break, ast.Continue)
_OWN: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)


def has_jump(statements: Sequence[ast.AST]) -> bool:
    """True if a statement leaves the loop around it, or continues with the loop's next trip."""
    for node in statements:
        if isinstance(node, _JUMPS):
            return True
        if isinstance(node, _LOOPS):
            if has_jump(node.orelse):
                return True
        elif not isinstance(node, _OWN) and has_jump([*ast.iter_child_nodes(node)]):
            return True
    return False


def has_break(statements: Sequence[ast.AST]) -> bool:
    """True if a statement leaves the loop around it."""
    return any(
        isinstance(node, ast.Break)
        or (not isinstance(node, (*_LOOPS, *_OWN)) and has_break([*ast.iter_child_nodes(node)]))
        for node in statements
    )


def has_return(statements: Sequence[ast.AST]) -> bool:
    """True if a statement returns from the function."""
    return any(map(_returns, statements))


def without_jumps(rewriter: Rewriter, body: Sequence[ast.stmt], left: str) -> list[ast.stmt]:
    """The body of a loop without jumps; `break` becomes a statement that makes `left` true."""
    return _Body(rewriter, left).block(body, "")


def without_returns(rewriter: Rewriter, node: Any) -> list[ast.stmt]:
    """The statements that replace a loop with `return`: the loop ends, and a `return` follows it.

    Tuples are returned element by element if all returned values are tuples of one length.
    """
    values = [part.value for one in node.body for part in _returns(one)]
    tuples = [value.elts for value in values if isinstance(value, ast.Tuple)]
    lengths = {len(parts) for parts in tuples}
    starred = any(isinstance(part, ast.Starred) for parts in tuples for part in parts)
    is_tuple = len(tuples) == len(values) and len(lengths) == 1 and not starred
    done = rewriter.local(node)
    names = [rewriter.local(node) for _ in range(lengths.pop() if is_tuple else 1)]
    start = assigned(done, constant(False, node), node)
    node.body = _Returning(done, names, is_tuple).block(node.body)
    parts = [_read(name, node) for name in names]
    value = placed(ast.Tuple(parts, LOAD), node) if is_tuple else parts[0]
    back = placed(ast.Return(value), node)
    return [start, node, placed(ast.If(_read(done, node), [back], []), node)]


def _returns(node: ast.AST) -> list[ast.Return]:
    if isinstance(node, (ast.Return, *_OWN)):
        return [node] if isinstance(node, ast.Return) else []
    return [one for part in ast.iter_child_nodes(node) for one in _returns(part)]


def assigned(name: str, value: ast.expr, at: Any) -> ast.stmt:
    """The statement that binds a name."""
    return placed(ast.Assign([placed(ast.Name(name, STORE), at)], value), at)


def unless(name: str, statements: list[ast.stmt], at: Any) -> ast.stmt:
    """A branch that runs the statements if a truth value is False."""
    test = placed(ast.UnaryOp(ast.Not(), _read(name, at)), at)
    return placed(ast.If(test, statements, []), at)


def _read(name: str, at: Any) -> Any:
    return placed(ast.Name(name, LOAD), at)


class _Returning:
    """Replaces each `return`: the new statements store the value and leave the loop."""

    def __init__(self, done: str, names: Sequence[str], is_tuple: bool) -> None:
        self._done, self._names, self._is_tuple = done, names, is_tuple

    def block(self, statements: Sequence[Any]) -> list[ast.stmt]:
        """The statements of a loop, in which each `return` is replaced."""
        made: list[ast.stmt] = []
        for node in statements:
            if isinstance(node, ast.Return):
                found: Any = node.value or constant(None, node)
                values = found.elts if self._is_tuple else [found]
                pairs = zip(self._names, values, strict=True)
                made += [assigned(name, value, node) for name, value in pairs]
                made.append(assigned(self._done, constant(True, node), node))
                return [*made, placed(ast.Break(), node)]
            inside = has_return([node])
            if inside and isinstance(node, ast.If):
                node.body, node.orelse = self.block(node.body), self.block(node.orelse)
            made.append(node)
            if inside and isinstance(node, _LOOPS):
                node.body = self.block(node.body)
                test, leave = _read(self._done, node), placed(ast.Break(), node)
                made.append(placed(ast.If(test, [leave], []), node))
        return made


def _always_jumps(statements: Sequence[Any]) -> bool:
    return any(
        isinstance(node, (*_JUMPS, ast.Raise))
        or (isinstance(node, ast.If) and _always_jumps(node.body) and _always_jumps(node.orelse))
        for node in statements
    )


class _Body:
    """Writes the body of one loop without `break` and `continue`."""

    def __init__(self, rewriter: Rewriter, left: str) -> None:
        self._rewriter, self._left = rewriter, left

    def block(self, statements: Sequence[Any], skips: str) -> list[ast.stmt]:
        """The statements without jumps; each jump makes the variable `skips` true, if given."""
        made: list[ast.stmt] = []
        for place, node in enumerate(statements):
            if isinstance(node, _JUMPS):
                names = [self._left] if isinstance(node, ast.Break) else []
                names += [skips] if skips else []
                return made + [assigned(name, constant(True, node), node) for name in names]
            if isinstance(node, ast.Raise):
                return [*made, node]
            if isinstance(node, ast.If) and has_jump([node]):
                return made + self._branch(node, statements[place + 1 :], skips)
            made.append(node)
        return made

    def _branch(self, node: ast.If, rest: Sequence[ast.stmt], skips: str) -> list[ast.stmt]:
        """The statements for a branch with jumps and for `rest`, which runs if no jump was made."""
        sides = node.body, node.orelse
        jumps = [_always_jumps(side) for side in sides]
        if rest and not any(jumps):
            own = skips or self._rewriter.local(node)
            start = [] if skips else [assigned(own, constant(False, node), node)]
            then, otherwise = (self.block(side, own) for side in sides)
            branch = self._if(node, then, otherwise)
            return [*start, branch, unless(own, self.block(rest, skips), node)]
        then, otherwise = (
            self.block(side if jump else [*side, *rest], skips)
            for side, jump in zip(sides, jumps, strict=True)
        )
        return [self._if(node, then, otherwise)]

    def _if(self, node: ast.If, then: list[ast.stmt], otherwise: list[ast.stmt]) -> ast.stmt:
        body = then or [placed(ast.Pass(), node)]
        return placed(ast.If(node.test, body, otherwise), node)
