"""Statements in the effect analysis."""

from __future__ import annotations
import __future__

import ast
import importlib.util
import sys
from collections.abc import Sequence
from typing import Any, Final

from axiomjit.base.locks import imported
from axiomjit.tracing.effects.expressions import MOST_STEPS, OPERATORS, Expressions, shown
from axiomjit.tracing.effects.frames import Env, Frame, joined, mangled, owns
from axiomjit.tracing.effects.values import (
    DYNAMIC,
    FRESH,
    NEW,
    NOTHING,
    Known,
    LocalClass,
    Made,
    Origin,
    Value,
    is_a,
    is_constant,
    truth,
)

ROUNDS: Final = 12
"""How often loops and functions are read until nothing grows any more."""


class Statements(Expressions):
    """What statements do, and the variables after them."""

    def local_class(self, node: ast.ClassDef, env: Env, frame: Frame) -> Value:
        """A class that is defined inside."""
        raise NotImplementedError

    def block(self, statements: Sequence[ast.stmt], env: Env, frame: Frame) -> Env | None:
        """The variables after some statements; None where what follows is not reached."""
        now: Env | None = env
        for statement in statements:
            if now is None:
                break
            self.line = statement.lineno
            now = self._statement(statement, now, frame)
        return now

    def _statement(self, one: ast.stmt, env: Env, frame: Frame) -> Env | None:
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.effect("is too long to be read")
        match one:
            case ast.Expr():
                self.value(one.value, env, frame)
            case ast.Assign():
                value = self.value(one.value, env, frame)
                for target in one.targets:
                    self.assign(target, value, env, frame)
            case ast.AnnAssign():
                if one.value is not None:
                    self.assign(one.target, self.value(one.value, env, frame), env, frame)
            case ast.AugAssign():
                self._augmented(one, env, frame)
            case ast.Return():
                if one.value is not None:
                    frame.returns |= self.value(one.value, env, frame)
                else:
                    frame.returns |= self.known(None)
                return None
            case ast.If():
                return self._if(one, env, frame)
            case ast.For() | ast.While():
                return self._loop(one, env, frame)
            case ast.Break():
                frame.breaks.append(env)
                return None
            case ast.Continue():
                frame.continues.append(env)
                return None
            case ast.Raise():
                for part in (one.exc, one.cause):
                    if part is not None:
                        raised = self.value(part, env, frame)
                        self._raise(raised)
                return None
            case _:
                return self._rare_statement(one, env, frame)
        return env

    def _raise(self, raised: Value) -> None:
        for held in raised:
            if isinstance(held, Made):
                self.loosen(held.contents() | {held})
        kinds = {one for one in raised if isinstance(one, Known | LocalClass)}
        kinds = {k for k in kinds if isinstance(k, LocalClass) or isinstance(k.value, type)}
        self.call(frozenset(kinds), [], {}, "an exception")

    def _rare_statement(self, one: ast.stmt, env: Env, frame: Frame) -> Env | None:
        match one:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                value = self.function(one, env, frame)
                for mark in _annotations(one) if not _are_postponed(frame) else ():
                    self.value(mark, env, frame)
                for mark in reversed(one.decorator_list):
                    self.place = mark
                    made = self.value(mark, env, frame)
                    value = self.call(made, [value], {}, ast.unparse(mark))
                self._bind(one.name, value, env, frame)
            case ast.ClassDef():
                self._bind(one.name, self.local_class(one, env, frame), env, frame)
            case ast.Try():
                return self._try(one, env, frame)
            case ast.With() | ast.AsyncWith():
                return self._with(one, env, frame)
            case ast.Delete():
                for target in one.targets:
                    self._delete(target, env, frame)
            case ast.Assert():
                self.value(one.test, env, frame)
                if one.msg is not None:
                    self.value(one.msg, env, frame)
            case ast.Import() | ast.ImportFrom():
                self._import(one, env, frame)
            case ast.Match():
                return self._match(one, env, frame)
            case ast.Global() | ast.Nonlocal() | ast.Pass():
                pass
            case _:
                self.effect(f"has a statement that is not understood, {type(one).__name__}")
        return env

    def _if(self, one: ast.If, env: Env, frame: Frame) -> Env | None:
        known = truth(self.value(one.test, env, frame))
        then = None if known is False else self.block(one.body, dict(env), frame)
        other = None if known is True else self.block(one.orelse, dict(env), frame)
        return joined(then, other)

    def _loop(self, one: Any, env: Env, frame: Frame) -> Env | None:
        outer = frame.breaks, frame.continues
        head = env
        for _ in range(ROUNDS):
            frame.breaks, frame.continues = [], []
            self.line = one.lineno
            inside = dict(head)
            if isinstance(one, ast.While):
                known = truth(self.value(one.test, inside, frame))
                ends = known is not True
                if known is False:
                    after: Env | None = None
                else:
                    after = self.block(one.body, inside, frame)
            else:
                self.place = one
                found = self.elements(self.value(one.iter, inside, frame), shown(one.iter))
                ends = True
                self.assign(one.target, found, inside, frame)
                after = self.block(one.body, inside, frame)
            for other in frame.continues:
                after = joined(after, other)
            new = joined(head, after) or head
            if new == head:
                break
            head = new
        done = self.block(one.orelse, dict(head), frame) if ends else None
        for other in frame.breaks:
            done = joined(done, other)
        frame.breaks, frame.continues = outer
        return done

    def _try(self, one: ast.Try, env: Env, frame: Frame) -> Env | None:
        seen: list[Env] = [dict(env)]
        frame.tries.append(seen)
        after = self.block(one.body, dict(env), frame)
        frame.tries.pop()
        failed: Env | None = None
        for state in (*seen, after):
            failed = joined(failed, state)
        if after is not None:
            after = self.block(one.orelse, after, frame)
        for handler in one.handlers:
            inside = dict(failed or env)
            if handler.type is not None:
                self.value(handler.type, inside, frame)
            if handler.name:
                self._bind(handler.name, NEW | self.loose, inside, frame)
            after = joined(after, self.block(handler.body, inside, frame))
        if one.finalbody:
            last = self.block(one.finalbody, dict(joined(after, failed) or env), frame)
            after = None if after is None else last
        return after

    def _with(self, one: Any, env: Env, frame: Frame) -> Env | None:
        for item in one.items:
            manager = self.value(item.context_expr, env, frame)
            self.place = item
            found = NEW
            for origin in manager:
                enter, leave = self.special(origin, "__enter__"), self.special(origin, "__exit__")
                if enter is not None:
                    found |= self.call(enter, [], {}, "__enter__")
                    self.call(leave or NOTHING, [NEW, NEW, NEW], {}, "__exit__")
                elif isinstance(origin, Made):
                    found |= origin.contents()
                elif origin is not FRESH:
                    self.effect(f"enters {shown(item.context_expr)}, which is not known")
            if item.optional_vars is not None:
                self.assign(item.optional_vars, found, env, frame)
        return self._warnings_block(one, env, frame)

    def _warnings_block(self, one: Any, env: Env, frame: Frame) -> Env | None:
        """The statements of a `with`; filters that `catch_warnings` puts back may be set there."""
        if not any(_is_catching(item.context_expr) for item in one.items):
            return self.block(one.body, env, frame)
        body = [s for s in one.body if not _sets_filter(s)]
        return self.block(body, env, frame)

    def _delete(self, target: ast.expr, env: Env, frame: Frame) -> None:
        match target:
            case ast.Name(id=name):
                scope = frame.scope
                assert scope is not None
                if name in scope.globals or name in scope.nonlocals:
                    self._bind(name, NOTHING, env, frame, "deletes")
            case ast.Tuple() | ast.List():
                for part in target.elts:
                    self._delete(part, env, frame)
            case _:
                self.assign(target, NOTHING, env, frame, "deletes")

    def _import(self, one: ast.Import | ast.ImportFrom, env: Env, frame: Frame) -> None:
        for alias in one.names:
            if isinstance(one, ast.Import):
                whole = self._module(alias.name)
                name = alias.asname or alias.name.partition(".")[0]
                module = whole if alias.asname else self._module(name)
                self._bind(name, self.known(module), env, frame)
                continue
            package = frame.space.get("__package__") or ""
            name = importlib.util.resolve_name("." * one.level + (one.module or ""), package)
            module = self._module(name)
            found = getattr(module, alias.name, None)
            if found is None:
                found = self._module(f"{name}.{alias.name}")
            self._bind(alias.asname or alias.name, self.known(found), env, frame)

    def _module(self, name: str) -> Any:
        """A module that is imported, or one without effects that can be."""
        found = imported(name)
        if found is None:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top not in ("numpy", "scipy"):
                self.effect(f"imports {name}, which was not imported before")
            try:
                found = importlib.import_module(name)
            except ImportError:  # the function raises it again
                return None
        return found

    def _match(self, one: ast.Match, env: Env, frame: Frame) -> Env | None:
        subject = self.value(one.subject, env, frame)
        parts = self.new([subject], "match") | subject
        result: Env | None = env
        for case in one.cases:
            inside = dict(env)
            for node in ast.walk(case.pattern):
                name = getattr(node, "name", None) or getattr(node, "rest", None)
                if isinstance(name, str):
                    inner = self.elements(parts, "match") | parts
                    self._bind(name, inner | self.loose, inside, frame)
            if case.guard is not None:
                self.value(case.guard, inside, frame)
            result = joined(result, self.block(case.body, inside, frame))
        return result

    def assign(
        self, target: ast.expr, value: Value, env: Env, frame: Frame, verb: str = "stores to"
    ) -> None:
        """Bind, store or delete."""
        match target:
            case ast.Name(id=name):
                self._bind(name, value, env, frame)
            case ast.Starred():
                self.place = target
                self.assign(target.value, self.of(value), env, frame)
            case ast.Tuple() | ast.List():
                self._unpack(target, value, env, frame)
            case ast.Attribute(attr=name):
                owner = self.value(target.value, env, frame)
                self.place = target
                text = f"{verb} the attribute {shown(target)}"
                self.store_attribute(owner, mangled(name, frame), value, text)
            case ast.Subscript():
                owner = self.value(target.value, env, frame)
                key = self.value(target.slice, env, frame)
                self.place = target
                self.store_item(owner, key, value, f"{verb} {shown(target)}")

    def _unpack(self, target: ast.Tuple | ast.List, value: Value, env: Env, frame: Frame) -> None:
        self.place = target
        starred = any(isinstance(part, ast.Starred) for part in target.elts)
        plain = not starred and all(_has_places(one) for one in value)
        whole = NOTHING if plain else self.elements(value, shown(target))
        for place, part in enumerate(target.elts):
            found = whole
            if plain:
                found = self.item(value, self.known(place), False, (target, place))
            self.assign(part, found, env, frame)

    def _bind(
        self, name: str, value: Value, env: Env, frame: Frame, verb: str = "stores to"
    ) -> None:
        scope = frame.scope
        assert scope is not None
        if name in scope.globals:
            self.effect(f"{verb} the global name {name}, which lives on outside it")
        if name in scope.nonlocals:
            owner = frame.parent
            while owner is not None and name not in owner.shared and not owns(owner, name):
                owner = owner.parent
            if owner is None or owner.outside:
                self.effect(f"{verb} {name} of an enclosing function, which lives on outside it")
            self._share(owner, name, value)
            return
        env[name] = value
        self._share(frame, name, value)
        for seen in frame.tries:
            state = dict(seen[-1])
            state[name] = state.get(name, NOTHING) | value
            seen[-1] = state

    def _share(self, frame: Frame, name: str, value: Value) -> None:
        if frame.share(name, value):
            self.again = True

    def _augmented(self, one: ast.AugAssign, env: Env, frame: Frame) -> None:
        read: Any = ast.copy_location(_loaded(one.target), one.target)
        old = self.value(read, env, frame)
        new = self.value(one.value, env, frame)
        self.place = one
        name = OPERATORS[type(one.op)]
        text = f"changes {shown(one.target)} in place ({ast.unparse(one)})"
        result = NOTHING
        inside_array = isinstance(one.target, ast.Subscript) and self._is_array(
            self.value(one.target.value, env, frame)
        )
        for origin in old:
            own = self.special(origin, f"__i{name}__")
            if own is not None:
                result |= self.call(own, [new], {}, text)
                continue
            single = frozenset((origin,))
            operator = self.special(origin, f"__{name}__")
            if operator is not None or _is_immutable(origin):
                result |= self.operator(name, single, new, one)
                continue
            if not inside_array:
                self.mutate(single, text)
            if isinstance(origin, Made):
                self.add(origin, None, self.elements(new, text) if name == "add" else new)
            result |= single
        self.assign(one.target, result or NEW, env, frame)

    def _is_array(self, value: Value) -> bool:
        """Whether entries of a value have no life of their own, as those of arrays."""
        return all(one is DYNAMIC or one is FRESH for one in value)


