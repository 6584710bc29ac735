"""Calls of a slow function for the few numbers that a recipe's vector code does not cover.

The recipe calls a function of the number and its usual result. The vector forms of this function,
which loops inline, test whether any lane needs the slow function, and then call a function of the
library that computes the lanes one by one. So a loop stays vector code, and pays for the test only.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.elementary import library
from axiomjit.runtime.elementary.definitions import call
from axiomjit.runtime.elementary.native import with_forms

INDEX = ir.IntType(32)
SELDOM = 2000
"""How many usual numbers LLVM expects for each slow one, when it assigns registers."""


def beyond(
    module: Any, name: str, kind: Any, lanes: int, bound: float, slow: Callable[..., Any]
) -> Any:
    """Return the function f(x, usual), scalar or vector: slow(x) where |x| > bound, else `usual`.

    Args:
        module: where it is to be called.
        name: of the scalar function.
        kind: the type of a number.
        lanes: length of the vectors; 1: scalars.
        bound: the largest size of numbers that keep their usual result.
        slow: emits the result of one number, from a builder and the number.
    """

    def every_lane(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            return _one_by_one(builder, form, builder.module.globals[name])
        _test(form, builder, bound)
        return slow(builder, form.args[0])

    def tested(builder: Any, form: Any) -> Any:
        _test(form, builder, bound)
        count = getattr(form.args[0].type, "count", 1)
        function = library.function(builder.module, name, kind, 2, count, every_lane)
        return builder.call(function, form.args)

    lengths = library.lanes_of(module, kind)
    return with_forms(module, f"usual_{name}", kind, 2, lengths, tested)[lanes]


def _one_by_one(builder: Any, form: Any, single: Any) -> Any:
    """Emit a loop that calls the scalar function for each lane of a form's operands."""
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
    """Emit the test: return the second operand, unless |x| > bound in a lane.

    The builder is left in the block for such lanes.
    """
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
    """Return a constant array of the module, defined at first use."""
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, ir.ArrayType(kind, len(values)), name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(found.value_type, [ir.Constant(kind, v) for v in values])
    return found


def element(builder: Any, table: Any, index: Any) -> Any:
    """Emit a load of the number at an index of a constant array."""
    return builder.load(builder.gep(table, [index.type(0), index]))
