"""The table of primitives and the table of accumulators; a row has all facts of one entry.

A row has the NumPy function that defines its meaning (and, for ufuncs, its dtype rule), its form in
generated source, the dtypes of that form, the dtypes in which it keeps a loop scalar, and its cost.
`{0} {1} {2}` are replaced by the operands, `{dtype}` by the result's cast.

Nothing relies on Numba's promotion: a result in another type is cast back at once. As in NumPy,
float16 is computed in float32 and rounded after each operation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from operator import itemgetter, methodcaller
from typing import Any, Final

import numpy as np
from numpy._core import umath

from axiomjit.base.array_values import COMPARISONS, SIGNS
from axiomjit.base.dtypes import (
    BOOL,
    COMPLEX,
    DTYPES,
    FLOAT,
    HALF,
    INT,
    SINGLE,
    UNSIGNED,
    DType,
    cast_name,
    code,
    complex_dtype,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    is_real,
    is_unsigned,
    value_range,
)
from axiomjit.base.records import Record
from axiomjit.base.target import Target

FLOATS: Final = frozenset(code for code, dtype in DTYPES.items() if is_float(dtype))
INTEGERS: Final = frozenset(code for code, dtype in DTYPES.items() if is_integer(dtype))
COMPLEXES: Final = frozenset(code for code, dtype in DTYPES.items() if is_complex(dtype))
REALS: Final = FLOATS | INTEGERS
NUMBERS: Final = REALS | COMPLEXES
ORDERED: Final = REALS | {"b1"}
ALL: Final = NUMBERS | {"b1"}
BITS: Final = INTEGERS | {"b1"}
LONG: Final = frozenset({"i8", "u8"})
_CLIP: Final[np.ufunc] = umath.clip  # type: ignore[attr-defined]  # np.clip is a function
UNWIDENED: Final = frozenset({"b1", "i8", "f4", "f8", "c8", "c16"})
"""Dtypes that operators keep in a compiled kernel; Numba widens results of other dtypes."""
_COMPARISONS: Final = frozenset(name for name, _ in COMPARISONS.values())
COMPLEX_CALLS: Final = frozenset(
    {"multiply", "divide", "less", "less_equal", "greater", "greater_equal", "clip"}
)
"""Operations that are function calls for complex numbers, computed by NumPy's formulas."""


class Primitive(Record):
    """A scalar operation with `arity` operands; ANY_NUMBER allows any number of operands.

    `weight` is the cost in additions; `bools` is the form for bools, if bools have another form. On
    CPUs that cannot divide vectors of 64-bit integers, LLVM does not vectorise a loop that has the
    operation in one of the dtypes `scalar`. `chooser` has the position and the dtype of the operand
    that selects one of the other operands. A primitive without ufunc has the dtypes of the ufunc
    `like`. Results may differ from NumPy's by up to `ulps` units in the last place, including
    NumPy's own errors. The runtime implements an `elementary` function by many operations.
    """

    name: str
    arity: int
    evaluate: Callable[..., Any]
    source: str
    loops: frozenset[str] = ALL
    scalar: frozenset[str] = frozenset()
    weight: int = 1
    bools: str | None = None
    ulps: int = 0
    elementary: bool = False
    like: np.ufunc | None = None
    chooser: tuple[int, DType] | None = None

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __reduce__(self) -> Any:
        """Pickle a row of the table by its name, so that it is one object in each process."""
        if PRIMITIVES.get(self.name) is self:
            return primitive_named, (self.name,)
        return super().__reduce__()

    def is_scalar(self, code: str, target: Target) -> bool:
        """True if the operation prevents vectorising of a loop in this dtype on a target."""
        return code in self.scalar and not target.divides_long_vectors

    @property
    def sign(self) -> str | None:
        """The operator in generated source, between or before operands; None for a call."""
        return SIGNS.get(self.name)

    @property
    def keeps_weak(self) -> bool:
        """True if the result is a Python number whenever all operands are Python numbers."""
        named = ("cast", "real", "imag", "conjugate", "absolute", "sqrt")
        return self.sign is not None or self.name in named

    @property
    def compares(self) -> bool:
        """True for a comparison, which may mix unsigned and signed 64-bit integers, as in NumPy."""
        return self.name in _COMPARISONS

    @property
    def ufunc(self) -> np.ufunc | None:
        """The ufunc that defines this row; None if a ufunc does not define it."""
        return self.evaluate if isinstance(self.evaluate, np.ufunc) else None

    @property
    def loop(self) -> np.ufunc | None:
        """The ufunc whose loops decide the dtypes of this row; None if another rule decides."""
        return self.like or self.ufunc

    def written(self, operands: Sequence[str], codes: Sequence[str], result: str) -> str:
        """The generated source of the operation, for operands with these names and dtypes."""
        if self.loop is None:
            return self.source.format(*operands, dtype=cast_name(result))
        of_complex = codes[0] in COMPLEXES and self.name in COMPLEX_CALLS
        if of_complex or len(set(codes)) > 1:  # signed compared with unsigned integers
            return f"{self.name}({', '.join(operands)})"
        source = self.bools if self.bools is not None and codes[0] == "b1" else self.source
        if codes[0] == "f2":
            operands = [f"f4({name})" for name in operands]
        text = source.format(*operands)
        widened = result == "f2" or ("(" not in source and result not in UNWIDENED)
        return f"{cast_name(result)}({text})" if widened else text


