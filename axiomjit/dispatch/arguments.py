"""Splits a call's arguments into traced and static leaves, and makes the keys of both.

Equal keys of static arguments mean the same types and the same state at every level. `==` is too
weak: 1 == 1.0 == True, 0.0 == -0.0, Decimal("1.0") == Decimal("1.00").
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
from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.dtypes import FLOAT, supported, walkable
from axiomjit.base.error_states import user_traps_errors
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.reachable import Path, reachable
from axiomjit.base.records import Record
from axiomjit.base.tree import (
    Branch,
    ComparedByValue,
    Structure,
    attributes,
    class_attributes,
    flatten_tree,
    is_labelled,
    leaf_count,
)
from axiomjit.functions.outside import BY_IDENTITY
from axiomjit.functions.sources import is_known_value
from axiomjit.graph.execution import in_arrays
from axiomjit.graph.traced_values import AxisValue, NamedValue

Forget = Callable[[Any], None]
_BY_VALUE: Final = frozenset({int, bool, str, bytes, type(None), type(Ellipsis)})
_BY_ORDER: Final = frozenset({tuple, list, set, frozenset})
_IDENTITIES: Final = (type, FunctionType, ModuleType, Enum, np.ufunc, np.ndarray)
DEEPEST: Final = 12
"""Levels of nested objects whose state is in a key; deeper objects count by identity."""
LONGEST: Final = 1000
"""The most entries of a list, set or dict in a key; longer ones count by identity."""


class Same(weakref.ref[Any]):
    """A weak reference; equal to another reference to the same object while that lives."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, value: object, forget: Forget | None = None) -> Same:
        """Refer to the object; its death calls `forget` with this reference."""
        made = super().__new__(cls, value, forget)
        made.number = id(value)
        return made

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        known = self()
        return isinstance(other, Same) and known is not None and known is other()

    def __hash__(self) -> int:
        return self.number


class Kept:
    """A strong reference to an object whose type has no weak references; the key keeps it alive."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Kept) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


def static_key(value: Any, forget: Forget | None = None) -> tuple[object, ...]:
    """A hashable key of a static value: an entry for each object in it, in order.

    Hashable values that define `==` and hold no arrays are equal if type and state are. Any other
    object is equal only to itself, and only until its attributes change. `forget` is called
    with the reference to such an object when that dies.
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
                    key[place] = _same(owner, forget), type(owner)
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
    """The entry of a value in a key, and its parts, which have entries of their own."""
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
        return _same(value, forget), ()
    if kind in _BY_ORDER or kind is dict:
        changes = kind not in (tuple, frozenset)
        if depth > DEEPEST or (depth and changes and len(value) > LONGEST):
            return (_same(value, forget), len(value)), ()
        return (kind, len(value)), list(value.items() if kind is dict else value)
    if kind is slice or kind is range:
        return kind, (value.start, value.stop, value.step)
    return _object_entry(value, forget, depth)


def _object_entry(value: Any, forget: Forget | None, depth: int) -> tuple[object, Sequence[object]]:
    kind: Any = type(value)
    if depth <= DEEPEST and kind.__eq__ is not object.__eq__ and kind.__hash__ is not None:
        try:
            state = value.__reduce_ex__(4)
        except Exception:  # a type that cannot be pickled may raise anything
            state = None
        if isinstance(state, tuple):
            parts = _State(tuple(p) if hasattr(p, "__next__") else p for p in state)
            return (kind, len(parts)), parts
    own = attributes(value)
    if own is None or depth > DEEPEST:
        return _same(value, forget), ()
    shared = class_attributes(kind)
    return (_same(value, forget), bool(shared)), (own, shared) if shared else (own,)


def _same(value: object, forget: Forget | None) -> object:
    try:
        return Same(value, forget)
    except TypeError:
        return Kept(value)


def structure_key(structure: Structure) -> object:
    """A key that compares structures: types of containers, and dict keys with their types."""
    kind = getattr(structure, "kind", None)
    if kind is None:
        return None
    keys = tuple(map(static_key, structure.keys))  # type: ignore[union-attr]
    return kind, keys, tuple(map(structure_key, structure.parts))  # type: ignore[union-attr]


def mentions_dead(key: object) -> bool:
    """True if a key, or a tuple within it, refers to a dead object."""
    if isinstance(key, Same):
        return key() is None
    return isinstance(key, tuple) and any(map(mentions_dead, key))


Array = np.ndarray
_ARRAYS: Final = frozenset({Array})
_WITHOUT_AXES: Final = _ARRAYS | {int, float, complex, bool, str, type(None)}


def are_arrays(values: Sequence[object]) -> bool:
    """True if all are arrays of NumPy's own class."""
    return set(map(type, values)) <= _ARRAYS


