"""Compare folds with NumPy on one thread.

    python -m axiomjit.bench.folds [--case NAME] [--rounds N]

Each figure is the median over rounds of axiomjit's time divided by NumPy's. Both run alternately in
one process; processor time of their thread is measured, which depends little on other processes.
Rows are sum, maximum, argmax, running sum and sum of squares of 2000 x 2000 numbers along the last
axis, the first axis, and both; then normalisations of the rows of 4096 x 1024 numbers, with the
number of kernels. A figure above its limit has a star.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final, NamedTuple

import numpy as np

import axiomjit as aj
from axiomjit.bench.suite.intervals import interleaved

Array = np.ndarray[Any, Any]
AXES: Final = (1, 0, None)


class Case(NamedTuple):
    """A function of an array, and the largest allowed ratio to NumPy's time."""

    function: Callable[..., Any]
    limit: float
    of_rows: bool = False
    """True if the function has no axis argument and normalises rows."""


def squares(x: Any, axis: int | None) -> Any:
    """Sums of squares."""
    return (x * x).sum(axis=axis)


def softmax(x: Any) -> Any:
    """A softmax of each row."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def layernorm(x: Any) -> Any:
    """Each row minus its mean, divided by its standard deviation."""
    apart = x - x.mean(axis=-1, keepdims=True)
    return apart / np.sqrt((apart * apart).mean(axis=-1, keepdims=True) + 1e-5)


CASES: Final[dict[str, Case]] = {
    "sum": Case(np.sum, 1.1),
    "max": Case(np.max, 1.1),
    "argmax": Case(np.argmax, 1.1),
    "cumsum": Case(np.cumsum, 1.1),
    "squares": Case(squares, 0.5),
    "softmax": Case(softmax, 1.0, True),
    "layernorm": Case(layernorm, 1.0, True),
}


def ratio(function: Callable[..., Any], arguments: Sequence[Any], rounds: int) -> float:
    """The ratio of axiomjit's time to NumPy's."""
    ours, dtype = aj.jit(function), arguments[0].dtype
    wanted, found = function(*arguments), ours(*arguments)
    np.testing.assert_allclose(found, wanted, rtol=1e4 * np.finfo(dtype).eps, atol=0.1)
    first, second = (lambda: ours(*arguments)), (lambda: function(*arguments))
    return interleaved(first, second, rounds, clock=time.thread_time).ratio


def figures(case: Case, dtype: str, rounds: int, shape: tuple[int, int]) -> list[str]:
    """The figures of a case in a dtype; a star marks those above the limit."""
    x = np.random.default_rng(0).standard_normal(shape).astype(dtype)
    if case.of_rows:
        kernels = aj.jit(case.function).lower(x).cost.kernels
        said = f"{kernels} kernel{'s' * (kernels > 1)}"
        return [_starred(ratio(case.function, [x], rounds), case.limit), said]
    found = []
    for axis in AXES:

        def along(x: Any, axis: int | None = axis) -> Any:
            return case.function(x, axis=axis)

        found.append(_starred(ratio(along, [x], rounds), case.limit))
    return found


def _starred(value: float, limit: float) -> str:
    return f"{value:.2f}{'*' if value > limit else ''}"


def table(names: Sequence[str], rounds: int, side: int = 2000) -> Iterator[str]:
    """Yield the lines of the table, each once measured."""
    yield f"{'by NumPy, 1 thread':20}{'axis 1':>10}{'axis 0':>10}{'both':>10}{'limit':>10}"
    with aj.threads(1):
        for name in names:
            case = CASES[name]
            shape = (2 * side + 96, side // 2 + 24) if case.of_rows else (side, side)
            for dtype in ("f8", "f4"):
                cells = figures(case, dtype, rounds, shape)
                cells += [""] * (len(AXES) - len(cells))
                columns = "".join(f"{cell:>10}" for cell in cells)
                yield f"{f'{name} {dtype}':20}{columns}{case.limit:10.2f}"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--case", action="append", choices=tuple(CASES), help="this one alone")
    parser.add_argument("--rounds", type=int, default=25)
    given = parser.parse_args(arguments)
    for line in table(given.case or tuple(CASES), given.rounds):
        print(line, flush=True)


if __name__ == "__main__":
    main()
