"""The values of many lengths at once, for lengths of arguments that come again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from axiomjit.algebra.dims import SIGNS, Atom, Dim, Guard, Monomial, Quotient, Symbol, evaluate

Values = Sequence[int]


class Lengths:
    """Lengths by number; their values are evaluated together.

    Most programs are bound to the values of their symbols once. From the second time on that is
    done by a Python function that is compiled for it, several times as fast.
    """

    __slots__ = ("_compiled", "_numbers", "_was_asked")

    def __init__(self, lengths: Iterable[Dim] = ()) -> None:
        """Begin with these lengths, numbered in order where all are different."""
        self._numbers: dict[Dim, int] = {}
        self._compiled: Callable[[Mapping[Symbol, int]], Values] | None = None
        self._was_asked = False
        for length in lengths:
            self.number(length)

    def number(self, length: Dim) -> int:
        """The place of a length among the values; all are named before the first is evaluated."""
        return self._numbers.setdefault(length, len(self._numbers))

    def at(self, values: Mapping[Symbol, int]) -> Values:
        """The value of each length.

        Raises:
            KeyError: a symbol has no value.
        """
        compiled = self._compiled
        if compiled is not None:
            return compiled(values)
        if self._was_asked:
            self._compiled = compiled = _Writer().function(self._numbers)
            return compiled(values)
        self._was_asked = True
        return [evaluate(length, values) for length in self._numbers]


class Looks:
    """Comparisons that were made, asked again for other values together."""

    __slots__ = ("_lengths", "_sides")

    def __init__(self, guards: Sequence[Guard]) -> None:
        """Name both sides of each."""
        self._lengths = Lengths()
        number = self._lengths.number
        self._sides = [(number(g.left), number(g.right), SIGNS[g.sign], g.outcome) for g in guards]

    def hold(self, values: Mapping[Symbol, int]) -> bool:
        """Whether all have the outcome that they had."""
        if not self._sides:
            return True
        at = self._lengths.at(values)
        return all(sign(at[a], at[b]) == outcome for a, b, sign, outcome in self._sides)


class _Writer:
    """Writes a function that evaluates lengths, each symbol, quotient and extreme once."""

    def __init__(self) -> None:
        self._names: dict[Atom, str] = {}
        self._lines: list[str] = []
        self._symbols: dict[str, object] = {}

    def function(self, lengths: Iterable[Dim]) -> Callable[[Mapping[Symbol, int]], Values]:
        """The function; values come back in the order of the lengths."""
        found = ", ".join([self._sum(length) for length in lengths])
        body = "".join(f"    {line}\n" for line in [*self._lines, f"return [{found}]"])
        space: dict[str, object] = {"least": min, "largest": max, **self._symbols}
        exec(f"def values(v):\n{body}", space)  # names are ours, numbers are Python's
        made: Callable[[Mapping[Symbol, int]], Values] = space["values"]  # type: ignore[assignment]
        return made

    def _sum(self, length: Dim) -> str:
        return " + ".join(self._product(*term) for term in length.terms) or "0"

    def _product(self, monomial: Monomial, factor: int) -> str:
        names = [self._atom(atom) for atom in monomial]
        return "*".join(names if names and factor == 1 else [f"({factor})", *names])

    def _atom(self, atom: Atom) -> str:
        known = self._names.get(atom)
        if known is not None:
            return known
        if isinstance(atom, Symbol):
            key = f"s{len(self._symbols)}"
            self._symbols[key] = atom
            value = f"v[{key}]"
        elif isinstance(atom, Quotient):
            value = f"({self._sum(atom.top)}) // ({self._sum(atom.bottom)})"
        else:
            pick = "least" if atom.which == "min" else "largest"
            value = f"{pick}({self._sum(atom.left)}, {self._sum(atom.right)})"
        name = self._names[atom] = f"a{len(self._names)}"
        self._lines.append(f"{name} = {value}")
        return name
