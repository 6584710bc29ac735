"""Random functions of nested loops over arrays that they read and write in place, against Python.

`campaign --array-loops N` runs N of them. Positions are affine, negative, wrapped or read from an
array, lengths of slices are those of triangles, and names of arrays are views of one memory, bound
anew, or swapped; rows at computed positions, which are copies, are not written. Each function is
called with other lengths, dtypes and layouts in turn: results, types, arguments afterwards and the
kind of an error must be Python's, bit for bit. Sums are drawn in functions of integers only. Loops
of two trips or more are regions here.
"""

import linecache
import random
from collections import Counter
from contextlib import ExitStack
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.functions import loop_hooks
from tests.generator.sequences import way
from tests.generator.source_loops import outcome
from tests.passes.graphs import quiet

FEWEST_TRIPS = 2
SHARES = Counter()
"""The numbers of functions with regions, without, and with a call that NumPy ran."""

PLACES = (
    *("{i}", "{j}", "-{i}", "-1 - {i}", "{i} - 1", "{j} - {i}", "n - 1 - {i}", "0"),
    *("k[{i}]", "k[{j}] // 2", "c % n", "-1", "{i} - {j} - 1", "n // 2", "k[n - 1 - {i}]"),
)
ODD_PLACES = ("({i} + {j}) % n", "2 * {i} % n", "({i} + 1) % n", "({i} * {j} + 1) % n", "{i} // 2")
"""Positions that are not affine in the indices."""
UNSAFE = ("{i} + 1", "{i} - n", "k[{i}] - 1", "c", "2 * {i}", "{i} - 2 * n + 3", "int(s)")
"""Positions that may be out of range."""
VALUES = (
    *("x[{p}]", "y[{p}]", "w[{p}]", "m[{p}, {p}]", "x[{p}]", "m[{p}, {p}]", "v[{i}]"),
    *("s", "t", "c", "{i}", "{j} - {i}", "{one}", "{two}", "q", "z[{p}]", "k[{i}]"),
)
TESTS = (
    *("{a} < {b}", "not {a} >= {b}", "{a} < {b} <= {two}", "{i} == {j}", "{i} > {j} and {a} > {b}"),
    *("{a} > {one} or {i} % 2", "{i} < n - 2", "c % 3 == 1", "{i} + {j} == n - 1", "{a} != {a}"),
)
SCALARS = (
    *("s = {a} + {b}", "t = {a} - {b} * {one}", "s += {a}", "t = max({a}, {b})", "s = abs({a})"),
    *("s, t = t, {a}", "c += 1", "c = c * 3 + {i}", "c = c * 1000 - {i}", "c = -c + {j}"),
    *("s = {a} if {a} < {b} else {b}", "c = {i}", "c -= k[{i}]", "s = -{a}", "q = {a}"),
    *("s = first({a}, {b})", "t = {a} {divided} {b}", "c //= 2", "c = {i} * n"),
    "t = {a} * {b} % 9973",
)
ITEMS = (
    *("x[{p}] = {a}", "x[{p}] += {a}", "y[{p}] = {a} - {b}", "w[{p}] = {a}", "w[{p}] -= {a}"),
    *("m[{p}, {p}] = {a}", "m[{p}, {p}] -= {a} * {b}", "v[{i}] = {a}", "v[{i}] += {b}"),
    *("x[{p}], x[{p}] = x[{p}], {a}", "z[{p}] = {a}", "set_item(y, {i}, {a})"),
)
SLICES = (
    *("x[{i}:] += y[{i}:]", "x[:{i}] = y[n - {i}:]", "y[1:] += x[:-1]", "x[1:] = x[:-1]"),
    *("x[1:-1] = x[2:] - x[:-2]", "x[:-1] -= x[1:]", "x[:] = x[::-1]", "w[{i}:] = m[{j}, {i}:]"),
    *("m[{i}] += m[{i} - 1]", "m[{i}] = 1 * m[:, {j}]", "m[:, {j}] -= m[{i}, {j}] * m[:, {i}]"),
    *("m[{i}, 1:] = m[{j}, :-1]", "m[1:, {i}] += m[:-1, {j}]", "m[{i}:, {j}:] *= {two}"),
    *(
        "m[{i}:, {j}] = x[{i}:] - {a}",
        "m[{i}, {i}:] = 1 * m[{i}:, {i}]",
        "x[::2] = {a}",
        "v += {a}",
    ),
    *("m[{i} + 1:, {i} + 1:] -= m[{i} + 1:, {i}, None] * m[{i}, {i} + 1:]", "y *= m[{p}]"),
    *("m[[{i}, {j}]] = m[[{j}, {i}]]", "x[k] = y", "y[k] += {a}", "x[x > {a}] = {b}", "w = x[k]"),
    *("y[:] = np.where(x > {a}, x, y)", "x[{i}:{i} + 3] = {a}", "x[-{i}:] += {a}", "m[:] = m.T"),
    *("m[:{i}, {j}] += m[{i}, :{i}]", "np.minimum(x, y, out=w)", "x[{j}:{i}] = y[{j}:{i}] * {two}"),
    *("s = x[{i}:].max()", "t = m[{i}].min()", "c = int(y.argmax())", "x[{i}:] = x[{i}:][::-1]"),
    *("v[1:] += v[:-1]", "v[:] = v[::-1] + {a}", "m[::2] += x", "x[{i}:] = np.sort(x[{i}:])"),
)
ANEW = (
    *(
        "z = z * {one} + x",
        "z = m[{i}] - {a}",
        "x, y = y, x",
        "z = x[{i}:]",
        "z = 1 * m[{i} - 1]",
        "z = w",
    ),
    *("z, w = w, z * {one}", "x = x + y", "y = y - x[k]", "m = m.T", "z = np.minimum(z, {a})"),
    *("kept.append({a})", "x = z", "z = x.copy()"),
)
"""Statements that bind names of arrays anew, or change a list."""
SUMS = ("s = x[{i}:].sum()", "t = m[{i}] @ x", "s += m[{i}, :{i}] @ x[:{i}]", "w = m @ y", "c = n")
WEIGHTS = ((SCALARS, 8), (ITEMS, 9), (SLICES, 6))
RANGES = (
    *("n", "n", "n", "1, n", "n - 1", "n - 1, -1, -1", "0, n, 2", "{i}", "{i}, n", "{i} + 1, n"),
    *("{i} - 2, {i} + 1", "n - {i}", "4", "1", "n - 9", "k[{i}]", "1, n - 1", "2, n, 3", "-2, n"),
    *("{i}, -1, -1", "k[{i}], n"),
)
HEADS = (
    *("for {h} in range({ends}):",) * 9,
    *("for {h}, q in enumerate(x):", "for {h}, (q, t) in enumerate(zip(x, y)):"),
    *("for {h}, q in enumerate(m[{p}]):", "while {h} < n and {test}:"),
)
ODD_HEADS = ("for {h} in reversed(range(n)):", "for {h}, z in enumerate(m):")
VIEWS = ("x", "x[::-1]", "m[n // 2]", "m[:, 0]", "y", "w[::-1]", "x.copy()", "m.T[-1]", "x * 2")
JUMPS = ("break", "continue", "return s, c, w")
TEXT = """def first(a, b):
    if a < b:
        return a
    return b


def set_item(a, i, value):
    a[i] = value


def program(x, y, m, k):
    n = x.shape[0]
    w = np.zeros_like(x)
    s, t, c, q, z, kept = {start}, {one}, 1, 2, {z}, []
    v = {view}
{body}
    return s, t, c, q, w, v, z, x, y, m, len(kept){last}
"""
INDENT = "    "


