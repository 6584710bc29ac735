"""The attributes and methods of lazy arrays, which include all of NumPy's.

The methods in `operations.METHODS` are recorded; the other methods run at once.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import operator
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.numpy.at_once import LOOKED_AT, NOT_RECORDED
from axiomjit.numpy.exports import Interface, handed_out
from axiomjit.numpy.facts import facts_of, is_lazy_type
from axiomjit.numpy.flat import Flat
from axiomjit.numpy.handles import Handle, Shared, ViewOf, let_escape, value_of
from axiomjit.numpy.lazy_arrays import LazyArray, at_once, made, numpys, run, wrap
from axiomjit.numpy.operations import FUNCTIONS, METHODS, SET
from axiomjit.numpy.segments import finish_readers, look

_READING_METHODS: Final = (
    "argpartition argsort choose compress dot nonzero repeat searchsorted take"
)
_WRITING_METHODS: Final = "byteswap partition put setfield sort"
_OUTPUT_METHODS: Final = "dump dumps item tobytes tofile tolist"
_OF_NUMBERS: Final = "as_integer_ratio bit_count hex is_integer"


def _recorded(name: str) -> Callable[..., Any]:
    operation = METHODS[name]

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return run(operation, (self, *args), kwargs)

    return _like(name, method)


def _running(name: str, writes: bool, reason: str) -> Callable[..., Any]:
    function = getattr(np.ndarray, name)

    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        called = getattr(type(look(self)), name) if _is_number(self) else function
        return at_once(called, (self, *args), kwargs, writes, reason)

    return _like(name, hides_frames(method))


def _clip(self: Any, min: Any = None, max: Any = None, out: Any = None, **kwargs: Any) -> Any:
    """The method `clip`, which may get one bound, and calls the function with two bounds."""
    named = kwargs if out is None else {**kwargs, "out": out}
    return run(METHODS["clip"], (self, min, max), named)


def _like(name: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """The method with the name and the documentation of NumPy's method."""
    method.__name__, method.__qualname__ = name, f"ndarray.{name}"
    method.__doc__ = getattr(np.ndarray, name).__doc__
    return method


def _is_number(value: Any) -> bool:
    return type(value) is LazyArray and value._facts.is_number


# Layouts


def _references(value: object) -> int:
    return sys.getrefcount(value)


def _references_of_one() -> int:
    """The number of references that a property's setter counts for an object in one variable."""
    found = []

    class Probe:
        layout = property(None, hides_frames(lambda self, value: found.append(_references(self))))

    probe = Probe()
    probe.layout = None
    return found[0]


_UNVIEWED: Final = _references_of_one()


def _views_of(root: Handle) -> list[ViewOf]:
    """The links of all existing views of an array."""
    links = [reference() for reference in getattr(root, "_views", ())]
    return [one for one in links if one is not None]


def _change_layout(handle: Any, array: Any, may_have_views: bool) -> None:
    """Make a handle represent another array of its memory; views then refer to the old array."""
    root = handle.root()
    if may_have_views and (views := _views_of(root)):
        old = made(handle._array, handle._link)
        for view in views:
            if view.made is not None:
                operation, args, kwargs = view.made
                args = tuple([old if one is handle else one for one in args])
                view.made = operation, args, kwargs
            if root is handle:
                view.root = old
        if root is handle:
            old._views, root._views = root._views, []
        root = old.root()
    handle._array, handle._facts, handle._segment = array, facts_of(array), None
    if root is not handle:
        whole, shape = root._array, array.shape
        is_whole = array.nbytes == whole.nbytes and array.dtype == whole.dtype
        is_plain = is_whole and array.flags.c_contiguous and whole.flags.c_contiguous
        handle._link = ViewOf(root, (METHODS["reshape"], (root, shape), {}) if is_plain else None)


