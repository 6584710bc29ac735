"""Random functions with loops that print in some trips, compiled, against Python.

They are those of `source_loops`, with branches that print or store, and positions by `%` and `//`.
`campaign --exits N` runs N of them: what is printed, in order, counts as a result.
"""

import linecache
import random
from contextlib import ExitStack, contextmanager
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.dispatch import exits
from axiomjit.functions import loop_hooks
from tests.generator import source_loops
from tests.generator.sequences import way
from tests.generator.source_loops import Writing, outcome, same

LINES = (
    "out.append({a})",
    "show({i}, {a}, {b})",
    "show(f'{{{i}}} {{{a}:.3f}}')\n{at}    s = {b}",
    "y[{j}] = {a}\n{at}    show(c, s)",
    "c += 1\n{at}    out.append(c)",
)
SIMPLE = (
    *source_loops.SIMPLE,
    "s += x[{i} % 5]",
    "y[{i} // 2] = {a}",
    "t = w[({i} + 3) % 4] - {a}",
)
WEIGHTS = (*source_loops.WEIGHTS, 2, 2, 2)
WHEN = (*source_loops.TESTS, "{i} % 3 == 1", "{i} == 9", "{a} > 0.9")


class WritingExits(Writing):
    """Writes one function with branches that print."""

    def block(self, index, depth, at):
        """Random statements, and branches that print before, between and after them."""
        lines = []
        for _ in range(self.draw.randrange(1, 3)):
            lines += super().block(index, depth, at)
            if self.draw.random() < 0.6:
                lines += self.printing(index, at)
        return lines

    def printing(self, index, at):
        """A branch of which one side prints."""
        a, b = self.number(index), self.number(index)
        text = self.draw.choice(LINES).format(i=index, j=index, a=a, b=b, at=at)
        head = at + f"if {self.filled(self.draw.choice(WHEN), index)}:"
        kind = self.draw.random()
        if kind < 0.15:
            return [head, f"{at}    {self.simple(index)}", f"{at}else:", f"{at}    {text}"]
        made = [head, f"{at}    {text}"]
        if kind < 0.3:
            made += [f"{at}    " + self.draw.choice(("break", "continue", "return s, c"))]
        elif kind < 0.45:
            made += [f"{at}else:", f"{at}    {self.simple(index)}"]
        return made

    def simple(self, index):
        """One statement."""
        return self.filled(self.draw.choices(SIMPLE, WEIGHTS)[0], index)


def function_of(seed, number):
    """A function of three arrays and a list that it fills, and its text."""
    text = WritingExits(random.Random(f"{seed}.{number}")).text()
    text = text.replace("(x, y, k)", "(x, y, k, out, show)")
    name = f"<exits {seed}.{number}>"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    names = {"np": np, "__name__": "random_exits"}
    exec(compile(text, name, "exec"), names)
    return names["program"], text


@contextmanager
def short_loops():
    """Loops of few trips run between exits, in calls of few trips."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(loop_hooks, "MANY", loop_hooks.SHORT))
        for name in ("SHORT", "FIRST"):
            stack.enter_context(patch.object(exits, name, 3))
        yield


def run(function, given):
    """The outcome of a call, with the numbers and then the texts that it has stored and shown."""
    out = []
    made = outcome(function, [*(one.copy() for one in given), out, lambda *v: out.extend(v)])
    made = [*made[:-2], *out]
    return [one for one in made if type(one) is not str], [n for n in made if type(n) is str]


def failure(seed, number, counts=None):
    """The text of a function that differs, with what differs; None if none does.

    `counts` gets the number of compiled calls of loops.
    """
    function, text = function_of(seed, number)
    draw = np.random.default_rng([seed, number])
    for n in (13, 23):
        args = draw.random(n), draw.random(n), draw.integers(0, n, n)
        expected = run(function, args)
        compiled = axiomjit.jit(function)
        for _ in range(2):
            found = run(compiled, args)
            if not same(found[0], expected[0]) or found[1] != expected[1]:
                return f"{text}\n{found}\nbut\n{expected}"
        if counts is not None and compiled._whole.exits() is not None:
            counts.append(sum(one.calls for one in compiled._whole._exits._regions))
    return None


def campaign(seed, first, count, name):
    """Run `count` functions in one way; return the failures, as text."""
    failures = []
    with way(name), patch.object(config, "_fallback", "warn"), short_loops():
        for number in range(first, first + count):
            found = failure(seed, number)
            if found:
                failures.append(f"{name}, seed {seed}, function {number}:\n{found}")
    return failures
