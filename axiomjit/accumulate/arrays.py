"""Programs of arrays that are at hand: symbols for their lengths, a graph, its results."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Final

import numpy as np

from axiomjit.algebra.dims import Dim, Scope, Symbol, bound, dim, named_length
from axiomjit.algebra.number_kinds import LENGTH, SMALL
from axiomjit.base.dtypes import supported
from axiomjit.base.origins import user_location
from axiomjit.graph.nodes import Graph, Input, Node

Build = Callable[[Sequence[Node]], Sequence[Node]]
LARGEST: Final = 64
"""Graphs of one function that are kept."""


class Given:
    """Arrays as arguments of a graph: equal lengths are one symbol, small ones stand as they are.

    Args:
        values: Arrays, numbers, or what NumPy makes arrays of.
        asked: What is called, for errors.

    Raises:
        GraphTypeError: elements of a type that is not compiled.
    """

    def __init__(self, values: Sequence[object], asked: str) -> None:
        """Name the lengths."""
        self.arrays = [np.asarray(value) for value in values]
        where = user_location()
        dtypes = [supported(array.dtype, asked, where) for array in self.arrays]
        lengths: dict[int, Dim] = {}
        self.symbols: dict[Symbol, int] = {}
        for n in dict.fromkeys(n for array in self.arrays for n in array.shape):
            lengths[n] = dim(n) if n <= SMALL else named_length(f"n{len(self.symbols)}")
            if n > SMALL:
                self.symbols[Symbol(f"n{len(self.symbols)}", LENGTH)] = n
        shapes = [tuple(lengths[n] for n in array.shape) for array in self.arrays]
        self.inputs = tuple(
            Input(dtype, k, shape)
            for k, (dtype, shape) in enumerate(zip(dtypes, shapes, strict=True))
        )

    @property
    def key(self) -> Hashable:
        """What decides which graph is built."""
        return self.inputs

    def graph(self, build: Build) -> tuple[Graph, bool]:
        """What `build` makes of the arrays; and whether it holds for all of this key."""
        scope = Scope(self.symbols)
        with bound(scope):
            made = build(self.inputs)
        return Graph(self.inputs, tuple(made)), not scope.guards
