"""The check that an access passes in a checked kernel, as LLVM code (see `report`)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir

from axiomjit.runtime.emission.kernel_types import CODES, PARTS, WORD, BufferType, CheckedBufferType
from axiomjit.runtime.memory.allocation import poison
from axiomjit.runtime.names.report import FIRST, REPORT, TILE

AccessRange = tuple[Any, Any]


def one(index: Any) -> Callable[[], AccessRange]:
    """The range of the element at an index."""
    return lambda: (index, index)


def within(
    builder: Any,
    kind: BufferType | None,
    buffer: Any,
    reached: Callable[[], AccessRange],
    perform: Callable[[Any], Any],
    *,
    stores: bool = False,
) -> Any:
    """`perform(pointer)` to a buffer, a checked one only if the elements reached are inside.

    Args:
        builder: of the kernel's own function.
        kind: the type of the buffer; an unchecked buffer is its pointer.
        buffer: its value.
        reached: the first and the last element that is accessed.
        perform: emits the access; its result is an element, unless it stores.
        stores: whether it stores.

    Returns:
        The result of `perform`; poison if the access was refused.
    """
    if not isinstance(kind, CheckedBufferType):
        return perform(buffer)
    pointer, low, high = (builder.extract_value(buffer, k) for k in range(3))
    first, last = reached()
    above, below = builder.icmp_signed(">=", first, low), builder.icmp_signed("<", last, high)
    with builder.if_else(builder.and_(above, below), likely=True) as (inside, outside):
        with inside:
            result = perform(pointer)
            performed = builder.block
        with outside:
            index = builder.select(above, last, first)
            number = kind.scope + FIRST if kind.count else TILE
            words, place = builder.function.args[2], WORD(2 * number + stores)
            builder.call(_report(builder.module), [words, place, index, low, high])
            refused = builder.block
    if stores:
        return None
    chosen = builder.phi(result.type)
    chosen.add_incoming(result, performed)
    chosen.add_incoming(poison_cell(kind, result.type), refused)
    return chosen


def poison_cell(kind: BufferType, element: Any) -> Any:
    """The poison of a buffer's elements."""
    value = poison(np.dtype(CODES[kind.dtype]))
    if CODES[kind.dtype] in PARTS:
        return ir.Constant(element, [value, value])
    return ir.Constant(element, int(value) if isinstance(element, ir.IntType) else value)


def _report(module: Any) -> Any:
    """The module's function that keeps the first report of all threads; written at first use."""
    name = "axiomjit_report"
    if name in module.globals:
        return module.globals[name]
    arguments = [WORD.as_pointer(), WORD, WORD, WORD, WORD]
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), arguments), name)
    function.linkage = "internal"
    function.attributes.add("noinline")
    function.attributes.add("cold")
    words, place, *seen = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    front = builder.gep(words, [WORD(-REPORT)])
    swapped = builder.cmpxchg(front, WORD(0), place, "monotonic", "monotonic")
    with builder.if_then(builder.extract_value(swapped, 1)):
        for k, value in enumerate(seen, 1):
            builder.store(value, builder.gep(front, [WORD(k)]))
    builder.ret_void()
    return function
