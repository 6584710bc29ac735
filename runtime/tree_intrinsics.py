"""The tree of a blocked sum, as Numba intrinsics: a binary counter of finished subtrees.

Where bit k of the count is set, level k of the tree holds the sum of 2**k blocks, so that block
results are added in pairs whatever their number (design 4.7). A level is one cell, or one cell
per lane of a tile. `axiomjit.runtime.plain` has the twins.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from axiomjit.runtime.intrinsics import WORD, BufferType, Typed

Bit = ir.IntType(1)


def _add(builder: Any, earlier: Any, later: Any) -> Any:
    """The exact add of two subtrees."""
    floats = isinstance(earlier.type, ir.FloatType | ir.DoubleType)
    return builder.fadd(earlier, later) if floats else builder.add(earlier, later)


def _finished(builder: Any, count: Any) -> Any:
    """How many levels the next block completes: the trailing ones of the count."""
    return builder.cttz(builder.not_(count), Bit(0))


def _depth(builder: Any, count: Any) -> Any:
    """How many levels are in use."""
    return builder.sub(WORD(64), builder.ctlz(count, Bit(0)))


def _cell(builder: Any, tree: Any, level: Any, width: Any, lane: Any) -> Any:
    return builder.gep(tree, [builder.add(builder.mul(level, width), lane)])


def _each_cell(builder: Any, width: Any, visit: Callable[[Any], None]) -> None:
    with cgutils.for_range(builder, width, intp=WORD) as loop:
        visit(loop.index)


def _push(builder: Any, tree: Any, count: Any, state: Any, width: Any) -> Any:
    """Add the cells at `state` as the next block; the new count."""
    done = _finished(builder, count)
    with cgutils.for_range(builder, done, intp=WORD) as levels:
        level = levels.index

        def join(lane: Any) -> None:
            here = builder.gep(state, [lane])
            earlier = builder.load(_cell(builder, tree, level, width, lane))
            builder.store(_add(builder, earlier, builder.load(here)), here)

        _each_cell(builder, width, join)

    def keep(lane: Any) -> None:
        value = builder.load(builder.gep(state, [lane]))
        builder.store(value, _cell(builder, tree, done, width, lane))

    _each_cell(builder, width, keep)
    return builder.add(count, WORD(1))


def _drain(builder: Any, tree: Any, count: Any, state: Any, width: Any) -> None:
    """Leave the total in the cells at `state`: the smallest and latest subtree first."""

    def clear(lane: Any) -> None:
        zero = ir.Constant(state.type.pointee, 0)
        builder.store(zero, builder.gep(state, [lane]))

    _each_cell(builder, width, clear)
    with cgutils.for_range(builder, _depth(builder, count), intp=WORD) as levels:
        level = levels.index
        used = builder.trunc(builder.lshr(count, level), Bit)
        with builder.if_then(used):

            def join(lane: Any) -> None:
                here = builder.gep(state, [lane])
                earlier = builder.load(_cell(builder, tree, level, width, lane))
                builder.store(_add(builder, earlier, builder.load(here)), here)

            _each_cell(builder, width, join)


@intrinsic
def push(typingctx: Any, t: Any, q: Any, s: Any) -> Typed:
    """Add the sum s of the next block to the tree of q blocks, giving the new q."""
    if not isinstance(t, BufferType) or s != t.dtype:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        state = cgutils.alloca_once_value(builder, args[2])
        builder.store(args[2], state)
        return _push(builder, args[0], args[1], state, WORD(1))

    return types.int64(t, types.int64, s), emit


@intrinsic
def drain(typingctx: Any, t: Any, q: Any) -> Typed:
    """The sum of all q blocks of a tree."""
    if not isinstance(t, BufferType):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        state = cgutils.alloca_once(builder, args[0].type.pointee)
        _drain(builder, args[0], args[1], state, WORD(1))
        return builder.load(state)

    return t.dtype(t, types.int64), emit


@intrinsic
def push_lanes(typingctx: Any, t: Any, q: Any, s: Any, width: Any) -> Typed:
    """`push` for each of the first cells of a tile, giving the new count."""
    if not isinstance(t, BufferType) or s != t:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _push(builder, *args)

    return types.int64(t, types.int64, s, types.int64), emit


@intrinsic
def drain_lanes(typingctx: Any, t: Any, q: Any, s: Any, width: Any) -> Typed:
    """`drain` into each of the first cells of a tile."""
    if not isinstance(t, BufferType) or s != t:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        _drain(builder, *args)
        return context.get_dummy_value()

    return types.void(t, types.int64, s, types.int64), emit


NAMES: dict[str, Any] = {f.__name__: f for f in (push, drain, push_lanes, drain_lanes)}
