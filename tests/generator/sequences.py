"""Calls of one compiled function with one layout after the other, each compared with NumPy.

Programs are shared by calls of one class, and a ready plan by calls of one layout: what a program
took for granted in one call must hold in the next one. `campaign` draws sequences of calls, and
gives those that go wrong, made short, as text.
"""

import math
import re
import warnings
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import axiomjit
import axiomjit.dispatch.guards  # knows BoundPlan before `way` takes its place
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning
from axiomjit.runtime.execution import execute
from tests.generator.check import difference
from tests.generator.draws import Draws
from tests.generator.strided import LONG, Laid, drawn
from tests.passes.graphs import in_numpy, quiet, run_plan_plain, small_forms

CALLS = 12
CODES = ("f8", "i4", "i8", "f4")


def _is_even(n):
    return n % 2 == 0


def _square_or_row(x):
    return x.T if x.shape[0] == x.shape[1] else x[0]


def _loop_over_length(x):
    total = x[:, 0] * 0
    for k in range(min(x.shape[1], 3)):
        total = total + x[:, k]
    return total


FUNCTIONS = {
    "rows": lambda x: x.reshape(-1, x.shape[-1]),
    "row sums": lambda x: x.reshape(-1, x.shape[-1]).sum(1),
    "rows from the middle": lambda x: x.reshape(-1, x.shape[-1])[1:, ::2],
    "columns": lambda x: x.reshape(x.shape[0], -1),
    "column sums": lambda x: x.reshape(x.shape[0], -1).sum(0),
    "by the second length": lambda x: x.reshape(x.shape[1], -1),
    "reversed shape": lambda x: x.reshape(x.shape[::-1]),
    "one more length": lambda x: x.reshape(*x.shape[:-1], -1, 1),
    "pairs": lambda x: x.reshape(-1, 2) if _is_even(x.shape[-1]) else x,
    "line": lambda x: x.reshape(-1),
    "ravel": lambda x: x.ravel(),
    "ravel and add": lambda x: x.ravel() + x.reshape(-1),
    "flatten": lambda x: x.flatten(),
    "fortran line": lambda x: x.T.reshape(-1),
    "swap and merge": lambda x: x.swapaxes(0, 1).reshape(x.shape[1], -1),
    "move and merge": lambda x: np.moveaxis(x, 0, -1).reshape(-1, x.shape[0]),
    "transpose and part": lambda x: x.T[1:],
    "turn": lambda x: np.rot90(x).reshape(-1, x.shape[1]),
    "diagonal": lambda x: (x.diagonal(), x.diagonal(1), x.diagonal(-2, 1, 0)),
    "diagonal sums": lambda x: x.diagonal(x.shape[0] - x.shape[1]).sum(-1),
    "every second": lambda x: x[::2].reshape(-1, x.shape[-1]),
    "backward": lambda x: x[:, ::-1].ravel(),
    "part": lambda x: x[1:, :3].reshape(-1),
    "as many as columns": lambda x: x[: x.shape[1]].ravel(),
    "beyond columns": lambda x: (x[x.shape[1] :], x[x.shape[0] - x.shape[1] :].reshape(-1)),
    "sums": lambda x: (x.sum(0), x.sum(-1), x.sum((0, 1)), x.sum()),
    "largest": lambda x: x.max(axis=0, initial=0) + x.min(axis=0, initial=9000),
    "differences": lambda x: x[1:] - x[:-1],
    "stretched": lambda x: np.broadcast_to(x, (3, *x.shape)).reshape(-1, x.shape[-1]),
    "one row stretched": lambda x: np.broadcast_to(x[:1], x.shape).ravel(),
    "stack": lambda x: np.stack([x, x[::-1]]).reshape(-1),
    "concatenate": lambda x: np.concatenate([x, x * 2, x[:2]], axis=0).sum(0),
    "flat ends": lambda x: np.concatenate([x.reshape(-1), x.T.reshape(-1)]),
    "roll": lambda x: np.roll(x, 2, axis=0).reshape(-1, x.shape[-1]),
    "roll all": lambda x: np.roll(x, 3),
    "squeeze": lambda x: np.squeeze(x).reshape(-1),
    "expand": lambda x: np.expand_dims(x, 1).reshape(x.shape[0], -1),
    "square or row": _square_or_row,
    "large or copy": lambda x: x.T if x.size > 60 else np.copy(x),
    "ordered copy": lambda x: np.copy(x, order="C").reshape(-1)[::2],
    "lengths": lambda x: x * x.shape[0] * x.shape[1] - x.size // (x.shape[1] + 1),
    "as long": lambda x: x.T if x.shape[0] > 2 * x.shape[1] else x[::2],
    "loop": _loop_over_length,
    "take": lambda x: np.take(x, 0, axis=-1) if x.shape[-1] else x,
    "running": lambda x: np.cumsum(x),
    "product": lambda x: x.reshape(x.shape[0], -1) @ x.reshape(-1, x.shape[0]),
}
"""Of one array with two or three dimensions."""
PAIRS = {
    "both lines": lambda x, y: np.concatenate([x.reshape(-1), y.reshape(-1)]),
    "both views": lambda x, y: (y.T, x.ravel(), y.reshape(-1, y.shape[-1])),
    "first rows": lambda x, y: x[: y.shape[0]].reshape(-1, x.shape[-1]),
    "sum or sums": lambda x, y: x + y if x.shape == y.shape else (x.sum(), y.sum()),
    "cut alike": lambda x, y: x.reshape(-1)[: y.size] - y.reshape(-1)[: x.size],
}
"""Of two arrays."""
NUMBERS = {
    "rows of": lambda x, k: x.reshape(-1, k),
    "from": lambda x, k: x[k:].reshape(-1),
    "every": lambda x, k: x[:, ::k].reshape(-1, 1),
    "until": lambda x, k: x[:, :k].sum(1),
    "as long as": lambda x, k: x.T if x.shape[0] == k else x.reshape(-1),
    "shorter": lambda x, k: x[: k - x.shape[0]].T,
}
"""Of an array and an integer."""
PARTS = {
    "real line": lambda x: x.real.ravel(),
    "real rows": lambda x: x.real.reshape(-1, x.shape[-1]),
    "imaginary columns": lambda x: x.imag.T.reshape(x.shape[-1], -1),
    "real sums": lambda x: x.real.reshape(-1, x.shape[-1]).sum(1) + x.imag.sum(),
}
"""Of complex numbers."""
KINDS = (FUNCTIONS, FUNCTIONS, FUNCTIONS, PAIRS, NUMBERS, PARTS)
ALL = FUNCTIONS | PAIRS | NUMBERS | PARTS
"""Functions by name."""


