"""Calls of a slow function for the few numbers that a recipe's vector code does not cover.

The recipe calls one function of the number and of its usual result. That function's forms for
vectors, which become part of loops, look whether any lane needs more; if so they call a function of
the library, which does the lanes one by one. So a loop stays vector code, and pays for a test.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.vector_math import library
from axiomjit.runtime.vector_math.definitions import call
from axiomjit.runtime.vector_math.native import with_forms

INDEX = ir.IntType(32)
SELDOM = 2000
"""How often numbers are usual ones, for LLVM's choice of registers."""


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

    def every_lane(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            return _one_by_one(builder, form, builder.module.globals[name])
        _test(form, builder, bound)
        return slow(builder, form.args[0])

    def tested(builder: Any, form: Any) -> Any:
        _test(form, builder, bound)
        count = getattr(form.args[0].type, "count", 1)
        function = library.function(module, name, kind, 2, count, every_lane)
        return builder.call(function, form.args)

    lengths = library.lanes_of(module, kind)
    return with_forms(module, f"usual_{name}", kind, 2, lengths, tested)[lanes]


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
    builder.cbranch(needed, rarely, usually).set_weights([1, SELDOM])
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
    """The number at an index of a constant array."""
    return builder.load(builder.gep(table, [index.type(0), index]))
