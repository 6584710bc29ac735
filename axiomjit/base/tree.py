"""Nested containers of a function's arguments or results, as a list of leaves and a structure.

For each type of container there is a `ContainerForm`: its contents and how to build it again.
Contents are read and new containers filled by the methods of the built-in types, so that no code
of a user's subclass runs.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from types import MappingProxyType, MemberDescriptorType, SimpleNamespace
from typing import Any, Final

from axiomjit.base.errors import GraphValueError
from axiomjit.base.origins import is_library_code, user_location
from axiomjit.base.records import Record

Keys = tuple[object, ...]
Apart = tuple[Keys, Sequence[object]]


class ContainerForm(Record):
    """How containers of a type are taken apart.

    `apart` gives what must stay (keys, names), and the parts; `build` makes a container of a
    type, what stays, and parts. An `is_object` is whole unless there is a reason to open it.
    """

    apart: Callable[[Any], Apart]
    build: Callable[[Any, Keys, Sequence[object]], object]
    is_object: bool = False


def _namedtuple(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind._make(parts)


def _namespace(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind(**dict(zip(map(str, keys), parts, strict=True)))


def _proxy(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    return kind(dict(zip(keys, parts, strict=True)))


DICT: Final = ContainerForm(
    lambda value: (tuple(value), list(value.values())),
    lambda kind, keys, parts: dict(zip(keys, parts, strict=True)),
)
SEQUENCE: Final = ContainerForm(lambda value: ((), value), lambda kind, keys, parts: kind(parts))
NAMED: Final = ContainerForm(lambda value: ((), value), _namedtuple)
NAMESPACE: Final = ContainerForm(lambda v: (tuple(vars(v)), list(vars(v).values())), _namespace)
PROXY: Final = ContainerForm(lambda value: (tuple(value), list(value.values())), _proxy)


def _slots(kind: type) -> Iterable[tuple[str, Any]]:
    """The places of a class with `__slots__`, by name."""
    for base in kind.__mro__:
        if base.__flags__ & _DEFINED_IN_PYTHON:
            places = vars(base).items()
            yield from ((k, v) for k, v in places if isinstance(v, MemberDescriptorType))


_DEFINED_IN_PYTHON: Final = 1 << 9


def state_of(value: object) -> dict[str, object]:
    """The attributes of an instance, those in slots included."""
    found: dict[str, object] = {}
    for name, place in _slots(type(value)):
        try:
            found[name] = place.__get__(value)
        except AttributeError:  # not set
            continue
    return found | getattr(value, "__dict__", {})


def attributes(value: object) -> dict[str, object] | None:
    """The attributes of a namespace or an instance of a user's class by name, in slots too.

    None of others.
    """
    kind = type(value)
    return None if kind is not SimpleNamespace and is_library_code(kind) else state_of(value)


def class_attributes(kind: type) -> dict[str, object]:
    """A user's class's attributes for its instances, by name: values, methods, properties."""
    return {
        name: value
        for base in reversed(kind.__mro__)
        if base is not object and not is_library_code(base)
        for name, value in vars(base).items()
        if not (name[:2] == "__" == name[-2:])
    }


def _set_state(value: Any, names: Sequence[object], parts: Sequence[object]) -> None:
    places = dict(_slots(type(value)))
    for name, part in zip(map(str, names), parts, strict=True):
        if name in places:
            places[name].__set__(value, part)
        else:
            value.__dict__[name] = part


def _object_apart(value: object) -> Apart:
    state = state_of(value)
    return tuple(state), list(state.values())


def _object_built(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    value = kind.__new__(kind)
    _set_state(value, keys, parts)
    return value


OBJECT: Final = ContainerForm(_object_apart, _object_built, is_object=True)


class Filling(Record):
    """How a built-in type is read and filled, for its subclasses: what `contents` gives.

    `settings` reads what a new container must be given first, `fill` puts contents in.
    """

    contents: Callable[[Any], tuple[Keys, Sequence[object]]]
    fill: Callable[[Any, Keys, Sequence[object], object], None]
    settings: Callable[[Any], object] = lambda value: None


def _fill_items(base: Any) -> Callable[[Any, Keys, Sequence[object], object], None]:
    def fill(value: Any, keys: Keys, parts: Sequence[object], setting: object) -> None:
        for key, part in zip(keys, parts, strict=True):
            base.__setitem__(value, key, part)
        if base is defaultdict:
            value.default_factory = setting

    return fill


def _fill_deque(value: Any, keys: Keys, parts: Sequence[object], longest: Any) -> None:
    deque.__init__(value, parts, longest)


def _items(base: Any) -> Callable[[Any], tuple[Keys, Sequence[object]]]:
    return lambda value: (tuple(base.keys(value)), list(base.values(value)))


FILLINGS: Final[dict[type, Filling]] = {
    defaultdict: Filling(_items(dict), _fill_items(defaultdict), lambda v: v.default_factory),
    OrderedDict: Filling(_items(OrderedDict), _fill_items(OrderedDict)),
    dict: Filling(_items(dict), _fill_items(dict)),
    list: Filling(
        lambda value: ((), list(list.__iter__(value))),
        lambda value, keys, parts, setting: list.extend(value, parts),
    ),
    deque: Filling(
        lambda value: ((), list(deque.__iter__(value))),
        _fill_deque,
        lambda value: value.maxlen,
    ),
}


def _subclass(base: type) -> ContainerForm:
    """The form of a subclass of a built-in type: contents, settings and attributes."""
    filling = FILLINGS[base]

    def apart(value: Any) -> Apart:
        keys, contents = filling.contents(value)
        state = state_of(value)
        return (keys, tuple(state), filling.settings(value)), [*contents, *state.values()]

    def build(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
        of_contents, names, setting = keys
        assert isinstance(of_contents, tuple)
        assert isinstance(names, tuple)
        value, count = kind.__new__(kind), len(parts) - len(names)
        filling.fill(value, of_contents, parts[:count], setting)
        _set_state(value, names, parts[count:])
        return value

    return ContainerForm(apart, build)


def _tuple_apart(value: Any) -> Apart:
    state = state_of(value)
    return tuple(state), [*tuple.__iter__(value), *state.values()]


def _tuple_built(kind: Any, keys: Keys, parts: Sequence[object]) -> object:
    count = len(parts) - len(keys)
    value = tuple.__new__(kind, parts[:count])
    _set_state(value, keys, parts[count:])
    return value


TUPLE: Final = ContainerForm(_tuple_apart, _tuple_built)
_EXACT: Final[dict[type, ContainerForm]] = {
    dict: DICT,
    list: SEQUENCE,
    tuple: SEQUENCE,
    MappingProxyType: PROXY,
    SimpleNamespace: NAMESPACE,
}


@lru_cache(maxsize=512)
def form_of(kind: type) -> ContainerForm | None:
    """How values of a type are taken apart; None where a value is whole.

    A subclass of a built-in container is opened unless it has a `__new__` of its own, which might
    ask for arguments; a dataclass is an object with attributes.
    """
    if kind in _EXACT:
        return _EXACT[kind]
    if issubclass(kind, tuple):
        if hasattr(kind, "_fields") and hasattr(kind, "_make"):
            return NAMED
        return TUPLE if _made_as(kind, tuple) else None
    for base in FILLINGS:
        if issubclass(kind, base):
            return _subclass(base) if _made_as(kind, base) else None
    if hasattr(kind, "__dataclass_fields__") and _made_as(kind, object):
        return OBJECT
    return None


def _made_as(kind: Any, base: Any) -> bool:
    return bool(kind.__new__ is base.__new__)


class Leaf(Record):
    """A place for one value."""


class Branch(Record):
    """A container: its type, the data it keeps (keys of a dict), and its parts."""

    kind: type
    keys: tuple[object, ...]
    parts: tuple[Structure, ...]


class OfArgument(Record):
    """A result in the memory of an argument: the caller's argument itself, or a view of it."""

    position: int
    is_itself: bool