class Sequence(NamedTuple):
    """Calls of the function of a name with arrays of a dtype, or integers."""

    name: str
    code: str
    calls: tuple

    def __str__(self):
        calls = "".join(f"\n    {call}," for call in self.calls)
        return f"Sequence({self.name!r}, {self.code!r}, ({calls}\n))"


def draw(seed, index):
    """The sequence of a number."""
    draws = Draws(seed, index)
    functions = draws.pick(KINDS)
    name = draws.pick(list(functions))
    code = "c16" if functions is PARTS else draws.pick(CODES)
    rank = 2 if draws.chance(0.2) else 3
    calls = []
    for _ in range(CALLS):
        if calls and draws.chance(0.1):
            calls.append(draws.pick(calls))
            continue
        before = calls[-1][0] if calls else None
        call = [drawn(draws, rank, before)]
        if functions is PAIRS:
            other = call[0] if draws.chance(0.2) else None
            call.append(other or drawn(draws, rank, calls[-1][1] if calls else call[0]))
        elif functions is NUMBERS:
            call.append(_integer(draws, call[0]))
        calls.append(tuple(call))
    return Sequence(name, code, tuple(calls))


def _integer(draws, laid):
    """A number that may be a length, a stride or a small one."""
    pool = (*laid.shape, *laid.strides, *LONG, 1, 2, 3, 4, -1, math.prod(laid.shape))
    return draws.pick(pool)


