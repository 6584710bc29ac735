"""The builder of the runtime's LLVM text.

Values are 64-bit integers; addresses are such integers, too, until memory is accessed. Variables
are stack memory, which LLVM's passes turn into registers.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

Value = str
"""A value as a text of LLVM: a literal, or the name of an earlier result."""


class Builder:
    """A builder of one function; it writes the blocks in order."""

    def __init__(self, name: str, parameters: int) -> None:
        self.parameters = tuple(f"%p{k}" for k in range(parameters))
        given = ", ".join(f"i64 {p}" for p in self.parameters)
        self._head = [f"define i64 @{name}({given}) {{", "entry:"]
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        """The text of the function; it allocates all stack memory at its beginning, once."""
        return "\n".join((*self._head, *self._lines, " unreachable", "}")) + "\n"

    def _name(self) -> str:
        self._count += 1
        return f"v{self._count}"

    def _result(self, text: str) -> Value:
        name = "%" + self._name()
        self._lines.append(f" {name} = {text}")
        return name

    def _pointer(self, address: Value) -> Value:
        return self._result(f"inttoptr i64 {address} to ptr")

    # --- memory -------------------------------------------------------------------------------

    def block(self, words: int) -> Value:
        """The address of new stack memory of this number of words."""
        name = "%" + self._name()
        self._head.append(f" {name} = alloca [{words} x i64], align 16")
        return self._result(f"ptrtoint ptr {name} to i64")

    def variable(self, value: Value | int) -> Value:
        """The address of a new word of stack memory with this initial value."""
        address = self.block(1)
        self.store(value, address)
        return address

    def load(self, address: Value, offset: Value | int = 0, bits: int = 64) -> Value:
        """The unsigned integer `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        found = self._result(f"load i{bits}, ptr {pointer}, align {bits // 8}")
        return found if bits == 64 else self._result(f"zext i{bits} {found} to i64")

    def store(self, value: Value | int, address: Value, offset: Value | int = 0) -> None:
        """Store a word `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        self._lines.append(f" store i64 {value}, ptr {pointer}, align 8")

    def exchange(self, address: Value, old: int, new: int) -> Value:
        """Replace a word by `new` if it is `old`, atomically; return the condition."""
        operands = f"ptr {self._pointer(address)}, i64 {old}, i64 {new}"
        pair = self._result(f"cmpxchg {operands} acquire monotonic")
        return self._result(f"extractvalue {{i64, i1}} {pair}, 1")

    def store_released(self, value: Value | int, address: Value) -> None:
        """Store a word with release order, after all earlier stores."""
        pointer = self._pointer(address)
        self._lines.append(f" store atomic i64 {value}, ptr {pointer} release, align 8")

    def clear(self, address: Value, size: Value) -> None:
        """Fill `size` bytes with zeros."""
        pointer = self._pointer(address)
        self._lines.append(
            f" call void @llvm.memset.p0.i64(ptr {pointer}, i8 0, i64 {size}, i1 false)"
        )

    def copy(self, to: Value, source: Value, size: Value) -> None:
        """Copy `size` bytes between memory that does not overlap."""
        pointers = f"ptr {self._pointer(to)}, ptr {self._pointer(source)}"
        self._lines.append(f" call void @llvm.memcpy.p0.p0.i64({pointers}, i64 {size}, i1 false)")

    def store_byte(self, value: Value, address: Value, offset: Value) -> None:
        """Store the low byte of a value `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        low = self._result(f"trunc i64 {value} to i8")
        self._lines.append(f" store i8 {low}, ptr {pointer}, align 1")

    def word(self, address: Value, number: Value | int) -> Value:
        """Word `number` of the memory at an address."""
        if isinstance(number, int):
            return self.load(address, 8 * number)
        return self.load(self.at(address, number))

    def at(self, address: Value, number: Value) -> Value:
        """The address of word `number` of the memory at an address."""
        return self.add(address, self.shift_left(number, 3))

    # --- arithmetic ---------------------------------------------------------------------------

    def _binary(self, operation: str, left: Value | int, right: Value | int) -> Value:
        return self._result(f"{operation} i64 {left}, {right}")

    def add(self, left: Value, right: Value | int) -> Value:
        """The sum of two numbers."""
        return left if right == 0 else self._binary("add", left, right)

    def subtract(self, left: Value | int, right: Value) -> Value:
        """The difference of two numbers."""
        return self._binary("sub", left, right)

    def checked(self, operation: str, left: Value, right: Value) -> tuple[Value, Value]:
        """The result of `sadd`, `smul` or `umul`, and the condition that it fits in 64 bits."""
        operands = f"i64 {left}, i64 {right}"
        pair = self._result(f"call {{i64, i1}} @llvm.{operation}.with.overflow.i64({operands})")
        result, over = (self._result(f"extractvalue {{i64, i1}} {pair}, {k}") for k in (0, 1))
        return result, self._result(f"xor i1 {over}, true")

    def floor_quotient(self, left: Value, right: Value) -> Value:
        """The quotient of signed numbers, rounded down; the divisor is positive."""
        rest = self._binary("srem", left, right)
        return self._binary("sub", self._binary("sdiv", left, right), self.shift_right(rest, 63))

    def float_bits(self, value: Value) -> Value:
        """The bits of a signed number as float64."""
        return self._result(
            f"bitcast double {self._result(f'sitofp i64 {value} to double')} to i64"
        )

    def select(self, condition: Value, yes: Value, no: Value) -> Value:
        """The value `yes` if the condition holds, otherwise `no`."""
        return self._result(f"select i1 {condition}, i64 {yes}, i64 {no}")

    def both(self, left: Value, right: Value | int) -> Value:
        """The bitwise and of two numbers."""
        return self._binary("and", left, right)

    def shift_left(self, value: Value, bits: Value | int) -> Value:
        """The value shifted left by a number of bits."""
        return self._binary("shl", value, bits)

    def shift_right(self, value: Value, bits: Value | int) -> Value:
        """The value shifted right by a number of bits, with zeros from the left."""
        return self._binary("lshr", value, bits)

    def test(self, relation: str, left: Value, right: Value | int) -> Value:
        """The result of a comparison by LLVM's `icmp`."""
        return self._result(f"icmp {relation} i64 {left}, {right}")

    # --- calls --------------------------------------------------------------------------------

    def call(self, function: Value, *arguments: Value | int) -> Value:
        """The result of a C function at an address, called with integers or pointers."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        return self._result(f"call i64 {self._pointer(function)}({given})")

    def call_named(self, name: str, *arguments: Value | int) -> Value:
        """The result of a function in this text, or of an LLVM intrinsic."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        return self._result(f"call i64 @{name}({given})")

    def call_short(self, function: Value, *arguments: Value | int) -> Value:
        """The result of a C function at an address that returns 32 bits."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        found = self._result(f"call i32 {self._pointer(function)}({given})")
        return self._result(f"zext i32 {found} to i64")

    def call_format(self, function: Value, *arguments: Value | int) -> None:
        """Call a variadic function with two fixed words and further arguments."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        self._result(f"call i64 (i64, i64, ...) {self._pointer(function)}({given})")

    def give(self, value: Value | int) -> None:
        """Write a return from the function, and begin a new block."""
        self._lines.append(f" ret i64 {value}")
        self.begin(self.label())

    # --- control ------------------------------------------------------------------------------

    def label(self) -> str:
        """A new name for a block."""
        return self._name()

    def begin(self, label: str) -> None:
        """Begin the block of this name."""
        self._lines.append(f"{label}:")

    def go(self, label: str) -> None:
        """Write a branch to a block."""
        self._lines.append(f" br label %{label}")

    def choose(self, condition: Value, yes: str, no: str) -> None:
        """Write a branch to the block `yes` if a condition holds, otherwise to `no`."""
        self._lines.append(f" br i1 {condition}, label %{yes}, label %{no}")

    def require(self, condition: Value, otherwise: str) -> None:
        """Write a branch to the block `otherwise` if a condition does not hold."""
        following = self.label()
        self.choose(condition, following, otherwise)
        self.begin(following)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Write the body as code that runs if a condition holds."""
        inside, behind = self.label(), self.label()
        self.choose(condition, inside, behind)
        self.begin(inside)
        yield
        self.go(behind)
        self.begin(behind)

    @contextmanager
    def count(self, end: Value | int, step: int = 1, first: Value | int = 0) -> Iterator[Value]:
        """Write the body as a loop over the numbers from `first` below `end`, by `step`."""
        number = self.variable(first)
        again, inside, behind = self.label(), self.label(), self.label()
        self.go(again)
        self.begin(again)
        current = self.load(number)
        self.choose(self.test("ult", current, end), inside, behind)
        self.begin(inside)
        yield current
        self.store(self.add(current, step), number)
        self.go(again)
        self.begin(behind)
