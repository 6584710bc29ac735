"""Calls of instrumented functions: plans and programs by what they read outside the function.

A program is valid for a call if its guards hold; the arrays that it reads from outside are then
arguments behind the call's own.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

import numpy as np

from axiomjit.base.records import Record
from axiomjit.base.tree import flatten_tree
from axiomjit.dispatch.arguments import CallArguments, exact_layout, kind_of, plain_arguments
from axiomjit.dispatch.caches import ClassPrograms, CompiledCall
from axiomjit.dispatch.programs import TracedProgram
from axiomjit.dispatch.signature import Signature
from axiomjit.functions.outside import Wanted
from axiomjit.functions.sources import NUMBERS, Equals, Guard, Vector
from axiomjit.graph.traced_values import AxisValue, NamedValue

_PLAIN: Final = frozenset({np.ndarray, int, float, complex, bool, str, type(None)})
MOST: Final = 16
"""The most plans for one layout of arguments, which differ in what they read outside."""


def axes_among(values: Sequence[object]) -> bool:
    """True if there is a named array among arguments, or in their containers."""
    if all(type(value) in _PLAIN for value in values):
        return False
    return any(isinstance(v, NamedValue | AxisValue) for v in flatten_tree(tuple(values))[0])


class Found(Record):
    """A plan for a call: the values of its sources, and the call with its inputs from outside."""

    compiled: CompiledCall
    vector: Vector
    call: CallArguments


def find_plan(plans: Sequence[CompiledCall], call: CallArguments) -> Found | None:
    """The first plan whose guards hold for a call, else one that leaves its layout to NumPy."""
    leaves = call.leaves(call.dynamic) if plans else ()
    in_numpy = None
    for compiled in plans:
        reads = compiled.outside
        if reads is None:
            in_numpy = Found(compiled, [], call)
            continue
        vector = reads.guards.read(leaves)
        if vector is None or not compiled.holds():
            continue
        inputs = reads.guards.given(vector)
        if not inputs:
            return Found(compiled, vector, call)
        if exact_layout(inputs, kind_of) == reads.layout:
            return Found(compiled, vector, call.with_inputs(inputs, reads.names))
    return in_numpy


def with_plan(plans: Sequence[CompiledCall], compiled: CompiledCall) -> tuple[CompiledCall, ...]:
    """The plans of one layout with a new one in front."""
    return (compiled, *plans[: MOST - 1])


class Match(Record):
    """A program that is valid for a call, the values of its sources, and the call with inputs."""

    program: TracedProgram
    vector: Vector
    call: CallArguments
    signature: Signature


def find_program(
    programs: ClassPrograms,
    call: CallArguments,
    signature: Signature,
    classified: Callable[[CallArguments, Sequence[object]], Signature],
) -> Match | None:
    """The first program whose guards, on what is outside and on lengths, hold for a call."""
    leaves = call.leaves(call.dynamic)
    for program in programs.candidates(signature.values):
        if program.is_stale():
            continue
        vector = program.reads.guards.read(leaves)
        if vector is None:
            continue
        inputs = program.reads.guards.given(vector)
        extended, own = call, signature
        if inputs:
            extended = call.with_inputs(inputs, program.reads.names)
            own = classified(extended, plain_arguments(extended.dynamic, extended.names))
            if own.key != program.key:
                continue
        if program.fits(own.values):
            return Match(program, vector, extended, own)
    return None


def learn(programs: ClassPrograms, call: CallArguments, wanted: Wanted) -> list[Guard]:
    """The guards on the outside that fail for a call; numbers that changed become arguments."""
    leaves = call.leaves(call.dynamic)
    failing = []
    for program in tuple(programs):
        guard = program.reads.guards.failing(leaves)
        if guard is None:
            continue
        failing.append(guard)
        identity = guard.source.identity
        if isinstance(guard, Equals) and type(guard.value) in NUMBERS:
            if identity not in wanted.fixed and identity not in wanted.numbers:
                wanted.numbers.add(identity)
                programs.drop(program)
    return failing
