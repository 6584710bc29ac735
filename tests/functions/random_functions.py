"""Random functions whose every operation is logged, run as they are and instrumented.

`python -m tests.functions.random_functions --budget 10000 --seed 0` runs that many and prints the
text of the first ones that differ in result, error, lines of the traceback, or log.
"""

import argparse
import functools
import itertools
import linecache
import operator
import random
import sys
import traceback
import types

from tests.functions.plain_hooks import PlainHooks, plain
from tests.functions.random_ranges import lines_of, ranged

ATTRIBUTES = ("n0", "n1", "_n2", "__n3")
GLOBALS = ("g0", "g1", "g2")
CELLS = ("e0", "e1")
LOCALS = ("a", "b", "x", "y", "z")
BINARY = ["+", "-", "*", "/", "//", "%", "**", "@", "<<", ">>", "&", "|", "^"]
COMPARE = ["<", "<=", ">", ">=", "==", "!=", "is", "in"] + ["is not", "not in"]
DELETED = ("x", "z", "g2", "e1")
"""Names that may have no value. As arguments of methods they are read before the attribute is."""
MOST_EVENTS = 200
UNSEEN = ("next", "enter", "exit", "hash")
"""Operations that no hook makes: Python makes them on the value that a hook has given."""


class Boom(Exception):
    """Raised by the operation whose turn it is."""


class World:
    """The log of all operations; the one numbered `fails_at` raises."""

    def __init__(self, fails_at):
        self.log, self.fails_at = [], fails_at
        self.is_in_hook, self.unseen, self.numbers = True, [], itertools.count(1000)

    def note(self, *event):
        self.log.append(event)
        if not self.is_in_hook and event[0] not in UNSEEN:
            self.unseen.append(event)
        if len(self.log) == self.fails_at or len(self.log) > MOST_EVENTS:
            raise Boom(len(self.log))

    def tick(self):
        """Bounds loops and recursions."""
        self.note("tick")
        return True

    def mapping(self, value):
        """Else Python shows the function in an error that is not looked at."""
        return value if isinstance(value, Thing) else {}

    def thing(self, name):
        return Thing(self, name)


def named(value):
    """A name for a value in the log, the same in both runs."""
    if isinstance(value, Thing):
        return value._name
    if isinstance(value, tuple | list):
        return [type(value).__name__, *map(named, value)]
    if isinstance(value, dict):
        return ["dict", *((named(k), named(v)) for k, v in value.items())]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(str(named(v)) for v in value)]
    if isinstance(value, slice):
        return ["slice", *map(named, (value.start, value.stop, value.step))]
    if isinstance(value, str | int | float | types.NoneType | types.EllipsisType):
        return repr(value)
    if isinstance(value, types.FunctionType):
        return value.__qualname__
    return type(value).__name__


class Thing:
    """A value whose every operation is logged, and gives another one."""

    def __init__(self, world, name):
        object.__setattr__(self, "_world", world)
        object.__setattr__(self, "_name", name[:30])
        object.__setattr__(self, "_number", next(world.numbers))

    def _does(self, event, *others):
        self._world.note(event, self._name, *map(named, others))
        return Thing(self._world, f"{event}{len(self._world.log)}")

    def __getattr__(self, name):
        if name.startswith("__") and name.endswith("__") or name in ("_does", "_items"):
            raise AttributeError(name)
        return self._does("attribute", name)

    def __setattr__(self, name, value):
        self._does("store", name, value)

    def __delattr__(self, name):
        self._does("delete", name)

    def __getitem__(self, key):
        return self._does("item", key)

    def __setitem__(self, key, value):
        self._does("store item", key, value)

    def __delitem__(self, key):
        self._does("delete item", key)

    def __call__(self, *args, **kwargs):
        return self._does("call", args, kwargs)

    def __iter__(self):
        self._does("iterate")
        return self._items(2 + len(self._world.log) % 2)

    def _items(self, count):
        for place in range(count):
            self._world.note("next", self._name, place)
            yield Thing(self._world, f"{self._name}.{place}")

    def __bool__(self):
        self._does("truth")
        return len(self._world.log) % 3 > 0

    def __contains__(self, value):
        self._does("contains", value)
        return Thing(self._world, "found").__bool__()

    def __enter__(self):
        return self._does("enter")

    def __exit__(self, kind, error, trace):
        self._does("exit", kind and kind.__name__)
        return len(self._world.log) % 4 == 0

    def __format__(self, spec):
        return self._does("format", spec)._name

    def __str__(self):
        return self._does("str")._name

    __repr__ = __str__

    def keys(self):
        self._does("keys")
        return [f"k{len(self._world.log) % 3}"]

    def __hash__(self):
        self._does("hash")
        return self._number


