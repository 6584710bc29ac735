"""Loads of vectors that prefetch memory further on.

Arithmetic of an elementary function fills the window in which a processor looks for loads that it
can begin early. LLVM does not vectorise a loop with a prefetch instruction; so a
loaded number passes through a function whose vector forms have that instruction. They become
part of the loop after it has been made a vector loop, as steps of recipes do (`kernel_library`).
"""

from typing import Any

from llvmlite import ir

from axiomjit.runtime.elementary.llvm_functions import (
    LATE,
    PURE,
    add_attributes,
    define_step,
    keep,
    lanes_of,
    variants,
)
from axiomjit.runtime.elementary.vector_steps import PREFIX
from axiomjit.runtime.emission.kernel_types import WORD
from axiomjit.runtime.llvm.target_code import target_of

AHEAD_BYTES = 2048
"""The distance of prefetches: 1024 to 8192 gain the same, 512 half as much."""
FLAG = ir.IntType(32)
FOR_READING, INTO_EVERY_CACHE, OF_DATA = FLAG(0), FLAG(3), FLAG(1)
POINTER = ir.IntType(8).as_pointer()


def passed(builder: Any, value: Any, buffer: Any, index: Any, ahead: Any = None) -> Any:
    """The float32 or float64 that was loaded from a place of a buffer.

    A load of a contiguous vector prefetches the cache line so many elements, or else AHEAD_BYTES,
    further on, where the target gains by that.
    """
    module, size = builder.module, 4 if isinstance(value.type, ir.FloatType) else 8
    if not target_of(module).prefetches:
        return value
    ahead = WORD(AHEAD_BYTES // size) if ahead is None else ahead
    name = f"{PREFIX}passed_f{size}"
    if name not in module.globals:
        _with_forms(module, name, value.type, size)
    # Of integers, since LLVM would compute a vector of pointers to use the first of them.
    further = builder.mul(builder.add(index, ahead), WORD(size))
    address = builder.add(builder.ptrtoint(buffer, WORD), further)
    return builder.call(module.globals[name], [value, address])


def _with_forms(module: Any, name: str, kind: Any, size: int) -> None:
    """The scalar function, and its vector forms by the kind of their addresses."""
    full = lanes_of(module, kind)
    forms = {}
    for lanes in (full[0] // 2, *full):  # half of a vector, for loops that take no wider ones
        vector = ir.VectorType(kind, lanes)
        for address, emit in ((WORD, _ask), (ir.VectorType(WORD, lanes), _ask_nothing)):
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
        add_attributes(single, *PURE, LATE, variants(name, named))
        # No number is at address 0; but LLVM must not know that the result is the first operand.
        nowhere = builder.icmp_unsigned("==", single.args[1], WORD(0))
        builder.ret(builder.select(nowhere, ir.Constant(kind, 0.0), single.args[0]))

    define_step(module, [name, *named.values()], write)


def _define(module: Any, name: str, kind: Any, address: Any) -> tuple[Any, Any]:
    function = ir.Function(module, ir.FunctionType(kind, [kind, address]), name)
    function.linkage = "internal"
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def _ask(builder: Any, address: Any) -> None:
    given = [builder.inttoptr(address, POINTER), FOR_READING, INTO_EVERY_CACHE, OF_DATA]
    name, module = "llvm.prefetch.p0", builder.module
    kind = ir.FunctionType(ir.VoidType(), [value.type for value in given])
    builder.call(module.globals.get(name) or ir.Function(module, kind, name), given)


def _ask_nothing(builder: Any, addresses: Any) -> None:
    """Prefetch nothing: the elements of these vectors are not contiguous."""
