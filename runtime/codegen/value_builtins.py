"""The intrinsics of operations on numbers, with a rule for each kind of dtype.

All operands have the same dtype. The result has the dtype of the operands, too, unless a table
gives another. `axiomjit.runtime.codegen.plain_builtins` has the same operations in plain Python.

Division rounds down, and remainders are NumPy's. For integers, x // 0 and x % 0 are 0, and the
smallest integer divided by -1 is itself. Integers are divided without a branch, as floats that hold
them exactly, so that the loop remains vector code. 64-bit integers are divided as floats only if
the CPU can convert vectors of them. Floats follow NumPy's `npy_divmod` step by step.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types

from axiomjit.runtime.codegen.emitters import (
    COMPLEX,
    Emitter,
    Real,
    Rules,
    call_declared,
    call_intrinsic,
    complex_value,
    hidden,
    method,
    select_complex,
)
from axiomjit.runtime.codegen.kernel_types import CODES, NUMBA_TYPES, PARTS, Intrinsic, Typed
from axiomjit.runtime.codegen.llvm_functions import target_of

ResultCode = Callable[[str], str]
"""A function from the code of the operands' dtype to the code of the result's dtype."""


def overload(operands: Sequence[Any], rules: Rules, result: ResultCode) -> Typed:
    """The signature and the emitter of an operation on operands of one dtype."""
    code = CODES.get(operands[0])
    if code is None or any(ty != operands[0] for ty in operands):
        return None
    rule = next((rule for kinds, rule in rules.items() if code[0] in kinds), None)
    if rule is None:
        return None
    result_type = NUMBA_TYPES[result(code)]
    return result_type(*operands), lambda context, builder, signature, args: rule(builder, args)


def _bits_of(code: str) -> str:
    return f"i{code[1:]}"


def _float_of(code: str) -> str:
    return f"f{code[1:]}"


def _same_dtype(code: str) -> str:
    return code


def _truth(code: str) -> str:
    return "b1"


def _part(code: str) -> str:
    return PARTS.get(code, code)


def _with_complex(name: str, rules: Rules) -> Rules:
    return rules | {"c": COMPLEX[name]} if name in COMPLEX else rules


def make_unary(name: str, rules: Rules, result: ResultCode = _same_dtype) -> Any:
    """The intrinsic `name(v)` with one operand."""
    rules = _with_complex(name, rules)

    def unary(v: Any) -> Typed:
        return overload((v,), rules, result)

    unary.__name__ = name
    return Intrinsic(unary)


def make_binary(name: str, rules: Rules, result: ResultCode = _same_dtype) -> Any:
    """The intrinsic `name(a, b)` with two operands."""
    rules = _with_complex(name, rules)

    def binary(a: Any, b: Any) -> Typed:
        return overload((a, b), rules, result)

    binary.__name__ = name
    return Intrinsic(binary)


def _choose(comparison: str, signed: bool) -> Emitter:
    """The emitter of `a if a <comparison> b else b` for integers, without a branch."""
    compare = "icmp_signed" if signed else "icmp_unsigned"
    return lambda b, args: b.select(getattr(b, compare)(comparison, *args), *args)


def _unchanged_value(builder: Any, args: list[Any]) -> Any:
    return args[0]


def _magnitude(builder: Any, args: list[Any]) -> Any:
    """Emit the absolute value of an integer; the smallest integer is unchanged, as in NumPy."""
    negative = builder.icmp_signed("<", args[0], ir.Constant(args[0].type, 0))
    return builder.select(negative, builder.neg(args[0]), args[0])


def _number_beside_nan(rule: Emitter) -> Emitter:
    """The emitter of a rule, changed to give the other operand if one operand is NaN."""

    def emit(builder: Any, args: list[Any]) -> Any:
        a, b = args
        a_nan, b_nan = (builder.fcmp_unordered("uno", v, v) for v in args)
        either = builder.select(b_nan, a, rule(builder, args))
        return builder.select(a_nan, b, either)

    return emit


def _float_sign(builder: Any, args: list[Any]) -> Any:
    """Emit the sign of a float: -1, 0 or 1; NaN for NaN, and 0 for -0."""
    (v,) = args
    zero = ir.Constant(v.type, 0.0)
    chosen = builder.select(builder.fcmp_ordered("==", v, zero), zero, v)
    for comparison, value in (("<", -1.0), (">", 1.0)):
        is_so = builder.fcmp_ordered(comparison, v, zero)
        chosen = builder.select(is_so, ir.Constant(v.type, value), chosen)
    return chosen


def _int_sign(builder: Any, args: list[Any]) -> Any:
    """Emit the sign of a signed integer: -1, 0 or 1."""
    (v,) = args
    positive = builder.zext(builder.icmp_signed(">", v, v.type(0)), v.type)
    return builder.select(builder.icmp_signed("<", v, v.type(0)), v.type(-1), positive)


def _unsigned_sign(builder: Any, args: list[Any]) -> Any:
    """Emit the sign of an unsigned integer, which is 0 or 1."""
    (v,) = args
    return builder.zext(builder.icmp_unsigned("!=", v, v.type(0)), v.type)


def _magnitude_against_infinity(comparison: str) -> Emitter:
    def emit(builder: Any, args: list[Any]) -> Any:
        infinity = ir.Constant(args[0].type, float("inf"))
        return builder.fcmp_ordered(
            comparison, call_intrinsic(builder, "llvm.fabs", args), infinity
        )

    return emit


def _bits(builder: Any, args: list[Any]) -> Any:
    bits = ir.IntType(64 if isinstance(args[0].type, ir.DoubleType) else 32)
    return builder.bitcast(args[0], bits)


def _rank_of_bits(builder: Any, bits: Any) -> Any:
    """Emit the rank of a float from its bits, or the bits from the rank."""
    sign = builder.ashr(bits, bits.type(bits.type.width - 1))
    return builder.xor(bits, builder.lshr(sign, bits.type(1)))


def _rank(missing: float) -> Emitter:
    """The emitter of the integer rank of a float; all NaNs have the rank of the NaN `missing`."""

    def emit(builder: Any, args: list[Any]) -> Any:
        (v,) = args
        is_nan = builder.fcmp_unordered("uno", v, v)
        rank = _rank_of_bits(builder, _bits(builder, args))
        one = _rank_of_bits(builder, _bits(builder, [ir.Constant(v.type, missing)]))
        return builder.select(is_nan, one, rank)

    return emit


def _unranked(builder: Any, args: list[Any]) -> Any:
    """Emit the float that has a rank."""
    kind = ir.DoubleType() if args[0].type.width == 64 else ir.FloatType()
    return builder.bitcast(_rank_of_bits(builder, args[0]), kind)


def _sign_bit(builder: Any, args: list[Any]) -> Any:
    bits = _bits(builder, args)
    return builder.icmp_signed("<", bits, bits.type(0))


def _shift(instruction: str) -> Emitter:
    """The emitter of a shift, which loses all bits if it is negative or at least the width."""

    def emit(builder: Any, args: list[Any]) -> Any:
        v, by = args
        width = v.type.width
        inside = builder.icmp_unsigned("<", by, v.type(width))
        if instruction == "ashr":  # a shift that leaves the sign in every bit
            return builder.ashr(v, builder.select(inside, by, v.type(width - 1)))
        shifted = getattr(builder, instruction)(v, builder.select(inside, by, v.type(0)))
        return builder.select(inside, shifted, v.type(0))

    return emit


def _constant(value: bool) -> Emitter:
    return lambda b, args: ir.IntType(1)(value)


def make_comparison(name: str, sign: str) -> Any:
    """The intrinsic that compares complex numbers, or a signed and an unsigned integer."""

    def comparison(a: Any, b: Any) -> Typed:
        if a == b:
            return overload((a, b), {"c": COMPLEX[name]}, _truth)
        if {a, b} != {types.uint64, types.int64}:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            signed = args[0] if a == types.int64 else args[1]
            below = builder.icmp_signed("<", signed, ir.Constant(signed.type, 0))
            # A negative number is less than every unsigned one, as -1 is less than 0.
            order = [ir.IntType(8)(-1 if ty == types.int64 else 0) for ty in (a, b)]
            of_negative = builder.icmp_signed(sign, *order)
            return builder.select(below, of_negative, builder.icmp_unsigned(sign, *args))

        return types.boolean(a, b), emit

    comparison.__name__ = name
    return Intrinsic(comparison)


MAXIMUM: Rules = {
    "f": call_declared("llvm.maximum"),
    "i": _choose(">=", signed=True),
    "u": _choose(">=", signed=False),
    "b": method("or_"),
}
MINIMUM: Rules = {
    "f": call_declared("llvm.minimum"),
    "i": _choose("<=", signed=True),
    "u": _choose("<=", signed=False),
    "b": method("and_"),
}
_NO_NAN_FLAGS = ("nnan", "nsz")
ABSOLUTE: Rules = {"f": call_declared("llvm.fabs"), "i": _magnitude, "ub": _unchanged_value}
ISNAN: Rules = {
    "f": lambda b, args: b.fcmp_unordered("uno", args[0], args[0]),
    "iub": _constant(False),
}
ISINF: Rules = {"f": _magnitude_against_infinity("=="), "iub": _constant(False)}
ISFINITE: Rules = {"f": _magnitude_against_infinity("<"), "iub": _constant(True)}


def _reordered(instruction: str, integers: str) -> Rules:
    """The rules for a float instruction that LLVM may reorder, and an integer instruction."""
    return {
        "f": lambda b, args: getattr(b, instruction)(*args, flags=("reassoc",)),
        "iu": method(integers),
    }


@Intrinsic
def select(c: Any, a: Any, b: Any) -> Typed:
    """The intrinsic `select(c, a, b)`, a if c is true, otherwise b; both are evaluated."""
    if c != types.boolean or a != b or a not in CODES:
        return None
    chosen = select_complex if CODES[a] in PARTS else ir.IRBuilder.select
    return a(c, a, a), lambda context, builder, signature, args: chosen(builder, *args)


@Intrinsic
def extreme(s: Any, g: Any, z: Any = None) -> Typed:
    """The intrinsic `extreme(s, g, z)`: NaN if g is true, otherwise s with the sign bit of z."""
    code = CODES.get(s, "")
    if code not in ("f4", "f8") or g != types.boolean:
        return None
    if z not in (None, NUMBA_TYPES[_bits_of(code)]):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        number, nan, *signs = args
        # LLVM must not hoist the case of no elements, which would prevent vector loops.
        met = hidden(builder, builder.zext(nan, ir.IntType(32)))
        for bits in signs:
            sign = builder.bitcast(hidden(builder, bits), number.type)
            number = call_intrinsic(builder, "llvm.copysign", [number, sign])
        missing = builder.icmp_unsigned("!=", met, met.type(0))
        return builder.select(missing, ir.Constant(number.type, float("nan")), number)

    return (s(s, g) if z is None else s(s, g, z)), emit


@Intrinsic
def clip(v: Any, low: Any, high: Any) -> Typed:
    """The intrinsic `clip(v, low, high)` for complex numbers."""
    return overload((v, low, high), {"c": COMPLEX["clip"]}, _same_dtype)


@Intrinsic
def complex_of(re: Any, im: Any) -> Typed:
    """The intrinsic `complex_of(re, im)`: the complex number with these parts."""
    code = next((code for code, part in PARTS.items() if NUMBA_TYPES[part] == re == im), None)
    if code is None:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return complex_value(*(Real(builder, part) for part in args))

    return NUMBA_TYPES[code](re, im), emit


COMPARISONS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
}


def _signs_differ(builder: Any, x: Any, y: Any) -> Any:
    zero = ir.Constant(x.type, 0)
    if isinstance(x.type, ir.IntType):
        return builder.icmp_signed("<", builder.xor(x, y), zero)
    below = (builder.fcmp_ordered("<", value, zero) for value in (x, y))
    return builder.xor(*below)


def _or_zero(rule: Emitter) -> Emitter:
    """The emitter of a rule, changed to give 0 if the divisor is 0."""

    def emit(builder: Any, args: list[Any]) -> Any:
        zero = args[1].type(0)
        return builder.select(builder.icmp_signed("==", args[1], zero), zero, rule(builder, args))

    return emit


def _lowered(builder: Any, quotient: Any, rest: Any, divisor: Any) -> tuple[Any, Any]:
    """Emit quotient and remainder, adjusted so that the remainder has the divisor's sign."""
    zero = rest.type(0)
    some = builder.icmp_signed("!=", rest, zero)
    low = builder.and_(some, _signs_differ(builder, rest, divisor))
    lower = builder.sub(quotient, builder.zext(low, quotient.type))
    return lower, builder.add(rest, builder.select(low, divisor, zero))