def _operator(event):
    def operate(self, *others):
        return self._does(event, *others)

    return operate


for _name in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
]:
    setattr(Thing, f"__{_name}__", _operator(_name))
    setattr(Thing, f"__r{_name}__", _operator("r" + _name))
    if _name not in ("mod", "xor"):  # these two fall back to the plain operator
        setattr(Thing, f"__i{_name}__", _operator("i" + _name))
for _name in ["lt", "le", "gt", "ge", "eq", "ne", "neg", "pos", "invert"]:
    setattr(Thing, f"__{_name}__", _operator(_name))


class Target:
    """Stores in an object and deletes from it, within a hook."""

    def __init__(self, world, value):
        object.__setattr__(self, "_made", (world, value))

    def __setattr__(self, name, value):
        within_hook(self._made[0], setattr, self._made[1], name, value)

    def __delattr__(self, name):
        within_hook(self._made[0], delattr, self._made[1], name)

    def __setitem__(self, key, value):
        within_hook(self._made[0], operator.setitem, self._made[1], key, value)

    def __delitem__(self, key):
        within_hook(self._made[0], operator.delitem, self._made[1], key)


def within_hook(world, operation, *args, **kwargs):
    """Run an operation of Python; within a function of the program, no hook is at work."""
    before = world.is_in_hook
    world.is_in_hook = not isinstance(args[0] if args else None, types.FunctionType)
    try:
        return operation(*args, **kwargs)
    finally:
        world.is_in_hook = before


class WatchedHooks(PlainHooks):
    """Hooks that tell the world when they are at work."""

    def __init__(self, function):
        super().__init__(function)
        self._world = function.__globals__["tick"].__self__

    def target(self, value):
        return Target(self._world, value)

    def mapping(self, value):
        return within_hook(self._world, dict, value)


def _watched(method):
    def hook(self, /, *args, **kwargs):
        return within_hook(self._world, method, self, *args, **kwargs)

    def call(self, /, *args, **kwargs):
        return within_hook(self._world, lambda *a, **k: method(self, *a, **k), *args, **kwargs)

    return call if method.__name__ == "call" else hook


for _name, _method in vars(PlainHooks).items():
    if not _name.startswith("_") and _name not in vars(WatchedHooks):
        setattr(WatchedHooks, _name, _watched(_method))