def _layout(name: str, get: Callable[[Any], Any]) -> property:
    """A property for an attribute of the memory layout, which a program may set."""

    def change(self: Any, value: Any) -> None:
        is_root = self.root() is self
        may_have_views = hasattr(self, "_views") if is_root else _references(self) > _UNVIEWED
        finish_readers(self)
        array = value_of(self)
        if _is_number(self):
            setattr(array, name, value)
        array = array.view()
        setattr(array, name, value)
        if not is_lazy_type(array.dtype):
            asked, remedy = f"x.{name} = {value!r}", f"take a view: x.view({value!r})"
            raise GraphTypeError(asked, "no type of lazy arrays", remedy, user_location())
        _change_layout(self, array, may_have_views)

    return property(get, hides_frames(change), doc=getattr(np.ndarray, name).__doc__)


def _resize(self: Any, *new_shape: Any, refcheck: bool = True) -> None:
    finish_readers(self)
    value = value_of(self)
    np.empty(0).resize(0, refcheck=refcheck)  # NumPy's error
    if _is_number(self):
        return value.resize(*new_shape)  # type: ignore[no-any-return]
    if self.root() is not self:
        raise ValueError("cannot resize this array: it does not own its data")
    if refcheck and (self.is_apart() or _views_of(self)):
        raise ValueError(
            "cannot resize an array that references or is referenced\n"
            "by another array in this way.\n"
            "Use the np.resize function or refcheck=False"
        )
    array = value.copy(order="K")
    array.resize(*new_shape, refcheck=False)
    _change_layout(self, array, may_have_views=True)
    self._link = None
    return None


def _setflags(self: Any, write: Any = None, align: Any = None, uic: Any = None) -> None:
    finish_readers(self)
    value_of(self).setflags(write, align, uic)
    if write is not None and not _is_number(self):
        root = self.root()
        if type(root._link) is not Shared:
            root._link = Shared()
        root._link.is_read_only = root is not self or not write  # a view's flags are its own


class Flags:
    """The flags of a lazy array, with NumPy's names and text."""

    __slots__ = ("_of",)

    def __init__(self, of: LazyArray) -> None:
        """Take the array whose flags are shown."""
        super().__setattr__("_of", of)

    def __getattr__(self, name: str) -> Any:
        return getattr(look(self._of).flags, name)

    def __getitem__(self, name: str) -> Any:
        return look(self._of).flags[name]

    def __setattr__(self, name: str, value: Any) -> None:
        known = {"writeable": "write", "aligned": "align", "writebackifcopy": "uic"}
        if name not in known:
            return setattr(look(self._of).flags, name, value)
        return _setflags(self._of, **{known[name]: value})

    def __setitem__(self, name: str, value: Any) -> None:
        names = {"W": "writeable", "A": "aligned", "X": "writebackifcopy"}
        setattr(self, names.get(name, name.lower()), value)

    def __eq__(self, other: object) -> bool:
        flags = look(self._of).flags
        return bool(flags == (look(other._of).flags if isinstance(other, Flags) else other))

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return repr(look(self._of).flags)


# Parts and memory


def _refuse_real(number: Any, value: Any) -> None:  # NumPy's own refusal
    number.real = value


def _set_real(self: Any, value: Any) -> None:
    if self._facts.is_number:
        at_once(_refuse_real, (self, value), {})
    run(SET, (self.real, ..., value), {})


def _set_imag(self: Any, value: Any) -> None:
    if _is_number(self) or not is_complex(self.dtype):
        look(self).imag = value  # NumPy's error
    run(SET, (self.imag, ..., value), {})


def _set_flat(array: Any, value: Any) -> None:
    array.flat = value._flat if type(value) is Flat else value


def _base(self: Any) -> Any:
    if _is_number(self):
        return None
    root, link = self.root(), self._link
    if root is not self:
        return root
    given = link.given if type(link) is Shared else None
    return None if given is None else given.base


def _ctypes(self: Any) -> Any:
    """The addresses that `ctypes` needs; after that, the memory counts as shared."""
    found = handed_out(self).ctypes
    let_escape(self.root())
    found._arr = self  # pointers keep the lazy array alive
    return found


