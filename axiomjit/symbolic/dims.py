"""Symbolic lengths: a `Dim` is an interned integer polynomial over symbols.

The values of symbols are in the ambient `Scope`, so equal polynomials are one object in all traces.
Reading a value (clipping a slice, testing equality, `range`) records a guard in the scope; the
guards decide for which other lengths the program is valid. `Dim.fold` computes a Dim in integers
(`evaluate`), in other Dims (`substitute`), or in any type with sums and products.

The `Kind` of a symbol holds facts that hold in every call, such as its range. A comparison that
facts of kinds decide records no guard. So a kind may claim only facts that the signature
(`axiomjit.dispatch.signature`) ensures for every call of a program.
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from axiomjit.base.errors import TraceError
from axiomjit.base.locks import new_lock
from axiomjit.base.records import Record, cached_property

SMALL: Final = 4
"""Lengths up to this one are constants of the signature, not symbols."""


class Kind(Record):
    """Numbers from `low` to `high`; None for no limit.

    Two symbols of one scope and one `distinct` kind have different values. Numbers of a kind that
    is not `distinct` may be equal. Of two strides of one array, none is larger than the stride with
    the larger `rank`.
    """

    name: str
    low: int | None = None
    high: int | None = None
    distinct: bool = False
    rank: int = 0


LENGTH: Final = Kind("length", SMALL + 1, distinct=True)
"""Lengths of arguments; equal lengths share a symbol."""
DECLARED: Final = Kind("declared length", 2)
"""Lengths named by the user: a signature distinguishes only 0, 1 and all other lengths."""
STRIDE: Final = Kind("stride", 2)
"""Positive strides in elements: a signature distinguishes 0, 1, -1, but not equal strides."""
BACKWARD: Final = Kind("backward stride", high=-2)
"""Negative strides in elements."""
ANY: Final = Kind("integer")
"""Integer arguments and lengths of axes."""
INDEX: Final = Kind("index", 0)
"""Indices of a loop's trips, counted from 0."""

Limits = tuple[int | None, int | None]
"""The least and the largest value of a number; None for no limit."""


def decided(left: Limits, right: Limits, sign: str) -> bool:
    """True if the ranges of two numbers decide the comparison `left sign right`."""
    below, above = _gap(left, right), _gap(right, left)
    apart = below > 0 or above > 0
    match sign:
        case "<" | ">=":
            return below > 0 or above >= 0
        case ">" | "<=":
            return above > 0 or below >= 0
    return apart


def _gap(lower: Limits, upper: Limits) -> int:
    """The distance from the end of `lower` to the start of `upper`; -1 if unknown."""
    (_, high), (low, _) = lower, upper
    return -1 if high is None or low is None else low - high


Monomial = tuple["Atom", ...]


class Symbol(Record):
    """A number that each call supplies; `kind` holds the facts true of the number in every call."""

    name: str
    kind: Kind = LENGTH

    def __hash__(self) -> int:
        return hash(self.name)


class Binary(Record):
    """The `//`, `min` or `max` (named by `sign`) of two lengths, as one atom of a polynomial."""

    __slots__ = ("__dict__",)

    sign: str
    left: Dim
    right: Dim

    @cached_property
    def text(self) -> str:
        """The printed text of the atom, which is also its sort key."""
        if self.sign == "//":
            return _str_quotient(self.left, self.right)
        return f"{self.sign}({self.left}, {self.right})"


Atom = Symbol | Binary
Value = TypeVar("Value")
Operators = Mapping[str, Callable[[Value, Value], Value]]
"""A function of two values for each sign of a Dim: `+`, `*`, `//`, `min`, `max`."""


def _order(atom: Atom) -> tuple[int, str]:
    text = str_atom(atom)
    return len(text), text


def str_atom(atom: Atom) -> str:
    """The atom as text."""
    return atom.name if isinstance(atom, Symbol) else atom.text


def _str_quotient(top: Dim, bottom: Dim) -> str:
    """The quotient as text; floor((n0 + 1023) / 1024) is written ceil(n0 / 1024)."""
    above = top - (bottom - 1)
    up = bottom.constant is not None and len(above.terms) < len(top.terms)
    over, under = (str(d) if len(d.terms) < 2 else f"({d})" for d in (above if up else top, bottom))
    return f"{'ceil' if up else 'floor'}({over} / {under})"


