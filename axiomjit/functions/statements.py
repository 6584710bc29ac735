"""Rewrite the statements of a function; `expressions.py` has the table of the hooks."""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any, Final

from axiomjit.base.locks import lazy_import
from axiomjit.functions.expressions import (
    BINARY,
    DELETE,
    LOAD,
    PREFIX,
    STORE,
    UNPACKED,
    Expressions,
    at_attribute,
    constant,
    first_parameter,
    placed,
    shown,
)
from axiomjit.functions.scopes import parameters

_LOOPS: Final = frozenset({ast.For, ast.While})
_ANNOTATIONS: Final = __future__.annotations.compiler_flag
"""The flag of code whose annotations are text."""


class Rewriter(Expressions):
    """Rewrites one function by changing its syntax tree in place."""

    liveness: Any = None
    """The live names behind the present statement; None if the function has no loop."""

    def module(self) -> ast.Module:
        """Return a module; its only function takes the hooks and defines the rewritten function."""
        node = self.node
        if hasattr(node, "type_params"):
            node.type_params = []
        for one in parameters(node.args):
            one.annotation, one.arg = None, self.mangle(one.arg)
        self.scope.first = first_parameter(node.args)
        node.args.defaults = []
        node.args.kw_defaults = [None for _ in node.args.kw_defaults]
        place: dict[str, int] = {"lineno": node.lineno, "col_offset": node.col_offset}
        inner: ast.stmt = node
        if isinstance(node, ast.Lambda):
            node.body = self.expression(node.body)
            inner = ast.Expr(node, **place)
        else:
            node.returns = None
            # The code starts at the line of the first decorator; the factory around it is never
            # called.
            node.decorator_list = [constant(None, mark) for mark in node.decorator_list[:1]]
            if not _LOOPS.isdisjoint(map(type, ast.walk(node))):
                late = lazy_import("axiomjit.functions.liveness")
                self.liveness = late.Liveness(node)
            node.body = self.block(node.body)
        hooks = [ast.arg(PREFIX + name, None, None, **place) for name in sorted(self.used)]
        arguments = ast.arguments([], hooks, None, [], [], None, [])
        factory: Any = ast.FunctionDef("factory", arguments, [inner], [], None, None, **place)
        if "type_params" in factory._fields:
            factory.type_params = []
        return ast.Module([factory], [])

    def block(self, statements: Sequence[Any]) -> list[ast.stmt]:
        """Rewrite statements."""
        made: list[ast.stmt] = []
        for place, node in enumerate(statements):
            visit = _STATEMENTS.get(node.__class__)
            if visit is None:
                raise self.refuse(node, f"it has {shown(node)}")
            with self._around("before", *statements[place + 1 :]):
                new = visit(self, node)
            if new.__class__ is list:
                made += new
            else:
                made.append(new)
        return made

    def _around(self, kind: str, *parts: Any) -> Any:
        """The context of the method `kind` of `liveness`; without liveness, an empty context."""
        return nullcontext() if self.liveness is None else getattr(self.liveness, kind)(*parts)

    @contextmanager
    def inside_loop(self, node: Any) -> Iterator[None]:
        """Rewrite the body of a loop, which becomes a function."""
        self.depth += 1
        with self.liveness.loop(node):
            yield
        self.depth -= 1

    def _with_value(self, node: Any) -> ast.stmt:
        if node.value is not None:
            node.value = self.expression(node.value)
        return node  # type: ignore[no-any-return]

    def _assign(self, node: ast.Assign) -> Any:
        value = self.expression(node.value)
        unpacked = [isinstance(target, UNPACKED) for target in node.targets]
        if not any(unpacked):
            node.value, node.targets = value, [self.target(target) for target in node.targets]
            return node
        if len(unpacked) == 1:
            return self._unpack(node.targets[0], value, node)
        held = self.temporary(node.value)
        made: list[ast.stmt] = [placed(ast.Assign([held(STORE)], value), node)]
        for target, is_unpacked in zip(node.targets, unpacked, strict=True):
            if is_unpacked:
                made += self._unpack(target, held(LOAD), node)
            else:
                made.append(placed(ast.Assign([self.target(target)], held(LOAD)), node))
        return [*made, placed(ast.Delete([held(DELETE)]), node)]

    def _annotated(self, node: ast.AnnAssign) -> Any:
        target: Any = node.target
        if node.value is not None:
            return self._assign(placed(ast.Assign([target], node.value), node))
        if isinstance(target, ast.Name):
            target.id = self.mangle(target.id)
            node.annotation = constant(None, node)  # the annotation still makes the name local
            return node
        parts = (
            [target.value, target.slice] if isinstance(target, ast.Subscript) else [target.value]
        )
        return [placed(ast.Expr(self.index(part)), node) for part in parts]

    def _augmented(self, node: ast.AugAssign) -> Any:
        target: Any = node.target
        operator = constant(BINARY[node.op.__class__], node)
        if isinstance(target, ast.Name):
            old = self.name(placed(ast.Name(target.id, LOAD), target))
            result = self.hook("in_place", node, operator, old, self.expression(node.value))
            return placed(ast.Assign([self.target(target)], result), node)
        names: list[Any] = []
        value, again = self._once(target.value, self.expression(target.value), names)
        if isinstance(target, ast.Attribute):
            name = target.attr = self.mangle(target.attr)
            read = self.hook("attribute", target, value, constant(name, target))
            read = at_attribute(read, target)
        else:
            key, target.slice = self._once(target.slice, self.index(target.slice), names)
            read = self.hook("item", target, value, key)
        result = self.hook("in_place", node, operator, read, self.expression(node.value))
        target.value = self.hook("target", target, again)
        made: list[ast.stmt] = [placed(ast.Assign([target], result), node)]
        if names:
            made.append(placed(ast.Delete([name(DELETE) for name in names]), node))
        return made

    def _once(self, node: Any, made: Any, names: list[Any]) -> tuple[ast.expr, ast.expr]:
        """Return an expression that evaluates a node and stores the value, and one to read it."""
        if isinstance(made, ast.Constant):
            return made, made
        name = self.temporary(node)
        names.append(name)
        return placed(ast.NamedExpr(name(STORE), made), node), name(LOAD)

    def _delete(self, node: ast.Delete) -> ast.stmt:
        node.targets = [self.target(target) for target in node.targets]
        return node

    def _asserted(self, node: ast.Assert) -> ast.stmt:
        if self.depth:
            node.test = self.hook("holds", node, self.truth_value(node.test))
        else:
            node.test = self.condition(node.test, node)
        if node.msg is not None:
            node.msg = self.expression(node.msg)
        return node

    def _raised(self, node: ast.Raise) -> ast.stmt:
        if node.exc is not None:
            node.exc = self.expression(node.exc)
        if node.cause is not None:
            node.cause = self.expression(node.cause)
        return placed(ast.If(self.hook("raises", node), [node], []), node) if self.depth else node

    def _if(self, node: ast.If) -> Any:
        if not self.depth:
            return self._branches(node)
        late = lazy_import("axiomjit.functions.loop_statements")
        return late.branch_in_loop(self, node) or self._branches(node)

    def _branches(self, node: Any) -> ast.stmt:
        node.test = self.condition(node.test, node)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return node  # type: ignore[no-any-return]

    def _while(self, node: ast.While) -> Any:
        made = lazy_import("axiomjit.functions.loop_statements").conditional_loop(self, node)
        if made is not None:
            return made
        with self._around("loop", node):
            return self._branches(node)

    def _loop(self, node: ast.For) -> Any:
        made = lazy_import("axiomjit.functions.loop_statements").counted_loop(self, node)
        if made is not None:
            return made
        node.iter = self.iterated(node.iter, node, "walked")
        before: list[ast.stmt] = []
        with self._around("loop", node):
            if isinstance(node.target, UNPACKED):
                item = self.temporary(node.target)
                before = self._unpack(node.target, item(LOAD), node.target, item)
                node.target = item(STORE)
            else:
                node.target = self.target(node.target)
            node.body = [*before, *self.block(node.body)]
        node.orelse = self.block(node.orelse)
        return node

    def _with(self, node: ast.With) -> ast.stmt:
        for place, item in enumerate(node.items):
            value = self.expression(item.context_expr)
            item.context_expr = self.hook("context", item.context_expr, value)
            if isinstance(item.optional_vars, UNPACKED):
                held = self.temporary(item.optional_vars)
                before = self._unpack(item.optional_vars, held(LOAD), item.optional_vars, held)
                item.optional_vars = held(STORE)
                rest = node.items[place + 1 :]
                inner = [placed(ast.With(rest, node.body), node)] if rest else node.body
                with self._around("caught"):
                    node.items, node.body = node.items[: place + 1], [*before, *self.block(inner)]
                return node
            if item.optional_vars is not None:
                item.optional_vars = self.target(item.optional_vars)
        with self._around("caught"):
            node.body = self.block(node.body)
        return node

    def _tried(self, node: ast.Try) -> ast.stmt:
        with self._around("caught", *node.handlers, *node.orelse, *node.finalbody):
            node.body = self.block(node.body)
        with self._around("caught", *node.finalbody):
            for handler in node.handlers:
                if handler.type is not None:
                    handler.type = self.expression(handler.type)
                if handler.name is not None:
                    handler.name = self.mangle(handler.name)
                    if self.scope.kind(handler.name) != "local":
                        reason = f"it catches as {handler.name}, not a local name"
                        raise self.refuse(handler, reason)
                handler.body = [self._caught(handler), *self.block(handler.body)]
            node.orelse = self.block(node.orelse)
        if node.finalbody:
            node.finalbody = [self._caught(node.finalbody[0]), *self.block(node.finalbody)]
        return node

    def _caught(self, at: Any) -> ast.stmt:
        return placed(ast.Expr(self.hook("caught", at)), at)

    def _declared(self, node: ast.Global) -> ast.stmt:
        return placed(ast.Pass(), node)

    def _nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        names = [self.mangle(name) for name in node.names]
        node.names = [name for name in names if self.scope.kind(name) == "local"]
        return node if node.names else placed(ast.Pass(), node)

    def _imported(self, node: ast.Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            parts: Any = ast.Tuple([], LOAD) if alias.asname else ast.Constant(None)
            value = self._module(node, alias.name, placed(parts, node), 0)
            target = self.target(placed(ast.Name(name, STORE), node))
            made.append(placed(ast.Assign([target], value), node))
        return made

    def _imported_from(self, node: ast.ImportFrom) -> ast.stmt:
        names: list[ast.expr] = [constant(alias.name, node) for alias in node.names]
        parts = placed(ast.Tuple(names, LOAD), node)
        value = self._module(node, node.module or "", parts, node.level)
        targets: list[ast.expr] = [
            self.target(placed(ast.Name(alias.asname or alias.name, STORE), node))
            for alias in node.names
        ]
        return placed(ast.Assign([placed(ast.Tuple(targets, STORE), node)], value), node)

    def _module(self, at: Any, name: str, parts: ast.expr, level: int | None) -> ast.expr:
        return self.hook("import", at, constant(name, at), parts, constant(level or 0, at))

    def _matched(self, node: ast.Match) -> list[ast.stmt]:
        patterns = lazy_import("axiomjit.functions.patterns").Patterns(self, node)
        subject = placed(ast.Tuple([self.expression(node.subject)], LOAD), node.subject)
        made: list[ast.stmt] = [placed(ast.Assign([patterns.held[0]], subject), node)]
        chosen = placed(ast.Assign(patterns.held, placed(ast.Tuple([], LOAD), node)), node)
        for case in node.cases:
            at = case.pattern
            test, names = patterns.case(at)
            bound: list[ast.stmt] = []
            for name, read in names.items():
                target = self.target(placed(ast.Name(name, STORE), at))
                bound.append(placed(ast.Assign([target], read()), at))
            guard = None if case.guard is None else self.condition(case.guard, case.guard)
            body: list[ast.stmt] = [chosen, *self.block(case.body)]
            if guard is not None:
                body = [placed(ast.If(guard, body, []), at)]
            made.append(placed(ast.If(test, [*bound, *body], []), at))
        return [*made, chosen]

    def _function(self, node: ast.FunctionDef) -> ast.stmt:
        if getattr(node, "type_params", None):
            raise self.refuse(node, "it has a function with parameters of types")
        node.name = self.mangle(node.name)
        if self.scope.kind(node.name) != "local":
            raise self.refuse(node, f"it defines {node.name}, which is not local")
        node.decorator_list = [self._decorator(one) for one in node.decorator_list]
        inside = self.parameters(node)
        if not self.code.co_flags & _ANNOTATIONS:
            for one in parameters(node.args):
                one.annotation = one.annotation and self.expression(one.annotation)
            node.returns = node.returns and self.expression(node.returns)
        before, self.depth = self.depth, 0
        with inside, self._around("function"):
            node.body = self.block(node.body)
        self.depth = before
        return node

    def _decorator(self, node: ast.expr) -> ast.expr:
        """Return a decorator that Python evaluates where it stands, and that a hook calls."""
        names = [placed(ast.arg(PREFIX + name, None, None), node) for name in ("function", "by")]
        loads = [placed(ast.Name(name.arg, LOAD), node) for name in names]
        defaults = [self.expression(node)]
        arguments = ast.arguments([], names, None, [], [], None, defaults)
        body = self.hook("call", node, loads[1], loads[0])
        return placed(ast.Lambda(arguments, body), node)


_STATEMENTS: Final[dict[type, Callable[[Rewriter, Any], Any]]] = {
    ast.Expr: Rewriter._with_value,
    ast.Return: Rewriter._with_value,
    ast.Assign: Rewriter._assign,
    ast.AnnAssign: Rewriter._annotated,
    ast.AugAssign: Rewriter._augmented,
    ast.Delete: Rewriter._delete,
    ast.Assert: Rewriter._asserted,
    ast.Raise: Rewriter._raised,
    ast.If: Rewriter._if,
    ast.While: Rewriter._while,
    ast.For: Rewriter._loop,
    ast.With: Rewriter._with,
    ast.Try: Rewriter._tried,
    ast.Match: Rewriter._matched,
    ast.Global: Rewriter._declared,
    ast.Nonlocal: Rewriter._nonlocal,
    ast.Import: Rewriter._imported,
    ast.ImportFrom: Rewriter._imported_from,
    ast.FunctionDef: Rewriter._function,
    ast.Pass: Rewriter._same,
    ast.Break: Rewriter._same,
    ast.Continue: Rewriter._same,
}
