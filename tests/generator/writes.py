"""Random functions that write into arrays: items, in-place operators, `out=`, views of views.

A program is the text of a function and of the arguments of one call, which may be one array twice
or overlap. What it returns, what its arguments hold then, and what changes when the caller writes
into what was returned must be as in NumPy; so must the error of a function that stops halfway.
"""

import warnings
from typing import NamedTuple

import numpy as np

import axiomjit
from axiomjit.base.errors import FallbackWarning
from tests.generator.draws import Draws
from tests.generator.sequences import way
from tests.graphs import quiet

SHAPES = ((7,), (6, 6), (5, 6), (6, 5), (2, 5, 6))
CODES = ("f8", "f8", "f4", "i8", "i4")
SLICES = (":", ":", "1:", ":-1", "1:-1", "::2", "::-1", "2:", ":-2", "3:0:-1")
SECOND = ("a", "a[1:]", "a.T", "a[:-1]", "a[::-1]")
COPIES = ("{} + 1", "{} * 2", "{}.copy()", "np.array({})", "np.asarray({})")
MADE = ("np.zeros({}.shape)", "np.ones_like({})", "np.full({}.shape, 2, 'i8')")
MADE += ("np.zeros(len({}))", "np.arange({}.shape[0])", "np.zeros_like({})")
STEPS = 6
KINDS = ("item", "item", "item", "augmented", "augmented", "out", "copyto", "view", "new", "fill")
KINDS += ("mask", "sort")


class Written(NamedTuple):
    """Statements, what is returned, and the arguments as expressions."""

    statements: tuple
    returned: tuple
    arguments: tuple

    def source(self):
        """The function as text."""
        lines = [*self.statements, f"return {', '.join(self.returned)},"]
        return "def f(a, b):\n" + "".join(f"    {line}\n" for line in lines)

    def function(self):
        """The function."""
        space = {"np": np}
        exec(compile(self.source(), "<written>", "exec"), space)
        return space["f"]

    def call(self):
        """Fresh arguments."""
        space = {"np": np}
        space["a"] = eval(self.arguments[0], space)
        return space["a"], eval(self.arguments[1], space)

    def __str__(self):
        return f"{self.source()}f({', '.join(self.arguments)})"


def draw(seed, index):
    """The program of a number."""
    draws = Draws(seed, index)
    arguments = _arguments(draws)
    program = Written((), ("a",), arguments)
    space = dict(zip("ab", program.call(), strict=True), np=np)
    statements = []
    for number in range(draws.between(1, STEPS)):
        statement = _statement(draws, space, number)
        fails = _fails(statement, space)
        if fails and not (statements and draws.chance(0.1)):
            continue
        statements.append(statement)
        if fails:
            break
    names = [name for name, value in space.items() if isinstance(value, np.ndarray | np.generic)]
    returned = [_part(draws, space, name) for name in draws.some(names)]
    return Written(tuple(statements), tuple(returned), arguments)


def _arguments(draws):
    shape, code = draws.pick(SHAPES), draws.pick(CODES)
    first = f"np.arange({np.prod(shape)}, dtype='{code}').reshape({shape})"
    if draws.chance(0.4):
        return first, draws.pick(SECOND)
    other = draws.pick((shape, shape[-1:], draws.pick(SHAPES)))
    second = f"np.arange({np.prod(other)}, dtype='{draws.pick(CODES)}').reshape({other}) + 3"
    return first, second


def _fails(statement, space):
    with warnings.catch_warnings(), quiet():
        warnings.simplefilter("ignore")
        try:
            exec(statement, space)
        except Exception:
            return True
        finally:
            space.pop("__builtins__", None)
    return False


def _arrays(space):
    return [name for name, value in space.items() if isinstance(value, np.ndarray)]


def _key(draws, array):
    """An index of an array, as text."""
    items = [draws.pick(SLICES) for _ in range(array.ndim)]
    if draws.chance(0.25):
        items[draws.below(array.ndim)] = str(draws.between(-2, 1))
    if draws.chance(0.15):
        items[draws.below(array.ndim) :] = ["..."]
    if draws.chance(0.1):
        items.insert(draws.below(len(items) + 1), "None")
    return ", ".join(items)


def _part(draws, space, name):
    """An array or a view of it, as text."""
    array = space[name]
    if not isinstance(array, np.ndarray) or not array.ndim or draws.chance(0.4):
        return name
    if draws.chance(0.25):
        return draws.pick((f"{name}.T", f"{name}.swapaxes(0, -1)", f"{name}[...]"))
    return f"{name}[{_key(draws, array)}]"


