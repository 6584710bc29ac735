"""Expressions in the effect analysis."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Sequence
from typing import Any, Final

from axiomjit.tracing.effects.calls import Calls
from axiomjit.tracing.effects.frames import Env, Frame, mangled, owns
from axiomjit.tracing.effects.values import (
    ANY,
    CONSTANTS,
    DYNAMIC,
    FRESH,
    NEW,
    NOTHING,
    Known,
    Made,
    Origin,
    Super,
    Value,
    constant,
    is_a,
    is_none,
    truth,
)

MOST_STEPS: Final = 60_000
"""The most expressions and statements that are looked at."""
OPERATORS: Final[dict[type, str]] = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "truediv",
    ast.FloorDiv: "floordiv",
    ast.Mod: "mod",
    ast.Pow: "pow",
    ast.MatMult: "matmul",
    ast.LShift: "lshift",
    ast.RShift: "rshift",
    ast.BitAnd: "and",
    ast.BitOr: "or",
    ast.BitXor: "xor",
    ast.USub: "neg",
    ast.UAdd: "pos",
    ast.Invert: "invert",
    ast.Eq: "eq",
    ast.NotEq: "ne",
    ast.Lt: "lt",
    ast.LtE: "le",
    ast.Gt: "gt",
    ast.GtE: "ge",
}
_MIRRORED: Final = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}
_COMPARE: Final[dict[type, Callable[[Any, Any], Any]]] = {
    ast.Eq: lambda a, b: a == b,
    ast.NotEq: lambda a, b: a != b,
    ast.Lt: lambda a, b: a < b,
    ast.LtE: lambda a, b: a <= b,
    ast.Gt: lambda a, b: a > b,
    ast.GtE: lambda a, b: a >= b,
    ast.In: lambda a, b: a in b,
    ast.NotIn: lambda a, b: a not in b,
    ast.Is: lambda a, b: a is b,
    ast.IsNot: lambda a, b: a is not b,
}


class Expressions(Calls):
    """What expressions give, and what they do."""

    def __init__(self, own: str) -> None:
        """Begin with nothing read."""
        super().__init__(own)
        self.steps = 0

    def assign(
        self, target: ast.expr, value: Value, env: Env, frame: Frame, verb: str = "stores to"
    ) -> None:
        """Bind, store or delete."""
        raise NotImplementedError

    def function(self, node: Any, env: Env, frame: Frame) -> Value:
        """A function that is defined inside."""
        raise NotImplementedError

    def value(self, node: ast.expr, env: Env, frame: Frame) -> Value:
        """What an expression may give."""
        self.steps += 1
        if self.steps > MOST_STEPS:
            self.effect("is too long to be read")
        reader = _READERS.get(type(node))
        if reader is None:
            self.effect(f"has an expression that is not understood, {type(node).__name__}")
        return reader(self, node, env, frame)

    def _name(self, node: ast.Name, env: Env, frame: Frame) -> Value:
        return self.name(node.id, env, frame)

    def name(self, name: str, env: Env, frame: Frame) -> Value:
        """What a name stands for."""
        scope = frame.scope
        if scope is not None and name in scope.cells and name in scope.own:
            frame.read.add(name)
            return frame.shared.get(name, NOTHING) | env.get(name, NOTHING)
        if name in env:
            return env[name]
        if scope is None or name not in scope.globals:
            if scope is not None and name in scope.own:
                return NOTHING
            owner = frame.parent
            while owner is not None:
                if name in owner.shared or owns(owner, name):
                    owner.read.add(name)
                    return owner.shared.get(name, NOTHING)
                owner = owner.parent
        if name in frame.space:
            return self.known(frame.space[name], frame.named)
        found = frame.space.get("__builtins__", builtins)
        held = found if isinstance(found, dict) else vars(found)
        return self.known(held[name], frame.named) if name in held else NEW

    def _constant(self, node: ast.Constant, env: Env, frame: Frame) -> Value:
        return self.known(node.value)

    def _attribute_of(self, node: ast.Attribute, env: Env, frame: Frame) -> Value:
        owner = self.value(node.value, env, frame)
        self.place = node
        return self.attribute(owner, mangled(node.attr, frame))

    def _subscript(self, node: ast.Subscript, env: Env, frame: Frame) -> Value:
        owner = self.value(node.value, env, frame)
        key = self.value(node.slice, env, frame)
        self.place = node
        self.ask("key", [key], "an index")
        return self.item(owner, key, _is_slice(node.slice), node)

    def _slice(self, node: ast.Slice, env: Env, frame: Frame) -> Value:
        bounds = [
            self.value(part, env, frame) if part is not None else self.known(None)
            for part in (node.lower, node.upper, node.step)
        ]
        known = [constant(part) for part in bounds]
        if all(part is not None for part in known):
            return self.known(slice(*(part[0] for part in known if part is not None)))
        return NEW

    def _call_node(self, node: ast.Call, env: Env, frame: Frame) -> Value:
        function = self.value(node.func, env, frame)
        args: list[Value] = []
        star = NOTHING
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                several = self.value(argument.value, env, frame)
                exact = exact_entries(several)
                if exact is not None and not star:
                    args += exact
                else:
                    star |= self.elements(several, shown(argument)) or NEW
            else:
                given = self.value(argument, env, frame)
                if star:
                    star |= given
                else:
                    args.append(given)
        kwargs: dict[str, Value] = {}
        for option in node.keywords:
            given = self.value(option.value, env, frame)
            if option.arg is not None:
                kwargs[option.arg] = given
            else:
                star |= self._options(given, kwargs)
        self.place = node
        line = self.line
        self.line = node.lineno
        if not args and not kwargs and any(_is_super(one) for one in function):
            return self._super(frame)
        found = self.call(function, args, kwargs, shown(node.func), star)
        self.line = line
        return found

    def _options(self, given: Value, kwargs: dict[str, Value]) -> Value:
        """Arguments by name from dicts; gives what those of unknown name may be."""
        star = NOTHING
        for one in given:
            if isinstance(one, Known) and is_a(one.value, dict):
                for name, value in one.value.items():
                    kwargs[str(name)] = kwargs.get(str(name), NOTHING) | self.known(value)
            elif isinstance(one, Made):
                one.read = True
                for name, value in one.items.items():
                    kwargs[str(name)] = kwargs.get(str(name), NOTHING) | value
                star |= one.rest
            else:
                self.ask_mapping(one)
                star |= self.elements(frozenset((one,)), "**") | ANY
        return star

    def _super(self, frame: Frame) -> Value:
        inner: Frame | None = frame
        while inner is not None and not inner.first:
            inner = inner.parent
        key = "super", frame.kind, frame.first
        if inner is None or frame.kind is None:
            self.effect("calls super(), which is not understood here")
        if key not in self._bound:
            self._bound[key] = Super(frame.kind, inner.first)  # type: ignore[assignment]
        return frozenset((self._bound[key],))

    def _binary(self, node: ast.BinOp, env: Env, frame: Frame) -> Value:
        nodes = [node]
        while isinstance(nodes[-1].left, ast.BinOp):  # long sums are deep trees
            nodes.append(nodes[-1].left)
        left = self.value(nodes[-1].left, env, frame)
        for one in reversed(nodes):
            right = self.value(one.right, env, frame)
            self.place = one
            left = self.operator(OPERATORS[type(one.op)], left, right, one)
        return left

    def operator(self, name: str, left: Value, right: Value, place: object) -> Value:
        """What an operator gives: special methods of the user's, new lists, else new numbers."""
        found = NOTHING
        text = f"an operator ({name})"
        held = NOTHING
        for values, other, form in ((left, right, "__{}__"), (right, left, "__r{}__")):
            if form == "__r{}__" and name in _MIRRORED:
                form, name = "__{}__", _MIRRORED[name]
            for one in values:
                if one is FRESH or one is DYNAMIC:
                    continue
                own = self.special(one, form.format(name))
                if own is not None:
                    found |= self.call(own, [other], {}, text)
                elif (
                    isinstance(one, Made)
                    and name in ("add", "mul", "or", "sub", "and", "xor")
                    or isinstance(one, Known)
                    and is_a(one.value, list | tuple | dict | set)
                ):
                    held |= {one}
                elif isinstance(one, Known) and self._is_own(one):
                    self.ask("", [frozenset((one,))], text)
        if held and name in ("add", "mul", "or", "sub", "and", "xor"):
            kinds = {_kind(one) for one in held}
            made = self.made((place, "joined", frozenset(kinds)), kinds.pop())
            for one in held:
                if isinstance(one, Made):
                    self.add(made, None, one.contents())
                    if isinstance(made.kind, type) and issubclass(made.kind, dict):
                        self.add_field(made, "keys", self.keys(one))
                elif isinstance(one, Known):
                    self.add(made, None, self._several_of(one))
            found |= {made}
        return found | NEW if not held else found

    def _several_of(self, one: Known) -> Value:
        held = one.value
        return self._several(list(held.values()) if is_a(held, dict) else held)

    def _unary(self, node: ast.UnaryOp, env: Env, frame: Frame) -> Value:
        value = self.value(node.operand, env, frame)
        self.place = node
        if isinstance(node.op, ast.Not):
            self._ask_truth(value)
            known = truth(value)
            return NEW if known is None else self.known(not known)
        number = constant(value)
        if number is not None and isinstance(node.op, ast.USub) and type(number[0]) is int:
            return self.known(-number[0])
        name = OPERATORS[type(node.op)]
        found = NOTHING
        for one in value:
            own = self.special(one, f"__{name}__")
            found |= self.call(own, [], {}, "an operator") if own is not None else NEW
        return found

    def _ask_truth(self, value: Value) -> None:
        if any(one is not FRESH and one is not DYNAMIC for one in value):
            self.ask("bool", [value], "bool()")

    def _boolean(self, node: ast.BoolOp, env: Env, frame: Frame) -> Value:
        found = NOTHING
        stops = isinstance(node.op, ast.Or)
        for part in node.values:
            value = self.value(part, env, frame)
            self.place = node
            self._ask_truth(value)
            known = truth(value)
            if known is stops:
                return found | value
            if known is None or part is node.values[-1]:
                found |= value
        return found

    def _compare(self, node: ast.Compare, env: Env, frame: Frame) -> Value:
        left = self.value(node.left, env, frame)
        results = []
        for operator, part in zip(node.ops, node.comparators, strict=True):
            right = self.value(part, env, frame)
            self.place = node
            results.append(self._compared(operator, left, right))
            left = right
        return results[0] if len(results) == 1 else NEW

    def _compared(self, operator: ast.cmpop, left: Value, right: Value) -> Value:
        if isinstance(operator, ast.Is | ast.IsNot):
            return self._identical(operator, left, right)
        one, other = constant(left), constant(right)
        self.ask("compare", [left, right], "a comparison")
        if one is None and isinstance(operator, ast.In | ast.NotIn):
            self.ask("key", [left], "in")
        if one is not None and other is not None:
            try:
                return self.known(bool(_COMPARE[type(operator)](one[0], other[0])))
            except Exception:  # the function raises it
                return NEW
        if isinstance(operator, ast.In | ast.NotIn):
            self._contains(right)
            if one is not None and len(right) == 1:
                (held,) = right
                if isinstance(held, Known) and type(held.value) in (dict, set, frozenset):
                    return self.known((one[0] in held.value) is isinstance(operator, ast.In))
            return NEW
        name = OPERATORS[type(operator)]
        return self.operator(name, left, right, self.place)

    def _contains(self, right: Value) -> None:
        for held in right:
            own = self.special(held, "__contains__") or self.special(held, "__iter__")
            if own is not None:
                self.call(own, [NEW], {}, "in", NEW)
            elif isinstance(held, Known) and hasattr(type(held.value), "__next__"):
                self.elements(right, "in")

    def _identical(self, operator: ast.cmpop, left: Value, right: Value) -> Value:
        if constant(right) == (None,):
            found = is_none(left)
        elif constant(left) == (None,):
            found = is_none(right)
        else:
            pair = [*left, *right]
            known = len(left) == len(right) == 1 and all(
                isinstance(one, Known) and not is_a(one.value, CONSTANTS[:5]) for one in pair
            )
            found = left == right if known else None
        return NEW if found is None else self.known(found is isinstance(operator, ast.Is))

    def _choice(self, node: ast.IfExp, env: Env, frame: Frame) -> Value:
        test = self.value(node.test, env, frame)
        self.place = node
        self._ask_truth(test)
        known = truth(test)
        found = NOTHING
        if known is not False:
            found |= self.value(node.body, env, frame)
        if known is not True:
            found |= self.value(node.orelse, env, frame)
        return found

    def _display(self, node: Any, env: Env, frame: Frame) -> Value:
        kind = {ast.Tuple: tuple, ast.List: list, ast.Set: set}[type(node)]
        values = [
            self.value(p.value if isinstance(p, ast.Starred) else p, env, frame) for p in node.elts
        ]
        known = [constant(value) for value in values]
        plain = not any(isinstance(part, ast.Starred) for part in node.elts)
        if kind is tuple and known and plain and all(part is not None for part in known):
            key = "tuple", tuple((type(p[0]), repr(p[0])) for p in known if p is not None)
            if key not in self._pieces:
                self._pieces[key] = tuple(p[0] for p in known if p is not None)
            return self.known(self._pieces[key])
        made = self.made((node, tuple(values) if kind is tuple else None), kind)
        ordered = kind is not set
        if not ordered:
            self.ask("key", values, "a set")
        for place, (part, value) in enumerate(zip(node.elts, values, strict=True)):
            if isinstance(part, ast.Starred):
                self.place = part
                self.add(made, None, self.elements(value, shown(part)))
                ordered = False
            else:
                self.add(made, place if ordered else None, value)
        return frozenset((made,))

    def _dict_display(self, node: ast.Dict, env: Env, frame: Frame) -> Value:
        made = self.made((node, None), dict)
        for key, part in zip(node.keys, node.values, strict=True):
            value = self.value(part, env, frame)
            if key is None:
                self.place = node
                self._fill(made, [value], {}, "**")
                continue
            place = self.value(key, env, frame)
            self.ask("key", [place], "a dict")
            self.store_item(frozenset((made,)), place, value, "a dict")
        return frozenset((made,))

    def _lambda(self, node: ast.Lambda, env: Env, frame: Frame) -> Value:
        return self.function(node, env, frame)

    def _comprehension(self, node: Any, env: Env, frame: Frame) -> Value:
        inside = dict(env)
        for part in node.generators:
            given = self.value(part.iter, inside, frame)
            self.place = part
            found = self.elements(given, shown(part.iter))
            names = [n.id for n in ast.walk(part.target) if isinstance(n, ast.Name)]
            self._assign_inner(part.target, found, inside, frame, names)
            for test in part.ifs:
                self.value(test, inside, frame)
        if isinstance(node, ast.DictComp):
            key, value = self.value(node.key, inside, frame), self.value(node.value, inside, frame)
            made = self.made((node, None), dict)
            self.add(made, None, value)
            self.add_field(made, "keys", key)
        else:
            value = self.value(node.elt, inside, frame)
            kind = {ast.ListComp: list, ast.SetComp: set}.get(type(node))
            made = self.made((node, None), kind)
            self.add(made, None, value)
        for one in ast.walk(node):
            if isinstance(one, ast.NamedExpr) and one.target.id in inside:
                env[one.target.id] = env.get(one.target.id, NOTHING) | inside[one.target.id]
        return frozenset((made,))

    def _assign_inner(
        self, target: ast.expr, value: Value, env: Env, frame: Frame, names: Sequence[str]
    ) -> None:
        """Bind the variables of a comprehension, which are its own."""
        scope = frame.scope
        assert scope is not None
        outer = scope.globals, scope.nonlocals
        scope.globals = scope.globals - set(names)
        scope.nonlocals = scope.nonlocals - set(names)
        try:
            self.assign(target, value, env, frame)
        finally:
            scope.globals, scope.nonlocals = outer

    def _text_display(self, node: ast.JoinedStr, env: Env, frame: Frame) -> Value:
        for part in node.values:
            if isinstance(part, ast.FormattedValue):
                value = self.value(part.value, env, frame)
                self.place = part
                self.ask("format" if part.conversion < 0 else "repr", [value], "a format")
                if part.conversion == ord("s"):
                    self.ask("str", [value], "str()")
                if part.format_spec is not None:
                    self.value(part.format_spec, env, frame)
        return NEW

    def _walrus(self, node: ast.NamedExpr, env: Env, frame: Frame) -> Value:
        value = self.value(node.value, env, frame)
        self.assign(node.target, value, env, frame)
        return value

    def _yield(self, node: ast.Yield, env: Env, frame: Frame) -> Value:
        given = self.known(None) if node.value is None else self.value(node.value, env, frame)
        frame.yields |= given
        return NEW | self.loose

    def _yield_from(self, node: ast.YieldFrom, env: Env, frame: Frame) -> Value:
        self.place = node
        frame.yields |= self.elements(self.value(node.value, env, frame), shown(node.value))
        return NEW | self.loose

    def _starred(self, node: ast.Starred, env: Env, frame: Frame) -> Value:
        return self.elements(self.value(node.value, env, frame), shown(node.value))


