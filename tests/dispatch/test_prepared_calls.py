"""Calls with arrays and with named arrays are prepared, counted and forgotten in the same way."""

import gc
import itertools
import weakref

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.dispatch import arguments, caches, programs
from tests.axis.running import evaluated

H, W = aj.make_axis(5, "H"), aj.make_axis(6, "W")
VALUES = np.arange(30.0).reshape(5, 6)
LAYOUTS = {
    "C": VALUES,
    "F": np.asfortranarray(VALUES),
    "strided": np.repeat(VALUES, 2, axis=1)[:, ::2],
    "reversed": VALUES[::-1, ::-1].copy()[::-1, ::-1],
}


def named(values):
    return aj.NamedArray(values, [H, W])


KINDS = {"arrays": lambda values: values, "named": named}


class Scale:
    """A static argument."""

    def __init__(self, by):
        self.by = by


def info(function):
    known = function.cache_info()
    return known.hits, known.bound, known.traced


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("order", [*itertools.permutations(LAYOUTS, 2)], ids="-".join)
def test_each_layout_is_bound_once(kind, order):
    function, calls = aj.jit(lambda x: x - 1), 0
    with evaluated():
        for _ in range(3):
            for layout in order:
                given = KINDS[kind](LAYOUTS[layout])
                np.testing.assert_array_equal(np.asarray(function(given)), VALUES - 1)
                calls += 1
                assert sum(info(function)[:2]) == calls
    hits, bound, traced = info(function)
    assert (hits, bound) == (4, 2)
    assert traced == (1 if kind == "named" else traced)
    assert function._programs.count() == traced


@pytest.mark.parametrize("kind", [int, float, complex, np.float32, np.array], ids=repr)
def test_another_number_beside_named_arrays_is_traced_anew(kind):
    function = aj.jit(lambda x, by: x * by)
    with evaluated():
        for value in (kind(2), kind(3), kind(2)):
            result = np.asarray(function(named(VALUES), value))
            np.testing.assert_array_equal(result, VALUES * value)
    assert info(function) == (1, 2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_prepared_for_an_instance_goes_with_it(kind):
    function = aj.jit(lambda x, scale: x * scale.by)
    kept, dead = Scale(2), Scale(3)
    for scale in (kept, dead, kept, dead):
        result = np.asarray(function(KINDS[kind](VALUES), scale))
        np.testing.assert_array_equal(result, VALUES * scale.by)
    assert info(function) == (2, 2, 2)
    gone = weakref.ref(dead)
    del dead, scale
    gc.collect()
    assert gone() is None
    assert len(function._plans) == len(function._programs) == function._programs.count() == 1
    function(KINDS[kind](VALUES), kept)
    assert info(function) == (3, 2, 2)


@pytest.mark.parametrize("kind", KINDS)
def test_tables_drop_what_is_beyond_their_limits(kind, monkeypatch):
    function = aj.jit(lambda x, word: x + len(word))
    monkeypatch.setattr(function._plans, "limit", 3)
    monkeypatch.setattr(function._programs, "limit", 2)
    given = KINDS[kind](VALUES)
    with evaluated():
        for length in (1, 2, 3, 4, 5, 4, 2):
            result = np.asarray(function(given, "-" * length))
            np.testing.assert_array_equal(result, VALUES + length)
    assert (len(function._plans), len(function._programs)) == (3, 2)
    assert info(function) == (1, 6, 6)


def runs(kind):
    """A function of an array that multiplies it by 3, in one of the three ways."""
    if kind == "computation":
        x = aj.placeholder([H, W])
        return aj.transformers.make_transformer().computation(x * 3, x)
    function = aj.jit(lambda x: x * 3)
    return lambda values: np.asarray(function(KINDS[kind](values)))


@pytest.mark.parametrize("kind", [*KINDS, "computation"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arguments_are_prepared_once_and_plain_ones_never_again(kind, layout, monkeypatch):
    prepared, plain_array = [], arguments.plain_array
    monkeypatch.setattr(
        arguments, "plain_array", lambda array: prepared.append(1) or plain_array(array)
    )
    call = runs(kind)
    for times in (1, 1, 1):
        np.testing.assert_array_equal(call(LAYOUTS[layout]), VALUES * 3)
        assert len(prepared) == times


def test_arguments_that_are_not_plain_are_prepared_once_per_call(monkeypatch):
    prepared, plain_array = [], arguments.plain_array
    monkeypatch.setattr(
        arguments, "plain_array", lambda array: prepared.append(1) or plain_array(array)
    )
    call = runs("arrays")
    misaligned = np.zeros(VALUES.nbytes + 1, np.uint8)[1:].view(VALUES.dtype).reshape(VALUES.shape)
    misaligned[...] = VALUES
    for times in (1, 2, 3):
        np.testing.assert_array_equal(call(misaligned), VALUES * 3)
        assert len(prepared) == times


def test_the_same_tables_serve_functions_and_graphs():
    x = aj.placeholder([H, W])
    run = aj.transformers.make_transformer().computation(x * 5, x)
    function = aj.jit(lambda x: x * 5)
    run(VALUES)
    function(VALUES)
    function(named(VALUES))
    plans = programs._plans[run.graph]
    assert type(plans) is type(function._plans) is caches.Table
    assert type(programs._programs) is type(function._programs) is caches.ProgramTable
    every = (*plans.values(), *(one for plans in function._plans.values() for one in plans))
    assert [type(compiled) for compiled in every] == [caches.CompiledCall] * 3
