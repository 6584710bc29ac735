"""Calls for the few numbers that a recipe's vector code does not cover.

The recipe calls one function of the number and of its usual result. LLVM's vectoriser knows that
function's forms for vectors (attribute "vector-function-abi-variant"): each looks whether any lane
needs more, and does such lanes one by one. So a loop stays vector code, and pays for a test.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

LENGTHS = (2, 4, 8, 16, 32)
"""Of vectors that loops may be made of."""
LONG_VECTORS = '"prefer-vector-width"="512"'
"""LLVM takes half of a register of 512 bits on many CPUs, to spare their clock; here all pays.

Functions that pass vectors to each other must have the same preference.
"""
PURE = ("nounwind", "willreturn", "memory(none)", LONG_VECTORS)
INDEX = ir.IntType(32)


def add_attributes(function: Any, *attributes: str) -> None:
    """Attributes of a function, also those that llvmlite does not know."""
    for attribute in attributes:
        set.add(function.attributes, attribute)


def internal(module: Any, name: str, kind: Any, *attributes: str) -> Any:
    """A new function that only its module sees."""
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    add_attributes(function, "nounwind", *attributes)
    return function


def beyond(module: Any, name: str, kind: Any, bound: float, slow: Callable[..., Any]) -> Any:
    """The function f(x, usual): `slow` of x where |x| > bound, else `usual`.

    Args:
        module: where it is, or becomes, a function of this name.
        name: its name.
        kind: the type of a number.
        bound: of the numbers whose results are the usual ones.
        slow: emission of the result of one number, from a builder and the number.
    """
    function = module.globals.get(name)
    if function is not None:
        return function
    one = internal(module, f"{name}_one", ir.FunctionType(kind, [kind]), "noinline", *PURE)
    builder = ir.IRBuilder(one.append_basic_block("entry"))
    builder.ret(slow(builder, one.args[0]))
    function = internal(module, name, ir.FunctionType(kind, [kind] * 2), "noinline", *PURE)
    builder = _test(function, bound)
    builder.ret(builder.call(one, [function.args[0]]))
    forms = [_vector_form(function, bound, length) for length in LENGTHS]
    mangled = [
        f"_ZGV_LLVM_N{length}vv_{name}({form.name})"
        for length, form in zip(LENGTHS, forms, strict=True)
    ]
    add_attributes(function, f'"vector-function-abi-variant"="{",".join(mangled)}"')
    _keep(module, forms)
    return function


def _vector_form(single: Any, bound: float, length: int) -> Any:
    """The function for vectors, which calls that of single numbers for each lane if it must."""
    vector = ir.VectorType(single.args[0].type, length)
    form_type = ir.FunctionType(vector, [vector] * 2)
    form = internal(single.module, f"{single.name}_{length}", form_type, "noinline", *PURE)
    builder = _test(form, bound)
    before, step, done = builder.block, *(form.append_basic_block(n) for n in ("lane", "done"))
    builder.branch(step)
    builder.position_at_end(step)
    lane, result = builder.phi(INDEX), builder.phi(vector)
    numbers = [builder.extract_element(argument, lane) for argument in form.args]
    changed = builder.insert_element(result, builder.call(single, numbers), lane)
    following = builder.add(lane, INDEX(1))
    for phi, start, then in ((lane, INDEX(0), following), (result, form.args[1], changed)):
        phi.add_incoming(start, before)
        phi.add_incoming(then, step)
    builder.cbranch(builder.icmp_unsigned("<", following, INDEX(length)), step, done)
    builder.position_at_end(done)
    builder.ret(changed)
    return form


def _test(function: Any, bound: float) -> Any:
    """A function's start: it returns its second argument; a builder where a first one is beyond."""
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    x, usual = function.args
    size = builder.call(_fabs(function.module, x.type), [x])
    if isinstance(x.type, ir.VectorType):
        limit = ir.Constant(x.type, [ir.Constant(x.type.element, bound)] * x.type.count)
        needed = builder.fcmp_ordered(">", size, limit)
        mask = ir.IntType(x.type.count)
        needed = builder.icmp_unsigned("!=", builder.bitcast(needed, mask), mask(0))
    else:
        needed = builder.fcmp_ordered(">", size, ir.Constant(x.type, bound))
    usually, rarely = (function.append_basic_block(n) for n in ("usually", "rarely"))
    builder.cbranch(needed, rarely, usually)
    builder.position_at_end(usually)
    builder.ret(usual)
    builder.position_at_end(rarely)
    return builder


def _fabs(module: Any, kind: Any) -> Any:
    """The absolute value of a number or vector."""
    scalar = kind.element if isinstance(kind, ir.VectorType) else kind
    bits = "f32" if isinstance(scalar, ir.FloatType) else "f64"
    lanes = f"v{kind.count}" if isinstance(kind, ir.VectorType) else ""
    name = f"llvm.fabs.{lanes}{bits}"
    return module.globals.get(name) or ir.Function(module, ir.FunctionType(kind, [kind]), name)


def _keep(module: Any, functions: list[Any]) -> None:
    """Lets LLVM not remove functions that nothing calls before loops are made vector code."""
    name, pointer = "llvm.compiler.used", ir.IntType(8).as_pointer()
    values = [function.bitcast(pointer) for function in functions]
    kept = module.globals.get(name)
    if kept is None:
        kept = ir.GlobalVariable(module, ir.ArrayType(pointer, 0), name)
        kept.linkage, kept.section = "appending", "llvm.metadata"
    else:
        values = [*kept.initializer.constant, *values]
    kept.value_type = ir.ArrayType(pointer, len(values))
    kept.type = kept.value_type.as_pointer()
    kept.initializer = ir.Constant(kept.value_type, values)


def table(module: Any, name: str, kind: Any, values: tuple[float, ...]) -> Any:
    """A constant array of numbers."""
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, ir.ArrayType(kind, len(values)), name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(found.value_type, [ir.Constant(kind, v) for v in values])
    return found
