"""Random functions that write into arrays, and use what they write: folds, masks, gathers, draws.

A program is the text of a function and of the arguments of one call, which may be one array twice
or overlap. What it returns, what its arguments hold then, what changes when the caller writes into
what was returned, and the state of a random generator must be as in NumPy; so must the error of a
function that stops halfway.
"""

import re
import warnings
from collections import Counter
from typing import NamedTuple
from unittest.mock import patch

import numpy as np

import axiomjit
from axiomjit.base.config import config
from axiomjit.base.counters import stats
from axiomjit.base.errors import FallbackWarning
from tests.generator import index_writes
from tests.generator.draws import Draws
from tests.generator.programs import compiled
from tests.generator.sequences import way
from tests.generator.statements import fits, part_of, statement
from tests.passes.graphs import quiet

SHAPES = ((7,), (6, 6), (5, 6), (6, 5), (2, 5, 6), (12, 3), (1, 7), (40,))
CODES = ("f8", "f8", "f4", "i8", "i4")
SECOND = ("a", "a[1:]", "a.T", "a[:-1]", "a[::-1]")
STEPS = 6
NAMES = "abcdef"
FALLBACKS = Counter()
"""The reasons for which NumPy ran programs, with their numbers."""


class Written(NamedTuple):
    """Statements, what is returned, and the arguments as expressions."""

    statements: tuple
    returned: tuple
    arguments: tuple

    def source(self):
        """The function as text."""
        lines = [*self.statements, f"return {', '.join(self.returned)},"]
        names = ", ".join(NAMES[: len(self.arguments)])
        return f"def f({names}):\n" + "".join(f"    {line}\n" for line in lines)

    def function(self):
        """The function, with a random generator among its globals."""
        space = {"np": np, "rng": np.random.default_rng(5)}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            exec(compiled(self.source(), "exec"), space)
        return space["f"]

    def call(self):
        """Fresh arguments."""
        space = {"np": np}
        for name, text in zip(NAMES, self.arguments, strict=False):
            space[name] = eval(text, space)
        return tuple(space[name] for name in NAMES[: len(self.arguments)])

    def __str__(self):
        return f"{self.source()}f({', '.join(self.arguments)})"


def draw(seed, index, aliasing=False):
    """The program of a number; with `aliasing` its arguments are one array or overlap."""
    draws = Draws(seed, index)
    arguments = _arguments(draws, aliasing)
    program = Written((), ("a",), arguments)
    space = dict(zip("ab", program.call(), strict=True), rng=np.random.default_rng(5))
    statements = []
    for number in range(draws.between(1, STEPS)):
        text = statement(draws, space, number)
        fails = _fails(text, space)
        if fails and not (statements and draws.chance(0.1)):
            continue
        if not fails and not fits(space):
            space = _as_before(program._replace(statements=tuple(statements)))
            continue
        statements.append(text)
        if fails:
            break
    names = [name for name, value in space.items() if isinstance(value, np.ndarray | np.generic)]
    returned = [part_of(draws, space, name) for name in draws.some(names)]
    return Written(tuple(statements), tuple(returned), arguments)


def _as_before(program):
    """The variables after the statements of a program."""
    space = dict(zip("ab", program.call(), strict=True), rng=np.random.default_rng(5))
    for text in program.statements:
        _fails(text, space)
    return space


def _arguments(draws, aliasing):
    shape, code = draws.pick(SHAPES), draws.pick(CODES)
    first = f"np.arange({np.prod(shape)}, dtype='{code}').reshape({shape})"
    if draws.chance(1 if aliasing else 0.2):
        return first, draws.pick(SECOND)
    other = draws.pick((shape, shape, shape[-1:], draws.pick(SHAPES)))
    second = f"np.arange({np.prod(other)}, dtype='{draws.pick(CODES)}').reshape({other}) + 3"
    return first, second


