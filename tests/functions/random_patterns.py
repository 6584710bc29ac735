"""Random `match` statements, run on many subjects as they are and instrumented.

What a pattern may ask of a subject, a value or a class is logged, and any of it may fail.
"""

import collections
import enum
import functools
import linecache
import random
import traceback
from collections.abc import Mapping, Sequence

from tests.functions.plain_hooks import plain
from tests.functions.random_functions import Thing, World, named

NAMES = ("a", "b", "c", "g0", "e0", "__p")
"""Names that patterns bind: `g0` is global, `e0` of an enclosing function, `__p` private."""
LITERALS = ("0", "1", "-2", "2.5", "-1 + 2j", "'ab'", "b'ab'", "None", "True", "False")
KEYS = ("'k'", "'l'", "1", "-2", "None", "True", "Color.RED", "Names.k", "Names.same")
CLASSES = (
    *("int", "str", "float", "bool", "bytes", "bytearray", "list", "tuple", "dict", "set"),
    *(
        "frozenset",
        "complex",
        "Point",
        "Pair",
        "Logged",
        "Checked",
        "Color",
        "Many",
        "Row",
        "Table",
    ),
    *("Wrong.texts", "Wrong.kind", "Wrong.numbers", "Wrong.twice", "Wrong.no", "object"),
)
WHOLE = CLASSES[:11]
BREAK = ",\n     "


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Names:
    k, same = "k", "l"


class Point:
    """An instance has some of the attributes that its class names."""

    __match_args__ = ("x", "y", "z")

    def __init__(self, **given):
        vars(self).update(given)

    @property
    def sum(self):
        return self.x + self.y


KEY_OF = {Color.RED: "Color.RED"}
Pair = collections.namedtuple("Pair", "x y")


class Many(int):
    """A subclass of a class with one positional pattern."""


class Wrong:
    """Classes that patterns cannot name."""

    texts = type("Texts", (Point,), {"__match_args__": "xy"})
    kind = type("None_", (Point,), {"__match_args__": None})
    numbers = type("Numbers", (Point,), {"__match_args__": ("x", 1)})
    twice = type("Twice", (Point,), {"__match_args__": ("x", "x")})
    no = Point(x=1)


def logged_classes(world):
    """Classes whose operations are logged in a world."""

    class Row(Sequence):
        def __init__(self, *parts, says=None):
            self._parts, self._says = parts, len(parts) if says is None else says

        def __len__(self):
            world.note("length")
            return self._says

        def __getitem__(self, key):
            world.note("item", key)
            return self._parts[key]

        def __iter__(self):
            world.note("iterate")
            return iter(self._parts)

    class Table(Mapping):
        def __init__(self, **given):
            self._given = given

        def __len__(self):
            world.note("length")
            return len(self._given)

        def __getitem__(self, key):
            world.note("item", key)
            return self._given[key]

        def __iter__(self):
            world.note("iterate")
            return iter(self._given)

        def get(self, key, default):
            world.note("get", repr(key))
            return self._given.get(key, default)

        def keys(self):
            world.note("keys")
            return self._given.keys()

    class Noting(type):
        def __getattribute__(cls, name):
            if name == "__match_args__":
                world.note("match_args")
            return super().__getattribute__(name)

        def __instancecheck__(cls, value):
            world.note("check")
            return type(value).__name__ in ("Logged", "Checked") and world.thing("check")

    class Checked(metaclass=Noting):
        __match_args__ = ("n0", "n1")

    class Logged(Thing):
        __match_args__ = ("n0", "n1")

    return Row, Table, Checked, Logged


class Unlogged(World):
    """A world without a log."""

    def __init__(self):
        super().__init__(-1)

    def note(self, *event):
        pass


