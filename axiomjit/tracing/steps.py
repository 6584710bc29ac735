"""Which calls of NumPy's functions may be steps that NumPy runs; `opaque` makes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.errors import (
    AxiomError,
    NeedsValuesError,
    TraceError,
    UnfollowedError,
    UnsupportedError,
)
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current, refused
from axiomjit.graph.describe import describe_call
from axiomjit.graph.nodes import Node
from axiomjit.tracing.operands import node_of

Function = Callable[..., Any]
Represented = Callable[[Node, bool], Any]
"""Makes what represents a node: an array, or a number."""

MISFITS: Final = (TypeError, AttributeError, KeyError, AssertionError)
"""Errors of rows that are given what they do not take."""
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


def misfit(name: str, args: Sequence[Any], error: Exception) -> UnfollowedError:
    """The error for arguments of a function that its row does not take; NumPy may take them."""
    made = UnfollowedError(
        describe_call(name, *map(node_of, args)),
        "arguments of kinds that are not compiled",
        "pass arrays and numbers as NumPy documents them, or call it outside the compiled function",
        user_location(),
    )
    made.__context__ = error
    return made


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
        try:
            return row(args, kwargs)
        except MISFITS as error:
            if following is None or isinstance(error, AxiomError):
                raise
            raise refused(misfit(name, args, error)) from None
    before = following.refusal
    try:
        return row(args, dict(kwargs))
    except UnsupportedError as error:
        refusal: TraceError = error.with_traceback(None)
        not_a_step: tuple[type[TraceError], ...] = (UnsupportedError,)
    except MISFITS as error:
        if isinstance(error, AxiomError):
            raise
        refusal = misfit(name, args, error)
        not_a_step = (UnsupportedError, NeedsValuesError)
    following.refusal = before
    try:
        return called_opaquely(function, name, args, dict(kwargs), represented)
    except not_a_step:
        following.refusal = before or refusal
        raise refusal from None


def called_opaquely(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """As `opaque.called_opaquely`, which is imported by the first such call."""
    made: object = lazy_import("axiomjit.tracing.opaque").called_opaquely(
        function, name, args, kwargs, represented
    )
    return made