class Writer:
    """Writes one random function."""

    def __init__(self, draw):
        self.draw = draw
        self.own = list(LOCALS)
        self.names = [*LOCALS, *GLOBALS, *CELLS]
        self.in_comprehension = self.in_loop = False
        self.made = 0

    def some(self, *choices):
        return self.draw.choice(choices)()

    def name(self):
        return self.draw.choice(self.names)

    def maybe(self, chance):
        return self.draw.random() < chance

    # Expressions.

    def expression(self, depth=3):
        if depth <= 0 or self.maybe(0.15):
            return self.some(self.name, self.name, self.constant)
        text = self.some(
            *(lambda: f"{self.operand(depth)}.{self.draw.choice(ATTRIBUTES)}",) * 2,
            lambda: f"{self.operand(depth)}\n.{self.draw.choice(ATTRIBUTES)}",
            *(lambda: f"{self.operand(depth)}[{self.key(depth - 1)}]",) * 2,
            *(lambda: f"{self.operand(depth)}({self.arguments(depth)})",) * 2,
            *(lambda: f"{self.operand(depth)}.{self.attribute()}({self.method_arguments(depth)})",)
            * 3,
            *(lambda: f"{self.operand(depth)} {self.draw.choice(BINARY)} {self.operand(depth)}",)
            * 3,
            lambda: f"{self.draw.choice(['-', '+', '~', 'not '])}{self.operand(depth)}",
            lambda: self.logic(depth),
            lambda: self.logic(depth),
            lambda: self.comparison(depth),
            lambda: self.comparison(depth),
            lambda: (
                f"{self.operand(depth)} if {self.condition(depth - 1)} else {self.operand(depth)}"
            ),
            lambda: self.display(depth),
            lambda: self.comprehension(depth),
            lambda: self.formatted(depth),
            lambda: self.function(depth),
            self.walrus,
        )
        return f"(\n{text}\n)" if "\n" in text or self.maybe(0.1) else f"({text})"

    def operand(self, depth):
        return self.expression(depth - 1)

    def attribute(self):
        return self.draw.choice(ATTRIBUTES)

    def constant(self):
        return self.draw.choice(["1", "2.5", "'s'", "None", "True", "()", "-1", "2 * 3"])

    def key(self, depth):
        def bound():
            return self.expression(depth - 1) if self.maybe(0.6) else ""

        return self.some(
            lambda: self.expression(depth),
            lambda: self.expression(depth),
            lambda: f"{bound()}:{bound()}",
            lambda: f"{bound()}:{bound()}:{bound()}",
            lambda: f"{self.expression(depth)}, {bound()}:{bound()}",
            lambda: f"*{self.expression(depth)}, 1",
        )

    def arguments(self, depth):
        parts = [self.expression(depth - 1) for _ in range(self.draw.randrange(3))]
        if self.maybe(0.2):
            parts = [*parts, "1", "*" + self.expression(depth - 1)]
        if self.maybe(0.2):
            parts.append(f"{self.draw.choice(['key', 'word'])}={self.expression(depth - 1)}")
        if self.maybe(0.2):
            parts.append(f"**mapping({self.expression(depth - 1)})")
        return ", ".join(parts)

    def method_arguments(self, depth):
        before = self.names
        self.names = [name for name in before if name not in DELETED]
        text = self.arguments(depth)
        self.names = before
        return text

    def logic(self, depth):
        parts = [self.condition(depth - 1) for _ in range(self.draw.choice([2, 2, 3]))]
        return f" {self.draw.choice(['and', 'or'])} ".join(parts)

    def comparison(self, depth):
        parts = [self.operand(depth) for _ in range(self.draw.choice([2, 2, 3, 4]))]
        text = parts[0]
        for part in parts[1:]:
            text += f" {self.draw.choice(COMPARE)} {part}"
        return text

    def condition(self, depth):
        if depth <= 0:
            return self.name()
        return self.some(
            lambda: self.expression(depth),
            lambda: f"({self.logic(depth)})",
            lambda: f"not {self.expression(depth - 1)}",
            lambda: f"({self.comparison(depth)})",
        )

    def display(self, depth):
        parts = [self.expression(depth - 1) for _ in range(self.draw.randrange(1, 4))]
        if self.maybe(0.3):
            parts.append("*" + self.expression(depth - 1))
        inside = ", ".join(parts)
        pairs = ", ".join(
            f"{part}: {self.expression(depth - 2)}" for part in parts if part[0] != "*"
        )
        if self.maybe(0.3):
            pairs += f", **{self.expression(depth - 1)}"
        return self.draw.choice([f"[{inside}]", f"({inside},)", f"{{{inside}}}", f"{{{pairs}}}"])

    def comprehension(self, depth):
        before = self.names, self.in_comprehension
        first = self.expression(depth - 1)
        if ":=" in first:
            first = self.name()
        self.in_comprehension = True
        clauses = []
        for place in range(self.draw.choice([1, 1, 2])):
            iterable = first if place == 0 else self.name()
            target = self.draw.choice(
                [
                    f"c{place}",
                    f"c{place}, d",
                    f"c{place}, *d",
                    f"c{place}, (d, *h)",
                    "g0.n0",
                    "q[1]",
                ]
            )
            target = target.replace("q", f"c{place}") if place else target.replace("q", "g1")
            self.names = [*self.names, f"c{place}"] if f"c{place}" in target else self.names
            clauses.append(f"for {target} in {iterable}")
            if self.maybe(0.4):
                clauses.append(f"if {self.condition(depth - 1)}")
        clause, value = " ".join(clauses), self.expression(depth - 1)
        text = self.draw.choice(
            [
                f"[{value} {clause}]",
                f"{{{value} {clause}}}",
                f"{{{self.expression(depth - 2)}: {value} {clause}}}",
                f"list({value} {clause})",
            ]
        )
        self.names, self.in_comprehension = before
        return text

    def formatted(self, depth):
        value = self.name()
        spec = self.draw.choice(["", ":>3", f":{{{self.name()}}}", "!r", "!s:>4", "!a"])
        return f'f"t{{{value}{spec}}} {{{self.name()}.n0}}"'

    def function(self, depth):
        before, self.names = self.names, [*self.names, "p"]
        text = f"(lambda p, q={self.expression(depth - 2)}: {self.expression(depth - 1)})"
        self.names = before
        return f"{text}({self.operand(depth)})"

    def walrus(self):
        return f"{self.draw.choice(self.own)} := {self.name()}"

    # Targets and statements.

    def target(self, depth=2, starred=True):
        def several():
            parts = [self.target(depth - 1) for _ in range(self.draw.randrange(1, 4))]
            if self.maybe(0.3):
                parts.insert(self.draw.randrange(len(parts) + 1), "*" + self.target(depth - 1))
            return (
                "[" + ", ".join(parts) + "]" if self.maybe(0.5) else "(" + ", ".join(parts) + ",)"
            )

        simple = (self.name, self.name, self.attribute_target, self.item_target)
        return self.some(*simple, *((several,) * 2 if depth > 0 else ()))

    def attribute_target(self):
        return f"{self.expression(1)}.{self.attribute()}"

    def item_target(self):
        return f"{self.expression(1)}[{self.key(1)}]"

    def block(self, depth, indent):
        lines = []
        for _ in range(self.draw.randrange(1, 4)):
            lines += self.statement(depth, indent)
        return lines

    def statement(self, depth, indent):
        at = "    " * indent
        if depth <= 0 or self.maybe(0.5):
            return [at + line for line in self.simple()]
        return self.draw.choice(
            [
                *(self.branch, self.loop, self.counted, functools.partial(ranged, self)),
                *(self.tried, self.managed, self.inner),
            ]
        )(depth - 1, indent, at)

    def simple(self):
        e = self.expression
        return self.some(
            *(lambda: [f"{self.target()} = {e()}"],) * 3,
            lambda: [f"{self.target()} = {self.target()} = {e()}"],
            lambda: [f"{self.target(0)}, {self.target(0)} = {e()}, {e()}"],
            *(
                lambda: [
                    f"{self.some(self.name, self.attribute_target, self.item_target)} "
                    f"{self.draw.choice(BINARY)}= {e()}"
                ],
            )
            * 3,
            lambda: [f"{self.attribute_target()}: 1 / 0 = {e()}"],
            lambda: [f"{self.item_target()}: {self.name()}"],
            lambda: [f"del {self.some(self.attribute_target, self.item_target)}"],
            lambda: [f"del {self.draw.choice(DELETED)}"],
            lambda: [f"del ({self.attribute_target()}, [{self.item_target()}])"],
            lambda: [f"assert {self.condition(2)}, {e(2)}".replace("\n", " ")],
            lambda: [f"raise Boom({e(1)})" if self.maybe(0.3) else "pass"],
            lambda: [f"return {e()}" if self.maybe(0.3) else "pass"],
            lambda: ["import os.path as z, sys", "from os import path as y, sep"],
            lambda: ["break" if self.in_loop and self.maybe(0.5) else "pass"],
            lambda: ["continue" if self.in_loop and self.maybe(0.5) else "pass"],
            *(lambda: [e()],) * 3,
        )

    def branch(self, depth, indent, at):
        lines = [f"{at}if {self.condition(2)}:", *self.block(depth, indent + 1)]
        if self.maybe(0.4):
            lines += [f"{at}elif {self.condition(2)}:", *self.block(depth, indent + 1)]
        if self.maybe(0.5):
            lines += [f"{at}else:", *self.block(depth, indent + 1)]
        return lines

    def in_a_loop(self, depth, indent):
        before, self.in_loop = self.in_loop, True
        lines = self.block(depth, indent)
        self.in_loop = before
        return lines

    def loop(self, depth, indent, at):
        lines = [f"{at}for {self.target()} in {self.expression(2)}:"]
        lines += self.in_a_loop(depth, indent + 1)
        return [*lines, f"{at}else:", *self.block(depth, indent + 1)] if self.maybe(0.3) else lines

    def counted(self, depth, indent, at):
        lines = [f"{at}while tick() and {self.condition(2)}:", *self.in_a_loop(depth, indent + 1)]
        return [*lines, f"{at}else:", *self.block(depth, indent + 1)] if self.maybe(0.3) else lines

    def tried(self, depth, indent, at):
        lines = [f"{at}try:", *self.block(depth, indent + 1)]
        handled = self.maybe(0.7)
        if handled:
            kinds = ["Boom", "(TypeError, Boom) as x", "Exception as z", "(NameError, ValueError)"]
            kind = self.draw.choice(kinds)
            lines += [f"{at}except {kind}:", *self.block(depth, indent + 1)]
            if self.maybe(0.3):
                lines += [f"{at}else:", *self.block(depth, indent + 1)]
        if not handled or self.maybe(0.3):
            lines += [f"{at}finally:", *self.block(depth, indent + 1)]
        return lines

    def managed(self, depth, indent, at):
        items = [
            self.expression(2) + (f" as {self.target()}" if self.maybe(0.6) else "")
            for _ in range(self.draw.choice([1, 1, 2]))
        ]
        return [f"{at}with {', '.join(items)}:", *self.block(depth, indent + 1)]

    def inner(self, depth, indent, at):
        before = self.names, self.own, self.in_loop
        self.made += 1
        name = f"h{self.made}"
        marks = [f"{at}@{self.expression(1)}"] if self.maybe(0.3) else []
        default, hint = self.expression(1), self.expression(1)
        self.in_loop = False
        declared = self.draw.sample(["x", "y", *CELLS], 2)
        body = [f"{at}    nonlocal {', '.join(declared)}"] if self.maybe(0.5) else []
        body += [f"{at}    global g1"] if self.maybe(0.5) else []
        body += [f"{at}    pass  # binds {name}", f"{at}    tick()"]
        self.names = [*self.names, "p", name]
        self.own = ["p", "z"]
        body += self.block(min(depth, 1), indent + 1)
        self.names, self.own, self.in_loop = before
        yields = [f"{at}    yield {self.name()}"] if self.maybe(0.2) else []
        called = f"{at}{name}({self.expression(1)})"
        called = f"{at}x = [*{called.strip()}]" if yields else called
        head = f"{at}def {name}(p, q={default}, *r, s: {hint} = 1):"
        return [*marks, head, *body, *yields, called]