VIEW: Final = Primitive("view", 1, np.asarray, "{0}", weight=0)
READ_ONLY: Final = Primitive("read_only", 1, np.asarray, "{0}", weight=0)
CAST: Final = Primitive("cast", 1, np.asarray, "{dtype}({0})")
COPY: Final = Primitive("copy", 1, np.array, "{0}")
NUMBER: Final = Primitive("number", 1, np.array, "{0}", weight=0)
"""The value of an array without dimensions, or of a NumPy scalar, as a Python number."""
PACK: Final = Primitive("pack", 1, partial(np.array, order="C"), "{0}")
"""A copy that is always stored, in C order without gaps, so that its dimensions can be merged."""
MERGED: Final = PACK.replace(name="merged")
"""A PACK that only the merging of dimensions needs; `elide_copies` removes it if possible."""
PACKS: Final = (PACK, MERGED)
ANY_NUMBER: Final = -1
SAVE: Final = Primitive("save", 1, np.array, "{0}")
"""A copy, in the same layout, of an operand that is overwritten next."""
MATERIALIZE: Final = Primitive("materialize", 1, np.array, "{0}")
"""A copy that the user asked for; it is always stored."""
COPIES: Final = (COPY, *PACKS, SAVE, MATERIALIZE)
UPDATE: Final = Primitive("update", 2, np.asarray, "{1}", weight=0)
"""The value of a storage after the second operand is written into all or part of the first."""
JOIN: Final = Primitive("join", ANY_NUMBER, np.asarray, "", weight=0)
"""A join of arrays: each point has the value of the operand whose region contains the point."""
POSITION: Final = Primitive("position", 0, np.arange, "", frozenset({"i8"}), weight=0)
"""The index of each point along the only iterator."""


def _times(*factors: Any) -> Any:
    return math.prod(factors[1:], start=factors[0])


PRODUCT: Final = Primitive("product", ANY_NUMBER, _times, "")
"""The summed product of all operands; `order_contractions` splits it into pairwise products."""
STATE: Final = Primitive("state", ANY_NUMBER, np.asarray, "", weight=0)
"""Several values combined to one state of a fold."""
GATHER: Final = Primitive("gather", ANY_NUMBER, np.take, "")
"""The first operand, read at the positions that the other operands hold."""
WHERE: Final = Primitive("where", 3, np.where, "select({0}, {1}, {2})", chooser=(0, BOOL))
REAL: Final = Primitive("real", 1, np.real, "real({0})", COMPLEXES, weight=0)
IMAG: Final = Primitive("imag", 1, np.imag, "imag({0})", COMPLEXES, weight=0)


def _complex_of(re: Any, im: Any) -> Any:
    whole = np.empty(np.broadcast_shapes(np.shape(re), np.shape(im)), complex_dtype(re.dtype))
    whole.real, whole.imag = re, im
    return whole


COMPLEX_OF: Final = Primitive(
    "complex_of", 2, _complex_of, "complex_of({0}, {1})", frozenset({"f4", "f8"}), weight=0
)
"""The complex number whose parts are two floats of the same dtype."""