Structure = Leaf | Branch
LEAF = Leaf()


def cannot_be_hashed(value: object) -> bool:
    """Whether an object has no usable hash; a dataclass with lists in it has none."""
    try:
        hash(value)
    except TypeError:
        return True
    return False


def flatten_tree(
    value: object,
    opens: Callable[[object], bool] = cannot_be_hashed,
    is_leaf: Callable[[object], bool] = lambda value: False,
) -> tuple[list[object], Structure]:
    """The leaves of nested containers, and the structure without them.

    Containers are tuples, lists, dicts, deques, their subclasses, namedtuples, namespaces, and
    those dataclass instances that `opens` says yes to. One of which `is_leaf` says so stays whole.

    Raises:
        GraphValueError: a container holds itself.
    """
    leaves: list[object] = []
    try:
        return leaves, _structure(value, leaves, opens, is_leaf)
    except RecursionError:
        pass
    raise GraphValueError(
        f"the values inside a {type(value).__name__}",
        "a container that holds itself, or hundreds inside each other",
        "pass and return containers that end, such as a list of arrays",
        user_location(),
    )


def _structure(
    value: object,
    leaves: list[object],
    opens: Callable[[object], bool],
    is_leaf: Callable[[object], bool],
) -> Structure:
    kind: Any = type(value)
    form: ContainerForm | None = form_of(kind)
    if form is None or (form.is_object and not opens(value)) or is_leaf(value):
        leaves.append(value)
        return LEAF
    keys, parts = form.apart(value)
    return Branch(kind, keys, tuple(_structure(part, leaves, opens, is_leaf) for part in parts))


def unflatten_tree(structure: Structure, leaves: Iterator[object]) -> object:
    """The containers again, with other leaves."""
    if isinstance(structure, Leaf):
        return next(leaves)
    parts = [unflatten_tree(part, leaves) for part in structure.parts]
    form = form_of(structure.kind)
    assert form is not None, structure.kind
    return form.build(structure.kind, structure.keys, parts)
