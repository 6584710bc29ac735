"""Functions that kernels call, compiled once per target: elementary ones, their parts, and others.

Of an elementary function, a kernel's module declares the scalar form. Its attribute names, by
LLVM's vector function ABI, the vector forms that loops call instead once they are vectorised.
"""

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.base.target import Target
from axiomjit.runtime.llvm.target_code import target_context, target_of
from axiomjit.runtime.elementary.definitions import add_attributes, declare, keep, variants

Body = Callable[[Any, Any], Any]
"""Emits the code of a function: takes a builder and the function, returns the result."""

_LIBRARIES: dict[tuple[Target, str], Any] = {}
"""Numba's code library of each function, by target and name."""


def lanes_of(module: Any, kind: Any) -> tuple[int, ...]:
    """Return the lengths of vectors for which functions called in a module have forms.

    float32 has two: a full vector, and half of one for loops that also compute float64.
    """
    doubles = target_of(module).vector_bytes // 8
    return (doubles, 2 * doubles) if isinstance(kind, ir.FloatType) else (doubles,)


def form_name(name: str, lanes: int) -> str:
    """Return the name of a function's form for vectors of `lanes` numbers; 1: the scalar form."""
    return name if lanes == 1 else f"{name}_x{lanes}"


def function(module: Any, name: str, kind: Any, arity: int, lanes: int, body: Body) -> Any:
    """Return a function for calls in a module; compile it first if the target does not have it yet.

    Args:
        module: where the function is to be called.
        name: of the scalar form.
        kind: the type of operands and result.
        arity: number of operands.
        lanes: of the form to call; 1: the scalar form, for loops that LLVM vectorises.
        body: emits the code of every form.
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
    library.share()
    return library