def _by_instruction(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Emit a signed division with the CPU's instruction, which would trap on overflow."""
    a, b = args
    lowest = a.type(1 << a.type.width - 1)
    overflows = builder.and_(
        builder.icmp_signed("==", a, lowest), builder.icmp_signed("==", b, a.type(-1))
    )
    traps = builder.or_(builder.icmp_signed("==", b, a.type(0)), overflows)
    safe = builder.select(traps, a.type(1), b)
    return _lowered(builder, builder.sdiv(a, safe), builder.srem(a, safe), safe)


def _by_float(builder: Any, args: list[Any], signed: bool) -> tuple[Any, Any]:
    """Emit a division of integers of up to 32 bits, computed in floats.

    The float type holds the operands exactly, so rounding the quotient never reaches the next
    integer, and its floor is exact.
    """
    a, b = args
    through, between = ir.FloatType(), ir.IntType(32)
    if a.type.width == 32:
        through = ir.DoubleType()
    enter, leave = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    real = builder.fdiv(*(getattr(builder, enter)(v, through) for v in args))
    quotient = getattr(builder, leave)(call_intrinsic(builder, "llvm.floor", [real]), between)
    if a.type.width < 32:
        quotient = builder.trunc(quotient, a.type)
    elif signed:  # the smallest integer by -1 overflows, and wraps
        by_minus_one = builder.icmp_signed("==", b, b.type(-1))
        quotient = builder.select(by_minus_one, builder.neg(a), quotient)
    return quotient, builder.sub(a, builder.mul(quotient, b))


def _by_double_twice(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Emit a signed division of 64-bit integers, in two steps of float64.

    The error of the first quotient is less than 2**13. The remainder of the first division is
    divided again, and this second quotient is rounded to the nearest integer. The last remainder is
    at most half the divisor, up to a relative error of 2**-38. The smallest integer divided by -1
    is itself, since the quotient wraps around.
    """
    a, b = args
    double = ir.DoubleType()
    inverse = builder.fdiv(double(1.0), builder.sitofp(b, double))
    real = builder.fmul(builder.sitofp(a, double), inverse)
    below = call_intrinsic(builder, "llvm.minnum", [real, double(2.0**63 - 1024)])
    quotient = builder.fptosi(below, a.type)
    rest = builder.sub(a, builder.mul(quotient, b))
    real = builder.fmul(builder.sitofp(rest, double), inverse)
    more = builder.fptosi(call_intrinsic(builder, "llvm.rint", [real]), a.type)
    rest = builder.sub(rest, builder.mul(more, b))
    return _lowered(builder, builder.add(quotient, more), rest, b)


def _signed(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Emit the quotient, rounded down, and the remainder with the divisor's sign."""
    if args[0].type.width < 64:
        return _by_float(builder, args, signed=True)
    if target_of(builder.module).divides_long_vectors:
        return _by_double_twice(builder, args)
    return _by_instruction(builder, args)


def _unsigned(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Emit quotient and remainder of unsigned integers; 64-bit dividends are halved first."""
    a, b = args
    one, zero = a.type(1), a.type(0)
    if a.type.width < 64:
        return _by_float(builder, args, signed=False)
    if not target_of(builder.module).divides_long_vectors:
        safe = builder.select(builder.icmp_unsigned("==", b, zero), one, b)
        return builder.udiv(a, safe), builder.urem(a, safe)
    half, _ = _by_double_twice(builder, [builder.lshr(a, one), b])
    large = builder.icmp_signed("<", b, zero)
    quotient = builder.select(large, zero, builder.shl(half, one))
    rest = builder.sub(a, builder.mul(quotient, b))
    left = builder.icmp_unsigned(">=", rest, b)
    rest = builder.sub(rest, builder.select(left, b, zero))
    return builder.add(quotient, builder.zext(left, a.type)), rest


def _towards_zero(builder: Any, args: list[Any]) -> Any:
    """Emit the remainder with the sign of the dividend."""
    a, b = args
    _, rest = _signed(builder, args)
    some = builder.icmp_signed("!=", rest, rest.type(0))
    other = builder.and_(some, _signs_differ(builder, rest, a))
    return builder.sub(rest, builder.select(other, b, b.type(0)))


def _divmod(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Emit NumPy's `npy_divmod` of floats: the floor of the quotient, and the remainder."""
    a, b = args
    zero, one, half = (ir.Constant(a.type, value) for value in (0.0, 1.0, 0.5))
    copysign, floor = call_declared("llvm.copysign"), call_declared("llvm.floor")
    rest, exact = builder.frem(a, b), builder.fdiv(a, b)
    quotient = builder.fdiv(builder.fsub(a, rest), b)
    leaves = builder.fcmp_unordered("!=", rest, zero)
    adjust = builder.and_(leaves, _signs_differ(builder, b, rest))
    quotient = builder.select(adjust, builder.fsub(quotient, one), quotient)
    adjusted = builder.select(adjust, builder.fadd(rest, b), rest)
    modulus = builder.select(leaves, adjusted, copysign(builder, [zero, b]))
    lower = floor(builder, [quotient])
    above = builder.fcmp_ordered(">", builder.fsub(quotient, lower), half)
    lower = builder.select(above, builder.fadd(lower, one), lower)
    some = builder.fcmp_unordered("!=", quotient, zero)
    lower = builder.select(some, lower, copysign(builder, [zero, exact]))
    by_zero = builder.fcmp_ordered("==", b, zero)
    return builder.select(by_zero, exact, lower), builder.select(by_zero, rest, modulus)


FLOOR_DIVIDE: Rules = {
    "f": lambda b, args: _divmod(b, args)[0],
    "i": _or_zero(lambda b, args: _signed(b, args)[0]),
    "u": _or_zero(lambda b, args: _unsigned(b, args)[0]),
}
REMAINDER: Rules = {
    "f": lambda b, args: _divmod(b, args)[1],
    "i": _or_zero(lambda b, args: _signed(b, args)[1]),
    "u": _or_zero(lambda b, args: _unsigned(b, args)[1]),
}
FMOD: Rules = {
    "f": lambda b, args: b.frem(*args),
    "i": _or_zero(_towards_zero),
    "u": REMAINDER["u"],
}


NAMES: dict[str, Any] = {
    "select": select,
    "complex_of": complex_of,
    "clip": clip,
    "extreme": extreme,
    # LLVM may reorder these: the accumulator add of a sum, and of a product.
    "add_reassoc": make_binary("add_reassoc", _reordered("fadd", "add")),
    "mul_reassoc": make_binary(
        "mul_reassoc", _reordered("fmul", "mul") | {"c": COMPLEX["multiply"]}
    ),
    # NaN if either is NaN; +0 above -0.
    "maximum": make_binary("maximum", MAXIMUM),
    "minimum": make_binary("minimum", MINIMUM),
    # Undefined for NaN; of two zeros either one.
    "larger": make_binary("larger", {"f": call_declared("llvm.maximum", _NO_NAN_FLAGS)}),
    "smaller": make_binary("smaller", {"f": call_declared("llvm.minimum", _NO_NAN_FLAGS)}),
    "bits": make_unary("bits", {"f": _bits}, _bits_of),
    # Integers in the order of floats: -0 below +0, and NaN above or below all others.
    "rank_above": make_unary("rank_above", {"f": _rank(math.nan)}, _bits_of),
    "rank_below": make_unary("rank_below", {"f": _rank(-math.nan)}, _bits_of),
    "unranked": make_unary("unranked", {"i": _unranked}, _float_of),
    # NaN if both are NaN.
    "fmax": make_binary("fmax", MAXIMUM | {"f": _number_beside_nan(MAXIMUM["f"])}),
    "fmin": make_binary("fmin", MINIMUM | {"f": _number_beside_nan(MINIMUM["f"])}),
    "sqrt": make_unary("sqrt", {"f": call_declared("llvm.sqrt")}),
    "absolute": make_unary("absolute", ABSOLUTE, _part),
    "sign": make_unary("sign", {"f": _float_sign, "i": _int_sign, "u": _unsigned_sign}),
    # For complex numbers; floats have operators or need none.
    **{name: make_binary(name, {}) for name in ("multiply", "divide")},
    **{name: make_unary(name, {}) for name in ("conjugate", "reciprocal")},
    **{name: make_unary(name, {}, _part) for name in ("real", "imag")},
    **{
        name: make_unary(name, {"f": call_declared(f"llvm.{name}"), "iub": _unchanged_value})
        for name in ("floor", "ceil", "trunc", "rint")
    },
    "isnan": make_unary("isnan", ISNAN, _truth),
    "isinf": make_unary("isinf", ISINF, _truth),
    "isfinite": make_unary("isfinite", ISFINITE, _truth),
    "signbit": make_unary("signbit", {"f": _sign_bit}, _truth),
    "copysign": make_binary("copysign", {"f": call_declared("llvm.copysign")}),
    "left_shift": make_binary("left_shift", {"iu": _shift("shl")}),
    "right_shift": make_binary("right_shift", {"i": _shift("ashr"), "u": _shift("lshr")}),
    **{name: make_comparison(name, sign) for name, sign in COMPARISONS.items()},
    "floor_divide": make_binary("floor_divide", FLOOR_DIVIDE),
    "remainder": make_binary("remainder", REMAINDER),
    "fmod": make_binary("fmod", FMOD),
}
