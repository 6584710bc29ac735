"""The names a kernel source may use, as Numba intrinsics that emit LLVM directly.

`axiomjit.runtime.plain` holds the same names for plain Python; a kernel means the same in both.
Two Numba types carry what is known when a kernel is compiled: `WordsType`, the kernel's parameter
list, and `BufferType`, the dtype and alias scope of one buffer. So every name is one global
intrinsic, and compiling a kernel registers nothing.

Importing this module imports numba; only what has to compile does so.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic, models, register_model

from axiomjit.runtime.plain import SMALLEST_I8

NUMBA_TYPES: dict[str, types.Type] = {
    "b1": types.boolean,
    "i8": types.int64,
    "f4": types.float32,
    "f8": types.float64,
}
CODES: dict[types.Type, str] = {ty: code for code, ty in NUMBA_TYPES.items()}

WORD = ir.IntType(64)
BYTE = ir.IntType(8)

Emit = Callable[[Any, Any, Any, Any], Any]
Typed = tuple[Any, Emit] | None


class BufferType(types.Type):
    """Pointer to elements of one dtype; `scope` of `count` says which buffer of the kernel it is.

    A tile has count 0: LLVM sees for itself that a stack array aliases nothing.
    """

    def __init__(self, dtype: types.Type, scope: int, count: int) -> None:
        """Type of buffer number `scope` among the `count` buffers of a kernel."""
        self.dtype, self.scope, self.count = dtype, scope, count
        super().__init__(name=f"Buffer{CODES[dtype]}N{scope}of{count}")


class WordsType(types.Type):
    """The argument block of a kernel: per word its kind ("buffer", "scalar", "length") and dtype.

    The name is short and alphanumeric because it becomes part of the kernel's symbol.
    """

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """Type of an argument block with these (kind, dtype code) words."""
        self.words = tuple(words)
        self.count = sum(kind == "buffer" for kind, _ in self.words)
        super().__init__(name="W" + "".join(kind[0].upper() + code for kind, code in self.words))

    def scope(self, k: int) -> int:
        """Number of word `k` among the buffers."""
        return sum(kind == "buffer" for kind, _ in self.words[:k])


register_model(BufferType)(models.PointerModel)


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    """A WordsType value is a pointer to 64-bit words."""

    def __init__(self, manager: Any, fe_type: WordsType) -> None:
        super().__init__(manager, fe_type, WORD.as_pointer())


# --- words, buffers, tiles ------------------------------------------------------------------


def _word_index(words: Any, k: Any, kind: str) -> int | None:
    """The literal `k` if word `k` exists and is of `kind`, else None (no such overload)."""
    if not isinstance(words, WordsType) or not isinstance(k, types.IntegerLiteral):
        return None
    index = int(k.literal_value)
    fits = 0 <= index < len(words.words) and words.words[index][0] == kind
    return index if fits else None


def _read_word(builder: Any, words: Any, index: int) -> Any:
    """Word `index`; nothing writes words while a kernel runs, so the load may be hoisted."""
    word = builder.load(builder.gep(words, [WORD(index)]))
    word.set_metadata("invariant.load", builder.module.add_metadata([]))
    return word


@intrinsic(prefer_literal=True)
def buffer(typingctx: Any, w: Any, k: Any) -> Typed:
    """`buffer(w, k)`: word `k` as a typed pointer."""
    index = _word_index(w, k, "buffer")
    if index is None:
        return None
    result = BufferType(NUMBA_TYPES[w.words[index][1]], w.scope(index), w.count)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(_read_word(builder, args[0], index), context.get_value_type(result))

    return result(w, k), emit


@intrinsic(prefer_literal=True)
def scalar(typingctx: Any, w: Any, k: Any) -> Typed:
    """`scalar(w, k)`: the value whose bits lie in the low end of word `k`."""
    index = _word_index(w, k, "scalar")
    if index is None:
        return None
    code = w.words[index][1]

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = _read_word(builder, args[0], index)
        if code == "b1":
            return builder.icmp_unsigned("!=", builder.trunc(word, BYTE), BYTE(0))
        value_type = context.get_value_type(signature.return_type)
        if code == "f4":
            word = builder.trunc(word, ir.IntType(32))
        return word if code == "i8" else builder.bitcast(word, value_type)

    return NUMBA_TYPES[code](w, k), emit


@intrinsic(prefer_literal=True)
def length(typingctx: Any, w: Any, k: Any) -> Typed:
    """`length(w, k)`: word `k` as an int64."""
    index = _word_index(w, k, "length")
    if index is None:
        return None

    return types.int64(w, k), lambda context, b, signature, args: _read_word(b, args[0], index)


def _mark(builder: Any, access: Any, buffer_type: BufferType) -> Any:
    """Tell LLVM that `access` to this buffer aliases no access to another buffer."""
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


@intrinsic
def load(typingctx: Any, a: Any, i: Any) -> Typed:
    """`load(a, i)`: the element `i` items away from where `a` points."""
    if not isinstance(a, BufferType) or not isinstance(i, types.Integer):
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = _mark(builder, builder.load(builder.gep(args[0], [args[1]])), a)
        return builder.icmp_unsigned("!=", value, BYTE(0)) if CODES[a.dtype] == "b1" else value

    return a.dtype(a, types.int64), emit


@intrinsic
def store(typingctx: Any, a: Any, i: Any, v: Any) -> Typed:
    """`store(a, i, v)`: write the element `i` items away; `v` must have the buffer's dtype."""
    if not isinstance(a, BufferType) or not isinstance(i, types.Integer) or v != a.dtype:
        return None

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        value = builder.zext(args[2], BYTE) if CODES[a.dtype] == "b1" else args[2]
        _mark(builder, builder.store(value, builder.gep(args[0], [args[1]])), a)
        return context.get_dummy_value()

    return types.void(a, types.int64, a.dtype), emit


