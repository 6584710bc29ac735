"""Random numbers in a traced function: each draw is a step of the program, run in each call.

A `TracedGenerator` stands for a generator. All draws, even draws whose numbers are not used, happen
in the order of the function: each draw has the previous draw as an operand, and the last draw is
always computed. The shape and dtype of a draw are inferred from the same draw by another generator.

The draws of a generator that the function makes with a seed are the same in every call, so they
happen once, in the trace. From the first draw in a region on, they are steps of the program, too: a
step before the region gives the generator the state that it has there.
"""

from __future__ import annotations

import copy
import inspect
import threading
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import CODES, FLOAT
from axiomjit.base.errors import ImpureError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import current, refused
from axiomjit.graph.closing import NeededBefore
from axiomjit.graph.external_calls import ArrayFunction, Lengths, ProbedCall, stored
from axiomjit.graph.library_operations import Labels, LibraryOperation, OperandArrays
from axiomjit.graph.nodes import Constant, Node, Op, note
from axiomjit.graph.primitives import ALL
from axiomjit.symbolic.data_dependent import OtherResultError, data_dependent_in
from axiomjit.symbolic.dims import Dim, current_scope, dim, product
from axiomjit.symbolic.index_maps import iterator
from axiomjit.tracing.external_calls import MutatedOperand, bound_call, infer_by_probe, mutated_call
from axiomjit.tracing.generators import METHODS, Represents
from axiomjit.tracing.lengths import SymbolicInt, known_numbers, unwrap
from axiomjit.tracing.operators import traced_in
from axiomjit.tracing.tracer import Tracer, new_array
from axiomjit.tracing.writes import write_item

DRAW_WEIGHT: Final = 8
"""The cost of one random number, in additions."""
TRIED: Final = 4096
"""The largest number of values that are drawn while tracing to infer the dtype of a draw."""
WITH_SIZES: Final = {"rand": "random_sample", "randn": "standard_normal"}
"""For each legacy function whose arguments are lengths, the function that takes them as `size`."""
_STATES: Final = frozenset({"bit_generator", "_bit_generator", "get_state"})
"""Attributes that give the state of a generator."""


