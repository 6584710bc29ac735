"""Random sequences of operations, views, writes, looks and exports of the drop-in for NumPy.

A sequence is taken several times in a row, with another number `k` each time, in a world of lazy
arrays and in NumPy. So steps are learned, then recorded, and run by programs: in plain NumPy, or
compiled from their second run on. `campaign` gives those that go wrong, made short, as text.
"""

import re
import warnings
from contextlib import ExitStack, contextmanager
from typing import NamedTuple
from unittest.mock import patch

from axiomjit.base.caching import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning
from axiomjit.numpy import programs
from tests.drop_in.vocabulary import Pool
from tests.drop_in.worlds import Comparison, World, fresh_paths, longest_path
from tests.generator import sequences
from tests.generator.draws import Draws

ROUNDS = 4
EXTREMES = r"\b(max|min|ptp|maximum|minimum|fmax|fmin|clip)\b"
"""Functions of which compiled code gives the larger of two zeros of both signs, NumPy either."""
MOST_VIEWS = 20
"""The most views that are recorded again for the last operation of a segment."""
CHECKS = 600
"""The most shorter sequences that are tried."""


class Step(NamedTuple):
    """A statement, the thread that takes it, and the names whose values are rounded behind it."""

    text: str
    thread: str = ""
    far: tuple = ()


class Sequence(NamedTuple):
    """Steps; which arrays are lazy, when segments are full, and when values are looked at.

    `looks` is "step", "round" or "last".
    """

    steps: tuple
    lazy_from: int = 1
    most_statements: int = 200
    looks: str = "last"

    def __str__(self):
        steps = "".join(f"\n    {step}," for step in self.steps)
        rest = f"{self.lazy_from}, {self.most_statements}, {self.looks!r}"
        return f"Sequence(({steps}\n), {rest})"


def draw(seed, index):
    """The sequence of a number."""
    draws = Draws(seed, index)
    pool = Pool(draws)
    steps = []
    has_threads = draws.chance(0.25)
    for text in pool.beginning():
        steps.append(Step(text, "", pool.far()))
    for _ in range(draws.between(3, 12)):
        text = pool.step()
        if text:
            thread = draws.pick(("worker", "worker", "fresh", "")) if has_threads else ""
            steps.append(Step(text, thread, pool.far()))
    pool.world.close()
    return Sequence(
        tuple(steps),
        draws.pick((1, 1, 0, 0, 4)),
        draws.pick((200, 200, 3, 8)),
        draws.pick(("step", "round", "round", "last")),
    )


@contextmanager
def way(name):
    """A context in which segments run "evaluated" in NumPy, "interpreted" or "compiled"."""
    with ExitStack() as stack:
        stack.enter_context(sequences.way(name))
        table = BoundedTable(programs.MAX_PROGRAMS)
        stack.enter_context(patch.object(programs, "_programs", table))
        warnings.simplefilter("ignore", FallbackWarning)  # such segments run in NumPy
        for seconds in ("COMPILE_S", "STATEMENT_S", "LOWER_S"):
            stack.enter_context(patch.object(programs, seconds, 0.0))
        yield


def failure(sequence):
    """The first difference of a sequence from NumPy, with its step and round; None without one."""
    plain, lazy = World(False), World(True)
    texts = "\n".join(step.text for step in sequence.steps)
    is_single = re.search(r"f4|float32|[iu][12]|'\?'", texts) is not None
    has_ties = re.search(EXTREMES, texts) is not None and not config.disable
    comparison = Comparison(plain, lazy, is_single, has_ties)
    with fresh_paths(sequence.lazy_from, sequence.most_statements) as root:
        try:
            found = _failure(sequence, plain, lazy, comparison)
            if found is None and longest_path(root) > sequence.most_statements + MOST_VIEWS:
                return f"paths: {longest_path(root)} operations"
            return found
        except Exception as error:
            return f"look: {type(error).__name__}: {error}"
        finally:
            plain.close()
            lazy.close()


def _failure(sequence, plain, lazy, comparison):
    last = len(sequence.steps) - 1
    for number in range(ROUNDS):
        plain.begin(number)
        lazy.begin(number)
        for at, step in enumerate(sequence.steps):
            want, got = plain.step(step), lazy.step(step)
            where = f"round {number}, step {at}: "
            if want != got and not _are_alike(want, got):
                return f"{where}{_short(got)}, not {_short(want)}"
            is_last = at == last and (sequence.looks == "round" or number == ROUNDS - 1)
            found = comparison.differs(step.far, is_last or sequence.looks == "step")
            if found:
                return where + found
    return None


def _are_alike(want, got):
    """True if the errors are those of an operator of NumPy's numbers and of the ufunc."""
    if want is None or got is None or want[0] != got[0]:
        return False
    if want[0] == "FloatingPointError":
        return want[1].replace("scalar ", "") == got[1]
    return want[1].startswith("unsupported operand") and "not supported for the input" in got[1]


def _short(error):
    return "no error" if error is None else f"{error[0]}: {error[1]}"[:300]


def shortest(sequence, found):
    """The sequence with as few steps and statements as still fail in the same way."""
    kind, left = _kind(found), [CHECKS]

    def fails(candidate):
        left[0] -= 1
        again = failure(candidate) if left[0] > 0 else None
        return again is not None and _kind(again) == kind

    changed = True
    while changed:
        changed = False
        at = 0
        candidates = list(_shorter(sequence))
        while at < len(candidates):
            if fails(candidates[at]):
                sequence, changed = candidates[at], True
                candidates = list(_shorter(sequence))
            else:
                at += 1
    return sequence


def _shorter(sequence):
    steps = sequence.steps
    for at in reversed(range(len(steps))):
        before, after = steps[:at], steps[at + 1 :]
        if len(steps) > 1:
            yield sequence._replace(steps=before + after)
    for at in reversed(range(len(steps))):
        before, after = steps[:at], steps[at + 1 :]
        for text in _simpler(steps[at].text):
            yield sequence._replace(steps=(*before, steps[at]._replace(text=text), *after))
        if steps[at].thread:
            yield sequence._replace(steps=(*before, steps[at]._replace(thread=""), *after))
    for name, value in (("lazy_from", 1), ("most_statements", 200), ("looks", "last")):
        if getattr(sequence, name) != value:
            yield sequence._replace(**{name: value})


def _simpler(text):
    """The statements of a block without its head, and the block without one of them."""
    head, *body = text.split("\n")
    if body:
        yield "\n".join(line[4:] for line in body)
        if len(body) > 1:
            for k in range(len(body)):
                yield "\n".join((head, *body[:k], *body[k + 1 :]))
    elif "; " in text:
        yield from text.split("; ")


def _kind(found):
    """A failure's text without names and numbers."""
    what = found.partition(": ")[2].partition("\n")[0]
    return re.sub(r"\b\w{1,2}\b|[\d\W]+", " ", what)[:30]


def campaign(seed, first, count, name, log=None):
    """The failures, as text, of `count` sequences run in one way."""
    failures = []
    with way(name):
        for index in range(first, first + count):
            found = failure(sequence := draw(seed, index))
            if found:
                with way(name):
                    short = shortest(sequence, found)
                    how = failure(short)
                text = f"{name}, seed {seed}, sequence {index}: {how or found}\n{short}"
                failures.append(text)
                if log:
                    log(text)
    return failures
