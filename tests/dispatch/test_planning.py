"""What a known program costs for arrays of another shape: little work, and little that is kept."""

import gc
import inspect
import random
import sys

import numpy as np
import pytest

import axiomjit
from axiomjit.base.caching import BoundedTable
from axiomjit.dispatch.arguments import plain_arguments, take_apart
from axiomjit.dispatch.signature import classify
from axiomjit.functions.sources import Guards
from axiomjit.symbolic.dims import evaluate

SHAPES = [tuple(map(int, pair)) for pair in np.arange(20, 220).reshape(-1, 2)]
CALLS = 131
"""Functions of Python that planning calls at most; it was 330 when each length was a symbol, and
120 before what a function reads outside was guarded."""
OBJECTS = 16
"""Objects that the garbage collector looks at, and that stay for each shape; 37 with closures."""


def rows(x, y):
    return (x * y + 2).sum(axis=1)


@pytest.fixture
def planned():
    """A function whose program has been bound to some shapes."""
    jitted = axiomjit.jit(rows)
    for shape in SHAPES[:3]:
        jitted.warm(np.ones(shape), np.ones(shape))
    return jitted


def test_planning_calls_few_functions(planned):
    x = np.ones(SHAPES[5])
    calls = []

    def count(frame, event, argument):
        if event == "call":
            calls.append(frame.f_code.co_qualname)

    sys.setprofile(count)
    try:
        planned.warm(x, x)
    finally:
        sys.setprofile(None)
    assert 20 < len(calls) <= CALLS, calls
    assert planned.cache_info().traced == 1


def test_plans_keep_few_objects(planned):
    arrays = [np.ones(shape) for shape in SHAPES]
    for array in arrays[:10]:
        planned.warm(array, array)
    gc.collect()
    gc.disable()
    try:
        before = len(gc.get_objects())
        for array in arrays[10:]:
            planned.warm(array, array)
        gc.collect()  # tuples of numbers are not looked at any more
        kept = len(gc.get_objects()) - before
    finally:
        gc.enable()
    assert 0 < kept <= OBJECTS * len(arrays[10:])


def test_nothing_is_kept_of_shapes_beyond_the_limits(monkeypatch, planned):
    joined = axiomjit.jit(lambda *arrays: sum(arrays))
    for table, limit in ((planned._plans, 5), (planned._classes, 3), (joined._forms, 3)):
        monkeypatch.setattr(table, "limit", limit)
    for n, shape in enumerate(SHAPES[:40]):
        planned.warm(np.ones((n % 4 + 1, shape[1])), np.ones((shape[1], 1)).T)
    for count in range(1, 9):
        joined(*[np.ones(7)] * count)
    assert len(planned._plans) == 5
    assert len(planned._classes) == len(joined._forms) == 3


def laid_out(draw):
    """An array of any layout: small, equal, repeated, reversed and permuted dimensions."""
    rank = draw.randrange(4)
    lengths = [draw.choice([0, 1, 2, 4, 5, 5, 6, 9]) * draw.choice([1, 2]) for _ in range(rank)]
    steps = tuple(slice(None, None, draw.choice([1, 1, 1, 2, 3, -1, -2])) for _ in range(rank))
    array = np.zeros(lengths, draw.choice(["f8", "f4", "i2"]))[steps]
    if draw.random() < 0.3:
        array = np.broadcast_to(array, (draw.choice([1, 3, 7]), *array.shape))
    return np.asarray(array.transpose(draw.sample(range(array.ndim), array.ndim)))


def test_symbols_of_a_class_stand_for_the_lengths_and_strides_of_each_call():
    """Calls have equal codes only where all that programs depend on is equal."""
    draw, keys = random.Random(0), set()
    signature = inspect.signature(rows)
    forms, classes = BoundedTable(), BoundedTable(10_000)
    for _ in range(3000):
        args = laid_out(draw), laid_out(draw)
        call = take_apart(signature, frozenset(), args, {}, forms)
        plain = plain_arguments(args)
        found, fresh = classify(call, plain, classes), classify(call, plain)
        assert (found.key, found.given, found.layouts) == (fresh.key, fresh.given, fresh.layouts)
        assert list(found.values.items()) == list(fresh.values.items())
        for position, array in enumerate(plain):
            shape, strides = found.given[position].extents, found.layouts[position]
            assert tuple(evaluate(n, found.values) for n in shape) == array.shape
            for n, have, step in zip(array.shape, strides, array.strides, strict=True):
                assert n == 1 or evaluate(have, found.values) * array.itemsize == step
        keys.add(found.key)
    assert 300 < len(keys) == len(classes)


def test_what_is_outside_is_read_twice_for_a_new_plan(monkeypatch):
    """Once for all plans of a program, once for the program."""

    def scaled(x, state):
        state["t"] += 1
        return x * state["t"]

    jitted, x, state = axiomjit.jit(scaled), np.ones(3), {"t": 0}
    reads, read = [], Guards.read

    def counted(guards, leaves):
        reads.append(guards)
        return read(guards, leaves)

    monkeypatch.setattr(Guards, "read", counted)
    for t in range(1, 9):
        reads.clear()
        assert jitted(x, state)[0] == state["t"] == t
    assert jitted.cache_info().traced == 1
    assert len(reads) <= 2


def test_calls_by_position_are_taken_apart_as_others():
    def function(a, b=None, *more):
        return a

    signature, forms = inspect.signature(function), BoundedTable()
    for count in (1, 1, 2, 2, 4, 4):
        args = tuple(np.ones(k + 1) for k in range(count))
        quick, slow = (take_apart(signature, frozenset(), args, {}, f) for f in (forms, None))
        assert (quick.structure, quick.names) == (slow.structure, slow.names)
        assert all(one is other for one, other in zip(quick.dynamic, args, strict=True))
        assert quick.static == slow.static == ()
    with pytest.raises(TypeError, match="missing"):
        take_apart(signature, frozenset(), (), {}, forms)
    assert sorted(forms) == [1, 2, 4]
