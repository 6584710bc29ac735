"""Calls for the few numbers that a recipe's vector code does not cover.

The recipe calls one function of the number and of its usual result. That function's forms for
vectors look whether any lane needs more, and do such lanes one by one. So a loop stays vector code,
and pays for a call and a test.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.vector_math import library
from axiomjit.runtime.vector_math.definitions import call

INDEX = ir.IntType(32)


def beyond(
    module: Any, name: str, kind: Any, lanes: int, bound: float, slow: Callable[..., Any]
) -> Any:
    """The function f(x, usual) of numbers or vectors: `slow` of x where |x| > bound, else `usual`.

    Args:
        module: where it is to be called.
        name: that of the function of numbers.
        kind: the type of a number.
        lanes: length of the vectors; 1 for numbers.
        bound: of the numbers whose results are the usual ones.
        slow: emission of the result of one number, from a builder and the number.
    """

    def body(builder: Any, form: Any) -> Any:
        _test(form, builder, bound)
        if not isinstance(form.args[0].type, ir.VectorType):
            return slow(builder, form.args[0])
        return _one_by_one(builder, form, builder.module.globals[name])

    return library.function(module, name, kind, 2, lanes, body)


def _one_by_one(builder: Any, form: Any, single: Any) -> Any:
    """The results of the function of single numbers for each lane of a form's operands."""
    x, usual = form.args
    before, step, done = builder.block, *(form.append_basic_block(n) for n in ("lane", "done"))
    builder.branch(step)
    builder.position_at_end(step)
    lane, result = builder.phi(INDEX), builder.phi(x.type)
    numbers = [builder.extract_element(argument, lane) for argument in form.args]
    changed = builder.insert_element(result, builder.call(single, numbers), lane)
    following = builder.add(lane, INDEX(1))
    for phi, start, then in ((lane, INDEX(0), following), (result, usual, changed)):
        phi.add_incoming(start, before)
        phi.add_incoming(then, step)
    builder.cbranch(builder.icmp_unsigned("<", following, INDEX(x.type.count)), step, done)
    builder.position_at_end(done)
    return changed


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


def element(builder: Any, table: Any, index: Any) -> Any:
    """The number at a place of such an array."""
    return builder.load(builder.gep(table, [index.type(0), index]))
