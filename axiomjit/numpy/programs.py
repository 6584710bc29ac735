"""Programs of segments, which NumPy runs until compilation saves time.

A program is compiled when NumPy has spent more time on it than the compilation is estimated to
take; so a segment that runs once costs as much as in NumPy. Before the compilation, operations
whose last bits differ from NumPy's run as kernels of a single operation. So the bits of a result do
not depend on the number of runs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from time import perf_counter
from typing import Any, Final

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.dtypes import is_inexact
from axiomjit.base.error_states import (
    Harmless,
    error_state,
    user_traps_errors,
    without_traps,
)
from axiomjit.base.errors import AxiomError
from axiomjit.base.locks import lazy_import
from axiomjit.numpy.at_once import note_refused
from axiomjit.numpy.numpy_texts import numpy_lines
from axiomjit.numpy.operations import FUNCTIONS, UFUNC_METHODS, Operation
from axiomjit.numpy.paths import State
from axiomjit.numpy.statements import Writer
from axiomjit.runtime.memory.allocation import with_recycling

COMPILE_S: Final = 0.05
"""The number of seconds to compile a segment, without the seconds for its statements."""
STATEMENT_S: Final = 0.004
"""The number of seconds to trace, lower and compile one statement."""
LOWER_S: Final = 0.001
"""The number of seconds to trace and lower one statement."""
MAX_PROGRAMS: Final = 2000
FILE_NAME: Final = "<axiomjit.numpy segment>"


class Program:
    """A segment as a function, which runs in NumPy at first, and compiled later.

    Attributes:
        text: The text of the function, whose parameters are leaves and varying numbers.
        spent_s: The number of seconds that NumPy has spent on the program.
        is_compiled: True if calls run compiled code.
    """

    def __init__(
        self, text: str, in_numpy: str, functions: Any, only_gathers: bool = False
    ) -> None:
        """Take the text to compile, and the text that NumPy runs, with `functions` as `np`.

        A program that only gathers is not compiled, since NumPy gathers as fast as kernels.
        """
        self.text = text
        self.spent_s = 0.0
        self.is_compiled = self._is_refused = False
        self._was_lowered = False
        self._only_gathers = only_gathers
        self._lowering_s = LOWER_S * text.count("\n")
        self._estimate_s = COMPILE_S + STATEMENT_S * text.count("\n")
        self._plain = _function(in_numpy, functions)
        self._jitted: Any = None

    def run(self, arguments: Sequence[Any]) -> Sequence[Any]:
        """The values that the segment returns for these arguments.

        The current error state of NumPy applies to later operations, not to recorded operations.
        """
        if error_state() is not Harmless.state and user_traps_errors():
            with without_traps():
                return self.run(arguments)
        refusal = None
        if self.spent_s > self._lowering_s and not self.is_compiled:
            self._compile_if_faster(arguments)
        if self.is_compiled:
            try:
                found: Sequence[Any] = self._jitted(*arguments)
                return found
            except AxiomError as error:  # the error came before any write
                if config.fallback == "error":
                    raise
                if self.spent_s:  # NumPy has run the program without an error
                    self._refuse(error)
                else:
                    refusal = error
        start = perf_counter()
        with np.errstate(all="ignore"):
            found = with_recycling(self._plain, *arguments)
        self.spent_s += perf_counter() - start
        if refusal is not None:
            self._refuse(refusal)
        return found

    def _compile_if_faster(self, arguments: Sequence[Any]) -> None:
        """Compile the program if that saves time, or at once if its kernels are on disk.

        The program is compiled before a run, when the results have no memory yet.
        """
        if self._is_refused or config.disable or (self._only_gathers and config.lazy_from):
            return
        if self.spent_s > self._estimate_s:
            self.compile()
        elif not self._was_lowered:
            self._was_lowered = True
            try:
                kernels = self.compiled.lower(*arguments).kernels
            except AxiomError as error:
                self._refuse(error)
            else:
                known = lazy_import("axiomjit.runtime.codegen.kernel_cache").KERNELS
                self.is_compiled = all(map(known.is_at_hand, kernels))

    def _refuse(self, error: AxiomError) -> None:
        self.is_compiled, self._is_refused = False, True
        note_refused(error)

    def compile(self) -> None:
        """Make later calls run compiled code."""
        self.is_compiled = self.compiled is not None

    @property
    def compiled(self) -> Any:
        """The function compiled by `jit`."""
        if self._jitted is None:
            jitted = lazy_import("axiomjit.dispatch.jit").Jitted
            function = _function(self.text, np)
            source = lazy_import("axiomjit.functions.source_text")
            source.tell_text(function.__code__, self.text)
            self._jitted = jitted(function, (), True)
        return self._jitted


def _function(text: str, functions: Any) -> Any:
    """The function that a text defines; in the text, `np` is the object `functions`."""
    space: dict[str, Any] = {"__name__": "segment", "np": functions}
    exec(compile(text, FILE_NAME, "exec"), space)
    return space["segment"]


def text_of(state: State, returned: Sequence[int], for_numpy: bool = False) -> str:
    """The text of the segment that ends in a state and returns these values.

    Args:
        state: The last state of the segment.
        returned: The value numbers of the returned values.
        for_numpy: True for the text that NumPy runs (`numpy_lines`).
    """
    path = state.path()
    if for_numpy:
        lines = numpy_lines(path, returned)
    else:
        lines = [one.statement.text() for one in path if one.statement]
    values = ", ".join(f"v{k}" for k in returned) + ("," if len(returned) == 1 else "")
    lines = [*lines, f"return ({values})"]
    return f"def segment({', '.join(state.arguments)}):\n    " + "\n    ".join(lines) + "\n"


def program_of(state: State, returned: tuple[int, ...]) -> Program:
    """The program of a path; all paths with the same text share one program."""
    in_numpy = text_of(state, returned, for_numpy=True)
    only_gathers = state.gathers and state.depth == 1
    return _program(text_of(state, returned), in_numpy, _NUMPY_FUNCTIONS, only_gathers)


def _program(text: str, in_numpy: str, functions: Any, only_gathers: bool = False) -> Program:
    found = _programs.get(text)
    if found is None:
        found = _programs.keep(text, Program(text, in_numpy, functions, only_gathers))
    return found


def run_one(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of one operation on NumPy arrays, with the same bits as in a compiled segment.

    As in compiled segments, there are no warnings about floating-point errors.
    """
    if operation.is_exact:
        with np.errstate(all="ignore"):
            return operation.apply(*args, **kwargs)
    arrays: list[Any] = []
    out = kwargs.get("out")
    written = out if isinstance(out, tuple) else (out,)

    def name_of(value: Any) -> str | None:
        if not isinstance(value, np.ndarray | np.generic):
            return None
        arrays.append(_without_overlap(value, written))
        return f"a{len(arrays) - 1}"

    writer = Writer(name_of)
    texts = [writer.text(one) for one in args], {k: writer.text(v) for k, v in kwargs.items()}
    if not any(is_inexact(one.dtype) for one in arrays):
        found = operation.apply(*args, **kwargs)
        several = found if isinstance(found, tuple) else (found,)
        if not any(is_inexact(one.dtype) for one in several):
            return found
    names = ", ".join(f"a{k}" for k in range(len(arrays)))
    called = operation.text(*texts)
    text = f"def segment({names}):\n    return {called}\n"
    program = _program(text, text, np)
    program.compile()
    return program.run(arrays)


