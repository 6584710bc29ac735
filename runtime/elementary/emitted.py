"""Recipes as LLVM code: each operation is one instruction, which LLVM can vectorise."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.llvm.target_code import target_of
from axiomjit.runtime.elementary import native, rare, tables
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.definitions import call

FLOATS = {"f4": ir.FloatType(), "f8": ir.DoubleType()}
INTEGERS = {"f4": ir.IntType(32), "f8": ir.IntType(64)}


def of_lanes(element: Any, lanes: int) -> Any:
    """Return the vector type of `lanes` elements; for one lane the element type."""
    return ir.VectorType(element, lanes) if lanes > 1 else element


def _is_integer(kind: Any) -> bool:
    return isinstance(getattr(kind, "element", kind), ir.IntType)


def _operator(floats: str, integers: str = "", swapped: bool = False) -> Callable[..., Lane]:
    """The method that emits an instruction of floats, or of integers, by llvmlite's names."""

    def operation(self: Lane, other: Any) -> Lane:
        name = integers if _is_integer(self.value.type) else floats
        operands = [self.value, self.other(other)]
        return Lane(self.builder, getattr(self.builder, name)(*operands[:: -1 if swapped else 1]))

    return operation


def _comparison(sign: str) -> Callable[..., Lane]:
    floats = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"

    def compared(self: Lane, other: Any) -> Lane:
        name = "icmp_signed" if _is_integer(self.value.type) else floats
        return Lane(self.builder, getattr(self.builder, name)(sign, self.value, self.other(other)))

    return compared


