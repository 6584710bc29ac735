"""The LLVM functions that a kernel's module defines, links or calls.

Functions that loops inline are generated once per target, in modules that are linked. Recipes are
linked before LLVM's passes run. Steps of recipes are linked after loops have become vector loops;
only the forms that these loops call are linked. So the module of a kernel contains only functions
that it uses.

Library functions are compiled once per target. A kernel's module declares only the scalar form of
an elementary function. An attribute of the declaration names the vector forms (LLVM's vector
function ABI), which vectorised loops call.

`TargetContext` is Numba's code generation for the target; its libraries become object files and are
not loaded. LLVM adds calls of functions for operations that a CPU lacks. Some functions that LLVM
calls do not exist, and calling such a function would jump to address 0. Hence the calls in machine
code are checked before the code is loaded.

Some steps of recipes, such as lookups in registers, are vector instructions on some CPUs.
`Arithmetic` computes each step by basic operations, with the same bits as the instruction. LLVM
cannot turn scalar code into the vector instructions of steps. So a recipe that is compiled for
scalars calls a function for each step that has a vector instruction. An attribute of the function
names its vector forms by LLVM's vector function ABI. The forms are inlined into the loop after it
was vectorised (`compile_source`).

Short tables are stored in registers; AVX-512 and AVX2 look up the entries of all lanes at once.
Steps that are no lookups are instructions only of AVX-512.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, Final, NamedTuple

from llvmlite import binding, ir
from numba.core.codegen import JITCodeLibrary, JITCPUCodegen
from numba.core.compiler_lock import global_compiler_lock
from numba.core.cpu import CPUContext

from axiomjit.base.errors import CompileError
from axiomjit.base.target import Target
from axiomjit.runtime.codegen.emitters import call_function
from axiomjit.runtime.object_cache.entries import C_FUNCTIONS, ObjectFile, tables_of
from axiomjit.runtime.object_cache.store import run_passes


class TargetLibrary(JITCodeLibrary):
    """A code library that is refused if its machine code calls a function that does not exist."""

    _codegen: Any
    _final_module: Any
    object_code: bytes
    """The relocatable object file of the library."""
    tables: ObjectFile
    """The symbols that the object file needs, and those that it defines."""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The object files of the library and of shared libraries that it calls."""
        found = [self]
        for library in found:  # the list grows in this loop
            called = (self._codegen.shared.get(name) for name in sorted(library.tables.undefined))
            found += [one for one in dict.fromkeys(called) if one and one not in found]
        return tuple(library.object_code for library in found)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Do nothing; Numba would run passes here, and passes over the entire module follow.

        Numba runs these passes three times, for reference counting, which kernels do not use.
        """
        ll_module.data_layout = self._codegen._data_layout

    def _optimize_final_module(self) -> None:
        passes = self._codegen._pass_builder()
        run_passes(passes.getModulePassManager(), self._final_module, passes)

    def _finalize_final_module(self) -> None:
        code = self._codegen._tm.emit_object(self._final_module)
        self.tables = tables_of(code)
        missing = sorted([name for name in self.tables.undefined if not self._has(name)])
        if missing:
            name = self._codegen.target.name
            raise CompileError(
                f"load the machine code of {self.name!r} for the target {name!r}",
                f"it calls {', '.join(missing)}, which nothing provides",
                "report this, and meanwhile run with AXIOMJIT_DISABLE=1 or on another target",
            )
        self.object_code, self._finalized = code, True

    def share(self) -> None:
        """Allow other libraries of the target to call the functions of this library."""
        self._codegen.shared |= dict.fromkeys(self.tables.defined, self)

    def _has(self, name: str) -> bool:
        if name in self._codegen.shared:
            return True
        return name in C_FUNCTIONS and binding.address_of_symbol(name) is not None


class TargetCodegen(JITCPUCodegen):
    """Numba's code generation for one target, with an LLVM target machine; no code is loaded."""

    _library_class = TargetLibrary

    def __init__(self, target: Target) -> None:
        """Make the target machine."""
        self.target = target
        self.shared: dict[str, TargetLibrary] = {}
        super().__init__("axiomjit.exec")

    def _create_empty_module(self, name: str) -> Any:
        module = super()._create_empty_module(name)
        module.axiomjit_target = self.target
        return module

    def _get_host_cpu_name(self) -> str:
        return self.target.cpu

    def _get_host_cpu_features(self) -> str:
        return self.target.features


