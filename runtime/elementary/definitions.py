"""LLVM functions that are declared and defined beside a kernel, in its module."""

from typing import Any

from llvmlite import ir

LATE = '"function-inline-cost"="1000000"'
"""Keeps LLVM from inlining before its vectoriser has run (`kernel_library`)."""
KEPT = "llvm.compiler.used"
"""The list of what LLVM keeps although nothing uses it."""
PURE = ("nounwind", "willreturn", "memory(none)")


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
        name: of the function.
        forms: names of the forms, by length and one letter per parameter: v for a vector, l4 for a
            number that grows by 4 (the mangling of LLVM's vector function ABI).
    """
    mangled = (f"_ZGV_LLVM_N{parameters}_{name}({form})" for parameters, form in forms.items())
    return f'"vector-function-abi-variant"="{",".join(mangled)}"'


def keep(module: Any, functions: list[Any]) -> None:
    """Keep functions that nothing calls before loops are vectorised."""
    pointer = ir.IntType(8).as_pointer()
    used = module.globals.get(KEPT)
    if used is None:
        used = ir.GlobalVariable(module, ir.ArrayType(pointer, 0), KEPT)
        used.linkage, used.section = "appending", "llvm.metadata"
        used.initializer = ir.Constant(used.value_type, [])
    kept = [*used.initializer.constant, *(function.bitcast(pointer) for function in functions)]
    used.value_type = ir.ArrayType(pointer, len(kept))
    used.initializer = ir.Constant(used.value_type, kept)


def call(name: str, builder: Any, args: list[Any]) -> Any:
    """Emit a call of the LLVM intrinsic `name` for the type of the operands."""
    kind = args[0].type
    vector = isinstance(kind, ir.VectorType)
    lanes = f"v{kind.count}{kind.element.intrinsic_name}" if vector else kind.intrinsic_name
    return call_as(builder, f"{name}.{lanes}", kind, args)


def call_as(builder: Any, name: str, kind: Any, args: list[Any]) -> Any:
    """Emit a call of an intrinsic by its full name; `kind` is the type of the result."""
    function = builder.module.globals.get(name)
    if function is None:
        function_type = ir.FunctionType(kind, [value.type for value in args])
        function = ir.Function(builder.module, function_type, name)
    return builder.call(function, args)