@intrinsic(prefer_literal=True)
def tile(typingctx: Any, n: Any, dtype: Any) -> Typed:
    """`tile(n, f8)`: uninitialised array of `n` cells on the stack, `n` a literal."""
    code = next((c for c, f in CASTS.items() if typingctx.resolve_value_type(f) == dtype), None)
    if code is None or not isinstance(n, types.IntegerLiteral):
        return None
    cells = int(n.literal_value)
    result = BufferType(NUMBA_TYPES[code], 0, 0)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        element = context.get_data_type(result.dtype)
        with builder.goto_entry_block():  # Numba's own helper would fill the array with zeros
            array = builder.alloca(ir.ArrayType(element, cells))
        array.align = 64  # one whole vector, so that no access splits a cache line
        return builder.bitcast(array, element.as_pointer())

    return result(n, dtype), emit


# --- casts ----------------------------------------------------------------------------------


def _float_to_int(builder: Any, value: Any, target: Any) -> Any:
    """C's cast where it is defined; NaN and what does not fit give the smallest integer.

    That is what the instruction does on x86-64, and so what NumPy gives there; a bare `fptosi`
    would be poison.
    """
    low = ir.Constant(value.type, float(SMALLEST_I8))
    inside = builder.and_(
        builder.fcmp_ordered(">=", value, low),
        builder.fcmp_ordered("<", value, ir.Constant(value.type, -float(SMALLEST_I8))),
    )
    return builder.fptosi(builder.select(inside, value, low), target)


def _emit_cast(builder: Any, value: Any, source: str, code: str, target: Any) -> Any:
    """`value` of dtype `source` as dtype `code`, whose LLVM type is `target`."""
    if source == code:
        return value
    match source[0], code[0]:
        case "f", "b":
            return builder.fcmp_unordered("!=", value, ir.Constant(value.type, 0.0))
        case _, "b":
            return builder.icmp_signed("!=", value, ir.Constant(value.type, 0))
        case "b", "f":
            return builder.uitofp(value, target)
        case "b", "i":
            return builder.zext(value, target)
        case "i", "f":
            return builder.sitofp(value, target)
        case "f", "i":
            return _float_to_int(builder, value, target)
    wider = int(code[1]) > int(source[1])
    return builder.fpext(value, target) if wider else builder.fptrunc(value, target)


def _make_cast(code: str) -> Any:
    """The cast intrinsic of one dtype, named by its code."""

    def cast(typingctx: Any, v: Any) -> Typed:
        if v not in CODES:
            return None

        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            target = context.get_value_type(signature.return_type)
            return _emit_cast(builder, args[0], CODES[v], code, target)

        return NUMBA_TYPES[code](v), emit

    cast.__name__ = code
    cast.__doc__ = f"`{code}(v)`: v as {code}."
    return intrinsic(cast)


CASTS: dict[str, Any] = {code: _make_cast(code) for code in NUMBA_TYPES}


# --- operations on values -------------------------------------------------------------------

Emitter = Callable[[Any, list[Any]], Any]


def _overload(operands: Sequence[Any], rules: dict[str, Emitter], result: str | None) -> Typed:
    """Operation on operands of one dtype; `rules` maps a dtype's kind letter to its emission.

    `result` is a dtype code, or None where the result has the operands' dtype.
    """
    code = CODES.get(operands[0])
    if code is None or any(ty != operands[0] for ty in operands) or code[0] not in rules:
        return None
    rule = rules[code[0]]
    result_type = operands[0] if result is None else NUMBA_TYPES[result]
    return result_type(*operands), lambda context, builder, signature, args: rule(builder, args)


