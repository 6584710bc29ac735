"""The table of primitives and the table of accumulators: one row each, its rules beside it.

A row gives the NumPy function that defines its meaning (and, for ufuncs, its dtype rule), its
form in generated source, the dtypes that have such a form, whether LLVM makes packed code of it,
and what it costs. `{0} {1} {2}` stand for the operands, `{dtype}` for the result's code.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from axiomjit.dtypes import BOOL, DTYPES, FLOAT, INT, SINGLE, DType
from axiomjit.records import Record

FLOATS: Final = frozenset({"f4", "f8"})
NUMBERS: Final = FLOATS | {"i8"}
ALL: Final = NUMBERS | {"b1"}


class Primitive(Record):
    """One scalar operation.

    `weight` is its cost in additions; `sign` its infix form where people write one.
    """

    name: str
    arity: int
    evaluate: Callable[..., np.ndarray]
    source: str
    loops: frozenset[str] = ALL
    vector: bool = True
    weight: int = 1
    sign: str | None = None

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def keeps_weak(self) -> bool:
        """Whether Python does this itself where all operands are Python numbers."""
        return self.sign is not None or self.name == "cast"

    @property
    def ufunc(self) -> np.ufunc | None:
        """The ufunc whose loops decide this row's dtypes; None where a rule of its own does."""
        return self.evaluate if isinstance(self.evaluate, np.ufunc) else None


VIEW: Final = Primitive("view", 1, np.asarray, "{0}", weight=0)
READ_ONLY: Final = Primitive("read_only", 1, np.asarray, "{0}", weight=0)
CAST: Final = Primitive("cast", 1, np.asarray, "{dtype}({0})")
COPY: Final = Primitive("copy", 1, np.array, "{0}")
PACK: Final = Primitive("pack", 1, partial(np.array, order="C"), "{0}")
"""A copy that is always stored, dense in C order, so that its dimensions can be merged."""
WHERE: Final = Primitive("where", 3, np.where, "select({0}, {1}, {2})")

_ROWS: Final = (
    VIEW,
    READ_ONLY,
    CAST,
    COPY,
    PACK,
    WHERE,
    Primitive("add", 2, np.add, "{0} + {1}", NUMBERS, sign="+"),
    Primitive("subtract", 2, np.subtract, "{0} - {1}", NUMBERS, sign="-"),
    Primitive("multiply", 2, np.multiply, "{0} * {1}", NUMBERS, sign="*"),
    Primitive("divide", 2, np.divide, "{0} / {1}", FLOATS, weight=8, sign="/"),
    Primitive("power", 2, np.power, "power({0}, {1})", FLOATS, False, 80, "**"),
    Primitive("negative", 1, np.negative, "-{0}", NUMBERS, sign="-"),
    Primitive("absolute", 1, np.absolute, "absolute({0})", NUMBERS),
    Primitive("sqrt", 1, np.sqrt, "sqrt({0})", FLOATS, weight=12),
    Primitive("maximum", 2, np.maximum, "maximum({0}, {1})"),
    Primitive("minimum", 2, np.minimum, "minimum({0}, {1})"),
    Primitive("equal", 2, np.equal, "{0} == {1}", sign="=="),
    Primitive("not_equal", 2, np.not_equal, "{0} != {1}", sign="!="),
    Primitive("less", 2, np.less, "{0} < {1}", NUMBERS, sign="<"),
    Primitive("less_equal", 2, np.less_equal, "{0} <= {1}", NUMBERS, sign="<="),
    Primitive("greater", 2, np.greater, "{0} > {1}", NUMBERS, sign=">"),
    Primitive("greater_equal", 2, np.greater_equal, "{0} >= {1}", NUMBERS, sign=">="),
)
PRIMITIVES: Final[dict[str, Primitive]] = {row.name: row for row in _ROWS}


class Accumulator(Record):
    """An associative fold over iterators.

    `lane` combines a state with one more element where lanes may be reordered, `exact` combines
    two states in order. `blocked` accumulators round, so they run in fixed blocks whose partial
    results form a tree (design 4.7), by functions whose names end in `tree`. `reduce` is NumPy's
    fold, which defines the meaning.
    """

    name: str
    reduce: np.ufunc
    lane: str
    exact: str
    blocked: bool
    has_identity: bool
    loops: frozenset[str] = ALL
    tree: str = ""

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def result_dtype(self, operand: DType) -> DType:
        """dtype of the result, NumPy's rule: sums of bools count, tests give bools."""
        if self.name in ("any", "all"):
            return BOOL
        return INT if self.blocked and operand == BOOL else operand

    def state_dtype(self, result: DType) -> DType:
        """dtype of the state: float32 sums run in float64 and are rounded once."""
        return FLOAT if self.blocked and result == SINGLE else result

    def initial(self, dtype: DType) -> float | int | bool:
        """The neutral value of a state of this dtype."""
        if self.blocked:
            start = int(self.name == "prod")
            return float(start) if dtype.kind == "f" else start
        low = self.name in ("max", "any")
        if dtype == BOOL:
            return not low
        if dtype.kind in "iu":
            info = np.iinfo(dtype.name)
            return info.min if low else info.max
        return float("-inf") if low else float("inf")


SUM: Final = Accumulator("sum", np.add, "add_reassoc({0}, {1})", "{0} + {1}", True, True, NUMBERS)
PROD: Final = Accumulator(
    *("prod", np.multiply, "mul_reassoc({0}, {1})", "{0} * {1}", True, True, NUMBERS, "_mul")
)
MAX: Final = Accumulator("max", np.maximum, "maximum({0}, {1})", "maximum({0}, {1})", False, False)
MIN: Final = Accumulator("min", np.minimum, "minimum({0}, {1})", "minimum({0}, {1})", False, False)
TESTS: Final = frozenset({"b1"})
ANY: Final = Accumulator("any", np.logical_or, "{0} | {1}", "{0} | {1}", False, True, TESTS)
ALL_OF: Final = Accumulator("all", np.logical_and, "{0} & {1}", "{0} & {1}", False, True, TESTS)
ACCUMULATORS: Final[dict[str, Accumulator]] = {
    row.name: row for row in (SUM, PROD, MAX, MIN, ANY, ALL_OF)
}

assert set(DTYPES) == ALL  # every dtype is either in a row's loops or refused by it
