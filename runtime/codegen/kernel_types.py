"""The types of values in a kernel source, the class of its intrinsics, and casts between dtypes.

Two Numba types carry facts that are known when a kernel is compiled: `WordsType` has the parameter
list of the kernel, and `BufferType` the dtype and alias scope of one buffer. Hence every name of
the source is one global intrinsic, and the compilation of a kernel registers no types.

An intrinsic is defined as in Numba: a function of the operand types returns the signature and the
emitter, or None for types that it does not accept. Numba registers its intrinsics for type
inference; ours are looked up among the names of a kernel, without inference.

Each cast gives the result of NumPy's `astype` on x86-64. For values out of range, too, the result
is that of NumPy; LLVM's `fptosi` alone would give poison. `axiomjit.runtime.codegen.plain_builtins`
has the same casts in plain Python.

Casts between float16 and float32 are instructions of the target. For a cast without an instruction,
such as float64 to float16, LLVM calls a function of `compiler-rt`, which is not linked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, Self

from llvmlite import ir
from numba import from_dtype
from numba.core import types
from numba.core.errors import NumbaNotImplementedError
from numba.extending import models, register_model

from axiomjit.base.dtypes import (
    DTYPES,
    HALF,
    DType,
    cast_name,
    code,
    float_route,
    is_complex,
    part_dtype,
)
from axiomjit.base.errors import UnsupportedError
from axiomjit.runtime.codegen.emitters import Real, call_intrinsic, complex_value, parts_of
from axiomjit.runtime.codegen.llvm_functions import target_of


class HalfType(types.Type):
    """The type float16, which kernels store, select and cast; Numba's type is not for CPUs."""

    def __init__(self) -> None:
        super().__init__(name="Half")


@register_model(HalfType)
class _HalfModel(models.PrimitiveModel):
    """The data model of float16: LLVM's type `half`."""

    def __init__(self, manager: Any, fe_type: HalfType) -> None:
        super().__init__(manager, fe_type, ir.HalfType())


class FlagType(types.Type):
    """The type of a pointer to the cancellation flag."""

    def __init__(self) -> None:
        super().__init__(name="Flag")


@register_model(FlagType)
class _FlagModel(models.PrimitiveModel):
    """The data model of the flag: a pointer to a 64-bit word."""

    def __init__(self, manager: Any, fe_type: FlagType) -> None:
        super().__init__(manager, fe_type, ir.IntType(64).as_pointer())


def kernel_type(name: str, dtype: DType) -> types.Type:
    """The Numba type of elements of a dtype in kernels.

    Raises:
        UnsupportedError: there is no Numba type for a row of `DTYPES`.
    """
    if dtype == HALF:
        return HalfType()
    try:
        found: types.Type = from_dtype(dtype)
    except NumbaNotImplementedError as error:
        raise UnsupportedError(
            f"the row {name!r} of axiomjit/base/dtypes.py",
            f"Numba has no type for {dtype}",
            "define its type and its casts in runtime/codegen/kernel_types.py, as HalfType",
        ) from error
    return found


FLAG = FlagType()
NUMBA_TYPES: dict[str, types.Type] = {
    name: kernel_type(name, dtype) for name, dtype in DTYPES.items()
}
CODES: dict[types.Type, str] = {ty: name for name, ty in NUMBA_TYPES.items()}
PARTS: dict[str, str] = {c: code(part_dtype(d)) for c, d in DTYPES.items() if is_complex(d)}
"""For each complex dtype, the dtype of its parts."""

WORD = ir.IntType(64)
BYTE = ir.IntType(8)

Emit = Callable[[Any, Any, Any, Any], Any]
Typed = tuple[Any, Emit] | None


class BufferType(types.Type):
    """The type of a pointer to elements of buffer number `scope`, of `count` buffers in a kernel.

    For a tile, `count` is 0: LLVM knows that an array on the stack aliases nothing.
    """

    prefix = "Buffer"

    def __init__(self, dtype: types.Type, scope: int, count: int) -> None:
        """Make the type of buffer number `scope` among the `count` buffers of a kernel."""
        self.dtype, self.scope, self.count = dtype, scope, count
        super().__init__(name=f"{self.prefix}{CODES[dtype]}N{scope}of{count}")