def write(draw, number):
    """The text of a module with one function `f`, made by a function that has the free names."""
    writer = Writer(draw)
    is_method, is_generator = writer.maybe(0.3), writer.maybe(0.1)
    declared = draw.sample(GLOBALS, draw.randrange(3)), draw.sample(CELLS, draw.randrange(3))
    shown = [
        f"{word} {', '.join(names)}"
        for word, names in zip(("global", "nonlocal"), declared, strict=True)
        if names
    ]
    if is_method:
        writer.names.append("__p")
    lines = ["        pass  # binds f"] + writer.block(2, 2) + writer.block(3, 2)
    lines += ["        yield x"] if is_generator else []
    named = writer.name()
    if is_method:
        lines.append(f"        return super().n0({named}), __class__, {named}")
        head = ["class C(Base):", "    def make(e0, e1):", "      def f(a, b=g0, *c, k=g1):"]
        head[1:] = ["    def f(a, b=g0, *c, k=g1):"]
        outer = ["def make(e0, e1):", *(" " + line for line in head)]
        body = ["         " + line[8:] for line in ["        " + s for s in shown] + lines]
        return "\n".join([*outer, *body, " return C.__dict__['f']"]) + "\n"
    head = ["def make(e0, e1):", "    def f(a, b=g0, *c, k=g1):"]
    return "\n".join([*head, *("        " + s for s in shown), *lines, "    return f"]) + "\n"


