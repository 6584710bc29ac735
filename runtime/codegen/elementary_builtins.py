"""The elementary functions as intrinsics, which are inlined, or called as vector functions.

In a kernel with at most `INLINED` calls, the recipes are inlined and then vectorised, which gives
the fastest code. For larger kernels this takes too long to compile, so their loops call scalar
functions. The attributes of these functions name vector forms by LLVM's vector function ABI. The
vectoriser calls the vector forms, which are compiled once per target (`library`). If a scalar call
remains, it computes an entire vector. Both methods give the same bits.
"""

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.codegen.emitters import Emitter, complex_power
from axiomjit.runtime.codegen.llvm_arithmetic import Lane, LlvmArithmetic
from axiomjit.runtime.codegen.llvm_functions import (
    add_attributes,
    define,
    define_recipe,
    form_name,
    lanes_of,
    library_function,
    target_of,
)
from axiomjit.runtime.codegen.value_builtins import make_binary, make_unary
from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES, ComplexRecipe
from axiomjit.runtime.elementary.functions import RECIPES, Recipe

INLINED = 6
"""The largest number of elementary calls of a kernel up to which all are inlined.

A single remaining call costs as much as several calls, since the loop must save registers around
it.
"""
LANE = ir.IntType(32)
FunctionDefiner = Callable[[Any, str, Any, Recipe, int], Any]
"""A function that defines a function in a module: name, type, recipe, number of operands."""


def _inlined(module: Any, name: str, kind: Any, recipe: Recipe, arity: int) -> Any:
    """Define a function that is inlined into the loops that call it."""

    def write(own: Any) -> None:
        function, builder = define(own, name, kind, arity, "alwaysinline")
        m = LlvmArithmetic(builder, _code(kind), 1)
        builder.ret(recipe(m, *map(m.lane, function.args)).value)

    return define_recipe(module, name, write)


def _code(kind: Any) -> str:
    return "f4" if isinstance(kind, ir.FloatType) else "f8"


def _spread(builder: Any, value: Any, lanes: int) -> Any:
    """Broadcast a number to all lanes of a vector."""
    vector = ir.Constant(ir.VectorType(value.type, 1), ir.Undefined)
    mask = ir.Constant(ir.VectorType(LANE, lanes), [0] * lanes)
    first = builder.insert_element(vector, value, LANE(0))
    return builder.shuffle_vector(first, ir.Constant(vector.type, ir.Undefined), mask)


def _called(module: Any, name: str, kind: Any, recipe: Recipe, arity: int) -> Any:
    """Declare a library function; its scalar form computes a vector and returns one lane."""
    code = _code(kind)

    def body(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            m = LlvmArithmetic(builder, code, form.args[0].type.count)
            return recipe(m, *map(m.lane, form.args)).value
        lanes = lanes_of(builder.module, kind)[0]
        whole = builder.module.globals[form_name(name, lanes)]
        result = builder.call(whole, [_spread(builder, arg, lanes) for arg in form.args])
        return builder.extract_element(result, LANE(0))

    return library_function(module, name, kind, arity, 1, body)


def _prefer_long_vectors(builder: Any) -> None:
    bits = 8 * target_of(builder.module).vector_bytes
    add_attributes(builder.function, f'"prefer-vector-width"="{bits}"')


def emitter(name: str, recipe: Recipe, define: FunctionDefiner = _inlined) -> Emitter:
    """Return the emitter of a call; the first call in a module defines the function."""

    def emit(builder: Any, args: list[Any]) -> Any:
        module, kind = builder.module, args[0].type
        full = f"axiomjit_{name}_{_code(kind)}{define.__name__}"
        function = module.globals.get(full) or define(module, full, kind, recipe, len(args))
        _prefer_long_vectors(builder)
        return builder.call(function, args)

    return emit


def _of_complex(recipe: ComplexRecipe, define: FunctionDefiner) -> Emitter:
    """Return the emitter of a complex function, which calls real functions."""

    def emit(builder: Any, args: list[Any]) -> Any:
        x, y = (builder.extract_value(args[0], k) for k in (0, 1))
        m = LlvmArithmetic(builder, _code(x.type), 1)

        def of(name: str, *operands: Lane) -> Lane:
            call = emitter(name, RECIPES[name], define)
            return m.lane(call(builder, [operand.value for operand in operands]))

        result = ir.Constant(args[0].type, ir.Undefined)
        for k, part in enumerate(recipe(m, of, m.lane(x), m.lane(y))):
            result = builder.insert_value(result, part.value, k)
        _prefer_long_vectors(builder)
        return result

    return emit


def _intrinsic(name: str, recipe: Recipe, define: FunctionDefiner) -> Any:
    operands = len(inspect.signature(recipe).parameters) - 1
    make = make_unary if operands == 1 else make_binary
    rules = {"f": emitter(name, recipe, define)}
    if name in COMPLEX_RECIPES:
        rules["c"] = _of_complex(COMPLEX_RECIPES[name], define)
    return make(name, rules | {"c": complex_power} if name == "power" else rules)


NAMES, CALLED_NAMES = (
    {name: _intrinsic(name, recipe, define) for name, recipe in RECIPES.items()}
    for define in (_inlined, _called)
)
"""The intrinsics that are inlined, and the intrinsics that call functions."""


def intrinsics_for(count: int) -> dict[str, Any]:
    """Return the intrinsics for a kernel with `count` elementary calls."""
    return NAMES if count <= INLINED else CALLED_NAMES