class Interpreted:
    """A plan run in plain Python."""

    def __init__(self, form, lengths, in_numpy):
        self.plan, self.lengths = form.plan, lengths

    def load(self):
        """Nothing is compiled."""

    def run(self, arguments, given=None):
        return list(run_plan_plain(self.plan, arguments, self.lengths, 2, in_place=True))


@contextmanager
def way(name):
    """How calls are answered: "evaluated", "interpreted", in "small" forms too, or "compiled"."""
    with ExitStack() as stack:
        stack.enter_context(patch.object(config, "disable", name == "evaluated"))
        if name in ("interpreted", "small"):
            stack.enter_context(patch.object(execute, "BoundPlan", Interpreted))
        if name == "small":
            stack.enter_context(small_forms())
            stack.enter_context(patch.object(config, "check", True))
        stack.enter_context(warnings.catch_warnings())
        warnings.simplefilter("error", FallbackWarning)
        stack.enter_context(quiet())
        yield


def failure(sequence, function=None):
    """The number of the first call that is not as in NumPy and what is wrong; None if all are."""
    plain = ALL[sequence.name]
    compiled = axiomjit.jit(plain) if function is None else function
    for number, call in enumerate(sequence.calls):
        found = _difference(plain, compiled, sequence.code, call)
        if found:
            return number, found
    return None


def _difference(plain, compiled, code, call):
    """How one call differs from NumPy; None where it does not."""
    buffers, arguments = _arguments(code, call)
    before = [buffer.copy() for buffer in buffers]
    try:
        want = in_numpy(plain, arguments)
    except Exception as error:
        want = error
    try:
        got = compiled(*arguments)
    except Exception as error:
        if isinstance(want, Exception) and isinstance(error, type(want)):
            return None
        return f"{type(error).__name__}: {error}"
    if isinstance(want, Exception):
        return f"no {type(want).__name__}: {want}"
    results = [np.asarray(r) for r in (got if isinstance(got, tuple) else (got,))]
    for result in results:
        outside = _outside(result, arguments, buffers)
        if outside:
            return outside
    if any(not np.array_equal(new, old) for new, old in zip(buffers, before, strict=True)):
        return "an argument was changed"
    found = difference(results, want, arguments, "compiled")
    return found and re.sub(r"\s+", " ", found[1])


def _arguments(code, call):
    """The buffers of the arrays of a call, and its arguments; the same array twice where equal."""
    made = {}
    for laid in call:
        if isinstance(laid, Laid) and laid not in made:
            buffer, first = laid.buffer(code)
            made[laid] = buffer, laid.within(buffer, first)
    arguments = [made[laid][1] if isinstance(laid, Laid) else laid for laid in call]
    return [buffer for buffer, _ in made.values()], arguments


def _outside(result, arguments, buffers):
    """Whether a result shows memory around an argument."""
    low, high = np.lib.array_utils.byte_bounds(result)
    for array, buffer in zip(dict.fromkeys(map(id, arguments)), buffers, strict=False):
        own = next(a for a in arguments if id(a) == array)
        if result.size and np.may_share_memory(result, buffer):
            first, end = np.lib.array_utils.byte_bounds(own)
            if not first <= low <= high <= end:
                return f"shows bytes [{low - first}, {high - first}) of {end - first}"
    return None


def shortest(sequence, fails):
    """The fewest calls found with which a sequence still fails: two, if one before is enough."""
    number = fails(sequence)[0]
    last = sequence.calls[number]
    for calls in [(last,), *((call, last) for call in sequence.calls[:number])]:
        short = sequence._replace(calls=calls)
        if fails(short):
            return short
    return sequence._replace(calls=sequence.calls[: number + 1])


def campaign(seed, first, count, name):
    """Run `count` sequences in one way; return the failures, as text."""
    failures = []
    with way(name):
        for index in range(first, first + count):
            found = failure(sequence := draw(seed, index))
            if found:
                short = shortest(sequence, failure)
                text = f"{name}, seed {seed}, sequence {index}, call {found[0]}: {found[1]}"
                failures.append(f"{text}\n{short}")
    return failures