class Outcome:
    """What a run shows."""

    def __init__(self, text, file_name, fails_at, instrument):
        world = World(fails_at)
        base = type("Base", (), {"n0": lambda self, other: world.thing("base")})
        names = {name: world.thing(name) for name in (*GLOBALS, *LOCALS)}
        names |= {
            "Boom": Boom,
            "Base": base,
            "__name__": "random",
            "tick": world.tick,
            "mapping": world.mapping,
            "_C__p": world.thing("p"),
        }
        exec(compile(text, file_name, "exec"), names)
        function = names["make"](world.thing("e0"), world.thing("e1"))
        self.cells = function.__closure__
        self.error = self.lines = self.result = None
        called = instrument(function) if instrument else function
        world.is_in_hook = instrument is None
        try:
            result = called(world.thing("a"))
            if isinstance(result, types.GeneratorType):
                result = list(result)
            self.result = named(result)
        except Exception as error:
            world.is_in_hook = True
            self.error = type(error).__name__, str(error) if isinstance(error, Boom) else ""
            frames = traceback.extract_tb(error.__traceback__)
            self.lines = lines_of(
                (frame.name, frame.lineno)
                for frame in frames
                if frame.filename == file_name and frame.name != "<lambda>"
            )
        self.unseen, world.is_in_hook, world.fails_at = world.unseen, True, -1
        self.log = world.log
        self.names = {name: named(names.get(name, "deleted")) for name in GLOBALS}

    def same(self, other):
        fields = ("unseen", "error", "lines", "result", "log", "names")
        return next((f for f in fields if getattr(self, f) != getattr(other, f)), None)


