"""The names of functions that are read, and what is known of their variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from axiomjit.tracing.effects.values import NOTHING, LocalClass, Value, limited

Env = dict[str, Value]


class Scope:
    """The names of a function's text: its own, those of other scopes, and those shared."""

    __slots__ = ("cells", "globals", "is_generator", "nonlocals", "own")

    def __init__(self, node: Any) -> None:
        """Read the names that a function binds, without those inside it."""
        self.own: set[str] = set()
        self.globals: set[str] = set()
        self.nonlocals: set[str] = set()
        self.cells: set[str] = set()
        self.is_generator = False
        for parameter in _parameters(node.args):
            self.own.add(parameter.arg)
        waiting: list[ast.AST] = list(node.body) if isinstance(node.body, list) else [node.body]
        while waiting:
            self._bind(waiting.pop(), waiting)
        self.own -= self.globals | self.nonlocals

    def _bind(self, one: ast.AST, waiting: list[ast.AST]) -> None:
        match one:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                self.own.add(name)
            case ast.Global(names=names):
                self.globals.update(names)
            case ast.Nonlocal(names=names):
                self.nonlocals.update(names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                if not isinstance(one, ast.Lambda):
                    self.own.add(one.name)
                    waiting += one.decorator_list
                waiting += [*one.args.defaults, *(d for d in one.args.kw_defaults if d)]
                self.cells |= _nonlocals(one)
                return
            case ast.ClassDef():
                self.own.add(one.name)
                self.cells |= _nonlocals(one)
                waiting += [*one.decorator_list, *one.bases]
                return
            case ast.Import() | ast.ImportFrom():
                self.own.update((a.asname or a.name.partition(".")[0]) for a in one.names)
            case ast.ExceptHandler(name=str(name)) | ast.MatchAs(name=str(name)):
                self.own.add(name)
            case ast.MatchStar(name=str(name)) | ast.MatchMapping(rest=str(name)):
                self.own.add(name)
            case ast.Yield() | ast.YieldFrom():
                self.is_generator = True
            case ast.comprehension():
                waiting += [one.iter, *one.ifs]
                return
        waiting += ast.iter_child_nodes(one)


def _nonlocals(node: ast.AST) -> set[str]:
    return {n for one in ast.walk(node) if isinstance(one, ast.Nonlocal) for n in one.names}


def _parameters(args: ast.arguments) -> Iterator[ast.arg]:
    yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
    if args.vararg:
        yield args.vararg
    if args.kwarg:
        yield args.kwarg


def scope_of(node: Any) -> Scope:
    """The names of a function, read once."""
    found: Scope | None = getattr(node, "axiomjit_scope", None)
    if found is None:
        found = node.axiomjit_scope = Scope(node)
    return found


class Frame:
    """One way to call a function: its names as inner functions see them, and what it gives."""

    __slots__ = (
        *("breaks", "continues", "file", "first", "kind", "named", "node", "outside", "parent"),
        *("read", "returns", "scope", "shared", "space", "tries", "yields"),
    )

    def __init__(
        self, node: Any, parent: Frame | None, space: Mapping[str, Any], file: str, named: bool
    ) -> None:
        """Begin."""
        self.node, self.parent, self.space, self.file, self.named = node, parent, space, file, named
        self.scope: Scope | None = scope_of(node) if node is not None else None
        self.shared: Env = {}
        self.read: set[str] = set()
        self.returns, self.yields = NOTHING, NOTHING
        self.breaks: list[Env] = []
        self.continues: list[Env] = []
        self.tries: list[list[Env]] = []
        self.outside = node is None
        self.kind: Any = None
        self.first: Value = NOTHING

    def share(self, name: str, value: Value) -> bool:
        """Note a value of a variable for inner functions; whether they have read another one."""
        old = self.shared.get(name, NOTHING)
        new = limited(old | value)
        self.shared[name] = new
        return new != old and name in self.read


class ClassFrame(Frame):
    """The frame of the body of a class: its names are seen by the body alone."""

    __slots__ = ()

    def __init__(self, outer: Frame, kind: LocalClass) -> None:
        """Begin inside another frame."""
        super().__init__(no_parameters(kind.node), outer, outer.space, outer.file, outer.named)
        self.kind = kind

    def share(self, name: str, value: Value) -> bool:
        """Nothing: functions inside do not see names of the class."""
        return False


def no_parameters(node: ast.ClassDef) -> Any:
    """The body of a class as that of a function."""
    made = getattr(node, "axiomjit_body", None)
    if made is None:
        empty = ast.arguments([], [], None, [], [], None, [])
        made = ast.FunctionDef(node.name, empty, node.body, [])
        node.axiomjit_body = made  # type: ignore[attr-defined]
    return made


def joined(one: Env | None, other: Env | None) -> Env | None:
    """The variables where two ways meet."""
    if one is None or other is None or one is other:
        return other if one is None else one
    found = dict(one)
    for name, value in other.items():
        held = found.get(name)
        if held is None:
            found[name] = value
        elif held is not value:
            found[name] = limited(held | value)
    return found


def owns(frame: Frame, name: str) -> bool:
    """Whether a name is a variable of a function."""
    if isinstance(frame, ClassFrame):
        return False
    return frame.scope is not None and name in frame.scope.own


def mangled(name: str, frame: Frame) -> str:
    """An attribute's name as Python has it inside a class."""
    kind = frame.kind
    if kind is None or not name.startswith("__") or name.endswith("__"):
        return name
    own = kind.node.name if isinstance(kind, LocalClass) else kind.__name__
    return f"_{own.lstrip('_')}{name}"
