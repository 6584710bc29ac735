"""NumPy's functions that make arrays, as a followed function calls them: the arrays are traced.

So `o = np.zeros(x.shape); o[1:-1] = x[1:-1]` writes into a traced array. What the table does not
make (object arrays, Fortran order), and calls while nothing is followed, go to NumPy.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.algebra.chosen import chosen_in
from axiomjit.base.errors import AxiomError
from axiomjit.base.locks import import_late
from axiomjit.base.owners import current
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_table.creation import CONVERTERS, COUNTERS, MAKERS
from axiomjit.numpy_table.options import Row
from axiomjit.tracing.generators import METHODS, is_generator
from axiomjit.tracing.impure import MODULES, refusing, refusing_builtin
from axiomjit.tracing.impure import NAMES as IMPURE_NAMES
from axiomjit.tracing.lengths import Length
from axiomjit.tracing.operands import leaves_in, node_of
from axiomjit.tracing.rebinding import Rebinding, mentions
from axiomjit.tracing.tracer import Tracer, new_array

Maker = Callable[..., Any]


def _always(args: tuple[object, ...]) -> bool:
    return True


def _has_length(args: tuple[object, ...]) -> bool:
    return any(isinstance(value, Length) for value in args)


def _has_unknown(args: tuple[Any, ...]) -> bool:
    """Whether a traced array, or a length that only the running program knows, is given."""
    return any(map(_is_unknown, leaves_in(args[:1])))


def _is_unknown(value: Any) -> bool:
    kind = type(value)
    return issubclass(kind, TracedValue) or (
        issubclass(kind, Length) and bool(chosen_in(value.dim))
    )


def _making(function: Any, row: Row, wanted: Callable[[tuple[Any, ...]], bool]) -> Maker:
    """What makes a traced array where the row can and a call is wanted, else NumPy's function."""

    @functools.wraps(function)
    def made(*args: Any, **kwargs: Any) -> Any:
        if current() is None or not wanted(args):
            return function(*args, **kwargs)
        try:
            node = row(*map(node_of, args), **{k: node_of(v) for k, v in kwargs.items()})
        except (AxiomError, TypeError):  # NumPy says what is wrong with the arguments
            return function(*args, **kwargs)
        first: Any = args[0] if args else None
        same = isinstance(first, Tracer) and first.is_array and first.node is node
        return first if same else new_array(node)

    return made


CREATORS: Final[dict[Any, Maker]] = {
    function: _making(function, row, wanted)
    for rows, wanted in ((MAKERS, _always), (COUNTERS, _has_length), (CONVERTERS, _has_unknown))
    for function, row in rows.items()
}
"""Our functions by NumPy's."""
_NAMES: Final = (
    frozenset(function.__name__ for function in CREATORS) | METHODS | {"default_rng"} | IMPURE_NAMES
)


def concerns(function: object) -> bool:
    """Whether a function, or one that it calls, makes arrays, may draw numbers or ask the time."""
    return mentions(function, _NAMES, lambda v: is_generator(v) or refusing(v) is not v)


def new_rebinding() -> Rebinding:
    """What copies functions so that they have our functions and generators."""
    return Rebinding(ours, is_generator, generator_for, MODULES, refusing_builtin)


def generator_for(generator: Any) -> Any:
    """What stands for a generator of random numbers; few functions draw them."""
    return import_late("axiomjit.tracing.draws").TracedGenerator(generator)


def ours(function: Any) -> Any:
    """Our function for one of NumPy's or of Python's library; itself where there is none."""
    if function.__module__.startswith("numpy.random"):
        named = {"seed": _seed, "default_rng": _default_rng}
        return named.get(function.__name__) or refusing(function)
    return CREATORS.get(function) or refusing(function)


def _seed(*args: Any, **kwargs: Any) -> Any:
    """Do `np.random.seed`."""
    return generator_for(np.random.mtrand._rand).seed(*args, **kwargs)


def _default_rng(seed: Any = None) -> Any:
    """A generator without a seed draws other numbers in each call."""
    generator = np.random.default_rng(seed)
    return generator if seed is not None or current() is None else generator_for(generator)
