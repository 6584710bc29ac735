"""Rewrite a function's tree: operations become calls of hooks, except operations on local names.

Below, v and w are values, n is a name, op an operator such as "+", "<<" or "not in".

| code | becomes |
|---|---|
| read of a global or builtin | `_aj_name("n")` |
| read of a free variable of the root function | `_aj_cell("n")` |
| store, `del` of a global | `_aj_globals.n = v`, `del _aj_globals.n`, also in `for`, `with` |
| store, `del` of the root's free variable | `_aj_cells.n = v`, `del _aj_cells.n` |
| `v.n`, `v[k]` | `_aj_attribute(v, "n")`, `_aj_item(v, k)`; slices in k `_aj_slice(a, b, c)` |
| `v.n = w`, `del v[k]` | `_aj_target(v).n = w`, `del _aj_target(v)[k]` |
| `f(a, *b, **c)` | `_aj_call(f, a, *_aj_iterate(b), **_aj_mapping(c))` |
| `v.n(a)` | `_aj_method(v, "n", a)` if `a` only reads names, else `_aj_call` of the attribute, |
| | which Python reads before it evaluates `a` |
| `super()` | `_aj_super(_aj_cell("__class__"), first argument)` |
| `v + w`, `-v`, `not v`, `v < w` | `_aj_binary("+", v, w)`, `_aj_unary("-", v)`, `_aj_not(v)`, |
| | `_aj_compare("<", v, w)` |
| `v += w` | `v = _aj_in_place("+", v, w)`; object and key of a target are evaluated once |
| conditions | `_aj_truth(v)`, a bool |
| `v and w` as a value | `w if _aj_continues(v, True) else _aj_kept()`: `_aj_continues` |
| | says if the truth of v is True (for `or` False), and if not keeps v for `_aj_kept()` |
| `a < b < c` | `_aj_compare("<", _aj_kept(), c) if _aj_chain("<", a, b) else _aj_kept()`: |
| | `_aj_chain` gives the truth of the comparison and keeps b, or, if false, the result |
| iterables of `for` | `_aj_walked(v)` |
| iterables of comprehensions, `*`, `yield from` | `_aj_iterate(v)` |
| unpacking | `_aj_unpack(v, count, star)`, count with the starred one, star its position or None |
| f-strings | `_aj_format(v, conversion, spec)`, a string; conversion -1 or `ord` of its letter |
| `with v` | `with _aj_context(v)` |
| handlers, `finally` | begin with `_aj_caught()` |
| `import a.b` | `a = _aj_import("a.b", None, 0)`, the module a |
| `import a.b as c` | `c = _aj_import("a.b", (), 0)`, the module a.b |
| `from .a import b, c as d` | `b, d = _aj_import("a", ("b", "c"), 1)`, the values |
| decorators | `_aj_call(decorator, function)` |
| `match v` | an `if` for each case, with the conditions of `patterns.py` |

A hook keeps at most one value for `_aj_kept()`, and no other hook runs before `_aj_kept()` returns
it. If the copy does not call `_aj_kept()`, the value is dropped. Inner functions, lambdas and
comprehensions are rewritten in place.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Final, TypeVar

from axiomjit.base.locks import lazy_import
from axiomjit.functions.scopes import (
    Scope,
    comprehension_scope,
    inner_scope,
    mangled,
    parameters,
    root_scope,
)
from axiomjit.functions.source_text import Definition

Node = TypeVar("Node", bound=ast.AST)
PREFIX: Final = "_aj_"
LOAD, STORE, DELETE = ast.Load(), ast.Store(), ast.Del()
BINARY: Final = {
    **{ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"},
    **{ast.Pow: "**", ast.MatMult: "@", ast.LShift: "<<", ast.RShift: ">>"},
    **{ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"},
}
_UNARY: Final = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_COMPARE: Final = {
    **{ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Eq: "==", ast.NotEq: "!="},
    **{ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in"},
}
_OWN_NAMES: Final = frozenset({"locals", "eval", "exec"})
"""Builtins that see the local names of their caller."""
_OWN_NAMES_BY_DEFAULT: Final = frozenset({"vars", "dir"})
"""Builtins that see the local names of their caller if called without an argument."""
_COMPREHENSIONS: Final = "axiomjit.functions.comprehensions"
UNPACKED: Final = (ast.Tuple, ast.List)
_BINDING: Final = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
"""Expressions that bind names of the function, or suspend the function."""


class NotInstrumentedError(Exception):
    """Raised if a function cannot be traced: no source is found, or a statement is unknown."""

    def __init__(self, reason: str, line: int = 0) -> None:
        """Store the reason, and the line in the file."""
        self.reason, self.line = reason, line
        super().__init__(f"line {line}: {reason}")


class NoTextError(NotInstrumentedError):
    """Raised if no source text compiles to the code of a function."""


class Expressions:
    """Rewrites the expressions and targets of a function, by changing its syntax tree in place."""

    depth = 0
    """The number of rewritten loops around a statement, inside the innermost function."""

    def __init__(self, code: CodeType, definition: Definition) -> None:
        """Store the function's code and its definition."""
        self.node: Any = definition.node
        self.owner = definition.owner
        self.code = code
        self.scope = root_scope(code, self.node, self.owner)
        self.used: set[str] = set()
        self._temporaries = 0
        self._locals: set[str] = set()
        self.noted: set[str] = set()
        """The names for which hooks note whether they are bound, since the outermost loop that is
        rewritten now binds them only in some trips.
        """
        self._events = 0
        """The number of hooks, `:=` and `yield` so far; hooks that only read names do not count."""
        self._loads: dict[tuple[str, int], ast.Name] = {}

    # Methods that the methods below use.

    def refuse(self, node: Any, reason: str) -> NotInstrumentedError:
        """Return the error for a node that cannot be rewritten."""
        return NotInstrumentedError(reason, node.lineno)

    def mangle(self, name: str) -> str:
        """Return a name as in the code object: private names of a class are mangled."""
        if name.startswith(PREFIX):
            if name in self._locals:
                return name
            raise NotInstrumentedError(f"it has the name {name}, which is a hook's")
        return mangled(name, self.owner)

    def free(self, hook: str, at: Any) -> ast.Name:
        """Return the name of a hook."""
        self.used.add(hook)
        key = hook, at.lineno
        made = self._loads.get(key)
        if made is None:
            made = self._loads[key] = placed(ast.Name(PREFIX + hook, LOAD), at)
        return made

    def hook(
        self, hook: str, at: Any, *arguments: ast.expr, keywords: Sequence[ast.keyword] = ()
    ) -> ast.Call:
        """Return a call of a hook."""
        self._events += 1
        return placed(ast.Call(self.free(hook, at), [*arguments], [*keywords]), at)

    def read(self, hook: str, at: Any, name: str) -> ast.Call:
        """Return a call of a hook that only reads a name."""
        made = self.hook(hook, at, constant(name, at))
        self._events -= 1
        return made

    def temporary(self, at: Any) -> Callable[[ast.expr_context], ast.Name]:
        """Return a function that makes the nodes of a new local name."""
        name = f"{PREFIX}{self._temporaries}"
        self._temporaries += 1
        return lambda context: placed(ast.Name(name, context), at)

    @property
    def loose(self) -> set[str]:
        """The names for which it is no error if they have no value after a loop."""
        return self._locals | self.noted

    def local(self, at: Any) -> str:
        """Return the name of a new local variable, for statements that are rewritten later."""
        name: str = self.temporary(at)(LOAD).id
        self._locals.add(name)
        self.scope.assigned().own.add(name)
        return name

    def inside(self, scope: Scope) -> _Inside:
        """Return a context in which names are looked up in a scope."""
        return _Inside(self, scope)

    # Expressions.

    def expression(self, node: Any) -> Any:
        """Rewrite an expression whose value is read."""
        visit = _EXPRESSIONS.get(node.__class__)
        if visit is None:
            raise self.refuse(node, f"it has {shown(node)}")
        return visit(self, node)

    def expressions(self, nodes: Iterable[Any], at: Any) -> list[Any]:
        """Rewrite the elements or arguments of the node `at`, of which some may be starred."""
        made = []
        for node in nodes:
            if node.__class__ is ast.Starred:
                as_list = at.__class__ is not ast.Set
                node.value = self.iterated(node.value, at, "spread" if as_list else "iterate")
                made.append(node)
            else:
                made.append(self.expression(node))
        return made

    def _same(self, node: Any) -> Any:
        return node

    def name(self, node: ast.Name) -> ast.expr:
        """Rewrite a name whose value is read."""
        name = node.id = self.mangle(node.id)
        kind = self.scope.kind(name)
        if kind == "local" or name == "__debug__":
            return node
        if kind == "cell":
            return self.read("cell", node, name)
        if name in _OWN_NAMES:
            raise self.refuse(node, f"it reads {name}, which sees local names")
        return self.read("name", node, name)

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        value, name = self.expression(node.value), constant(self.mangle(node.attr), node)
        return at_attribute(self.hook("attribute", node, value, name), node)

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        return self.hook("item", node, self.expression(node.value), self.index(node.slice))

    def index(self, node: Any) -> Any:
        """Rewrite the index of a subscript."""
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            made = [constant(None, node) if p is None else self.expression(p) for p in parts]
            return self.hook("slice", node, *made)
        if isinstance(node, ast.Tuple):
            for place, part in enumerate(node.elts):
                if isinstance(part, ast.Starred):
                    part.value = self.iterated(part.value, node)
                else:
                    node.elts[place] = self.index(part)
            return node
        return self.expression(node)

    def iterated(self, node: ast.expr, at: Any, hook: str = "iterate") -> ast.expr:
        """Rewrite an expression over which the node `at` iterates."""
        return self.hook(hook, at, self.expression(node))

    def _call(self, node: ast.Call) -> ast.expr:
        function: Any = node.func
        is_empty = not node.args and not node.keywords
        if isinstance(function, ast.Name) and is_empty:
            special = self._call_of_frame(node, function)
            if special is not None:
                return special
        if node.args and isinstance(node.args[0], ast.GeneratorExp):
            found: ast.expr | None = lazy_import(_COMPREHENSIONS).consumed(self, node)
            if found is not None:
                return found
        is_method = isinstance(function, ast.Attribute)
        called = self.expression(function.value if is_method else function)
        before = self._events
        arguments = self.expressions(node.args, node)
        keywords = [self._keyword(one, node) for one in node.keywords]
        if not is_method:
            return self.hook("call", node, called, *arguments, keywords=keywords)
        name = constant(self.mangle(function.attr), function)
        if self._events == before:
            made = self.hook("method", node, called, name, *arguments, keywords=keywords)
        else:
            read = at_attribute(self.hook("attribute", function, called, name), function)
            made = self.hook("call", node, read, *arguments, keywords=keywords)
        spread = any(isinstance(one, ast.Starred) for one in arguments)
        if spread or not all(one.arg for one in keywords):
            return made
        return at_attribute(made, function)

    def _keyword(self, node: ast.keyword, at: ast.Call) -> ast.keyword:
        value = self.expression(node.value)
        if node.arg is None:
            node.value = self.hook("mapping", at, value)
        else:
            node.arg, node.value = self.mangle(node.arg), value
        return node

    def _call_of_frame(self, node: ast.Call, function: ast.Name) -> ast.expr | None:
        """Rewrite `super()`, and refuse `vars()` and `dir()`, which read the caller's frame."""
        if self.scope.kind(function.id) != "global":
            return None
        if function.id in _OWN_NAMES_BY_DEFAULT:
            raise self.refuse(node, f"it calls {function.id}(), which sees local names")
        if function.id != "super" or "__class__" not in self.code.co_freevars:
            return None
        if self.scope.is_comprehension or self.scope.first is None:
            raise self.refuse(node, "it calls super() without a first argument")
        first = placed(ast.Name(self.scope.first, LOAD), node)
        return self.hook("super", node, self.read("cell", node, "__class__"), first)

    def _binary(self, node: ast.BinOp) -> ast.expr:
        chain, left = [node], node.left
        while isinstance(left, ast.BinOp):  # long sums are deep on the left
            chain.append(left)
            left = left.left
        made: ast.expr = self.expression(left)
        is_constant = isinstance(made, ast.Constant)
        for one in reversed(chain):
            right = self.expression(one.right)
            is_constant = is_constant and isinstance(right, ast.Constant)
            if is_constant:
                one.left, one.right = made, right
                made = one
            else:
                operator = constant(BINARY[one.op.__class__], one)
                made = self.hook("binary", one, operator, made, right)
        return made

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.Not):
            return self.hook("not", node, operand)
        return self.hook("unary", node, constant(_UNARY[node.op.__class__], node), operand)

    def _conditional(self, node: ast.IfExp) -> ast.expr:
        if self.depth and not any(isinstance(part, _BINDING) for part in ast.walk(node)):
            empty = ast.arguments([], [], None, [], [], None, [])
            test = self.truth_value(node.test)
            sides = [
                placed(ast.Lambda(empty, self.expression(one)), one)
                for one in (node.body, node.orelse)
            ]
            return self.hook("choice", node, test, *sides)
        node.test = self.condition(node.test, node)
        node.body, node.orelse = self.expression(node.body), self.expression(node.orelse)
        return node

    def _boolean(self, node: ast.BoolOp) -> ast.expr:
        is_and = isinstance(node.op, ast.And)
        tests = [self._continues(value, is_and, node) for value in node.values[:-1]]
        last = self.expression(node.values[-1])
        return placed(ast.IfExp(all_of(tests, node), last, self.hook("kept", node)), node)

    def _continues(self, node: Any, is_and: bool, at: Any) -> ast.expr:
        """Return a condition: True if a value's truth value is `is_and`; else a hook keeps it."""
        if not isinstance(node, ast.BoolOp):
            return self.hook("continues", at, self.expression(node), constant(is_and, at))
        if isinstance(node.op, ast.And) == is_and:
            return all_of([self._continues(value, is_and, node) for value in node.values], node)
        tests = [self.condition(value, node) for value in node.values[:-1]]
        if not is_and:
            tests = [placed(ast.UnaryOp(ast.Not(), test), node) for test in tests]
        tests.append(self._continues(node.values[-1], is_and, node))
        return placed(ast.BoolOp(ast.Or(), tests), node)

    def _comparison(self, node: ast.Compare) -> ast.expr:
        tests, last = self._compared(node)
        if not tests:
            return last
        return placed(ast.IfExp(all_of(tests, node), last, self.hook("kept", node)), node)

    def _compared(self, node: ast.Compare) -> tuple[list[ast.expr], ast.expr]:
        """Return the conditions for continuing a chain of comparisons, and the last comparison."""
        left, tests = self.expression(node.left), list[ast.expr]()
        for place, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True), 1):
            shown = constant(_COMPARE[operator.__class__], node)
            right = self.expression(right)
            if place == len(node.ops):
                return tests, self.hook("compare", node, shown, left, right)
            tests.append(self.hook("chain", node, shown, left, right))
            left = self.hook("kept", node)
        raise AssertionError

    def condition(self, node: Any, at: Any) -> ast.expr:
        """Return an expression for a condition of the node `at`; its value is True or False."""
        if isinstance(node, ast.Constant) or _is_debug(node):
            return node  # type: ignore[no-any-return]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self.condition(node.operand, at)
            return node
        if isinstance(node, ast.BoolOp):
            node.values = [self.condition(value, at) for value in node.values]
            return node
        if isinstance(node, ast.IfExp):
            node.test, node.body = self.condition(node.test, at), self.condition(node.body, at)
            node.orelse = self.condition(node.orelse, at)
            return node
        if isinstance(node, ast.Compare):
            tests, last = self._compared(node)
            return all_of([*tests, self.hook("truth", node if tests else at, last)], node)
        return self.hook("truth", at, self.expression(node))

    def truth_value(self, node: Any) -> ast.expr:
        """Return an expression for the truth value of a condition, which may be a traced value."""
        empty = ast.arguments([], [], None, [], [], None, [])
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            signs = [constant(_COMPARE[one.__class__], node) for one in node.ops]
            values = [node.left, *node.comparators]
            parts = [placed(ast.Lambda(empty, self.expression(v)), v) for v in values]
            return self.hook("ordered", node, placed(ast.Tuple([*signs], LOAD), node), *parts)
        if isinstance(node, ast.BoolOp):
            parts = [placed(ast.Lambda(empty, self.truth_value(v)), v) for v in node.values]
            is_and = constant(isinstance(node.op, ast.And), node)
            return self.hook("logical", node, is_and, *parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.hook("negated", node, self.truth_value(node.operand))
        return self.expression(node)  # type: ignore[no-any-return]

    def _walrus(self, node: ast.NamedExpr) -> ast.expr:
        name = node.target.id = self.mangle(node.target.id)
        if self.scope.assigned().kind(name) != "local":
            raise self.refuse(node, f"it assigns to {name}, which is not local, by :=")
        node.value = self.expression(node.value)
        self._events += 1
        return node

    def _yielded(self, node: ast.Yield) -> ast.expr:
        if node.value is not None:
            node.value = self.expression(node.value)
        self._events += 1
        return node

    def _yielded_from(self, node: ast.YieldFrom) -> ast.expr:
        node.value = self.iterated(node.value, node)
        return node

    def _elements(self, node: Any) -> ast.expr:
        node.elts = self.expressions(node.elts, node)
        if isinstance(node, ast.Set):
            node.elts = [self._key(one) for one in node.elts]
        return node  # type: ignore[no-any-return]

    def _key(self, node: ast.expr) -> ast.expr:
        """Return a key of a dict or set, rewritten because users' methods may compute its hash."""
        if isinstance(node, ast.Constant | ast.Starred):
            return node
        return self.hook("key", node, node)

    def _dictionary(self, node: ast.Dict) -> ast.expr:
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                node.keys[place] = self._key(self.expression(key))
                node.values[place] = self.expression(value)
            else:
                node.values[place] = self.hook("mapping", node, self.expression(value))
        return node

    def _joined(self, node: ast.JoinedStr) -> ast.expr:
        parts = [self._part(part) for part in node.values]
        if len(parts) == 1 and not isinstance(parts[0], ast.Constant):
            return parts[0].value  # type: ignore[no-any-return]
        plain = [one.value if isinstance(one, ast.FormattedValue) else one for one in parts]
        return self.hook("join", node, *plain)

    def _part(self, node: Any) -> Any:
        """Return a rewritten part of an f-string."""
        if isinstance(node, ast.Constant):
            return node
        value, how = self.expression(node.value), constant(node.conversion, node)
        spec: Any = node.format_spec
        spec = constant("", node) if spec is None else self.expression(spec)
        made = self.hook("format", node, value, how, spec)
        return placed(ast.FormattedValue(made, -1, None), node)

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        with self.parameters(node):
            node.body = self.expression(node.body)
        return node

    def parameters(self, node: Any) -> _Inside:
        """Rewrite the defaults of a definition, and return a context for its body."""
        arguments = node.args
        arguments.defaults = self.expressions(arguments.defaults, node)
        arguments.kw_defaults = [d and self.expression(d) for d in arguments.kw_defaults]
        scope = inner_scope(node, self.scope, self.owner)
        for one in parameters(arguments):
            one.arg = self.mangle(one.arg)
        scope.first = first_parameter(arguments)
        return self.inside(scope)

    def _comprehension(self, node: Any) -> ast.expr:
        generators: list[ast.comprehension] = node.generators
        scope = comprehension_scope(generators, self.scope, self.owner)
        outermost = self.iterated(generators[0].iter, node)
        with self.inside(scope):
            made: list[ast.comprehension] = []
            for place, one in enumerate(generators):
                if one.is_async:
                    raise self.refuse(node, "it is asynchronous")
                one.iter = self.iterated(one.iter, node) if place else outermost
                made += self.unpacking(one)
                made[-1].ifs = [self.condition(test, node) for test in one.ifs]
            node.generators = made
            for field in ("key", "value", "elt"):
                if hasattr(node, field):
                    setattr(node, field, self.expression(getattr(node, field)))
            for field in ("key", "elt"):
                if hasattr(node, field) and not isinstance(node, ast.ListComp | ast.GeneratorExp):
                    setattr(node, field, self._key(getattr(node, field)))
        return node  # type: ignore[no-any-return]

    def _list(self, node: ast.ListComp) -> ast.expr:
        made: ast.expr | None = lazy_import(_COMPREHENSIONS).listed(self, node)
        return self._comprehension(node) if made is None else made

    def unpacking(self, node: ast.comprehension) -> list[ast.comprehension]:
        """Return one `for` of a comprehension, followed by `for` clauses that unpack its target."""
        if not isinstance(node.target, UNPACKED):
            node.target = self.target(node.target)
            return [node]
        item = self.temporary(node.target)
        pairs, _ = self.unpacked(node.target, item(LOAD))
        first = ast.comprehension(item(STORE), node.iter, [], 0)
        rest = [
            ast.comprehension(target, placed(ast.List([value], LOAD), value), [], 0)
            for target, value in pairs
        ]
        return [first, *rest]

    # Targets.

    def target(self, node: Any) -> Any:
        """Return a rewritten target of an assignment or deletion without unpacking."""
        if isinstance(node, ast.Name):
            name = node.id = self.mangle(node.id)
            kind = self.scope.kind(name)
            if kind == "local":
                return node
            place = self.free("globals" if kind == "global" else "cells", node)
            self._events += 1
            return placed(ast.Attribute(place, name, node.ctx), node)
        if isinstance(node, ast.Attribute):
            node.value = self.hook("target", node, self.expression(node.value))
            node.attr = self.mangle(node.attr)
            return node
        if isinstance(node, ast.Subscript):
            node.value = self.hook("target", node, self.expression(node.value))
            node.slice = self.index(node.slice)
            return node
        if isinstance(node, ast.Starred):
            node.value = self.target(node.value)
        elif isinstance(node, UNPACKED):  # of `del`
            node.elts = [self.target(part) for part in node.elts]
        return node

    def unpacked(
        self, node: Any, value: ast.expr
    ) -> tuple[list[tuple[ast.expr, ast.expr]], list[Any]]:
        """Return the pairs of targets and values of an unpacking, and the temporary names."""
        parts: list[Any] = node.elts
        plain = [part.value if isinstance(part, ast.Starred) else part for part in parts]
        stars = [k for k, part in enumerate(parts) if isinstance(part, ast.Starred)]
        nested = [k for k, part in enumerate(plain) if isinstance(part, UNPACKED)]
        first = nested[0] if nested else len(parts)
        targets = [self.target(part) for part in parts[:first]]
        later: list[tuple[ast.expr, ast.expr]] = []
        names: list[Any] = []
        for part, inner in zip(parts[first:], plain[first:], strict=True):
            name = self.temporary(inner)
            names.append(name)
            held: Any = name(STORE)
            held = placed(ast.Starred(held, STORE), part) if part is not inner else held
            targets.append(held)
        for inner, name in zip(plain[first:], tuple(names), strict=True):
            if isinstance(inner, UNPACKED):
                pairs, more = self.unpacked(inner, name(LOAD))
                later += pairs
                names += more
            else:
                later.append((self.target(inner), name(LOAD)))
        if not (first == len(parts) and not stars and _is_display(value, len(parts))):
            count, star = constant(len(parts), node), constant(stars[0] if stars else None, node)
            value = self.hook("unpack", node, value, count, star)
        node.elts = targets
        return [(node, value), *later], names

    def _unpack(self, node: Any, value: ast.expr, at: Any, *names: Any) -> list[ast.stmt]:
        """Return statements that unpack a value and delete the temporary names."""
        pairs, more = self.unpacked(node, value)
        made: list[ast.stmt] = [placed(ast.Assign([t], v), at) for t, v in pairs]
        forgotten = [name(DELETE) for name in (*names, *more)]
        return [*made, placed(ast.Delete(forgotten), at)] if forgotten else made


class _Inside:
    """A context in which names are looked up in a scope."""

    def __init__(self, rewriter: Expressions, scope: Scope) -> None:
        self.rewriter, self.scope = rewriter, scope

    def __enter__(self) -> None:
        self.rewriter.scope = self.scope

    def __exit__(self, *error: object) -> None:
        assert self.scope.up is not None
        self.rewriter.scope = self.scope.up


def placed(new: Node, old: Any) -> Node:
    """Give a new node the line and the column of an old node."""
    made: Any = new
    made.lineno, made.col_offset = old.lineno, old.col_offset
    made.end_lineno, made.end_col_offset = old.end_lineno, old.end_col_offset
    return new


def at_attribute(new: ast.Call, old: ast.Attribute) -> ast.Call:
    """Give a call that replaces an attribute the line of the attribute's name, as Python does."""
    last = old.end_lineno
    if last is not None and last != old.lineno and old.end_col_offset is not None:
        new.lineno, new.col_offset = last, max(0, old.end_col_offset - len(old.attr))
    return new


def constant(value: Any, at: Any) -> ast.Constant:
    """Return a constant with the line and the column of a node."""
    return placed(ast.Constant(value), at)


def all_of(tests: list[ast.expr], at: Any) -> ast.expr:
    """Return the conjunction of conditions."""
    return tests[0] if len(tests) == 1 else placed(ast.BoolOp(ast.And(), tests), at)


def _is_debug(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == "__debug__"


def _is_display(node: ast.expr, count: int) -> bool:
    """True for a tuple or list display with `count` parts, none of which is starred."""
    return (
        isinstance(node, UNPACKED)
        and len(node.elts) == count
        and not any(isinstance(part, ast.Starred) for part in node.elts)
    )


def first_parameter(arguments: ast.arguments) -> str | None:
    """Return the name of the first positional parameter."""
    first = [*arguments.posonlyargs, *arguments.args][:1]
    return first[0].arg if first else None


def shown(node: ast.AST) -> str:
    """Return the name of a kind of node for a message."""
    return f"`{type(node).__name__}`"


_EXPRESSIONS: Final[dict[type, Callable[[Expressions, Any], Any]]] = {
    ast.Constant: Expressions._same,
    ast.Name: Expressions.name,
    ast.Attribute: Expressions._attribute,
    ast.Subscript: Expressions._subscript,
    ast.Call: Expressions._call,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.IfExp: Expressions._conditional,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._comparison,
    ast.NamedExpr: Expressions._walrus,
    ast.Yield: Expressions._yielded,
    ast.YieldFrom: Expressions._yielded_from,
    ast.Tuple: Expressions._elements,
    ast.List: Expressions._elements,
    ast.Set: Expressions._elements,
    ast.Dict: Expressions._dictionary,
    ast.JoinedStr: Expressions._joined,
    ast.Lambda: Expressions._lambda,
    ast.ListComp: Expressions._list,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
}
