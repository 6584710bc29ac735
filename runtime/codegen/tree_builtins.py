"""The intrinsics of the tree in which a blocked sum or product combines its blocks.

The tree has a count of blocks. If bit k of the count is set, level k of the tree holds the sum of
2**k blocks, so that block results are added in pairs for any number of blocks. Each level of the
tree is one number, or one number per lane. Functions whose names end in `_mul` multiply block
results instead of adding them. `axiomjit.runtime.codegen.plain_builtins` has the same functions in
plain Python.

Kernels call functions that are compiled once per process, since otherwise LLVM would spend as much
time on their few additions as on the loop.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils, types

from axiomjit.runtime.codegen.emitters import COMPLEX, Emitter, Rules, method
from axiomjit.runtime.codegen.kernel_types import CODES, PARTS, WORD, BufferType, Intrinsic, Typed
from axiomjit.runtime.codegen.llvm_functions import add_attributes, shared_function
from axiomjit.runtime.codegen.memory_builtins import within

BIT = ir.IntType(1)
TreeBody = Callable[[Any, Any, Any, Any, Any, "Joint"], None]


class TreeCombine(NamedTuple):
    """The operation that combines blocks; the names of its functions end in `suffix`."""

    suffix: str
    rules: Rules
    neutral: int


class Joint(NamedTuple):
    """The operation that combines blocks of one dtype, and its neutral element."""

    join: Emitter
    neutral: ir.Constant


SUM = TreeCombine("", {"f": method("fadd"), "iu": method("add"), "c": COMPLEX["add"]}, 0)
PRODUCT = TreeCombine(
    "_mul", {"f": method("fmul"), "iu": method("mul"), "c": COMPLEX["multiply"]}, 1
)


def _called(module: Any, name: str, element: Any, body: TreeBody, joint: Joint, lanes: bool) -> Any:
    """Return the function `name(tree, count, state)` for calls in a module.

    With `lanes`, the function also takes the number of lanes. Without lanes, the loops of the
    function have few steps, and LLVM is told not to unroll them.
    """
    cells = element.as_pointer()
    kinds = [cells, WORD, cells, *([WORD] if lanes else [])]

    def declare(own: Any) -> Any:
        function = ir.Function(own, ir.FunctionType(ir.VoidType(), kinds), name)
        add_attributes(function, "nounwind", "willreturn", "memory(argmem: readwrite)")
        if not lanes:
            function.attributes.add("minsize")
        for cell in (function.args[0], function.args[2]):
            cell.add_attribute("noalias")
            cell.add_attribute("captures(none)")
        return function

    def write(function: Any) -> None:
        tree, count, state, *width = function.args
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        body(builder, tree, count, state, width[0] if lanes else None, joint)
        builder.ret_void()

    return shared_function(module, name, declare, write)


def _each_cell(builder: Any, width: Any, visit: Callable[[Any], None]) -> None:
    """Emit the code of `visit` for every lane, or for the only cell if there are no lanes."""
    if width is None:
        visit(WORD(0))
        return
    with cgutils.for_range(builder, width, intp=WORD) as loop:
        visit(loop.index)


def _join(builder: Any, tree: Any, level: Any, state: Any, width: Any, joint: Joint) -> None:
    """Combine the subtree at a level, as left operand, with the state, lane by lane."""

    def join_cell(lane: Any) -> None:
        here = builder.gep(state, [lane])
        earlier = builder.load(_cell(builder, tree, level, width, lane))
        later = builder.load(here)
        builder.store(joint.join(builder, [earlier, later]), here)

    _each_cell(builder, width, join_cell)


def _cell(builder: Any, tree: Any, level: Any, width: Any, lane: Any) -> Any:
    if width is None:
        return builder.gep(tree, [level])
    return builder.gep(tree, [builder.add(builder.mul(level, width), lane)])


def _push(builder: Any, tree: Any, count: Any, state: Any, width: Any, joint: Joint) -> None:
    """Add the cells at `state` as the next block of the tree, to a level given by the count."""
    done = builder.cttz(builder.not_(count), BIT(0))
    with cgutils.for_range(builder, done, intp=WORD) as levels:
        _join(builder, tree, levels.index, state, width, joint)

    def keep(lane: Any) -> None:
        value = builder.load(builder.gep(state, [lane]))
        builder.store(value, _cell(builder, tree, done, width, lane))

    _each_cell(builder, width, keep)


def _depth(builder: Any, count: Any) -> Any:
    """The number of levels of a tree with `count` blocks."""
    return builder.sub(WORD(64), builder.ctlz(count, BIT(0)))


def _drain(builder: Any, tree: Any, count: Any, state: Any, width: Any, joint: Joint) -> None:
    """Store the total in the cells at `state`; the smallest and latest subtree is added first."""
    start = joint.neutral
    _each_cell(builder, width, lambda lane: builder.store(start, builder.gep(state, [lane])))
    with cgutils.for_range(builder, _depth(builder, count), intp=WORD) as levels:
        used = builder.trunc(builder.lshr(count, levels.index), BIT)
        with builder.if_then(used):
            _join(builder, tree, levels.index, state, width, joint)


def _call(
    builder: Any,
    t: BufferType,
    s: BufferType | None,
    body: TreeBody,
    arguments: list[Any],
    kind: TreeCombine,
) -> None:
    """Emit a call of the function whose code `body` emits, on a tree of type `t`.

    `s` is the type of the state's buffer, None if the state is a pointer. If kernels are checked,
    the function is called only if both buffers are large enough.
    """
    tree, count, state, *lanes = arguments
    width = lanes[0] if lanes else WORD(1)
    code = CODES[t.dtype]
    name = f"axiomjit{body.__name__}{'_lanes' if lanes else ''}{kind.suffix}_{code}"
    join = next(rule for kinds, rule in kind.rules.items() if code[0] in kinds)

    def levels() -> tuple[Any, Any]:
        blocks = builder.add(count, WORD(1)) if body is _push else count
        return WORD(0), builder.sub(builder.mul(_depth(builder, blocks), width), WORD(1))

    def one_row() -> tuple[Any, Any]:
        return WORD(0), builder.sub(width, WORD(1))

    def on_tree(cells: Any) -> None:
        def on_state(own: Any) -> None:
            element = cells.type.pointee
            neutral = ir.Constant(element, [kind.neutral, 0.0] if code in PARTS else kind.neutral)
            joint = Joint(join, neutral)
            function = _called(builder.module, name, element, body, joint, bool(lanes))
            builder.call(function, [cells, count, own, *lanes])

        within(builder, s, state, one_row, on_state, stores=True)

    within(builder, t, tree, levels, on_tree, stores=True)


def _make_push(kind: TreeCombine) -> Any:
    @Intrinsic
    def push(t: Any, q: Any, s: Any) -> Typed:
        """Add the sum s of the next block to the tree t of q blocks; return q + 1."""
        if not isinstance(t, BufferType) or s != t.dtype:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tree, count, value = args
            state = cgutils.alloca_once(builder, value.type)
            builder.store(value, state)
            _call(builder, t, None, _push, [tree, count, state], kind)
            return builder.add(count, WORD(1))

        return types.int64(t, types.int64, s), emit

    return push


def _make_drain(kind: TreeCombine) -> Any:
    @Intrinsic
    def drain(t: Any, q: Any) -> Typed:
        """Return the sum of all q blocks of the tree t."""
        if not isinstance(t, BufferType):
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            tree, count = args
            state = cgutils.alloca_once(builder, context.get_data_type(t.dtype))
            _call(builder, t, None, _drain, [tree, count, state], kind)
            return builder.load(state)

        return t.dtype(t, types.int64), emit

    return drain


def _make_push_lanes(kind: TreeCombine) -> Any:
    @Intrinsic
    def push_lanes(t: Any, q: Any, s: Any, width: Any) -> Typed:
        """Call `push` for each of the first cells of a tile; return the new number of blocks."""
        if not isinstance(t, BufferType) or s != t:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _call(builder, t, s, _push, list(args), kind)
            return builder.add(args[1], WORD(1))

        return types.int64(t, types.int64, s, types.int64), emit

    return push_lanes


def _make_drain_lanes(kind: TreeCombine) -> Any:
    @Intrinsic
    def drain_lanes(t: Any, q: Any, s: Any, width: Any) -> Typed:
        """Store the result of `drain` in each of the first cells of a tile."""
        if not isinstance(t, BufferType) or s != t:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            _call(builder, t, s, _drain, list(args), kind)
            return context.get_dummy_value()

        return types.void(t, types.int64, s, types.int64), emit

    return drain_lanes


_MAKERS = {
    "push": _make_push,
    "drain": _make_drain,
    "push_lanes": _make_push_lanes,
    "drain_lanes": _make_drain_lanes,
}
NAMES: dict[str, Any] = {
    f"{name}{kind.suffix}": make(kind) for name, make in _MAKERS.items() for kind in (SUM, PRODUCT)
}