class Lane:
    """An LLVM value with Python's operators."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        """Wrap an LLVM value."""
        self.builder, self.value = builder, value

    def other(self, value: Any) -> Any:
        """The LLVM value of an operand; a Python number becomes a constant of this type."""
        return value.value if isinstance(value, Lane) else ir.Constant(self.value.type, value)

    __add__ = _operator("fadd", "add")
    __sub__ = _operator("fsub", "sub")
    __rsub__ = _operator("fsub", "sub", swapped=True)
    __mul__ = _operator("fmul", "mul")
    __truediv__ = _operator("fdiv")
    __rtruediv__ = _operator("fdiv", swapped=True)
    __and__ = _operator("", "and_")
    __or__ = _operator("", "or_")
    __xor__ = _operator("", "xor")
    __lshift__ = _operator("", "shl")
    __rshift__ = _operator("", "ashr")
    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]

    def __neg__(self) -> Lane:
        name = "neg" if _is_integer(self.value.type) else "fneg"
        return Lane(self.builder, getattr(self.builder, name)(self.value))

    def __abs__(self) -> Lane:
        return Lane(self.builder, call("llvm.fabs", self.builder, [self.value]))

    def __invert__(self) -> Lane:
        return Lane(self.builder, self.builder.not_(self.value))


class Emitted(Arithmetic):
    """Arithmetic whose values are `Lane`s of one builder."""

    def __init__(self, builder: Any, code: str, lanes: int) -> None:
        """Emit operations of a dtype where the builder is, on vectors of `lanes` numbers."""
        self.builder, self.code, self.lanes = builder, code, lanes

    def lane(self, value: Any) -> Lane:
        """Wrap an LLVM value as a value of recipes."""
        return Lane(self.builder, value)

    def constant(self, value: float) -> Lane:
        """Return a constant of this precision."""
        return Lane(self.builder, ir.Constant(of_lanes(FLOATS[self.code], self.lanes), value))

    def _operands(self, *operands: Any) -> list[Any]:
        like = next(operand for operand in operands if isinstance(operand, Lane))
        return [like.other(operand) for operand in operands]

    def _called(self, name: str, *operands: Any) -> Lane:
        return Lane(self.builder, call(name, self.builder, self._operands(*operands)))

    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Lane:
        """a * b + c, rounded once; one operand may be a Python float."""
        return self._called("llvm.fma", a, b, c)

    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Lane:
        """`yes` where the condition holds, else `no`; one of them may be a Python number."""
        chosen = self.builder.select(condition.value, *self._operands(yes, no))
        return Lane(self.builder, chosen)

    def sqrt(self, x: Numeric) -> Lane:
        """The square root."""
        return self._called("llvm.sqrt", x)

    def rint(self, x: Numeric) -> Lane:
        """The nearest integer as a float, ties to even."""
        return self._called("llvm.rint", x)

    def copysign(self, x: Numeric, sign: Numeric) -> Lane:
        """x with the sign bit of `sign`."""
        return self._called("llvm.copysign", x, sign)

    def bits(self, x: Numeric) -> Lane:
        """The bits of a float as a signed integer."""
        return Lane(
            self.builder, self.builder.bitcast(x.value, of_lanes(INTEGERS[self.code], self.lanes))
        )

    def number(self, bits: Numeric) -> Lane:
        """The float with these bits."""
        return Lane(
            self.builder, self.builder.bitcast(bits.value, of_lanes(FLOATS[self.code], self.lanes))
        )

    def to_float(self, whole: Numeric) -> Lane:
        """An integer as a float."""
        return Lane(
            self.builder, self.builder.sitofp(whole.value, of_lanes(FLOATS[self.code], self.lanes))
        )

    def narrowed(self, x: Numeric) -> Lane:
        """A value of `wide` rounded to float32."""
        return Lane(self.builder, self.builder.fptrunc(x.value, of_lanes(FLOATS["f4"], self.lanes)))

    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: Callable[[Arithmetic, Numeric], Numeric],
    ) -> Lane:
        """Return recipe(x) where |x| > bound, else `usual`."""

        def slow(builder: Any, value: Any) -> Any:
            return recipe(Emitted(builder, self.code, 1), Lane(builder, value)).value

        full, kind = f"axiomjit_{name}_{self.code}", FLOATS[self.code]
        function = rare.beyond(self.builder.module, full, kind, self.lanes, bound, slow)
        return self.lane(self.builder.call(function, [x.value, usual.value]))

    def _step(self, name: str, *operands: Numeric) -> Lane:
        """Emit a step of `Arithmetic`, by its vector instruction where the target has it."""
        basic: Callable[..., Lane] = getattr(Arithmetic, name)
        return self._chosen(name, native.INSTRUCTIONS[name], basic, *operands)

    def _chosen(
        self,
        name: str,
        instruction: native.Instruction,
        basic: Callable[..., Lane],
        *operands: Numeric,
    ) -> Lane:
        """Emit a step by its instruction, or by basic operations if the target lacks it."""
        if target_of(self.builder.module).vector_bytes < instruction.size:
            return basic(self, *operands)
        values = [operand.value for operand in operands]
        if self.lanes > 1:
            return self.lane(native.emit(self.builder, instruction, values))

        def single(builder: Any, *args: Any) -> Any:
            return basic(Emitted(builder, self.code, 1), *(Lane(builder, a) for a in args)).value

        kind = FLOATS[self.code]
        function = native.step(self.builder.module, name, instruction, kind, len(values), single)
        return self.lane(self.builder.call(function, values))

    def lookup(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return the table's entry at `index` modulo its length."""

        def basic(m: Emitted, bits: Lane) -> Numeric:
            return Arithmetic.lookup(m, name, table, m.bits(bits))

        instruction = tables.lookup(table, max(target_of(self.builder.module).vector_bytes, 32))
        return self._chosen(f"lookup_{name}", instruction, basic, self.number(index))

    def within(self, x: Numeric, low: float, high: float) -> Lane:
        """x clipped to the bounds; unchanged where instructions compute the steps."""

        def basic(m: Emitted, x: Lane) -> Numeric:
            return Arithmetic.within(m, x, low, high)

        return self._chosen(f"within_{low.hex()}_{high.hex()}", native.UNCHANGED, basic, x)

    def significand(self, x: Numeric) -> Lane:
        """The mantissa of a positive number, from 1 to 2."""
        return self._step("significand", x)

    def binade(self, x: Numeric) -> Lane:
        """The exponent of x as a float."""
        return self._step("binade", x)

    def reduced(self, x: Numeric, bits: int) -> Lane:
        """x minus the nearest multiple of 2**-bits."""

        def basic(m: Emitted, x: Lane) -> Numeric:
            return Arithmetic.reduced(m, x, bits)

        return self._chosen(f"reduced_{bits}", native.reduced(bits), basic, x)

    def scaled(self, x: Numeric, exponent: Numeric) -> Lane:
        """x * 2**floor(exponent)."""
        return self._step("scaled", x, exponent)

    def log_limits(self, x: Numeric, result: Numeric) -> Lane:
        """Return `result` for positive finite x, else the limit of a logarithm."""
        return self._step("log_limits", x, result)

    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Lane:
        """Return table[index] from a constant array of the module."""
        full = f"axiomjit_{name}_{self.code}"
        where = rare.table(self.builder.module, full, FLOATS[self.code], table)
        if self.lanes == 1:
            return self.lane(rare.element(self.builder, where, index.value))
        result = ir.Constant(of_lanes(FLOATS[self.code], self.lanes), ir.Undefined)
        for lane in map(rare.INDEX, range(self.lanes)):
            position = self.builder.extract_element(index.value, lane)
            value = rare.element(self.builder, where, position)
            result = self.builder.insert_element(result, value, lane)
        return self.lane(result)

    @property
    def wide(self) -> Emitted:
        """The arithmetic of float64."""
        return Emitted(self.builder, "f8", self.lanes)

    def widened(self, x: Numeric) -> Lane:
        """A float of this precision, or of float32, converted to float64: a value of `wide`."""
        wide = of_lanes(FLOATS["f8"], self.lanes)
        return x if x.value.type == wide else self.lane(self.builder.fpext(x.value, wide))
