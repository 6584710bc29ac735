"""Programs as data: arguments, steps, outputs; written as the NumPy function that is run.

What is printed is what is run: a step has no other meaning than its text.
"""

import functools
import linecache
import math
import re
import zlib
from importlib import import_module
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np

from tests.generator import folds, layouts

NAMESPACE = {"np": np, "layouts": layouts, "folds": folds}
if find_spec("scipy") is not None:
    for _name in ("fft", "interpolate", "linalg", "ndimage", "signal", "spatial.distance", "stats"):
        import_module(f"scipy.{_name}")
    NAMESPACE["scipy"] = import_module("scipy")
    NAMESPACE["special"] = import_module("scipy.special")


class At(int):
    """The number of a value: arguments come first, then steps."""


class Array(NamedTuple):
    """An argument: its elements in C order, and the layout they are given in."""

    values: np.ndarray
    layout: str = "dense"

    def build(self, earlier):
        """The argument."""
        return layouts.LAYOUTS[self.layout](self.values)

    def written(self):
        """The argument as source."""
        text = array_text(self.values)
        return text if self.layout == "dense" else f"layouts.{self.layout}({text})"


class Part(NamedTuple):
    """An argument that lies in the memory of an earlier one."""

    whole: int
    key: tuple

    def build(self, earlier):
        """The argument."""
        return earlier[self.whole][self.key]

    def written(self):
        """The argument as source."""
        return f"x{self.whole}[{key_text(self.key)}]"


class Number(NamedTuple):
    """An argument that is a Python number."""

    value: complex

    def build(self, earlier):
        """The number."""
        return self.value

    def written(self):
        """The number as source."""
        return value_text(self.value)


class Step(NamedTuple):
    """One operation: `form` is its text, with {0}, {1} for operands and {options}.

    Operands and the values of options are numbers of earlier values, or numbers as they are.
    `name` says what is computed, whatever the form.
    """

    name: str
    form: str
    operands: tuple
    options: tuple = ()

    def written(self, names):
        """The step as an expression of named values."""
        pieces = [names[o] if isinstance(o, At) else value_text(o) for o in self.operands]
        options = dict(self.options)
        key = key_text(options.pop("key")) if "key" in options else ""
        shown = [
            f"{name}={names[value] if isinstance(value, At) else value_text(value)}"
            for name, value in options.items()
        ]
        bare = ", ".join(shown)
        many = ", ".join(pieces)
        comma = f", {bare}" if bare else ""
        return self.form.format(*pieces, key=key, bare=bare, options=comma, many=many)

    def uses(self):
        """The values that the step reads."""
        return [v for v in (*self.operands, *dict(self.options).values()) if isinstance(v, At)]


class Program(NamedTuple):
    """Arguments, steps and the values that are returned."""

    arguments: tuple
    steps: tuple
    outputs: tuple

    def build(self):
        """The arguments as NumPy has them."""
        made = []
        for argument in self.arguments:
            made.append(argument.build(made))
        return tuple(made)

    def names(self):
        """The names of all values."""
        arguments = [f"x{k}" for k in range(len(self.arguments))]
        return arguments + [f"v{k}" for k in range(len(self.steps))]

    def source(self, name="program"):
        """The program as a function."""
        names = self.names()
        count = len(self.arguments)
        lines = [f"def {name}({', '.join(names[:count])}):"]
        for k, step in enumerate(self.steps, count):
            lines.append(f"    {names[k]} = {step.written(names)}")
        returned = ", ".join(names[k] for k in self.outputs)
        lines.append(f"    return ({returned},)")
        return "\n".join(lines) + "\n"

    def function(self):
        """The program as something that can be called."""
        space = dict(NAMESPACE)
        exec(compiled(self.source(), "exec"), space)
        return space["program"]

    def as_test(self, name):
        """The program with its arguments, as a test to keep."""
        lines = [f"def test_{name}():"]
        lines += [f"    {line}" if line else "" for line in self.source().splitlines()]
        lines.append("")
        for k, argument in enumerate(self.arguments):
            lines.append(f"    x{k} = {argument.written()}")
        given = ", ".join(f"x{k}" for k in range(len(self.arguments)))
        lines.append(f"    assert_agrees(program, {given})")
        return "\n".join(lines) + "\n"


@functools.lru_cache(4096)
def compiled(text, mode):
    """Code of a text, which is found as that of a file is."""
    name = f"<program {zlib.crc32(text.encode()):x}>"
    linecache.cache[name] = len(text), None, text.splitlines(keepends=True), name
    return compile(text, name, mode)


def perform(step, values):
    """The value of a step."""
    names = [f"v{k}" for k in range(len(values))]
    return eval(
        compiled(step.written(names), "eval"), NAMESPACE, dict(zip(names, values, strict=True))
    )


def value_text(value):
    """A number, tuple or other option as source."""
    if isinstance(value, tuple):
        inside = ", ".join(map(value_text, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if isinstance(value, np.generic):
        return f"np.{type(value).__name__.replace('bool', 'bool_')}({value_text(value.item())})"
    if isinstance(value, complex):
        return f"complex({value_text(value.real)}, {value_text(value.imag)})"
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "np.inf", -math.inf: "-np.inf"}.get(value, "np.nan")
    return repr(value)


def key_text(key):
    """An index as source."""

    def item(part):
        if not isinstance(part, slice):
            return {None: "None", Ellipsis: "..."}.get(part, repr(part))
        ends = [part.start, part.stop, part.step][: 2 if part.step is None else 3]
        return ":".join("" if end is None else repr(end) for end in ends)

    return ", ".join(map(item, key)) + ("," if len(key) == 1 else "") if key else "()"


def array_text(values):
    """An array as source."""
    code = values.dtype.str[1:]
    if values.size == 0:
        return f"np.zeros({values.shape}, {code!r})"
    flat = values.reshape(-1)
    if flat.size > 1 and same_elements(flat):
        return f"np.full({values.shape}, {value_text(values.dtype.type(flat[0]))})"
    if values.dtype.kind == "c":
        parts = np.stack([values.real, values.imag], axis=-1)
        text = f"np.array({numbers_text(parts)}, 'f{values.itemsize // 2}').view({code!r})"
        return f"{text}[..., 0]"
    return f"np.array({numbers_text(values)}, {code!r})"


def same_elements(flat):
    """Whether all elements are one, bit for bit."""
    return len({element.tobytes() for element in flat}) == 1


def numbers_text(values):
    return re.sub(r"\b(nan|inf)\b", r"np.\1", repr(values.tolist()))
