"""How doors force values: one call, behind which the driver puts the compiler.

Doors never import passes or runtime. They call `run`; the driver installs the compiled runner
with `install`, and without one the NumPy evaluator answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from axiomjit.base.guarded_calls import GuardedCall
from axiomjit.base.locks import import_late
from axiomjit.graph.nodes import Constant, Graph, post_order
from axiomjit.symbolic.dims import Symbol

Runner = Callable[[Graph, Sequence[object], Mapping[Symbol, int]], tuple[np.ndarray, ...]]

Lowerer = Callable[[Graph, Sequence[object], Mapping[Symbol, int]], Any]

Finish = Callable[[Sequence[np.ndarray]], Any]
Shortener = Callable[
    [GuardedCall[Any], Graph, Sequence[object], Mapping[Symbol, int], bool | None, Finish], None
]

Orderer = Callable[
    [Graph, Sequence[object], Mapping[Symbol, int], Sequence[int]], Mapping[int, tuple[int, ...]]
]

_runner: Runner | None = None
_orderer: Orderer | None = None
_shortener: Shortener | None = None
_lowerer: Lowerer | None = None


def install_runner(runner: Runner | None) -> Runner | None:
    """Let `runner` answer every `run` of this process; None brings the evaluator back.

    A runner returns arrays that share no memory with arguments, with arrays that the graph
    holds, or with results of earlier calls.

    Returns:
        The runner that was installed before.
    """
    global _runner
    before, _runner = _runner, runner
    return before


def install_shortener(shortener: Shortener) -> None:
    """Let `shortener` answer `shorten`."""
    global _shortener
    _shortener = shortener


def shorten(
    function: GuardedCall[Any],
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    in_tuple: bool | None,
    finish: Finish,
) -> None:
    """Let further calls like one that was just run be answered natively, where that is possible.

    Args:
        function: What is called, with these arguments and no others.
        graph: What it runs.
        arguments: As `run` had them.
        lengths: As `run` had them.
        in_tuple: Whether it returns all results in a tuple, or the only one as it is; None where
            it returns something else.
        finish: What it returns for the results of the graph.
    """
    if _shortener is not None and _runner is not None:
        _shortener(function, graph, arguments, lengths, in_tuple, finish)


def install_orderer(orderer: Orderer) -> None:
    """Let `orderer` answer `chosen_orders`."""
    global _orderer
    _orderer = orderer


def chosen_orders(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int], places: Sequence[int]
) -> Mapping[int, tuple[int, ...]]:
    """The order in memory, outermost dimension first, in which some arguments are read fastest.

    Args:
        graph: What is computed.
        arguments: As `run` has them; those at `places` are in C order.
        lengths: As `run` has them.
        places: The positions of arguments whose order may be chosen.
    """
    return {} if _orderer is None else _orderer(graph, arguments, lengths, places)


def install_lowerer(lowerer: Lowerer) -> None:
    """Let `lowerer` answer `lower`."""
    global _lowerer
    _lowerer = lowerer


def lower(graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]) -> Any:
    """Return every stage of lowering, as the driver shows it; nothing is run."""
    assert _lowerer is not None, "importing axiomjit installs one"
    return _lowerer(graph, arguments, lengths)


def run(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[np.ndarray, ...]:
    """The results of a graph, as fresh arrays; its writes are done in the arguments.

    Args:
        graph: What to compute; inputs are numbered in the order of `arguments`.
        arguments: One array or number per input, of the input's dtype and shape.
        lengths: The length of every symbol in the graph.
    """
    runner = _runner or _evaluate
    results: list[np.ndarray] = []
    for value in runner(graph, arguments, lengths):
        # An output may be the same array as another one, or a view of it.
        shared = any(np.may_share_memory(value, result) for result in results)
        results.append(value.copy() if shared else value)
    return tuple(results)


def run_in_numpy(
    graph: Graph,
    arguments: Sequence[object],
    lengths: Mapping[Symbol, int],
    given: Sequence[object] | None = None,
) -> list[np.ndarray]:
    """As `evaluate_graph.run_in_numpy`, which is imported where nothing can be compiled."""
    late = import_late("axiomjit.graph.evaluate_graph")
    values: list[np.ndarray] = late.run_in_numpy(graph, arguments, lengths, given)
    return values


def _evaluate(
    graph: Graph, arguments: Sequence[object], lengths: Mapping[Symbol, int]
) -> tuple[np.ndarray, ...]:
    """The evaluator's outputs, copied if they share memory with arguments or held arrays."""
    taken = {id(argument) for argument in arguments}
    taken |= {id(node.array) for node in post_order(graph.outputs) if isinstance(node, Constant)}
    values = [np.asarray(v, order="C") for v in run_in_numpy(graph, arguments, lengths)]
    # Every array with a base is a view; finding out of which memory is not worth the time.
    return tuple(v.copy() if v.base is not None or id(v) in taken else v for v in values)
