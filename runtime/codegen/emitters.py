"""Emitters of LLVM code, from which the rules of intrinsics are built.

`Real` and `Bit` are values of a kernel with Python's operators, so that the code of a formula looks
like the formula.

Operations on complex numbers follow NumPy's formulas, one real part at a time. As in NumPy's
vectorised loops, a product uses fused multiply-add, and an absolute value uses the ratio of the
parts. A quotient follows Smith's formula, and the order of complex numbers is lexicographic. Where
NumPy calls the C library (hypot, csqrt, tangents, inverse functions), these rules call it, too,
except for functions in `elementary.complex_functions`. Powers with small integer exponents are
products, as in NumPy; other powers call the C library.
"""

from __future__ import annotations

import platform
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import cgutils

Emitter = Callable[[Any, list[Any]], Any]
Rules = dict[str, Emitter]
"""The emitters of an intrinsic, by the letter for the kind of the operands' dtype."""


def call_function(
    builder: Any, name: str, kind: Any, args: Sequence[Any], flags: Sequence[str] = ()
) -> Any:
    """Emit a call of a function with this full name; `kind` is the type of the result."""
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
    """The emitter of a call of the LLVM intrinsic `name` for the type of the operands."""
    return lambda builder, args: call_intrinsic(builder, name, args, flags)


def method(name: str) -> Emitter:
    """The emitter of the instruction that a method of the IR builder emits."""
    return lambda b, args: getattr(b, name)(*args)


def hidden(builder: Any, number: Any, *attributes: str) -> Any:
    """Return the integer in such a way that LLVM does not know how it was computed."""
    kind = ir.FunctionType(number.type, [number.type])
    kept = builder.asm(kind, "", "=r,0", [number], side_effect=False)
    for attribute in ("nounwind", "memory(none)", *attributes):
        set.add(kept.attributes, attribute)  # `add` refuses attributes unknown to llvmlite
    return kept


def without_transformations(module: Any) -> Any:
    """The metadata node of a loop that LLVM must not vectorise or unroll."""
    vectorize = [ir.MetaDataString(module, "llvm.loop.vectorize.enable"), ir.IntType(1)(0)]
    unroll = [ir.MetaDataString(module, "llvm.loop.unroll.disable")]
    marks = [module.add_metadata(mark) for mark in (vectorize, unroll)]
    node = module.add_metadata([*marks, ir.IntType(32)(len(module.metadata))])
    node.operands = (node, *marks)
    return node


class Bit:
    """A truth value in the code of a kernel."""

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
        """The number `yes` if this value is true, otherwise `no`; both are evaluated."""
        return Real(self.builder, self.builder.select(self.value, yes.value, no.value))


class Real:
    """A floating-point number in the code of a kernel; comparisons with NaN are false."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def constant(self, value: float) -> Real:
        """A constant of the same type."""
        return Real(self.builder, ir.Constant(self.value.type, value))

    def intrinsic(self, name: str, *others: Real) -> Real:
        """The result of the LLVM intrinsic `name` for this number and others."""
        values = [self.value, *(other.value for other in others)]
        return Real(self.builder, call_intrinsic(self.builder, name, values))

    def library(self, name: str, *others: Real) -> Real:
        """The result of the C library's function `name` for this number and others."""
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
        """The result of a comparison, which is false if an operand is NaN."""
        return Bit(self.builder, self.builder.fcmp_ordered(sign, self.value, other.value))

    def __lt__(self, other: Real) -> Bit:
        return self.compare("<", other)

    def __gt__(self, other: Real) -> Bit:
        return self.compare(">", other)

    def __ge__(self, other: Real) -> Bit:
        return self.compare(">=", other)

    def equals(self, value: float) -> Bit:
        """True if this number equals a constant."""
        return self.compare("==", self.constant(value))

    def is_nan(self) -> Bit:
        """True if this number is NaN."""
        return Bit(self.builder, self.builder.fcmp_unordered("uno", self.value, self.value))

    def is_infinite(self) -> Bit:
        """True if this number is infinite."""
        return abs(self).equals(float("inf"))

    def is_finite(self) -> Bit:
        """True if this number is neither infinite nor NaN."""
        return abs(self) < self.constant(float("inf"))


RealPair = tuple[Real, Real]


