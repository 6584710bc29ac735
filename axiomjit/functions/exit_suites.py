"""The exits of a loop: suites of branches that no program can contain, so that Python runs them.

An exit prints, calls an unknown object, stores into an attribute, makes a text, raises an error,
leaves the loop or the function, or has a line for which tracing was refused.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Collection, Sequence
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.functions.harmless import outside_value
from axiomjit.functions.libraries import users_function
from axiomjit.functions.loop_jumps import has_return
from axiomjit.functions.loop_statements import LEAVING
from axiomjit.functions.syntax import parsed

_LOOPS: Final = (ast.For, ast.While)
_WRITING: Final = frozenset({"fill", "sort", "partition", "put", "shuffle"})
"""Methods of arrays and generators that are called to write, without use of a result."""
Side = tuple[int, int, bool]
"""The numbers of the first and the last exit of one side of a branch (none if the first is larger),
and True if the whole side is an exit."""


class Suites:
    """The exits of one loop, numbered from 1 in the order of the text."""

    def __init__(self, function: FunctionType, lines: Collection[int]) -> None:
        """Take the function of the loop, and the lines that no program can contain."""
        self._function, self._refused = function, lines
        self._own = {*function.__code__.co_varnames, *function.__code__.co_cellvars}
        self._sides: dict[int, tuple[Side, Side]] = {}
        self._lines: list[int] = []

    @property
    def lines(self) -> tuple[int, ...]:
        """The line of the first statement of each exit."""
        return tuple(self._lines)

    def found(self, loop: Any) -> bool:
        """Find the exits of a loop; False if Python must run each trip."""
        test = getattr(loop, "test", None)
        return not (test is not None and self._is_left(test)) and self._find(loop.body)

    def _find(self, statements: Sequence[ast.stmt]) -> bool:
        if any(map(self._is_left, statements)):
            return False
        for node in statements:
            if isinstance(node, ast.If):
                then = self._side(node.body)
                self._sides[id(node)] = then, self._side(node.orelse)
        return True

    def _side(self, statements: Sequence[ast.stmt]) -> Side:
        first = len(self._lines) + 1
        is_exit = not self._find(statements)
        if is_exit:
            self._lines.append(statements[0].lineno)
        return first, len(self._lines), is_exit

    def _is_left(self, node: Any) -> bool:
        """True for a statement that no program can contain; sides of branches may be exits.

        So a branch is a statement that no program can contain only if both of its sides contain
        such a statement.
        """
        if isinstance(node, ast.If):
            both = (any(map(self._is_left, side)) for side in (node.body, node.orelse))
            return self._is_left(node.test) or all(both)
        if isinstance(node, _LOOPS):
            return has_return([node]) or self._has_left(node)
        is_jump = isinstance(node, ast.Break | ast.Return | ast.Raise)
        return is_jump or self._has_left(node)

    def _has_left(self, node: ast.AST) -> bool:
        """True if no program can contain some part of a statement or expression."""
        if isinstance(node, ast.Assert):
            return self._has_left(node.test)
        if isinstance(node, (*LEAVING, ast.JoinedStr)):
            return True
        if isinstance(node, ast.Attribute) and not isinstance(node.ctx, ast.Load):
            return True
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        if is_call and not self._writes(node.value.func):  # type: ignore[attr-defined]
            return True
        return self._is_refused(node) or any(map(self._has_left, ast.iter_child_nodes(node)))

    def _is_refused(self, node: ast.AST) -> bool:
        """True if a statement that contains no others is on a line that no program can contain."""
        if not isinstance(node, ast.stmt) or isinstance(node, (*_LOOPS, ast.If)):
            return False
        last = node.end_lineno or node.lineno
        return any(node.lineno <= line <= last for line in self._refused)

    def _writes(self, called: ast.expr) -> bool:
        """True if a call whose result is not used may be a write into arrays."""
        if isinstance(called, ast.Attribute):
            owner = called.value
            if isinstance(owner, ast.Name) and owner.id not in self._own:
                value = outside_value(self._function, owner.id)
                if isinstance(value, ModuleType):
                    found = getattr(value, called.attr, None)
                    return value.__name__.partition(".")[0] == "numpy" or users_function(found)
            return called.attr in _WRITING
        if not isinstance(called, ast.Name) or called.id in self._own:
            return False
        found = outside_value(self._function, called.id)
        return isinstance(found, np.ufunc | type(np.copyto)) or users_function(found)

    # Text

    def compiled(self, statements: Sequence[Any], at: str) -> list[ast.stmt]:
        """The statements of the compiled loop; exits store their number in `at` and end it."""
        made: list[ast.stmt] = []
        for node in statements:
            sides = self._sides.get(id(node))
            if sides is None:
                made.append(copy.deepcopy(node))
                continue
            then, otherwise = (
                parsed(f"{at} = {side[0]}\nbreak", suite[0])
                if side[2]
                else self.compiled(suite, at)
                for suite, side in zip((node.body, node.orelse), sides, strict=True)
            )
            made.append(ast.copy_location(ast.If(copy.deepcopy(node.test), then, otherwise), node))
        return made

    def resumed(
        self, statements: Sequence[Any], at: str, inside: Callable[[list[Any]], list[ast.stmt]]
    ) -> list[ast.stmt]:
        """The statements that Python runs, from exit number `at` on, or all of them if `at` is 0.

        Args:
            statements: The body of the loop.
            at: The name of the variable that holds the number of the exit.
            inside: A function that rewrites statements that contain no exit of this loop.
        """
        return self._resumed(statements, at, inside, 0)

    def _resumed(
        self,
        statements: Sequence[Any],
        at: str,
        inside: Callable[[list[Any]], list[ast.stmt]],
        done: int,
    ) -> list[ast.stmt]:
        """The result of `resumed` for statements that have `done` exits before them."""
        made: list[ast.stmt] = []
        plain: list[Any] = []

        def guard(last: int, group: list[ast.stmt]) -> None:
            if group:
                if not self._lines:
                    made.extend(group)
                    return
                test: Any = parsed(f"if {at} <= {last}: pass", group[0])[0]
                test.body = group
                made.append(test)

        for node in statements:
            sides = self._sides.get(id(node))
            last = max((side[1] for side in sides or ()), default=0)
            if sides is None or last <= done:
                plain.append(node)
                continue
            guard(done, inside(plain))
            plain = []
            then, otherwise = (
                inside(suite) if side[2] else self._resumed(suite, at, inside, side[0] - 1)
                for suite, side in zip((node.body, node.orelse), sides, strict=True)
            )
            first, end, _ = sides[0]
            text = f"({at} <= {done} and 0) or {first} <= {at} <= {end}"
            test = parsed(text if end >= first else f"{at} <= {done} and 0", node)[0].value
            (test.values[0] if end >= first else test).values[1] = node.test
            guard(last, [ast.copy_location(ast.If(test, then, otherwise), node)])
            done = last
        guard(done, inside(plain))
        return made

    def continuations(self, statements: Sequence[Any]) -> list[list[ast.stmt]]:
        """For each exit, its statements and the statements that follow them in the same trip."""
        found = []
        for place, node in enumerate(statements):
            rest = [*statements[place + 1 :]]
            sides = self._sides.get(id(node))
            for suite, side in (
                zip((node.body, node.orelse), sides or (), strict=True) if sides else ()
            ):
                inner = [[*suite]] if side[2] else self.continuations(suite)
                found += [[*one, *rest] for one in inner]
        return found
