"""Building blocks of the rules of intrinsics: emitters of LLVM code, and `Real` numbers in it.

`Real` and `Bit` are values of a kernel with Python's operators, so that code for a formula looks
like the formula.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir

Emitter = Callable[[Any, list[Any]], Any]
Rules = dict[str, Emitter]
"""A table from the letters of dtype kinds to the emission for operands of these kinds."""


def call_function(
    builder: Any, name: str, kind: Any, args: Sequence[Any], flags: Sequence[str] = ()
) -> Any:
    """Emit a call of a function, declared by its full name; `kind` is the type of the result."""
    module = builder.module
    function = module.globals.get(name)
    if function is None:
        function = ir.Function(module, ir.FunctionType(kind, [arg.type for arg in args]), name)
    return builder.call(function, args, fastmath=flags)


def call_intrinsic(builder: Any, name: str, args: Sequence[Any], flags: Sequence[str] = ()) -> Any:
    """Emit a call of the LLVM intrinsic `name` for the type of the operands."""
    kind = args[0].type
    vector = isinstance(kind, ir.VectorType)
    lanes = f"v{kind.count}{kind.element.intrinsic_name}" if vector else kind.intrinsic_name
    return call_function(builder, f"{name}.{lanes}", kind, args, flags)


def call_declared(name: str, flags: Sequence[str] = ()) -> Emitter:
    """Emission of a call of the LLVM intrinsic `name` on the operands' type."""
    return lambda builder, args: call_intrinsic(builder, name, args, flags)


def method(name: str) -> Emitter:
    """Emission of one instruction of the IR builder."""
    return lambda b, args: getattr(b, name)(*args)


def hidden(builder: Any, number: Any, *attributes: str) -> Any:
    """The same integer, made opaque: LLVM does not know how it was computed."""
    kind = ir.FunctionType(number.type, [number.type])
    kept = builder.asm(kind, "", "=r,0", [number], side_effect=False)
    for attribute in ("nounwind", "memory(none)", *attributes):
        set.add(kept.attributes, attribute)  # llvmlite does not know all of them
    return kept


def kept_plain(module: Any) -> Any:
    """The metadata of a loop that LLVM must not transform; its first operand is itself."""
    vectorize = [ir.MetaDataString(module, "llvm.loop.vectorize.enable"), ir.IntType(1)(0)]
    unroll = [ir.MetaDataString(module, "llvm.loop.unroll.disable")]
    marks = [module.add_metadata(mark) for mark in (vectorize, unroll)]
    node = module.add_metadata([*marks, ir.IntType(32)(len(module.metadata))])
    node.operands = (node, *marks)
    return node


class Bit:
    """A truth value."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def __and__(self, other: Bit) -> Bit:
        return Bit(self.builder, self.builder.and_(self.value, other.value))

    def __or__(self, other: Bit) -> Bit:
        return Bit(self.builder, self.builder.or_(self.value, other.value))

    def __invert__(self) -> Bit:
        return Bit(self.builder, self.builder.not_(self.value))

    def choose(self, yes: Real, no: Real) -> Real:
        """`yes` if this is true, else `no`; both are evaluated."""
        return Real(self.builder, self.builder.select(self.value, yes.value, no.value))


class Real:
    """A floating-point number; comparisons with NaN are false."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def constant(self, value: float) -> Real:
        """A number of the same type."""
        return Real(self.builder, ir.Constant(self.value.type, value))

    def intrinsic(self, name: str, *others: Real) -> Real:
        """The LLVM intrinsic `name` of this and other numbers."""
        values = [self.value, *(other.value for other in others)]
        return Real(self.builder, call_intrinsic(self.builder, name, values))

    def library(self, name: str, *others: Real) -> Real:
        """The C library's function `name` of this and other numbers."""
        values = [self.value, *(other.value for other in others)]
        suffix = "f" if isinstance(self.value.type, ir.FloatType) else ""
        return Real(
            self.builder, call_function(self.builder, name + suffix, self.value.type, values)
        )

    def __add__(self, other: Real) -> Real:
        return Real(self.builder, self.builder.fadd(self.value, other.value))

    def __sub__(self, other: Real) -> Real:
        return Real(self.builder, self.builder.fsub(self.value, other.value))

    def __mul__(self, other: Real) -> Real:
        return Real(self.builder, self.builder.fmul(self.value, other.value))

    def __truediv__(self, other: Real) -> Real:
        return Real(self.builder, self.builder.fdiv(self.value, other.value))

    def __neg__(self) -> Real:
        return Real(self.builder, self.builder.fneg(self.value))

    def __abs__(self) -> Real:
        return self.intrinsic("llvm.fabs")

    def compare(self, sign: str, other: Real) -> Bit:
        """An ordered comparison."""
        return Bit(self.builder, self.builder.fcmp_ordered(sign, self.value, other.value))

    def __lt__(self, other: Real) -> Bit:
        return self.compare("<", other)

    def __gt__(self, other: Real) -> Bit:
        return self.compare(">", other)

    def __ge__(self, other: Real) -> Bit:
        return self.compare(">=", other)

    def equals(self, value: float) -> Bit:
        """True if this equals the number."""
        return self.compare("==", self.constant(value))

    def is_nan(self) -> Bit:
        """True if this is NaN."""
        return Bit(self.builder, self.builder.fcmp_unordered("uno", self.value, self.value))

    def is_infinite(self) -> Bit:
        """True if this is infinite."""
        return abs(self).equals(float("inf"))

    def is_finite(self) -> Bit:
        """True if this is neither infinite nor NaN."""
        return abs(self) < self.constant(float("inf"))
