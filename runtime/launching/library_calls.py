"""Steps of plans that a library computes, on views of the buffers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final

from axiomjit.base.counters import counter
from axiomjit.base.errors import AxiomError
from axiomjit.passes.ir.plan_ir import Buffer, Call
from axiomjit.runtime.launching.blas import is_limited, limited, share_parts
from axiomjit.runtime.launching.bound_steps import Action
from axiomjit.runtime.launching.windows import Array, Arrays, BoundWindow
from axiomjit.symbolic.data_dependent import OtherLengthError, data_dependent_in
from axiomjit.symbolic.dims import Symbol, Values, evaluate
from axiomjit.symbolic.index_maps import at_lengths

count_call: Final = counter("library_calls")


class CallForm:
    """A library operation of a plan, for any lengths."""

    __slots__ = ("buffers", "step")

    def __init__(self, step: Call, buffers: Mapping[str, Buffer]) -> None:
        """Keep the step, and the buffers of its plan."""
        self.step, self.buffers = step, buffers

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Action:
        """The step for these lengths."""
        return (Making if self.step.makes else Calling)(self, lengths)


class Calling:
    """A library operation for certain lengths, which writes into memory that there is."""

    __slots__ = ("_bounds", "_operations", "_step", "compute", "operands", "targets")

    compute: Callable[..., None]
    """Writes results, given the arrays of operands and targets."""

    def __init__(self, form: CallForm, lengths: Mapping[Symbol, int]) -> None:
        """Find the windows at these lengths."""
        step, buffers = form.step, form.buffers
        self._step = step
        self.operands = [BoundWindow(window, buffers, lengths) for window in step.operands]
        self._operations = [step.operation, *(operation for operation, _ in step.more)]
        self.targets = [BoundWindow(window, buffers, lengths) for window in step.targets]
        self._bounds = at_lengths(step.conditions, lengths)
        shared = step.more or step.operation.parts is not None
        self.compute = self._compute_all if shared else self._compute_one

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Do it."""
        seen = [operand.of(arrays, beyond=bool(self._bounds)) for operand in self.operands]
        self.compute(*seen, *[target.of(arrays) for target in self.targets])

    @property
    def is_within(self) -> bool:
        """Whether all operands are inside their memory."""
        return not self._bounds

    def _compute_one(self, *arrays: Array) -> None:
        count_call()
        step = self._step
        try:
            if is_limited():
                with limited():
                    step.operation.evaluate(arrays[:-1], step.labels, arrays[-1])
            else:
                step.operation.evaluate(arrays[:-1], step.labels, arrays[-1])
        except Exception as error:
            raise _located(error, step.where) from None

    def _compute_all(self, *arrays: Array) -> None:
        count_call()
        step, count = self._step, len(self.operands)
        seen, targets = arrays[:count], arrays[count:]
        for operation, target in zip(self._operations, targets, strict=True):
            if operation.parts is not None:
                share_parts(*operation.parts(seen, step.labels, target, self._bounds))
                continue
            try:
                with limited() if is_limited() else nullcontext():
                    operation.evaluate(seen, step.labels, target)
            except Exception as error:
                raise _located(error, step.where) from None


class Making:
    """A function that makes its results, each of which becomes a buffer of the plan."""

    __slots__ = ("_function", "_results", "_where", "operands", "targets")

    def __init__(self, form: CallForm, lengths: Mapping[Symbol, int]) -> None:
        """Find the windows at these lengths."""
        step, buffers = form.step, form.buffers
        self._where = step.where
        self.operands = [BoundWindow(window, buffers, lengths) for window in step.operands]
        self.targets = [window.buffer for window in step.targets]
        self._results: list[tuple[Any, Any, Any]] = []
        functions: list[Any] = [step.operation.evaluate, *(one.evaluate for one, _ in step.more)]
        for function, window in zip(functions, step.targets, strict=True):
            shape = tuple(
                None if data_dependent_in(n) - set(lengths) else evaluate(n, lengths)
                for n in window.shape
            )
            self._results.append((function, window.dtype, shape))
        self._function = functions[0].bound(self._results[0][2])

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Do it."""
        made = self.make(*[operand.of(arrays) for operand in self.operands])
        arrays.update(zip(self.targets, made, strict=True))

    def make(self, *seen: Array) -> tuple[Array, ...]:
        """The results, given the operands: arrays of their own in C order."""
        count_call()
        try:
            if is_limited():
                with limited():
                    made = self._function(*seen)
            else:
                made = self._function(*seen)
            found = [function.alone(made, dtype, shape) for function, dtype, shape in self._results]
        except Exception as error:
            raise _located(error, self._where) from None
        for k, one in enumerate(found):
            for operand in seen:
                if operand is one:
                    found[k] = one.copy()
        return tuple(found)


def _located(error: Exception, where: str | None) -> Exception:
    """An error of a library, with the user's line."""
    if isinstance(error, AxiomError):
        return error.at(where)
    if where is not None and not isinstance(error, OtherLengthError):
        error.add_note(f"at {where}")
    return error