class Dim:
    """An interned integer polynomial over symbols, quotients, minima and maxima.

    Arithmetic with ints and other Dims returns Dims. Comparisons, `int()`, `range` and indexing
    read the value in the ambient scope and record a guard there.
    """

    __slots__ = ("__weakref__", "constant", "symbols", "terms")
    terms: tuple[tuple[Monomial, int], ...]
    constant: int | None
    """The integer if the Dim is constant, else None."""
    symbols: frozenset[Symbol]
    """All symbols of the Dim, also the symbols inside quotients, minima and maxima."""

    def __init__(self) -> None:
        """Refuse the call: `dim`, `named_length` and arithmetic make Dims, which are interned."""
        raise TypeError("make a Dim with dims.symbol(name) or dims.dim(int)")

    def fold(self, leaf: Callable[[int | Symbol], Value], operators: Operators[Value]) -> Value:
        """Compute the Dim in another type; `leaf` converts its integers and symbols."""
        total: Value | None = None
        for monomial, factor in self.terms:
            part = None if factor == 1 and monomial else leaf(factor)
            for atom in monomial:
                if isinstance(atom, Symbol):
                    value = leaf(atom)
                else:
                    left = atom.left.fold(leaf, operators)
                    value = operators[atom.sign](left, atom.right.fold(leaf, operators))
                part = value if part is None else operators["*"](part, value)
            assert part is not None
            total = part if total is None else operators["+"](total, part)
        return leaf(0) if total is None else total

    def __add__(self, other: int | Dim) -> Dim:
        return _combine(self, other, 1) if isinstance(other, int | Dim) else NotImplemented

    __radd__ = __add__

    def __sub__(self, other: int | Dim) -> Dim:
        return _combine(self, other, -1) if isinstance(other, int | Dim) else NotImplemented

    def __rsub__(self, other: int | Dim) -> Dim:
        return _combine(dim(other), self, -1) if isinstance(other, int | Dim) else NotImplemented

    def __neg__(self) -> Dim:
        return 0 - self

    def __mul__(self, other: int | Dim) -> Dim:
        if not isinstance(other, int | Dim):
            return NotImplemented
        right_hand = dim(other)
        for factor, rest in ((right_hand.constant, self), (self.constant, right_hand)):
            if factor == 1:
                return rest
            if factor is not None:
                return _ordered(tuple([(m, c * factor) for m, c in rest.terms]) if factor else ())
        total: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in right_hand.terms:
                key = tuple(sorted(left + right, key=_order))
                total[key] = total.get(key, 0) + a * b
        return polynomial(total)

    __rmul__ = __mul__

    def __floordiv__(self, other: int | Dim) -> Dim:
        if not isinstance(other, int | Dim):
            return NotImplemented
        bottom = dim(other)
        if bottom.constant == 1:
            return self
        if self.constant is not None and bottom.constant is not None:
            return dim(self.constant // bottom.constant)
        if bottom.constant and all(c % bottom.constant == 0 for _, c in self.terms):
            return polynomial({m: c // bottom.constant for m, c in self.terms})
        return dim(Binary("//", self, bottom))

    def __rfloordiv__(self, other: int) -> Dim:
        return dim(other) // self

    def __mod__(self, other: int | Dim) -> Dim:
        return self - self // other * other

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, int | Dim):
            return NotImplemented
        return compare(self, other, "==")

    def __lt__(self, other: int | Dim) -> bool:
        return compare(self, other, "<")

    def __le__(self, other: int | Dim) -> bool:
        return compare(self, other, "<=")

    def __gt__(self, other: int | Dim) -> bool:
        return compare(self, other, ">")

    def __ge__(self, other: int | Dim) -> bool:
        return compare(self, other, ">=")

    __hash__ = object.__hash__  # by identity, in C

    def __bool__(self) -> bool:
        return self != 0

    def __index__(self) -> int:
        scope = current_scope()
        if scope.indices is not None and scope.indices.occur_in(self):
            return scope.indices.value(self)
        value = scope.value(self)
        compare(self, value, "==")
        return value

    __int__ = __index__

    def __repr__(self) -> str:
        return str(self)

    def __str__(self) -> str:
        if not self.terms:
            return "0"
        text = ""
        for monomial, factor in self.terms:
            atoms = [str_atom(a) for a in monomial]
            size = [] if abs(factor) == 1 and atoms else [str(abs(factor))]
            sign = ("-" if factor < 0 else "") if not text else (" - " if factor < 0 else " + ")
            text += sign + "*".join(size + atoms)
        return text

    def __reduce__(self) -> tuple[Callable[..., Dim], tuple[dict[Monomial, int]]]:
        return polynomial, (dict(self.terms),)


_lock: Final = new_lock()
_interned: Final[WeakValueDictionary[tuple[tuple[Monomial, int], ...], Dim]] = WeakValueDictionary()


def polynomial(terms: Mapping[Monomial, int]) -> Dim:
    """The interned Dim with these terms."""
    kept = [(m, c) for m, c in terms.items() if c]
    return _ordered(tuple(kept if len(kept) < 2 else sorted(kept, key=_sort_key)))


def _sort_key(term: tuple[Monomial, int]) -> tuple[int, list[tuple[int, str]]]:
    """The sort key of a term: products of many atoms first."""
    return -len(term[0]), [_order(atom) for atom in term[0]]


def _ordered(terms: tuple[tuple[Monomial, int], ...]) -> Dim:
    """The interned Dim with these sorted, nonzero terms."""
    with _lock:
        found = _interned.get(terms)
        if found is None:
            found = object.__new__(Dim)
            found.terms = terms
            whole = not terms or (len(terms) == 1 and not terms[0][0])
            found.constant = sum([factor for _, factor in terms]) if whole else None
            found.symbols = frozenset() if whole else _symbols_of(terms)
            _interned[terms] = found
    return found


def _symbols_of(terms: tuple[tuple[Monomial, int], ...]) -> frozenset[Symbol]:
    found: set[Symbol] = set()
    for monomial, _ in terms:
        for atom in monomial:
            found |= {atom} if isinstance(atom, Symbol) else atom.left.symbols | atom.right.symbols
    return frozenset(found)


def _combine(left: Dim, right: int | Dim, sign: int) -> Dim:
    right = dim(right)
    if not right.terms:
        return left
    if left.constant is not None and right.constant is not None:
        return _constant_dim(left.constant + sign * right.constant)
    total = dict(left.terms)
    for monomial, factor in right.terms:
        total[monomial] = total.get(monomial, 0) + sign * factor
    return polynomial(total)


def dim(value: int | Atom | Dim) -> Dim:
    """The Dim of an integer or atom; a Dim is returned unchanged."""
    if isinstance(value, Dim):
        return value
    return (
        polynomial({(value,): 1})
        if isinstance(value, Atom)
        else _constant_dim(operator.index(value))
    )


@functools.lru_cache(maxsize=256)
def _constant_dim(value: int) -> Dim:
    """The interned Dim of an integer; the cache avoids the lock."""
    return _ordered((((), value),) if value else ())


def named_length(name: str, kind: Kind = LENGTH) -> Dim:
    """The Dim of one symbol called `name`."""
    return dim(Symbol(name, kind))


def product(lengths: tuple[Dim, ...]) -> Dim:
    """The product of lengths; 1 if there are no lengths."""
    return functools.reduce(operator.mul, lengths, dim(1))


def symbols_in(*lengths: Dim) -> frozenset[Symbol]:
    """All symbols in these lengths."""
    return frozenset().union(*(length.symbols for length in lengths))


_INTEGERS: Final[Operators[int]] = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "min": min,
    "max": max,
}


def evaluate(length: Dim, values: Mapping[Symbol, int]) -> int:
    """The integer value of a Dim.

    Raises:
        KeyError: a symbol has no value.
    """
    if length.constant is not None:
        return length.constant
    return length.fold(lambda leaf: values[leaf] if isinstance(leaf, Symbol) else leaf, _INTEGERS)


class Guard(Record):
    """A comparison made while tracing: `left sign right` was `outcome`."""

    left: Dim
    right: Dim
    sign: str
    outcome: bool

    def holds(self, values: Mapping[Symbol, int]) -> bool:
        """True if the comparison has the same outcome for these values."""
        left, right = evaluate(self.left, values), evaluate(self.right, values)
        return SIGNS[self.sign](left, right) == self.outcome


def pinned(guards: Iterable[Guard]) -> dict[Dim, int]:
    """The lengths that guards fix to a number, each with its number."""
    pins: dict[Dim, int] = {}
    for guard in guards:
        for one, other in ((guard.left, guard.right), (guard.right, guard.left)):
            if guard.sign == "==" and guard.outcome and other.constant is not None:
                pins[one] = other.constant
    return pins


_BY_SIGN = ("==", operator.eq), ("<", operator.lt), ("<=", operator.le), (">", operator.gt)
SIGNS: Final[dict[str, Callable[[int, int], bool]]] = dict((*_BY_SIGN, (">=", operator.ge)))
MIRRORED: Final = {"==": "==", "!=": "!=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
"""The sign of a comparison whose sides are swapped."""


class Indices(Protocol):
    """The indices of the loops whose bodies are being traced or lowered (`index_ranges`)."""

    def occur_in(self, *lengths: Dim) -> bool:
        """True if one of the lengths depends on a loop index."""

    def value(self, length: Dim) -> int:
        """The value of a length in all trips."""

    def outcome(self, apart: Dim, sign: str) -> bool:
        """The outcome of the comparison of `apart` with 0 by `sign`, in all trips."""


class Scope:
    """The values of the symbols of one trace, and the guards for comparisons of these values.

    Comparisons decided by the symbols' kinds hold in every call and need no guard. A comparison
    of loop indices is decided at the ends of their ranges, for all trips.
    """

    indices: Indices | None = None

    def __init__(self, values: Mapping[Symbol, int]) -> None:
        """Start with these values and without guards."""
        self.values = dict(values)
        self.guards: dict[Guard, None] = {}
        self.data_dependent: dict[object, Symbol] = {}
        """For each mask, the symbol of the length that it decides (see `data_dependent_length`)."""
        self.computed: dict[Symbol, str] = {}
        """The computed numbers whose values in this call decide comparisons, in order, each with
        the user's line that asked for it."""

    def record(self, guard: Guard) -> None:
        """Store a guard."""
        self.guards[guard] = None

    def restart(self) -> None:
        """Drop guards and data-dependent lengths before another trace of the function."""
        self.guards.clear()
        self.data_dependent.clear()
        self.computed.clear()

    def value(self, length: Dim) -> int:
        """The length's value in this call, without recording a guard."""
        return evaluate(length, self.values)


AnyScope = TypeVar("AnyScope", "Scope", None)
_scope: ContextVar[Scope | None] = ContextVar("axiomjit_scope", default=None)


def current_scope() -> Scope:
    """The ambient scope, in which symbols have values.

    Raises:
        TraceError: no scope is entered, so symbolic lengths have no values.
    """
    scope = _scope.get()
    if scope is None:
        raise TraceError(
            "the value of a symbolic length is needed",
            "no lengths are bound here",
            "give the axis a length, or look at the length inside the traced function",
        )
    return scope


def in_body() -> bool:
    """True while the body of a loop or branch is made: lengths are compared for all its trips."""
    scope = _scope.get()
    return scope is not None and scope.indices is not None


@contextmanager
def bound(scope: AnyScope) -> Iterator[AnyScope]:
    """Make `scope` the ambient scope inside a block; with None, the block has no scope."""
    token = _scope.set(scope)
    try:
        yield scope
    finally:
        _scope.reset(token)


def compare(left: Dim, right: int | Dim, sign: str) -> bool:
    """The outcome of `left sign right`; no guard is recorded if the polynomials decide it.

    Without a scope or a symbol's value, `==` compares the polynomials; other signs raise errors.
    """
    right = dim(right)
    apart = 0 if left is right else (left - right).constant
    if apart is not None:
        return SIGNS[sign](apart, 0)
    if sign == "==" and _scope.get() is None:
        return False
    scope = current_scope()
    if scope.indices is not None and scope.indices.occur_in(left, right):
        return scope.indices.outcome(left - right, sign)
    try:
        outcome = SIGNS[sign](scope.value(left), scope.value(right))
    except KeyError:  # lengths of axes, while a function of arrays is traced
        if sign == "==":
            return False
        raise
    if not _is_decided(left, right, sign):
        scope.record(Guard(left, right, sign, outcome))
    return outcome


def _is_decided(left: Dim, right: Dim, sign: str) -> bool:
    """True if the kinds of the symbols decide the comparison (see `Scope`)."""
    one, other = symbol_of(left), symbol_of(right)
    if sign == "==" and one and other and one.kind == other.kind and one.kind.distinct:
        return True
    return decided(_limits(left, one), _limits(right, other), sign)


def _limits(length: Dim, alone: Symbol | None) -> Limits:
    constant = length.constant
    return (alone.kind.low, alone.kind.high) if alone else (constant, constant)


def symbol_of(length: Dim) -> Symbol | None:
    """The symbol if the length consists of one symbol, else None."""
    monomial, factor = length.terms[0] if len(length.terms) == 1 else ((), 0)
    atom = monomial[0] if factor == 1 and len(monomial) == 1 else None
    return atom if isinstance(atom, Symbol) else None


def exact_quotient(top: Dim, bottom: Dim) -> Dim | None:
    """The polynomial `top / bottom` if the division is exact, else None."""
    if bottom == 0:
        return bottom if top == 0 else None
    rest, quotient = top, dim(0)
    lead, factor = bottom.terms[0]
    while rest.terms:
        monomial, count = rest.terms[0]
        over = _divided(monomial, lead)
        if over is None or count % factor:
            return None
        part = polynomial({over: count // factor})
        quotient, rest = quotient + part, rest - part * bottom
    return quotient


def _divided(monomial: Monomial, divisor: Monomial) -> Monomial | None:
    left = list(monomial)
    for atom in divisor:
        if atom not in left:
            return None
        left.remove(atom)
    return tuple(left)


def smaller(left: int | Dim, right: int | Dim) -> Dim:
    """The smaller length, as a Dim; no guard is recorded."""
    return _min_or_max("min", dim(left), dim(right))


def larger(left: int | Dim, right: int | Dim) -> Dim:
    """The larger length, as a Dim; no guard is recorded."""
    return _min_or_max("max", dim(left), dim(right))


def largest_of(lengths: Sequence[Dim]) -> Dim:
    """The largest of several lengths; no guard is recorded."""
    return functools.reduce(larger, lengths)


def _min_or_max(sign: str, left: Dim, right: Dim) -> Dim:
    apart = (left - right).constant
    if apart is not None:
        return left if (apart <= 0) is (sign == "min") else right
    return dim(Binary(sign, left, right))


DIMS: Final[Operators[Dim]] = {
    "+": operator.add,
    "*": operator.mul,
    "//": operator.floordiv,
    "min": smaller,
    "max": larger,
}


def substitute(length: Dim, values: Mapping[Symbol, int | Dim]) -> Dim:
    """The Dim with symbols replaced; symbols missing in `values` stay."""
    return length.fold(
        lambda leaf: dim(values.get(leaf, leaf) if isinstance(leaf, Symbol) else leaf), DIMS
    )


def affine_pieces(length: Dim, symbol: Symbol) -> list[Dim] | None:
    """The affine pieces of a length: minima and maxima of a symbol replaced by their operands.

    Returns None if a piece is not affine in the symbol.
    """
    for monomial, _ in length.terms:
        for atom in monomial:
            if isinstance(atom, Binary) and symbol in atom.left.symbols | atom.right.symbols:
                if atom.sign == "//":
                    return None
                operands = atom.left, atom.right
                sides = [affine_pieces(_replaced(length, atom, by), symbol) for by in operands]
                return None if None in sides else [one for side in sides for one in side or ()]
        if monomial.count(symbol) > 1:
            return None
    return [length]


def _replaced(length: Dim, atom: Atom, by: Dim) -> Dim:
    """The length with `by` in place of an atom."""
    parts = (
        product(tuple(by if one == atom else dim(one) for one in monomial)) * factor
        for monomial, factor in length.terms
    )
    return sum(parts, dim(0))


Values = Sequence[int]


class Lengths:
    """A numbered list of symbolic lengths, which `at` evaluates together.

    Most programs evaluate their lengths once. From the second evaluation on, a compiled Python
    function computes all values, several times as fast.
    """

    __slots__ = ("_compiled", "_numbers", "_was_asked")

    def __init__(self, lengths: Iterable[Dim] = ()) -> None:
        self._numbers: dict[Dim, int] = {}
        self._compiled: Callable[[Mapping[Symbol, int]], Values] | None = None
        self._was_asked = False
        for length in lengths:
            self.number(length)

    def number(self, length: Dim) -> int:
        """The index of a length among the values; all lengths are added before the first `at`."""
        return self._numbers.setdefault(length, len(self._numbers))

    def at(self, values: Mapping[Symbol, int]) -> Values:
        """The values of all lengths, in the order of their numbers.

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
    """The guards of a program; `hold` evaluates the sides of all guards together."""

    def __init__(self, guards: Iterable[Guard]) -> None:
        self._lengths = Lengths()
        number = self._lengths.number
        self._sides = [(number(g.left), number(g.right), SIGNS[g.sign], g.outcome) for g in self]

    def hold(self, values: Mapping[Symbol, int]) -> bool:
        """True if every guard has its recorded outcome."""
        if not self:
            return True
        at = self._lengths.at(values)
        return all(sign(at[a], at[b]) == outcome for a, b, sign, outcome in self._sides)


def _compiled(lengths: Iterable[Dim]) -> Callable[[Mapping[Symbol, int]], Values]:
    """Compile a function that evaluates lengths in order; common subexpressions are shared."""
    names: dict[str, str] = {}  # the variable that holds each expression
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
    # safe: generated names, and integers
    exec(f"def values(v):\n{body}    return [{found}]", space)
    made: Callable[[Mapping[Symbol, int]], Values] = space["values"]  # type: ignore[assignment]
    return made
