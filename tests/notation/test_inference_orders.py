"""The order in which a program is written does not change the shapes that are inferred."""

import math
import random

import pytest

import axiomjit as aj
from axiomjit.notation import parse_einsum
from axiomjit.notation.closing import Bounds
from axiomjit.notation.demands import ExactSizes, LongestRow
from axiomjit.notation.logic import (
    BatchSlice,
    CallSite,
    Compose,
    Einsum,
    Pointwise,
    Transpose,
    demand_shapes,
    elements,
)
from axiomjit.notation.solving import Cell, Solver, connected
from axiomjit.symbolic.dims import dim

KINDS = ("batch", "input", "output")
SPECS = [
    *("ij=>ji", "...|i->o=>...|o->i", "...i=>i...", "i...=>...", "ij=>i0", "ii=>i", "i=>ii"),
    *("...|...->...=>...|0", "..v..|=>..v..", "2...|=>...|", "ij=>", "...=>...i"),
    *("ij;jk=>ik", "...;...=>...", "...i;i=>...", "...|i;...|ij=>...|j", "i;j=>ij", "i;i=>"),
    *("a;b=>a^b", "o<+k;k=>o", "2*o=+k;k=>o", "i...j;j=>i...", "a...b;b...c=>a...c"),
]
NOTHING = [dict.fromkeys(KINDS, ()), dict.fromkeys(KINDS)]
"""Leaves that demand nothing of what they meet: without axes, and with any."""


def leaf(rows):
    """A shape of a leaf; unknown rows are inferred, perhaps of a number of elements or of sizes."""
    rows = dict(rows)
    data = rows.pop("data", None)
    shape = aj.Shape(**rows)
    if data is not None:
        place, sizes = CallSite("data", None), [Cell(dim(n)) for n in data]
        memory = [shape.rows[kind] for kind in ("batch", "output", "input")]
        exact = ExactSizes(memory, sizes, place.origin("its sizes"))
        total = elements(shape.rows, Cell(dim(math.prod(data))), place.origin("its number"))
        Solver().add([exact if len(data) > 1 else total])
    unknowns, _ = connected(u for r in shape.rows.values() for u in r.flat.unknowns)
    for unknown in unknowns:
        unknown.leaf = True
    return shape


def random_row(rng):
    if rng.random() < 0.4:
        return None
    return tuple(rng.choice([1, 2, 3, 3, 3]) for _ in range(rng.choice([0, 0, 1, 1, 2])))


def random_program(rng, tame):
    """Leaves, and operations on earlier shapes; all by number."""
    leaves = []
    for _ in range(rng.randint(2, 4)):
        rows = {kind: random_row(rng) for kind in KINDS}
        if tame:
            rows |= {"batch": (), "input": ()} if rng.random() < 0.7 else {}
        if rng.random() < 0.2:
            rows[rng.choice(KINDS)] = None
            rows["data"] = rng.choice([(3,), (1,), (6,), (3, 3), (2, 3), (3, 1, 3)])
            if rng.random() < 0.7:
                rows = dict.fromkeys(KINDS) | {"data": rows["data"]}
        leaves.append(rows)
    steps = []
    for k in range(rng.randint(2, 6)):
        count = len(leaves) + k
        pick = rng.random()
        if pick < 0.45:
            logic = rng.choice([Pointwise(), Compose(), Pointwise()])
            operands = [rng.randrange(count), rng.randrange(count)]
        elif pick < 0.55:
            logic = rng.choice([Transpose(), BatchSlice(), Pointwise()])
            operands = [rng.randrange(count)]
        elif pick < 0.62:
            logic = Pointwise()
            operands = [rng.randrange(count) for _ in range(3)]
        else:
            spec = parse_einsum(rng.choice(SPECS))
            names = [*spec.labels, *spec.row_variables]
            capture = (rng.choice(names), rng.randint(1, 4)) if rng.random() < 0.2 else None
            logic = (spec, capture if capture and capture[0] in names else None)
            operands = [rng.randrange(count) for _ in spec.operands]
        steps.append((logic, operands))
    known = []
    while rng.random() < 0.3:
        rows = {kind: random_row(rng) for kind in KINDS}
        known.append((rng.randrange(len(leaves) + len(steps)), rows))
    return leaves, steps, known


