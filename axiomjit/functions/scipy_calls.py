"""Calls of SciPy's functions and methods with traced arrays, as external calls of the program."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.functions.libraries import (
    OF_DTYPES,
    is_constant,
    is_fortran,
    is_library,
    is_object,
    public_name,
)
from axiomjit.functions.outside import refuse
from axiomjit.functions.sources import ATOMS, Attribute, Item
from axiomjit.tracing.operators import TracedOperators
from axiomjit.tracing.tracer import represented

if TYPE_CHECKING:
    from axiomjit.functions.known_calls import CallKind
    from axiomjit.functions.library_calls import LibraryCalls

_PARTS: Final = (*ATOMS, np.generic, np.dtype)
"""The types of an object's parts that contain no arrays, so that they need no check."""


def call_scipy(
    calls: LibraryCalls, known: CallKind, function: Any, args: Sequence[Any], kwargs: Any
) -> Any:
    """The result of a call that is a step of the program.

    Raises:
        NeedsValuesError: the call makes an object that keeps traced arrays, or gets an object with
            parts of unknown types.
        UnsupportedError: the error of `call_externally`, or the call may overwrite arrays of the
            caller.
    """
    steps = lazy_import("axiomjit.tracing.external_calls")
    if isinstance(function, type):
        remedy = "make it outside the compiled function, or use a function that gives arrays"
        refuse(f"makes a {public_name(function)} of computed arrays", remedy)
    if calls.filters:
        refuse(f"calls {known.name} where filters of warnings are set")
    name, given, named = known.name, list(args), dict(kwargs)
    if getattr(function, "__name__", "") in OF_DTYPES:
        return steps.of_dtypes(function, name, given, named)
    if is_object(function):
        function, given, name = operator.call, [function, *given], public_name(type(function))
    calls.keep_identity(function)
    given = [_argument(calls, one) for one in given]
    named = {key: _argument(calls, one) for key, one in named.items()}
    written: list[Any] = []
    overwritten: list[Any] = []
    for write in known.writes:
        target = write.parameter.of(args, kwargs)
        if isinstance(target, np.ndarray) and write.is_done(args, kwargs):
            is_result = write.flag is None and not is_fortran(function)
            (written if is_result else overwritten).append(target)
    if written or overwritten or is_fortran(function):
        arrays = written, overwritten, represented
        return steps.call_on_copies(function, name, given, named, *arrays)
    return steps.call_externally(steps.OrOnCopies(function), name, given, named, represented)


def _argument(calls: LibraryCalls, value: Any) -> Any:
    return keep(calls, value) if is_object(value) else calls.given(value)


def keep(calls: LibraryCalls, value: Any) -> Any:
    """The argument of a step for an object of SciPy, which is the same object in all calls.

    A guard checks the identity of the object, and the traced function may not write into arrays
    that are parts of it.

    Raises:
        NeedsValuesError: the object has a part of an unknown type.
    """
    calls.keep_identity(value)
    source = calls.outside.source_of(value)
    if source is not None and not is_constant(calls.outside.original(value)):
        for name, part in sorted(vars(calls.outside.original(value)).items()):
            _keep_part(calls, Attribute(source, name), part, type(value).__name__)
    kept = lazy_import("axiomjit.tracing.external_calls").Kept
    return kept(calls.outside.original(value))


def _keep_part(calls: LibraryCalls, source: Any, part: Any, name: str) -> None:
    """Forbid that the function writes into an array that is a part of an object."""
    if part is None or isinstance(part, _PARTS) or (callable(part) and is_library(part)):
        return
    if type(part) in (tuple, list) and all(isinstance(one, _PARTS) for one in part):
        return
    if type(part) in (tuple, list, np.ndarray):
        found = calls.outside.read(source)
        if isinstance(found, TracedOperators) and found.storage is not None:
            found.storage.keep(f"a {name}")
        for place, one in enumerate(part if type(part) is not np.ndarray else ()):
            own = calls.outside.source_of(found)
            assert own is not None
            _keep_part(calls, Item(own, place), one, name)
        return
    refuse(f"uses a {name} with a {type(part).__name__} in it, which lives on outside it")
