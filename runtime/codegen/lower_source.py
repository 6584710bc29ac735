"""Translate kernel source to LLVM code, in one walk over the statements.

Kernel sources have only assignments, `for` over ranges of integers, `if`, operators on operands of
one dtype, and calls of intrinsics. The type of a value follows from its operands, so no type
inference is needed. A name that is assigned again in a loop or branch becomes a phi. The scope of a
name is the block that first assigns it.

Operators have a rule for each kind of dtype. Integers of 64 bits count and address elements, so
LLVM may assume that they do not overflow. Narrower integers wrap around, as in NumPy.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from llvmlite import ir
from numba.core import types

from axiomjit.base.errors import AxiomError
from axiomjit.runtime.codegen.emitters import (
    COMPLEX,
    Emitter,
    Rules,
    hidden,
    method,
    without_transformations,
)
from axiomjit.runtime.codegen.kernel_types import CODES, WORD, Intrinsic

LONG = 64


def _whole(name: str) -> Emitter:
    """The emitter of an integer operation, which does not overflow in 64 bits."""

    def emit(builder: Any, args: list[Any]) -> Any:
        flags = ("nsw",) if args[0].type.width == LONG else ()
        return getattr(builder, name)(*args, flags=flags)

    return emit


def _compared(instruction: str, sign: str) -> Emitter:
    return lambda b, args: getattr(b, instruction)(sign, *args)


def _comparison(sign: str, name: str) -> Rules:
    """The rules of a comparison; with NaN it is false, except for `!=`."""
    floats = "fcmp_unordered" if sign == "!=" else "fcmp_ordered"
    kinds = {"f": floats, "i": "icmp_signed", "ub": "icmp_unsigned"}
    rules = {letters: _compared(rule, sign) for letters, rule in kinds.items()}
    return rules | {"c": COMPLEX[name]}


def _arithmetic(name: str, complex_name: str) -> Rules:
    return {
        "f": method("f" + name),
        "i": _whole(name),
        "u": method(name),
        "c": COMPLEX[complex_name],
    }


BINARY: dict[type[ast.operator], Rules] = {
    ast.Add: _arithmetic("add", "add"),
    ast.Sub: _arithmetic("sub", "subtract"),
    ast.Mult: _arithmetic("mul", "multiply"),
    ast.Div: {"f": method("fdiv"), "c": COMPLEX["divide"]},
    ast.BitAnd: {"iub": method("and_")},
    ast.BitOr: {"iub": method("or_")},
    ast.BitXor: {"iub": method("xor")},
}
UNARY: dict[type[ast.unaryop], Rules] = {
    ast.USub: {"f": method("fneg"), "iu": method("neg"), "c": COMPLEX["negative"]},
    ast.Invert: {"iub": method("not_")},
}
COMPARISONS: dict[type[ast.cmpop], Rules] = {
    ast.Eq: _comparison("==", "equal"),
    ast.NotEq: _comparison("!=", "not_equal"),
    ast.Lt: _comparison("<", "less"),
    ast.LtE: _comparison("<=", "less_equal"),
    ast.Gt: _comparison(">", "greater"),
    ast.GtE: _comparison(">=", "greater_equal"),
}


_POINTER: Final = ir.IntType(8).as_pointer()
_STATUS: Final = ir.IntType(32)
_DONE: Final = _STATUS(0)
_EXTREMES: Final = {"min": "<=", "max": ">="}
_LITERALS: Final = {bool: types.boolean, int: types.int64, float: types.float64}


class Value(NamedTuple):
    """A value with its type and LLVM value; `literal` is the number if the source has a literal."""

    type: Any
    llvm: Any
    literal: int | None = None

    @property
    def exact_type(self) -> Any:
        """The literal type of a number in the source; the type of any other value."""
        return self.type if self.literal is None else types.IntegerLiteral(self.literal)


Scope = dict[str, Value]


def lower_source(
    source: str,
    words: types.Type,
    names: Mapping[str, Any],
    context: Any,
    module: Any,
    symbol: str,
) -> None:
    """Add the function `kernel(w, lo, hi)` of a source to a module.

    Args:
        source: The source, which is one function definition.
        words: The type of the argument block.
        names: The intrinsics and numbers of the names in the source.
        context: Numba's context, which has the representation of types.
        module: The LLVM module.
        symbol: The name of the function in the module.

    Raises:
        SyntaxError: the source is not Python.
        KeyError: the source defines no kernel.
        TypeError: the source is not in the language of kernels.
    """
    functions = {f.name: f for f in ast.parse(source).body if isinstance(f, ast.FunctionDef)}
    kernel = functions["kernel"]
    block = context.get_value_type(words)
    kind = ir.FunctionType(_STATUS, [_POINTER, _POINTER, block, WORD, WORD])
    function = ir.Function(module, kind, symbol)
    scope = {
        argument.arg: Value(type_, given)
        for argument, type_, given in zip(
            kernel.args.args, (words, types.int64, types.int64), function.args[2:], strict=True
        )
    }
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    _Writer(builder, names, context).block(kernel.body, scope)
    builder.ret(_DONE)


class _Writer:
    """The translation of the statements of one kernel, at the position of a builder."""

    def __init__(self, builder: Any, names: Mapping[str, Any], context: Any) -> None:
        self.builder, self.names, self.context = builder, names, context
        self.nested = self.rare = 0
        self.open: list[tuple[list[str], Any]] = []
        self.leaving: list[tuple[list[Any], Any]] = []

    def block(self, body: Sequence[ast.stmt], scope: Scope) -> None:
        """Translate statements, and store the values of names in `scope`."""
        for stmt in body:
            match stmt:
                case ast.Assign(targets=[ast.Name(id=name)], value=expression):
                    scope[name] = self.assigned(name, self.value(expression, scope), scope)
                case ast.Assign(targets=[ast.Tuple(elts=names)], value=ast.Tuple(elts=values)):
                    given = [self.value(value, scope) for value in values]
                    for name, value in zip(_names(names), given, strict=True):
                        scope[name] = self.assigned(name, value, scope)
                case ast.Expr(value=expression):
                    self.value(expression, scope)
                case ast.For(target=ast.Name(id=name), orelse=[]):
                    self.loop(stmt, name, scope)
                case ast.If(body=[ast.Break()], orelse=[]):
                    self.leave(stmt, scope)
                case ast.If(body=[ast.Return(value=None)], orelse=[]):
                    self.end(stmt, scope)
                case ast.If():
                    self.choice(stmt, scope)
                case ast.Pass():
                    pass
                case _:
                    raise _refused(stmt, "is no statement of kernels")

    def assigned(self, name: str, value: Value, scope: Scope) -> Value:
        """The value to assign to a name; its type must be the type that the name has."""
        if name in scope and scope[name].type != value.type:
            raise TypeError(f"{name} is {scope[name].type} and becomes {value.type}")
        return Value(value.type, value.llvm)

    def loop(self, stmt: ast.For, name: str, scope: Scope) -> None:
        """Translate a loop; its condition is tested before it and at its end."""
        builder = self.builder
        start, stop, step = self.bounds(stmt, scope)
        over_block = not isinstance(start, ir.Constant) or isinstance(stop, ir.SelectInstr)
        if self.nested and over_block:
            start, stop = self.unrelated(start), self.unrelated(stop)
        carried = _carried(stmt.body, scope)
        first, before = self.parts(carried, scope), builder.block
        body, after = (builder.append_basic_block(name + part) for part in ("", ".done"))
        builder.cbranch(builder.icmp_signed("<", start, stop), body, after)
        builder.position_at_end(body)
        (index,) = self.phis([start], before)
        phis = self.phis(first, before)
        inside = scope | {name: Value(types.int64, index)}
        self.join(phis, carried, inside)
        self.nested += 1
        leaving, self.leaving = self.leaving, []
        self.open.append((carried, after))
        self.block(stmt.body, inside)
        self.open.pop()
        leaving, self.leaving = self.leaving, leaving
        self.nested -= 1
        following = builder.add(index, WORD(step), flags=("nsw",))
        end, last = self.parts(carried, inside), builder.block
        again = builder.cbranch(builder.icmp_signed("<", following, stop), body, after)
        if self.rare:
            again.set_metadata("llvm.loop", without_transformations(builder.module))
        _enter([index, *phis], [following, *end], last)
        builder.position_at_end(after)
        results = self.phis(first, before)
        _enter(results, end, last)
        for values, block in leaving:
            _enter(results, values, block)
        self.join(results, carried, scope)

    def unrelated(self, number: Any) -> Any:
        """Return the number in such a way that LLVM does not know how it was computed.

        The ends of a loop over a block are formulas of outer iterators. LLVM would express all
        addresses and counts by the formulas of the ends, which takes longer and does not improve
        the code. LLVM would also copy outer loops for the case that the inner loop is empty, which
        does not improve the code either.
        """
        if isinstance(number, ir.Constant):
            return number
        return hidden(self.builder, number, "noduplicate")

    def parts(self, names: Sequence[str], scope: Scope) -> list[Any]:
        """The values of names; a complex number is two values, since LLVM does not split phis."""
        return [part for name in names for part in self.split(scope[name].llvm)]

    def split(self, value: Any) -> list[Any]:
        """A list with the members of a value that is a structure, or with the value alone."""
        if not isinstance(value.type, ir.LiteralStructType):
            return [value]
        return [self.builder.extract_value(value, k) for k in range(len(value.type))]

    def phis(self, values: Sequence[Any], block: Any) -> list[Any]:
        """New phis with their values for the edge from a block."""
        phis = [self.builder.phi(value.type) for value in values]
        _enter(phis, values, block)
        return phis

    def join(self, parts: Sequence[Any], names: Sequence[str], scope: Scope) -> None:
        """Assign values to names, with the parts of complex numbers joined."""
        left = iter(parts)
        for name in names:
            kind = scope[name].llvm.type
            if isinstance(kind, ir.LiteralStructType):
                whole = ir.Constant(kind, ir.Undefined)
                for k in range(len(kind)):
                    whole = self.builder.insert_value(whole, next(left), k)
            else:
                whole = next(left)
            scope[name] = Value(scope[name].type, whole)

    def bounds(self, stmt: ast.For, scope: Scope) -> tuple[Any, Any, int]:
        """The start, the end and the step of a loop."""
        match stmt.iter:
            case ast.Call(func=ast.Name(id="range"), args=[stop], keywords=[]):
                return WORD(0), self.whole(stop, scope), 1
            case ast.Call(func=ast.Name(id="range"), args=[start, stop], keywords=[]):
                return self.whole(start, scope), self.whole(stop, scope), 1
            case ast.Call(
                func=ast.Name(id="range"),
                args=[start, stop, ast.Constant(value=int(step))],
                keywords=[],
            ) if step > 0:
                return self.whole(start, scope), self.whole(stop, scope), step
        raise _refused(stmt.iter, "is no range of one or two numbers, or with a positive step")

    def whole(self, node: ast.expr, scope: Scope) -> Any:
        """The value of an expression, which must be a 64-bit integer."""
        value = self.value(node, scope)
        if value.type != types.int64:
            raise _refused(node, f"is {value.type}, not a whole number of 64 bits")
        return value.llvm

    def choice(self, stmt: ast.If, scope: Scope) -> None:
        """Translate both branches of a condition, with a phi for each name that a branch assigns.

        The code of a branch runs once, for instance to combine the results of groups. The loops in
        branches are short, so to optimise them would take longer than to run them.
        """
        builder = self.builder
        condition = self.truth(stmt.test, scope)
        carried = _carried([*stmt.body, *stmt.orelse], scope)
        starts = [builder.append_basic_block(name) for name in ("then", "else")]
        after = builder.append_basic_block("after")
        builder.cbranch(condition, *starts)
        ends = []
        for start, body in zip(starts, (stmt.body, stmt.orelse), strict=True):
            builder.position_at_end(start)
            inside = dict(scope)
            self.rare += 1
            self.block(body, inside)
            self.rare -= 1
            ends.append((self.parts(carried, inside), builder.block))
            builder.branch(after)
        builder.position_at_end(after)
        phis = self.phis(*ends[0])
        _enter(phis, *ends[1])
        self.join(phis, carried, scope)

    def leave(self, stmt: ast.If, scope: Scope) -> None:
        """Translate `if condition: break`, which ends the loop around it."""
        builder, (carried, after) = self.builder, self.open[-1]
        condition = self.truth(stmt.test, scope)
        self.leaving.append((self.parts(carried, scope), builder.block))
        following = builder.append_basic_block("on")
        builder.cbranch(condition, after, following)
        builder.position_at_end(following)

    def end(self, stmt: ast.If, scope: Scope) -> None:
        """Translate `if condition: return`, which ends the kernel."""
        builder = self.builder
        ended, following = (builder.append_basic_block(name) for name in ("ended", "on"))
        builder.cbranch(self.truth(stmt.test, scope), ended, following)
        builder.position_at_end(ended)
        builder.ret(_DONE)
        builder.position_at_end(following)

    def truth(self, node: ast.expr, scope: Scope) -> Any:
        """The truth value of a condition."""
        turned = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not)
        value = self.value(
            node.operand if isinstance(node, ast.UnaryOp) and turned else node, scope
        )
        if value.type != types.boolean:
            raise _refused(node, f"is {value.type}, not a truth")
        return self.builder.not_(value.llvm) if turned else value.llvm

    def value(self, node: ast.expr, scope: Scope) -> Value:
        """Translate an expression, and return its value."""
        match node:
            case ast.Name(id=name):
                return scope[name] if name in scope else self.number(name)
            case ast.Constant(value=number):
                return self.literal(node, number)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number)):
                return self.literal(node, -number if isinstance(number, int | float) else number)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(node, BINARY.get(type(op)), (left, right), scope)
            case ast.UnaryOp(op=op, operand=operand):
                return self.operation(node, UNARY.get(type(op)), (operand,), scope)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                result = self.operation(node, COMPARISONS.get(type(op)), (left, right), scope)
                return Value(types.boolean, result.llvm)
            case ast.Call(func=ast.Name(id=name), args=args, keywords=[]):
                if name in _EXTREMES:
                    return self.extreme(name, args, scope)
                return self.call(node, name, [self.operand(arg, scope) for arg in args])
        raise _refused(node, "is no expression of kernels")

    def number(self, name: str) -> Value:
        """The value of a number with a name, such as `inf`."""
        if not isinstance(self.names.get(name), float):
            raise TypeError(f"{name} is neither a number nor assigned before")
        return Value(types.float64, ir.DoubleType()(self.names[name]))

    def literal(self, node: ast.expr, number: Any) -> Value:
        """The value of a literal in the source."""
        kind = _LITERALS.get(type(number))
        if kind is None:
            raise _refused(node, "is no number of kernels")
        constant = ir.Constant(self.context.get_value_type(kind), number)
        return Value(kind, constant, number if type(number) is int else None)

    def operation(
        self, node: ast.expr, rules: Rules | None, operands: Sequence[ast.expr], scope: Scope
    ) -> Value:
        """The value of an operator applied to operands of one dtype."""
        values = [self.value(operand, scope) for operand in operands]
        kind = values[0].type
        letter = CODES.get(kind, " ")[0]
        fitting = [rule for letters, rule in (rules or {}).items() if letter in letters]
        if not fitting or [value for value in values if value.type != kind]:
            raise _refused(node, f"has operands {', '.join([str(v.type) for v in values])}")
        return Value(kind, fitting[0](self.builder, [value.llvm for value in values]))

    def extreme(self, name: str, args: Sequence[ast.expr], scope: Scope) -> Value:
        """The value of `min` or `max` of integers."""
        first, *others = (self.whole(arg, scope) for arg in args)
        for other in others:
            here = self.builder.icmp_signed(_EXTREMES[name], first, other)
            first = self.builder.select(here, first, other)
        return Value(types.int64, first)

    def operand(self, node: ast.expr, scope: Scope) -> Value:
        """The value of an operand of a call; for the name of a dtype, the cast to the dtype."""
        if isinstance(node, ast.Name) and node.id not in scope:
            named = self.names.get(node.id)
            if isinstance(named, Intrinsic):
                return Value(named, None)
        return self.value(node, scope)

    def call(self, node: ast.expr, name: str, values: Sequence[Value]) -> Value:
        """The value of a call of an intrinsic."""
        called = self.names.get(name)
        if not isinstance(called, Intrinsic):
            raise _refused(node, f"calls {name}, which kernels do not have")
        literals = called.takes_literals
        kinds = [value.exact_type if literals else value.type for value in values]
        typed = called.typed(kinds)
        if typed is None:
            raise _refused(node, f"calls {name} with {', '.join(map(str, kinds))}")
        signature, emit = typed
        given = [value.llvm for value in values]
        try:
            made = emit(self.context, self.builder, signature, given)
        except AxiomError:
            raise
        except Exception as error:  # a rule that does not fit the dtype may raise anything
            with_kinds = f"calls {name} with {', '.join(map(str, kinds))}"
            raise _refused(node, f"{with_kinds}: {type(error).__name__}: {error}") from error
        return Value(signature.return_type, made)


def _enter(phis: Sequence[Any], values: Sequence[Any], block: Any) -> None:
    """Add values to phis, for the edge from a block."""
    for phi, value in zip(phis, values, strict=True):
        phi.add_incoming(value, block)


def _names(targets: Sequence[ast.expr]) -> list[str]:
    """The names among the targets of an assignment."""
    return [target.id for target in targets if isinstance(target, ast.Name)]


def _carried(body: Sequence[ast.stmt], scope: Scope) -> list[str]:
    """The names in `scope` that the statements assign, in the order of the statements."""
    found: dict[str, None] = {}
    left = [*reversed(body)]
    while left:
        stmt = left.pop()
        if isinstance(stmt, ast.Assign):
            (target,) = stmt.targets
            names = _names(target.elts if isinstance(target, ast.Tuple) else [target])
            found |= dict.fromkeys(names)
        elif isinstance(stmt, ast.For | ast.If):
            left += reversed([*stmt.body, *stmt.orelse])
    return [name for name in found if name in scope]


def _refused(node: ast.AST, why: str) -> TypeError:
    """The error that refuses a part of a source."""
    return TypeError(f"{ast.unparse(node)} {why}")