def _without_overlap(array: Any, written: Sequence[Any]) -> Any:
    """The array, or a copy if it overlaps another array that is written."""
    if any(one is array for one in written):
        return array
    overlaps = any(
        isinstance(one, np.ndarray) and np.may_share_memory(one, array) for one in written
    )
    return array.copy() if overlaps else array


class _NumPyFunctions:
    """NumPy's functions for segments; a function with other bits in kernels runs as a kernel."""

    dtype = np.dtype

    def __getattr__(self, name: str) -> Any:
        function = getattr(np, name)
        operation = FUNCTIONS[function]
        found: Any = function if operation.is_exact else _as_kernel(operation)
        if isinstance(function, np.ufunc) and any(
            not UFUNC_METHODS[function, method].is_exact
            for method in ("reduce", "accumulate")
            if (function, method) in UFUNC_METHODS
        ):
            found = _Ufunc(function, found)
        setattr(self, name, found)
        return found


class _Ufunc:
    """A ufunc whose `reduce` and `accumulate` run as kernels of a single operation."""

    def __init__(self, ufunc: np.ufunc, call: Callable[..., Any]) -> None:
        self._call, self.outer = call, ufunc.outer
        self.reduce = _as_kernel(UFUNC_METHODS[ufunc, "reduce"])
        self.accumulate = _as_kernel(UFUNC_METHODS[ufunc, "accumulate"])

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._call(*args, **kwargs)


def _as_kernel(operation: Operation) -> Callable[..., Any]:
    return lambda *args, **kwargs: run_one(operation, args, kwargs)


_NUMPY_FUNCTIONS: Final = _NumPyFunctions()
_programs: Final = BoundedTable[str, Program](MAX_PROGRAMS)
