"""Rewrite a function's tree: what touches anything but its own names becomes a call of a hook.

Below, v and w are values, n is a name, op an operator such as "+", "<<" or "not in".

| code | becomes |
|---|---|
| read of a global or builtin | `_aj_name("n")` |
| read of a free variable of the root function | `_aj_cell("n")` |
| store, `del` of a global | `_aj_globals.n = v`, `del _aj_globals.n`, as a target of any statement |
| store, `del` of the root's free variable | `_aj_cells.n = v`, `del _aj_cells.n` |
| `v.n`, `v[k]` | `_aj_attribute(v, "n")`, `_aj_item(v, k)`; slices in k `_aj_slice(a, b, c)` |
| `v.n = w`, `del v[k]` | `_aj_target(v).n = w`, `del _aj_target(v)[k]` |
| `f(a, *b, **c)` | `_aj_call(f, a, *_aj_iterate(b), **_aj_mapping(c))` |
| `v.n(a)` | `_aj_method(v, "n", a)` if `a` only reads names, else `_aj_call` of the attribute, |
| | which Python reads before it evaluates `a` |
| `super()` | `_aj_super(_aj_cell("__class__"), first argument)` |
| `v + w`, `-v`, `not v`, `v < w` | `_aj_binary("+", v, w)`, `_aj_unary("-", v)`, `_aj_not(v)`, |
| | `_aj_compare("<", v, w)` |
| `v += w` | `v = _aj_in_place("+", v, w)`; the object and the key of a target are evaluated once |
| conditions | `_aj_truth(v)`, a bool |
| `v and w`, `v or w` as values | `w if _aj_continues(v, True) else _aj_kept()`: `_aj_continues(v, is_and)` |
| | is True if v's truth is `is_and`, and else keeps v, which `_aj_kept()` gives |
| `a < b < c` | `_aj_compare("<", _aj_kept(), c) if _aj_chain("<", a, b) else _aj_kept()`: |
| | `_aj_chain` gives the truth of the comparison and keeps b, or, if false, the result |
| iterables of `for`, `*`, `yield from` | `_aj_iterate(v)` |
| unpacking | `_aj_unpack(v, count, star)`, count with the starred one, star its position or None |
| f-strings | `_aj_format(v, conversion, spec)`, conversion -1 or a letter's number, gives a string |
| `with v` | `with _aj_context(v)` |
| handlers, `finally` | begin with `_aj_caught()` |
| `import a.b` | `a = _aj_import("a.b", None, 0)`, the module a |
| `import a.b as c` | `c = _aj_import("a.b", (), 0)`, the module a.b |
| `from .a import b, c as d` | `b, d = _aj_import("a", ("b", "c"), 1)`, the values |
| decorators | `_aj_call(decorator, function)` |

At most one value is kept at a time, and nothing runs before `_aj_kept()` gives it; one that is not
asked for is dropped. Inner functions, lambdas and comprehensions are rewritten in place.
"""

from __future__ import annotations
import __future__

import ast
from collections.abc import Callable, Iterable, Sequence
from types import CodeType
from typing import Any, Final

from axiomjit.functions.scopes import (
    Scope,
    comprehension_scope,
    inner_scope,
    mangled,
    parameters,
    root_scope,
)
from axiomjit.functions.source_text import Definition

