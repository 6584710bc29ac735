"""Rewrite patterns of `match` statements into conditions on the subject, which hooks evaluate.

Below, v is an expression that reads the subject without a hook, t is another temporary, p and q are
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

Values are stored in tuples, because a tuple that is not empty is true. Names are bound when the
entire pattern has matched.

The tests of the subject are done in the order in which Python does them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any, Final

from axiomjit.functions.expressions import LOAD, STORE, Expressions, all_of, constant, placed

Read = Callable[[], ast.expr]
"""A function that makes an expression which reads a value again, without a hook."""


class Patterns:
    """Rewrites the patterns of one `match` statement."""

    def __init__(self, rewriter: Expressions, at: Any) -> None:
        """Store the rewriter of the function, and the statement."""
        self._rewriter = rewriter
        self._subject = rewriter.temporary(at)
        self._names: dict[str, Read] = {}
        self.held: list[ast.expr] = [self._subject(STORE)]
        """The temporaries, of which the first holds the subject and is true until a case is
        chosen.
        """

    def case(self, node: Any) -> tuple[ast.expr, dict[str, Read]]:
        """Return the condition of a case without its guard, and the values that its names get."""
        self._names = {}
        tests = self._tests(node, _part(self._subject, 0, node))
        return all_of([self._subject(LOAD), *tests], node), self._names

    def _tests(self, node: Any, value: Read) -> list[ast.expr]:
        return _PATTERNS[node.__class__](self, node, value)

    def _keep(self, made: ast.expr, at: Any) -> tuple[ast.expr, Callable[[int], Read]]:
        """Return an expression that stores a tuple, and a function that makes reads of a part."""
        name = self._rewriter.temporary(at)
        self.held.append(name(STORE))
        kept = placed(ast.NamedExpr(name(STORE), made), at)
        return kept, lambda place: _part(name, place, at)

    def _keep_one(self, made: ast.expr, at: Any) -> tuple[ast.expr, Read]:
        kept, part = self._keep(_tuple([made], at), at)
        return kept, part(0)

    def _keep_found(self, made: ast.expr, at: Any) -> tuple[ast.expr, Callable[[int], Read]]:
        """Return the results of `_keep` for a hook's result, with a test that it is not None."""
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
        """Return an expression for item `place`, or for item `behind` from the end if not 0."""
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


_NONE: Final = object()
_WHOLE: Final = (bool, bytearray, bytes, dict, float, frozenset, int, list, set, str, tuple)
"""The classes whose only positional pattern is matched with the subject itself."""


class PatternHooks:
    """Hooks of patterns, which call other hooks of the same function."""

    def __init__(self, hooks: Any) -> None:
        """Take the hooks of the function, for calls, attributes, lengths, iteration and keys."""
        self._hooks = hooks

    def is_sequence(self, value: Any, count: int, starred: bool) -> bool:
        """True for a sequence that fits a pattern of `count` parts, one of which may be starred."""
        match value:
            case [*_]:
                if starred:
                    return count == 1 or bool(self._hooks.length(value) >= count - 1)
                return bool(self._hooks.length(value) == count)
        return False

    def parts(self, value: Any, count: int, star: int | None) -> tuple[Any, ...]:
        """The parts of a sequence; the part of the starred pattern, number `star`, is a list."""
        found = self._hooks.iterate(value)
        parts = [*(islice(found, count + 1) if star is None else found)]
        if star is None and len(parts) > count:
            raise ValueError(f"too many values to unpack (expected {count})")
        if len(parts) < count - (star is not None):
            least = count if star is None else f"at least {count - 1}"
            raise ValueError(f"not enough values to unpack (expected {least}, got {len(parts)})")
        if star is None:
            return tuple(parts)
        end = len(parts) - (count - 1 - star)
        return (*parts[:star], parts[star:end], *parts[end:])

    def is_mapping(self, value: Any, count: int, literal: bool) -> bool:
        """True for a mapping of at least `count` entries.

        If all keys of the pattern are literals, the keys are distinct. A dict with these keys has
        enough entries, so its entries are not counted.
        """
        match value:
            case {}:
                known = not count or (literal and type(value) is dict)
                return known or bool(self._hooks.length(value) >= count)
        return False

    def entries(self, value: Any, keys: Sequence[Any]) -> tuple[Any, ...] | None:
        """The entries of a mapping with these keys; None if the mapping lacks a key."""
        get = self._hooks.attribute(value, "get")
        seen, found = set[Any](), []
        for key in keys:
            if self._hooks.key(key) in seen:
                raise ValueError(f"mapping pattern checks duplicate key ({key!r})")
            seen.add(key)
            entry = self._hooks.call(get, key, _NONE)
            if entry is _NONE:
                return None
            found.append(entry)
        return tuple(found)

    def rest(self, value: Any, keys: Sequence[Any]) -> dict[Any, Any]:
        """A dict of the entries of a mapping whose keys are not in `keys`."""
        found = {**self._hooks.mapping(value)}
        for key in keys:
            del found[key]
        return found

    def attributes(
        self, value: Any, kind: Any, count: int, names: Sequence[str]
    ) -> tuple[Any, ...] | None:
        """The attributes that patterns name, if `value` is an instance of `kind`; else None.

        Args:
            value: The subject.
            kind: The class.
            count: The number of positional patterns.
            names: The names of the keyword patterns.
        """
        if not isinstance(kind, type):
            match value:
                case kind():  # This raises an error.
                    pass
        if not self._hooks.call(isinstance, value, kind):
            return None
        wanted, found = [*names], []
        if count:
            given = self._positional(kind)
            if given is None:
                found.append(value)
            allowed = 1 if given is None else len(given)
            if allowed < count:
                shown = f"{allowed} positional sub-pattern{'s' * (allowed != 1)}"
                raise TypeError(f"{kind.__name__}() accepts {shown} ({count} given)")
            wanted[:0] = [] if given is None else given[:count]
        for place, name in enumerate(wanted):
            if type(name) is not str:
                shown = type(name).__name__
                raise TypeError(f"__match_args__ elements must be strings (got {shown})")
            if name in wanted[:place]:
                shown = f"multiple sub-patterns for attribute {name!r}"
                raise TypeError(f"{kind.__name__}() got {shown}")
            attribute = self._hooks.call(getattr, value, name, _NONE)
            if attribute is _NONE:
                return None
            found.append(attribute)
        return tuple(found)

    def _positional(self, kind: type) -> list[Any] | None:
        """The attributes that positional patterns name; None if they match the whole object."""
        given = self._hooks.call(getattr, kind, "__match_args__", _NONE)
        if given is _NONE:
            return None if issubclass(kind, _WHOLE) else []
        if type(given) is not tuple:
            shown = type(given).__name__
            raise TypeError(f"{kind.__name__}.__match_args__ must be a tuple (got {shown})")
        return [*self._hooks.iterate(given)]
