"""The intrinsics by which a kernel source reads and writes memory.

`plain_builtins` has the same names for plain Python; a kernel has the same meaning in both. The
intrinsics emit LLVM code directly, as in `kernel_types`, `value_builtins` and `tree_builtins`. In a
checked kernel, each access is checked first (see `plan_ir.Kernel`).

Some loads prefetch later elements, since the arithmetic of an elementary function is too long for
the processor to start later loads early. LLVM does not vectorise a loop with a prefetch
instruction. So a loaded number is passed through a function whose vector forms contain the prefetch
instruction. The forms are inlined after the loop is vectorised, like steps of recipes
(`compile_source`).

Importing this module imports Numba; only modules that compile import this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from axiomjit.passes.ir.plan_ir import FIRST_BUFFER, REPORT_WORDS, TILE_NUMBER
from axiomjit.runtime.codegen.emitters import call_function
from axiomjit.runtime.codegen.kernel_types import (
    BYTE,
    CASTS,
    CODES,
    FLAG,
    NUMBA_TYPES,
    PARTS,
    WORD,
    BufferType,
    CheckedBufferType,
    Intrinsic,
    Typed,
    WordsType,
)
from axiomjit.runtime.codegen.llvm_functions import (
    INLINE_LATE,
    PREFIX,
    PURE,
    add_attributes,
    define_step,
    keep,
    lanes_of,
    target_of,
    variants,
)
from axiomjit.runtime.memory.allocation import poison

PREFETCH_BYTES = 2048
"""The distance of prefetches in bytes; distances from 1024 to 8192 gain the same time, and a
distance of 512 gains half of it.
"""
ARGUMENT = ir.IntType(32)
FOR_READING, INTO_EVERY_CACHE, OF_DATA = ARGUMENT(0), ARGUMENT(3), ARGUMENT(1)
POINTER = ir.IntType(8).as_pointer()


def with_prefetch(builder: Any, value: Any, buffer: Any, index: Any, ahead: Any = None) -> Any:
    """Return a loaded float32 or float64, after a prefetch of a later element.

    On targets that gain time by prefetching, the load of a contiguous vector prefetches the cache
    line that is `ahead` elements further, by default PREFETCH_BYTES bytes further.
    """
    module, size = builder.module, 4 if isinstance(value.type, ir.FloatType) else 8
    if not target_of(module).prefetches:
        return value
    ahead = WORD(PREFETCH_BYTES // size) if ahead is None else ahead
    name = f"{PREFIX}passed_f{size}"
    if name not in module.globals:
        _with_forms(module, name, value.type, size)
    # Computed as an integer: from a pointer, LLVM would make a vector and use its first element.
    further = builder.mul(builder.add(index, ahead), WORD(size))
    address = builder.add(builder.ptrtoint(buffer, WORD), further)
    return builder.call(module.globals[name], [value, address])


def _with_forms(module: Any, name: str, kind: Any, size: int) -> None:
    """Define the scalar function that prefetches, and its vector forms for each kind of address."""
    full = lanes_of(module, kind)
    forms = {}
    for lanes in (full[0] // 2, *full):  # half a vector, for loops with shorter vectors
        vector = ir.VectorType(kind, lanes)
        for address, emit in ((WORD, _prefetch), (ir.VectorType(WORD, lanes), _no_prefetch)):
            parameters = f"vl{size}" if address == WORD else "vv"
            forms[f"{lanes}{parameters}"] = (f"{name}_{parameters}_x{lanes}", vector, address, emit)
    named = {parameters: form[0] for parameters, form in forms.items()}

    def write(own: Any) -> None:
        for form_name, vector, address, emit in forms.values():
            form, builder = _define(own, form_name, vector, address)
            add_attributes(form, "nounwind", "willreturn", "alwaysinline")
            emit(builder, form.args[1])
            builder.ret(form.args[0])
        keep(own, [own.globals[form_name] for form_name in named.values()])
        single, builder = _define(own, name, kind, WORD)
        add_attributes(single, *PURE, INLINE_LATE, variants(name, named))
        # No number is at address 0; but LLVM must not know that the result is the first operand.
        nowhere = builder.icmp_unsigned("==", single.args[1], WORD(0))
        builder.ret(builder.select(nowhere, ir.Constant(kind, 0.0), single.args[0]))

    define_step(module, [name, *named.values()], write)


def _define(module: Any, name: str, kind: Any, address: Any) -> tuple[Any, Any]:
    function = ir.Function(module, ir.FunctionType(kind, [kind, address]), name)
    function.linkage = "internal"
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _prefetch(builder: Any, address: Any) -> None:
    given = [builder.inttoptr(address, POINTER), FOR_READING, INTO_EVERY_CACHE, OF_DATA]
    call_function(builder, "llvm.prefetch.p0", ir.VoidType(), given)


def _no_prefetch(builder: Any, addresses: Any) -> None:
    """Emit nothing, since the elements of these vectors are not contiguous."""


AccessRange = tuple[Any, Any]


def one(index: Any) -> Callable[[], AccessRange]:
    """The range of a single element, at an index."""
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
    """Emit `perform(pointer)` for a buffer, after a check of the bounds of a checked buffer.

    Args:
        builder: The builder of the kernel's function.
        kind: The type of the buffer; the value of an unchecked buffer is a pointer.
        buffer: The value of the buffer.
        reached: A function that returns the first and the last accessed element.
        perform: A function that emits the access, and returns a loaded element.
        stores: True if the access is a store.

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
            number = kind.scope + FIRST_BUFFER if kind.count else TILE_NUMBER
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
    """The value that a checked kernel reads outside of a buffer."""
    value = poison(np.dtype(CODES[kind.dtype]))
    if CODES[kind.dtype] in PARTS:
        return ir.Constant(element, [value, value])
    return ir.Constant(element, int(value) if isinstance(element, ir.IntType) else value)