def shown(node: ast.AST) -> str:
    """The text of a node, shortened."""
    text = ast.unparse(node)
    return text if len(text) <= 60 else f"{text[:57]}..."


def _is_slice(node: ast.expr) -> bool:
    parts = node.elts if isinstance(node, ast.Tuple) else [node]
    return any(
        isinstance(part, ast.Slice | ast.Starred)
        or (isinstance(part, ast.Constant) and part.value in (None, Ellipsis))
        for part in parts
    )


def exact_entries(value: Value) -> list[Value] | None:
    """The entries of a tuple or list of known length that is made in one place."""
    if len(value) != 1:
        return None
    (one,) = value
    if not isinstance(one, Made) or one.rest or one.kind is not tuple:
        return None
    one.read = True
    return [one.items[place] for place in sorted(one.items, key=str) if isinstance(place, int)]


def _kind(one: Origin) -> Any:
    return one.kind if isinstance(one, Made) else type(getattr(one, "value", None))


def _is_super(one: Origin) -> bool:
    return isinstance(one, Known) and one.value is super


_READERS: Final[dict[type, Callable[[Expressions, Any, Env, Frame], Value]]] = {
    ast.Name: Expressions._name,
    ast.Constant: Expressions._constant,
    ast.Attribute: Expressions._attribute_of,
    ast.Subscript: Expressions._subscript,
    ast.Slice: Expressions._slice,
    ast.Call: Expressions._call_node,
    ast.BinOp: Expressions._binary,
    ast.UnaryOp: Expressions._unary,
    ast.BoolOp: Expressions._boolean,
    ast.Compare: Expressions._compare,
    ast.IfExp: Expressions._choice,
    ast.Tuple: Expressions._display,
    ast.List: Expressions._display,
    ast.Set: Expressions._display,
    ast.Dict: Expressions._dict_display,
    ast.Lambda: Expressions._lambda,
    ast.ListComp: Expressions._comprehension,
    ast.SetComp: Expressions._comprehension,
    ast.DictComp: Expressions._comprehension,
    ast.GeneratorExp: Expressions._comprehension,
    ast.JoinedStr: Expressions._text_display,
    ast.NamedExpr: Expressions._walrus,
    ast.Yield: Expressions._yield,
    ast.YieldFrom: Expressions._yield_from,
    ast.Starred: Expressions._starred,
    ast.Await: Expressions._starred,
}
