"""Functions whose loops run as compiled code up to exits, the suites of branches that Python runs.

For a loop with an exit, for instance a branch that prints, two functions are made from the text:

| text | becomes |
|---|---|
| the loop, alone | a function of the names that it reads, for `jit`. Where the program reaches an |
| | exit, it stores the number of the exit, and ends the loop |
| the function | a copy, in which the loop asks `Trips` for compiled trips. Behind these it runs |
| | the suite of the exit and the rest of that trip, and asks again |

A loop over an array, or over `enumerate` or `zip` of arrays, becomes a loop over the places of the
items. If the objects are no arrays, the loop stays as it is.

Python runs the first trip, so that all names have values of the types that they keep in later
trips.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Collection, Iterator, Sequence
from contextlib import nullcontext
from types import CellType, CodeType, FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.functions.exit_suites import Suites
from axiomjit.functions.instrument import placed_code
from axiomjit.functions.liveness import Liveness, reads, uses
from axiomjit.functions.loop_statements import is_inside
from axiomjit.functions.scopes import bound_names, parameters
from axiomjit.functions.source_text import FAULTS, compile_tree, find_definition, tell_tree
from axiomjit.functions.syntax import parsed, placed_at

OWN: Final = "_left_"
"""The prefix of our names in these functions."""
_SEES_NAMES: Final = frozenset({"locals", "vars", "exec", "eval", "dir", "super", "__class__"})
_MAX_STEP: Final = 2**31
_OVER_ITEMS: Final = {"enumerate": enumerate, "zip": zip}
"""Functions of arrays over whose items a loop may run."""


class Loop(Record):
    """A loop whose trips a compiled function can run.

    `function` takes the first index and the end of the range, if the loop is `counted`, and then
    the values of `names`. `function` returns the number of the exit (0 for the end of the loop),
    the index of its last trip (True for a loop without index if it ran more than one trip), and the
    values of `results`.
    """

    line: int
    exits: tuple[int, ...]
    """The line of the first statement of each exit."""
    counted: bool
    names: tuple[str, ...]
    whole: tuple[str, ...]
    """The names that are also read as a whole, not only item by item."""
    results: tuple[str, ...]
    function: FunctionType


class Split(Record):
    """A copy of a function that requests compiled trips of its loops, and these loops."""

    function: FunctionType
    loops: tuple[Loop, ...]


def split(function: object, lines: Collection[int], trips: Any) -> Split | None:
    """The copy of a function with exits; None if the text of the function does not allow it.

    Args:
        function: The user's function.
        lines: The lines that the program of a loop cannot contain.
        trips: A function that is called with the number of a loop, `range` and its arguments, and
            returns the `Trips` of one run of the loop.
    """
    if type(function) is not FunctionType:
        return None
    code = function.__code__
    try:
        found = find_definition(code, function.__globals__)
    except FAULTS:
        return None
    if found is None or not isinstance(found.node, ast.FunctionDef) or not _may_split(found.node):
        return None
    ast.increment_lineno(found.node, found.shift)
    return _Splitter(function, found.node, lines).made(trips)


def _may_split(node: ast.AST) -> bool:
    """True if a function has no `yield`, `await` or private name, nor calls such as `locals()`."""
    for one in ast.walk(node):
        if isinstance(one, ast.Yield | ast.YieldFrom | ast.Await):
            return False
        name = getattr(one, "id", getattr(one, "attr", ""))
        is_private = name.startswith("__") and not name.endswith("__")
        if is_private or name in _SEES_NAMES or name.startswith(OWN):
            return False
    return True


class _Splitter:
    """Writes the copy of one function, and the functions of its loops."""

    def __init__(
        self, function: FunctionType, node: ast.FunctionDef, lines: Collection[int]
    ) -> None:
        self._function, self._node, self._lines = function, node, lines
        code = function.__code__
        self._plain = {*code.co_varnames} - {*code.co_cellvars}
        self._local = {*code.co_varnames, *code.co_cellvars}
        self._liveness = Liveness(node)
        self._loops: list[Loop] = []
        self._count = 0

    def made(self, trips: Any) -> Split | None:
        """The copy, and its loops; None if no loop has an exit."""
        node, function = self._node, self._function
        node.body = self._block(node.body)
        if not any(loop.exits for loop in self._loops):
            return None
        cells = {f"{OWN}trips": CellType(trips), f"{OWN}length": CellType(_number_of_items)}
        copied = _compiled(function, node, cells)
        copied.__defaults__, copied.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
        copied.__qualname__ = function.__qualname__
        return Split(copied, tuple(self._loops))

    def _block(self, statements: Sequence[Any]) -> list[ast.stmt]:
        """The statements that Python runs, in which loops request compiled trips."""
        made: list[ast.stmt] = []
        for place, node in enumerate(statements):
            with self._liveness.before(*statements[place + 1 :]):
                if isinstance(node, ast.For | ast.While):
                    made += self._loop(node) or self._over_items(node) or [self._inside(node)]
                else:
                    made.append(self._inside(node) if isinstance(node, ast.If) else node)
        return made

    def _inside(self, node: Any) -> ast.stmt:
        is_loop = not isinstance(node, ast.If)
        with self._liveness.loop(node) if is_loop else nullcontext():
            node.body = self._block(node.body)
        node.orelse = self._block(node.orelse)
        return node  # type: ignore[no-any-return]

    def _loop(self, node: Any) -> list[ast.stmt]:
        """The statements that replace a loop; empty if Python runs all of its trips."""
        counted = isinstance(node, ast.For)
        if counted and not self._is_range(node):
            return []
        suites = Suites(self._function, self._lines)
        if not suites.found(node):
            return []
        body = suites.compiled(node.body, f"{OWN}at")
        if not all(map(is_inside, [*body, *([] if counted else [node.test])])):
            return []
        target = {node.target.id} if counted else set[str]()
        bound = bound_names(body) - {f"{OWN}at"} | target
        if not bound <= self._plain or (counted and target & bound_names(node.body)):
            return []
        loop = self._made_loop(node, suites, body, bound)
        number = len(self._loops)
        self._loops.append(loop)
        return self._asking(node, loop, suites, number)

    def _over_items(self, node: Any) -> list[ast.stmt]:
        """The statements for a loop over items of arrays; no statement if Python does all trips."""
        if not isinstance(node, ast.For) or "range" in {*self._function.__globals__, *self._local}:
            return []
        kind = next((one for one in _OVER_ITEMS if self._is_call(node.iter, one)), "")
        given = node.iter.args if kind else [node.iter]  # type: ignore[attr-defined]
        if kind == "enumerate" and len(given) > 2:
            return []
        self._count += 1
        place, number = (f"{OWN}{letter}{self._count}" for letter in "kn")
        values = [f"{OWN}v{self._count}_{k}" for k in range(len(given))]
        added = {place, number, *values}
        self._local |= added
        self._plain |= added
        whole: Any = parsed(f"for {place} in range({number}): pass", node)[0]
        items = [f"{one}[{place}]" for one in values]
        if kind == "enumerate":
            items = [f"{place} + {values[1]}" if len(given) > 1 else place, items[0]]
        (first,) = parsed(f"_ = ({', '.join(items)},)" if kind else f"_ = {items[0]}", node)
        first.targets = [copy.deepcopy(node.target)]
        whole.body = [first, *copy.deepcopy(node.body)]
        whole.orelse = copy.deepcopy(node.orelse)
        made = self._loop(whole)
        if not made:
            return []
        names = ", ".join(values)
        start: Any = parsed(f"{names}, = 0,", node)[0]
        start.value.elts = given
        asked = f"{number} = {OWN}length({kind or None}, {names})"
        either: Any = parsed(f"if {number} >= 0: pass\nelse: pass", node)[0]
        node.iter = parsed(f"{kind}({names})" if kind else names, node)[0].value
        either.body, either.orelse = made, [self._inside(node)]
        return [start, *parsed(asked, node), either]

    def _is_call(self, node: ast.expr, name: str) -> bool:
        """True if an expression calls what seems to be a builtin, with plain arguments."""
        return (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == name
            and name not in self._local
            and not node.keywords
            and bool(node.args)
            and not any(isinstance(one, ast.Starred) for one in node.args)
        )

    def _is_range(self, node: ast.For) -> bool:
        is_range = isinstance(node.target, ast.Name) and self._is_call(node.iter, "range")
        return is_range and _step_of(node.iter) is not None

    def _made_loop(self, node: Any, suites: Suites, body: list[ast.stmt], bound: set[str]) -> Loop:
        """The record of a loop, with its function."""
        counted = isinstance(node, ast.For)
        asked = [] if counted else [placed_at(ast.Expr(node.test), node)]
        behind = [*suites.continuations(node.body), [*asked, *node.body], node.orelse]
        live = self._liveness.names().union(*(uses(one).read for one in behind))
        results = sorted((bound - ({node.target.id} if counted else set())) & live)
        used = uses([*asked, *body])
        given = reads(*asked, *body) & self._local - (used.bound - used.read)
        names = sorted({*given, *results} - ({node.target.id} if counted else set()))
        function = self._loop_function(node, body, names, results)
        whole = tuple(name for name in names if name in _read_whole(body))
        return Loop(node.lineno, suites.lines, counted, (*names,), whole, (*results,), function)

    def _loop_function(
        self, node: Any, body: list[ast.stmt], names: list[str], results: list[str]
    ) -> FunctionType:
        """The function that contains only a loop; its tree is stored, so that `jit` finds it."""
        at, first, end = f"{OWN}at", f"{OWN}first", f"{OWN}end"
        start, inner = [f"{at} = 0"], list[ast.stmt]()
        loop, given, last = "while 0: pass", list[str](), f"{OWN}more"
        if isinstance(node, ast.For):
            target: Any = node.target
            given, last = [first, end], target.id
            loop = f"for {last} in range({first}, {end}, {_step_of(node.iter)}): pass"
        else:
            start += [f"{OWN}begun = {OWN}more = False"]
            inner = parsed(f"{OWN}more = {OWN}begun\n{OWN}begun = True", node)
        made: Any = parsed(loop, node)[0]
        made.body = [*inner, *body]
        if isinstance(node, ast.While):
            made.test = copy.deepcopy(node.test)
        back = parsed(f"return ({', '.join([at, last, *results])},)", node)
        whole: Any = parsed(f"def {self._node.name}({', '.join([*given, *names])}): pass", node)[0]
        whole.body = [*parsed("\n".join(start), node), made, *back]
        function = _compiled(self._function, whole, {})
        function.__qualname__ = f"{self._function.__qualname__}, the loop in line {node.lineno},"
        tell_tree(function.__code__, whole)
        return function

    def _asking(self, node: Any, loop: Loop, suites: Suites, number: int) -> list[ast.stmt]:
        """The statements of a loop in the copy, which requests compiled trips."""
        self._count += 1
        trips, at = f"{OWN}t{self._count}", f"{OWN}a{self._count}"
        if loop.counted:
            given, goes_on = f"{number}, range", f"{trips}.next()"
        else:
            given, goes_on = f"{number}, None", f"({trips}.asks() and 0)"
        start: Any = parsed(f"{trips} = {OWN}trips({given})", node)[0]
        names = ", ".join([*([node.target.id] if loop.counted else []), *loop.results])
        target = f"{names}, = {trips}.values" if names else "pass"
        item = f"{node.target.id} = {trips}.item" if loop.counted else "pass"
        made: Any = parsed(
            f"while ({trips}.ready and {trips}.run(locals())) or {goes_on}:\n"
            f"  {at} = {trips}.at\n"
            f"  if {trips}.ran:\n    {target}\n    if not {at}: continue\n"
            f"  else: {item}",
            node,
        )[0]
        if loop.counted:
            start.value.args[1] = node.iter.func
            start.value.args += node.iter.args
        else:
            made.test.values[1].values[1] = node.test
        plain = copy.deepcopy(node.body)
        made.body += suites.resumed(node.body, at, self._block)
        text = (
            f"for {node.target.id} in {trips}.rest"
            if loop.counted
            else f"while {trips}.goes_on and 0"
        )
        rest: Any = parsed(f"{text}: pass", node)[0]
        if not loop.counted:
            rest.test.values[1] = copy.deepcopy(node.test)
        rest.body, rest.orelse = self._block(plain), self._block(node.orelse)
        made.orelse = [rest]
        return [start, made]


def _number_of_items(function: object, *values: Any) -> int:
    """The number of items of a loop over arrays; -1 if the values are no arrays.

    `function` is `enumerate` or `zip`, perhaps of the user, or None for a loop over one array.
    """
    arrays = values
    if function is enumerate and len(values) == 2:
        if type(values[1]) is not int:
            return -1
        arrays = values[:1]
    is_known = function is None or any(function is one for one in _OVER_ITEMS.values())
    if not is_known or not all(type(one) is np.ndarray and one.ndim for one in arrays):
        return -1
    return min(map(len, arrays))


def _read_whole(statements: Sequence[ast.AST]) -> set[str]:
    """The names that are read, except for single items such as `x[k]` and `x[i, j]`."""
    found, waiting = set[str](), [*statements]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            if any(isinstance(one, ast.Slice) for one in ast.walk(node.slice)):
                found.add(node.value.id)
            waiting.append(node.slice)
        else:
            found |= {node.id} if isinstance(node, ast.Name) else set()
            waiting += ast.iter_child_nodes(node)
    return found


def _step_of(call: Any) -> int | None:
    """The step of a range, if it is a literal or not given."""
    for node in call.args[2:]:
        try:
            found = ast.literal_eval(node)
        except (ValueError, TypeError):
            return None
        return found if type(found) is int and 0 < abs(found) < _MAX_STEP else None
    return 1


def _compiled(function: FunctionType, node: Any, cells: dict[str, CellType]) -> FunctionType:
    """A function of this text, with the names and the enclosing variables of another function."""
    code = function.__code__
    node.decorator_list, node.returns = [], None
    node.args.defaults = []
    node.args.kw_defaults = [None for _ in node.args.kw_defaults]
    for one in parameters(node.args):
        one.annotation = None
    outer = dict(zip(code.co_freevars, function.__closure__ or (), strict=True)) | cells
    factory: Any = ast.parse(f"def factory({', '.join(outer)}): pass").body[0]
    factory.body = [node]
    whole = compile_tree(ast.Module([factory], []), code)
    made = next(_inner(_only(whole)))
    made = placed_code(made, code, 0, len(made.co_qualname))
    closure = tuple(outer[name] for name in made.co_freevars)
    return FunctionType(made, function.__globals__, function.__name__, None, closure)


def _only(whole: CodeType) -> CodeType:
    return next(_inner(whole))


def _inner(code: CodeType) -> Iterator[CodeType]:
    return (part for part in code.co_consts if isinstance(part, CodeType))