def _report(module: Any) -> Any:
    """The function of a module that stores the first report, defined by the first use."""
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
    front = builder.gep(words, [WORD(-REPORT_WORDS)])
    swapped = builder.cmpxchg(front, WORD(0), place, "monotonic", "monotonic")
    with builder.if_then(builder.extract_value(swapped, 1)):
        for k, value in enumerate(seen, 1):
            builder.store(value, builder.gep(front, [WORD(k)]))
    builder.ret_void()
    return function


def _word_index(words: Any, k: Any, kind: str) -> int | None:
    """The number `k` if parameter `k` exists and has this kind; otherwise None."""
    if not isinstance(words, WordsType) or not isinstance(k, types.IntegerLiteral):
        return None
    index = int(k.literal_value)
    fits = 0 <= index < len(words.words) and words.words[index][0] == kind
    return index if fits else None


def _read_word(builder: Any, words: Any, at: int, kind: Any = WORD) -> Any:
    """Emit the read of a value from word `at` on; words do not change while a kernel runs."""
    cell = builder.bitcast(builder.gep(words, [WORD(at)]), kind.as_pointer())
    word = builder.load(cell)
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@Intrinsic.of_literals
def buffer(w: Any, k: Any) -> Typed:
    """The intrinsic `buffer(w, k)`, which returns word `k` as a typed pointer."""
    index = _word_index(w, k, "buffer")
    if index is None:
        return None
    result = BufferType(NUMBA_TYPES[w.words[index][1]], w.scope[index], w.count)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _read_word(builder, args[0], w.at[index])
        return builder.inttoptr(word, context.get_value_type(result))

    return result(w, k), emit


@Intrinsic.of_literals
def checked_buffer(w: Any, k: Any) -> Typed:
    """The intrinsic `buffer(w, k)` of a checked kernel; the bounds of buffers follow all words."""
    index = _word_index(w, k, "buffer")
    if index is None:
        return None
    scope = w.scope[index]
    result = CheckedBufferType(NUMBA_TYPES[w.words[index][1]], scope, w.count)
    low = w.at[len(w.words)] + 2 * scope

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_data_type(result.dtype)
        word, *bounds = (_read_word(builder, args[0], i) for i in (w.at[index], low, low + 1))
        pointer = builder.inttoptr(word, element.as_pointer())
        return cgutils.pack_struct(builder, [pointer, *bounds])

    return result(w, k), emit


