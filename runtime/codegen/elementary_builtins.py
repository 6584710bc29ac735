"""The elementary functions as intrinsics; loops inline them, or call their vector forms.

In a kernel with at most `INLINED` calls, the recipes are inlined and then vectorised, which gives
the fastest code. Larger kernels would take too long to compile in this way, so their loops call
scalar functions. An attribute of each scalar function names its vector forms, by LLVM's vector
function ABI. The vectoriser calls the vector forms, which are compiled once per target (`library`).
A call of a scalar function that remains computes an entire vector and uses one lane of it. Inlined
and called functions give the same bits.

The arithmetic emits recipes as LLVM code, which LLVM can vectorise. Each operation of a recipe is
one instruction, except that some steps are calls of functions whose vector forms are instructions
(`llvm_functions`). A few numbers need another, slow recipe. For a number x that needs the slow
recipe, a recipe calls a function of x and of the result of the usual formula (`beyond`). A vector
form of that function tests whether any lane has a number that needs the slow recipe, and only then
computes the lanes one by one, so that the loop remains vector code.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from llvmlite import ir

from axiomjit.runtime.codegen import llvm_functions
from axiomjit.runtime.codegen.emitters import Emitter, call_intrinsic, complex_power
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
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES, ComplexRecipe
from axiomjit.runtime.elementary.functions import RECIPES, Recipe

FLOATS = {"f4": ir.FloatType(), "f8": ir.DoubleType()}
INTEGERS = {"f4": ir.IntType(32), "f8": ir.IntType(64)}
INDEX = ir.IntType(32)
USUAL_WEIGHT = 2000
"""A branch weight for LLVM: the number of usual values per value that needs the slow recipe."""


def of_lanes(element: Any, lanes: int) -> Any:
    """Return the type of a vector of `lanes` elements; for one lane, the element type."""
    return ir.VectorType(element, lanes) if lanes > 1 else element


def _is_integer(kind: Any) -> bool:
    return isinstance(getattr(kind, "element", kind), ir.IntType)


def _operator(floats: str, integers: str = "", swapped: bool = False) -> Callable[..., Lane]:
    """The method that emits an instruction for floats or for integers, by llvmlite's names."""

    def operation(self: Lane, other: Any) -> Lane:
        name = integers if _is_integer(self.value.type) else floats
        operands = [self.value, self.other(other)]
        return Lane(self.builder, getattr(self.builder, name)(*operands[:: -1 if swapped else 1]))

    return operation


def _comparison(sign: str) -> Callable[..., Lane]:
    floats = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"

    def compared(self: Lane, other: Any) -> Lane:
        name = "icmp_signed" if _is_integer(self.value.type) else floats
        return Lane(self.builder, getattr(self.builder, name)(sign, self.value, self.other(other)))

    return compared


class Lane:
    """An LLVM value with Python's operators, which emit instructions."""

    __slots__ = ("builder", "value")

    def __init__(self, builder: Any, value: Any) -> None:
        self.builder, self.value = builder, value

    def other(self, value: Any) -> Any:
        """The LLVM value of an operand; a Python number becomes a constant of this type."""
        return value.value if isinstance(value, Lane) else ir.Constant(self.value.type, value)

    __add__ = _operator("fadd", "add")
    __sub__ = _operator("fsub", "sub")
    __rsub__ = _operator("fsub", "sub", swapped=True)
    __mul__ = _operator("fmul", "mul")
    __truediv__ = _operator("fdiv")
    __rtruediv__ = _operator("fdiv", swapped=True)
    __and__ = _operator("", "and_")
    __or__ = _operator("", "or_")
    __xor__ = _operator("", "xor")
    __lshift__ = _operator("", "shl")
    __rshift__ = _operator("", "ashr")
    __lt__ = _comparison("<")
    __le__ = _comparison("<=")
    __gt__ = _comparison(">")
    __ge__ = _comparison(">=")
    __eq__ = _comparison("==")  # type: ignore[assignment]
    __ne__ = _comparison("!=")  # type: ignore[assignment]

    def __neg__(self) -> Lane:
        name = "neg" if _is_integer(self.value.type) else "fneg"
        return Lane(self.builder, getattr(self.builder, name)(self.value))

    def __abs__(self) -> Lane:
        return Lane(self.builder, call_intrinsic(self.builder, "llvm.fabs", [self.value]))

    def __invert__(self) -> Lane:
        return Lane(self.builder, self.builder.not_(self.value))


def _step(name: str, arity: int) -> Callable[..., Lane]:
    """The method for a step of `Arithmetic` that emits a vector instruction if the CPU has one.

    The first `arity` arguments of the method are operands; the other arguments are Python numbers.
    """

    def step(self: LlvmArithmetic, *given: Any) -> Lane:
        operands, numbers = given[:arity], given[arity:]

        def basic(m: LlvmArithmetic, *values: Lane) -> Numeric:
            return getattr(Arithmetic, name)(m, *values, *numbers)

        full = "_".join([name, *map(str, numbers)])
        return self._chosen(full, llvm_functions.instruction(name, numbers), basic, *operands)

    return step


