"""Random functions whose loops and comprehensions make lists, compiled, against Python.

`campaign --list-loops N` runs N of them, as `source_loops` runs its own. Items are numbers of
Python and NumPy, arrays, pairs and lists; conditions and jumps decide about them, and lists are
read in loops and behind them. Returned lists must have the types and values that Python gives them,
and arrays in them share memory where they do in Python.
"""

import linecache
import random
import warnings
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from tests.generator import source_loops
from tests.generator.sequences import way
from tests.generator.source_loops import outcome

LISTS = (
    *("kept.append({a})",) * 8,
    *("more.append({a} * 0.5)",) * 6,
    *("kept.append({a})\n{at}kept.append({b})", "more.append(2.5)", "rows.append(y * {a})") * 3,
    *("if {a} > 0.4:\n{at}    more.append({b})\n{at}else:\n{at}    more.append(0.5)",) * 2,
    *("kept.append({i})", "kept.append(2.5)", "more += [{a}]", "more.extend(({a}, {b}))"),
    *("rows.append(x * {a})", "rows.append(w.copy())", "rows.append(x[:3] + y[{i}])"),
    *("pairs.append(({a}, {b}))", "pairs.append(({i}, c))", "pairs.append([{a}, 1.0])"),
    *("u = x * {a}\n{at}rows.append(u)", "rows.append(z)", "z = z * 0.5\n{at}rows.append(z)"),
    *("u = x * {a}\n{at}rows.append(u)\n{at}u[0] = {b}", "u = y + {b}\n{at}rows.append(u[1:])"),
    *("u = [v * {a} for v in y]\n{at}grid.append(u)", "grid.append([{a} for v in x if v < {b}])"),
    *("grid.append([x[o] * {a} for o in range(n)])", "s = sum(x[o] * {a} for o in range(n))"),
    *("t = max(v + {a} for v in y)", "s += len(kept)", "t = kept[-1]", "s = sum(more)"),
    *("u = []\n{at}for o in range(n):\n{at}    u.append({a} - o)\n{at}grid.append(u)",),
    *("c = len([v for v in x if v > {a}])", "kept = []", "if kept:\n{at}    c += 1"),
)
BEHIND = (
    *("kept", "more", "rows", "pairs", "grid", "kept", "more", "rows"),
    *("np.array(kept)", "np.array(more)", "np.asarray(kept).sum()", "np.array(pairs)"),
    *("np.stack(rows)", "np.concatenate(rows)", "np.array(grid)", "np.vstack(rows)", "rows[1:]"),
    *("len(kept)", "len(more)", "bool(kept)", "sum(more)", "sum(kept)", "max(more)", "min(kept)"),
    *("kept[-1]", "more[0]", "kept[2]", "kept[1:4]", "more[::-1]", "rows[-1]", "pairs[0]"),
    *("[v * 2.0 for v in kept]", "[v for v in more if v > 0.5]", "any(v > 0.9 for v in more)"),
    *("all(v > -1.0 for v in kept)", "sum(v for v in more)", "max(v - 1.0 for v in x)"),
    *("kept + more", "list(more)", "tuple(more)", "(more.pop(), more)", "kept[:2] + [1.0]"),
    *("[v + i for i, v in enumerate(kept)]", "[v - o for v, o in zip(kept, more)]", "z", "u"),
    *("[v * o for v in x for o in y if v < o]", "[[v - o for o in y] for v in x]", "2.5 in more"),
    *("[float(v) for v in more]", "sum([v * v for v in x])", "x[[o for o in range(3, n)]]"),
    *("[(v, o) for v, o in zip(x, y)]", "[o for o in range(n) if x[o] > 0.4]", "sorted(more)"),
    *("[x[o:].max() for o in range(n - 1)]", "list(v for v in y)", "[x * v for v in y]"),
)
LATER = (
    *("z += 1.0", "rows[-1][0] = 2.0", "rows[0] += 1.0", "more[0] = 9.0", "kept.append(7)"),
    *("more.reverse()", "kept.extend(more)", "z = rows[0]", "kept = kept + [s]", "del more[0]"),
)
HEAD = """def program(x, y, k):
    n = x.shape[0]
    w = np.zeros(n)
    s, t, c, z, v = 0.0, 1.0, 0, x, 0.5
    kept, more, rows, pairs, grid = [], [{start}], [], [], []
"""
STARTS = ("0.5", "x[0]", "1", "0.5, 1.5", "np.float64(2.0)")