@lru_cache
def part_of_state(k: int) -> Primitive:
    """The primitive that selects value k of a state with several values."""
    return Primitive("part", 1, itemgetter(f"s{k}"), str(k), weight=0)


REAL_VIEW: Final = REAL.replace(name="real_view")
"""The real parts, as a view of the same memory; loops that read the view compute `real`."""
IMAG_VIEW: Final = IMAG.replace(name="imag_view")


def _bits_as(dtype: DType) -> Primitive:
    name = f"bits_as_{cast_name(code(dtype))}"
    return Primitive(name, 1, methodcaller("view", dtype), name + "({0})", weight=0)


BITS_AS: Final = {d: _bits_as(d) for d in DTYPES.values() if is_real(d)}
"""For each dtype, the primitive that reads the bits of elements of the same size as this dtype."""
BITS_VIEWS: Final = {d: one.replace(name=f"{one.name}_view") for d, one in BITS_AS.items()}
"""For each dtype, the primitive of `BITS_AS` as a view of the same memory."""


def _divides(ufunc: np.ufunc) -> Primitive:
    name = ufunc.__name__
    return Primitive(name, 2, ufunc, name + "({0}, {1})", REALS, LONG, 20)


def _elementary(ufunc: np.ufunc, weight: int, loops: frozenset[str] = FLOATS) -> Primitive:
    """A row for an elementary function, implemented in `axiomjit.runtime.elementary`.

    The error of the implementation is at most 1 unit in float32 and 2 in float64; NumPy's error is
    at most 4 units.
    """
    name, operands = ufunc.__name__, ", ".join(f"{{{k}}}" for k in range(ufunc.nin))
    source = f"{name}({operands})"
    return Primitive(name, ufunc.nin, ufunc, source, loops, weight=weight, ulps=5, elementary=True)


def _error_function(function: Callable[[float], float]) -> Primitive:
    """A row for an error function of the C library; NumPy has none."""
    name, each = function.__name__, np.frompyfunc(function, 1, 1)

    def evaluate(x: np.ndarray) -> np.ndarray:
        return np.asarray(each(np.asarray(x, np.float64))).astype(x.dtype)

    source = f"{name}({{0}})"
    return Primitive(
        name, 1, evaluate, source, FLOATS, weight=120, like=np.cbrt, ulps=3, elementary=True
    )


