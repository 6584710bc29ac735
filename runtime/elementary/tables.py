"""Lookups in short tables that AVX-512 and AVX2 hold in registers, for all lanes at once."""

from collections.abc import Sequence
from typing import Any

from llvmlite import ir

from axiomjit.runtime.elementary.definitions import call_as
from axiomjit.runtime.elementary.native import BYTES, Instruction

INT, LONG = ir.IntType(32), ir.IntType(64)
PAIRS = ir.VectorType(ir.FloatType(), 8)
"""The vectors that AVX2 permutes in one instruction; a float64 is two elements."""


def lookup(table: Sequence[float], size: int) -> Instruction:
    """Return the instruction that looks up the index in the lowest bits of its operand.

    `size` is the length of the vectors in bytes.
    """

    def emission(builder: Any, x: Any) -> Any:
        return _looked_up(builder, tuple(table), x, size)

    return Instruction(emission, size)


def _looked_up(builder: Any, table: Sequence[float], x: Any, size: int) -> Any:
    """Emit the lookup; for a long table look up both halves and select by a bit of the index."""
    width = 32 if isinstance(x.type.element, ir.FloatType) else 64
    full = 8 * size // width
    if x.type.count < full:
        return _first_lanes(builder, table, x, size, full)
    index = builder.bitcast(x, ir.VectorType(ir.IntType(width), full))
    if len(table) > (2 * full if size == BYTES else full):
        half = len(table) // 2
        low, high = (_looked_up(builder, part, x, size) for part in (table[:half], table[half:]))
        bit = builder.and_(index, ir.Constant(index.type, half))
        upper = builder.icmp_unsigned("!=", bit, ir.Constant(index.type, 0))
        return builder.select(upper, high, low)
    parts = [ir.Constant(x.type, list(table[k : k + full])) for k in range(0, len(table), full)]
    return (_in_long if size == BYTES else _in_short)(builder, parts, index)


def _first_lanes(builder: Any, table: Sequence[float], x: Any, size: int, full: int) -> Any:
    """Emit the lookup of a short vector, by the instruction for a full one."""
    lanes = x.type.count
    repeated = ir.Constant(ir.VectorType(INT, full), [k % lanes for k in range(full)])
    wide = _looked_up(builder, table, builder.shuffle_vector(x, x, repeated), size)
    first = ir.Constant(ir.VectorType(INT, lanes), list(range(lanes)))
    return builder.shuffle_vector(wide, wide, first)


def _in_long(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit vpermps or vpermi2ps, or their forms for float64."""
    kind = parts[0].type
    single = isinstance(kind.element, ir.FloatType)
    if len(parts) == 1:
        name, given = f"permvar.{'sf' if single else 'df'}", [parts[0], index]
    else:
        name, given = f"vpermi2var.{'ps' if single else 'pd'}", [parts[0], index, parts[1]]
    return call_as(builder, f"llvm.x86.avx512.{name}.512", kind, given)


def _in_short(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit AVX2's vpermps; a float64 is looked up as two halves."""
    (part,) = parts
    if index.type.element == LONG:
        within = builder.and_(index, ir.Constant(index.type, 3))
        twice = builder.shl(within, ir.Constant(index.type, 1))
        both = builder.or_(twice, builder.shl(twice, ir.Constant(index.type, 32)))
        index = builder.add(both, ir.Constant(index.type, 1 << 32))
    halves = [builder.bitcast(part, PAIRS), builder.bitcast(index, ir.VectorType(INT, 8))]
    return builder.bitcast(call_as(builder, "llvm.x86.avx2.permps", PAIRS, halves), part.type)