class TargetContext(CPUContext):
    """Numba's context for a target: the representation of types, and code generation.

    Kernels use nothing from Numba's registries, so the registries stay empty, which halves the time
    of the first compilation of a process. Numba functions of the user have another context.
    """

    def __init__(self, target: Target) -> None:
        """Make the code generation for the target."""
        self._internal_codegen = TargetCodegen(target)
        super().__init__(None)

    def init(self) -> None:
        """Do nothing; Numba's method would fill the registries."""


@global_compiler_lock
@cache
def target_context(target: Target) -> Any:
    """Numba's context for code of a target."""
    return TargetContext(target)


def target_of(module: Any) -> Target:
    """The target of an LLVM module, whose instructions decide what is emitted."""
    found: Target = module.axiomjit_target
    return found


PREFIX = "axiomjit_step_"
"""The prefix of the names of step functions."""
INLINE_LATE = '"function-inline-cost"="1000000"'
"""The attribute that prevents inlining before the vectoriser has run (`compile_source`)."""
COMPILER_USED = "llvm.compiler.used"
"""The list of functions that LLVM keeps although nothing uses them."""
PURE = ("nounwind", "willreturn", "memory(none)")
Body = Callable[[Any, Any], Any]
"""A function of a builder and an LLVM function; it emits the LLVM function's code and returns the
result.
"""


def declare(module: Any, name: str, kind: Any, arity: int, *attributes: str) -> Any:
    """Declare a pure function in a module; operands and result have the same type."""
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name)
    add_attributes(function, *PURE, *attributes)
    return function


def define(module: Any, name: str, kind: Any, arity: int, *attributes: str) -> Any:
    """Define a function that is private to the module; return it and a builder at its entry."""
    function = declare(module, name, kind, arity, *attributes)
    function.linkage = "internal"
    return function, ir.IRBuilder(function.append_basic_block("entry"))


def add_attributes(function: Any, *attributes: str) -> None:
    """Add attributes to a function or a call, also those that llvmlite does not know."""
    for attribute in attributes:
        set.add(function.attributes, attribute)


def variants(name: str, forms: dict[str, str]) -> str:
    """Return the attribute of a function that names its vector forms.

    Args:
        name: The name of the function.
        forms: The names of the forms, by their length and one code per parameter, as LLVM's vector
            function ABI writes them: v for a vector, l4 for a number that grows by 4.
    """
    mangled = (f"_ZGV_LLVM_N{parameters}_{name}({form})" for parameters, form in forms.items())
    return f'"vector-function-abi-variant"="{",".join(mangled)}"'


