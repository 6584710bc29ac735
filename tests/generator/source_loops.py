"""Random functions with loops, branches and jumps, compiled, against Python.

`campaign --loops N` runs N of them. Each is run on one set of arrays as Python does it and twice
compiled: results, types, arguments afterwards and the kind of an error must be the same.
"""

import linecache
import random
import warnings
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from tests.generator.sequences import way

NUMBERS = ("s", "t", "x[{i}]", "y[{j}]", "x[-{i}]", "w[{i}]", "{i}", "2.5", "y[k[{i}]]", "c", "v")
TESTS = (
    "{a} < {b}",
    "not {a} > {b}",
    "{a} < {b} <= 2.0",
    "{a} > 0.2 and {b} < 1.5",
    "{a} < 0.1 or {i} > 3",
    "{i} % 2 == 0",
)
SIMPLE = (
    "s = {a} + {b}",
    "t = {a} * 0.5 - {b}",
    "s += {a}",
    "y[{i}] = {a}",
    "y[{j}] += {a} * 0.25",
    "c += 1",
    "s, t = t, s",
    "w[{i}] = {a}",
    "u = {a}",
    "z = z * 0.5 + x",
    "z[{i}] = {a}",
    "s = {a} if {b} > 0.5 else {b}",
    "kept.append({a})",
    "assert {a} < 9.0",
    "s = max(s, {a})",
    "s += rng.random()",
    "y[{i}] = rng.normal(0.5)",
    "c += len(x[y > {a}])",
    "s += y[x < {b}].max()",
    "w[x > {a}] = {b}",
    "w[y > {a}] += x[y > {a}]",
    "t = x[(y < {a}) & (x > 0.1)].min() if (y < {a}).any() else 0.5",
    "c = max(c, {i} - 3)",
)
WEIGHTS = (*(4,) * 8, 2, 1, 1, 2, 0.2, 0.3, 1, 0.5, 0.3, *(0.3,) * 6)
JUMPS = ("break", "break", "continue", "return s, c, w", "c += 2\n{at}    break")
LIMITS = (1.5, 4.0, 9.0)
HEADS = (
    *("for {target} in range({ends}):",) * 5,
    "for {target}, v in enumerate(x):",
    "for {target}, (v, t) in enumerate(zip(x, y)):",
    "for {target}, v in enumerate(y[:6], 1):",
    "while {test}:",
    "while True:",
)

RANGES = (
    *("n", "1, n", "n - 1, -1, -1", "0, n, 2", "12", "3", "{i}", "{i}, n", "n - 30"),
    "max(0, {i} - 3), min({i} + 4, n)",
)
HEAD = """def program(x, y, k):
    n = x.shape[0]
    w = np.zeros(n)
    s, t, c, kept, z, v = 0.0, 1.0, 0, [], x, 0.5
    rng = np.random.default_rng(7)
"""
TAIL = "    return s, t, c, w, z, len(kept){last}\n"


class Writing:
    """Writes one function."""

    def __init__(self, draw):
        self.draw = draw

    def number(self, index):
        return self.draw.choice(NUMBERS).format(i=index, j=self.draw.choice(index[:1]))

    def filled(self, text, index):
        a, b = self.number(index), self.number(index)
        return text.format(i=index, j=index, a=a, b=b)

    def block(self, index, depth, at):
        lines = []
        for _ in range(self.draw.randrange(1, 4)):
            kind = self.draw.random()
            if kind < 0.07:
                lines.append(at + f"if {self.filled(self.draw.choice(TESTS), index)}:")
                lines.append(at + "    " + self.draw.choice(JUMPS).format(at=at))
            elif kind < 0.1:
                lines.append(at + f"if {self.filled(self.draw.choice(TESTS), index)}:")
                lines.append(at + "    o = c")
            elif kind < 0.12:
                lines.append(at + f"if {self.number(index)} > {self.draw.choice(LIMITS)}:")
                lines.append(at + "    raise LookupError(c)")
            elif kind < 0.25:
                lines.append(at + f"if {self.filled(self.draw.choice(TESTS), index)}:")
                lines += self.block(index, depth, at + "    ") if depth < 3 else [at + "    pass"]
                if self.draw.random() < 0.5:
                    lines.append(at + "else:")
                    lines += [at + "    " + self.simple(index)]
            elif kind < 0.42 and depth < 2:
                lines += self.loop("jh"[depth - 1], index, depth + 1, at)
            else:
                lines.append(at + self.simple(index))
        return lines

    def simple(self, index):
        return self.filled(self.draw.choices(SIMPLE, WEIGHTS)[0], index)

    def loop(self, target, index, depth, at):
        ranges = RANGES if index else RANGES[:6] + RANGES[8:9]
        ends = self.draw.choice(ranges).format(i=index)
        test = f"{target} < n - 1 and {self.filled(self.draw.choice(TESTS), target)}"
        head = self.draw.choice(HEADS).format(target=target, ends=ends, test=test)
        lines, body = [at + head], self.block(target, depth, at + "    ")
        if head.startswith("while"):
            lines = [at + f"{target} = 0", at + head, at + f"    {target} += 1"]
            lines += [at + f"    if {target} >= n:", at + "        break"]
        if self.draw.random() < 0.1:
            body += [at + "else:", at + "    t = s + 0.5"]
        return [*lines, *body]

    def text(self):
        lines = []
        for _ in range(self.draw.randrange(1, 3)):
            lines += self.loop("i", "", 1, "    ")
        last = self.draw.choice(["", "", ", i", ", u", ", o"])
        return HEAD + "\n".join(lines) + "\n" + TAIL.format(last=last)


def function_of(seed, number):
    """A function and its text."""
    text = Writing(random.Random(f"{seed}.{number}")).text()
    name = f"<loops {seed}.{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"np": np, "__name__": "random_loops"}
    exec(compile(text, name, "exec"), names)
    return names["program"], text


def outcome(function, given):
    """Results with types, or the kind of the error; and the given arrays afterwards."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            found = function(*given)
        except Exception as error:
            found = (type(error),)
    return [*found, *given]


def same(one, other):
    """True for equal types and values; NaN is equal to itself.

    A number that is Python's, but NumPy's in some trip, comes back as NumPy's.
    """
    if len(one) != len(other):
        return False
    return all(
        (type(a) is type(b) or (type(a) is np.float64 and type(b) in (int, float)))
        and (a is b if isinstance(a, type) else np.array_equal(a, b, True))
        for a, b in zip(one, other, strict=True)
    )


def failure(seed, number):
    """The text of a function that differs, with what differs; None if none does."""
    function, text = function_of(seed, number)
    draw = np.random.default_rng([seed, number])
    for n in (10, 14):
        args = draw.random(n), draw.random(n), draw.integers(0, n, n)
        expected = outcome(function, [one.copy() for one in args])
        compiled = axiomjit.jit(function)
        for _ in range(2):
            found = outcome(compiled, [one.copy() for one in args])
            if not same(found, expected):
                return f"{text}\n{found}\nbut\n{expected}"
    return None


def campaign(seed, first, count, name):
    """Run `count` functions in one way; return the failures, as text."""
    failures = []
    with way(name), patch.object(config, "_fallback", "warn"):
        for number in range(first, first + count):
            found = failure(seed, number)
            if found:
                failures.append(f"{name}, seed {seed}, function {number}:\n{found}")
    return failures
