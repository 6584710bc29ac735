"""Division rounded down, and remainders, as NumPy defines them.

Integers: x // 0 and x % 0 are 0, and the smallest // -1 is itself. They are divided as floats
that hold them exactly, without a branch, so that the loop stays vector code; 64-bit ones where
the CPU converts vectors of them. Floats follow NumPy's `npy_divmod` step by step.
`axiomjit.runtime.names.plain` has the twins.
"""

from typing import Any

from llvmlite import ir

from axiomjit.runtime.emission.emitters import Emitter, Rules, call_declared
from axiomjit.runtime.emission.value_intrinsics import make_binary
from axiomjit.runtime.llvm.target_code import target_of


def _signs_differ(builder: Any, x: Any, y: Any) -> Any:
    zero = ir.Constant(x.type, 0)
    if isinstance(x.type, ir.IntType):
        return builder.icmp_signed("<", builder.xor(x, y), zero)
    below = (builder.fcmp_ordered("<", value, zero) for value in (x, y))
    return builder.xor(*below)


def _or_zero(rule: Emitter) -> Emitter:
    """The rule, but 0 where the divisor is 0; the rule's own result is dropped there."""

    def emit(builder: Any, args: list[Any]) -> Any:
        zero = args[1].type(0)
        return builder.select(builder.icmp_signed("==", args[1], zero), zero, rule(builder, args))

    return emit


def _lowered(builder: Any, quotient: Any, rest: Any, divisor: Any) -> tuple[Any, Any]:
    """Quotient and remainder with the remainder on the divisor's side of 0."""
    zero = rest.type(0)
    some = builder.icmp_signed("!=", rest, zero)
    low = builder.and_(some, _signs_differ(builder, rest, divisor))
    lower = builder.sub(quotient, builder.zext(low, quotient.type))
    return lower, builder.add(rest, builder.select(low, divisor, zero))


def _by_instruction(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Signed division by the CPU's instruction, which traps where no result fits."""
    a, b = args
    lowest = a.type(1 << a.type.width - 1)
    overflows = builder.and_(
        builder.icmp_signed("==", a, lowest), builder.icmp_signed("==", b, a.type(-1))
    )
    traps = builder.or_(builder.icmp_signed("==", b, a.type(0)), overflows)
    safe = builder.select(traps, a.type(1), b)
    return _lowered(builder, builder.sdiv(a, safe), builder.srem(a, safe), safe)


def _by_float(builder: Any, args: list[Any], signed: bool) -> tuple[Any, Any]:
    """Division of integers of up to 32 bits.

    A correctly rounded quotient of integers that the float type holds exactly reaches no integer
    that the exact quotient does not reach, so that its floor is right.
    """
    a, b = args
    through, between = ir.FloatType(), ir.IntType(32)
    if a.type.width == 32:
        through = ir.DoubleType()
    enter, leave = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    real = builder.fdiv(*(getattr(builder, enter)(v, through) for v in args))
    quotient = getattr(builder, leave)(call_declared("llvm.floor")(builder, [real]), between)
    if a.type.width < 32:
        quotient = builder.trunc(quotient, a.type)
    elif signed:  # the smallest by -1 does not fit, and wraps
        by_minus_one = builder.icmp_signed("==", b, b.type(-1))
        quotient = builder.select(by_minus_one, builder.neg(a), quotient)
    return quotient, builder.sub(a, builder.mul(quotient, b))


def _by_double_twice(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Signed division of 64-bit integers, in two steps of float64.

    The first quotient is off by less than 2**13. What is left is divided again, to the nearest
    integer: then at most half the divisor is left, give or take 2**-38 of it. The smallest
    integer by -1 wraps.
    """
    a, b = args
    double = ir.DoubleType()
    inverse = builder.fdiv(double(1.0), builder.sitofp(b, double))
    real = builder.fmul(builder.sitofp(a, double), inverse)
    below = call_declared("llvm.minnum")(builder, [real, double(2.0**63 - 1024)])
    quotient = builder.fptosi(below, a.type)
    rest = builder.sub(a, builder.mul(quotient, b))
    real = builder.fmul(builder.sitofp(rest, double), inverse)
    more = builder.fptosi(call_declared("llvm.rint")(builder, [real]), a.type)
    rest = builder.sub(rest, builder.mul(more, b))
    return _lowered(builder, builder.add(quotient, more), rest, b)


def _signed(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Quotient rounded down, and the remainder with the divisor's sign."""
    if args[0].type.width < 64:
        return _by_float(builder, args, signed=True)
    if target_of(builder.module).divides_long_vectors:
        return _by_double_twice(builder, args)
    return _by_instruction(builder, args)


def _unsigned(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Quotient and remainder; of 64-bit integers by way of half the dividend, which is signed."""
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
    """The remainder with the sign of the dividend."""
    a, b = args
    _, rest = _signed(builder, args)
    some = builder.icmp_signed("!=", rest, rest.type(0))
    other = builder.and_(some, _signs_differ(builder, rest, a))
    return builder.sub(rest, builder.select(other, b, b.type(0)))


def _divmod(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """NumPy's npy_divmod of floats: floor of the quotient, and the remainder."""
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
    "floor_divide": make_binary("floor_divide", FLOOR_DIVIDE),
    "remainder": make_binary("remainder", REMAINDER),
    "fmod": make_binary("fmod", FMOD),
}
