"""Split a call's arguments into traced and static leaves, and make the cache keys of both.

Two static arguments have equal keys only if types and state are the same at every level of nesting.
Python's `==` is too weak for this: 1 == 1.0 == True, 0.0 == -0.0, Decimal("1.0") ==
Decimal("1.00").
"""

from __future__ import annotations

import inspect
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import Enum
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.array_values import ArrayValue
from axiomjit.base.caching import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.dtypes import FLOAT, supported, walkable
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.tree import (
    Branch,
    ComparedByValue,
    Path,
    Structure,
    attributes,
    class_attributes,
    flatten_tree,
    is_labelled,
    leaf_count,
    reachable,
)
from axiomjit.functions.outside import BY_IDENTITY
from axiomjit.functions.sources import is_known_value
from axiomjit.graph.execution import in_arrays
from axiomjit.graph.traced_values import AxisValue, NamedValue

Forget = Callable[[Any], None]
_BY_VALUE: Final = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})
_BY_ORDER: Final = frozenset({tuple, list, set, frozenset})
_IDENTITIES: Final = (type, FunctionType, ModuleType, Enum, np.ufunc, np.ndarray)
MAX_DEPTH: Final = 12
"""The number of nesting levels whose state is in a key; deeper objects are compared by identity."""
MAX_ENTRIES: Final = 1000
"""The largest length of a list, set or dict whose entries are in a key; a longer container is
compared by identity."""


class WeakIdentity(weakref.ref[Any]):
    """A weak reference, equal to other references to the same object while the object lives."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, value: object, forget: Forget | None = None) -> WeakIdentity:
        """Refer to the object; when the object is freed, `forget` is called with this reference."""
        made = super().__new__(cls, value, forget)
        made.number = id(value)
        return made

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        known = self()
        return isinstance(other, WeakIdentity) and known is not None and known is other()

    def __hash__(self) -> int:
        return self.number


class StrongIdentity:
    """A strong reference to an object whose type allows no weak references."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StrongIdentity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def static_key(value: Any, forget: Forget | None = None) -> tuple[object, ...]:
    """A hashable key of a static value, with an entry for each object inside the value, in order.

    Hashable values that define `==` and hold no arrays have equal keys if their types and states
    are equal. The key of any other object is equal only to the key of the same object with
    unchanged attributes. When an object that is compared by identity is freed, `forget` is called
    with the reference to the object.
    """
    key: list[object] = []
    by_state: dict[Path, tuple[int, object]] = {}

    def enter(path: Path, one: Any) -> Iterable[tuple[object, object]]:
        entry, parts = _entry(one, forget, len(path) - 1)
        if isinstance(one, np.ndarray):
            # A program keeps arrays in static arguments alive until an object with identity dies.
            for above in (path[:k] for k in range(1, len(path))):
                if above in by_state:
                    place, owner = by_state[above]
                    key[place] = _identity(owner, forget), type(owner)
        elif isinstance(parts, _State):
            by_state[path] = len(key), one
        key.append(entry)
        return enumerate(parts)

    for _ in reachable((value,), enter, again=True):
        pass
    return tuple(key)


class _State(list[object]):
    """The part of a key for an object that is compared by its state."""


def _entry(value: Any, forget: Forget | None, depth: int) -> tuple[object, Sequence[object]]:
    """The entry of a value in a key, and the parts of the value, which get their own entries."""
    kind = type(value)
    if kind in _BY_VALUE or isinstance(value, ComparedByValue):
        return (kind, value), ()
    if kind is float:
        return (kind, repr(value)), ()
    if kind is complex:
        return (kind, repr(value.real), repr(value.imag)), ()
    if isinstance(value, np.generic):
        return (kind, value.dtype, value.tobytes()), ()
    if isinstance(value, np.dtype):
        return (kind, value, repr(value.metadata)), ()
    if isinstance(value, _IDENTITIES):
        return _identity(value, forget), ()
    if kind in _BY_ORDER or kind is dict:
        changes = kind not in (tuple, frozenset)
        if depth > MAX_DEPTH or (depth and changes and len(value) > MAX_ENTRIES):
            return (_identity(value, forget), len(value)), ()
        return (kind, len(value)), list(value.items() if kind is dict else value)
    if kind is slice or kind is range:
        return kind, (value.start, value.stop, value.step)
    return _object_entry(value, forget, depth)


