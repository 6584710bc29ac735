"""Lazy arrays: NumPy's arrays, whose operations run when somebody looks at a value."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.array_values import OPERATOR_UFUNCS, ArrayValue
from axiomjit.base.config import config
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.origins import hide_frames
from axiomjit.numpy.facts import facts_of, is_lazy_type
from axiomjit.numpy.handles import Handle, Shared, ViewOf, hand_out, part_of_handed_out
from axiomjit.numpy.operations import (
    EXACT_POWERS,
    FUNCTIONS,
    GET,
    IN_PLACE,
    METHODS,
    POWER,
    SET,
    UFUNC_METHODS,
    VIEWS,
    WRITES,
    WRITING_FUNCTIONS,
    Operation,
)
from axiomjit.numpy.quick import add_quick_ways
from axiomjit.numpy.segments import (
    CURRENT,
    RestartError,
    concrete,
    look,
    make_handles,
    open_segment,
    value_of,
)
from axiomjit.numpy.statements import UnrecordedError


class _Kind(type):
    """The class of `LazyArray`: NumPy's own arrays are instances, too."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, np.ndarray)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return wrap(np.ndarray(*args, **kwargs))


def _attribute(name: str, text: str, is_export: bool = False) -> property:
    """An attribute that NumPy reads and sets, on the storage itself; others may write exports."""

    def read(array: LazyArray) -> Any:
        if is_export and not array.facts.is_number:
            return getattr(_handed_out(array), name)
        return _at_once(lambda value: getattr(value, name), (array,), {})

    def write(array: LazyArray, given: Any) -> None:
        _at_once(lambda value, new: setattr(value, name, new), (array, given), {}, writes=True)

    return property(read, write, doc=text)