def _call(name: str) -> Emitter:
    """Emission of a call of the LLVM intrinsic `name` on the operands' type."""

    def emit(builder: Any, args: list[Any]) -> Any:
        function_type = ir.FunctionType(args[0].type, [arg.type for arg in args])
        function = builder.module.declare_intrinsic(name, [args[0].type], function_type)
        return builder.call(function, args)

    return emit


def _choose(comparison: str) -> Emitter:
    """Emission of `a if a <comparison> b else b` on integers, without a branch."""
    return lambda b, args: b.select(b.icmp_signed(comparison, *args), *args)


def _magnitude(builder: Any, args: list[Any]) -> Any:
    """Absolute value of an integer; the smallest one stays itself, as in NumPy."""
    negative = builder.icmp_signed("<", args[0], ir.Constant(args[0].type, 0))
    return builder.select(negative, builder.neg(args[0]), args[0])


ADD: dict[str, Emitter] = {
    "f": lambda b, args: b.fadd(*args, flags=("reassoc",)),
    "i": lambda b, args: b.add(*args),
}
MULTIPLY: dict[str, Emitter] = {
    "f": lambda b, args: b.fmul(*args, flags=("reassoc",)),
    "i": lambda b, args: b.mul(*args),
}
MAXIMUM: dict[str, Emitter] = {
    "f": _call("llvm.maximum"),
    "i": _choose(">="),
    "b": lambda b, args: b.or_(*args),
}
MINIMUM: dict[str, Emitter] = {
    "f": _call("llvm.minimum"),
    "i": _choose("<="),
    "b": lambda b, args: b.and_(*args),
}
ABSOLUTE: dict[str, Emitter] = {
    "f": _call("llvm.fabs"),
    "i": _magnitude,
    "b": lambda b, args: args[0],
}
ISNAN: dict[str, Emitter] = {
    "f": lambda b, args: b.fcmp_unordered("uno", args[0], args[0]),
    "i": lambda b, args: ir.IntType(1)(0),
    "b": lambda b, args: ir.IntType(1)(0),
}


@intrinsic
def add_reassoc(typingctx: Any, s: Any, v: Any) -> Typed:
    """`add_reassoc(s, v)`: s + v that LLVM may reorder; only the accumulator add of a sum."""
    return _overload((s, v), ADD, None)


@intrinsic
def mul_reassoc(typingctx: Any, s: Any, v: Any) -> Typed:
    """`mul_reassoc(s, v)`: s * v that LLVM may reorder; only the accumulator of a product."""
    return _overload((s, v), MULTIPLY, None)


@intrinsic
def select(typingctx: Any, c: Any, a: Any, b: Any) -> Typed:
    """`select(c, a, b)`: a where c else b, both evaluated, without a branch."""
    if c != types.boolean or a != b or a not in CODES:
        return None
    return a(c, a, a), lambda context, builder, signature, args: builder.select(*args)


@intrinsic
def maximum(typingctx: Any, a: Any, b: Any) -> Typed:
    """`maximum(a, b)`: the greater; NaN if either is NaN; +0 above -0."""
    return _overload((a, b), MAXIMUM, None)


@intrinsic
def minimum(typingctx: Any, a: Any, b: Any) -> Typed:
    """`minimum(a, b)`: the smaller; NaN if either is NaN; -0 below +0."""
    return _overload((a, b), MINIMUM, None)


@intrinsic
def sqrt(typingctx: Any, v: Any) -> Typed:
    """`sqrt(v)` of a float, correctly rounded; NaN below zero."""
    return _overload((v,), {"f": _call("llvm.sqrt")}, None)


@intrinsic
def absolute(typingctx: Any, v: Any) -> Typed:
    """`absolute(v)`."""
    return _overload((v,), ABSOLUTE, None)


@intrinsic
def isnan(typingctx: Any, v: Any) -> Typed:
    """`isnan(v)`: a b1; false for integers."""
    return _overload((v,), ISNAN, "b1")


@intrinsic
def power(typingctx: Any, a: Any, b: Any) -> Typed:
    """`power(a, b)` of floats: libm's `pow`, one scalar call per element."""
    return _overload((a, b), {"f": _call("llvm.pow")}, None)


_INTRINSICS = (
    (buffer, scalar, length, load, store, tile)
    + (add_reassoc, mul_reassoc, select, maximum, minimum)
    + (sqrt, absolute, isnan, power)
)
NAMES: dict[str, Any] = CASTS | {"inf": math.inf, "nan": math.nan}
NAMES.update((function.__name__, function) for function in _INTRINSICS)