class CheckedBufferType(BufferType):
    """The type of a buffer with its bounds (first element and end), counted from the pointer."""

    prefix = "CheckedBuffer"


class WordsType(types.Type):
    """The type of an argument block, with the kind and the dtype of each parameter.

    The kinds are buffer, scalar, length and flag. A scalar takes one or more 64-bit words, any
    other parameter one word. The name of the type is short and alphanumeric because it becomes part
    of the kernel's symbol.
    """

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """Make the type of an argument block with these (kind, dtype code) parameters."""
        self.words = tuple(words)
        names = [kind[0].upper() + code for kind, code in self.words]
        sizes = [-(-DTYPES[code].itemsize // 8) if kind == "scalar" else 1 for kind, code in words]
        self.at: Final = tuple(accumulate(sizes, initial=0))
        """For each parameter, the index of its first word."""
        buffers = [kind == "buffer" for kind, _ in self.words]
        self.scope: Final = tuple(accumulate(buffers, initial=0))
        """For each parameter, the number of buffers before it."""
        self.count = self.scope[-1]
        super().__init__(name="W" + "".join(names))


register_model(BufferType)(models.PointerModel)


@register_model(CheckedBufferType)
class _CheckedBufferModel(models.PrimitiveModel):
    """The data model of a checked buffer: the pointer and two indices."""

    def __init__(self, manager: Any, fe_type: CheckedBufferType) -> None:
        element = manager.lookup(fe_type.dtype).get_data_type()
        members = [element.as_pointer(), WORD, WORD]
        super().__init__(manager, fe_type, ir.LiteralStructType(members))


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    """The data model of an argument block: a pointer to 64-bit words."""

    def __init__(self, manager: Any, fe_type: WordsType) -> None:
        super().__init__(manager, fe_type, WORD.as_pointer())


Definition = Callable[..., Typed]


class Intrinsic:
    """An intrinsic: the definition of a name in kernel sources."""

    __slots__ = ("__name__", "define", "takes_literals")

    def __init__(self, define: Definition, takes_literals: bool = False) -> None:
        self.__name__: Final = define.__name__
        self.define: Final = define
        self.takes_literals: Final = takes_literals
        """True if the definition gets literal types for numbers in the source."""

    def typed(self, operands: list[Any]) -> Typed:
        """The signature and the emitter for operands of these types; None if they are refused."""
        return self.define(*operands)

    @classmethod
    def of_literals(cls, define: Definition) -> Self:
        """The intrinsic of a definition that gets literal types for numbers."""
        return cls(define, takes_literals=True)


LLVM_HALF, SINGLE = ir.HalfType(), ir.FloatType()
SHORT, INT = ir.IntType(16), ir.IntType(32)
SIGN: Final = 1 << 31
SHIFT: Final = 13
"""The difference in significand bits between float32 and float16."""
BIAS: Final = 112 << 23
"""The difference of the exponent biases, shifted to the exponent field of a float32."""
INFINITE: Final = 0x7C00
QUIET: Final = 0x7E00
SMALLEST: Final = 113 << 23
"""The bits of 2**-14, the smallest normal float16, as float32."""
TOO_LARGE: Final = 143 << 23
"""The bits of 2**16 as float32: the first number that rounds to infinity."""
HALF_BITS: Final = 126 << 23
"""The bits of 0.5; between 0.5 and 1, float32 numbers are as far apart as subnormal float16
numbers.
"""


def narrowed(builder: Any, value: Any) -> Any:
    """Emit the rounding of a float32 to float16."""
    target = target_of(builder.module)
    if target.computes_float16:
        return builder.fptrunc(value, LLVM_HALF)
    if target.converts_float16:
        # LLVM would round the operands of copysign instead of its result, which would need a cast
        # of float64 to float16. LLVM does not move a rounding past canonicalize.
        return builder.fptrunc(call_intrinsic(builder, "llvm.canonicalize", [value]), LLVM_HALF)
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
    return builder.bitcast(builder.trunc(builder.or_(result, sign), SHORT), LLVM_HALF)


def widened(builder: Any, value: Any) -> Any:
    """Emit the conversion of a float16 to float32."""
    target = target_of(builder.module)
    if target.computes_float16 or target.converts_float16:
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


def _float_to_signed(builder: Any, value: Any, bits: int) -> Any:
    """Emit C's cast to a signed integer; NaN and values out of range give the smallest integer.

    The instruction on x86-64 gives the smallest integer in these cases, and therefore NumPy does,
    too.
    """
    lowest = -(2.0 ** (bits - 1))
    low = ir.Constant(value.type, lowest)
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, low),
        builder.fcmp_ordered("<", value, ir.Constant(value.type, -lowest)),
    )
    return builder.fptosi(builder.select(inside, value, low), ir.IntType(bits))


