"""Live names: the names whose values are read after a statement of a function.

A loop carries a name that it binds if the value of the name is read in a later trip or after the
loop. The names are found in the syntax tree before the tree is rewritten: in the statements that
may follow, from the next statement of the same block to the last statement of the function.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from axiomjit.functions.loop_jumps import has_jump
from axiomjit.functions.scopes import bound_names, own_names

_FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_DEFINITIONS: Final = (*_FUNCTIONS, ast.ClassDef)
CONSUMERS: Final = ("sum", "min", "max", "any", "all", "list")
"""Builtins that use up an iterator and do not keep it."""
_COMPREHENSIONS: Final = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class Uses(NamedTuple):
    """The uses of names by statements that run once, in order."""

    read: frozenset[str]
    """The names that are read before the statements bind them."""
    bound: frozenset[str]
    """The names that the statements bind on every path to their end."""
    ends: bool = False
    """True if no path gets to the end of the statements."""


def reads(*nodes: ast.AST) -> set[str]:
    """The names that trees read; a deletion, a `+=` and a declaration count as reads.

    Names of a function or a comprehension inside are not counted, and neither are reads, in the
    body of a loop, of a target that the body does not bind again.
    """
    found = set[str]()
    for node in nodes:
        found |= _reads(node)
    return found


def _reads(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Name):
        return set() if isinstance(node.ctx, ast.Store) else {node.id}
    if isinstance(node, ast.Global | ast.Nonlocal):
        return set(node.names)
    own, inside = _scope(node)
    if isinstance(node, _COMPREHENSIONS):
        outside: list[ast.AST] = [node.generators[0].iter]
    else:
        outside = [part for part in ast.iter_child_nodes(node) if part not in inside]
    found = reads(*outside) | (reads(*inside) - own)
    if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        found.add(node.target.id)
    return found


def _scope(node: Any) -> tuple[set[str], Sequence[ast.AST]]:
    """The names that belong to parts of a node alone, and these parts."""
    if isinstance(node, ast.For):
        return bound_names([node.target]) - bound_names(node.body), node.body
    if isinstance(node, _FUNCTIONS):
        return own_names(node), [node.body] if isinstance(node, ast.Lambda) else node.body
    if not isinstance(node, _COMPREHENSIONS):
        return set(), ()
    targets = (part for one in node.generators for part in ast.walk(one.target))
    own = {one.id for one in targets if isinstance(one, ast.Name)}
    first, *rest = node.generators
    parts = [first.target, *first.ifs, *rest]
    parts += [getattr(node, k) for k in ("elt", "key", "value") if hasattr(node, k)]
    return own, parts


def uses(statements: Iterable[ast.AST]) -> Uses:
    """The uses of names by statements that run once, in order."""
    return _in_order(map(_uses, statements))


def _in_order(parts: Iterable[Uses]) -> Uses:
    read, bound = set[str](), set[str]()
    for one in parts:
        read |= one.read - bound
        bound |= one.bound
        if one.ends:
            return Uses(frozenset(read), frozenset(bound), True)
    return Uses(frozenset(read), frozenset(bound))


def _uses(node: Any) -> Uses:
    nothing = frozenset[str]()
    if isinstance(node, ast.If):
        sides = uses(node.body), uses(node.orelse)
        read = sides[0].read | sides[1].read | reads(node.test)
        reached = [one.bound for one in sides if not one.ends]
        return Uses(read, nothing.union(*reached[:1]).intersection(*reached), not reached)
    if isinstance(node, ast.For):
        body = uses(node.body).read - bound_names([node.target])
        return Uses(body | uses(node.orelse).read | reads(node.iter), nothing)
    if isinstance(node, ast.While):
        return Uses(uses(node.body).read | uses(node.orelse).read | reads(node.test), nothing)
    targets = node.targets if isinstance(node, ast.Assign) else ()
    ends = isinstance(node, ast.Return | ast.Raise)
    return Uses(frozenset(reads(node)), frozenset(_plain_names(targets)), ends)


def _plain_names(targets: Iterable[Any]) -> Iterator[str]:
    for one in targets:
        if isinstance(one, ast.Name):
            yield one.id
        elif isinstance(one, ast.Tuple | ast.List):
            yield from _plain_names(one.elts)


class Liveness:
    """The live names behind the statement of a function that is being rewritten."""

    def __init__(self, node: ast.FunctionDef) -> None:
        """Start in front of the body of a function, whose tree is not rewritten yet."""
        self.always = set(_read_later(node.body, {*CONSUMERS} - own_names(node)))
        """The names that functions and generators inside read at any later time, and the names that
        added statements read."""
        self._behind: list[Uses | tuple[ast.AST, ...]] = []
        """The uses of names by the parts of the function that may follow, the nearest part last.

        The uses by statements are found when they are first needed."""
        self._known: dict[ast.AST, Uses] = {}
        self._uncertain = 0  # the number of blocks around that may be left at any statement

    def names(self) -> set[str]:
        """The names that are live behind the present statement."""
        live, bound = set(self.always), set[str]()
        for k in reversed(range(len(self._behind))):
            one = self._behind[k]
            if not isinstance(one, Uses):
                one = self._behind[k] = _in_order(map(self._of_statement, one))
            live |= one.read - bound
            if not self._uncertain:
                bound |= one.bound
                if one.ends:
                    break
        return live

    def _of_statement(self, node: ast.AST) -> Uses:
        """The uses of a statement that is not rewritten yet."""
        if node not in self._known:
            self._known[node] = _uses(node)
        return self._known[node]

    @contextmanager
    def before(self, *statements: ast.AST) -> Iterator[None]:
        """A context in which a statement is rewritten; `statements` run after it."""
        self._behind.append(statements)
        yield
        self._behind.pop()

    @contextmanager
    def loop(self, node: Any) -> Iterator[None]:
        """A context in which the body of a loop is rewritten; another trip may follow the body."""
        asked = reads(node.test) if isinstance(node, ast.While) else set[str]()
        again = uses(node.body).read
        if isinstance(node, ast.For):
            again -= bound_names([node.target])
        jumps = has_jump(node.body)
        self._behind.append(Uses(again | asked | uses(node.orelse).read, frozenset()))
        self._uncertain += jumps
        yield
        self._uncertain -= jumps
        self._behind.pop()

    @contextmanager
    def caught(self, *parts: ast.AST) -> Iterator[None]:
        """A context for rewriting a block that an error may leave; `parts` may run after it."""
        self._behind.append(Uses(frozenset(reads(*parts)), frozenset()))
        self._uncertain += 1
        yield
        self._uncertain -= 1
        self._behind.pop()

    @contextmanager
    def function(self) -> Iterator[None]:
        """A context in which the body of an inner function is rewritten."""
        outside = self._behind, self._uncertain
        self._behind, self._uncertain = [], 0
        yield
        self._behind, self._uncertain = outside


def _read_later(nodes: Iterable[Any], consumers: set[str]) -> Iterator[str]:
    """Yield the names that functions, classes and generators read after they are made."""
    for node in nodes:
        parts = [*ast.iter_child_nodes(node)]
        if isinstance(node, _DEFINITIONS):
            yield from reads(node)
        elif isinstance(node, ast.GeneratorExp):
            own, inside = _scope(node)
            yield from reads(*inside) - own
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Name):
            given = node.args[0]
            if node.func.id in consumers and isinstance(given, ast.GeneratorExp):
                parts = [*ast.iter_child_nodes(given), *node.args[1:], *node.keywords]
        yield from _read_later(parts, consumers)