class Writing:
    """Writes one function: of integers if `exact`, else of floats and integers."""

    def __init__(self, draw):
        self.draw = draw
        self.exact = draw.random() < 0.4
        self.safe, self.odd = draw.random() < 0.7, draw.random() < 0.3

    def filled(self, text, indices):
        """A text with its gaps filled; indices of the loops around it are in scope."""
        i, j = (self.draw.choice(indices) for _ in range(2))
        one, two, divided = ("1", "3", "//") if self.exact else ("0.5", "1.5", "/")
        while any(gap in text for gap in ("{a}", "{b}", "{p}")):
            for gap in ("{a}", "{b}"):
                text = text.replace(gap, self.draw.choice(VALUES), 1)
            text = text.replace("{p}", self.place(), 1)
        return text.format(i=i, j=j, one=one, two=two, divided=divided)

    def place(self):
        """A position; some functions have few that may be out of range, or are not affine."""
        if not self.safe and self.draw.random() < 0.1:
            return self.draw.choice(UNSAFE)
        return self.draw.choice(ODD_PLACES if self.odd and self.draw.random() < 0.2 else PLACES)

    def simple(self, indices):
        """One statement."""
        tables = [*WEIGHTS, (SUMS, 1.5 * self.exact), (ANEW, 1.5 * self.odd)]
        table = self.draw.choices([one for one, _ in tables], [share for _, share in tables])[0]
        return self.filled(self.draw.choice(table), indices)

    def block(self, indices, at):
        """The lines of a body."""
        lines = []
        for _ in range(self.draw.randrange(1, 4)):
            kind = self.draw.random()
            if kind < 0.04:
                lines.append(f"{at}if {self.filled(self.draw.choice(TESTS), indices)}:")
                lines.append(at + INDENT + self.draw.choice(JUMPS))
            elif kind < 0.2:
                lines.append(f"{at}if {self.filled(self.draw.choice(TESTS), indices)}:")
                lines.append(at + INDENT + self.simple(indices))
                if self.draw.random() < 0.4:
                    lines += [at + "else:", at + INDENT + self.simple(indices)]
            elif kind < 0.4 and len(indices) < 3:
                lines += self.loop(indices, at)
            else:
                lines.append(at + self.simple(indices))
        return lines

    def loop(self, indices, at):
        """The lines of a loop inside the loops of these indices."""
        name, around = "ijh"[len(indices)], indices or ["1"]
        head = self.draw.choice(ODD_HEADS if self.odd and self.draw.random() < 0.2 else HEADS)
        ends = self.draw.choice(RANGES).replace("{i}", self.draw.choice(around))
        if not indices and "k[" in ends:
            ends = "n"
        test = self.filled(self.draw.choice(TESTS), [name])
        head = head.replace("{p}", self.draw.choice(around)).format(h=name, ends=ends, test=test)
        body = self.block([*indices, name], at + INDENT)
        if not head.startswith("while"):
            return [at + head, *body]
        return [f"{at}{name} = 0", at + head, f"{at}{INDENT}{name} += 1", *body]

    def text(self):
        """The text of the module."""
        lines = self.loop([], INDENT)
        if self.draw.random() < 0.3:
            lines += self.loop([], INDENT)
        start, one = ("2", "1") if self.exact else ("0.5", "1.5")
        given = {"start": start, "one": one, "body": "\n".join(lines)}
        given["view"] = self.draw.choice(VIEWS if self.draw.random() < 0.5 else ["x.copy()"])
        given["z"] = self.draw.choice(("x", "y.copy()", "np.ones(n)", "x[1:]", "m[0]"))
        return TEXT.format(**given, last=self.draw.choice(["", "", "", ", i"]))