class Writing(source_loops.Writing):
    """Writes one function."""

    def block(self, index, depth, at):
        """The lines of a body."""
        lines = []
        for line in super().block(index, depth, at):
            inside = line[: len(line) - len(line.lstrip())]
            share = 0.0 if line.lstrip().startswith(("else", "elif")) else 0.4
            if self.draw.random() < share and len(inside) >= len(at):
                lines.append(inside + self.list_statement(index, inside))
            lines.append(line)
        return lines

    def list_statement(self, index, at):
        """One statement that changes or reads a list."""
        text = self.draw.choice(LISTS)
        a, b = self.number(index), self.number(index)
        return text.format(i=index, a=a, b=b, at=at)

    def text(self):
        """The text of the function."""
        lines = []
        for _ in range(self.draw.randrange(1, 3)):
            lines += self.loop("i", "", 1, "    ")
        if self.draw.random() < 0.25:
            lines.append("    " + self.draw.choice(LATER))
        found = ", ".join(self.draw.choice(BEHIND) for _ in range(self.draw.randrange(1, 4)))
        head = HEAD.format(start=self.draw.choice(STARTS))
        return head + "\n".join(lines) + f"\n    return s, t, c, w, z, {found},\n"


def function_of(seed, number):
    """A function and its text."""
    text = Writing(random.Random(f"lists {seed}.{number}")).text()
    name = f"<list loops {seed}.{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"np": np, "__name__": "list_loops"}
    exec(compile(text, name, "exec"), names)
    return names["program"], text


def same(one, other):
    """True for equal types and values; a number of Python's may be NumPy's, if a name had it."""
    if type(other) in (list, tuple):
        return (
            type(one) is type(other)
            and len(one) == len(other)
            and all(map(same, one, other))
            and shared(one) == shared(other)
        )
    if isinstance(other, type):
        return one is other
    alike = type(one) is type(other)
    if not alike and not (type(one) is np.float64 and type(other) in (int, float)):
        return False
    shapes = isinstance(one, np.ndarray) and (one.dtype, one.shape) != (other.dtype, other.shape)
    return not shapes and np.array_equal(one, other, True)


def shared(items):
    """For arrays that are neighbours in a list, True if they have memory in common."""
    pairs = zip(items, items[1:], strict=False)
    arrays = ((a, b) for a, b in pairs if isinstance(a, np.ndarray) and isinstance(b, np.ndarray))
    return [np.shares_memory(a, b) for a, b in arrays]


def failure(seed, number, lengths=(10, 10, 14, 9, 1)):
    """The text of a function that differs, with the difference; None if none does."""
    function, text = function_of(seed, number)
    draw = np.random.default_rng([seed, number])
    compiled = axiomjit.jit(function)
    for n in lengths:
        args = draw.random(n), draw.random(n), draw.integers(0, n, n)
        expected = outcome(function, [one.copy() for one in args])
        found = outcome(compiled, [one.copy() for one in args])
        if not same(found, expected):
            return f"{text}\n{n}: {found}\nbut\n{expected}"
    return None


def campaign(seed, first, count, name):
    """The failures, as text, of functions run in one way."""
    failures = []
    with way(name), patch.object(config, "_fallback", "warn"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in range(first, first + count):
            found = failure(seed, number)
            if found:
                failures.append(f"{name}, seed {seed}, function {number}:\n{found}")
    return failures