def _object_entry(value: Any, forget: Forget | None, depth: int) -> tuple[object, Sequence[object]]:
    kind: Any = type(value)
    if depth <= MAX_DEPTH and kind.__eq__ is not object.__eq__ and kind.__hash__ is not None:
        try:
            state = value.__reduce_ex__(4)
        except Exception:  # a type that cannot be pickled may raise anything
            state = None
        if isinstance(state, tuple):
            parts = _State(tuple(p) if hasattr(p, "__next__") else p for p in state)
            return (kind, len(parts)), parts
    own = attributes(value)
    if own is None or depth > MAX_DEPTH:
        return _identity(value, forget), ()
    shared = class_attributes(kind)
    return (_identity(value, forget), bool(shared)), (own, shared) if shared else (own,)


def _identity(value: object, forget: Forget | None) -> object:
    try:
        return WeakIdentity(value, forget)
    except TypeError:
        return StrongIdentity(value)


def structure_key(structure: Structure) -> object:
    """The key of a structure: the types of its containers, and the dict keys with their types."""
    kind = getattr(structure, "kind", None)
    if kind is None:
        return None
    keys = tuple(map(static_key, structure.keys))  # type: ignore[union-attr]
    return kind, keys, tuple(map(structure_key, structure.parts))  # type: ignore[union-attr]


def mentions_dead(key: object) -> bool:
    """True if a key, or a tuple inside the key, refers to an object that was freed."""
    if isinstance(key, WeakIdentity):
        return key() is None
    return isinstance(key, tuple) and any(map(mentions_dead, key))


Array = np.ndarray
_ARRAYS: Final = frozenset({Array})
_WITHOUT_AXES: Final = _ARRAYS | {int, float, complex, bool, str, type(None)}


def are_arrays(values: Sequence[object]) -> bool:
    """True if all values are of NumPy's own array class, not of a subclass."""
    return set(map(type, values)) <= _ARRAYS


