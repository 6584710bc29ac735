"""Effects of native calls: results of a plan that are stored in outside objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.base.tree import Leaf, OfArgument
from axiomjit.dispatch.caches import CompiledCall
from axiomjit.dispatch.fresh import Recipe
from axiomjit.dispatch.source_guards import Numbers
from axiomjit.functions.effects import FromSource, Replay
from axiomjit.functions.sources import Vector
from axiomjit.runtime.native_call.guard_tables import Guards
from axiomjit.runtime.native_call.instructions import (
    NOTHING,
    SCALARS,
    TUPLE,
    CallPython,
    NativePlan,
    NewInteger,
)
from axiomjit.symbolic.dims import Dim

KINDS: Final = (bool, int, float, complex)
"""The classes of Python numbers to which native calls can convert results."""
_STORES: Final = ("attribute", "item", "cell")
"""The kinds of effects that store one value."""


class Stored(Record):
    """The results that a call returns, and the value that each effect stores.

    `returned` are the numbers of the returned results; `form` says how they form the return value.
    `kinds` are the classes of results that become Python numbers. The stored values are leaves, as
    in `CompiledCall.leaves`.
    """

    count: int
    kinds: dict[int, type]
    returned: tuple[int, ...]
    form: int
    effects: tuple[tuple[Replay, tuple[int | None, object]], ...]


def stored(compiled: CompiledCall, integers: Mapping[int, Dim]) -> Stored | None:
    """The results and effects of a call; None if native code cannot perform all effects.

    `integers` are the leaves that are computed from integer arguments in each call.
    """
    effects = () if compiled.outside is None else compiled.outside.effects
    if not effects:
        return None
    parts: Sequence[Any] = getattr(compiled.structure, "parts", ())
    if len(parts) != len(effects) + 1 or not all(isinstance(one, Leaf) for one in parts[1:]):
        return None
    if any(e.how not in _STORES or e.count != 1 or e.target is None for e in effects):
        return None
    leaves = [(n, integers.get(k, value)) for k, (n, value) in enumerate(compiled.leaves)]
    first, *values = _split(leaves, len(effects))
    returned, form = _returned(parts[0], first)
    numbers = {k for k, _ in values if k is not None} | set(returned or ())
    if returned is None or numbers != set(range(len(numbers))):
        return None
    if not all(_is_stored(*value) for value in values):
        return None
    kinds = kinds_of(leaves)
    return Stored(len(numbers), kinds, returned, form, tuple(zip(effects, values, strict=True)))


def kinds_of(leaves: Sequence[tuple[int | None, object]]) -> dict[int, type]:
    """The classes of Python numbers, by the positions of the results that become Python numbers."""
    return {k: value for k, value in leaves if k is not None and isinstance(value, type)}


def _split(leaves: Sequence[Any], effects: int) -> list[Any]:
    """Split leaves into the leaves of the return value, and one leaf for each effect."""
    behind = len(leaves) - effects
    return [leaves[:behind], *leaves[behind:]]


def _is_stored(number: int | None, value: object) -> bool:
    if number is None:
        return not isinstance(value, Recipe)
    is_itself = isinstance(value, OfArgument) and value.is_itself
    return value is None or value in KINDS or is_itself


def _returned(part: Any, leaves: Sequence[Any]) -> tuple[tuple[int, ...] | None, int]:
    if isinstance(part, Leaf) and leaves[0] == (None, None):
        return (), NOTHING
    numbers = tuple(k for k, value in leaves if k is not None and (value is None or value in KINDS))
    if len(set(numbers)) != len(leaves):
        return None, 0
    if isinstance(part, Leaf):
        return numbers, SCALARS
    flat = part.kind is tuple and all(isinstance(one, Leaf) for one in part.parts)
    return (numbers, SCALARS | TUPLE) if flat else (None, 0)


def with_returned(plan: NativePlan, given: Stored) -> NativePlan | None:
    """The plan with only the returned results; None if calls of the plan end in Python."""
    whole = plan.with_numbers(given.kinds)
    if whole is None or any(isinstance(step, CallPython) and step.entire for step in plan.steps):
        return None
    results = tuple(plan.results[number] for number in given.returned)
    integers = [value for _, (_, value) in given.effects if isinstance(value, Dim)]
    made = tuple(NewInteger(slot, one) for slot, one in enumerate(integers, plan.slots))
    steps, slots = (*whole.steps, *made), plan.slots + len(made)
    return plan.replace(results=results, form=given.form, steps=steps, slots=slots)


def add_effects(
    guards: Guards, given: Stored, plan: NativePlan, numbers: Numbers, values: Vector
) -> bool:
    """Add the effects of a call to its guard table; True if native code performs all of them.

    `plan` is the native plan before `with_returned`. `values` are the values of outside sources in
    the current call.
    """
    integers = count(plan.slots)
    for effect, (result, value) in given.effects:
        assert effect.target is not None, "checked by stored()"
        target, whole = numbers(effect.target), values[effect.target.number]
        slot, number = -1, 0
        if result is not None:
            slot = plan.results[result]
        elif isinstance(value, Dim):
            slot = next(integers)
        else:
            number = numbers(value.source) if isinstance(value, FromSource) else guards.fixed(value)
        store = guards.store_item if effect.how == "item" else guards.store_attribute
        key: Any = "cell_contents" if effect.how == "cell" else effect.key
        if not store(target, whole, key, slot, number):
            return False
    return True
