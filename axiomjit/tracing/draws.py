"""Random numbers in a followed function: each draw is a step of the program, done at each call.

A generator that the function has from outside is represented by a `TracedGenerator`. Draws happen
in the order of the program, also those that nobody uses: each has the one before as an operand, and
the last one is computed in any case. Shape and dtype are found by one draw of another generator.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.algebra.dims import Dim, dim, product
from axiomjit.algebra.index_maps import iterator
from axiomjit.base.dtypes import CODES, FLOAT
from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.owners import current, refused
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Held, Node, Op
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import ALL
from axiomjit.tracing.lengths import Length, unwrap
from axiomjit.tracing.operands import traced_in
from axiomjit.tracing.tracer import Tracer, new_array

WEIGHT: Final = 8
"""Additions that one random number costs."""
WITH_SIZES: Final = {"rand": "random_sample", "randn": "standard_normal"}
"""Legacy functions whose arguments are the lengths, and those that take them as `size`."""

_METHODS: Final = """
    beta binomial bytes chisquare choice dirichlet exponential f gamma geometric gumbel
    hypergeometric integers laplace logistic lognormal logseries multinomial
    multivariate_hypergeometric multivariate_normal negative_binomial noncentral_chisquare
    noncentral_f normal pareto permutation permuted poisson power rand randint randn random
    random_integers random_sample rayleigh seed set_state shuffle spawn standard_cauchy
    standard_exponential standard_gamma standard_normal standard_t tomaxint triangular uniform
    vonmises wald weibull zipf
"""
METHODS: Final = frozenset(_METHODS.split())
"""Methods of generators, which draw numbers or change a state."""


def is_generator(value: object) -> bool:
    """Whether an object is one of NumPy's generators; `numpy.random` may not be imported yet."""
    kind = type(value)
    numpys = kind.__module__.startswith("numpy.random")
    return numpys and kind.__name__ in ("Generator", "RandomState")


class TracedGenerator:
    """Represents a generator of random numbers while a function is followed."""

    def __init__(self, generator: Any) -> None:
        """Stand for a `numpy.random.Generator` or `RandomState`."""
        self._generator = generator

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._generator)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._generator, name)
        return partial(self._drawn, name) if name in METHODS and callable(method) else method

    def _drawn(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Record a draw; as NumPy, a number, an array, or nothing where a seed is set."""
        if current() is None:
            return getattr(self._generator, name)(*args, **kwargs)
        if name in WITH_SIZES:
            name, args = WITH_SIZES[name], (args or None,)
        inside = [*args, *kwargs.values()]
        if name in ("shuffle", "set_state", "spawn") or traced_in(inside):
            _refuse(name, "values that are computed in it, or writes into an array")
        method = getattr(self._generator, name)
        given = inspect.signature(method).bind(*args, **kwargs).arguments
        size = given.pop("size", None)
        own = () if size is None else tuple(map(_length, _several(size)))
        given = {key: _at_hand(value) for key, value in given.items()}
        sized = {} if size is None else {"size": (1,) * len(own)}
        found = getattr(_another(self._generator), name)(**given, **sized)
        if name == "seed":
            _step(name, partial(_seed, method, given), (), FLOAT)
            return None
        dtype = getattr(found, "dtype", None)
        if dtype not in CODES or given.get("out") is not None:
            _refuse(name, f"a result that is a {type(found).__name__}")
        shape = (*own, *map(dim, found.shape[len(own) :]))
        evaluate = partial(_draw, method, given, len(own) if sized else None)
        node = _step(name, evaluate, shape, found.dtype)
        return new_array(node) if isinstance(found, np.ndarray) else Tracer(node)


def _several(size: Any) -> Sequence[Any]:
    return size if isinstance(size, tuple | list) else (size,)


def _length(value: Any) -> Dim:
    return dim(unwrap(value) if isinstance(value, Length) else int(value))


def _at_hand(value: Any) -> Any:
    return int(value) if isinstance(value, Length) else value


def _another(generator: Any) -> Any:
    """A generator of the same kind, of which numbers may be drawn for nothing."""
    if isinstance(generator, np.random.RandomState):
        return np.random.RandomState(0)
    return np.random.Generator(type(generator.bit_generator)(0))


def _refuse(name: str, seen: str) -> None:
    raise refused(
        NeedsValuesError(
            f"random numbers by {name}",
            f"{seen}, which is no step of a compiled program",
            "draw them outside and pass them as an argument, or draw arrays with size=",
            user_location(),
        )
    )


def _step(
    name: str, evaluate: Callable[..., None], shape: tuple[Dim, ...], dtype: np.dtype[Any]
) -> Node:
    """The node of a draw, computed after the one before."""
    following = current()
    assert following is not None
    before = following.last
    token = before if isinstance(before, Node) else Held(FLOAT, np.zeros(()), ())
    rank = len(shape)
    operation = LibraryOperation(
        *(f"random.{name}", 1, evaluate, "", ALL),
        gives=dtype,
        keeps=not token.shape,
        additions=lambda shapes, labels: product(shapes[0][:rank]) * WEIGHT,
    )
    index = tuple(iterator(rank + d) for d in range(len(token.shape)))
    extents = (*shape, *token.shape)
    following.last = note(Op(dtype, operation, None, (token,), (index,), extents, rank))
    return following.last


def _draw(
    method: Callable[..., Any],
    given: dict[str, Any],
    lengths: int | None,
    operands: object,
    labels: object,
    out: np.ndarray,
) -> None:
    """Draw random numbers; the first `lengths` dimensions are the size that is asked for."""
    out[...] = method(**given) if lengths is None else method(**given, size=out.shape[:lengths])


def _seed(
    method: Callable[..., Any],
    given: dict[str, Any],
    operands: object,
    labels: object,
    out: np.ndarray,
) -> None:
    """Start a generator again."""
    method(**given)
    out[...] = 0