class LlvmArithmetic(Arithmetic):
    """The arithmetic whose values are `Lane`s of one builder."""

    def __init__(self, builder: Any, code: str, lanes: int) -> None:
        """Emit operations of a dtype with a builder, on vectors of `lanes` numbers."""
        self.builder, self.code, self.lanes = builder, code, lanes

    def lane(self, value: Any) -> Lane:
        """Return an LLVM value in the form that recipes use."""
        return Lane(self.builder, value)

    def constant(self, value: float) -> Lane:
        """Return a constant of this precision."""
        return Lane(self.builder, ir.Constant(of_lanes(FLOATS[self.code], self.lanes), value))

    def _operands(self, *operands: Any) -> list[Any]:
        like = next(operand for operand in operands if isinstance(operand, Lane))
        return [like.other(operand) for operand in operands]

    def _called(self, name: str, *operands: Any) -> Lane:
        return Lane(self.builder, call_intrinsic(self.builder, name, self._operands(*operands)))

    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Lane:
        """Return a * b + c, rounded once; one operand may be a Python float."""
        return self._called("llvm.fma", a, b, c)

    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Lane:
        """Return `yes` if the condition holds, else `no`; either may be a Python number."""
        chosen = self.builder.select(condition.value, *self._operands(yes, no))
        return Lane(self.builder, chosen)

    def sqrt(self, x: Numeric) -> Lane:
        """Return the square root."""
        return self._called("llvm.sqrt", x)

    def rint(self, x: Numeric) -> Lane:
        """Return the nearest integer as a float; ties go to even."""
        return self._called("llvm.rint", x)

    def copysign(self, x: Numeric, sign: Numeric) -> Lane:
        """Return x with the sign bit of `sign`."""
        return self._called("llvm.copysign", x, sign)

    def bits(self, x: Numeric) -> Lane:
        """Return the bits of a float as a signed integer."""
        return Lane(
            self.builder, self.builder.bitcast(x.value, of_lanes(INTEGERS[self.code], self.lanes))
        )

    def number(self, bits: Numeric) -> Lane:
        """Return the float with these bits."""
        return Lane(
            self.builder, self.builder.bitcast(bits.value, of_lanes(FLOATS[self.code], self.lanes))
        )

    def to_float(self, whole: Numeric) -> Lane:
        """Convert an integer to a float."""
        return Lane(
            self.builder, self.builder.sitofp(whole.value, of_lanes(FLOATS[self.code], self.lanes))
        )

    def narrowed(self, x: Numeric) -> Lane:
        """Return a value of `wide`, rounded to float32."""
        return Lane(self.builder, self.builder.fptrunc(x.value, of_lanes(FLOATS["f4"], self.lanes)))

    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: Callable[[Arithmetic, Numeric], Numeric],
    ) -> Lane:
        """Return recipe(x) in lanes with |x| > bound, and `usual` in other lanes."""

        def slow(builder: Any, value: Any) -> Any:
            return recipe(LlvmArithmetic(builder, self.code, 1), Lane(builder, value)).value

        full, kind = f"axiomjit_{name}_{self.code}", FLOATS[self.code]
        function = _beyond_bound(self.builder.module, full, kind, self.lanes, bound, slow)
        return self.lane(self.builder.call(function, [x.value, usual.value]))

    def _chosen(
        self,
        name: str,
        instruction: llvm_functions.Instruction,
        basic: Callable[..., Lane],
        *operands: Numeric,
    ) -> Lane:
        """Emit a step as an instruction if the CPU has it, otherwise as basic operations."""
        if target_of(self.builder.module).vector_bytes < instruction.size:
            return basic(self, *operands)
        values = [operand.value for operand in operands]
        if self.lanes > 1:
            return self.lane(llvm_functions.emit(self.builder, instruction, values))

        def single(builder: Any, *args: Any) -> Any:
            return basic(
                LlvmArithmetic(builder, self.code, 1), *(Lane(builder, a) for a in args)
            ).value

        kind = FLOATS[self.code]
        function = llvm_functions.step(
            self.builder.module, name, instruction, kind, len(values), single
        )
        return self.lane(self.builder.call(function, values))

    def lookup(self, name: str, table: tuple[float, ...], index: Numeric) -> Numeric:
        """Return the entry of a table at `index` modulo the length of the table."""

        def basic(m: LlvmArithmetic, bits: Lane) -> Numeric:
            return Arithmetic.lookup(m, name, table, m.bits(bits))

        instruction = llvm_functions.lookup(
            table, max(target_of(self.builder.module).vector_bytes, 32)
        )
        return self._chosen(f"lookup_{name}", instruction, basic, self.number(index))

    significand, binade = _step("significand", 1), _step("binade", 1)
    within, reduced = _step("within", 1), _step("reduced", 1)
    scaled, log_limits = _step("scaled", 2), _step("log_limits", 2)

    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Lane:
        """Return table[index] from a constant array of the module."""
        full = f"axiomjit_{name}_{self.code}"
        where = _constant_array(self.builder.module, full, FLOATS[self.code], table)
        if self.lanes == 1:
            return self.lane(_element(self.builder, where, index.value))
        result = ir.Constant(of_lanes(FLOATS[self.code], self.lanes), ir.Undefined)
        for lane in map(INDEX, range(self.lanes)):
            position = self.builder.extract_element(index.value, lane)
            value = _element(self.builder, where, position)
            result = self.builder.insert_element(result, value, lane)
        return self.lane(result)

    @property
    def wide(self) -> LlvmArithmetic:
        """The arithmetic of float64."""
        return LlvmArithmetic(self.builder, "f8", self.lanes)

    def widened(self, x: Numeric) -> Lane:
        """Return a float, converted to float64, as a value of `wide`."""
        wide = of_lanes(FLOATS["f8"], self.lanes)
        return x if x.value.type == wide else self.lane(self.builder.fpext(x.value, wide))


