"""Casts between dtypes, as Numba intrinsics.

Each gives what NumPy's `astype` gives on x86-64, for values that do not fit as well: a bare
`fptosi` of one would be poison. `axiomjit.runtime.names.plain` has the twins.
"""

from typing import Any

from llvmlite import ir

from axiomjit.base.dtypes import cast_name, float_route
from axiomjit.runtime.emission import half_casts
from axiomjit.runtime.emission.complex_rules import complex_value, parts_of
from axiomjit.runtime.emission.emitters import Real
from axiomjit.runtime.emission.intrinsic import intrinsic
from axiomjit.runtime.emission.kernel_types import CODES, NUMBA_TYPES, PARTS, Typed


def _float_to_signed(builder: Any, value: Any, bits: int) -> Any:
    """C's cast to a signed integer; NaN and what does not fit give the smallest one.

    That is what the instruction does on x86-64, and so what NumPy gives there.
    """
    lowest = -(2.0 ** (bits - 1))
    low = ir.Constant(value.type, lowest)
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, low),
        builder.fcmp_ordered("<", value, ir.Constant(value.type, -lowest)),
    )
    return builder.fptosi(builder.select(inside, value, low), ir.IntType(bits))


def _float_to_u8(builder: Any, value: Any) -> Any:
    """The upper half of the range is cast as its distance from 2**63, as C compilers do."""
    half = ir.Constant(value.type, 2.0**63)
    upper = builder.fcmp_ordered(">=", value, half)
    signed = _float_to_signed(
        builder, builder.select(upper, builder.fsub(value, half), value), bits=64
    )
    word = signed.type
    return builder.xor(signed, builder.select(upper, word(1 << 63), word(0)))


def _float_to_int(builder: Any, value: Any, code: str, target: Any) -> Any:
    if code == "u8":
        return _float_to_u8(builder, value)
    route = float_route(code)
    wide = _float_to_signed(builder, value, 8 * int(route[1]))
    return wide if route[1] == code[1] else builder.trunc(wide, target)


def _to_odd(builder: Any, value: Any) -> Any:
    """A float64 as the float32 that is equal to it, or the one beside it with an odd last bit.

    Rounded to float16 it gives what the float64 gives; rounded to nearest it might not.
    """
    nearest = builder.fptrunc(value, ir.FloatType())
    bits = builder.bitcast(nearest, ir.IntType(32))
    back = builder.fpext(nearest, ir.DoubleType())
    even = builder.icmp_unsigned("==", builder.and_(bits, bits.type(1)), bits.type(0))
    adjust = builder.and_(even, builder.fcmp_ordered("!=", back, value))
    magnitudes = [
        builder.and_(builder.bitcast(v, ir.IntType(64)), ir.IntType(64)((1 << 63) - 1))
        for v in (back, value)
    ]
    step = builder.select(builder.icmp_unsigned(">", *magnitudes), bits.type(-1), bits.type(1))
    odd = builder.add(bits, builder.select(adjust, step, bits.type(0)))
    return builder.bitcast(odd, ir.FloatType())


def _to_half(builder: Any, value: Any, source: str) -> Any:
    single = ir.FloatType()
    if source == "f8":
        value = _to_odd(builder, value)
    elif source != "f4":
        value = _emit_cast(builder, value, source, "f4", single)
    return half_casts.narrowed(builder, value)


def _int_to_int(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """Extend an integer by its source's sign, or truncate it."""
    if code[1] == source[1]:
        return value
    if code[1] < source[1]:
        return builder.trunc(value, target)
    return builder.sext(value, target) if source[0] == "i" else builder.zext(value, target)


def _from_complex(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """Cast both parts; a cast to a real dtype drops the imaginary part."""
    parts = [part.value for part in parts_of(builder, value)]
    if code == "b1":
        return builder.or_(*(_emit_cast(builder, v, PARTS[source], code, target) for v in parts))
    if code not in PARTS:
        return _emit_cast(builder, parts[0], PARTS[source], code, target)
    to = target.elements[0]
    cast = [_emit_cast(builder, v, PARTS[source], PARTS[code], to) for v in parts]
    return complex_value(*(Real(builder, v) for v in cast))


def _emit_cast(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """`value` of dtype `source` as dtype `code`, whose LLVM type is `target`."""
    if source == code:
        return value
    if source in PARTS:
        return _from_complex(builder, value, source, code, target)
    if code in PARTS:
        part = target.elements[0]
        re = Real(builder, _emit_cast(builder, value, source, PARTS[code], part))
        return complex_value(re, re.constant(0.0))
    if source == "f2":
        single = half_casts.widened(builder, value)
        return _emit_cast(builder, single, "f4", code, target)
    if code == "f2":
        return _to_half(builder, value, source)
    match source[0], code[0]:
        case "f", "b":
            return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
        case _, "b":
            return builder.icmp_signed("!=", value, ir.Constant(value.type, 0))
        case "b" | "u", "f":
            return builder.uitofp(value, target)
        case "i", "f":
            return builder.sitofp(value, target)
        case "b", _:
            return builder.zext(value, target)
        case "f", "f":
            wider = code[1] > source[1]
            return builder.fpext(value, target) if wider else builder.fptrunc(value, target)
        case "f", _:
            return _float_to_int(builder, value, code, target)
    return _int_to_int(builder, value, source, code, target)


def _make_cast(code: str) -> Any:
    """The cast intrinsic of one dtype."""

    def cast(v: Any) -> Typed:
        if v not in CODES:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.get_value_type(signature.return_type)
            return _emit_cast(builder, args[0], CODES[v], code, target)

        return NUMBA_TYPES[code](v), emit

    cast.__name__ = cast_name(code)
    cast.__doc__ = f"`{cast_name(code)}(v)`: v as {code}."
    return intrinsic(cast)


CASTS: dict[str, Any] = {code: _make_cast(code) for code in NUMBA_TYPES}
NAMES: dict[str, Any] = {cast_name(code): cast for code, cast in CASTS.items()}