def _float_to_u8(builder: Any, value: Any) -> Any:
    """Emit C's cast of a float to uint64; numbers of 2**63 or more are reduced by 2**63 first."""
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
    """Emit the rounding of a float64 to odd: to an equal float32, or to the neighbour ending in 1.

    Rounding the result to float16 is the same as rounding the float64 to float16 directly.
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
    return narrowed(builder, value)


def _int_to_int(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """Emit the truncation or the extension of an integer; a signed integer keeps its sign."""
    if code[1] == source[1]:
        return value
    if code[1] < source[1]:
        return builder.trunc(value, target)
    return builder.sext(value, target) if source[0] == "i" else builder.zext(value, target)


def _from_complex(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """Emit a cast of a complex number; a cast to a real dtype drops the imaginary part."""
    parts = [part.value for part in parts_of(builder, value)]
    if code == "b1":
        return builder.or_(*(_emit_cast(builder, v, PARTS[source], code, target) for v in parts))
    if code not in PARTS:
        return _emit_cast(builder, parts[0], PARTS[source], code, target)
    to = target.elements[0]
    cast = [_emit_cast(builder, v, PARTS[source], PARTS[code], to) for v in parts]
    return complex_value(*(Real(builder, v) for v in cast))


def _emit_cast(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """Emit the cast of a value from dtype `source` to dtype `code`, with the LLVM type `target`."""
    if source == code:
        return value
    if source in PARTS:
        return _from_complex(builder, value, source, code, target)
    if code in PARTS:
        part = target.elements[0]
        re = Real(builder, _emit_cast(builder, value, source, PARTS[code], part))
        return complex_value(re, re.constant(0.0))
    if source == "f2":
        single = widened(builder, value)
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
    """The intrinsic that casts to a dtype."""

    def cast(v: Any) -> Typed:
        if v not in CODES:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.get_value_type(signature.return_type)
            return _emit_cast(builder, args[0], CODES[v], code, target)

        return NUMBA_TYPES[code](v), emit

    cast.__name__ = cast_name(code)
    cast.__doc__ = f"`{cast_name(code)}(v)`: v as {code}."
    return Intrinsic(cast)


CASTS: dict[str, Any] = {code: _make_cast(code) for code in NUMBA_TYPES}


def _make_bits(code: str) -> Any:
    """The intrinsic that reads the bits of a number as a number of this dtype, of the same size."""

    def bits(v: Any) -> Typed:
        if v not in CODES or DTYPES[CODES[v]].itemsize != DTYPES[code].itemsize:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.get_value_type(signature.return_type)
            if CODES[v] == "b1":
                return builder.zext(args[0], target)
            return builder.bitcast(args[0], target)

        return NUMBA_TYPES[code](v), emit

    bits.__name__ = f"bits_as_{cast_name(code)}"
    bits.__doc__ = f"`{bits.__name__}(v)`: the {code} with the bits of v."
    return Intrinsic(bits)


_BITS: dict[str, Any] = {code: _make_bits(code) for code in NUMBA_TYPES if code[0] in "iuf"}
NAMES: dict[str, Any] = {cast_name(code): cast for code, cast in CASTS.items()} | {
    f"bits_as_{cast_name(code)}": bits for code, bits in _BITS.items()
}
