"""Words of a native call: integer arguments, and the lengths that follow from them.

A word has 64 bits and a slot. A guard table reads integer arguments into slots and computes lengths
from these. The table does not fit the call if a length is beyond the table's limits or needs more
than 64 bits. Words of instructions that depend on integer arguments are then copied from their
slots.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Final

from axiomjit.base.records import Record
from axiomjit.runtime.native_call import structures as fields
from axiomjit.runtime.native_call.builder import EntryBuilder, Row
from axiomjit.runtime.object_cache.llvm_text import Value
from axiomjit.symbolic.dims import MIRRORED, Dim, Guard, Symbol

LEAST, LARGEST = -(2**63), 2**63 - 1
"""The smallest and the largest number that fits into a word."""


class FloatWord(Record):
    """A word with the bits of a length as float64."""

    length: Dim


Word = int | Dim | FloatWord
"""A word of an instruction: a number, or a word that each call computes."""


def read_integer(e: EntryBuilder, row: Row, value: Value, missed: str) -> Value:
    """The value of an int; the guard fails for other types and for more than 64 bits."""
    e.require(e.test("eq", e.load(value, fields.TYPE), row["type"]), missed)
    number = e.call(e.runtime("int_value"), value, e.scratch)
    e.require(e.test("eq", e.load(e.scratch, 0, bits=32), 0), missed)
    return number


def _give(e: EntryBuilder, row: Row, value: Value) -> None:
    e.store(value, e.at(e.values, row["slot"]))


def _operands(e: EntryBuilder, row: Row) -> tuple[Value, Value]:
    return e.word(e.values, row["left"]), e.word(e.values, row["right"])


def _checked(e: EntryBuilder, operation: str, left: Value, right: Value, missed: str) -> Value:
    result, fits = e.checked(operation, left, right)
    e.require(fits, missed)
    return result


def _read_integer(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    _give(e, row, read_integer(e, row, value, missed))


def _linear(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit code for `factor * left + addend`."""
    scaled = _checked(e, "smul", e.word(e.values, row["left"]), row["factor"], missed)
    _give(e, row, _checked(e, "sadd", scaled, row["addend"], missed))


