"""Save the state of arguments and random generators before a run that may be rolled back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from axiomjit.dispatch.caches import CompiledCall


def snapshot(compiled: CompiledCall, arguments: Sequence[object]) -> Callable[[], None]:
    """Copy the state that a run may have to roll back; return the function that restores it."""
    written = [arguments[position] for position in compiled.early]
    arrays = [(array, array.copy()) for array in written if isinstance(array, np.ndarray)]
    states = [(one, _state_of(one)) for one in compiled.generators]

    def put_back() -> None:
        for array, before in arrays:
            array[...] = before
        for generator, state in states:
            _set_state(generator, state)

    return put_back


def _state_of(generator: Any) -> Any:
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    if hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