@Intrinsic.of_literals
def scalar(w: Any, k: Any) -> Typed:
    """The intrinsic `scalar(w, k)`, which returns the number in the words of parameter `k`."""
    index = _word_index(w, k, "scalar")
    if index is None:
        return None
    code = w.words[index][1]

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _read_word(builder, args[0], w.at[index], context.get_data_type(NUMBA_TYPES[code]))
        return builder.icmp_unsigned("!=", value, BYTE(0)) if code == "b1" else value

    return NUMBA_TYPES[code](w, k), emit


@Intrinsic.of_literals
def length(w: Any, k: Any) -> Typed:
    """The intrinsic `length(w, k)`, which returns word `k` as an int64."""
    index = _word_index(w, k, "length")
    if index is None:
        return None

    at = w.at[index]
    return types.int64(w, k), lambda context, b, signature, args: _read_word(b, args[0], at)


@Intrinsic.of_literals
def flag(w: Any, k: Any) -> Typed:
    """The intrinsic `flag(w, k)`: a pointer to word `k`, which other code may write at any time."""
    index = _word_index(w, k, "flag")
    if index is None:
        return None
    at = w.at[index]
    return FLAG(w, k), lambda context, b, signature, args: b.gep(args[0], [WORD(at)])


@Intrinsic
def live(h: Any, n: Any) -> Typed:
    """The intrinsic `live(h, n)`: the end `n` of a loop, or -1 if the flag is set."""
    if h is not FLAG or not isinstance(n, types.Integer):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = builder.load_atomic(args[0], "monotonic", 8)  # a volatile load: others may write it
        return builder.select(builder.icmp_signed("==", word, WORD(0)), args[1], WORD(-1))

    return types.int64(h, types.int64), emit


def _mark(builder: Any, access: Any, buffer_type: BufferType) -> Any:
    """Tell LLVM that an access to this buffer aliases no access to another buffer."""
    if buffer_type.count < 2:
        return access
    module = builder.module
    domain = module.add_metadata([ir.MetaDataString(module, "buffers")])
    scopes = [
        module.add_metadata([ir.MetaDataString(module, f"buffer {number}"), domain])
        for number in range(buffer_type.count)
    ]
    own = scopes.pop(buffer_type.scope)
    access.set_metadata("alias.scope", module.add_metadata([own]))
    access.set_metadata("noalias", module.add_metadata(scopes))
    return access


Place = Callable[[Any, BufferType, Any, Any], Any]
"""A function that emits the pointer to an element: builder, type, first element, index."""


def _element(builder: Any, a: BufferType, pointer: Any, index: Any) -> Any:
    return builder.gep(pointer, [index])


def _element_by_bytes(builder: Any, a: BufferType, pointer: Any, index: Any) -> Any:
    """Emit an element's address, computed in bytes: LLVM makes no loop version for stride 1."""
    address = builder.mul(index, WORD(np.dtype(CODES[a.dtype]).itemsize))
    place = builder.gep(builder.bitcast(pointer, BYTE.as_pointer()), [address])
    return builder.bitcast(place, pointer.type)


def _make_load(name: str, place: Place, *, prefetching: bool = False) -> Intrinsic:
    """The intrinsic `load`; with `prefetching`, a load of a vector also prefetches."""

    def load(a: Any, i: Any) -> Typed:
        """Return the element `i` items after the one to which `a` points."""
        if not isinstance(a, BufferType) or not isinstance(i, types.Integer):
            return None
        passes = prefetching and a.count > 0 and a.dtype in (types.float32, types.float64)

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            buffer, index = args

            def read(pointer: Any) -> Any:
                value = _mark(builder, builder.load(place(builder, a, pointer, index)), a)
                return with_prefetch(builder, value, pointer, index) if passes else value

            value = within(builder, a, buffer, one(index), read)
            return builder.icmp_unsigned("!=", value, BYTE(0)) if CODES[a.dtype] == "b1" else value

        return a.dtype(a, types.int64), emit

    load.__name__ = name
    return Intrinsic(load)


load, load_apart = _make_load("load", _element), _make_load("load_apart", _element_by_bytes)