def _sum(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    _give(e, row, _checked(e, "sadd", *_operands(e, row), missed))


def _product(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    _give(e, row, _checked(e, "smul", *_operands(e, row), missed))


def _quotient(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the quotient, rounded down as by Python's `//`; the guard fails for divisors below 1."""
    left, right = _operands(e, row)
    e.require(e.test("sgt", right, 0), missed)
    _give(e, row, e.floor_quotient(left, right))


def _smaller(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    left, right = _operands(e, row)
    _give(e, row, e.select(e.test("slt", left, right), left, right))


def _larger(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    left, right = _operands(e, row)
    _give(e, row, e.select(e.test("sgt", left, right), left, right))


def _as_float(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    _give(e, row, e.float_bits(e.word(e.values, row["left"])))


def _within(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that a word is in a range."""
    word = e.word(e.values, row["slot"])
    e.require(e.test("sge", word, row["low"]), missed)
    e.require(e.test("sle", word, row["high"]), missed)


def _differs(e: EntryBuilder, row: Row, value: Value, missed: str) -> None:
    """Emit the check that a word differs from a number."""
    e.require(e.test("ne", e.word(e.values, row["slot"]), row["other"]), missed)


_PAIR: Final = ("slot", "left", "right")
WORD_ROWS: Final[dict[str, tuple[tuple[str, ...], Callable[..., None]]]] = {
    "integer_word": (("type", "slot"), _read_integer),
    "linear": (("slot", "left", "factor", "addend"), _linear),
    "sum": (_PAIR, _sum),
    "product": (_PAIR, _product),
    "//": (_PAIR, _quotient),
    "min": (_PAIR, _smaller),
    "max": (_PAIR, _larger),
    "as_float": (("slot", "left"), _as_float),
    "within": (("slot", "low", "high"), _within),
    "differs": (("slot", "other"), _differs),
}
"""The words and the code of each row; the names "//", "min" and "max" are signs of a `Dim`."""
COMPUTED: Final = tuple(name for name in WORD_ROWS if name != "integer_word")
"""The rows that read only words, and no value of the vector."""


class Limits:
    """The allowed values of a sum of products: a range without some numbers."""

    def __init__(self) -> None:
        self.low, self.high, self.others = LEAST, LARGEST, set[int]()

    def take(self, sign: str, bound: int) -> None:
        """Add the condition that the value has the relation `sign` to `bound`."""
        if sign == "!=":
            self.others.add(bound)
        if sign in ("==", ">", ">="):
            self.low = max(self.low, bound + (sign == ">"))
        if sign in ("==", "<", "<="):
            self.high = min(self.high, bound - (sign == "<"))


_NEGATED: Final = {"==": "!=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
Rows = list[tuple[str, tuple[int, ...]]]


class _Linear(Record):
    """The number `factor * word + addend`; only the addend if the word has no slot."""

    slot: int | None
    factor: int
    addend: int


class Words:
    """The words of one guard table: their slots, and the rows that compute and check them."""

    def __init__(self, first: int) -> None:
        """Start without words; `first` is the first free slot."""
        self._first, self.count = first, 0
        self._symbols: dict[Symbol, int] = {}
        self._known: dict[tuple[str, tuple[int, ...]], int] = {}
        self._limits: dict[Dim, Limits] = {}
        self.rows: Rows = []

    def given(self, symbol: Symbol) -> int:
        """A new slot for the value of a symbol; another row reads the value."""
        slot = self._symbols[symbol] = self._next()
        return slot

    def slot(self, word: Dim | FloatWord) -> int:
        """The slot of a word; adds rows that compute the word if it has no slot yet.

        Raises:
            KeyError: the word depends on a symbol without a slot.
        """
        if isinstance(word, FloatWord):
            return self._computed("as_float", self.slot(word.length))
        operators = {sign: partial(self._operate, sign) for sign in ("+", "*", "//", "min", "max")}
        return self._slot_of(word.fold(self._leaf, operators))

    def _leaf(self, leaf: int | Symbol) -> _Linear:
        if isinstance(leaf, Symbol):
            return _Linear(self._symbols[leaf], 1, 0)
        return _Linear(None, 0, leaf)

    def _operate(self, sign: str, left: _Linear, right: _Linear) -> _Linear:
        for one, other in ((left, right), (right, left)):
            if sign == "+" and other.slot is None:
                return one.replace(addend=one.addend + other.addend)
            if sign == "*" and other.slot is None:
                n = other.addend
                return one.replace(factor=one.factor * n, addend=one.addend * n)
        row = {"+": "sum", "*": "product"}.get(sign, sign)
        return _Linear(self._computed(row, self._slot_of(left), self._slot_of(right)), 1, 0)

    def _slot_of(self, value: _Linear) -> int:
        if value.slot is not None and (value.factor, value.addend) == (1, 0):
            return value.slot
        first = next(iter(self._symbols.values())) if value.slot is None else value.slot
        return self._computed("linear", first, value.factor, value.addend)

    def _computed(self, row: str, *operands: int) -> int:
        """The slot of the result of a row; equal rows are added once."""
        if (row, operands) not in self._known:
            slot = self._known[row, operands] = self._next()
            self.rows.append((row, (slot, *operands)))
        return self._known[row, operands]

    def _next(self) -> int:
        self.count += 1
        return self._first + self.count - 1

    def limit(self, guard: Guard) -> None:
        """Require the outcome of a comparison; merge the limits of the same sum of products."""
        sign = guard.sign if guard.outcome else _NEGATED[guard.sign]
        apart = guard.left - guard.right
        constant = dict(apart.terms).get((), 0)
        varying = apart - constant
        if not varying.terms:
            return  # the comparison holds for all integers
        if varying.terms[0][1] < 0:
            varying, constant, sign = -varying, -constant, MIRRORED[sign]
        self._limits.setdefault(varying, Limits()).take(sign, -constant)

    def finish(self, others: Iterable[Dim | FloatWord]) -> Rows:
        """All rows, with rows that compute further words and rows that check limits."""
        for word in others:
            self.slot(word)
        for varying, limits in self._limits.items():
            slot = self.slot(varying)
            low, high = max(limits.low, LEAST), min(limits.high, LARGEST)
            if (low, high) != (LEAST, LARGEST):
                self.rows.append(("within", (slot, low, high)))
            fitting = (n for n in sorted(limits.others) if low <= n <= high)
            self.rows += [("differs", (slot, n)) for n in fitting]
        return self.rows