def in_numpy(
    args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[Sequence[Any], Mapping[str, Any]] | None:
    """The arguments with NumPy's arrays and numbers in place of lazy ones and of containers.

    None without those.

    Raises:
        As `in_arrays`.
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
    """True if there is a named array or a tensor among values, or in their containers."""
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
    """The leaves of a call's arguments, by parameter; a static leaf has a place and a value.

    `names` has the parameter of each dynamic leaf, `static_names` of each static one.
    `structure_key` is the key of the structure.
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
    """True if arguments are arrays with labels, which the key of the structure has."""
    whole: bool = False
    """True if only the kind of a static leaf counts, since guards compare the parts read."""

    def with_inputs(self, values: Sequence[object], names: Sequence[str]) -> CallArguments:
        """This call with arrays and numbers from outside appended to its own ones."""
        return self.replace(dynamic=(*self.dynamic, *values), names=(*self.names, *names))

    def every_value(self) -> tuple[object, ...]:
        """The values of all leaves, the dynamic ones first."""
        return (*self.dynamic, *(value for _, value in self.static))

    def leaves(self, dynamic: Sequence[object]) -> list[object]:
        """All leaves in order, with the given values for the dynamic ones."""
        total: list[object] = list(dynamic)
        for place, value in self.static:
            total.insert(place, value)
        return total


Forms = BoundedTable[int, CallArguments]
"""By number of arguments, a template for calls that have only arrays as arguments."""


def static_parameters(
    names: Sequence[str], signature: inspect.Signature, function: str
) -> frozenset[str]:
    """The parameters that the user named as static.

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
    """Split the leaves of a call's arguments into dynamic and static ones.

    Args:
        signature: The function's signature.
        static: Its parameters marked as static.
        args: The positional arguments.
        kwargs: The keyword arguments.
        forms: A table for calls with arrays only.
        function: The name of the function, for errors.
        whole: True if containers are static leaves; else they are opened.

    Raises:
        TypeError: the call does not fit the signature (Python's own message).
    """
    if forms is None or kwargs or static or not are_arrays(args):
        return _sorted(signature, static, args, kwargs, function, whole)
    like = forms.get(len(args))
    if like is None:  # without its arrays
        like = _sorted(signature, static, args, kwargs, function, whole).replace(dynamic=())
        forms.keep(len(args), like)
    return CallArguments(like.structure, like.structure_key, args, (), like.names, whole=whole)


def _sorted(
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
        raise _misfit(signature, function, args, kwargs) or error from None
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
    """The parameter of each leaf, where an argument has several leaves or none."""
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


def _misfit(
    signature: inspect.Signature, name: str, args: tuple[object, ...], kwargs: Mapping[str, object]
) -> TypeError | None:
    """Python's error for a call that does not fit a signature, with the function's name.

    Raised by an empty function with the same parameters; None if that raises nothing.
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
    """True for a leaf that is neither an array nor a plain number, such as any enum."""
    if isinstance(leaf, Array | np.generic):
        return False
    if isinstance(leaf, int | float | complex):
        return type(leaf) not in (int, float, complex)
    return not hasattr(type(leaf), "__array__")


def exact_layout(
    leaves: Sequence[object], other: Callable[[Any], object] | None = None
) -> tuple[object, ...] | None:
    """The key of a bound plan: the settings, and the layout of each array.

    `other` returns the key of a leaf that is not an array; without it such a leaf makes the result
    None.
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
    """The key of a bound plan of a call with static arguments.

    `forget` is called when an object in the key dies.
    """
    layout = exact_layout(call.dynamic, kind_of)
    return layout, call.structure_key, statics_key(call, forget)


def graph_key(arguments: Sequence[object], lengths: Mapping[Any, int]) -> object:
    """The key of a graph's bound plan."""
    settings = config.disable, user_traps_errors()
    return settings, frozenset(lengths.items()), exact_layout(arguments, kind_of)


def kind_of(leaf: Any) -> object:
    """The part of a layout key for a leaf that is no plain array: its class, and an int's value."""
    if isinstance(leaf, Array):
        return type(leaf), leaf.dtype, leaf.shape, leaf.strides, leaf.flags.aligned
    return (int, leaf) if isinstance(leaf, int) else type(leaf)


def statics_key(call: CallArguments, forget: Forget | None = None) -> tuple[object, ...]:
    """The place and the key of each static argument."""
    if not call.static:
        return ()
    key = whole_key if call.whole else static_key
    return tuple((place, key(value, forget)) for place, value in call.static)


def whole_key(value: Any, forget: Forget | None = None) -> object:
    """The key of an argument whose parts are guarded: a known value, an identity, or the class."""
    if is_known_value(value):
        return static_key(value, forget)
    if type(value) is FunctionType:
        return FunctionType, value.__code__
    return _same(value, forget) if isinstance(value, BY_IDENTITY) else type(value)


def swapped_dtype(values: Sequence[object]) -> object:
    """The dtype of the first array in non-native byte order, or None."""
    for value in values:
        if isinstance(value, Array) and not value.dtype.isnative:
            return value.dtype
    return None


def plain_array(array: Array) -> Array:
    """The array in a layout for kernels: native, aligned, strides in multiples of the itemsize.

    If it must be copied, the copy keeps the memory order and stores repeated elements once.
    """
    if walkable(array):
        return array
    once = tuple(slice(1) if step == 0 else slice(None) for step in array.strides)
    copy = np.array(array[once], dtype=array.dtype.newbyteorder("="), order="K")
    return copy if copy.shape == array.shape else np.broadcast_to(copy, array.shape)


def class_of(value: Any) -> object:
    """The dtype of a plain array, else the class; both decide if an argument can be compiled."""
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
    """An argument as an array or number of a compiled type.

    Raises:
        GraphTypeError: NumPy functions treat this array-like by its own rules.
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
    """The arguments as kernels take them; `names` are for errors, positions by default.

    Raises:
        GraphTypeError: as `plain_argument`.
    """
    return tuple(map(plain_argument, arguments, range(len(arguments)) if names is None else names))