@Intrinsic
def load_ahead(a: Any, i: Any, n: Any) -> Typed:
    """The intrinsic `load_ahead(a, i, n)`: `load(a, i)`, with a prefetch n elements later."""
    if not isinstance(a, BufferType) or i != types.int64 or n != types.int64:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        buffer, index, ahead = args
        asks = a.dtype in (types.float32, types.float64) and not isinstance(a, CheckedBufferType)

        def read(pointer: Any) -> Any:
            value = _mark(builder, builder.load(builder.gep(pointer, [index])), a)
            return with_prefetch(builder, value, pointer, index, ahead) if asks else value

        value = within(builder, a, buffer, one(index), read)
        return builder.icmp_unsigned("!=", value, BYTE(0)) if CODES[a.dtype] == "b1" else value

    return a.dtype(a, types.int64, types.int64), emit


def _make_store(name: str, place: Place) -> Intrinsic:
    """The intrinsic `store`; `place` emits the pointers to elements."""

    def store(a: Any, i: Any, v: Any) -> Typed:
        """Write the element `i` items after the first; `v` must have the buffer's dtype."""
        if not isinstance(a, BufferType) or not isinstance(i, types.Integer) or v != a.dtype:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            buffer, index, given = args
            value = builder.zext(given, BYTE) if CODES[a.dtype] == "b1" else given

            def write(pointer: Any) -> None:
                _mark(builder, builder.store(value, place(builder, a, pointer, index)), a)

            within(builder, a, buffer, one(index), write, stores=True)
            return context.get_dummy_value()

        return types.void(a, types.int64, a.dtype), emit

    store.__name__ = name
    return Intrinsic(store)


store, store_apart = _make_store("store", _element), _make_store("store_apart", _element_by_bytes)


def _cells_of(n: Any, dtype: Any) -> tuple[int, types.Type] | None:
    """The number and the type of the cells of `tile(n, dtype)`."""
    code = next((c for c, f in CASTS.items() if f is dtype), None)
    if code is None or not isinstance(n, types.IntegerLiteral):
        return None
    return int(n.literal_value), NUMBA_TYPES[code]


def _stack_array(builder: Any, element: Any, cells: int) -> Any:
    """Emit a pointer to uninitialised cells on the stack."""
    with builder.goto_entry_block():  # Numba's own helper would fill the array with zeros
        array = builder.alloca(ir.ArrayType(element, cells))
    array.align = 64  # one whole vector, so that no access splits a cache line
    return builder.bitcast(array, element.as_pointer())


@Intrinsic.of_literals
def tile(n: Any, dtype: Any) -> Typed:
    """The intrinsic `tile(n, f8)`: an uninitialised array of `n` cells; `n` is a literal."""
    found = _cells_of(n, dtype)
    if found is None:
        return None
    cells, result = found[0], BufferType(found[1], 0, 0)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return _stack_array(builder, context.get_data_type(result.dtype), cells)

    return result(n), emit


@Intrinsic.of_literals
def checked_tile(n: Any, dtype: Any) -> Typed:
    """The intrinsic `tile(n, f8)` of a checked kernel, which fills the cells with poison."""
    found = _cells_of(n, dtype)
    if found is None:
        return None
    cells, result = found[0], CheckedBufferType(found[1], 0, 0)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_data_type(result.dtype)
        pointer = _stack_array(builder, element, cells)
        with cgutils.for_range(builder, WORD(cells), intp=WORD) as loop:
            builder.store(poison_cell(result, element), builder.gep(pointer, [loop.index]))
        return cgutils.pack_struct(builder, [pointer, WORD(0), WORD(cells)])

    return result(n), emit


_INTRINSICS = (
    *(buffer, scalar, length, flag, live, tile),
    *(load, load_ahead, load_apart, store, store_apart),
)
NAMES: dict[str, Any] = {function.__name__: function for function in _INTRINSICS}
PREFETCHING_NAMES: dict[str, Any] = {"load": _make_load("load", _element, prefetching=True)}
"""The names for kernels with elementary functions, whose loads prefetch (see `with_prefetch`)."""
CHECKED_NAMES: dict[str, Any] = {"buffer": checked_buffer, "tile": checked_tile}
