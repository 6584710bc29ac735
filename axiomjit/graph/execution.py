"""The interface between front ends and the compiler: it runs graphs.

Front ends never import passes or the runtime; they call `run`. With `install`, `dispatch` provides
the functions that run compiled graphs. Until `install` is called, the NumPy evaluator runs graphs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.tree import INSTALLED, library_of
from axiomjit.graph.nodes import Constant, Graph
from axiomjit.symbolic.dims import Symbol

Finish = Callable[[Sequence[np.ndarray]], Any]
Result = TypeVar("Result")
_installed: Final = INSTALLED


def install(**functions: Any) -> dict[str, Any]:
    """Install implementations of functions of this module, which later packages provide.

    The value None restores the default. An implementation of `run` returns arrays that share no
    memory with arguments, with arrays that the graph holds, or with results of earlier calls.

    Returns:
        The functions previously installed under these names.
    """
    before = {name: _installed.get(name) for name in functions}
    _installed.update(functions)
    return before


def add_native_entry(
    function: NativeCallable[Any],
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    in_tuple: bool | None,
    finish: Finish,
) -> None:
    """Answer later calls like the last call natively, if possible.

    Args:
        function: The callable, which is called with exactly these arguments.
        graph: The graph that the callable runs.
        arguments: The arguments of `run`.
        lengths: The value of every symbol in the graph.
        in_tuple: True if the callable returns a tuple of all results, False if it returns the only
            result, None for other return values.
        finish: Converts the graph's results to the return value of the callable.
    """
    if _installed.get("add_native_entry") and _installed["run"]:
        _installed["add_native_entry"](function, graph, arguments, lengths, in_tuple, finish)


def chosen_orders(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int], places: Sequence[int]
) -> Mapping[int, tuple[int, ...]]:
    """For selected arguments, the order of dimensions in memory that is fastest, outermost first.

    Args:
        graph: The graph to run.
        arguments: The arguments of `run`; the arguments at `places` are in C order.
        lengths: The value of every symbol in the graph.
        places: The positions of the arguments whose order is free.
    """
    orders = _installed.get("chosen_orders", lambda *_: {})
    found: Mapping[int, tuple[int, ...]] = orders(graph, arguments, lengths, places)
    return found


def in_arrays(values: Sequence[Any]) -> Sequence[Any]:
    """The values, with NumPy arrays in place of containers of other libraries.

    Raises:
        GraphTypeError: a container does not hold numbers of a NumPy dtype, or is not an array.
        GraphValueError: elements are missing, or pandas would align the operands first.
    """
    for one in values:
        kind: Any = type(one)
        library = library_of(kind)
        if library is not None and library.arrays is not None:
            return library.arrays(values)
    return values


def by_names(name: str, *given: Any) -> Any:
    """The result of a function for DataArrays, whose dimensions are matched by name.

    Args:
        name: The function's name in `interop/named_dimensions.py`.
        given: The arguments of the function.
    """
    return _installed["by_names"](name, *given)


def lower(graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]) -> Any:
    """Return all stages of lowering, without running the graph."""
    return _installed["lower"](graph, arguments, lengths)


def run(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[np.ndarray, ...]:
    """The results of a graph, as new arrays, after its writes into the arguments.

    Args:
        graph: The graph to run; inputs are numbered in the order of `arguments`.
        arguments: An array or number for each input, with the dtype and shape of the input.
        lengths: The value of every symbol in the graph.
    """
    runner = _installed.get("run") or _evaluate
    results: list[np.ndarray] = []
    for value in runner(graph, arguments, lengths):
        # An output may be the same array as another output, or a view of it.
        shared = any(np.may_share_memory(value, result) for result in results)
        results.append(value.copy() if shared else value)
    return tuple(results)


def in_block(function: Callable[[], Result]) -> Result:
    """The result of a function that runs graphs of blocks, on `config.worker_threads` threads.

    Its new NumPy arrays have recycled memory, as results of kernels have.
    """
    runner: Callable[[Callable[[], Result]], Result] | None = _installed.get("in_block")
    return function() if runner is None else runner(function)


def run_in_numpy(
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    given: Sequence[object] | None = None,
) -> list[np.ndarray]:
    """Call `evaluate_graph.run_in_numpy`, which is imported only when it is needed."""
    late = lazy_import("axiomjit.graph.evaluate_graph")
    values: list[np.ndarray] = late.run_in_numpy(graph, arguments, lengths, given)
    return values


def lend(
    function: Any, harmless: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> Callable[[], Any] | None:
    """A function that runs a call with lazy arrays; None if NumPy must run the call."""
    found: Callable[[], Any] | None = _installed["lend"](function, harmless, args, kwargs)
    return found


def _evaluate(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[np.ndarray, ...]:
    """The outputs of the evaluator, copied if they may share memory with arguments or constants."""
    taken = {id(argument) for argument in arguments}
    taken |= {id(node.array) for node in graph.nodes if isinstance(node, Constant)}
    values = [np.asarray(v, order="C") for v in run_in_numpy(graph, arguments, lengths)]
    # Every array with a base is a view; finding its owner is not worth the time.
    return tuple(v.copy() if v.base is not None or id(v) in taken else v for v in values)