def parts_of(builder: Any, value: Any) -> RealPair:
    """The real and the imaginary part of a complex value."""
    re, im = (Real(builder, builder.extract_value(value, k)) for k in (0, 1))
    return re, im


def complex_value(re: Real, im: Real) -> Any:
    """The complex value with these real and imaginary parts."""
    pair = ir.Constant(ir.LiteralStructType([re.value.type] * 2), ir.Undefined)
    pair = re.builder.insert_value(pair, re.value, 0)
    return re.builder.insert_value(pair, im.value, 1)


def _to_number(rule: Callable[..., RealPair]) -> Emitter:
    """The emitter of a formula with a complex result."""
    return lambda b, args: complex_value(*rule(*(parts_of(b, value) for value in args)))


def _to_part(rule: Callable[..., Real | Bit]) -> Emitter:
    """The emitter of a formula whose result is a real number or a truth value."""
    return lambda b, args: rule(*(parts_of(b, value) for value in args)).value


def _each(function: Callable[..., Real]) -> Emitter:
    """The emitter that applies a function to the real and to the imaginary part of an operand."""
    return _to_number(lambda *numbers: tuple(map(function, *numbers)))


def _reassociated(a: Real, b: Real) -> Real:
    return Real(a.builder, a.builder.fadd(a.value, b.value, flags=("reassoc",)))


def _product(x: RealPair, y: RealPair) -> RealPair:
    (a, b), (c, d) = x, y
    return a.intrinsic("llvm.fma", c, -(b * d)), a.intrinsic("llvm.fma", d, b * c)


def _swapped(keep: Bit, x: RealPair) -> RealPair:
    """The real and imaginary part of a number; they are swapped if `keep` is false."""
    return keep.choose(*x), keep.choose(x[1], x[0])


def _quotient(x: RealPair, y: RealPair) -> RealPair:
    """The quotient by Smith's formula, scaled by the larger part of the divisor."""
    by_real = abs(y[0]) >= abs(y[1])
    (p, q), (large, small) = _swapped(by_real, x), _swapped(by_real, y)
    ratio = small / large
    scale = ratio.constant(1.0) / (large + small * ratio)
    re, im = p + q * ratio, by_real.choose(q - p * ratio, p * ratio - q)
    zero = y[0].equals(0.0) & y[1].equals(0.0)
    return (
        zero.choose(x[0] / abs(y[0]), re * scale),
        zero.choose(x[1] / abs(y[0]), im * scale),
    )


def _reciprocal(x: RealPair) -> RealPair:
    by_real = abs(x[0]) >= abs(x[1])
    large, small = _swapped(by_real, x)
    ratio, one = small / large, large.constant(1.0)
    below = large + small * ratio
    return by_real.choose(one, ratio) / below, by_real.choose(-ratio, -one) / below


def _absolute(x: RealPair) -> Real:
    re, im = map(abs, x)
    larger, smaller = _swapped(re >= im, (re, im))
    ratio = larger.equals(0.0).choose(smaller, smaller / larger)
    root = ratio.intrinsic("llvm.fma", ratio, ratio.constant(1.0)).intrinsic("llvm.sqrt")
    infinite = x[0].is_infinite() | x[1].is_infinite()
    return infinite.choose(root.constant(float("inf")), root * larger)


def _sign(x: RealPair) -> RealPair:
    """The sign x / |x| of a complex number; if a part is infinite, the direction of this part."""
    re, im = x
    length = re.library("hypot", im)
    zero, one, nan = map(length.constant, (0.0, 1.0, float("nan")))
    undefined = length.is_nan() | (re.is_infinite() & im.is_infinite())

    def part(here: Real, alone: Bit) -> Real:
        far = alone.choose(one.intrinsic("llvm.copysign", here), zero)
        near = length.equals(0.0).choose(zero, here / length)
        return undefined.choose(nan, length.is_infinite().choose(far, near))

    return part(re, re.is_infinite()), part(im, ~re.is_infinite())


def _is_nan(x: RealPair) -> Bit:
    return x[0].is_nan() | x[1].is_nan()


