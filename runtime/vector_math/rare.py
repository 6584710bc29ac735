"""Calls for the few numbers that a recipe's vector code does not cover.

The recipe calls one function of the number and of its usual result. That function's forms for
vectors look whether any lane needs more, and do such lanes one by one. So a loop stays vector code,
and pays for a call and a test.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.processor import vector_bytes
from axiomjit.runtime.vector_math.definitions import add_attributes, call, define, keep, variants

INDEX = ir.IntType(32)


def beyond(
    module: Any, name: str, kind: Any, lanes: int, bound: float, slow: Callable[..., Any]
) -> Any:
    """The function f(x, usual) of numbers or vectors: `slow` of x where |x| > bound, else `usual`.

    Args:
        module: where it is, or becomes, a function.
        name: that of the function of numbers.
        kind: the type of a number.
        lanes: length of the vectors; 1 for numbers.
        bound: of the numbers whose results are the usual ones.
        slow: emission of the result of one number, from a builder and the number.
    """
    if name not in module.globals:
        one, builder = define(module, f"{name}_one", kind, 1, "noinline")
        builder.ret(slow(builder, one.args[0]))
        function, builder = define(module, name, kind, 2, "noinline")
        _test(function, builder, bound)
        builder.ret(builder.call(one, [function.args[0]]))
        # In a loop that holds wider elements as well a vector is half full.
        size = vector_bytes() // (4 if isinstance(kind, ir.FloatType) else 8)
        forms = {n: _vector_form(function, bound, n) for n in sorted({size, size // 2})}
        names = {length: form.name for length, form in forms.items()}
        add_attributes(function, variants(name, 2, names))
        keep(module, list(forms.values()))
    return module.globals[name if lanes == 1 else _form_name(name, lanes)]


def _form_name(name: str, lanes: int) -> str:
    return f"{name}_x{lanes}"


def _vector_form(single: Any, bound: float, length: int) -> Any:
    """The function for vectors, which calls that of single numbers for each lane if it must."""
    vector = ir.VectorType(single.args[0].type, length)
    form, builder = define(single.module, _form_name(single.name, length), vector, 2, "noinline")
    _test(form, builder, bound)
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


def _test(function: Any, builder: Any, bound: float) -> None:
    """A function's start: it returns its second argument; the builder is where one is beyond."""
    x, usual = function.args
    size = call("llvm.fabs", builder, [x])
    needed = builder.fcmp_ordered(">", size, ir.Constant(x.type, bound))
    if isinstance(x.type, ir.VectorType):
        mask = ir.IntType(x.type.count)
        needed = builder.icmp_unsigned("!=", builder.bitcast(needed, mask), mask(0))
    usually, rarely = (function.append_basic_block(n) for n in ("usually", "rarely"))
    builder.cbranch(needed, rarely, usually)
    builder.position_at_end(usually)
    builder.ret(usual)
    builder.position_at_end(rarely)


def table(module: Any, name: str, kind: Any, values: tuple[float, ...]) -> Any:
    """A constant array of numbers."""
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, ir.ArrayType(kind, len(values)), name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(found.value_type, [ir.Constant(kind, v) for v in values])
    return found
