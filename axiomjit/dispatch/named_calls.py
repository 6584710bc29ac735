"""Calls of a compiled function with named arrays: the function is traced with tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any

from axiomjit.axis.named_arrays import NamedArray
from axiomjit.axis.tensors import Tensor, placeholder
from axiomjit.axis.transformers import Computation, leaf_key
from axiomjit.base.counters import Clock, stage
from axiomjit.base.errors import NeedsValuesError, UnboundError
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.dispatch.arguments import CallArguments, Forget, exact_layout, statics_key
from axiomjit.dispatch.caches import CompiledCall
from axiomjit.dispatch.retrace_reasons import Aspects, labelled_in, short_text, static_aspects
from axiomjit.symbolic.dims import Dim, Symbol

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Lowered


def named_key(call: CallArguments, forget: Forget | None = None) -> tuple[object, ...]:
    """The key of a call with named arrays: axes and dtypes, and the values of numbers.

    Numbers among the arguments are constants of the program, so a different value causes a new
    trace.

    Raises:
        GraphTypeError: an argument is an array without axes.
    """
    leaves = tuple(map(leaf_key, call.dynamic, call.names))
    return "named", call.structure_key, leaves, statics_key(call, forget)


def exact_named_key(call: CallArguments, forget: Forget | None = None) -> object:
    """The key for the exact layout of a call with named arrays."""
    return named_key(call, forget), exact_layout([leaf.values for leaf in _arrays(call.dynamic)])


class NamedProgram:
    """A function traced with tensors in place of named arrays."""

    def __init__(self, function: Callable[..., Any], call: CallArguments, clock: Clock) -> None:
        """Trace the function for a call; the clock counts the compile time."""
        self._clock = clock
        leaves = [
            placeholder(leaf.axes, leaf.dtype) if isinstance(leaf, NamedArray) else leaf
            for leaf in call.dynamic
        ]
        whole: Any = unflatten_tree(call.structure, iter(call.leaves(leaves)))
        with stage("following"):
            try:
                returned = function(*whole[0], **whole[1])
            except UnboundError as error:
                seen = "a named array of a compiled function, which is followed once for all values"
                remedy = "use operations of axes (x.T, x + y, x[{axis: 0}]), or call it outside"
                raise NeedsValuesError(error.asked, seen, remedy, error.where) from None
            results, self._structure = flatten_tree(returned)
        outputs = [leaf for leaf in results if isinstance(leaf, Tensor)]
        placeholders = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
        self._computation = Computation(outputs, placeholders, named=True)
        numbers = count()
        self._leaves = tuple(
            (next(numbers), None) if isinstance(leaf, Tensor) else (None, leaf) for leaf in results
        )

    @property
    def pins(self) -> Mapping[Dim, int]:
        """An empty mapping, since the program fixes no lengths."""
        return {}

    def fits(self, lengths: Mapping[Symbol, int]) -> bool:
        """Return True, since the key determines the program."""
        return True

    def is_stale(self) -> bool:
        """Return False, since the axes of the arguments never change."""
        return False

    def compiled_call(self) -> CompiledCall:
        """The compiled call for any layout; the computation itself has one plan per layout."""
        return CompiledCall(self, True, structure=self._structure, leaves=self._leaves)

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> Sequence[NamedArray]:
        """The named arrays that the tensors of the return value evaluate to."""
        with self._clock.running():
            values: Sequence[NamedArray] = self._computation(*_arrays(arguments))
        return values

    def lower(self, call: CallArguments) -> Lowered:
        """All stages of the computation for these arguments."""
        lowered: Lowered = self._computation.lower(*_arrays(call.dynamic))
        return lowered


def run_and_unflatten_named(compiled: CompiledCall, arguments: Sequence[object]) -> object:
    """Run the plan, and build the return value, with named arrays in place of tensors."""
    results = compiled.runnable.run(arguments)
    leaves = (value if number is None else results[number] for number, value in compiled.leaves)
    return unflatten_tree(compiled.structure, leaves)


def _arrays(arguments: Sequence[object]) -> list[NamedArray]:
    return [leaf for leaf in arguments if isinstance(leaf, NamedArray)]


def named_aspects(call: CallArguments) -> dict[str, Aspects]:
    """The aspects of a call with named arrays (see `aspects_of`); a number is a constant."""
    found: dict[str, Aspects] = {}
    for name, leaf in zip(call.names, call.dynamic, strict=True):
        if isinstance(leaf, NamedArray):
            axes = (": axes ", leaf.axes, repr(leaf.axes))
            parts: Aspects = (axes, (": dtype ", leaf.dtype, str(leaf.dtype)))
        else:
            shown = short_text(leaf)
            parts = (("=", (type(leaf), shown), shown),)
        found[labelled_in(found, f"argument {name}")] = parts
    return found | static_aspects(call)
