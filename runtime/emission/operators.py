"""Python's operators in a kernel source, as LLVM code: per operator a rule for each kind of dtype.

Operands have one dtype, which is the result's too, but for comparisons. Whole numbers of 64 bits
count and address elements, so LLVM may assume that they do not overflow; it makes nothing else of
it. Narrower ones wrap around, as NumPy's do.
"""

import ast
from typing import Any

from axiomjit.runtime.emission.complex_rules import COMPLEX
from axiomjit.runtime.emission.emitters import Emitter, Rules, method

LONG = 64


def _whole(name: str) -> Emitter:
    """Arithmetic of integers."""

    def emit(builder: Any, args: list[Any]) -> Any:
        flags = ("nsw",) if args[0].type.width == LONG else ()
        return getattr(builder, name)(*args, flags=flags)

    return emit


def _compared(instruction: str, sign: str) -> Emitter:
    return lambda b, args: getattr(b, instruction)(sign, *args)


def _comparison(sign: str, name: str) -> Rules:
    """Rules of a comparison; NaN is unequal to everything, and nothing else."""
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
