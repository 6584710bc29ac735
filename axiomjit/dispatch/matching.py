"""Find the plan or program that is valid for a call and for the outside values in use.

A program is valid if its guards hold. The arrays that the program reads from outside are then
appended to the arguments of the call.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.records import Record
from axiomjit.dispatch.arguments import (
    CallArguments,
    is_static,
    plain_arguments,
)
from axiomjit.dispatch.caches import ClassPrograms, CompiledCall
from axiomjit.dispatch.programs import TracedProgram
from axiomjit.dispatch.signature import Signature
from axiomjit.functions.outside import Wanted
from axiomjit.functions.sources import NUMBERS, Equals, Vector
from axiomjit.symbolic.data_dependent import Decisions
from axiomjit.symbolic.dims import Guard, Symbol, symbols_in

MAX_TRUTH_PROGRAMS: Final = 4
"""The largest number of programs per signature that differ only in truth values of computed
values.
"""
MAX_PLANS: Final = 16
"""The largest number of plans for one layout of arguments, each for other outside values."""


class Tried:
    """The programs that were run for a call and failed, with the numbers that they computed.

    The outcomes of earlier comparisons alone decide which comparison a function makes next. So the
    programs of one signature are the leaves of a tree of decisions.
    """

    def __init__(self) -> None:
        self._found: list[tuple[Decisions, Mapping[Symbol, int]]] = []

    def add(self, decisions: Decisions, known: Mapping[Symbol, int]) -> None:
        """Add a program with a comparison that failed; `known` are the numbers of its run."""
        self._found.append((decisions, known))

    def allows(self, decisions: Decisions) -> bool:
        """True if a program with these decisions may be valid for the call."""
        return all(_may_follow(decisions, *found) for found in self._found)

    def where(self) -> str:
        """The user's line with the comparison that failed last."""
        decided, known = self._found[-1]
        return next((where for guard, where in decided if fails(guard, known)), decided[-1][1])


def fails(guard: Guard, known: Mapping[Symbol, int]) -> bool:
    """True if a comparison fails for known numbers; False if one of its numbers is not known."""
    return known.keys() >= symbols_in(guard.left, guard.right) and not guard.holds(known)


def _may_follow(decisions: Decisions, tried: Decisions, known: Mapping[Symbol, int]) -> bool:
    """True if two lists of decisions differ, and no earlier decision fails for known numbers."""
    for one, other in zip(decisions, tried, strict=False):
        if fails(one[0], known):
            return False
        if one != other:
            return True
    return False


class Found(Record):
    """A plan for a call, the values of the plan's sources, and the call with inputs from outside.

    `plain` are the arguments and inputs after conversion for the program, if known.
    """

    compiled: CompiledCall
    vector: Vector
    call: CallArguments
    plain: Sequence[object] | None = None


def find_plan(
    plans: Sequence[CompiledCall], call: CallArguments, tried: Tried | None = None
) -> Found | None:
    """The first plan whose guards hold for a call, or a plan that runs the call in NumPy.

    A plan is left out if the call has tried it, or if a tried plan has shown that the decisions of
    the plan fail.
    """
    leaves = call.leaves(call.dynamic) if plans else ()
    in_numpy, guards, vector = None, None, None
    inputs: list[Any] = []
    layout: object = None
    for compiled in plans:
        reads = compiled.outside
        if reads is None:
            in_numpy = Found(compiled, [], call)
            continue
        if reads.guards is not guards:  # plans of one program share guards and counters
            guards = reads.guards
            vector = guards.read(leaves)
            inputs = [] if vector is None else guards.given(vector)
            if inputs:
                layout = reads.layout_of(inputs, len(call.dynamic), compiled.counters)
        if vector is None or (inputs and layout != reads.layout) or not compiled.holds():
            continue
        if tried is not None and not tried.allows(compiled.decisions):
            continue
        return Found(compiled, vector, call.with_inputs(inputs, reads.names) if inputs else call)
    return in_numpy


def with_plan(plans: Sequence[CompiledCall], compiled: CompiledCall) -> tuple[CompiledCall, ...]:
    """The plans of one layout, with a new plan in front."""
    return (compiled, *plans[: MAX_PLANS - 1])


class Match(Record):
    """A program for a call, the values of its outside sources, and the call with outside inputs.

    `plain` are the arguments and inputs after conversion for the program.
    """

    program: TracedProgram
    vector: Vector
    call: CallArguments
    signature: Signature
    plain: Sequence[object]


def find_program(
    programs: ClassPrograms,
    call: CallArguments,
    plain: Sequence[object],
    signature: Signature,
    classified: Callable[[CallArguments, Sequence[object]], Signature],
    tried: Tried | None = None,
) -> Match | None:
    """The first program whose guards of outside values and of lengths hold for a call.

    A program is left out if the call has tried it, as in `find_plan`.
    """
    leaves = call.leaves(call.dynamic)
    for program in programs.candidates(signature.values):
        if program.is_stale():
            programs.drop(program)
            continue
        vector = program.reads.guards.read(leaves)
        if vector is None or (tried is not None and not tried.allows(program.decisions)):
            continue
        inputs = program.reads.guards.given(vector)
        if any(map(is_static, inputs)):
            continue  # an input is no longer an array or number
        extended, own, whole = call, signature, plain
        if inputs:
            names = program.reads.names
            extended = call.with_inputs(inputs, names)
            whole = (*plain, *plain_arguments(inputs, names))
            own = classified(extended, whole)
            if own.key != program.key:
                continue
        if program.fits(own.values):
            return Match(program, vector, extended, own, whole)
    return None


def refuse_more_truths(programs: ClassPrograms, tried: Tried, signature: Signature) -> None:
    """Refuse a program that differs from others only in truth values of computed values.

    Raises:
        NeedsValuesError: the signature already has the largest number of these programs.
    """
    known = signature.values
    fitting = (p for p in programs if not any(fails(guard, known) for guard in p.guards))
    asked = sum(bool(program.decisions) for program in fitting)
    if asked >= MAX_TRUTH_PROGRAMS:
        raise NeedsValuesError(
            "the truth of an array's values decides what the function does next",
            f"{asked} different paths through the function, the last one at {tried.where()}",
            "write where(condition, a, b), or make the deciding argument static_argnames",
        )


def learn(programs: ClassPrograms, call: CallArguments, wanted: Wanted) -> str | None:
    """Turn outside numbers that changed into arguments, and drop the programs with fixed numbers.

    Returns:
        The failing guard of the newest program, as text; None if all guards hold.
    """
    found = None
    leaves = call.leaves(call.dynamic)
    for program in tuple(programs):
        guard = program.reads.guards.failing(leaves)
        if guard is None:
            continue
        found = f"no longer {guard}"
        identity = guard.source.identity
        changes = isinstance(guard, Equals) and type(guard.value) in NUMBERS
        if changes and identity not in wanted.fixed | wanted.numbers:
            wanted.numbers.add(identity)
            programs.drop(program)
    return found