_ROWS: Final = (
    VIEW,
    READ_ONLY,
    CAST,
    COPY,
    NUMBER,
    *PACKS,
    *(SAVE, MATERIALIZE, UPDATE),
    *(WHERE, JOIN),
    *(POSITION, PRODUCT, STATE),
    *(REAL, IMAG, REAL_VIEW, IMAG_VIEW, COMPLEX_OF),
    *(*BITS_AS.values(), *BITS_VIEWS.values()),
    Primitive("conjugate", 1, np.conjugate, "conjugate({0})", COMPLEXES),
    Primitive("add", 2, np.add, "{0} + {1}", bools="{0} | {1}"),
    Primitive("subtract", 2, np.subtract, "{0} - {1}", NUMBERS),
    Primitive("multiply", 2, np.multiply, "{0} * {1}", bools="{0} & {1}"),
    Primitive("divide", 2, np.divide, "{0} / {1}", FLOATS | COMPLEXES, weight=8),
    Primitive("reciprocal", 1, np.reciprocal, "reciprocal({0})", COMPLEXES, weight=16),
    _elementary(np.power, 100, FLOATS | COMPLEXES),
    Primitive("negative", 1, np.negative, "-{0}", NUMBERS),
    Primitive("absolute", 1, np.absolute, "absolute({0})"),
    Primitive("fabs", 1, np.fabs, "absolute({0})", FLOATS),
    Primitive("sqrt", 1, np.sqrt, "sqrt({0})", FLOATS | COMPLEXES, weight=12),
    _elementary(np.exp, 20, FLOATS | COMPLEXES),
    _elementary(np.exp2, 18, FLOATS | COMPLEXES),
    _elementary(np.expm1, 28, FLOATS | COMPLEXES),
    _elementary(np.log, 34, FLOATS | COMPLEXES),
    _elementary(np.log2, 38, FLOATS | COMPLEXES),
    _elementary(np.log10, 38, FLOATS | COMPLEXES),
    _elementary(np.log1p, 42, FLOATS | COMPLEXES),
    _elementary(np.cbrt, 44),
    # NumPy's float32 is inexact where the operand and the logarithm cancel
    *(_elementary(f, 70).replace(ulps=100) for f in (np.logaddexp, np.logaddexp2)),
    *(_error_function(f) for f in (math.erf, math.erfc)),
    _elementary(np.sin, 25, FLOATS | COMPLEXES),
    _elementary(np.cos, 25, FLOATS | COMPLEXES),
    _elementary(np.tan, 45, FLOATS | COMPLEXES),
    _elementary(np.arcsin, 30, FLOATS | COMPLEXES),
    _elementary(np.arccos, 30, FLOATS | COMPLEXES),
    _elementary(np.arctan, 35, FLOATS | COMPLEXES),
    _elementary(np.arctan2, 45),
    _elementary(np.sinh, 30, FLOATS | COMPLEXES),
    _elementary(np.cosh, 30, FLOATS | COMPLEXES),
    _elementary(np.tanh, 40, FLOATS | COMPLEXES),
    _elementary(np.arcsinh, 60, FLOATS | COMPLEXES),
    _elementary(np.arccosh, 60, FLOATS | COMPLEXES),
    _elementary(np.arctanh, 50, FLOATS | COMPLEXES),
    _elementary(np.hypot, 20),
    Primitive("maximum", 2, np.maximum, "maximum({0}, {1})"),
    Primitive("minimum", 2, np.minimum, "minimum({0}, {1})"),
    Primitive("equal", 2, np.equal, "{0} == {1}"),
    Primitive("not_equal", 2, np.not_equal, "{0} != {1}"),
    Primitive("less", 2, np.less, "{0} < {1}", bools="~{0} & {1}"),
    Primitive("less_equal", 2, np.less_equal, "{0} <= {1}", bools="~{0} | {1}"),
    Primitive("greater", 2, np.greater, "{0} > {1}", bools="{0} & ~{1}"),
    Primitive("greater_equal", 2, np.greater_equal, "{0} >= {1}", bools="{0} | ~{1}"),
    _divides(np.floor_divide),
    _divides(np.remainder),
    _divides(np.fmod),
    Primitive("fmax", 2, np.fmax, "fmax({0}, {1})", weight=3),
    Primitive("fmin", 2, np.fmin, "fmin({0}, {1})", weight=3),
    Primitive("clip", 3, _CLIP, "minimum(maximum({0}, {1}), {2})", weight=2),
    Primitive("sign", 1, np.sign, "sign({0})", NUMBERS, weight=3),
    Primitive("floor", 1, np.floor, "floor({0})", ORDERED),
    Primitive("ceil", 1, np.ceil, "ceil({0})", ORDERED),
    Primitive("trunc", 1, np.trunc, "trunc({0})", ORDERED),
    Primitive("rint", 1, np.rint, "rint({0})", FLOATS | COMPLEXES),
    Primitive("isnan", 1, np.isnan, "isnan({0})"),
    Primitive("isinf", 1, np.isinf, "isinf({0})"),
    Primitive("isfinite", 1, np.isfinite, "isfinite({0})"),
    Primitive("signbit", 1, np.signbit, "signbit({0})", FLOATS),
    Primitive("copysign", 2, np.copysign, "copysign({0}, {1})", FLOATS),
    Primitive("bitwise_and", 2, np.bitwise_and, "{0} & {1}", BITS),
    Primitive("bitwise_or", 2, np.bitwise_or, "{0} | {1}", BITS),
    Primitive("bitwise_xor", 2, np.bitwise_xor, "{0} ^ {1}", BITS),
    Primitive("invert", 1, np.invert, "~{0}", BITS),
    Primitive("left_shift", 2, np.left_shift, "left_shift({0}, {1})", INTEGERS),
    Primitive("right_shift", 2, np.right_shift, "right_shift({0}, {1})", INTEGERS),
    Primitive("logical_and", 2, np.logical_and, "b1({0}) & b1({1})", bools="{0} & {1}"),
    Primitive("logical_or", 2, np.logical_or, "b1({0}) | b1({1})", bools="{0} | {1}"),
    Primitive("logical_xor", 2, np.logical_xor, "b1({0}) ^ b1({1})", bools="{0} ^ {1}"),
    Primitive("logical_not", 1, np.logical_not, "~b1({0})", bools="~{0}"),
)
PRIMITIVES: Final[dict[str, Primitive]] = {row.name: row for row in _ROWS}


