"""Memory layouts of traced arrays, as far as signatures hold them: `x.strides` and `x.flags`.

The strides of arguments and of views of arguments are known. The strides of computed arrays are not
known, since later stages decide whether and how these arrays are stored. A signature has no stride
for a dimension of length 1.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.graph.nodes import Constant, Input, root_of, views_on
from axiomjit.graph.primitives import READ_ONLY
from axiomjit.graph.storages import strides_of
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.tracing.lengths import SymbolicInt, length
from axiomjit.tracing.refusals import recorded, traced

Array = Any
"""An object that represents an array or a NumPy scalar while a function is traced."""


@recorded
def strides_in_bytes(array: Array) -> tuple[int | SymbolicInt, ...]:
    """The strides of an array in bytes.

    Raises:
        NeedsValuesError: the strides are not known.
    """
    node = array.node
    root = root_of(views_on(node)[0])
    asked = "array.strides"
    strides = _strides(array, asked)
    new = [n for n, step in zip(node.shape, strides, strict=True) if step.constant == 0]
    if any(n == 0 for n in (*node.shape, *root.shape)) or any(n == 1 for n in (*new, *root.shape)):
        raise _unknown(array, asked, "a length of 0 or 1, whose stride may differ in another call")
    return tuple(length(step * node.dtype.itemsize) for step in strides)


def _strides(array: Array, asked: str) -> Sequence[Dim]:
    """The strides in elements; the stride of a dimension of length 1 may be any number."""
    node = array.node
    if not node.shape:
        return ()
    strides, following = strides_of(node), current()
    root = root_of(views_on(node)[0])
    copied = frozenset() if following is None else following.copied
    if strides is None or (isinstance(root, Input) and root.position in copied):
        raise _unknown(array, asked, "an array of which it is not known how it lies in memory")
    return strides


def _unknown(array: Array, asked: str, seen: str) -> NeedsValuesError:
    remedy = "ask for it outside the compiled function, or of an argument"
    shown = f"{seen}: {traced(array.description())}"
    return NeedsValuesError(asked, shown, remedy, user_location())


def _is_dense(shape: Sequence[Dim], strides: Sequence[Dim]) -> bool:
    """True if the elements lie without gaps in C order; each compared length becomes a guard."""
    if any(n == 0 for n in shape):
        return True
    dense = dim(1)
    for n, step in zip(reversed(shape), reversed(strides), strict=True):
        if n != 1:
            if step != dense:
                return False
            dense = dense * n
    return True


def _settable(name: str) -> property:
    """A property for a flag that NumPy allows to set; setting the flag is refused."""
    return property(
        lambda self: self.__getattr__(name), lambda self, value: self.__setitem__(name, value)
    )


class Flags:
    """Represents `x.flags`: known flags can be read, and no flag can be set."""

    __slots__ = ("_array",)

    def __init__(self, array: Array) -> None:
        self._array = array

    @recorded
    def __getattr__(self, name: str) -> bool:
        if name not in FLAG_NAMES:
            raise AttributeError(
                f"'numpy._core.multiarray.flagsobj' object has no attribute {name!r}"
            )
        if name not in _KNOWN:
            raise _unknown(
                self._array, f"array.flags.{name}", "a flag that may differ in each call"
            )
        return _KNOWN[name](self._array)

    def __getitem__(self, key: str) -> bool:
        if key not in _KEYS:
            raise KeyError("Unknown flag")
        return bool(getattr(self, _KEYS[key]))

    @recorded
    def __setitem__(self, key: str, value: object) -> None:
        raise _unknown(self._array, f"array.flags[{key!r}] = value", "a flag that is set")

    writeable, aligned, writebackifcopy = map(
        _settable, ("writeable", "aligned", "writebackifcopy")
    )

    def __repr__(self) -> str:
        return f"<flags of {traced(self._array.description())}>"


def _in_c_order(array: Array) -> bool:
    return _is_dense(array.node.shape, _strides(array, "array.flags.c_contiguous"))


def _in_fortran_order(array: Array) -> bool:
    strides = _strides(array, "array.flags.f_contiguous")
    return _is_dense(array.node.shape[::-1], strides[::-1])


def _in_either_order(array: Array) -> bool:
    return _in_c_order(array) or _in_fortran_order(array)


def _is_aligned(array: Array) -> bool:
    if _is_outside(array):
        _strides(array, "array.flags.aligned")
    return True


def _is_writable(array: Array) -> bool:
    """True for an array that the function makes, unless the array is a read-only view."""
    if _is_outside(array):
        raise _unknown(array, "array.flags.writeable", "an array from outside the function")
    views = views_on(array.node)[1]
    return array.is_array and all(view.primitive is not READ_ONLY for view in views)


def _is_outside(array: Array) -> bool:
    root = root_of(views_on(array.node)[0])
    return array.is_array and isinstance(root, Input | Constant)


_KNOWN: Final[dict[str, Callable[[Array], bool]]] = {
    "aligned": _is_aligned,
    "c_contiguous": _in_c_order,
    "contiguous": _in_c_order,
    "f_contiguous": _in_fortran_order,
    "fnc": lambda x: _in_fortran_order(x) and not _in_c_order(x),
    "forc": _in_either_order,
    "writeable": _is_writable,
}
FLAG_NAMES: Final = frozenset(
    {*_KNOWN, "behaved", "carray", "farray", "fortran", "num", "owndata", "writebackifcopy"}
)
"""The attributes of `x.flags`."""
_KEYS: Final[dict[str, str]] = {
    **{"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable"},
    **{"A": "aligned", "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray"},
    **{name.upper(): name for name in FLAG_NAMES - {"num"}},
}
"""For each key of `x.flags[key]`, the name of the attribute."""