def _ordered(sign: str) -> Callable[[RealPair, RealPair], Bit]:
    """The function that compares lexicographically; NaN makes the comparison false."""

    def compare(x: RealPair, y: RealPair) -> Bit:
        first = x[0].compare(sign[0], y[0]) & ~(x[1].is_nan() | y[1].is_nan())
        return first | (x[0].compare("==", y[0]) & x[1].compare(sign, y[1]))

    return compare


def _equal(x: RealPair, y: RealPair) -> Bit:
    return x[0].compare("==", y[0]) & x[1].compare("==", y[1])


def _extreme(sign: str, *, ignores_nan: bool = False) -> Emitter:
    """The emitter of a maximum or minimum, by a lexicographic comparison.

    The result is NaN if an operand is NaN. With `ignores_nan`, the result is the other operand if
    one operand is NaN.
    """
    compare = _ordered(sign)

    def rule(x: RealPair, y: RealPair) -> RealPair:
        first = compare(x, y) | _is_nan(y if ignores_nan else x)
        return first.choose(x[0], y[0]), first.choose(x[1], y[1])

    return _to_number(rule)


def _clip(x: RealPair, low: RealPair, high: RealPair) -> RealPair:
    """The result of NumPy's `clip`; imaginary parts are compared only if real parts are equal."""

    def stays(a: RealPair, greater: RealPair, less: RealPair) -> Bit:
        same = greater[0].compare("==", less[0])
        by_real, by_imag = greater[0] > less[0], greater[1] > less[1]
        return _is_nan(a) | (same & by_imag) | (~same & by_real)

    def chosen(bit: Bit, a: RealPair, b: RealPair) -> RealPair:
        return bit.choose(a[0], b[0]), bit.choose(a[1], b[1])

    raised = chosen(stays(x, x, low), x, low)
    return chosen(stays(raised, high, raised), raised, high)


def library(name: str) -> Emitter:
    """The emitter of a call of a complex function of the C library."""

    def emit(builder: Any, args: list[Any]) -> Any:
        part = args[0].type.elements[0]
        single = isinstance(part, ir.FloatType)
        numbers = [parts_of(builder, value) for value in args]
        if single and platform.machine() in ("x86_64", "AMD64"):
            # The calling convention packs two floats into one register.
            packed = ir.VectorType(part, 2)
            result = call_function(builder, name + "f", packed, [_packed_parts(x) for x in numbers])
            lanes = [builder.extract_element(result, ir.IntType(32)(k)) for k in (0, 1)]
            return complex_value(*(Real(builder, lane) for lane in lanes))
        values = [part.value for number in numbers for part in number]
        return call_function(builder, name + "f" * single, args[0].type, values)

    return emit


def _packed_parts(x: RealPair) -> Any:
    builder, lanes = x[0].builder, ir.VectorType(x[0].value.type, 2)
    one = builder.insert_element(ir.Constant(lanes, ir.Undefined), x[0].value, ir.IntType(32)(0))
    return builder.insert_element(one, x[1].value, ir.IntType(32)(1))


def select_complex(builder: Any, condition: Any, yes: Any, no: Any) -> Any:
    """Emit the selection of one of two complex values, without a branch."""
    bit = Bit(builder, condition)
    pairs = zip(parts_of(builder, yes), parts_of(builder, no), strict=True)
    return complex_value(*(bit.choose(a, b) for a, b in pairs))


def _log1p(x: RealPair) -> RealPair:
    re, im = x[0] + x[0].constant(1.0), x[1]
    return re.library("hypot", im).library("log"), im.library("atan2", re)


