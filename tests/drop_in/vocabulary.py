"""Statements over named arrays, drawn while they are executed in NumPy.

So each is drawn for arrays of known shapes and dtypes; a few raise errors. `Pool` knows which
values are rounded: those that come from sums and elementary functions, and all that share memory
with them. They only take part in what is continuous.
"""

import ast
import functools
import re
from typing import NamedTuple

import numpy as np

from tests.drop_in import writes
from tests.drop_in.worlds import World
from tests.generator.outside import _names as names_in

CODES = ("f8",) * 6 + ("f4", "f4", "i8", "i8", "i4", "i2", "i1", "u1", "u2", "u4", "u8", "c16", "?")
SHAPES = ((6,), (6,), (3, 4), (3, 4), (4,), (4, 4), (2, 3, 4), (4, 3), (1,), (), (0,), (0, 4))
NAMES = ("a", "b", "c", "d", "x", "y", "z", "w")
ROUNDED = re.compile(
    r"\b(sum|prod|mean|var|std|cumsum|cumprod|exp|sin|log1p|tanh|arctan2|hypot|trace|average|"
    r"nansum|nanmean|accumulate|reduce|trapezoid|dot|cbrt|power)\b|\*\* (0\.5|\(?-1)|@"
)
SMOOTH = ("+", "-", "*")
SIGNS = ("+", "-", "*", "/", "//", "%", "<", "<=", "==", "!=", ">", ">=", "&", "|", "^")
UNARY = (
    *(
        "np.negative",
        "np.abs",
        "np.sqrt",
        "np.square",
        "np.floor",
        "np.rint",
        "np.sign",
        "np.isnan",
    ),
    *("np.logical_not", "np.conj", "np.isfinite", "np.positive", "np.trunc", "np.reciprocal"),
)
ROUNDED_UNARY = ("np.exp", "np.sin", "np.log1p", "np.tanh", "np.cbrt")
BINARY = (
    *("np.maximum", "np.minimum", "np.fmax", "np.copysign", "np.logical_and", "np.fmod"),
    *("np.add", "np.subtract", "np.multiply", "np.divide", "np.arctan2", "np.hypot"),
)
FOLDS = (
    *("sum", "sum", "sum", "mean", "max", "min", "any", "all", "argmax", "argmin", "prod"),
    *("cumsum", "cumprod", "var", "std", "ptp"),
)
NUMBERS = ("1", "2", "3", "0.5", "k", "k", "j", "k + 0.5", "k * 0.25", "j * 0.5", "-1", "0", "2.0")
ODD_NUMBERS = (
    *(
        "np.float32(1.5)",
        "np.int8(3)",
        "True",
        "1j",
        "0.1",
        "float('nan')",
        "np.float64(k)",
    ),
    *("np.arange(4)", "np.arange(3.0)[:, None]", "[1, 2, 3, 4]", "np.ones((), 'i2')"),
)


NOT_NOTED = frozenset({"np", "numpy", "made", "wrap", "share", "k", "j", "float", "int", "bool"})


class Statement(NamedTuple):
    """A statement, which rounds itself or not, with the names that it uses and writes to."""

    is_rounded: bool
    used: frozenset
    written: frozenset


@functools.lru_cache(1000)
def statements_of(text):
    """The statements of a text; of blocks those in it."""
    return tuple(_statements_in(ast.parse(text).body))


def _statements_in(body):
    for one in body:
        if isinstance(one, ast.For | ast.With):
            yield from _statements_in(one.body)
            continue
        text = ast.unparse(one)
        written = names_in(text, ast.Store) | set(writes.written_names(one))
        used = names_in(text, ast.Load, ast.Store)
        yield Statement(bool(ROUNDED.search(text)), frozenset(used), frozenset(written))


