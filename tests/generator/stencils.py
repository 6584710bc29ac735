"""Random functions that write into arrays which they read at shifted places.

Targets are windows of one to three dimensions with steps; reads are the same window moved by up to
three elements each way, and now and then something else of the array. Arrays lie in C or Fortran
order, forward or backward; what is written is an argument, a part of one or a local array.
"""

import numpy as np

from tests.generator.draws import Draws
from tests.generator.writes import Written, failure

LENGTHS = (0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 13)
CODES = ("f8", "f8", "f8", "f4", "i8", "i4")
BASES = ("{}", "{}", "{}", "{}[::-1]", "{}.T", "{}[1:]", "{}[..., ::-1]", "{}[::2]")
LOCALS = ("a", "a", "a", "a * 1", "a.copy()", "np.asfortranarray(a) + 0")
JOINED = ("{} + {}", "{} - {}", "{} * 2 - {}", "np.minimum({}, {})", "({} + {}) * 0.25")
JOINED += ("np.where({0} > {1}, {1}, {0})",)
ELSEWHERE = ("v[:1]", "v[-1:]", "v.T[:1].T", "v.max()", "v.sum()", "b", "b[0]", "2", "v[::-1]")
REACH = 3


def draw(seed, index):
    """The program of a number."""
    draws = Draws(seed, index, 5)
    rank = draws.pick((1, 1, 2, 2, 2, 3))
    shape = tuple(draws.pick(LENGTHS) for _ in range(rank))
    code = draws.pick(CODES)
    order = draws.pick("CCF")
    whole = f"np.arange({np.prod(shape)}) * 7 % 23).reshape({shape}"
    first = f"np.asarray(({whole}), '{code}', order='{order}')"
    second = draws.pick((f"{first} - 5", f"{first}[:1] + 2", "a"))
    statements = [f"v = {draws.pick(LOCALS)}", f"v = {draws.pick(BASES).format('v')}"]
    results = ["v"]
    for _ in range(draws.pick((1, 1, 1, 2, 3))):
        if draws.chance(0.15):
            statements.append(f"m{len(statements)} = v.max()")
            results.append(f"m{len(statements) - 1}")
        statements.append(_statement(draws, rank))
    return Written(tuple(statements), tuple(results), (first, second))


def _statement(draws, rank):
    """A write into a window of v."""
    reaches = [(draws.between(0, REACH), draws.between(0, REACH)) for _ in range(rank)]
    if draws.chance(0.4):  # one dimension alone is moved along
        moving = draws.below(rank)
        reaches = [reach if d == moving else (0, 0) for d, reach in enumerate(reaches)]
    steps = [draws.pick((1, 1, 1, 1, 2, 3)) for _ in range(rank)]
    if draws.chance(0.1):
        steps[draws.below(rank)] *= -1

    def window(offsets):
        pairs = zip(reaches, offsets, steps, strict=True)
        return f"v[{', '.join(_slice(*reach, o, step) for reach, o, step in pairs)}]"

    value = f"1 * {window([draws.between(-p, q) for p, q in reaches])}"
    for _ in range(draws.between(0, 3)):
        other = window([draws.between(-p, q) for p, q in reaches])
        other = draws.pick(ELSEWHERE) if draws.chance(0.12) else other
        value = draws.pick(JOINED).format(f"({value})", other)
    sign = draws.pick(("=", "=", "=", "+=", "-="))
    return f"{window([0] * rank)} {sign} {value}"


def _slice(before, after, offset, step):
    """A window that leaves out so many elements on each side, moved by an offset."""
    start, stop = before + offset, offset - after
    if step < 0:
        return f"{stop - 1 if stop else ''}:{start - 1 if start else ''}:{step}"
    return f"{start or ''}:{stop or ''}" + (f":{step}" if step > 1 else "")


def campaign(seed, first, count):
    """What is wrong with each of so many programs that is not as in NumPy."""
    found = []
    for index in range(first, first + count):
        program = draw(seed, index)
        wrong = failure(program)
        if wrong:
            found.append(f"stencil {seed} {index}\n{program}\n{wrong}")
    return found