def in_numpy(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
    """The arguments, with NumPy arrays and numbers in place of lazy arrays and of array containers.

    None if there are no lazy arrays and no array containers.

    Raises:
        Errors of `in_arrays` are passed on.
    """
    values = (*args, *kwargs.values())
    given = in_arrays(values)
    if given is values and not any(issubclass(type(one), ArrayValue) for one in values):
        return None
    plain = [_in_numpy(one) for one in given]
    if all(new is old for new, old in zip(plain, values, strict=True)):
        return None
    return plain[: len(args)], dict(zip(kwargs, plain[len(args) :], strict=True))


def _in_numpy(value: Any) -> Any:
    return value.as_argument() if issubclass(type(value), ArrayValue) else value


def axes_among(values: Sequence[object]) -> bool:
    """True if a named array or a tensor is among the values, or inside a container among them."""
    if all(type(value) in _WITHOUT_AXES for value in values):
        return False
    try:
        leaves = flatten_tree(tuple(values), is_leaf=is_labelled)[0]
    except GraphValueError:  # a container that holds itself
        return False
    return any(isinstance(v, NamedValue | AxisValue) for v in leaves)


def has_axes(values: Sequence[object]) -> bool:
    """True if one of the values is a named array."""
    return any(isinstance(value, NamedValue) for value in values)


class CallArguments(Record):
    """The leaves of a call's arguments; a static leaf is a pair of its position and its value.

    `names` has the parameter of each dynamic leaf, `static_names` the parameter of each static
    leaf. `structure_key` is the cache key of `structure`.
    """

    structure: Structure
    structure_key: object
    dynamic: tuple[object, ...]
    static: tuple[tuple[int, object], ...]
    names: tuple[str, ...]
    static_names: tuple[str, ...] = ()
    marked: frozenset[str] = frozenset()
    """The parameters that the user has marked as static."""
    is_labelled: bool = False
    """True if arguments have labels, which are then in the key of the structure."""
    whole: bool = False
    """True if the key of a static leaf is only its class; guards then compare the parts that are
    read."""

    def with_inputs(self, values: Sequence[object], names: Sequence[str]) -> CallArguments:
        """The arguments, with arrays and numbers from outside after the dynamic leaves."""
        return self.replace(dynamic=(*self.dynamic, *values), names=(*self.names, *names))

    def every_value(self) -> tuple[object, ...]:
        """The values of all leaves, the dynamic leaves first."""
        return (*self.dynamic, *(value for _, value in self.static))

    def leaves(self, dynamic: Sequence[object]) -> list[object]:
        """All leaves of the call in order, with the given values for its dynamic leaves."""
        total: list[object] = list(dynamic)
        for place, value in self.static:
            total.insert(place, value)
        return total


Forms = BoundedTable[int, CallArguments]
"""For each number of arguments, a template for calls whose arguments are all arrays."""


def static_parameters(
    names: Sequence[str], signature: inspect.Signature, function: str
) -> frozenset[str]:
    """The names of the parameters that the user marked as static.

    Raises:
        GraphValueError: the function has no parameter of this name.
    """
    names = (names,) if isinstance(names, str) else names
    for name in names:
        if name not in signature.parameters:
            raise GraphValueError(
                f"jit(static_argnames={list(names)})",
                f"no parameter {name!r} in {function}{signature}",
                "name parameters of the function",
                user_location(),
            )
    return frozenset(names)


def take_apart(
    signature: inspect.Signature,
    static: frozenset[str],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    forms: Forms | None = None,
    function: str = "function",
    whole: bool = True,
) -> CallArguments:
    """Split the leaves of a call's arguments into dynamic leaves and static leaves.

    Args:
        signature: The function's signature.
        static: The parameters that are marked as static.
        args: The positional arguments.
        kwargs: The keyword arguments.
        forms: The templates for calls whose arguments are all arrays.
        function: The name of the function, for errors.
        whole: True if each container is one static leaf; otherwise the leaves of containers are
            separate.

    Raises:
        TypeError: the call does not fit the signature (Python's own message).
    """
    if forms is None or kwargs or static or not are_arrays(args):
        return _split_leaves(signature, static, args, kwargs, function, whole)
    like = forms.get(len(args))
    if like is None:  # a template has no arrays
        like = _split_leaves(signature, static, args, kwargs, function, whole).replace(dynamic=())
        forms.keep(len(args), like)
    return CallArguments(like.structure, like.structure_key, args, (), like.names, whole=whole)


def _split_leaves(
    signature: inspect.Signature,
    static: frozenset[str],
    args: tuple[object, ...],
    kwargs: Mapping[str, object],
    function: str,
    whole: bool,
) -> CallArguments:
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise _signature_error(signature, function, args, kwargs) or error from None
    opened, labelled = (bound.args, bound.kwargs), False
    if whole:
        leaves, structure = flatten_tree(
            opened,
            is_leaf=lambda v: all(v is not o for o in (opened, *opened)) and not is_labelled(v),
        )
        owners = _owners(signature, bound)
        labelled = any(map(is_labelled, (*bound.args, *bound.kwargs.values())))
        if labelled:
            owners = _owners_of_leaves(owners, structure)
    else:
        leaves, structure = flatten_tree(opened)
        owners = [name for name, value in bound.arguments.items() for _ in flatten_tree(value)[0]]
    dynamic: list[object] = []
    names: list[str] = []
    fixed: list[tuple[int, object]] = []
    fixed_names: list[str] = []
    for place, (leaf, name) in enumerate(zip(leaves, owners, strict=True)):
        if name in static or is_static(leaf):
            fixed.append((place, leaf))
            fixed_names.append(name)
        else:
            dynamic.append(leaf)
            names.append(name)
    return CallArguments(
        structure,
        structure_key(structure),
        tuple(dynamic),
        tuple(fixed),
        tuple(names),
        tuple(fixed_names),
        static,
        labelled,
        whole,
    )


def _owners_of_leaves(owners: Sequence[str], structure: Structure) -> list[str]:
    """The parameter of each leaf; an argument may have several leaves, or none."""
    assert isinstance(structure, Branch)
    parts = [one for part in structure.parts if isinstance(part, Branch) for one in part.parts]
    pairs = zip(owners, parts, strict=True)
    return [name for name, part in pairs for _ in range(leaf_count(part))]


def _owners(signature: inspect.Signature, bound: inspect.BoundArguments) -> list[str]:
    """The parameter of each argument of a call."""
    several = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    found: list[str] = []
    for name, value in bound.arguments.items():
        found += [name] * (len(value) if signature.parameters[name].kind in several else 1)
    return found


def _signature_error(
    signature: inspect.Signature, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> TypeError | None:
    """Python's error for a call that does not fit a signature, with the function's name.

    The error comes from a call of an empty function with the same parameters; the result is None if
    this call succeeds.
    """
    none = inspect.Parameter.empty
    parameters = [
        one.replace(annotation=none, default=none if one.default is none else None)
        for one in signature.parameters.values()
    ]
    plain = signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty)
    space: dict[str, Callable[..., None]] = {}
    try:
        exec(f"def function{plain}: pass", space)
    except SyntaxError:  # parameters without valid names
        return None
    space["function"].__qualname__ = name
    try:
        space["function"](*args, **kwargs)
    except TypeError as error:
        return error.with_traceback(None)
    return None


def is_static(leaf: object) -> bool:
    """True for a leaf that is neither an array nor a plain number, such as a member of an enum."""
    if isinstance(leaf, Array | np.generic):
        return False
    if isinstance(leaf, int | float | complex):
        return type(leaf) not in (int, float, complex)
    return not hasattr(type(leaf), "__array__")


def exact_layout(
    leaves: Sequence[object], other: Callable[[Any], object] | None = None
) -> tuple[object, ...] | None:
    """The key of a bound plan: the settings, and the dtype, shape and strides of each array.

    `other` returns the key of a leaf that is not an array. Without `other`, the result is None if a
    leaf is not an array.
    """
    key: list[object] = [config.bounds]
    for leaf in leaves:
        if type(leaf) is Array:
            key += (leaf.dtype, leaf.shape, leaf.strides, leaf.flags.aligned)
        elif other is None:
            return None
        else:
            key.append(other(leaf))
    return tuple(key)


def exact_key(call: CallArguments, forget: Forget | None = None) -> object:
    """The key of the bound plan for a call that may have static arguments.

    `forget` is called when an object in the key is freed.
    """
    layout = exact_layout(call.dynamic, kind_of)
    return layout, call.structure_key, statics_key(call, forget)


def graph_key(arguments: Sequence[object], lengths: Mapping[Any, int]) -> object:
    """The key of a bound plan of a graph: settings, lengths, and the layouts of the arguments."""
    settings = config.disable, user_traps_errors()
    return settings, frozenset(lengths.items()), exact_layout(arguments, kind_of)


def kind_of(leaf: Any) -> object:
    """The key of a leaf: an array's class and layout, an int's value, another value's class."""
    if isinstance(leaf, Array):
        return type(leaf), leaf.dtype, leaf.shape, leaf.strides, leaf.flags.aligned
    return (int, leaf) if isinstance(leaf, int) else type(leaf)


def statics_key(call: CallArguments, forget: Forget | None = None) -> tuple[object, ...]:
    """The position and the key of each static argument."""
    if not call.static:
        return ()
    key = whole_key if call.whole else static_key
    return tuple((place, key(value, forget)) for place, value in call.static)


def whole_key(value: Any, forget: Forget | None = None) -> object:
    """The key of an argument whose parts are guarded: its value, its identity, or its class."""
    if is_known_value(value):
        return static_key(value, forget)
    if type(value) is FunctionType:
        return FunctionType, value.__code__
    return _identity(value, forget) if isinstance(value, BY_IDENTITY) else type(value)


def swapped_dtype(values: Sequence[object]) -> object:
    """The dtype of the first array in non-native byte order; None if there is no such array."""
    for value in values:
        if isinstance(value, Array) and not value.dtype.isnative:
            return value.dtype
    return None


def plain_array(array: Array) -> Array:
    """The array, or a copy in a layout that kernels can read if the array has another layout.

    Kernels need native byte order, alignment, and strides that are multiples of the itemsize. A
    copy has the memory order of the array, and stores repeated elements once.
    """
    if walkable(array):
        return array
    once = tuple(slice(1) if step == 0 else slice(None) for step in array.strides)
    copy = np.array(array[once], dtype=array.dtype.newbyteorder("="), order="K")
    return copy if copy.shape == array.shape else np.broadcast_to(copy, array.shape)


def class_of(value: Any) -> object:
    """The dtype of a plain array; the class of any other value."""
    return value.dtype if type(value) is Array else type(value)


def foreign_classes(values: Iterable[object]) -> set[object]:
    """The classes of arguments that cannot be compiled."""
    found = set()
    for value in values:
        try:
            plain: Any = plain_argument(value, "")
            supported(getattr(plain, "dtype", FLOAT), "")
        except GraphTypeError:
            found.add(class_of(value))
    return found


def plain_argument(value: Any, name: object) -> object:
    """The argument as a NumPy array or a number that kernels can read.

    Raises:
        GraphTypeError: the value is neither an array of NumPy's own class nor a number.
    """
    if type(value) is Array or type(value) is np.memmap:
        return plain_array(np.asarray(value))
    if isinstance(value, np.generic):
        return plain_array(np.asarray(value))
    if isinstance(value, int | float | complex):
        return value
    raise GraphTypeError(
        f"argument {name}",
        f"a {type(value).__module__}.{type(value).__name__}",
        "pass a numpy.ndarray, for example numpy.asarray(x), or a number",
        user_location(),
    )


def plain_arguments(
    arguments: Sequence[object], names: Iterable[object] | None = None
) -> tuple[object, ...]:
    """The arguments as arrays and numbers that kernels can read; errors use `names`.

    Raises:
        GraphTypeError: an argument is refused by `plain_argument`.
    """
    return tuple(map(plain_argument, arguments, range(len(arguments)) if names is None else names))
