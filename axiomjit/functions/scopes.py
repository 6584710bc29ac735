"""The kinds of the names in a function: local, a variable of an enclosing function, or global.

The kinds of a function's names are read from its code object. The names of functions inside it are
looked up in the syntax tree, by the rules of Python's compiler.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Collection, Iterable
from types import CodeType
from typing import Any, Final, Literal

Kind = Literal["local", "cell", "global"]
"""The kind of a name: `local` to the function or an inner one, `cell` of an enclosing function, or
`global`.
"""
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_DEFINITIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_INLINED: Final = sys.version_info >= (3, 12)
"""True if the code of a function also has the variables of its comprehensions (Python 3.12)."""


class Scope:
    """The names of one function or comprehension; `up` is the scope around this scope.

    Private names have the name of their class in front, as in the code object.
    """

    def __init__(
        self,
        up: Scope | None,
        own: Collection[str],
        outside: Collection[str] = (),
        is_comprehension: bool = False,
    ) -> None:
        """Store the names that the function binds, and those it declares global or nonlocal."""
        self.up, self.own, self.outside = up, {*own}, outside
        self.is_comprehension = is_comprehension
        self.first: str | None = None
        """The name of the first positional parameter."""

    def kind(self, name: str) -> Kind:
        """Return the kind of a name that is used in this scope."""
        scope = self
        while scope.up is not None:
            if name in scope.outside:
                return "global"
            if name in scope.own:
                return "local"
            scope = scope.up
        if name in scope.own:
            return "local"
        return "cell" if name in scope.outside else "global"

    def assigned(self) -> Scope:
        """Return the scope to which `:=` assigns."""
        scope = self
        while scope.is_comprehension and scope.up is not None:
            scope = scope.up
        return scope


def mangled(name: str, owner: str | None) -> str:
    """Return a name as the code has it; a private name has the name of its class in front."""
    if owner is None or not name.startswith("__") or name.endswith("__") or "." in name:
        return name
    plain = owner.lstrip("_")
    return f"_{plain}{name}" if plain else name


def root_scope(code: CodeType, node: Any, owner: str | None) -> Scope:
    """Return the scope of the function that is rewritten."""
    own = {*code.co_varnames, *code.co_cellvars}
    if _INLINED and not own.isdisjoint(code.co_names):
        own, outside = _bindings(node, owner)
        own -= outside | {*code.co_freevars}
    return Scope(None, own, code.co_freevars)


def inner_scope(node: Any, up: Scope, owner: str | None) -> Scope:
    """Return the scope of an inner function or lambda."""
    own, outside = _bindings(node, owner)
    return Scope(up, own, outside)


def comprehension_scope(generators: list[ast.comprehension], up: Scope, owner: str | None) -> Scope:
    """Return the scope of a comprehension."""
    names = {
        mangled(part.id, owner)
        for one in generators
        for part in ast.walk(one.target)
        if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)
    }
    return Scope(up, names, is_comprehension=True)


def parameters(arguments: ast.arguments) -> list[ast.arg]:
    """Return all parameters, in the order of their declaration."""
    stars = [one for one in (arguments.vararg, arguments.kwarg) if one is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *stars]


def _bindings(node: Any, owner: str | None) -> tuple[set[str], set[str]]:
    """Return the names that a function binds, and those that it declares global."""
    body = [node.body] if isinstance(node, ast.Lambda) else node.body
    own, outside, free = _names(body)
    own |= {one.arg for one in parameters(node.args)}
    sets: list[Iterable[str]] = [own - outside - free, outside]
    own, outside = ({mangled(name, owner) for name in names} for names in sets)
    return own, outside


def bound_names(body: Iterable[ast.AST]) -> set[str]:
    """Return the names that statements bind, as the source has them."""
    return _names(body)[0]


def own_names(node: Any) -> set[str]:
    """Return the names of a function's or lambda's own variables, as they are in the source."""
    return _bindings(node, None)[0]


def _names(body: Iterable[ast.AST]) -> tuple[set[str], set[str], set[str]]:
    """Return the names that statements bind, declare global, and declare nonlocal."""
    own: set[str] = set()
    outside: set[str] = set()
    free: set[str] = set()
    waiting: list[tuple[Any, bool]] = [(part, False) for part in body]
    while waiting:
        part, is_inside = waiting.pop()
        kind = part.__class__
        if kind is ast.Name:
            if part.ctx.__class__ is not ast.Load and not is_inside:
                own.add(part.id)
        elif kind is ast.NamedExpr:
            own.add(part.target.id)
            waiting.append((part.value, is_inside))
        elif kind in _DEFINITIONS:
            if kind is not ast.Lambda:
                own.add(part.name)
            waiting += [(child, is_inside) for child in _evaluated_outside(part)]
        elif kind is ast.Global:
            outside.update(part.names)
        elif kind is ast.Nonlocal:
            free.update(part.names)
        else:
            own.update(_named(part))
            inside = is_inside or kind in _COMPREHENSIONS
            waiting += [(child, inside) for child in ast.iter_child_nodes(part)]
    return own, outside, free


def _evaluated_outside(node: Any) -> list[ast.expr]:
    """Return the parts of a definition that the scope around it evaluates, such as defaults."""
    marks = getattr(node, "decorator_list", [])
    if isinstance(node, ast.ClassDef):
        return [*marks, *node.bases, *(keyword.value for keyword in node.keywords)]
    defaults = [*node.args.defaults, *(one for one in node.args.kw_defaults if one is not None)]
    return [*marks, *defaults]


def _named(node: ast.AST) -> list[str]:
    """Return the names that a node itself binds, without those that its children bind."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(alias.asname or alias.name).partition(".")[0] for alias in node.names]
    if isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
        return [node.name]
    return [node.rest] if isinstance(node, ast.MatchMapping) and node.rest else []
