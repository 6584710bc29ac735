"""Whether a function may change something outside itself, read off its code before it is followed.

Following runs the function's Python code once for many calls. A function that changes something
outside would change it once; so NumPy runs it. What it may change is found by an abstract
interpretation of its syntax tree and of those of the functions that it calls: each variable has the
origins that its value may have (`effect_values`), each store and each call is judged by them.

`seen.append(x)` where `seen` is a global list is an effect; where it is a list that the function
has made, it is none. Writes into arguments are none: they are compiled.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from types import CodeType, FunctionType
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.base.tree import Branch, Structure
from axiomjit.tracing.effects.expressions import shown
from axiomjit.tracing.effects.frames import ClassFrame, Env, Frame, no_parameters
from axiomjit.tracing.effects.objects import Effect, Kwargs
from axiomjit.tracing.effects.statements import ROUNDS, Statements
from axiomjit.tracing.effects.values import (
    ANY,
    DYNAMIC,
    NEW,
    NOTHING,
    Closure,
    Known,
    LocalClass,
    Made,
    Value,
    contents,
    is_a,
    is_constant,
    is_plain_origin,
    limited,
)
from axiomjit.tracing.effects.without_text import check_code
from axiomjit.tracing.source_text import function_tree

MOST_CONTEXTS: Final = 24
"""The most ways to call a function that are told apart."""


class Arguments(Record):
    """The arguments of a call: containers and leaves; a static leaf has its value in a tuple."""

    structure: Structure
    leaves: Sequence[tuple[Any] | None]
    names: Sequence[str]


class EffectAnalysis(Statements):
    """Reads a function and what it calls."""

    def __init__(self, own: str) -> None:
        """Begin with no functions read."""
        super().__init__(own)
        self._frames: dict[object, Frame] = {}
        self._counts: dict[object, int] = {}
        self._merged: dict[object, Env] = {}
        self._results: dict[object, Value] = {}
        self._done: set[object] = set()
        self._running: set[object] = set()
        self._unfinished: set[object] = set()

    def run(self, function: Any, arguments: Arguments) -> None:
        """Read a call of a function.

        Raises:
            Effect: it may change something outside itself.
        """
        self.file, self.line = place_of(function)
        for _ in range(ROUNDS):
            self.again = False
            self._done.clear()
            self._unfinished.clear()
            leaves = iter(zip(arguments.leaves, arguments.names, strict=True))
            positional, named = self._given(arguments.structure, leaves)
            self.place = "call"
            self.call(self.known(function, named=True), positional, named, "it")
            if not self.again:
                return
        self.effect("is not understood in as many rounds as are made")

    def _given(
        self, structure: Any, leaves: Iterator[tuple[tuple[Any] | None, str]]
    ) -> tuple[list[Value], dict[str, Value]]:
        positional, named = structure.parts
        first = [self._argument(part, leaves) for part in positional.parts]
        second = [self._argument(part, leaves) for part in named.parts]
        return first, dict(zip(map(str, named.keys), second, strict=True))

    def _argument(
        self, structure: Structure, leaves: Iterator[tuple[tuple[Any] | None, str]]
    ) -> Value:
        """A value for an argument: arrays may be written, the containers they are in may not."""
        if not isinstance(structure, Branch):
            return self._leaf(leaves)[0]
        made = self.made(("argument", id(structure)), structure.kind)
        keys: Sequence[object] = structure.keys
        named = issubclass(structure.kind, dict) or len(keys) != len(structure.parts)
        for place, part in enumerate(structure.parts):
            if isinstance(part, Branch):
                value = self._argument(part, leaves)
                name = _name_within(value)
            else:
                value, name = self._leaf(leaves)
            made.argument = made.argument or name
            key = keys[place] if place < len(keys) else place
            if named or not keys:
                self.add(made, key if isinstance(key, int | str) else None, value)
            else:
                self.add_field(made, str(key), value)
            fields = getattr(structure.kind, "_fields", ())
            if place < len(fields):
                self.add_field(made, fields[place], value)
        made.argument = made.argument or "that is given"
        if issubclass(structure.kind, dict):
            found = [self.known(key) for key in keys if is_constant(key)]
            self.add_field(made, "keys", frozenset().union(*found))
        return frozenset((made,))

    def _leaf(self, leaves: Iterator[tuple[tuple[Any] | None, str]]) -> tuple[Value, str]:
        held, name = next(leaves)
        if held is None:
            return frozenset((DYNAMIC,)), name
        return self.known(held[0], named=True), name

    # Functions

    def user_function(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, star: Value
    ) -> Value:
        """What a function of the user's gives."""
        function: FunctionType = one.value
        node = function_tree(function.__code__, function.__globals__)
        if node is None:
            plain = all(map(is_plain_origin, frozenset().union(*args, *kwargs.values(), star)))
            self._without_text(one, plain)
            return self.run_functions((*args, *kwargs.values(), star), args, function.__name__) | (
                frozenset().union(NEW, ANY, *args) if args else NEW | ANY
            )
        parent = self._outer(function, one.named)
        defaults = function.__defaults__ or ()
        named = function.__kwdefaults__ or {}
        names = [p.arg for p in (*node.args.posonlyargs, *node.args.args)]
        given = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True)) | named
        known = {name: self.known(value, one.named) for name, value in given.items()}
        return self._run(node, parent, known, args, kwargs, star, function.__code__)

    def _without_text(self, one: Known, plain: bool) -> None:
        function = one.value
        key = "code", function.__code__, id(function), one.named, plain
        if key in self._done:
            return
        self._done.add(key)
        file, line = self.file, self.line
        self.file, self.line = place_of(function)
        reason = check_code(function, self, one.named, plain)
        if reason is not None:
            self.effect(reason)
        self.file, self.line = file, line

    def _outer(self, function: FunctionType, named: bool) -> Frame:
        """The variables that a function has from outside."""
        key = "outer", id(function), named
        if key not in self._frames:
            file = function.__code__.co_filename
            frame = Frame(None, None, function.__globals__, file, named)
            self._frames[key] = frame
            free = function.__code__.co_freevars
            for name, cell in zip(free, function.__closure__ or (), strict=True):
                held = contents(cell)
                if name == "__class__":
                    frame.kind = held
                frame.shared[name] = self.known(held, named)
        return self._frames[key]

    def closure(self, one: Closure, args: Sequence[Value], kwargs: Kwargs, star: Value) -> Value:
        """What a function gives that is defined inside."""
        return self._run(one.node, one.frame, one.defaults, args, kwargs, star, None)

    def _run(
        self,
        node: Any,
        parent: Frame,
        defaults: Mapping[str, Value],
        args: Sequence[Value],
        kwargs: Kwargs,
        star: Value,
        code: CodeType | None,
    ) -> Value:
        if isinstance(node, ast.AsyncFunctionDef):
            return NEW  # it runs nothing yet
        env = self._bound_arguments(node, defaults, args, kwargs, star)
        place = node, parent
        key: object = (place, tuple(env.items()))
        if key not in self._frames:
            self._counts[place] = self._counts.get(place, 0) + 1
        if self._counts[place] > MOST_CONTEXTS:
            merged = self._merged.setdefault(place, {})
            for name, value in env.items():
                new = limited(merged.get(name, NOTHING) | value)
                self.again = self.again or new != merged.get(name, NOTHING)
                merged[name] = new
            key, env = (place, "merged"), dict(merged)
        if key in self._done or key in self._running:
            if key in self._running:
                self._unfinished.add(key)
            return self._results.get(key, NOTHING)
        frame = self._frames.get(key)
        if frame is None:
            frame = self._frames[key] = Frame(node, parent, parent.space, parent.file, parent.named)
        self._running.add(key)
        found = self._body(frame, env)
        self._running.discard(key)
        self._done.add(key)
        old = self._results.get(key, NOTHING)
        if found - old and key in self._unfinished:
            self.again = True
        self._results[key] = found | old
        return self._results[key]

    def _body(self, frame: Frame, env: Env) -> Value:
        file, line, place = self.file, self.line, self.place
        node: Any = frame.node
        names = [p.arg for p in (*node.args.posonlyargs, *node.args.args)]
        frame.first = env.get(names[0], NOTHING) if names else NOTHING
        frame.kind = frame.kind or getattr(frame.parent, "kind", None)
        for name, value in env.items():
            self._share(frame, name, value)
        self.file = frame.file
        if isinstance(node, ast.Lambda):
            self.line = node.lineno
            frame.returns |= self.value(node.body, env, frame)
        else:
            if self.block(node.body, env, frame) is not None:
                frame.returns |= self.known(None)
        self.file, self.line, self.place = file, line, place
        assert frame.scope is not None
        if frame.scope.is_generator:
            self.loosen(frame.returns)
            made = self.made((node, "yields"), None)
            self.add(made, None, frame.yields)
            return frozenset((made,))
        return limited(frame.returns)

    def _bound_arguments(
        self,
        node: Any,
        defaults: Mapping[str, Value],
        args: Sequence[Value],
        kwargs: Kwargs,
        star: Value,
    ) -> Env:
        given: ast.arguments = node.args
        names = [p.arg for p in (*given.posonlyargs, *given.args)]
        env: Env = {}
        for place, name in enumerate(names):
            if place < len(args):
                env[name] = args[place]
            else:
                env[name] = kwargs.get(name, NOTHING) | star or defaults.get(name, NOTHING)
                if star and name in defaults:
                    env[name] |= defaults[name]
        for parameter in given.kwonlyargs:
            name = parameter.arg
            env[name] = kwargs.get(name, NOTHING) | star or defaults.get(name, NOTHING)
        if given.vararg:
            made = self.made((node, "rest", tuple(args[len(names) :])), tuple)
            for place, value in enumerate(args[len(names) :]):
                self.add(made, place, value)
            self.add(made, None, star)
            env[given.vararg.arg] = frozenset((made,))
        if given.kwarg:
            known = {*names, *(p.arg for p in given.kwonlyargs)}
            more = {name: value for name, value in kwargs.items() if name not in known}
            made = self.made((node, "named", tuple(more.items())), dict)
            for name, value in more.items():
                self.add(made, name, value)
            self.add(made, None, star)
            self.add_field(made, "keys", frozenset().union(*map(self.known, more)))
            env[given.kwarg.arg] = frozenset((made,))
        return env

    # Functions and classes that are defined inside

    def function(self, node: Any, env: Env, frame: Frame) -> Value:
        """A function that is defined inside, with its defaults."""
        key = "closure", node, frame
        found: Any = self._bound.get(key)
        if found is None:
            found = self._bound[key] = Closure(node, frame)  # type: ignore[assignment]
        args: ast.arguments = node.args
        names = [p.arg for p in (*args.posonlyargs, *args.args)]
        values = [self.value(one, env, frame) for one in args.defaults]
        pairs = [*zip(names[len(names) - len(values) :], values, strict=True)]
        for parameter, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                pairs.append((parameter.arg, self.value(default, env, frame)))
        for name, value in pairs:
            found.defaults[name] = found.defaults.get(name, NOTHING) | value
        return frozenset((found,))

    def local_class(self, node: ast.ClassDef, env: Env, frame: Frame) -> Value:
        """A class that is defined inside, with what its body binds."""
        if node.keywords:
            self.effect(f"defines the class {node.name} with options, which is not understood")
        key = "class", node, frame
        found: Any = self._bound.get(key)
        if found is None:
            found = self._bound[key] = LocalClass(node)  # type: ignore[assignment]
        for base in node.bases:
            found.bases |= self.value(base, env, frame)
        for one in found.bases:
            inside = isinstance(one, LocalClass)
            if not inside and not (isinstance(one, Known) and is_a(one.value, type)):
                self.effect(f"defines the class {node.name} of bases that are not known")
            elif not inside and not self.is_library(type(one.value)):
                self.effect(f"defines the class {node.name} of a metaclass, which is not known")
        inner = Frame(no_parameters(node), frame, frame.space, frame.file, frame.named)
        inner.kind = found
        shared = frame.kind
        frame.kind = found
        names = dict(env)
        self.block(node.body, names, ClassFrame(frame, found))
        frame.kind = shared
        for name, held in names.items():
            if env.get(name) != held or name not in env:
                found.space[name] = found.space.get(name, NOTHING) | held
        value: Value = frozenset((found,))
        for held in frozenset().union(*found.space.values()):
            named = self.special(held, "__set_name__")
            self.call(named or NOTHING, [value, NEW], {}, "__set_name__")
        above = LocalClass(node)
        above.bases = found.bases
        for one in self.of_class(above, "__init_subclass__"):
            told = self.known(one.value.__func__) if isinstance(one, Known) else frozenset((one,))
            self.call(told, [value], {}, "__init_subclass__")
        for mark in reversed(node.decorator_list):
            made = self.value(mark, env, frame)
            self.place = mark
            self.call(made, [], {}, shown(mark))
        return value


def _name_within(value: Value) -> str:
    found = [one.argument for one in value if isinstance(one, Made) and one.argument]
    return found[0] if found else ""


def place_of(function: Any) -> tuple[str, int]:
    """The file and line where a function is defined."""
    inner = getattr(function, "__func__", function)
    inner = getattr(inner, "func", inner)
    code = getattr(inner, "__code__", None)
    called = vars(type(inner)).get("__call__")
    code = code or getattr(called, "__code__", None)
    return (code.co_filename, code.co_firstlineno) if code else ("unknown", 0)


__all__ = ["Arguments", "Effect", "EffectAnalysis"]