class Pool:
    """The names of a sequence that is being drawn, and the world in which they have values."""

    def __init__(self, draws):
        self.draws, self.world = draws, World(False)
        self.space = self.world.space
        self.rounded = set()
        self._is_told_rounded = False

    def far(self):
        """The names whose values are rounded now."""
        return tuple(sorted(self.rounded)) + ("tell",) * self._is_told_rounded

    def pick(self, items):
        return self.draws.pick(items)

    # Names

    def arrays(self, exact=False, kinds="biufc", ranks=range(9), first=NAMES):
        """Names of arrays and NumPy numbers."""
        found = []
        for name in first:
            value = self.space.get(name)
            is_array = isinstance(value, np.ndarray | np.generic)
            fits = is_array and value.dtype.kind in kinds and value.ndim in ranks
            if fits and not (exact and name in self.rounded):
                found.append(name)
        return found

    def array(self, **conditions):
        """The name of an array; an empty text if there is none."""
        found = self.arrays(**conditions)
        return self.pick(found) if found else ""

    def outside(self, prefix):
        """Names of given arrays ("g") or exports ("e")."""
        found = (f"{prefix}{n}" for n in range(3))
        return [n for n in found if isinstance(self.space.get(n), np.ndarray)]

    def target(self):
        """A name that a result is bound to."""
        return self.pick(NAMES)

    def operand(self, x, exact):
        """An operand that fits an array: another one, a part of it, or a number."""
        value = self.space[x]
        which = self.draws.uniform()
        if which < 0.5:
            others = [
                n
                for n in (*self.arrays(exact=exact), *self.outside("g"), *self.outside("e"))
                if not (exact and n in self.rounded) and _fits(self.space[n].shape, value.shape)
            ]
            if others:
                return self.pick(others)
        if which < 0.55 and value.ndim and value.shape[0] > 1:
            return f"{x}[{self.pick(('::-1', ':1', '0', 'k'))}]"
        return self.pick(ODD_NUMBERS if which > 0.95 else NUMBERS)

    # Expressions

    def expression(self, x="", depth=2):
        """An elementwise expression."""
        exact = self.draws.chance(0.6)
        x = x or self.array(exact=exact)
        if not x:
            return ""
        exact = x not in self.rounded
        text = self._elementwise(x, depth, exact)
        if exact and self.draws.chance(0.1):
            rounded = f"{self.pick(ROUNDED_UNARY)}({text})"
            rounded = self.pick((rounded, f"({text}) ** 0.5", f"({text}) ** -1"))
            return self.pick((rounded, f"np.power({text}, {self.pick(('3.0', 'k + 0.5', '1.5'))})"))
        return text

    def _elementwise(self, x, depth, exact):
        left = x if depth < 2 or self.draws.chance(0.5) else self._elementwise(x, depth - 1, exact)
        left = left if re.fullmatch(r"[\w.]+(\(.*\))?", left) else f"({left})"
        right = self.operand(x, exact)
        if not exact:
            return f"{left} {self.pick(SMOOTH)} {right}"
        which = self.draws.uniform()
        if which < 0.5:
            sign = self.pick(SMOOTH if self.draws.chance(0.6) else SIGNS)
            pair = (left, right) if self.draws.chance(0.7) else (right, left)
            return f"({pair[0]}) {sign} ({pair[1]})" if depth > 1 else f"{pair[0]} {sign} {pair[1]}"
        if which < 0.65:
            return f"{self.pick(UNARY)}({left})"
        if which < 0.8:
            function = self.pick(BINARY[:-2])
            return f"{function}({left}, {right})"
        if which < 0.85:
            return f"np.where({left} > {self.pick(NUMBERS)}, {x}, {right})"
        if which < 0.9:
            return f"np.clip({left}, {self.pick(('0', 'k', '-2'))}, {self.pick(('3', 'k + 2'))})"
        if which < 0.95:
            return f"{self.pick('-+~')}{left}"
        return f"{left} ** {self.pick(('2', '1'))}"

    def fold(self):
        """A sum or the like."""
        name = self.pick(FOLDS)
        smooth = name in ("sum", "mean", "cumsum", "max", "min", "ptp")
        x = self.array(exact=not smooth)
        if not x or (name.startswith("cum") and _is_stretched(self.space[x])):
            return ""  # docs/differences.md: the memory order of scans of stretched arrays
        options = []
        rank = self.space[x].ndim
        if rank and self.draws.chance(0.6):
            options.append(f"axis={self.draws.between(-rank, rank - 1)}")
        if self.draws.chance(0.2) and not name.startswith("cum"):
            options.append("keepdims=True")
        if self.draws.chance(0.5) or name == "ptp":
            return f"np.{name}({', '.join((x, *options))})"
        if self.draws.chance(0.1) and rank and not _is_stretched(self.space[x]):
            ufunc = self.pick(("add", "maximum", "multiply"))
            return f"np.{ufunc}.{self.pick(('reduce', 'accumulate'))}({x})"
        return f"{x}.{name}({', '.join(options)})"

    def index(self, x):
        """An index of slices and positions, within the array for most values of `k`."""
        shape = self.space[x].shape
        items = []
        for length in shape[: self.draws.between(1, max(len(shape), 1))]:
            which = self.draws.uniform()
            if which < 0.25 and length > 3:
                items.append(self.pick(("0", "-1", "k", "1", "j")))
            elif which < 0.35:
                items.append(":")
            else:
                items.append(
                    self.pick(("1:", ":-1", "::2", "::-1", ":2", "1:3", "k:", "k:k + 2", ":k + 1"))
                )
        if self.draws.chance(0.08):
            items.insert(self.draws.below(len(items) + 1), "None")
        if self.draws.chance(0.08):
            items.append("...")
        return ", ".join(items) or "..."

    def positions(self, x):
        """An index with arrays of positions, which `k` may put outside the array."""
        rank, y = self.space[x].ndim, self.array(kinds="iu", ranks=(1, 2), exact=True)
        choices = ["[0, k]", "[-1, 0, -k]", "..., [0, -1]", "np.array([[1], [0]])"]
        choices += ["np.array([1, 0, 0])", "[0, 1], None", "[]", "numpy.int64(k):"]
        choices += [f"{y} % {x}.shape[0]", y, f"abs({y})"] if y else []
        if rank > 1:
            choices += ["k, [0, 1]", "[0, 1], [k, 0]", ":, [0, 0, 1]", "1:, [0, -1]"]
        if rank > 2:
            choices += ["[0, 1], :, [1, 0]", ":, [0, k], 1:", "0, :, [1, k]"]
        return self.pick(choices)

    def view(self):
        """A view of an array, or a copy that looks like one."""
        x = self.array()
        if not x:
            return ""
        value = self.space[x]
        rank, size = value.ndim, value.size
        choices = [f"{x}.T", f"{x}.reshape(-1)", f"{x}.ravel()", f"np.ravel({x})", f"{x}[...]"]
        choices += [f"{x}.copy()", f"{x}.flatten()", f"np.squeeze({x})", f"{x}.view()"]
        choices += [f"{x}.real", f"np.atleast_1d({x})", f"np.broadcast_to({x}, (2, *{x}.shape))"]
        if value.dtype.kind == "c":
            choices += [f"{x}.imag"] * 4
        if rank:
            choices += [f"{x}[{self.index(x)}]"] * 9
            choices += [f"np.flip({x})", f"np.expand_dims({x}, 0)", f"{x}[None]", f"{x}[::-1]"]
        if rank > 1:
            choices += [f"{x}.swapaxes(0, -1)", f"{x}.diagonal()", f"np.moveaxis({x}, 0, -1)"]
            choices += [f"{x}.transpose()", f"{x}.reshape({x}.shape[::-1])"] * 2
        if size % 2 == 0:
            choices += [
                f"{x}.reshape(2, -1)",
                f"{x}.reshape(-1, 2)",
                f"np.reshape({x}, (-1, 2), 'F')",
            ]
        return self.pick(choices)

    def other(self):
        """An array by other means: joined, converted, chosen by a mask or positions."""
        x = self.array()
        if not x:
            return ""
        value = self.space[x]
        if value.size > 500:
            return f"np.copy({x}[:2])"
        choices = [f"np.zeros_like({x})", f"np.full_like({x}, 3)", f"np.concatenate([{x}, {x}])"]
        choices += [
            f"np.stack([{x}, {x}])",
            f"{x}.astype('f8')",
            f"np.copy({x})",
            f"np.roll({x}, 1)",
        ]
        choices += [f"{x}.copy('F')", f"{x}.astype({x}.dtype, copy=False)"]
        if value.dtype.kind in "iub":
            choices += [f"{x}.astype({self.pick(CODES)!r})"] * 2
        if value.ndim:
            choices += [f"{x}[{self.positions(x)}]"] * 6
            choices += [f"{x}[[0, -1]]", f"np.take({x}, [0, 0, 1], 0)", f"np.repeat({x}, 2, 0)"]
            choices += [f"np.diff({x}, axis=0)", f"np.outer({x}, [1, 2])", f"{x}[np.array([0, 1])]"]
            if x not in self.rounded:
                choices += [f"np.sort({x}, 0)", f"{x}[{x} > 1]", f"np.where({x})[0]"] * 2
        if value.ndim and len(self.arrays()) > 1:
            y = self.array(ranks=(value.ndim,))
            choices += [f"np.concatenate(({x}, {y}))", f"np.vstack([{x}, {y}])"] if y else []
        return self.pick(choices)

    # Statements

    def made(self):
        """A new array as text."""
        code, shape = self.pick(CODES), self.pick(SHAPES)
        seed = self.pick(("0", "1", "2", "k", "5"))
        text = f"made({code!r}, {shape}, {seed})"
        which = self.draws.uniform()
        if which < 0.1:
            text += ".copy('F')"
        elif which < 0.15 and shape:
            text = f"made({code!r}, ({shape[0]} + k, *{shape[1:]}), {seed})"
        return text

    def beginning(self):
        """Statements that make the first arrays, one of them given from outside."""
        for name in NAMES[: self.draws.between(2, 3)]:
            yield self.take(f"{name} = wrap({self.made()})")
        if self.draws.chance(0.4):
            yield self.take(f"g0 = {self.made()}")

    def take(self, text, new=True):
        """Execute a statement in NumPy, note the rounded names after it, and return it."""
        self._is_told_rounded = False
        before = {n: id(v) for n, v in self.space.items()}
        error = self.world.step(_Text(text))
        self.world.told.clear()
        self._note(text)
        if new and error is None and re.fullmatch(r"\w+ = (wrap\()?made\(.*", text):
            name = text.partition(" ")[0]
            if before.get(name) != id(self.space[name]):
                self.rounded.discard(name)
        return text if error is None or self.draws.chance(0.3) else ""

    def _note(self, text):
        """Note the names that a statement binds or writes to as rounded, if its operands are."""
        for _ in range(3):
            before = len(self.rounded)
            for statement in statements_of(text):
                self._note_one(statement)
            values = self.world.values()
            rounded = [values[n] for n in self.rounded if n in values]
            rounded += [v for v in self.space["keep"] if "keep" in self.rounded]
            for name, value in values.items():
                if any(_share(value, one) for one in rounded):
                    self.rounded.add(name.partition("[")[0])
            if len(self.rounded) == before:
                return

    def _note_one(self, statement):
        if not (statement.is_rounded or statement.used & self.rounded):
            return
        for name in statement.used - NOT_NOTED:
            if name == "tell":
                self._is_told_rounded = True
            elif name in statement.written:
                value = self.space.get(name)
                is_exact = isinstance(value, np.ndarray | np.generic) and value.dtype.kind in "biu"
                if not is_exact or name == "keep":
                    self.rounded.add(name)

    def step(self):
        """A statement, or an empty text where none was found."""
        for _ in range(20):
            which = self.draws.uniform()
            if which < 0.06:
                text = self._loop()
            elif which < 0.1:
                text = self._errstate()
            else:
                text = self.simple()
            text = text and self.take(text)
            if text:
                return text
        return ""

    def simple(self):
        """A statement in one line."""
        kinds = (
            *((0.24, self._bind(self.expression)), (0.1, self._bind(self.fold))),
            *((0.18, self._bind(self.view)), (0.06, self._bind(self.other))),
            *((0.24, lambda: writes.write(self)), (0.1, lambda: writes.read(self))),
            *((0.05, lambda: writes.export(self)), (0.04, lambda: writes.given(self))),
            *((0.04, lambda: writes.hold(self)), (0.02, lambda: writes.error(self))),
        )
        which = self.draws.uniform() * sum(share for share, _ in kinds)
        for share, kind in kinds:
            which -= share
            if which <= 0:
                return kind()
        return kinds[0][1]()

    def _bind(self, kind):
        def statement():
            text = kind()
            return text and f"{self.target()} = {text}"

        return statement

    def _loop(self):
        body = []
        for _ in range(self.draws.between(1, 4)):
            text = self.simple()
            if text and (text := self.take(text, new=False)):
                body.append(f"    {text}")
        if not body:
            return ""
        return "\n".join((f"for j in range({self.pick((2, 3, 3, 5))}):", *body))

    def _errstate(self):
        text = self.simple()
        how = self.pick(("all='raise'", "divide='raise'", "over='raise'", "all='ignore'"))
        return text and f"with np.errstate({how}):\n    {text}"


class _Text:
    thread = ""

    def __init__(self, text):
        self.text = text


def _share(one, other):
    """True if two values lie in the same memory, also where DLPack hides the owner."""
    if _root(one) is _root(other):
        return True
    both = isinstance(one, np.ndarray) and isinstance(other, np.ndarray)
    return both and np.may_share_memory(one, other)


def _is_stretched(value):
    """True if elements of an array stand at several indices."""
    sizes = zip(value.strides, value.shape, strict=True)
    return any(step == 0 and length > 1 for step, length in sizes)


def _root(value):
    while isinstance(value, np.ndarray) and isinstance(value.base, np.ndarray):
        value = value.base
    return value


def _fits(shape, other):
    try:
        np.broadcast_shapes(shape, other)
    except ValueError:
        return False
    return True
