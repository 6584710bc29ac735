"""Write the page of NumPy's functions: `python -m tools.numpy_page`, from the root of a clone.

Each public function is traced in one sample call, and its class is read off the graph. Nothing is
compiled, and a function that has a line in `tools/numpy_samples.py` is not run by NumPy either.
"""

from __future__ import annotations

import inspect
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np

from axiomjit.base.errors import NeedsValuesError, UnsupportedError
from axiomjit.dispatch.arguments import plain_arguments, take_apart
from axiomjit.dispatch.signature import classify
from axiomjit.dispatch.tracing_calls import trace_function
from axiomjit.functions.outside import Wanted
from axiomjit.graph.external_calls import ArrayFunction, ProbedCall, UfuncCall
from axiomjit.graph.library_operations import LibraryOperation, check_ends, check_positions
from axiomjit.graph.nodes import Graph, Op, is_view, post_order
from axiomjit.numpy_rules.statistics import WarnIf
from axiomjit.symbolic.dims import Scope
from tools.numpy_samples import ARRAYS, METHOD_ARGUMENTS, SAMPLES, USUAL, call_of_method

PAGE: Final = Path(__file__).resolve().parents[1] / "docs" / "numpy.md"
FUSED, VIEW, LIBRARY = "Fused", "View or known value", "Library step"
NUMPY, REFUSED = "NumPy step", "Refused"
CLASSES: Final = {
    FUSED: """Part of compiled loops; neighbours in an expression become one loop. Sums of products
(`dot`, `matmul`, `einsum`) are loops here, too; a large matrix product is then left to BLAS.""",
    VIEW: """A view of an operand, or a value that is known before the program runs, as a shape or
an array of constants: nothing is computed.""",
    LIBRARY: """A step between the loops, by an algorithm that stays LAPACK's or NumPy's: sorting,
searching, FFT, decompositions. A rule of the function gives shape and dtype of its result.""",
    NUMPY: """A step between the loops without such a rule: NumPy runs the call, and
`axiomjit.stats()` counts it as one of `opaque_calls`. A ufunc's loop gives the dtype of its result;
of other functions, calls with small arrays tell shape and dtype.""",
    REFUSED: """No step: NumPy runs the whole function that has such a call, with one
FallbackWarning, and `jit(strict=True)` raises an error that names the call.""",
}
INTRODUCTION: Final = """# NumPy's functions under `axiomjit.jit`

The public functions of NumPy {version}, by what becomes of a call in a compiled function. The
command `python -m tools.numpy_page` writes this page: it traces one sample call of each function,
with float64 arrays where the function takes them. Other options or dtypes may be of another class:
`print(f.explain(x))` shows the steps of a program. `axiomjit.config.fallback = "error"` refuses
NumPy steps, too. Where results differ from NumPy's is in
[differences from NumPy](differences.md).
"""
MODULES: Final = {"numpy": np, "numpy.linalg": np.linalg, "numpy.fft": np.fft}
CHECKS: Final = {check(axis) for check in (check_positions, check_ends) for axis in range(2)}
"""Steps that only compare positions with a length; the samples take along two axes at most."""
REASONS: Final = {
    r"values are not known": "asks for the values of an array, as Python objects, text or bytes",
    r"which is not known": "may have effects outside the program: settings, files, printing",
    r"what it gives at that time": "reads a file, which may be another one at the next call",
    r"an argument that is a partial": "calls a function that it gets, which may do anything",
    r"view of its argument": "its result may share memory with its argument",
    r"option type of": "its result is an array of another class",
    r"a result without arrays|computes this in": "its result is no array of a supported dtype",
    r"not compiled yet": "asks for memory, layout or text, for which there is no rule",
}
"""Reasons of refusals on the page, by patterns of the texts of errors; the first match counts."""


class NoSampleError(Exception):
    """A public function without a sample call that NumPy takes."""


def public_calls() -> Iterator[tuple[str, str, Sequence[str]]]:
    """The group, the name and the texts of possible sample calls of each public function."""
    for group, module in MODULES.items():
        for name in sorted(module.__all__):
            function = getattr(module, name)
            if name.startswith("_") or isinstance(function, type) or not callable(function):
                continue
            own = SAMPLES[group].get(name)
            path = f"np{group.removeprefix('numpy')}."
            texts = [name + given for given in USUAL] if own is None else [own]
            yield group, name, [path + text for text in texts]
    for name in sorted(dir(np.ndarray)):
        if not name.startswith("_"):
            yield "numpy.ndarray", name, [call_of_method(name)]