def _beyond_bound(
    module: Any, name: str, kind: Any, lanes: int, bound: float, slow: Callable[..., Any]
) -> Any:
    """Return the function of x and `usual`: slow(x) in lanes with |x| > bound, else `usual`.

    Args:
        module: The module that calls the function.
        name: The name of the scalar function.
        kind: The type of a number.
        lanes: The length of the vectors; 1 for scalars.
        bound: The largest absolute value of x for which the result is `usual`.
        slow: A function of a builder and a number that emits the result for the number.
    """

    def every_lane(builder: Any, form: Any) -> Any:
        if isinstance(form.args[0].type, ir.VectorType):
            return _one_by_one(builder, form, builder.module.globals[name])
        _test(form, builder, bound)
        return slow(builder, form.args[0])

    def tested(builder: Any, form: Any) -> Any:
        _test(form, builder, bound)
        count = getattr(form.args[0].type, "count", 1)
        function = library_function(builder.module, name, kind, 2, count, every_lane)
        return builder.call(function, form.args)

    lengths = lanes_of(module, kind)
    return llvm_functions.with_forms(module, f"usual_{name}", kind, 2, lengths, tested)[lanes]


def _one_by_one(builder: Any, form: Any, single: Any) -> Any:
    """Emit a loop that calls the scalar function once for each lane of the vector operands."""
    x, usual = form.args
    before, step, done = builder.block, *(form.append_basic_block(n) for n in ("lane", "done"))
    builder.branch(step)
    builder.position_at_end(step)
    lane, result = builder.phi(INDEX), builder.phi(x.type)
    numbers = [builder.extract_element(argument, lane) for argument in form.args]
    changed = builder.insert_element(result, builder.call(single, numbers), lane)
    following = builder.add(lane, INDEX(1))
    for phi, start, then in ((lane, INDEX(0), following), (result, usual, changed)):
        phi.add_incoming(start, before)
        phi.add_incoming(then, step)
    builder.cbranch(builder.icmp_unsigned("<", following, INDEX(x.type.count)), step, done)
    builder.position_at_end(done)
    return changed


def _test(function: Any, builder: Any, bound: float) -> None:
    """Emit a test: the function returns its second operand unless |x| > bound in a lane.

    After the call, the builder is in the block that runs if |x| > bound in a lane.
    """
    x, usual = function.args
    size = call_intrinsic(builder, "llvm.fabs", [x])
    needed = builder.fcmp_ordered(">", size, ir.Constant(x.type, bound))
    if isinstance(x.type, ir.VectorType):
        mask = ir.IntType(x.type.count)
        needed = builder.icmp_unsigned("!=", builder.bitcast(needed, mask), mask(0))
    usually, rarely = (function.append_basic_block(n) for n in ("usually", "rarely"))
    builder.cbranch(needed, rarely, usually).set_weights([1, USUAL_WEIGHT])
    builder.position_at_end(usually)
    builder.ret(usual)
    builder.position_at_end(rarely)


def _constant_array(module: Any, name: str, kind: Any, values: tuple[float, ...]) -> Any:
    """Return a constant array of the module, which the first use defines."""
    found = module.globals.get(name)
    if found is None:
        found = ir.GlobalVariable(module, ir.ArrayType(kind, len(values)), name)
        found.linkage, found.global_constant = "internal", True
        found.initializer = ir.Constant(found.value_type, [ir.Constant(kind, v) for v in values])
    return found


def _element(builder: Any, table: Any, index: Any) -> Any:
    return builder.load(builder.gep(table, [index.type(0), index]))


INLINED = 6
"""The largest number of elementary calls of a kernel for which all of them are inlined.

A single remaining call costs as much as several calls, since the loop must save registers around
it.
"""
LANE = ir.IntType(32)
FunctionDefiner = Callable[[Any, str, Any, Recipe, int], Any]
"""A function that defines a function in a module: name, type, recipe, number of operands."""


def _inlined(module: Any, name: str, kind: Any, recipe: Recipe, arity: int) -> Any:
    """Define a function that LLVM inlines into the loops that call it."""

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
