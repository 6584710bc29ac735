"""Plans and programs that are valid for a call, by what they read outside the function.

A program is valid if its guards hold; the arrays that it reads from outside are then arguments
behind the call's own.
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

MOST_TRUTHS: Final = 4
"""The most programs of one signature that differ in truths of computed values."""
MOST: Final = 16
"""The most plans for one layout of arguments, which differ in what they read outside."""


class Tried:
    """The programs that were run for a call, and the computed numbers found by them.

    Which comparison a function makes next depends on the earlier ones alone, so that the programs
    of one signature are the leaves of a tree.
    """

    def __init__(self) -> None:
        self._found: list[tuple[Decisions, Mapping[Symbol, int]]] = []

    def add(self, decisions: Decisions, known: Mapping[Symbol, int]) -> None:
        """Add a program of which a comparison failed; `known` are the numbers found by its run."""
        self._found.append((decisions, known))

    def allows(self, decisions: Decisions) -> bool:
        """True if a program with these decisions may be valid for the call."""
        return all(_may_follow(decisions, *found) for found in self._found)

    def where(self) -> str:
        """The user's line that asked for the number in the comparison that failed last."""
        decided, known = self._found[-1]
        return next((where for guard, where in decided if fails(guard, known)), decided[-1][1])


def fails(guard: Guard, known: Mapping[Symbol, int]) -> bool:
    """True if a comparison has another outcome for known numbers; False if one is not known."""
    return known.keys() >= symbols_in(guard.left, guard.right) and not guard.holds(known)


def _may_follow(decisions: Decisions, tried: Decisions, known: Mapping[Symbol, int]) -> bool:
    """True if decisions differ from those tried, and no common one fails for known numbers."""
    for one, other in zip(decisions, tried, strict=False):
        if fails(one[0], known):
            return False
        if one != other:
            return True
    return False


class Found(Record):
    """A plan for a call: the values of its sources, and the call with its inputs from outside.

    `plain` are the arguments and inputs as the program takes them, if known.
    """

    compiled: CompiledCall
    vector: Vector
    call: CallArguments
    plain: Sequence[object] | None = None


def find_plan(
    plans: Sequence[CompiledCall], call: CallArguments, tried: Tried | None = None
) -> Found | None:
    """The first plan whose guards hold for a call, else one that leaves its layout to NumPy.

    Plans that the call has tried are left out, also those that must find another truth then.
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
    """The plans of one layout with a new one in front."""
    return (compiled, *plans[: MOST - 1])


class Match(Record):
    """A program that is valid for a call, the values of its sources, and the call with inputs.

    `plain` are the arguments and inputs as the program takes them.
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
    """The first program whose guards, on objects outside and on lengths, hold for a call.

    Programs that the call has tried are left out, as in `find_plan`.
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
            continue  # no array or number any more
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
    """Refuse one more program that differs from others in truths of computed values.

    Raises:
        NeedsValuesError: there are as many as there may be.
    """
    known = signature.values
    fitting = (p for p in programs if not any(fails(guard, known) for guard in p.guards))
    asked = sum(bool(program.decisions) for program in fitting)
    if asked >= MOST_TRUTHS:
        raise NeedsValuesError(
            "the truth of an array's values decides what the function does next",
            f"{asked} different paths through the function, the last one at {tried.where()}",
            "write where(condition, a, b), or make the deciding argument static_argnames",
        )


def learn(programs: ClassPrograms, call: CallArguments, wanted: Wanted) -> str | None:
    """Make numbers outside that have changed arguments, and drop the programs that knew them.

    Returns:
        The guard of the newest program that does not hold, as text; None if all hold.
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
