"""Lazy arrays: arrays whose operations run when a value is needed."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.array_values import OPERATOR_UFUNCS, ArrayValue
from axiomjit.base.config import config
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.origins import hide_frames, user_place
from axiomjit.numpy.at_once import (
    ARGUMENTS,
    ERROR_STATES,
    NOT_RECORDED,
    SHARED,
    VALUES,
    note,
)
from axiomjit.numpy.exports import handed_out
from axiomjit.numpy.facts import facts_of, is_lazy_type
from axiomjit.numpy.handles import (
    Handle,
    Shared,
    ViewOf,
    concrete,
    is_private,
    let_escape,
)
from axiomjit.numpy.operations import (
    ASKING,
    FUNCTIONS,
    GET,
    IN_PLACE,
    POWER,
    SET,
    UFUNC_METHODS,
    VIEWS,
    WRITES,
    WRITING_FUNCTIONS,
    Operation,
    is_short_power,
)
from axiomjit.numpy.positions import array_of, recorded_index
from axiomjit.numpy.quick import add_quick_ways
from axiomjit.numpy.segments import (
    RestartError,
    finish_readers,
    look,
    make_handles,
    open_segment,
    run_freely,
)
from axiomjit.numpy.statements import UnrecordedError
from axiomjit.numpy.temporaries import LEAST_BYTES


class _Kind(type):
    """The metaclass of `LazyArray`, which counts NumPy's arrays as instances."""

    def __new__(
        meta, name: str, bases: tuple[type, ...], space: dict[str, Any], **options: Any
    ) -> Any:
        if not any(isinstance(one, meta) for one in bases):
            return super().__new__(meta, name, bases, space)
        bases = tuple([ArrayBase if isinstance(one, meta) else one for one in bases])
        return types.new_class(name, bases, options, lambda made: made.update(space))

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, np.ndarray)

    def __subclasscheck__(cls, kind: type) -> bool:
        return kind is cls or issubclass(kind, np.ndarray)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        array = np.ndarray(*args, **kwargs)
        return wrap(array, is_shared=array.base is not None)

    def __getattr__(cls, name: str) -> Any:
        return getattr(np.ndarray, name)

    def __getattribute__(cls, name: str) -> Any:
        """Return an attribute; methods accept NumPy arrays, too: `np.ndarray.sum(x)`."""
        found = type.__getattribute__(cls, name)
        if type(found) is not types.FunctionType or name not in _METHODS:
            return found
        theirs = getattr(np.ndarray, name)

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            called = found if type(self) is cls else theirs
            return called(self, *args, **kwargs)

        return functools.wraps(theirs)(method)


class ArrayBase(np.ndarray):
    """The base class of users' subclasses of `axiomjit.numpy.ndarray`."""

    def view(self, *args: Any, **kwargs: Any) -> Any:
        """NumPy's `view`; in its arguments, NumPy's class replaces the class of lazy arrays."""
        return super().view(*map(numpys, args), **{k: numpys(v) for k, v in kwargs.items()})


def numpys(value: Any) -> Any:
    """NumPy's array class for the class of lazy arrays; other values are returned unchanged."""
    return np.ndarray if value is LazyArray else value


_METHODS: Final = frozenset(
    name
    for name, one in vars(np.ndarray).items()
    if callable(one) and name not in ("__new__", "__getattribute__", "__class_getitem__")
)
"""The names of the methods of NumPy's arrays."""