ARCS = ("arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh")
COMPLEX: dict[str, Emitter] = {
    "add": _each(lambda a, b: a + b),
    "subtract": _each(lambda a, b: a - b),
    "negative": _each(lambda a: -a),
    "add_reassoc": _each(_reassociated),
    "multiply": _to_number(_product),
    "divide": _to_number(_quotient),
    "reciprocal": _to_number(_reciprocal),
    "conjugate": _to_number(lambda x: (x[0], -x[1])),
    "rint": _each(lambda a: a.intrinsic("llvm.rint")),
    "absolute": _to_part(_absolute),
    "sign": _to_number(_sign),
    "real": _to_part(lambda x: x[0]),
    "imag": _to_part(lambda x: x[1]),
    "isnan": _to_part(_is_nan),
    "isinf": _to_part(lambda x: x[0].is_infinite() | x[1].is_infinite()),
    "isfinite": _to_part(lambda x: x[0].is_finite() & x[1].is_finite()),
    "maximum": _extreme(">="),
    "minimum": _extreme("<="),
    "fmax": _extreme(">=", ignores_nan=True),
    "fmin": _extreme("<=", ignores_nan=True),
    "clip": _to_number(_clip),
    "sqrt": library("csqrt"),
    "log1p": _to_number(_log1p),
    **{name: library(name.replace("arc", "ca")) for name in ARCS},
    **{name: library(f"c{name}") for name in ("tan", "tanh")},
    "equal": _to_part(_equal),
    "not_equal": _to_part(lambda x, y: ~_equal(x, y)),
    **{
        name: _to_part(_ordered(sign))
        for name, sign in (
            *(("less", "<"), ("less_equal", "<=")),
            *(("greater", ">"), ("greater_equal", ">=")),
        )
    },
}
"""The emitter for complex operands of each intrinsic, by the name of the intrinsic."""


LARGEST_POWER = 100.0
"""The largest absolute value of an integer exponent for which a power is computed by products."""
INT = ir.IntType(32)


def complex_power(builder: Any, args: list[Any]) -> Any:
    """Emit a complex power, as a call of a function that is defined once per module and type."""
    kind = args[0].type
    name = f"axiomjit_power_{kind.elements[0]}"
    function = builder.module.globals.get(name) or _function(builder.module, name, kind)
    return builder.call(function, args)


def _function(module: Any, name: str, kind: Any) -> Any:
    function = ir.Function(module, ir.FunctionType(kind, [kind, kind]), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    base, exponent = (parts_of(builder, value) for value in function.args)
    zero, one, nan = map(base[0].constant, (0.0, 1.0, float("nan")))
    still = exponent[0].equals(0.0) & exponent[1].equals(0.0)
    with builder.if_then(still.value):
        builder.ret(complex_value(one, zero))
    nothing = base[0].equals(0.0) & base[1].equals(0.0)
    with builder.if_then(nothing.value):
        result = (exponent[0] > zero).choose(zero, nan)
        builder.ret(complex_value(result, result))
    below = abs(exponent[0]) < zero.constant(LARGEST_POWER)
    whole = exponent[0].compare("==", exponent[0].intrinsic("llvm.trunc"))
    with builder.if_then((below & whole & exponent[1].equals(0.0)).value):
        builder.ret(_by_products(builder, base, exponent[0]))
    builder.ret(library("cpow")(builder, list(function.args)))
    return function


def _rounded_product(x: RealPair, y: RealPair) -> RealPair:
    """The product of complex numbers without fused multiply-add, as in NumPy's powers."""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def _by_products(builder: Any, base: RealPair, exponent: Real) -> Any:
    """Emit a power by squaring and multiplying; exponents 1 to 3 use the fewest products."""
    one, zero = exponent.constant(1.0), exponent.constant(0.0)
    square = _rounded_product(base, base)
    for count, result in ((1.0, base), (2.0, square), (3.0, _rounded_product(base, square))):
        with builder.if_then(exponent.equals(count).value):
            builder.ret(complex_value(*result))
    left, total, factor = (
        cgutils.alloca_once_value(builder, value)
        for value in (
            builder.fptosi(abs(exponent).value, INT),
            complex_value(one, zero),
            complex_value(*base),
        )
    )
    body, done = builder.append_basic_block("products"), builder.append_basic_block("done")
    builder.branch(body)
    builder.position_at_end(body)
    bits = builder.load(left)
    with builder.if_then(builder.trunc(bits, ir.IntType(1))):
        pair = (parts_of(builder, builder.load(cell)) for cell in (total, factor))
        builder.store(complex_value(*_rounded_product(*pair)), total)
    here = parts_of(builder, builder.load(factor))
    builder.store(complex_value(*_rounded_product(here, here)), factor)
    rest = builder.lshr(bits, INT(1))
    builder.store(rest, left)
    builder.cbranch(builder.icmp_unsigned("==", rest, INT(0)), done, body)
    builder.position_at_end(done)
    result = builder.load(total)
    inverse = COMPLEX["divide"](builder, [complex_value(one, zero), result])
    return select_complex(builder, (exponent < zero).value, inverse, result)