def primitive_named(name: str) -> Primitive:
    """The row of the table with a name."""
    return PRIMITIVES[name]


class FoldRule(Record):
    """The rule of an associative reduction over iterators.

    A `blocked` rule rounds or depends on the order; it runs in fixed blocks, whose results are
    combined. A rule that is not `commutative` takes elements in the order listed. A rule without
    identity starts from the first element.
    """

    name: str
    blocked: bool
    has_identity: bool
    loops: frozenset[str]
    commutative: bool

    def __repr__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def weight(self) -> int:
        """The cost of combining two states, in additions."""
        return 1

    @property
    def may_scan(self) -> bool:
        """True if the rule can run as a scan, which outputs the state after each element."""
        return True

    def state_dtype(self, result: DType) -> DType:
        """The dtype of the state in loops, for a result of this dtype."""
        return result


class UfuncFold(FoldRule):
    """The rule of a reduction by a NumPy ufunc, `reduce`.

    `lane` is the function in generated source that combines a state with an element; lanes may be
    combined in any order. `tree` is the suffix of the functions that combine the results of blocks
    as a tree. A `running` fold outputs the state after each element: nothing is reordered, and a
    sum starts at -0.0, which preserves the sign of zeros.
    """

    reduce: np.ufunc
    lane: str
    tree: str = ""
    running: bool = False

    @property
    def may_scan(self) -> bool:
        """True if the fold is `running`, so that nothing is reordered."""
        return self.running

    @property
    def combine(self) -> Primitive:
        """The primitive that combines two states, in order."""
        return PRIMITIVES[self.reduce.__name__]

    def result_dtype(self, operand: DType) -> DType:
        """The dtype of the result: as in NumPy, integers are reduced in 64 bits, bools counted."""
        if self.name in ("any", "all"):
            return BOOL
        if not self.blocked or is_inexact(operand):
            return operand
        return UNSIGNED if is_unsigned(operand) else INT

    def state_dtype(self, result: DType) -> DType:
        """The dtype of the state: sums and products run in 64 bits and are rounded once."""
        if not self.blocked:
            return SINGLE if result == HALF else result
        wide = FLOAT if is_float(result) else COMPLEX if is_complex(result) else None
        return wide or self.result_dtype(result)

    def initial(self, dtype: DType) -> complex | float | int | bool:
        """The identity for a state of this dtype."""
        if self.blocked:
            start = int(self.name == "prod")
            if self.running and not start and is_inexact(dtype):
                return complex(-0.0, -0.0) if is_complex(dtype) else -0.0
            return float(start) if is_inexact(dtype) else start
        least, greatest = value_range(dtype)
        return least if self.name in ("max", "any") else greatest  # type: ignore[no-any-return]


def _fold(
    name: str, reduce: np.ufunc, lane: str, loops: frozenset[str] = ALL, **changes: Any
) -> UfuncFold:
    """A row of the table of folds; all rows are commutative."""
    return UfuncFold(name, False, True, loops, True, reduce, lane).replace(**changes)


SUM: Final = _fold("sum", np.add, "add_reassoc({0}, {1})", NUMBERS, blocked=True)
PROD: Final = _fold(
    "prod", np.multiply, "mul_reassoc({0}, {1})", NUMBERS, blocked=True, tree="_mul"
)
MAX: Final = _fold("max", np.maximum, "maximum({0}, {1})", has_identity=False)
MIN: Final = _fold("min", np.minimum, "minimum({0}, {1})", has_identity=False)
BOOLS: Final = frozenset({"b1"})
ANY: Final = _fold("any", np.logical_or, "{0} | {1}", BOOLS)
ALL_OF: Final = _fold("all", np.logical_and, "{0} & {1}", BOOLS)
ACCUMULATORS: Final[dict[str, UfuncFold]] = {
    row.name: row for row in (SUM, PROD, MAX, MIN, ANY, ALL_OF)
}

assert set(DTYPES) == ALL  # every dtype is either in a row's loops or refused by it
