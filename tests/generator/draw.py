"""Random valid programs, each from its seed and index: `draw(seed, index)`."""

import numpy as np

from tests.generator import (
    composed,
    external,
    listed,
    made,
    operations,
    reads,
    shapes,
    steps,
    wholes,
)
from tests.generator.draws import Draws
from tests.generator.exact import determined, distance
from tests.generator.layouts import LAYOUTS
from tests.generator.operations import CODES, Values
from tests.generator.programs import Array, At, Number, Part, Program, perform
from tests.passes.graphs import quiet

KINDS = (
    *[operations.elementwise] * 8,
    *[operations.reduction] * 4,
    *[shapes.shaper] * 5,
    *[operations.joined] * 2,
    *[reads.read] * 3,
    *[wholes.whole, wholes.folded, wholes.folded],
    *[made.made, made.by_spec],
    *[steps.stepped] * 3,
    *[external.external] * 2,
    *[composed.composed] * 3,
    *[listed.listed] * 2,
    *(operations.cast, operations.masked, operations.contraction),
)
LENGTHS = (0, 1, 1, 2, 3, 4, 5, 5, 6, 6, 7, 7)
MOST_ELEMENTS, MOST_DIMENSIONS, MOST_ROOM = 300, 5, 1200
FLOATS = (0.0, 1.0, -1.0, 2.0, -2.5, 0.5, 3.0, -4.0, 7.0, -0.25)
SPECIAL = (np.nan, np.inf, -np.inf, -0.0)
INTEGERS = (0, 1, 2, 3, 5, 7, 8, -1, -2, -3, -7)
NUMBERS = (2.5, -3, 0.0, 2, 5, 1 + 2j, 1, -0.5)
EVERY = tuple(np.dtype(code) for code in CODES)
OFTEN = tuple(np.dtype(code) for code in ("f8", "f4", "f2", "i8", "c16"))


def elements(d, dtype, shape):
    """Elements of a dtype: small ones, some programs with special ones among them."""
    count = int(np.prod(shape, dtype=int))
    special = d.chance(0.3)
    if dtype.kind == "c":
        part = np.empty(0, dtype).real.dtype
        made = np.empty(count, dtype)
        made.real, made.imag = (some(d, part, count, special) for _ in range(2))
    else:
        made = some(d, dtype, count, special)
    return made.reshape(shape)


def some(d, dtype, count, special):
    """So many real numbers."""
    if dtype.kind == "b":
        return d.rng.random(count) < 0.6
    if dtype.kind == "f":
        pool, odd = FLOATS, (*SPECIAL, float(np.finfo(dtype).max), float(np.finfo(dtype).tiny))
    else:
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
        pool = [n for n in INTEGERS if n >= low]
        odd = (low, high, high - 1, 8 * dtype.itemsize, high // 2 + 1)
    with np.errstate(all="ignore"):
        values = np.array(pool, dtype)[d.rng.integers(len(pool), size=count)]
        if special:
            strange = np.array(odd, dtype)[d.rng.integers(len(odd), size=count)]
            values = np.where(d.rng.random(count) < 0.15, strange, values)
    return values


def arguments_of(d):
    """One to three arrays of a few lengths and dtypes, perhaps a part of one, or a number."""
    lengths = [d.pick(LENGTHS) for _ in range(d.between(1, 3))] + [1] * d.chance(0.3)
    dtypes = [d.pick(OFTEN if d.chance(0.4) else EVERY) for _ in range(d.between(1, 2))]
    arguments = []
    for _ in range(d.between(1, 3)):
        shape = tuple(d.pick(lengths) for _ in range(d.pick((0, 1, 1, 2, 2, 2, 3))))
        layout = "dense" if d.chance(0.3) else d.pick(list(LAYOUTS))
        arguments.append(Array(elements(d, d.pick(dtypes), shape), layout))
    if d.chance(0.2):
        whole = d.below(len(arguments))
        kinds = (slice(None, None, -1), slice(1, None), slice(None))
        key = tuple(d.pick(kinds) for _ in arguments[whole].values.shape)
        arguments.append(Part(whole, key or (...,)))
    if d.chance(0.2):
        arguments.append(Number(d.pick(NUMBERS)))
    return tuple(arguments)


def is_small(value):
    """Whether a value is an array or number of a kind and size that programs work with."""
    array = np.asarray(value)
    fits = array.size <= MOST_ELEMENTS and array.ndim <= MOST_DIMENSIONS
    return fits and array.dtype in EVERY


REFUSALS = (TypeError, ValueError, LookupError, ArithmeticError, AttributeError, MemoryError)


def ran(step, values):
    """The value of a step, or None where NumPy refuses it or where it is not determined."""
    try:
        value = perform(step, values)
    except REFUSALS:
        return None
    if isinstance(value, tuple | list) or value is NotImplemented or not is_small(value):
        return None
    numbers = [values[o] for o in step.operands if isinstance(o, At)]
    if isinstance(value, bool | np.bool_) and any(type(n) in (int, float) for n in numbers):
        return None  # Row "Python numbers that are arguments".
    operands = [np.asarray(values[o] if isinstance(o, At) else o) for o in step.operands]
    options = ((name, values[o] if isinstance(o, At) else o) for name, o in step.options)
    known = step._replace(options=tuple(options))
    return value if determined(known, operands, value) else None


def values_of(program):
    """All values of a program, or None where it is not valid."""
    try:
        values = list(program.build())
    except IndexError:
        return None
    if None in distances_of(program.steps, len(program.arguments)):
        return None
    with quiet():
        for step in program.steps:
            value = ran(step, values)
            if value is None:
                return None
            values.append(value)
    return values


def distances(program):
    """How far each output may lie from NumPy's, in units in the last place."""
    far = distances_of(program.steps, len(program.arguments))
    return [far[k] for k in program.outputs]


def distances_of(steps, count):
    """How far each value may lie from NumPy's; None of one whose operands are too rough."""
    far = [0] * count
    for step in steps:
        rough = [far[k] for k in step.uses()]
        far.append(None if None in rough else distance(step, rough))
    return far


def asks_one_operand(step, values):
    """Whether a step may be a method of an array that NumPy makes of integers alone.

    Those do not ask other operands whether they stand for arrays; functions do, but for `take`.
    """
    method = (
        step.form.startswith(("{0}.", "{0}[")) or ".reduce(" in step.form or step.name == "take"
    )
    return method and len(step.uses()) > 1 and any(isinstance(v, int) for v in values)


def draw(seed, index, most_steps=8):
    """The program of this number."""
    d = Draws(seed, index)
    arguments = arguments_of(d)
    values = Values(d, list(Program(arguments, (), ()).build()))
    steps, room, tries = [], MOST_ROOM, 0
    wanted = d.between(1, most_steps)
    with quiet():
        while len(steps) < wanted and tries < 6 * wanted:
            tries += 1
            step = d.pick(steps) if steps and d.chance(0.04) else d.pick(KINDS)(d, values)
            if step and asks_one_operand(step, values.values):
                continue
            fits = step and None not in distances_of([*steps, step], len(arguments))
            value = ran(step, values.values) if fits else None
            if value is not None and np.size(value) <= room:
                room -= np.size(value)
                steps.append(step)
                values.add(value)
    return Program(arguments, tuple(steps), outputs_of(d, len(arguments), steps))


def outputs_of(d, count, steps):
    """The last value, most of those that no step reads, and a few others."""
    last = count + len(steps) - 1
    read = {value for step in steps for value in step.uses()}
    chosen = [k for k in range(count, last) if d.chance(0.15 if k in read else 0.7)]
    return tuple(map(At, (last, *d.order(chosen))))
