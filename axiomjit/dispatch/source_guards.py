"""Native guards on outside values: rows of a guard table for the sources of a program."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from axiomjit.functions.sources import (
    MISSING,
    Argument,
    Attribute,
    Class,
    ClassAttribute,
    Contents,
    Defined,
    Distinct,
    Equals,
    Fixed,
    FunctionPart,
    Guard,
    Is,
    Item,
    Keys,
    Length,
    Part,
    Same,
    Source,
    Unchanged,
    Vector,
    static_attribute,
)
from axiomjit.functions.sources import Guards as SourceGuards
from axiomjit.runtime.native_call.guard_tables import Guards, Known

Numbers = Callable[[Source], int]


def add_sources(
    guards: Guards, sources: SourceGuards, vector: Vector, order: Sequence[int]
) -> Numbers | None:
    """Add the rows that read the outside sources of a program and check their guards.

    Args:
        guards: The rows of the table; the caller adds the guards of the inputs.
        sources: The sources and guards of the program.
        vector: The values of the sources in the current call, read before the program ran.
        order: For each leaf, the position of its argument.

    Returns:
        The function that returns the number of a source in the native vector. None if native code
        cannot read a source or check a guard.
    """
    rows = _Rows(guards, sources, vector)
    if not all(rows.read(source, order) for source in sources.sources):
        return None
    return rows.number_of if all(map(rows.check, sources.conditions)) else None


class _Rows:
    """The rows of one guard table for outside sources.

    A source is a constant if its object is the same in every call that fits. A constant gets a
    number only if another row refers to it.
    """

    def __init__(self, guards: Guards, sources: SourceGuards, vector: Vector) -> None:
        self._guards, self._vector = guards, vector
        self._numbers: dict[int, int] = {}
        self._constants: dict[int, object] = {}
        self._known = {g.source.number: g.value for g in sources.conditions if isinstance(g, Is)}

    def read(self, source: Source, order: Sequence[int]) -> bool:
        """Add the row that reads a source; False if native code cannot read the source."""
        if isinstance(source, Argument):
            self._numbers[source.number] = order[source.place]
            return True
        if isinstance(source, Fixed):
            return self._hold(source, source.value)
        if not isinstance(source, Part) or self._vector[source.of.number] is MISSING:
            return False
        if isinstance(source, ClassAttribute):
            return self._read_class(source)
        if isinstance(source, Class) and source.of.number in self._constants:
            return self._hold(source, type(self._constants[source.of.number]))
        number, whole, guards = self.number(source.of), self._vector[source.of.number], self._guards
        if number is None:
            return False
        if isinstance(source, Class):
            kind = self._known.get(source.number)
            if isinstance(kind, type):
                guards.of_class(number, kind)
            return isinstance(kind, type) and self._hold(source, kind)
        known = self._known_of(source)
        found = None
        if isinstance(source, Item):
            found = guards.item(number, whole, source.key, known)
        elif isinstance(source, Attribute):
            found = guards.attribute(number, whole, source.key, known)
        elif isinstance(source, Contents):
            found = guards.contents(number, known)
        elif isinstance(source, FunctionPart):
            found = guards.function_part(number, source.key, known)
        if found is None:
            return False
        if known is not None:
            return self._hold(source, self._known[source.number])
        self._numbers[source.number] = found
        return True

    def _known_of(self, source: Source) -> Known:
        """The value that the guards require a source to have."""
        if source.number not in self._known:
            return None
        value = self._known[source.number]
        return () if value is MISSING else (value,)

    def _read_class(self, source: ClassAttribute) -> bool:
        """Guard a known class against changes, so that its attributes are constants."""
        whole = source.of.number
        kind = self._constants.get(whole, self._known.get(whole))
        value = self._vector[source.number]
        return (
            isinstance(kind, type)
            and self._guards.unchanged(kind)
            and static_attribute(kind, source.key) is value
            and self._hold(source, value)
        )

    def _hold(self, source: Source, value: object) -> bool:
        self._constants[source.number] = value
        return True

    def number(self, source: Source) -> int | None:
        """The number of a source's value in the native vector; None if the constant is missing."""
        if source.number not in self._numbers:
            value = self._constants[source.number]
            if value is MISSING:
                return None
            self._numbers[source.number] = self._guards.fixed(value)
        return self._numbers[source.number]

    def number_of(self, source: Source) -> int:
        """The number of a source that must have a value."""
        number = self.number(source)
        assert number is not None, f"{source} is missing"
        return number

    def check(self, guard: Guard) -> bool:
        """Add the row of a guard; False if native code cannot check the guard."""
        guards, value = self._guards, self._vector[guard.source.number]
        if not guard.holds(value, self._vector):
            return False  # a container has changed since the trace
        if isinstance(guard, Is | Equals | Defined) and guard.source.number in self._constants:
            return True
        number = self.number(guard.source)
        if number is None:
            return False
        if isinstance(guard, Is):
            guards.same(number, guard.value)
        elif isinstance(guard, Equals):
            return guards.equals(number, value)
        elif isinstance(guard, Unchanged):
            known = zip(guard.names, guard.parts, strict=True)
            rows = [guards.function_part(number, name, (part,)) for name, part in known]
            return None not in rows
        elif isinstance(guard, Length):
            return guards.length(number, value, guard.count)
        elif isinstance(guard, Keys):
            return guards.keys(number, value)
        elif isinstance(guard, Defined):
            guards.defined(number)
        elif isinstance(guard, Same | Distinct):
            return self._check_identity(guard, number)
        else:
            return False
        return True

    def _check_identity(self, guard: Same | Distinct, number: int) -> bool:
        if isinstance(guard, Same):
            other = self.number(guard.other)
            if other is not None:
                self._guards.one(number, other)
            return other is not None
        others = map(self.number, guard.others)
        self._guards.distinct(number, [other for other in others if other is not None])
        return True
