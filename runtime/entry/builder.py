"""A builder of LLVM text in which every value is a 64-bit integer and every variable is memory.

LLVM's own passes make registers of the variables; addresses are integers until they are used.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

Value = str
"""A number in LLVM text: a literal, or the name of a result."""


class Builder:
    """Writes the body of one function, block after block."""

    def __init__(self, name: str, parameters: int) -> None:
        """Begin a function of that many values, which gives one."""
        self.parameters = tuple(f"%p{k}" for k in range(parameters))
        given = ", ".join(f"i64 {p}" for p in self.parameters)
        self._head = [f"define i64 @{name}({given}) {{", "entry:"]
        self._lines: list[str] = []
        self._count = 0

    def text(self) -> str:
        """The function; its memory comes first, so that it is taken once a call."""
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
        """The address of fresh memory of that many words."""
        name = "%" + self._name()
        self._head.append(f" {name} = alloca [{words} x i64], align 16")
        return self._result(f"ptrtoint ptr {name} to i64")

    def variable(self, value: Value | int) -> Value:
        """The address of a word that begins with this value."""
        address = self.block(1)
        self.store(value, address)
        return address

    def load(self, address: Value, offset: Value | int = 0, bits: int = 64) -> Value:
        """The unsigned integer at `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        found = self._result(f"load i{bits}, ptr {pointer}, align {bits // 8}")
        return found if bits == 64 else self._result(f"zext i{bits} {found} to i64")

    def store(self, value: Value | int, address: Value, offset: Value | int = 0) -> None:
        """Put a word at `offset` bytes behind an address."""
        pointer = self._pointer(self.add(address, offset))
        self._lines.append(f" store i64 {value}, ptr {pointer}, align 8")

    def store_byte(self, value: Value, address: Value, offset: Value) -> None:
        """Put the low byte of a value there."""
        pointer = self._pointer(self.add(address, offset))
        low = self._result(f"trunc i64 {value} to i8")
        self._lines.append(f" store i8 {low}, ptr {pointer}, align 1")

    def word(self, address: Value, number: Value | int) -> Value:
        """The word of that number behind an address."""
        if isinstance(number, int):
            return self.load(address, 8 * number)
        return self.load(address, self.shift_left(number, 3))

    # --- arithmetic ---------------------------------------------------------------------------

    def _binary(self, operation: str, left: Value | int, right: Value | int) -> Value:
        return self._result(f"{operation} i64 {left}, {right}")

    def add(self, left: Value, right: Value | int) -> Value:
        """The sum."""
        return left if right == 0 else self._binary("add", left, right)

    def both(self, left: Value, right: Value | int) -> Value:
        """The bits that both have."""
        return self._binary("and", left, right)

    def shift_left(self, value: Value, bits: Value | int) -> Value:
        """The value times a power of two."""
        return self._binary("shl", value, bits)

    def shift_right(self, value: Value, bits: Value | int) -> Value:
        """The value without its low bits."""
        return self._binary("lshr", value, bits)

    def test(self, relation: str, left: Value, right: Value | int) -> Value:
        """Whether a relation of LLVM's `icmp` holds."""
        return self._result(f"icmp {relation} i64 {left}, {right}")

    # --- calls --------------------------------------------------------------------------------

    def call(self, function: Value, *arguments: Value | int) -> Value:
        """What a C function at an address gives for words, pointers or narrower integers."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        return self._result(f"call i64 {self._pointer(function)}({given})")

    def call_short(self, function: Value, *arguments: Value | int) -> Value:
        """As `call`, of a function that gives 32 bits."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        found = self._result(f"call i32 {self._pointer(function)}({given})")
        return self._result(f"zext i32 {found} to i64")

    def call_format(self, function: Value, *arguments: Value | int) -> None:
        """Call a function of two words and further arguments of any number."""
        given = ", ".join(f"i64 {a}" for a in arguments)
        self._result(f"call i64 (i64, i64, ...) {self._pointer(function)}({given})")

    def give(self, value: Value | int) -> None:
        """End the function; what is written next is not reached by this way."""
        self._lines.append(f" ret i64 {value}")
        self.begin(self.label())

    # --- control ------------------------------------------------------------------------------

    def label(self) -> str:
        """The name of a block that comes later."""
        return self._name()

    def begin(self, label: str) -> None:
        """Begin a block."""
        self._lines.append(f"{label}:")

    def go(self, label: str) -> None:
        """Go to a block."""
        self._lines.append(f" br label %{label}")

    def choose(self, condition: Value, yes: str, no: str) -> None:
        """Go to one of two blocks."""
        self._lines.append(f" br i1 {condition}, label %{yes}, label %{no}")

    def require(self, condition: Value, otherwise: str) -> None:
        """Go on where a condition holds, else to a block."""
        following = self.label()
        self.choose(condition, following, otherwise)
        self.begin(following)

    @contextmanager
    def when(self, condition: Value) -> Iterator[None]:
        """Do what follows where a condition holds."""
        inside, behind = self.label(), self.label()
        self.choose(condition, inside, behind)
        self.begin(inside)
        yield
        self.go(behind)
        self.begin(behind)

    @contextmanager
    def count(self, end: Value, step: int = 1, first: Value | int = 0) -> Iterator[Value]:
        """Do what follows for `first`, and every `step` numbers from there, below `end`."""
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
