"""Division rounded down, and remainders, as NumPy defines them.

Integers: x // 0 and x % 0 are 0, and the smallest // -1 is itself; the divisor is replaced before
the instruction, which would trap. Floats follow NumPy's `npy_divmod` step by step.
`axiomjit.runtime.plain` has the twins.
"""

from typing import Any

from llvmlite import ir

from axiomjit.runtime.emission import Emitter, Rules, call
from axiomjit.runtime.value_intrinsics import make_binary


def _signs_differ(builder: Any, x: Any, y: Any) -> Any:
    zero = ir.Constant(x.type, 0)
    if isinstance(x.type, ir.IntType):
        return builder.icmp_signed("<", builder.xor(x, y), zero)
    below = (builder.fcmp_ordered("<", value, zero) for value in (x, y))
    return builder.xor(*below)


def _signed(builder: Any, args: list[Any]) -> tuple[Any, Any, Any]:
    """Quotient towards zero and remainder, and the divisor that gave them."""
    a, b = args
    lowest = a.type(1 << a.type.width - 1)
    overflows = builder.and_(
        builder.icmp_signed("==", a, lowest), builder.icmp_signed("==", b, a.type(-1))
    )
    traps = builder.or_(builder.icmp_signed("==", b, a.type(0)), overflows)
    safe = builder.select(traps, a.type(1), b)
    return builder.sdiv(a, safe), builder.srem(a, safe), safe


def _or_zero(rule: Emitter) -> Emitter:
    """0 where the divisor is 0."""

    def emit(builder: Any, args: list[Any]) -> Any:
        zero = args[1].type(0)
        return builder.select(builder.icmp_signed("==", args[1], zero), zero, rule(builder, args))

    return emit


def _round_down(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """Signed quotient rounded down, and the remainder with the divisor's sign."""
    quotient, rest, divisor = _signed(builder, args)
    inexact = builder.icmp_signed("!=", rest, rest.type(0))
    adjust = builder.and_(inexact, _signs_differ(builder, rest, divisor))
    lower = builder.sub(quotient, builder.zext(adjust, quotient.type))
    return lower, builder.add(rest, builder.select(adjust, divisor, rest.type(0)))


def _unsigned(instruction: str) -> Emitter:
    def emit(builder: Any, args: list[Any]) -> Any:
        a, b = args
        zero = builder.icmp_unsigned("==", b, b.type(0))
        return getattr(builder, instruction)(a, builder.select(zero, b.type(1), b))

    return _or_zero(emit)


def _divmod(builder: Any, args: list[Any]) -> tuple[Any, Any]:
    """NumPy's npy_divmod of floats: floor of the quotient, and the remainder."""
    a, b = args
    zero, one, half = (ir.Constant(a.type, value) for value in (0.0, 1.0, 0.5))
    copysign, floor = call("llvm.copysign"), call("llvm.floor")
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
    "i": _or_zero(lambda b, args: _round_down(b, args)[0]),
    "u": _unsigned("udiv"),
}
REMAINDER: Rules = {
    "f": lambda b, args: _divmod(b, args)[1],
    "i": _or_zero(lambda b, args: _round_down(b, args)[1]),
    "u": _unsigned("urem"),
}
FMOD: Rules = {
    "f": lambda b, args: b.frem(*args),
    "i": _or_zero(lambda b, args: _signed(b, args)[1]),
    "u": _unsigned("urem"),
}

NAMES: dict[str, Any] = {
    "floor_divide": make_binary("floor_divide", FLOOR_DIVIDE),
    "remainder": make_binary("remainder", REMAINDER),
    "fmod": make_binary("fmod", FMOD),
}
