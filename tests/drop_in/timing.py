"""The drop-in's figures, in one thread: `python -m tests.drop_in.timing [NAME ...]`.

Each figure is the time of a piece of code with `axiomjit.numpy` divided by that with NumPy, the
median over rounds in turns, once everything is compiled, unless its name says otherwise.
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import axiomjit
import axiomjit.numpy as lazy_np
from axiomjit.numpy.lazy_arrays import wrap

ROUNDS = 25
WARM = 60


def looked(value: Any) -> Any:
    """A value, computed."""
    return value.materialize() if hasattr(value, "materialize") else value


def ratio(run: Callable[..., Any], *arrays: Any, rounds: int = ROUNDS, warm: int = WARM) -> float:
    """The time of `run` with lazy arrays divided by that with NumPy's."""
    lazy = [wrap(one.copy()) if isinstance(one, np.ndarray) else one for one in arrays]
    for _ in range(warm):
        looked(run(*lazy))
    found = []
    for _ in range(rounds):
        start = time.perf_counter()
        run(*arrays)
        middle = time.perf_counter()
        looked(run(*lazy))
        found.append((time.perf_counter() - middle) / (middle - start))
    return statistics.median(found)


def ten(x: Any, y: Any) -> Any:
    """Ten elementwise operations."""
    return ((x + y) * 2.0 - x) * y + x * 0.5 - (y - x) * (x + 1.0)


def stencil(x: Any, steps: int) -> Any:
    """Steps of a five-point stencil in place."""
    for _ in range(steps):
        x[1:-1, 1:-1] = 0.25 * (x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:])
    return x


def segment(x: Any, count: int) -> Any:
    """A chain of operations."""
    y = x + x
    for _ in range(count - 1):
        y = y * x
    return y


def microseconds(run: Callable[[], Any], calls: int) -> float:
    """The least processor time of a call over rounds."""
    found = []
    for _ in range(9):
        start = time.thread_time()
        for _ in range(calls):
            run()
        found.append((time.thread_time() - start) / calls)
    return min(found) * 1e6


def per_operation() -> float:
    """Microseconds per operation that a repeated segment costs beside its kernel."""
    x = wrap(np.ones(axiomjit.config.lazy_from))
    times = {}
    for count in (1, 21):
        for _ in range(WARM):
            looked(chains[count](x))
        times[count] = microseconds(lambda count=count: chains[count](x), 2000)  # type: ignore[misc]
    return (times[21] - times[1]) / 20


def _chain(count: int) -> Callable[[Any], Any]:
    lines = "".join("    y = y * x\n" for _ in range(count - 1))
    space: dict[str, Any] = {}
    exec(f"def chain(x):\n    y = x + x\n{lines}    return y\n", space)
    chain: Callable[[Any], Any] = space["chain"]
    return chain


chains = {count: _chain(count) for count in (1, 21)}
SMALL = (
    *("x + y", "x * 2.0", "x - y * 2.0", "x.sum()", "x[1:]", "x.mean()", "np.sin(x)", "np.exp(x)"),
    *("np.zeros(10)", "np.arange(10)", "np.maximum(x, y)", "x.reshape(2, 5)", "np.dot(x, y)"),
    *("np.concatenate((x, y))", "np.where(x > y, x, y)", "x.copy()", "np.ones(10)", "x @ y"),
    *("np.linspace(0, 1, 10)", "x.max()", "np.asarray(x)", "np.array([1.0, 2.0])", "x > 0.5"),
)


def small() -> float:
    """The geometric mean of the ratios of operations on ten elements."""
    found = []
    for text in SMALL:
        code = compile(text, "<small>", "eval")
        times = []
        for module in (np, lazy_np):
            space = {"np": module, "x": module.arange(10.0), "y": module.ones(10)}
            times.append((code, space))
        runs = [(lambda one=one: eval(*one)) for one in times]  # type: ignore[misc]
        ratios = []
        for _ in range(7):
            least = [microseconds(run, 300) for run in runs]
            ratios.append(least[1] / least[0])
        found.append(statistics.median(ratios))
        print(f"    {text:28} {found[-1]:.2f}", flush=True)
    return statistics.geometric_mean(found)


def expressions(count: int) -> Iterator[str]:
    """Different expressions of three arrays, each of some operations."""
    rng = np.random.default_rng(7)
    functions = ("np.sqrt", "np.abs", "np.exp", "np.sin", "np.tanh", "np.floor", "")
    for k in range(count):
        text = "x"
        for _ in range(int(rng.integers(3, 7))):
            other = rng.choice(["x", "y", "z", f"{rng.random():.3f}"])
            text = f"{rng.choice(functions)}({text} {rng.choice(['+', '-', '*'])} {other})"
        end = (".sum()", ".max()", ".mean(axis=0)", "")[k % 4]
        yield f"({text}){end}"


def script() -> float:
    """The ratio of a script of 200 expressions, each run once, with no kernel in memory or on disk.

    To be run in a fresh process.
    """
    axiomjit.config.cache_mb = 0
    arrays = {name: np.random.default_rng(3).random((1000, 1000)) for name in "xyz"}
    lazy = {name: wrap(one.copy()) for name, one in arrays.items()}
    times = [0.0, 0.0]
    for text in expressions(200):
        code = compile(text, "<expression>", "eval")
        for k, space in enumerate((arrays, lazy)):
            start = time.perf_counter()
            float(looked(eval(code, {"np": np, **space})).ravel()[0])
            times[k] += time.perf_counter() - start
    print(f"    NumPy {times[0]:.2f} s, lazy {times[1]:.2f} s")
    return times[1] / times[0]


FIGURES: dict[str, tuple[str, Callable[[], float], float]] = {
    "ten": (
        "ten elementwise operations on 10^6 doubles",
        lambda: ratio(ten, *np.random.default_rng(1).random((2, 10**6))),
        0.25,
    ),
    "stencil": (
        "1,000 stencil steps on 500x500",
        lambda: ratio(
            lambda x: stencil(x, 1000),
            np.random.default_rng(1).random((500, 500)),
            rounds=5,
            warm=2,
        ),
        0.5,
    ),
    "small": ("ten elements, geometric mean", small, 1.2),
    "operation": ("microseconds per repeated operation", per_operation, 0.8),
    "script": ("200 different expressions, each once, empty cache", script, 1.2),
}


def main() -> None:
    """Print the figures, with their bounds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", choices=[*FIGURES, []])
    names = parser.parse_args().names or FIGURES
    axiomjit.threads(1)
    for name in names:
        text, measure, bound = FIGURES[name]
        print(f"{text}: {measure():.2f} (goal: {bound})", flush=True)


if __name__ == "__main__":
    main()