def bound(text, code):
    """The text, in which every function first binds its local names."""
    names = [*code.co_varnames, *code.co_cellvars]
    given = code.co_argcount + code.co_kwonlyargcount + 1  # and one starred
    own = sorted({*names[given:]} & {*LOCALS, *GLOBALS, *CELLS} - {*names[:given]})
    if own:
        mark = f"pass  # binds {code.co_name}\n"
        text = text.replace(mark, f"{' = '.join(own)} = {names[0]}\n")
    for part in code.co_consts:
        text = bound(text, part) if isinstance(part, types.CodeType) else text
    return text


@functools.cache
def text_of(number, seed=0):
    """The text of a program that compiles, the name of its file, and the event that fails."""
    draw = random.Random(f"{seed}.{number}")
    while True:
        text = write(draw, number)
        file_name = f"<random function {seed}.{number}>"
        try:
            text = bound(text, compile(text, file_name, "exec"))
        except SyntaxError:
            continue
        lines = text.splitlines(keepends=True)
        linecache.cache[file_name] = len(text), None, lines, file_name
        return text, file_name, draw.choice([0, 0, draw.randrange(1, 60)])


@functools.cache
def expected_outcome(number, seed):
    """The outcome of the function as it is."""
    return Outcome(*text_of(number, seed), None)


def watched(function):
    """The instrumented function with hooks that are watched."""
    return plain(function, WatchedHooks)


def difference(number, seed=0, instrument=watched):
    """How the instrumented run of a random function differs, or None."""
    text, file_name, fails_at = text_of(number, seed)
    expected = expected_outcome(number, seed)
    seen = Outcome(text, file_name, fails_at, instrument)
    field = expected.same(seen)
    if field is None:
        return None
    return f"{field}: {getattr(expected, field)}\nbut {getattr(seen, field)}\n{text}"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--budget", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    found = 0
    for number in range(given.budget):
        shown = difference(number, given.seed)
        text_of.cache_clear()
        expected_outcome.cache_clear()
        if shown is not None:
            found += 1
            if found <= 3:
                print(f"{number}: {shown}\n")
    print(f"{found} of {given.budget} functions differ")
    sys.exit(found > 0)


if __name__ == "__main__":
    main()
