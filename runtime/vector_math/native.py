"""Steps of recipes that a processor with AVX-512 does to a vector in one or two instructions.

`Arithmetic` has each step in basic operations; the instructions give the same bits. LLVM makes
vector code of the former alone, so a recipe that is compiled for single numbers calls a function
per step, which says by LLVM's vector function ABI what does a vector of them; those forms become
part of the loop after it has been made a vector loop (`kernel_library`).
"""

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

from axiomjit.runtime.vector_math.definitions import define, keep, variants

PREFIX = "axiomjit_step_"
"""Of the names of functions for steps."""
BYTES = 64
"""Of the vectors that the instructions work on."""
INT = ir.IntType(32)
CURRENT_ROUNDING = INT(4)
ONE = INT(0b0000)
"""Mantissas from 1 to 2, with the sign of the number."""
THREE_QUARTERS = INT(0b0011)
"""Mantissas from 3/4 to 3/2, with the sign of the number."""
LOGARITHM_LIMITS = 0x00 | 0x32 | 0x4 << 8 | 0x3 << 16 | 0x5 << 20 | 0x3 << 24
"""vfixupimm's answers by kind of number, from the lowest: quiet NaN, signalling NaN, 0, 1,
-infinity, infinity, negative, positive; 0: the result, 2: the number, 3: NaN, 4, 5: infinities."""


def _bits(kind: Any) -> int:
    return int(kind.count) * (32 if isinstance(kind.element, ir.FloatType) else 64)


def _instruction(builder: Any, name: str, kind: Any, *operands: Any) -> Any:
    """A call of llvm.x86.avx512.mask.`name`, every lane of it."""
    given = [*operands, ir.IntType(max(kind.count, 8))(-1)]
    if _bits(kind) == 8 * BYTES:
        given.append(CURRENT_ROUNDING)
    scalar = "s" if isinstance(kind.element, ir.FloatType) else "d"
    full = f"llvm.x86.avx512.mask.{name}.p{scalar}.{_bits(kind)}"
    function = builder.module.globals.get(full)
    if function is None:
        function_type = ir.FunctionType(kind, [value.type for value in given])
        function = ir.Function(builder.module, function_type, full)
    return builder.call(function, given)


def _undefined(kind: Any) -> Any:
    return ir.Constant(kind, ir.Undefined)


def _mantissa(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getmant", x.type, x, THREE_QUARTERS, _undefined(x.type))


def _significand(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getmant", x.type, x, ONE, _undefined(x.type))


def _binade(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getexp", x.type, x, _undefined(x.type))


def _exponent(builder: Any, x: Any) -> Any:
    below = _binade(builder, x)
    one = ir.Constant(x.type, 1.0)
    lower = builder.fcmp_ordered("<", _mantissa(builder, x), one)
    return builder.select(lower, builder.fadd(below, one), below)


def _scaled(builder: Any, x: Any, whole: Any) -> Any:
    return _instruction(builder, "scalef", x.type, x, whole, _undefined(x.type))


def _log_limits(builder: Any, x: Any, result: Any) -> Any:
    whole = ir.VectorType(ir.IntType(_bits(x.type) // x.type.count), x.type.count)
    table = ir.Constant(whole, LOGARITHM_LIMITS)
    return _instruction(builder, "fixupimm", x.type, result, x, table, INT(0))


Instruction = Callable[..., Any]
"""Emits a step, from a builder and operands."""
INSTRUCTIONS: dict[str, Instruction] = {
    "significand": _significand,
    "binade": _binade,
    "mantissa_part": _mantissa,
    "exponent_part": _exponent,
    "scaled": _scaled,
    "log_limits": _log_limits,
}


def looked_up(table: Sequence[float]) -> Instruction:
    """The step of that name for a table of 16."""

    def emit(builder: Any, x: Any) -> Any:
        kind, width = x.type, _bits(x.type) // x.type.count
        whole = ir.VectorType(ir.IntType(width), kind.count)
        count = ir.Constant(whole, [(23 if width == 32 else 52) - 4] * kind.count)
        index = builder.lshr(builder.bitcast(x, whole), count)
        rows = [table[k : k + kind.count] for k in range(0, len(table), kind.count)]
        entries = [ir.Constant(kind, [ir.Constant(kind.element, v) for v in row]) for row in rows]
        operands = [entries[0], index, *entries[1:]]
        name = "permvar" if len(rows) == 1 else "vpermi2var"
        letter = "s" if width == 32 else "d"
        dot = "p" if len(rows) > 1 else ""
        form = f"{dot}{letter}" if dot else f"{letter}f"
        full = f"llvm.x86.avx512.{name}.{form}.{_bits(kind)}"
        function = builder.module.globals.get(full)
        if function is None:
            function_type = ir.FunctionType(kind, [value.type for value in operands])
            function = ir.Function(builder.module, function_type, full)
        return builder.call(function, operands)

    return emit


def _halves(builder: Any, value: Any) -> list[Any]:
    half = value.type.count // 2
    masks = [ir.Constant(ir.VectorType(INT, half), list(range(k, k + half))) for k in (0, half)]
    return [builder.shuffle_vector(value, _undefined(value.type), mask) for mask in masks]


def emit(builder: Any, instruction: Instruction, operands: Sequence[Any]) -> Any:
    """A step of vectors, in as many instructions as they are long."""
    kind = operands[0].type
    if _bits(kind) <= 8 * BYTES:
        return instruction(builder, *operands)
    halves = zip(*(_halves(builder, value) for value in operands), strict=True)
    low, high = (emit(builder, instruction, half) for half in halves)
    mask = ir.Constant(ir.VectorType(INT, kind.count), list(range(kind.count)))
    return builder.shuffle_vector(low, high, mask)


def step(
    module: Any, name: str, instruction: Instruction, kind: Any, arity: int, basic: Instruction
) -> Any:
    """The function of single numbers for a step, whose forms for vectors are its instructions.

    Args:
        module: where it is, or becomes, a function.
        name: of the step.
        instruction: emission of the step on vectors.
        kind: the type of a number.
        arity: count of operands.
        basic: emission of the step in basic operations, from a builder and the operands.
    """
    full = f"{PREFIX}{name}_{'f4' if isinstance(kind, ir.FloatType) else 'f8'}"
    if full not in module.globals:
        forms = []
        for lanes in (8, 16):
            vector = ir.VectorType(kind, lanes)
            form, builder = define(module, f"{full}_x{lanes}", vector, arity, "alwaysinline")
            builder.ret(emit(builder, instruction, form.args))
            forms.append(form)
        names = {form.args[0].type.count: form.name for form in forms}
        function, builder = define(
            module, full, kind, arity, "noinline", variants(full, arity, names)
        )
        builder.ret(basic(builder, *function.args))
        keep(module, forms)
    return module.globals[full]