def _view(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _of_memory(np.ndarray.view, self, args, kwargs)


def _getfield(self: Any, *args: Any, **kwargs: Any) -> Any:
    return _of_memory(np.ndarray.getfield, self, args, kwargs)


def _of_memory(function: Any, self: Any, args: Any, kwargs: Any) -> Any:
    """A view of an array's memory: a lazy array, or a NumPy array if its type cannot be lazy."""
    args, kwargs = tuple(map(numpys, args)), {k: numpys(v) for k, v in kwargs.items()}
    if not _is_number(self):
        found = function(look(self), *args, **kwargs)
        if type(found) is not np.ndarray or not is_lazy_type(found.dtype):
            return function(handed_out(self), *args, **kwargs)
    else:
        function = getattr(type(look(self)), function.__name__)
    return at_once(function, (self, *args), kwargs, reason=NOT_RECORDED)


def _set_device(self: Any, device: Any) -> None:
    array: Any = np.empty(0)
    array.device = device  # NumPy's error


def _size_in_memory(self: Any) -> int:
    """The number of bytes of the handle and its layout, and of elements that are not a view's."""
    own = self.nbytes if self.root() is self else 0
    return int(object.__sizeof__(self) + 16 * self.ndim + own)


def _device_of(self: Any, device: Any, /, *, stream: Any = None) -> Any:
    np.empty(0).to_device(device, stream=stream)
    return self


# Protocols


def _namespace(self: Any, *, api_version: Any = None) -> Any:
    found = lazy_import("axiomjit.numpy.array_api")
    if api_version not in (None, *found.VERSIONS):
        np.empty(0).__array_namespace__(api_version=api_version)  # NumPy's error
    return found


def _dlpack(
    self: Any,
    *,
    stream: Any = None,
    max_version: Any = None,
    dl_device: Any = None,
    copy: bool | None = None,
) -> Any:
    if _is_number(self):
        return look(self).__dlpack__()  # NumPy's error
    return handed_out(self).__dlpack__(
        stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
    )


def _buffer(self: Any, flags: int, /) -> memoryview:
    """The buffer of the memory, for Python 3.12 and later; a number has no buffer."""
    if _is_number(self):
        raise BufferError("a lazy number has no memory")
    found = memoryview(handed_out(self))
    if flags & 1 and found.readonly:
        raise BufferError("buffer source array is read-only")
    return found


def _of_arrays(get: Callable[[Any], Any]) -> property:
    """A property that lazy arrays have and lazy numbers lack."""

    def found(self: Any) -> Any:
        if _is_number(self):
            raise AttributeError
        return get(self)

    return property(found)


def _wrap_result(self: Any, array: Any, context: Any = None, return_scalar: bool = False) -> Any:
    return array[()] if return_scalar else wrap(array)


def _copied(self: Any, memo: Any = None) -> Any:
    return look(self) if _is_number(self) else run(METHODS["copy"], (self,), {"order": "K"})


def _reduced(self: Any, protocol: Any) -> Any:
    """The state for pickle; from protocol 5 on it is a buffer, which may outlive the call."""
    return (look(self) if _is_number(self) else handed_out(self)).__reduce_ex__(protocol)


def _set_state(self: Any, state: Any) -> None:
    array: Any = np.empty(0)
    array.__setstate__(state)
    _change_layout(self, array, may_have_views=True)
    self._link = None


def _delete(self: Any, index: Any) -> None:
    operator.delitem(look(self), index)


def _materialized(self: Any) -> Any:
    """Compute the values now, and return the array itself."""
    look(self)
    return self


def _looked(function: Callable[..., Any]) -> Callable[..., Any]:
    """A method of lazy arrays that calls a function with the value of the array."""
    return hides_frames(lambda self, *args: function(look(self), *args))


def _html(self: Any) -> str:
    facts = self._facts
    lengths = " x ".join(map(str, facts.shape)) or "number"
    state = "pending" if self.is_lazy else "computed"
    return f"<code>{lengths}, {facts.dtype}, {facts.nbytes:,} bytes, {state}</code>"


def _function(name: str) -> Callable[[Any], Any]:
    operation = FUNCTIONS[getattr(np, name)]
    return lambda self: run(operation, (self,), {})


_FLAT: Final = property(
    lambda self: Flat(self) if not _is_number(self) else look(self).flat,
    lambda self, value: at_once(_set_flat, (self, value), {}, True, NOT_RECORDED),
)
ATTRIBUTES: Final[dict[str, Any]] = {
    **{name: _recorded(name) for name in METHODS},
    **{name: _running(name, False, NOT_RECORDED) for name in _READING_METHODS.split()},
    **{name: _running(name, True, NOT_RECORDED) for name in _WRITING_METHODS.split()},
    **{name: _running(name, False, LOOKED_AT) for name in _OUTPUT_METHODS.split()},
    **{
        name: _like(name, hides_frames(f))
        for name, f in (
            ("clip", _clip),
            ("view", _view),
            ("getfield", _getfield),
            ("resize", _resize),
            ("setflags", _setflags),
            ("to_device", _device_of),
        )
    },
    "shape": _layout("shape", lambda self: self._facts.shape),
    "strides": _layout("strides", lambda self: self._facts.strides),
    "dtype": _layout("dtype", lambda self: self._facts.dtype),
    "T": property(lambda self: run(METHODS["transpose"], (self,), {})),
    "mT": property(_function("matrix_transpose")),
    "real": property(_function("real"), hides_frames(_set_real)),
    "imag": property(_function("imag"), hides_frames(_set_imag)),
    "flat": _FLAT,
    "base": property(_base),
    "flags": property(Flags),
    "data": property(lambda self: look(self).data if _is_number(self) else handed_out(self).data),
    "ctypes": property(_ctypes),
    "device": property(lambda self: "cpu", hides_frames(_set_device)),
    "__sizeof__": _size_in_memory,
    "is_lazy": property(lambda self: self.root()._array is None),
    "materialize": _materialized,
    "_repr_html_": _html,
    "__array_interface__": property(Interface),
    # pandas keeps an instance of numpy.ndarray as it is, but its C code accepts only NumPy's own
    # class. If an object says that it wraps an array of NumPy, pandas keeps that array.
    "_typ": _of_arrays(lambda self: "npy_extension"),
    "to_numpy": _of_arrays(lambda self: lambda: handed_out(self)),
    "__array_namespace__": _namespace,
    "__array_wrap__": _wrap_result,
    "__array_finalize__": lambda self, source: None,
    "__dlpack__": _dlpack,
    "__dlpack_device__": lambda self: (
        look(self) if _is_number(self) else np.empty(0)
    ).__dlpack_device__(),
    "__buffer__": _buffer,
    "__copy__": lambda self: _copied(self),
    "__deepcopy__": _copied,
    "__reduce__": lambda self: look(self).__reduce__(),
    "__reduce_ex__": hides_frames(_reduced),
    "__setstate__": _set_state,
    "__delitem__": hides_frames(_delete),
    "__round__": _looked(round),
    "__trunc__": _looked(math.trunc),
    "__floor__": _looked(math.floor),
    "__ceil__": _looked(math.ceil),
}
"""The attributes and methods of the class `LazyArray`, by name."""


def complete() -> None:
    """Set the attributes of `LazyArray`, with the signatures of NumPy's methods."""
    for name, value in ATTRIBUTES.items():
        if isinstance(value, FunctionType) and hasattr(np.ndarray, name):
            method: Any = value
            with contextlib.suppress(ValueError):  # the method has no signature
                method.__signature__ = inspect.signature(getattr(np.ndarray, name))
        setattr(LazyArray, name, value)