def keep(module: Any, functions: list[Any]) -> None:
    """Keep functions that are not called until loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    used = module.globals.get(COMPILER_USED)
    if used is None:
        used = ir.GlobalVariable(module, ir.ArrayType(pointer, 0), COMPILER_USED)
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = ir.Constant(used.value_type, [])
    kept = [*used.initializer.constant, *(function.bitcast(pointer) for function in functions)]
    used.value_type = ir.ArrayType(pointer, len(kept))
    used.initializer = ir.Constant(used.value_type, kept)


class _Linked(NamedTuple):
    """An LLVM module, and the types and attributes of the functions that other modules may call."""

    module: Any
    prototypes: tuple[tuple[str, Any, tuple[str, ...]], ...]


_LINKED: Final[dict[tuple[Target, str], _Linked]] = {}
"""The modules of recipes and steps, by target and name of a function; they are never freed."""
_LIBRARIES: dict[tuple[Target, str], Any] = {}
"""The code library of each function, by target and name."""


def declare_linked(module: Any) -> Any:
    """Mark a module as one that links functions, and return it."""
    module.axiomjit_links = []
    return module


def define_recipe(module: Any, name: str, write: Callable[[Any], None]) -> Any:
    """Return a function that is inlined into loops before LLVM's passes.

    If the module links functions, the function is only declared in the module; otherwise it is
    defined.

    Args:
        module: The module that calls the function.
        name: The name of the function.
        write: A function that defines the function in a module.
    """
    if _links(module) is None:
        write(module)
        return module.globals[name]
    linked = _linked_module(target_of(module), [name], write, late=False)
    module.axiomjit_links.append(name)
    _declare_linked(module, linked)
    return module.globals[name]


def define_step(module: Any, names: Sequence[str], write: Callable[[Any], None]) -> None:
    """Define or declare the forms of a step, the scalar form first; loops inline them later."""
    if _links(module) is None:
        write(module)
        return
    _declare_linked(module, _linked_module(target_of(module), names, write, late=True))
    keep(module, [module.globals[name] for name in names[1:]])


def copy_of(target: Target, name: str) -> Any:
    """A copy, for linking, of the module that defines a function; None if no module does."""
    linked = _LINKED.get((target, name))
    return None if linked is None else linked.module.clone()


def _links(module: Any) -> list[str] | None:
    return getattr(module, "axiomjit_links", None)


def _linked_module(
    target: Target, names: Sequence[str], write: Callable[[Any], None], *, late: bool
) -> _Linked:
    """The module that defines functions, made by the first use."""
    found = _LINKED.get((target, names[0]))
    if found is not None:
        return found
    own = target_context(target).codegen()._create_empty_module(names[0])
    if not late:
        declare_linked(own)
    write(own)
    prototypes = []
    for name in names:
        function = own.globals[name]
        prototypes.append((name, function.ftype, tuple(function.attributes)))
        function.linkage = "linkonce_odr"
        if late:
            function.attributes.discard(INLINE_LATE)
            add_attributes(function, "alwaysinline")
    if late:
        own.globals.pop(COMPILER_USED, None)
    made = _Linked(binding.parse_assembly(str(own)), tuple(prototypes))
    _LINKED.update({(target, name): made for name in names})
    return made


def _declare_linked(module: Any, linked: _Linked) -> None:
    for name, kind, attributes in linked.prototypes:
        if name not in module.globals:
            add_attributes(ir.Function(module, kind, name), *attributes)


def lanes_of(module: Any, kind: Any) -> tuple[int, ...]:
    """Return the lengths of vectors for which library functions have forms.

    For float32 there are two lengths: a full vector, and half a vector for loops that also compute
    float64.
    """
    doubles = target_of(module).vector_bytes // 8
    return (doubles, 2 * doubles) if isinstance(kind, ir.FloatType) else (doubles,)


def form_name(name: str, lanes: int) -> str:
    """Return the name of the form of a function for `lanes` numbers; 1 is the scalar form."""
    return name if lanes == 1 else f"{name}_x{lanes}"


def library_function(module: Any, name: str, kind: Any, arity: int, lanes: int, body: Body) -> Any:
    """Return a form of a library function for calls in a module; the first use compiles it.

    Args:
        module: The module that calls the function.
        name: The name of the scalar form.
        kind: The type of operands and result.
        arity: The number of operands.
        lanes: The length of the vectors; 1 for the scalar form, in loops that LLVM vectorises.
        body: A function that emits the code of every form.
    """
    target = target_of(module)
    if (target, name) not in _LIBRARIES:
        _LIBRARIES[target, name] = _compile(target, name, kind, arity, body)
    if name not in module.globals:
        _declare(module, name, kind, arity)
    return module.globals[form_name(name, lanes)]


def shared_function(
    module: Any, name: str, declare: Callable[[Any], Any], write: Callable[[Any], None]
) -> Any:
    """Return a function of any type for calls in a module, compiled once per target.

    Args:
        module: The module that calls the function.
        name: The name of the function.
        declare: A function that adds the function to a module, with this name.
        write: A function that emits the body.
    """
    target = target_of(module)
    if (target, name) not in _LIBRARIES:
        library = target_context(target).codegen().create_library(name)
        own = library.create_ir_module(name)
        write(declare(own))
        _LIBRARIES[target, name] = _finished(library, own)
    return module.globals.get(name) or declare(module)


def _declare(module: Any, name: str, kind: Any, arity: int) -> None:
    lengths = lanes_of(module, kind)
    forms = [declare(module, form_name(name, n), ir.VectorType(kind, n), arity) for n in lengths]
    single = declare(module, name, kind, arity)
    named = {f"{n}{'v' * arity}": form.name for n, form in zip(lengths, forms, strict=True)}
    add_attributes(single, variants(name, named))
    keep(module, forms)


def _compile(target: Target, name: str, kind: Any, arity: int, body: Body) -> Any:
    library = target_context(target).codegen().create_library(name)
    module = library.create_ir_module(name)
    _declare(module, name, kind, arity)
    for lanes in (1, *lanes_of(module, kind)):
        form = module.globals[form_name(name, lanes)]
        builder = ir.IRBuilder(form.append_basic_block("entry"))
        builder.ret(body(builder, form))
    return _finished(library, module)


def _finished(library: Any, module: Any) -> Any:
    """The library, after the code of the module was added and linked."""
    library.add_ir_module(module)
    library.finalize()
    library.share()
    return library


BYTES = 64
"""The size of an AVX-512 vector in bytes."""
INT, LONG = ir.IntType(32), ir.IntType(64)
PAIRS = ir.VectorType(ir.FloatType(), 8)
"""The type of vectors that AVX2 permutes in one instruction; a float64 is two elements."""
CURRENT_ROUNDING = INT(4)
ONE = INT(0b0000)
"""The option of `getmant` for mantissas from 1 to 2 with the sign of the number."""
LOGARITHM_LIMITS = 0x00 | 0x32 | 0x4 << 8 | 0x3 << 16 | 0x5 << 20 | 0x3 << 24
"""The operand of `vfixupimm` that says which result each class of number has. Each class has a
hexadecimal digit, from the lowest: quiet NaN, signalling NaN, 0, 1, -infinity, infinity, negative,
positive. The digit 0 gives the computed result, 1 and 2 give the number itself, 3 gives NaN, 4 and
5 give the infinities.
"""


def _bits(kind: Any) -> int:
    return int(kind.count) * (32 if isinstance(kind.element, ir.FloatType) else 64)


def _instruction(builder: Any, name: str, kind: Any, *operands: Any) -> Any:
    """Emit a call of llvm.x86.avx512.mask.`name` on all lanes."""
    given = [*operands, ir.IntType(max(kind.count, 8))(-1)]
    if _bits(kind) == 8 * BYTES:
        given.append(CURRENT_ROUNDING)
    scalar = "s" if isinstance(kind.element, ir.FloatType) else "d"
    full = f"llvm.x86.avx512.mask.{name}.p{scalar}.{_bits(kind)}"
    return call_function(builder, full, kind, given)


def _undefined(kind: Any) -> Any:
    return ir.Constant(kind, ir.Undefined)


def _significand(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getmant", x.type, x, ONE, _undefined(x.type))


def _binade(builder: Any, x: Any) -> Any:
    return _instruction(builder, "getexp", x.type, x, _undefined(x.type))


def _scaled(builder: Any, x: Any, whole: Any) -> Any:
    return _instruction(builder, "scalef", x.type, x, whole, _undefined(x.type))


def _reduced(builder: Any, x: Any, bits: int) -> Any:
    return _instruction(builder, "reduce", x.type, x, INT(bits << 4), _undefined(x.type))


def _unchanged(builder: Any, x: Any, low: float, high: float) -> Any:
    return x


def _integers(kind: Any) -> Any:
    return ir.VectorType(ir.IntType(_bits(kind) // kind.count), kind.count)


def _log_limits(builder: Any, x: Any, result: Any) -> Any:
    """Emit `vfixupimm`, which replaces `result` in lanes where x is of some classes of numbers."""
    table = ir.Constant(_integers(x.type), LOGARITHM_LIMITS)
    return _instruction(builder, "fixupimm", x.type, result, x, table, INT(0))


class Instruction(NamedTuple):
    """A vector instruction that computes a step of a function."""

    emission: Callable[..., Any]
    """A function of a builder and vectors of at most `size` bytes that emits the instruction."""
    size: int = BYTES
    """The size of the vectors in bytes; targets with shorter vectors use basic operations."""


EMISSIONS: dict[str, Callable[..., Any]] = {
    "significand": _significand,
    "binade": _binade,
    "within": _unchanged,
    "reduced": _reduced,
    "scaled": _scaled,
    "log_limits": _log_limits,
}
"""For each step, the function that emits it, given a builder, vectors and Python numbers."""


def instruction(name: str, numbers: Sequence[float]) -> Instruction:
    """Return the AVX-512 instruction of a step."""
    return Instruction(lambda builder, *vectors: EMISSIONS[name](builder, *vectors, *numbers))


def _halves(builder: Any, value: Any) -> list[Any]:
    half = value.type.count // 2
    masks = [ir.Constant(ir.VectorType(INT, half), list(range(k, k + half))) for k in (0, half)]
    return [builder.shuffle_vector(value, _undefined(value.type), mask) for mask in masks]


def emit(builder: Any, instruction: Instruction, operands: Sequence[Any]) -> Any:
    """Emit a step on vectors; vectors too long for the instruction are split into halves."""
    kind = operands[0].type
    if _bits(kind) <= 8 * instruction.size:
        return instruction.emission(builder, *operands)
    halves = zip(*(_halves(builder, value) for value in operands), strict=True)
    low, high = (emit(builder, instruction, half) for half in halves)
    mask = ir.Constant(ir.VectorType(INT, kind.count), list(range(kind.count)))
    return builder.shuffle_vector(low, high, mask)


def step(
    module: Any,
    name: str,
    instruction: Instruction,
    kind: Any,
    arity: int,
    basic: Callable[..., Any],
) -> Any:
    """Return the scalar function of a step, whose vector forms are one instruction.

    Args:
        module: The module that defines the function at its first use.
        name: The name of the step.
        instruction: The instruction that computes the step on vectors.
        kind: the type of a number.
        arity: the number of operands.
        basic: A function of a builder and operands that emits the step as basic operations.
    """

    def body(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            return emit(builder, instruction, form.args)
        return basic(builder, *form.args)

    full = f"{name}_{'f4' if isinstance(kind, ir.FloatType) else 'f8'}"
    lengths = (instruction.size // 8, instruction.size // 4)
    return with_forms(module, full, kind, arity, lengths, body)[1]


def with_forms(
    module: Any,
    name: str,
    kind: Any,
    arity: int,
    lengths: Sequence[int],
    body: Callable[[Any, Any], Any],
) -> dict[int, Any]:
    """Return the forms of a function by their length; 1 is the scalar form.

    All forms are inlined into the loops that call them.

    Args:
        module: The module that defines the functions at their first use.
        name: The name of the function, without PREFIX.
        kind: the type of a number.
        arity: The number of operands of the function.
        lengths: The lengths of the vectors.
        body: A function of a builder and a form that emits the result of the form.
    """
    full = PREFIX + name
    vectors = {lanes: f"{full}_x{lanes}" for lanes in lengths}
    names = {1: full, **vectors}

    def write(own: Any) -> None:
        for lanes, form_name in names.items():
            if lanes == 1:
                named = {f"{n}{'v' * arity}": vector for n, vector in vectors.items()}
                attributes = (INLINE_LATE, variants(full, named))
                form, builder = define(own, form_name, kind, arity, *attributes)
            else:
                vector = ir.VectorType(kind, lanes)
                form, builder = define(own, form_name, vector, arity, "alwaysinline")
            builder.ret(body(builder, form))
        keep(own, [own.globals[form_name] for form_name in vectors.values()])

    if full not in module.globals:
        define_step(module, list(names.values()), write)
    return {lanes: module.globals[form_name] for lanes, form_name in names.items()}


def lookup(table: Sequence[float], size: int) -> Instruction:
    """Return the instruction that looks up the value at the index in its operand's lowest bits.

    `size` is the length of the vectors in bytes.
    """

    def emission(builder: Any, x: Any) -> Any:
        return _looked_up(builder, tuple(table), x, size)

    return Instruction(emission, size)


def _looked_up(builder: Any, table: Sequence[float], x: Any, size: int) -> Any:
    """Emit a lookup; for a long table, look up both halves and select by a bit of the index."""
    width = 32 if isinstance(x.type.element, ir.FloatType) else 64
    full = 8 * size // width
    if x.type.count < full:
        return _first_lanes(builder, table, x, size, full)
    index = builder.bitcast(x, ir.VectorType(ir.IntType(width), full))
    if len(table) > (2 * full if size == BYTES else full):
        half = len(table) // 2
        low, high = (_looked_up(builder, part, x, size) for part in (table[:half], table[half:]))
        bit = builder.and_(index, ir.Constant(index.type, half))
        upper = builder.icmp_unsigned("!=", bit, ir.Constant(index.type, 0))
        return builder.select(upper, high, low)
    parts = [ir.Constant(x.type, list(table[k : k + full])) for k in range(0, len(table), full)]
    return (_in_long if size == BYTES else _in_short)(builder, parts, index)


def _first_lanes(builder: Any, table: Sequence[float], x: Any, size: int, full: int) -> Any:
    """Emit the lookup for a short vector, with the instruction for a full vector."""
    lanes = x.type.count
    repeated = ir.Constant(ir.VectorType(INT, full), [k % lanes for k in range(full)])
    wide = _looked_up(builder, table, builder.shuffle_vector(x, x, repeated), size)
    first = ir.Constant(ir.VectorType(INT, lanes), list(range(lanes)))
    return builder.shuffle_vector(wide, wide, first)


def _in_long(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit `vpermps` or `vpermi2ps`, or their forms for float64."""
    kind = parts[0].type
    single = isinstance(kind.element, ir.FloatType)
    if len(parts) == 1:
        name, given = f"permvar.{'sf' if single else 'df'}", [parts[0], index]
    else:
        name, given = f"vpermi2var.{'ps' if single else 'pd'}", [parts[0], index, parts[1]]
    return call_function(builder, f"llvm.x86.avx512.{name}.512", kind, given)


def _in_short(builder: Any, parts: Sequence[Any], index: Any) -> Any:
    """Emit AVX2's `vpermps`; a float64 is looked up as two halves."""
    (part,) = parts
    if index.type.element == LONG:
        within = builder.and_(index, ir.Constant(index.type, 3))
        twice = builder.shl(within, ir.Constant(index.type, 1))
        both = builder.or_(twice, builder.shl(twice, ir.Constant(index.type, 32)))
        index = builder.add(both, ir.Constant(index.type, 1 << 32))
    halves = [builder.bitcast(part, PAIRS), builder.bitcast(index, ir.VectorType(INT, 8))]
    return builder.bitcast(call_function(builder, "llvm.x86.avx2.permps", PAIRS, halves), part.type)