def mild_program(rng):
    """As `random_program`, but few are refused: leaves are mostly open, results seldom met."""
    leaves = []
    for _ in range(rng.randint(2, 4)):
        rows = {kind: rng.choice([None, None, None, (), (3,)]) for kind in KINDS}
        rows["output"] = rng.choice([None, None, None, (), (3,), (2, 3), (1, 3), (4, 1, 1)])
        if rng.random() < 0.3:
            rows = dict.fromkeys(KINDS) | {"data": rng.choice([(3,), (1,), (6,), (2, 3)])}
        leaves.append(rows)
    steps = []
    for k in range(rng.randint(2, 5)):
        count = len(leaves) + k
        logic = rng.choice([Pointwise(), Pointwise(), Pointwise(), Transpose(), Compose()])
        width = {Transpose: 1, Compose: 2}.get(type(logic)) or rng.choice([1, 2, 2, 2, 3])
        steps.append((logic, [rng.randrange(count) for _ in range(width)]))
    known = []
    if rng.random() < 0.2:
        known.append((rng.randrange(len(leaves) + len(steps)), {"output": (3,)}))
    return leaves, steps, known


def orders_of(steps, first, rng):
    """A random order of the steps in which each comes after what it uses."""
    left = list(range(len(steps)))
    done = set(range(first))
    while left:
        ready = [k for k in left if all(o in done for o in steps[k][1])]
        k = rng.choice(ready)
        left.remove(k)
        done.add(first + k)
        yield k


def run(program, rng):
    """The sizes of all shapes of a program, or None where it is refused."""
    leaves, steps, known = program
    sizes, late = [], []
    try:
        shapes = dict(enumerate(map(leaf, leaves)))
        waiting = list(known)
        for k in orders_of(steps, len(leaves), rng):
            logic, operands = steps[k]
            if isinstance(logic, tuple):
                spec, capture = logic
                size = () if capture is None else (aj.Size(capture[0]),)
                if size and rng.random() < 0.5:
                    size[0].set(capture[1])
                elif size:
                    late.append((size[0], capture[1]))
                sizes += size
                logic = Einsum(spec, (), size)
            result = shapes[len(leaves) + k] = aj.Shape()
            rows = [shapes[o].rows for o in operands]
            demand_shapes(logic, result.rows, rows, CallSite(f"step {k}", None))
            for item in [item for item in waiting if item[0] in shapes and rng.random() < 0.5]:
                waiting.remove(item)
                shapes[item[0]].equate(aj.Shape(**item[1]))
        for place, rows in waiting:
            shapes[place].equate(aj.Shape(**rows))
        for size, value in rng.sample(late, len(late)):
            size.set(value)
        order = rng.sample(sorted(shapes), len(shapes))
        for k in order:
            shapes[k].close()
    except aj.ShapeError:
        return None
    return [(str(shapes[k]), shapes[k].dims) for k in sorted(shapes)]


def programs(seed):
    """A program of each of the generators."""
    made = [random_program(random.Random(seed * 2 + tame), tame) for tame in (False, True)]
    return [*made, mild_program(random.Random(seed))]


@pytest.mark.parametrize("seed", range(60))
@pytest.mark.parametrize("kind", range(3))
def test_shapes_are_equal_for_every_order(seed, kind):
    program = programs(seed)[kind]
    found = [run(program, random.Random(order)) for order in range(24)]
    assert found == found[:1] * 24


def with_unrelated_uses(program, rng):
    """A program, pointwise uses that demand nothing added; and where its own shapes are in it."""
    leaves, steps, known = program
    count, fresh = len(leaves), rng.sample(NOTHING, rng.randint(1, len(NOTHING)))
    moved = [k if k < count else k + len(fresh) for k in range(count + len(steps))]
    steps = [(logic, [moved[o] for o in operands]) for logic, operands in steps]
    known = [(moved[place], rows) for place, rows in known]
    for _ in range(rng.randint(1, 4)):
        used = rng.randrange(count + len(fresh) + len(steps))
        other = rng.choice([used, rng.randrange(count, count + len(fresh))])
        operands = rng.choice([[used], [used, other], [other, used], [used, used, used]])
        steps.append((Pointwise(), operands))
    return ([*leaves, *fresh], steps, known), moved


def differs(program, uses):
    """True where unrelated uses, in any order, change the shapes of a program."""
    alone = run(program, random.Random(0))
    for extra in range(uses):
        rng = random.Random(extra)
        larger, own = with_unrelated_uses(program, rng)
        found = run(larger, rng)
        if alone != (None if found is None else [found[k] for k in own]):
            return True
    return False


@pytest.mark.parametrize("seed", range(60))
def test_shapes_are_equal_with_unrelated_uses(seed):
    assert not any(differs(program, 10) for program in programs(seed))


PLANTED = {
    "a result with no other operand demands no axes": (
        (LongestRow, "_follow_one", lambda joins, operands, solver: False),
        (LongestRow, "most_axes", lambda joins, variable: int(variable is None)),
    ),
    "the last use decides how many axes there are": (
        (Bounds, "rank", lambda bounds, row: (len(bounds._above.get(row, ())), True)),
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(fault, monkeypatch):
    for target, name, planted in PLANTED[fault]:
        monkeypatch.setattr(target, name, planted)
    assert any(differs(program, 10) for seed in range(40) for program in programs(seed))