class Writer:
    """Writes patterns, most of which fit the subjects at which they are aimed."""

    def __init__(self, draw, aims):
        self.draw, self.aims = draw, aims
        self.logged = [one for one in aims if isinstance(one, Thing)] * 8

    def maybe(self, chance):
        return self.draw.random() < chance

    def shares(self, names, count):
        """The names, shared out to so many patterns."""
        found = [[] for _ in range(count)]
        for name in names:
            self.draw.choice(found).append(name)
        return found

    def pattern(self, names, aim, depth=3):
        """A pattern that binds these names."""
        aim = self.draw.choice(self.aims) if self.maybe(0.1) else aim
        if not names and (depth <= 0 or self.maybe(0.4)):
            other = self.value(aim)
            plain = other if isinstance(aim, Thing) else "_"
            return self.draw.choice((plain, "_", self.literal(aim), other))
        if len(names) == 1 and (depth <= 0 or self.maybe(0.4)):
            return names[0]
        if depth <= 0:
            return f"[{', '.join(names)}]"
        ways = [self.instance, self.instance, self.choices]
        ways += [self.sequence] * (6 if isinstance(aim, Sequence) else self.maybe(0.1))
        ways += [self.mapping] * (6 if isinstance(aim, Mapping) else self.maybe(0.1))
        ways += [self.named] if names else []
        return self.draw.choice(ways)(names, aim, depth - 1)

    def literal(self, aim):
        if type(aim) in (int, float, str, bytes, bool, type(None)) and self.maybe(0.8):
            return repr(aim)
        return self.draw.choice(LITERALS)

    def value(self, aim):
        found = ("Color.BLUE", "g1.n0.n1", "g1.n0", "Names.k", "Names.no")
        found = found[2:3] if isinstance(aim, Thing) else found
        return "Color.RED" if isinstance(aim, Color) else self.draw.choice(found)

    def named(self, names, aim, depth):
        return f"({self.pattern(names[1:], aim, depth)} as {names[0]})"

    def sequence(self, names, aim, depth):
        aims = [*aim] if isinstance(aim, Sequence) else [0] * self.draw.randrange(3)
        starred, name = self.maybe(0.5), "_"
        if starred and names and self.maybe(0.6):
            name, *names = names
        if starred:
            aims = aims[self.draw.randrange(len(aims) + 1) :]
        aims = [0] if names and not aims else aims
        shares = self.shares(names, len(aims)) if names else [[] for _ in aims]
        parts = [self.pattern(*one, depth) for one in zip(shares, aims, strict=True)]
        if starred:
            parts.insert(self.draw.randrange(len(parts) + 1), f"*{name}")
        # Python 3.11 reads the parts around `*_` at the line of the part before
        between = BREAK if "*_" not in parts and self.maybe(0.5) else ", "
        return f"[{between.join(parts)}]"

    def mapping(self, names, aim, depth):
        keys = self.draw.sample(KEYS, self.draw.choice((0, 1, 1, 2)))
        aims = [0 for _ in keys]
        if isinstance(aim, Mapping) and self.maybe(0.8):
            given = {KEY_OF.get(key, repr(key)): one for key, one in aim.items()}
            keys = self.draw.sample([*given], self.draw.randrange(len(given) + 1))
            aims = [given[key] for key in keys]
        rest = names[0] if names and (not keys or self.maybe(0.4)) else None
        names = names[1:] if rest else names
        keys, aims = (["'k'"], [0]) if names and not keys else (keys, aims)
        shares = self.shares(names, len(keys)) if names else [[] for _ in keys]
        parts = [self.pattern(*one, depth) for one in zip(shares, aims, strict=True)]
        shown = [f"{key}: {part}" for key, part in zip(keys, parts, strict=True)]
        return "{" + ", ".join([*shown, f"**{rest}"] if rest else shown) + "}"

    def instance(self, names, aim, depth):
        kind, words = type(aim).__name__, ["x", "y", "z", "sum", "n0", "n1", "__p", "real"]
        if kind not in CLASSES or self.maybe(0.2):
            kind = self.draw.choice(CLASSES)
        least = 1 if names else 0
        count = self.draw.choice((0, 1, 1, 1, 2, 3)) if self.maybe(0.3) else min(1, len(names) + 1)
        if kind in ("Point", "Pair", "Logged", "Checked"):
            count = self.draw.randrange(least, 4 if kind == "Point" else 3)
            words = ["n0", "n1"] if kind in ("Logged", "Checked") else ["x", "y", "sum", "z"]
        count = max(count, least)
        shares = self.shares(names, count) if names else [[] for _ in range(count)]
        parts = [self.pattern(one, aim if kind in WHOLE else 1, depth) for one in shares]
        first = self.draw.randrange(count + 1)
        words = self.draw.sample(words, min(len(words), count - first))
        parts[first:] = [f"{word}={part}" for word, part in zip(words, parts[first:], strict=False)]
        return f"{kind}({', '.join(parts)})"

    def choices(self, names, aim, depth):
        found = []
        for _ in range(self.draw.choice((2, 2, 3))):
            self.draw.shuffle(names)
            aims = (aim, aim, self.draw.choice(self.aims))
            found.append(self.pattern([*names], self.draw.choice(aims), depth))
        return f"({' | '.join(found)})"

    def statement(self, subject, indent, depth):
        """A statement, in whose cases may be others."""
        lines = [f"{indent}match {subject}:"]
        for number in range(self.draw.choice((1, 2, 4, 6) if depth == 2 else (1, 2))):
            lines += [f"{indent} {self.case(number)}", f"{indent}  found.append({number})"]
            if depth and self.maybe(0.15):
                inner = self.draw.choice(("s", "found[:]", "g1"))
                lines += self.statement(inner, f"{indent}  ", 0)
            end = self.draw.choice(("pass", "pass", "break", "continue", "return found"))
            lines += [f"{indent}  {end}"]
        return lines

    def case(self, number):
        names = self.draw.sample(NAMES, self.draw.choice((0, 0, 1, 1, 2, 3)))
        guard = self.draw.choice(("", "", f" if guard({number})", f" if (\n   g1.n1 > {number})"))
        aim = self.draw.choice((*self.aims, *self.logged))
        return f"case {self.pattern(names, aim)}{guard}:"