def _fails(text, space):
    space["np"] = np
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        try:
            exec(text, space)
        except SyntaxError:
            raise
        except Exception:
            return True
        finally:
            del space["__builtins__"], space["np"]
    return False


def failure(program):
    """What is not as in NumPy, as text; None where all is."""
    function = program.function()
    want, before, state = _run(function, function, program.call())
    fallbacks = stats()["fallbacks"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", FallbackWarning)
        got, after, drawn = _run(axiomjit.jit(function), function, program.call())
    if stats()["fallbacks"] > fallbacks:
        said = [str(one.message) for one in caught if issubclass(one.category, FallbackWarning)]
        FALLBACKS[_reason(said[0]) if said else "an error halfway"] += 1
    if state != drawn:
        return "another state of the random generator"
    for k, (one, other) in enumerate(zip(after, before, strict=True)):
        if not _same(one, other):
            return f"argument {NAMES[k]} is\n{one}\nnot\n{other}"
    if isinstance(want, Exception) or isinstance(got, Exception):
        if isinstance(want, SystemError):  # NumPy's own, of ufunc.at with positions out of range
            return None
        # Which of two faults is found first is not compared.
        either = all(isinstance(e, ValueError | TypeError | IndexError) for e in (want, got))
        fits = either or (isinstance(want, Exception) and isinstance(got, type(want)))
        return None if fits else f"{got!r}, not {want!r}"
    found = _results(got, want)
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        if found or not (other.ndim and other.flags.writeable and one.flags.writeable):
            continue
        one[...] = other[...] = 90 + k
        found = _results(_arrays((*got, *after)), _arrays((*want, *before)))
        found = found and f"after a write into result {k}: {found}"
    return found


def _reason(text):
    """What a warning says was seen, without names, numbers and shapes."""
    seen = text.partition("seen: ")[2].partition("\n")[0].partition(", made at")[0]
    return re.sub(r"\[[^]]*\]|[0-9]+", "", seen)


def _run(run, function, arguments):
    bits = function.__globals__["rng"].bit_generator
    bits.state = np.random.PCG64(5).state
    with quiet():
        try:
            found = run(*arguments)
        except Exception as error:
            found = error
    return found, arguments, bits.state


def _same(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


def _arrays(results):
    """Those with dimensions: others are numbers when they are returned."""
    return [result for result in results if np.ndim(result)]


def _results(got, want):
    if len(got) != len(want):
        return f"{len(got)} results, not {len(want)}"
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        if not _same(np.asarray(one), np.asarray(other)):
            return f"result {k} is\n{one!r}\nnot\n{other!r}"
    return None


def shortest(program):
    """The program with as few statements and results as still fail."""
    for k in reversed(range(len(program.statements))):
        short = program._replace(statements=program.statements[:k] + program.statements[k + 1 :])
        if not _lacks_names(short) and failure(short):
            return shortest(short)
    for k in range(len(program.returned) * (len(program.returned) > 1)):
        short = program._replace(returned=program.returned[:k] + program.returned[k + 1 :])
        if failure(short):
            return shortest(short)
    return program


def _lacks_names(program):
    """Whether a variable is used that is not there."""
    function = program.function()
    return isinstance(_run(function, function, program.call())[0], NameError)


def draw_aliasing(seed, index):
    """The program of a number, whose arguments are one array or overlap."""
    return draw(seed, index, aliasing=True)


def draw_index_write(seed, index):
    """A function of one or two writes by an index of any kind."""
    return Written(*index_writes.drawn(seed, index))


def campaign(seed, first, count, name, drawing=draw):
    """Run `count` programs in one way; return the failures, as text."""
    failures = []
    with way(name), patch.object(config, "_fallback", "warn"):
        for index in range(first, first + count):
            found = failure(program := drawing(seed, index))
            if found:
                short = shortest(program)
                failures.append(f"{name}, seed {seed}, program {index}: {failure(short)}\n{short}")
    return failures
