"""Functions that kernels call, compiled once per target: elementary ones, their parts, and others.

Of an elementary function, a kernel's module declares the form for single numbers, which names, by
LLVM's vector function ABI, the forms for vectors that loops are to call for it.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.base.target import Target
from axiomjit.runtime.llvm.target_code import target_context, target_of
from axiomjit.runtime.vector_math.definitions import add_attributes, declare, keep, variants

Body = Callable[[Any, Any], Any]
"""Emits a function: the result, from a builder and the function."""

_LIBRARIES: dict[tuple[Target, str], Any] = {}
"""Numba's library of each function compiled so far for a target; it keeps the code loaded."""


def lanes_of(module: Any, kind: Any) -> tuple[int, ...]:
    """The lengths of the vectors that functions called in a module have forms for.

    Beside float64 a vector of float32 is half full.
    """
    doubles = target_of(module).vector_bytes // 8
    return (doubles, 2 * doubles) if isinstance(kind, ir.FloatType) else (doubles,)


def form_name(name: str, lanes: int) -> str:
    """The name of a function's form for vectors of so many lanes; 1: of single numbers."""
    return name if lanes == 1 else f"{name}_x{lanes}"


def function(module: Any, name: str, kind: Any, arity: int, lanes: int, body: Body) -> Any:
    """A function for calls in a module; compiled if it never was for the module's target.

    Args:
        module: where it is to be called.
        name: of the form for single numbers.
        kind: the type of operands and result.
        arity: count of operands.
        lanes: of the form that is called; 1 for single numbers, whose loops become vector loops.
        body: emission of every form.
    """
    target = target_of(module)
    if (target, name) not in _LIBRARIES:
        _LIBRARIES[target, name] = _compile(target, name, kind, arity, body)
    if name not in module.globals:
        _declare(module, name, kind, arity)
    return module.globals[form_name(name, lanes)]


def shared(
    module: Any, name: str, declare: Callable[[Any], Any], write: Callable[[Any], None]
) -> Any:
    """A function of any type for calls in a module; compiled if it never was for its target.

    Args:
        module: where it is to be called.
        name: of the function.
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
    """A library with the code of one module."""
    library.add_ir_module(module)
    library.finalize()
    return library