def write(draw):
    """The text of a module with a function that returns the case that was chosen, and names."""
    writer = Writer(draw, subjects(Unlogged()))
    subject = draw.choice(("s", "s", "s", "s, 1", "(s, g1)"))
    lines = ["def make(e0):", " class C:", "  def f(s):", "   global g0", "   nonlocal e0"]
    lines += ["   found = []", "   for turn in range(2):"]
    lines += writer.statement(subject, "    ", 2)
    for name in NAMES:
        lines += ["   try:", f"    found.append({name})"]
        lines += ["   except NameError:", "    found.append('unbound')"]
    return "\n".join([*lines, "   return found", " return C.f", ""])


def subjects(world):
    """Subjects of each kind, made anew."""
    row, table, checked, logged = world.kinds = logged_classes(world)
    one = logged(world, "one")
    pair, point = Pair(1, "ab"), Point(x=1, y=2)
    flat = [0, 1, -2, 2.5, -1 + 2j, "ab", "", b"ab", bytearray(b"ab"), None, True, False, Many(1)]
    flat += [Color.RED, Color.BLUE, Names, point, Point(x=1), Point(), pair, one, checked(), {1, 2}]
    flat += [
        frozenset(),
        range(2),
        range(0),
        Wrong.texts(x=1),
        Wrong.twice(x=1),
        Wrong.numbers(x=1),
    ]
    nested = [[], [1], (1, "ab"), [1, 2.5, None], ((1, point), [0]), collections.deque([1, 0])]
    nested += [
        [one],
        [pair, point, one],
        (one, 1),
        row(),
        row(1),
        row(1, one, "ab"),
        row([1], (0,)),
    ]
    nested += [row(1, 2, says=1), row(1, says=2), [[[1]]], [{"k": 1}], memoryview(b"ab")]
    maps = [{}, {"k": 1}, {"k": 1, "l": [1, 0]}, {1: "ab", Color.RED: point}, {None: 1, -2: one}]
    maps += [table(), table(k=1), table(k=one, l=0, m=2), collections.defaultdict(list, k=1)]
    maps += [collections.OrderedDict(l=1, k=0), collections.Counter("ab"), {"k": {"l": 1}}]
    return flat + nested + maps


def shown(value):
    """A value in words, the same in both runs."""
    if isinstance(value, Point):
        return "Point"
    if isinstance(value, list | tuple):
        return [type(value).__name__, *map(shown, value)]
    if isinstance(value, dict):
        return ["dict", *((shown(key), shown(one)) for key, one in value.items())]
    return named(value)


class Outcome:
    """What a run shows."""

    def __init__(self, code, place, fails_at, instrument):
        world = World(fails_at)
        given = subjects(world)[place]
        names = {one.__name__: one for one in (Color, Names, Point, Many, Wrong, *world.kinds)}
        names |= {"Pair": Pair, "g1": world.thing("g1"), "guard": self.guard(world)}
        names |= {"g0": 0, "__name__": "random", "_C__p": 0}
        exec(code, names)
        function = names["make"](0)
        self.error = self.lines = self.result = None
        try:
            self.result = shown((instrument(function) if instrument else function)(given))
        except Exception as error:
            self.error = type(error).__name__, str(error)
            frames = traceback.extract_tb(error.__traceback__)
            self.lines = [one.lineno for one in frames if one.filename == code.co_filename]
        world.fails_at = -1
        self.log = world.log
        self.names = shown(names["g0"]), shown(function.__closure__[0].cell_contents)

    @staticmethod
    def guard(world):
        def guard(number):
            world.note("guard", number)
            return world.thing("guard")

        return guard

    def differs(self, other):
        fields = ("error", "lines", "result", "log", "names")
        return next((f for f in fields if getattr(self, f) != getattr(other, f)), None)


@functools.cache
def code_of(number):
    """The code of a statement that compiles, its text, and the operation that fails."""
    draw = random.Random(number)
    while True:
        text, name = write(draw), f"<random patterns {number}>"
        try:
            code = compile(text, name, "exec")
        except SyntaxError:
            continue
        linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
        return code, text, draw.choice([0, 0, draw.randrange(1, 12)])


@functools.cache
def count_of_subjects():
    """The number of subjects."""
    return len(subjects(Unlogged()))


def differences(number, instrument=plain):
    """How the instrumented runs of a random statement differ."""
    code, text, fails_at = code_of(number)
    found = []
    for place in range(count_of_subjects()):
        expected, seen = (Outcome(code, place, fails_at, how) for how in (None, instrument))
        field = expected.differs(seen)
        if field is not None:
            wanted, got = getattr(expected, field), getattr(seen, field)
            found.append(f"{field} of subject {place}: {wanted}\nbut {got}\n{text}")
    return found
