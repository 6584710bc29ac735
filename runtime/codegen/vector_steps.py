"""Steps of recipes that are vector instructions on some CPUs, such as lookups in registers.

`Arithmetic` computes each step by basic operations, with the same bits as the instruction. LLVM
vectorises only basic operations. So a recipe that is compiled for scalars calls a function per
step. An attribute of the function names its vector forms by LLVM's vector function ABI. The forms
are inlined into the loop after it was vectorised (`compile_source`).

Short tables are stored in registers; AVX-512 and AVX2 look up the entries of all lanes at once. The
other steps are instructions only of AVX-512.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from llvmlite import ir

from axiomjit.runtime.codegen.emitters import call_function
from axiomjit.runtime.codegen.llvm_functions import (
    INLINE_LATE,
    PREFIX,
    define,
    define_step,
    keep,
    variants,
)

BYTES = 64
"""The size of an AVX-512 vector in bytes."""
INT, LONG = ir.IntType(32), ir.IntType(64)
PAIRS = ir.VectorType(ir.FloatType(), 8)
"""The type of vectors that AVX2 permutes in one instruction; a float64 is two elements."""
CURRENT_ROUNDING = INT(4)
ONE = INT(0b0000)
"""The option of `getmant` for mantissas from 1 to 2 with the sign of the number."""
LOGARITHM_LIMITS = 0x00 | 0x32 | 0x4 << 8 | 0x3 << 16 | 0x5 << 20 | 0x3 << 24
"""vfixupimm's answers, a hexadecimal digit per class of number, from the lowest: quiet NaN,
signalling NaN, 0, 1, -infinity, infinity, negative, positive. The digit 0 stands for the result, 1
and 2 for the number, 3 for NaN, 4 and 5 for the infinities."""


def _bits(kind: Any) -> int:
    return int(kind.count) * (32 if isinstance(kind.element, ir.FloatType) else 64)


def _instruction(builder: Any, name: str, kind: Any, *operands: Any) -> Any:
    """Emit a call of llvm.x86.avx512.mask.`name` on all lanes."""
    given = [*operands, ir.IntType(max(kind.count, 8))(-1)]
    if _bits(kind) == 8 * BYTES:
        given.append(CURRENT_ROUNDING)
    scalar = "s" if isinstance(kind.element, ir.FloatType) else "d"
    full = f"llvm.x86.avx512.mask.{name}.p{scalar}.{_bits(kind)}"
    return call_function(builder, full, kind, given)


def _undefined(kind: Any) -> Any:
    return ir.Constant(kind, ir.Undefined)


def _significand(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getmant", x.type, x, ONE, _undefined(x.type))


def _binade(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getexp", x.type, x, _undefined(x.type))


def _scaled(builder: Any, x: Any, whole: Any) -> Any:
    return _instruction(builder, "scalef", x.type, x, whole, _undefined(x.type))


def _reduced(builder: Any, x: Any, bits: int) -> Any:
    return _instruction(builder, "reduce", x.type, x, INT(bits << 4), _undefined(x.type))


def _unchanged(builder: Any, x: Any, low: float, high: float) -> Any:
    return x


def _integers(kind: Any) -> Any:
    return ir.VectorType(ir.IntType(_bits(kind) // kind.count), kind.count)


def _log_limits(builder: Any, x: Any, result: Any) -> Any:
    """Emit `vfixupimm`, which replaces the result for some classes of x."""
    table = ir.Constant(_integers(x.type), LOGARITHM_LIMITS)
    return _instruction(builder, "fixupimm", x.type, result, x, table, INT(0))


class Instruction(NamedTuple):
    """A vector instruction that computes a step."""

    emission: Callable[..., Any]
    """A function of a builder and vectors of at most `size` bytes that emits the instruction."""
    size: int = BYTES
    """The size of the vectors in bytes; targets with shorter vectors use basic operations."""


EMISSIONS: dict[str, Callable[..., Any]] = {
    "significand": _significand,
    "binade": _binade,
    "within": _unchanged,
    "reduced": _reduced,
    "scaled": _scaled,
    "log_limits": _log_limits,
}
"""For each step, the function of a builder, vectors and Python numbers that emits it."""


def instruction(name: str, numbers: Sequence[float]) -> Instruction:
    """Return the AVX-512 instruction of a step."""
    return Instruction(lambda builder, *vectors: EMISSIONS[name](builder, *vectors, *numbers))


def _halves(builder: Any, value: Any) -> list[Any]:
    half = value.type.count // 2
    masks = [ir.Constant(ir.VectorType(INT, half), list(range(k, k + half))) for k in (0, half)]
    return [builder.shuffle_vector(value, _undefined(value.type), mask) for mask in masks]


def emit(builder: Any, instruction: Instruction, operands: Sequence[Any]) -> Any:
    """Emit a step on vectors; vectors that are too long for the instruction are split in halves."""
    kind = operands[0].type
    if _bits(kind) <= 8 * instruction.size:
        return instruction.emission(builder, *operands)
    halves = zip(*(_halves(builder, value) for value in operands), strict=True)
    low, high = (emit(builder, instruction, half) for half in halves)
    mask = ir.Constant(ir.VectorType(INT, kind.count), list(range(kind.count)))
    return builder.shuffle_vector(low, high, mask)


def step(
    module: Any,
    name: str,
    instruction: Instruction,
    kind: Any,
    arity: int,
    basic: Callable[..., Any],
) -> Any:
    """Return the scalar function of a step, whose vector forms are one instruction.

    Args:
        module: The module that defines the function at its first use.
        name: The name of the step.
        instruction: The instruction that computes the step on vectors.
        kind: the type of a number.
        arity: the number of operands.
        basic: A function of a builder and operands that emits the step as basic operations.
    """

    def body(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            return emit(builder, instruction, form.args)
        return basic(builder, *form.args)

    full = f"{name}_{'f4' if isinstance(kind, ir.FloatType) else 'f8'}"
    lengths = (instruction.size // 8, instruction.size // 4)
    return with_forms(module, full, kind, arity, lengths, body)[1]


def with_forms(
    module: Any,
    name: str,
    kind: Any,
    arity: int,
    lengths: Sequence[int],
    body: Callable[[Any, Any], Any],
) -> dict[int, Any]:
    """Return the forms of a function by their length; 1 is the scalar form.

    All forms are inlined into the loops that call them.

    Args:
        module: The module that defines the functions at their first use.
        name: The name of the function, without PREFIX.
        kind: the type of a number.
        arity: The number of operands of the function.
        lengths: The lengths of the vectors.
        body: A function of a builder and a form that emits the result of the form.
    """
    full = PREFIX + name
    vectors = {lanes: f"{full}_x{lanes}" for lanes in lengths}
    names = {1: full, **vectors}

    def write(own: Any) -> None:
        for lanes, form_name in names.items():
            if lanes == 1:
                named = {f"{n}{'v' * arity}": vector for n, vector in vectors.items()}
                attributes = (INLINE_LATE, variants(full, named))
                form, builder = define(own, form_name, kind, arity, *attributes)
            else:
                vector = ir.VectorType(kind, lanes)
                form, builder = define(own, form_name, vector, arity, "alwaysinline")
            builder.ret(body(builder, form))
        keep(own, [own.globals[form_name] for form_name in vectors.values()])

    if full not in module.globals:
        define_step(module, list(names.values()), write)
    return {lanes: module.globals[form_name] for lanes, form_name in names.items()}


def lookup(table: Sequence[float], size: int) -> Instruction:
    """Return the instruction that looks up an index, which is the lowest bits of its operand.

    `size` is the length of the vectors in bytes.
    """

    def emission(builder: Any, x: Any) -> Any:
        return _looked_up(builder, tuple(table), x, size)

    return Instruction(emission, size)


def _looked_up(builder: Any, table: Sequence[float], x: Any, size: int) -> Any:
    """Emit a lookup; in a long table, both halves are looked up, and a bit of the index selects."""
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
    """Emit the lookup for a short vector, with the instruction for a full vector."""
    lanes = x.type.count
    repeated = ir.Constant(ir.VectorType(INT, full), [k % lanes for k in range(full)])
    wide = _looked_up(builder, table, builder.shuffle_vector(x, x, repeated), size)
    first = ir.Constant(ir.VectorType(INT, lanes), list(range(lanes)))
    return builder.shuffle_vector(wide, wide, first)


def _in_long(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit `vpermps` or `vpermi2ps`, or their forms for float64."""
    kind = parts[0].type
    single = isinstance(kind.element, ir.FloatType)
    if len(parts) == 1:
        name, given = f"permvar.{'sf' if single else 'df'}", [parts[0], index]
    else:
        name, given = f"vpermi2var.{'ps' if single else 'pd'}", [parts[0], index, parts[1]]
    return call_function(builder, f"llvm.x86.avx512.{name}.512", kind, given)


def _in_short(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit AVX2's `vpermps`; a float64 is looked up as two halves."""
    (part,) = parts
    if index.type.element == LONG:
        within = builder.and_(index, ir.Constant(index.type, 3))
        twice = builder.shl(within, ir.Constant(index.type, 1))
        both = builder.or_(twice, builder.shl(twice, ir.Constant(index.type, 32)))
        index = builder.add(both, ir.Constant(index.type, 1 << 32))
    halves = [builder.bitcast(part, PAIRS), builder.bitcast(index, ir.VectorType(INT, 8))]
    return builder.bitcast(call_function(builder, "llvm.x86.avx2.permps", PAIRS, halves), part.type)