def _loaded(target: ast.expr) -> ast.expr:
    """A target as an expression that is read."""
    match target:
        case ast.Name():
            return ast.Name(target.id, ast.Load())
        case ast.Attribute():
            return ast.Attribute(target.value, target.attr, ast.Load())
        case ast.Subscript():
            return ast.Subscript(target.value, target.slice, ast.Load())
    return target


def _annotations(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[ast.expr]:
    """The annotations of a function, which are evaluated where it is defined."""
    given = [part.annotation for part in ast.walk(node.args) if isinstance(part, ast.arg)]
    return [mark for mark in (*given, node.returns) if mark is not None]


def _are_postponed(frame: Frame) -> bool:
    return frame.space.get("annotations") is __future__.annotations


def _has_places(one: Origin) -> bool:
    """Whether entries are told apart by their place."""
    if isinstance(one, Made):
        return isinstance(one.kind, type) and issubclass(one.kind, tuple | list)
    return isinstance(one, Known) and is_a(one.value, tuple | list)


def _is_immutable(one: Origin) -> bool:
    if isinstance(one, Known):
        return is_constant(one.value) or is_a(one.value, tuple | frozenset)
    return isinstance(one, Made) and one.kind in (tuple, frozenset)


def _is_catching(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and shown(node.func).endswith("catch_warnings")


def _sets_filter(node: ast.stmt) -> bool:
    if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Call):
        return False
    return shown(node.value.func).rpartition(".")[2] in ("simplefilter", "filterwarnings")
