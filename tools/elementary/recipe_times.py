"""Cycles that a vector takes in the recipes of elementary functions, counted by running them.

`python -m tools.elementary.recipe_times` writes `passes/costs/recipe_times.py`.
Instructions are those of AVX-512, with the latencies that A. Abel and J. Reineke measured on
Intel's processors since Ice Lake ("uops.info", 2019).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any

from axiomjit.passes.costs import recipe_times
from axiomjit.passes.costs.operation_times import DIVISION, ROOT, SUM, Time
from axiomjit.runtime.elementary.arithmetic import Arithmetic, Numeric
from axiomjit.runtime.elementary.functions import RECIPES

PLACE = Path(recipe_times.__file__)
HEAD = '''"""Cycles of a vector in recipes. Written by tools/elementary/recipe_times.py."""

from typing import Final

RECIPE_TIMES: Final[dict[str, dict[str, tuple[int, int, int]]]] = {
'''
LOGIC, SHUFFLE, COMPARISON, CONVERSION = Time(1, 1), Time(1, 3), Time(1, 3), Time(2, 7)
ROUNDING = CLIP = Time(2, 8)
FREE = Time(0, 0)
RARE_TEST = Time(2, 0)
"""Testing whether any lane needs a rare recipe: a comparison and a branch."""
LOAD_OF_LANES = Time(8, 20)
"""Loading an entry of a table that is not in registers."""
IN_REGISTERS = {"f4": 32, "f8": 16}
"""Entries of a table that one instruction looks up."""


def _operator(name: str, time: Time, swapped: bool = False) -> Callable[[Counted, Any], Counted]:
    def operation(self: Counted, other: Any) -> Counted:
        return self.m.took(name, time, *((other, self) if swapped else (self, other)))

    return operation


class Counted:
    """A value of a recipe, available `known` cycles after the operands."""

    def __init__(self, m: Counting, known: int) -> None:
        """Make the result of an operation."""
        self.m, self.known = m, known

    __add__ = __radd__ = _operator("add", SUM)
    __sub__ = _operator("sub", SUM)
    __rsub__ = _operator("sub", SUM, swapped=True)
    __mul__ = __rmul__ = _operator("mul", SUM)
    __and__ = __rand__ = _operator("and", LOGIC)
    __or__ = __ror__ = _operator("or", LOGIC)
    __xor__ = __rxor__ = _operator("xor", LOGIC)
    __lshift__ = _operator("shl", LOGIC)
    __rshift__ = _operator("shr", LOGIC)
    __lt__ = _operator("lt", COMPARISON)
    __le__ = _operator("le", COMPARISON)
    __gt__ = _operator("gt", COMPARISON)
    __ge__ = _operator("ge", COMPARISON)
    __eq__ = _operator("eq", COMPARISON)  # type: ignore[assignment]
    __ne__ = _operator("ne", COMPARISON)  # type: ignore[assignment]
    __hash__ = object.__hash__

    def __truediv__(self, other: Any) -> Counted:
        return self.m.took("div", DIVISION[self.m.code], self, other)

    def __rtruediv__(self, other: float) -> Counted:
        return self.m.took("div", DIVISION[self.m.code], other, self)

    def __abs__(self) -> Counted:
        return self.m.took("abs", LOGIC, self)

    def __neg__(self) -> Counted:
        return self.m.took("neg", FREE, self)  # part of the instruction that uses the result

    def __invert__(self) -> Counted:
        return self.m.took("invert", FREE, self)


class Counting(Arithmetic):
    """Arithmetic that adds up the times of operations; repeated operations count once."""

    def __init__(self, code: str, vectors: int = 1) -> None:
        """Count for a dtype, on `vectors` vectors at once."""
        self.code, self.vectors = code, vectors
        self.uops = self.divider = 0
        self._made: dict[tuple[Any, ...], Counted] = {}
        self._wide: Counting | None = None

    def took(self, name: str, time: Time, *operands: Any) -> Counted:
        """Count an operation of this name and return its result."""
        key = (name, *operands)
        if key not in self._made:
            known = max((o.known for o in operands if isinstance(o, Counted)), default=0)
            self.uops += time.uops * self.vectors
            self.divider += time.divider * self.vectors
            self._made[key] = Counted(self, known + time.latency)
        return self._made[key]

    def total(self, result: Counted) -> Time:
        """Return the time until a result is available."""
        wide = Time(0, 0) if self._wide is None else self._wide.total(result)
        return Time(self.uops + wide.uops, result.known, self.divider + wide.divider)

    def constant(self, value: float) -> Counted:
        """Return a constant of this precision."""
        return self.took("constant", FREE, value)

    def fma(self, a: Numeric, b: Numeric, c: Numeric) -> Counted:
        """a * b + c."""
        return self.took("fma", SUM, a, b, c)

    def select(self, condition: Numeric, yes: Numeric, no: Numeric) -> Counted:
        """One of two values."""
        return self.took("select", LOGIC, condition, yes, no)

    def sqrt(self, x: Numeric) -> Counted:
        """The square root."""
        return self.took("sqrt", ROOT[self.code], x)

    def rint(self, x: Numeric) -> Counted:
        """The nearest integer as a float, ties to even."""
        return self.took("rint", ROUNDING, x)

    def copysign(self, x: Numeric, sign: Numeric) -> Counted:
        """x with the sign bit of `sign`."""
        return self.took("copysign", LOGIC, x, sign)

    def bits(self, x: Numeric) -> Counted:
        """The same bits."""
        return self.took("bits", FREE, x)

    def number(self, bits: Numeric) -> Counted:
        """The same bits."""
        return self.took("number", FREE, bits)

    def to_float(self, whole: Numeric) -> Counted:
        """An integer as a float."""
        return self.took("to_float", SUM, whole)

    def narrowed(self, x: Numeric) -> Counted:
        """A float64 as float32."""
        return self.took("narrowed", CONVERSION, x)

    @property
    def wide(self) -> Counting:
        """The arithmetic of float64."""
        if self.code == "f8":
            return self
        self._wide = self._wide or Counting("f8", 2 * self.vectors)
        return self._wide

    def widened(self, x: Numeric) -> Counted:
        """A float as float64."""
        return self.wide.took("widened", CONVERSION, x)

    def beyond(
        self,
        bound: float,
        x: Numeric,
        usual: Numeric,
        name: str,
        recipe: Callable[[Arithmetic, Numeric], Numeric],
    ) -> Counted:
        """Count the test, and return the usual result."""
        self.took("beyond", RARE_TEST, x)
        return self.took("usual", FREE, usual)

    def entry(self, name: str, table: tuple[float, ...], index: Numeric) -> Counted:
        """An entry of a table in memory."""
        return self.took(name, LOAD_OF_LANES, index)

    def lookup(self, name: str, table: tuple[float, ...], index: Numeric) -> Counted:
        """An entry of a table in registers; a long table needs two lookups and a select."""
        halves = len(table) // IN_REGISTERS[self.code]
        return self.took(name, Time(3, 4) if halves > 1 else SHUFFLE, index)

    def bounded(self, x: Numeric, low: float, high: float) -> Counted:
        """x clipped to bounds: a minimum and a maximum."""
        return self.took("bounded", CLIP, x, low, high)

    def within(self, x: Numeric, low: float, high: float) -> Counted:
        """x."""
        return self.took("within", FREE, x)

    def reduced(self, x: Numeric, bits: int) -> Counted:
        """x minus the nearest multiple of a power of two."""
        return self.took("reduced", SUM, x, bits)

    def significand(self, x: Numeric) -> Counted:
        """The mantissa of x."""
        return self.took("significand", SUM, x)

    def binade(self, x: Numeric) -> Counted:
        """The exponent of x."""
        return self.took("binade", SUM, x)

    def scaled(self, x: Numeric, exponent: Numeric) -> Counted:
        """x times a power of two."""
        return self.took("scaled", SUM, x, exponent)

    def log_limits(self, x: Numeric, result: Numeric) -> Counted:
        """The result, or a limit."""
        return self.took("log_limits", SUM, x, result)


def counted(name: str, code: str) -> Time:
    """Return the time of a vector in a function's recipe."""
    m = Counting(code)
    arity = len(inspect.signature(RECIPES[name]).parameters) - 1
    return m.total(RECIPES[name](m, *(Counted(m, 0) for _ in range(arity))))


def text() -> str:
    """Return the module with the times of all recipes."""
    lines = []
    for name in RECIPES:
        times = ", ".join(f'"{code}": {tuple(counted(name, code))}' for code in ("f4", "f8"))
        lines.append(f'    "{name}": {{{times}}},\n')
    return HEAD + "".join(lines) + '}\n"""Micro-operations, latency and time of the divider."""\n'


if __name__ == "__main__":
    PLACE.write_text(text(), encoding="utf-8")
