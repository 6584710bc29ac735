"""LLVM functions for kernels: defined in a kernel's module, linked into it, or called by it.

Functions that loops inline are written once per target and linked: recipes before LLVM's passes
run; steps of recipes after loops have become vector loops, and only the forms that these call. So a
kernel's module has no functions that most kernels do not use; they are in linked modules.

Library functions are compiled once per target. A kernel's module declares only the scalar form of
an elementary function. An attribute of the declaration names the vector forms (LLVM's vector
function ABI), which vectorised loops call instead.

`TargetContext` is Numba's code generation for the target, whose libraries end as object files and
are not loaded. LLVM adds calls of functions for operations that a CPU lacks. Such a function may
not exist, and calling it would jump to address 0. So machine code is checked for calls before it is
loaded.
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
from axiomjit.runtime.object_cache.entry import C_FUNCTIONS, ObjectFile, tables_of
from axiomjit.runtime.object_cache.store import run_passes


class TargetLibrary(JITCodeLibrary):
    """Machine code, which once finalized calls only functions that exist."""

    _codegen: Any
    _final_module: Any
    object_code: bytes
    """The object file."""
    tables: ObjectFile
    """The functions that it calls outside itself, and those that it defines."""

    @property
    def objects(self) -> tuple[bytes, ...]:
        """The object file, and the object files of shared libraries that it calls."""
        found = [self]
        for library in found:  # which grows meanwhile
            called = (self._codegen.shared.get(name) for name in sorted(library.tables.undefined))
            found += [one for one in dict.fromkeys(called) if one and one not in found]
        return tuple(library.object_code for library in found)

    def _optimize_functions(self, ll_module: Any) -> None:
        """Leave functions to the passes over the whole module.

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
        """Let other libraries of the target call the functions of this one."""
        self._codegen.shared |= dict.fromkeys(self.tables.defined, self)

    def _has(self, name: str) -> bool:
        if name in self._codegen.shared:
            return True
        return name in C_FUNCTIONS and binding.address_of_symbol(name) is not None


class TargetCodegen(JITCPUCodegen):
    """Code generation for one target, with its own LLVM target machine; it loads no code."""

    _library_class = TargetLibrary

    def __init__(self, target: Target) -> None:
        """Make the machine."""
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
    """Numba's target context: the representation of types, and code generation.

    A kernel uses nothing from Numba's registries, so they stay empty, which halves the time of a
    process's first compilation. Numba functions of the user have another context.
    """

    def __init__(self, target: Target) -> None:
        """Start code generation."""
        self._internal_codegen = TargetCodegen(target)
        super().__init__(None)

    def init(self) -> None:
        """Do nothing: Numba would fill its registries here."""


@global_compiler_lock
@cache
def target_context(target: Target) -> Any:
    """Numba's context for code of a target."""
    return TargetContext(target)


def target_of(module: Any) -> Target:
    """The target of an LLVM module; emissions depend on its instructions."""
    found: Target = module.axiomjit_target
    return found


PREFIX = "axiomjit_step_"
"""The prefix of the names of step functions (`vector_steps`)."""
LATE = '"function-inline-cost"="1000000"'
"""Keeps LLVM from inlining before its vectoriser has run (`compile_source`)."""
COMPILER_USED = "llvm.compiler.used"
"""The list of functions that LLVM keeps although nothing uses them."""
PURE = ("nounwind", "willreturn", "memory(none)")
Body = Callable[[Any, Any], Any]
"""Emits the code of a function: takes a builder and the function, returns the result."""


def declare(module: Any, name: str, kind: Any, arity: int, *attributes: str) -> Any:
    """Declare a pure function in the module, with `arity` operands and a result of one type."""
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name)
    add_attributes(function, *PURE, *attributes)
    return function


def define(module: Any, name: str, kind: Any, arity: int, *attributes: str) -> Any:
    """Define a function private to the module; return it and a builder at its entry."""
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
        name: the name of the function.
        forms: names of the forms, by length and one letter per parameter: v for a vector, l4 for a
            number that grows by 4 (the mangling of LLVM's vector function ABI).
    """
    mangled = (f"_ZGV_LLVM_N{parameters}_{name}({form})" for parameters, form in forms.items())
    return f'"vector-function-abi-variant"="{",".join(mangled)}"'


def keep(module: Any, functions: list[Any]) -> None:
    """Keep functions that no code calls before loops are vectorised."""
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
    """An LLVM module, and the types and attributes of the functions that others may call."""

    module: Any
    prototypes: tuple[tuple[str, Any, tuple[str, ...]], ...]


_LINKED: Final[dict[tuple[Target, str], _Linked]] = {}
"""By target and name of a function, for the process's lifetime: recipes and steps are few."""
_LIBRARIES: dict[tuple[Target, str], Any] = {}
"""Numba's code library of each function, by target and name."""


def declare_linked(module: Any) -> Any:
    """Let a module declare linked functions; return it."""
    module.axiomjit_links = []
    return module


def define_recipe(module: Any, name: str, write: Callable[[Any], None]) -> Any:
    """Define a function that is inlined into loops before LLVM's passes; return it.

    If the module has linked functions, the function is linked into it, not defined in it.

    Args:
        module: the module that calls the function.
        name: the name of the function.
        write: defines the function in a module.
    """
    if _links(module) is None:
        write(module)
        return module.globals[name]
    linked = _linked_module(target_of(module), [name], write, late=False)
    module.axiomjit_links.append(name)
    _declare_linked(module, linked)
    return module.globals[name]


def define_step(module: Any, names: Sequence[str], write: Callable[[Any], None]) -> None:
    """Define or declare the forms of a step, the scalar one first; loops inline them later."""
    if _links(module) is None:
        write(module)
        return
    _declare_linked(module, _linked_module(target_of(module), names, write, late=True))
    keep(module, [module.globals[name] for name in names[1:]])


def copy_of(target: Target, name: str) -> Any:
    """A copy, to be linked, of the module that defines a function; None if none is linked."""
    linked = _LINKED.get((target, name))
    return None if linked is None else linked.module.clone()


def _links(module: Any) -> list[str] | None:
    return getattr(module, "axiomjit_links", None)


def _linked_module(
    target: Target, names: Sequence[str], write: Callable[[Any], None], *, late: bool
) -> _Linked:
    """The module of functions, made at first use."""
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
            function.attributes.discard(LATE)
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
    """Return the lengths of vectors for which functions called in a module have forms.

    float32 has two: a full vector, and half of one for loops that also compute float64.
    """
    doubles = target_of(module).vector_bytes // 8
    return (doubles, 2 * doubles) if isinstance(kind, ir.FloatType) else (doubles,)


def form_name(name: str, lanes: int) -> str:
    """Return the name of a function's form for `lanes` numbers at once; for 1, the scalar form."""
    return name if lanes == 1 else f"{name}_x{lanes}"


def library_function(module: Any, name: str, kind: Any, arity: int, lanes: int, body: Body) -> Any:
    """Return a function for calls in a module; compile it first if the target does not have it yet.

    Args:
        module: the module that calls the function.
        name: the name of the scalar form.
        kind: the type of operands and result.
        arity: the number of operands.
        lanes: the length of the form's vectors; 1: the scalar form, for loops that LLVM vectorises.
        body: emits the code of every form.
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
    """A function of any type for calls in a module; compiled once per target.

    Args:
        module: the module that calls it.
        name: the name of the function.
        declare: adds the function to a module, by this name.
        write: gives it its body.
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
    """The library, with the code of the module added and linked."""
    library.add_ir_module(module)
    library.finalize()
    library.share()
    return library