class MadeGenerator(threading.local):
    """A generator that a program makes in each call; each thread that runs the program has its own.

    `get_state` and `set_state` do nothing, since no state outlives a call.
    """

    def __init__(self, first: Any) -> None:
        """Store a generator whose present state is the state at the beginning."""
        self._generator = copy.deepcopy(first)
        self._first = _state_of(self._generator)

    def restart(self, operands: object, labels: object, out: np.ndarray) -> None:
        """Set the state at the beginning, as a step of the program."""
        _set_state(self._generator, self._first)
        out[...] = 0

    def call(self, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """Call a method of the generator."""
        return getattr(self._generator, name)(*args, **kwargs)

    def get_state(self, legacy: bool = True) -> None:
        """Return None."""

    def set_state(self, state: None) -> None:
        """Do nothing."""


class TracedGenerator(Represents):
    """Represents a generator of random numbers while a function is traced."""

    def __init__(self, generator: Any, is_made: bool = False) -> None:
        """Represent a `numpy.random.Generator` or `RandomState`.

        Args:
            generator: The generator.
            is_made: True if the function has made the generator with a seed.
        """
        self._generator, self._is_made, self._is_known = generator, is_made, is_made
        self._drawn_from = generator

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        return type(self._generator)

    def __getattr__(self, name: str) -> Any:
        if self._is_made and name in _STATES:
            _refuse(name, "the state of a generator that the function has made")
        method = getattr(self._generator, name)
        return partial(self._drawn, name) if name in METHODS and callable(method) else method

    def __deepcopy__(self, memo: object) -> Any:
        """A copy of the generator, for a function that returns or stores it.

        Raises:
            ImpureError: the program draws from the generator.
        """
        if not self._is_known:
            _refuse("copy", "a generator whose state the program decides")
        return copy.deepcopy(self._generator)

    def _method(self, name: str) -> Callable[..., Any]:
        """The method of the generator that a program calls."""
        if type(self._drawn_from) is MadeGenerator:
            return partial(self._drawn_from.call, name)
        return getattr(self._generator, name)  # type: ignore[no-any-return]

    def _begin(self) -> None:
        """Make the later draws steps of the program, after a step that sets the present state."""
        self._is_known, self._drawn_from = False, MadeGenerator(self._generator)
        _step(self._drawn_from, "restart", self._drawn_from.restart, (), FLOAT)

    def _drawn_now(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """The result of a draw whose numbers are the same in every call."""
        given = [known_numbers(one) for one in args]
        named = {key: known_numbers(value) for key, value in kwargs.items()}
        found = getattr(self._generator, name)(*given, **named)
        return [TracedGenerator(one, True) for one in found] if name == "spawn" else found

    def _drawn(self, name: str, *args: Any, **kwargs: Any) -> Any:
        """Record a call that draws numbers; the result is a number, an array or None.

        Raises:
            NeededBefore: the first draw in a region, if earlier draws were no steps.
        """
        following = current()
        if following is None:
            return getattr(self._generator, name)(*args, **kwargs)
        if self._is_known and following.region is not None:
            raise NeededBefore("a random draw", self._begin)
        if self._is_known and not traced_in([*args, *kwargs.values()]):
            return self._drawn_now(name, args, kwargs)
        if self._is_known:
            self._begin()
        if name in WITH_SIZES:
            name, args = WITH_SIZES[name], (args or None,)
        inside = [*args, *kwargs.values()]
        traced = bool(args) and isinstance(args[0], Tracer)
        if name in ("set_state", "spawn") or (name == "shuffle" and not traced):
            _refuse(name, "a state that it sets, or a write into an array from outside")
        if traced_in(inside):
            return self._drawn_with(name, args, kwargs)
        method, signature = self._method(name), inspect.signature(getattr(self._generator, name))
        given = signature.bind(*args, **kwargs).arguments
        size = given.pop("size", None)
        own = () if size is None else tuple(map(_length, _sequence_of_lengths(size)))
        given = {key: known_numbers(value) for key, value in given.items()}
        sized = {} if size is None else {"size": _tried_size(own)}
        found = getattr(_another(self._generator), name)(**given, **sized)
        if name == "seed":
            _step(self._drawn_from, name, partial(_seed, method, given), (), FLOAT)
            return None
        number = type(found) in (int, float)
        drawn = np.asarray(found)
        if not (number or isinstance(found, np.ndarray | np.generic)) or drawn.dtype not in CODES:
            _refuse(name, f"a result that is a {type(found).__name__}")
        if given.get("out") is not None:
            _refuse(name, "an array to write into")
        shape = (*own, *map(dim, drawn.shape[len(own) :]))
        draw, lengths = partial(method, **given), len(own) if sized else None
        evaluate: Any = _Draw(f"random.{name}", draw, lengths=lengths)
        if lengths == drawn.ndim > 0 and "out" in signature.parameters:
            evaluate = partial(_draw_into, draw)
        elif drawn.ndim == 0:
            evaluate = partial(_draw_number, draw)
        node = _step(self._drawn_from, name, evaluate, shape, drawn.dtype, number)
        return new_array(node) if isinstance(found, np.ndarray) else Tracer(node)

    def _drawn_with(self, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        """Record a draw with arrays: arrays to shuffle or to choose from, or parameters."""
        asked, kinds = f"random.{name}", set()
        if kwargs.get("out") is not None:
            _refuse(name, "an array to write into")

        def tried(*given: Any, **options: Any) -> Any:
            found = getattr(_another(self._generator), name)(*given, **options)
            kinds.add(type(found))
            return found

        method = self._method(name)
        if name == "shuffle":
            target: Any = args[0]
            call, operands = bound_call(MutatedOperand(method), asked, args, kwargs)
            probed = mutated_call(call, target)
            storage, part = target.storage, target.node
            node = _step_with(self._drawn_from, name, probed, operands, False)
            write_item(storage, part, node)
            return None
        call, operands = bound_call(tried, asked, args, kwargs)
        probed = infer_by_probe(call, operands)
        if len(probed.results) != 1:
            _refuse(name, "several results")
        real = probed.replace(call=call.replace(function=method))
        number = kinds <= {int, float}
        node = _step_with(self._drawn_from, name, real, operands, number)
        return new_array(node) if probed.results[0].is_array else Tracer(node)


def _state_of(generator: Any) -> Any:
    legacy = isinstance(generator, np.random.RandomState)
    return generator.get_state(legacy=False) if legacy else generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    if isinstance(generator, np.random.RandomState):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state


def _sequence_of_lengths(size: Any) -> Sequence[Any]:
    return size if isinstance(size, tuple | list) else (size,)


def _length(value: Any) -> Dim:
    return dim(unwrap(value) if isinstance(value, SymbolicInt) else int(value))


def _tried_size(size: tuple[Dim, ...]) -> tuple[int, ...]:
    """The size of a trial draw: this call's size if it is small, so that NumPy reports errors."""
    count = product(size)
    known = not data_dependent_in(count) and current_scope().value(count) <= TRIED
    return tuple(current_scope().value(n) if known else 1 for n in size)


def _another(generator: Any) -> Any:
    """A generator of the same kind whose numbers may be discarded."""
    if isinstance(generator, np.random.RandomState):
        return np.random.RandomState(0)
    return np.random.Generator(type(generator.bit_generator)(0))


def _refuse(name: str, seen: str) -> None:
    raise refused(
        ImpureError(
            f"random numbers by {name}",
            f"{seen}, which is no step of a compiled program",
            "draw them outside and pass them as an argument",
            user_location(),
        )
    )


def _step(
    generator: Any,
    name: str,
    evaluate: Callable[..., None],
    shape: tuple[Dim, ...],
    dtype: np.dtype[Any],
    number: bool = False,
) -> Node:
    """The node of a draw, computed after the previous draw; the value may be a Python number."""
    following = current()
    assert following is not None
    token, rank = _token(following.last), len(shape)
    operation = LibraryOperation(
        *(f"random.{name}", 1, evaluate, "", ALL),
        gives=dtype,
        keeps=not token.shape,
        additions=lambda shapes, labels: product(shapes[0][:rank]) * DRAW_WEIGHT,
        generator=generator,
        number=number,
    )
    index = tuple(iterator(rank + d) for d in range(len(token.shape)))
    extents = (*shape, *token.shape)
    following.last = note(Op(dtype, operation, None, (token,), (index,), extents, rank))
    return following.last


class _DrawnWith(Record):
    """Evaluates a draw with arrays; among the operands, the arrays follow the previous draw."""

    probed: ProbedCall

    def __call__(self, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
        """Draw into `out`.

        Raises:
            OtherResultError: NumPy refuses the arrays, or the result has another shape or dtype.
        """
        call = self.probed.call
        try:
            made = np.asarray(call.result_of(operands[1:]))
        except Exception as error:
            raise OtherResultError(f"{call.name} raises {type(error).__name__}: {error}") from error
        if (made.shape, made.dtype) != (out.shape, out.dtype):
            raise OtherResultError(f"{self.probed.call.name} gives {made.dtype}{made.shape}")
        out[...] = made


def _step_with(
    generator: Any, name: str, probed: ProbedCall, operands: Sequence[Node], number: bool
) -> Node:
    """The node of a draw with arrays, computed after the previous draw."""
    following = current()
    assert following is not None
    token = _token(following.last)
    (result,) = probed.results
    every = (token, *map(stored, operands))
    ranks = tuple(len(node.shape) for node in every)
    operation = LibraryOperation(
        *(f"random.{name}", len(every), _DrawnWith(probed), "", ALL),
        gives=result.dtype,
        weight=DRAW_WEIGHT,
        generator=generator,
        number=number,
        ranks=ranks,
        may_raise=True,
        is_speculative=True,
    )
    extents, maps = [*result.shape], []
    for node in every:
        maps.append(tuple(iterator(len(extents) + d) for d in range(len(node.shape))))
        extents += node.shape
    given = every, tuple(maps), tuple(extents), len(result.shape)
    following.last = note(Op(result.dtype, operation, None, *given))
    return following.last


def _token(before: object) -> Node:
    """The previous draw, on which the next draw depends."""
    return before if isinstance(before, Node) else Constant(FLOAT, np.zeros(()), ())


class _Draw(ArrayFunction):
    """Evaluates a draw; the first `lengths` dimensions of the result are the requested size.

    NumPy allocates the array itself, which saves a copy.
    """

    lengths: int | None = None

    @property
    def needs_shape(self) -> bool:
        """True if the draw gets a size."""
        return self.lengths is not None

    def bound(self, shape: Lengths) -> Callable[..., Any]:
        """The draw for a result of this shape, as a function of the previous draw."""
        asked = {} if self.lengths is None else {"size": shape[: self.lengths]}
        return partial(_after, partial(self.function, **asked))


def _draw_into(draw: Callable[..., Any], operands: object, labels: object, out: Any) -> None:
    """Draw into `out`; later calls use the memory of `out` again."""
    if out.flags.carray:
        draw(out=out)
    else:
        out[...] = draw(size=out.shape)


def _draw_number(draw: Callable[[], Any], operands: object, labels: object, out: Any) -> None:
    """Draw one number into existing memory, which is faster than making a new array."""
    out[()] = draw()


def _after(draw: Callable[[], Any], before: np.ndarray) -> Any:
    return draw()


def _seed(
    method: Callable[..., Any],
    given: dict[str, Any],
    operands: object,
    labels: object,
    out: np.ndarray,
) -> None:
    method(**given)
    out[...] = 0
