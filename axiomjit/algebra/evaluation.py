"""The values of many lengths at once, for lengths of arguments that come again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from axiomjit.algebra.dims import SIGNS, Dim, Guard, Operators, Symbol, evaluate

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
            self._compiled = compiled = _compiled(self._numbers)
            return compiled(values)
        self._was_asked = True
        return [evaluate(length, values) for length in self._numbers]


class Guards(tuple[Guard, ...]):
    """The guards of a program; their sides are evaluated together for other values."""

    def __init__(self, guards: Iterable[Guard]) -> None:
        """Number both sides of each."""
        self._lengths = Lengths()
        number = self._lengths.number
        self._sides = [(number(g.left), number(g.right), SIGNS[g.sign], g.outcome) for g in self]

    def hold(self, values: Mapping[Symbol, int]) -> bool:
        """Whether all have the outcome that they had."""
        if not self:
            return True
        at = self._lengths.at(values)
        return all(sign(at[a], at[b]) == outcome for a, b, sign, outcome in self._sides)


def _compiled(lengths: Iterable[Dim]) -> Callable[[Mapping[Symbol, int]], Values]:
    """A function that evaluates lengths in their order, each symbol and quotient once."""
    names: dict[str, str] = {}  # of each expression the variable that has its value
    symbols: dict[Symbol, str] = {}

    def named(expression: str) -> str:
        return names.setdefault(expression, f"a{len(names)}")

    def leaf(value: int | Symbol) -> str:
        if isinstance(value, int):
            return f"({value})"
        key = symbols.setdefault(value, f"s{len(symbols)}")
        return named(f"v[{key}]")

    operators: Operators[str] = {
        "+": lambda left, right: f"{left} + {right}",
        "*": lambda left, right: f"{left}*{right}",
        "//": lambda left, right: named(f"({left}) // ({right})"),
        "min": lambda left, right: named(f"min({left}, {right})"),
        "max": lambda left, right: named(f"max({left}, {right})"),
    }
    found = ", ".join([length.fold(leaf, operators) for length in lengths])
    body = "".join(f"    {name} = {expression}\n" for expression, name in names.items())
    space: dict[str, object] = {key: symbol for symbol, key in symbols.items()}
    # names are ours, numbers are Python's
    exec(f"def values(v):\n{body}    return [{found}]", space)
    made: Callable[[Mapping[Symbol, int]], Values] = space["values"]  # type: ignore[assignment]
    return made
