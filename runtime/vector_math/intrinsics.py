"""The elementary functions as Numba intrinsics: one small function of the module for each.

It is inlined into the loops that call it before LLVM makes them vector loops.
"""

import inspect
from typing import Any

from llvmlite import ir

from axiomjit.runtime.emission import Emitter
from axiomjit.runtime.value_intrinsics import make_binary, make_unary
from axiomjit.runtime.vector_math.emitted import Emitted
from axiomjit.runtime.vector_math.functions import RECIPES, Recipe

LONG_VECTORS = '"prefer-vector-width"="512"'
"""LLVM takes half of a register of 512 bits on many CPUs, to spare their clock; here all pays."""


def _function(module: Any, name: str, kind: Any, recipe: Recipe, code: str) -> Any:
    """The function of the module that a recipe becomes."""
    function = ir.Function(module, kind, name)
    function.linkage = "internal"
    for attribute in ("alwaysinline", "nounwind"):
        function.attributes.add(attribute)
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    m = Emitted(builder, code)
    builder.ret(recipe(m, *map(m.lane, function.args)).value)
    return function


def emitter(name: str, recipe: Recipe) -> Emitter:
    """Emission of a call of the module's function, which the first call defines."""

    def emit(builder: Any, args: list[Any]) -> Any:
        kind = args[0].type
        code = "f4" if isinstance(kind, ir.FloatType) else "f8"
        full = f"axiomjit_{name}_{code}"
        function_type = ir.FunctionType(kind, [kind] * len(args))
        function = builder.module.globals.get(full)
        if function is None:
            function = _function(builder.module, full, function_type, recipe, code)
        # llvmlite knows no attributes that are strings.
        set.add(builder.function.attributes, LONG_VECTORS)
        return builder.call(function, args)

    return emit


def _intrinsic(name: str, recipe: Recipe) -> Any:
    operands = len(inspect.signature(recipe).parameters) - 1
    make = make_unary if operands == 1 else make_binary
    return make(name, {"f": emitter(name, recipe)})


NAMES: dict[str, Any] = {name: _intrinsic(name, recipe) for name, recipe in RECIPES.items()}
