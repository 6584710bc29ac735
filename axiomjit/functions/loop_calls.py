"""The calls of `fori_loop` and its siblings, apart since their bodies are traced functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

from axiomjit.tracing.loop_functions import cond, fori_loop, scan, while_loop


def _fori_loop(calls: Any, lower: Any, upper: Any, body: Any, init: Any) -> Any:
    return fori_loop(lower, upper, partial(calls.call, body), init)


def _while_loop(calls: Any, cond: Any, body: Any, init: Any) -> Any:
    return while_loop(partial(calls.call, cond), partial(calls.call, body), init)


def _cond(calls: Any, pred: Any, true_fn: Any, false_fn: Any, *operands: Any) -> Any:
    return cond(pred, partial(calls.call, true_fn), partial(calls.call, false_fn), *operands)


def _scan(calls: Any, f: Any, init: Any, xs: Any, length: Any = None) -> Any:
    return scan(partial(calls.call, f), init, xs, length)


LOOPS: Final[dict[Callable[..., Any], Callable[..., Any]]] = {
    fori_loop: _fori_loop,
    while_loop: _while_loop,
    cond: _cond,
    scan: _scan,
}
"""The functions of loops and branches, with what a trace calls in their place."""
