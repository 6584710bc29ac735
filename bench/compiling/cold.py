"""Measure first calls in a process that has compiled before, and compare them with `jax.jit`.

`python -m axiomjit.bench.compiling.cold` times first calls of ten small functions, alternating with
JAX; each round uses new function objects. The table has medians in milliseconds: of a first call,
of its two parts (machine code by Numba and LLVM; tracing, passes, source and launch), and of JAX's
first call. Two columns have the medians of ratios within a round: of times, and of processor times
of all threads, which depend less on other processes. The last line has the geometric means. Kernels
on disk are not used.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from statistics import geometric_mean, median
from types import ModuleType
from typing import Any, Final, NamedTuple

import numpy as np

import axiomjit
from axiomjit.passes.ir.plan_ir import Kernel
from axiomjit.runtime.codegen.kernel_cache import KernelCache
from axiomjit.runtime.execution import plan_steps

SHAPE: Final = (60, 100)
ROWS: Final = SHAPE[0]


class Small(NamedTuple):
    """A function of two arrays of doubles, for any module that has NumPy's names."""

    name: str
    flat: bool
    """True if the operands are vectors, False if they are matrices."""
    over: Callable[[ModuleType], Callable[[Any, Any], Any]]
    """Makes the function for a module; each call makes a new, uncompiled function.
    """

    def operands(self) -> tuple[np.ndarray, np.ndarray]:
        """The two arguments of the function."""
        values = np.random.default_rng(5).uniform(0.5, 2.0, (2, *SHAPE))
        x, y = values.reshape(2, -1) if self.flat else values
        return x, y


FUNCTIONS: Final = (
    Small("map", True, lambda m: lambda x, y: 2.0 * x + y * x - 1.0),
    Small("choice", True, lambda m: lambda x, y: m.where(x > y, x - y, m.sqrt(x * y))),
    Small("sum", True, lambda m: lambda x, y: (x * y).sum()),
    Small("norm", True, lambda m: lambda x, y: m.sqrt(((x - y) ** 2).sum())),
    Small("largest", True, lambda m: lambda x, y: m.maximum(x, y).max()),
    Small("rows", False, lambda m: lambda x, y: (x * y).sum(axis=1)),
    Small("columns", False, lambda m: lambda x, y: (x + y).sum(axis=0)),
    Small(
        "stencil",
        False,
        lambda m: (
            lambda x, y: (
                (x[1:-1, 1:-1] + x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:]) * y[0, 0]
            )
        ),
    ),
    Small("logistic", True, lambda m: lambda x, y: 1.0 / (1.0 + m.exp(-x)) + y),
    Small("waves", True, lambda m: lambda x, y: m.sin(x) * m.log(y)),
)


NAN: Final = float("nan")
Wait = Callable[[Any], object]
JitFunction = Callable[[Callable[..., Any]], Callable[..., Any]]


class Cold(NamedTuple):
    """The times of a first call in milliseconds."""

    total: float
    processor: float
    """The processor time of all threads."""
    machine: float = 0.0
    """The time of the compilation to machine code."""


class Row(NamedTuple):
    """Medians over rounds, in milliseconds; the figures of JAX are NaN if JAX is not installed."""

    name: str
    total: float
    machine: float
    jax: float
    ratio: float
    processor_ratio: float

    def figures(self) -> tuple[float, ...]:
        """The figures of the table's columns, in order."""
        rest = self.total - self.machine
        return self.total, self.machine, rest, self.jax, self.ratio, self.processor_ratio


class Peer(NamedTuple):
    """JAX's NumPy module and its functions for compiling and for waiting."""

    module: Any
    jit: JitFunction
    wait: Wait


def jax_peer() -> Peer | None:
    """JAX with doubles, on the CPU; None if JAX is not installed."""
    try:
        import jax
    except ImportError:
        return None
    jax.config.update("jax_enable_x64", True)
    jax.config.update("jax_platforms", "cpu")
    return Peer(jax.numpy, jax.jit, jax.block_until_ready)


def cold_call(small: Small) -> Cold:
    """Time the first call of a new function, without kernels in memory."""
    from axiomjit.runtime.codegen.compile_source import CompiledKernel, compile_source

    made: list[CompiledKernel] = []

    def compiler(kernel: Kernel, checked: bool) -> CompiledKernel:
        target = kernel.target.record
        made.append(
            compile_source(kernel.source, kernel.parameters, target, kernel.traits, checked=checked)
        )
        return made[-1]

    operands, launching = small.operands(), vars(plan_steps)
    before, launching["KERNELS"] = launching["KERNELS"], KernelCache(compiler)
    try:
        function = small.over(np)
        took = timed(lambda: axiomjit.jit(function)(*operands))
    finally:
        launching["KERNELS"] = before
    return took._replace(machine=sum(kernel.compile_ms for kernel in made))


def peer_call(peer: Peer, small: Small) -> Cold:
    """Time the first call of a new function by JAX."""
    operands = [peer.module.asarray(x) for x in small.operands()]
    function = small.over(peer.module)
    return timed(lambda: peer.wait(peer.jit(function)(*operands)))


def timed(call: Callable[[], object]) -> Cold:
    """The time and the processor time of a call."""
    start, processor = time.perf_counter(), time.process_time()
    call()
    total = time.perf_counter() - start
    return Cold(total * 1e3, (time.process_time() - processor) * 1e3)


def measure(small: Small, peer: Peer | None, rounds: int) -> Row:
    """Time first calls of a function in rounds, alternating with JAX."""
    ours: list[Cold] = []
    theirs: list[Cold] = []
    for number in range(rounds + 1):  # the first round absorbs one-time costs of the process
        if peer is not None and number % 2:
            theirs.append(peer_call(peer, small))
        ours.append(cold_call(small))
        if peer is not None and not number % 2:
            theirs.append(peer_call(peer, small))
    del ours[0], theirs[:1]
    pairs = list(zip(ours, theirs, strict=bool(theirs)))
    return Row(
        small.name,
        median(cold.total for cold in ours),
        median(cold.machine for cold in ours),
        median(other.total for other in theirs) if theirs else NAN,
        median(cold.total / other.total for cold, other in pairs) if pairs else NAN,
        median(cold.processor / other.processor for cold, other in pairs) if pairs else NAN,
    )


def main() -> None:
    """Measure all functions and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=9)
    rounds = parser.parse_args().rounds
    peer = jax_peer()
    rows = []
    print("| function | first call ms | machine code ms | the rest ms | JAX ms | ratio | CPU |")
    print("|---|---|---|---|---|---|---|")
    for small in FUNCTIONS:
        row = measure(small, peer, rounds)
        rows.append(row.figures())
        print(line(row.name, rows[-1]), flush=True)
    print(line("geometric mean", [geometric_mean(column) for column in zip(*rows, strict=True)]))


def line(name: str, figures: Sequence[float]) -> str:
    """A line of the table, with milliseconds and then two ratios."""
    cells = [f"{figure:.1f}" for figure in figures[:-2]] + [
        f"{figure:.2f}" for figure in figures[-2:]
    ]
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    main()