class LazyArray(Handle, ArrayValue[Any], metaclass=_Kind):
    """An array or number of NumPy's, known or still to be computed."""

    __slots__ = ()
    __array_priority__ = 1000.0

    @property
    def facts(self) -> Any:
        """Dtype, shape and strides."""
        return self._facts

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        facts = self._facts
        return facts.dtype.type if facts.is_number else np.ndarray

    # What compiles nothing

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return self._facts.dtype

    @property
    def strides(self) -> tuple[int, ...]:
        """The distances of elements along each dimension, in bytes."""
        strides: tuple[int, ...] = self._facts.strides
        return strides

    @property
    def ndim(self) -> int:
        """The number of dimensions."""
        return len(self._facts.shape)

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.nbytes // self.itemsize

    @property
    def itemsize(self) -> int:
        """The bytes of an element."""
        return int(self._facts.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self._facts.nbytes)

    @property
    def is_lazy(self) -> bool:
        """True while the values are still to be computed."""
        return self.root()._array is None

    def materialize(self) -> LazyArray:
        """Compute the values now; returns the array itself."""
        look(self)
        return self

    def __len__(self) -> int:
        shape = self._facts.shape
        if not shape:
            if self._facts.is_number:
                raise TypeError(f"object of type 'numpy.{self.dtype.type.__name__}' has no len()")
            raise TypeError("len() of unsized object")
        return int(shape[0])

    # Operators, functions, methods

    def _operate(self, name: str, *operands: Any) -> Any:
        if any(getattr(value, "__array_ufunc__", self) is None for value in operands):
            return NotImplemented
        if self._facts.is_number and any(map(_is_nested, operands)):
            function = getattr(operator, name, None) or getattr(operator, f"{name}_")
            return _at_once(function, operands, {})  # integers repeat lists
        if name == "pow" and len(operands) == 2:
            exponent = operands[1]
            if type(exponent) in (int, float) and exponent in EXACT_POWERS:
                return _run(POWER, operands, {})
        return self._ufunc(OPERATOR_UFUNCS[name], "__call__", operands, {})

    def _operate_in_place(self, name: str, other: Any) -> Any:
        if self._facts.is_number:
            return NotImplemented
        operation = IN_PLACE.get(name)
        if operation is None:
            return self._ufunc(OPERATOR_UFUNCS[name], "__call__", (self, other), {"out": (self,)})
        return _run(operation, (self, other), {})

    def _ufunc(
        self, ufunc: np.ufunc, method: str, operands: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        operation = (
            FUNCTIONS.get(ufunc) if method == "__call__" else UFUNC_METHODS.get((ufunc, method))
        )
        out = options.get("out")
        if out is not None and len(out) == 1:
            options = options | {"out": out[0]}
        if operation is None or _may_fail(ufunc, operands):
            function = ufunc if method == "__call__" else getattr(ufunc, method)
            return _at_once(function, operands, options, writes=method == "at")
        return _run(operation, operands, options)

    def _function(
        self, function: Any, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> object:
        operation = FUNCTIONS.get(function)
        is_nonzero = function is np.where and len(operands) + len(options) == 1
        if operation is None or is_nonzero:
            writes = function in WRITING_FUNCTIONS
            return _at_once(function, operands, options, writes=writes)
        return _run(operation, operands, options)

    def _value(self, use: str) -> Any:
        return look(self)

    def __index__(self) -> int:
        return operator.index(look(self))

    def __iter__(self) -> Any:
        if not self._facts.shape:
            return iter(look(self))
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return _at_once(operator.contains, (self, value), {})  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if _is_plain_index(index):
            if self._facts.shape and _selects_one(index, len(self._facts.shape)):
                return look(self)[index]
            return _run(GET, (self, index), {})
        return _at_once(lambda array, at: array[at], (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        is_mask = isinstance(index, LazyArray) and index.dtype == bool and np.ndim(value) == 0
        if (is_mask or _is_plain_index(index)) and not _is_nested(value):
            _run(SET, (self, index, value), {})
        else:
            _at_once(SET.apply, (self, index, value), {}, writes=True)

    def __delitem__(self, index: Any) -> None:
        _at_once(operator.delitem, (self, index), {})

    @property
    def T(self) -> Any:  # noqa: N802
        """The transpose, a view."""
        return _run(METHODS["transpose"], (self,), {})

    real = _attribute("real", "The real parts, a view.")
    imag = _attribute("imag", "The imaginary parts, a view.")
    flat = _attribute("flat", "An iterator over the elements.", is_export=True)
    data = _attribute("data", "The buffer of the memory.", is_export=True)
    ctypes = _attribute("ctypes", "The memory for `ctypes`.", is_export=True)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = look(self)
        if self._facts.is_number:
            return np.asarray(value, dtype)
        if copy or (dtype is not None and np.dtype(dtype) != value.dtype):
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return np.array(value, dtype)
        return _handed_out(self)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        value = look(self)
        function = getattr(type(value), name, None)
        if function is None:
            return getattr(value, name)
        if not callable(function):
            return _at_once(lambda value: getattr(value, name), (self,), {})
        return lambda *args, **kwargs: _at_once(function, (self, *args), kwargs, writes=True)

    def __repr__(self) -> str:
        return repr(look(self))

    def __str__(self) -> str:
        return str(look(self))

    def __format__(self, text: str) -> str:
        return format(look(self), text)

    def __hash__(self) -> int:
        return hash(look(self))

    def __reduce__(self) -> Any:
        return _restored, (look(self),)

    def __copy__(self) -> Any:
        return self.copy()

    def __deepcopy__(self, memo: object) -> Any:
        return self.copy()

    def _repr_html_(self) -> str:
        facts = self._facts
        lengths = " x ".join(map(str, facts.shape)) or "number"
        state = "pending" if self.is_lazy else "computed"
        return f"<code>{lengths}, {facts.dtype}, {facts.nbytes:,} bytes, {state}</code>"


def _run(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of an operation: recorded, or computed at once where no segment records it."""
    try:
        if user_traps_errors() or _writes_shared(operation, args, kwargs):
            return _at_once(operation.apply, args, kwargs, writes=True)
        given = tuple(map(_handle, args))
        named = {name: _handle(one) for name, one in kwargs.items()} if kwargs else {}
        while True:
            try:
                return open_segment().record(operation, given, named)
            except RestartError:
                continue
            except UnrecordedError:
                return _at_once(operation.apply, args, kwargs, writes=operation in WRITES)
    except Exception as error:
        hide_frames(error)
        raise


def _at_once(
    function: Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    writes: bool = False,
) -> Any:
    """The result of a function of NumPy's, called now."""
    operands = list(_handles_in((*args, *kwargs.values())))
    if writes or kwargs.get("out") is not None:
        CURRENT.segment.finish()
    for one in operands:
        look(one)
    given = function(*map(concrete, args), **{k: concrete(v) for k, v in kwargs.items()})
    return _represented(given, operands, list(_arrays_in((*args, *kwargs.values()))))


def _represented(value: Any, operands: Sequence[LazyArray], others: Sequence[Any]) -> Any:
    """A result of NumPy's as a handle, if it is an array that is one or a view of one, or large.

    What shares memory with one of the `others`, NumPy's arrays, is one of those.
    """
    if isinstance(value, tuple | list):
        parts = [_represented(one, operands, others) for one in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    if not isinstance(value, np.ndarray):
        return value
    if any(one is value for one in others):
        return value
    for one in operands:
        if one._array is value:
            return one
    if type(value) is np.ndarray and is_lazy_type(value.dtype):
        for one in operands:
            root = one.root()
            if isinstance(root._array, np.ndarray) and np.may_share_memory(value, root._array):
                return _made(value, ViewOf(root, None))
    if any(np.may_share_memory(value, one) for one in others):
        return value
    return wrap(value)


def _made(array: Any, link: Any) -> LazyArray:
    handle = LazyArray.__new__(LazyArray)
    handle._array, handle._facts, handle._link = array, facts_of(array), link
    handle._segment, handle._number = None, 0
    return handle


def wrap(array: Any, is_shared: bool = False) -> Any:
    """A lazy array of a new NumPy array, if it is large enough and of such a dtype."""
    if type(array) is not np.ndarray or not is_lazy_type(array.dtype):
        return array
    if array.size < config.lazy_from:
        return array
    return _made(array, Shared(array) if is_shared else None)


def _handle(value: Any) -> Any:
    """An argument with handles in place of NumPy's arrays and numbers."""
    kind = type(value)
    if kind is np.ndarray:
        return _made(value, Shared(value)) if is_lazy_type(value.dtype) else value
    if isinstance(value, np.generic) and kind is not LazyArray and is_lazy_type(value.dtype):
        return _made(value, None)
    if kind is list or kind is tuple:
        return kind(map(_handle, value))
    return value


def _handles_in(values: Sequence[Any]) -> Any:
    for value in values:
        if type(value) is LazyArray:
            yield value
        elif type(value) is list or type(value) is tuple:
            yield from _handles_in(value)


def _arrays_in(values: Sequence[Any]) -> Any:
    """NumPy's arrays among arguments."""
    for value in values:
        if type(value) is list or type(value) is tuple:
            yield from _arrays_in(value)
        elif type(value) is not LazyArray and isinstance(value, np.ndarray):
            yield value


def _writes_shared(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if a call reads or writes, as a view or target, memory that somebody else can write.

    Views that no recorded call made are read as copies, too.
    """
    targets = [args[0]] if operation in WRITES or operation in VIEWS else []
    out = kwargs.get("out", ())
    targets += out if isinstance(out, tuple) else (out,)
    return any(
        one.is_shared() or one.is_known_by_memory()
        if type(one) is LazyArray
        else isinstance(one, np.ndarray)
        for one in targets
    )


def _handed_out(handle: LazyArray) -> Any:
    """A NumPy array of the handle's memory, which others may write into from now on."""
    CURRENT.segment.finish()
    value, root = value_of(handle), handle.root()
    found = hand_out(root)
    if handle is root:
        return found
    return part_of_handed_out(found, value)


def _restored(value: Any) -> Any:
    return wrap(value)


def _may_fail(ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    """True if the values decide whether a ufunc fails: negative powers of integers do."""
    if ufunc is not np.power:
        return False
    kinds = [np.result_type(getattr(one, "dtype", one)).kind for one in operands]
    return all(kind in "iu" for kind in kinds)


def _is_plain_index(index: Any) -> bool:
    if type(index) is tuple:
        return all(map(_is_plain_index, index))
    if type(index) is slice:
        return all(type(one) in _POSITIONS for one in (index.start, index.stop, index.step))
    return type(index) in _POSITIONS or index is Ellipsis or isinstance(index, np.integer)


def _selects_one(index: Any, rank: int) -> bool:
    """True if an index of positions selects one element."""
    parts = index if type(index) is tuple else (index,)
    return len(parts) == rank and all(isinstance(one, int | np.integer) for one in parts)


def _is_nested(value: Any) -> bool:
    return type(value) is list or type(value) is tuple


_POSITIONS: Final = frozenset({int, type(None)})


for _name, _operation in METHODS.items():

    def _method(self: Any, *args: Any, _operation: Any = _operation, **kwargs: Any) -> Any:
        return _run(_operation, (self, *args), kwargs)

    setattr(LazyArray, _name, _method)
add_quick_ways(LazyArray)
make_handles(LazyArray)
