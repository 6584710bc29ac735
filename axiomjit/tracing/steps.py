"""Which calls of NumPy's functions may be steps that NumPy runs; `opaque` makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.errors import UnsupportedError
from axiomjit.base.locks import import_late
from axiomjit.base.owners import current
from axiomjit.graph.nodes import Node

Function = Callable[..., Any]
Represented = Callable[[Node, bool], Any]
"""Makes what represents a node: an array, or a number."""

OUTSIDE: Final = frozenset(
    {
        *(np.save, np.savez, np.savez_compressed, np.savetxt),
        *(np.array2string, np.array_repr, np.array_str),
        *(np.shares_memory, np.may_share_memory, np.einsum_path),
        *(np.ndarray.setflags, np.ndarray.resize, np.ndarray.setfield, np.ndarray.view),
    }
)
"""Functions that write files, make text, ask where arrays lie, or change what an array is."""


def is_step(function: Function) -> bool:
    """Whether a function may be a step of what is followed now."""
    following = current()
    known = following is not None and following.arguments is not None
    return known and config.fallback != "error" and function not in OUTSIDE


def or_opaquely(
    row: Callable[[Sequence[Any], dict[str, Any]], object],
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """What a row gives; where it refuses, what the function gives as a step of the program."""
    following = current()
    if following is None or not is_step(function):
        return row(args, kwargs)
    before = following.refusal
    try:
        return row(args, dict(kwargs))
    except UnsupportedError as error:
        refused = error.with_traceback(None)
    following.refusal = before
    try:
        return called_opaquely(function, name, args, dict(kwargs), represented)
    except UnsupportedError:
        following.refusal = before or refused
        raise refused from None


def called_opaquely(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """As `opaque.called_opaquely`, which is imported by the first such call."""
    made: object = import_late("axiomjit.tracing.opaque").called_opaquely(
        function, name, args, kwargs, represented
    )
    return made
