"""The table of rules by NumPy function, which all front ends use.

A rule takes the arguments of the NumPy function, with arrays as nodes, and returns a node or a
tuple of nodes. If an option is not compiled, the rule raises an error that names the option. Each
family of functions has its own file.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from axiomjit.base.dtypes import is_complex
from axiomjit.base.locks import LazyRegistry, lazy_import
from axiomjit.graph import builder
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import WHERE
from axiomjit.numpy_rules import creation, elementwise, joins, reductions, shapes
from axiomjit.numpy_rules.elementwise import clip, conjugated, copied
from axiomjit.numpy_rules.options import UNGIVEN, Rule, only_defaults


def _dot(a: object, b: object, out: object = None) -> Node:
    only_defaults("dot", out=out)
    return builder.dot(builder.as_node(a, "dot"), builder.as_node(b, "dot"))


def _conj(a: object) -> Node:
    """The rule of the method `conj`, which returns real arrays unchanged."""
    node = builder.as_node(a, "conj")
    return conjugated(node) if is_complex(node.dtype) else node


def _where(condition: object, x: object = UNGIVEN, y: object = UNGIVEN) -> Node | tuple[Node, ...]:
    if x is UNGIVEN and y is UNGIVEN:
        made: tuple[Node, ...] = lazy_import("axiomjit.numpy_rules.indexing").nonzero(condition)
        return made
    if x is UNGIVEN or y is UNGIVEN:
        raise ValueError("either both or neither of x and y should be given")
    mask, *values = (builder.as_node(value, "where") for value in (condition, x, y))
    return builder.elementwise(WHERE, as_mask(mask), *values)


_FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.dot: _dot,
    np.where: _where,
    np.copy: copied,
    np.clip: clip,
    **elementwise.FUNCTIONS,
    **creation.FUNCTIONS,
    **reductions.FUNCTIONS,
    **shapes.FUNCTIONS,
    **joins.FUNCTIONS,
}
_METHODS: Final[dict[str, Rule]] = {
    **reductions.METHODS,
    "dot": _dot,
    "conj": _conj,
    "conjugate": _conj,
    "clip": lambda a, min=None, max=None, out=None: clip(a, min, max, out),
    "copy": lambda a, order="C": copied(a, order),
    **elementwise.METHODS,
    **shapes.METHODS,
    **joins.METHODS,
}


def _lazy_rules(names: str) -> list[str]:
    """The names of modules with rules that few programs need; they are imported on first use."""
    return [f"axiomjit.numpy_rules.{name}" for name in names.split()]


FUNCTIONS: Final = LazyRegistry(
    _FUNCTIONS,
    "FUNCTIONS",
    *_lazy_rules("einsum fft indexing library linalg neighbours sorting statistics"),
)
METHODS: Final = LazyRegistry(
    _METHODS, "METHODS", *_lazy_rules("library indexing neighbours sorting")
)
SCANS: Final[LazyRegistry[np.ufunc, Rule]] = LazyRegistry({}, "SCANS", *_lazy_rules("library"))
"""For each ufunc, the rule of its `accumulate`."""
REDUCEATS: Final = reductions.REDUCEATS
"""For each ufunc, the rule of its `reduceat`."""