def _value(draws, space, shape):
    """What stretches to a shape, as text: a number, a part, or arithmetic of them."""
    found = [str(draws.pick((0, 1, -2, 3)))]
    for name in _arrays(space) * 3:
        part = _part(draws, space, name)
        if _stretches(part, space, shape):
            found.append(part)
    one, other = draws.pick(found[1:] or found), draws.pick(found)
    return draws.pick((one, f"{one} * 2", f"{one} + {other}", f"{other} - {one}", f"-({one})"))


def _stretches(part, space, shape):
    try:
        return np.broadcast_shapes(np.shape(eval(part, dict(space))), shape) == shape
    except (ValueError, IndexError):
        return False


def _statement(draws, space, number):
    kind, name = draws.pick(KINDS), draws.pick(_arrays(space))
    array = space[name]
    if kind == "new":
        part = _part(draws, space, name)
        form = draws.pick(COPIES + MADE)
        return f"v{number} = {form.format(part if form in COPIES else name)}"
    if not array.ndim:
        return f"{name} += 1"
    if kind == "mask":
        mask = draws.pick((f"{name} > 7", f"{name} % 2 == 0"))
        return f"{name}[{mask}] = {draws.pick((0, 1, 2.5, f'{name}.max()'))}"
    if kind == "sort":
        return f"{name}.sort(axis={draws.between(-array.ndim, array.ndim - 1)})"
    key = _key(draws, array)
    if kind == "view":
        seen = draws.pick((f"{name}[{key}]", f"{name}.T", _part(draws, space, name)))
        return f"v{number} = {seen}"
    try:
        target = array[eval(f"np.s_[{key}]", dict(space))]
    except IndexError:
        target = array
    value = _value(draws, space, target.shape)
    if draws.chance(0.05):
        value = draws.pick(("a[99]", "np.ones(4)[:3]", "b.no_such", "1j"))
    if target.ndim == 1 and not set(value) & set("+-*"):
        value = f"1 * {value}"  # NumPy reads what it has written of some vectors that overlap
    if kind == "item":
        return f"{name}[{key}] = {value}"
    if kind == "augmented":
        return f"{name}[{key}] {draws.pick(('+=', '-=', '*='))} {value}"
    if kind == "copyto":
        return f"np.copyto({name}[{key}], {value})"
    if kind == "fill" and target.ndim:
        return f"{name}[{key}].fill({draws.pick((0, 1, 7))})"
    other = _value(draws, space, target.shape)
    function = draws.pick(("add", "subtract", "multiply", "maximum"))
    return f"np.{function}({value}, {other}, out={name}[{key}])"


def failure(program):
    """What is not as in NumPy, as text; None where all is."""
    function = program.function()
    want, before = _run(function, program.call())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        got, after = _run(axiomjit.jit(function), program.call())
    for k, (one, other) in enumerate(zip(after, before, strict=True)):
        if not _same(one, other):
            return f"argument {'ab'[k]} is\n{one}\nnot\n{other}"
    if isinstance(want, Exception) or isinstance(got, Exception):
        # Which of two faults is found first is not compared.
        either = isinstance(want, ValueError | TypeError) and isinstance(
            got, ValueError | TypeError
        )
        fits = either or (isinstance(want, Exception) and isinstance(got, type(want)))
        return None if fits else f"{got!r}, not {want!r}"
    found = _results(got, want)
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        if found or not (other.ndim and other.flags.writeable and one.flags.writeable):
            continue
        one[...] = other[...] = 90 + k
        found = _results((*got, *after), (*want, *before))
        found = found and f"after a write into result {k}: {found}"
    return found


def _run(function, arguments):
    with quiet():
        try:
            return function(*arguments), arguments
        except Exception as error:
            return error, arguments


def _same(one, other):
    return one.dtype == other.dtype and np.array_equal(one, other, equal_nan=one.dtype.kind == "f")


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
        if failure(short):
            return shortest(short)
    for k in range(len(program.returned) * (len(program.returned) > 1)):
        short = program._replace(returned=program.returned[:k] + program.returned[k + 1 :])
        if failure(short):
            return shortest(short)
    return program


def campaign(seed, first, count, name):
    """The failures, as text, of so many programs run in one way."""
    failures = []
    with way(name):
        for index in range(first, first + count):
            found = failure(program := draw(seed, index))
            if found:
                short = shortest(program)
                failures.append(f"{name}, seed {seed}, program {index}: {failure(short)}\n{short}")
    return failures
