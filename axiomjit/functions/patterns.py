"""Rewrite the patterns of `match` statements: a pattern becomes conditions on a subject.

Below, v is an expression that reads the subject without a hook, t another temporary, p and q are
patterns; "p of t[0]" stands for the conditions of p on t[0].

| pattern | holds if all of these are true |
|---|---|
| `_`, `n` | nothing: any subject fits |
| `1`, `a.b` | `_aj_truth(_aj_compare("==", v, 1))` |
| `None`, `True` | `_aj_compare("is", v, None)` |
| alternatives p, q | the conditions of p, or those of q |
| `p as n` | the conditions of p |
| `[p, *q]` | `_aj_is_sequence(v, 2, True)`, `t := _aj_parts(v, 2, 1)`, p of t[0], q of t[1] |
| `[p, *_, q]` | `_aj_is_sequence(v, 3, True)`, `t := (_aj_item(v, 0),)`, p of t[0], |
| | `t := (_aj_item(v, _aj_length(v) - 1),)`, q of t[0] |
| `{k: p, **n}` | `_aj_is_mapping(v, 1, True)`, True if all keys are literals, `u := ((k,),)`, |
| | `(t := _aj_entries(v, u[0])) is not None`, p of t[0], `t := (_aj_rest(v, u[0]),)` |
| `C(p, a=q)` | `(t := _aj_attributes(v, C, 1, ("a",))) is not None`, p of t[0], q of t[1] |

Values are held in tuples, which are true. Names are bound when the entire pattern has matched.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any, Final

from axiomjit.functions.expressions import LOAD, STORE, Expressions, all_of, constant, placed

Read = Callable[[], ast.expr]
"""Makes an expression that reads a value again, without a hook."""


class Patterns:
    """Rewrites the patterns of one `match` statement."""

    def __init__(self, rewriter: Expressions, at: Any) -> None:
        """Store the rewriter of the function, and the statement."""
        self._rewriter = rewriter
        self._subject = rewriter.temporary(at)
        self._names: dict[str, Read] = {}
        self.held: list[ast.expr] = [self._subject(STORE)]
        """The temporaries, the subject first: the subject's temporary is true until a case is
        chosen."""

    def case(self, node: Any) -> tuple[ast.expr, dict[str, Read]]:
        """Return the condition of a case without its guard, and the values that its names get."""
        self._names = {}
        tests = self._tests(node, _part(self._subject, 0, node))
        return all_of([self._subject(LOAD), *tests], node), self._names

    def _tests(self, node: Any, value: Read) -> list[ast.expr]:
        return _PATTERNS[node.__class__](self, node, value)

    def _keep(self, made: ast.expr, at: Any) -> tuple[ast.expr, Callable[[int], Read]]:
        """Return an expression that holds a tuple, and a function that reads a part of it."""
        name = self._rewriter.temporary(at)
        self.held.append(name(STORE))
        kept = placed(ast.NamedExpr(name(STORE), made), at)
        return kept, lambda place: _part(name, place, at)

    def _keep_one(self, made: ast.expr, at: Any) -> tuple[ast.expr, Read]:
        kept, part = self._keep(_tuple([made], at), at)
        return kept, part(0)

    def _keep_found(self, made: ast.expr, at: Any) -> tuple[ast.expr, Callable[[int], Read]]:
        """Keep the result of a hook like `_keep`; the expression tests that it is not None."""
        kept, part = self._keep(made, at)
        return placed(ast.Compare(kept, [ast.IsNot()], [constant(None, at)]), at), part

    def _inner(self, nodes: Sequence[Any], part: Callable[[int], Read]) -> list[ast.expr]:
        return [test for k, node in enumerate(nodes) for test in self._tests(node, part(k))]

    def _value(self, node: ast.MatchValue, value: Read) -> list[ast.expr]:
        hook = self._rewriter.hook
        other = self._rewriter.expression(node.value)
        return [hook("truth", node, hook("compare", node, constant("==", node), value(), other))]

    def _singleton(self, node: ast.MatchSingleton, value: Read) -> list[ast.expr]:
        other = constant(node.value, node)
        return [self._rewriter.hook("compare", node, constant("is", node), value(), other)]

    def _as(self, node: ast.MatchAs, value: Read) -> list[ast.expr]:
        tests = [] if node.pattern is None else self._tests(node.pattern, value)
        if node.name is not None:
            self._names[node.name] = value
        return tests

    def _star(self, node: ast.MatchStar, value: Read) -> list[ast.expr]:
        if node.name is not None:
            self._names[node.name] = value
        return []

    def _or(self, node: ast.MatchOr, value: Read) -> list[ast.expr]:
        before, names = self._names, dict[str, Read]()
        kept: list[ast.expr] = []
        choices: list[ast.expr] = []
        name = self._rewriter.temporary(node)
        for one in node.patterns:
            self._names = {}
            tests = self._tests(one, value)
            if self._names:
                names = names or self._names
                found = _tuple([self._names[key]() for key in names], one)
                tests.append(placed(ast.NamedExpr(name(STORE), found), one))
                kept = [name(STORE)]
            choices.append(all_of(tests, one) if tests else constant(True, one))
        self.held += kept
        self._names = before | {key: _part(name, k, node) for k, key in enumerate(names)}
        return [placed(ast.BoolOp(ast.Or(), choices), node)]

    def _sequence(self, node: ast.MatchSequence, value: Read) -> list[ast.expr]:
        parts: list[Any] = node.patterns
        stars = [k for k, part in enumerate(parts) if isinstance(part, ast.MatchStar)]
        count, starred = constant(len(parts), node), constant(bool(stars), node)
        tests: list[ast.expr] = [self._rewriter.hook("is_sequence", node, value(), count, starred)]
        if all(map(_is_wildcard, parts)):
            return tests
        if stars and _is_wildcard(parts[stars[0]]):
            for place, part in enumerate(parts):
                if not _is_wildcard(part):
                    behind = len(parts) - place if place > stars[0] else 0
                    test, item = self._keep_one(self._item(node, value, place, behind), part)
                    tests += [test, *self._tests(part, item)]
            return tests
        star = constant(stars[0] if stars else None, node)
        test, each = self._keep(
            self._rewriter.hook("parts", node, value(), constant(len(parts), node), star), node
        )
        return [*tests, test, *self._inner(parts, each)]

    def _item(self, at: Any, value: Read, place: int, behind: int) -> ast.expr:
        """Return the code of item `place`, or of the item `behind` from the end if not 0."""
        key: ast.expr = constant(place, at)
        if behind:
            length = self._rewriter.hook("length", at, value())
            key = placed(ast.BinOp(length, ast.Sub(), constant(behind, at)), at)
        return self._rewriter.hook("item", at, value(), key)

    def _mapping(self, node: ast.MatchMapping, value: Read) -> list[ast.expr]:
        hook = self._rewriter.hook
        literal = constant(not any(isinstance(key, ast.Attribute) for key in node.keys), node)
        count = constant(len(node.keys), node)
        tests: list[ast.expr] = [hook("is_mapping", node, value(), count, literal)]
        if not node.keys and node.rest is None:
            return tests
        made = [self._rewriter.expression(key) for key in node.keys]
        held, keys = self._keep_one(_tuple(made, node), node)
        tests.append(held)
        if made:
            found, part = self._keep_found(hook("entries", node, value(), keys()), node)
            tests += [found, *self._inner(node.patterns, part)]
        if node.rest is not None:
            rest, self._names[node.rest] = self._keep_one(hook("rest", node, value(), keys()), node)
            tests.append(rest)
        return tests

    def _class(self, node: ast.MatchClass, value: Read) -> list[ast.expr]:
        kind = self._rewriter.expression(node.cls)
        count = constant(len(node.patterns), node)
        names = _tuple([constant(name, node) for name in node.kwd_attrs], node)
        found = self._rewriter.hook("attributes", node, value(), kind, count, names)
        test, part = self._keep_found(found, node)
        return [test, *self._inner([*node.patterns, *node.kwd_patterns], part)]


def _is_wildcard(node: Any) -> bool:
    if isinstance(node, ast.MatchStar):
        return node.name is None
    return isinstance(node, ast.MatchAs) and node.name is None and node.pattern is None


def _tuple(parts: list[ast.expr], at: Any) -> ast.expr:
    return placed(ast.Tuple(parts, LOAD), at)


def _part(name: Callable[[ast.expr_context], ast.Name], place: int, at: Any) -> Read:
    return lambda: placed(ast.Subscript(name(LOAD), constant(place, at), LOAD), at)


_PATTERNS: Final[dict[type, Callable[[Patterns, Any, Read], list[ast.expr]]]] = {
    ast.MatchValue: Patterns._value,
    ast.MatchSingleton: Patterns._singleton,
    ast.MatchAs: Patterns._as,
    ast.MatchStar: Patterns._star,
    ast.MatchOr: Patterns._or,
    ast.MatchSequence: Patterns._sequence,
    ast.MatchMapping: Patterns._mapping,
    ast.MatchClass: Patterns._class,
}
