"""Casts between float16 and float32 in instructions of the target, without library calls.

LLVM calls a function for a cast without an instruction, such as one that rounds float64 to
float16. These functions are in `compiler-rt`, which is not linked.
"""

from __future__ import annotations

from typing import Any, Final

from llvmlite import ir

from axiomjit.runtime.emission.emitters import call_declared
from axiomjit.runtime.llvm.target_code import target_of

HALF, SINGLE = ir.HalfType(), ir.FloatType()
SHORT, INT = ir.IntType(16), ir.IntType(32)
SIGN: Final = 1 << 31
SHIFT: Final = 13
"""The difference in significand bits between float32 and float16."""
BIAS: Final = 112 << 23
"""The difference of the exponents' biases, in the place of a float32's exponent."""
INFINITE: Final = 0x7C00
QUIET: Final = 0x7E00
SMALLEST: Final = 113 << 23
"""2**-14, the smallest normal float16, as float32."""
TOO_LARGE: Final = 143 << 23
"""2**16."""
HALF_BITS: Final = 126 << 23
"""0.5: the last bit of a float32 between it and 1 is that of a subnormal float16."""


def narrowed(builder: Any, value: Any) -> Any:
    """A float32 rounded to float16."""
    target = target_of(builder.module)
    if target.computes_halves:
        return builder.fptrunc(value, HALF)
    if target.converts_halves:
        # LLVM rounds the operands of copysign in place of its result, and so a float64 to float16.
        # It leaves alone what must be a canonical number.
        return builder.fptrunc(call_declared("llvm.canonicalize")(builder, [value]), HALF)
    bits = builder.bitcast(value, INT)
    size = builder.and_(bits, INT(SIGN - 1))
    last = builder.and_(builder.lshr(size, INT(SHIFT)), INT(1))
    up = builder.add(last, INT((1 << SHIFT - 1) - 1 - BIAS & 0xFFFFFFFF))
    normal = builder.lshr(builder.add(size, up), INT(SHIFT))
    number = builder.bitcast(size, SINGLE)
    aligned = builder.fadd(number, builder.bitcast(INT(HALF_BITS), SINGLE))
    small = builder.sub(builder.bitcast(aligned, INT), INT(HALF_BITS))
    payload = builder.and_(builder.lshr(size, INT(SHIFT)), INT(QUIET - INFINITE - 1))
    is_nan = builder.icmp_signed(">", size, INT(255 << 23))
    large = builder.select(is_nan, builder.or_(payload, INT(QUIET)), INT(INFINITE))
    result = builder.select(builder.icmp_signed("<", size, INT(SMALLEST)), small, normal)
    result = builder.select(builder.icmp_signed(">=", size, INT(TOO_LARGE)), large, result)
    sign = builder.and_(builder.lshr(bits, INT(16)), INT(SIGN >> 16))
    return builder.bitcast(builder.trunc(builder.or_(result, sign), SHORT), HALF)


def widened(builder: Any, value: Any) -> Any:
    """A float16 as float32."""
    target = target_of(builder.module)
    if target.computes_halves or target.converts_halves:
        return builder.fpext(value, SINGLE)
    bits = builder.zext(builder.bitcast(value, SHORT), INT)
    size = builder.and_(bits, INT(SIGN - 1 >> 16))
    moved = builder.shl(size, INT(SHIFT))
    normal = builder.add(moved, INT(BIAS))
    lifted = builder.bitcast(builder.add(moved, INT(SMALLEST)), SINGLE)
    below = builder.fsub(lifted, builder.bitcast(INT(SMALLEST), SINGLE))
    small = builder.bitcast(below, INT)
    infinite = builder.or_(moved, INT(255 << 23))
    is_nan = builder.icmp_signed(">", size, INT(INFINITE))
    large = builder.select(is_nan, builder.or_(infinite, INT(1 << 22)), infinite)
    smallest = INT(SMALLEST - BIAS >> SHIFT)
    result = builder.select(builder.icmp_signed("<", size, smallest), small, normal)
    result = builder.select(builder.icmp_signed(">=", size, INT(INFINITE)), large, result)
    sign = builder.shl(builder.and_(bits, INT(SIGN >> 16)), INT(16))
    return builder.bitcast(builder.or_(result, sign), SINGLE)