def calls_of_ufuncs() -> Iterator[tuple[str, str, Sequence[str]]]:
    """As `public_calls`, for the methods of ufuncs, each under the first name that it has."""
    named = {name: getattr(np, name) for name in sorted(np.__all__)}
    ufuncs = {u.__name__: u for u in named.values() if isinstance(u, np.ufunc)}
    for method, every in METHOD_ARGUMENTS.items():
        for name, ufunc in sorted(ufuncs.items()):
            if ufunc.signature is None and getattr(np, name, None) is ufunc:
                texts = [f"np.{name}.{method}{given}" for given in every]
                yield f"ufunc.{method}", name, texts


def sample(texts: Sequence[str]) -> Callable[..., Any] | None:
    """The first call that NumPy takes, as a function of the arrays; the only one is not run."""
    names = ", ".join(ARRAYS)
    functions: list[Any] = [eval(f"lambda {names}: {text}", {"np": np}) for text in texts]
    if len(functions) == 1:
        return functions[0]  # type: ignore[no-any-return]
    return next(filter(_is_taken, functions), None)


def _is_taken(function: Callable[..., Any]) -> bool:
    """True if NumPy takes a call with copies of the arrays."""
    with quiet():
        try:
            function(*(array.copy() for array in ARRAYS.values()))
        except Exception:  # it wants other arguments
            return False
    return True


@contextmanager
def quiet() -> Iterator[None]:
    """A block in which NumPy gives no warnings."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def graph_of(function: Callable[..., Any]) -> Graph:
    """The graph of a sample call, before all passes."""
    call = take_apart(inspect.signature(function), frozenset(), tuple(ARRAYS.values()), {})
    signature = classify(call, plain_arguments(call.dynamic, call.names))
    traced = trace_function(function, call, signature, Scope(signature.values), Wanted())
    return traced.trace.graph


def class_of_graph(graph: Graph) -> str:
    """The class of a program: that of its part which is compiled least."""
    found = VIEW
    for node in post_order(graph.outputs):
        if not isinstance(node, Op) or is_view(node):
            continue
        step = node.primitive
        evaluate = step.evaluate if isinstance(step, LibraryOperation) else None
        called = evaluate.function if isinstance(evaluate, ArrayFunction) else evaluate
        if isinstance(called, UfuncCall | ProbedCall):
            return NUMPY
        if called is None or step in CHECKS or isinstance(called, WarnIf):
            found = FUSED if found == VIEW else found
        else:
            found = LIBRARY
    return found


def class_of(function: Callable[..., Any]) -> tuple[str, str]:
    """The class of a sample call, and the reason if it is refused."""
    with quiet():
        try:
            return class_of_graph(graph_of(function)), ""
        except (NeedsValuesError, UnsupportedError) as error:
            return REFUSED, reason_of(error)


def reason_of(error: NeedsValuesError | UnsupportedError) -> str:
    """The reason on the page for an error.

    Raises:
        KeyError: `REASONS` has none.
    """
    for pattern, reason in REASONS.items():
        if re.search(pattern, error.seen):
            return reason
    raise KeyError(f"no reason of the page says: {error.seen}")


def classified() -> dict[str, dict[str, dict[str, list[str]]]]:
    """The names of all functions, by class, by reason of the class and by group.

    Raises:
        NoSampleError: NumPy takes none of a function's sample calls.
    """
    found: dict[str, dict[str, dict[str, list[str]]]] = {name: {} for name in CLASSES}
    for calls, must in ((public_calls(), True), (calls_of_ufuncs(), False)):
        for group, name, texts in calls:
            function = sample(texts)
            if function is None and must:
                raise NoSampleError(f"{group}.{name}: add a line to tools/numpy_samples.py")
            if function is not None:
                kind, reason = class_of(function)
                found[kind].setdefault(reason, {}).setdefault(group, []).append(name)
    return found


def counted(groups: Mapping[str, Sequence[str]]) -> int:
    """The number of functions of all groups."""
    return sum(map(len, groups.values()))


def page(every: Mapping[str, Mapping[str, Mapping[str, Sequence[str]]]]) -> str:
    """The text of the page, from what `classified` gives."""
    version = ".".join(np.__version__.split(".")[:2])
    parts = [INTRODUCTION.format(version=version)]
    for kind, text in CLASSES.items():
        number = sum(map(counted, every[kind].values()))
        parts.append(f"## {kind}\n\n{text}\n\n{number} names.\n")
        parts.append(_table(kind, every[kind]))
    return "\n".join(parts)


def _table(kind: str, reasons: Mapping[str, Mapping[str, Sequence[str]]]) -> str:
    columns = ("reason", "of", "functions") if kind == REFUSED else ("of", "functions")
    lines = [" | ".join(columns), " | ".join("---" for _ in columns)]
    for reason, groups in sorted(reasons.items()):
        for group, names in groups.items():
            cells = reason, group, " ".join(f"`{name}`" for name in names)
            lines.append(" | ".join(cells[-len(columns) :]))
    return "".join(f"| {line} |\n" for line in lines)


if __name__ == "__main__":
    PAGE.write_text(page(classified()), "utf-8")
