"""The elementary functions as Numba intrinsics, inlined or called as functions of vectors.

The first `INLINED` calls of a kernel are inlined, so that the vectoriser makes vector code of the
recipe itself; that is fastest. Later ones keep compile time down: a loop calls a function of one
number which says, by LLVM's vector function ABI, which function does a vector of them at once. The
vectoriser calls that one, whose code stands in the module once; where single numbers are left the
former calls it as well. Both forms have the same bits.
"""

import inspect
from typing import Any

from llvmlite import ir

from axiomjit.processor import vector_bytes
from axiomjit.runtime.complex_power import power as complex_power
from axiomjit.runtime.emission import Emitter
from axiomjit.runtime.value_intrinsics import make_binary, make_unary
from axiomjit.runtime.vector_math.definitions import add_attributes, define, keep, variants
from axiomjit.runtime.vector_math.emitted import Emitted
from axiomjit.runtime.vector_math.functions import RECIPES, Recipe

INLINED = 3
LANE = ir.IntType(32)
COUNT = "axiomjit.elementary"
"""Metadata of a module that has one entry per call."""


def _inlined(module: Any, name: str, kind: Any, recipe: Recipe, arity: int) -> Any:
    """The function that becomes part of the loops that call it."""
    function, builder = define(module, name, kind, arity, "alwaysinline")
    m = Emitted(builder, _code(kind), 1)
    builder.ret(recipe(m, *map(m.lane, function.args)).value)
    return function


def _code(kind: Any) -> str:
    return "f4" if isinstance(kind, ir.FloatType) else "f8"


def _shuffled(builder: Any, value: Any, places: list[int]) -> Any:
    """The lanes of a vector at these places."""
    mask = ir.Constant(ir.VectorType(LANE, len(places)), places)
    return builder.shuffle_vector(value, ir.Constant(value.type, ir.Undefined), mask)


def _part(module: Any, whole: Any, kind: Any, lanes: int, name: str, arity: int) -> Any:
    """The function of fewer lanes (1: of a number), which fills up and calls the whole one."""
    size = len(whole.args[0].type)
    if lanes > 1:
        function, builder = define(module, name, ir.VectorType(kind, lanes), arity, "noinline")
        given = function.args
    else:
        forms = variants(name, arity, {n: f"{name}_x{n}" for n in sorted({size, size // 2})})
        function, builder = define(module, name, kind, arity, "noinline", forms)
        empty = ir.Constant(ir.VectorType(kind, 1), ir.Undefined)
        given = [builder.insert_element(empty, arg, LANE(0)) for arg in function.args]
    full = [_shuffled(builder, arg, [k % lanes for k in range(size)]) for arg in given]
    result = builder.call(whole, full)
    if lanes > 1:
        builder.ret(_shuffled(builder, result, list(range(lanes))))
    else:
        builder.ret(builder.extract_element(result, LANE(0)))
    return function


def _called(module: Any, name: str, kind: Any, recipe: Recipe, arity: int) -> Any:
    """The function of single numbers, which names that of vectors.

    Beside float64 a vector of float32 is half full, so that there is a function of half a vector.
    """
    code = _code(kind)
    lanes = vector_bytes() // int(code[1])
    vector = ir.VectorType(kind, lanes)
    whole, builder = define(module, f"{name}_x{lanes}", vector, arity, "noinline")
    m = Emitted(builder, code, lanes)
    builder.ret(recipe(m, *map(m.lane, whole.args)).value)
    half = _part(module, whole, kind, lanes // 2, f"{name}_x{lanes // 2}", arity)
    keep(module, [whole, half])
    return _part(module, whole, kind, 1, name, arity)


def emitter(name: str, recipe: Recipe) -> Emitter:
    """Emission of a call of the module's function, which the first such call defines."""

    def emit(builder: Any, args: list[Any]) -> Any:
        module, kind = builder.module, args[0].type
        count = module.namedmetadata.get(COUNT) or module.add_named_metadata(COUNT)
        count.add(module.add_metadata([]))
        define, form = _inlined, "inlined"
        if len(count.operands) > INLINED:
            define, form = _called, "called"
        full = f"axiomjit_{name}_{_code(kind)}_{form}"
        function = module.globals.get(full)
        if function is None:
            function = define(module, full, kind, recipe, len(args))
        add_attributes(builder.function, f'"prefer-vector-width"="{8 * vector_bytes()}"')
        return builder.call(function, args)

    return emit


def _intrinsic(name: str, recipe: Recipe) -> Any:
    operands = len(inspect.signature(recipe).parameters) - 1
    make = make_unary if operands == 1 else make_binary
    rules = {"f": emitter(name, recipe)}
    return make(name, rules | {"c": complex_power} if name == "power" else rules)


NAMES: dict[str, Any] = {name: _intrinsic(name, recipe) for name, recipe in RECIPES.items()}