PREFIX: Final = "_aj_"
_LOAD, _STORE, _DELETE = ast.Load(), ast.Store(), ast.Del()
_BINARY: Final = {
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
"""Builtins that do so if they are called without an argument."""
_UNPACKED: Final = (ast.Tuple, ast.List)
_ANNOTATIONS: Final = __future__.annotations.compiler_flag
"""The flag of code whose annotations are text."""


class NotInstrumentedError(Exception):
    """A function is not followed: its source is not found, or it has an unknown statement."""

    def __init__(self, reason: str, line: int = 0) -> None:
        """Take the reason, and the line of the file."""
        self.reason, self.line = reason, line
        super().__init__(f"line {line}: {reason}")


class Rewriter:
    """Rewrites one function, whose tree it changes."""

    def __init__(self, code: CodeType, definition: Definition) -> None:
        """Take the function's code and its definition."""
        self._node: Any = definition.node
        self._owner = definition.owner
        self._code = code
        self._scope = root_scope(code, self._node, self._owner)
        self._used: set[str] = set()
        self._temporaries = 0
        self._events = 0
        """The number of hooks so far, reads of names apart, and of `:=` and `yield`."""
        self._loads: dict[tuple[str, int], ast.Name] = {}
        self._keeps_annotations = bool(code.co_flags & _ANNOTATIONS)

    def module(self) -> ast.Module:
        """Return a module with a function that has the hooks as parameters, and ours inside."""
        node = self._node
        if hasattr(node, "type_params"):
            node.type_params = []
        for one in parameters(node.args):
            one.annotation, one.arg = None, self._mangle(one.arg)
        self._scope.first = _first_parameter(node.args)
        node.args.defaults = []
        node.args.kw_defaults = [None for _ in node.args.kw_defaults]
        place: dict[str, int] = {"lineno": node.lineno, "col_offset": node.col_offset}
        inner: ast.stmt = node
        if isinstance(node, ast.Lambda):
            node.body = self._expression(node.body)
            inner = ast.Expr(node, **place)
        else:
            node.decorator_list, node.returns = [], None
            node.body = self._block(node.body)
        hooks = [ast.arg(PREFIX + name, None, None, **place) for name in sorted(self._used)]
        arguments = ast.arguments([], hooks, None, [], [], None, [])
        factory: Any = ast.FunctionDef("factory", arguments, [inner], [], None, None, **place)
        if "type_params" in factory._fields:
            factory.type_params = []
        return ast.Module([factory], [])

    # Parts that all of them use.

    def _refuse(self, node: Any, reason: str) -> NotInstrumentedError:
        return NotInstrumentedError(reason, node.lineno)

    def _mangle(self, name: str) -> str:
        if name.startswith(PREFIX):
            raise NotInstrumentedError(f"it has the name {name}, which is a hook's")
        return mangled(name, self._owner)

    def _free(self, hook: str, at: Any) -> ast.Name:
        """Return the name of a hook."""
        self._used.add(hook)
        key = hook, at.lineno
        made = self._loads.get(key)
        if made is None:
            made = self._loads[key] = _placed(ast.Name(PREFIX + hook, _LOAD), at)
        return made

    def _hook(
        self, hook: str, at: Any, *arguments: ast.expr, keywords: Sequence[ast.keyword] = ()
    ) -> ast.Call:
        """Return a call of a hook."""
        self._events += 1
        return _placed(ast.Call(self._free(hook, at), [*arguments], [*keywords]), at)

    def _read(self, hook: str, at: Any, name: str) -> ast.Call:
        made = self._hook(hook, at, _constant(name, at))
        self._events -= 1
        return made

    def _temporary(self, at: Any) -> Callable[[ast.expr_context], ast.Name]:
        """Return a function that makes the nodes of a new local name."""
        name = f"{PREFIX}{self._temporaries}"
        self._temporaries += 1
        return lambda context: _placed(ast.Name(name, context), at)

    def _inside(self, scope: Scope) -> _Inside:
        return _Inside(self, scope)

    # Expressions.

    def _expression(self, node: Any) -> Any:
        visit = _EXPRESSIONS.get(node.__class__)
        if visit is None:
            raise self._refuse(node, f"it has {_shown(node)}")
        return visit(self, node)

    def _expressions(self, nodes: Iterable[Any]) -> list[Any]:
        return [self._expression(node) for node in nodes]

    def _same(self, node: Any) -> Any:
        return node

    def _name(self, node: ast.Name) -> ast.expr:
        name = node.id = self._mangle(node.id)
        kind = self._scope.kind(name)
        if kind == "local" or name == "__debug__":
            return node
        if kind == "cell":
            return self._read("cell", node, name)
        if name in _OWN_NAMES:
            raise self._refuse(node, f"it reads {name}, which sees local names")
        return self._read("name", node, name)

    def _attribute(self, node: ast.Attribute) -> ast.expr:
        value, name = self._expression(node.value), _constant(self._mangle(node.attr), node)
        return _at_attribute(self._hook("attribute", node, value, name), node)

    def _subscript(self, node: ast.Subscript) -> ast.expr:
        return self._hook("item", node, self._expression(node.value), self._index(node.slice))

    def _index(self, node: Any) -> Any:
        if isinstance(node, ast.Slice):
            parts = (node.lower, node.upper, node.step)
            made = [_constant(None, node) if p is None else self._expression(p) for p in parts]
            return self._hook("slice", node, *made)
        if isinstance(node, ast.Tuple):
            node.elts = [self._index(part) for part in node.elts]
            return node
        return self._expression(node)

    def _starred(self, node: ast.Starred) -> ast.expr:
        node.value = self._iterated(node.value)
        return node

    def _iterated(self, node: ast.expr) -> ast.expr:
        return self._hook("iterate", node, self._expression(node))

    def _call(self, node: ast.Call) -> ast.expr:
        function: Any = node.func
        is_empty = not node.args and not node.keywords
        if isinstance(function, ast.Name) and is_empty:
            special = self._call_of_frame(node, function)
            if special is not None:
                return special
        is_method = isinstance(function, ast.Attribute)
        called = self._expression(function.value if is_method else function)
        before = self._events
        arguments = self._expressions(node.args)
        keywords = [self._keyword(one) for one in node.keywords]
        if not is_method:
            return self._hook("call", node, called, *arguments, keywords=keywords)
        name = _constant(self._mangle(function.attr), function)
        if self._events == before:
            made = self._hook("method", node, called, name, *arguments, keywords=keywords)
        else:
            read = _at_attribute(self._hook("attribute", function, called, name), function)
            made = self._hook("call", node, read, *arguments, keywords=keywords)
        spread = any(isinstance(one, ast.Starred) for one in arguments)
        if spread or not all(one.arg for one in keywords):
            return made
        return _at_attribute(made, function)

    def _keyword(self, node: ast.keyword) -> ast.keyword:
        value = self._expression(node.value)
        if node.arg is None:
            node.value = self._hook("mapping", node.value, value)
        else:
            node.arg, node.value = self._mangle(node.arg), value
        return node

    def _call_of_frame(self, node: ast.Call, function: ast.Name) -> ast.expr | None:
        """Return a call without arguments for which the caller's frame is read."""
        if self._scope.kind(function.id) != "global":
            return None
        if function.id in _OWN_NAMES_BY_DEFAULT:
            raise self._refuse(node, f"it calls {function.id}(), which sees local names")
        if function.id != "super" or "__class__" not in self._code.co_freevars:
            return None
        if self._scope.is_comprehension or self._scope.first is None:
            raise self._refuse(node, "it calls super() without a first argument")
        first = _placed(ast.Name(self._scope.first, _LOAD), node)
        return self._hook("super", node, self._read("cell", node, "__class__"), first)

    def _binary(self, node: ast.BinOp) -> ast.expr:
        chain, left = [node], node.left
        while isinstance(left, ast.BinOp):  # long sums are deep on the left
            chain.append(left)
            left = left.left
        made = self._expression(left)
        is_constant = isinstance(made, ast.Constant)
        for one in reversed(chain):
            right = self._expression(one.right)
            is_constant = is_constant and isinstance(right, ast.Constant)
            if is_constant:
                one.left, one.right = made, right
                made = one
            else:
                operator = _constant(_BINARY[one.op.__class__], one)
                made = self._hook("binary", one, operator, made, right)
        return made

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        if isinstance(node.operand, ast.Constant):
            return node
        operand = self._expression(node.operand)
        if isinstance(node.op, ast.Not):
            return self._hook("not", node, operand)
        return self._hook("unary", node, _constant(_UNARY[node.op.__class__], node), operand)

    def _conditional(self, node: ast.IfExp) -> ast.expr:
        node.test = self._condition(node.test)
        node.body, node.orelse = self._expression(node.body), self._expression(node.orelse)
        return node

    def _boolean(self, node: ast.BoolOp) -> ast.expr:
        is_and = isinstance(node.op, ast.And)
        tests = [self._continues(value, is_and) for value in node.values[:-1]]
        last = self._expression(node.values[-1])
        return _placed(ast.IfExp(_all(tests, node), last, self._hook("kept", node)), node)

    def _continues(self, node: Any, is_and: bool) -> ast.expr:
        """Return a condition: True if the truth of a value is `is_and`; else the value is kept."""
        if not isinstance(node, ast.BoolOp):
            flag = _constant(is_and, node)
            return self._hook("continues", node, self._expression(node), flag)
        if isinstance(node.op, ast.And) == is_and:
            return _all([self._continues(value, is_and) for value in node.values], node)
        tests = [self._condition(value) for value in node.values[:-1]]
        if not is_and:
            tests = [_placed(ast.UnaryOp(ast.Not(), test), node) for test in tests]
        tests.append(self._continues(node.values[-1], is_and))
        return _placed(ast.BoolOp(ast.Or(), tests), node)

    def _comparison(self, node: ast.Compare) -> ast.expr:
        tests, last = self._compared(node)
        if not tests:
            return last
        return _placed(ast.IfExp(_all(tests, node), last, self._hook("kept", node)), node)

    def _compared(self, node: ast.Compare) -> tuple[list[ast.expr], ast.expr]:
        """Return the conditions on which a chain of comparisons goes on, and the last one."""
        left, tests = self._expression(node.left), []
        for place, (operator, right) in enumerate(zip(node.ops, node.comparators, strict=True), 1):
            shown = _constant(_COMPARE[operator.__class__], node)
            right = self._expression(right)
            if place == len(node.ops):
                return tests, self._hook("compare", node, shown, left, right)
            tests.append(self._hook("chain", node, shown, left, right))
            left = self._hook("kept", node)
        raise AssertionError

    def _condition(self, node: Any) -> ast.expr:
        """Return an expression that is True or False, as Python's `if` takes the value."""
        if isinstance(node, ast.Constant) or _is_debug(node):
            return node  # type: ignore[no-any-return]
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._condition(node.operand)
            return node
        if isinstance(node, ast.BoolOp):
            node.values = [self._condition(value) for value in node.values]
            return node
        if isinstance(node, ast.IfExp):
            node.test, node.body = self._condition(node.test), self._condition(node.body)
            node.orelse = self._condition(node.orelse)
            return node
        if isinstance(node, ast.Compare):
            tests, last = self._compared(node)
            return _all([*tests, self._hook("truth", node, last)], node)
        return self._hook("truth", node, self._expression(node))

    def _walrus(self, node: ast.NamedExpr) -> ast.expr:
        name = node.target.id = self._mangle(node.target.id)
        if self._scope.assigned().kind(name) != "local":
            raise self._refuse(node, f"it assigns to {name}, which is not local, by :=")
        node.value = self._expression(node.value)
        self._events += 1
        return node

    def _yielded(self, node: ast.Yield) -> ast.expr:
        if node.value is not None:
            node.value = self._expression(node.value)
        self._events += 1
        return node

    def _yielded_from(self, node: ast.YieldFrom) -> ast.expr:
        node.value = self._iterated(node.value)
        return node

    def _elements(self, node: Any) -> ast.expr:
        node.elts = self._expressions(node.elts)
        return node  # type: ignore[no-any-return]

    def _dictionary(self, node: ast.Dict) -> ast.expr:
        for place, (key, value) in enumerate(zip(node.keys, node.values, strict=True)):
            if key is not None:
                node.keys[place] = self._expression(key)
                node.values[place] = self._expression(value)
            else:
                node.values[place] = self._hook("mapping", value, self._expression(value))
        return node

    def _joined(self, node: ast.JoinedStr) -> ast.expr:
        parts = [self._part(part) for part in node.values]
        if len(parts) == 1 and not isinstance(parts[0], ast.Constant):
            return parts[0].value  # type: ignore[no-any-return]
        node.values = parts
        return node

    def _part(self, node: Any) -> Any:
        """Return a part of an f-string."""
        if isinstance(node, ast.Constant):
            return node
        value, how = self._expression(node.value), _constant(node.conversion, node)
        spec: Any = node.format_spec
        spec = _constant("", node) if spec is None else self._expression(spec)
        made = self._hook("format", node, value, how, spec)
        return _placed(ast.FormattedValue(made, -1, None), node)

    def _lambda(self, node: ast.Lambda) -> ast.expr:
        with self._parameters(node):
            node.body = self._expression(node.body)
        return node

    def _parameters(self, node: Any) -> _Inside:
        """Rewrite the defaults of a definition, and return a context for its body."""
        arguments = node.args
        arguments.defaults = self._expressions(arguments.defaults)
        arguments.kw_defaults = [d and self._expression(d) for d in arguments.kw_defaults]
        scope = inner_scope(node, self._scope, self._owner)
        for one in parameters(arguments):
            one.arg = self._mangle(one.arg)
        scope.first = _first_parameter(arguments)
        return self._inside(scope)

    def _comprehension(self, node: Any) -> ast.expr:
        generators: list[ast.comprehension] = node.generators
        scope = comprehension_scope(generators, self._scope, self._owner)
        outermost = self._iterated(generators[0].iter)
        with self._inside(scope):
            made: list[ast.comprehension] = []
            for place, one in enumerate(generators):
                if one.is_async:
                    raise self._refuse(node, "it is asynchronous")
                one.iter = self._iterated(one.iter) if place else outermost
                made += self._generator(one)
                made[-1].ifs = [self._condition(test) for test in one.ifs]
            node.generators = made
            for field in ("key", "value", "elt"):
                if hasattr(node, field):
                    setattr(node, field, self._expression(getattr(node, field)))
        return node  # type: ignore[no-any-return]

    def _generator(self, node: ast.comprehension) -> list[ast.comprehension]:
        """Return one `for` of a comprehension, and others that unpack its target."""
        if not isinstance(node.target, _UNPACKED):
            node.target = self._target(node.target)
            return [node]
        item = self._temporary(node.target)
        pairs, _ = self._unpacked(node.target, item(_LOAD))
        first = ast.comprehension(item(_STORE), node.iter, [], 0)
        rest = [
            ast.comprehension(target, _placed(ast.List([value], _LOAD), value), [], 0)
            for target, value in pairs
        ]
        return [first, *rest]

    # Targets.

    def _target(self, node: Any) -> Any:
        """Return a target of an assignment or deletion, which is not unpacked."""
        if isinstance(node, ast.Name):
            name = node.id = self._mangle(node.id)
            kind = self._scope.kind(name)
            if kind == "local":
                return node
            place = self._free("globals" if kind == "global" else "cells", node)
            self._events += 1
            return _placed(ast.Attribute(place, name, node.ctx), node)
        if isinstance(node, ast.Attribute):
            node.value = self._hook("target", node, self._expression(node.value))
            node.attr = self._mangle(node.attr)
            return node
        if isinstance(node, ast.Subscript):
            node.value = self._hook("target", node, self._expression(node.value))
            node.slice = self._index(node.slice)
            return node
        if isinstance(node, ast.Starred):
            node.value = self._target(node.value)
        elif isinstance(node, _UNPACKED):  # of `del`
            node.elts = [self._target(part) for part in node.elts]
        return node

    def _unpacked(
        self, node: Any, value: ast.expr
    ) -> tuple[list[tuple[ast.expr, ast.expr]], list[Any]]:
        """Return the pairs of targets and values of an unpacking, and the temporaries."""
        parts: list[Any] = node.elts
        plain = [part.value if isinstance(part, ast.Starred) else part for part in parts]
        stars = [k for k, part in enumerate(parts) if isinstance(part, ast.Starred)]
        nested = [k for k, part in enumerate(plain) if isinstance(part, _UNPACKED)]
        first = nested[0] if nested else len(parts)
        targets = [self._target(part) for part in parts[:first]]
        later: list[tuple[ast.expr, ast.expr]] = []
        names: list[Any] = []
        for part, inner in zip(parts[first:], plain[first:], strict=True):
            name = self._temporary(inner)
            names.append(name)
            held: Any = name(_STORE)
            held = _placed(ast.Starred(held, _STORE), part) if part is not inner else held
            targets.append(held)
        for inner, name in zip(plain[first:], tuple(names), strict=True):
            if isinstance(inner, _UNPACKED):
                pairs, more = self._unpacked(inner, name(_LOAD))
                later += pairs
                names += more
            else:
                later.append((self._target(inner), name(_LOAD)))
        if not (first == len(parts) and not stars and _is_display(value, len(parts))):
            count, star = _constant(len(parts), node), _constant(stars[0] if stars else None, node)
            value = self._hook("unpack", node, value, count, star)
        node.elts = targets
        return [(node, value), *later], names

    def _unpack(self, node: Any, value: ast.expr, at: Any, *names: Any) -> list[ast.stmt]:
        """Return statements that unpack a value and forget the temporaries."""
        pairs, more = self._unpacked(node, value)
        made: list[ast.stmt] = [_placed(ast.Assign([t], v), at) for t, v in pairs]
        forgotten = [name(_DELETE) for name in (*names, *more)]
        return [*made, _placed(ast.Delete(forgotten), at)] if forgotten else made

    # Statements.

    def _block(self, statements: Sequence[Any]) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for node in statements:
            visit = _STATEMENTS.get(node.__class__)
            if visit is None:
                raise self._refuse(node, f"it has {_shown(node)}")
            new = visit(self, node)
            if new.__class__ is list:
                made += new
            else:
                made.append(new)
        return made

    def _with_value(self, node: Any) -> ast.stmt:
        if node.value is not None:
            node.value = self._expression(node.value)
        return node  # type: ignore[no-any-return]

    def _assign(self, node: ast.Assign) -> Any:
        value = self._expression(node.value)
        unpacked = [isinstance(target, _UNPACKED) for target in node.targets]
        if not any(unpacked):
            node.value, node.targets = value, [self._target(target) for target in node.targets]
            return node
        if len(unpacked) == 1:
            return self._unpack(node.targets[0], value, node)
        held = self._temporary(node.value)
        made: list[ast.stmt] = [_placed(ast.Assign([held(_STORE)], value), node)]
        for target, is_unpacked in zip(node.targets, unpacked, strict=True):
            if is_unpacked:
                made += self._unpack(target, held(_LOAD), node)
            else:
                made.append(_placed(ast.Assign([self._target(target)], held(_LOAD)), node))
        return [*made, _placed(ast.Delete([held(_DELETE)]), node)]

    def _annotated(self, node: ast.AnnAssign) -> Any:
        target: Any = node.target
        if node.value is not None:
            return self._assign(_placed(ast.Assign([target], node.value), node))
        if isinstance(target, ast.Name):
            target.id = self._mangle(target.id)
            node.annotation = _constant(None, node)  # it still makes the name local
            return node
        parts = (
            [target.value, target.slice] if isinstance(target, ast.Subscript) else [target.value]
        )
        return [_placed(ast.Expr(self._index(part)), node) for part in parts]

    def _augmented(self, node: ast.AugAssign) -> Any:
        target: Any = node.target
        operator = _constant(_BINARY[node.op.__class__], node)
        if isinstance(target, ast.Name):
            read = self._name(_placed(ast.Name(target.id, _LOAD), target))
            value = self._hook("in_place", node, operator, read, self._expression(node.value))
            return _placed(ast.Assign([self._target(target)], value), node)
        names: list[Any] = []
        value, again = self._once(target.value, self._expression(target.value), names)
        if isinstance(target, ast.Attribute):
            name = target.attr = self._mangle(target.attr)
            read = self._hook("attribute", target, value, _constant(name, target))
            read = _at_attribute(read, target)
        else:
            key, target.slice = self._once(target.slice, self._index(target.slice), names)
            read = self._hook("item", target, value, key)
        result = self._hook("in_place", node, operator, read, self._expression(node.value))
        target.value = self._hook("target", target, again)
        made = [_placed(ast.Assign([target], result), node)]
        if names:
            made.append(_placed(ast.Delete([name(_DELETE) for name in names]), node))
        return made

    def _once(self, node: Any, made: ast.expr, names: list[Any]) -> tuple[ast.expr, ast.expr]:
        """Return an expression that is evaluated, and another one that gives its value again."""
        if isinstance(made, ast.Constant):
            return made, made
        name = self._temporary(node)
        names.append(name)
        return _placed(ast.NamedExpr(name(_STORE), made), node), name(_LOAD)

    def _delete(self, node: ast.Delete) -> ast.stmt:
        node.targets = [self._target(target) for target in node.targets]
        return node

    def _asserted(self, node: ast.Assert) -> ast.stmt:
        node.test = self._condition(node.test)
        if node.msg is not None:
            node.msg = self._expression(node.msg)
        return node

    def _raised(self, node: ast.Raise) -> ast.stmt:
        if node.exc is not None:
            node.exc = self._expression(node.exc)
        if node.cause is not None:
            node.cause = self._expression(node.cause)
        return node

    def _branches(self, node: Any) -> ast.stmt:
        node.test = self._condition(node.test)
        node.body, node.orelse = self._block(node.body), self._block(node.orelse)
        return node  # type: ignore[no-any-return]

    def _loop(self, node: ast.For) -> ast.stmt:
        node.iter = self._iterated(node.iter)
        before: list[ast.stmt] = []
        if isinstance(node.target, _UNPACKED):
            item = self._temporary(node.target)
            before = self._unpack(node.target, item(_LOAD), node.target, item)
            node.target = item(_STORE)
        else:
            node.target = self._target(node.target)
        node.body, node.orelse = [*before, *self._block(node.body)], self._block(node.orelse)
        return node

    def _with(self, node: ast.With) -> ast.stmt:
        for place, item in enumerate(node.items):
            value = self._expression(item.context_expr)
            item.context_expr = self._hook("context", item.context_expr, value)
            if isinstance(item.optional_vars, _UNPACKED):
                held = self._temporary(item.optional_vars)
                before = self._unpack(item.optional_vars, held(_LOAD), item.optional_vars, held)
                item.optional_vars = held(_STORE)
                rest = node.items[place + 1 :]
                inner = [_placed(ast.With(rest, node.body), node)] if rest else node.body
                node.items, node.body = node.items[: place + 1], [*before, *self._block(inner)]
                return node
            if item.optional_vars is not None:
                item.optional_vars = self._target(item.optional_vars)
        node.body = self._block(node.body)
        return node

    def _tried(self, node: ast.Try) -> ast.stmt:
        node.body = self._block(node.body)
        for handler in node.handlers:
            if handler.type is not None:
                handler.type = self._expression(handler.type)
            if handler.name is not None:
                handler.name = self._mangle(handler.name)
                if self._scope.kind(handler.name) != "local":
                    raise self._refuse(handler, f"it catches as {handler.name}, not a local name")
            handler.body = [self._caught(handler), *self._block(handler.body)]
        node.orelse = self._block(node.orelse)
        if node.finalbody:
            node.finalbody = [self._caught(node.finalbody[0]), *self._block(node.finalbody)]
        return node

    def _caught(self, at: Any) -> ast.stmt:
        return _placed(ast.Expr(self._hook("caught", at)), at)

    def _declared(self, node: ast.Global) -> ast.stmt:
        return _placed(ast.Pass(), node)

    def _nonlocal(self, node: ast.Nonlocal) -> ast.stmt:
        names = [self._mangle(name) for name in node.names]
        node.names = [name for name in names if self._scope.kind(name) == "local"]
        return node if node.names else _placed(ast.Pass(), node)

    def _imported(self, node: ast.Import) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            parts: Any = ast.Tuple([], _LOAD) if alias.asname else ast.Constant(None)
            value = self._module(node, alias.name, _placed(parts, node), 0)
            target = self._target(_placed(ast.Name(name, _STORE), node))
            made.append(_placed(ast.Assign([target], value), node))
        return made

    def _imported_from(self, node: ast.ImportFrom) -> ast.stmt:
        names: list[ast.expr] = [_constant(alias.name, node) for alias in node.names]
        parts = _placed(ast.Tuple(names, _LOAD), node)
        value = self._module(node, node.module or "", parts, node.level)
        targets: list[ast.expr] = [
            self._target(_placed(ast.Name(alias.asname or alias.name, _STORE), node))
            for alias in node.names
        ]
        return _placed(ast.Assign([_placed(ast.Tuple(targets, _STORE), node)], value), node)

    def _module(self, at: Any, name: str, parts: ast.expr, level: int | None) -> ast.expr:
        return self._hook("import", at, _constant(name, at), parts, _constant(level or 0, at))

    def _function(self, node: ast.FunctionDef) -> ast.stmt:
        if getattr(node, "type_params", None):
            raise self._refuse(node, "it has a function with parameters of types")
        node.name = self._mangle(node.name)
        if self._scope.kind(node.name) != "local":
            raise self._refuse(node, f"it defines {node.name}, which is not local")
        node.decorator_list = [self._decorator(one) for one in node.decorator_list]
        inside = self._parameters(node)
        if not self._keeps_annotations:
            for one in parameters(node.args):
                one.annotation = one.annotation and self._expression(one.annotation)
            node.returns = node.returns and self._expression(node.returns)
        with inside:
            node.body = self._block(node.body)
        return node

    def _decorator(self, node: ast.expr) -> ast.expr:
        """Return a decorator that is evaluated where it stands, and called by a hook."""
        names = [_placed(ast.arg(PREFIX + name, None, None), node) for name in ("function", "by")]
        loads = [_placed(ast.Name(name.arg, _LOAD), node) for name in names]
        defaults = [self._expression(node)]
        arguments = ast.arguments([], names, None, [], [], None, defaults)
        body = self._hook("call", node, loads[1], loads[0])
        return _placed(ast.Lambda(arguments, body), node)


class _Inside:
    """A context in which the names of a scope are seen."""

    def __init__(self, rewriter: Rewriter, scope: Scope) -> None:
        self.rewriter, self.scope = rewriter, scope

    def __enter__(self) -> None:
        self.rewriter._scope = self.scope

    def __exit__(self, *error: object) -> None:
        assert self.scope.up is not None
        self.rewriter._scope = self.scope.up


def _placed(new: Any, old: Any) -> Any:
    """Put a new node to the place of an old one."""
    new.lineno, new.col_offset = old.lineno, old.col_offset
    new.end_lineno, new.end_col_offset = old.end_lineno, old.end_col_offset
    return new


def _at_attribute(new: Any, old: ast.Attribute) -> Any:
    """Put what an attribute became to the line of its name, as Python does."""
    last = old.end_lineno
    if last is not None and last != old.lineno and old.end_col_offset is not None:
        new.lineno, new.col_offset = last, max(0, old.end_col_offset - len(old.attr))
    return new


def _constant(value: Any, at: Any) -> ast.Constant:
    made: ast.Constant = _placed(ast.Constant(value), at)
    return made


def _all(tests: list[ast.expr], at: Any) -> ast.expr:
    if len(tests) == 1:
        return tests[0]
    made: ast.expr = _placed(ast.BoolOp(ast.And(), tests), at)
    return made


def _is_debug(node: Any) -> bool:
    return isinstance(node, ast.Name) and node.id == "__debug__"


def _is_display(node: ast.expr, count: int) -> bool:
    """True for a tuple or list of so many parts, none of them starred."""
    return (
        isinstance(node, _UNPACKED)
        and len(node.elts) == count
        and not any(isinstance(part, ast.Starred) for part in node.elts)
    )


def _first_parameter(arguments: ast.arguments) -> str | None:
    first = [*arguments.posonlyargs, *arguments.args][:1]
    return first[0].arg if first else None


def _shown(node: ast.AST) -> str:
    return f"`{type(node).__name__}`"


_EXPRESSIONS: Final[dict[type, Callable[[Rewriter, Any], Any]]] = {
    ast.Constant: Rewriter._same,
    ast.Name: Rewriter._name,
    ast.Attribute: Rewriter._attribute,
    ast.Subscript: Rewriter._subscript,
    ast.Starred: Rewriter._starred,
    ast.Call: Rewriter._call,
    ast.BinOp: Rewriter._binary,
    ast.UnaryOp: Rewriter._unary,
    ast.IfExp: Rewriter._conditional,
    ast.BoolOp: Rewriter._boolean,
    ast.Compare: Rewriter._comparison,
    ast.NamedExpr: Rewriter._walrus,
    ast.Yield: Rewriter._yielded,
    ast.YieldFrom: Rewriter._yielded_from,
    ast.Tuple: Rewriter._elements,
    ast.List: Rewriter._elements,
    ast.Set: Rewriter._elements,
    ast.Dict: Rewriter._dictionary,
    ast.JoinedStr: Rewriter._joined,
    ast.Lambda: Rewriter._lambda,
    ast.ListComp: Rewriter._comprehension,
    ast.SetComp: Rewriter._comprehension,
    ast.DictComp: Rewriter._comprehension,
    ast.GeneratorExp: Rewriter._comprehension,
}
_STATEMENTS: Final[dict[type, Callable[[Rewriter, Any], Any]]] = {
    ast.Expr: Rewriter._with_value,
    ast.Return: Rewriter._with_value,
    ast.Assign: Rewriter._assign,
    ast.AnnAssign: Rewriter._annotated,
    ast.AugAssign: Rewriter._augmented,
    ast.Delete: Rewriter._delete,
    ast.Assert: Rewriter._asserted,
    ast.Raise: Rewriter._raised,
    ast.If: Rewriter._branches,
    ast.While: Rewriter._branches,
    ast.For: Rewriter._loop,
    ast.With: Rewriter._with,
    ast.Try: Rewriter._tried,
    ast.Global: Rewriter._declared,
    ast.Nonlocal: Rewriter._nonlocal,
    ast.Import: Rewriter._imported,
    ast.ImportFrom: Rewriter._imported_from,
    ast.FunctionDef: Rewriter._function,
    ast.Pass: Rewriter._same,
    ast.Break: Rewriter._same,
    ast.Continue: Rewriter._same,
}