class LazyArray(Handle, ArrayValue[Any], metaclass=_Kind):
    """An array or NumPy number whose value is known or pending."""

    __slots__ = ()
    __array_priority__ = 1000.0

    def __new__(kind, *args: Any, **kwargs: Any) -> Any:
        """Make an array, or an instance of a subclass of NumPy's class."""
        if kind is LazyArray:
            return kind(*args, **kwargs)
        theirs: Any = np.ndarray.__new__
        return theirs(kind, *args, **kwargs)

    @classmethod
    def __class_getitem__(cls, types: Any) -> Any:
        return np.ndarray[types]

    @property
    def facts(self) -> Any:
        """The dtype, shape and strides of the array."""
        return self._facts

    @property  # type: ignore[misc]
    def __class__(self) -> type:
        facts = self._facts
        return facts.dtype.type if facts.is_number else np.ndarray

    # Numbers of dimensions, elements and bytes

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
        """The number of bytes of an element."""
        return int(self._facts.dtype.itemsize)

    @property
    def nbytes(self) -> int:
        """The bytes of all elements."""
        return int(self._facts.nbytes)

    def __len__(self) -> int:
        shape = self._facts.shape
        if not shape:
            if self._facts.is_number:
                return len(look(self))  # NumPy's error
            raise TypeError("len() of unsized object")
        return int(shape[0])

    # Operators, functions, methods

    def _operate(self, name: str, *operands: Any) -> Any:
        if not all(map(_is_operand, operands)):
            return at_once(_PYTHON[name], operands, {}, reason=ARGUMENTS)
        if name == "pow" and len(operands) == 2 and is_short_power(*operands):
            if getattr(operands[0], "dtype", None) == np.bool_:  # np.power gives another dtype
                return at_once(operator.pow, operands, {}, reason=ARGUMENTS)
            return run(POWER, operands, {})
        return self._ufunc(OPERATOR_UFUNCS[name], "__call__", operands, {})

    def _operate_in_place(self, name: str, other: Any) -> Any:
        if self._facts.is_number:
            return NotImplemented
        operation = IN_PLACE.get(name)
        if name == "matmul":  # has its own rule for shapes
            return at_once(operator.imatmul, (self, other), {}, writes=True)
        if operation is None:
            return self._ufunc(OPERATOR_UFUNCS[name], "__call__", (self, other), {"out": (self,)})
        return run(operation, (self, other), {})

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
            reason = NOT_RECORDED if operation is None else VALUES
            return at_once(function, operands, options, writes=method == "at", reason=reason)
        return run(operation, operands, options)

    def _function(
        self, function: Any, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> object:
        if function in ASKING:
            named = {name: _sample(one) for name, one in options.items()}
            return function(*map(_sample, operands), **named)
        operation = FUNCTIONS.get(function)
        is_nonzero = function is np.where and len(operands) + len(options) == 1
        if operation is None or is_nonzero or _writes_into_operand(function, operands, options):
            return at_once(function, operands, options, writes=function in WRITING_FUNCTIONS)
        return run(operation, operands, options)

    def _value(self, use: str) -> Any:
        return look(self)

    def __index__(self) -> int:
        return operator.index(look(self))

    def __iter__(self) -> Any:
        if len(self._facts.shape) < 2:
            return iter(look(self) if self._facts.is_number else handed_out(self))
        return (self[k] for k in range(len(self)))

    def __contains__(self, value: object) -> bool:
        return at_once(operator.contains, (self, value), {})  # type: ignore[no-any-return]

    def __getitem__(self, index: Any) -> Any:
        if self._facts.is_number:
            return at_once(GET, (self, index), {}, reason=ARGUMENTS)
        if not _is_plain_index(index):
            index = recorded_index(self, given := index, made)
            if index is None:
                return at_once(GET, (self, given), {}, reason=ARGUMENTS)
            if _is_plain_index(index):
                return self[index]
        elif self._facts.shape and _selects_one(index, len(self._facts.shape)):
            return look(self)[index]
        return run(GET, (self, index), {})

    def __setitem__(self, index: Any, value: Any) -> None:
        given, recorded = value, index
        if type(value) is list or type(value) is tuple:
            given = array_of(value, self.dtype)
            given = None if given is None else made(given, None)
        is_recorded = (given is not None or value is None) and not self._facts.is_number
        if is_recorded and not _is_plain_index(index):
            recorded = recorded_index(self, index, made, given)
            is_recorded = recorded is not None
        if is_recorded:
            run(SET, (self, recorded, given), {})
        else:
            at_once(SET, (self, index, value), {}, writes=True, reason=ARGUMENTS)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        value = look(self)
        if self._facts.is_number:
            return np.asarray(value, dtype)
        if copy or (dtype is not None and np.dtype(dtype) != value.dtype):
            if copy is False:
                raise ValueError("Unable to avoid copy while creating an array as requested.")
            return np.array(value, dtype)
        return handed_out(self)

    def __getattr__(self, name: str) -> Any:
        kind = self.__class__
        if name.startswith("__") or not hasattr(kind, name):
            owner = f"{kind.__module__}.{kind.__name__}"
            raise AttributeError(f"{owner!r} object has no attribute {name!r}")
        return getattr(look(self), name)

    def as_argument(self) -> Any:
        """The NumPy array or number that compiled functions get as argument."""
        return look(self) if self._facts.is_number else handed_out(self)

    def __repr__(self) -> str:
        return repr(look(self))

    def __str__(self) -> str:
        return str(look(self))

    def __format__(self, text: str) -> str:
        return format(look(self), text)

    def __hash__(self) -> int:
        return hash(look(self))


def run(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of an operation, which is recorded, or runs at once if it cannot be recorded."""
    try:
        args, kwargs = operation.named(args, kwargs)
        reason = ERROR_STATES if user_traps_errors() else ""
        if reason or _is_apart(operation, args, kwargs):
            return at_once(operation, args, kwargs, writes=True, reason=reason or SHARED)
        is_setting = operation.is_setting
        given = tuple(
            [_setting(one) if is_setting(k) else _handle(one) for k, one in enumerate(args)]
            if operation is not GET and operation is not SET
            else [*args[:2], *map(_handle, args[2:])]  # the index is as `recorded_index` gave it
        )
        named = {k: _setting(v) if is_setting(k) else _handle(v) for k, v in kwargs.items()}
        while True:
            try:
                return open_segment().record(operation, given, named)
            except RestartError:
                continue
            except UnrecordedError:
                writes = operation in WRITES
                return at_once(operation, args, kwargs, writes=writes, reason=ARGUMENTS)
    except Exception as error:
        hide_frames(error)
        raise


def at_once(
    called: Operation | Callable[..., Any],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    writes: bool = False,
    reason: str = NOT_RECORDED,
) -> Any:
    """The result of a NumPy function that is called at once.

    Args:
        called: The function, or an operation.
        args: The positional arguments.
        kwargs: The keyword arguments.
        writes: True if the function may write into arguments other than `out`.
        reason: The reason why the function is not recorded; `LOOKED_AT` if the function only reads
            values.

    Raises:
        UnsupportedError: `config.fallback` does not allow the call.
    """
    note(called, reason)
    operands = list(_handles_in((*args, *kwargs.values())))
    if writes or kwargs.get("out") is not None:
        for one in operands:
            finish_readers(one)
    for one in operands:
        look(one)
    function = called.apply if isinstance(called, Operation) else called
    named = {k: concrete(v) for k, v in kwargs.items()}
    given = run_freely(function, *map(concrete, args), **named)
    out = kwargs.get("out")
    return represented(given, operands, out if type(out) is tuple else (out,))


def represented(value: Any, operands: Sequence[LazyArray], out: Sequence[Any] = ()) -> Any:
    """A result of NumPy, as a lazy array if it is an operand, a view of an operand, or large.

    A view that cannot be a lazy array, for example of a subclass, makes its memory count as shared.
    An array that was passed as `out` is the result itself.
    """
    if isinstance(value, tuple | list):
        parts = [represented(one, operands, out) for one in value]
        return value._make(parts) if hasattr(value, "_make") else type(value)(parts)
    if not isinstance(value, np.ndarray):
        return value
    for one in out:
        if one is value or (type(one) is LazyArray and one._array is value):
            return one
    for one in operands:
        if one._array is value:
            return one
    if value.base is None and value.flags.owndata:
        return wrap(value)
    is_lazy = type(value) is np.ndarray and is_lazy_type(value.dtype)
    for one in operands:
        root = one.root()
        if isinstance(root._array, np.ndarray) and np.may_share_memory(value, root._array):
            if is_lazy:
                return made(value, ViewOf(root, None))
            let_escape(root)
    return wrap(value)


def made(array: Any, link: Any) -> LazyArray:
    """A lazy array for a NumPy array or number whose dtype lazy arrays can have."""
    handle: LazyArray = _NEW(LazyArray)
    handle._array, handle._facts, handle._link = array, facts_of(array), link
    handle._segment, handle._number = None, 0
    return handle


def wrap(array: Any, is_shared: bool = False) -> Any:
    """A lazy array for a new NumPy array; small arrays and arrays of other types are unchanged."""
    if type(array) is not np.ndarray or not is_lazy_type(array.dtype):
        return array
    if array.size < config.lazy_from:
        return array
    handle = made(array, Shared(array) if is_shared or not is_private(array) else None)
    if array.nbytes >= LEAST_BYTES:
        handle._place = user_place()
    return handle


def _handle(value: Any) -> Any:
    """An argument with lazy arrays in place of NumPy's arrays and numbers."""
    kind = type(value)
    if kind is np.ndarray:
        return made(value, Shared(value)) if is_lazy_type(value.dtype) else value
    if isinstance(value, np.generic) and kind is not LazyArray and is_lazy_type(value.dtype):
        return made(value, None)
    if kind is list or kind is tuple:
        return kind(map(_handle, value))
    return value


def _setting(value: Any) -> Any:
    """An argument that decides shapes, with Python numbers in place of NumPy and lazy numbers.

    Segments cannot record an array as an argument that decides shapes.
    """
    if type(value) is LazyArray:
        value = look(value)
    if isinstance(value, np.integer) and type(value) is not LazyArray:
        return value.item()
    if type(value) is list or type(value) is tuple:
        return type(value)(map(_setting, value))
    return value


def _sample(value: Any) -> Any:
    """An array with a lazy array's facts, without its values; other arguments are unchanged."""
    return value._facts.sample if type(value) is LazyArray else value


def _handles_in(values: Sequence[Any]) -> Any:
    for value in values:
        if type(value) is LazyArray:
            yield value
        elif type(value) is list or type(value) is tuple:
            yield from _handles_in(value)


def _is_apart(operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    """True if a call views or writes memory of which segments only read copies."""
    first = args[0] if args and (operation in WRITES or operation in VIEWS) else None
    if first is not None and _is_outside(first):
        return True
    out = kwargs.get("out")
    targets = out if isinstance(out, tuple) else (out,)
    return out is not None and any(map(_is_outside, targets))


def _is_outside(target: Any) -> bool:
    """True if operations on the memory of an array must run at once."""
    if type(target) is not LazyArray:
        return isinstance(target, np.ndarray)
    return target._link is not None and target.is_apart()


def _may_fail(ufunc: np.ufunc, operands: Sequence[Any]) -> bool:
    """True if values decide whether a ufunc fails, as negative powers of integers do."""
    if ufunc is not np.power:
        return False
    kinds = [
        (one.dtype if hasattr(one, "dtype") else np.asarray(one).dtype).kind for one in operands
    ]
    return all(kind in "iu" for kind in kinds)


def _writes_into_operand(
    function: Any, operands: Sequence[Any], options: Mapping[str, Any]
) -> bool:
    """True for a call that changes its operand and returns it, as `np.nan_to_num(x, False)`."""
    if function not in WRITING_FUNCTIONS:
        return False
    return (operands[1] if operands[1:] else options.get("copy", True)) is not True


def _is_plain_index(index: Any) -> bool:
    if type(index) is tuple:
        return all(map(_is_plain_index, index))
    if type(index) is slice:
        return all(type(one) in _POSITIONS for one in (index.start, index.stop, index.step))
    return type(index) in _POSITIONS or index is Ellipsis


def _selects_one(index: Any, rank: int) -> bool:
    """True if an index of positions selects one element."""
    parts = index if type(index) is tuple else (index,)
    return len(parts) == rank and all(isinstance(one, int | np.integer) for one in parts)


_NEW: Final = object.__new__


def _is_operand(value: Any) -> bool:
    """True for an operand that segments accept; with other operands, NumPy runs the operation."""
    kind = type(value)
    if kind is LazyArray or kind in _NUMBERS:
        return True
    return (kind is np.ndarray or isinstance(value, np.generic)) and is_lazy_type(value.dtype)


_NUMBERS: Final = frozenset({bool, int, float, complex})
_PYTHON: Final = {stem: getattr(operator, f"__{stem}__", divmod) for stem in OPERATOR_UFUNCS}
_POSITIONS: Final = frozenset({int, type(None)})


add_quick_ways(LazyArray)
make_handles(LazyArray)
