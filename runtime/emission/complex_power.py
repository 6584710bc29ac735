"""Powers of complex numbers: NumPy's products for small whole exponents, else the C library's."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

from axiomjit.runtime.emission.complex_rules import (
    COMPLEX,
    RealPair,
    complex_value,
    library,
    parts_of,
    select_complex,
)
from axiomjit.runtime.emission.emitters import Real

LARGEST = 100.0
"""Integer exponents below this are computed as products."""
INT = ir.IntType(32)


def power(builder: Any, args: list[Any]) -> Any:
    """Emission of a call of the module's function for numbers of this type."""
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
    below = abs(exponent[0]) < zero.constant(LARGEST)
    whole = exponent[0].compare("==", exponent[0].intrinsic("llvm.trunc"))
    with builder.if_then((below & whole & exponent[1].equals(0.0)).value):
        builder.ret(_by_products(builder, base, exponent[0]))
    builder.ret(library("cpow")(builder, list(function.args)))
    return function


def _product(x: RealPair, y: RealPair) -> RealPair:
    """Without fused multiply-add, as NumPy's powers multiply."""
    (a, b), (c, d) = x, y
    return a * c - b * d, a * d + b * c


def _by_products(builder: Any, base: RealPair, exponent: Real) -> Any:
    """Square and multiply; the exponents 1 to 3 in as many products as they need."""
    one, zero = exponent.constant(1.0), exponent.constant(0.0)
    square = _product(base, base)
    for count, result in ((1.0, base), (2.0, square), (3.0, _product(base, square))):
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
        builder.store(complex_value(*_product(*pair)), total)
    here = parts_of(builder, builder.load(factor))
    builder.store(complex_value(*_product(here, here)), factor)
    rest = builder.lshr(bits, INT(1))
    builder.store(rest, left)
    builder.cbranch(builder.icmp_unsigned("==", rest, INT(0)), done, body)
    builder.position_at_end(done)
    result = builder.load(total)
    inverse = COMPLEX["divide"](builder, [complex_value(one, zero), result])
    return select_complex(builder, (exponent < zero).value, inverse, result)