class Call(NamedTuple):
    """The layout of the arguments of one call."""

    n: int
    code: str
    other: str
    layout: str
    seed: int

    def arguments(self):
        """New arguments: two vectors, a matrix, and positions, some of which may be too large."""
        draw, n = np.random.default_rng(self.seed), self.n
        base = self._array(draw, self.code, 2 * n + 2)
        x, y, m = base[:n], base[n : 2 * n], self._array(draw, self.other, n * n).reshape(n, n)
        if self.layout == "one":
            y = x
        elif self.layout == "overlapping":
            y = base[1 : n + 1]
        elif self.layout == "strided":
            x, y = base[: 2 * n : 2], base[1 : 2 * n : 2][::-1]
        elif self.layout == "row" and n:
            x = m[n // 2]
        elif self.layout == "turned":
            m = m.T
        k = draw.integers(-1 if self.layout == "dense" else 0, max(n, 1), n)
        if self.layout == "beyond" and n:
            k[n // 2] = n
        return x, y, m, k

    def _array(self, draw, code, size):
        if np.dtype(code).kind == "f":
            return draw.standard_normal(size).astype(code)
        return draw.integers(-9, 10, size).astype(code)


KINDS = (IndexError, TypeError, ValueError, ArithmeticError, NameError)
LAYOUTS = ("dense", "dense", "dense", "one", "overlapping", "strided", "row", "turned", "beyond")


def drawn(seed, number):
    """The text of a function and the calls of it."""
    draw = random.Random(f"array loops {seed}.{number}")
    writing = Writing(draw)
    text = writing.text()
    codes = ("i8", "i8", "i8", "i4") if writing.exact else ("f8", "f8", "f8", "f4", "i8")
    code, other = draw.choice(codes), draw.choice(codes)
    calls = [Call(draw.choice((7, 9)), code, other, draw.choice(LAYOUTS), number)]
    for _ in range(3):
        if draw.random() < 0.3:
            code = draw.choice(codes)
        n = draw.choice((0, 1, 2, 3, 5, 6, 8, 9, 10, 10))
        calls.append(Call(n, code, other, draw.choice((calls[0].layout, *LAYOUTS)), number))
    return text, tuple(calls)


def function_of(text, name):
    """The function of a text."""
    name = f"<array loops {name}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"np": np, "__name__": "array_loops"}
    exec(compile(text, name, "exec"), names)
    return names["program"]


def same(found, wanted):
    """True for equal types and bits; a number may be NumPy's in place of Python's."""
    return len(found) == len(wanted) and all(map(_same, found, wanted))


def _same(found, wanted):
    if isinstance(wanted, type):
        return isinstance(found, type) and any(issubclass(found, e) for e in _kinds(wanted))
    weak = isinstance(found, np.generic) and type(wanted) in (int, float, bool)
    if type(found) is not type(wanted) and not weak:
        return False
    if isinstance(wanted, np.ndarray) and (found.dtype, found.shape) != (
        wanted.dtype,
        wanted.shape,
    ):
        return False
    return np.array_equal(found, wanted, equal_nan=np.asarray(found).dtype.kind in "fc")


def _kinds(error):
    """The exceptions of Python's that an error is; NumPy has some of its own."""
    return [one for one in KINDS if issubclass(error, one)] or [error]


def failure(text, calls, name=""):
    """The difference between the function of a text and Python, as text; None without one."""
    function = function_of(text, name)
    compiled = axiomjit.jit(function)
    before = stats()["fallbacks"]
    found = None
    for number, call in enumerate((calls[0], *calls)):
        wanted, got = (outcome(one, call.arguments()) for one in (function, compiled))
        if not same(got, wanted):
            found = f"call {number} {call}:\n{got}\nbut\n{wanted}"
            break
    sort = "regions" if compiled._wanted.has_regions else "no regions"
    SHARES[sort, stats()["fallbacks"] > before] += 1
    return found


def shorter(text, calls, fails):
    """A text with fewer lines with which a function still fails."""
    lines = text.splitlines(True)
    place = next(k for k, line in enumerate(lines) if line.startswith(INDENT + "v =")) + 1
    while place < len(lines) - 1:
        depth = _depth(lines[place])
        end = place + 1
        while end < len(lines) - 1 and _depth(lines[end]) > depth:
            end += 1
        fewer = "".join(lines[:place] + lines[end:])
        counts = "while" in lines[place - 1]  # without its count a loop has no end
        if not counts and _compiles(fewer) and fails(fewer, calls):
            lines = fewer.splitlines(True)
        else:
            place += 1
    return "".join(lines)


def _depth(line):
    return len(line) - len(line.lstrip())


def _compiles(text):
    try:
        compile(text, "", "exec")
    except SyntaxError:
        return False
    return True


def campaign(seed, first, count, name):
    """The failures, as text, of functions run in one way."""
    failures = []
    with in_way(name):
        for number in range(first, first + count):
            text, calls = drawn(seed, number)
            if failure(text, calls):
                text = shorter(text, calls, failure)
                found = failure(text, calls)
                failures.append(f"{name}, seed {seed}, function {number}:\n{text}\n{found}")
    return failures


def in_way(name):
    """A context in which functions are run in one way, and short loops are regions."""
    stack = ExitStack()
    stack.enter_context(way(name))
    stack.enter_context(quiet())
    stack.enter_context(patch.object(config, "_fallback", "warn"))
    stack.enter_context(patch.object(loop_hooks, "SHORT", FEWEST_TRIPS))
    return stack
